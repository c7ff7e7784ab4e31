"""A slider-crank of thin rods reduced to the angle of its crank, by quadrature.

The crank (length r, mass m_1) turns about the origin by theta, the rod (l, m_2) leads to the
slider (m_3) on y = 0, to the right; gravity acts along -y. The rod's angle is
phi = -asin(r sin theta / l). With I(theta) = 2 T / theta'^2 and V the potential,

    theta'^2 = (I(theta_0) omega_0^2 + 2 V(theta_0) - 2 V(theta)) / I(theta).

Constants are taken as decimals. ``slider_crank.json`` holds the states of a crank that starts at
theta = 0 with 12 rad/s; to make it again takes about half a minute:

    python -m tests.reference.slider_crank

SI units, angles in rad.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

import mpmath
import numpy as np
from mpmath import mpf

from .one_freedom import places

TABLE: Final = Path(__file__).with_suffix(".json")
TIMES: Final = ("0.1", "1", "5", "10")
DIGITS: Final = 25
CRANK, ROD, GRAVITY, SPEED = "0.5", "1", "9.81", "12"
"""Lengths, m; all three masses are one kilogram."""


def shape(theta: Any) -> dict[str, Any]:
    """Return the coordinates of the bodies, and by ``*_by`` their derivatives by theta."""
    crank, rod = mpf(CRANK), mpf(ROD)
    sine, cosine = mpmath.sin(theta), mpmath.cos(theta)
    phi = -mpmath.asin(crank * sine / rod)
    turn = -crank * cosine / (rod * mpmath.cos(phi))
    return {
        "x_1": crank / 2 * cosine,
        "y_1": crank / 2 * sine,
        "phi_1": theta,
        "x_2": crank * cosine + rod / 2 * mpmath.cos(phi),
        "y_2": crank / 2 * sine,
        "phi_2": phi,
        "x_3": crank * cosine + rod * mpmath.cos(phi),
        "x_1_by": -crank / 2 * sine,
        "y_1_by": crank / 2 * cosine,
        "phi_1_by": mpf(1),
        "x_2_by": -crank * sine - rod / 2 * mpmath.sin(phi) * turn,
        "y_2_by": crank / 2 * cosine,
        "phi_2_by": turn,
        "x_3_by": -crank * sine - rod * mpmath.sin(phi) * turn,
    }


def _inertia(at: dict[str, Any]) -> Any:
    moving = sum(at[f"{name}_by"] ** 2 for name in ("x_1", "y_1", "x_2", "y_2", "x_3"))
    turning = mpf(CRANK) ** 2 * at["phi_1_by"] ** 2 + mpf(ROD) ** 2 * at["phi_2_by"] ** 2
    return moving + turning / 12


def rate(theta: Any) -> Any:
    """Return theta' of the crank that passed theta = 0 with `SPEED`."""
    at = shape(theta)
    energy = _inertia(shape(mpf(0))) * mpf(SPEED) ** 2 / 2
    return mpmath.sqrt(2 * (energy - mpf(GRAVITY) * (at["y_1"] + at["y_2"])) / _inertia(at))


@cache
def slider_crank_states() -> dict[str, np.ndarray]:
    """Return the stored states by name, arrays over ``times``."""
    return {name: np.array(values) for name, values in json.loads(TABLE.read_text()).items()}


def make_table() -> None:
    """Compute the states and write the table."""
    table: dict[str, list[float]] = {"times": [float(time) for time in TIMES]}
    with mpmath.workdps(DIGITS):
        for theta in places(lambda place: 1 / rate(place), TIMES, start="0", panel="0.25"):
            at = shape(theta)
            for name in ("x_1", "y_1", "phi_1", "x_2", "y_2", "phi_2", "x_3"):
                base, index = name.split("_")
                table.setdefault(name, []).append(float(at[name]))
                speed = rate(theta) * at[f"{name}_by"]
                table.setdefault(f"{base}_dot_{index}", []).append(float(speed))
    TABLE.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    make_table()

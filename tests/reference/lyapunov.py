"""Largest Lyapunov exponent of the wheel with pendulum, the contact kept by force.

The reduced equations of `rolling_wheel.pendulum_reactions` are integrated in doubles together with
their linearisation along the motion, whose solution is cut back to length 1 every second
(Benettin). Displacements are measured in l, times in sqrt(l/g).

Where the motion is chaotic, the exponent over a few hundred seconds depends on the last digits of
the start and of the arithmetic: the motion lingers now in one part, now in another of its energy
surface. What can be compared is the mean over neighbouring starts, give or take its spread:
``lyapunov.json`` holds the exponents of `NEIGHBOURS` of them for each of `CASES`; to make it again
takes a few minutes:

    python -m tests.reference.lyapunov
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import heyoka as hy
import numpy as np

from .rolling_geometry import DEFAULT_PARAMETERS, RollingWheelParameters
from .rolling_wheel import pendulum_equations
from .stored_pendulum import CASES as MOTIONS
from .stored_pendulum import HEAVY_BOB

TABLE: Final = Path(__file__).with_suffix(".json")
HORIZON: Final = 300.0
NEIGHBOURS: Final = 24
NEIGHBOUR_DISTANCE: Final = 1e-9  # in phi, rad

Start = tuple[float, float, float, float]

CASES: Final = {
    f"{name}{suffix}": (MOTIONS[name].start, parameters)
    for name in ("pendulum-chaotic", "pendulum-lost")
    for suffix, parameters in (("", DEFAULT_PARAMETERS), ("-heavy-bob", HEAVY_BOB))
}


@lru_cache(maxsize=4)
def _integrator(parameters: RollingWheelParameters) -> Any:
    """Taylor integrator of (xi, u, phi, w) and of a small displacement of them."""
    system = pendulum_equations(parameters, float).system[:4]  # theta has no influence
    displacements = hy.make_vars("d_contact_x", "d_speed", "d_phi", "d_phi_dot")
    linearised = [
        (
            displacement,
            hy.sum(
                [
                    hy.diff(rate, variable) * other
                    for (variable, _), other in zip(system, displacements, strict=True)
                ]
            ),
        )
        for displacement, (_, rate) in zip(displacements, system, strict=True)
    ]
    return hy.taylor_adaptive(system + linearised, state=[0.0] * 8, compact_mode=True)


def pendulum_lyapunov_exponent(
    start: Start,
    horizon: float = HORIZON,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
) -> float:
    """Mean rate of growth of a small displacement from t = 0 to the horizon, 1/s.

    Parameters
    ----------
    start
        contact_x (m), speed (m/s), phi (rad), phi_dot (rad/s).
    horizon
        s. In a regular motion the exponent falls like ln(t)/t.
    parameters
        Constants (bob_mass and pendulum_length must be positive).
    """
    length, gravity = parameters.pendulum_length, parameters.gravity
    units = np.array([length, np.sqrt(length * gravity), 1.0, np.sqrt(gravity / length)])
    integrator = _integrator(parameters)
    integrator.time = 0.0
    integrator.state[:] = [*start, *units / 2]
    growth = 0.0
    for time in np.linspace(0.0, horizon, int(np.ceil(horizon)) + 1)[1:]:
        outcome = integrator.propagate_until(time)[0]
        if outcome != hy.taylor_outcome.time_limit:
            msg = f"heyoka stopped before t = {time} s: {outcome}"
            raise RuntimeError(msg)
        stretch = np.linalg.norm(integrator.state[4:] / units)
        growth += np.log(stretch)
        integrator.state[4:] /= stretch
    return float(growth / horizon)


@cache
def _table() -> dict[str, list[float]]:
    return json.loads(TABLE.read_text())


def stored_lyapunov_exponent(case: str) -> tuple[float, float]:
    """Mean and standard deviation of the exponent over `HORIZON` in one of `CASES`, 1/s."""
    exponents = _table()[case]
    return float(np.mean(exponents)), float(np.std(exponents, ddof=1))


def neighbours(start: Start) -> list[Start]:
    """Starts of the same motion as far as measurement tells."""
    contact_x, speed, phi, phi_dot = start
    return [
        (contact_x, speed, phi + index * NEIGHBOUR_DISTANCE, phi_dot) for index in range(NEIGHBOURS)
    ]


def make_table() -> None:
    """Integrate all the cases and write the table."""
    table = {
        name: [pendulum_lyapunov_exponent(near, HORIZON, p) for near in neighbours(start)]
        for name, (start, p) in CASES.items()
    }
    TABLE.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    make_table()

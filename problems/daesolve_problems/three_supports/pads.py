"""The pads in a run: their positions, slips and friction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import daesolve as ds
from daesolve_problems.figures import Document, series
from daesolve_problems.three_supports.models import NORMALS, PAIRS, PRESSURES, SIDES, UP


@dataclass(frozen=True, eq=False)
class PadMotion:
    """The motion of one pad, NaN where it is not loaded.

    Parameters
    ----------
    slip
        (2, n) the velocity of its centre, m/s.
    ratio
        (n,) the distance of its centre from the velocity centre of the body, in radii of the pad.
    friction
        (2, n) the force of friction on it, N.
    """

    slip: np.ndarray
    ratio: np.ndarray
    friction: np.ndarray

    @property
    def speed(self) -> np.ndarray:
        """The speed of its centre, m/s."""
        return np.hypot(*self.slip)


def pad_motions(document: Document) -> dict[tuple[int, int], PadMotion]:
    """Return the motion of every pad of a run, by pair and side."""
    given = {name: series(document, "states", name) for name in document["states"]}
    numbers = document["parameters"]
    exponent = pressure_of(document["structure"])
    found: dict[tuple[int, int], PadMotion] = {}
    for pair in PAIRS:
        reaction = series(document, "outputs", NORMALS[pair])
        for side, name in SIDES.items():
            pad = {what: numbers[f"{name}_{what}_{pair}"] for what in ("a", "b", "pad_radius")}
            push = np.where(UP[side] * reaction > 0.0, np.abs(reaction), np.nan)
            push = push * numbers[f"{name}_friction_{pair}"]
            found[pair, side] = _motion(given, pad, push, exponent)
    return found


def pressure_of(structure: Mapping[str, Any]) -> float:
    """Return the exponent of the pads' pressure for a structure."""
    chosen = structure["pressure_exponent"]
    return PRESSURES[chosen] if isinstance(chosen, str) else chosen


def _motion(
    given: Mapping[str, np.ndarray], pad: Mapping[str, float], push: np.ndarray, exponent: float
) -> PadMotion:
    """Return the motion of a pad at (a, b) from the mass centre; `push` is f |N|."""
    cosine, sine, turning = np.cos(given["phi"]), np.sin(given["phi"]), given["phi_dot"]
    arm = np.array([pad["a"] * cosine - pad["b"] * sine, pad["a"] * sine + pad["b"] * cosine])
    slip = np.array([given["x_dot"] - turning * arm[1], given["y_dot"] + turning * arm[0]])
    slip = np.where(np.isnan(push), np.nan, slip)
    speed, rim = np.hypot(*slip), pad["pad_radius"] * np.abs(turning)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio, direction = speed / rim, slip / speed
    known = ~np.isnan(ratio)
    along = np.full_like(ratio, np.nan)
    along[known] = ds.friction.reduced_friction(ratio[known], exponent)[0]
    return PadMotion(slip, ratio, -push * along * direction)

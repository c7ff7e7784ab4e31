"""A rigid body free in space, and how it is seen: a unit quaternion, and turning about its axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
import scipy

import daesolve as ds
from daesolve.typing import DifferentiableVector, SymbolVector

AXES = ("x", "y", "z")
ORIENTATION = tuple(f"orientation_{part}" for part in ("w", *AXES))
alike: Any = ca
"""CasADi's functions: they treat numbers and symbols alike, which its stub does not say."""
Ends = tuple[tuple[float, float], tuple[float, float]]
AROUND, ABOVE = 0.5, 0.45
"""From where a drawing looks: turned about the vertical, and so far above the floor, rad."""


def coordinates() -> tuple[DifferentiableVector, SymbolVector]:
    """Return centre and orientation, and velocities: of the centre, and about the body's axes."""
    positions = dict.fromkeys(AXES, "m") | dict.fromkeys(ORIENTATION, "")
    rates = {f"{n}_dot": "m/s" for n in AXES} | {f"omega_{n}": "rad/s" for n in AXES}
    return ds.coordinates(**positions), ds.velocities(**rates)


def kinematics(q: DifferentiableVector, v: SymbolVector) -> ca.SX:
    """Return the rates of the coordinates: that of the quaternion is itself times omega, halved."""
    scalar, axis, omega = q.orientation_w, orientation(q)[1:], v.vector[3:]
    turning = (scalar * omega + ca.cross(axis, omega)) / 2
    return ca.vertcat(v.vector[:3], -ca.dot(axis, omega) / 2, turning)


def orientation(q: DifferentiableVector) -> ca.SX:
    """Return the quaternion, a column."""
    return ca.vertcat(*[q[name] for name in ORIENTATION])


def unit(q: DifferentiableVector) -> ds.Invariant:
    """Return that the quaternion has the length one."""
    norm = ca.sumsqr(orientation(q))
    return ds.Invariant("orientation_norm", norm, drive=True, on="positions")


def rotated(quaternion: Any, vector: Any) -> Any:
    """Return a vector of the body's axes in those of space."""
    scalar, axis = quaternion[0], quaternion[1:]
    across = alike.cross(axis, vector)
    return vector + 2 * (scalar * across + alike.cross(axis, across))


def point_speed(q: DifferentiableVector, v: SymbolVector, place: Any) -> ca.SX:
    """Return the velocity of a point of the body, given by its place in the body's axes."""
    return v.vector[:3] + rotated(orientation(q), ca.cross(v.vector[3:], place))


def turned_about_vertical(angle: float) -> dict[str, float]:
    """Return the orientation of a body that stands upright, turned by an angle, rad."""
    parts = (math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2))
    return dict(zip(ORIENTATION, parts, strict=True))


def quaternion_of(turned: np.ndarray) -> list[float]:
    """Return the unit quaternion (w, x, y, z) of a rotation, (3, 3)."""
    x, y, z, w = scipy.spatial.transform.Rotation.from_matrix(turned).as_quat().tolist()
    return [w, x, y, z]


def seen(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where points of space (k, 3) are in a drawing that looks down on the floor."""
    x, y, z = places.T
    right = math.cos(AROUND) * x + math.sin(AROUND) * y
    back = -math.sin(AROUND) * x + math.cos(AROUND) * y
    return right, math.sin(ABOVE) * back + math.cos(ABOVE) * z


def places_of(states: Mapping[str, Sequence[float]], place: Sequence[float]) -> np.ndarray:
    """Return where a point of the body was, (k, 3), by the states of a run."""
    centre = np.array([states[name] for name in AXES], dtype=float).T
    quaternion = np.array([states[name] for name in ORIENTATION], dtype=float)
    scalar, axis = quaternion[0][:, None], quaternion[1:].T
    across = np.cross(axis, np.asarray(place, dtype=float))
    return centre + place + 2.0 * (scalar * across + np.cross(axis, across))


def spin_of(state: Mapping[str, float]) -> tuple[float, float, float]:
    """Return the angular velocity in the axes of space, by a state, rad/s."""
    quaternion = alike.DM([state[name] for name in ORIENTATION])
    own = alike.DM([state[f"omega_{axis}"] for axis in AXES])
    x, y, z = (float(part) for part in rotated(quaternion, own).full().ravel())
    return x, y, z


def floor_lines(low: np.ndarray, high: np.ndarray, parts: int = 6) -> list[Ends]:
    """Return the ends of lines that show a floor between two corners (2,), as they are seen."""
    found: list[Ends] = []
    for part in np.linspace(0.0, 1.0, parts + 1):
        x, y = low + part * (high - low)
        for ends in ([[x, low[1], 0.0], [x, high[1], 0.0]], [[low[0], y, 0.0], [high[0], y, 0.0]]):
            right, up = seen(np.array(ends))
            first, second = zip(right.tolist(), up.tolist(), strict=True)
            found.append((first, second))
    return found

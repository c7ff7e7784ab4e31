"""A free rigid body in space: its unit quaternion, its angular velocity, and its drawing."""

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
EYE = (0.43, -0.79, 0.43)
"""The direction of view of a drawing: from the side, above the floor."""


def coordinates() -> tuple[DifferentiableVector, SymbolVector]:
    """Return centre and orientation, and velocities: of the centre, and about the body's axes."""
    positions = dict.fromkeys(AXES, "m") | dict.fromkeys(ORIENTATION, "")
    rates = {f"{n}_dot": "m/s" for n in AXES} | {f"omega_{n}": "rad/s" for n in AXES}
    return ds.coordinates(**positions), ds.velocities(**rates)


def kinematics(q: DifferentiableVector, v: SymbolVector) -> ca.SX:
    """Return the rates of the coordinates: for the quaternion, half itself times omega."""
    scalar, axis, omega = q.orientation_w, orientation(q)[1:], v.vector[3:]
    turning = (scalar * omega + ca.cross(axis, omega)) / 2
    return ca.vertcat(v.vector[:3], -ca.dot(axis, omega) / 2, turning)


def orientation(q: DifferentiableVector) -> ca.SX:
    """Return the quaternion, a column."""
    return ca.vertcat(*[q[name] for name in ORIENTATION])


def unit(q: DifferentiableVector) -> ds.Invariant:
    """Return the constraint that the quaternion has length one."""
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


def places_of(states: Mapping[str, Sequence[float]], place: Sequence[float]) -> np.ndarray:
    """Return where a point of the body was, (k, 3), by the states of a run."""
    centre = np.array([states[name] for name in AXES], dtype=float).T
    quaternion = np.array([states[name] for name in ORIENTATION], dtype=float)
    scalar, axis = quaternion[0][:, None], quaternion[1:].T
    across = np.cross(axis, np.asarray(place, dtype=float))
    return centre + place + 2.0 * (scalar * across + np.cross(axis, across))


def columns_of(name: str, places: np.ndarray) -> dict[str, np.ndarray]:
    """Return the series of a drawing that are a point's coordinates, (k, 3), by its name."""
    return {f"{name}_{axis}": places[:, k] for k, axis in enumerate(AXES)}


def at(name: str) -> tuple[str, str, str]:
    """Return the names of these series."""
    return f"{name}_x", f"{name}_y", f"{name}_z"


def spin_of(state: Mapping[str, float]) -> tuple[float, float, float]:
    """Return the angular velocity in the axes of space, by a state, rad/s."""
    quaternion = alike.DM([state[name] for name in ORIENTATION])
    own = alike.DM([state[f"omega_{axis}"] for axis in AXES])
    x, y, z = (float(part) for part in rotated(quaternion, own).full().ravel())
    return x, y, z

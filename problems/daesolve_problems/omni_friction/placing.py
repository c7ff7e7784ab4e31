"""Where the bodies of the vehicle are, and how they move, in a state of the reduced model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy

from daesolve_problems.omni_friction.geometry import vehicle
from daesolve_problems.omni_wheels import equal_directions

UPWARDS = (0.0, 0.0, 1.0)


def axle_axes(direction: tuple[float, float]) -> np.ndarray:
    """Return tau, e_z and n as columns, by n, in axes of the platform."""
    cosine, sine = direction
    return np.array([[-sine, 0.0, cosine], [cosine, 0.0, sine], [0.0, 1.0, 0.0]])


def roller_axes(direction: tuple[float, float]) -> np.ndarray:
    """Return outwards, across and along a roller as columns, by kappa_j, in axes of its disc."""
    cosine, sine = direction
    return np.array([[sine, 0.0, cosine], [-cosine, 0.0, sine], [0.0, -1.0, 0.0]])


def places(
    state: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Return where all bodies are, and how they move, in a state of the reduced model."""
    car = vehicle(parameters, structure["wheels"], structure["rollers"])
    platform = scipy.spatial.transform.Rotation.from_rotvec([0.0, 0.0, state["theta"]]).as_matrix()
    turning = state["omega"] * np.array(UPWARDS)
    middle = np.array([state["x"], state["y"], 0.0])
    velocity = np.array([state["x_dot"], state["y_dot"], 0.0])

    def moved(offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return middle + offset, velocity + np.cross(turning, offset)

    centre = [parameters["platform_centre_x"], parameters["platform_centre_y"], 0.0]
    found = _placed("platform", *moved(platform @ centre), platform, turning, "w3")
    for i, axle in enumerate(equal_directions(structure["wheels"]), start=1):
        chi, rate = state[f"chi_{i}"], state[f"chi_dot_{i}"]
        turn = scipy.spatial.transform.Rotation.from_rotvec([0.0, 0.0, chi]).as_matrix()
        axes = platform @ axle_axes(axle) @ turn
        omega = turning + rate * axes[:, 2]
        hub, hub_velocity = moved(platform @ (car.reach * axle_axes(axle)[:, 2]))
        found |= _placed(f"disc_{i}", hub, hub_velocity, axes, omega, "w3")
        for j, ahead in enumerate(equal_directions(structure["rollers"]), start=1):
            own = axes @ roller_axes(ahead)
            arm = car.axis_distance * own[:, 0]
            across = omega - (omega @ own[:, 2]) * own[:, 2]
            whole = across + state[f"spin_{i}_{j}"] * own[:, 2]
            moving = hub_velocity + np.cross(omega, arm)
            found |= _placed(f"roller_{i}_{j}", hub + arm, moving, own, whole, "spin")
    return found


def _placed(
    name: str,
    position: np.ndarray,
    velocity: np.ndarray,
    axes: np.ndarray,
    omega: np.ndarray,
    last: str,
) -> dict[str, float]:
    x, y, z, w = scipy.spatial.transform.Rotation.from_matrix(axes).as_quat()
    turn = dict(zip(("w1", "w2", last), axes.T @ omega, strict=True))
    return {
        f"{name}_{part}": float(value)
        for part, value in {
            **dict(zip(("x", "y", "z"), position, strict=True)),
            **dict(zip(("q0", "q1", "q2", "q3"), (w, x, y, z), strict=True)),
            **dict(zip(("x_dot", "y_dot", "z_dot"), velocity, strict=True)),
            **turn,
        }.items()
    }

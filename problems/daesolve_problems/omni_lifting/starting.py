"""The start of the vehicle, and the rollers that touch there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.errors import OutOfRangeError
from daesolve_problems.contacts.free_body import quaternion_of
from daesolve_problems.omni_lifting.models import Sizes
from daesolve_problems.omni_wheels import equal_directions, numbered

Values = Mapping[str, float]
UP = np.array([0.0, 0.0, 1.0])
NEAR = 1e-12
"""m; a wheel closer to the floor than this stands on it at the start."""
THINNEST = 1e-6
"""A roller whose radius at the floor is below this part of its largest has no rate of rolling."""


@dataclass(frozen=True, eq=False)
class Placed:
    """Where a roller is over the floor, arms and axes in space.

    Parameters
    ----------
    height
        Of the mass centre where it touches, m.
    hub, arm, own
        From the mass centre to the wheel's middle, and to the lowest point; from the roller's
        middle to that, m.
    axle, axis
        Of the wheel, and of the roller.
    """

    height: float
    hub: np.ndarray
    arm: np.ndarray
    own: np.ndarray
    axle: np.ndarray
    axis: np.ndarray


def placed(given: Values, parameters: Values, structure: Mapping[str, Any]) -> list[list[Placed]]:
    """Return where all rollers are at the start, wheel by wheel.

    Raises
    ------
    OutOfRangeError
        Their axes lie within the wheel.
    """
    sizes = Sizes(parameters, structure["wheels"], structure["rollers"])
    roller, end = sizes.wheel.roller, parameters["roller_end_radius"]
    largest = roller.wheel_radius * math.cos(roller.half_angle)
    if end >= largest:
        raise OutOfRangeError(
            f"parameter 'roller_end_radius' is {end!r}, but must be below {largest!r}: the "
            "rollers' axes lie within the wheel"
        )
    turned = turned_axes(given)
    found: list[list[Placed]] = []
    for cosine, sine in equal_directions(sizes.wheels):
        axle = turned @ np.array([cosine, sine, 0.0])
        first, down = turned @ np.array([sine, -cosine, 0.0]), -turned[:, 2]
        hub = parameters["platform_radius"] * axle - sizes.above * turned[:, 2]
        here: list[Placed] = []
        for ahead, below in equal_directions(sizes.rollers):
            axis = ahead * first + below * down
            middle = hub + roller.axis_distance * np.cross(axle, axis)
            height, (upwards, lengthwise) = roller.lowest(float(np.clip(axis[2], -1.0, 1.0)))
            own = upwards * UP + lengthwise * axis
            here.append(Placed(height - float(middle[2]), hub, middle + own, own, axle, axis))
        found.append(here)
    return found


def turned_axes(given: Values) -> np.ndarray:
    """Return the platform's axes in space: tilted about a level direction, then turned."""
    towards, tilt = given.get("tilt_towards", 0.0), given.get("tilt", 0.0)
    about = np.array([-math.sin(towards), math.cos(towards), 0.0])
    rotation = _about(UP, given.get("heading", 0.0)) @ _about(about, tilt)
    return np.asarray(rotation)


def turning_at(given: Values) -> np.ndarray:
    """Return the angular velocity of the platform at the start, in space, rad/s."""
    towards = given.get("tilt_towards", 0.0)
    level = np.array([-math.sin(towards), math.cos(towards), 0.0])
    tilting = given.get("tilt_rate", 0.0) * (turned_axes(given) @ level)
    return np.asarray(given.get("yaw", 0.0) * UP + tilting)


def _about(axis: np.ndarray, angle: float) -> np.ndarray:
    x, y, z = axis
    across = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * across + (1.0 - math.cos(angle)) * across @ across


def start_values(structure: Mapping[str, Any]) -> list[str]:
    """Return the names of the start values."""
    return [
        *("x", "y", "height", "heading", "tilt", "tilt_towards"),
        *("speed_x", "speed_y", "speed_z", "yaw", "tilt_rate"),
        *numbered("wheel", structure["wheels"]),
    ]


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return every state at the start."""
    rows, turned = placed(given, parameters, structure), turned_axes(given)
    high = max(place.height for row in rows for place in row)
    height = given.get("height", 0.0)
    turning = turning_at(given)
    velocity = np.array([given.get(f"speed_{axis}", 0.0) for axis in "xyz"])
    touches = _touching(rows, height)
    state = {"x": given.get("x", 0.0), "y": given.get("y", 0.0), "z": high + height}
    state |= {f"q{k}": part for k, part in enumerate(quaternion_of(turned))}
    state |= {f"{axis}_dot": part for axis, part in zip("xyz", velocity.tolist(), strict=True)}
    own = (turned.T @ turning).tolist()
    state |= {f"w{k}": part for k, part in enumerate(own, start=1)}
    found = {f"vehicle_{name}": float(part) for name, part in state.items()}
    for i, row in enumerate(rows):
        rate, spins = float(row[0].axle @ turning), [float(at.axis @ turning) for at in row]
        for j in [j for wheel, j in touches if wheel == i][:1]:
            extra, rolling = _rolling(row[j], velocity, turning, parameters["wheel_radius"])
            rate, spins[j] = rate + extra, spins[j] + rolling
        found |= {f"chi_{i + 1}": 0.0, f"wheel_{i + 1}": given.get(f"wheel_{i + 1}", rate)}
        found |= {f"spin_{i + 1}_{j + 1}": spin for j, spin in enumerate(spins)}
    return found


def _touching(rows: list[list[Placed]], height: float) -> list[tuple[int, int]]:
    """Return which rollers of which wheels are on the floor at the start."""
    if height != 0.0:
        return []
    high = max(place.height for row in rows for place in row)
    return [
        (i, j)
        for i, row in enumerate(rows)
        for j, place in enumerate(row)
        if place.height >= high - NEAR
    ]


def _rolling(
    at: Placed, velocity: np.ndarray, turning: np.ndarray, radius: float
) -> tuple[float, float]:
    """Return by how much wheel and roller turn in platform and wheel where nothing slips."""
    slip = (velocity + np.cross(turning, at.arm))[:2]
    by_rate, by_spin = np.cross(at.axle, at.arm - at.hub)[:2], np.cross(at.axis, at.own)[:2]
    if float(np.linalg.norm(by_spin)) <= THINNEST * radius:
        return -float(slip @ by_rate) / float(by_rate @ by_rate), 0.0
    rate, spin = np.linalg.solve(np.column_stack([by_rate, by_spin]), -slip).tolist()
    return rate, spin


def derived(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return which ends of rollers are the lowest, and which rollers are on the floor."""
    rows = placed(given, parameters, structure)
    touches = _touching(rows, given.get("height", 0.0))
    edge = math.sin(math.pi / structure["rollers"])
    found: dict[str, float] = {}
    for i, row in enumerate(rows):
        for j, place in enumerate(row):
            name, cosine = f"roller_{i + 1}_{j + 1}", float(place.axis[2])
            found[f"{name}_end"] = -math.copysign(1.0, cosine) if abs(cosine) > edge else 0.0
            found[f"contact_{name}"] = float((i, j) in touches)
    return found

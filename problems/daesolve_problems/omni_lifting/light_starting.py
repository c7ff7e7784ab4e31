"""The start of the vehicle on light rollers: where its wheels are, and those that touch roll."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.errors import OutOfRangeError
from daesolve_problems.contacts.free_body import quaternion_of
from daesolve_problems.omni_lifting.light_sizes import LightSizes
from daesolve_problems.omni_lifting.starting import NEAR, UP, Values, turned_axes, turning_at

FLAT = 1e-3
"""rad; an axle that is closer than this to the vertical has no direction in which it rolls."""


@dataclass(frozen=True, eq=False)
class Wheel:
    """Where a wheel is, in space.

    Parameters
    ----------
    height
        Of the mass centre where it touches, m.
    hub, arm
        From the mass centre to its middle, and to its lowest point, m.
    axle, towards
        Its axle, and the level direction in which it rolls.
    """

    height: float
    hub: np.ndarray
    arm: np.ndarray
    axle: np.ndarray
    towards: np.ndarray


def wheels_at(given: Values, parameters: Values, structure: Mapping[str, Any]) -> list[Wheel]:
    """Return where all wheels are at the start.

    Raises
    ------
    OutOfRangeError
        The rollers are thicker than the wheel, or a wheel lies on its side.
    """
    thick, radius = parameters["roller_radius"], parameters["wheel_radius"]
    if thick >= radius:
        raise OutOfRangeError(
            f"parameter 'roller_radius' is {thick!r}, but must be below {radius!r}: the rollers' "
            "axes lie within the wheel"
        )
    sizes, turned = LightSizes(parameters, structure["wheels"]), turned_axes(given)
    found: list[Wheel] = []
    for axle in sizes.axles:
        along = turned @ np.array(axle)
        level = np.cross(along, UP)
        sine = float(np.linalg.norm(level))
        if sine < FLAT:
            raise OutOfRangeError(
                f"the axle of wheel {len(found) + 1} stands upright at the start: the wheel lies "
                "on its side, and touches the floor with its whole rim; change tilt"
            )
        towards = level / sine
        hub = turned @ (sizes.reach * np.array(axle) - np.array(sizes.centre))
        arm = hub + (radius - thick) * np.cross(along, towards) - thick * UP
        found.append(Wheel(-float(arm[2]), hub, arm, along, towards))
    return found


def light_start(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Return every state at the start; what is not given is that of the bend."""
    given = {**_in_bend(given, parameters), **given}
    wheels, turned = wheels_at(given, parameters, structure), turned_axes(given)
    height, turning = _height(given, parameters, structure), turning_at(given)
    velocity = np.array([given.get(f"speed_{axis}", 0.0) for axis in "xyz"])
    high = max(wheel.height for wheel in wheels)
    state = {"x": given.get("x", 0.0), "y": given.get("y", 0.0), "z": high + height}
    state |= {f"q{k}": part for k, part in enumerate(quaternion_of(turned))}
    state |= {f"{axis}_dot": part for axis, part in zip("xyz", velocity.tolist(), strict=True)}
    own = (turned.T @ turning).tolist()
    state |= {f"w{k}": part for k, part in enumerate(own, start=1)}
    found = {f"vehicle_{name}": float(part) for name, part in state.items()}
    for i, wheel in enumerate(wheels, start=1):
        rate = float(wheel.axle @ turning)
        if height <= 0.0 and wheel.height >= high - NEAR:
            slip = wheel.towards @ (velocity + np.cross(turning, wheel.arm))
            rolled = wheel.towards @ np.cross(wheel.axle, wheel.arm - wheel.hub)
            rate -= float(slip / rolled)
        found |= {f"chi_{i}": 0.0, f"wheel_{i}": given.get(f"wheel_{i}", rate)}
    return found


def _in_bend(given: Values, parameters: Values) -> dict[str, float]:
    """Return the velocity and the yaw for which the motors are set."""
    ahead = given.get("heading", 0.0) + parameters["bend_inside"] - math.pi / 2.0
    speed = parameters["bend_speed"]
    return {
        "speed_x": speed * math.cos(ahead),
        "speed_y": speed * math.sin(ahead),
        "yaw": parameters["bend_rate"],
    }


def _height(given: Values, parameters: Values, structure: Mapping[str, Any]) -> float:
    """Return how high the lowest wheel is, m; springs are pressed by its weight."""
    if "stiffness" not in parameters:
        return given.get("height", 0.0)
    wheels = structure["wheels"]
    weight = LightSizes(parameters, wheels).mass * parameters["gravity"]
    return given.get("height", -weight / (wheels * parameters["stiffness"]))


def light_derived(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Return which wheels are on the floor at the start."""
    wheels = wheels_at(given, parameters, structure)
    high, height = max(wheel.height for wheel in wheels), given.get("height", 0.0)
    return {
        f"contact_rim_{i}": float(height == 0.0 and wheel.height >= high - NEAR)
        for i, wheel in enumerate(wheels, start=1)
    }

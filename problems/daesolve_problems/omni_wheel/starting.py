"""The start of the wheel, the rollers that touch there, and its energy losses.

A start has the place of the centre `x`, `y` and the `height` of the lowest point over the floor,
the `heading` in which it rolls, its `lean` to the right, and the angle `turn` by which it has
turned; its velocity `speed_x`, `speed_y`, `speed_z`, the rates `rate` about the axle, `lean_rate`
and `yaw`, and `spin_j` of the rollers, about their axes as seen from space. All are zero by
default, except that on the floor `speed_z`, `rate` and the spin of the touching roller are those
without slip, and free rollers are at rest in the wheel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.typing import BoundCase
from daesolve_problems.contacts.free_body import quaternion_of
from daesolve_problems.omni_wheel.models import wheel_of
from daesolve_problems.omni_wheels import equal_directions, numbered
from daesolve_problems.spindle import Spindle, Wheel

Values = Mapping[str, float]
UP = np.array([0.0, 0.0, 1.0])
THINNEST = 1e-6
"""A roller whose radius at the floor is below this part of its largest has no rate of rolling."""


def start_values(structure: Mapping[str, Any]) -> list[str]:
    """Return the names of the start values."""
    return [
        *("x", "y", "height", "heading", "lean", "turn"),
        *("speed_x", "speed_y", "speed_z", "rate", "lean_rate", "yaw"),
        *numbered("spin", structure["rollers"]),
    ]


@dataclass(frozen=True, eq=False)
class Stance:
    """How the wheel stands over the floor at the start.

    Parameters
    ----------
    wheel
        Masses and moments.
    turned
        Its axes in space, columns: (3, 3).
    heights
        Of its centre where each roller would touch, m: (n,).
    arms
        From its centre to where each roller is the lowest, and from the roller's middle, m: (n, 3).
    axes
        Of the rollers, in space: (n, 3).
    """

    wheel: Wheel
    turned: np.ndarray
    heights: np.ndarray
    arms: np.ndarray
    own_arms: np.ndarray
    axes: np.ndarray

    @property
    def lowest(self) -> int:
        """The roller that touches first."""
        return int(np.argmax(self.heights))


def stance(given: Values, parameters: Values, structure: Mapping[str, Any]) -> Stance:
    """Return how the wheel stands.

    Raises
    ------
    OutOfRangeError
        Its rollers are so thick at their ends that the axle goes through them.
    """
    wheel = wheel_of(parameters, structure["rollers"])
    roller = wheel.roller
    largest = roller.wheel_radius * math.cos(roller.half_angle)
    end = parameters["roller_end_radius"]
    if end >= largest:
        raise OutOfRangeError(
            f"parameter 'roller_end_radius' is {end!r}, but must be below {largest!r}: the "
            "rollers' axes lie within the wheel"
        )
    turned = _turned(given.get("heading", 0.0), given.get("lean", 0.0), given.get("turn", 0.0))
    heights, arms, own, axes = zip(
        *[_hung(roller, turned, along) for along in equal_directions(roller.rollers)], strict=True
    )
    return Stance(wheel, turned, *[np.array(part) for part in (heights, arms, own, axes)])


def _turned(heading: float, lean: float, turn: float) -> np.ndarray:
    """Return the wheel's axes in space."""
    ahead = np.array([math.cos(heading), math.sin(heading), 0.0])
    left = np.cross(UP, ahead)
    # The axle points to the left and up where the wheel leans to its right.
    axle = math.cos(lean) * left + math.sin(lean) * UP
    down = np.cross(axle, ahead)
    first = math.cos(turn) * ahead + math.sin(turn) * down
    return np.column_stack([first, np.cross(axle, first), axle])


def _hung(
    roller: Spindle, turned: np.ndarray, along: tuple[float, float]
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Return the height of the centre on a roller, the arms to its lowest point, and its axis."""
    axis = turned @ np.array([along[0], along[1], 0.0])
    middle = roller.axis_distance * (turned @ np.array([-along[1], along[0], 0.0]))
    height, (upwards, lengthwise) = roller.lowest(float(np.clip(axis[2], -1.0, 1.0)))
    own = upwards * UP + lengthwise * axis
    return height - float(middle[2]), middle + own, own, axis


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return every state at the start."""
    stand = stance(given, parameters, structure)
    height = given.get("height", 0.0)
    ahead = np.array([math.cos(given.get("heading", 0.0)), math.sin(given.get("heading", 0.0)), 0])
    axle = stand.turned[:, 2]
    rest = given.get("lean_rate", 0.0) * ahead + given.get("yaw", 0.0) * UP
    velocity = np.array([given.get(f"speed_{axis}", 0.0) for axis in "xyz"])
    rate, rolling = given.get("rate", 0.0), None
    if height == 0.0:
        rate, rolling = _rolling(stand, given, velocity, rest)
    turning = rest + rate * axle
    if height == 0.0 and "speed_z" not in given:
        velocity[2] = -float(np.cross(turning, stand.arms[stand.lowest])[2])
    spins = stand.axes @ turning
    if rolling is not None:
        spins[stand.lowest] += rolling
    place = [given.get("x", 0.0), given.get("y", 0.0), float(stand.heights.max()) + height]
    state = dict(zip(("x", "y", "z"), place, strict=True))
    state |= {f"q{k}": part for k, part in enumerate(quaternion_of(stand.turned))}
    state |= {f"{axis}_dot": part for axis, part in zip("xyz", velocity.tolist(), strict=True)}
    own = (stand.turned.T @ turning).tolist()
    state |= {f"w{k}": part for k, part in enumerate(own, start=1)}
    names = numbered("spin", structure["rollers"])
    spun = {name: given.get(name, own) for name, own in zip(names, spins.tolist(), strict=True)}
    return {f"wheel_{name}": float(part) for name, part in state.items()} | spun


def _rolling(
    stand: Stance, given: Values, velocity: np.ndarray, rest: np.ndarray
) -> tuple[float, float | None]:
    """Return the rate about the axle and that of the lowest roller in the wheel without slip."""
    arm, own = stand.arms[stand.lowest], stand.own_arms[stand.lowest]
    axis, axle = stand.axes[stand.lowest], stand.turned[:, 2]
    by_rate, by_spin = np.cross(axle, arm)[:2], np.cross(axis, own)[:2]
    slip = (velocity + np.cross(rest, arm))[:2]
    if "rate" in given:
        slip = slip + given["rate"] * by_rate
    thick = float(np.linalg.norm(by_spin))
    rolls = thick > THINNEST * stand.wheel.roller.middle_radius
    if not rolls:
        if "rate" in given:
            return given["rate"], None
        return -float(slip @ by_rate) / float(by_rate @ by_rate), None
    if "rate" in given:
        return given["rate"], -float(slip @ by_spin) / thick**2
    rate, spin = np.linalg.solve(np.column_stack([by_rate, by_spin]), -slip).tolist()
    return rate, spin


def derived(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return the discrete values at the start: of the contacts, or which roller rolls.

    Raises
    ------
    OutOfRangeError
        As `stance` and `_standing`.
    """
    # The model that rolls has no friction.
    return (_touching if "friction" in parameters else _standing)(given, parameters, structure)


def _touching(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return which ends of rollers are the lowest, and which roller is on the floor."""
    stand = stance(given, parameters, structure)
    edge = math.sin(stand.wheel.roller.half_angle)
    found: dict[str, float] = {}
    for j, axis in enumerate(stand.axes):
        cosine = float(axis[2])
        found[f"roller_{j + 1}_end"] = -math.copysign(1.0, cosine) if abs(cosine) > edge else 0.0
        on_floor = given.get("height", 0.0) == 0.0 and j == stand.lowest
        found[f"contact_roller_{j + 1}"] = float(on_floor)
    return found


def _standing(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return the roller that an upright wheel stands on.

    Raises
    ------
    OutOfRangeError
        Its rollers are pointed, and would have to spin without bounds at their ends; or it does
        not stand upright on the floor.
    """
    stand = stance(given, parameters, structure)
    end = parameters["roller_end_radius"]
    if end <= 0.0:
        raise OutOfRangeError(
            f"parameter 'roller_end_radius' is {end!r}, but must be above 0 where rollers roll "
            "without slip: at a tip their rates have no bounds"
        )
    for name in ("height", "lean", "lean_rate", "speed_z"):
        if given.get(name, 0.0) != 0.0:
            raise OutOfRangeError(
                f"{name} is {given[name]!r}, but must be 0 where the wheel rolls upright"
            )
    return {"contact": float(stand.lowest + 1)}


# -- what is asked -------------------------------------------------------------------------------


def balance(case: BoundCase) -> ds.Answer:
    """Run a case, and report its energy: losses in friction and impacts, and the rest."""
    run = case.solve()
    p, rollers = case.full_parameters, case.full_structure["rollers"]
    wheel = wheel_of(p, rollers)
    energies = [_energy(run, sample, wheel, p["gravity"]) for sample in (0, -1)]
    struck = sum(e.impact.kinetic_before - e.impact.kinetic_after for e in run.events if e.impact)
    works = [f"{name}_friction_work" for name in numbered("roller", rollers)]
    rubbed = -sum(float(run[name][-1]) for name in works) if case.model == "rubs" else 0.0
    found: dict[str, Any] = {
        "energy_at_the_start": energies[0],
        "energy_at_the_end": energies[1],
        "taken_by_friction": rubbed,
        "taken_by_impacts": struck,
        "missing": energies[0] - energies[1] - rubbed - struck,
        "impacts": sum(event.impact is not None for event in run.events),
    }
    return ds.Answer(found)


def _energy(run: ds.Trajectory, sample: int, wheel: Wheel, gravity: float) -> float:
    """Return kinetic and potential energy at a sample, J."""

    def squares(*names: str) -> float:
        return sum(float(run[name][sample]) ** 2 for name in names)

    linear = squares(*[f"wheel_{axis}_dot" for axis in "xyz"])
    across, about = squares("wheel_w1", "wheel_w2"), squares("wheel_w3")
    spins = squares(*numbered("spin", wheel.roller.rollers))
    turning = wheel.upright * across + wheel.axial * about + wheel.roller_along * spins
    high = wheel.mass * gravity * float(run["wheel_z"][sample])
    return (wheel.mass * linear + turning) / 2.0 + high

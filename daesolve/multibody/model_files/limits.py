"""Limits of joints: contacts of the library, whose gap is the distance from the limit.

A hinge or a slide has a contact at each end of its range, of which one at most is closed. A joint
whose range is a point is held there instead. Where an equality makes one joint follow another by a
straight line, both ranges limit the one that leads: otherwise the contacts of both would close at
once, and share their load in an undetermined way.

The range of a ball limits the angle theta of its whole rotation. At rest theta has no derivative;
so its gap is 2 (cos(theta / 2) - cos(limit / 2)) / sin(limit / 2), whose slope at the limit is -1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import cos, inf, isfinite, pi, sin

import casadi as ca
import numpy as np

from daesolve.contact.posing.contacts import Contact
from daesolve.core.posing.goals import Expression
from daesolve.core.posing.symbols import Interval, Parameters
from daesolve.errors import ModelFileError, OutOfRangeError
from daesolve.multibody.contribution import Contribution
from daesolve.multibody.model_files.assembly import CONTACT, Assembly
from daesolve.multibody.model_files.equalities import JOINT, holding
from daesolve.multibody.model_files.freedoms import RECOUNT_ANGLE, Freedom
from daesolve.multibody.model_files.model import (
    FileEquality,
    FileJoint,
    FileModel,
    with_motions,
)

RESTITUTION = "limit_restitution"
"""The parameter of every limit."""
NO_LIMITS = 1, 8
"""MuJoCo's bits of constraints and of limits, where they are disabled."""
ROUNDING = 1e-9
"""How far beyond a limit counts as at it, rad or m; a range that is shorter is a point."""
NOUNS = {"tendon": "tendon", "sum": "tendon"}
"""What motions are called that are none of joints."""
LINEAR = 2
"""The coefficients of an equality of joints that make a straight line."""


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Contacts at the ends of the range of a motion.

    Parameters
    ----------
    gaps
        The distances from the limits, by the names of the contacts.
    unit
        Of their reactions.
    restitution
        Of all of them.
    """

    gaps: Mapping[str, ca.SX]
    unit: str
    restitution: Expression

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        return Contribution(
            goals=[
                Contact(name, gap, unit=self.unit, restitution=self.restitution, closed=False)
                for name, gap in self.gaps.items()
            ]
        )


def restitution_parameter(value: float) -> Parameters:
    """Return the restitution of all limits as a parameter.

    Raises
    ------
    OutOfRangeError
        It is not a number from 0 to 1.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = inf
    if not 0.0 <= number <= 1.0:
        raise OutOfRangeError(f"limit_restitution is {value!r}, but must be a number from 0 to 1")
    return Parameters({RESTITUTION: number}, {RESTITUTION: ""}, {RESTITUTION: Interval(0.0, 1.0)})


def with_ranges(model: FileModel) -> FileModel:
    """Return a model in which the ranges of joints are those that its limits leave.

    Raises
    ------
    ModelFileError
        A range is empty.
    """
    limited = not model.switched_off(*NO_LIMITS)
    model = with_motions(model, lambda motion: _without_margin(motion, limited=limited))
    joints = list(model.joints)
    for equality in _leaves_first(model):
        _limit_the_leader(joints, equality)
    points = [number for number, joint in enumerate(joints) if joint.limited and _is_point(joint)]
    held = [_held_at(joints[number], number) for number in points]
    for number in points:
        joints[number] = replace(joints[number], limited=False)
    return replace(model, joints=joints, equalities=[*model.equalities, *held])


def _without_margin(joint: FileJoint, *, limited: bool) -> FileJoint:
    """Return a joint whose range ends where MuJoCo's constraint would rest, its margin before."""
    if not limited or not joint.limited:
        return replace(joint, limited=False)
    low, high = joint.range.tolist()
    if low == -inf and high == inf:
        return replace(joint, limited=False)
    if joint.kind == "ball":
        if high - joint.margin < ROUNDING:
            raise ModelFileError(
                f"the ball {joint.name!r} has no place to turn within its limits: weld its body"
            )
        return replace(joint, range=np.array([0.0, high - joint.margin]))
    low, high = low + joint.margin, high - joint.margin
    if low > high:
        what = f"{NOUNS.get(joint.kind, 'joint')} {joint.name!r}"
        raise ModelFileError(
            f"the {what} has no place within its limits: they leave from {low:g} to {high:g}"
        )
    return replace(joint, range=np.array([low, high]))


def _is_point(joint: FileJoint) -> bool:
    return joint.kind != "ball" and bool(joint.range[1] - joint.range[0] < ROUNDING)


def _held_at(joint: FileJoint, number: int) -> FileEquality:
    """Return what holds a joint whose range is a point."""
    data = np.zeros(11)
    data[0] = np.mean(joint.range) - joint.reference[0]
    return FileEquality(f"{joint.name}_held", JOINT, 0, number, -1, True, data)


def _leaves_first(model: FileModel) -> list[FileEquality]:
    """Return the equalities that make a joint follow another by a line, from the last followers."""
    rows = [
        entry
        for _, entry in holding(model)
        if entry.kind == JOINT and entry.second >= 0 and entry.data[1] and not
        entry.data[LINEAR:5].any()
    ]  # fmt: skip
    ordered: list[FileEquality] = []
    while rows:
        leaders = {row.second for row in rows}
        free = [row for row in rows if row.first not in leaders]
        if not free:
            return ordered  # A ring: nothing leads it.
        ordered += free
        rows = [row for row in rows if row not in free]
    return ordered


def _limit_the_leader(joints: list[FileJoint], equality: FileEquality) -> None:
    """Take the range of a joint that follows over to the one that leads."""
    follower, leader = joints[equality.first], joints[equality.second]
    if not follower.limited:
        return
    start, slope = (float(number) for number in equality.data[:2])
    ends = (follower.range - follower.reference[0] - start) / slope + leader.reference[0]
    low, high = sorted(ends.tolist())
    if leader.limited:
        low, high = max(low, float(leader.range[0])), min(high, float(leader.range[1]))
    if low > high + ROUNDING:
        raise ModelFileError(
            f"the joint {leader.name!r} has no place within its limits and those of "
            f"{follower.name!r}, which follows it"
        )
    joints[equality.first] = replace(follower, limited=False)
    joints[equality.second] = replace(leader, limited=True, range=np.array([low, high]))


def unique_angle(joint: FileJoint) -> bool:
    """Return whether limits keep a hinge where its turn from its reference is known anyway."""
    far = np.abs(joint.range - joint.reference[0]) < RECOUNT_ANGLE
    return joint.limited and joint.kind == "hinge" and bool(far.all())


def add_limits(assembly: Assembly, restitution: Expression) -> None:
    """Add the limits of joints to a mechanism."""
    for freedom in (*assembly.freedoms.values(), *assembly.tendons.values()):
        if not freedom.joint.limited:
            continue
        low, high = freedom.joint.range.tolist()
        if freedom.half_turn is not None:
            if high >= pi:
                continue  # No rotation is larger.
            gap = 2 * (freedom.half_turn - cos(high / 2)) / sin(high / 2)
            gaps = {"upper": gap}
        else:
            ends = {"lower": (low, freedom.place - low), "upper": (high, high - freedom.place)}
            gaps = {end: gap for end, (limit, gap) in ends.items() if isfinite(limit)}
        words = assembly.words
        named = {
            words.word(f"{freedom.name}_{end}", "limit", CONTACT): gap for end, gap in gaps.items()
        }
        assembly.parts.append(JointLimits(named, freedom.units[1], restitution))


def check_start(freedoms: Sequence[Freedom], qpos: np.ndarray) -> None:
    """Refuse coordinates beyond limits; put those that rounding has beyond them to the limit.

    Raises
    ------
    OutOfRangeError
        A joint would start beyond a limit.
    """
    beyond: list[str] = []
    for freedom in freedoms:
        joint = freedom.joint
        if not joint.limited:
            continue
        low, high = joint.range.tolist()
        if joint.kind == "ball":
            w, *axis = qpos[joint.place : joint.place + 4].tolist()
            value = 2 * float(np.arctan2(np.linalg.norm(axis), abs(w)))
        else:
            value = float(qpos[joint.place])
            qpos[joint.place] = min(max(value, low), high) if _is_near(value, low, high) else value
        if not _is_near(value, low, high):
            limit, unit = (low, high)[value > high], "m" if joint.kind == "slide" else "rad"
            side = "upper" if value > high else "lower"
            what = f"{freedom.name} starts at {value:.9g} {unit}"
            beyond.append(f"{what}, beyond its {side} limit {limit:.9g}")
    if beyond:
        more = f", and {len(beyond) - 1} more start beyond theirs" if len(beyond) > 1 else ""
        raise OutOfRangeError(f"the joint {beyond[0]}{more}: give start values within the limits")


def _is_near(value: float, low: float, high: float) -> bool:
    return low - ROUNDING <= value <= high + ROUNDING

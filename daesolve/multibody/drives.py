"""What drives a joint: a motor or an actuator, and gears that tie two joints together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from daesolve.errors import OutOfRangeError, PosingError
from daesolve.multibody.bodies import Body, PlanarBody
from daesolve.multibody.joint_rows import wrapped
from daesolve.multibody.joints import Prismatic, Revolute, Slot
from daesolve.multibody.loads import Turning, check_joint, check_name
from daesolve.multibody.mechanism import AppliedForce, Contribution
from daesolve.posing.goals import Expression, Goal, Holonomic, Nonholonomic, as_scalar, is_word


@dataclass(frozen=True, eq=False)
class Motor:
    """A motor in a joint that turns: one of a torque, a speed and an angle is given.

    A given torque is the output `<name>_torque`, N m. A given speed or angle is a goal of the
    motor's name, whose reaction is the torque. The work of a given torque is metered as
    `<name>_work`, J; that of a goal as well.

    Parameters
    ----------
    name
        A word.
    joint
        A joint with a rate; with an angle where that is given.
    torque
        N m, on the second body: an expression of time, states and parameters.
    speed
        rad/s: an expression of time and parameters.
    angle
        rad: the same. The joint goes round with it, whole turns do not count.

    Raises
    ------
    PosingError
        The name is no word, the joint does not turn, or not one of the three is given.
    """

    name: str
    joint: Turning
    torque: Expression | None = None
    speed: Expression | None = None
    angle: Expression | None = None

    def __post_init__(self) -> None:
        what = f"Motor {self.name!r}"
        check_name(self.name, what)
        check_joint(what, self.joint, "rate" if self.angle is None else "angle")
        given = {"torque": self.torque, "speed": self.speed, "angle": self.angle}
        _check_one(what, given)

    @cached_property
    def contribution(self) -> Contribution:
        """What it adds to a mechanism."""
        rate = self.joint.rate
        if self.torque is not None:
            return _driven(self.name, rate, ca.SX(self.torque), ("torque", "N m"))
        if self.angle is None:
            assert self.speed is not None
            return _held(Nonholonomic(self.name, rate - self.speed, unit="N m"), rate)
        residual = wrapped(self.joint.angle - self.angle)
        return _held(Holonomic(self.name, residual, unit="N m"), rate)


@dataclass(frozen=True, eq=False)
class Actuator:
    """What drives a joint that slides: one of a force, a speed and a displacement is given.

    As `Motor`, with the output `<name>_force`, N.

    Parameters
    ----------
    name
        A word.
    joint
        A joint with a displacement and a speed.
    force
        N, on the second body, along the axis: an expression of time, states and parameters.
    speed, displacement
        m/s or m: expressions of time and parameters.

    Raises
    ------
    PosingError
        The name is no word, the joint does not slide, or not one of the three is given.
    """

    name: str
    joint: Slot
    force: Expression | None = None
    speed: Expression | None = None
    displacement: Expression | None = None

    def __post_init__(self) -> None:
        what = f"Actuator {self.name!r}"
        check_name(self.name, what)
        check_joint(what, self.joint, "displacement")
        given = {"force": self.force, "speed": self.speed, "displacement": self.displacement}
        _check_one(what, given)

    @cached_property
    def contribution(self) -> Contribution:
        """What it adds to a mechanism."""
        speed = self.joint.speed
        if self.force is not None:
            return _driven(self.name, speed, ca.SX(self.force), ("force", "N"))
        if self.displacement is None:
            assert self.speed is not None
            return _held(Nonholonomic(self.name, speed - self.speed, unit="N"), speed)
        residual = self.joint.displacement - self.displacement
        return _held(Holonomic(self.name, residual, unit="N"), speed)


def _driven(name: str, speed: ca.SX, force: ca.SX, output: tuple[str, str]) -> Contribution:
    what, unit = output
    return Contribution(
        forces=[AppliedForce(speed, force)],
        outputs={f"{name}_{what}": (force, unit)},
        meters={f"{name}_work": (force * speed, "J")},
    )


def _held(goal: Goal, speed: ca.SX) -> Contribution:
    return Contribution(goals=[goal], meters={f"{goal.name}_work": (goal.reaction * speed, "J")})


def _check_one(what: str, given: dict[str, Expression | None]) -> None:
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        raise PosingError(
            f"the {what} takes one of {', '.join(given)}, not {' and '.join(names) or 'none'}"
        )
    as_scalar(f"the {names[0]} of the {what}", given[names[0]])  # pyright: ignore


@dataclass(frozen=True, eq=False)
class Gear:
    """A gear: the rate of the first joint is `ratio` times that of the second.

    In the plane angles are coordinates, and the gear holds them: angle_1 - ratio * angle_2 keeps
    the value, but for whole turns, that it has where the bodies are placed (at their own start, not
    at another that a run is given). Errors are fed back; where the ratio is a whole number, the
    angles can be wrapped in long runs. In space a frame shows its angle but for whole turns, after
    which wheels of another ratio would mesh elsewhere. There the gear is a non-holonomic constraint
    on the rates: it leaves as much freedom, but errors of the angles are not fed back.

    Parameters
    ----------
    name
        A word; its goal has this name. The reaction is the torque (N m) that it exerts on the first
        joint, a force (N) where that slides; -ratio times as much acts on the second.
    first, second
        `Revolute` or `Prismatic` joints: two wheels, or a pinion and its rack.
    ratio
        A number, or an expression of parameters: negative for wheels that turn against each other,
        -teeth_2 / teeth_1. In rad/m for a pinion (first) on a rack.

    Raises
    ------
    PosingError
        The name is no word; a joint is none, both are the same, or one is in the plane and the
        other in space.
    OutOfRangeError
        The ratio is no finite number, or zero.
    """

    name: str
    first: Revolute | Prismatic
    second: Revolute | Prismatic
    ratio: Expression

    def __post_init__(self) -> None:
        if not is_word(self.name):
            raise PosingError(f"the name of a gear is a word, not {self.name!r}")
        for joint in (self.first, self.second):
            if not isinstance(joint, Revolute | Prismatic):
                raise PosingError(f"{self} ties revolute or prismatic joints, not {joint!r}")
        if self.first is self.second:
            raise PosingError(f"{self} ties {self.first} to itself")
        if self.first.planar != self.second.planar:
            raise PosingError(
                f"{self} ties a joint in the plane to one in space: {self.first} and {self.second}"
            )
        ratio = as_scalar(f"the ratio of {self}", self.ratio, finite=False)
        if ratio.is_constant() and not 0.0 < abs(float(ratio)) < float("inf"):
            raise OutOfRangeError(
                f"the ratio of {self} is {float(ratio):g}, but must be a number other than 0"
            )

    def __str__(self) -> str:
        return f"the gear {self.name!r}"

    @cached_property
    def goal(self) -> Holonomic | Nonholonomic:
        """Its constraint."""
        turns = isinstance(self.first, Revolute)
        unit = "N m" if turns else "N"
        if not self.first.planar:
            held = _rate(self.first) - self.ratio * _rate(self.second)
            return Nonholonomic(self.name, held, unit=unit)
        held = _place(self.first) - self.ratio * _place(self.second)
        held = held - self._at_start(held)
        return Holonomic(self.name, wrapped(held) if turns else held, unit=unit)

    @cached_property
    def contribution(self) -> Contribution:
        """What it adds to a mechanism."""
        return Contribution(goals=(self.goal,))

    def _at_start(self, held: ca.SX) -> ca.SX:
        joints = (self.first, self.second)
        for place in (place for joint in joints for place in (joint.first, joint.second)):
            body = place.body
            if isinstance(body, Body | PlanarBody):
                q = body.coordinates
                values = ca.vertcat(*[body.start[name] for name in q.names])
                held = ca.substitute(held, q.vector, values)
        return held


def _place(joint: Revolute | Prismatic) -> ca.SX:
    return joint.angle if isinstance(joint, Revolute) else joint.displacement


def _rate(joint: Revolute | Prismatic) -> ca.SX:
    return joint.rate if isinstance(joint, Revolute) else joint.speed

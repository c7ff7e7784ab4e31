"""What drives a joint: a motor or an actuator, by a force or by a prescribed motion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from daesolve.errors import PosingError
from daesolve.multibody.joint_rows import wrapped
from daesolve.multibody.joints import Slot
from daesolve.multibody.loads import Turning, check_joint, check_name
from daesolve.multibody.mechanism import AppliedForce, Contribution
from daesolve.posing.goals import Expression, Goal, Holonomic, Nonholonomic, as_scalar


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

"""Drives of joints: motors and actuators; and gears, racks and belts that couple two joints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import casadi as ca

from daesolve.core.posing.goals import Expression, Goal, Holonomic, Nonholonomic, as_scalar
from daesolve.core.posing.symbols import SymbolVector
from daesolve.errors import PosingError
from daesolve.multibody.bodies import at_start
from daesolve.multibody.checks import check_name, check_part, check_size
from daesolve.multibody.contribution import AppliedForce, Contribution
from daesolve.multibody.joint_rows import ahead, wrapped
from daesolve.multibody.joints import Prismatic, Revolute, Slot
from daesolve.multibody.loads import Turning, check_joint
from daesolve.multibody.places import Frame


class _Drive:
    """A drive of a joint by exactly one of three: a load, a speed, or a place."""

    name: str
    choices: ClassVar[tuple[str, str, str]]
    """The fields of load, speed and place."""
    unit: ClassVar[str]
    """The unit of the load."""

    def _check(self, joint: object, needed: str) -> None:
        what = check_part(self)
        check_joint(what, joint, needed)
        given = [name for name in self.choices if getattr(self, name) is not None]
        if len(given) != 1:
            raise PosingError(
                f"the {what} needs exactly one of {', '.join(self.choices)}, not "
                f"{' and '.join(given) or 'none'}"
            )
        as_scalar(f"the {given[0]} of the {what}", getattr(self, given[0]))

    def _driving(self, speed: ca.SX, residual: ca.SX | None) -> Contribution:
        """Return the contribution by the speed of the joint, and by what a place leaves open."""
        load, wanted, _ = (getattr(self, name) for name in self.choices)
        if load is not None:
            force, output = ca.SX(load), f"{self.name}_{self.choices[0]}"
            return Contribution(
                forces=[AppliedForce(speed, force)],
                outputs={output: (force, self.unit)},
                meters={f"{self.name}_work": (force * speed, "J")},
            )
        if residual is None:
            goal: Goal = Nonholonomic(self.name, speed - wanted, unit=self.unit)
        else:
            goal = Holonomic(self.name, residual, unit=self.unit)
        work = goal.reaction * speed
        return Contribution(goals=[goal], meters={f"{self.name}_work": (work, "J")})


@dataclass(frozen=True, eq=False)
class Motor(_Drive):
    """A motor in a joint that turns: give its torque, its speed or its angle.

    A given torque is the output `<name>_torque`, N m. A given speed or angle is a goal of the
    motor's name, whose reaction is the torque. Its work is metered as `<name>_work`, J, in either
    case.

    Parameters
    ----------
    name
        A word.
    joint
        A joint with a rate, and with an angle if `angle` is given.
    torque
        N m, on the second body: an expression of time, states and parameters.
    speed
        rad/s: an expression of time and parameters.
    angle
        rad: an expression of time and parameters. The joint follows it round; whole turns do not
        count.

    Raises
    ------
    PosingError
        The name is not a word, the joint does not turn, or not exactly one of the three is given.
    """

    name: str
    joint: Turning
    torque: Expression | None = None
    speed: Expression | None = None
    angle: Expression | None = None

    choices = "torque", "speed", "angle"
    unit = "N m"

    def __post_init__(self) -> None:
        self._check(self.joint, "rate" if self.angle is None else "angle")

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        ahead = None if self.angle is None else wrapped(self.joint.angle - self.angle)
        return self._driving(self.joint.rate, ahead)


@dataclass(frozen=True, eq=False)
class Actuator(_Drive):
    """An actuator in a joint that slides: give its force, its speed or its displacement.

    Like `Motor`, with the output `<name>_force`, N.

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
        The name is not a word, the joint does not slide, or not exactly one of the three is given.
    """

    name: str
    joint: Slot
    force: Expression | None = None
    speed: Expression | None = None
    displacement: Expression | None = None

    choices = "force", "speed", "displacement"
    unit = "N"

    def __post_init__(self) -> None:
        self._check(self.joint, "displacement")

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        place = self.displacement
        ahead = None if place is None else self.joint.displacement - place
        return self._driving(self.joint.speed, ahead)


class _Coupling(ABC):
    """A constraint between two joints."""

    name: str
    kind: ClassVar[str]
    """Its name in messages."""

    def __str__(self) -> str:
        return f"the {self.kind} {self.name!r}"

    @cached_property
    @abstractmethod
    def goal(self) -> Holonomic | Nonholonomic | None:
        """Its constraint."""

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        return Contribution(goals=() if self.goal is None else (self.goal,))

    def _check_space(self, first: Revolute | Prismatic, second: Revolute | Prismatic) -> None:
        if first.planar != second.planar:
            raise PosingError(
                f"{self} connects a joint in the plane to one in space: {first} and {second}"
            )


@dataclass(frozen=True, eq=False)
class Gear(_Coupling):
    """A gear: the rate of the first joint is `ratio` times that of the second.

    In the plane angles are coordinates, and the gear holds them: angle_1 - ratio * angle_2 keeps
    the value, up to whole turns, that it has at the start of the bodies (not at another start given
    to a run). Errors are fed back; if the ratio is a whole number, the angles can be wrapped in
    long runs. In space a frame shows its angle only up to whole turns, after which wheels with
    another ratio would mesh elsewhere. There the gear is a non-holonomic constraint on the rates:
    it leaves the same freedom, but does not feed back errors of the angles.

    Parameters
    ----------
    name
        A word; its goal has this name. The reaction is the torque (N m) on the first joint, or the
        force (N) if that joint slides; -ratio times as much acts on the second.
    first, second
        `Revolute` or `Prismatic` joints: two wheels, or a pinion and its rack.
    ratio
        A number, or an expression of parameters: negative for wheels that turn against each other,
        -teeth_2 / teeth_1. In rad/m for a pinion (first) on a rack.

    Raises
    ------
    PosingError
        The name is not a word; a joint is of the wrong kind, both are the same, or one is in the
        plane and the other in space.
    OutOfRangeError
        The ratio is zero or not finite.
    """

    name: str
    first: Revolute | Prismatic
    second: Revolute | Prismatic
    ratio: Expression
    kind = "gear"

    def __post_init__(self) -> None:
        check_name(self.name, "a gear")
        for joint in (self.first, self.second):
            if not isinstance(joint, Revolute | Prismatic):
                raise PosingError(
                    f"{self} must connect revolute or prismatic joints, not {joint!r}"
                )
        if self.first is self.second:
            raise PosingError(f"{self} connects {self.first} to itself")
        self._check_space(self.first, self.second)
        check_size(f"the ratio of {self}", self.ratio, "a number other than 0")

    @cached_property
    def goal(self) -> Holonomic | Nonholonomic:
        """Its constraint."""
        turns = isinstance(self.first, Revolute)
        unit = "N m" if turns else "N"
        if not self.first.planar:
            difference = _rate(self.first) - self.ratio * _rate(self.second)
            return Nonholonomic(self.name, difference, unit=unit)
        difference = _place(self.first) - self.ratio * _place(self.second)
        difference = difference - at_start(difference, _owners(self.first, self.second))
        return Holonomic(self.name, wrapped(difference) if turns else difference, unit=unit)


@dataclass(frozen=True, eq=False)
class RackAndPinion(_Coupling):
    """A pinion that rolls along a rack: the rack moves by the radius times the pinion's turn.

    displacement - radius * angle keeps the value that it has at the start of the bodies. The pinion
    is the same after each whole turn, so errors are fed back after any number of turns; for an
    axisymmetric body, which shows no angle, it holds the rates. The reaction is the force (N) on
    the rack along its joint; the torque on the pinion is -radius times it. One body, such as a
    housing or the ground, carries both joints; or the carrier of the pinion slides along the rack.

    Parameters
    ----------
    name
        A word; its goal has this name.
    pinion
        The `Revolute` joint of the pinion.
    rack
        The `Prismatic` joint of the rack.
    radius
        Of the pitch circle, m: a number or an expression of parameters; negative if the rack moves
        back as the pinion turns forwards.

    Raises
    ------
    PosingError
        The name is not a word, a joint is of the wrong kind, one is in the plane and the other in
        space, or they have no body in common.
    OutOfRangeError
        The radius is zero or not finite.
    """

    name: str
    pinion: Revolute
    rack: Prismatic
    radius: Expression
    kind = "rack and pinion"

    def __post_init__(self) -> None:
        check_name(self.name, "a rack and pinion")
        if not isinstance(self.pinion, Revolute):
            raise PosingError(f"the pinion of {self} must be a revolute joint, not {self.pinion!r}")
        if not isinstance(self.rack, Prismatic):
            raise PosingError(f"the rack of {self} must be a prismatic joint, not {self.rack!r}")
        self._check_space(self.pinion, self.rack)
        check_size(f"the radius of {self}", self.radius, "a number other than 0")
        if not {*_owners(self.pinion)} & {*_owners(self.rack)}:
            raise PosingError(
                f"the joints of {self} have no body in common, so the angle and the travel are "
                "measured from different bodies: define both joints from the body that "
                "carries both"
            )

    @cached_property
    def goal(self) -> Holonomic | Nonholonomic:
        """Its constraint."""
        pinion, rack, radius = self.pinion, self.rack, ca.SX(self.radius)
        if any(isinstance(p, Frame) and p.turning for p in (pinion.first, pinion.second)):
            return Nonholonomic(self.name, rack.speed - radius * pinion.rate, unit="N")
        turned = rack.displacement / radius
        turned = turned - at_start(turned - pinion.angle, _owners(pinion, rack))
        difference = radius * ahead(turned, pinion.first, pinion.second, pinion.axis)
        return Holonomic(self.name, difference, unit="N")


@dataclass(frozen=True, eq=False)
class Belt(_Coupling):
    """A belt or a chain around two pulleys that does not slip: both rims have the same speed.

    The joints measure the turns of both against the body that carries the axles, which is the first
    body of either joint. On an arm that turns itself these are joints to the arm, even for the
    pulley on its pivot; a joint that only measures an angle need not be a part of the mechanism.
    The belt acts like a `Gear` with the ratio radii[1] / radii[0]: in the plane it holds angles, in
    space rates. The reaction is the difference of the tensions of the two strands (N): the torque
    on the first pulley divided by its radius. The sum of the tensions, which loads the axles,
    depends on how the belt is tightened, and is not modelled. An elastic belt has a `stiffness`: it
    does not slip either, but it stretches. Its strands have the tensions T_1 = T_0 + k e + c e' and
    T_2 = T_0 - k e - c e', where e is how far the rim of the second pulley has moved ahead of the
    rim of the first. A strand whose tension would be negative hangs slack, with no tension. The
    tensions are the outputs `<name>_tension_1`, `_2`, and e is the state `<name>_stretch`, zero at
    the start.

    Parameters
    ----------
    name
        A word; the goal of a belt that does not stretch has this name.
    first, second
        The `Revolute` joints of the pulleys.
    radii
        Of the first and the second, m, positive: numbers or expressions of parameters.
    crossed
        Whether the belt is crossed, so that the pulleys turn against each other.
    stiffness
        k, of each strand, N/m; None for a belt that does not stretch.
    damping, pretension
        Of an elastic belt: c of each strand, N s/m, and T_0, N.

    Raises
    ------
    PosingError
        The name is not a word, a joint is of the wrong kind, both are the same, one is in the plane
        and the other in space, or their first bodies differ; there are not two radii; crossed is
        neither True nor False; damping or pretension is given without stiffness.
    OutOfRangeError
        A radius is not positive, or another number is negative.
    """

    name: str
    first: Revolute
    second: Revolute
    radii: tuple[Expression, Expression]
    crossed: bool = False
    stiffness: Expression | None = None
    damping: Expression = 0.0
    pretension: Expression = 0.0
    kind = "belt"

    def __post_init__(self) -> None:
        check_name(self.name, "a belt")
        for joint in (self.first, self.second):
            if not isinstance(joint, Revolute):
                raise PosingError(f"{self} needs pulleys on revolute joints, not {joint!r}")
        if self.first is self.second:
            raise PosingError(f"{self} uses {self.first} twice")
        self._check_space(self.first, self.second)
        one, other = self.first.first.body, self.second.first.body
        if one is not other:
            raise PosingError(
                f"the pulleys of {self} turn against {one.name!r} and {other.name!r}, but a "
                "belt relates their turns to one body: define both joints from the body that "
                "carries them"
            )
        if not isinstance(self.crossed, bool):
            raise PosingError(f"{self} must have crossed = True or False, not {self.crossed!r}")
        self._check_numbers()

    def _check_numbers(self) -> None:
        if not isinstance(self.radii, Sequence) or len(self.radii) != 2:
            raise PosingError(
                f"{self} needs two radii, of the first and the second, not {self.radii!r}"
            )
        for radius in self.radii:
            check_size(f"a radius of {self}", radius, "> 0")
        for what, value in (("damping", self.damping), ("pretension", self.pretension)):
            check_size(f"the {what} of {self}", value)
            if self.stiffness is None and not ca.SX(value).is_zero():
                raise PosingError(
                    f"the {what} of {self} applies only to an elastic belt: give stiffness"
                )
        if self.stiffness is not None:
            check_size(f"the stiffness of {self}", self.stiffness, "> 0")

    @property
    def _rim_speeds(self) -> tuple[ca.SX, ca.SX]:
        one, other = (ca.SX(radius) for radius in self.radii)
        return one * self.first.rate, (-1 if self.crossed else 1) * other * self.second.rate

    @cached_property
    def goal(self) -> Holonomic | Nonholonomic | None:
        """Its constraint; an elastic belt has none."""
        if self.stiffness is not None:
            return None
        one, two = self._rim_speeds
        if not self.first.planar:
            return Nonholonomic(self.name, one - two, unit="N")
        ratio = (-1 if self.crossed else 1) * ca.SX(self.radii[1]) / self.radii[0]
        difference = self.first.angle - ratio * self.second.angle
        difference = difference - at_start(difference, _owners(self.first, self.second))
        return Holonomic(self.name, self.radii[0] * wrapped(difference), unit="N")

    @cached_property
    def state(self) -> SymbolVector:
        """How far an elastic belt is stretched, m."""
        return SymbolVector((f"{self.name}_stretch",), ("m",), "quadrature")

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        if self.stiffness is None:
            return super().contribution
        one, two = self._rim_speeds
        stretching = two - one
        change = self.stiffness * self.state.vector + self.damping * stretching
        strands = [ca.fmax(self.pretension + side * change, 0) for side in (1, -1)]
        pull = strands[0] - strands[1]
        return Contribution(
            forces=[AppliedForce(stretching, -pull)],
            quadratures=self.state,
            integrands={self.state.names[0]: stretching},
            start={self.state.names[0]: 0.0},
            outputs={f"{self.name}_tension_{k}": (t, "N") for k, t in enumerate(strands, 1)},
            meters={f"{self.name}_work": (-pull * stretching, "J")},
        )


def _owners(*joints: Revolute | Prismatic) -> list[object]:
    return [place.body for joint in joints for place in (joint.first, joint.second)]


def _place(joint: Revolute | Prismatic) -> ca.SX:
    return joint.angle if isinstance(joint, Revolute) else joint.displacement


def _rate(joint: Revolute | Prismatic) -> ca.SX:
    return joint.rate if isinstance(joint, Revolute) else joint.speed

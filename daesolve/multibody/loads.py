"""Loads: springs, dampers, forces and torques.

A load between two bodies acts on both: a positive tension pulls two points together, a positive
torque in a joint turns the second body ahead of the first. Springs have a potential energy, so a
mechanism with no other loads conserves energy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from daesolve.core.posing.events import FALLING, Event, Stop
from daesolve.core.posing.goals import Expression, as_scalar
from daesolve.core.system.system import Output
from daesolve.errors import PosingError
from daesolve.multibody.checks import check_part, check_places, check_size, is_of_ground
from daesolve.multibody.contribution import AppliedForce, Contribution
from daesolve.multibody.joints import Cylindrical, Joint, Revolute
from daesolve.multibody.places import Frame, Place, PlanarFrame, PlanarPoint, Point, Vector, column

LEAST = 1e-150
"""m; its square is a number still, so that a line between two points that meet is zero."""
MET = 1e-3
"""The fraction of its natural length at which the ends of a spring have met."""
WOUND = 1e-3
"""rad before half a turn, up to which an angle in space is known."""


NUMBERS = "stiffness", "damping", "length"
"""The numbers of a load along a line."""
Turning = Revolute | Cylindrical
"""Joints that turn."""


@dataclass(frozen=True, eq=False)
class LineForce:
    """A load along the line between two points: a spring, a damper or both.

    Its tension is k (d - l) + c d', where d is the distance. Outputs are `<name>_length` (m) and
    `<name>_tension` (N, negative where it pushes). A spring compressed to a thousandth of its
    natural length has no direction to push in: there the event `<name>_met` ends the run, and no
    run starts. A spring with zero natural length continues. A damper without a spring needs ends
    that are apart at the start.

    Parameters
    ----------
    name
        A word.
    first, second
        Points of two bodies, or of a body and the ground.

    Raises
    ------
    PosingError
        The name is not a word, or the points do not fit together.
    OutOfRangeError
        A stiffness, a damping or a length is negative.
    """

    name: str
    first: Place
    second: Place

    def __post_init__(self) -> None:
        what = check_part(self)
        check_places(what, self.first, self.second)
        for part, value in zip(NUMBERS, self.numbers, strict=True):
            check_size(f"the {part} of the {what}", value)

    @property
    def numbers(self) -> list[Expression]:
        """Stiffness (N/m), damping (N s/m) and natural length (m); zero where it has none."""
        return [getattr(self, name, 0.0) for name in NUMBERS]

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        stiffness, damping, length = (ca.SX(number) for number in self.numbers)
        distance, speed = line_between(self.first, self.second)
        stretch = distance - length
        outputs: dict[str, Output] = {
            f"{self.name}_length": (distance, "m"),
            f"{self.name}_tension": (stiffness * stretch + damping * speed, "N"),
        }
        unstretched = length.is_zero()
        squared = ca.sumsqr(self.second.position - self.first.position)
        potential = stiffness * (squared if unstretched else stretch**2) / 2
        events: list[Event] = []
        if not (unstretched and damping.is_zero()):
            events.append(met(self.name, self.first, self.second, length))
        forces = [] if damping.is_zero() else [AppliedForce(speed, -damping * speed)]
        return Contribution(potential=potential, forces=forces, events=events, outputs=outputs)


@dataclass(frozen=True, eq=False)
class Spring(LineForce):
    """A spring between two points.

    Its tension is k (d - l), where d is the distance. Outputs are `<name>_tension` (N, negative
    when it pushes) and `<name>_length` (m), the distance. If the spring is compressed to a
    thousandth of its natural length, the event `<name>_met` ends the run; if that length is zero,
    the run continues.

    Parameters
    ----------
    name
        A word.
    first, second
        The points, of two bodies, or of a body and the ground.
    stiffness
        k, N/m: a number or an expression of parameters.
    length
        l, its natural length, m.
    """

    stiffness: Expression
    length: Expression


@dataclass(frozen=True, eq=False)
class Damper(LineForce):
    """A damper between two points.

    Its tension is c d', where d is the distance. Outputs are `<name>_tension` (N, negative when it
    pushes) and `<name>_length` (m), the distance. Where the points meet, the event `<name>_met`
    ends the run.

    Parameters
    ----------
    name
        A word.
    first, second
        The points, of two bodies, or of a body and the ground.
    damping
        c, N s/m: a number or an expression.
    """

    damping: Expression


@dataclass(frozen=True, eq=False)
class SpringDamper(LineForce):
    """A spring and a damper side by side between two points.

    Their tension is k (d - l) + c d', where d is the distance; outputs and event are as for a
    `Spring`.

    Parameters
    ----------
    name
        A word.
    first, second
        The points, of two bodies, or of a body and the ground.
    stiffness, damping, length
        k (N/m), c (N s/m) and l (m), as in `Spring` and `Damper`.
    """

    stiffness: Expression
    damping: Expression
    length: Expression


@dataclass(frozen=True, eq=False)
class TorsionSpring:
    """A spring in a joint that turns; its torque -k (angle - rest) is the output `<name>_torque`.

    In space an angle is known only within half a turn: if the spring is wound further, the event
    `<name>_wound` ends the run. In the plane it can be wound without limit.

    Parameters
    ----------
    name
        A word.
    joint
        A joint with an angle.
    stiffness
        k, N m/rad: a number or an expression of parameters.
    rest
        The angle where it is slack, rad.

    Raises
    ------
    PosingError
        The name is not a word, or the joint does not turn.
    OutOfRangeError
        The stiffness is negative.
    """

    name: str
    joint: Turning
    stiffness: Expression
    rest: Expression = 0.0

    def __post_init__(self) -> None:
        check_joint(check_part(self, stiffness=">= 0"), self.joint, "angle")

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        angle = self.joint.angle
        wound = angle - self.rest
        outputs: dict[str, Output] = {f"{self.name}_torque": (-self.stiffness * wound, "N m")}
        events: list[Event] = []
        if not self.joint.planar:
            why = (
                f"the spring {self.name!r} is wound by half a turn, the most that an angle in "
                "space can show"
            )
            guard = 1 + ca.cos(angle) - WOUND**2 / 2
            events.append(Event(f"{self.name}_wound", guard, FALLING, Stop(why)))
        potential = self.stiffness * wound**2 / 2
        return Contribution(potential=potential, events=events, outputs=outputs)


@dataclass(frozen=True, eq=False)
class TorsionDamper:
    """A damper in a joint that turns; its torque -c rate is the output `<name>_torque`.

    Parameters
    ----------
    name
        A word.
    joint
        A joint with a rate.
    damping
        c, N m s/rad: a number or an expression.

    Raises
    ------
    PosingError
        The name is not a word, or the joint does not turn.
    OutOfRangeError
        The damping is negative.
    """

    name: str
    joint: Turning
    damping: Expression

    def __post_init__(self) -> None:
        check_joint(check_part(self, damping=">= 0"), self.joint, "rate")

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        torque = -self.damping * self.joint.rate
        outputs: dict[str, Output] = {f"{self.name}_torque": (torque, "N m")}
        return Contribution(forces=[AppliedForce(self.joint.rate, torque)], outputs=outputs)


@dataclass(frozen=True, eq=False)
class PointForce:
    """A force on a point of a body.

    Parameters
    ----------
    point
        Where it acts.
    force
        In axes of space, N: two entries in the plane, three in space; numbers or expressions of
        time, states and parameters.

    Raises
    ------
    PosingError
        The point belongs to the ground, or the force has the wrong number of entries.
    """

    point: Place
    force: Vector

    def __post_init__(self) -> None:
        if not isinstance(self.point, Point | PlanarPoint) or is_of_ground(self.point):
            raise PosingError(f"a force must act on a point of a body, not on {self.point!r}")
        column(self.force, (self.point.position.numel(),), "a force")

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        size = self.point.position.numel()
        return Contribution(
            forces=[AppliedForce(self.point.velocity, column(self.force, (size,), "a force"))]
        )


@dataclass(frozen=True, eq=False)
class Torque:
    """A torque on a body.

    Parameters
    ----------
    frame
        A frame of the body.
    torque
        N m: in space three entries in axes of space, in the plane one expression.

    Raises
    ------
    PosingError
        The frame is not a frame of a body, or the torque has the wrong number of entries.
    """

    frame: Frame | PlanarFrame
    torque: Vector | Expression

    def __post_init__(self) -> None:
        if not isinstance(self.frame, Frame | PlanarFrame) or is_of_ground(self.frame):
            raise PosingError(f"a torque must act on a frame of a body, not on {self.frame!r}")
        self._column()

    def _column(self) -> ca.SX:
        if isinstance(self.frame, PlanarFrame):
            return as_scalar("a torque in the plane", self.torque)  # pyright: ignore
        return column(self.torque, (3,), "a torque in space")  # pyright: ignore

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        frame = self.frame
        turning = frame.rate if isinstance(frame, PlanarFrame) else frame.angular_velocity
        return Contribution(forces=[AppliedForce(turning, self._column())])


def line_between(first: Place, second: Place) -> tuple[ca.SX, ca.SX]:
    """Return the distance between two places, m, and its rate, m/s."""
    line = second.position - first.position
    distance = ca.sqrt(ca.sumsqr(line) + LEAST**2)
    return distance, ca.dot(line, second.velocity - first.velocity) / distance


def met(name: str, first: Place, second: Place, length: ca.SX) -> Event:
    """Return the event that ends a run where the points of an element meet.

    They meet at a thousandth of its length, or, if that is zero, where they coincide.
    """
    squared = ca.sumsqr(second.position - first.position)
    near = squared - LEAST if length.is_zero() else squared / length**2 - MET**2
    why = f"the ends of {name!r} coincide, so its force has no direction"
    return Event(f"{name}_met", near, FALLING, Stop(why, whenever_past=True))


def check_joint(what: str, joint: object, needed: str) -> None:
    """Refuse a joint without the motion that is needed."""
    if not (isinstance(joint, Joint) and hasattr(type(joint), needed)):
        article = "an" if needed == "angle" else "a"
        raise PosingError(f"the {what} needs a joint with {article} {needed}, not {joint}")

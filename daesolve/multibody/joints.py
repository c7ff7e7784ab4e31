"""Joints between bodies, in space and in the plane.

A joint is posed between two frames (or points) of two bodies, or of a body and the ground. The
first is the parent: directions are given in its axes. A joint becomes holonomic goals `<name>_1`,
`<name>_2`, ..., or `<name>` if there is only one; no row depends on the others. Their reactions are
the components of the force (N, in axes of space; normal to an axis in axes of the parent) and of
the torque (N m, in axes of the parent) on the second body, at the origin of its frame.

| joint       | rows in space | in the plane |
|-------------|---------------|--------------|
| Revolute    | 3 + 2         | 2            |
| Spherical   | 3             |              |
| Prismatic   | 2 + 3         | 1 + 1        |
| Cylindrical | 2 + 2         |              |
| Universal   | 3 + 1         |              |
| Fixed       | 3 + 3         | 2 + 1        |
| Planar      | 1 + 2         |              |
| Screw       | 2 + 2 + 1     |              |
| Slot        | 2             | 1            |
| Distance    | 1             | 1            |

The motions that joints leave free are expressions, for springs, motors, friction and outputs. A
start that violates the joints is refused if it is given as `initial`; as a `guess` it is moved to
the nearest state that fulfils them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import casadi as ca

from daesolve.core.posing.goals import Expression, Holonomic
from daesolve.errors import PosingError
from daesolve.multibody.checks import check_name, check_size
from daesolve.multibody.contribution import Contribution
from daesolve.multibody.joint_rows import (
    AnyFrame,
    Row,
    alignment,
    axis_of,
    coincidence,
    crossing,
    distance,
    on_axis,
    same_orientation,
    separation,
    turn,
    turn_rate,
)
from daesolve.multibody.places import Frame, Ground, Place, PlanarFrame, PlanarPoint, Point


@dataclass(frozen=True, eq=False)
class Joint(ABC):
    """The base of all joints.

    Parameters
    ----------
    name
        A word; its goals are named after it.
    first, second
        Its places on the parent and on the other body.

    Raises
    ------
    PosingError
        The name is not a word; a place is of the wrong kind; one is in the plane and the other in
        space, or both belong to one body; or the joint would block the spin of a body whose axes do
        not spin with it (`axisymmetric=True`).
    """

    name: str
    first: Place
    second: Place

    kind: ClassVar[str]
    """Its name in messages."""

    def __post_init__(self) -> None:
        check_name(self.name, "a joint")
        for place in (self.first, self.second):
            if not isinstance(place, Point | PlanarPoint):
                raise PosingError(
                    f"{self} must connect points or frames of bodies or of the ground, not "
                    f"{place!r}"
                )
        if self.planar != isinstance(self.second, PlanarPoint):
            where = ["in the plane", "in space"]
            one, other = where if self.planar else reversed(where)
            raise PosingError(
                f"{self} connects a place {one} with one {other}: places of the ground need "
                "two coordinates in the plane, three in space"
            )
        owners = self.first.body, self.second.body
        if owners[0] is owners[1] or all(isinstance(owner, Ground) for owner in owners):
            raise PosingError(f"{self} joins {owners[0].name!r} with itself")
        self._check()

    def __str__(self) -> str:
        return f"the {self.kind} {self.name!r}"

    @property
    def planar(self) -> bool:
        """Whether it lies in the plane."""
        return isinstance(self.first, PlanarPoint)

    @property
    @abstractmethod
    def rows(self) -> list[Row]:
        """The residuals that it holds at zero, each with the unit of its reaction."""

    @cached_property
    def goals(self) -> tuple[Holonomic, ...]:
        """Its constraints."""
        rows = self.rows
        names = [f"{self.name}_{number}" for number in range(1, len(rows) + 1)]
        if len(rows) == 1:
            names = [self.name]
        return tuple(
            Holonomic(name, residual, unit=unit)
            for name, (residual, unit) in zip(names, rows, strict=True)
        )

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        return Contribution(goals=self.goals, joins=(self.first.body.name, self.second.body.name))

    @abstractmethod
    def _check(self) -> None:
        """Refuse what this joint cannot hold."""

    def _check_frames(self, *places: Place) -> None:
        for place in places:
            if not isinstance(place, Frame | PlanarFrame):
                raise PosingError(
                    f"{self} needs a frame of {place.body.name!r}, not a point: use frame(...)"
                )

    def _check_axis(self, axis: object) -> None:
        allowed = (0, 1) if self.planar else (0, 1, 2)
        if isinstance(axis, bool) or axis not in allowed:
            raise PosingError(f"{self} has the axis {axis!r}, but must have one of {allowed}")

    def _check_spin(self, *places: Place, axis: int | None = None) -> None:
        """Refuse frames that do not spin with their body, unless their third axis alone is used."""
        for place in places:
            if isinstance(place, Frame) and place.turning and axis != 2:
                raise PosingError(
                    f"{self} needs axes that spin with {place.body.name!r}, but an "
                    "axisymmetric body has only axis 2: create it with axisymmetric=False"
                )

    def _in_space(self) -> tuple[Frame, Frame]:
        if isinstance(self.first, Frame) and isinstance(self.second, Frame):
            return self.first, self.second
        raise PosingError(f"{self} needs two frames in space")


class Turning(Joint):
    """A joint that turns about one axis of its frames."""

    first: AnyFrame
    second: AnyFrame
    axis: int

    @cached_property
    def angle(self) -> ca.SX:
        """The angle from the first frame to the second, rad; in space from -pi to pi.

        Raises
        ------
        PosingError
            The axes of one of the bodies do not spin with it, so there is only a rate.
        """
        self._check_spin(self.first, self.second)
        return turn(self.first, self.second, self.axis)

    @cached_property
    def rate(self) -> ca.SX:
        """The rate at which the second body turns against the first, rad/s."""
        return turn_rate(self.first, self.second, self.axis)


@dataclass(frozen=True, eq=False)
class Revolute(Turning):
    """A hinge: the frames have their origins and one axis in common.

    In space its rows also hold for the reversed axis: a body that starts with its axis against the
    parent's axis stays so, and the torques about the normals have the other sign.

    Parameters
    ----------
    name
        A word; its goals are named after it.
    first, second
        The frames that it joins, of two bodies, or of a body and the ground.
    axis
        The common axis of both frames: 0, 1 or 2. In the plane it is 2, the normal.

    Examples
    --------
    >>> from daesolve.multibody import GROUND, Body, Revolute
    >>> lid = Body("lid", 1.0, (0.1, 0.2, 0.3))
    >>> hinge = Revolute("hinge", GROUND.frame(), lid.frame((0, -0.5, 0)), axis=0)
    >>> [goal.name for goal in hinge.goals]
    ['hinge_1', 'hinge_2', 'hinge_3', 'hinge_4', 'hinge_5']
    """

    first: AnyFrame
    second: AnyFrame
    axis: int = 2
    kind = "revolute joint"

    def _check(self) -> None:
        self._check_frames(self.first, self.second)
        if not self.planar:
            self._check_axis(self.axis)
        elif self.axis != 2:
            raise PosingError(f"{self} turns about the normal of the plane: leave out axis=")
        self._check_spin(self.first, self.second, axis=self.axis)

    @property
    def rows(self) -> list[Row]:
        """Forces in axes of space; torques about the parent's other two axes."""
        held = coincidence(self.first, self.second)
        return held if self.planar else held + alignment(*self._in_space(), self.axis)


@dataclass(frozen=True, eq=False)
class Spherical(Joint):
    """A ball and socket, in space: both places have the same position."""

    kind = "spherical joint"

    def _check(self) -> None:
        if self.planar:
            raise PosingError(f"{self} has places in the plane: use a Revolute joint there")

    @property
    def rows(self) -> list[Row]:
        """Forces in axes of space."""
        return coincidence(self.first, self.second)


@dataclass(frozen=True, eq=False)
class Slot(Joint):
    """A pin in a slot: the second place stays on an axis of the first frame.

    Parameters
    ----------
    name
        A word; its goals are named after it.
    first, second
        The frame with the slot and the place of the pin, which may be a point: of two bodies, or of
        one and the ground.
    axis
        The axis of the first frame: 0 or 1, in space also 2.
    """

    first: AnyFrame
    axis: int = 0
    kind = "slot"

    def _check(self) -> None:
        self._check_frames(self.first)
        self._check_axis(self.axis)
        self._check_spin(self.first, axis=self.axis)

    @property
    def rows(self) -> list[Row]:
        """Forces along the parent's other axes."""
        return on_axis(self.first, self.second, self.axis)

    @cached_property
    def displacement(self) -> ca.SX:
        """How far the second place is along the axis, m."""
        return ca.dot(axis_of(self.first, self.axis), separation(self.first, self.second))

    @cached_property
    def speed(self) -> ca.SX:
        """The rate of the displacement, m/s."""
        moving = self.second.velocity - self.first.velocity
        return ca.dot(axis_of(self.first, self.axis), moving)


@dataclass(frozen=True, eq=False)
class Prismatic(Slot):
    """A slider: the frames stay parallel, and the second origin on an axis of the first.

    A start with the second frame turned by half a turn is refused: see
    `joint_rows.same_orientation`.

    Parameters
    ----------
    name
        A word; its goals are named after it.
    first, second
        The frames that it joins, of two bodies, or of a body and the ground.
    axis
        The axis of the first frame: 0 or 1, in space also 2.
    """

    second: AnyFrame
    kind = "prismatic joint"

    def _check(self) -> None:
        self._check_frames(self.first, self.second)
        self._check_axis(self.axis)
        self._check_spin(self.first, self.second)

    @property
    def rows(self) -> list[Row]:
        """Forces along the parent's other axes; torques about its axes."""
        return super().rows + same_orientation(self.first, self.second)


@dataclass(frozen=True, eq=False)
class Cylindrical(Turning, Slot):
    """A bar in a bush, in space: it slides along an axis and turns about it.

    Like `Revolute`, it also holds for the reversed axis.

    Parameters
    ----------
    name
        A word; its goals are named after it.
    first, second
        The frames that it joins, of two bodies, or of a body and the ground.
    axis
        The common axis of both frames: 0, 1 or 2.
    """

    second: AnyFrame
    axis: int = 2
    kind = "cylindrical joint"

    def _check(self) -> None:
        self._in_space()
        self._check_axis(self.axis)
        self._check_spin(self.first, self.second, axis=self.axis)

    @property
    def rows(self) -> list[Row]:
        """Forces along the parent's other two axes; torques about them."""
        return super().rows + alignment(*self._in_space(), self.axis)


@dataclass(frozen=True, eq=False)
class Universal(Joint):
    """Hooke's joint, in space: a cross whose arms are axis 0 of the first and axis 1 of the second.

    The shafts are axes 2; they are in line if the frames are parallel. The arms stay normal to each
    other, so rows and angles are equally well conditioned at every bend. But if the shafts are at
    right angles, the first cannot turn the second: a mechanism that holds them so has a dead point
    there.

    Parameters
    ----------
    name
        A word; its goals are named after it.
    first, second
        The frames that it joins, of two bodies, or of a body and the ground.
    """

    first: AnyFrame
    second: AnyFrame
    kind = "universal joint"

    def _check(self) -> None:
        self._in_space()
        self._check_spin(self.first, self.second)

    @property
    def rows(self) -> list[Row]:
        """Forces in axes of space; the torque about the normal of the cross."""
        return coincidence(self.first, self.second) + crossing(*self._in_space())

    @cached_property
    def angles(self) -> tuple[ca.SX, ca.SX]:
        """The angles of the cross about its first arm and of the second body about the other, rad.

        Each lies between -pi and pi.
        """
        first, second = self._in_space()
        arm, other = first.axis(0), second.axis(1)
        return (
            ca.atan2(ca.dot(first.axis(2), other), ca.dot(first.axis(1), other)),
            ca.atan2(ca.dot(second.axis(2), arm), ca.dot(second.axis(0), arm)),
        )

    @cached_property
    def rates(self) -> tuple[ca.SX, ca.SX]:
        """The rates of both angles, rad/s."""
        first, second = self._in_space()
        turning = second.angular_velocity - first.angular_velocity
        return ca.dot(first.axis(0), turning), ca.dot(second.axis(1), turning)


@dataclass(frozen=True, eq=False)
class Fixed(Joint):
    """Two frames that coincide. Directions are held as in `Prismatic`."""

    first: AnyFrame
    second: AnyFrame
    kind = "fixed joint"

    def _check(self) -> None:
        self._check_frames(self.first, self.second)
        self._check_spin(self.first, self.second)

    @property
    def rows(self) -> list[Row]:
        """Forces in axes of space; torques about the parent's axes."""
        return coincidence(self.first, self.second) + same_orientation(self.first, self.second)


@dataclass(frozen=True, eq=False)
class Distance(Joint):
    """A massless rod between two points.

    Parameters
    ----------
    name
        A word; its goal is called after it.
    first, second
        The points that it joins, of two bodies or of one and the ground.
    length
        m: a number or an expression of parameters and time.

    Raises
    ------
    OutOfRangeError
        The length is a number, but not positive.
    """

    length: Expression
    kind = "distance"

    def _check(self) -> None:
        check_size(f"the length of {self}", self.length, "> 0", "m")

    @property
    def rows(self) -> list[Row]:
        """The force that drives the places apart."""
        return distance(self.first, self.second, ca.SX(self.length))

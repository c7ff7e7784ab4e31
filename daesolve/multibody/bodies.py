"""Rigid bodies: in space by unit quaternions, in the plane by an angle.

Newton's and Euler's equations: m r'' = F for the mass centre, and, in axes of the body,

    I w' + w x I w = M.

The spin of a body that is symmetric about its third axis need not be followed. Its axes are then
those of a frame that does not spin about the third one and turns with (w1, w2, 0); with the rate s
of the spin, seen from space,

    A w1' + B s w2 = M1,   A w2' - B s w1 = M2,   B s' = M3,

whose solutions are as slow as the axis moves, however fast the body spins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.posing.goals import Expression, Invariant
from daesolve.core.posing.symbols import ANGLE, DifferentiableVector, SymbolVector, time
from daesolve.errors import OutOfRangeError, PosingError
from daesolve.multibody.checks import check_name, check_size
from daesolve.multibody.places import (
    Frame,
    PlanarFrame,
    PlanarPoint,
    Point,
    Vector,
    array,
    column,
    orthogonal_axes,
    quaternion_rate,
    rotation,
    vanishes,
)


def inertia_matrix(given: object, name: str, *, axisymmetric: bool) -> ca.SX:
    """Return an inertia, kg m^2: (3, 3).

    Parameters
    ----------
    given
        Three moments, or a matrix that is symmetric up to rounding.
    name
        Of the body.
    axisymmetric
        Whether it must be symmetric about the third axis.

    Raises
    ------
    PosingError
        It is not an inertia, or lacks the required symmetry.
    OutOfRangeError
        It is numeric, but not positive definite.
    """
    matrix = array(given)
    matrix = ca.diag(matrix) if matrix.shape == (3, 1) else matrix
    size = _size(matrix)
    if matrix.shape != (3, 3) or not vanishes(matrix - matrix.T, size):
        raise PosingError(
            f"the inertia of {name!r} must be three moments or a symmetric three-by-three "
            f"matrix, not {given!r}"
        )
    if matrix.is_constant() and not np.linalg.eigvalsh(ca.DM(matrix).full())[0] > 0.0:
        raise OutOfRangeError(
            f"the inertia of {name!r} must belong to a real body, with moments > 0 about every "
            f"axis, not {given!r}"
        )
    if not axisymmetric:
        return ca.SX(ca.sparsify((matrix + matrix.T) / 2)) if matrix.is_constant() else matrix
    skew = ca.vertcat(matrix[0, 0] - matrix[1, 1], matrix[0, 1], matrix[0, 2], matrix[1, 2])
    if not vanishes(skew, size):
        raise PosingError(
            f"{name!r} is not symmetric about its third axis: its first two moments of inertia "
            "must be equal, and all products of inertia zero"
        )
    return ca.diag(ca.vertcat(matrix[0, 0], matrix[0, 0], matrix[2, 2]))


def _size(value: ca.SX) -> float:
    """Return the largest entry of an inertia, one where it is written in parameters."""
    if not value.is_constant() or value.is_empty():
        return 1.0
    return float(np.max(np.abs(ca.DM(value).full())))


IDENTITY = (1.0, 0.0, 0.0, 0.0)
NOWHERE = (0.0, 0.0, 0.0)


class Moving:
    """The type of a field that takes a start value, and reads as the quantity of the motion."""

    def __init__(self, usual: object, motion: Callable[[Any], ca.SX]) -> None:
        self._usual, self._motion = usual, motion

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, body: object | None, owner: type) -> Any:
        return self._usual if body is None else self._motion(body)

    def __set__(self, body: object, start: Vector | Expression) -> None:
        body.__dict__[self._name] = start


@dataclass(frozen=True, eq=False, repr=False)
class Body:
    """A rigid body in space.

    Its coordinates are `<name>_x`, `_y`, `_z` (the mass centre, m) and the unit quaternion
    `<name>_q0` to `_q3` from its axes to those of space. Its velocities are `<name>_x_dot`,
    `_y_dot`, `_z_dot` (m/s) and the angular velocity `<name>_w1`, `_w2`, `_w3` (rad/s) in axes of
    the body.

    Parameters
    ----------
    name
        A word.
    mass
        kg, a number or an expression of parameters.
    inertia
        About the mass centre, kg m^2: three moments about its axes, or a matrix (3, 3).
    axisymmetric
        Whether its axes do not spin with it about the third axis, about which it is symmetric. Then
        `_spin`, the rate of its spin seen from space, replaces `_w3`.
    position, rotation, velocity, angular_velocity
        The start: the mass centre, m; the quaternion (see `quaternion`); the velocity of the mass
        centre, m/s; the angular velocity in axes of the body, rad/s (its third entry is the spin
        of an axisymmetric body). Numbers or expressions of parameters. As attributes of the body
        these are the quantities of the motion, in its coordinates and velocities; `start` has the
        start.

    Raises
    ------
    PosingError
        The name is not a word, a part of the inertia or of the start is missing, or the body is
        declared axisymmetric but is not.
    OutOfRangeError
        The mass or the inertia is not positive, a number of the start is not finite, or all four
        components of the rotation are zero.
    """

    name: str
    mass: Expression
    inertia: Vector
    axisymmetric: bool = False
    position: Moving = Moving(NOWHERE, lambda body: body.coordinates.vector[:3])
    rotation: Moving = Moving(IDENTITY, lambda body: body.coordinates.vector[3:])
    velocity: Moving = Moving(NOWHERE, lambda body: body.velocities.vector[:3])
    angular_velocity: Moving = Moving(NOWHERE, lambda body: body.velocities.vector[3:])
    coordinates: DifferentiableVector = field(init=False)
    velocities: SymbolVector = field(init=False)
    moments: ca.SX = field(init=False)
    start: dict[str, ca.SX] = field(init=False)

    def __post_init__(self) -> None:
        check_name(self.name, "a body")
        places = {f"{self.name}_{letter}": "m" for letter in "xyz"}
        turns = {f"{self.name}_q{number}": "" for number in range(4)}
        last = "spin" if self.axisymmetric else "w3"
        rates = {f"{self.name}_{letter}_dot": "m/s" for letter in "xyz"}
        spins = {f"{self.name}_{letter}": "rad/s" for letter in ("w1", "w2", last)}
        units = places | turns
        q = DifferentiableVector(tuple(units), tuple(units.values()), "coordinate")
        v = SymbolVector((*rates, *spins), (*rates.values(), *spins.values()), "velocity")
        object.__setattr__(self, "coordinates", q)
        object.__setattr__(self, "velocities", v)
        moments = inertia_matrix(self.inertia, self.name, axisymmetric=self.axisymmetric)
        object.__setattr__(
            self, "mass", check_size(f"the mass of {self.name!r}", self.mass, "> 0", "kg")
        )
        object.__setattr__(self, "moments", moments)
        object.__setattr__(self, "start", self._start())

    def __repr__(self) -> str:
        return f"<body {self.name!r}>"

    @property
    def _turn(self) -> ca.SX:
        return self.velocities.vector[3:]

    @cached_property
    def _axes(self) -> ca.SX:
        return rotation(self.coordinates.vector[3:])

    @property
    def kinematics(self) -> ca.SX:
        """The rates of the coordinates, (7, 1)."""
        turning = self._turn
        if self.axisymmetric:
            turning = ca.vertcat(turning[:2], 0)
        rate = quaternion_rate(self.coordinates.vector[3:], turning)
        return ca.vertcat(self.velocities.vector[:3], rate)

    @property
    def mass_matrix(self) -> ca.SX:
        """(6, 6)."""
        return ca.diagcat(ca.SX.eye(3) * self.mass, self.moments)

    @property
    def gyroscopic(self) -> ca.SX:
        """The gyroscopic forces, -w x I w for the turn, (6, 1)."""
        turning = frame = self._turn
        if self.axisymmetric:
            frame = ca.vertcat(turning[:2], 0)
        momentum = self.moments @ turning
        moment = -ca.cross(frame, momentum)
        if self.axisymmetric:
            # A (w1 w2 - w2 w1), which is zero, but not in its structure.
            moment = ca.vertcat(moment[:2], 0)
        return ca.vertcat(ca.SX(3, 1), moment)

    @cached_property
    def norm(self) -> Invariant:
        """The goal that keeps the quaternion of length one."""
        square = ca.sumsqr(self.coordinates.vector[3:])
        return Invariant(
            f"{self.name}_norm", square, drive=True, on="positions", reference=1.0, scale=1.0
        )

    @cached_property
    def centre(self) -> Point:
        """The mass centre."""
        return Point(self, self.coordinates.vector[:3], self.velocities.vector[:3])

    def point(self, *coordinates: Expression) -> Point:
        """Return a point of the body, by three coordinates from the mass centre in its axes, m.

        Raises
        ------
        PosingError
            Its axes do not spin with it, and the point is off the axis of the spin.
        """
        return self._at(column(coordinates, (3,), f"a point of {self.name!r}"))

    def frame(self, origin: Vector = NOWHERE, axes: Vector | None = None) -> Frame:
        """Return a frame of the body.

        Parameters
        ----------
        origin
            From the mass centre in its axes, m.
        axes
            In axes of the body: three columns (3, 3), or the direction of the third.

        Raises
        ------
        PosingError
            As in `point`, or the axes are not a rotation.
        """
        point = self._at(column(origin, (3,), f"the origin of a frame of {self.name!r}"))
        turned = orthogonal_axes(axes)
        along = ca.SX(ca.sparsify(turned[:2, 2]))
        if self.axisymmetric and along.nnz():
            raise PosingError(
                f"the axes of {self.name!r} do not spin with it: the third axis of a frame "
                "must be the body's third axis"
            )
        return Frame(
            self,
            point.position,
            point.velocity,
            self._axes if axes is None else self._axes @ turned,
            self._axes @ self._turn,
            turning=self.axisymmetric,
        )

    def _at(self, offset: ca.SX) -> Point:
        offset = ca.SX(ca.sparsify(offset))
        if offset.nnz() == 0:
            return self.centre
        if self.axisymmetric and ca.SX(ca.sparsify(offset[:2])).nnz():
            raise PosingError(
                f"the axes of {self.name!r} do not spin with it: a point must lie on the third axis"
            )
        turned = self._axes @ ca.cross(self._turn, offset)
        return Point(
            self, self.centre.position + self._axes @ offset, self.centre.velocity + turned
        )

    @property
    def kinetic(self) -> ca.SX:
        """The kinetic energy, J."""
        turning = self._turn
        moving = self.mass * ca.sumsqr(self.velocities.vector[:3])
        return (moving + ca.dot(turning, self.moments @ turning)) / 2

    def _start(self) -> dict[str, ca.SX]:
        what, given = f"of {self.name!r}", vars(self)
        turned = column(given["rotation"], (4,), f"the rotation {what}")
        if turned.is_constant() and vanishes(turned, 1.0):
            raise OutOfRangeError(
                f"the rotation {what} must be a quaternion of length one, (1, 0, 0, 0) for "
                f"none, not {given['rotation']!r}"
            )
        values = ca.vertcat(
            column(given["position"], (3,), f"the position {what}"),
            turned,
            column(given["velocity"], (3,), f"the velocity {what}"),
            column(given["angular_velocity"], (3,), f"the angular velocity {what}"),
        )
        names = (*self.coordinates.names, *self.velocities.names)
        return dict(zip(names, ca.vertsplit(values), strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class PlanarBody:
    """A rigid body in the plane.

    Its coordinates are `<name>_x`, `_y` (the mass centre, m) and `<name>_angle`; its velocities are
    their rates.

    Parameters
    ----------
    name
        A word.
    mass, inertia
        kg, and kg m^2 about the mass centre: numbers or expressions of parameters.
    position, angle, velocity, rate
        The start, m, rad, m/s, rad/s: numbers or expressions of parameters. As attributes of the
        body these are the quantities of the motion; `start` has the start.

    Raises
    ------
    PosingError
        The name is not a word, or a part of the start is missing.
    OutOfRangeError
        The mass or the inertia is not positive, or a number of the start is not finite.
    """

    name: str
    mass: Expression
    inertia: Expression
    position: Moving = Moving((0.0, 0.0), lambda body: body.coordinates.vector[:2])
    angle: Moving = Moving(0.0, lambda body: body.coordinates.vector[2])
    velocity: Moving = Moving((0.0, 0.0), lambda body: body.coordinates.dot.vector[:2])
    rate: Moving = Moving(0.0, lambda body: body.coordinates.dot.vector[2])
    coordinates: DifferentiableVector = field(init=False)
    start: dict[str, ca.SX] = field(init=False)

    def __post_init__(self) -> None:
        check_name(self.name, "a body")
        names = tuple(f"{self.name}_{part}" for part in ("x", "y", "angle"))
        q = DifferentiableVector(names, ("m", "m", ANGLE), "coordinate")
        inertia = check_size(f"the inertia of {self.name!r}", self.inertia, "> 0", "kg m^2")
        object.__setattr__(
            self, "mass", check_size(f"the mass of {self.name!r}", self.mass, "> 0", "kg")
        )
        object.__setattr__(self, "inertia", inertia)
        object.__setattr__(self, "coordinates", q)
        object.__setattr__(self, "start", self._start())

    def __repr__(self) -> str:
        return f"<planar body {self.name!r}>"

    @property
    def mass_matrix(self) -> ca.SX:
        """(3, 3)."""
        return ca.diag(ca.vertcat(self.mass, self.mass, self.inertia))

    @cached_property
    def centre(self) -> PlanarPoint:
        """The mass centre."""
        q = self.coordinates
        return PlanarPoint(self, q.vector[:2], q.dot.vector[:2])

    def point(self, *coordinates: Expression) -> PlanarPoint:
        """Return a point of the body, by two coordinates from the mass centre in its axes, m."""
        return self._at(column(coordinates, (2,), f"a point of {self.name!r}"))

    def frame(self, origin: Vector = (0.0, 0.0), angle: Expression = 0.0) -> PlanarFrame:
        """Return a frame of the body, turned by an angle (rad) in it."""
        place = self._at(column(origin, (2,), f"the origin of a frame of {self.name!r}"))
        turn, rate = self.coordinates.vector[2], self.coordinates.dot.vector[2]
        return PlanarFrame(self, place.position, place.velocity, turn + angle, rate)

    def _at(self, offset: ca.SX) -> PlanarPoint:
        offset = ca.SX(ca.sparsify(offset))
        if offset.nnz() == 0:
            return self.centre
        turn, rate = self.coordinates.vector[2], self.coordinates.dot.vector[2]
        cosine, sine = ca.cos(turn), ca.sin(turn)
        arm = ca.vertcat(
            cosine * offset[0] - sine * offset[1], sine * offset[0] + cosine * offset[1]
        )
        return PlanarPoint(
            self,
            self.centre.position + arm,
            self.centre.velocity + rate * ca.vertcat(-arm[1], arm[0]),
        )

    @property
    def kinetic(self) -> ca.SX:
        """The kinetic energy, J."""
        rates = self.coordinates.dot.vector
        return (self.mass * ca.sumsqr(rates[:2]) + self.inertia * rates[2] ** 2) / 2

    def _start(self) -> dict[str, ca.SX]:
        what, given = f"of {self.name!r}", vars(self)
        values = ca.vertcat(
            column(given["position"], (2,), f"the position {what}"),
            column([given["angle"]], (1,), f"the angle {what}"),
            column(given["velocity"], (2,), f"the velocity {what}"),
            column([given["rate"]], (1,), f"the rate {what}"),
        )
        names = (*self.coordinates.names, *self.coordinates.rates.names)
        return dict(zip(names, ca.vertsplit(values), strict=True))


AnyBody = Body | PlanarBody


def at_start(expression: ca.SX, owners: Iterable[object]) -> ca.SX:
    """Return an expression of positions, evaluated at the start of bodies.

    Parameters
    ----------
    expression
        Of any shape.
    owners
        Bodies; anything else, such as the ground, is ignored.
    """
    for body in owners:
        if isinstance(body, Body | PlanarBody):
            values = ca.vertcat(*[body.start[name] for name in body.coordinates.names])
            expression = ca.substitute(expression, body.coordinates.vector, values)
    return expression


def rate_of(expression: ca.SX, owners: Iterable[object]) -> ca.SX:
    """Return the rate of an expression of time and of positions of bodies, in their velocities.

    Parameters
    ----------
    expression
        (1, 1)
    owners
        Bodies, each once or more; anything else, such as the ground, moves only with time.
    """
    rate = ca.jacobian(expression, time)
    for body in dict.fromkeys(owners):
        if isinstance(body, Body | PlanarBody):
            moving = body.kinematics if isinstance(body, Body) else body.coordinates.dot.vector
            rate = rate + ca.jacobian(expression, body.coordinates.vector) @ moving
    return rate

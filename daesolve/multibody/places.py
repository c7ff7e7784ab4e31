"""Places on bodies: points and frames, with their velocities, in space and in the plane.

Unit quaternions (w, x, y, z) turn axes of a body into those of space.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import casadi as ca
import numpy as np

from daesolve.core.posing.goals import Expression, as_scalar
from daesolve.core.posing.symbols import time
from daesolve.errors import OutOfRangeError, PosingError


def rotation(quaternion: ca.SX) -> ca.SX:
    """Return the matrix (3, 3) whose columns are the axes of the body, in space.

    It is a rotation if the quaternion, (4, 1), has length one.
    """
    w, x, y, z = ca.vertsplit(quaternion)
    return ca.vertcat(
        ca.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        ca.horzcat(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def quaternion_rate(quaternion: ca.SX, turning: ca.SX) -> ca.SX:
    """Return the rate (4, 1) of a quaternion by the angular velocity, (3, 1), in the body."""
    w, x, y, z = ca.vertsplit(quaternion)
    first, second, third = ca.vertsplit(turning)
    return 0.5 * ca.vertcat(
        -x * first - y * second - z * third,
        w * first + y * third - z * second,
        w * second + z * first - x * third,
        w * third + x * second - y * first,
    )


def quaternion(
    axis: Sequence[float], angle: Expression
) -> tuple[Expression, Expression, Expression, Expression]:
    """Return the quaternion of a turn about an axis, for the start of a body.

    Parameters
    ----------
    axis
        Its direction, three numbers of any length.
    angle
        rad, a number or an expression of parameters.

    Raises
    ------
    PosingError
        The axis is zero, or the angle is not a scalar.
    OutOfRangeError
        The angle is not a finite number.

    Examples
    --------
    >>> quaternion((0, 0, 2), np.pi)
    (0.0, 0.0, 0.0, 1.0)
    """
    half = as_scalar("the angle of a turn", angle, finite=False) / 2
    x, y, z = _unit(axis).tolist()
    if not half.is_constant():
        return (ca.cos(half), x * ca.sin(half), y * ca.sin(half), z * ca.sin(half))
    turned = float(half)
    if not math.isfinite(turned):
        raise OutOfRangeError(f"the angle of a turn is {angle!r}, but must be finite")
    w, sine = math.cos(turned), math.sin(turned)
    return (0.0 if abs(w) < np.finfo(float).eps else w, x * sine, y * sine, z * sine)


def axes_with_third(direction: Sequence[float]) -> np.ndarray:
    """Return three orthogonal axes, as columns, the third of which has a given direction.

    The first is the coordinate axis that is nearest to being normal to it, straightened.
    """
    third = _unit(direction)
    first = np.eye(3)[int(np.argmin(np.abs(third)))]
    first = _unit(first - (first @ third) * third)
    return np.column_stack([first, np.cross(third, first), third])


def _unit(direction: Sequence[float]) -> np.ndarray:
    try:
        vector = np.asarray(direction, dtype=float)
    except (TypeError, ValueError):
        vector = np.zeros(0)
    length = np.linalg.norm(vector)
    if vector.shape != (3,) or not np.isfinite(length) or length == 0.0:
        raise PosingError(
            f"a direction in space must be three numbers, not all zero, not {direction!r}"
        )
    return vector / length


Vector = Sequence[Expression] | np.ndarray | ca.SX
ROUNDING = 1e-12
"""What counts as rounding, of something of size one."""


class Owner(Protocol):
    """The owner of a place."""

    @property
    def name(self) -> str:
        """Its name, for messages."""
        ...


@dataclass(frozen=True, eq=False)
class Point:
    """A point of a body in space, or of the ground.

    Parameters
    ----------
    body
        The body to which it belongs.
    position
        In space, m: (3, 1).
    velocity
        m/s: (3, 1), linear in the velocities.
    """

    body: Owner
    position: ca.SX
    velocity: ca.SX


@dataclass(frozen=True, eq=False)
class Frame(Point):
    """A point of a body, with three axes.

    Parameters
    ----------
    rotation
        Its axes in space, as the columns of a matrix (3, 3).
    angular_velocity
        Of the body, in axes of space, rad/s: (3, 1).
    turning
        Whether the body turns in the frame about its third axis: then only that axis and points on
        it are fixed to the material.
    """

    rotation: ca.SX
    angular_velocity: ca.SX
    turning: bool = False

    def axis(self, number: int) -> ca.SX:
        """Return one of its axes (0, 1 or 2) in space, (3, 1)."""
        return self.rotation[:, number]


@dataclass(frozen=True, eq=False)
class PlanarPoint:
    """A point of a body in the plane, or of the ground.

    Parameters
    ----------
    body
        The body to which it belongs.
    position
        m: (2, 1).
    velocity
        m/s: (2, 1), linear in the velocities.
    """

    body: Owner
    position: ca.SX
    velocity: ca.SX


@dataclass(frozen=True, eq=False)
class PlanarFrame(PlanarPoint):
    """A point of a body in the plane, with two axes.

    Parameters
    ----------
    angle
        From the first axis of the plane to its own first axis, rad.
    rate
        Of the body's turn, rad/s.
    """

    angle: ca.SX
    rate: ca.SX

    def direction(self, number: int) -> ca.SX:
        """Return one of its axes (0 or 1), (2, 1)."""
        cosine, sine = ca.cos(self.angle), ca.sin(self.angle)
        return ca.vertcat(cosine, sine) if number == 0 else ca.vertcat(-sine, cosine)


Place = Point | PlanarPoint


@dataclass(frozen=True)
class Ground:
    """The ground, which no force moves: its places are fixed, or move as functions of time."""

    name: str = "ground"

    def point(self, *coordinates: Expression) -> Point | PlanarPoint:
        """Return a point, given by two coordinates in the plane or three in space, m."""
        position = column(coordinates, (2, 3), "a point of the ground")
        if position.numel() == 2:
            return PlanarPoint(self, position, _rate(position))
        return Point(self, position, _rate(position))

    def frame(
        self,
        origin: Vector = (0.0, 0.0, 0.0),
        axes: Vector | None = None,
        angle: Expression = 0.0,
    ) -> Frame | PlanarFrame:
        """Return a frame.

        Parameters
        ----------
        origin
            m: two coordinates in the plane, three in space.
        axes
            In space: its axes as columns (3, 3), or the direction of the third.
        angle
            In the plane: of its first axis, rad.

        Raises
        ------
        PosingError
            The axes are not a rotation, or the origin has the wrong number of coordinates.
        """
        position = column(origin, (2, 3), "the origin of a frame")
        velocity = _rate(position)
        if position.numel() == 2:
            if axes is not None:
                raise PosingError(
                    "a frame in the plane needs an angle, not axes: write frame(origin, angle=...)"
                )
            turn = ca.SX(angle)
            return PlanarFrame(self, position, velocity, turn, _rate(turn))
        turned = orthogonal_axes(axes)
        spin = _matrix_rate(turned) @ turned.T
        omega = ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])
        return Frame(self, position, velocity, turned, omega)


GROUND = Ground()


def _rate(column: ca.SX) -> ca.SX:
    """Return the rate of a column that is written in time, of the same shape."""
    return ca.jacobian(column, time)


def _matrix_rate(matrix: ca.SX) -> ca.SX:
    return ca.reshape(_rate(ca.vec(matrix)), *matrix.shape)


def array(given: Any) -> ca.SX:
    """Return numbers and expressions, in a row of rows or a list, as a matrix or a column.

    Anything else gives an empty column.
    """
    try:
        if isinstance(given, ca.SX | ca.DM):
            return ca.SX(given)
        return ca.vertcat(*[_row(entry) for entry in given])
    except (TypeError, NotImplementedError, RuntimeError):
        return ca.SX(0, 1)


def _row(entry: Any) -> ca.SX:
    if not _is_sequence(entry):
        return ca.SX(entry)
    return ca.horzcat(*[ca.SX(part) for part in entry])


def _is_sequence(entry: object) -> bool:
    return isinstance(entry, Sequence | np.ndarray)


def column(given: object, sizes: tuple[int, ...], what: str) -> ca.SX:
    """Return coordinates as a column.

    Raises
    ------
    PosingError
        Their number is wrong.
    OutOfRangeError
        One is infinite or NaN.
    """
    found = array(given)
    if found.shape not in {(size, 1) for size in sizes}:
        counts = " or ".join(str(size) for size in sizes)
        raise PosingError(f"{what} has {counts} coordinates, not {given!r}")
    if not all(math.isfinite(float(entry)) for entry in ca.vertsplit(found) if entry.is_constant()):
        raise OutOfRangeError(f"{what} must be finite, not {given!r}")
    return found


def vanishes(expression: ca.SX, size: float) -> bool:
    """Return whether an expression of parameters is zero but for rounding, at values near one.

    Parameters
    ----------
    expression
        Of any shape.
    size
        How large it could be.
    """
    symbols = ca.symvar(expression)
    near_one = [1.0 + 0.37 * math.sin(1.0 + number) for number in range(len(symbols))]
    symbols = ca.vertcat(ca.SX(0, 1), *symbols)
    found = ca.Function("found", [symbols], [ca.densify(expression)])(near_one)
    return bool(np.max(np.abs(ca.DM(found).full()), initial=0.0) <= ROUNDING * size)


def orthogonal_axes(given: Vector | None) -> ca.SX:
    """Return axes as the columns of a matrix, from a matrix, the third of them, or none.

    Raises
    ------
    PosingError
        The matrix is not a rotation, or the third axis contains parameters.
    """
    if given is None:
        return ca.SX.eye(3)
    axes = array(given)
    if axes.shape == (3, 1):
        if not axes.is_constant():
            raise PosingError(
                "an axis that contains parameters does not determine the other two: give three "
                "columns"
            )
        return ca.SX(axes_with_third(ca.DM(axes).full().ravel().tolist()))
    if axes.shape != (3, 3) or not (
        vanishes(axes.T @ axes - ca.SX.eye(3), 1.0) and vanishes(ca.det(axes) - 1.0, 1.0)
    ):
        raise PosingError(
            "the axes of a frame must be a direction or three right-handed orthogonal columns "
            f"of length one, not {given!r}"
        )
    return axes

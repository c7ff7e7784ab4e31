"""Unit quaternions (w, x, y, z), which turn axes of a body into those of space."""

from __future__ import annotations

import math
from collections.abc import Sequence

import casadi as ca
import numpy as np

from daesolve.errors import OutOfRangeError, PosingError
from daesolve.posing.goals import Expression, as_scalar


def rotation(quaternion: ca.SX) -> ca.SX:
    """Return the matrix (3, 3) whose columns are the axes of the body, in space.

    It is a rotation where the quaternion, (4, 1), is of length one.
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
        The axis has no direction, or the angle is no scalar.
    OutOfRangeError
        The angle is no finite number.

    Examples
    --------
    >>> quaternion((0, 0, 2), np.pi)
    (0.0, 0.0, 0.0, 1.0)
    """
    half = as_scalar("the angle of a turn", angle) / 2
    x, y, z = _unit(axis).tolist()
    if not half.is_constant():
        return (ca.cos(half), x * ca.sin(half), y * ca.sin(half), z * ca.sin(half))
    turned = float(half)
    if not math.isfinite(turned):
        raise OutOfRangeError(f"the angle of a turn is {angle!r}, but must be finite")
    w, sine = math.cos(turned), math.sin(turned)
    return (0.0 if abs(w) < np.finfo(float).eps else w, x * sine, y * sine, z * sine)


def axes_with_third(direction: Sequence[float]) -> np.ndarray:
    """Return three orthogonal axes, as columns, of which the third has a direction.

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
        raise PosingError(f"a direction in space is three numbers, not all zero: not {direction!r}")
    return vector / length

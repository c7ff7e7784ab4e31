"""Masses and inertias as they are given: read, and refused where no body has them."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daesolve.errors import OutOfRangeError, PosingError
from daesolve.multibody.places import array, vanishes
from daesolve.posing.goals import Expression, as_scalar


def positive(value: Expression, what: str, unit: str) -> ca.SX:
    """Return a mass or a moment as an expression.

    Raises
    ------
    PosingError
        It is no scalar expression.
    OutOfRangeError
        It is a number, but none > 0.
    """
    found = as_scalar(what, value)
    if found.is_constant() and not 0.0 < float(found) < float("inf"):
        raise OutOfRangeError(f"{what} is {float(found):g} {unit}, but must be > 0")
    return found


def inertia_matrix(given: object, name: str, *, axisymmetric: bool) -> ca.SX:
    """Return an inertia, kg m^2: (3, 3).

    Parameters
    ----------
    given
        Three moments, or a matrix, symmetric but for rounding.
    name
        Of the body.
    axisymmetric
        Whether it must be symmetric about the third axis.

    Raises
    ------
    PosingError
        It is none, or not as symmetric as it must be.
    OutOfRangeError
        It is in numbers, but not positive definite.
    """
    found = array(given)
    found = ca.diag(found) if found.shape == (3, 1) else found
    size = _size(found)
    if found.shape != (3, 3) or not vanishes(found - found.T, size):
        raise PosingError(
            f"the inertia of {name!r} is three moments or a symmetric matrix of three by three, "
            f"not {given!r}"
        )
    if found.is_constant() and not np.linalg.eigvalsh(ca.DM(found).full())[0] > 0.0:
        raise OutOfRangeError(
            f"the inertia of {name!r} must be that of a body, with moments > 0 about every axis, "
            f"not {given!r}"
        )
    if not axisymmetric:
        return ca.SX(ca.sparsify((found + found.T) / 2)) if found.is_constant() else found
    skew = ca.vertcat(found[0, 0] - found[1, 1], found[0, 1], found[0, 2], found[1, 2])
    if not vanishes(skew, size):
        raise PosingError(
            f"{name!r} is not symmetric about its third axis: its first two moments of inertia "
            "must be the same, and no other entries than moments be there"
        )
    return ca.diag(ca.vertcat(found[0, 0], found[0, 0], found[2, 2]))


def _size(found: ca.SX) -> float:
    """Return the largest entry of an inertia, one where it is written in parameters."""
    if not found.is_constant() or found.is_empty():
        return 1.0
    return float(np.max(np.abs(ca.DM(found).full())))

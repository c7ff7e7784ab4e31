"""Forces by name: on a velocity, or on a coordinate, whose rate is one or contains some.

A force F on a coordinate has the power F q'. With q' = S(q) v it acts on the velocities as S^T F.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from daesolve.core.posing.goals import Expression, as_scalar
from daesolve.core.posing.symbols import DifferentiableVector, SymbolVector
from daesolve.errors import PosingError, unknown_name

Direction = Sequence[tuple[str, ca.SX]]
"""Velocities by name, with their coefficients in a rate."""


def by_velocity(
    owner: str,
    given: Mapping[str, Expression],
    coordinates: DifferentiableVector,
    velocities: SymbolVector | None = None,
    kinematics: ca.SX | None = None,
) -> dict[str, ca.SX]:
    """Return forces by the names of velocities or, without quasi-velocities, of coordinates.

    Parameters
    ----------
    owner
        The owner of the forces, for messages ("the force").
    given
        The forces by the names of velocities, of coordinates, or of rates of coordinates.
    coordinates
        q.
    velocities, kinematics
        Quasi-velocities v, and q' as a column; None if there are no quasi-velocities.

    Raises
    ------
    UnknownNameError
        There is no coordinate, rate or velocity of this name.
    PosingError
        Two names denote one direction, or a value is not an expression.
    """
    if velocities is None or kinematics is None:
        names, kind = coordinates.names, f"{coordinates.kind} of {owner}"
        pairs = zip(coordinates.rates.names, names, strict=True)
        directions: dict[str, Direction] = {rate: [(name, ca.SX(1))] for rate, name in pairs}
    else:
        names, kind = velocities.names, f"{velocities.kind} of {owner}"
        directions = _directions(coordinates, velocities, kinematics)
    found: dict[str, ca.SX] = {}
    given_as: dict[str | int, str] = {}
    for name, value in given.items():
        along = [(name, ca.SX(1))] if name in names else directions.get(name)
        if along is None:
            raise unknown_name(kind, name, names)
        plain = len(along) == 1 and along[0][1].is_one()
        # A coordinate and its rate share one direction.
        same = given_as.setdefault(along[0][0] if plain else id(along), name)
        if same != name:
            raise PosingError(
                f"{owner} on {same!r} and that on {name!r} act along the same velocity: give "
                "one of them"
            )
        force = as_scalar(f"{owner} on {name!r}", value)
        for velocity, share in along:
            found[velocity] = found.get(velocity, ca.SX(0)) + share * force
    return found


def _directions(
    coordinates: DifferentiableVector, velocities: SymbolVector, kinematics: ca.SX
) -> dict[str, Direction]:
    """Return the velocities in each rate, by the name of the coordinate and of its rate.

    Rates that do not contain velocities linearly are left out: a force on them has no meaning.
    """
    v = velocities.vector
    if kinematics.numel() != len(coordinates):
        return {}
    found: dict[str, Direction] = {}
    names = zip(coordinates.names, coordinates.rates.names, strict=True)
    for (name, rate), row in zip(names, ca.vertsplit(ca.densify(kinematics)), strict=True):
        shares = ca.jacobian(row, v)
        if not shares.nnz() or ca.depends_on(shares, v):
            continue
        along = [
            (velocity, share)
            for velocity, share in zip(velocities.names, ca.horzsplit(shares), strict=True)
            if share.nnz() and not share.is_zero()
        ]
        found |= dict.fromkeys((name, rate), along)
    return found

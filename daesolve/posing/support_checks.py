"""What pairs of supports must be to have a meaning, with messages that name the pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import casadi as ca

from daesolve.errors import OutOfRangeError, PosingError
from daesolve.posing.goals import AnyGoal, Expression, Goal
from daesolve.posing.supports import Support, VariantPair

UNIT = 1e-6
"""How far the length of a normal may be from one."""
PLACES = ("first", "second")


def check_pairs(pairs: Sequence[Any], goals: Sequence[AnyGoal]) -> None:
    """Refuse pairs that are none, or that do not keep as many constraints.

    Raises
    ------
    PosingError
        The message says what is wrong, and with which pair.
    """
    if not isinstance(pairs, Sequence) or isinstance(pairs, str):
        raise PosingError(f"pairs must be a list of VariantPairs, not a {type(pairs).__name__}")
    for pair in pairs:
        if not isinstance(pair, VariantPair):
            raise PosingError(f"pairs must be VariantPairs, and one is a {type(pair).__name__}")
    names = [pair.name for pair in pairs]
    for name in names:
        if names.count(name) > 1:
            raise PosingError(f"two pairs of supports are called {name!r}")
    if not len(pairs):
        return
    if not isinstance(goals, Sequence):
        raise PosingError(f"goals must be a list, not a {type(goals).__name__}")
    kept = [goal.name for goal in goals if isinstance(goal, Goal) and not goal.ideal]
    if len(kept) != len(pairs):
        counted = f"{len(kept)}: {', '.join(map(repr, kept))}" if kept else "none"
        raise PosingError(
            f"{_counted(len(pairs))} of supports ({', '.join(names)}) must keep as many goals, "
            f"posed with ideal=False, and there {'is' if len(kept) == 1 else 'are'} {counted}"
        )


def check_supports(
    pairs: Sequence[VariantPair], coordinates: ca.SX, moving: ca.SX, others: ca.SX
) -> None:
    """Refuse supports that do not touch the body, or whose numbers cannot be.

    Parameters
    ----------
    pairs
        The pairs.
    coordinates, moving
        Symbols: q, and its rates with the quasi-velocities.
    others
        Those of implicit unknowns and auxiliary quantities, and of their rates.

    Raises
    ------
    PosingError, OutOfRangeError
        The message says what is wrong, and with which support of which pair.
    """
    for pair in pairs:
        for place, support in enumerate(pair.supports, 2 - pair.count):
            owner = f"the {PLACES[place]} support of {pair.name!r}"
            if pair.kind == "unilateral":
                owner = f"the support of {pair.name!r}"
            _check_numbers(owner, support)
            _check_symbols(owner, support, others)
            if support.point is not None:
                _check_point(owner, _column(support.point), coordinates, moving)
            if support.velocity is not None:
                _check_linear(f"the velocity of {owner}", _column(support.velocity), moving)
            if support.spin is not None:
                _check_linear(f"the spin of {owner}", ca.SX(support.spin), moving)


def _check_numbers(owner: str, support: Support) -> None:
    friction = ca.SX(support.friction)
    if friction.is_constant() and not 0.0 <= float(friction) < math.inf:
        raise OutOfRangeError(f"the friction of {owner} is {float(friction):g}, but must be >= 0")
    normal = _column(support.normal)
    if normal.is_constant():
        length = float(ca.norm_2(normal))
        if not abs(length - 1.0) <= UNIT:
            raise OutOfRangeError(
                f"the normal of {owner} has the length {length:g}, but must be of length 1"
            )


def _check_symbols(owner: str, support: Support, others: ca.SX) -> None:
    for name in ("point", "velocity", "spin"):
        given = getattr(support, name)
        if given is None:
            continue
        column = ca.SX(given) if name == "spin" else _column(given)
        if others.numel() and ca.depends_on(column, others):
            raise PosingError(
                f"the {name} of {owner} contains auxiliary quantities or implicit unknowns, but "
                "must be written in coordinates and velocities"
            )


def _check_point(owner: str, point: ca.SX, coordinates: ca.SX, moving: ca.SX) -> None:
    if ca.depends_on(point, moving):
        raise PosingError(f"the point of {owner} contains velocities, but is a place in space")
    if not ca.jacobian(point, coordinates).nnz():
        raise PosingError(
            f"the point of {owner} does not depend on the coordinates, but must be that of the "
            "body that touches; give velocity= where that is another one at each instant"
        )


def _check_linear(owner: str, given: ca.SX, moving: ca.SX) -> None:
    slopes = ca.jacobian(given, moving)
    if not slopes.nnz():
        raise PosingError(f"{owner} does not depend on the velocities of the system")
    if ca.depends_on(slopes, moving):
        raise PosingError(f"{owner} is not linear in the velocities")


def _counted(count: int) -> str:
    return "1 pair" if count == 1 else f"{count} pairs"


def _column(entries: Sequence[Expression] | ca.SX) -> ca.SX:
    return entries if isinstance(entries, ca.SX) else ca.vertcat(*[ca.SX(e) for e in entries])

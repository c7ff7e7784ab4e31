"""Pairs of supports with at most one loaded: how a guide without play holds a body.

This module checks that such pairs are meaningful; its messages name the pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import casadi as ca

from daesolve.core.posing.goals import (
    AnyGoal,
    Expression,
    Goal,
    as_scalar,
    check_constants,
    is_word,
)
from daesolve.core.posing.symbols import symbol
from daesolve.errors import OutOfRangeError, PosingError

Kind = Literal["two-sided", "unilateral"]
Vector = Sequence[Expression] | ca.SX


@runtime_checkable
class Rubs(Protocol):
    """A face with friction: a `Pad`, `PadNodes`, or your own."""

    def traction(self, speed_squared: ca.SX, spin: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return a and b of the friction -a V and of its moment -b spin.

        Parameters
        ----------
        speed_squared
            The square of the slip V of the centre of the face, m^2/s^2.
        spin
            The rate of turn about the normal, rad/s.

        Returns
        -------
        tuple
            For unit normal reaction and unit coefficient, in s/m and m s.
        """
        ...


@dataclass(frozen=True, eq=False)
class Support:
    """A place where a guide may press on a body.

    Parameters
    ----------
    point
        The position of the touching point of the body in space, m: two or three coordinates.
    normal
        The direction in which the guide pushes the body: a unit vector of the same length.
    friction
        The coefficient of dry friction.
    pad
        The face that touches, if it is more than a point: `Pad`, `PadNodes` or your own (in space).
    spin
        The rate at which the body turns about the normal, rad/s; pads need it.
    velocity
        The velocity of the material point that touches, m/s, if it is not the rate of `point` (a
        wheel). It must be linear in the velocities.

    Raises
    ------
    PosingError
        The arguments do not form a support.
    """

    normal: Vector
    point: Vector | None = None
    friction: Expression = 0.0
    pad: Rubs | None = None
    spin: Expression | None = None
    velocity: Vector | None = None

    def __post_init__(self) -> None:
        size = len(_entries("normal", self.normal))
        if size not in (2, 3):
            raise PosingError(f"the normal of a support has {size} entries, but must have 2 or 3")
        if (self.point is None) == (self.velocity is None):
            raise PosingError("a support needs its point, or the velocity of its point")
        for name in ("point", "velocity"):
            given = getattr(self, name)
            if given is not None and len(_entries(name, given)) != size:
                raise PosingError(
                    f"the {name} of a support must have {size} entries, like its normal"
                )
        as_scalar("the friction of a support", self.friction, finite=False)
        if self.pad is not None and not isinstance(self.pad, Rubs):
            raise PosingError(f"the pad of a support must be a Pad or PadNodes, not {self.pad!r}")
        if self.pad is not None and size == 2:
            raise PosingError("a pad needs a support in space: give its normal three entries")
        if (self.pad is None) != (self.spin is None):
            raise PosingError(
                "a support needs both a pad and a spin (its rate of turn), or neither"
            )

    @property
    def size(self) -> int:
        """The number of dimensions."""
        return len(_entries("normal", self.normal))


@dataclass(frozen=True, eq=False)
class VariantPair:
    """Two supports with at most one loaded, or a single support that only pushes.

    Parameters
    ----------
    name
        The name of the pair and of its reaction, in N: the second support's minus the first's.
    supports
        The first and the second support; the single support of a unilateral pair counts as the
        second.
    kind
        "two-sided", or "unilateral" if the body may leave its support.
    reaction
        The symbol of N, for use in outputs and events.
    """

    name: str
    supports: Sequence[Support]
    kind: Kind = "two-sided"
    count: int = field(init=False)
    reaction: ca.SX = field(init=False)

    def __post_init__(self) -> None:
        if not is_word(self.name):
            raise PosingError(f"the name {self.name!r} of a pair of supports is not a word")
        if self.kind not in get_args(Kind):
            raise PosingError(
                f"the pair {self.name!r} is {self.kind!r}, but must be two-sided or unilateral"
            )
        wanted = 2 if self.kind == "two-sided" else 1
        given = self.supports
        if not isinstance(given, Sequence) or not all(isinstance(s, Support) for s in given):
            raise PosingError(f"the pair {self.name!r} needs a list of Supports, not {given!r}")
        if len(given) != wanted:
            raise PosingError(
                f"the {self.kind} pair {self.name!r} takes {wanted} support"
                f"{'s' if wanted > 1 else ''}, not {len(given)}"
            )
        if len({support.size for support in given}) > 1:
            raise PosingError(
                f"the supports of {self.name!r} must all lie in the plane or all in space"
            )
        object.__setattr__(self, "count", wanted)
        object.__setattr__(self, "reaction", symbol(self.name))

    @property
    def planar(self) -> bool:
        """Whether the pair slides along a line."""
        return self.supports[0].size == 2


def _entries(owner: str, given: Vector) -> list[ca.SX]:
    if isinstance(given, ca.SX):
        given = ca.vertsplit(given)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise PosingError(f"the {owner} of a support must be a list of expressions, not {given!r}")
    # The length of a constant normal is checked where the support has a name.
    finite = owner != "normal"
    return [as_scalar(f"the {owner} of a support", entry, finite=finite) for entry in given]


UNIT = 1e-6
"""The largest accepted deviation of a normal's length from one."""
PLACES = ("first", "second")


def pairs_of(pairs: Sequence[object]) -> list[VariantPair]:
    """Return the pairs of supports among what a system has been handed as `pairs`."""
    return [pair for pair in pairs if isinstance(pair, VariantPair)]


def check_pairs(pairs: Sequence[Any], goals: Sequence[AnyGoal]) -> tuple[VariantPair, ...]:
    """Return pairs, or refuse invalid ones, and those that do not match the kept constraints.

    Raises
    ------
    PosingError
        The message names the problem and the pair.
    """
    if not isinstance(pairs, Sequence) or isinstance(pairs, str):
        raise PosingError(f"pairs must be a list of VariantPairs, not a {type(pairs).__name__}")
    for pair in pairs:
        if not isinstance(pair, VariantPair):
            raise PosingError(f"pairs must be VariantPairs, but one is a {type(pair).__name__}")
    names = [pair.name for pair in pairs]
    for name in names:
        if names.count(name) > 1:
            raise PosingError(f"two pairs of supports have the same name, {name!r}")
    if not len(pairs):
        return ()
    if not isinstance(goals, Sequence):
        raise PosingError(f"goals must be a list, not a {type(goals).__name__}")
    kept = [goal.name for goal in goals if isinstance(goal, Goal) and not goal.ideal]
    if len(kept) != len(pairs):
        counted = f"{len(kept)}: {', '.join(map(repr, kept))}" if kept else "none"
        raise PosingError(
            f"{_counted(len(pairs))} of supports ({', '.join(names)}) must keep as many goals, "
            f"posed with ideal=False, but there {'is' if len(kept) == 1 else 'are'} {counted}"
        )
    return tuple(pairs)


def check_supports(
    pairs: Sequence[VariantPair], coordinates: ca.SX, moving: ca.SX, others: ca.SX
) -> None:
    """Refuse supports that do not touch the body or have invalid numbers.

    Parameters
    ----------
    pairs
        The pairs.
    coordinates, moving
        Symbols: q; and the rates of q with the quasi-velocities.
    others
        The symbols of implicit unknowns, auxiliary quantities and their rates.

    Raises
    ------
    PosingError, OutOfRangeError
        The message names the problem, the support and the pair.
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
    check_constants([(f"the normal of {owner}", normal)])


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
        raise PosingError(f"the point of {owner} contains velocities, but must be a position")
    if not ca.jacobian(point, coordinates).nnz():
        raise PosingError(
            f"the point of {owner} does not depend on the coordinates, but must be a point of "
            "the touching body; if the touching point changes with time, give velocity="
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

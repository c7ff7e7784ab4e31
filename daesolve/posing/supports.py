"""Pairs of supports of which at most one is loaded: how a guide without play holds a body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args, runtime_checkable

import casadi as ca

from daesolve.errors import PosingError
from daesolve.posing.goals import Expression, as_scalar, is_word
from daesolve.posing.symbols import symbol

Kind = Literal["two-sided", "unilateral"]
Vector = Sequence[Expression] | ca.SX


@runtime_checkable
class Rubs(Protocol):
    """A face that rubs: a `Pad`, `PadNodes`, or one of your own."""

    def traction(self, speed_squared: ca.SX, spin: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return a and b of the friction -a V and of its moment -b spin.

        Parameters
        ----------
        speed_squared
            The square of the slip V of the face's centre, m^2/s^2.
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
        Where the point of the body that touches lies in space, m: two or three coordinates.
    normal
        The direction in which the guide pushes the body: a unit vector of as many.
    friction
        The coefficient of dry friction.
    pad
        The face that touches, where it is more than a point: `Pad`, `PadNodes` or another (in
        space).
    spin
        The rate at which the body turns about the normal, rad/s: for pads.
    velocity
        The velocity of the material point that touches, m/s, where it is not the rate of `point`
        (a wheel). It is linear in the velocities.

    Raises
    ------
    PosingError
        What is given does not make a support.
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
            raise PosingError("a support is given by its point, or by the velocity of its point")
        for name in ("point", "velocity"):
            given = getattr(self, name)
            if given is not None and len(_entries(name, given)) != size:
                raise PosingError(
                    f"the {name} of a support must have {size} entries, as its normal"
                )
        as_scalar("the friction of a support", self.friction)
        if self.pad is not None and not isinstance(self.pad, Rubs):
            raise PosingError(f"the pad of a support must be a Pad or PadNodes, not {self.pad!r}")
        if self.pad is not None and size == 2:
            raise PosingError("a pad needs a support in space: give its normal three entries")
        if (self.pad is None) != (self.spin is None):
            raise PosingError("a support takes both or neither of pad and spin, its rate of turn")

    @property
    def size(self) -> int:
        """In how many dimensions it lies."""
        return len(_entries("normal", self.normal))


@dataclass(frozen=True, eq=False)
class VariantPair:
    """Two supports at most one of which is loaded, or one that only pushes.

    Parameters
    ----------
    name
        The pair's name, and that of its reaction: that of the second support less that of the
        first, N.
    supports
        The first and the second; a single one of a unilateral pair counts as the second.
    kind
        "two-sided", or "unilateral" where the body may leave its support.
    reaction
        The symbol of N, for outputs and events.
    """

    name: str
    supports: Sequence[Support]
    kind: Kind = "two-sided"
    count: int = field(init=False)
    reaction: ca.SX = field(init=False)

    def __post_init__(self) -> None:
        if not is_word(self.name):
            raise PosingError(f"the name {self.name!r} of a pair of supports is no word")
        if self.kind not in get_args(Kind):
            raise PosingError(
                f"the pair {self.name!r} is {self.kind!r}, but must be two-sided or unilateral"
            )
        wanted = 2 if self.kind == "two-sided" else 1
        given = self.supports
        if not isinstance(given, Sequence) or not all(isinstance(s, Support) for s in given):
            raise PosingError(f"the pair {self.name!r} takes a list of Supports, not {given!r}")
        if len(given) != wanted:
            raise PosingError(
                f"the {self.kind} pair {self.name!r} takes {wanted} support"
                f"{'s' if wanted > 1 else ''}, not {len(given)}"
            )
        if len({support.size for support in given}) > 1:
            raise PosingError(
                f"the supports of {self.name!r} lie in the plane or in space, not both"
            )
        object.__setattr__(self, "count", wanted)
        object.__setattr__(self, "reaction", symbol(self.name))

    @property
    def planar(self) -> bool:
        """Whether it slides along a line."""
        return self.supports[0].size == 2


def _entries(owner: str, given: Vector) -> list[ca.SX]:
    if isinstance(given, ca.SX):
        given = ca.vertsplit(given)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise PosingError(f"the {owner} of a support must be a list of expressions, not {given!r}")
    return [as_scalar(f"the {owner} of a support", entry) for entry in given]

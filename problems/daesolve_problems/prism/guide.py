"""The loads that a choice of loaded supports can carry: cones in the plane of P_y and M.

A support that alone carries t > 0 balances the load -(-1)^p t (1, c_k^p). The variant (i, j)
carries the loads between such rays of its two supports. The rays cut the plane into sectors, in
each of which the answers are the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise, product

from daesolve.errors import OutOfRangeError
from daesolve.typing import BoundCase
from daesolve_problems.prism.models import PAIRS, SIDES, UP

Variant = tuple[int, int]
Support = tuple[int, int]
"""A pair and a side."""

SMALLEST = 1e-12
"""rad; sectors below this are rounding."""


@dataclass(frozen=True)
class Answer:
    """The answer of a variant to a load that it can carry.

    Parameters
    ----------
    variant
        The loaded support of either pair: 1 the upper, 2 the lower.
    reactions
        N_1 and N_2, N.
    acceleration
        x'', m/s^2.
    physical
        Whether its determinant has the sign that it has without friction.
    """

    variant: Variant
    reactions: tuple[float, float]
    acceleration: float
    physical: bool


@dataclass(frozen=True)
class Sector:
    """Directions of the load between two neighbouring rays.

    Parameters
    ----------
    start, end
        Angles from the axis of P_y towards that of M, rad, where 1 N and 1 N m are as long.
    variants
        The variants that can carry a load in between.
    physical
        Those of them whose determinant has the sign that it has without friction.
    """

    start: float
    end: float
    variants: tuple[Variant, ...]
    physical: tuple[Variant, ...]

    @property
    def kind(self) -> str:
        """Whether there is an answer, and one that is physical."""
        return kind(len(self.variants), len(self.physical))


def kind(answers: int, physical: int) -> str:
    """Name a region by how many answers it has, and how many of them are physical."""
    if answers == 0:
        return "none"
    if physical == 0:
        return "unphysical"
    return "one" if answers == 1 else "several"


@dataclass(frozen=True)
class Guide:
    """A prism that slides in one sense.

    Parameters
    ----------
    places
        a_k^p by support, m.
    levers
        c_k^p = a_k^p + (-1)^p f_k^p b_k^p s by support, m.
    friction
        f_k^p by support.
    mass
        kg
    slip_sign
        s, 1 or -1.
    """

    places: Mapping[Support, float]
    levers: Mapping[Support, float]
    friction: Mapping[Support, float]
    mass: float
    slip_sign: float

    def answers(self, force_x: float, force_y: float, moment: float) -> tuple[Answer, ...]:
        """Return all answers to a load (N, N, N m)."""
        return tuple(
            answer
            for variant in product(SIDES, SIDES)
            if (answer := self._answer(variant, force_x, force_y, moment)) is not None
        )

    def _answer(
        self, variant: Variant, force_x: float, force_y: float, moment: float
    ) -> Answer | None:
        determinant = self.determinant(variant)
        if determinant == 0.0:
            return None
        loaded = tuple(zip(PAIRS, variant, strict=True))
        first, second = (self.levers[support] for support in loaded)
        reactions = (
            (moment - second * force_y) / determinant,
            (first * force_y - moment) / determinant,
        )
        pushes = [UP[side] * reaction for side, reaction in zip(variant, reactions, strict=True)]
        if min(pushes) < 0.0:
            return None
        rubbing = sum(self.friction[at] * push for at, push in zip(loaded, pushes, strict=True))
        acceleration = (force_x - self.slip_sign * rubbing) / self.mass
        return Answer(variant, reactions, acceleration, self.is_physical(variant))

    def determinant(self, variant: Variant) -> float:
        """Return c_2^j - c_1^i, m."""
        return self.levers[2, variant[1]] - self.levers[1, variant[0]]

    def is_physical(self, variant: Variant) -> bool:
        """Return whether a determinant has the sign that it has without friction."""
        apart = self.places[2, variant[1]] - self.places[1, variant[0]]
        return self.determinant(variant) * apart > 0.0

    def rays(self) -> dict[Support, float]:
        """Return the direction of the load that each support balances alone, in (-pi, pi]."""
        return {
            (pair, side): math.atan2(-UP[side] * lever, -UP[side])
            for (pair, side), lever in self.levers.items()
        }

    def sectors(self) -> list[Sector]:
        """Cut all directions of the load along the rays, from the least angle round to it again."""
        angles = sorted(self.rays().values())
        found: list[Sector] = []
        for start, end in pairwise([*angles, angles[0] + math.tau]):
            if end - start > SMALLEST:
                middle = (start + end) / 2.0
                inside = self.answers(0.0, math.cos(middle), math.sin(middle))
                variants = tuple(answer.variant for answer in inside)
                physical = tuple(answer.variant for answer in inside if answer.physical)
                found.append(Sector(start, end, variants, physical))
        return found

    def moments(self, force_y: float) -> list[float]:
        """Return the moments at which one support balances the load alone, ascending, N m.

        Raises
        ------
        OutOfRangeError
            Without a force across the guide nothing but the sign of the moment counts.
        """
        if force_y == 0.0:
            raise OutOfRangeError(
                "force_y is 0, so the answers depend only on the sign of the moment: give "
                "force_y a nonzero value"
            )
        return sorted({lever * force_y for lever in self.levers.values()})


def sliding(case: BoundCase) -> Guide:
    """Return the prism of a case, sliding as at the start."""
    values, speed = case.values, start_states(case)["x_dot"]
    return guide(values, math.copysign(1.0, speed) if speed else values["slip_sign"])


def start_states(case: BoundCase) -> dict[str, float]:
    """Return the start of a case; states left out are zero."""
    guess, initial = case.guess()
    return guess | initial


def guide(parameters: Mapping[str, float], slip_sign: float) -> Guide:
    """Return the prism with the given parameters, as it slides in a sense."""

    def each(letter: str) -> dict[Support, float]:
        return {
            (pair, side): parameters[f"{name}_{letter}_{pair}"]
            for side, name in SIDES.items()
            for pair in PAIRS
        }

    places, across, friction = each("a"), each("b"), each("friction")
    levers = {
        at: place + UP[at[1]] * friction[at] * across[at] * slip_sign
        for at, place in places.items()
    }
    return Guide(places, levers, friction, parameters["mass"], slip_sign)

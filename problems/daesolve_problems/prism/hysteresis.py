"""How the prism jumps between branches as the moment goes up and down."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from daesolve.contact.complementarity.answers import VariantSolution
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity, signs_of
from daesolve.contact.complementarity.policies import solve
from daesolve.errors import VariantError
from daesolve_problems.prism.guide import Guide, Variant
from daesolve_problems.prism.loads import Loads
from daesolve_problems.prism.models import SIDES

STEPS = 120
"""Moments in a sweep, about."""
FEWEST = 4
"""Moments between two at which a reaction is zero."""
SMALLEST = 1e-9
"""Moments of a sweep that are closer than this fraction of it count as one."""
MARGIN = 0.15
"""How far a sweep goes beyond the moments at which a reaction is zero, as a fraction."""


@dataclass(frozen=True, eq=False)
class Branch:
    """The answers by one variant.

    Parameters
    ----------
    variant
        The loaded support of either pair: 1 the upper, 2 the lower.
    physical
        Whether its determinant has the sign that it has without friction.
    moments, accelerations
        (n,) N m and m/s^2, NaN where it is no answer.
    """

    variant: Variant
    physical: bool
    moments: np.ndarray
    accelerations: np.ndarray


@dataclass(frozen=True)
class Leap:
    """Where a branch of answers ends.

    Parameters
    ----------
    moment
        At which a reaction of the branch is zero, N m.
    before, after
        The variants; None if no answer can be chosen any more.
    accelerations
        x'' on either side, m/s^2; NaN where no answer can be chosen.
    message
        Why none can, in words.
    """

    moment: float
    before: Variant
    after: Variant | None
    accelerations: tuple[float, float]
    message: str = ""


@dataclass(frozen=True, eq=False)
class Sweep:
    """The course of x'' as the moment changes slowly.

    Parameters
    ----------
    moments, accelerations
        (n,) N m and m/s^2, NaN where no answer can be chosen.
    leaps
        In their order.
    """

    moments: np.ndarray
    accelerations: np.ndarray
    leaps: tuple[Leap, ...]


def moments_between(edges: Sequence[float]) -> np.ndarray:
    """Return moments between edges, none of them on an edge, so that a step passes one at most."""
    whole = edges[-1] - edges[0]
    cells = [
        start + (end - start) * (np.arange(count) + 0.5) / count
        for start, end in pairwise(edges)
        if end - start > SMALLEST * whole
        for count in [max(FEWEST, round(STEPS * (end - start) / whole))]
    ]
    return np.concatenate(cells)


def branches(prism: Guide, force_x: float, force_y: float, moments: np.ndarray) -> Iterator[Branch]:
    """Yield the branch of every variant that answers at one of the moments."""
    found = [
        {answer.variant: answer for answer in prism.answers(force_x, force_y, moment)}
        for moment in moments
    ]
    for variant in product(SIDES, SIDES):
        x = np.array([at[variant].acceleration if variant in at else math.nan for at in found])
        if not np.isnan(x).all():
            yield Branch(variant, prism.is_physical(variant), moments, x)


def swept(problems: Loads, force_y: float, moments: np.ndarray) -> Sweep:
    """Go through moments in their order, from branch to branch."""
    variant: Variant | None = None
    accelerations = np.full(len(moments), math.nan)
    leaps: list[Leap] = []
    for place, moment in enumerate(moments):
        problem = problems.at(force_y, moment)
        before, variant = variant, None if variant is None else _continued(problem, variant)
        if variant is None:
            variant, message = _from_no_friction(problem)
            if before is not None:
                between = (moments[place - 1], moment)
                leaps.append(_leap(problems, force_y, between, before, variant, message))
        if variant is not None:
            accelerations[place] = problems.acceleration(_reactions(problem, variant))
    return Sweep(moments, accelerations, tuple(leaps))


def _continued(problem: HorizontalComplementarity, variant: Variant) -> Variant | None:
    """Return the variant that continues a branch, None if it ends."""
    try:
        found = solve(problem, policy="continuity", warm=variant)
    except VariantError:
        return None
    return _variant(found)


def _from_no_friction(problem: HorizontalComplementarity) -> tuple[Variant | None, str]:
    """Return the variant to which friction leads as it grows from zero, or why there is none."""
    try:
        return _variant(solve(problem, policy="homotopy")), ""
    except VariantError as error:
        return None, str(error)


def _variant(found: VariantSolution) -> Variant:
    assert found.chosen is not None
    first, second = found.chosen.variant
    return first, second


def _reactions(problem: HorizontalComplementarity, variant: Variant) -> np.ndarray:
    return np.linalg.solve(problem.orthant(signs_of(variant, len(variant))), problem.load)


def _leap(
    problems: Loads,
    force_y: float,
    between: tuple[float, float],
    before: Variant,
    after: Variant | None,
    message: str,
) -> Leap:
    """Return the leap at the moment where the first reaction of a branch is zero.

    Reactions of one variant are linear in the moment, so that this is exact.
    """
    start, end = (_reactions(problems.at(force_y, moment), before) for moment in between)
    falling = start * end < 0.0
    share = float(np.min(start[falling] / (start[falling] - end[falling])))
    moment = between[0] + share * (between[1] - between[0])
    there = problems.at(force_y, moment)

    def acceleration(variant: Variant | None) -> float:
        return math.nan if variant is None else problems.acceleration(_reactions(there, variant))

    return Leap(moment, before, after, (acceleration(before), acceleration(after)), message)

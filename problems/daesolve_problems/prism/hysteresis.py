"""How the prism leaps from branch to branch as the moment is changed up and down."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np

import daesolve as ds
from daesolve.complementarity.answers import VariantSolution
from daesolve.complementarity.horizontal import HorizontalComplementarity, signs_of
from daesolve.complementarity.policies import solve
from daesolve.errors import VariantError
from daesolve.typing import BoundCase
from daesolve_problems.prism import pictures
from daesolve_problems.prism.guide import Guide, Variant, sliding
from daesolve_problems.prism.loads import Loads, loads
from daesolve_problems.prism.models import SIDES

STEPS = 120
"""Moments in a sweep, about."""
FEWEST = 4
"""Moments between two at which a reaction is zero."""
SMALLEST = 1e-9
"""Of a sweep; moments that are nearer to each other are one."""
MARGIN = 0.15
"""How much farther a sweep goes than the moments at which a reaction is zero."""


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
        The variants; None where no answer can be chosen any more.
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
    """How x'' goes as the moment is changed slowly.

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


def hysteresis(case: BoundCase) -> ds.Answer:
    """Sweep the moment up and down, and tell where the prism leaps to another branch.

    A sweep stays on its branch as long as a neighbouring variant continues it. Where none does,
    it goes on with the answer to which friction leads as it grows from zero.

    Raises
    ------
    OutOfRangeError
        There is no force across the guide.
    FrictionlessIllPosed
        The supports do not hold the prism in every variant, whatever rubs.
    """
    prism, values = sliding(case), case.values
    force_y = values["force_y"]
    ends = prism.moments(force_y)
    margin = MARGIN * (ends[-1] - ends[0]) or abs(force_y)
    edges = [ends[0] - margin, *ends, ends[-1] + margin]
    moments = _between(edges)
    problems = loads(case)
    sweeps = {
        "up": _sweep(problems, force_y, moments),
        "down": _sweep(problems, force_y, moments[::-1]),
    }
    every = np.union1d(moments, edges)
    found = list(_branches(prism, values["force_x"], force_y, every))
    told: dict[str, Any] = {
        "slip_sign": prism.slip_sign,
        "force_y": force_y,
        "from": edges[0],
        "to": edges[-1],
        "branches": [_span(branch) for branch in found],
    }
    told |= {name: [_told(leap) for leap in sweep.leaps] for name, sweep in sweeps.items()}
    return ds.Answer(told, {"hysteresis": pictures.hysteresis(found, sweeps)})


def _between(edges: Sequence[float]) -> np.ndarray:
    """Return moments between edges, none of them on an edge, so that a step passes one at most."""
    whole = edges[-1] - edges[0]
    cells = [
        start + (end - start) * (np.arange(count) + 0.5) / count
        for start, end in pairwise(edges)
        if end - start > SMALLEST * whole
        for count in [max(FEWEST, round(STEPS * (end - start) / whole))]
    ]
    return np.concatenate(cells)


def _branches(
    prism: Guide, force_x: float, force_y: float, moments: np.ndarray
) -> Iterator[Branch]:
    found = [
        {answer.variant: answer for answer in prism.answers(force_x, force_y, moment)}
        for moment in moments
    ]
    for variant in product(SIDES, SIDES):
        x = np.array([at[variant].acceleration if variant in at else math.nan for at in found])
        if not np.isnan(x).all():
            yield Branch(variant, prism.is_physical(variant), moments, x)


def _span(branch: Branch) -> dict[str, Any]:
    inside = branch.moments[~np.isnan(branch.accelerations)]
    return {
        "variant": list(branch.variant),
        "physical": branch.physical,
        "from": float(inside[0]),
        "to": float(inside[-1]),
    }


def _told(leap: Leap) -> dict[str, Any]:
    return {
        "moment": leap.moment,
        "before": list(leap.before),
        "after": None if leap.after is None else list(leap.after),
        "acceleration_before": leap.accelerations[0],
        "acceleration_after": leap.accelerations[1],
        "message": leap.message,
    }


def _sweep(problems: Loads, force_y: float, moments: np.ndarray) -> Sweep:
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
    """Return the variant that goes on with a branch, None where it ends."""
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

"""What every algorithm finds for trains of prisms, and at what cost."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmarks.common.timing import processor_seconds
from daesolve.contact.complementarity.answers import VariantAnswer
from daesolve.contact.complementarity.branching import branch_and_bound, linear_programme
from daesolve.contact.complementarity.enumeration import enumerate_variants
from daesolve.contact.complementarity.homotopy import homotopy
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.complementarity.lemke import lemke
from daesolve.contact.complementarity.newton import newton
from tests.reference.prism_trains import is_one_of, reactions_of_all_variants, trains

REPEATS = 3


@dataclass(frozen=True)
class Found:
    """What an algorithm returns for a problem: reactions, and whether there are no others."""

    reactions: tuple[np.ndarray, ...]
    complete: bool = False


@dataclass(frozen=True)
class Measurement:
    """An algorithm on the members with one number of pairs.

    Attributes
    ----------
    method, pairs, unique
        What was measured, and whether friction changes no determinant's sign.
    members, solvable
        Number of members, and number with an answer.
    found
        For how many of the latter an answer was found.
    wrong
        For how many the result is false: the reactions are no answer, or there are others although
        the algorithm excludes them.
    complete
        For how many all answers, or their absence, were found and known to be complete.
    milliseconds
        Processor milliseconds: the median over members of the best of several repeats.
    """

    method: str
    pairs: int
    unique: bool
    members: int
    solvable: int
    found: int
    wrong: int
    complete: int
    milliseconds: float


def _one(answer: VariantAnswer | None) -> Found:
    return Found(() if answer is None else (answer.reactions,))


def _enumeration(problem: HorizontalComplementarity) -> Found:
    return Found(tuple(answer.reactions for answer in enumerate_variants(problem)), True)


def _search(problem: HorizontalComplementarity) -> Found:
    answers, complete = branch_and_bound(problem, all=True)
    return Found(tuple(answer.reactions for answer in answers), complete)


def _first_of_search(problem: HorizontalComplementarity) -> Found:
    answers, complete = branch_and_bound(problem)
    return Found(tuple(answer.reactions for answer in answers), complete and not answers)


def _programme(problem: HorizontalComplementarity) -> Found:
    found = linear_programme(problem)
    if found is None:
        return Found((), True)
    return Found((found.second - found.first,) if found.complementary else ())


METHODS: dict[str, Callable[[HorizontalComplementarity], Found]] = {
    "enumeration": _enumeration,
    "branch and bound, all": _search,
    "branch and bound, one": _first_of_search,
    "Newton": lambda problem: _one(newton(problem)),
    "Lemke": lambda problem: _one(lemke(problem)),
    "homotopy": lambda problem: _one(homotopy(problem).answer),
    "linear programme": _programme,
}


def measured(
    pairs: int, *, unique: bool, members: int, methods: Sequence[str]
) -> list[Measurement]:
    """Run algorithms on the same trains."""
    problems = list(itertools.islice(trains(pairs, unique=unique), members))
    truths = [reactions_of_all_variants(problem) for problem in problems]
    solvable = sum(bool(truth) for truth in truths)
    results: list[Measurement] = []
    for name in methods:
        answers = [_timed(METHODS[name], problem) for problem in problems]
        outcomes = list(zip(answers, truths, strict=True))
        results.append(
            Measurement(
                method=name,
                pairs=pairs,
                unique=unique,
                members=members,
                solvable=solvable,
                found=sum(bool(found.reactions) for (found, _), _ in outcomes),
                wrong=sum(not _is_true(found, truth) for (found, _), truth in outcomes),
                complete=sum(found.complete for (found, _), _ in outcomes),
                milliseconds=1e3 * statistics.median(seconds for (_, seconds), _ in outcomes),
            )
        )
    return results


def _timed(
    method: Callable[[HorizontalComplementarity], Found], problem: HorizontalComplementarity
) -> tuple[Found, float]:
    found, best = Found(()), float("inf")
    for _ in range(REPEATS):
        fresh = replace(problem)  # keeps no earlier results
        seconds, found = processor_seconds(partial(method, fresh))
        best = min(best, seconds)
    return found, best


def _is_true(found: Found, truth: list[np.ndarray]) -> bool:
    if found.complete and len(found.reactions) != len(truth):
        return False
    return all(is_one_of(reactions, truth) for reactions in found.reactions)

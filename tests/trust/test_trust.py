"""No run of the battery is wrong without a word, and nothing is doubted where all is well."""

from __future__ import annotations

from itertools import groupby
from zlib import crc32

import pytest

from tests.systems import WITHOUT_ASSIMULO

from . import battery
from .case import EXPLICIT, Case, judge

CASES = battery.cases()
FIRST = {str(next(cases)) for _, cases in groupby(CASES, key=lambda case: case.of)}
"""A case of each class, which the default suite runs."""


def in_turn(case: Case) -> list[str]:
    """Two solvers of a form, which its name alone decides: a further form moves no other."""
    solvers = case.only or EXPLICIT[1:]
    first = crc32(str(case).encode())
    chosen = dict.fromkeys(solvers[(first + k) % len(solvers)] for k in (0, 3))
    given = "formulation" in case.options
    return [solver for solver in chosen if not (given and solver in battery.IMPLICIT)]


OTHERS = [(case, solver) for case in CASES if case.analysis is None for solver in in_turn(case)]
"""Every form with two solvers; `python -m tests.trust --solvers all` has them all."""


def marks(case: Case) -> list[pytest.MarkDecorator]:
    return [] if str(case) in FIRST else [pytest.mark.slow]


def check(case: Case, solver: str = "", formulation: str = "") -> None:
    found = judge(case, solver, formulation, verify=case.sound and not solver)
    if case.sound and not solver:
        assert found.word == "right", found.detail
    assert not found.silent, f"{found.word}: {found.detail}"


@pytest.mark.long_rows(
    "grazing twice in a step: oscillator, reset",
    "grazing twice in a step: sine of time, reset",
    "kinks: x / |x| of a speed",
    "redundant, chosen once: 4 parallel cranks, drop",
    "touching contacts: 3 balls, e = 1",
)
@pytest.mark.long_beyond(18)
@pytest.mark.default_rows(13)
@pytest.mark.slow_rows(
    "contact of a moving surface: sine in x, e = 0, from the table",
    "controls: pendulum that turns over",
    "redundant, chosen once: helix, goals (2, 0, 1), positions, drop",
)
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=marks(case)) for case in CASES],
    ids=str,
)
def test_nothing_is_silently_wrong_by_the_default_choice(case):
    check(case)


@pytest.mark.long_rows(
    "contact of a moving surface: sine in x, e = 0, from the table, assimulo-cvode",
    "contact of a moving surface: sine in x, e = 0, from the table, cvodes",
    "contact of a moving surface: two sines in x, e = 0, from above, sundae-cvode",
    "contact of a moving surface: two sines in x, e = 0, from the table, sundae-cvode",
    "dependence by sampling: positions, Gaussian of place, drop, assimulo-radau5",
    "features in time: wave packet, free, dop853",
    "features in time: wave packet, free, sundae-cvode",
    "runs that never return: rail with a vertical end, quarter of a circle, sundae-cvode",
    "size of units: pendulum of 1e+06 m, radau",
    "size of units: pendulum of 1e+09 m, cvodes",
    "zeros without a slope: u - sin u, reset, cvodes",
    "zeros without a slope: u - sin u, stop, cvodes",
)
@pytest.mark.long_beyond(40)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "solver"), OTHERS, ids=[f"{case}, {solver}" for case, solver in OTHERS]
)
def test_nothing_is_silently_wrong_whichever_solver_is_asked_for(case, solver):
    if WITHOUT_ASSIMULO and solver.startswith("assimulo"):
        pytest.skip("Assimulo is not installed")
    check(case, solver, "index-1" if solver in battery.IMPLICIT else "")


def test_the_battery_has_three_forms_of_each_class_and_twenty_controls():
    counts: dict[str, int] = {}
    for case in CASES:
        counts[case.of] = counts.get(case.of, 0) + 1
    assert all(count >= 3 for count in counts.values())
    assert counts["controls"] >= 20
    assert len({str(case) for case in CASES}) == len(CASES)

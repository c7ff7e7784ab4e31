"""Every parameter of every problem may be changed: a run starts, or one sentence says why not."""

from collections.abc import Iterator

import pytest

import daesolve as ds
from daesolve.plugins.bound_case import BoundCase

FACTORS = (0.9, 1.1)
BESIDE_ZERO = 0.01
PROBLEMS = [problem.name for problem in ds.problems()[0]]


def nudged(case: BoundCase) -> Iterator[tuple[str, float]]:
    """Yield each parameter that may be set with a value 10 % below and above its own."""
    system = case.system
    kept = {*system.discrete.names, *system.inputs.names, *case.derived}
    for name, value in case.values.items():
        if name not in kept:
            for factor in FACTORS:
                yield name, value * factor if value else (factor - 1) * 10 * BESIDE_ZERO


def begun(case: BoundCase, changed: dict[str, float]) -> str:
    """Return why a changed case does not start; "" where it does."""
    try:
        case.changed(changed).consistent_start()
    except ds.errors.OutOfRangeError as error:
        return str(error)
    return ""


def ended(case: BoundCase, changed: dict[str, float], horizon: float) -> str:
    """Return why a changed case is refused, or ends before its horizon; "" where it does not."""
    try:
        run = case.changed(changed).solve(horizon)
    except (ds.errors.OutOfRangeError, ds.errors.PosingError) as error:
        return str(error)
    return "" if run.times[-1] == horizon else run.message or "it ended, and said nothing"


def check_starts(case: BoundCase) -> None:
    for parameter, value in nudged(case):
        reason = begun(case, {parameter: value})
        assert not reason or f"parameter {parameter!r} is {value!r}, but must be" in reason


def by_equations(name: str) -> list[list[BoundCase]]:
    """Return the cases of a problem, those with the same model and structure together."""
    found: dict[str, list[BoundCase]] = {}
    for own in ds.problem(name).cases:
        case = ds.problem(name).case(own.name)
        found.setdefault(f"{own.model} {sorted(case.full_structure.items())}", []).append(case)
    return list(found.values())


@pytest.mark.long_rows("bicycle", "rattleback", "rolling-wheel")
@pytest.mark.long_beyond(4)
@pytest.mark.default_rows(2)
@pytest.mark.slow_rows(
    "andrews",
    "bricard",
    "caster",
    "flyball-governor",
    "forced-pendulum",
    "impact-oscillator",
    "n-trailer",
    "omni-friction",
    "omni-laws",
    "omni-lifting",
    "omni-rolling",
    "omni-wheel",
    "pendulum-chain",
    "roller-racer",
    "rolling-ball",
    "thrown-rod",
)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_case_starts_with_each_parameter_changed_or_names_its_range(name: str) -> None:
    for alike in by_equations(name):
        check_starts(alike[0])


@pytest.mark.long_rows("bicycle", "rattleback")
@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_other_cases_start_with_each_parameter_changed_or_name_its_range(name: str) -> None:
    for alike in by_equations(name):
        for case in alike[1:]:
            check_starts(case)


@pytest.mark.long_rows(
    "andrews",
    "bicycle",
    "bricard",
    "cart",
    "clutches",
    "five-bar",
    "flyball-governor",
    "n-trailer",
    "omni-friction",
    "omni-laws",
    "omni-lifting",
    "omni-wheel",
    "rattleback",
    "robot-arm",
    "roller-racer",
    "three-supports",
    "tripod",
    "woodpecker",
)
@pytest.mark.long_beyond(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_first_case_runs_with_each_parameter_changed_or_says_why_not(name: str) -> None:
    case = ds.problem(name).case()
    horizon = case.case.start_time + (case.case.until - case.case.start_time) / 100
    for parameter, value in nudged(case):
        reason = ended(case, {parameter: value}, horizon)
        assert reason.count("\n") == 0
        assert "said nothing" not in reason

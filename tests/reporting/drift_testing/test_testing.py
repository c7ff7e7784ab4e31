"""What a drift test runs, and what is judged."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.reporting.drift_testing import DriftError, read_baseline
from daesolve.reporting.drift_testing.baseline import relative_differences, worse
from daesolve.reporting.drift_testing.drift_report import repetition, summary_lines
from tests.reporting.drift_testing.swings import FailedError, drift_test, let_swing
from tests.systems import pendulum


def test_invariants_are_measured_and_constraints_driven() -> None:
    drift = drift_test()
    run = let_swing(drift, limits={"energy": 1e-9, "rod": 1e-9})
    assert {name: entry.driven for name, entry in run.drift.items()} == {
        "rod": True,
        "rod_dot": True,
        "energy": False,
    }
    assert drift.entries[0]["verdict"] == "held"
    assert drift.entries[0]["rates"]["energy"] is None


@pytest.mark.parametrize(
    "told", [{"driven": ["energy"]}, {"driven": True}, {"formulation": ds.Feedback()}]
)
def test_an_invariant_is_driven_on_request(told: Mapping[str, Any]) -> None:
    drift = drift_test()
    assert let_swing(drift, **told).drift["energy"].driven
    assert drift.entries[0]["verdict"] == "measured"


def test_a_formulation_with_multipliers_is_taken_as_it_is() -> None:
    drift = drift_test()
    solver = ds.Idas(rtol=1e-6, atol=1e-6)
    run = let_swing(drift, formulation=ds.Index1(), until=0.1, at=[0.1], solver=solver)
    assert not run.drift["energy"].driven


@pytest.mark.slow
def test_where_rank_is_lost_the_run_is_projected_and_its_energy_measured() -> None:
    drift = drift_test()
    run = drift("four-bar", until=0.2, at=[0.2], solver=ds.Dop853())
    assert run.description["formulation"] == "projected"
    assert not run.drift["energy"].driven


def test_a_case_a_problem_and_its_name_are_the_same_run() -> None:
    problem = ds.problem("pendulum")
    drift = drift_test()
    for of in (problem.case(), problem, "pendulum"):
        drift(of, until=0.5, at=[0.5], solver=ds.Dop853())
    first, *others = drift.entries
    assert [entry["number"] for entry in drift.entries] == [1, 2, 3]
    for other in others:
        assert other["drift"] == first["drift"]
        assert other["case"] == problem.cases[0].name


def test_the_horizon_of_a_case_is_the_default() -> None:
    short = ds.Problem(
        "short",
        title="A pendulum for a moment",
        models={"rod": pendulum},
        cases=[ds.Case("drop", until=0.25, start={"x": -1.0})],
    )
    assert drift_test()(short, at=[0.25], solver=ds.Dop853()).end_time == 0.25


def test_the_reported_command_repeats_the_run() -> None:
    drift = drift_test()
    case = ds.problem("pendulum").case(gravity=3.7)
    drift(case, until=0.5, limits={"energy": 1e-9})
    _, line = drift.entries[0]["repeat"]
    words = shlex.split(line)
    assert words[0] == "daesolve"
    told = CliRunner().invoke(app, [*words[1:], "--json"])
    assert told.exit_code == 0, told.output
    again = json.loads(told.stdout)
    assert again["parameters"]["gravity"] == 3.7
    for name, entry in drift.entries[0]["drift"].items():
        assert again["drift"][name]["driven"] == entry["driven"]
        assert again["drift"][name]["max_abs"] == entry["max_abs"]


# -- what is judged ------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_low_tolerance_is_seen_in_the_energy_and_in_the_states() -> None:
    drift = drift_test()
    with pytest.raises(FailedError) as failed:
        let_swing(
            drift,
            solver=ds.Dop853(rtol=1e-4, atol=1e-4),
            limits={"energy": 1e-9, "rod": None},
            accuracy=1e-9,
        )
    entry = drift.entries[0]
    assert entry["exceeded"]["limits"] == ["energy"]
    assert entry["exceeded"]["accuracy"] == ["x", "y", "x_dot", "y_dot"]
    # A method of order 8 at 1e-4 errs by about that a step, and driven feedback does not hide it.
    assert 1e-6 < entry["drift"]["energy"]["max_relative"] < 1e-2
    message = str(failed.value)
    assert re.search(r"energy +measured +1e-9 ", message)
    assert "repeated with taylor, tolerance 2.22e-16" in message  # by another method
    assert "run with feedback + dop853, rtol 0.0001" in message
    assert "pytest tests/test_mine.py::test_it" in message


def test_a_hidden_constraint_has_the_limit_of_its_goal_unless_it_has_its_own() -> None:
    loose = {"solver": ds.Dop853(rtol=1e-4, atol=1e-4)}
    drift = drift_test()
    with pytest.raises(FailedError):
        let_swing(drift, limits={"rod": 1e-12}, **loose)
    assert drift.entries[0]["exceeded"]["limits"] == ["rod", "rod_dot"]
    with pytest.raises(FailedError):
        let_swing(drift, limits={"rod": 1e-12, "rod_dot": None}, **loose)
    assert drift.entries[1]["exceeded"]["limits"] == ["rod"]
    let_swing(drift, limits={"rod": 1.0, "rod_dot": 0.5}, **loose)
    assert drift.entries[2]["drift"]["rod_dot"]["limit"] == 0.5


def test_a_run_that_does_not_end_well_fails_without_limits() -> None:
    """x'' = 4 x^3 from rest at 1 is at infinity after the integral of 1 / sqrt(2 (x^4 - 1))."""
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q, ds.parameters(), kinetic=q.dot.x**2 / 2, potential=-(q.x**4), goals=[]
    )
    drift = drift_test()
    with pytest.raises(FailedError, match=r"^failed at t = 0\.927037"):
        drift(system, until=10.0, initial={"x": 1.0}, at=[0.5], solver=ds.Dop853())
    entry = drift.entries[0]
    assert (entry["outcome"], entry["verdict"]) == ("failed", "exceeded")
    assert entry["end_time"] == pytest.approx(
        math.gamma(0.25) ** 2 / (8.0 * math.sqrt(math.pi)), abs=1e-6
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"limits": {"energie": 1e-9}}, "there are 'rod', 'rod_dot', 'energy'"),
        ({"limits": {"energy": 0.0}}, "'energy' is 0.0, but must be a finite number > 0"),
        ({"limits": {"energy": "1e-9"}}, "must be a finite number > 0"),
        ({"limits": {"energy": True}}, "must be a finite number > 0"),
        ({"limits": {"energy": math.nan}}, "must be a finite number > 0"),
        ({"limits": ["energy"]}, "limits must map names to numbers"),
        ({"limits": 1e-9}, "limits must map names to numbers"),
        ({"accuracy": -1.0}, "accuracy is -1.0"),
        ({"accuracy": 1e-8, "verify": False}, "leave out verify=False"),
        ({"driven": "energy"}, r"names of invariants, such as \['energy'\]"),
        ({"driven": ["energie"]}, "unknown invariant 'energie': did you mean 'energy'"),
        ({"driven": 1}, "must be True, False or names"),
        ({"driven": ["energy"], "formulation": ds.Feedback()}, "either a formulation or driven"),
        ({"until": None}, "a system has no horizon: give until"),
        ({"solver": "tailor"}, "unknown solver 'tailor': did you mean 'taylor'"),
        ({"formulation": "index-4"}, "unknown formulation 'index-4'"),
        ({"solver": 3}, "the solver is 3"),
    ],
)
def test_wrong_use_fails_with_one_sentence_and_measures_nothing(
    options: Mapping[str, Any], sentence: str
) -> None:
    drift = drift_test()
    with pytest.raises(FailedError, match=sentence):
        let_swing(drift, **options)
    assert drift.entries == []


def test_what_cannot_be_run_is_reported() -> None:
    with pytest.raises(FailedError, match="drift runs a case of a problem"):
        drift_test()(3.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(FailedError, match="unknown problem 'pendulun'"):
        drift_test()("pendulun")


def test_an_invariant_that_is_posed_to_be_measured_cannot_be_driven() -> None:
    def twice(q: Any, p: Any) -> list[ds.Invariant]:
        value = (q.dot.x**2 + q.dot.y**2) * p.mass / 2 + p.mass * p.gravity * q.y
        return [ds.Invariant("sum", value)]

    drift = drift_test()
    options = {"until": 0.5, "at": [0.5], "initial": {"x": -1.0}, "solver": ds.Dop853()}
    run = drift(pendulum(goals=twice), limits={"sum": 1e-9}, **options)
    assert not run.drift["sum"].driven
    with pytest.raises(FailedError, match="posed with drive=False"):
        drift(pendulum(goals=twice), driven=["sum"], **options)


def test_an_interrupt_ends_the_session_and_not_the_test_alone() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        let_swing(drift_test(), progress=interrupt)


def test_states_are_compared_with_the_size_of_their_unit_and_small_angles_with_one_radian() -> None:
    run: Any = SimpleNamespace(
        states={"x": [0.0, 4.0], "y": [0.0, 1e-17], "phi": [1e-3, 0.0], "spin": [0.0, 0.5]},
        end_state={"x": -8.0, "y": 0.0, "phi": 0.0, "spin": 0.0},
        units={"x": "m", "y": "m", "phi": "rad", "spin": "rad/s"},
    )
    found = relative_differences(run, dict.fromkeys(run.states, 1e-6))
    assert found == {"x": 1e-6 / 8.0, "y": 1e-6 / 8.0, "phi": 1e-6, "spin": 2e-6}


def test_a_chaotic_motion_is_reported_as_the_reason() -> None:
    told = {"against": "taylor", "growth": "exponential", "lyapunov_time": 0.2}
    assert "small errors grow e-fold in 0.2 s" in repetition(told)
    assert "no exponential growth" in repetition({**told, "growth": "regular"})
    assert "not measured" in repetition({**told, "growth": "unknown"})


# -- the baseline --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (1e-12, 1e-12, []),
        (1e-12, 1e-14, []),
        (1e-12, 0.99e-11, []),
        (1e-12, 1.1e-11, ["energy"]),
        (0.0, 0.99e-14, []),  # below rounding nothing counts
        (0.0, 1.1e-14, ["energy"]),
        (1e-12, None, ["energy"]),  # not finite
        (None, None, []),
        (None, 1.0, []),
    ],
)
def test_a_drift_is_worse_beyond_ten_times_the_baseline_or_rounding(
    old: float | None, new: float | None, expected: list[str]
) -> None:
    assert worse({"energy": {"max_relative": new}}, {"energy": old}) == expected


def test_what_became_worse_fails_and_what_the_baseline_lacks_is_reported() -> None:
    first = drift_test()
    let_swing(first)
    sizes = {name: entry["max_relative"] for name, entry in first.entries[0]["drift"].items()}
    key = first.test, 1
    same = drift_test(baseline={key: sizes})
    let_swing(same)
    assert same.entries[0]["verdict"] == "held"
    eleven = drift_test(baseline={key: {**sizes, "energy": sizes["energy"] / 11.0}})
    with pytest.raises(FailedError, match="drift of energy worse than the baseline") as failed:
        let_swing(eleven)
    assert "10 times the baseline" in str(failed.value)
    fewer = drift_test(baseline={key: {"energy": sizes["energy"]}})
    let_swing(fewer)
    assert summary_lines(fewer.entries, verbose=False)[1] == f"  {first.test}: rod, rod_dot"
    other = drift_test(baseline={("another", 1): sizes})
    let_swing(other)
    assert summary_lines(other.entries, verbose=False)[1] == f"  {first.test}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "cannot be read: No such file"),
        ("{", "is not JSON"),
        ("[]", "is not a drift report"),
        ("{}", "is not a drift report"),
        ('{"format": 2, "runs": []}', "has the format 2"),
        ('{"format": 1, "runs": [{"test": "a", "number": 1}]}', "is not a drift report"),
        (
            '{"format": 1, "runs": [{"test": "a", "number": 1, "drift": {"e": '
            '{"max_relative": "small"}}}]}',
            "is not a drift report",
        ),
    ],
)
def test_a_baseline_that_is_none_is_refused(
    tmp_path: Path, text: str | None, sentence: str
) -> None:
    file = tmp_path / "drift.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(DriftError, match=sentence):
        read_baseline(file)

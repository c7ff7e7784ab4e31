"""Drift tests: what is run, what is judged, and the pytest plugin around them."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.drift_testing import DriftError, DriftTest, read_baseline
from daesolve.drift_testing.baseline import worse
from daesolve.drift_testing.limits import relative_differences
from daesolve.drift_testing.page import page
from daesolve.drift_testing.telling import failure, repetition, summary_lines

from .browser import open_browser
from .systems import pendulum

pytest_plugins = "pytester"

SAMPLE = """
import daesolve as ds

LOOSE = ds.Dop853(rtol=1e-4, atol=1e-4)


def pendulum():
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(length=(1.0, "m"), gravity=(9.81, "m/s^2"))
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.gravity * q.y,
        goals=[rod],
    )


def swing(drift, **options):
    options = {"solver": ds.Dop853(rtol=1e-7, atol=1e-7), **options}
    return drift(pendulum(), until=1.0, at=[0.5, 1.0], initial={"x": -1.0}, **options)


def test_swings(drift):
    run = swing(drift, limits={"energy": 1e-5, "rod": 1e-5}, accuracy=1e-4)
    assert not run.drift["energy"].driven
    assert run.drift["rod"].driven


def test_twice(drift):
    swing(drift)
    swing(drift, driven=["energy"])
"""
BROKEN = """

def test_loose(drift):
    swing(drift, limits={"energy": 1e-9}, accuracy=1e-7, solver=LOOSE)


def test_misspelt(drift):
    swing(drift, limits={"energie": 1e-9})


def test_own_assertion(drift):
    assert swing(drift, limits={"energy": 1e-5}).event_count == 3
"""


class FailedError(Exception):
    """What `fail` raises here."""


def _fail(message: str) -> NoReturn:
    raise FailedError(message)


def _drift(**more: Any) -> DriftTest:
    return DriftTest("tests/test_mine.py::test_it", _fail, **more)


def _swing(drift: DriftTest, **options: Any) -> ds.Trajectory:
    """Let a pendulum fall for a second, cheaply."""
    few = {"until": 1.0, "at": [0.5, 1.0], "initial": {"x": -1.0}, "solver": ds.Dop853()}
    options = {**few, **options}
    return drift(pendulum(), **options)


# -- what is run ---------------------------------------------------------------------------------


def test_invariants_are_measured_and_constraints_driven() -> None:
    drift = _drift()
    run = _swing(drift, limits={"energy": 1e-9, "rod": 1e-9})
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
def test_an_invariant_is_driven_where_that_is_told(told: Mapping[str, Any]) -> None:
    drift = _drift()
    assert _swing(drift, **told).drift["energy"].driven
    assert drift.entries[0]["verdict"] == "measured"


def test_a_formulation_with_multipliers_is_taken_as_it_is() -> None:
    drift = _drift()
    solver = ds.Idas(rtol=1e-6, atol=1e-6)
    run = _swing(drift, formulation=ds.Index1(), until=0.1, at=[0.1], solver=solver)
    assert not run.drift["energy"].driven


def test_where_rank_is_lost_the_run_is_projected_and_its_energy_measured() -> None:
    drift = _drift()
    run = drift("four-bar", until=0.2, at=[0.2], solver=ds.Dop853())
    assert run.description["formulation"] == "projected"
    assert not run.drift["energy"].driven


def test_a_case_a_problem_and_its_name_are_the_same_run() -> None:
    problem = ds.problem("pendulum")
    drift = _drift()
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
    assert _drift()(short, at=[0.25], solver=ds.Dop853()).end_time == 0.25


def test_the_command_that_is_told_repeats_the_run() -> None:
    drift = _drift()
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


def test_a_low_tolerance_is_seen_in_the_energy_and_in_the_states() -> None:
    drift = _drift()
    with pytest.raises(FailedError) as failed:
        _swing(
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
    assert "dop853, rtol 1e-05" in message
    assert "pytest tests/test_mine.py::test_it" in message


def test_a_hidden_constraint_has_the_limit_of_its_goal_unless_it_has_its_own() -> None:
    loose = {"solver": ds.Dop853(rtol=1e-4, atol=1e-4)}
    drift = _drift()
    with pytest.raises(FailedError):
        _swing(drift, limits={"rod": 1e-12}, **loose)
    assert drift.entries[0]["exceeded"]["limits"] == ["rod", "rod_dot"]
    with pytest.raises(FailedError):
        _swing(drift, limits={"rod": 1e-12, "rod_dot": None}, **loose)
    assert drift.entries[1]["exceeded"]["limits"] == ["rod"]
    _swing(drift, limits={"rod": 1.0, "rod_dot": 0.5}, **loose)
    assert drift.entries[2]["drift"]["rod_dot"]["limit"] == 0.5


def test_a_run_that_does_not_end_well_fails_without_limits() -> None:
    """x'' = 4 x^3 from rest at 1 is at infinity after the integral of 1 / sqrt(2 (x^4 - 1))."""
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q, ds.parameters(), kinetic=q.dot.x**2 / 2, potential=-(q.x**4), goals=[]
    )
    drift = _drift()
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
        ({"limits": ["energy"]}, "limits are names with a number each"),
        ({"limits": 1e-9}, "limits are names with a number each"),
        ({"accuracy": -1.0}, "accuracy is -1.0"),
        ({"accuracy": 1e-8, "verify": False}, "leave verify=False out"),
        ({"driven": "energy"}, r"names of invariants: \['energy'\]"),
        ({"driven": ["energie"]}, "unknown invariant 'energie': did you mean 'energy'"),
        ({"driven": 1}, "must be True, False or names"),
        ({"driven": ["energy"], "formulation": ds.Feedback()}, "give either it or driven"),
        ({"until": None}, "a system has no horizon of its own"),
        ({"solver": "taylor"}, "the solver is 'taylor'"),
    ],
)
def test_wrong_use_fails_with_one_sentence_and_measures_nothing(
    options: Mapping[str, Any], sentence: str
) -> None:
    drift = _drift()
    with pytest.raises(FailedError, match=sentence):
        _swing(drift, **options)
    assert drift.entries == []


def test_what_cannot_be_run_is_told() -> None:
    with pytest.raises(FailedError, match="drift runs a case of a problem"):
        _drift()(3.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(FailedError, match="unknown problem 'pendulun'"):
        _drift()("pendulun")


def test_an_invariant_that_is_posed_to_be_measured_cannot_be_driven() -> None:
    def twice(q: Any, p: Any) -> list[ds.Invariant]:
        value = (q.dot.x**2 + q.dot.y**2) * p.mass / 2 + p.mass * p.gravity * q.y
        return [ds.Invariant("sum", value)]

    drift = _drift()
    options = {"until": 0.5, "at": [0.5], "initial": {"x": -1.0}, "solver": ds.Dop853()}
    run = drift(pendulum(goals=twice), limits={"sum": 1e-9}, **options)
    assert not run.drift["sum"].driven
    with pytest.raises(FailedError, match="posed with drive=False"):
        drift(pendulum(goals=twice), driven=["sum"], **options)


def test_an_interrupt_ends_the_session_and_not_the_test_alone() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _swing(_drift(), progress=interrupt)


def test_states_are_compared_with_the_size_of_their_unit_and_small_angles_with_one_radian() -> None:
    run: Any = SimpleNamespace(
        states={"x": [0.0, 4.0], "y": [0.0, 1e-17], "phi": [1e-3, 0.0], "spin": [0.0, 0.5]},
        end_state={"x": -8.0, "y": 0.0, "phi": 0.0, "spin": 0.0},
        units={"x": "m", "y": "m", "phi": "rad", "spin": "rad/s"},
    )
    found = relative_differences(run, dict.fromkeys(run.states, 1e-6))
    assert found == {"x": 1e-6 / 8.0, "y": 1e-6 / 8.0, "phi": 1e-6, "spin": 2e-6}


def test_a_chaotic_motion_is_told_as_the_reason() -> None:
    told = {"against": "taylor", "growth": "exponential", "lyapunov_time": 0.2}
    assert "small errors grow e-fold in 0.2 s" in repetition(told)
    assert "no exponential growth" in repetition({**told, "growth": "regular"})
    assert "not found out" in repetition({**told, "growth": "unknown"})


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


def test_what_became_worse_fails_and_what_the_baseline_lacks_is_told() -> None:
    first = _drift()
    _swing(first)
    sizes = {name: entry["max_relative"] for name, entry in first.entries[0]["drift"].items()}
    key = first.test, 1
    same = _drift(baseline={key: sizes})
    _swing(same)
    assert same.entries[0]["verdict"] == "held"
    eleven = _drift(baseline={key: {**sizes, "energy": sizes["energy"] / 11.0}})
    with pytest.raises(FailedError, match="drift of energy worse than the baseline") as failed:
        _swing(eleven)
    assert "10 times the baseline" in str(failed.value)
    fewer = _drift(baseline={key: {"energy": sizes["energy"]}})
    _swing(fewer)
    assert summary_lines(fewer.entries, verbose=False)[1] == f"  {first.test}: rod, rod_dot"
    other = _drift(baseline={("another", 1): sizes})
    _swing(other)
    assert summary_lines(other.entries, verbose=False)[1] == f"  {first.test}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "cannot be read: No such file"),
        ("{", "is not JSON"),
        ("[]", "is no drift report"),
        ("{}", "is no drift report"),
        ('{"format": 2, "runs": []}', "has the format 2"),
        ('{"format": 1, "runs": [{"test": "a", "number": 1}]}', "is no drift report"),
        (
            '{"format": 1, "runs": [{"test": "a", "number": 1, "drift": {"e": '
            '{"max_relative": "small"}}}]}',
            "is no drift report",
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


# -- the plugin ----------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def _session(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run pytest in this process, where daesolve is loaded, with this plugin alone."""
    return pytester.runpytest_inprocess(
        "-p", "no:unraisableexception", "-p", "daesolve_pytest", *options
    )


def test_loading_the_plugin_does_not_import_daesolve(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_without_the_fixture():
            assert "daesolve_pytest" in sys.modules
            assert "daesolve" not in sys.modules
        """
    )
    result = pytester.runpytest_subprocess("-p", "daesolve_pytest", "--drift-report=out")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["no test used the fixture 'drift': *"])
    assert not (pytester.path / "out" / "drift.json").exists()


def test_a_project_that_uses_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=SAMPLE + BROKEN)
    result = _session(pytester, "-v", "--drift-report=out")
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*test_loose*",
            ">       swing(drift, limits=*",
            "E * energy *measured *1e-9 *",
            "*UnknownNameError: there is a limit for 'energie'*",
            ">       assert swing(*).event_count == 3",
            "E *assert 0 == 3",
            "*= drift =*",
            "test_mine.py::test_loose: exceeded, worst *",
            "test_mine.py::test_swings: held, worst * of 1e-*",
            "test_mine.py::test_twice: measured, worst *",
            "test_mine.py::test_twice (run 2): measured, worst *",
            "drift report: *drift.html",
        ],
        consecutive=False,
    )
    whole = json.loads((pytester.path / "out" / "drift.json").read_text(encoding="utf-8"))
    runs = {(run["test"], run["number"]): run for run in whole["runs"]}
    assert sorted(runs) == [
        ("test_mine.py::test_loose", 1),
        ("test_mine.py::test_own_assertion", 1),
        ("test_mine.py::test_swings", 1),
        ("test_mine.py::test_twice", 1),
        ("test_mine.py::test_twice", 2),
    ]
    loose = runs["test_mine.py::test_loose", 1]
    assert loose["limits"] == {"energy": 1e-9}
    assert loose["accuracy"] == 1e-7
    assert loose["outcome"] == "completed"
    assert loose["until"] == 1.0
    assert loose["verification"]["relative"]["x"] > 1e-7
    assert whole["versions"]["daesolve"] == ds.__version__
    assert not (pytester.path / "out" / ".drift.html.partial").exists()


def test_a_baseline_is_compared_in_a_session(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=SAMPLE)
    first = _session(pytester, "--drift-report=out")
    assert "worst" not in first.stdout.str()  # only with -v
    file = pytester.path / "out" / "drift.json"
    whole = json.loads(file.read_text(encoding="utf-8"))
    whole["runs"] = [run for run in whole["runs"] if run["number"] == 1]
    energy = next(r for r in whole["runs"] if r["test"].endswith("twice"))["drift"]["energy"]
    assert energy["max_relative"] > 11e-15
    energy["max_relative"] /= 11.0
    file.write_text(json.dumps(whole), encoding="utf-8")
    second = _session(pytester, "--drift-baseline=out/drift.json")
    second.assert_outcomes(passed=1, failed=1)
    second.stdout.fnmatch_lines(["*drift of energy worse than the baseline; in *"])
    energy["max_relative"] *= 11.0
    file.write_text(json.dumps(whole), encoding="utf-8")
    third = _session(pytester, "--drift-baseline=out/drift.json")
    third.assert_outcomes(passed=2)
    third.stdout.fnmatch_lines(["not compared, *", "  test_mine.py::test_twice (run 2)"])


def test_wrong_options_end_pytest_at_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing():\n    pass\n")
    missing = _session(pytester, "--drift-baseline=none.json")
    assert missing.ret is pytest.ExitCode.USAGE_ERROR
    missing.stderr.fnmatch_lines(["ERROR: --drift-baseline: *none.json' cannot be read: No such*"])
    (pytester.path / "taken").write_text("", encoding="utf-8")
    taken = _session(pytester, "--drift-report=taken")
    assert taken.ret is pytest.ExitCode.USAGE_ERROR
    taken.stderr.fnmatch_lines(["ERROR: --drift-report: 'taken' cannot be made a directory: *"])


def test_the_plugin_is_found_by_itself_and_can_be_switched_off(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    found = {point.name: point.value for point in entry_points(group="pytest11")}
    assert found["daesolve"] == "daesolve_pytest"
    others = [word for name in found for word in ("-p", f"no:{name}") if name != "daesolve"]
    pytester.makepyfile("def test_it(drift):\n    assert drift.entries == []\n")
    pytester.runpytest_inprocess(*others).assert_outcomes(passed=1)
    result = pytester.runpytest_inprocess(*others, "-p", "no:daesolve")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'drift' not found*"])
    assert "= drift =" not in result.stdout.str()


@pytest.mark.slow
def test_workers_of_xdist_hand_in_what_they_measured(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(test_one=SAMPLE, test_two=SAMPLE)
    result = pytester.runpytest_subprocess(
        "-p", "xdist", "-p", "daesolve_pytest", "-n2", "--drift-report=out"
    )
    result.assert_outcomes(passed=4)
    whole = json.loads((pytester.path / "out" / "drift.json").read_text(encoding="utf-8"))
    assert len(whole["runs"]) == 6


def test_what_was_measured_survives_the_way_from_another_process() -> None:
    drift = _drift()
    _swing(drift, accuracy=1e-6)
    report = pytest.TestReport(
        drift.test, ("f", 1, "d"), {}, "passed", None, "teardown", daesolve_drift=drift.entries
    )
    sent = json.loads(json.dumps(report._to_json()))
    assert pytest.TestReport._from_json(sent).daesolve_drift == drift.entries


# -- the page ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    drift = _drift()
    _swing(drift, limits={"energy": 1e-9}, accuracy=1e-7)
    with pytest.raises(FailedError):
        _swing(drift, limits={"energy": 1e-20}, accuracy=1e-20)
    return {
        "format": 1,
        "created": "2001-01-01T00:00:00+00:00",
        "versions": {"daesolve": ds.__version__},
        "runs": drift.entries,
    }


def test_the_page_stands_alone_and_tells_each_run(whole: Mapping[str, Any]) -> None:
    text = page(whole)
    assert not re.search(r"<script|<link|https?://|src=|@import|url\((?!#)", text)
    identifiers = re.findall(r'\bid="([^"]+)"', text)
    assert len(set(identifiers)) == len(identifiers)
    assert set(re.findall(r'<a href="#([^"]+)"', text)) == {"run-1", "run-2"} <= set(identifiers)
    assert text.count("<svg") == 2
    assert "2 runs in 1 test, 1 beyond what is allowed" in text


def test_what_has_no_number_is_told_in_the_page_and_the_message(whole: Mapping[str, Any]) -> None:
    entry = json.loads(json.dumps(whole["runs"][1]))
    entry["drift"]["energy"]["max_relative"] = None
    entry["verification"]["relative"]["x"] = None
    entry["verification"]["difference"]["x"] = None
    assert re.search(r"x +1e-20 +not finite +not finite", failure(entry))
    assert "not finite" in summary_lines([entry], verbose=True)[0]
    assert "not finite" in page({**whole, "runs": [entry]})


@pytest.mark.slow
def test_the_page_fits_a_phone(whole: Mapping[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "drift.html"
    file.write_text(page(whole), encoding="utf-8")
    with open_browser() as browser:
        shown = browser.new_page(viewport={"width": 390, "height": 800})
        shown.goto(file.as_uri())
        assert shown.evaluate("document.documentElement.scrollWidth") == 390

"""The pytest plugin around drift tests."""

from __future__ import annotations

import json
from importlib.metadata import entry_points

import pytest

import daesolve as ds
from tests.reporting.drift_testing.swings import BROKEN, SAMPLE, drift_test, let_swing

pytest_plugins = "pytester"


@pytest.fixture(autouse=True)
def _no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def _session(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run pytest in this process, where daesolve is loaded, with this plugin alone."""
    return pytester.runpytest_inprocess(
        "-p", "no:unraisableexception", "-p", "daesolve_pytest", *options
    )


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_project_that_uses_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=SAMPLE + BROKEN)
    result = _session(pytester, "-v", "--drift-report=out")
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*test_loose*",
            ">       swing(drift, limits=*",
            "E * energy *measured *1e-9 *",
            "*UnknownNameError: the limit 'energie' matches*",
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


@pytest.mark.slow
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


@pytest.mark.long
def test_workers_of_xdist_hand_in_what_they_measured(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(test_one=SAMPLE, test_two=SAMPLE)
    result = pytester.runpytest_subprocess(
        "-p", "xdist", "-p", "daesolve_pytest", "-n2", "--drift-report=out"
    )
    result.assert_outcomes(passed=4)
    whole = json.loads((pytester.path / "out" / "drift.json").read_text(encoding="utf-8"))
    assert len(whole["runs"]) == 6


@pytest.mark.slow
def test_what_was_measured_survives_the_way_from_another_process() -> None:
    drift = drift_test()
    let_swing(drift, accuracy=1e-6)
    report = pytest.TestReport(
        drift.test, ("f", 1, "d"), {}, "passed", None, "teardown", daesolve_drift=drift.entries
    )
    sent = json.loads(json.dumps(report._to_json()))
    assert pytest.TestReport._from_json(sent).daesolve_drift == drift.entries

"""A run that was interrupted goes on as if it had not been."""

import pytest

import daesolve as ds
from daesolve.core.results.trajectory.results import Outcome
from daesolve.verification import second_run
from tests.core.run.solving.stored_runs.runs import alike, interrupting, swing, tables
from tests.hybrid_systems import bouncing_ball, peg_pendulum, thermostat
from tests.systems import pendulum

CASES = {
    "feedback": (pendulum, {"initial": {"x": -1.0}}),
    "charts": (pendulum, {"formulation": ds.NullSpace(), "initial": {"x": -1.0}}),
    "projected": (pendulum, {"formulation": ds.Projected(), "initial": {"x": -1.0}}),
    "dop853": (pendulum, {"solver": ds.Dop853(), "initial": {"x": -1.0}}),
    "radau": (pendulum, {"solver": ds.RadauIIA(rtol=1e-6, atol=1e-6), "initial": {"x": -1.0}}),
    "lsoda": (pendulum, {"solver": ds.Lsoda(), "initial": {"x": -1.0}}),
    "cvodes": (pendulum, {"solver": ds.Cvodes(), "initial": {"x": -1.0}}),
    "idas": (pendulum, {"solver": ds.Idas(), "formulation": ds.Index1(), "initial": {"x": -1.0}}),
    "sundae": (
        pendulum,
        {"solver": ds.solvers.SundaeIda(), "formulation": ds.GGL(), "initial": {"x": -1.0}},
    ),
    "impacts": (bouncing_ball, {"initial": {"y": 1.0}}),
    "impacts-dop853": (bouncing_ball, {"initial": {"y": 1.0}, "solver": ds.Dop853()}),
    "switches": (peg_pendulum, {"initial": {"theta": -1.0}}),
    "control": (thermostat, {}),
}


SELDOM = ("charts", "radau", "lsoda", "idas", "sundae", "impacts-dop853", "control")
MARKS = {
    **dict.fromkeys(SELDOM, pytest.mark.slow),
    **dict.fromkeys(("feedback", "impacts"), pytest.mark.core),
}


@pytest.mark.long_beyond(6)
@pytest.mark.slow
@pytest.mark.slow_rows("cvodes", "dop853", "impacts", "projected", "switches")
@pytest.mark.parametrize(
    "case",
    [pytest.param(n, marks=MARKS[n]) if n in MARKS else n for n in CASES],
)
def test_a_run_that_was_interrupted_goes_on_as_if_it_had_not_been(tmp_path, case):
    build, options = CASES[case]
    system = build()
    options = {"until": 6.0, "at": ds.every(0.1), **options}
    names = system.dynamics.labels.states
    options["initial"] = {n: v for n, v in options.get("initial", {}).items() if n in names}
    whole = ds.solve(system, store=tmp_path / "whole", **options)
    assert whole.outcome is Outcome.COMPLETED, whole.message
    broken = ds.solve(system, store=tmp_path / "broken", progress=interrupting(3.4), **options)
    assert broken.outcome is Outcome.INTERRUPTED
    assert broken.times[-1] == pytest.approx(3.5, abs=0.11)
    assert "daesolve resume" in broken.message
    assert (tmp_path / "broken/samples/000004.parquet.partial").is_file()
    run = ds.resume(tmp_path / "broken", source=system)
    assert tables(tmp_path / "broken") == tables(tmp_path / "whole")
    assert alike(run, whole)
    assert run.statistics.steps == whole.statistics.steps
    assert not list(tmp_path.glob("broken/*/*.partial"))


@pytest.mark.slow
def test_a_passage_of_lost_rank_is_gone_on_with(tmp_path):
    case = ds.problem("four-bar").case()
    options = {"until": 6.0, "at": ds.every(0.1)}
    whole = case.solve(store=tmp_path / "whole", **options)
    assert any("lose rank" in note for note in whole.description["notes"])
    case.solve(store=tmp_path / "broken", progress=interrupting(2.4), **options)
    run = ds.resume(tmp_path / "broken")
    assert tables(tmp_path / "broken") == tables(tmp_path / "whole")
    assert alike(run, whole)
    assert run.description == whole.description


@pytest.mark.slow
def test_a_part_is_gone_on_with_many_times(tmp_path):
    whole = swing(tmp_path / "whole")
    swing(tmp_path / "broken", interrupting(0.2))
    for after in (0.7, 2.1, 2.2, 6.0):
        run = ds.resume(tmp_path / "broken", source=pendulum(), progress=interrupting(after))
        assert run.outcome is Outcome.INTERRUPTED
    run = ds.resume(tmp_path / "broken", source=pendulum())
    assert tables(tmp_path / "broken") == tables(tmp_path / "whole")
    assert alike(run, whole)


@pytest.mark.slow
def test_verification_is_made_up_for_when_a_run_goes_on(tmp_path):
    whole = swing(tmp_path / "whole", verify=True)
    swing(tmp_path / "broken", interrupting(5.0), verify=True)
    run = ds.resume(tmp_path / "broken", source=pendulum())
    assert run.verification == whole.verification
    assert run.verification is not None
    assert ds.Trajectory.from_run(tmp_path / "broken").verification == whole.verification


@pytest.mark.slow
def test_a_verification_that_is_interrupted_is_made_up_for(tmp_path, monkeypatch):
    whole = swing(tmp_path / "whole", verify=True)
    with monkeypatch.context() as pressed:
        repeat = second_run.simulate
        pressed.setattr(second_run, "simulate", lambda p, at: repeat(p, at, interrupting(5.0)))
        run = swing(tmp_path / "run", verify=True)
    assert run.outcome is Outcome.INTERRUPTED
    assert run.verification is None
    assert "daesolve resume" in run.message
    assert ds.resume(tmp_path / "run", source=pendulum()).verification == whole.verification


@pytest.mark.slow
def test_a_verification_at_events_is_that_of_the_run_in_memory(tmp_path):
    options = {"system": bouncing_ball(), "initial": {"y": 1.0}, "at": ds.every_event()}
    stored = swing(tmp_path / "run", verify=True, until=3.0, **options)
    assert stored.verification == swing(None, verify=True, until=3.0, **options).verification


def test_how_to_go_on_can_be_pasted_into_a_shell(tmp_path):
    run = swing(tmp_path / "a run", interrupting(3.0))
    command = f"`daesolve resume '{tmp_path}/a run'` resumes it"
    assert command in run.message
    assert command in ds.Trajectory.from_run(tmp_path / "a run").message

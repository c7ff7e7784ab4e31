"""An extension changes nothing of what was there."""

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.results.storage import (
    Stored,
    Writer,
)
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.run.integration.sampling import Schedule
from daesolve.errors import NotResumableError, OutOfRangeError
from tests.core.run.solving.stored_runs.runs import alike, interrupting, swing, tables
from tests.systems import pendulum


@pytest.mark.slow
@pytest.mark.parametrize("first", [5.0, 5.3, 4.9])
def test_an_extension_changes_nothing_of_what_was_there(tmp_path, first):
    swing(tmp_path / "run", until=first)
    before = tables(tmp_path / "run")
    run = ds.resume(tmp_path / "run", until=10.0, source=pendulum())
    after = tables(tmp_path / "run")
    assert {name: after[name] for name in before} == before
    assert len(after) > len(before)
    assert run.outcome is Outcome.COMPLETED
    assert run.end_time == run.times[-1] == 10.0
    assert np.all(np.diff(run.times) > 0.0)
    assert set(np.round(np.arange(0.0, 10.05, 0.1), 9)) <= set(np.round(run.times, 9))
    plain = ds.solve(pendulum(), 10.0, {"x": -1.0})
    assert max(abs(run.at(t)["x"] - plain.at(t)["x"]) for t in (3.0, 7.7, 10.0)) < 1e-12


@pytest.mark.slow
def test_an_extension_to_a_boundary_is_the_longer_run(tmp_path):
    swing(tmp_path / "short", until=5.0)
    run = ds.resume(tmp_path / "short", until=10.0, source=pendulum())
    assert alike(run, swing(tmp_path / "long"))
    assert tables(tmp_path / "short") == tables(tmp_path / "long")


@pytest.mark.slow
def test_an_extension_that_is_interrupted_goes_on(tmp_path):
    for name in ("whole", "broken"):
        swing(tmp_path / name, until=4.3)
    whole = ds.resume(tmp_path / "whole", until=10.0, source=pendulum())
    ds.resume(tmp_path / "broken", until=10.0, source=pendulum(), progress=interrupting(7.2))
    assert ds.Trajectory.from_run(tmp_path / "broken").outcome is Outcome.INTERRUPTED
    run = ds.resume(tmp_path / "broken", source=pendulum())
    assert alike(run, whole)
    assert tables(tmp_path / "broken") == tables(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.slow_rows("1e-13")
@pytest.mark.parametrize("longer", [1e-9, 1e-13])
def test_the_smallest_extension_has_its_end_as_a_sample(tmp_path, longer):
    swing(tmp_path / "run", until=2.0)
    run = ds.resume(tmp_path / "run", until=2.0 + longer, source=pendulum())
    assert run.times[-1] == run.end_time == 2.0 + longer
    run = ds.resume(tmp_path / "run", until=3.0, source=pendulum())
    assert np.all(np.diff(run.times) > 0.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_extension_asks_for_no_sample_before_its_start(sign):
    """The grid's last time before 1e5 + 1e-8 is nearer to it than the end of a run may be."""
    after = sign * (1e5 + 1e-8)
    schedule = Schedule(ds.every(0.1), 0.0, sign * (1e5 + 1.0), after)
    assert abs(schedule.up_to(0, sign * (1e5 + 0.5))[0]) == pytest.approx(1e5 + 0.1, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["rewrite_manifest", "remove_result"])
def test_an_extension_that_is_killed_at_once_has_no_result_of_the_shorter_run(
    tmp_path, monkeypatch, step
):
    def killed(*_):
        raise KeyboardInterrupt

    swing(tmp_path / "run", until=2.0)
    with monkeypatch.context() as kill:
        kill.setattr(Writer, step, killed)
        with pytest.raises(KeyboardInterrupt):
            ds.resume(tmp_path / "run", until=4.0, source=pendulum())
    run = ds.resume(tmp_path / "run", source=pendulum())
    assert run.end_time == run.times[-1] == Stored(tmp_path / "run").manifest["horizons"][-1]


@pytest.mark.slow
def test_what_cannot_be_extended_says_why(tmp_path):
    swing(tmp_path / "run", until=3.0)
    with pytest.raises(OutOfRangeError, match="goes to 3 s"):
        ds.resume(tmp_path / "run", until=2.0, source=pendulum())
    system = pendulum(events=lambda q, p: [ds.Event("bottom", q.x, ds.RISING, ds.Stop())])
    stopped = swing(tmp_path / "stopped", system=system)
    assert stopped.outcome is Outcome.STOPPED_BY_EVENT
    again = ds.resume(tmp_path / "stopped", source=system)
    assert (again.outcome, again.message) == (stopped.outcome, stopped.message)
    assert alike(again, stopped)
    with pytest.raises(NotResumableError, match="cannot be extended"):
        ds.resume(tmp_path / "stopped", until=20.0, source=system)


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_interrupted_run_may_end_earlier_than_planned(tmp_path, sign):
    swing(tmp_path / "broken", interrupting(3.4), until=sign * 10.0)
    run = ds.resume(tmp_path / "broken", until=sign * 5.3, source=pendulum())
    assert run.outcome is Outcome.COMPLETED
    assert alike(run, swing(tmp_path / "short", until=sign * 5.3))
    assert tables(tmp_path / "broken") == tables(tmp_path / "short")
    longer = ds.resume(tmp_path / "broken", until=sign * 7.0, source=pendulum())
    assert longer.end_time == longer.times[-1] == sign * 7.0


@pytest.mark.slow
def test_of_a_list_of_times_those_up_to_an_earlier_end_are_kept(tmp_path):
    swing(tmp_path / "broken", interrupting(3.4), at=[0.5, 4.0, 5.0, 6.0, 10.0])
    run = ds.resume(tmp_path / "broken", until=5.3, source=pendulum())
    assert list(run.times) == [0.5, 4.0, 5.0, 5.3]
    assert list(ds.Trajectory.from_run(tmp_path / "broken").times) == [0.5, 4.0, 5.0, 5.3]


@pytest.mark.slow
def test_an_extension_that_was_interrupted_may_end_earlier_too(tmp_path):
    swing(tmp_path / "run", until=2.0)
    ds.resume(tmp_path / "run", 10.0, source=pendulum(), progress=interrupting(5.2))
    with pytest.raises(OutOfRangeError, match=r"goes to 5 s already.*go on to 10 s"):
        ds.resume(tmp_path / "run", until=5.0, source=pendulum())
    run = ds.resume(tmp_path / "run", until=6.2, source=pendulum())
    assert (run.outcome, run.end_time) == (Outcome.COMPLETED, 6.2)
    assert Stored(tmp_path / "run").manifest["horizons"] == [2.0, 6.2]


@pytest.mark.slow
def test_an_end_before_what_is_computed_is_refused_and_changes_nothing(tmp_path):
    swing(tmp_path / "broken", interrupting(3.4))
    before = (tmp_path / "broken" / "manifest.json").read_bytes()
    for until in (3.0, 1.0, -1.0, float("nan")):
        with pytest.raises(OutOfRangeError, match=r"goes to 3 s already|finite"):
            ds.resume(tmp_path / "broken", until=until, source=pendulum())
    assert (tmp_path / "broken" / "manifest.json").read_bytes() == before
    assert ds.resume(tmp_path / "broken", source=pendulum()).end_time == 10.0

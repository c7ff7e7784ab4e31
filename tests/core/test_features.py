"""What features add to the core, and that runs need none of it."""

import sys

import pytest

import daesolve as ds
from daesolve.core import features
from tests.systems import pendulum


@pytest.fixture
def alone(monkeypatch):
    """Let no feature add anything."""
    with monkeypatch.context() as emptied:
        emptied.setattr(features, "_registered", {})
        features.added.cache_clear()
        yield
    features.added.cache_clear()


@pytest.mark.usefixtures("alone")
def test_a_run_completes_where_no_feature_adds_anything():
    run = ds.solve(pendulum(), 10.0, {"x": 0.6})
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.drift["energy"].max_relative < 1e-13
    with pytest.raises(ds.errors.UnsupportedError, match="no installed feature audits runs"):
        run.audit()


def stepped():
    simulator = ds.Simulator(pendulum(), {"x": 0.6})
    simulator.step(0.5)
    return simulator.trajectory()


def test_a_simulator_steps_alike_where_no_feature_adds_anything(request):
    audited = stepped()
    request.getfixturevalue("alone")
    run = stepped()
    assert run.end_state == audited.end_state
    assert run.auditor is None
    assert audited.auditor is not None


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("verify", [True, "same", "dop853", ds.Dop853()])
def test_no_run_begins_that_nothing_can_verify(verify, tmp_path):
    with pytest.raises(ds.errors.UnsupportedError, match="leave out verify"):
        ds.solve(pendulum(), 10.0, {"x": 0.6}, verify=verify, store=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_stored_run_that_is_to_be_verified_goes_on_only_where_that_is_possible(tmp_path, request):
    ds.solve(pendulum(), 0.5, {"x": 0.6}, verify="same", store=tmp_path / "run")
    request.getfixturevalue("alone")
    with pytest.raises(ds.errors.UnsupportedError, match="no installed feature verifies runs"):
        ds.resume(tmp_path / "run", 1.0, source=pendulum())
    assert ds.Trajectory.from_run(tmp_path / "run").end_time == 0.5


@pytest.mark.usefixtures("alone")
def test_a_watch_ends_a_run_with_its_sentence(monkeypatch):
    seen = []

    def object_to(run, steps):
        seen.append(steps[0])
        return "x is too large"

    monkeypatch.setattr(sys.modules[__name__], "object_to", object_to, raising=False)
    features.register("watches of parts", f"{__name__}:object_to")
    with pytest.warns(ds.errors.EndedEarlyWarning, match="x is too large"):
        run = ds.solve(pendulum(), 1.0, {"x": 0.6})
    assert run.outcome is ds.Outcome.CONTRADICTED
    assert run.message == "x is too large"
    (times,) = seen
    assert times[-1] == 1.0


@pytest.mark.usefixtures("alone")
def test_a_room_that_is_gone_adds_nothing_but_one_that_lacks_a_package_fails(tmp_path, monkeypatch):
    (tmp_path / "lacking.py").write_text("import a_package_that_nobody_has\n")
    monkeypatch.syspath_prepend(tmp_path)
    features.register("point", "daesolve.gone.module:name")
    assert features.added("point") == ()
    features.register("point", "lacking:name")
    with pytest.raises(ModuleNotFoundError, match="a_package_that_nobody_has"):
        features.added("point")

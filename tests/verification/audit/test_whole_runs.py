"""What an audit says of a run as a whole: its samples, its parts, and what is not known of it."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.verification.audit import audit
from tests.sliding_bodies import DISC
from tests.systems import pendulum

from .motions import swinging, ticking


def test_samples_that_are_not_of_the_motion_are_objected_to():
    run = swinging()
    x = run["x"].copy()
    x[500] += 1e-6
    samples = replace(run.samples, states={**run.states, "x": x})
    (objection,) = replace(run, samples=samples).audit().contradictions
    assert objection.check == "samples"
    assert "x is 2e-06 of its largest value away" in objection.sentence


def test_an_audit_in_parts_finds_what_a_whole_one_finds(monkeypatch):
    parts = []
    monkeypatch.setattr("daesolve.verification.auditor.STEPS_AT_ONCE", 4)
    monkeypatch.setattr(
        "daesolve.verification.auditor.audit",
        lambda part: parts.append(part) or audit(part),
    )
    run = ticking()
    found = run.audit()
    assert found.holds, str(found)
    assert len(parts) > 5
    # Each has its own events, and those at its two ends.
    counts = [len(part.events) for part in parts]
    assert max(counts) < len(run.events) < sum(counts)


def test_an_audit_says_from_when_on_the_steps_are_unknown(monkeypatch):
    monkeypatch.setattr("daesolve.core.run.integration.dense_output.MOST_BYTES", 0)
    monkeypatch.setattr("daesolve.core.run.integration.watches.first_steps.MOST_ENDS", 10)
    found = ds.solve(pendulum(), 600.0, {"x": 0.6}).audit()
    (rest,) = found.unchecked
    assert rest.check == "steps"
    assert rest.sentence.startswith("none are known from t = ")
    assert found.holds


def test_a_run_that_was_read_from_disk_cannot_be_audited(tmp_path):
    run = ds.solve(pendulum(), 1.0, {"x": 0.6}, store=tmp_path / "run")
    assert run.audit().holds
    with pytest.raises(ds.errors.OutOfRangeError, match="audit the run where"):
        ds.Trajectory.from_run(tmp_path / "run").audit()


@pytest.mark.parametrize("begin", [0.0, 1e6])
def test_bounces_that_are_left_out_are_no_contradiction(begin):
    """A ball on a moving floor comes to rest on it; late in time its last bounce left is higher."""
    q = ds.coordinates(y="m")
    floor = 0.2 + 0.02 * ca.sin(4.0 * (ds.time - begin))
    contact = ds.Contact("floor", q.y - floor, restitution=0.5, closed=False)
    ball = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=9.8 * q.y, goals=[contact])
    run = ds.solve(ball, begin + 1.0, {"y": 0.6, "y_dot": 0.8}, start_time=begin)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.end_state["y"] == pytest.approx(0.2 + 0.02 * np.sin(4.0), abs=1e-9)
    assert not run.audit().contradictions


def test_a_return_to_a_stop_without_speed_is_no_contradiction():
    """A pendulum that begins at rest at a stop returns there after its period, and leaves again."""
    q = ds.coordinates(phi=ds.ANGLE)
    stop = ds.Contact("stop", 0.1 - q.phi, restitution=1.0)
    pendulum = ds.MechanicalSystem(
        q, kinetic=q.dot.phi**2 / 2, potential=-9.81 * ca.cos(q.phi), goals=[stop]
    )
    run = ds.solve(pendulum, 3.0, {}, guess={"phi": 0.1, "phi_dot": 0.0})
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    free = ds.MechanicalSystem(q, kinetic=q.dot.phi**2 / 2, potential=-9.81 * ca.cos(q.phi))
    alone = ds.solve(free, 3.0, {"phi": 0.1, "phi_dot": 0.0})
    assert run.end_state["phi"] == pytest.approx(alone.end_state["phi"], abs=1e-6)
    assert not run.audit().contradictions


def test_noise_below_what_a_solver_looks_at_is_no_jump():
    """A disc that is pulled along x from rest: its speed across is nothing but errors of steps."""
    run = ds.solve(DISC(), 1.0, {}, parameters={"push": 4.0}, at=[1.0])
    certificate = run.auditor.certificate(run)
    across = np.max(np.abs(certificate.columns["y_dot"]))
    assert across < 100.0 * certificate.accuracy * run["x_dot"][0]
    assert not run.audit().contradictions, str(run.audit())

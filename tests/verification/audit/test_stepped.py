"""A motion that is stepped from outside is audited: stepped once more, with the same inputs."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import daesolve as ds
from daesolve.typing import Verdict
from daesolve.verification.audit import audit

PUSHES = [3.0, -4.0, 0.5, 6.0, -2.0, 1.0, 0.0, 4.0]


@cache
def cart():
    """A body that falls on a rough floor, is pushed there, and sums up its pushes at a mark."""
    q, u, total = ds.coordinates(x="m", y="m"), ds.inputs(push="N"), ds.discrete(total=0.0)
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=0.3, restitution=0.5, closed=False)
    count = ds.Reset({"total": total.total + u.push})
    events = [ds.Event("mark", q.x - 0.02, ds.EITHER, count), ds.Event("low", q.y - 0.05)]
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        force={"x": u.push},
        goals=[floor],
        inputs=u,
        discrete=total,
        events=events,
    )


def stepped(simulator):
    for push in PUSHES:
        simulator.step(0.07, push=push)
    return simulator.trajectory()


def test_a_stepped_motion_holds_from_a_start_a_snapshot_a_set_state_and_again():
    simulator = ds.Simulator(cart(), {"y": 0.1})
    first = stepped(simulator)
    assert {event.name for event in first.events} >= {"mark", "low", "floor_closed"}
    snapshot = simulator.save()
    runs = {"started": first, "continued": stepped(simulator)}
    simulator.load(snapshot)
    runs["loaded"] = stepped(simulator)
    simulator.set_state({"x": 0.0, "y": 0.0, "x_dot": 0.5}, time=2.0)
    runs["set"] = stepped(simulator)
    simulator.reset()
    runs["reset"] = stepped(simulator)
    for name, run in runs.items():
        assert run.outcome.good, name
        found = run.audit()
        assert found.holds, f"{name}: {found}"
        # One mark is passed where an input steps.
        assert {f.owner for f in found.unchecked} <= {"reset, some"}, f"{name}: {found}"


def test_an_audit_is_of_the_motion_up_to_where_the_trajectory_was_taken():
    simulator = ds.Simulator(cart(), {"y": 0.1})
    run = stepped(simulator)
    simulator.step(0.5, push=20.0)
    certificate = run.auditor.certificate(run)
    assert certificate.starts[-1] + certificate.lengths[-1] == pytest.approx(run.end_time)
    assert run.audit().holds


@pytest.mark.parametrize("push", [0.0, 3.001])
def test_an_input_that_was_not_the_one_used_is_seen(push):
    run = stepped(ds.Simulator(cart(), {"y": 0.1}))
    certificate = run.auditor.certificate(run)
    row = certificate.values["push"].copy()
    row[row == PUSHES[0]] = push
    found = audit(replace(certificate, values={**certificate.values, "push": row}))
    assert found.contradictions[0].owner == "equations of motion, x_dot"


def test_a_lost_event_of_a_stepped_motion_is_seen_when_its_trajectory_is_taken():
    from .test_glance import losing, oscillator

    simulator = ds.Simulator(oscillator(), {"x": 1.0})
    with losing("up"):
        for _ in range(7):
            simulator.step(1.0)
    run = simulator.trajectory()
    assert run.outcome.value == "contradicted"
    assert run.message.startswith("event, up:")
    assert simulator.trajectory().outcome.value == "contradicted"
    missed = [f for f in run.audit().findings if f.verdict is Verdict.CONTRADICTED]
    assert missed[0].time == pytest.approx(1.5 * np.pi)

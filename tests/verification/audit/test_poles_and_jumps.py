"""Audits of guards that have poles, jump, or are pulses, which no polynomial of a step shows."""

import math
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import daesolve as ds
from daesolve.core.posing.events import Action
from daesolve.verification.audit import audit

from .motions import certified

PI, UNTIL = math.pi, 10.0
HIDDEN = {"pulse", "steps of time", "steps of time that pass", "steps of the state"}
Q, D = ds.coordinates(phi="rad"), ds.discrete(count=0.0)
LEVELS = ds.table("levels", [0.0, 2.0, 4.0, 9.0], [1.0, 5.0, 3.0, 3.0], "steps")
NODES = [0.0, 2.0, 4.0, 2 * PI]
HALF = math.sqrt(math.log(2.0))

ROUND = ca.atan2(ca.sin(Q.phi), ca.cos(Q.phi))
GUARDS = {
    "atan2": (ROUND - 0.5, ds.EITHER, [0.5, PI, 0.5 + 2 * PI, 3 * PI]),
    "atan2 falls": (ROUND - 0.5, ds.FALLING, [PI, 3 * PI]),
    "atan2 rises": (ROUND, ds.RISING, [2 * PI]),
    "tan": (ca.tan(Q.phi) - 1.0, ds.EITHER, [PI / 4, 5 * PI / 4, 9 * PI / 4]),
    "tan falls": (ca.tan(Q.phi) - 1.0, ds.FALLING, []),
    "cot": (ca.cos(Q.phi + 0.3) / ca.sin(Q.phi + 0.3), ds.EITHER,
            [PI / 2 - 0.3, 3 * PI / 2 - 0.3, 5 * PI / 2 - 0.3]),
    "inverse": (1.0 / (Q.phi - 2.0) - 0.5, ds.EITHER, [4.0]),
    "pulse": (ca.exp(-(((Q.phi - 5.0) / 5e-4) ** 2)) - 0.5, ds.EITHER,
              [5.0 - 5e-4 * HALF, 5.0 + 5e-4 * HALF]),
    "steps of time": (LEVELS(ds.time) - 4.0, ds.RISING, [2.0]),
    "steps of time that pass": (Q.phi - LEVELS(ds.time), ds.RISING, [1.0, 4.0]),
    "steps of the state": (LEVELS(Q.phi) - 4.0, ds.EITHER, [2.0, 4.0]),
}  # fmt: skip


def turning(name: str, then: Action) -> ds.Trajectory:
    """Return the run of a rotor without loads, phi = t, with a guard."""
    guard, way, _ = GUARDS[name]
    event = ds.Event("passes", guard, way, then)
    system = ds.MechanicalSystem(Q, kinetic=Q.dot.phi**2 / 2, discrete=D, events=[event])
    return ds.solve(system, UNTIL, {"phi_dot": 1.0})


@pytest.mark.parametrize("resets", [False, True], ids=["recorded", "resets"])
@pytest.mark.parametrize("name", list(GUARDS))
def test_an_audit_finds_the_passages_of_a_guard_that_no_polynomial_shows(name, resets):
    run = turning(name, ds.Reset({"count": D.count + 1.0}) if resets else ds.Record())
    expected = GUARDS[name][2]
    if not resets and name == "steps of time that pass":
        expected = expected[:1]  # what a table steps past zero is due only where it resets
    if resets and name == "atan2 rises":
        expected = [0.0, *expected]  # at zero on its way, as it starts
    assert [event.time for event in run.events] == pytest.approx(expected, abs=1e-9)
    assert run.audit().holds, str(run.audit())
    right = certified(run)
    for place, event in enumerate(right.events):
        if event.time == 0.0:
            continue
        without = [one for one in right.events if one is not event]
        # No node lies in the pulse; what a table takes past zero, no motion has passed.
        if name not in HIDDEN:
            assert audit(replace(right, events=without)).contradictions
        moved = [*right.events]
        moved[place] = replace(event, time=event.time + 1e-3)
        damaged = audit(replace(right, events=moved))
        assert [found.check for found in damaged.contradictions if found.check == "event"], (
            place,
            "moved",
        )


@pytest.mark.parametrize("by", ["tick", "table", "Simulator"])
def test_a_slip_that_a_step_of_the_force_sets_off_holds(by):
    """10 N press a body of 1 kg, mu = 0.4; from 1 s to 1.5 s 5 N push it: x' = 0.5 m/s."""
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    rubs = ds.multibody.Coulomb(0.4).act("rubs", q.dot.x, ca.SX(10.0))
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        force={"x": u.push + rubs.force},
        inputs=u,
        goals=rubs.goals,
        discrete=[rubs.discrete],
        events=rubs.events,
    )
    laws = {
        "tick": ds.sampled("push", 0.5, ca.if_else(ca.fabs(ds.time - 1.0) < 0.1, 5.0, 0.0)),
        "table": ds.table("push", [0.0, 1.0, 1.5, 9.0], [0.0, 5.0, 0.0, 0.0], "steps"),
    }
    start = {"x": 0.0, "x_dot": 0.0}
    if by == "Simulator":
        stepped = ds.Simulator(system, start, inputs={"push": 0.0})
        stepped.step(1.0)
        stepped.step(0.5, push=5.0)
        stepped.step(0.5, push=0.0)
        run = stepped.trajectory()
    else:
        run = ds.solve(system, 2.0, start, inputs={"push": laws[by]})
    assert (run.events[0].name, run.events[0].time) == ("rubs_slips", 1.0)
    assert run.end_state["x"] == pytest.approx(0.5**2 / 2 + 0.5**2 / 8, abs=1e-9)
    assert run.audit().holds, str(run.audit())
    right = certified(run)
    moved = replace(right.events[0], time=1.0 + 1e-3)
    damaged = audit(replace(right, events=[moved, *right.events[1:]]))
    assert [found for found in damaged.contradictions if found.check == "event"]


def test_a_periodic_table_of_an_angle_holds_where_the_motion_turns_round_at_a_node():
    """The force of the cam takes phi to its last node, 2 pi, and back; events lie on its nodes."""
    q, count = ds.coordinates(phi=ds.ANGLE), ds.discrete(count=0.0)
    cam = ds.table("cam", NODES, [0.0, 1.0, -1.0, 0.0], "periodic cubic")
    then = ds.Reset({"count": count.count + 1.0})
    guards = {"half": ca.sin(q.phi / 2), "whole": ca.sin(q.phi), "cam": cam(q.phi)}
    events = [ds.Event(name, guard, ds.EITHER, then) for name, guard in guards.items()]
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.phi**2 / 2, force={"phi": cam(q.phi)}, discrete=count, events=events
    )
    run = ds.solve(system, 14.0, {"phi_dot": 1.0})
    spline = CubicSpline(NODES, [0.0, 1.0, -1.0, 0.0], bc_type="periodic")
    work = [spline.integrate(0.0, phi) for phi in run["phi"]]
    np.testing.assert_allclose(run["phi_dot"] ** 2 / 2, np.add(0.5, work), rtol=0, atol=1e-9)
    assert run.audit().holds, str(run.audit())


@pytest.mark.parametrize("way", [ds.RISING, ds.EITHER])
def test_an_audit_misses_the_event_of_a_passage_at_the_end_of_a_run(way):
    """At 2 s the sine is before zero by its rounding alone."""
    x = ds.states(y="m")
    tick = ds.Event("tick", ca.sin(2 * math.pi * ds.time / 0.1), way, ds.Record())
    system = ds.ControlSystem(x, {"y": -x.y}, events=[tick])
    certificate = certified(ds.solve(system, 2.0, {"y": 1.0}))
    assert audit(certificate).holds
    assert certificate.events[-1].time == 2.0
    unfinished = replace(certificate, events=certificate.events[:-1])
    (objection,) = [f for f in audit(unfinished).findings if "no event" in str(f)]
    assert "at t = 2 s" in str(objection)


def test_an_audit_holds_where_a_guard_with_a_kink_only_touches_zero():
    x = ds.states(y="m", s="m")
    touch = ds.Event("touch", ca.fabs(ca.sin(3 * ds.time)), ds.EITHER, ds.Record())
    system = ds.ControlSystem(x, {"y": -x.y, "s": 1.0}, events=[touch])
    run = ds.solve(system, 3.0, {"y": 1.0, "s": 0.0})
    assert not run.events
    assert run.audit().holds

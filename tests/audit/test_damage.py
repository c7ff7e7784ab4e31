"""An auditor objects to each kind of damage to a right run, and to no right run."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.audit import audit
from daesolve.audit.certificate import PLACES
from daesolve.typing import Verdict

from ..systems import pendulum


def certified(run):
    return run.auditor.certificate(run)


def swinging():
    return ds.solve(pendulum(), 3.0, {"x": 0.6})


def clock():
    q, count = ds.coordinates(x="m"), ds.discrete(ticks=0.0, push=1.0)
    then = ds.Reset({"ticks": count.ticks + 1, "push": -count.push})
    tick = ds.Event("tick", ca.sin(4.0 * ds.time), ds.RISING, then)
    force = {"x": count.push}
    kinetic = q.dot.x**2 / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, force=force, discrete=count, events=[tick])


def ticking():
    return ds.solve(clock(), 9.0, {"x": 0.0}, start_time=-0.1)


def bouncing():
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, restitution=0.6, closed=False)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=[floor])
    return ds.solve(system, 3.0, {"y": 1.0, "x_dot": 1.0})


def sliding():
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=0.3)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    push = {"x": 2.0 * ca.sin(3.0 * ds.time)}
    system = ds.MechanicalSystem(
        q, kinetic=kinetic, potential=9.81 * q.y, goals=[floor], force=push
    )
    return ds.solve(system, 1.0, {"y": 0.0, "x_dot": 1.5})


def pushed():
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2, force={"x": u.push}, inputs=u)
    push = ds.table("push", [0.0, 1.0, 2.0, 3.0], [0.0, 2.0, -1.0, 1.0])
    return ds.solve(system, 3.0, {"x": 0.0}, inputs={"push": push})


def turning():
    """A heavy top in body rates: Hamel's equations."""
    q = ds.coordinates(psi=ds.ANGLE, theta=ds.ANGLE, phi=ds.ANGLE)
    w = ds.velocities(w1="rad/s", w2="rad/s", w3="rad/s")
    sine, cosine = ca.sin(q.phi), ca.cos(q.phi)
    kinematics = ca.vertcat(
        (w.w1 * sine + w.w2 * cosine) / ca.sin(q.theta),
        w.w1 * cosine - w.w2 * sine,
        w.w3 - (w.w1 * sine + w.w2 * cosine) / ca.tan(q.theta),
    )
    kinetic = (2.0 * w.w1**2 + 1.5 * w.w2**2 + w.w3**2) / 2
    system = ds.MechanicalSystem(
        q, kinetic=kinetic, potential=4.0 * ca.cos(q.theta), velocities=w, kinematics=kinematics
    )
    return ds.solve(system, 2.0, {"theta": 0.7, "w3": 6.0, "w1": 0.2})


def backwards():
    q = ds.coordinates(x="m")
    events = [ds.Event("up", q.x, ds.RISING), ds.Event("down", q.x, ds.FALLING)]
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, events=events)
    return ds.solve(system, -10.0, {"x": 1.0})


def late():
    """A rolling disc whose short steps are few ticks of the clock, by a coarse solver."""
    q = ds.coordinates(x="m", turn="rad")
    rolling = ds.Nonholonomic("rolling", q.dot.x - q.dot.turn)
    kinetic = (3.0 * q.dot.x**2 + q.dot.turn**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=2.0 * q.x, goals=[rolling])
    start = {"x": 1.0, "turn": 0.0, "x_dot": 0.0}
    return ds.solve(system, 1e6 + 1.0, start, start_time=1e6, solver=ds.Lsoda())


def through_zero():
    """A point that is driven, so that every term of its constraint passes through zero."""
    q = ds.coordinates(x="m", y="m")
    driven = ds.Holonomic("driven", q.y - 0.5 * ca.sin(4.0 * ds.time))
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=10.0 * q.y, goals=[driven])
    return ds.solve(system, 1.07, {"x": 1.0, "x_dot": 0.0}, solver=ds.Cvodes())


def at_zero():
    """A cart that leans on a wall at zero, so that its gap has no term but rounding."""
    q = ds.coordinates(x="m", phi="rad")
    wall = ds.Contact("wall", q.x)
    speeds = q.dot.x + ca.cos(q.phi) * q.dot.phi, ca.sin(q.phi) * q.dot.phi
    kinetic = (q.dot.x**2 + speeds[0] ** 2 + speeds[1] ** 2) / 2
    potential = 10.0 * (q.x + 0.4) ** 2 - 9.0 * ca.cos(q.phi)
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=potential, goals=[wall])
    return ds.solve(system, 1.0, {"phi": 2.0}, guess={"x": 0.0})


def long_steps():
    """A free point, which one step of Taylor's method carries through many ticks of a clock."""
    q = ds.coordinates(x="m")
    tick = ds.Event("tick", ca.sin(10 * ca.pi * ds.time), ds.RISING)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2, events=[tick])
    return ds.solve(system, 1.0, {"x": 0.0, "x_dot": -1.0})


RIGHT = [
    *(swinging, ticking, bouncing, sliding, pushed, turning, backwards),
    *(late, through_zero, at_zero, long_steps),
]


@pytest.mark.parametrize("motion", RIGHT, ids=lambda motion: motion.__name__)
def test_a_right_run_holds_in_every_check(motion):
    run = motion()
    assert run.outcome.good
    found = run.audit()
    assert found.holds, str(found)
    assert not found.unchecked
    assert found.findings


def scaled(name, factor):
    def damage(certificate):
        columns = {**certificate.columns, name: certificate.columns[name] * factor}
        return replace(certificate, columns=columns)

    return damage


def shifted(name, by):
    def damage(certificate):
        column = certificate.columns[name].copy()
        column[len(column) // 2, 4] += by
        return replace(certificate, columns={**certificate.columns, name: column})

    return damage


def without_event(certificate):
    middle = len(certificate.events) // 2
    events = [*certificate.events[:middle], *certificate.events[middle + 1 :]]
    return replace(certificate, events=events)


def later_event(certificate):
    first, *others = certificate.events
    return replace(certificate, events=[replace(first, time=first.time + 0.05), *others])


def held(name, value):
    def damage(certificate):
        values = {**certificate.values, name: np.full_like(certificate.values[name], value)}
        return replace(certificate, values=values)

    return damage


def late_clock(certificate):
    return replace(certificate, starts=certificate.starts + 1e-4)


def heavier(certificate):
    return replace(certificate, parameters={**certificate.parameters, "gravity": 9.82})


def slower(certificate):
    return replace(certificate, lengths=certificate.lengths * (1.0 + 1e-6))


def another_piece(certificate):
    values = dict(certificate.values)
    name = next(name for name in values if name.endswith("_1"))
    values[name] = np.roll(values[name], 1)
    return replace(certificate, values=values)


DAMAGE = {
    "reaction": (swinging, scaled("rod", 1.0 + 1e-6), "equations of motion"),
    "no reaction": (swinging, scaled("rod", 0.0), "equations of motion"),
    "pull": (swinging, scaled("rod", -1.0), "equations of motion"),
    "position": (swinging, shifted("y", 1e-7), "goal"),
    "velocity": (swinging, shifted("x_dot", 1e-5), "equations of motion"),
    "larger": (swinging, scaled("y", 1.0 + 1e-7), "goal"),
    "faster": (swinging, scaled("y_dot", 1.0 + 1e-5), "rates of positions"),
    "another weight": (swinging, heavier, "equations of motion"),
    "another clock": (swinging, slower, "rates of positions"),
    "event": (ticking, without_event, "event"),
    "late event": (ticking, later_event, "event"),
    "event in a long step": (long_steps, without_event, "event"),
    "reset": (ticking, held("push", 1.0), "equations of motion"),
    "through the floor": (bouncing, scaled("y", -1.0), "contact"),
    "force in the air": (bouncing, shifted("floor", 1.0), "contact"),
    "drift in the air": (bouncing, scaled("x_dot", 1.0 + 1e-6), "rates of positions"),
    "pulling floor": (sliding, scaled("floor", -1.0), "contact"),
    "lighter floor": (sliding, scaled("floor", 1.0 - 1e-6), "equations of motion"),
    "friction the other way": (sliding, held("slides_floor", -1.0), "contact"),
    "no friction": (sliding, held("slides_floor", 0.0), "equations of motion"),
    "table": (pushed, another_piece, "table"),
    "late table": (pushed, late_clock, "equations of motion"),
    "spin": (turning, scaled("w3", 1.0 + 1e-5), "rates of positions"),
    "tumble": (turning, shifted("w1", 1e-5), "equations of motion"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_objected_to_where_it_is(kind):
    motion, damage, check = DAMAGE[kind]
    certificate = certified(motion())
    assert audit(certificate).holds
    found = audit(damage(certificate))
    assert check in {finding.check for finding in found.contradictions}, str(found)
    assert all(finding.sentence for finding in found.contradictions)


def test_an_audit_is_told_line_by_line_and_as_plain_values():
    found = audit(shifted("x", 1e-3)(certified(swinging())))
    assert "goal, rod: contradicted: its residual is" in str(found)
    plain = found.as_json()
    assert plain["holds"] is False
    assert {entry["verdict"] for entry in plain["findings"]} <= {v.value for v in Verdict}


def test_nodes_lie_within_their_steps():
    assert 0.0 < PLACES.min() < PLACES.max() < 1.0
    certificate = certified(swinging())
    assert certificate.times.shape == (len(certificate.starts), len(PLACES))
    ends = certificate.starts + certificate.lengths
    assert np.allclose(ends[:-1], certificate.starts[1:], rtol=0.0, atol=1e-12)


def test_a_run_that_was_read_from_disk_cannot_be_audited(tmp_path):
    run = ds.solve(pendulum(), 1.0, {"x": 0.6}, store=tmp_path / "run")
    assert run.audit().holds
    with pytest.raises(ds.errors.OutOfRangeError, match="audit the run where"):
        ds.Trajectory.from_run(tmp_path / "run").audit()

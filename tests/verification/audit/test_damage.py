"""An auditor objects to each kind of damage to a right run, and to no right run."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from daesolve.typing import Verdict
from daesolve.verification.audit import audit
from daesolve.verification.audit.certificate import PLACES, sides

from .damage import (
    after,
    another_piece,
    another_start,
    creeping,
    exchanged,
    forgotten,
    held_longer,
    impulse,
    in_a_step,
    kept,
    kinetic,
    late_clock,
    later,
    moved,
    of_event,
    parameter,
    scaled,
    shifted,
    slower,
    stepped,
    thrown,
    twice,
    without_event,
    without_events,
    without_step,
)
from .motions import (
    RIGHT,
    at_zero,
    backwards,
    bouncing,
    carried,
    certified,
    gliding,
    guided,
    held,
    kicked,
    kicked_at_rest,
    late,
    leaning,
    long_steps,
    lying,
    pumped,
    pushed,
    sampled,
    shoved,
    skidding,
    sliding,
    spinning,
    struck,
    swinging,
    through_zero,
    ticking,
    ticking_at_once,
    turning,
)


@pytest.mark.slow_rows("held", "carried")
@pytest.mark.parametrize("motion", RIGHT, ids=lambda motion: motion.__name__)
def test_a_right_run_holds_in_every_check(motion):
    run = motion()
    assert run.outcome.good
    found = run.audit()
    assert found.holds, str(found)
    # A reset changes velocities as well there.
    unknown = {"impulses, some"} if motion is kicked_at_rest else set()
    assert {finding.owner for finding in found.unchecked} == unknown
    assert found.findings


DAMAGE = {
    swinging: {
        "reaction": (scaled("rod", 1.0 + 1e-6), "equations of motion"),
        "no reaction": (scaled("rod", 0.0), "equations of motion"),
        "pull": (scaled("rod", -1.0), "equations of motion"),
        "reaction of a step": (in_a_step("rod", 1e-4), "equations of motion"),
        "position": (shifted("y", 1e-7), "goal"),
        "velocity": (shifted("x_dot", 1e-5), "equations of motion"),
        "larger": (scaled("y", 1.0 + 1e-7), "goal"),
        "faster": (scaled("y_dot", 1.0 + 1e-5), "rates of positions"),
        "jump of a position": (stepped("x", 1e-3), "jumps"),
        "jump of a velocity": (stepped("x_dot", 1e-3), "jumps"),
        "exchange of positions": (exchanged("x", "y"), "equations of motion"),
        "exchange of velocities": (exchanged("x_dot", "y_dot"), "rates of positions"),
        "another weight": (parameter("gravity", 9.82), "equations of motion"),
        "another length": (parameter("length", 1.0001), "goal"),
        "another mass": (parameter("mass", 1.001), "equations of motion"),
        "another clock": (slower(1.0 + 1e-6), "rates of positions"),
        "missing step": (without_step, "jumps"),
        "another start": (another_start("x", 0.6001), "start"),
    },
    ticking: {
        "event": (without_event, "event"),
        "late event": (later(0.05), "event"),
        "slightly late event": (later(1e-5), "event"),
        "no events": (without_events, "event"),
        "event too many": (twice, "event"),
        "reset forgotten": (kept("push", 1.0), "equations of motion"),
        "count forgotten": (kept("ticks", 1.0), "discrete value"),
        "late reset": (held_longer("push"), "discrete value"),
        "late count": (held_longer("ticks"), "discrete value"),
        "another count": (after("ticks", 1.0), "reset"),
        "another push": (after("push", 0.5), "reset"),
        "moved by a reset": (after("x", 1e-2), "reset"),
        "late clock": (late_clock(1e-3), "discrete value"),
    },
    ticking_at_once: {
        "another count at the start": (after("ticks", 1.0), "reset"),
        "another push at the start": (after("push", 0.5), "reset"),
    },
    kicked: {
        "kick forgotten": (forgotten, "jumps"),
        "another kick": (after("x_dot", 1e-3), "reset"),
        "another count of kicks": (after("kicks", 1.0), "reset"),
        "another name": (of_event(0, name="top"), "event"),
        "top": (without_event, "event"),
        "one more top": (of_event(1, time=2.0), "event"),
        "jump beside kicks": (stepped("x", 1e-3), "jumps"),
    },
    long_steps: {"event in a long step": (without_event, "event")},
    backwards: {
        "event of a run backwards": (without_event, "event"),
        "late event of a run backwards": (later(1e-5), "event"),
    },
    bouncing: {
        "through the floor": (scaled("y", -1.0), "contact"),
        "force in the air": (shifted("floor", 1.0), "contact"),
        "drift in the air": (scaled("x_dot", 1.0 + 1e-6), "rates of positions"),
        "impact forgotten": (forgotten, "jumps"),
        "another impulse": (impulse("floor", 1.0 + 1e-5), "impulses"),
        "impulse that pulls": (impulse("floor", -1.0), "impulses"),
        "another rebound": (after("y_dot", 0.1), "impulses"),
        "a little higher": (thrown("y_dot", 1.0 + 1e-5), "restitution of floor"),
        "higher than it fell": (thrown("y_dot", 2.0), "energy"),
        "kinetic energy": (kinetic(1.0 + 1e-5), "kinetic energy"),
    },
    skidding: {
        "impulse of friction": (impulse("floor_stuck", 0.9), "impulses"),
        "friction forgotten": (impulse("floor_stuck", 0.0), "impulses"),
        "impulse of the other contact": (impulse("floor", 0.5), "impulses"),
    },
    shoved: {
        "friction of a floor that is struck": (impulse("floor_stuck", 0.9), "impulses"),
        "floor that is struck": (impulse("floor", 0.9), "impulses"),
        "too much friction": (
            impulse("floor_stuck", 1.0 + 1e-3),
            "floor never rubs with more than friction allows",
        ),
    },
    sliding: {
        "pulling floor": (scaled("floor", -1.0), "contact"),
        "lighter floor": (scaled("floor", 1.0 - 1e-6), "equations of motion"),
        "friction the other way": (kept("slides_floor", -1.0), "contact"),
        "no friction": (kept("slides_floor", 0.0), "equations of motion"),
        "overlap": (shifted("y", -1e-6), "contact"),
        "work of friction": (scaled("floor_friction_work", 1.0 + 1e-6), "meters"),
        "no work of friction": (scaled("floor_friction_work", 0.0), "meters"),
        "jump of a meter": (stepped("floor_friction_work", 1e-3), "jumps"),
        "zero of a meter": (moved("floor_friction_work", 1e-3), "start"),
        "work": (scaled("work", 1.0 + 1e-6), "meters"),
        "energy": (shifted("energy", 1e-6), "output"),
        "output": (scaled("floor_margin", 1.0 + 1e-6), "output"),
    },
    at_zero: {"wall that pulls": (scaled("wall", -1.0), "contact")},
    struck: {
        "imposed impulse": (impulse("wall", 1.0 + 1e-5), "impulses"),
        "impulse of the rod": (impulse("rod", 0.5), "impulses"),
        "another rebound from the wall": (after("x_dot", 1e-4), "wall after strike"),
        "strike forgotten": (forgotten, "jumps"),
    },
    pushed: {
        "table": (another_piece, "table"),
        "late table": (late_clock(1e-4), "equations of motion"),
    },
    sampled: {
        "sample forgotten": (held_longer("controller_held"), "sampled law"),
        "another sample": (kept("controller_held", -1.0), "sampled law"),
        "sample of another state": (scaled("x", 1.0 + 1e-5), "sampled law"),
    },
    turning: {
        "spin": (scaled("w3", 1.0 + 1e-5), "rates of positions"),
        "tumble": (shifted("w1", 1e-5), "equations of motion"),
        "exchange of rates": (exchanged("w1", "w2"), "rates of positions"),
    },
    spinning: {
        "gyroscopic moment": (scaled("w1", 1.0 + 1e-5), "equations of motion"),
        "turn": (shifted("a", 1e-6), "rates of positions"),
    },
    gliding: {
        "blade": (scaled("blade", 1.0 - 1e-6), "equations of motion"),
        "sideways": (shifted("y_dot", 1e-6), "goal"),
        "work": (scaled("work", 1.0 + 1e-6), "rates of quadratures"),
        "work of the drag": (scaled("friction_work", 1.0 + 1e-6), "meters"),
        "jump of the work": (stepped("work", -1e-3), "jumps"),
    },
    guided: {
        "heavier friction": (parameter("friction", 0.4 * (1.0 + 1e-5)), "equations of motion"),
        "friction that drives": (parameter("friction", -0.4), "equations of motion"),
        "frictionless guide": (parameter("friction", 0.0), "equations of motion"),
        "lighter guide": (scaled("normal", 1.0 - 1e-5), "equations of motion"),
        "other side of a guide": (scaled("normal", -1.0), "equations of motion"),
        "work of a guide": (scaled("friction_work", 1.0 + 1e-6), "meters"),
        "gain of a guide": (scaled("friction_work", -1.0), "meters"),
    },
    held: {
        "beyond its friction": (parameter("friction", 0.35), "friction holds"),
        "beyond its friction from a time on": (parameter("friction", 0.4 - 1e-2), "friction holds"),
        "stick that slips": (creeping(1e-6), "equations of motion"),
        "stick that creeps back": (creeping(-1e-3), "equations of motion"),
    },
    carried: {"another belt": (parameter("belt", 0.6), "equations of motion")},
    lying: {
        "friction of a face": (parameter("friction", 0.3 * (1.0 + 1e-5)), "equations of motion"),
        "spin of a face": (scaled("phi_dot", 1.0 + 1e-4), "equations of motion"),
    },
    leaning: {"support that pulls": (scaled("table", -1.0), "table never pulls")},
    pumped: {
        "work of what is driven": (scaled("work", 1.0 + 1e-6), "meters"),
        "energy of what is driven": (scaled("phi_dot", 1.0 + 1e-5), "balance of power"),
        "late drive of a length": (late_clock(1e-4), "balance of power"),
        "energy that is driven": (scaled("energy", 1.0 + 1e-8), "output"),
    },
    late: {"late disc": (scaled("turn", 1.0 + 1e-3), "rates of positions")},
    through_zero: {"late drive": (late_clock(1e-3), "goal")},
}
SPIKES = {
    swinging: ("x", "y_dot", "rod"),
    spinning: ("a", "w2"),
    gliding: ("phi", "x_dot", "work"),
    backwards: ("x", "x_dot"),
    sliding: ("x_dot", "floor", "floor_friction_work"),
}
KINDS = [(motion, kind) for motion, kinds in DAMAGE.items() for kind in kinds]


@cache
def whole(motion):
    certificate = certified(motion())
    assert audit(certificate).holds
    return certificate


@pytest.mark.slow_rows("held", "carried")
@pytest.mark.parametrize("motion", DAMAGE, ids=lambda motion: motion.__name__)
def test_damage_is_objected_to_where_it_is(motion):
    missed = []
    for kind, (damage, check) in DAMAGE[motion].items():
        found = audit(replace(damage(whole(motion)), scales={}))
        objections = {f.check for f in found.contradictions}
        objections |= {f.subject for f in found.contradictions}
        if check not in objections or not all(f.sentence for f in found.contradictions):
            missed.append((kind, objections))
    assert not missed


@pytest.mark.parametrize("motion", SPIKES, ids=lambda motion: motion.__name__)
def test_a_state_that_is_off_at_one_node_is_objected_to_whichever_it_is(motion):
    certificate = whole(motion)
    for name in SPIKES[motion]:
        size = np.max(np.abs(certificate.columns[name]))
        for node in range(0, len(PLACES), 3):
            damaged = shifted(name, 1e-4 * size, node)(certificate)
            assert not audit(replace(damaged, scales={})).holds, (name, node)


def test_there_are_sixty_kinds_of_damage():
    assert len(KINDS) >= 60


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


def test_a_step_that_is_hardly_longer_than_rounding_before_an_event_is_no_contradiction():
    certificate, short = whole(ticking), 5e-13
    event = certificate.events[len(certificate.events) // 2]
    step = int(np.argmin(np.abs(certificate.starts + certificate.lengths - event.time)))
    lengths = np.insert(certificate.lengths, step + 1, short)
    lengths[step] -= short
    ends = {name: sides(rows)[0][step] for name, rows in certificate.columns.items()}
    columns = {
        name: np.insert(rows, step + 1, ends[name], axis=0)
        for name, rows in certificate.columns.items()
    }
    certificate = replace(
        certificate,
        starts=np.insert(certificate.starts, step + 1, event.time - short),
        lengths=lengths,
        columns=columns,
        values={n: np.insert(row, step + 1, row[step]) for n, row in certificate.values.items()},
    )
    found = [f for f in audit(certificate).contradictions if f.check == "discrete value"]
    assert not found, found

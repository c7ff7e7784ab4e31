"""Every run is glanced at while it is made: what contradicts the posed system ends contradicted."""

from dataclasses import replace
from functools import cache
from unittest.mock import patch

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.run.integration.run_state import RunState
from daesolve.verification import step_watch
from daesolve.verification.audit import glance
from daesolve.verification.audit.structure import is_continuous

from .motions import backwards, bouncing, clock, kicked, sliding, swinging


@cache
def seen(motion):
    """Return what a glance at a motion sees."""
    found = []

    def look(instants):
        found.append(instants)
        return glance(instants)

    with patch.object(step_watch, "glance", look):
        motion.__wrapped__()
    return found[-1]


def scaled(name, factor):
    def damage(run):
        return replace(run, columns={**run.columns, name: run.columns[name] * factor})

    return damage


def shifted(name, by):
    """Move one value at one instant within a motion."""

    def damage(run):
        column = run.columns[name].copy()
        column[np.flatnonzero(run.within)[np.sum(run.within) // 4]] += by
        return replace(run, columns={**run.columns, name: column})

    return damage


def without(name):
    """Leave out one event of a name, in the middle."""

    def damage(run):
        own = [event for event in run.events if event.name == name]
        events = [event for event in run.events if event is not own[len(own) // 2]]
        return replace(run, events=events)

    return damage


def without_resets(run):
    """Leave out all events, and what they did, so that the motion passes through them."""
    steps = np.isin(run.starts, [event.time for event in run.events], invert=True)
    return replace(run.only(steps), events=[], smooth=np.zeros(np.sum(steps)))


def begun(name, value):
    def damage(run):
        return replace(run, given={**run.given, name: value})

    return damage


def parameter(name, value):
    def damage(run):
        return replace(run, parameters={**run.parameters, name: value})

    return damage


DAMAGE = {
    swinging: {
        "constraint off": (shifted("y", 1e-6), "goal"),
        "hidden constraint off": (scaled("x", 1.0 + 1e-6), "goal"),
        "another length": (parameter("length", 1.0001), "goal"),
        "another start": (begun("x", 0.6001), "start"),
    },
    backwards: {
        "event of a run backwards": (without("up"), "event"),
        "another event of it": (without("down"), "event"),
    },
    kicked: {
        "event beside resets": (without("top"), "event"),
        "kicks forgotten": (without_resets, "event"),
    },
    bouncing: {
        "through the floor": (scaled("y", -1.0), "contact"),
        "force in the air": (shifted("floor", 1.0), "contact"),
    },
    sliding: {
        "pulling floor": (scaled("floor", -1.0), "contact"),
        "overlap": (shifted("y", -1e-6), "contact"),
        "lifted while it pushes": (shifted("y", 1e-3), "contact"),
        "friction that drives": (scaled("x_dot", -1.0), "contact"),
    },
}


@pytest.mark.parametrize(
    ("motion", "damage", "check"),
    [
        pytest.param(motion, *kind, id=f"{motion.__name__}, {name}")
        for motion, kinds in DAMAGE.items()
        for name, kind in kinds.items()
    ],
)
def test_a_glance_objects_to_damage(motion, damage, check):
    found = glance(damage(seen(motion)))
    assert check in {finding.check for finding in found.contradictions}, str(found)
    assert found.objection


@pytest.mark.parametrize("motion", DAMAGE, ids=lambda motion: motion.__name__)
def test_a_glance_checks_all_that_was_posed_of_a_right_run(motion):
    found = glance(seen(motion))
    assert found.holds, str(found)
    assert not found.unchecked, str(found)
    system = seen(motion).system
    checked = {finding.subject.split(" never ")[0] for finding in found.findings}
    assert {goal.name for goal in system.goals if not isinstance(goal, ds.Invariant)} <= checked
    assert {event.name for event in system.events if "floor" not in event.name} <= {
        *checked,
        "accumulated",
        "rest",
    }


# -- runs of every kind ----------------------------------------------------------------------------


def oscillator():
    q = ds.coordinates(x="m")
    up = ds.Event("up", q.x, ds.RISING)
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, events=[up])


def losing(event):
    """Let runs lose the events of a name that change nothing."""
    happened = RunState.happened

    def lost(run, hit, here):
        if run.prepared.problem.guarded[hit.index].name != event:
            happened(run, hit, here)

    return patch.object(RunState, "happened", lost)


SOLVERS = {
    "taylor": {"solver": "taylor"},
    "dop853": {"solver": "dop853"},
    "radau": {"solver": "radau"},
    "cvodes": {"solver": "cvodes"},
    "lsoda": {"solver": "lsoda"},
    "idas": {"solver": "idas", "formulation": "index-1"},
    "heyoka": {"solver": ds.Taylor(engine="heyoka")},
}


@pytest.mark.parametrize("options", SOLVERS.values(), ids=SOLVERS)
def test_a_run_by_any_solver_that_loses_an_event_is_contradicted(options):
    with losing("up"), pytest.warns(ds.errors.EndedEarlyWarning, match="'?up"):
        run = ds.solve(oscillator(), 10.0, {"x": 1.0}, **options)
    assert run.outcome.value == "contradicted"
    assert run.message.startswith("event, up: its guard passes zero between t = ")
    first, last = (float(word) for word in run.message.split() if word[0].isdigit())
    assert first < 1.5 * np.pi < last


def test_each_run_in_lanes_is_glanced_at():
    from daesolve.ensembles.batches import run_batch

    case = ds.Case("one", start={"x": 1.0}, until=10.0)
    problem = ds.Problem("o", title="", models={"one": oscillator}, cases=[case])
    members = [{"x": 1.0}, {"x": 2.0}]
    with losing("up"), pytest.warns(ds.errors.EndedEarlyWarning):
        runs = run_batch(problem.case("one"), members)
    assert [run.outcome.value for run in runs] == ["contradicted"] * 2


def test_a_stored_run_is_glanced_at_part_by_part_and_when_it_is_resumed(tmp_path):
    system = oscillator()
    first = ds.solve(system, 10.0, {"x": 1.0}, store=tmp_path / "run")
    assert first.outcome.good
    with losing("up"), pytest.warns(ds.errors.EndedEarlyWarning):
        run = ds.resume(tmp_path / "run", 20.0, source=system)
    assert run.outcome.value == "contradicted"
    assert ds.Trajectory.from_run(tmp_path / "run").outcome.value == "contradicted"
    # The first passage beyond 10 s.
    assert float(run.message.split("t = ")[1].split()[0]) < 3.5 * np.pi < 20.0


# -- what is no contradiction ----------------------------------------------------------------------


@pytest.mark.parametrize("solver", [ds.Taylor(), ds.Dop853()], ids=lambda solver: solver.name)
def test_what_rounding_leaves_of_a_motion_that_cannot_move_may_begin_another_one(solver):
    """A disc that rolls at two ratios rests; the run that goes on begins with exactly no speed."""
    q = ds.coordinates(x="m", turn="rad")
    ratios = {"rolls": q.dot.x - 0.5 * q.dot.turn, "bends": q.dot.turn - 0.7 * q.dot.x}
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 + q.dot.turn**2,
        potential=7.0 * q.x,
        force={"turn": 2.3},
        goals=[ds.Nonholonomic(name, ratio) for name, ratio in ratios.items()],
    )
    run = ds.solve(system, 0.5, {"x": 0.3, "turn": 0.0}, guess={"x_dot": 1.04}, solver=solver)
    again = ds.solve(system, 1.0, run, solver=solver)
    assert again.outcome is ds.Outcome.COMPLETED, again.message
    assert again.end_state["x"] == pytest.approx(0.3, abs=1e-12)
    assert not again.audit().contradictions


def test_rounding_of_a_body_at_rest_is_no_contradiction():
    """A bob that leans on a wall, and a cart on which nothing acts but a reaction of 1e-17 N."""
    q = ds.coordinates(cart="m", x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1.3225)
    tie = ds.Holonomic("tie", q.cart - 0.951 * q.x)
    wall = ds.Contact("wall", q.x - 0.45655, restitution=0.3)
    kinetic = (1.0 + 0.769 * q.cart**2) * q.dot.cart**2 / 2
    kinetic += 2.59 * (q.dot.x**2 + q.dot.y**2) / 2
    goals = [rod, tie, wall]
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=25.4 * q.y, goals=goals)
    guess = {"y": -1.0554914009597614, "cart": -0.133, "x": 0.45655, "x_dot": 0.0217}
    run = ds.solve(system, 0.64, {}, guess=guess, formulation="projected")
    assert run.outcome.good, run.message
    assert run.audit().holds, str(run.audit())


@pytest.mark.parametrize(
    ("guard", "continuous"),
    [
        ("q.x - 0.25", True),
        ("ca.sin(q.x) * q.dot.x ** 2 / p.a", True),
        ("ca.fmax(q.x, 0.1) - ca.sqrt(1.0 + q.x ** 2) / (2.0 * p.a)", True),
        ("q.x**3 - q.x**1.5", True),
        ("1.0 / (q.x - 0.25)", False),
        ("p.a / q.x", False),
        ("ca.tan(q.x)", False),
        ("ca.sign(q.x) + q.x", False),
        ("(q.x - 0.25) ** -3", False),
        ("ca.atan2(q.x, q.dot.x)", False),
        ("ca.if_else(q.x > 0.25, 1.0, -1.0)", False),
        ("ca.fmod(q.x, 1.0) - 0.5", False),
    ],
)
def test_a_guard_with_poles_or_jumps_may_change_its_sign_without_a_passage(guard, continuous):
    q, p = ds.coordinates(x="m"), ds.parameters(a=2.0)
    expression = ca.SX(eval(guard, {"q": q, "p": p, "ca": ca}))
    assert is_continuous(expression, [p.a]) is continuous


def test_a_guard_of_time_alone_holds_at_a_late_time():
    run = ds.solve(clock(), 1e6 + 9.0, {"x": 0.0}, start_time=1e6)
    assert run.outcome.good, run.message

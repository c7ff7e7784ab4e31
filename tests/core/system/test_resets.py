"""Resets as they are posed: what they may change and impose, and what they are refused for."""

from __future__ import annotations

import casadi as ca
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError, UnknownNameError
from tests.hybrid_systems import bouncing_ball

START = {"x": 1.0, "y": 1.0, "x_dot": -1.0, "y_dot": 0.0}


def posed(reset, *, line=False, more=lambda q, d: []):
    """A point in a plane, on the line x = y or free, with an event where x falls through zero."""
    q = ds.coordinates(x="m", y="m")
    d = ds.discrete(mode=0.0)
    return ds.MechanicalSystem(
        q,
        ds.parameters(length=1.0),
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        goals=[ds.Holonomic("line", q.x - q.y)] if line else [],
        discrete=d,
        events=[ds.Event("hit", q.x, ds.FALLING, reset(q, d)), *more(q, d)],
    )


def momentary(residual, **options):
    return ds.Reset(impose=[ds.Holonomic("wall", residual, **options)])


# -- made by itself ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"impose": "rod"}, "impose must be a list"),
        ({"impose": ds.Holonomic("rod", ca.SX.sym("x"))}, "impose must be a list"),  # pyright: ignore
        ({"impose": [3]}, "impose must list names"),
        ({"impose": [ds.Relation("rod", ca.SX.sym("u"))]}, "impose must list names"),  # pyright: ignore
        ({"restitution": 1.5}, r"1\.5, but must lie in \[0, 1\]"),
        ({"restitution": -0.1}, r"must lie in \[0, 1\]"),
        ({"restitution": float("nan")}, r"must lie in \[0, 1\]"),
        ({"restitution": ca.SX(2.0)}, r"2\.0, but must lie in \[0, 1\]"),
        ({"restitution": "half"}, "the restitution must be"),
        ({"restitution": None}, "the restitution must be"),
        ({"order": "both"}, "simultaneous, sequential"),
        ({"order": None}, "simultaneous, sequential"),
        ({"changes": [1.0]}, "expressions by names"),
        ({"changes": None}, "expressions by names"),
    ],
)
def test_a_reset_with_a_wrong_argument_is_refused(arguments, message):
    with pytest.raises(PosingError, match=message):
        ds.Reset(**arguments)


def test_an_event_takes_one_reset_and_only_actions():
    with pytest.raises(PosingError, match="one Reset"):
        ds.Reset() | ds.Stop() | ds.Reset()
    with pytest.raises(PosingError, match="actions are"):
        ds.Stop() | 3  # type: ignore[operator]


# -- posed in a system ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reset", "error", "message"),
    [
        (lambda q, d: ds.Reset({"z": 1.0}), UnknownNameError, "'z'"),
        (lambda q, d: ds.Reset({"length": 1.0}), UnknownNameError, "'length'"),
        (lambda q, d: ds.Reset({1: 1.0}), UnknownNameError, "to reset 1"),
        (lambda q, d: ds.Reset({"x": "one"}), PosingError, "the change of 'x'"),
        (lambda q, d: ds.Reset({"x": ca.vertcat(q.x, q.y)}), PosingError, "must be a scalar"),
        (lambda q, d: ds.Reset({"x": ca.SX.sym("far")}), PosingError, "'hit'.*'far'"),
        (lambda q, d: ds.Reset(lambda fired: None), PosingError, "expressions by names, not None"),
        (lambda q, d: ds.Reset(impose=["rod"]), UnknownNameError, "'rod'"),
        (lambda q, d: momentary(ca.SX.sym("far") - q.x), PosingError, "'wall'.*'far'"),
        (lambda q, d: momentary(d.mode), PosingError, "'wall'.*does not change with the veloc"),
        (lambda q, d: momentary(q.x, ideal=False), PosingError, "'wall'.*must be ideal"),
        (
            lambda q, d: ds.Reset(impose=[ds.Nonholonomic("speed", q.dot.x**2 + q.dot.y**2 - 1.0)]),
            PosingError,
            "'speed' is not linear in the velocities",
        ),
        (
            lambda q, d: ds.Reset(impose=[ds.Nonholonomic("speed", q.dot.x, from_start=True)]),
            PosingError,
            "'speed'.*must be ideal and linear",
        ),
    ],
)
def test_a_reset_that_does_not_fit_the_system_is_refused(reset, error, message):
    with pytest.raises(error, match=message):
        posed(reset)


def test_a_constraint_of_the_instant_may_not_be_called_like_a_goal():
    with pytest.raises(PosingError, match=r"'line'.*has the name of a goal"):
        posed(lambda q, d: ds.Reset(impose=[ds.Holonomic("line", q.x)]), line=True)


def test_two_constraints_of_the_instant_have_two_names():
    with pytest.raises(PosingError, match=r"two constraints.*'wall'"):
        posed(
            lambda q, d: momentary(q.x),
            more=lambda q, d: [ds.Event("other", q.y, ds.FALLING, momentary(q.y))],
        )


def test_a_reset_may_not_depend_on_reactions():
    q = ds.coordinates(x="m", y="m")
    d = ds.discrete(pull=0.0)
    line = ds.Holonomic("line", q.x - q.y)
    hit = ds.Event("hit", q.x, ds.FALLING, ds.Reset({"pull": line.reaction}))
    with pytest.raises(PosingError, match="'hit' depends on reactions"):
        ds.MechanicalSystem(
            q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, goals=[line], discrete=d, events=[hit]
        )


def test_a_control_system_has_nothing_to_impose_constraints_on():
    x = ds.states(level="m")
    reset = ds.Reset(impose=[ds.Holonomic("floor", x.level)])
    with pytest.raises(PosingError, match=r"'floor' cannot be imposed.*no mass matrix"):
        ds.ControlSystem(x, rate=-x.vector, events=[ds.Event("hit", x.level, ds.FALLING, reset)])


def test_resets_cannot_be_undone():
    with pytest.raises(OutOfRangeError, match="run forwards"):
        ds.solve(bouncing_ball(), -1.0, {"y": 1.0, "y_dot": 0.0})


# -- what changes --------------------------------------------------------------------------------


def test_what_is_not_named_keeps_its_value_and_changes_see_what_was_before():
    system = posed(lambda q, d: ds.Reset({"x": q.y, "y": q.x - 2.0, "mode": d.mode + q.y}))
    run = ds.solve(system, 1.5, START, parameters={"mode": 4.0})
    (event,) = run.events
    assert event.after == pytest.approx(
        {"x": 1.0, "y": -2.0, "x_dot": -1.0, "y_dot": 0.0, "mode": 5.0}, abs=1e-15
    )
    assert run.end_state["x"] == pytest.approx(0.5, abs=1e-15)


def test_a_goal_that_is_imposed_stays_and_one_of_the_instant_goes():
    """Velocities along x = y stop at the wall; then the force along the line takes them on."""
    system = posed(lambda q, d: momentary(q.x), line=True)
    run = ds.solve(system, 1.0 + 1e-6, {"x": 1.0, "x_dot": -1.0})
    assert run.events[0].after is not None
    assert run.events[0].after["y_dot"] == pytest.approx(0.0, abs=1e-15)
    impact = run.events[0].impact
    assert impact is not None
    # twice the unit mass is stopped by the wall, half of it through the line
    assert impact.impulses == pytest.approx({"line": -1.0, "wall": 2.0}, abs=1e-14)


def test_a_blow_across_the_motion_happens_once():
    """Where x falls through zero, y is stopped; x goes on, so that its guard stays on its way."""
    system = posed(lambda q, d: momentary(q.y))
    run = ds.solve(system, 2.0, START | {"y_dot": 3.0})
    assert run.event_count == 1
    assert run.end_state["x"] == pytest.approx(-1.0, abs=1e-14)
    assert run.end_state["y"] == pytest.approx(4.0, abs=1e-14)


@pytest.mark.parametrize("restitution", [0.0, 0.25, 1.0])
def test_the_restitution_may_be_a_parameter_of_the_run(restitution):
    run = ds.solve(
        bouncing_ball(), 0.5, {"y": 1.0, "y_dot": -1.0}, parameters={"restitution": restitution}
    )
    (event, *_) = run.events
    assert event.after is not None
    assert event.after["y_dot"] == pytest.approx(-restitution * event.detail["y_dot"], abs=1e-15)


# -- redundant goals -----------------------------------------------------------------------------


def doubled(impose):
    """A particle on the line x = y, posed twice, that is turned onto x = -y where x passes 1."""
    q = ds.coordinates(x="m", y="m")
    d = ds.discrete(slope=1.0, offset=0.0)
    line = q.y - d.slope * q.x - d.offset
    turn = ds.Reset({"slope": -1.0, "offset": 2.0}, impose=impose)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + 3.0 * q.dot.y**2) / 2,
        goals=[ds.Holonomic("line", line), ds.Holonomic("again", 2.0 * line)],
        discrete=d,
        events=[ds.Event("turn", q.x - 1.0, ds.RISING, turn)],
    )


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("impose", [["line"], ["line", "again"], ["again"]])
@pytest.mark.parametrize("redundant", ["drop", "minimum-norm"])
def test_redundant_goals_are_imposed_as_one(impose, redundant):
    """Of (1, 1) m/s what is along (1, -1) in the metric of the masses 1 and 3 is -1/2 of it."""
    system = doubled(impose)
    start = {"x": 0.0, "x_dot": 1.0}
    if (impose, redundant) == (["again"], "drop"):
        with pytest.raises(PosingError, match=r"'turn' imposes only goals that are dropped"):
            ds.solve(system, 2.0, start, redundant=redundant)
        return
    run = ds.solve(system, 2.0, start, redundant=redundant)
    assert run.events[0].after is not None
    assert run.events[0].after["x_dot"] == pytest.approx(-0.5, abs=1e-13)
    assert run.events[0].after["y_dot"] == pytest.approx(0.5, abs=1e-13)
    assert run.end_state["x"] == pytest.approx(0.5, abs=1e-12)

"""Events as they are posed: guards, directions, actions."""

from __future__ import annotations

import casadi as ca
import pytest

import daesolve as ds
from daesolve.errors import PosingError

X = ca.SX.sym("x")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("guard", "message"),
    [
        ([], "at least one expression"),
        ("x", "the guard of 'e' must be a CasADi SX expression, not str"),
        (["x"], "the guard of 'e' must be"),
        (None, "the guard of 'e' must be"),
        (ca.SX(2, 2), "scalar expression"),
        (ca.SX(1, 2), "scalar expression"),
        ([X, ca.SX(2, 1)], "scalar expression"),
    ],
)
def test_a_guard_that_is_no_expression_is_refused(guard, message):
    with pytest.raises(PosingError, match=message):
        ds.Event("e", guard, ds.FALLING)


@pytest.mark.parametrize("direction", ["falling", -1, None])
def test_a_direction_that_is_none_is_refused(direction):
    with pytest.raises(PosingError, match="FALLING, EITHER or RISING"):
        ds.Event("e", X, direction)


@pytest.mark.parametrize("then", [ds.Stop, None, "stop", {"x": 1.0}])
def test_an_action_that_is_none_is_refused(then):
    with pytest.raises(PosingError, match=r"Stop\(\), Record\(\) or Reset"):
        ds.Event("e", X, ds.FALLING, then)


@pytest.mark.parametrize("guard", [[X, 2.0 * X], (X, 2.0 * X), ca.vertcat(X, 2.0 * X)])
def test_several_guards_are_a_column(guard):
    event = ds.Event("e", guard, ds.FALLING)
    assert event.count == 2
    assert event.guards.shape == (2, 1)


def test_one_guard_is_a_column_of_one():
    assert ds.Event("e", X).count == ds.Event("e", [X]).count == 1


@pytest.mark.parametrize(
    ("action", "stops", "resets", "interrupts"),
    [
        (ds.Record(), False, False, False),
        (ds.Stop(), True, False, True),
        (ds.Reset(), False, True, True),
        (ds.Reset() | ds.Stop(), True, True, True),
        (ds.Record() | ds.Stop() | ds.Reset(), True, True, True),
    ],
)
def test_joined_actions_do_all_that_their_parts_do(action, stops, resets, interrupts):
    assert action.stops is stops
    assert (action.reset is not None) is resets
    assert action.interrupts is interrupts


def test_two_events_have_two_names():
    q = ds.coordinates(x="m")
    events = [ds.Event("e", q.x), ds.Event("e", q.dot.x)]
    with pytest.raises(PosingError, match="two events are called 'e'"):
        ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, events=events)


@pytest.mark.parametrize("guard", [X < 0, ca.logic_and(X < 0, X > -1), [X, X <= 1]])
def test_a_comparison_is_no_guard(guard):
    with pytest.raises(PosingError, match="guard of 'e' is a comparison"):
        ds.Event("e", guard)


def test_a_stop_where_the_motion_cannot_go_on_is_no_good_end():
    q = ds.coordinates(x="m")
    edge = ds.Event("edge", q.x - 1, ds.RISING, ds.Stop("the table ends"))
    falling = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, events=[edge])
    run = ds.solve(falling, 4.0, {"x_dot": 0.5})
    assert run.outcome is ds.Outcome.DEGENERATE
    assert run.message == "at t = 2 s the table ends"
    beyond = ds.solve(falling, 4.0, {"x": 3.0, "x_dot": 0.5})
    assert beyond.message == "at t = 0 s the table ends"
    with pytest.raises(PosingError, match="must be text"):
        ds.Stop(3)  # pyright: ignore[reportArgumentType]

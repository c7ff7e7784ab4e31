"""Consistent starts, and accelerations and reactions at one state, against the references."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.equations.consistency import complete_start, instantaneous, sample_states
from daesolve.errors import (
    DegenerateStartError,
    InconsistentStateError,
    OutOfRangeError,
    PosingError,
    UnknownNameError,
)
from tests.reference.rolling_wheel import hoop_reactions, pendulum_reactions
from tests.systems import EPSILON, numbers, pendulum, prepared_run, wheel, wheel_state

abscissae = st.floats(-0.95, 0.95)
speeds = st.one_of(st.just(0.0), st.floats(-3.0, 3.0))


def exact(contact_x, speed, phi=None, phi_dot=None):
    if phi is None:
        found = hoop_reactions(contact_x, speed)
        accelerations = ["x_ddot", "z_ddot", "theta_ddot"]
    else:
        found = pendulum_reactions(contact_x, speed, phi, phi_dot)
        accelerations = ["x_ddot", "z_ddot", "theta_ddot", "phi_ddot"]
    reactions = ["reaction_x", "reaction_z", "torque"]
    return [np.array([float(found[n]) for n in names]) for names in (accelerations, reactions)]


def assert_close(found, right, scales):
    """1e-12 relative to the motion's own scale of each entry."""
    assert np.max(np.abs(found - right) / scales) <= 1e-12


def scales_of(accelerations, reactions):
    """Forces: gravity's at least; torque and angular accelerations by the lever 0.01 m."""
    radius, gravity = 0.01, 9.81
    linear = max(np.hypot(*accelerations[:2]), gravity)
    force = max(np.hypot(*reactions[:2]), gravity)
    turning = [max(abs(a), linear / radius) for a in accelerations[2:]]
    return np.array([linear, linear, *turning]), np.array([force, force, radius * force])


@pytest.fixture(scope="module")
def hoop_problem():
    prepared = prepared_run(wheel(), 1.0, wheel_state(0.0, 1.5))
    return prepared, numbers(prepared, rate_energy=0.0)


@pytest.fixture(scope="module")
def pendulum_problem():
    start = wheel_state(0.0, 1.5, phi=0.0, phi_dot=0.0)
    prepared = prepared_run(wheel(with_pendulum=True), 1.0, start)
    return prepared, numbers(prepared, rate_energy=0.0)


@settings(max_examples=60, deadline=None)
@given(abscissae, speeds)
def test_hoop_accelerates_and_presses_as_the_reduced_equations_say(hoop_problem, xi, speed):
    prepared, values = hoop_problem
    x = np.array([wheel_state(xi, speed)[n] for n in prepared.dynamics.labels.states])
    right = exact(xi, speed)
    scales = scales_of(*right)
    eliminated = [np.asarray(part).ravel() for part in prepared.problem.recover(0.0, x, values)]
    dense = instantaneous(prepared.dynamics, 0.0, x, values)
    for found in (eliminated[:2], dense):
        assert_close(found[0], right[0], scales[0])
        assert_close(found[1], right[1], scales[1])


@settings(max_examples=60, deadline=None)
@given(abscissae, speeds, st.floats(-3.1, 3.1), st.one_of(st.just(0.0), st.floats(-30, 30)))
def test_wheel_with_pendulum_accelerates_and_presses_as_the_reduced_equations_say(
    pendulum_problem, xi, speed, phi, phi_dot
):
    prepared, values = pendulum_problem
    state = wheel_state(xi, speed, phi=phi, phi_dot=phi_dot)
    x = np.array([state[n] for n in prepared.dynamics.labels.states])
    right = exact(xi, speed, phi, phi_dot)
    scales = scales_of(*right)
    eliminated = [np.asarray(part).ravel() for part in prepared.problem.recover(0.0, x, values)]
    dense = instantaneous(prepared.dynamics, 0.0, x, values)
    for found in (eliminated[:2], dense):
        assert_close(found[0], right[0], scales[0])
        assert_close(found[1], right[1], scales[1])


def start(system, given_values, **rest):
    dynamics = system.dynamics
    return complete_start(dynamics, dynamics.value_vector({}), given_values, **rest)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.floats(-0.999, 0.999), st.floats(-5, 5))
def test_given_values_are_kept_exactly_and_the_rest_is_consistent(x, x_dot):
    found = start(pendulum(), {"x": x, "x_dot": x_dot}, guess={"y": -1.0})
    a, b, u, v = found.state
    assert (a, u) == (x, x_dot)
    assert b < 0
    assert a * a + b * b - 1.0 == pytest.approx(0.0, abs=4 * EPSILON)
    # v = -x x' / y: its terms are as large as |v|
    assert abs(a * u + b * v) <= 1e-12 * max(abs(a * u), 1e-3)


def test_a_consistent_state_is_left_untouched_bit_by_bit():
    found = start(pendulum(), {"x": 0.0, "y": -1.0, "x_dot": 1.5, "y_dot": 0.0})
    assert list(found.state) == [0.0, -1.0, 1.5, 0.0]
    assert not found.changes


def test_what_was_changed_is_reported():
    found = start(pendulum(), {"x": -1.0}, guess={"y": 0.1})
    assert found.changes == {"y": (0.1, 0.0)} or abs(found.changes["y"][1]) < 1e-6
    assert "x" not in found.changes


def test_without_a_guess_the_pendulum_finds_a_branch():
    found = start(pendulum(), {"x": 0.6})
    assert abs(found.state[1]) == pytest.approx(0.8, rel=1e-14)


@pytest.mark.parametrize("length", [1e-15, 1e-9, 1e-7, 1e9])
def test_a_branch_is_found_whatever_the_size(length):
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - length**2)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, goals=[rod])
    dynamics = system.dynamics
    values = dynamics.value_vector(dynamics.values)
    state = complete_start(dynamics, values, {"x": 0.5 * length}).state
    assert abs(state[1]) == pytest.approx(0.75**0.5 * length, rel=1e-12)


def test_rounding_in_a_fully_given_state_is_corrected_and_reported():
    found = start(pendulum(), {"x": 0.6, "y": -0.8 + 1e-9, "x_dot": 0.8, "y_dot": 0.6})
    x, y, _, _ = found.state
    assert x * x + y * y - 1.0 == pytest.approx(0.0, abs=4 * EPSILON)
    assert "y" in found.changes


@pytest.mark.parametrize(
    ("given_values", "words"),
    [
        ({"x": 0.6, "y": 0.7}, r"violates the goal 'rod'.*leave one of x, y open"),
        ({"x": 1.5}, r"violates the goal 'rod'.*free to move: y"),
        (
            {"x": 0.6, "y": -0.8, "x_dot": 1.0, "y_dot": 1.0},
            r"violates the rate of the goal 'rod'.*leave one of x_dot, y_dot open",
        ),
    ],
)
def test_a_start_that_cannot_be_made_consistent_names_the_goal(given_values, words):
    with pytest.raises(InconsistentStateError, match=words):
        start(pendulum(), given_values)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_start_value_that_is_not_finite_is_refused_by_name(value):
    with pytest.raises(OutOfRangeError, match="'x'"):
        start(pendulum(), {"x": value})


def test_an_unknown_state_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match=r"unknown state 'x_dott': did you mean 'x_dot'"):
        start(pendulum(), {"x": -1.0, "x_dott": 0.0})


def test_a_moving_constraint_is_met_at_the_time_of_the_start():
    q = ds.coordinates(x="m", y="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        goals=[ds.Holonomic("lift", q.y - ds.time**2)],
    )
    found = start(system, {"x": 0.0}, time=3.0)
    assert found.state[1] == pytest.approx(9.0, rel=1e-14)
    assert found.state[3] == pytest.approx(6.0, rel=1e-14)


def test_the_wheel_is_put_on_its_curve_from_a_rough_guess():
    right = wheel_state(0.2, 1.0)
    rough = {name: value * (1 + 1e-2) for name, value in right.items()}
    hoop = wheel()
    found = start(hoop, {"x": right["x"], "x_dot": right["x_dot"], "theta": 0.0}, guess=rough)
    for name, value in zip(hoop.dynamics.labels.states, found.state, strict=True):
        assert value == pytest.approx(right[name], rel=1e-10, abs=1e-12), name


def test_samples_are_consistent_and_some_are_at_rest():
    dynamics = wheel().dynamics
    values = dynamics.value_vector({})
    around = np.array([wheel_state(0.0, 1.5)[n] for n in dynamics.labels.states])
    samples = sample_states(dynamics, values, around)
    assert len(samples) >= 5
    assert any(np.all(x[dynamics.position_count :] == 0.0) for _, x in samples)
    for t, x in samples:
        residuals = np.abs(dynamics.matrices(t, x, values)["jacobian"] @ x[-3:])
        assert np.max(residuals) <= 1e-10


def test_the_least_norm_reactions_of_two_identical_constraints_are_equal():
    q = ds.coordinates(x="m", y="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[ds.Holonomic("floor", q.y), ds.Holonomic("again", q.y)],
    )
    dynamics = system.dynamics
    _, reactions = instantaneous(dynamics, 0.0, np.zeros(4), dynamics.value_vector({}))
    assert reactions == pytest.approx([9.81 / 2, 9.81 / 2], rel=1e-13)


def point(events, discrete, force=0.0):
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, events=events(q), discrete=discrete, force=[force]
    )


def branch(d):
    """`beyond` is 1.0 where x > 1."""
    return lambda q: [
        ds.Event(
            "changes",
            (1 - 2 * d.beyond) * (q.x - 1),
            ds.RISING,
            ds.Reset({"beyond": 1 - d.beyond}, whenever_past=True),
        )
    ]


def test_a_start_has_the_mode_that_its_state_asks_for():
    # Towards the border, so that no rate shows that it has been passed.
    d = ds.discrete(beyond=0.0)
    run = ds.solve(point(branch(d), d), until=2.0, initial={"x": 2.0, "x_dot": -1.0})
    assert run.description["parameters"]["beyond"] == 1.0
    assert [event.time for event in run.events] == pytest.approx([1.0], abs=1e-14)


def test_another_reset_that_leaves_a_mode_behind_is_followed_by_the_one_that_puts_it_right():
    d = ds.discrete(beyond=0.0)

    def events(q):
        thrown = ds.Event("thrown", ds.time - 0.5, ds.RISING, ds.Reset({"x": 3.0, "x_dot": -1.0}))
        return [thrown, *branch(d)(q)]

    run = ds.solve(point(events, d), until=3.0, initial={"x": 0.0})
    assert [event.name for event in run.events] == ["thrown", "changes", "changes"]
    assert [event.time for event in run.events] == pytest.approx([0.5, 0.5, 2.5], abs=1e-14)


def test_a_stop_counts_after_a_reset_and_at_the_start():
    d = ds.discrete(beyond=0.0)

    def events(q):
        thrown = ds.Event("thrown", ds.time - 0.5, ds.RISING, ds.Reset({"x": 3.0, "x_dot": -1.0}))
        out = ds.Event("out", q.x - 1, ds.RISING, ds.Stop("it is out", whenever_past=True))
        return [thrown, out]

    system = point(events, d)
    run = ds.solve(system, until=3.0, initial={"x": 0.0})
    assert run.outcome is ds.Outcome.DEGENERATE
    assert [event.name for event in run.events] == ["thrown", "out"]
    assert run.end_time == 0.5
    with pytest.raises(DegenerateStartError, match="at the start it is out"):
        ds.solve(system, until=3.0, initial={"x": 2.0, "x_dot": -1.0})


def test_modes_that_ask_for_each_other_without_end_are_reported():
    d = ds.discrete(on=0.0)

    def events(q):
        return [
            ds.Event(
                "toggles", 1 + 0 * d.on, ds.RISING, ds.Reset({"on": 1 - d.on}, whenever_past=True)
            )
        ]

    with pytest.raises(InconsistentStateError, match="the events 'toggles' switch modes"):
        ds.solve(point(events, d), until=1.0)


@pytest.mark.parametrize(
    ("direction", "changes"), [(ds.EITHER, {"on": 1.0}), (ds.RISING, {"x": 1.0})]
)
def test_what_is_reset_whenever_it_is_past_has_a_direction_and_discrete_values(direction, changes):
    def events(q):
        return [ds.Event("odd", q.x - 1, direction, ds.Reset(changes, whenever_past=True))]

    with pytest.raises(
        PosingError, match="must have one direction and change only discrete values"
    ):
        point(events, ds.discrete(on=0.0))


def test_a_guard_of_reactions_is_read_from_the_start():
    q = ds.coordinates(x="m", y="m")
    d = ds.discrete(pulls=0.0)
    wall = ds.Nonholonomic("wall", q.dot.x)
    sign = (1 - 2 * d.pulls) * -wall.reaction
    event = ds.Event("turns", sign, ds.RISING, ds.Reset({"pulls": 1 - d.pulls}, whenever_past=True))
    held = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        goals=[wall],
        discrete=d,
        events=[event],
        force=[2.0, 0.0],
    )
    run = ds.solve(held, until=1.0)
    assert run.description["parameters"]["pulls"] == 1.0
    assert run.events == ()

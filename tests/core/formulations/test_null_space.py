"""Independent velocities: constraints on velocities hold exactly, the motion is the same."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.preparation.preparing import Request, prepare
from daesolve.errors import PosingError, UnsupportedError
from tests.systems import (
    EPSILON,
    chain,
    chain_state,
    four_bar_state,
    four_bar_windows,
    oscillator,
    pendulum,
    sleigh,
    wheel,
)

SWING = {"x": 1.0, "y": 0.0, "x_dot": 0.0}


def driven_pendulum() -> ds.MechanicalSystem:
    """A pendulum whose pivot moves to and fro: the constraint depends on time."""
    q = ds.coordinates(x="m", y="m")
    pivot = ca.sin(2 * ds.time) / 5
    rod = ds.Holonomic("rod", (q.x - pivot) ** 2 + q.y**2 - 1.0)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=[rod])


def sleigh_with_its_own(**independent: object) -> ds.MechanicalSystem:
    """The sleigh in Cartesian coordinates, asked to be written in velocities of its own."""
    q = ds.coordinates(x="m", y="m", phi=ds.ANGLE)
    p = ds.parameters(mass=(2.0, "kg"), inertia=(0.3, "kg m^2"), centre=(0.2, "m"))
    cosine, sine = ca.cos(q.phi), ca.sin(q.phi)
    x_dot = q.dot.x - p.centre * sine * q.dot.phi
    y_dot = q.dot.y + p.centre * cosine * q.dot.phi
    own = {"speed": cosine * q.dot.x + sine * q.dot.y, "turning": q.dot.phi}
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (x_dot**2 + y_dot**2) / 2 + p.inertia * q.dot.phi**2 / 2,
        goals=[ds.Nonholonomic("blade", cosine * q.dot.y - sine * q.dot.x)],
        independent=independent or own,
    )


@pytest.mark.slow
@given(phi=st.floats(-3, 3), speed=st.floats(-5, 5), turning=st.floats(-5, 5))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_the_sleigh_in_its_own_velocities_obeys_the_equations_of_the_textbook(phi, speed, turning):
    """v' = a w^2, w' = -m a v w / (I + m a^2): Bloch, section 1.7."""
    prepared = prepare(
        sleigh_with_its_own(),
        Request(
            until=1.0,
            initial={"phi": 0.3},
            formulation=ds.NullSpace(rates={"energy": None}),
        ),
    )
    problem = prepared.problem
    x = np.array([0.4, -0.2, phi, speed, turning])
    rate = np.asarray(problem.rhs(0.0, x, prepared.values)).ravel()
    expected = [
        speed * np.cos(phi),
        speed * np.sin(phi),
        turning,
        0.2 * turning**2,
        -2.0 * 0.2 * speed * turning / (0.3 + 2.0 * 0.2**2),
    ]
    np.testing.assert_allclose(rate, expected, atol=100 * EPSILON * (1 + speed**2 + turning**2))


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("chain")
@pytest.mark.parametrize(
    ("pose", "start"),
    [
        (pendulum, SWING),
        (driven_pendulum, {"x": 0.6}),
        (lambda: chain(2), chain_state([0.9, -0.4])),
        (sleigh_with_its_own, {"phi": 0.3, "x_dot": 1.0, "phi_dot": 1.5}),
    ],
    ids=["pendulum", "driven", "chain", "sleigh"],
)
def test_the_motion_is_that_of_the_feedback_through_every_choice_of_velocities(pose, start):
    """5 s of motion at machine precision, in which rounding grows a hundredfold."""
    system, common = pose(), {"until": 5.0, "initial": start}
    one = ds.solve(system, **common)
    other = ds.solve(system, **common, formulation=ds.NullSpace())
    for name, series in one.states.items():
        size = max(1.0, float(np.max(np.abs(series))))
        np.testing.assert_allclose(other[name], series, atol=1e-12 * size)
    for name, series in one.reactions.items():
        size = max(1.0, float(np.max(np.abs(series))))
        np.testing.assert_allclose(other.reactions[name], series, atol=1e-11 * size)


def test_the_velocities_are_chosen_anew_where_they_degrade_and_this_is_reported():
    """From y = 0 the pendulum needs y', at the bottom x': two changes in each half swing."""
    run = ds.solve(pendulum(), until=2.3, initial=SWING, formulation=ds.NullSpace())
    told = [note for note in run.description["notes"] if "chosen anew" in note]
    assert told == ["independent velocities chosen anew 4 times"]
    assert run.event_count == 0
    assert run.drift["rod_dot"].max_relative < 10 * EPSILON


@pytest.mark.slow
@given(angle=st.floats(-3, 3), w=st.floats(-10, 10))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_any_independent_velocity_fulfils_the_constraints_and_comes_back(angle, w):
    prepared = prepare(pendulum(), Request(until=1.0, initial=SWING, formulation=ds.NullSpace()))
    problem = prepared.problem
    assert problem.chart is not None
    assert problem.chart.choose is not None
    states = np.array([np.sin(angle), -np.cos(angle), np.cos(angle), np.sin(angle)])
    p = problem.chart.choose(0.0, states, prepared.values, prepared.path)
    x = np.array([states[0], states[1], w])
    embedded = problem.visible(np.zeros(1), x[None, :], p)[0]
    assert abs(embedded[:2] @ embedded[2:]) <= 16 * EPSILON * abs(w)
    np.testing.assert_allclose(problem.enter(0.0, embedded, p), x, atol=16 * EPSILON * abs(w))


@pytest.mark.slow
def test_it_runs_backwards_to_where_it_came_from():
    there = ds.solve(chain(2), 2.0, chain_state([0.9, -0.4]), formulation=ds.NullSpace())
    back = ds.solve(chain(2), 0.0, there.end_state, start_time=2.0, formulation=ds.NullSpace())
    for name, value in chain_state([0.9, -0.4]).items():
        assert back.end_state[name] == pytest.approx(value, abs=1e-12)


def test_any_time_can_be_asked_for_in_the_chart_that_held_there():
    run = ds.solve(pendulum(), 3.0, SWING, formulation=ds.NullSpace())
    whole = ds.solve(pendulum(), 3.0, SWING)
    for time in (0.0, 0.7, 1.9, 3.0):
        for name in ("x", "y", "x_dot", "y_dot", "rod"):
            assert run.at(time)[name] == pytest.approx(whole.at(time)[name], abs=1e-11)


@pytest.mark.slow
def test_events_are_located_and_named_as_in_any_other_formulation():
    def events(q, p):
        return [ds.Event("bottom", q.x, ds.EITHER, ds.Record())]

    one = ds.solve(pendulum(events=events), 4.0, SWING)
    other = ds.solve(pendulum(events=events), 4.0, SWING, formulation=ds.NullSpace())
    assert [event.name for event in other.events] == [event.name for event in one.events]
    for mine, theirs in zip(other.events, one.events, strict=True):
        assert mine.time == pytest.approx(theirs.time, abs=1e-12)
        assert mine.detail["y"] == pytest.approx(theirs.detail["y"], abs=1e-12)


def test_work_is_metered_along_the_charts():
    """A damper takes what the pendulum loses: energy minus work stays where it was."""
    q = ds.coordinates(x="m", y="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        force={"x": -0.3 * q.dot.x, "y": -0.3 * q.dot.y},
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 1)],
    )
    run = ds.solve(system, 4.0, SWING, formulation=ds.NullSpace())
    whole = ds.solve(system, 4.0, SWING)
    np.testing.assert_allclose(run["work"], whole["work"], atol=1e-12)
    assert run["work"][-1] < -1.0
    assert run.drift["energy"].max_relative < 1e-13


@pytest.mark.parametrize(
    ("system", "start", "rest", "match"),
    [
        (wheel(), {}, {}, "ideal reactions"),
        (four_bar_windows(1), four_bar_state(1), {"rank_loss": "pass"}, "lose rank"),
    ],
)
def test_what_has_no_null_space_of_its_own_is_refused(system, start, rest, match):
    from tests.systems import wheel_state

    start = start or wheel_state(0.2, 1.2)
    with pytest.raises(UnsupportedError, match=match):
        ds.solve(system, 1.0, start, formulation=ds.NullSpace(), **rest)


def test_a_single_state_without_constraints_is_its_own_independent_velocity():
    """x' = -x t from 1: exp(-t^2 / 2)."""
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": -x.x * ds.time})
    solver = ds.Dop853(rtol=1e-12, atol=1e-15)
    run = ds.solve(
        system, 2.0, {"x": 1.0}, formulation=ds.NullSpace(), solver=solver, at=[1.0, 2.0]
    )
    np.testing.assert_allclose(run["x"], np.exp([-0.5, -2.0]), rtol=1e-10)


def test_too_few_independent_velocities_are_refused_with_their_number():
    q = ds.coordinates(x="m", y="m", z="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        goals=[ds.Holonomic("plane", q.z)],
        independent={"along": q.dot.x},
    )
    with pytest.raises(PosingError, match=r"1 independent velocities .* leave 2 of 3"):
        ds.solve(system, 1.0, formulation=ds.NullSpace())


def test_independent_velocities_must_be_linear_in_the_velocities():
    q = ds.coordinates(x="m", y="m")
    with pytest.raises(PosingError, match="'square' must be linear"):
        ds.MechanicalSystem(
            q,
            kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
            goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 1)],
            independent={"square": q.dot.x**2},
        )


@pytest.mark.slow
def test_the_growth_of_errors_is_that_of_the_same_motion_in_all_states():
    """A double pendulum from on high is chaotic, however it is written."""
    wild = chain_state([2.8, 3.0])
    runs = [
        ds.solve(chain(2), 20.0, wild, formulation=formulation, verify=True)
        for formulation in (ds.Feedback(), ds.NullSpace())
    ]
    times = [run.verification.lyapunov_time for run in runs]
    assert None not in times
    assert times[0] == pytest.approx(times[1], rel=0.3)


def test_a_rate_of_a_constraint_that_holds_exactly_is_refused():
    dynamics = sleigh().dynamics
    with pytest.raises(UnsupportedError, match="'blade' has no meaning in null-space"):
        ds.NullSpace(rates={"blade": 10.0}).chosen_rates(dynamics, 10.0)
    assert ds.NullSpace(rates={"blade": None}).chosen_rates(dynamics, 10.0)["blade"] is None


@pytest.mark.slow
def test_a_run_ends_in_the_chart_in_which_constraints_lost_rank():
    """A parallelogram that falls flat: what follows would be one new chart after the other."""
    system, start = four_bar_windows(1), four_bar_state(1)
    run = ds.solve(system, 4.0, start, formulation=ds.NullSpace(), solver=ds.Cvodes())
    assert run.outcome is ds.Outcome.DEGENERATE
    assert run.end_state["x_0"] == pytest.approx(run.at(run.end_time)["x_0"], abs=0.0)
    samples = np.linspace(0.0, 4.0, 1001)
    assert run.times[-1] == run.end_time
    np.testing.assert_array_equal(run.times[:-1], samples[samples < run.end_time])
    lengths = np.hypot(run["x_0"], run["y_0"])
    assert np.max(np.abs(lengths - 1.0)) < 1e-6
    again = [note for note in run.description["notes"] if "chosen anew" in note]
    assert again == ["independent velocities chosen anew 1 times"]


@pytest.mark.slow_rows("3")
@pytest.mark.parametrize("links", [0, 1, 3])
def test_a_chart_begins_with_a_volume_of_one(links):
    """What is chosen by numbers is what the event measures by symbols."""
    system, start = oscillator(), {"x": 1.0}
    if links:
        system, start = chain(links), chain_state([0.4, -1.0, 2.0][:links])
    prepared = prepare(system, Request(5.0, initial=start, formulation=ds.NullSpace()))
    guards = prepared.problem.guards(0.0, prepared.initial, prepared.values)
    assert float(np.asarray(guards).ravel()[-1]) == pytest.approx(0.9, abs=1e4 * EPSILON)


@pytest.mark.slow
@pytest.mark.slow_rows("solver0")
@pytest.mark.parametrize("solver", [ds.RadauIIA(1e-8, 1e-10), ds.solvers.SundaeCvode(1e-9, 1e-11)])
def test_solvers_differentiate_equations_in_independent_velocities(solver):
    """So large a chain that solvers factorise equations, which in all states are other ones."""
    case = ds.problem("pendulum-chain").case()
    reference = case.solve(0.5, at=[0.5])
    run = case.solve(0.5, at=[0.5], formulation=ds.NullSpace(), solver=solver)
    for name, value in reference.end_state.items():
        assert run.end_state[name] == pytest.approx(value, rel=1e-5, abs=1e-5)

"""Steps are held against the equations: what sleeps at the ends of a step is found within it."""

import math
from unittest.mock import patch

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.solvers import step_checks
from daesolve.core.solvers.segment import Segment
from daesolve.core.solvers.step_checks import StepChecks
from daesolve.core.solvers.unresolved_terms import BRANCHES, unresolved_terms
from daesolve.ensembles.batches import run_batch
from tests.systems import WITHOUT_ASSIMULO, oscillator

SOLVERS = ["taylor", "dop853", "lsoda", "radau", "cvodes"]
BLOW = math.sqrt(math.pi)
"""The momentum of a Gaussian of height 1 / w and width w."""


def point(force, potential=lambda x: 0, **more) -> ds.MechanicalSystem:
    """Mass 1 on a line; force (t, x, v)."""
    q = ds.coordinates(x="m")
    pushed = {"x": force(ds.time, q.x, q.dot.x)} if force else {}
    return ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=potential(q.x), force=pushed, **more
    )


def gaussian(t, centre: float, width: float):
    return ca.exp(-(((t - centre) / width) ** 2)) / width


def moved(system: ds.MechanicalSystem, until: float, **options) -> ds.Trajectory:
    run = ds.solve(system, until, **options)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    return run


# name: force, until, start, state at the end, its value
SLEEPING = {
    "logistic in time, from rest": (
        lambda t, x, v: 1 / (1 + ca.exp(-200 * (t - 2))), 10.0, {}, "x_dot", 8.0,
    ),
    "blow of a millisecond": (lambda t, x, v: gaussian(t, 2.0, 1e-3), 10.0, {}, "x", 8.0 * BLOW),
    "two blows in one step": (
        lambda t, x, v: gaussian(t, 2.0, 1e-3) + gaussian(t, 2.5, 2e-3),
        10.0, {}, "x", 15.5 * BLOW,
    ),
    "blow of a microsecond late in a long run": (
        lambda t, x, v: gaussian(t, 137.0, 1e-6), 1000.0, {}, "x_dot", BLOW,
    ),
    "sech squared": (
        lambda t, x, v: 100 / ca.cosh(100 * (t - 3)) ** 2, 10.0, {}, "x", 14.0,
    ),
    "window of two logistics": (
        lambda t, x, v: 100 / (1 + ca.exp(200 * (2 - t))) / (1 + ca.exp(200 * (t - 2.5))),
        3.5, {}, "x_dot", 50.0,
    ),
    "difference of error functions": (
        lambda t, x, v: ca.erf(1e3 * (t - 2)) - ca.erf(1e3 * (t - 2.1)), 5.0, {}, "x_dot", 0.2,
    ),
    "bump in the place": (
        lambda t, x, v: ca.exp(-(((x - 2) / 1e-3) ** 2)) * 1e3,
        10.0, {"x_dot": 1.0}, "x_dot", math.sqrt(1 + 2 * BLOW),
    ),
    "super-Gaussian": (
        lambda t, x, v: ca.exp(-(((t - 3) / 0.5) ** 8)), 10.0, {}, "x_dot", math.gamma(1 + 1 / 8),
    ),
}  # fmt: skip


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("name", SLEEPING)
@pytest.mark.parametrize("solver", ["taylor", "dop853"])
def test_a_term_that_sleeps_where_steps_begin_is_woken(name: str, solver: str) -> None:
    force, until, start, state, value = SLEEPING[name]
    run = moved(point(force), until, initial=start, solver=solver)
    # The equations' own error at 1e-10, over motions of 10 s that a blow of rounding starts.
    assert run[state][-1] == pytest.approx(value, rel=1e-7)


@pytest.mark.slow_rows("radau")
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_sees_a_blow_between_its_steps(solver: str) -> None:
    pushed = point(lambda t, x, v: gaussian(t, 2.0, 1e-3) - x)
    run = moved(pushed, 10.0, initial={"x": 1.0}, solver=solver)
    # The blow's momentum, reduced by the oscillation during it: exp(-w^2 / 4).
    blow = BLOW * math.exp(-2.5e-7)
    late = run.times > 2.01
    exact = np.cos(run.times) + np.where(late, blow * np.sin(run.times - 2.0), 0.0)
    calm = np.abs(run.times - 2.0) > 0.01
    assert np.max(np.abs(run["x"] - exact)[calm]) < 1e-6


@pytest.mark.slow
@pytest.mark.slow_rows("cvodes", "idas", "sundae-cvode", "lsoda")
@pytest.mark.parametrize("solver", ["cvodes", "idas", "lsoda", "dop853", "sundae-cvode"])
def test_none_of_ten_blows_is_passed_over(solver: str) -> None:
    """The first may wake up so late within a step that it does not at either end of the step."""
    times = [0.37 + 0.3511 * number for number in range(10)]
    pushed = point(lambda t, x, v: sum(gaussian(t, time, 1e-3) for time in times))
    options = {"formulation": "index-1"} if solver == "idas" else {}
    run = moved(pushed, 4.0, solver=solver, **options)
    assert run["x_dot"][-1] == pytest.approx(10 * BLOW, rel=1e-7)


@pytest.mark.slow
def test_a_block_ends_where_many_steps_have_been_taken_again(monkeypatch) -> None:
    monkeypatch.setattr(step_checks, "MOST_RETAKEN", 3)
    times = [0.137 + 0.03511 * number for number in range(30)]
    pushed = point(lambda t, x, v: sum(gaussian(t, time, 1e-4) for time in times))
    run = moved(pushed, 4.0, solver="cvodes")
    assert run["x_dot"][-1] == pytest.approx(30 * BLOW, rel=1e-6)


@pytest.mark.parametrize(
    "solver",
    [
        "cvodes",
        pytest.param(
            "assimulo-cvode",
            marks=pytest.mark.skipif(WITHOUT_ASSIMULO, reason="Assimulo is not installed"),
        ),
    ],
)
def test_what_the_foot_of_a_blow_does_is_no_size_of_a_state(solver: str) -> None:
    """A short run meets momenta of 1e-180, by which states would be divided."""
    times = [1.0344187, 2.08651275, 4.30565593, 13.28936214]
    pushed = point(lambda t, x, v: sum(gaussian(t, time, 1.822e-3) for time in times))
    run = moved(pushed, 16.39783146898916, solver=solver)
    assert run["x_dot"][-1] == pytest.approx(len(times) * BLOW, rel=1e-6)


# force, momentum after 4 s, place after 4 s
OVERFLOWING = {
    "sech squared": (lambda t, x, v: 50 / ca.cosh(500 * (t - 2)) ** 2, 0.2, 0.4),
    "sech": (lambda t, x, v: 500 / math.pi / ca.cosh(500 * (t - 2)), 1.0, 2.0),
    "logistic that rises": (
        lambda t, x, v: 2 / (1 + ca.exp(-300 * (t - 2))), 4.0, 4 + (math.pi / 300) ** 2 / 3,
    ),
    "logistic that falls": (
        lambda t, x, v: 2 / (1 + ca.exp(300 * (t - 2))), 4.0, 12 - (math.pi / 300) ** 2 / 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OVERFLOWING)
def test_what_overflows_in_a_series_but_not_in_the_rate_is_no_obstacle(name: str) -> None:
    force, momentum, place = OVERFLOWING[name]
    run = moved(point(force), 4.0, solver="taylor")
    assert run["x_dot"][-1] == pytest.approx(momentum, abs=1e-12)
    assert run["x"][-1] == pytest.approx(place, abs=1e-12)


def test_between_resets_overflows_are_no_obstacle_either() -> None:
    q = ds.coordinates(x="m")
    floor = ds.Event("floor", q.x, ds.FALLING, ds.Reset({"x_dot": -q.dot.x}))
    # A blow of 1 after 0.75 s, as the ball rises; the floor is met after 0.5 s.
    ball = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=10 * q.x,
        force={"x": 1000 / ca.cosh(2000 * (ds.time - 0.75)) ** 2},
        events=[floor],
    )
    run = moved(ball, 1.0, initial={"x": 1.25}, solver="taylor")
    assert run["x"][-1] == pytest.approx(1.25 + 0.25, abs=1e-11)


@pytest.mark.slow
def test_what_overflows_in_the_rate_as_well_fails() -> None:
    run = ds.solve(point(lambda t, x, v: ca.exp(1000 * (t - 2))), 4.0, solver="taylor")
    assert run.outcome is ds.Outcome.FAILED
    # Not even where a small factor stands beside it is an exponential held within bounds.
    small = ds.solve(point(lambda t, x, v: 1e-300 * ca.exp(600 * t)), 1.3, solver="taylor")
    exact = 1e-300 * math.expm1(600 * 1.14) / 600
    assert small.outcome is ds.Outcome.FAILED or small["x_dot"][-1] > exact


def test_a_high_power_turns_the_motion_back() -> None:
    # x'' = -(x/2)^199: energy x'^2/2 + (x/2)^200 / 100 is that of the start, and so is the speed.
    run = moved(point(lambda t, x, v: -((x / 2) ** 199)), 3.0, initial={"x_dot": 1.0})
    assert run["x_dot"][-1] == pytest.approx(-1.0, abs=1e-10)


def test_drag_that_begins_at_a_place_stops_the_motion() -> None:
    # v dv/dx = -(1 + tanh(20 (x - 2))) v / 2: v falls by log(1 + exp(40 (x - 2))) / 40.
    run = moved(
        point(lambda t, x, v: -(1 + ca.tanh(20 * (x - 2))) * v / 2), 10.0, initial={"x_dot": 1.5}
    )
    fallen = math.log1p(math.exp(40 * (run["x"][-1] - 2))) / 40
    assert run["x_dot"][-1] == pytest.approx(1.5 - fallen, abs=1e-12)
    assert run["x"][-1] < 3.5


def test_a_branch_is_not_continued() -> None:
    # |x - 2| as a root that CasADi leaves alone: an oscillator, then a hyperbola.
    run = moved(point(lambda t, x, v: -(((x - 2) ** 4) ** 0.25)), 3.0, initial={"x_dot": 3.0})
    # x - 2 = -2 cosh t + 3 sinh t up to where tanh t = 2/3, with speed sqrt(5); then sqrt(5) sin.
    met = math.atanh(2 / 3)
    assert run["x"][-1] == pytest.approx(2 + math.sqrt(5) * math.sin(3.0 - met), abs=1e-9)


@pytest.mark.slow_rows("cvodes")
@pytest.mark.parametrize("solver", ["taylor", "dop853", "cvodes"])
def test_a_guard_that_dips_for_an_instant_stops_the_motion(solver: str) -> None:
    guard = 0.5 - ca.exp(-(((ds.time - 2.345) / 1e-4) ** 2))
    stopping = point(None, lambda x: x**2 / 2, events=[ds.Event("dip", guard, then=ds.Stop())])
    run = ds.solve(stopping, 10.0, initial={"x": 1.0}, solver=solver)
    assert run.end_time == pytest.approx(2.345 - 1e-4 * math.sqrt(math.log(2)), abs=1e-12)


def hat(u, width: float):
    """1 at u = 0, nothing from `width` on."""
    return ca.fmax(0, 1 - ca.fabs(u) / width)


# of a body that goes along at speed 1: t = x
HIDDEN_KINKS = {
    "a hat in space": lambda t, x: 0.5 - hat(x - 0.3, 1e-3),
    "a hat in time": lambda t, x: 0.5 - hat(t - 0.3, 1e-3),
    "a hat in both": lambda t, x: 0.5 - hat(t - 0.3, 1e-3) + 0 * x,
    "a capped parabola": lambda t, x: 0.5 - ca.fmax(0, 1 - 0.5 * ((x - 0.3) / 5e-4) ** 2),
    "two ramps": lambda t, x: 0.5 - 2e3 * ca.fmin(ca.fmax(0, x - 0.29925), ca.fmax(0, 0.30075 - x)),
    "a hat before a plain zero": lambda t, x: ca.fmin(0.5 - hat(x - 0.3, 1e-3), 1.0 - x),
}


@pytest.mark.long_beyond(7)
@pytest.mark.default_rows(2)
@pytest.mark.slow_rows(
    "a hat before a plain zero-cvodes",
    "a hat in both-cvodes",
    "a hat in space-cvodes",
    "a hat in time-cvodes",
)
@pytest.mark.parametrize("solver", ["taylor", "dop853", "radau", "cvodes"])
@pytest.mark.parametrize("name", HIDDEN_KINKS)
def test_a_guard_whose_kinks_hide_a_dip_stops_the_motion(name: str, solver: str) -> None:
    q = ds.coordinates(x="m")
    event = ds.Event("dip", HIDDEN_KINKS[name](ds.time, q.x), ds.FALLING, ds.Stop())
    body = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, events=[event])
    run = ds.solve(body, 2.0, initial={"x_dot": 1.0}, solver=solver)
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    # Half way up each flank; the methods move at speed 1 to rounding of some steps.
    assert run.end_time == pytest.approx(0.2995, abs=1e-12)


@pytest.mark.long_rows("cvodes")
@pytest.mark.slow_rows("dop853", "radau")
@pytest.mark.parametrize("solver", ["taylor", "dop853", "radau", "cvodes"])
def test_every_zero_of_hats_is_recorded_once(solver: str) -> None:
    q = ds.coordinates(x="m")
    guard = 0.5 - hat(q.x - 0.3, 1e-3) - hat(q.x - 1.1, 1e-6)
    body = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, events=[ds.Event("dip", guard, ds.EITHER, ds.Record())]
    )
    run = ds.solve(body, 2.0, initial={"x_dot": 1.0}, solver=solver)
    zeros = [0.2995, 0.3005, 1.1 - 5e-7, 1.1 + 5e-7]
    assert [event.time for event in run.events] == pytest.approx(zeros, abs=1e-12)


def test_between_resets_steps_are_checked_too() -> None:
    q = ds.coordinates(x="m")
    floor = ds.Event("floor", q.x, ds.FALLING, ds.Reset({"x_dot": -q.dot.x}))
    ball = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=10 * q.x,
        force={"x": gaussian(ds.time, 1.0, 1e-4)},
        events=[floor],
    )
    run = moved(ball, 1.3, initial={"x": 1.25})
    # It falls for 0.5 s, is at the top again at 1 s, and is thrown up from there.
    assert run["x"][-1] == pytest.approx(1.25 + BLOW * 0.3 - 5 * 0.3**2, abs=1e-9)


@pytest.mark.slow
def test_the_lanes_of_a_batch_are_checked() -> None:
    def kicked() -> ds.MechanicalSystem:
        return point(lambda t, x, v: gaussian(t, 2.0, 1e-3))

    problem = ds.Problem(
        "kicked", title="A blow", models={"plain": kicked}, cases=[ds.Case("one", until=5.0)]
    )
    for run in run_batch(problem.case(), [{}, {"x_dot": 1.0}], lanes=2):
        assert run["x_dot"][-1] - run["x_dot"][0] == pytest.approx(BLOW, rel=1e-9)


def test_backwards_terms_are_woken_too() -> None:
    run = ds.solve(
        point(lambda t, x, v: gaussian(t, 2.0, 1e-3)), 0.0, {"x_dot": BLOW}, start_time=5.0
    )
    assert run["x_dot"][-1] == pytest.approx(0.0, abs=1e-9)


def test_a_motion_that_was_right_keeps_its_bits() -> None:
    system = oscillator()
    checked = ds.solve(system, 50.0, {"x": 1.0})
    with patch.object(Segment, "_rejected", lambda *given: None):
        unchecked = ds.solve(system, 50.0, {"x": 1.0})
    assert np.array_equal(checked["x"], unchecked["x"])


@pytest.mark.slow
def test_friction_of_tanh_is_followed_through_its_step() -> None:
    # Once it turns, tanh goes from one to minus one within less than a step of the oscillation.
    system = point(lambda t, x, v: -x - 0.1 * ca.tanh(v / 0.01))
    runs = [
        moved(system, 10.0, initial={"x": 1.0}, solver=solver) for solver in ("taylor", "radau")
    ]
    assert abs(runs[0]["x"][-1] - runs[1]["x"][-1]) < 1e-9


def test_friction_that_steps_resolve_is_not_doubted() -> None:
    system = point(lambda t, x, v: -x - 0.1 * ca.tanh(v / 0.3))
    checked = moved(system, 50.0, initial={"x": 1.0})
    with patch.object(Segment, "_rejected", lambda *given: None):
        unchecked = moved(system, 50.0, initial={"x": 1.0})
    assert np.array_equal(checked["x"], unchecked["x"])


def rates(*outputs) -> ca.Function:
    t, x, p = ds.time, ca.SX.sym("x", 2), ca.SX.sym("p")
    column = [output(t, x, p) for output in outputs]
    return ca.Function("rates", [t, x, p], [ca.densify(ca.vertcat(*column))])


def test_what_cannot_hide_is_not_looked_for() -> None:
    assert (
        unresolved_terms(rates(lambda t, x, p: ca.sin(x[0]) * x[1] ** 3 / (2 + x[0] ** 2))) is None
    )
    assert unresolved_terms(rates(lambda t, x, p: ca.exp(p) * x[0] + ca.tanh(p))) is None


def test_what_divides_may_hide_from_the_fourth_power_on() -> None:
    slow = rates(
        lambda t, x, p: 1 / (1 + x[0] ** 2), lambda t, x, p: x[1] / ca.sqrt(x[0] ** 2 + p) ** 3
    )
    found = unresolved_terms(slow)
    assert found is not None
    assert set(found.kinds) == {BRANCHES}
    for divisor in (
        lambda x: (1 + x[0] ** 2) ** 2,
        lambda x: 1 + x[0] ** 4,
        lambda x: (1 + x[0] ** 2) * (2 + x[1] ** 2),
        lambda x: ca.sqrt(1 + x[0] ** 2) ** 4,
        lambda x: 1 / (1 / (1 + x[0] ** 2)) ** 2,
    ):
        assert unresolved_terms(rates(lambda t, x, p, d=divisor: p / d(x))) is not None
        assert unresolved_terms(rates(lambda t, x, p, d=divisor: p * d(x) ** -1.0)) is not None


def test_dividing_again_and_again_by_one_value_is_a_high_power_and_by_others_is_none() -> None:
    def divided(divisors) -> ca.Function:
        return rates(lambda t, x, p: p / divisors(x)[0] / divisors(x)[1])

    assert unresolved_terms(divided(lambda x: [1 + x[0] ** 2, 1 + x[0] ** 2])) is not None
    assert unresolved_terms(divided(lambda x: [1 + x[0] ** 2, 2 + x[1] ** 2])) is None


def test_a_divisor_is_followed_once_and_the_phase_within_it_too() -> None:
    def divisor(x):
        return (1 + 100 * ca.sin(3 * x[0]) ** 2) ** 2

    function = rates(lambda t, x, p: p / divisor(x), lambda t, x, p: ca.sin(x[1]) / divisor(x))
    hidden = unresolved_terms(function)
    assert hidden is not None
    found = np.asarray(hidden.arguments(0.3, [0.5, 1.2], 2.0)).ravel()
    exact = -2 * math.log(1 + 100 * math.sin(1.5) ** 2)
    assert found == pytest.approx([exact, 1.5], rel=1e-15)
    assert hidden.turns.tolist() == [False, True]


def test_terms_held_at_their_values_leave_the_rate_as_it_is() -> None:
    function = rates(
        lambda t, x, p: p / (1 + ca.exp(-x[0])), lambda t, x, p: ca.tanh(t) * x[1] ** 20
    )
    hidden = unresolved_terms(function)
    assert hidden is not None
    given = 0.3, [0.5, 1.2], 2.0
    terms = np.asarray(hidden.nodes(*given)).ravel()
    held = hidden.held(0.3, [0.5, 1.2], [2.0, *terms])
    assert np.array_equal(np.asarray(held), np.asarray(function(*given)))


def test_what_no_step_agrees_with_fails_with_the_time(monkeypatch) -> None:
    def excess(checks, course, steps, *given) -> np.ndarray:
        return np.full(len(steps), 2.0)

    monkeypatch.setattr(StepChecks, "_excess", excess)
    monkeypatch.setattr(StepChecks, "_rounding", lambda checks, course, steps: 0.0 * steps)
    run = ds.solve(oscillator(), 1.0, {"x": 1.0})
    assert run.outcome is ds.Outcome.FAILED
    assert "no step agrees with the equations" in run.message


@pytest.mark.parametrize("drag", [2e-7, 1e-7, 5e-8])
def test_work_that_is_a_small_difference_of_large_powers_is_no_doubt(drag):
    # The work of a weak drag is what the powers of weight and inertia leave: rates of it scatter
    # by many of their own roundings.
    weak = point(lambda t, x, v: -drag * v, lambda x: x**2 / 2)
    run = moved(weak, 100.0, initial={"x": 1.0, "x_dot": 1.0}, solver="taylor")
    decay, pace = drag / 2.0, math.sqrt(1.0 - drag**2 / 4.0)
    sine = (1.0 + decay) / pace * math.sin(pace * 100.0)
    assert run["x"][-1] == pytest.approx(
        math.exp(-decay * 100.0) * (math.cos(pace * 100.0) + sine), abs=1e-13
    )


def test_what_divides_in_time_may_hide_from_lower_powers_on_than_what_divides_by_states():
    assert unresolved_terms(rates(lambda t, x, p: p / (1.0 + x[0] ** 2))) is None
    assert unresolved_terms(rates(lambda t, x, p: x[0] / (p + t))) is None
    assert unresolved_terms(rates(lambda t, x, p: p / (1.0 + t**2))) is not None
    assert (
        unresolved_terms(rates(lambda t, x, p: p / ca.sqrt(1.0 + (t - x[0]) ** 2) ** 3)) is not None
    )
    assert unresolved_terms(rates(lambda t, x, p: p / ca.cosh(x[0]) ** 2)) is not None

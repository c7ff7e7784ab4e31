"""Taylor's method, by the kernel and by heyoka."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.run.integration.late_guards import solve_through
from daesolve.core.run.integration.run_state import fresh_state, unobserved
from daesolve.core.solvers import State, Status
from tests.systems import oscillator, pendulum, prepared_run, projectile

FUNCTIONS = [
    ca.sin, ca.cos, ca.tan, ca.asin, ca.acos, ca.atan, ca.sinh, ca.cosh, ca.tanh, ca.asinh,
    ca.atanh, ca.exp, ca.log, ca.sqrt, ca.erf, ca.log1p, ca.expm1, lambda a: ca.acosh(1 + a),
    lambda a: ca.atan2(a, 2 * a), lambda a: ca.hypot(a, 2), lambda a: a**3, lambda a: a**-2,
    lambda a: a**1.5, lambda a: a**a, lambda a: 1 / a, lambda a: (2 * a) ** 2 - a,
]  # fmt: skip


@pytest.mark.default_rows(4)
@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_every_operation_integrates_to_its_primitive(number):
    """x' = 1, y' = f(x) from x = 0.2 to 0.7 against Gauss's rule of high order."""
    s = ds.states(x="", y="")
    function = FUNCTIONS[number]
    system = ds.ControlSystem(s, {"x": ca.SX(1), "y": function(s.x)})
    run = ds.solve(system, 0.5, {"x": 0.2}, solver=ds.Taylor())
    nodes, weights = np.polynomial.legendre.leggauss(40)
    x = ca.SX.sym("x")
    rate = ca.Function("f", [x], [function(x)])
    right = 0.25 * sum(
        w * float(rate(0.45 + 0.25 * n)) for n, w in zip(nodes, weights, strict=True)
    )
    assert run.end_state["y"] == pytest.approx(right, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("power", [2, 3, 4, 7])
def test_whole_powers_pass_through_zero(power):
    """heyoka's own pow(x, 3) is NaN at x = 0; y' = x^n from x = -1 to 1."""
    s = ds.states(x="", y="")
    system = ds.ControlSystem(s, {"x": ca.SX(1), "y": s.x**power})
    for start in (-1.0, 0.0):
        run = ds.solve(system, 1.0 - start, {"x": start}, solver=ds.Taylor())
        right = (1.0 - start ** (power + 1)) / (power + 1)
        assert run.end_state["y"] == pytest.approx(right, rel=1e-14, abs=1e-15)


def test_a_symbolic_whole_power_is_refused_or_right_at_zero():
    s = ds.states(x="", y="")
    p = ds.parameters(power=3.0)
    system = ds.ControlSystem(s, {"x": ca.SX(1), "y": s.x**p.power}, p)
    run = ds.solve(system, 1.0, {"x": 0.0}, solver=ds.Taylor())
    if run.outcome is ds.Outcome.COMPLETED:
        assert run.end_state["y"] == pytest.approx(0.25, rel=1e-14)


def test_parameters_are_numbers_of_a_run_and_nothing_is_compiled_again():
    system = pendulum()
    first = ds.solve(system, 1.0, {"x": -1.0})
    second = ds.solve(system, 1.0, {"x": -1.0}, parameters={"gravity": 1.62, "mass": 5.0})
    assert second.statistics.compile_cached
    assert second.statistics.compile_seconds == 0.0
    assert second["x"][-1] != first["x"][-1]
    third = ds.solve(system, 1.0, {"x": -1.0})
    assert third["x"][-1] == first["x"][-1]


@pytest.mark.slow_rows("compact")
@pytest.mark.parametrize("code", ["compact", "unrolled"])
def test_both_kinds_of_code_are_at_rounding_level(code):
    run = ds.solve(
        pendulum(), 10.0, {"x": -1.0}, solver=ds.Taylor(code=code, optimisation=0), at=[10.0]
    )
    # shared reference values, pendulum_IFToMM_A01: 40 digits, parameters as decimals
    assert run["x"][0] == pytest.approx(-0.27508746257611686005, abs=1e-13)
    assert any(f"{code} code" in note for note in run.description["notes"])


def test_the_automatic_choice_of_engine_is_reported():
    run = ds.solve(oscillator(), 1.0, {"x": 1.0})
    assert any("by the kernel" in note for note in run.description["notes"])


@pytest.mark.parametrize(
    "settings", [{"tolerance": 1e-31}, {"tolerance": 0.1}, {"code": "fast"}, {"optimisation": 4}]
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ds.DaesolveError, match="taylor"):
        ds.Taylor(**settings)


def test_a_higher_order_is_used_below_machine_epsilon():
    run = ds.solve(oscillator(), 100.0, {"x": 1.0}, solver=ds.Taylor(tolerance=1e-20), at=[100.0])
    assert run["x"][0] == pytest.approx(np.cos(100.0), abs=3e-15)


def test_a_segment_leaves_no_trace_in_the_next():
    """The compiled integrator is shared: two runs in turn give what each gives alone."""
    system = projectile(events=lambda q: [ds.Event("lands", q.y, ds.FALLING, ds.Stop())])
    prepared = prepared_run(
        system, 20.0, {"y": 1.0, "y_dot": 10.0}, solver=ds.Taylor(),
        formulation=ds.Feedback(rates={"energy": None}),
    )  # fmt: skip
    solver, problem = prepared.solver, prepared.problem

    def land(height):
        state = State(0.0, np.array([height, 10.0]), prepared.values)
        return solver.segment(problem, state, 20.0, np.empty(0), lambda block: None)

    first = land(1.0)
    other = land(3.0)
    again = land(1.0)
    assert first.time == again.time < other.time
    assert len(first.hits) == len(again.hits) == 1
    assert np.array_equal(first.state, again.state)


def test_a_control_that_acts_through_a_factor_is_no_obstacle():
    """x' = (2 + sin x) u - x, driven to x = 1 at 3/s: no absolute value of the factor is needed."""
    s = ds.states(x="")
    u = ds.reactions(push="")
    system = ds.ControlSystem(
        s,
        {"x": (2 + ca.sin(s.x)) * u.push - s.x},
        controls=u,
        goals=[ds.Goal("one", s.x - 1, ideal=False)],
    )
    run = ds.solve(system, 1.0, {"x": 0.0}, default_rate=3.0, solver=ds.Taylor())
    assert run["x"][-1] == pytest.approx(1 - np.exp(-3.0), rel=1e-14)


def test_a_body_in_quasi_velocities_is_no_obstacle():
    from tests.systems import free_body

    start = {"w": 1.0, "i": 0.0, "j": 0.0, "k": 0.0, "wx": 0.6, "wy": 0.0, "wz": 2.0}
    run = ds.solve(free_body(), 1.0, start, solver=ds.Taylor())
    assert run.outcome is ds.Outcome.COMPLETED


def test_a_run_by_heyoka_does_not_depend_on_the_runs_before_it():
    """From a guard at zero, the first step is bounded by a step of the same run."""
    q = ds.coordinates(x="m")
    hit = ds.Event("hit", q.x, ds.FALLING, ds.Reset({"x_dot": -0.9 * q.dot.x}))
    energies = {"kinetic": q.dot.x**2 / 2, "potential": q.x**2 / 2 + q.x}
    ball = ds.MechanicalSystem(q, **energies, events=[hit])
    solver, start = ds.Taylor(engine="heyoka"), {"x": 0.0, "x_dot": 1.0}
    first, other, again = (ds.solve(ball, until, start, solver=solver) for until in (3.0, 5.0, 3.0))
    assert len(other.events) > len(first.events) > 0
    assert again.end_state == first.end_state
    assert again.statistics.steps == first.statistics.steps
    assert [event.time for event in again.events] == [event.time for event in first.events]


def test_a_stretch_is_integrated_through_pauses_to_its_end():
    """Where a guard turns beside zero, the kernel pauses at the next guard of time."""
    q, d = ds.coordinates(x="m"), ds.discrete(count=0.0)
    count = ds.Reset({"count": d.count + 1})
    graze = ds.Event("graze", q.x + 1 + 1e-15, ds.FALLING, count)
    tick = ds.Event("tick", ds.time - 5.0, ds.FALLING, count)
    energies = {"kinetic": q.dot.x**2 / 2, "potential": q.x**2 / 2}
    swing = ds.MechanicalSystem(q, **energies, discrete=d, events=[graze, tick])
    prepared = prepared_run(swing, 8.0, {"x": 1.0}, solver=ds.Taylor(engine="kernel"))
    start = State(0.0, prepared.initial, prepared.values)
    times = np.array([1.6, 4.5, 7.0])
    paused = prepared.integrated(start, 7.0, times, unobserved)
    assert paused.status is Status.PAUSED
    assert paused.time == 5.0
    end = solve_through(fresh_state(prepared, None), start, 7.0, times, unobserved)
    assert (end.status, end.time) == (Status.REACHED, 7.0)
    assert end.samples[:, 0] == pytest.approx(np.cos(times), abs=1e-14)
    assert end.steps > paused.steps


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows(
    "0.1-state--0.7-heyoka", "0.1-time--0.7-heyoka", "0.1-time-0.0-heyoka", "0.1-state-0.0-heyoka"
)
@pytest.mark.parametrize(("begin", "engine"), [(0.0, "heyoka"), (-0.7, "heyoka"), (0.0, "kernel")])
@pytest.mark.parametrize(
    ("period", "what"), [(0.1, "state"), (0.2, "state"), (0.125, "turn"), (0.1, "time")]
)
def test_zeros_where_segments_begin_and_end_count_once_and_in_their_sense(
    period, what, begin, engine
):
    """A tick at each period, of which many fall on ends of segments, to rounding on either side.

    The run ends half a period after the last one, where the guard passes in the other sense.
    """
    q, d, w = ds.coordinates(x="m", y="m"), ds.discrete(count=0.0), 2 * math.pi / period
    guard = {"state": ca.sin(w * q.x), "turn": q.y, "time": ca.sin(w * ds.time)}[what]
    tick = ds.Event("tick", guard, ds.RISING, ds.Reset({"count": d.count + 1}))
    energies = {"kinetic": (q.dot.x**2 + q.dot.y**2) / 2, "potential": w**2 * q.y**2 / 2}
    system = ds.MechanicalSystem(q, **energies, discrete=d, events=[tick])
    until, start = begin + 20.0 + period / 2, {"x": 0.0, "x_dot": 1.0, "y": 0.0, "y_dot": w}
    run = ds.solve(system, until, start, start_time=begin, solver=ds.Taylor(engine=engine))
    times = begin + period * np.arange(round(20.0 / period) + 1)
    assert [event.time for event in run.events] == pytest.approx(times, abs=1e-12)
    assert run.end_values["count"] == len(times)


@pytest.mark.parametrize("period", [0.2, 1e-3])
@pytest.mark.parametrize("speed", [0.0, 1.0])
def test_a_guard_that_its_own_event_moves_on_is_no_zero_that_was_met_before(speed, period):
    q, d = ds.coordinates(x="m"), ds.discrete(count=0.0, next=period)
    then = ds.Reset({"count": d.count + 1, "next": d.next + period})
    tick = ds.Event("tick", (q.x if speed else ds.time) - d.next, ds.RISING, then)
    cart = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, discrete=d, events=[tick])
    start = {"x": 0.0, "x_dot": speed}
    run = ds.solve(cart, 100.5 * period, start, solver=ds.Taylor(engine="heyoka"))
    assert run.end_values["count"] == 100.0

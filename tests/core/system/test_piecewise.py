"""Piecewise expressions switch modes at instants that every solver finds to rounding."""

from __future__ import annotations

import itertools
import math

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import beta

import daesolve as ds
from daesolve.errors import DegenerateStartError, PosingError

SOLVERS = ["taylor", "dop853", "cvodes", "radau", "lsoda"]
ACCURACY = {"taylor": 1e-12}
"""Relative to one; the other solvers keep 1e-10 a step."""


def body(force=0.0, **options):
    """A body of mass one on a line."""
    q = ds.coordinates(x="m")
    force = force(q) if callable(force) else force
    potential = options.pop("potential", lambda q: 0.0)(q)
    return ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=potential, force={"x": force}, **options
    )


def oscillated(x, v, stiffness, span, push=0.0):
    """Return state and speed of x'' = -stiffness x + push after a time."""
    rate = math.sqrt(stiffness)
    middle, angle = push / stiffness, rate * span
    cosine, sine = math.cos(angle), math.sin(angle)
    return (
        middle + (x - middle) * cosine + v / rate * sine,
        -(x - middle) * rate * sine + v * cosine,
    )


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_slack_cable_pulls_when_it_is_taut(solver):
    """x'' = -4 max(x, 0): half periods of pi / 2 on the cable, straight flights between."""
    run = ds.solve(body(lambda q: -4.0 * ca.fmax(q.x, 0.0)), 2.0, {"x": 1.0}, solver=solver)
    # Taut for a quarter period pi / 4, then x = -2 (t - pi / 4).
    expected = -2.0 * (2.0 - math.pi / 4.0)
    assert run.end_state["x"] == pytest.approx(expected, abs=ACCURACY.get(solver, 1e-8))
    (event,) = run.events
    assert event.name == "force_x_switch_1"
    assert event.time == pytest.approx(math.pi / 4.0, abs=ACCURACY.get(solver, 1e-8))
    assert run.description["solver"] == solver


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("radau")
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_window_of_a_millisecond_is_met(solver):
    window = ca.logic_and(ds.time > 50.0, ds.time < 50.001)
    run = ds.solve(
        body(lambda q: ca.if_else(window, 1000.0, 0.0) - q.x), 60.0, {"x": 1.0}, solver=solver
    )
    x, v = oscillated(1.0, 0.0, 1.0, 50.0)
    x, v = oscillated(x, v, 1.0, 50.001 - 50.0, 1000.0)
    x, v = oscillated(x, v, 1.0, 60.0 - 50.001)
    assert run.end_state["x"] == pytest.approx(x, abs=1e3 * ACCURACY.get(solver, 1e-10))


@pytest.mark.slow_rows("dop853")
@pytest.mark.parametrize("solver", ["taylor", "dop853"])
def test_windows_of_time_alone_are_known_beforehand_however_short(solver):
    """Where sin t > 1 - 1e-9 a force acts for 9e-5 s, sixteen times in 100 s."""
    system = body(ca.if_else(ca.sin(ds.time) > 1.0 - 1e-9, 1e4, 0.0))
    run = ds.solve(system, 100.0, {"x": 0.0}, solver=solver)
    width = 2.0 * math.acos(1.0 - 1e-9)
    assert run.event_count == 32
    # The sine's rounding moves the ends of a window by 1e-16 over its slope there, 4.5e-5.
    assert run.end_state["x_dot"] == pytest.approx(16 * 1e4 * width, rel=1e-6)


def test_a_saturated_controller_keeps_twelve_digits():
    def force(q):
        return ca.fmax(-1.0, ca.fmin(1.0, -10.0 * q.x - 2.0 * q.dot.x))

    run = ds.solve(body(force), 1.5, {"x": 1.0})
    leaves = run.events[0]
    # Until then x'' = -1: 10 (1 - t^2 / 2) - 2 t = 1.
    assert 10.0 * (1.0 - leaves.time**2 / 2.0) - 2.0 * leaves.time == pytest.approx(1.0, abs=1e-12)


def test_quadratic_drag_both_ways_by_an_absolute_value():
    """v' = -v |v| thrown either way comes to the same distance, ln(1 + t)."""
    for speed in (1.0, -1.0):
        run = ds.solve(body(lambda q: -q.dot.x * ca.fabs(q.dot.x)), 3.0, {"x_dot": speed})
        assert run.end_state["x"] == pytest.approx(speed * math.log(4.0), abs=1e-13)


@pytest.mark.default_rows(3)
@pytest.mark.parametrize(
    ("jagged", "smooth_piece", "breaks"),
    [
        (ca.floor(ds.time), lambda t: math.floor(t), 3),
        (ca.ceil(ds.time), lambda t: math.ceil(t), 3),
        (ca.fmod(ds.time, 0.75), lambda t: math.fmod(t, 0.75), 4),
        (ca.remainder(ds.time, 0.8), lambda t: math.remainder(t, 0.8), 4),
        (ca.sign(ca.sin(5.0 * ds.time)), lambda t: math.copysign(1.0, math.sin(5.0 * t)), 5),
        (ca.copysign(2.0, ca.cos(ds.time)), lambda t: math.copysign(2.0, math.cos(t)), 1),
        (ca.pw_const(ds.time, ca.DM([0.5, 2.0]), ca.DM([1, -1, 3])), None, 2),
    ],
)
def test_what_counts_steps_or_jumps_in_time_acts_piece_by_piece(jagged, smooth_piece, breaks):
    run = ds.solve(body(jagged), 3.5, {"x": 0.0})
    assert run.description["solver"] == "taylor"
    assert len({event.time for event in run.events if event.time > 0.0}) == breaks
    places = np.array(sorted({0.0, 3.5, *(event.time for event in run.events)}))
    speed = 0.0
    for low, high in itertools.pairwise(places):
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        # Gauss' rule with two nodes is exact for straight pieces.
        for node in (middle - half / math.sqrt(3.0), middle + half / math.sqrt(3.0)):
            value = ca.Function("f", [ds.time], [jagged])(node)
            assert smooth_piece is None or float(value) == pytest.approx(smooth_piece(node))
            speed += half * float(value)
    assert run.end_state["x_dot"] == pytest.approx(speed, abs=1e-12)


def test_a_potential_with_a_kink_conserves_energy_through_every_switch():
    system = body(potential=lambda q: 9.81 * q.x + 500.0 * ca.fmax(0.0, -q.x) ** 2)
    run = ds.solve(system, 20.0, {"x": 1.0})
    assert run.event_count > 20
    assert run.drift["energy"].max_relative < 1e-13


@pytest.mark.parametrize(("x", "y"), [(-1.0, 0.0), (1.0, 0.5)])
def test_a_start_that_is_given_whole_lies_on_its_own_side_of_a_kink(x, y):
    """A bead comes along the floor, or down a ramp that begins at x = 0."""
    q = ds.coordinates(x="m", y="m")
    track = ds.Holonomic("track", q.y - ca.fmax(q.x, 0.0) / 2)
    bead = ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, potential=2.5 * q.y, goals=[track]
    )
    run = ds.solve(bead, 0.5, {"x": x, "y": y, "x_dot": 0.0, "y_dot": 0.0})
    # Down a slope of 1 / 2 with g = 2.5: x'' = -g / 2 / (1 + 1 / 4) = -1.
    expected = x if x < 0.0 else x - 0.125
    assert run.end_state["x"] == pytest.approx(expected, abs=1e-13)


def test_a_bead_goes_through_a_junction_without_a_kink_and_takes_a_blow_at_one():
    q = ds.coordinates(x="m", y="m")

    def bead(height):
        return ds.MechanicalSystem(
            q,
            kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
            potential=9.81 * q.y,
            goals=[ds.Holonomic("wire", q.y - height)],
        )

    smooth = ds.solve(bead(ca.fmax(q.x, 0.0) ** 2), 3.0, {"x": 1.0})
    assert smooth.end_state["x_dot"] == pytest.approx(-math.sqrt(2.0 * 9.81), abs=1e-13)
    slope = 0.5
    kinked = ds.solve(bead(-slope * ca.fmin(q.x, 0.0)), 3.0, {"x": -1.0})
    (blow,) = kinked.events
    # Down a slope, then along the level: what was across it is lost.
    before = math.sqrt(2.0 * 9.81 * slope)
    assert kinked.end_state["x_dot"] == pytest.approx(before / math.sqrt(1.0 + slope**2), rel=1e-12)
    lost = blow.impact.kinetic_before - blow.impact.kinetic_after
    assert lost == pytest.approx(9.81 * slope * slope**2 / (1.0 + slope**2), rel=1e-12)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("formulation", ["feedback", "null-space", "projected", "index-1"])
def test_every_formulation_goes_through_switches(formulation):
    q = ds.coordinates(x="m", y="m")
    drag = ca.if_else(q.dot.x > 0.0, 0.2, 0.1) * q.dot.x
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        goals=[ds.Holonomic("tie", q.x - q.y)],
        force={"x": -q.x - drag},
    )
    run = ds.solve(system, 10.0, {"x": 1.0}, guess={"y": 1.0}, formulation=formulation)
    # 2 x'' = -x - d x', with d = 0.1 towards smaller x.
    x, v, time = 1.0, 0.0, 0.0
    for damping in (0.1, 0.2, 0.1):
        decay, rate = damping / 4.0, math.sqrt(0.5 - (damping / 4.0) ** 2)
        span = min(math.pi / rate, 10.0 - time)
        fade, c, s = math.exp(-decay * span), math.cos(rate * span), math.sin(rate * span)
        x, v = (
            fade * (x * c + (v + decay * x) / rate * s),
            fade * (v * c - (decay * v + 0.5 * x) / rate * s),
        )
        time += span
    assert run.end_state["x"] == pytest.approx(x, abs=1e-8)


def test_a_control_system_switches_as_well():
    x, u = ds.states(a="m", b="m/s"), ds.reactions(push="N")
    aim = ca.fabs(ca.sin(ds.time)) * ca.sin(ds.time)
    system = ds.ControlSystem(
        x,
        {"a": x.b, "b": u.push - ca.fabs(x.b) * x.b},
        controls=u,
        goals=[ds.Goal("aim", x.a - aim)],
    )
    run = ds.solve(system, 5.0)
    assert run.end_state["a"] == pytest.approx(abs(math.sin(5.0)) * math.sin(5.0), abs=1e-9)


def test_sensitivities_go_through_switches():
    q, p = ds.coordinates(x="m"), ds.parameters(stiffness=3.0)
    force = ca.if_else(q.x > 0.5, -p.stiffness * q.x, -q.x)
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": force})
    found = ds.analysis.sensitivity(system, until=10.0, initial={"x": 1.0}, by=["stiffness"])
    ends = [
        ds.solve(system, 10.0, {"x": 1.0}, parameters={"stiffness": 3.0 + change}).end_state
        for change in (-1e-4, 1e-4)
    ]
    slopes = [(ends[1][name] - ends[0][name]) / 2e-4 for name in ("x", "x_dot")]
    assert found.matrix[:, 0] == pytest.approx(slopes, rel=1e-6)


def test_a_stored_run_goes_on_through_switches(tmp_path):
    system = body(lambda q: ca.if_else(q.x > 0.5, -2.0 * q.x, -q.x))
    whole = ds.solve(system, 50.0, {"x": 1.0})
    ds.solve(system, 20.0, {"x": 1.0}, store=tmp_path / "run")
    longer = ds.resume(tmp_path / "run", until=50.0, source=system)
    assert longer.end_state["x"] == pytest.approx(whole.end_state["x"], abs=1e-12)
    assert [event.name for event in longer.events] == [event.name for event in whole.events]


def test_friction_that_jumps_holds_a_block_with_a_sentence():
    run = ds.solve(body(lambda q: -q.x - 0.3 * ca.sign(q.dot.x)), 20.0, {"x": 1.0})
    assert run.outcome is ds.Outcome.FAILED
    assert "from both sides" in run.message
    # The block turns at -1 + 0.6, and at 0.4 - 0.6, where the spring no longer moves it.
    assert run.end_time == pytest.approx(2.0 * math.pi, abs=1e-9)
    assert run.end_state["x"] == pytest.approx(-0.2, abs=1e-12)


def test_a_potential_that_jumps_is_no_finite_force():
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=ca.if_else(q.x > 1.0, 2.0, 0.0)
    )
    run = ds.solve(system, 5.0, {"x_dot": 1.0})
    assert run.outcome is ds.Outcome.FAILED
    assert "potential energy jumps" in run.message
    assert run.end_time == pytest.approx(1.0, abs=1e-14)


def test_a_spring_may_stiffen_at_a_time():
    stiffness = ca.if_else(ds.time > 1.0, 4.0, 1.0)
    run = ds.solve(body(potential=lambda q: stiffness * q.x**2 / 2), 2.0, {"x": 1.0})
    x, _ = oscillated(*oscillated(1.0, 0.0, 1.0, 1.0), 4.0, 1.0)
    assert run.end_state["x"] == pytest.approx(x, abs=1e-13)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (lambda q: q.x == 1.0, "equal only for an instant"),
        (lambda q: q.x, "not a comparison"),
    ],
)
def test_a_condition_that_no_motion_passes_is_refused(condition, words):
    with pytest.raises(PosingError, match=words):
        body(lambda q: ca.if_else(condition(q), 1.0, 2.0))


def test_a_condition_on_parameters_is_no_switch():
    q, p = ds.coordinates(x="m"), ds.parameters(choice=1.0)
    force = ca.if_else(p.choice > 0.5, -q.x, 0.0)
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": force})
    run = ds.solve(system, 1.0, {"x": 1.0})
    assert run.events == ()
    assert run.description["solver"] == "taylor"
    assert run.end_state["x"] == pytest.approx(math.cos(1.0), abs=1e-14)


def test_a_branch_that_is_not_taken_need_not_be_finite():
    run = ds.solve(body(lambda q: ca.if_else(q.x > 0.0, ca.sqrt(q.x), 0.0)), 1.0, {"x": -1.0})
    assert run.end_state["x"] == -1.0


@pytest.mark.slow
def test_what_is_kept_or_not_switched_has_no_events():
    def force(q):
        return -ca.fabs(q.x) * q.x

    kept = body(lambda q: ds.smooth(force(q)))
    for system in (kept, body(force, switches=False)):
        run = ds.solve(system, 5.0, {"x": 1.0}, solver=ds.Dop853(rtol=1e-12))
        assert run.events == ()
    switched = ds.solve(body(force), 5.0, {"x": 1.0})
    assert run.end_state["x"] == pytest.approx(switched.end_state["x"], abs=1e-9)
    assert switched.event_count > 0


def test_equal_conditions_share_a_switch_and_bear_the_name_of_their_first_place():
    q = ds.coordinates(x="m", y="m")
    inside = ca.fabs(q.x) < 1.0
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        force={"x": ca.if_else(inside, -q.x, 0.0), "y": ca.if_else(ca.fabs(q.x) < 1.0, 1.0, 0.0)},
    )
    assert system.dynamics.switches == ("force_x_switch_1", "force_x_switch_2")


BROKEN = {
    "max in a potential": {"potential": lambda q: q.x**2 / 2 + 4 * ca.fmax(0, -q.x) ** 2.5},
    "branch of a potential": {
        "potential": lambda q: q.x**2 / 2 + ca.if_else(q.x > 0, 0, 4 * (-q.x) ** 2.5)
    },
    "max in a force": {"force": lambda q: -q.x + 10 * ca.fmax(0, -q.x) ** 1.5},
    "branch of a force": {"force": lambda q: ca.if_else(q.x < 0, 10 * (-q.x) ** 1.5, 0) - q.x},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_power_vanishes_at_its_switch(name):
    """Hertz's contact beside a spring: back and forth in a time that is a quadrature."""

    def left(y):
        return 1 - y**2 - 8 * y**2.5

    deepest = brentq(left, 0.0, 1.0, xtol=1e-15)

    def slowness(u):
        return 4 * deepest * u / math.sqrt(left(deepest * (1 - u * u)))

    contact = quad(slowness, 0.0, 1.0, epsabs=1e-12)[0]
    run = ds.solve(body(**BROKEN[name]), math.pi + contact, {"x": 1.0})
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    # A multistep method at 1e-10 a step.
    assert run.end_state["x"] == pytest.approx(1.0, abs=1e-7)
    assert run.end_state["x_dot"] == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("solver", [None, "dop853", "lsoda", "cvodes", "radau"])
@pytest.mark.parametrize("power", [0.5, 1 / 3])
def test_a_root_that_has_no_slope_at_its_switch_is_crossed_there(power, solver):
    """x'' = -|x|^power sign x swings from 1 for 2 sqrt(2 / (1 + power)) B(1 / (1 + power), 1/2)."""
    one = 1.0 + power
    period = 2.0 * math.sqrt(2.0 / one) * beta(1.0 / one, 0.5)
    system = body(lambda q: -ca.sign(q.x) * ca.fabs(q.x) ** power)
    run = ds.solve(system, period, {"x": 1.0, "x_dot": 0.0}, solver=solver)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    # A multistep method at 1e-10 a step.
    assert [run.end_state["x"], run.end_state["x_dot"]] == pytest.approx([1.0, 0.0], abs=1e-7)


def test_a_broken_power_that_stands_elsewhere_too_is_no_number_there():
    """What counts only in its branch is 0 past it; what counts everywhere stays what it is."""
    pushed = body(lambda q: (-q.x) ** 1.5 + ca.if_else(q.x < 0, 2 * (-q.x) ** 1.5, 0))
    with pytest.raises(DegenerateStartError, match="not finite"):
        ds.solve(pushed, 1.0, {"x": 1.0})


# -- what stays at its border ----------------------------------------------------------------------


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("solver", ["taylor", "dop853"])
@pytest.mark.parametrize(
    ("law", "truth"),
    [
        (lambda q: ca.if_else(q.y > 0, 1, 0), 0.0),
        (lambda q: ca.if_else(q.y >= 0, 1, 0), 1.0),
        (lambda q: ca.if_else(q.y < 0, 1, 0), 0.0),
        (lambda q: ca.if_else(q.y <= 0, 1, 0), 1.0),
        (lambda q: ca.if_else(q.dot.y > 0, 1, 0), 0.0),
        (lambda q: ca.if_else(ca.fabs(q.y) > 0, 1, 0), 0.0),
        (lambda q: (q.y > 0) - (q.y < 0), 0.0),
        (lambda q: ca.floor(q.y + 1), 1.0),
        (lambda q: ca.ceil(q.y), 0.0),
    ],
)
def test_what_stays_at_its_border_counts_as_it_is_written(law, truth, solver):
    q = ds.coordinates(x="m", y="m")
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, force={"x": law(q)})
    run = ds.solve(system, 2.0, {}, solver=solver)
    assert run["x_dot"][-1] == pytest.approx(2.0 * truth, abs=1e-12)


@pytest.mark.default_rows(4)
@pytest.mark.parametrize("kept", ["state", "discrete"])
@pytest.mark.parametrize(
    ("law", "truth"),
    [
        (lambda n: ca.if_else(n >= 2, 1, 0), 3.5),
        (lambda n: ca.if_else(n > 2, 1, 0), 2.5),
        (lambda n: ca.floor(n / 2), 5.0),
    ],
)
def test_a_count_that_a_reset_takes_to_a_border_counts_from_there(law, truth, kept):
    q, t = ds.coordinates(x="m"), ds.time
    n = ds.states(n="") if kept == "state" else ds.discrete(n=0.0)
    more = {"quadratures": n, "integrands": {"n": 0 * t}} if kept == "state" else {"discrete": n}
    tick = ds.Event("tick", ca.sin(np.pi * t), ds.EITHER, ds.Reset({"n": n.n + 1}))
    kinetic = q.dot.x**2 / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, force={"x": law(n.n)}, events=[tick], **more)
    start = {"x": 0.0, "x_dot": 0.0} | ({"n": 0.0} if kept == "state" else {})
    run = ds.solve(system, 5.5, start)
    # n is 1, 2, ... from 1 s, 2 s, ... on
    assert run["x_dot"][-1] == pytest.approx(truth, abs=1e-12)


def test_a_plateau_is_on_the_side_that_is_written():
    """floor(fmax(x, 0)) is 0 on all of x < 0, where its argument stays at a whole number."""
    q = ds.coordinates(x="m")
    force = -ca.floor(ca.fmax(0.5 * q.x, 0.0))
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": force})
    run = ds.solve(system, 5.0, {"x": 1.0, "x_dot": -1.0})
    assert run["x"][-1] == pytest.approx(-4.0, abs=1e-13)


def test_two_orders_of_the_operands_of_a_maximum_share_one_switch():
    """CasADi hands over fmax(a, b) as fmax(b, a) once it was taken apart: the guard is the same."""
    q = ds.coordinates(x="m", y="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        force={"x": ca.fmax(q.x - 1, 0), "y": ca.fmax(0, q.x - 1)},
        meters={"work": ca.fmax(q.x - 1, 0) * q.dot.x},
    )
    assert system.posed.discrete.names == ("force_x_switch_1",)


def test_a_condition_is_one_switch_however_its_factors_are_ordered():
    # The force along a slip, by `jtimes`: what else a force has decides in which order CasADi's
    # program gives the factors of its products.
    v = ds.velocities(u="m/s", v="m/s", r="rad/s")
    q = ds.coordinates(x="m", y="m", psi="rad")
    p = ds.parameters(front=(1.2, "m"), rear=(1.4, "m"))
    slips = [v.v + p.front * v.r, v.v - p.rear * v.r]
    force = 0
    for slip in slips:
        angle = ca.atan(slip / v.u)
        force += ca.jtimes(slip, v.vector, -angle * (1 - ca.fabs(angle)), True)
    turned = ca.vertcat(
        ca.cos(q.psi) * v.u - ca.sin(q.psi) * v.v, ca.sin(q.psi) * v.u + ca.cos(q.psi) * v.v, v.r
    )
    car = ds.MechanicalSystem(
        q, p, velocities=v, kinematics=turned, kinetic=ca.sumsqr(v.vector) / 2, force=force
    )
    assert car.posed.switch_names == ("force_v_switch_1", "force_v_switch_2")


def test_a_step_that_a_motion_touches_where_it_turns_round_is_taken_back():
    """At x = 1, where the oscillator turns round, floor(3 x) is three for an instant."""
    q = ds.coordinates(x="m")
    event = ds.Event("up", ca.floor(3 * q.x) + 0.5, ds.RISING, ds.Record())
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, events=[event])
    run = ds.solve(system, 7.9, {"x": 1.0})
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert [e.time for e in run.events if e.name == "up"] == pytest.approx([1.5 * np.pi])

"""Feedback: residuals obey their linear laws, rates are numbers of a run, invariants hold."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.equations.consistency import sample_states
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.solvers import State
from daesolve.errors import OutOfRangeError, UnknownNameError
from tests.systems import (
    EPSILON,
    numbers,
    oscillator,
    pendulum,
    prepared_run,
    wheel,
    wheel_state,
)


def followed(prepared, x, until, at, **changed):
    """The watched residuals of a motion that starts at x, by name, at the times `at`."""
    values = numbers(prepared, **changed)
    blocks = []
    end = prepared.solver.segment(
        prepared.problem, State(0.0, x, values), until, np.asarray(at), blocks.append
    )
    assert len(end.samples) == len(at)
    rows = [x, *end.samples]
    times = [0.0, *at]
    table = np.array(
        [
            np.asarray(prepared.problem.residuals(t, row, values)[0]).ravel()
            for t, row in zip(times, rows, strict=True)
        ]
    )
    return {w.name: table[:, k] for k, w in enumerate(prepared.problem.watched)}


TIMES = np.linspace(0.02, 1.0, 8)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_residuals_of_the_hoop_obey_their_linear_laws(direction):
    """Started 1e-3 off: (c0 + c1 t) exp(-a t) for degree 2, exp(-b t) for degree 1 and implicit."""
    start = wheel_state(0.2, 1.2)
    prepared = prepared_run(wheel(), direction, start)
    rates = {"rate_contact": 8.0, "rate_rolling": 5.0, "rate_tangency": 6.0, "rate_energy": 0.0}
    rates = {name: direction * rate for name, rate in rates.items()}
    x = prepared.initial + 1e-3 * np.random.default_rng(8).uniform(-1, 1, prepared.problem.size)
    x[-1] = prepared.initial[-1] + 0.05  # 1e-3 m/s at the rim's radius of 0.01 m is 0.1 rad/s
    times = direction * TIMES
    found = followed(prepared, x, direction, times, **rates)
    elapsed = np.concatenate([[0.0], TIMES])
    first = found["contact"][0]
    second = found["contact_dot"][0]
    c1 = direction * second + 8.0 * first
    laws = {
        "contact": (first + c1 * elapsed) * np.exp(-8.0 * elapsed),
        "contact_dot": direction * (c1 - 8.0 * (first + c1 * elapsed)) * np.exp(-8.0 * elapsed),
        "rolling": found["rolling"][0] * np.exp(-5.0 * elapsed),
        "tangency": found["tangency"][0] * np.exp(-6.0 * elapsed),
    }
    for name, law in laws.items():
        assert abs(law[0]) > 1e-5, name
        assert np.max(np.abs(found[name] - law)) <= 1e-9 * np.max(np.abs(law)), name
    assert np.max(np.abs(found["moment"])) <= 1e-14


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_a_chain_of_integrators_obeys_its_law_of_any_degree(length):
    """(d/dt + a)^r x = 0 from x = 1, all derivatives 0: x = exp(-a t) sum (a t)^k / k!, k < r."""
    x = ds.states(**{f"x{k}": "" for k in range(length)})
    u = ds.reactions(push="")
    system = ds.ControlSystem(
        x,
        [x[f"x{k + 1}"] for k in range(length - 1)] + [u.push],
        controls=u,
        goals=[ds.Goal("zero", x.x0, ideal=False)],
    )
    run = ds.solve(system, until=2.0, initial={"x0": 1.0}, default_rate=3.0, at=ds.every(0.25))
    scaled = 3.0 * run["t"]
    series = sum(scaled**k / float(ca.DM(np.prod(np.arange(1, k + 1)))) for k in range(length))
    assert run["x0"] == pytest.approx(np.exp(-scaled) * series, abs=20 * EPSILON)


def test_a_time_dependent_goal_is_followed():
    """A control system is to follow sin t: after the transient it does, exactly."""
    x = ds.states(a="", b="")
    u = ds.reactions(push="")
    system = ds.ControlSystem(
        x,
        {"a": x.b, "b": u.push - ca.sin(x.a)},
        controls=u,
        goals=[ds.Goal("follow", x.a - ca.sin(ds.time), ideal=False)],
    )
    run = ds.solve(system, until=3.0, initial={"a": 0.1, "b": 1.0}, default_rate=4.0)
    # error e with e(0) = 0.1, e'(0) = 0
    law = 0.1 * (1 + 4.0 * run["t"]) * np.exp(-4.0 * run["t"])
    assert run["a"] - np.sin(run["t"]) == pytest.approx(law, abs=1e-14)


@settings(max_examples=30, deadline=None)
@given(st.floats(-3.1, 3.1), st.floats(-5, 5), st.floats(0.1, 50.0), st.floats(-5, 5))
def test_energy_obeys_its_regularised_law(energy_problem, angle, speed, rate, offset):
    """On the constraint, E' = -rate (E - E0) 2T / (2T + floor): bounded, and still at rest."""
    prepared = energy_problem
    x = np.array([np.sin(angle), -np.cos(angle), speed * np.cos(angle), speed * np.sin(angle)])
    energy = speed**2 / 2 - 9.81 * np.cos(angle)
    values = numbers(prepared, rate_energy=rate, reference_energy=energy - offset)
    floor = values[list(prepared.dynamics.values).index("floor_energy")]
    assert floor > 0
    rates = np.asarray(prepared.problem.rhs(0.0, x, values)).ravel()
    power = x[2:] @ rates[2:] + 9.81 * x[3]
    law = -rate * offset * speed**2 / (speed**2 + floor)
    assert power == pytest.approx(
        law, abs=20 * EPSILON * (abs(law) + (9.81 + speed**2) * (1 + abs(speed)))
    )


@pytest.fixture(scope="module")
def energy_problem():
    return prepared_run(pendulum(), 1.0, {"x": -1.0})


def test_rates_are_numbers_of_a_run_and_the_problem_is_built_once():
    system = pendulum()
    first = prepared_run(system, 1.0, {"x": -1.0})
    for formulation in (
        ds.Feedback(rate=3.0),
        ds.Feedback(rates={"rod": 7.0, "energy": 1.0}),
    ):
        again = prepared_run(system, 5.0, {"x": -0.5}, formulation=formulation,
                             parameters={"mass": 2.0})  # fmt: skip
        assert again.problem is first.problem
    names = list(again.dynamics.values)
    assert again.values[names.index("rate_rod")] == 7.0
    assert again.rates == {"rod": 7.0, "energy": 1.0}


def test_backwards_every_rate_changes_its_sign():
    system = wheel()
    forwards = prepared_run(system, 1.0, wheel_state(0.0, 1.5))
    backwards = prepared_run(system, -1.0, wheel_state(0.0, 1.5))
    assert backwards.problem is forwards.problem
    for name, one, other in zip(
        forwards.dynamics.values, forwards.values, backwards.values, strict=True
    ):
        if ValueKind.RATE.is_a(name):
            assert one == -other == 10.0, name
    assert backwards.rates == forwards.rates


@pytest.mark.slow
def test_a_goal_whose_rate_is_none_is_measured_and_not_driven():
    run = ds.solve(
        pendulum(), until=20.0, initial={"x": -1.0},
        formulation=ds.Feedback(rates={"energy": None, "rod": None}),
        solver=ds.Dop853(rtol=1e-6),
    )  # fmt: skip
    for name in ("rod", "rod_dot", "energy"):
        assert not run.drift[name].driven
        assert run.drift[name].correction == 0.0
    assert run.drift["rod"].max_relative > 1e-8
    driven = ds.solve(pendulum(), until=20.0, initial={"x": -1.0}, solver=ds.Dop853(rtol=1e-6))
    assert driven.drift["rod"].driven
    assert driven.drift["rod"].correction > 0.0
    assert driven.drift["rod"].max_relative < run.drift["rod"].max_relative / 10


@pytest.mark.parametrize("rate", [-1.0, np.nan, np.inf, "fast"])
def test_a_rate_that_is_no_number_is_refused(rate):
    with pytest.raises(OutOfRangeError, match="rate"):
        ds.Feedback(rate=rate)
    with pytest.raises(OutOfRangeError, match="'rod'"):
        ds.Feedback(rates={"rod": rate})


def test_a_rate_of_an_unknown_goal_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"'rodd'.*'rod'"):
        ds.solve(pendulum(), 1.0, {"x": -1.0}, formulation=ds.Feedback(rates={"rodd": 1.0}))


def test_the_automatic_rate_is_reported_and_fits_the_step():
    run = ds.solve(pendulum(), 1.0, {"x": -1.0}, formulation=ds.Feedback(rate="auto"))
    assert 0.05 <= run.description["rates"]["rod"] <= 50.0
    assert any("rate" in note and "median step" in note for note in run.description["notes"])
    assert run.drift["energy"].max_relative < 1e-14


# -- the automatic invariant ---------------------------------------------------------------------

OMEGA = 3.0


def rotating_bead():
    """A bead on a hoop that turns about its vertical diameter, in the rotating frame."""
    q = ds.coordinates(theta=ds.ANGLE)
    p = ds.parameters(turning=OMEGA, gravity=9.81)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.theta**2 + (p.turning * ca.sin(q.theta)) ** 2) / 2,
        potential=-p.gravity * ca.cos(q.theta),
    )


def inertial_bead():
    """The same bead in space, on a sphere and in a plane that turns."""
    q = ds.coordinates(x="m", y="m", z="m")
    p = ds.parameters(turning=OMEGA, gravity=9.81)
    angle = p.turning * ds.time
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        potential=p.gravity * q.z,
        goals=[
            ds.Holonomic("sphere", q.x**2 + q.y**2 + q.z**2 - 1),
            ds.Holonomic("plane", -q.x * ca.sin(angle) + q.y * ca.cos(angle)),
        ],
    )


def test_a_bead_on_a_turning_hoop_keeps_jacobi_s_integral_in_both_frames():
    theta, rate, until = 1.1, 0.7, 20.0
    turning = ds.solve(rotating_bead(), until, {"theta": theta, "theta_dot": rate})
    assert turning.drift["jacobi_integral"].driven
    assert "energy" not in turning.drift
    # T + V is not conserved: it follows from the integral, E = J + (Omega sin theta)^2
    energy = turning.outputs["energy"]
    shift = (OMEGA * np.sin(turning["theta"])) ** 2
    assert np.ptp(energy) > 1.0
    assert np.ptp(energy - shift) <= 40 * EPSILON * np.max(np.abs(energy))

    space = ds.solve(
        inertial_bead(),
        until,
        {
            "x": np.sin(theta), "y": 0.0, "z": -np.cos(theta), "x_dot": rate * np.cos(theta),
            "y_dot": OMEGA * np.sin(theta), "z_dot": rate * np.sin(theta),
        },
    )  # fmt: skip
    assert not space.drift["energy"].driven
    assert "not conserved" in space.drift["energy"].note
    assert space.drift["energy"].max_relative <= 1e-13
    assert space.units["work"] == "J"
    # the hoop's drive does the work Omega * (angular momentum), whose integral is shift - shift_0
    assert space.outputs["work"] == pytest.approx(shift - shift[0], abs=2e-12)
    assert space["z"] == pytest.approx(-np.cos(turning["theta"]), abs=2e-12)
    radius = np.sin(turning["theta"])
    assert space["x"] == pytest.approx(radius * np.cos(OMEGA * space["t"]), abs=2e-12)
    assert space["y"] == pytest.approx(radius * np.sin(OMEGA * space["t"]), abs=2e-12)


def test_a_momentum_is_driven_without_harm():
    """Two particles joined by a spring: their momentum is held, energy beside it."""
    q = ds.coordinates(a="m", b="m")
    momentum = 2.0 * q.dot.a + 3.0 * q.dot.b
    system = ds.MechanicalSystem(
        q,
        kinetic=(2.0 * q.dot.a**2 + 3.0 * q.dot.b**2) / 2,
        potential=5.0 * (q.b - q.a - 1.0) ** 2 / 2,
        goals=[ds.Invariant("momentum", momentum, drive=True)],
    )
    run = ds.solve(system, 50.0, {"a": 0.0, "b": 1.3, "a_dot": 0.5, "b_dot": 0.2})
    assert run.drift["momentum"].driven
    assert run.drift["momentum"].max_relative <= 4 * EPSILON  # of the sum of its two terms
    frequency = np.sqrt(5.0 * (1 / 2.0 + 1 / 3.0))
    stretch = 0.3 * np.cos(frequency * run["t"]) - 0.3 / frequency * np.sin(frequency * run["t"])
    # frequency * t is rounded to EPSILON * 100
    assert run["b"] - run["a"] - 1.0 == pytest.approx(stretch, abs=2e-13)
    assert (2 * run["a"] + 3 * run["b"]) / 5 == pytest.approx(0.78 + 0.32 * run["t"], rel=1e-14)


def test_a_driven_invariant_returns_to_its_reference():
    """The angular momentum of a planar oscillator, started off: d' = -rate d g / (g + floor)."""
    q = ds.coordinates(x="m", y="m")
    spin = q.x * q.dot.y - q.y * q.dot.x
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=(q.x**2 + q.y**2) / 2,
        goals=[ds.Invariant("spin", spin, drive=True)],
    )
    prepared = prepared_run(
        system, 1.0, {"x": 1.0, "y": 0.0, "x_dot": 0.2, "y_dot": 0.8},
        formulation=ds.Feedback(rates={"energy": None}),
    )  # fmt: skip
    values = numbers(prepared, rate_spin=4.0, reference_spin=0.5)
    floor = values[list(prepared.dynamics.values).index("floor_spin")]
    x = np.array([0.9, 0.1, 0.2, 0.8])
    rates = np.asarray(prepared.problem.rhs(0.0, x, values)).ravel()
    change = x[0] * rates[3] - x[1] * rates[2]
    error = x[0] * x[3] - x[1] * x[2] - 0.5
    weight = x[0] ** 2 + x[1] ** 2
    assert change == pytest.approx(-4.0 * error * weight / (weight + floor), rel=1e-13)


@pytest.mark.slow
@pytest.mark.slow_rows("null-space", "both", "projected")
@pytest.mark.parametrize(
    "formulation",
    [ds.Feedback(), ds.Feedback(rates={"spin": 10.0}), ds.NullSpace(), ds.Projected()],
    ids=["feedback", "both", "null-space", "projected"],
)
def test_the_energy_is_not_pushed_along_a_velocity_that_nothing_changes(formulation):
    """An edge on an incline turns evenly for ever, and where it is follows from that alone."""
    q = ds.coordinates(x="m", y="m", phi=ds.ANGLE)
    v = q.dot
    edge = ds.MechanicalSystem(
        q,
        kinetic=(v.x**2 + v.y**2 + v.phi**2) / 2,
        potential=-5.0 * q.x,
        goals=[
            ds.Nonholonomic("edge", ca.cos(q.phi) * v.y - ca.sin(q.phi) * v.x),
            ds.Invariant("spin", v.phi),
        ],
    )
    start = {"phi": 0.0, "phi_dot": 1.0, "x_dot": 0.0, "y_dot": 0.0}
    solver = ds.Dop853(rtol=1e-8, atol=1e-10)
    run = ds.solve(edge, 50.0, start, solver=solver, formulation=formulation)
    free = ds.solve(edge, 50.0, start, solver=solver,
                    formulation=ds.Feedback(rates={"energy": None}))  # fmt: skip
    assert run.drift["energy"].driven
    assert run.drift["energy"].final_relative < 0.1 * free.drift["energy"].final_relative
    assert run["phi_dot"] == pytest.approx(1.0, abs=2 * EPSILON)
    assert run["x"] == pytest.approx(2.5 * np.sin(run["t"]) ** 2, abs=2e-8)


@pytest.mark.default_rows(2)
@pytest.mark.parametrize(
    "formulation",
    [ds.Feedback(), ds.NullSpace(), ds.Projected()],
    ids=["feedback", "null-space", "projected"],
)
def test_invariants_that_share_a_velocity_that_nothing_changes_do_not_fight(formulation):
    """One that coasts and a swinging one: were one pushed along both, and the energy not, the
    determinant of their products would change its sign where y_dot is 0.6."""
    q = ds.coordinates(x="m", y="m")
    v = q.dot
    swing = v.y**2 / 2 + q.y**2 / 2
    system = ds.MechanicalSystem(
        q,
        kinetic=(v.x**2 + v.y**2) / 2,
        potential=q.y**2 / 2,
        goals=[ds.Invariant("mixed", v.x + swing, drive=True)],
    )
    start = {"x": 0.0, "y": 1.0, "x_dot": 3.0, "y_dot": 0.0}
    solver = ds.Dop853(rtol=1e-7, atol=1e-9)
    run = ds.solve(system, 20.0, start, solver=solver, formulation=formulation)
    assert run.outcome is ds.Outcome.COMPLETED
    assert all(run.drift[name].driven for name in ("energy", "mixed"))
    assert run["x_dot"] == pytest.approx(3.0, abs=2 * EPSILON)
    assert run["y"] == pytest.approx(np.cos(run["t"]), abs=5e-8)


def test_the_energy_returns_along_the_velocities_that_move():
    """A mass that coasts and one on a spring: E' = -rate e g / (g + floor), g the second's 2T."""
    q = ds.coordinates(x="m", s="m")
    system = ds.MechanicalSystem(
        q, kinetic=(3.0 * q.dot.x**2 + 2.0 * q.dot.s**2) / 2, potential=5.0 * q.s**2 / 2
    )
    prepared = prepared_run(
        system, 1.0, {"x": 0.0, "s": 0.4, "x_dot": 0.7, "s_dot": 0.2}, formulation=ds.Feedback()
    )
    values = numbers(prepared, rate_energy=4.0, reference_energy=1.0)
    floor = values[list(prepared.dynamics.values).index("floor_energy")]
    x = np.array([0.3, 0.4, 0.7, 0.2])
    rates = np.asarray(prepared.problem.rhs(0.0, x, values)).ravel()
    assert rates[2] == 0.0
    error = (3.0 * 0.7**2 + 2.0 * 0.2**2 + 5.0 * 0.4**2) / 2 - 1.0
    change = 2.0 * 0.2 * rates[3] + 5.0 * 0.4 * 0.2
    weight = 2.0 * 0.2**2
    assert change == pytest.approx(-4.0 * error * weight / (weight + floor), rel=1e-13)


@pytest.mark.slow
def test_forces_that_act_far_from_the_start_are_not_mistaken_for_none():
    """A damper beyond x = 0.5, started at x = 0: energy must not be driven against it."""
    q = ds.coordinates(x="m")
    damper = ca.if_else(q.x > 0.5, -0.02 * q.dot.x, 0.0)
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, force={"x": damper}
    )
    solver = ds.Dop853(rtol=1e-11)
    start = {"x": 0.0, "x_dot": 1.0}
    right = ds.solve(
        system, 10.0, start, solver=solver, formulation=ds.Feedback(rates={"energy": None})
    )
    run = ds.solve(system, 10.0, start, solver=solver)
    assert run["x"][-1] == pytest.approx(right["x"][-1], abs=1e-8)


def test_a_force_that_sets_in_late_is_not_mistaken_for_none():
    q = ds.coordinates(x="m")
    kick = 0.02 * ca.exp(-20 * (ds.time - 20) ** 2)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, force={"x": kick})
    start = {"x": 0.0, "x_dot": 1.0}
    right = ds.solve(system, 30.0, start, formulation=ds.Feedback(rates={"energy": None}))
    run = ds.solve(system, 30.0, start)
    assert run["x"][-1] == pytest.approx(right["x"][-1], abs=1e-10)


def test_a_user_s_own_energy_takes_the_place_of_the_automatic_one():
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        goals=[ds.Invariant("energy", (q.dot.x**2 + q.x**2) / 2)],
    )
    run = ds.solve(system, 1.0, {"x": 1.0})
    assert run["x"][-1] == pytest.approx(np.cos(1.0), rel=1e-14)
    assert not run.drift["energy"].driven


def test_outputs_and_events_may_use_reactions():
    system = oscillator()
    assert system.dynamics.reactions.numel() == 0
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1)
    swing = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[rod],
        outputs={"tension": (-2 * rod.reaction, "N")},
        events=[ds.Event("slack", -2 * rod.reaction, ds.FALLING, ds.Stop())],
    )
    speed = np.sqrt(3.5 * 9.81)  # the rod goes slack where cos = -1/2: 3 g cos = 2 g - v^2
    run = ds.solve(swing, 5.0, {"x": 0.0, "x_dot": speed}, guess={"y": -1.0})
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert run.end_state["y"] == pytest.approx((speed**2 / 9.81 - 2) / 3, abs=1e-13)
    assert run.at(run.end_time)["tension"] == pytest.approx(0.0, abs=1e-12)
    assert run.outputs["tension"][0] == pytest.approx(9.81 + speed**2, rel=1e-14)
    assert run.units["tension"] == "N"


def test_samples_for_checks_never_lie_off_the_constraints():
    dynamics = inertial_bead().dynamics
    values = dynamics.value_vector({})
    for t, x in sample_states(dynamics, values):
        assert abs(x[:3] @ x[:3] - 1) <= 1e-11
        assert abs(-x[0] * np.sin(OMEGA * t) + x[1] * np.cos(OMEGA * t)) <= 1e-11


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ({"rate": -1.0}, "the rate is -1.0, but must be a finite number >= 0"),
        ({"rate": "fast"}, "the rate is 'fast', but must be a finite number >= 0"),
        ({"rates": {"rod": -1.0}}, "the rate of 'rod' is -1.0, but must be a finite number >= 0"),
    ],
)
def test_a_refused_rate_is_named_by_its_goal_if_it_has_one(choice, sentence):
    with pytest.raises(OutOfRangeError) as refusal:
        ds.Feedback(**choice)
    assert str(refusal.value) == sentence

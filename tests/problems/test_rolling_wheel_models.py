"""The paper's own residuals, diagnosed, and the repaired energy row."""

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.preparation.preparing import Request, prepare
from daesolve.errors import DegenerateStartError
from tests.reference import printed_hoop, stored_pendulum
from tests.reference import rolling_wheel as truth

PROBLEM = ds.problem("rolling-wheel")
START = (0.0, 1.5)
STATES = ("x", "z", "alpha", "theta", "x_dot", "z_dot", "theta_dot")
WITHOUT_FEEDBACK_OF_ENERGY = ds.Feedback(rates={"energy": None})


def rank(model, case="hoop"):
    return PROBLEM.case(case, model=model).analyse("rank").values


def test_the_printed_residuals_have_degrees_two_two_one_one_and_rank_two_at_rest():
    found = rank("printed")
    assert found["degrees"] == {"contact": 2, "tangency": 2, "rolling": 1, "energy": 1}
    assert found["start"]["rank"] == 4
    assert found["at_rest"]["rank"] == 2
    assert found["at_rest"]["dependent"] == ["rolling", "energy"]
    assert found["at_rest"]["condition"] is None


@pytest.mark.parametrize("model", ["physical", "blend"])
def test_the_other_models_keep_their_rank_at_rest(model):
    found = rank(model, "hoop-from-rest")
    assert found["start"]["rank"] == found["at_rest"]["rank"] == 4
    assert found["at_rest"]["condition"] < 1e3


def test_the_printed_condition_grows_like_one_over_the_speed():
    """Columns of unit length: the rows of rolling and energy shrink with the speed."""
    conditions = [
        PROBLEM.case("hoop", model="printed").starting({"speed": speed}).analyse("rank").values
        for speed in (1e-3, 1e-5)
    ]
    first, second = (found["start"]["condition"] for found in conditions)
    assert second / first == pytest.approx(100.0, rel=1e-3)


@pytest.mark.parametrize("case", ["hoop-from-rest", "pendulum-from-rest", "pendulum-chaotic"])
def test_the_printed_model_cannot_start_from_rest_and_says_why(case):
    with pytest.raises(DegenerateStartError, match=r"'rolling', 'energy' \(rank 2 of 4\)"):
        PROBLEM.case(case, model="printed").solve(until=1.0)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("hoop-None", "hoop-solver3", "hoop-solver2")
@pytest.mark.parametrize(
    "solver", [None, ds.Dop853(1e-8, 1e-10), ds.Dop853(1e-12, 1e-14), ds.Lsoda()]
)
@pytest.mark.parametrize("case", ["hoop", "pendulum"])
def test_error_control_ends_the_printed_model_at_the_first_turning_point(solver, case):
    run = PROBLEM.case(case, model="printed").solve(until=20.0, solver=solver)
    assert run.outcome is ds.Outcome.DEGENERATE
    assert "'rolling', 'energy' lost their influence" in run.message
    assert "step" not in run.message.split(":")[0]
    # it ends within a step of rest, at a few hundredths of the largest speed
    assert abs(run.end_state["theta_dot"]) * 0.01 < 0.05
    if case == "hoop":
        turn = printed_hoop.printed_hoop_turning_times(1.0, *START)[0]
        assert run.end_time == pytest.approx(turn, abs=1e-3)
        assert run.end_time < turn


def test_before_the_turning_point_the_printed_motion_is_the_one_that_its_goals_imply():
    times = [0.2, 0.5, 0.8]
    run = PROBLEM.case("hoop", model="printed").solve(until=0.8, at=times)
    expected = printed_hoop.printed_hoop_states(times, *START)
    for state in STATES:
        error = np.abs(run[state] - expected[state])
        assert np.max(error) < 1e-11 * max(1.0, np.max(np.abs(expected[state]))), state


@pytest.mark.slow
def test_a_fixed_step_passes_with_the_period_of_the_printed_goals_and_not_the_true_one():
    period = printed_hoop.printed_hoop_period(*START)
    run = PROBLEM.case("hoop", model="printed").solve(
        solver=ds.Dop853(fixed_step=1e-3), until=6 * period, at=[0.0, 6 * period]
    )
    assert run.outcome is ds.Outcome.COMPLETED
    # an error of the period moves the wheel by six times as much after six periods
    late = (run["x"][1] - run["x"][0]) / run["x_dot"][0]
    assert abs(late) / 6 < 1e-9
    assert period / truth.hoop_period(*START) == pytest.approx(1.00596, abs=1e-5)
    assert any("went on past" in note for note in run.description["notes"])


@pytest.mark.slow
def test_the_printed_no_slip_lacks_a_term_and_slips():
    run = PROBLEM.case("hoop", model="printed").solve(
        solver=ds.Dop853(fixed_step=2e-3), until=20.0, at=ds.every(0.01)
    )
    spin = printed_hoop.printed_spin(run["contact_x"])
    assert 0.06 < np.max(np.abs(run["slip"])) < 0.07
    # a step over a turning point leaves a residual, which dies out
    assert run["slip"] == pytest.approx((1.0 - spin) * run["speed"], abs=1e-7)
    assert run.drift["rolling"].max_relative < 1e-10


@pytest.mark.slow
def test_with_little_feedback_the_printed_spin_reverses_at_one_step_or_another():
    """Which turning points go wrong is decided by rounding: most of such steps meet one in 60 s."""
    wrong: list[bool] = []
    for step in (0.016, 0.018, 0.02, 0.022, 0.024):
        run = PROBLEM.case("hoop", model="printed").solve(
            solver=ds.Dop853(fixed_step=step),
            formulation=ds.Feedback(rate=1.0),
            until=60.0,
            at=ds.every(0.05),
        )
        moving = np.abs(run["speed"]) > 0.5
        backwards = run["speed"] * run["theta_dot"] > 0.0
        wrong.append(bool(np.any(backwards & moving)))
    assert any(wrong)


@pytest.mark.slow
@pytest.mark.slow_rows("hoop-from-rest")
@pytest.mark.parametrize("case", ["hoop", "hoop-from-rest"])
def test_the_blend_row_is_the_physical_motion_also_from_rest(case):
    start = {"hoop": START, "hoop-from-rest": (-0.9, 0.0)}[case]
    run = PROBLEM.case(case, model="blend").solve(until=100.0, at=[10.0, 100.0])
    expected = truth.hoop_states([10.0, 100.0], *start)
    for state in STATES:
        error = np.abs(run[state] - expected[state])
        assert np.max(error) < 1e-10 * max(1.0, np.max(np.abs(expected[state]))), state
    assert run.drift["energy"].driven
    for goal, drift in run.drift.items():
        assert drift.max_relative < 1e-13, goal


@pytest.mark.long
def test_the_blend_row_keeps_energy_for_half_an_hour():
    run = PROBLEM.case("pendulum", model="blend").solve()
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.drift["energy"].max_relative < 1e-13


def test_the_blend_row_can_leave_the_energy_alone():
    run = PROBLEM.case("hoop", model="blend").solve(
        until=10.0, formulation=WITHOUT_FEEDBACK_OF_ENERGY
    )
    assert not run.drift["energy"].driven
    assert run.drift["energy"].correction == 0.0
    assert run.drift["energy"].max_relative < 1e-12


@pytest.mark.parametrize("speed", [0.0, 1e-3, 0.1, 1.5])
def test_off_the_energy_level_the_blend_row_obeys_its_law(speed):
    """E' = -rate (E - E0) s^2 / (s^2 + blending), exactly."""
    case = PROBLEM.case("hoop", model="blend").starting({"speed": speed})
    prepared = prepare(
        case.system, Request(1.0, parameters=case.full_parameters, guess=case.guess()[0])
    )
    values, dynamics = prepared.values.copy(), case.system.dynamics
    error = 1e-3
    values[list(dynamics.values).index("reference_energy")] -= error
    energy = dynamics.invariants[0].value
    gradient = ca.Function("g", [dynamics.x, dynamics.p], [ca.gradient(energy, dynamics.x)])
    state = prepared.initial
    rate = np.asarray(prepared.problem.rhs(0.0, state, values)).ravel()
    slope = np.asarray(gradient(state, values)).ravel()
    expected = -10.0 * error * speed**2 / (speed**2 + 0.01)
    # the terms of the rate of energy are of order M g u
    assert slope @ rate == pytest.approx(expected, abs=1e-12 * (1.0 + 15.0 * speed))


@pytest.mark.slow
def test_the_printed_kinetic_energy_of_the_bob_is_an_inertia_of_its_own():
    """Small swings on a wheel that is too heavy to follow: sqrt(g/l) or sqrt(g/2l)."""
    parameters = stored_pendulum.DEFAULT_PARAMETERS
    inertia = parameters.bob_mass * parameters.pendulum_length**2
    rates = []
    for own in (0.0, inertia):
        case = PROBLEM.case(
            "pendulum-from-rest", bob_inertia=own, wheel_mass=1e6, curve_a=0.0, curve_b=0.5
        )
        run = case.solve(until=1.0, initial={"contact_x": 0.5, "phi": 1e-4}, at=ds.every(1e-3))
        crossings = run.times[:-1][np.diff(np.sign(run["phi"])) != 0]
        rates.append(math.pi * (len(crossings) - 1) / (crossings[-1] - crossings[0]))
    whole = math.sqrt(parameters.gravity / parameters.pendulum_length)
    assert rates == pytest.approx([whole, whole / math.sqrt(2.0)], rel=5e-3)

"""The wheel with its pendulum, against minimal coordinates in quadruple precision."""

import numpy as np
import pytest

import daesolve as ds
from daesolve import reporting
from daesolve.reporting import document
from tests.reference import contact_loss, lyapunov, stored_pendulum

PROBLEM = ds.problem("rolling-wheel")
STATES = ("x", "z", "theta", "alpha", "phi", "x_dot", "z_dot", "theta_dot", "phi_dot")
HEAVY = stored_pendulum.HEAVY_BOB.bob_inertia
MEASURED_ONLY = ds.Feedback(rates={"energy": None})


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("pendulum-0.0-bounds0")
@pytest.mark.parametrize(
    ("name", "inertia", "bounds"),
    [
        ("pendulum", 0.0, {10.0: 1e-10, 100.0: 1e-9}),
        ("pendulum-from-rest", 0.0, {10.0: 1e-9}),
        ("pendulum-lost", 0.0, {5.0: 1e-8}),
        ("pendulum-chaotic", 0.0, {1.0: 1e-7, 5.0: 1e-5}),
        ("pendulum", HEAVY, {10.0: 1e-10, 100.0: 1e-9}),
        ("pendulum-from-rest", HEAVY, {10.0: 1e-9}),
    ],
)
def test_states_agree_with_quadruple_precision(name, inertia, bounds):
    """Relative to the size of a state, absolutely where that is below 1."""
    stored = name if inertia == 0.0 else f"{name}-heavy-bob"
    expected = stored_pendulum.stored_states(stored)
    run = PROBLEM.case(name, bob_inertia=inertia).solve(until=max(bounds), at=list(bounds))
    for index, (time, bound) in enumerate(bounds.items()):
        place = list(expected["times"]).index(time)
        for state in STATES:
            exact = expected[state][place]
            assert abs(run[state][index] - exact) < bound * max(1.0, abs(exact)), (state, time)


@pytest.mark.parametrize("name", ["pendulum", "pendulum-from-rest"])
@pytest.mark.long
def test_residuals_stay_at_rounding_level_for_half_an_hour(name):
    run = PROBLEM.case(name).solve()
    assert run.outcome is ds.Outcome.COMPLETED
    for goal, drift in run.drift.items():
        assert drift.max_relative <= (1e-14 if goal == "energy" else 1e-13), goal
        assert drift.growth_exponent is None or drift.growth_exponent <= 0.1, goal


@pytest.mark.long
def test_angles_of_thousands_of_radians_cost_the_chaotic_wheel_no_digits():
    run = PROBLEM.case("pendulum-chaotic").solve()
    assert run.outcome is ds.Outcome.COMPLETED
    assert np.ptp(run["phi"]) > 1000.0
    for goal, drift in run.drift.items():
        assert drift.max_relative <= 1e-13, goal


@pytest.mark.slow_rows("solver1-3.2e-05-pendulum-lost-heavy-bob", "solver1-0.0-pendulum-lost")
@pytest.mark.parametrize(
    ("inertia", "name"), [(0.0, "pendulum-lost"), (HEAVY, "pendulum-lost-heavy-bob")]
)
@pytest.mark.parametrize("solver", [ds.Taylor(), ds.Dop853(1e-13, 1e-15)])
def test_a_one_sided_contact_is_lost_when_the_exact_reaction_vanishes(inertia, name, solver):
    exact = contact_loss.stored_contact_loss(name)
    run = PROBLEM.case("pendulum-lost", bob_inertia=inertia).solve(solver=solver)
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert [event.name for event in run.events] == ["contact_lost"]
    assert run.end_time == pytest.approx(exact["time"], abs=1e-8)
    assert run.end_state["phi"] == pytest.approx(exact["phi"], abs=1e-5)
    assert run.times[-1] <= run.end_time
    # the normal reaction falls by 566 N (385 N with a heavy bob) a second there
    at_the_end = run.at(run.end_time)
    assert abs(at_the_end["normal"]) < 600.0 * 1e-8


@pytest.mark.slow
def test_a_two_sided_contact_holds_and_tells_when_it_pulls():
    run = PROBLEM.case("pendulum-lost", one_sided=False).solve(until=8.0, at=ds.every(1e-3))
    assert run.outcome is ds.Outcome.COMPLETED
    signs = np.count_nonzero(np.diff(np.sign(run["normal"])))
    assert run.event_count == signs >= 2


@pytest.mark.long
def test_the_chaotic_wheel_is_reported_so_and_its_lyapunov_time_is_that_of_the_linear_equations():
    mean, spread = lyapunov.stored_lyapunov_exponent("pendulum-chaotic")
    run = PROBLEM.case("pendulum-chaotic").solve(until=500.0, verify=True, at=[0.0, 1.0])
    assert run.verification is not None
    assert run.verification.lyapunov_time is not None
    assert 1.0 / run.verification.lyapunov_time == pytest.approx(mean, abs=3.0 * spread)
    assert run.verification.difference["phi"] < 1e-7


@pytest.mark.long
@pytest.mark.parametrize("name", [case.name for case in PROBLEM.cases])
def test_every_case_is_verified_and_the_report_tells_the_difference(name):
    case = PROBLEM.case(name)
    run = case.solve(until=min(20.0, case.case.until), verify=True)
    assert run.outcome.good
    told = document(run, case.identity())
    assert set(told["verification"]["difference"]) == set(run.states)
    page = reporting.page([told])
    assert run.verification is not None
    assert run.verification.against in page
    if name in ("hoop", "hoop-from-rest", "pendulum", "pendulum-from-rest", "bowl"):
        assert run.verification.lyapunov_time is None
        # angles of 100 rad and rates of 200 rad/s, rounded in some thousand steps
        assert max(run.verification.difference.values()) < 1e-9


@pytest.mark.long_rows("pendulum", "pendulum-from-rest")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["hoop", "hoop-from-rest", "pendulum", "pendulum-from-rest"])
def test_energy_feedback_costs_a_runge_kutta_method_at_most_a_third_more(name):
    solver = ds.Dop853(1e-12, 1e-14)
    driven = PROBLEM.case(name).solve(until=200.0, solver=solver)
    measured = PROBLEM.case(name).solve(until=200.0, solver=solver, formulation=MEASURED_ONLY)
    for goal, drift in driven.drift.items():
        assert drift.max_relative <= 1e-12, goal
    evaluations = driven.statistics.rhs_evaluations
    assert evaluations <= 1.35 * measured.statistics.rhs_evaluations

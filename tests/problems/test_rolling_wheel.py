import numpy as np
import pytest

import daesolve as ds
from tests.reference import rolling_wheel as truth
from tests.reference import stored_pendulum

PROBLEM = ds.problem("rolling-wheel")
STARTS = {"hoop": (0.0, 1.5), "hoop-from-rest": (-0.9, 0.0)}
STATES = ("x", "z", "theta", "alpha", "x_dot", "z_dot", "theta_dot")
MEASURED_ONLY = ds.Feedback(rates={"energy": None})


@pytest.fixture(scope="module", params=STARTS)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def half_an_hour(case):
    """Samples every hundredth of a second: the turning points are 1.6 s apart."""
    return PROBLEM.case(case).solve(at=ds.every(0.01))


def relative_error(name, run, expected):
    """Errors relative to the size of a state, and to 1 where it is smaller."""
    return np.max(np.abs(run[name] - expected) / max(1.0, np.max(np.abs(expected))))


@pytest.mark.slow
def test_states_agree_with_the_exact_quadrature(case):
    for time, tolerance in ((10.0, 1e-11), (100.0, 1e-10), (1800.0, 1e-8)):
        run = PROBLEM.case(case).solve(until=time, at=[time])
        expected = truth.hoop_states([time], *STARTS[case])
        for name in STATES:
            assert relative_error(name, run, expected[name]) < tolerance


@pytest.mark.slow
def test_residuals_stay_at_rounding_level_for_half_an_hour(half_an_hour):
    assert half_an_hour.outcome is ds.Outcome.COMPLETED
    for name, drift in half_an_hour.drift.items():
        assert drift.max_relative <= (1e-14 if name == "energy" else 1e-13), name
        assert drift.growth_exponent is None or drift.growth_exponent <= 0.1, name


@pytest.mark.slow
def test_energy_is_kept_without_being_driven(case):
    drift = PROBLEM.case(case).solve(formulation=MEASURED_ONLY).drift["energy"]
    assert not drift.driven
    assert drift.correction == 0.0
    assert drift.max_relative <= 1e-12


def test_energy_scale_is_the_energy_above_the_lowest_reachable_point(case):
    drift = PROBLEM.case(case).solve(until=1.0).drift["energy"]
    assert drift.scale == pytest.approx(truth.hoop_energy_scale(*STARTS[case]), rel=1e-9)


@pytest.mark.slow
def test_backwards_from_the_end_the_start_is_reached_again(case, half_an_hour):
    back = ds.solve(
        PROBLEM.case(case).system,
        until=0.0,
        start_time=1800.0,
        guess=half_an_hour.end_state,
        at=[0.0],
    )
    assert back.outcome is ds.Outcome.COMPLETED
    expected = truth.hoop_states([0.0], *STARTS[case])
    for name in STATES:
        assert np.abs(back[name] - expected[name]) < 1e-9, name


@pytest.mark.default_rows(1)
def test_a_thousand_turning_points_are_passed_and_the_spin_is_never_wrong(case, half_an_hour):
    speed = half_an_hour["speed"]
    moving = speed[np.abs(speed) > 1e-9]
    turns = np.count_nonzero(np.diff(np.sign(moving)))
    assert turns == len(truth.hoop_turning_times(1800.0, *STARTS[case]))
    assert turns > 1000
    slip = speed + 0.01 * half_an_hour["theta_dot"]
    assert np.max(np.abs(slip)) < 1e-13


def test_reactions_are_those_of_the_reduced_equation_all_along(case, half_an_hour):
    contact_x, speed = half_an_hour["contact_x"], half_an_hour["speed"]
    expected = truth.hoop_reactions(contact_x, speed)
    largest = truth.hoop_largest_reaction(*STARTS[case])
    for name in ("reaction_x", "reaction_z"):
        assert np.max(np.abs(half_an_hour[name] - expected[name])) < 1e-12 * largest
    assert np.max(np.abs(half_an_hour["torque"] - expected["torque"])) < 1e-12 * 0.01 * largest
    size = np.hypot(half_an_hour["reaction_x"], half_an_hour["reaction_z"])
    assert np.max(size) == pytest.approx(largest, rel=0.01)


@pytest.mark.slow
def test_the_wheel_presses_on_the_curve_and_friction_is_reported(half_an_hour):
    assert np.min(half_an_hour["normal"]) > 0.0
    required = np.abs(half_an_hour["friction"] / half_an_hour["normal"])
    assert half_an_hour["required_friction"] == pytest.approx(required)
    assert np.max(required) > 1.0


@pytest.mark.slow
@pytest.mark.slow_rows("pendulum-from-rest")
@pytest.mark.parametrize("name", ["pendulum", "pendulum-from-rest"])
def test_with_a_pendulum_the_states_agree_with_quadruple_precision(name):
    expected = stored_pendulum.stored_states(name)
    start = stored_pendulum.CASES[name].start
    contact_x, speed, phi, phi_dot = start
    case = PROBLEM.case("hoop", pendulum=True)
    run = case.solve(
        until=100.0,
        at=[1.0, 10.0, 100.0],
        initial={"contact_x": contact_x, "speed": speed, "phi": phi, "phi_dot": phi_dot},
    )
    for index, time in enumerate((1.0, 10.0, 100.0)):
        place = list(expected["times"]).index(time)
        for state in (*STATES, "phi"):
            error = abs(run[state][index] - expected[state][place])
            assert error < 1e-10 * max(1.0, np.max(np.abs(expected[state]))), (state, time)


def test_start_values_are_taken_by_the_names_of_the_case_and_of_states():
    run = PROBLEM.case("hoop").solve(until=0.1, initial={"speed": 1.0}, at=[0.0])
    assert run["speed"][0] == pytest.approx(1.0)
    run = PROBLEM.case("hoop").solve(until=0.1, initial={"theta_dot": 50.0}, at=[0.0])
    assert run["theta_dot"][0] == 50.0
    assert run["speed"][0] == pytest.approx(-0.5)
    assert "x_dot" in run.start

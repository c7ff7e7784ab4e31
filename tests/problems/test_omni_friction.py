"""The omni vehicle with dry friction: its equations, its start, its events, its limit."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
import pytest
from daesolve_problems.omni_friction import problem
from daesolve_problems.omni_friction.comparing import matched_motion
from daesolve_problems.omni_friction.loads import loads

from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.solvers import RadauIIA
from daesolve.errors import OutOfRangeError, UndeterminedMotionError
from daesolve.reporting.document import document
from tests.reference.omni_friction_bodies import Vehicle

COARSE = RadauIIA(rtol=1e-6, atol=1e-8)
FINE = RadauIIA(rtol=1e-8, atol=1e-10)
FINEST = RadauIIA(rtol=1e-9, atol=1e-11)


def random_state(case: Any, generator: np.random.Generator) -> dict[str, float]:
    """Return a state with wheels anywhere and slips on both sides of delta."""
    labels = case.system.dynamics.labels
    position_count = case.system.dynamics.position_count
    sizes = dict.fromkeys(labels.states[:position_count], 3.0)
    sizes |= dict.fromkeys(labels.states[position_count:], 5.0)
    state = {name: float(generator.uniform(-size, size)) for name, size in sizes.items()}
    return state | {name: state[name] / 5.0 for name in ("x_dot", "y_dot", "omega")}


def values_at(case: Any, state: dict[str, float], slips: np.ndarray) -> dict[str, float]:
    """Return the values of a case with the discrete values of a state."""
    found = dict(case.full_parameters)
    rollers = case.full_structure["rollers"]
    for i, slip in enumerate(slips, start=1):
        psi = [state[f"chi_{i}"] + math.tau / rollers * j for j in range(rollers)]
        found[f"contact_{i}"] = float(np.argmax(np.cos(psi)) + 1)
        found[f"saturated_{i}"] = float(np.linalg.norm(slip) > found["slip_velocity"])
    return found


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("four-wheels", "truncated")
@pytest.mark.parametrize(
    ("changes", "shares"),
    [
        ({}, None),
        ({"platform_centre_x": 0.03, "platform_centre_y": 0.02, "slip_velocity": 2.0}, None),
        ({"rollers": 5, "roller_end_radius": 0.01, "roller_share": 0.5, "friction": 2.9}, None),
        ({"wheels": 4, "compliant": True, "platform_centre_y": 0.05}, [[1.0, -1.0, 1.0, -1.0]]),
    ],
    ids=["reference", "viscous", "truncated", "four-wheels"],
)
def test_the_equations_are_those_of_all_bodies_by_newton_and_euler(changes, shares):
    case = problem.case("mixed", **changes)
    dynamics, structure = case.system.dynamics, case.full_structure
    accelerations = case.system.function("accelerations")
    reactions = case.system.function("reactions")
    velocities = dynamics.labels.states[dynamics.position_count :]
    momentum = ca.Function(
        "momentum",
        [dynamics.x, dynamics.p],
        [dynamics.kinetic, ca.jacobian(dynamics.kinetic, dynamics.x)],
    )
    generator = np.random.default_rng(3)
    for _ in range(10):
        state = random_state(case, generator)
        car = Vehicle(case.full_parameters, state, structure["wheels"], structure["rollers"])
        found = car.solve(None if shares is None else np.array(shares))
        values = values_at(case, state, found.slips)
        x = [state[name] for name in dynamics.labels.states]
        p = [values[name] for name in dynamics.ranges]
        told = np.array(accelerations(0.0, x, p)).ravel()
        expected = np.array([found.accelerations[name] for name in velocities])
        # The condition of the bodies' equations, whose masses and moments lie 1e5 apart.
        assert np.max(np.abs(told - expected)) < 1e-11 * np.max(np.abs(expected))
        normals = np.array(reactions(0.0, x, p)).ravel()
        assert np.max(np.abs(normals - found.normals)) < 1e-11 * np.max(np.abs(normals))
        energy, slope = (
            np.array(part).ravel() for part in momentum(x, dynamics.value_vector(values))
        )
        assert energy[0] == pytest.approx(found.energy, rel=1e-12)
        rates = np.concatenate([x[dynamics.position_count :][: dynamics.position_count], told])
        assert slope @ rates == pytest.approx(found.power, rel=1e-9)


def test_the_start_rolls_where_it_touches_and_rests_elsewhere():
    case = problem.case("mixed")
    start, _ = case.guess()
    car = Vehicle(case.full_parameters, start, 3, 4)
    assert np.max(np.abs(car.solve().slips)) < 1e-15
    for i in (1, 2, 3):
        psi = [math.tau / 4 * j for j in range(4)]
        resting = [start[f"spin_{i}_{j + 1}"] - math.sin(psi[j]) for j in range(1, 4)]
        assert resting == pytest.approx([0.0, 0.0, 0.0], abs=1e-15)
    assert case.derived == {f"{name}_{i}": value for i in (1, 2, 3)
                            for name, value in (("contact", 1.0), ("saturated", 0.0))}  # fmt: skip


@pytest.mark.parametrize(("rate", "contact"), [(1.0, 4.0), (-1.0, 1.0)])
def test_a_wheel_that_starts_on_two_tips_stands_on_the_roller_it_turns_to(rate, contact):
    case = problem.case("spin").starting({"chi_2": math.pi / 4, "chi_dot_2": rate})
    assert case.derived["contact_2"] == contact


@pytest.mark.parametrize(
    ("changes", "start", "told"),
    [
        ({"wheels": 2}, {}, "wheels is 2, but must be at least 3"),
        ({"rollers": 2}, {}, "rollers is 2, but must be at least 3"),
        ({"roller_end_radius": 0.04}, {}, "must be less than 0.0353553 m"),
        ({"platform_centre_x": -0.3}, {}, "pull wheel 1 down with 8.3385 N"),
        ({"friction": 6.0}, {"spin_1_1": 0.0}, "below 3 every slip determines them"),
        ({}, {"chi_2": math.pi / 4, "chi_dot_2": 1.0}, "stands on the tip of roller 4"),
    ],
)
def test_a_start_that_cannot_be_is_refused(changes, start, told):
    with pytest.raises(OutOfRangeError, match=told):
        problem.case("straight", **changes).starting(start).guess()


def test_four_wheels_need_a_rule_of_how_they_share_the_load():
    with pytest.raises(UndeterminedMotionError, match="1 normal reaction more"):
        _ = problem.case("mixed", wheels=4).system


@pytest.mark.slow_rows("6")
@pytest.mark.parametrize("wheels", [3, 6])
def test_loads_at_the_start_are_the_reactions_of_the_equations(wheels):
    start = {"spin_1_1": 3.0, "spin_2_2": 50.0, "chi_1": 0.3, "chi_2": -0.7, "chi_dot_2": 20.0}
    case = problem.case("off-centre", wheels=wheels, compliant=wheels > 3).starting(start)
    found = loads(case.full_start, case.full_parameters, case.full_structure)
    states, values = case.guess()[0], case.values
    x = [states[name] for name in case.system.dynamics.labels.states]
    p = [values[name] for name in case.system.dynamics.ranges]
    normals = np.array(case.system.function("reactions")(0.0, x, p)).ravel()
    assert normals == pytest.approx(found.normals, rel=1e-13)
    assert found.limit == pytest.approx(3.0)


@pytest.fixture(scope="module")
def straight() -> Trajectory:
    """Return a run through one change of rollers, which two wheels make together."""
    return problem.case("straight").solve(until=0.06, at=[0.0, 0.03, 0.06], solver=COARSE)


@pytest.mark.slow
def test_wheels_change_their_rollers_at_one_instant_where_the_motion_is_symmetric(straight):
    switches = [event for event in straight.events if event.name == "roller_switch"]
    assert [event.fired for event in switches] == [(1, 2)]
    # Both wheels roll by cos(30 deg) v / l to pi / 4; friction has hardly slowed them before.
    arrival = math.pi / 4 / (math.cos(math.pi / 6) / 0.05)
    assert switches[0].time == pytest.approx(arrival, rel=1e-2)
    after = switches[0].after
    assert (after["contact_1"], after["contact_2"], after["contact_3"]) == (1.0, 4.0, 2.0)
    assert np.max(np.abs(straight["y"])) < 1e-14
    assert straight["normal_2"] == pytest.approx(straight["normal_3"], rel=1e-12)
    balance = straight["energy"] - straight["friction_work"]
    assert balance == pytest.approx(balance[0], rel=1e-7)


@pytest.mark.slow
def test_friction_saturates_where_the_slip_reaches_its_threshold(straight):
    kinks = [event for event in straight.events if event.name == "saturation"]
    assert len(kinks) >= 2
    assert kinks[0].after["saturated_2"] == kinks[0].after["saturated_3"] == 1.0
    assert straight.at(kinks[0].time)["slip_2"] == pytest.approx(1e-3, rel=2e-5)
    # Half of v crosses the tips of the rollers there.
    assert 0.49 < straight.peaks["slip_2"].value < 0.5


@pytest.mark.long
def test_slip_of_rollers_with_thick_ends_jumps_at_a_switch_and_the_branch_with_it():
    case = problem.case("straight", roller_end_radius=0.005)
    run = case.solve(until=0.046, at=[0.0, 0.046], solver=COARSE)
    (switch,) = [event for event in run.events if event.name == "roller_switch"]
    assert run.at(switch.time - 1e-6)["slip_2"] < 1e-3
    # The next roller was at rest in its wheel: it slips with the whole of v . n.
    assert run.at(switch.time + 1e-9)["slip_2"] == pytest.approx(0.5, rel=1e-2)
    assert switch.after["saturated_2"] == switch.after["saturated_3"] == 1.0
    assert switch.after["saturated_1"] == 0.0


@pytest.mark.slow
def test_the_measures_compare_with_the_vehicle_without_inertia_of_its_rollers():
    case = problem.case("spin")
    run = case.solve(until=0.1, at=[0.0, 0.05, 0.1], solver=FINE)
    found = {name: measure.rule(case, run) for name, measure in problem.measures.items()}
    assert found["position_deviation"] < FINE.rtol
    assert found["angle_deviation"] == pytest.approx(0.1 - run["theta"][-1], rel=1e-9)
    assert found["dissipated_share"] == pytest.approx(-run["friction_work"][-1] / run["energy"][0])


@pytest.mark.slow
def test_the_matched_vehicle_is_integrated_where_its_mass_centre_is_not_in_the_middle():
    case = problem.case("mixed", platform_centre_x=1e-9)
    start, times = case.guess()[0], np.array([0.0, 0.3, 0.6])
    middle = dict(case.full_parameters) | {"platform_centre_x": 0.0}
    integrated = matched_motion(start, case.full_parameters, case.full_structure, times)
    closed = matched_motion(start, middle, case.full_structure, times)
    for name in ("x", "y", "theta"):
        assert integrated[name] == pytest.approx(closed[name], abs=1e-8)


@pytest.mark.slow
def test_its_figures_and_its_drawing_show_a_run(straight):
    told = document(straight, problem.case("straight").identity())
    for draw in problem.figures.values():
        assert all(axes.lines for axes in draw(told).axes)
    assert problem.drawing is not None
    shapes = problem.drawing(told).shapes
    assert sum(getattr(shape, "label", "") == "roller in contact" for shape in shapes) == 1


# -- slow: what the thesis shows ------------------------------------------------------------------


def deviations(case: str, *measures: str, **changes: float) -> np.ndarray:
    """Return measures, a row each, at shares of 1e-3 to 1e-6 of the rollers in the wheels' masses.

    They are the largest at 201 times in 2 s: places deviate most at the end, angles before.
    """
    found: list[list[float]] = []
    for share in (1e-3, 1e-4, 1e-5, 1e-6):
        bound = problem.case(case, roller_share=share, **changes)
        run = bound.solve(until=2.0, at=np.linspace(0.0, 2.0, 201), solver=FINEST)
        assert run.outcome is Outcome.COMPLETED
        balance = run["energy"] - run["friction_work"]
        assert balance[-1] == pytest.approx(balance[0], rel=1e-8)
        found.append([problem.measures[measure].rule(bound, run) for measure in measures])
    return np.array(found).T


def orders(found: np.ndarray) -> np.ndarray:
    return np.log10(found[..., :-1] / found[..., 1:])


@pytest.mark.long
def test_in_a_spin_the_angle_tends_to_that_without_inertia_in_proportion_to_the_share():
    found = deviations("spin", "angle_deviation")
    assert orders(found) == pytest.approx(1.0, abs=0.005)
    # From an independent integration of the same equations at a tolerance of 1e-10.
    assert found[0, :2] == pytest.approx([5.526392e-7, 5.546019e-8], rel=1e-4)


@pytest.mark.long
def test_straight_ahead_the_place_tends_to_it_with_the_cube_root_of_the_share_only():
    found = deviations("straight", "position_deviation")
    assert orders(found) == pytest.approx(1.0 / 3.0, abs=0.002)


@pytest.mark.long
def test_with_a_turn_besides_the_angle_tends_to_it_with_the_square_of_that():
    place, angle = orders(deviations("mixed", "position_deviation", "angle_deviation"))
    assert place == pytest.approx(1.0 / 3.0, abs=0.02)
    assert angle == pytest.approx(2.0 / 3.0, abs=0.02)


@pytest.mark.long
def test_rollers_with_thick_ends_tend_to_it_in_proportion_to_the_share():
    end = 0.05 * (math.cos(math.pi / 4) - math.cos(math.pi / 3))
    found = deviations("straight", "position_deviation", roller_end_radius=end)
    assert orders(found) == pytest.approx(1.0, abs=0.001)


@pytest.mark.long
def test_the_reference_vehicle_slows_down_as_computed_independently():
    case = problem.case("straight")
    run = case.solve(until=1.0, at=[0.0, 1.0], solver=FINE)
    assert run["x"][-1] - 1.0 == pytest.approx(-0.0559252, abs=1e-7)
    assert 4.17 < min(run["normal_2"]) < 5.31
    assert run.peaks["slip_2"].value == pytest.approx(0.4953, abs=1e-4)
    balance = run["energy"] - run["friction_work"]
    assert balance[-1] == pytest.approx(balance[0], rel=1e-8)


@pytest.mark.slow
def test_friction_beyond_its_limit_ends_the_run_before_the_reactions_lose_their_bounds():
    run = problem.case("straight", friction=3.2).solve(until=0.5, at=[0.0, 0.5], solver=COARSE)
    assert run.outcome is Outcome.DEGENERATE
    assert "friction leaves the normal reactions undetermined" in run.message
    assert run.events[-1].name == "normal_indeterminate"


@pytest.mark.slow
def test_a_wheel_that_lifts_ends_the_run():
    case = problem.case("straight", platform_centre_x=-0.107)
    run = case.solve(until=0.1, at=[0.0, 0.1], solver=COARSE)
    assert run.outcome is Outcome.DEGENERATE
    assert run.events[-1].name == "contact_lost"
    assert "no longer pressed to the floor" in run.message


@pytest.mark.slow
def test_on_the_spot_rollers_change_four_times_and_slip_stays_below_its_threshold():
    case = problem.case("spin")
    run = case.solve()
    changes = [event for event in run.events if event.name == "roller_switch"]
    assert len(changes) == 4
    assert "four times" in case.case.note
    slips = [peak.value for name, peak in run.peaks.items() if name.startswith("slip")]
    assert max(slips) < case.full_parameters["slip_velocity"]

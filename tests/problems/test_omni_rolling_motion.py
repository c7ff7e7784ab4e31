"""Motions of the omni-wheel vehicle, against closed forms and quadruple precision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from daesolve_problems.omni_vehicle import problem

import daesolve as ds
from tests.reference import omni_reference as truth
from tests.reference.omni_bodies import Vehicle

BODY = ("x", "y", "theta", "nu_1", "nu_2", "nu_3", "chi_1", "chi_2", "chi_3")
MEASURED_ONLY = ds.Feedback(rates={"energy": None})
TAYLOR = ds.Taylor()


def solved(case, until, at=None, model="compact", **options):
    """Run a case of the three velocities, its energy measured and not driven."""
    chosen = problem.case(case, model=model) if isinstance(case, str) else case
    times = [until] if at is None else at
    return chosen.solve(until=until, at=times, formulation=MEASURED_ONLY, solver=TAYLOR, **options)


def largest_error(run, index, state):
    return max(abs(run[name][index] - state[name]) for name in BODY)


# -- turning on the spot -------------------------------------------------------------------------


def test_turning_on_the_spot_all_wheels_switch_together_when_the_quadrature_says():
    run = solved("spin", 50.0)
    expected = [float(time) for time in truth.switches(truth.spin(), 50.0)]
    assert run.event_count == len(expected) == 23
    np.testing.assert_allclose([event.time for event in run.events], expected, rtol=0, atol=1e-11)
    assert all(event.fired == (0, 1, 2) for event in run.events)
    assert largest_error(run, 0, truth.body_states("spin", 50.0)) <= 1e-11


@pytest.mark.slow
@pytest.mark.slow_rows("cvodes", "lsoda", "sundae-cvode")
@pytest.mark.parametrize("solver", ["cvodes", "dop853", "lsoda", "sundae-cvode"])
def test_wheels_that_no_solver_can_tell_apart_switch_together(solver):
    """Steps of 1e-10 leave wheels a rounding or two apart, more than lies between two instants."""
    run = problem.case("spin", model="compact").solve(until=50.0, solver=solver)
    expected = [float(time) for time in truth.switches(truth.spin(), 50.0)]
    assert [event.fired for event in run.events] == [(0, 1, 2)] * 23
    np.testing.assert_allclose([event.time for event in run.events], expected, rtol=0, atol=1e-6)


def test_turning_on_the_spot_the_centre_stays():
    run = solved("spin", 50.0, at=ds.every(0.5))
    assert max(np.max(np.abs(run[name])) for name in ("x", "y", "nu_1", "nu_2")) <= 1e-14


@pytest.mark.slow
@pytest.mark.parametrize("model", ["compact", pytest.param("thesis", marks=pytest.mark.slow)])
def test_after_456_triple_switches_the_rate_of_turn_is_that_of_the_quadrature(model):
    run = solved("spin", 1000.0, model=model)
    expected = truth.body_states("spin", 1000.0)
    assert run.event_count == 456
    assert run["nu_3"][-1] == pytest.approx(expected["nu_3"], abs=1e-9)
    assert run["energy"][-1] == pytest.approx(expected["energy"], rel=1e-9)
    assert largest_error(run, 0, expected) <= 1e-8


# -- straight ahead ------------------------------------------------------------------------------


@pytest.mark.slow
def test_straight_ahead_what_is_left_of_the_energy_is_known_beforehand():
    run = solved("straight", 60.0, at=[0.0, 60.0])
    chi = truth.body_states("straight", 60.0)["chi_2"]
    motion = truth.straight()
    share = run["nu_1"][-1] ** 2 * motion.inertia(chi) / (run["nu_1"][0] ** 2 * motion.inertia(0))
    left = float(truth.remaining_energy())
    assert run["energy"][-1] / run["energy"][0] == pytest.approx(left, abs=1e-8)
    assert float(share) == pytest.approx(left**2, abs=1e-3)
    assert largest_error(run, -1, truth.body_states("straight", 60.0)) <= 1e-9


@pytest.mark.slow_rows(
    "sequential-groups1-thesis", "simultaneous-groups0-thesis", "sequential-groups1-compact"
)
@pytest.mark.parametrize("model", ["compact", "thesis"])
@pytest.mark.parametrize(
    ("imposition", "groups"), [("simultaneous", [(1, 2)]), ("sequential", [(1,), (2,)])]
)
def test_wheels_of_one_instant_are_stopped_together_or_one_by_one(model, imposition, groups):
    """One by one they turn the vehicle: nu_2 and nu_3 are 8.6e-5 and 1.1e-5 afterwards."""
    case = problem.case("straight", model=model, imposition=imposition)
    event = solved(case, 1.0).events[0]
    speed, contacts = 0.15 * event.detail["nu_1"], [1, 1, 1]
    q, rates = np.zeros(21), np.zeros(21)
    q[4:6], rates[0] = (event.detail["chi_2"], event.detail["chi_3"]), speed
    rates = Vehicle().rolling(q, rates)
    for wheels in groups:
        for wheel in wheels:
            side = int(np.sign(q[3 + wheel]))
            q[3 + wheel] -= side * 2 * np.pi / 5
            contacts[wheel] = (contacts[wheel] - side - 1) % 5 + 1
        rates = Vehicle(contacts=tuple(contacts)).stopped(q, rates)
    expected = [rates[0] / 0.15, rates[1] / 0.15, case.derived["velocity_scale"] * rates[2]]
    found = [event.after[name] for name in ("nu_1", "nu_2", "nu_3")]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    assert (abs(found[1]) > 8e-5) == (imposition == "sequential")


@pytest.mark.slow
def test_straight_ahead_nothing_turns_the_vehicle_for_200_seconds():
    """Rounding that sets the wheels apart grows e-fold in 50 s."""
    run = solved("straight", 200.0, at=ds.every(0.1))
    scale = problem.case("straight").derived["velocity_scale"]
    assert np.max(np.abs(run["nu_3"])) / scale <= 1e-11
    assert run.event_count == len(truth.switches(truth.straight(), 200.0))


# -- from a twist to turning on the spot ---------------------------------------------------------


def test_the_twist_follows_quadruple_precision_through_its_first_switches():
    stored = truth.stored_motion("twist")
    run = solved("twist", 50.0, at=[1.0, 10.0, 50.0])
    for index, (time, tolerance) in enumerate(((1, 1e-12), (10, 1e-11), (50, 1e-10))):
        sample = stored.samples[time]
        assert largest_error(run, index, sample.state) <= tolerance, time
        assert sum(event.time < time for event in run.events) == sample.events
        assert run["energy"][index] == pytest.approx(sample.energy, rel=tolerance)
        spins = [name for name in sample.state if name.startswith("phi_dot")]
        assert max(abs(run[n][index] - sample.state[n]) for n in spins) <= 100 * tolerance
    times = [event.time for event in run.events[:5]]
    np.testing.assert_allclose(times, stored.first_event_times, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_the_twist_ends_where_quadruple_precision_has_it():
    stored = truth.stored_motion("twist")
    times = [60.0, 300.0, 1000.0]
    run = solved("twist", 1000.0, at=np.sort([*times, *np.arange(0.0, 1000.0, 0.01)]))
    assert run.event_count == stored.event_count == 1618
    for time in times:
        index = int(np.searchsorted(run.times, time))
        assert largest_error(run, index, stored.samples[int(time)].state) <= 1e-8, time
    peak = max(np.max(run["nu_3"]), *(event.after["nu_3"] for event in run.events))
    assert peak == pytest.approx(stored.max_nu_3, abs=1e-6)


# -- both models ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bodies():
    return solved("twist", 10.0, at=ds.every(0.1), model="thesis")


@pytest.mark.slow
def test_the_bodies_and_the_three_velocities_move_alike(bodies):
    run = solved("twist", 10.0, at=ds.every(0.1))
    assert [e.fired for e in bodies.events] == [e.fired for e in run.events]
    for name in (*BODY, "speed", "energy", "phi_dot_1_1", "phi_dot_2_4", "phi_dot_3_5"):
        assert np.max(np.abs(bodies[name] - run[name])) <= 1e-10, name
    largest = max(np.max(np.abs(bodies[f"force_{s}_1"])) for s in ("n", "tau"))
    for name in (f"force_{side}_{i}" for side in ("n", "tau") for i in (1, 2, 3)):
        assert np.max(np.abs(bodies[name] - run[name])) <= 1e-9 * largest, name


@pytest.mark.long
def test_in_independent_velocities_the_bodies_move_alike(bodies):
    case = problem.case("twist", model="thesis")
    formulation = ds.NullSpace(rates={"energy": None})
    run = case.solve(until=10.0, at=ds.every(0.1), formulation=formulation, solver=TAYLOR)
    assert [e.fired for e in bodies.events] == [e.fired for e in run.events]
    for name in (*BODY, "phi_dot_1_1", "phi_dot_2_4", "phi_dot_3_5"):
        assert np.max(np.abs(bodies[name] - run[name])) <= 1e-10, name


def test_free_rollers_keep_their_momenta_and_smooth_pieces_their_energy(bodies):
    momenta = [drift for name, drift in bodies.drift.items() if name.startswith("roller_momentum")]
    assert len(momenta) == 15
    assert all(not drift.driven and drift.max_abs <= 1e-11 for drift in momenta)
    assert not bodies.drift["energy"].driven
    assert bodies.drift["energy"].max_relative <= 1e-12


def test_impacts_take_the_energy_of_the_velocities_that_they_take(bodies):
    for event in bodies.events:
        impact = event.impact
        assert abs(impact.carnot) <= 1e-13
        assert impact.kinetic_after <= impact.kinetic_before * (1 + 1e-15)
    assert bodies.events[0].impact.kinetic_after < 0.999 * bodies.events[0].impact.kinetic_before


def test_twice_the_speed_is_the_same_path_in_half_the_time():
    factor = 2.5
    slow = solved("twist", 20.0)
    start = {"nu_1": factor, "nu_3": factor}
    fast = solved(replace(problem.case("twist", model="compact"), start=start), 20.0 / factor)
    assert fast.event_count == slow.event_count
    times = factor * np.array([event.time for event in fast.events])
    np.testing.assert_allclose(times, [event.time for event in slow.events], rtol=0, atol=1e-11)
    for name in ("x", "y", "theta", "chi_1", "chi_2", "chi_3"):
        assert fast[name][-1] == pytest.approx(slow[name][-1], abs=1e-11), name
    for name in ("nu_1", "nu_2", "nu_3"):
        assert fast[name][-1] == pytest.approx(factor * slow[name][-1], abs=1e-11), name


def test_a_vehicle_at_rest_stays_though_its_free_rollers_turn():
    start = {"nu_3": 0.0, "phi_dot_1_2": 30.0, "phi_dot_2_3": -20.0, "chi_1": 0.3}
    run = solved(replace(problem.case("spin", model="compact"), start=start), 10.0)
    assert run.event_count == 0
    assert all(run[name][-1] == 0.0 for name in ("x", "y", "theta", "nu_1", "nu_2", "nu_3"))
    assert run["phi_dot_1_2"][-1] == 30.0


def test_without_inertia_of_the_rollers_the_velocity_turns_evenly_in_the_platform():
    """v' = -om M / (M + N J / (2 l^2)) e_z x v in the platform's axes, om constant."""
    given = problem.case("twist").derived
    given = {name: given[name] for name in ("total_mass", "vehicle_inertia", "wheel_inertia")}
    case = problem.case("twist", model="compact", roller_mass=0.0, **given)
    assert case.derived["roller_inertia"] == 0.0
    times = np.linspace(0.0, 20.0, 41)
    run = solved(case, 20.0, at=times)
    car = case.values
    added = 1.5 * car["wheel_inertia"] / car["wheel_radius"] ** 2
    rate = car["total_mass"] / (car["total_mass"] + added) / car["velocity_scale"]
    np.testing.assert_allclose(run["nu_3"], 1.0, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run["nu_1"], np.cos(rate * times), rtol=0, atol=1e-12)
    np.testing.assert_allclose(run["nu_2"], -np.sin(rate * times), rtol=0, atol=1e-12)


@pytest.mark.slow
def test_a_small_inertia_of_the_rollers_changes_the_rate_of_turn_in_proportion():
    given = problem.case("twist").derived
    names = ("total_mass", "vehicle_inertia", "wheel_inertia", "velocity_scale")
    given = {name: given[name] for name in names}
    plain = problem.case("twist", model="compact", **given)
    changes = [
        1.0 - solved(plain.changed({"roller_inertia": inertia}), 20.0)["nu_3"][-1]
        for inertia in (1e-8, 1e-9)
    ]
    assert changes[0] / changes[1] == pytest.approx(10.0, rel=0.01)


@pytest.mark.long_beyond(10)
@pytest.mark.slow
@pytest.mark.parametrize("wheels", [3, 4, 5, 6])
@pytest.mark.parametrize("rollers", [4, 5, 6, 7, 8])
def test_vehicles_with_more_wheels_and_rollers_lose_energy_at_switches_alone(wheels, rollers):
    start = {"nu_1": 1.0, "nu_2": 0.3, "nu_3": 0.8, "chi_1": 0.1, "chi_2": -0.2}
    case = problem.case("twist", model="compact", wheels=wheels, rollers=rollers)
    run = solved(replace(case, start=start), 50.0, at=ds.every(0.05))
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.drift["energy"].max_relative <= 1e-12
    assert run.event_count > 20
    assert np.max(np.diff(run["energy"])) <= 1e-12 * run["energy"][0]
    assert run["energy"][-1] < run["energy"][0]
    sector = np.pi / rollers
    assert max(np.max(np.abs(run[f"chi_{i}"])) for i in range(1, wheels + 1)) <= sector + 1e-11


@pytest.mark.slow_rows("thesis")
@pytest.mark.parametrize("model", ["compact", "thesis"])
def test_a_wheel_that_an_impact_turns_back_goes_back_at_once(model):
    """A slow wheel meets a roller that turns fast the other way: it switches twice at one time."""
    sector, excess = np.pi / 5.0, 1e-4
    case = problem.case("twist", model=model)
    car = case.values
    back = excess * car["wheel_radius"] / car["platform_radius"]
    start = {"nu_1": 0.3, "nu_2": -1.0 / car["velocity_scale"] - back, "nu_3": 1.0}
    start |= {"chi_1": sector - 1e-6} | {f"phi_dot_1_{j}": -20.0 for j in range(2, 6)}
    run = case.starting(start).solve(until=2.0)
    first, second = run.events[:2]
    assert first.fired == second.fired == (0,)
    assert first.time == second.time
    assert (first.after["contact_1"], second.after["contact_1"]) == (5.0, 1.0)
    assert run.events[2].time > second.time + 1e-3
    assert run.outcome is ds.Outcome.COMPLETED
    assert np.max(np.abs(run["chi_1"])) <= sector + 1e-12

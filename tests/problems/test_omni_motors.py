"""Motors on the axles of omni-wheels: three models, and the work that they do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.results.trajectory.results import Outcome

PROBLEM = ds.problem("omni-rolling")
TORQUES = {"motor_1": "1e-3 * sin(3 * t)", "motor_2": 2e-3, "motor_3": -1e-3}


def driven(model, torques, case="twist", until=3.0, **options):
    return PROBLEM.case(case, model=model, motors=True).solve(until, inputs=torques, **options)


@pytest.fixture(scope="module")
def reduced():
    return driven("compact", TORQUES)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["thesis", "general"])
def test_the_reduced_equations_with_motors_are_those_of_the_bodies(reduced, model):
    run = driven(model, TORQUES)
    assert run.outcome is Outcome.COMPLETED
    assert run.event_count == reduced.event_count > 5
    for name in ("x", "y", "theta", "nu_3"):
        assert run.end_state[name] == pytest.approx(reduced.end_state[name], abs=1e-12)
    assert run["motor_work"][-1] == pytest.approx(reduced["motor_work"][-1], abs=1e-14)


def test_between_changes_of_rollers_the_energy_is_the_work_of_the_motors(reduced):
    changes = [event.time for event in reduced.events]
    balance = reduced["energy"] - reduced["motor_work"]
    for first, last in itertools.pairwise(changes):
        inside = (reduced.times > first) & (reduced.times < last)
        if inside.sum() > 1:
            assert np.ptp(balance[inside]) < 1e-14
    assert np.all(np.diff(balance) < 1e-14)  # impacts take, and give nothing


def test_equal_torques_turn_the_vehicle_on_the_spot():
    """By symmetry the centre stays, and at chi = 0 the moments add up to one number."""
    run = driven("compact", dict.fromkeys(TORQUES, 1e-3), "spin", 0.05, initial={"nu_3": 0.0})
    assert abs(run["x"]).max() < 1e-16
    derived, radius = run.description["derived"], 0.15
    effective = derived["vehicle_inertia"] - 1.5 * 5 * derived["roller_inertia"]
    effective += 3 * derived["wheel_inertia"] * (radius / derived["wheel_radius"]) ** 2
    # I_S has B n / 2 of each wheel's rollers, which free ones keep to themselves; the angles chi
    # stay below 1e-2, and enter by their squares.
    push = -3 * 1e-3 * radius / derived["wheel_radius"]
    turned = run["nu_3"][-1] / derived["velocity_scale"]
    assert turned == pytest.approx(push / effective * 0.05, rel=1e-4)


@pytest.mark.slow
def test_without_motors_there_is_no_torque_to_give():
    case = PROBLEM.case("twist", model="compact")
    assert not case.system.inputs.names
    with pytest.raises(ds.DaesolveError, match="motor_1"):
        case.solve(0.1, inputs={"motor_1": 1e-3})

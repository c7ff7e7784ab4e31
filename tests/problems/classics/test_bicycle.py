import json

import numpy as np
import pytest
from daesolve_problems.classics.bicycle import problem
from scipy.optimize import root
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.core.equations.consistency import complete_start, instantaneous
from tests.reference import bicycle as truth

PUBLISHED = {
    1.0: (-7.11008014637441, -3.13423125066578, 3.52696170990069, 0.807740275199311),
    2.0: (-8.67387984831737, -3.07158645641514, 2.68234517512745, 1.68066296590676),
    3.0: (-10.3510146724592, -2.63366137253665, 1.70675605663973, 2.31582447384324),
    4.0: (-12.1586142657644, -1.42944427361326, 0.413253315211239, 3.07910818603205),
    5.0: (-14.0783896927982, -0.322866429004087, -0.775341882195845, 4.46486771378823),
}
"""Castering, capsize, and the weave's real and imaginary part (Meijaard et al. 2007, table 2)."""
WEAVE_SPEED, CAPSIZE_SPEED = 4.29238253634111, 6.02426201538837


def lateral(speed):
    """Small motions in lean and steer about straight riding."""
    state = {"speed": speed, "lean": 0.0, "steer": 0.0}
    return ds.analysis.linearize(problem.case().system, state, coordinates=("lean", "steer"))


# -- the linear equations ------------------------------------------------------------------------


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("1.0", "3.0")
@pytest.mark.parametrize("speed", PUBLISHED)
def test_eigenvalues_agree_with_the_published_ones_to_13_digits(speed):
    castering, capsize, weave, frequency = PUBLISHED[speed]
    expected = [castering, capsize, weave - 1j * frequency, weave + 1j * frequency]
    found = lateral(speed).eigenvalues
    for value in expected:
        assert np.min(np.abs(found - value)) < 1e-13 * abs(value)


@pytest.mark.parametrize("speed", [0.0, 3.0, 9.0])
def test_the_matrix_is_that_of_the_linear_equations(speed):
    found = lateral(speed)
    assert found.names == ("lean", "steer", "lean_dot", "steer_dot")
    expected = truth.linear_matrix(speed)
    np.testing.assert_allclose(found.matrix, expected, atol=1e-13 * np.max(np.abs(expected)))


def test_the_weave_and_the_capsize_change_their_signs_at_the_published_speeds():
    weave = lateral(WEAVE_SPEED).eigenvalues
    assert abs(weave[np.argmax(weave.imag)].real) < 1e-12
    assert np.min(np.abs(lateral(CAPSIZE_SPEED).eigenvalues)) < 1e-12
    assert lateral(4.2).eigenvalues.real.max() > 0
    assert lateral(6.1).eigenvalues.real.max() > 0
    assert lateral(5.0).eigenvalues.real.max() < 0


def test_the_command_line_finds_the_four_eigenvalues_and_the_speed():
    words = ["analyse", "bicycle", "linearization", "--case", "steady", "--json"]
    answer = json.loads(CliRunner().invoke(app, words).stdout)
    assert list(answer["cyclic"]) == ["x", "y", "yaw", "rear_rotation", "front_rotation"]
    assert answer["cyclic"]["x"] == 5.0
    assert answer["names"] == ["lean", "steer", "lean_dot", "steer_dot", "rear_rotation_dot"]
    parts = answer["eigenvalues"]
    found = np.array(parts["real"]) + 1j * np.array(parts["imaginary"])
    for value in [*lateral(5.0).eigenvalues, 0.0]:
        assert np.min(np.abs(found - value)) < 1e-12


# -- the nonlinear model -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hard_push():
    return problem.case("m2").solve(at=[5.0])


@pytest.mark.slow
def test_states_and_contact_forces_agree_with_virtual_power_in_world_axes(hard_push):
    end, forces = truth.ride(5.0, 4.6, 0.5)
    for name in truth.NAMES:
        assert abs(hard_push[name][0] - end[name]) < 1e-11 * max(1.0, abs(end[name])), name
        if name not in ("x", "y"):
            rate = f"{name}_dot"
            assert abs(hard_push[rate][0] - end[rate]) < 1e-11 * max(1.0, abs(end[rate])), name
    names = [f"{wheel}_{part}" for wheel in ("rear", "front") for part in truth.REACTIONS]
    found = [hard_push[name][0] for name in names]
    np.testing.assert_allclose(found, forces, atol=1e-10 * 600)


def test_constraints_and_energy_are_kept(hard_push):
    assert hard_push.outcome.good
    for goal, drift in hard_push.drift.items():
        assert drift.max_relative < 1e-12, goal


@pytest.mark.slow_rows("m1-4.0")
@pytest.mark.parametrize(("name", "speed"), [("m1", 4.0), ("m3", 8.0)])
def test_a_weak_push_moves_as_the_linear_equations_say(name, speed):
    """A push of 0.05 rad/s leaves terms of third order: lean stays below 0.05, its cube is 1e-4."""
    run = problem.case(name).solve(at=[0.5, 1.0, 2.0])
    values, vectors = np.linalg.eig(truth.linear_matrix(speed))
    start = np.linalg.solve(vectors, [0.0, 0.0, 0.05, 0.0])
    for index, time in enumerate(run.times):
        lean, steer = ((vectors * np.exp(values * time)) @ start).real[:2]
        assert abs(run["lean"][index] - lean) < 2e-4
        assert abs(run["steer"][index] - steer) < 2e-4


@pytest.mark.slow
def test_a_turn_with_hands_off_is_a_steady_motion():
    """Near the capsize speed the bicycle leans into a circle and stays there."""
    system = problem.case().system
    dynamics = system.dynamics
    numbers = dynamics.value_vector({})
    names = dynamics.labels.states

    def turn(unknowns):
        steer, speed = unknowns
        still = {"lean_dot": 0.0, "steer_dot": 0.0, "yaw": 0.0}
        given = {"lean": 0.1, "steer": steer, "speed": speed, **still}
        return complete_start(dynamics, numbers, given).state

    def falling(unknowns):
        found, _ = instantaneous(dynamics, 0.0, turn(unknowns), numbers)
        first = dynamics.position_count
        return [found[names.index(name) - first] for name in ("lean_dot", "steer_dot")]

    found = root(falling, [0.03, 6.0], tol=1e-13)
    state = dict(zip(names, turn(found.x), strict=True))
    linear = ds.analysis.linearize(system, state)
    assert abs(linear.rates["yaw"]) > 0.1
    assert linear.cyclic == ("x", "y", "yaw", "rear_rotation", "front_rotation")
    assert abs(linear.rates["x"] - state["speed"]) < 1e-12
    # One of the five belongs to the family of turns.
    assert np.min(np.abs(linear.eigenvalues)) < 1e-6

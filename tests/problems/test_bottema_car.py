"""Bottema's car against one equation for its angle, the circle at last, and a tractrix."""

import math

import numpy as np
import pytest
from daesolve_problems.steered.bottema import masses, problem
from scipy.integrate import solve_ivp

import daesolve as ds


def angles(case, times):
    """phi by phi' = C - w sin(phi) / L, w = V / sqrt(mu(phi)), by DOP853."""
    p, given = case.full_parameters, case.full_start
    level = given["speed"] * math.sqrt(masses(given["angle"], p))

    def rate(time, phi):
        turn = level * np.sin(phi) / (p["wheelbase"] * np.sqrt(masses(phi, p)))
        return given["rate"] - turn

    span = (0.0, times[-1])
    options = {"method": "DOP853", "t_eval": times, "rtol": 1e-13, "atol": 1e-13, "max_step": 0.02}
    return solve_ivp(rate, span, [given["angle"]], **options).y[0]


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("name", ["round-and-round", "settling", "tractrix"])
def test_the_angle_obeys_one_equation(name) -> None:
    case, times = problem.case(name), np.linspace(0.0, 8.0, 41)
    run = case.solve(8.0, at=times)
    expected = angles(case, times)
    # Steps are short, since the dense output of DOP853 is of order 7 only.
    assert np.max(np.abs(run["phi"] - expected)) < 1e-11
    for name in ("energy", "front_turn"):
        assert run.drift[name].max_relative < 1e-13


@pytest.mark.slow
def test_there_are_bottemas_two_kinds_of_motion() -> None:
    count = {}
    for name in ("round-and-round", "settling"):
        case = problem.case(name)
        run = case.solve(at=np.linspace(0.0, 20.0, 2001))
        signs = [np.sign(run[rate]) for rate in ("rear_speed", "psi_dot")]
        count[name] = [int(np.sum(np.diff(sign) != 0.0)) for sign in signs]
    assert count["settling"] == [1, 0]
    period = problem.case("round-and-round").analyse("kind").values["period"]
    # A whole turn of phi has two cusps and two inflections; the last one is not whole.
    turns = math.floor(20.0 / period)
    for found in count["round-and-round"]:
        assert 2 * turns <= found <= 2 * turns + 2


@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_a_car_that_settles_goes_round_the_predicted_circle(speed) -> None:
    case = problem.case("settling").starting({"speed": speed})
    kind = case.analyse("kind").values
    run = case.solve(60.0, at=np.linspace(50.0, 60.0, 11))
    turned = (run["phi"][-1] - kind["angle"] + math.pi) % (2 * math.pi) - math.pi
    assert abs(turned) < 1e-10
    # x + i y + i radius e^(i psi), its centre, rests: on the side to which the frame turns.
    side = math.copysign(kind["radius"], run["psi_dot"][-1] * run["rear_speed"][-1])
    centre = run["x"] + 1j * run["y"] + 1j * side * np.exp(1j * run["psi"])
    assert np.max(np.abs(centre - centre[0])) < 1e-7  # what is left at 50 s of the way there


def test_a_tractrix_is_drawn_behind_a_pin_that_circles_evenly() -> None:
    case = problem.case("tractrix")
    run = case.solve(at=np.linspace(0.0, 20.0, 201))
    assert np.ptp(run["speed"]) < 1e-12
    pin = run["x"] + 1j * run["y"] + np.exp(1j * run["psi"])
    # At the speed 1 with the direction turning at 2 rad/s: a circle of radius 1/2.
    centre = pin + 0.5j * np.exp(1j * run["direction"])
    assert np.max(np.abs(centre - centre[0])) < 1e-11


def test_a_volume_is_not_kept() -> None:
    assert ds.analysis.invariant_measure(problem.case("settling").system).exists is False

"""The five-bar linkage and the robot arm against models of other coordinates and other laws."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from tests.reference.five_bar import FiveBar
from tests.reference.robot_arm import torques

JOINTS = ("waist", "shoulder", "elbow")


def numbers(case):
    return {name: float(value) for name, value in case.values.items()}


def five_bar(case):
    known = numbers(case)
    return FiveBar(*(known[n] for n in FiveBar.__dataclass_fields__))


@pytest.mark.slow
def test_the_sampled_controller_holds_the_five_bar_as_in_the_angles_of_its_cranks():
    case = ds.problem("five-bar").case("pd")
    known, start = numbers(case), case.guess()[0]
    run = case.solve(0.5)
    found = five_bar(case).controlled(
        np.array([start["left"], start["right"]]),
        np.array([known["target_left"], known["target_right"]]),
        (known["stiffness"], known["damping"]),
        period=0.005,
        most=6.0,
        ticks=100,
    )
    names = ("left", "right", "left_dot", "right_dot")
    # 100 times the tolerance of the reference's steps, in rates of some 10 rad/s.
    assert np.abs(found - [run.end_state[n] for n in names]).max() < 1e-9
    assert np.abs(run["motor_left"]).max() == 6.0


@pytest.mark.slow
def test_the_tip_comes_to_its_circle_as_the_law_says():
    run = ds.problem("five-bar").case("circle").solve(1.0)
    t, rate, turning = run.times, 20.0, 4.0
    error, slip = 0.02, -0.06 * turning  # from rest, where x is to move with r w
    decay = (error + (slip + rate * error) * t) * np.exp(-rate * t)
    assert np.abs(run["tip_x"] - 0.06 * np.sin(turning * t) - decay).max() < 1e-13
    # What it starts off in height: 0.48 + 0.06 - 0.5
    decay = -0.04 * (1 + rate * t) * np.exp(-rate * t)
    assert np.abs(run["tip_y"] - 0.48 - 0.06 * np.cos(turning * t) - decay).max() < 1e-13


def test_without_torques_the_linkage_falls_and_keeps_its_energy():
    case = ds.problem("five-bar").case("falls")
    run = case.solve()
    assert run.drift["energy"].max_relative < 1e-14
    linkage, first = five_bar(case), case.guess()[0]
    q = np.array([first["left"], first["right"]])
    assert np.allclose(linkage.angles(q), [first[n] for n in first if "dot" not in n], atol=1e-14)


def wanted(times):
    """Return the motion of the path, rad, its rate and acceleration, each (k, 3)."""
    c, a, w = np.array([(0.0, 1.0, 1.0), (0.8, 0.4, 1.7), (-1.2, 0.6, 2.3)]).T
    turn = w * times[:, None]
    return c + a * np.sin(turn), a * w * np.cos(turn), -a * w**2 * np.sin(turn)


@pytest.mark.slow
def test_inverse_dynamics_of_the_arm_agrees_with_newton_and_euler():
    case = ds.problem("robot-arm").case("feedforward")
    motion = {
        "waist": "sin(t)",
        "shoulder": "0.8 + 0.4 * sin(1.7 * t)",
        "elbow": "-1.2 + 0.6 * sin(2.3 * t)",
    }
    found = ds.inverse_dynamics(case, motion, 2.0, at=ds.every(0.1))
    rows = zip(*wanted(found.times), strict=True)
    truth = np.array([torques(*row, numbers(case)) for row in rows])
    for k, name in enumerate(JOINTS):
        # Torques of some 50 N m, sums of a few dozen terms.
        assert np.abs(found[f"motor_{name}"] - truth[:, k]).max() < 1e-12, name


@pytest.mark.slow
def test_the_torques_of_the_path_alone_lead_along_it():
    run = ds.problem("robot-arm").case("feedforward").solve()
    q = wanted(run.times)[0]
    for k, name in enumerate(JOINTS):
        assert np.abs(run[name] - q[:, k]).max() < 1e-11, name


@pytest.mark.slow
def test_computed_torque_brings_the_arm_back_as_the_exponential_says():
    run = ds.problem("robot-arm").case("computed-torque").solve()
    q = wanted(run.times)[0]
    decay = (1 + 15 * run.times) * np.exp(-15 * run.times)
    for k, (name, off) in enumerate(zip(JOINTS, (0.3, -0.2, 0.25), strict=True)):
        assert np.abs(run[name] - q[:, k] - off * decay).max() < 1e-13, name


@pytest.mark.slow
@pytest.mark.parametrize("case", ["sampled"])
def test_what_a_computer_does_misses_the_path_by_about_its_period(case):
    run = ds.problem("robot-arm").case(case).solve(1.5)
    q, rate, acceleration = (part[-1] for part in wanted(run.times[-1:]))
    truth = torques(q, rate, acceleration, numbers(ds.problem("robot-arm").case(case)))
    # Torques are half a period late on average: the error e = M^-1 u' T / 2 / k^2 is small.
    assert max(abs(run[name][-1] - q[k]) for k, name in enumerate(JOINTS)) < 1e-3
    found = np.array([run[f"motor_{name}"][-1] for name in JOINTS])
    assert np.abs(found - truth).max() < 0.02 * np.abs(truth).max()

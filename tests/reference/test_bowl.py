"""The exact motion of a hoop inside a circle, against laws of mechanics and other numerics."""

from __future__ import annotations

from typing import Any, Final

import heyoka as hy
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from .bowl import (
    DEFAULT_PARAMETERS,
    BowlParameters,
    bowl_contact_loss_angle,
    bowl_contact_loss_time,
    bowl_energy,
    bowl_period,
    bowl_reactions,
    bowl_states,
)
from .differences import EPSILON, states_and_rates

WIDE: Final = BowlParameters(wheel_mass=0.7, radius=0.13, gravity=9.81, circle_radius=0.6)
PATH_RADIUS: Final = WIDE.circle_radius - WIDE.radius
PULL: Final = WIDE.gravity * PATH_RADIUS  # g R_c
STARTS: Final = {
    "libration": (0.4, -1.0),
    "libration above the centre": (2.0, 0.0),
    "rotation": (0.3, 4.0),
    "rotation backwards, turns behind it": (-13.0, -5.0),
}
each_start = pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)


def bottom_speed(energy: float) -> float:
    """v_0 for V = v_0^2 / (g R_c)."""
    return float(np.sqrt(energy * PULL))


@pytest.fixture(scope="module")
def quadruple_pendulum() -> Any:
    """psi'' = -(g / (2 R_c)) sin psi."""
    angle, rate = hy.make_vars("angle", "rate")
    gravity, path_radius = hy.real128(WIDE.gravity), quadruple_path_radius()
    return hy.taylor_adaptive(
        [(angle, rate), (rate, hy.expression(-gravity / (2 * path_radius)) * hy.sin(angle))],
        state=[hy.real128(0)] * 2,
        fp_type=hy.real128,
        compact_mode=True,
    )


def quadruple_path_radius() -> Any:
    return hy.real128(WIDE.circle_radius) - hy.real128(WIDE.radius)


@each_start
def test_states_equal_quadruple_precision_taylor_to_the_last_digits(
    start: tuple[float, float], quadruple_pendulum: Any
) -> None:
    for time in (0.4, 40.0):
        quadruple_pendulum.time = hy.real128(0)
        rate = hy.real128(start[1]) / quadruple_path_radius()
        quadruple_pendulum.state[:] = [hy.real128(start[0]), rate]
        quadruple_pendulum.propagate_until(hy.real128(time))
        state = bowl_states(time, *start, WIDE)
        actual = [state["polar_angle"], state["polar_angle_dot"]]
        expected = quadruple_pendulum.state.astype(float)
        # both round the same number: at most one unit in the last place apart
        np.testing.assert_allclose(actual, expected, rtol=EPSILON, atol=0)


@each_start
def test_states_are_those_of_a_hoop_that_rolls_inside_the_circle(
    start: tuple[float, float],
) -> None:
    state = bowl_states([0.0, 0.7, 500.0], *start, WIDE)
    assert state["polar_angle"][0] == start[0]
    assert abs(state["theta"][0]) < 1e-40
    tolerance = {"rtol": 0, "atol": 16 * EPSILON}
    n = np.array([np.cos(state["alpha"]), np.sin(state["alpha"])])
    at = np.array([state["x"], state["z"]])
    # alpha has up to 6000 rad: its last digit decides
    wrapped = {"rtol": 0, "atol": 2 * EPSILON * np.abs(state["alpha"]).max()}
    np.testing.assert_allclose(at, PATH_RADIUS * n, **wrapped)
    np.testing.assert_allclose(np.hypot(*at), PATH_RADIUS, **tolerance)
    contact_x = at[0] * WIDE.circle_radius / PATH_RADIUS
    np.testing.assert_allclose(state["contact_x"], contact_x, rtol=4 * EPSILON)
    np.testing.assert_allclose(state["alpha"], state["polar_angle"] - np.pi / 2, rtol=2 * EPSILON)
    np.testing.assert_allclose(
        state["speed"] + WIDE.radius * state["theta_dot"], 0, rtol=0, atol=16 * 5 * EPSILON
    )
    rolled = PATH_RADIUS * (state["polar_angle"] - start[0])
    atol = 4 * EPSILON * (np.abs(rolled).max() + PATH_RADIUS * abs(start[0]))
    np.testing.assert_allclose(-WIDE.radius * state["theta"], rolled, rtol=0, atol=atol)


@each_start
def test_rates_and_forces_obey_newton(start: tuple[float, float]) -> None:
    times = np.array([-0.5, 0.35, 2.0])
    state, rate = states_and_rates(lambda t: bowl_states(t, *start, WIDE), times, 4e-3)
    forces = bowl_reactions(state["polar_angle"], state["speed"], WIDE)
    # singularities are a quarter period in imaginary time away, 0.25 s at the fastest:
    # 9! (4e-3/0.25)^8 5 / (0.25 * 630) = 5e-11; rounding 3 EPSILON 5 / step = 8e-13
    tolerance = {"rtol": 0, "atol": 1e-10}
    mass, radius = WIDE.wheel_mass, WIDE.radius
    for name in ("x", "z"):
        np.testing.assert_allclose(rate[name], state[name + "_dot"], **tolerance)
        np.testing.assert_allclose(rate[name + "_dot"], forces[name + "_ddot"], **tolerance)
    np.testing.assert_allclose(rate["alpha"], forces["alpha_dot"], rtol=0, atol=5e-10)
    np.testing.assert_allclose(rate["polar_angle"], state["polar_angle_dot"], rtol=0, atol=5e-10)
    np.testing.assert_allclose(rate["speed"], forces["speed_dot"], **tolerance)
    np.testing.assert_allclose(radius * rate["theta"], radius * state["theta_dot"], **tolerance)
    np.testing.assert_allclose(mass * rate["x_dot"], forces["reaction_x"], **tolerance)
    np.testing.assert_allclose(
        mass * (rate["z_dot"] + WIDE.gravity), forces["reaction_z"], **tolerance
    )
    np.testing.assert_allclose(
        mass * radius * rate["theta_dot"], forces["torque"] / radius, **tolerance
    )
    n = np.array([np.cos(state["alpha"]), np.sin(state["alpha"])])
    normal = -n[0] * forces["reaction_x"] - n[1] * forces["reaction_z"]
    np.testing.assert_allclose(forces["normal"], normal, rtol=0, atol=1e-12)
    moment = radius * (forces["reaction_z"] * n[0] - forces["reaction_x"] * n[1])
    np.testing.assert_allclose(forces["torque"], moment, rtol=0, atol=1e-12)


@pytest.mark.slow
@settings(derandomize=True, max_examples=40, deadline=None)
@given(
    angle=st.floats(-20, 20),
    speed=st.floats(-6, 6),
    times=st.lists(st.floats(-100, 100), min_size=1, max_size=3),
)
def test_any_motion_keeps_energy_and_has_a_mirror_image(
    angle: float, speed: float, times: list[float]
) -> None:
    energy = float(bowl_energy(angle, speed, WIDE))
    assume(abs(energy - WIDE.wheel_mass * PULL) > 1e-6)  # the separatrix
    state = bowl_states(times, angle, speed, WIDE)
    reached = bowl_energy(state["polar_angle"], state["speed"], WIDE)
    # u is right to its last digit, psi to the last of up to 1300 rad
    rounding = EPSILON * (8 * WIDE.wheel_mass * speed**2 + WIDE.wheel_mass * PULL * 1300)
    np.testing.assert_allclose(reached, energy, rtol=0, atol=rounding + 64 * EPSILON)
    mirrored = bowl_states(times, -angle, -speed, WIDE)
    for name in ("x", "speed", "theta", "polar_angle"):
        np.testing.assert_allclose(mirrored[name], -state[name], rtol=EPSILON, atol=1e-30)
    reversed_ = bowl_states(-np.array(times), angle, -speed, WIDE)
    np.testing.assert_allclose(reversed_["z"], state["z"], rtol=EPSILON, atol=1e-30)


def test_period_of_libration_by_the_arithmetic_geometric_mean() -> None:
    frequency = np.sqrt(WIDE.gravity / (2 * PATH_RADIUS))
    for amplitude in (0.3, 2.0, 3.0):
        one, other = 1.0, np.cos(amplitude / 2)
        for _ in range(8):
            one, other = (one + other) / 2, np.sqrt(one * other)
        expected = 2 * np.pi / (frequency * one)
        # cos(amplitude/2) is right to EPSILON / cos: its logarithm enters
        assert bowl_period(amplitude, 0.0, WIDE) == pytest.approx(expected, rel=32 * EPSILON)
    small = 1e-3
    series = 2 * np.pi / frequency * (1 + small**2 / 16)
    assert bowl_period(0.0, small * frequency * PATH_RADIUS, WIDE) == pytest.approx(
        series, rel=small**4 / 100
    )


@pytest.mark.parametrize("energy", [2.5, 4.0])
def test_time_of_a_whole_turn_by_the_trapezoidal_rule(energy: float) -> None:
    # spectral on a periodic integrand: V = 2.5 gives a strip of analyticity of 0.96, exp(-0.96 n)
    angles = np.arange(64) * 2 * np.pi / 64
    rates = np.sqrt(WIDE.gravity / PATH_RADIUS * (energy - 1 + np.cos(angles)))
    expected = 2 * np.pi * np.mean(1 / rates)
    assert bowl_period(0.0, bottom_speed(energy), WIDE) == pytest.approx(expected, rel=32 * EPSILON)
    turns = bowl_states([0.0, 10 * expected], 0.0, -bottom_speed(energy), WIDE)["polar_angle"]
    assert turns[1] == pytest.approx(-20 * np.pi, rel=64 * EPSILON)


def test_the_period_of_the_case_that_starts_above_the_centre() -> None:
    period = bowl_period(2.0, 0.0)
    state = bowl_states([0.0, period / 2, 10 * period], 2.0, 0.0)
    # at rest a time error is not felt; half a period leads to the mirror image
    np.testing.assert_allclose(state["polar_angle"], [2, -2, 2], rtol=EPSILON)
    gravity = DEFAULT_PARAMETERS.gravity
    np.testing.assert_allclose(state["speed"], 0, rtol=0, atol=gravity * 10 * period * EPSILON)
    # pushed at the start it is not: only a curve that also pulls keeps it there
    assert bowl_reactions(2.0, 0.0)["normal"] == pytest.approx(gravity * np.cos(2.0), rel=EPSILON)
    with pytest.raises(ValueError, match="no contact to lose"):
        bowl_contact_loss_time(2.0, 0.0)


@pytest.mark.parametrize("energy", [1.2, 1.9, 2.1, 2.9])
def test_contact_is_lost_where_the_normal_reaction_vanishes(energy: float) -> None:
    speed = bottom_speed(energy)
    angle = bowl_contact_loss_angle(speed, WIDE)
    assert angle is not None
    # V carries three roundings; dpsi/dV = 1 / (2 sin psi) <= 1.7
    assert angle == pytest.approx(np.arccos((1 - energy) / 2), abs=16 * EPSILON)
    time = bowl_contact_loss_time(0.0, speed, WIDE)
    assert time is not None
    nodes, weights = np.polynomial.legendre.leggauss(40)
    psi = angle / 2 * (1 + nodes)
    rates = np.sqrt(WIDE.gravity / PATH_RADIUS * (energy - 1 + np.cos(psi)))
    # psi' falls to zero a quarter of a radian beyond the loss or further: error (1.9)^-80
    assert time == pytest.approx(angle / 2 * np.sum(weights / rates), rel=64 * EPSILON)
    state = bowl_states(np.linspace(0, time, 50), 0.0, speed, WIDE)
    normal = bowl_reactions(state["polar_angle"], state["speed"], WIDE)["normal"]
    assert (normal[:-1] > 0).all()
    assert normal[-1] == pytest.approx(0, abs=64 * EPSILON * WIDE.wheel_mass * WIDE.gravity)
    assert state["polar_angle"][-1] == pytest.approx(angle, rel=4 * EPSILON)


@pytest.mark.parametrize("energy", [1.2, 2.1])
def test_time_of_loss_is_reckoned_from_any_start(energy: float) -> None:
    speed = bottom_speed(energy)
    whole = bowl_contact_loss_time(0.0, speed, WIDE)
    assert whole is not None
    later = bowl_states(0.1, 0.0, speed, WIDE)
    for turns, sense in ((0, 1), (0, -1), (2, -1)):
        angle = turns * 2 * np.pi + sense * later["polar_angle"]
        rest = bowl_contact_loss_time(float(angle), sense * float(later["speed"]), WIDE)
        # energy of the rounded state: a few EPSILON, of an angle of 13 rad
        assert rest == pytest.approx(whole - 0.1, abs=64 * EPSILON)


def test_slow_hoops_and_fast_hoops_keep_contact() -> None:
    for energy in (0.0, 0.5, 0.999, 3.001, 9.0):
        assert bowl_contact_loss_angle(bottom_speed(energy), WIDE) is None
        assert bowl_contact_loss_time(0.0, -bottom_speed(energy), WIDE) is None
        times = np.linspace(0, 2, 20)
        state = bowl_states(times, 0.0, bottom_speed(energy), WIDE)
        assert (bowl_reactions(state["polar_angle"], state["speed"], WIDE)["normal"] > 0).all()


def test_the_separatrix_is_refused() -> None:
    unit = BowlParameters(radius=0.25, gravity=2.0, circle_radius=1.25)  # R_c = 1, omega = 1
    with pytest.raises(ValueError, match="neither libration nor rotation"):
        bowl_states(1.0, 0.0, 2.0, unit)

"""The exact motion under the paper's printed goals, against those goals and other numerics."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import heyoka as hy
import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from .differences import EPSILON, states_and_rates
from .printed_hoop import (
    printed_hoop_energy,
    printed_hoop_period,
    printed_hoop_reactions,
    printed_hoop_states,
    printed_hoop_turning_times,
    printed_spin,
)
from .rolling_geometry import DEFAULT_PARAMETERS as WHEEL
from .rolling_geometry import curve_at, level_points
from .rolling_wheel import hoop_period

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

STARTS: Final = {"moving": (0.0, 1.5), "at-rest": (-0.9, 0.0)}
each_start = pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
COORDINATES: Final = ("x", "z", "theta", "alpha")
VELOCITIES: Final = ("x_dot", "z_dot", "theta_dot", "alpha_dot")


@cache
def printed_goals() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The four printed goals, and (G_v, G_q v) of those that are linear in the accelerations.

    The goals are functions of coordinates and velocities as they stand in the paper. Contact and
    tangency are differentiated once, so that G_v a + G_q v = 0 keeps all of them.
    """
    q, v = hy.make_vars(*COORDINATES), hy.make_vars(*VELOCITIES)
    x, z, _, alpha = q
    radius, a, b = WHEEL.radius, WHEEL.curve_a, WHEEL.curve_b

    def rate(expression: Any) -> Any:
        return sum(hy.diff(expression, qi) * vi for qi, vi in zip(q, v, strict=True))

    contact_x, contact_z = x + radius * hy.cos(alpha), z + radius * hy.sin(alpha)
    height = (((contact_x + a) * contact_x - b) * contact_x - a) * contact_x - (1 - b)
    slope = ((4 * contact_x + 3 * a) * contact_x - 2 * b) * contact_x - a
    contact = height - contact_z
    tangency = slope * hy.sin(alpha) + hy.cos(alpha)
    x_rate, z_rate, spin, turn = rate(contact_x), rate(contact_z), radius * v[2], radius * v[3]
    slip = x_rate * x_rate + z_rate * z_rate - spin * spin - turn * turn
    kinetic = WHEEL.wheel_mass * (v[0] * v[0] + v[1] * v[1] + spin * spin) / 2
    energy = kinetic + WHEEL.wheel_mass * WHEEL.gravity * z
    driven = [rate(contact), rate(tangency), slip, energy]
    gradients = [hy.diff(goal, vj) for goal in driven for vj in v]
    variables = [*q, *v]
    return (
        hy.cfunc([contact, tangency, slip, energy], vars=variables),
        hy.cfunc(gradients + [rate(goal) for goal in driven], vars=variables),
    )


def with_turn(state: dict[str, Any], parameters: Any = WHEEL) -> dict[str, Any]:
    forces = printed_hoop_reactions(state["contact_x"], state["speed"], parameters)
    return {**state, "alpha_dot": forces["alpha_dot"]}


def test_the_printed_goals_move_the_hoop_as_stated() -> None:
    _, equations = printed_goals()

    def rates(_: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        values = equations(np.ascontiguousarray(state))
        return np.concatenate([state[4:], -np.linalg.solve(values[:16].reshape(4, 4), values[16:])])

    exact = with_turn(printed_hoop_states([0.0, 0.3, 0.7], 0.0, 1.5))
    rows = np.transpose([exact[name] for name in (*COORDINATES, *VELOCITIES)])
    # before the first turn, where the equations become singular
    assert printed_hoop_turning_times(1.0, 0.0, 1.5)[0] == pytest.approx(0.83, abs=5e-3)
    numeric = solve_ivp(
        rates, (0, 0.7), rows[0], method="DOP853", t_eval=[0.3, 0.7], rtol=1e-12, atol=1e-13
    )
    # some hundred steps, each an error of 1e-12 of the value, theta and its rate up to 200
    np.testing.assert_allclose(numeric.y.T[:, :2], rows[1:, :2], rtol=0, atol=1e-10)
    np.testing.assert_allclose(numeric.y.T, rows[1:], rtol=0, atol=200 * 1e-10)


@pytest.mark.slow_rows("at-rest")
@each_start
def test_all_printed_goals_are_kept_for_half_an_hour(start: tuple[float, float]) -> None:
    goals, _ = printed_goals()
    state = with_turn(printed_hoop_states(np.linspace(0, 1800, 10), *start))
    residuals = goals(np.array([state[name] for name in (*COORDINATES, *VELOCITIES)]))
    # rounding of terms of size 1 (contact, tangency), 4 (squares of speeds), 8 (energy)
    np.testing.assert_allclose(residuals[0], 0, rtol=0, atol=16 * EPSILON)
    np.testing.assert_allclose(residuals[1], 0, rtol=0, atol=16 * EPSILON)
    np.testing.assert_allclose(residuals[2], 0, rtol=0, atol=16 * 4 * EPSILON)
    energy = float(printed_hoop_energy(*start))
    np.testing.assert_allclose(residuals[3], energy, rtol=0, atol=16 * 8 * EPSILON)


@pytest.mark.slow
@each_start
def test_rates_force_and_torque_obey_newton(start: tuple[float, float]) -> None:
    times = np.array([0.3, 1.6])
    state, rate = states_and_rates(lambda t: printed_hoop_states(t, *start), times, 2e-3)
    forces = printed_hoop_reactions(state["contact_x"], state["speed"])
    mass, radius, gravity = WHEEL.wheel_mass, WHEEL.radius, WHEEL.gravity
    tolerance = {"rtol": 0, "atol": 3e-10}  # as for the hoop that rolls, in test_reference.py
    for name in ("x", "z"):
        np.testing.assert_allclose(rate[name], state[name + "_dot"], **tolerance)
        np.testing.assert_allclose(rate[name + "_dot"], forces[name + "_ddot"], **tolerance)
    np.testing.assert_allclose(rate["speed"], forces["speed_dot"], **tolerance)
    np.testing.assert_allclose(rate["alpha"], forces["alpha_dot"], **tolerance)
    np.testing.assert_allclose(radius * rate["theta"], radius * state["theta_dot"], **tolerance)
    np.testing.assert_allclose(mass * rate["x_dot"], forces["reaction_x"], **tolerance)
    np.testing.assert_allclose(mass * (rate["z_dot"] + gravity), forces["reaction_z"], **tolerance)
    spin = mass * radius * rate["theta_dot"]
    np.testing.assert_allclose(spin, forces["torque"] / radius, **tolerance)
    np.testing.assert_allclose(radius * forces["theta_ddot"] * mass, spin, **tolerance)


def test_torque_is_not_the_moment_of_the_force() -> None:
    contact_x = np.linspace(-0.85, 0.85, 7)
    forces = printed_hoop_reactions(contact_x, 0.8)
    curve = curve_at(contact_x, WHEEL)
    bend = WHEEL.radius * curve.second / curve.stretch**3
    along = (forces["reaction_x"] + forces["reaction_z"] * curve.slope) / curve.stretch
    moment = WHEEL.radius * along * (1 - bend) / np.sqrt(1 - bend**2)
    np.testing.assert_allclose(forces["torque"], moment, rtol=0, atol=64 * EPSILON * 0.1)
    assert np.abs(forces["torque"] / (WHEEL.radius * along) - 1).max() > 0.01


@pytest.mark.slow
def test_period_equals_a_quadrature_over_the_abscissa() -> None:
    start = (0.0, 1.5)
    turns = printed_hoop_turning_times(5.0, *start)
    at_turns = printed_hoop_states(turns[:2], *start)
    with mpmath.workdps(34):
        radius, gravity = mpmath.mpf(WHEEL.radius), mpmath.mpf(WHEEL.gravity)
        a, b = mpmath.mpf(WHEEL.curve_a), mpmath.mpf(WHEEL.curve_b)

        def slope(x: Any) -> Any:
            return 4 * x**3 + 3 * a * x**2 - 2 * b * x - a

        def height(x: Any) -> Any:
            curve = x**4 + a * x**3 - b * x**2 - a * x - (1 - b)
            return curve + radius / mpmath.sqrt(1 + slope(x) ** 2)

        def room(x: Any) -> Any:
            second = 12 * x**2 + 6 * a * x - 2 * b
            return 1 - radius * second / mpmath.sqrt(1 + slope(x) ** 2) ** 3

        x, speed = mpmath.mpf(start[0]), mpmath.mpf(start[1])
        top = height(x) + speed**2 / (gravity * room(x))
        left, right = (
            mpmath.findroot(lambda y: height(y) - top, mpmath.mpf(float(guess)))
            for guess in np.sort(at_turns["contact_x"])
        )

        def slowness(x: Any) -> Any:
            drop = top - height(x)
            return mpmath.sqrt((1 + slope(x) ** 2) * room(x) / (gravity * drop))

        # tanh-sinh, which roots at the ends do not disturb, in 34 digits for 17
        half = mpmath.quad(slowness, [left, 0, right], maxdegree=9)
        period = printed_hoop_period(*start)
    assert period == pytest.approx(float(2 * half), rel=2e-15)
    assert turns[1] - turns[0] == pytest.approx(period / 2, rel=4 * EPSILON)


@pytest.mark.slow_rows("start1-0.00502531")
@pytest.mark.parametrize(("start", "excess"), [((0.0, 1.5), 0.00596224), ((-0.9, 0.0), 0.00502531)])
def test_period_is_half_a_per_cent_too_long(start: tuple[float, float], excess: float) -> None:
    assert printed_hoop_period(*start) / hoop_period(*start) - 1 == pytest.approx(excess, abs=5e-9)


@pytest.mark.parametrize("radius", [0.01, 0.2])
def test_small_oscillations_do_not_know_the_radius(radius: float) -> None:
    # rolling: omega^2 = g kappa / (2 (1 - r kappa)); printed: omega^2 = g kappa / 2
    wheel = replace(WHEEL, radius=radius)
    bottom = level_points(wheel)[-1]
    curvature = float(curve_at(bottom, wheel).second)
    amplitude = 1e-5
    start = (bottom + amplitude, 0.0)
    expected = 2 * np.pi * np.sqrt(2 / (WHEEL.gravity * curvature))
    # the period changes by (kappa amplitude)^2 = 1e-9, the bottom is known to EPSILON
    assert printed_hoop_period(*start, wheel) == pytest.approx(expected, rel=1e-8)
    rolling = expected * np.sqrt(1 - radius * curvature)
    assert hoop_period(*start, wheel) == pytest.approx(rolling, rel=1e-8)


def test_contact_slips_by_six_centimetres_a_second_as_published() -> None:
    contact_x = np.linspace(-0.87, 0.9, 2001)
    at_rest = printed_hoop_energy(contact_x, 0.0)
    per_square = printed_hoop_energy(contact_x, 1.0) - at_rest
    speed = np.sqrt(np.maximum(printed_hoop_energy(0.0, 1.5) - at_rest, 0) / per_square)
    slip = speed * (1 - printed_spin(contact_x))
    assert np.abs(slip).max() == pytest.approx(0.06, abs=5e-3)


@pytest.mark.slow
def test_motion_repeats_itself_and_runs_backwards() -> None:
    period = printed_hoop_period(0.0, 1.5)
    state = printed_hoop_states([0.4, 0.4 + period, -0.4], 0.0, 1.5)
    mirrored = printed_hoop_states(0.4, 0.0, -1.5)
    for name in ("contact_x", "speed", "z", "theta"):
        scale = 1 / WHEEL.radius if name == "theta" else 1.0
        tolerance = {"rel": 0, "abs": 8 * period * EPSILON * scale}
        assert state[name][0] == pytest.approx(state[name][1], **tolerance)
        sign = -1 if name == "speed" else 1
        assert state[name][2] == pytest.approx(sign * mirrored[name], **tolerance)


def test_a_curve_as_sharp_as_the_wheel_is_refused() -> None:
    with pytest.raises(ValueError, match="curvature reaches 1/r"):
        printed_hoop_states(1.0, 0.0, 1.5, replace(WHEEL, radius=1.1))

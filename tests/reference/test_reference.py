"""The ground truth itself is checked: against laws of mechanics and against other numerics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import heyoka as hy
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from . import chaplygin_sleigh, pendulum, rolling_wheel
from .differences import EPSILON, states_and_rates
from .rolling_wheel import DEFAULT_PARAMETERS as WHEEL
from .stored_pendulum import CASES, REGULAR_TIMES, stored_states

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .differences import States

STARTS: Final = {"moving": (0.0, 1.5), "at-rest": (-0.9, 0.0)}
each_start = pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)


def hoop_integrator(number: Any) -> Any:
    """Taylor integrator of xi' = u/S', u' = -(g/2) sin psi, theta' = -u/r; S' = dS_centre/dxi."""
    gravity, radius, a, b = (
        hy.expression(number(value))
        for value in (WHEEL.gravity, WHEEL.radius, WHEEL.curve_a, WHEEL.curve_b)
    )
    contact_x, speed, theta = hy.make_vars("contact_x", "speed", "theta")
    # products throughout: heyoka gives nan for powers of a variable beyond 2 where it is zero
    slope = ((4 * contact_x + 3 * a) * contact_x - 2 * b) * contact_x - a
    stretch = hy.sqrt(1 + slope * slope)
    path_rate = stretch - radius * hy.diff(slope, contact_x) / (stretch * stretch)
    system = [
        (contact_x, speed / path_rate),
        (speed, -gravity * slope / (2 * stretch)),
        (theta, -speed / radius),
    ]
    return hy.taylor_adaptive(system, state=[number(0)] * 3, fp_type=number, compact_mode=True)


@pytest.fixture(scope="module")
def quadruple_hoop() -> Any:
    return hoop_integrator(hy.real128)


@pytest.fixture(scope="module")
def double_hoop() -> Any:
    return hoop_integrator(float)


def run(integrator: Any, number: Any, start: tuple[float, ...], time: float) -> NDArray[np.float64]:
    integrator.time = number(0)
    integrator.state[:] = [number(value) for value in start]
    integrator.propagate_until(number(time))
    return integrator.state.astype(float)


# --- the hoop ------------------------------------------------------------------------------------


@pytest.mark.slow_rows("moving")
@each_start
def test_hoop_equals_quadruple_precision_taylor_to_the_last_digits(
    start: tuple[float, float], quadruple_hoop: Any
) -> None:
    for time in (1.0, 7.0):
        expected = run(quadruple_hoop, hy.real128, (*start, 0.0), time)
        state = rolling_wheel.hoop_states(time, *start)
        actual = [state["contact_x"], state["speed"], state["theta"]]
        # both round the same number: at most one unit in the last place apart
        np.testing.assert_allclose(actual, expected, rtol=EPSILON, atol=0)


@each_start
def test_hoop_equals_double_precision_taylor_over_a_thousand_turns(
    start: tuple[float, float], double_hoop: Any
) -> None:
    expected = run(double_hoop, float, (*start, 0.0), 1800.0)
    state = rolling_wheel.hoop_states(1800.0, *start)
    actual = [state["contact_x"], state["speed"], state["theta"] * WHEEL.radius]
    # 50 000 steps, each an error of an ulp, drifting in energy like a random walk: the phase
    # error is about EPSILON sqrt(steps) time = 1e-10, times a rate of 3 in these units
    np.testing.assert_allclose(actual, expected * [1, 1, WHEEL.radius], rtol=0, atol=3e-10)


@pytest.mark.slow
@each_start
def test_hoop_does_not_depend_on_the_working_precision(start: tuple[float, float]) -> None:
    times = [0.0, 12.5, 1800.0]
    fine = rolling_wheel.hoop_states(times, *start)
    coarse = rolling_wheel.hoop_states(times, *start, digits=24)
    for name, values in fine.items():
        # a time error of 1e-24 per period, 550 periods: 1e-21 in phase, far below an ulp;
        # near a zero (speed at rest) only the absolute value is meaningful
        np.testing.assert_allclose(coarse[name], values, rtol=EPSILON, atol=1e-18, err_msg=name)


@each_start
def test_hoop_keeps_energy_contact_tangency_and_no_slip(start: tuple[float, float]) -> None:
    state = rolling_wheel.hoop_states(np.linspace(0, 1800, 10), *start)
    energy = rolling_wheel.hoop_energy(state["contact_x"], state["speed"])
    initial = rolling_wheel.hoop_energy(*start)
    # rounding of terms up to M g |z| = 8 J and M u^2 = 4 J
    np.testing.assert_allclose(energy, initial, rtol=0, atol=16 * 8 * EPSILON)
    cosine, sine = np.cos(state["alpha"]), np.sin(state["alpha"])
    contact_x = state["x"] + WHEEL.radius * cosine
    contact_z = state["z"] + WHEEL.radius * sine
    a, b = WHEEL.curve_a, WHEEL.curve_b
    height = np.polyval([1, a, -b, -a, b - 1], contact_x)
    slope = np.polyval([4, 3 * a, -2 * b, -a], contact_x)
    np.testing.assert_allclose(contact_x, state["contact_x"], rtol=0, atol=4 * EPSILON)
    np.testing.assert_allclose(contact_z, height, rtol=0, atol=16 * EPSILON)
    np.testing.assert_allclose(slope * sine + cosine, 0, rtol=0, atol=16 * EPSILON)
    along = -sine * state["x_dot"] + cosine * state["z_dot"]
    np.testing.assert_allclose(along, state["speed"], rtol=0, atol=16 * EPSILON)
    np.testing.assert_allclose(along + WHEEL.radius * state["theta_dot"], 0, atol=16 * EPSILON)
    assert (sine < 0).all()


@pytest.mark.default_rows(1)
@each_start
def test_hoop_velocities_and_reactions_obey_newton(start: tuple[float, float]) -> None:
    times = np.array([0.3, 1.6])
    state, rate = states_and_rates(lambda t: rolling_wheel.hoop_states(t, *start), times, 2e-3)
    forces = rolling_wheel.hoop_reactions(state["contact_x"], state["speed"])
    mass, radius, gravity = WHEEL.wheel_mass, WHEEL.radius, WHEEL.gravity
    # the singularities nearest to real times are 0.1 s away or more: f^(9) step^8 / 630 <
    # 2 * 9! (2e-3/0.1)^8 / (0.1 * 630) = 3e-10; rounding gives 3 EPSILON 2 / step = 1e-12
    tolerance = {"rtol": 0, "atol": 3e-10}
    for name in ("x", "z"):
        np.testing.assert_allclose(rate[name], state[name + "_dot"], **tolerance)
        np.testing.assert_allclose(rate[name + "_dot"], forces[name + "_ddot"], **tolerance)
    np.testing.assert_allclose(rate["alpha"], forces["alpha_dot"], **tolerance)
    np.testing.assert_allclose(rate["speed"], forces["speed_dot"], **tolerance)
    np.testing.assert_allclose(radius * rate["theta"], radius * state["theta_dot"], **tolerance)
    np.testing.assert_allclose(
        radius * rate["theta_dot"], radius * forces["theta_ddot"], **tolerance
    )
    np.testing.assert_allclose(mass * rate["x_dot"], forces["reaction_x"], **tolerance)
    np.testing.assert_allclose(mass * (rate["z_dot"] + gravity), forces["reaction_z"], **tolerance)
    spin = mass * radius * rate["theta_dot"]
    np.testing.assert_allclose(spin, forces["torque"] / radius, **tolerance)


@each_start
def test_hoop_turns_twice_a_period_and_repeats_itself(start: tuple[float, float]) -> None:
    period = rolling_wheel.hoop_period(*start)
    turns = rolling_wheel.hoop_turning_times(1800.0, *start)
    np.testing.assert_allclose(np.diff(turns), period / 2, rtol=0, atol=2 * 1800 * EPSILON)
    at_turns = rolling_wheel.hoop_states(turns[:8], *start)
    # times are rounded; acceleration is below g/2
    assert np.abs(at_turns["speed"]).max() < WHEEL.gravity / 2 * turns[7] * EPSILON
    left, right = rolling_wheel.hoop_turning_points(*start)
    assert np.allclose(np.sort(at_turns["contact_x"]), [left] * 4 + [right] * 4, rtol=0, atol=1e-15)
    late = rolling_wheel.hoop_states([0.4, 0.4 + period], *start)
    for name in ("contact_x", "speed", "z", "theta"):
        scale = 1 / WHEEL.radius if name == "theta" else 1.0
        assert late[name][0] == pytest.approx(
            late[name][1], rel=0, abs=8 * period * EPSILON * scale
        )


@pytest.mark.slow
def test_hoop_mirrors_time_when_started_backwards() -> None:
    times = np.array([0.1, 1.0, 20.0])
    forwards = rolling_wheel.hoop_states(-times, 0.0, 1.5)
    backwards = rolling_wheel.hoop_states(times, 0.0, -1.5)
    np.testing.assert_allclose(forwards["contact_x"], backwards["contact_x"], rtol=2 * EPSILON)
    np.testing.assert_allclose(forwards["speed"], -backwards["speed"], rtol=2 * EPSILON)
    np.testing.assert_allclose(forwards["theta"], backwards["theta"], rtol=2 * EPSILON)


@pytest.mark.parametrize(
    ("start", "scale", "largest"), [((0.0, 1.5), 3.343, 20.89), ((-0.9, 0.0), 3.724, 22.23)]
)
def test_hoop_energy_scale_and_largest_reaction_as_published(
    start: tuple[float, float], scale: float, largest: float
) -> None:
    assert rolling_wheel.hoop_energy_scale(*start) == pytest.approx(scale, abs=5e-4)
    assert rolling_wheel.hoop_largest_reaction(*start) == pytest.approx(largest, abs=5.1e-3)


def test_hoop_in_one_of_two_wells_stays_there() -> None:
    left, right = rolling_wheel.hoop_turning_points(-0.6, 0.0)
    assert left == -0.6
    assert right < -0.1
    straight = rolling_wheel.RollingWheelParameters(curve_a=0.0)
    with pytest.raises(ValueError, match="at rest at a level point"):
        rolling_wheel.hoop_states(1.0, 0.0, 0.0, straight)


# --- the wheel with pendulum ---------------------------------------------------------------------


@pytest.mark.slow
def test_a_light_bob_leaves_the_hoop_alone() -> None:
    light = rolling_wheel.RollingWheelParameters(bob_mass=1e-13)
    times = [0.5, 2.0]
    loaded = rolling_wheel.pendulum_states(times, 0.0, 1.5, 0.0, 0.0, light)
    free = rolling_wheel.hoop_states(times, 0.0, 1.5)
    for name in ("contact_x", "speed", "x", "z", "alpha", "x_dot", "z_dot"):
        # relative disturbance bob_mass / wheel_mass, times the two seconds and a rate of 5
        np.testing.assert_allclose(loaded[name], free[name], rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("pendulum-heavy-bob")
@pytest.mark.parametrize("name", CASES)
def test_stored_motion_keeps_energy_and_begins_as_integrated_now(name: str) -> None:
    case, state = CASES[name], stored_states(name)
    variables = [state[key] for key in ("contact_x", "speed", "phi", "phi_dot")]
    energy = rolling_wheel.pendulum_energy(*variables, case.parameters)
    # rounding of terms up to 12 J; angle phi of n radians: torque m g l times n EPSILON is less
    np.testing.assert_allclose(energy, energy[0], rtol=0, atol=16 * 12 * EPSILON)
    early = state["times"] <= 1
    now = rolling_wheel.pendulum_states(
        state["times"][early], *case.start, parameters=case.parameters
    )
    for key, values in now.items():
        np.testing.assert_allclose(state[key][early], values, rtol=2 * EPSILON, atol=1e-30)


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("name", ["pendulum", "pendulum-heavy-bob", "pendulum-chaotic"])
def test_wheel_with_pendulum_obeys_newton_for_each_body(name: str) -> None:
    case = CASES[name]
    p = case.parameters

    def motion(times: NDArray[np.float64]) -> States:
        state = rolling_wheel.pendulum_states(times, *case.start, parameters=p)
        phi, phi_dot = state["phi"], state["phi_dot"]
        bob_x_dot = state["x_dot"] + p.pendulum_length * phi_dot * np.cos(phi)
        bob_z_dot = state["z_dot"] + p.pendulum_length * phi_dot * np.sin(phi)
        return {**state, "bob_x_dot": bob_x_dot, "bob_z_dot": bob_z_dot}

    state, rate = states_and_rates(motion, np.array([0.2, 0.45, 0.7]), 4e-4)
    forces = rolling_wheel.pendulum_reactions(
        *(state[name] for name in ("contact_x", "speed", "phi", "phi_dot")), p
    )
    mass, radius, length = p.wheel_mass, p.radius, p.pendulum_length
    axle_x = p.bob_mass * rate["bob_x_dot"]  # force of the axle on the bob
    axle_z = p.bob_mass * (rate["bob_z_dot"] + p.gravity)
    # forces of 30 N vary within 1/(2 sqrt(g/l)) = 14 ms: 30 * 8! (0.4/14)^8 / 630 = 1e-9 at the
    # worst; rounding: 3 EPSILON 2 m/s / step = 3e-12
    tolerance = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(mass * rate["x_dot"] + axle_x, forces["reaction_x"], **tolerance)
    np.testing.assert_allclose(
        mass * (rate["z_dot"] + p.gravity) + axle_z, forces["reaction_z"], **tolerance
    )
    np.testing.assert_allclose(
        mass * radius * rate["theta_dot"], forces["torque"] / radius, **tolerance
    )
    # moment of the axle's force about the bob, whose lever is l (-sin phi, cos phi)
    moment = -(np.sin(state["phi"]) * axle_z + np.cos(state["phi"]) * axle_x) * length
    np.testing.assert_allclose(
        p.bob_inertia * rate["phi_dot"] / length, moment / length, **tolerance
    )
    for axis in ("x", "z"):
        np.testing.assert_allclose(rate[axis + "_dot"], forces[axis + "_ddot"], **tolerance)
    np.testing.assert_allclose(rate["alpha"], forces["alpha_dot"], **tolerance)
    np.testing.assert_allclose(length * rate["phi_dot"], length * forces["phi_ddot"], **tolerance)


def test_stored_motions_reach_to_half_an_hour() -> None:
    for name in ("pendulum", "pendulum-from-rest"):
        assert stored_states(name)["times"].tolist() == list(REGULAR_TIMES)


# --- the point pendulum --------------------------------------------------------------------------

# IFToMM benchmark A01 (m = l = 1, g = 9.81, from (-1, 0) at rest): x, y, x_dot, y_dot
BENCHMARK: Final = {
    1.0: (0.98629175113187531936, -0.16501085312554116875, 0.29690551591631582156,
          1.7746436411126556265),
    9.99: (-0.31643646991303229123, -0.94861370457577651925, 4.0924519914940207434,
           -1.3651511202403047057),
    10000.0: (0.050883063419350212447, -0.99870461792116611013, 4.4208429666907922399,
              0.22523780205337179328),
}  # fmt: skip


def test_pendulum_equals_the_iftomm_benchmark_to_the_last_digit() -> None:
    state = pendulum.pendulum_states(list(BENCHMARK), -1.0, 0.0, decimal=True)
    actual = np.transpose([state[name] for name in ("x", "y", "x_dot", "y_dot")])
    np.testing.assert_allclose(actual, list(BENCHMARK.values()), rtol=EPSILON, atol=0)
    period = pendulum.pendulum_period(-1.0, 0.0, decimal=True)
    assert period == pytest.approx(2.367841947576237449303295, rel=EPSILON)


PENDULUM_STARTS: Final = [(0.3, -0.9, 2.0), (0.3, -0.9, -2.0), (-0.3, -0.9, 2.0), (-0.3, 0.9, -0.3)]


@pytest.mark.parametrize("start", PENDULUM_STARTS)
def test_pendulum_equals_an_integration_of_its_angle(start: tuple[float, float, float]) -> None:
    p = pendulum.PendulumParameters(mass=0.7, length=1.3, gravity=9.81)
    angle = np.arctan2(start[0], -start[1])
    numeric = solve_ivp(
        lambda _, q: [q[1], -p.gravity / p.length * np.sin(q[0])],
        (0, 4),
        [angle, start[2]],
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
    )
    state = pendulum.pendulum_states(4.0, *start, p)
    # 1e-13 a step, a few hundred steps, growth exp(sqrt(g/l) * time near the top) ~ 10
    expected = numeric.y[:, -1]
    assert state["angle"] == pytest.approx(expected[0], abs=1e-10)
    assert state["angle_dot"] == pytest.approx(expected[1], abs=1e-10)
    assert state["x"] == pytest.approx(p.length * np.sin(expected[0]), abs=2e-10)


@pytest.mark.parametrize("start", PENDULUM_STARTS)
def test_pendulum_multiplier_is_the_force_in_newtons_law(
    start: tuple[float, float, float],
) -> None:
    p = pendulum.PendulumParameters(mass=0.7, length=1.3, gravity=9.81)
    state, rate = states_and_rates(
        lambda t: pendulum.pendulum_states(t, *start, p), np.linspace(0.1, 2.0, 5), 4e-3
    )
    # singularities are about K'/omega = 0.3 s away: 9! (0.004/0.3)^8 50 / 630 = 3e-11
    tolerance = {"rtol": 0, "atol": 3e-11}
    force_x, force_y = p.mass * rate["x_dot"], p.mass * (rate["y_dot"] + p.gravity)
    np.testing.assert_allclose(2 * state["multiplier"] * state["x"], force_x, **tolerance)
    np.testing.assert_allclose(2 * state["multiplier"] * state["y"], force_y, **tolerance)
    np.testing.assert_allclose(rate["x"], state["x_dot"], **tolerance)
    np.testing.assert_allclose(rate["y"], state["y_dot"], **tolerance)
    np.testing.assert_allclose(rate["angle"], state["angle_dot"], **tolerance)
    np.testing.assert_allclose(np.hypot(state["x"], state["y"]), p.length, rtol=4 * EPSILON)


def test_pendulum_that_turns_over_is_refused() -> None:
    with pytest.raises(ValueError, match="turns over"):
        pendulum.pendulum_states(1.0, 0.0, -1.0, 7.0)


# --- the Chaplygin sleigh ------------------------------------------------------------------------


def test_sleigh_equals_the_stored_exact_values_to_the_last_digit() -> None:
    state = chaplygin_sleigh.sleigh_states([1.0, 10.0])
    speeds = [1.04550269978977543, 1.05356537502173938]
    turns = [0.392244181048335313, 0.0000710506645716726941]
    np.testing.assert_allclose(state["speed"], speeds, rtol=EPSILON, atol=0)
    np.testing.assert_allclose(state["angular_velocity"], turns, rtol=EPSILON, atol=0)
    assert chaplygin_sleigh.sleigh_total_turn() == pytest.approx(1.06213593044295076, rel=EPSILON)


SLEIGHS: Final = [
    (1.0, 1.0, chaplygin_sleigh.DEFAULT_PARAMETERS),
    (-1.0, -2.0, chaplygin_sleigh.ChaplyginSleighParameters(2.0, 0.3, -0.2)),
    (-1.0, 0.5, chaplygin_sleigh.ChaplyginSleighParameters(2.0, 0.3, 0.2)),
    (1.0, 2.0, chaplygin_sleigh.ChaplyginSleighParameters(1.0, 0.1, 0.0)),
    (1.0, 0.0, chaplygin_sleigh.DEFAULT_PARAMETERS),
]


@pytest.mark.parametrize(("speed", "turn", "p"), SLEIGHS)
def test_sleigh_equals_an_integration_of_its_equations(
    speed: float, turn: float, p: chaplygin_sleigh.ChaplyginSleighParameters
) -> None:
    about_blade = p.inertia + p.mass * p.centre_distance**2

    def rates(_: float, q: NDArray[np.float64]) -> list[float]:
        pull = p.mass * p.centre_distance / about_blade
        return [
            q[2] * np.cos(q[4]),
            q[2] * np.sin(q[4]),
            p.centre_distance * q[3] ** 2,
            -pull * q[2] * q[3],
            q[3],
        ]

    begin = [0.1, 0.2, speed, turn, 0.3]
    numeric = solve_ivp(rates, (0, 6), begin, method="DOP853", rtol=1e-13, atol=1e-14)
    state = chaplygin_sleigh.sleigh_states(6.0, speed, turn, 0.1, 0.2, 0.3, p)
    names = ("x", "y", "speed", "angular_velocity", "phi")
    # 1e-13 a step, about a hundred steps
    np.testing.assert_allclose([state[n] for n in names], numeric.y[:, -1], rtol=0, atol=1e-11)


@pytest.mark.parametrize(("speed", "turn", "p"), SLEIGHS)
def test_sleigh_force_is_newtons_law_for_mass_centre_and_spin(
    speed: float, turn: float, p: chaplygin_sleigh.ChaplyginSleighParameters
) -> None:
    times = np.array([-0.5, 0.0, 1.5])
    state, rate = states_and_rates(
        lambda t: chaplygin_sleigh.sleigh_states(t, speed, turn, parameters=p), times, 0.01
    )
    # rates of 3/s: (0.03)^8 / 630 < 1e-14; rounding 3 EPSILON / step = 7e-14
    tolerance = {"rtol": 0, "atol": 2e-12}
    force, phi = state["lateral_force"], state["phi"]
    np.testing.assert_allclose(p.mass * rate["x_centre_dot"], -force * np.sin(phi), **tolerance)
    np.testing.assert_allclose(p.mass * rate["y_centre_dot"], force * np.cos(phi), **tolerance)
    spin = p.inertia * rate["angular_velocity"]
    np.testing.assert_allclose(spin, -p.centre_distance * force, **tolerance)
    for name in ("x", "y", "x_centre", "y_centre", "speed", "angular_velocity"):
        np.testing.assert_allclose(rate[name], state[name + "_dot"], **tolerance)
    np.testing.assert_allclose(rate["phi"], state["angular_velocity"], **tolerance)

"""Periodic orbits against elliptic functions, and against integrations by other programs."""

import math
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.special import ellipkm1

import daesolve as ds
from daesolve.analysis.orbits.newton import Factors
from tests.analysis.orbits.systems import bouncing_ball, pendulum, rod_pendulum, walker

periodic_orbit = ds.analysis.periodic_orbit


def period_of_a_pendulum(amplitude: float) -> float:
    """4 K(sin(A/2)) / sqrt(g/l); ellipkm1 takes 1 - k^2, which loses no digits."""
    return 4 * float(ellipkm1(math.cos(amplitude / 2) ** 2)) / math.sqrt(9.81)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("3.0")
@pytest.mark.parametrize("amplitude", [0.5, 1.0, 2.0, 3.0])
def test_periods_of_a_pendulum_are_elliptic_integrals(amplitude: float) -> None:
    exact = period_of_a_pendulum(amplitude)
    guess = {"theta": amplitude, "theta_dot": 0.0}
    orbit = periodic_orbit(pendulum(), guess, 1.05 * exact, family={"theta": amplitude})
    # At 3 rad changes grow twelvefold in a period, and rounding with them.
    assert abs(orbit.period - exact) < 2e-14 * exact
    assert orbit.verdict == "neutral"
    assert not len(orbit.multipliers)
    assert max(orbit.trivial.values()) < 1e-12
    assert set(orbit.trivial) == {"flow", "energy"}
    assert abs(orbit.unfolding["energy"]) < 1e-12
    assert orbit.digits > 12


def test_the_map_of_a_period_has_the_slope_of_the_period() -> None:
    # M = [[1, 0], [T'(A) (g/l) sin A, 1]] at the turning point, by elliptic functions at A = 2.
    orbit = periodic_orbit(pendulum(), {"theta": 2.0, "theta_dot": 0.0}, 2.7, family={"theta": 2.0})
    sizes = orbit.task.sizes
    matrix = sizes[:, None] * (
        orbit.found.shot.bases[0] @ orbit.monodromy @ orbit.found.shot.bases[0].T
    ) / sizes  # fmt: skip
    # The turning point is met to 1e-12 of the largest rate, 6 rad/s, by which the map differs.
    assert abs(matrix - [[1.0, 0.0], [7.86109373537035, 1.0]]).max() < 1e-11


@pytest.mark.slow
def test_a_rod_leaves_the_same_orbit() -> None:
    amplitude = 1.0
    energy = -9.81 * math.cos(amplitude)
    guess = {"x": 0.8, "y": -0.6, "x_dot": 0.05, "y_dot": 0.0}
    orbit = periodic_orbit(rod_pendulum(), guess, 2.2, family={"energy": energy}, pieces=4)
    assert abs(orbit.period - period_of_a_pendulum(amplitude)) < 4e-15
    assert max(orbit.trivial.values()) < 1e-12
    assert abs(orbit.state["x"] ** 2 + orbit.state["y"] ** 2 - 1.0) < 1e-15


def test_a_pendulum_turns_over_up_to_a_turn() -> None:
    # T = 4 K(k) / w, k = 2 sqrt(g/l) / w, for w at the bottom; half of it a turn.
    turn = ds.analysis.Shift(theta=2 * math.pi)
    guess = {"theta": 0.0, "theta_dot": 7.0}
    orbit = periodic_orbit(pendulum(), guess, 1.3, family={"theta_dot": 7.0}, up_to=turn)
    assert abs(orbit.period - 1.29089375337746717) < 1e-14


def test_orbits_that_come_in_families_are_refused_without_a_value() -> None:
    with pytest.raises(ds.errors.NotPeriodicError, match="'energy' is conserved, so orbits form"):
        periodic_orbit(pendulum(), {"theta": 1.0, "theta_dot": 0.0}, 2.2)


def test_an_equilibrium_has_no_period() -> None:
    with pytest.raises(ds.errors.NotPeriodicError, match="the guess is an equilibrium"):
        periodic_orbit(pendulum(), {"theta": 0.0, "theta_dot": 0.0}, 2.2)


def start(theta: float, theta_dot: float) -> dict[str, float]:
    """Right after a strike."""
    swing = (1 - math.cos(2 * theta)) * theta_dot
    return {"theta": theta, "phi": 2 * theta, "theta_dot": theta_dot, "phi_dot": swing}


# By DOP853 with saltation matrices, and by heyoka with differences: they agree to 2e-15 in the
# state, to 5e-11 in the multipliers, of which these are the digits of the first.
LONG = (0.2003109005442455, -0.1998324730049506, 3.88246375285139)
SHORT = (0.193937369810179, -0.203866927442004, 3.09610586807816)


def test_the_long_step_of_the_walker_is_stable() -> None:
    orbit = periodic_orbit(walker(), start(0.2, -0.2), section="strike")
    assert abs(orbit.state["theta"] - LONG[0]) < 1e-14
    assert abs(orbit.state["theta_dot"] - LONG[1]) < 1e-14
    assert abs(orbit.period - LONG[2]) < 1e-13
    expected = -0.19009984106603 + 0.55759877668188j
    assert abs(orbit.multipliers - [expected, expected.conjugate()]).max() < 1e-11
    assert orbit.verdict == "stable"
    assert set(orbit.trivial) == {"flow", "forgotten"}
    assert [event.name for event in orbit.events][:2] == ["arm", "strike"]
    assert len(orbit.multipliers) == 2


def test_the_short_step_of_the_walker_is_unstable() -> None:
    orbit = periodic_orbit(walker(), start(0.194, -0.204), section="strike")
    assert abs(orbit.state["theta"] - SHORT[0]) < 1e-13
    assert abs(orbit.state["theta_dot"] - SHORT[1]) < 1e-13
    assert abs(orbit.period - SHORT[2]) < 1e-13
    # Newton's own accuracy, times the condition of the eigenvalue.
    assert abs(orbit.multipliers - [4.0038643589296, 0.4595895897976]).max() < 1e-10
    assert orbit.verdict == "unstable"


def aside(count: int, dimension: int, seed: int = 7) -> list[np.ndarray]:
    """Random directions, 5 % long."""
    generator = np.random.default_rng(seed)
    directions = generator.normal(size=(count, dimension))
    return [0.05 * one / np.linalg.norm(one) for one in directions]


@pytest.mark.long
def test_steps_of_a_walker_that_are_five_percent_off_lead_to_an_orbit() -> None:
    quicker = 0
    for off in aside(20, 2):
        guess = start(LONG[0] * (1 + off[0]), LONG[1] * (1 + off[1]))
        orbit = periodic_orbit(walker(), guess, section="strike", verify=False)
        # The short step lies 3 % beside the long one.
        reached = orbit.state["theta"]
        assert min(abs(reached - LONG[0]), abs(reached - SHORT[0])) < 1e-12
        assert orbit.residual < 1e-12
        steps = np.log10([r for r in orbit.found.residuals if 1e-13 < r < 1e-2])
        assert np.all(steps[1:] < 1.5 * steps[:-1])
        quicker += any("the guess did not reach its end" in note for note in orbit.notes)
    # Some are too slow to pass the top, and fall back.
    assert quicker > 0


@pytest.mark.long
def test_bounces_and_rods_that_are_five_percent_off_lead_to_their_orbits() -> None:
    gamma = 1.28701062585782931  # Gamma cos(phase) = pi / 3 for a restitution of 0.5
    elapsed = 2 * math.pi - math.acos(math.pi / 3 / gamma)
    speed = math.pi - elapsed
    height = -gamma * math.sin(elapsed) + math.pi * elapsed - elapsed**2 / 2
    for off in aside(20, 2):
        guess = {"y": height * (1 + off[0]), "y_dot": speed * (1 + off[1])}
        ball = periodic_orbit(
            bouncing_ball(), guess, 2 * math.pi, parameters={"gamma": gamma}, verify=False
        )
        assert abs(ball.state["y_dot"] - speed) < 1e-13
    for off in aside(20, 4):
        guess = {
            "x": math.sin(1.0) * (1 + off[0]),
            "y": -math.cos(1.0) * (1 + off[1]),
            "x_dot": 3.0 * off[2],
            "y_dot": 0.0,
        }
        family, about = {"energy": -9.81 * math.cos(1.0)}, 2.139 * (1 + off[3])
        rod = periodic_orbit(rod_pendulum(), guess, about, family=family, pieces=4, verify=False)
        assert abs(rod.period - period_of_a_pendulum(1.0)) < 4e-15


@pytest.mark.slow
def test_a_walker_that_falls_back_however_fast_is_refused() -> None:
    with pytest.raises(ds.errors.NotPeriodicError, match=r"passes 0 times .* up to 10% faster"):
        periodic_orbit(walker(), start(0.2, -0.05), section="strike")


def test_a_step_along_what_changes_nothing_is_noise_and_not_taken() -> None:
    # The second equation says 1e-14 of what rounding makes of it: the step by it is not known.
    factors = Factors(np.eye(2), np.array([1.0, 1e-10]), np.eye(2))
    missed = np.array([1e-15, 1e-15])
    assert factors.weak.tolist() == [False, True]
    assert factors.firm(missed).tolist() == [1e-15, 0.0]
    assert np.abs(factors.step(missed) - [1e-15, 1e-5]).max() < 1e-19
    assert np.abs(factors.firm(np.array([0.0, 1e-12])) - [0.0, 1e-2]).max() < 1e-15


@pytest.mark.slow
def test_an_attractor_and_an_orbit_in_chaos_are_found() -> None:
    # The period of van der Pol's oscillator at mu = 1, and that of Lorenz' equations with the
    # symbols AB: D. Viswanath, Nonlinearity 16 (2003) 1035, 1.5586522107161747.
    q = ds.coordinates(x="m")
    force = (1 - q.x**2) * q.dot.x - q.x
    oscillator = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": force})
    cycle = periodic_orbit(oscillator, {"x": 0.0, "x_dot": 2.2}, section=q.x, direction=ds.RISING)
    assert abs(cycle.period - 6.663286859323) < 1e-11
    half = periodic_orbit(
        oscillator, {"x": 2.0, "x_dot": 0.1}, 3.3, up_to=ds.analysis.Reflect("x"), verify=False
    )
    assert abs(2 * half.period - cycle.period) < 1e-13
    s = ds.states(x="", y="", z="")
    rate = {"x": 10 * (s.y - s.x), "y": s.x * (28 - s.z) - s.y, "z": s.x * s.y - 8 * s.z / 3}
    lorenz = periodic_orbit(ds.ControlSystem(s, rate), {"x": -13.0, "y": -19.5, "z": 27.0}, 1.56)
    assert abs(lorenz.period - 1.5586522107161747) < 1e-13
    assert lorenz.verdict == "unstable"


@pytest.mark.slow
def test_orbits_of_kepler_need_more_than_an_energy() -> None:
    q = ds.coordinates(x="m", y="m")
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    planet = ds.MechanicalSystem(q, kinetic=kinetic, potential=-1 / ca.sqrt(q.x**2 + q.y**2))
    guess = {"x": 1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 1.1}
    energy = 1.1**2 / 2 - 1
    with pytest.raises(
        ds.errors.NotPeriodicError, match="neighbouring orbits cannot be distinguished"
    ):
        periodic_orbit(planet, guess, 9.0, family={"energy": energy})
    held = {"energy": energy, "x": 1.0, "x_dot": 0.0}
    orbit = periodic_orbit(planet, guess, 9.0, family=held)
    assert abs(orbit.period - 2 * math.pi * (-2 * energy) ** -1.5) < 1e-13


@pytest.mark.slow
def test_an_orbit_that_sticks_for_a_part_of_its_period_passes_no_degenerate_point() -> None:
    # The constraint of a contact that slips holds nothing, and so it cannot lose its grip.
    case = ds.problem("belt-oscillator").case("slow")
    orbit = case.periodic_orbit(case.solve(until=40.0), period=1.94)
    assert orbit.residual < 1e-12
    assert not any("degenerate" in note for note in orbit.notes)


@pytest.mark.slow
def test_a_ball_that_rests_on_its_table_for_a_while_leads_to_its_orbit() -> None:
    case = ds.problem("bouncing-ball").case("one-bounce")
    orbit = case.periodic_orbit(case.solve(until=20.3), period=2 * math.pi)
    assert orbit.residual < 1e-12


@pytest.mark.slow
def test_an_equilibrium_of_a_system_with_clocks_is_named() -> None:
    case = ds.problem("block-on-belt").case("one-limit")
    orbit = case.periodic_orbit(case.solve(until=6.0), period=1.15, steady=True)
    assert any("nothing moves" in note for note in orbit.notes)
    # The block slips, held by the spring; the couple of spring and friction loads the rear foot.
    n = case.values
    mean, apart = (n["mu_rear"] + n["mu_front"]) / 2, (n["mu_rear"] - n["mu_front"]) / 2
    lever = (n["height"] + n["spring_above"]) / n["half_width"]
    friction = mean * n["mass"] * n["gravity"] / (1.0 - apart * lever)
    assert orbit.state["x"] == pytest.approx(friction / n["stiffness"], rel=1e-12)


def driven_by_a_table(over: str) -> tuple[ds.MechanicalSystem, dict[str, Any]]:
    """An oscillator that a measured force of period 2 pi / 1.5 drives; how its orbit returns."""
    nodes = np.linspace(0.0, 2 * np.pi, 13)
    values = np.append(np.cos(nodes[:-1]) + 0.4 * np.sin(2 * nodes[:-1]), 1.0)
    pull = ds.table("pull", nodes, values, "periodic cubic")
    if over == "time":
        q = ds.coordinates(x="m")
        force = {"x": pull(1.5 * ds.time) - 0.2 * q.dot.x - q.x}
        system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force=force)
        return system, {"period": 2 * np.pi / 1.5}
    q = ds.coordinates(x="m", turn=ds.ANGLE)
    force = {"x": pull(q.turn) - 0.2 * q.dot.x - q.x}
    wheel = ds.Nonholonomic("wheel", q.dot.turn - 1.5)
    kinetic = (q.dot.x**2 + q.dot.turn**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, force=force, goals=[wheel])
    shift = ds.analysis.Shift(turn=2 * np.pi)
    return system, {"period": 2 * np.pi / 1.5, "up_to": shift}


@pytest.mark.slow
@pytest.mark.slow_rows("an angle")
@pytest.mark.parametrize("over", ["time", "an angle"])
def test_a_periodic_table_drives_a_periodic_motion(over: str) -> None:
    system, returns = driven_by_a_table(over)
    orbit = periodic_orbit(system, {"x": 0.0}, **returns, verify=False)
    # Small motions do not know the force: x'' + 0.2 x' + x = 0.
    roots = np.roots([1.0, 0.2, 1.0])
    exact = np.exp(roots * 2 * np.pi / 1.5)
    found = np.array(orbit.multipliers)
    assert np.max(np.abs(np.sort_complex(found) - np.sort_complex(exact))) < 1e-12
    # The force's Fourier series, of its spline in closed form, through the transfer function.
    nodes = np.linspace(0.0, 2 * np.pi, 13)
    values = np.append(np.cos(nodes[:-1]) + 0.4 * np.sin(2 * nodes[:-1]), 1.0)
    spline = CubicSpline(nodes, values, bc_type="periodic")
    grid = np.arange(4096) * 2 * np.pi / 4096
    force = np.fft.fft(spline(grid)) / 4096
    rate = 1.5 * np.fft.fftfreq(4096, 1 / 4096)
    at_start = orbit.state.get("turn", 0.0) * np.fft.fftfreq(4096, 1 / 4096)
    exact = np.sum(np.exp(1j * at_start) * force / (1.0 - rate**2 + 0.2j * rate)).real
    # Aliasing of a spline's coefficients, which fall as 1/k^4, and of x as 1/k^6.
    assert abs(orbit.state["x"] - exact) < 1e-10


@pytest.mark.slow
def test_an_orbit_from_a_start_without_freedom_has_no_multipliers() -> None:
    # A follower on its cam, which it leaves and meets again in every turn.
    q = ds.coordinates(y="m")
    cam = ds.Contact("cam", q.y - 0.01 * (1 - ca.cos(700.0 * ds.time)) ** 2)
    spring = {"y": -250.0 - 3e4 * q.y - 15.0 * q.dot.y}
    system = ds.MechanicalSystem(q, kinetic=0.1 * q.dot.y**2 / 2, force=spring, goals=[cam])
    start = {"y": 0.0, "y_dot": 0.0}
    orbit = periodic_orbit(system, start, 2 * np.pi / 700.0, verify=False)
    assert [event.name for event in orbit.events] == ["cam_lost", "cam_closed"]
    assert len(orbit.multipliers) == 0
    assert orbit.verdict == "stable"


@pytest.mark.slow
def test_a_table_over_plain_time_is_read_from_its_beginning_in_each_period_of_the_check() -> None:
    q = ds.coordinates(x="m")
    nodes = np.linspace(0.0, 5.0, 9)
    values = np.append(np.sin(2 * np.pi / 5.0 * nodes[:-1]), 0.0)
    pull = ds.table("pull", nodes, values, "periodic cubic")
    force = {"x": pull(ds.time) - 0.2 * q.dot.x - q.x}
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force=force)
    orbit = periodic_orbit(system, {"x": 0.0}, period=5.0)
    # Small motions do not know the force: x'' + 0.2 x' + x = 0.
    exact = np.exp(5.0 * np.roots([1.0, 0.2, 1.0]))
    assert abs(np.sort_complex(orbit.multipliers) - np.sort_complex(exact)).max() < 1e-12
    assert any("its own run over 10 periods stays within" in note for note in orbit.notes)


@pytest.mark.slow
@pytest.mark.parametrize("other_guard", [False, True])
def test_a_stop_that_is_the_only_guard_has_an_orbit(other_guard: bool) -> None:
    q = ds.coordinates(x="m")
    events = [ds.Event("high", q.x - 100.0, ds.RISING)] if other_guard else []
    push = ca.cos(1.3 * ds.time) - 0.2 * q.dot.x - q.x - 3.0 * ca.fmax(q.x - 0.1, 0.0)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": push}, events=events)
    period = 2 * np.pi / 1.3
    orbit = periodic_orbit(system, {"x": 0.5}, period=period)
    # Liouville: the product of the multipliers is that of the damping, whatever the stop does.
    assert abs(np.prod(orbit.multipliers) - np.exp(-0.2 * period)) < 1e-11
    assert {event.name for event in orbit.events} == {"force_x_switch_1"}

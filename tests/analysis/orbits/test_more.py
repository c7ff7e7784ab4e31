"""Orbits of driven, impacting, sticking and rolling systems against closed forms and other routes.

Numbers without a formula are from DOP853 with variational equations beside a second route (heyoka,
Fourier collocation, or the exact map in multiple precision); they agree to the digits that are
asked for here.
"""

import math
import re

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from tests.analysis.orbits import systems

periodic_orbit = ds.analysis.periodic_orbit
Shift, Reflect = ds.analysis.Shift, ds.analysis.Reflect


@pytest.mark.slow_rows("0.5-1", "0.8--1", "0.8-1")
@pytest.mark.parametrize(("restitution", "sense"), [(0.5, 1), (0.5, -1), (0.8, 1), (0.8, -1)])
def test_a_ball_bounces_once_a_period(restitution: float, sense: int) -> None:
    # Gamma cos phi = pi (1 - e)/(1 + e); it leaves with pi; det = e^2, and the trace.
    e = restitution
    fold = math.pi * (1 - e) / (1 + e)
    doubling = math.hypot(fold, 2 * (1 + e**2) / (1 + e) ** 2)
    gamma = (fold + doubling) / 2
    phase = sense * math.acos(fold / gamma)
    elapsed = -phase if phase < 0 else 2 * math.pi - phase  # since it left
    height = gamma * math.sin(phase) + math.pi * elapsed - elapsed**2 / 2
    speed = math.pi - elapsed
    orbit = periodic_orbit(
        systems.bouncing_ball(e),
        {"y": 1.02 * height, "y_dot": 1.01 * speed},
        2 * math.pi,
        parameters={"gamma": gamma},
    )
    assert abs(orbit.state["y"] - height) < 1e-13
    assert abs(orbit.state["y_dot"] - speed) < 1e-13
    trace = 1 + e**2 - (1 + e) ** 2 * gamma * math.sin(phase)
    assert abs(orbit.multipliers.sum() - trace) < 1e-11
    assert abs(orbit.multipliers.prod() - e**2) < 1e-11
    assert orbit.verdict == ("stable" if sense > 0 else "unstable")


@pytest.mark.slow
def test_an_orbit_in_which_a_contact_is_open_at_every_sample_is_that_of_the_reset() -> None:
    # The contact closes for an instant only: along the orbit there is no constraint.
    e, gamma = 0.5, 1.2
    q = ds.coordinates(y="m")
    table = ds.Contact("table", q.y - gamma * ca.sin(ds.time), restitution=e, closed=False)
    ball = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=q.y, goals=[table])
    phase = math.acos(math.pi * (1 - e) / (1 + e) / gamma)
    elapsed = 2 * math.pi - phase
    height = gamma * math.sin(phase) + math.pi * elapsed - elapsed**2 / 2
    guess = {"y": 1.02 * height, "y_dot": 1.01 * (math.pi - elapsed)}
    orbit = periodic_orbit(ball, guess, 2 * math.pi)
    assert abs(orbit.state["y"] - height) < 1e-13
    trace = 1 + e**2 - (1 + e) ** 2 * gamma * math.sin(phase)
    assert abs(orbit.multipliers.sum() - trace) < 1e-11
    assert abs(orbit.multipliers.prod() - e**2) < 1e-11
    assert not any("degenerate" in note for note in orbit.notes)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(
    ("alpha", "slope", "gravity"), [(math.pi / 8, 0.08, 9.81), (0.3, 0.05, 1.0), (0.3, 0.04, 2.0)]
)
def test_a_rimless_wheel_forgets_by_the_square_of_what_a_strike_leaves(
    alpha: float, slope: float, gravity: float
) -> None:
    mu = math.cos(2 * alpha)
    speed = math.sqrt(mu**2 * 4 * gravity * math.sin(alpha) * math.sin(slope) / (1 - mu**2))
    wheel = systems.rimless_wheel(alpha, slope, gravity, 1.0)
    guess = {"theta": slope - alpha, "theta_dot": 1.03 * speed}
    orbit = periodic_orbit(wheel, guess, section="strike")

    nodes, weights = np.polynomial.legendre.leggauss(60)
    fallen = math.cos(slope - alpha) - np.cos(slope + alpha * nodes)
    period = alpha * float(weights @ (speed**2 + 2 * gravity * fallen) ** -0.5)
    assert abs(orbit.period - period) < 1e-13
    assert abs(orbit.state["theta_dot"] - speed) < 1e-14
    assert abs(orbit.leading - mu**2) < 1e-13
    assert len(orbit.multipliers) == 1


SLEIGHS = {
    0.0: (0.612102795605514, 0.283436608392958, (1.26083292052543, 0.24549522171497, 0.0),
          (0.7562579913126, 0.0491104625163)),
    0.05: (0.691371779254575, 0.519518207063102,
           (1.37432479097341, 0.59108075930191, 0.441451689666875),
           (0.6945436402251, 0.0337954805347)),
}  # fmt: skip


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("True-0.0", "True-0.05")
@pytest.mark.parametrize("bias", SLEIGHS)
@pytest.mark.parametrize("bladed", [False, True])
def test_a_sleigh_repeats_itself_up_to_a_plane_motion(bias: float, bladed: bool) -> None:
    speed, turning, shift, multipliers = SLEIGHS[bias]
    if bladed:
        system = systems.bladed_sleigh(bias)
        guess = {"x": 0.0, "y": 0.0, "psi": 0.0, "x_dot": 0.63, "y_dot": 0.0, "psi_dot": 0.3}
        names = ("x_dot", "psi_dot")
    else:
        system = systems.driven_sleigh(bias)
        guess = {"x": 0.0, "y": 0.0, "psi": 0.0, "u": 0.63, "omega": 0.3}
        names = ("u", "omega")
    orbit = periodic_orbit(system, guess, 2 * math.pi / 3, up_to=Shift("x", "y", "psi"))
    # The two routes of the reference agree to 2e-14 in these.
    assert abs(orbit.state[names[0]] - speed) < 3e-14
    assert abs(orbit.state[names[1]] - turning) < 3e-14
    assert abs([*orbit.shift.values()] - np.array(shift)).max() < 3e-14
    assert abs(orbit.multipliers - multipliers).max() < 3e-12
    turned = complex(math.cos(shift[2]), math.sin(shift[2]))
    expected = sorted([1.0, turned, turned.conjugate()], key=lambda v: complex(v).imag)
    found = sorted(orbit.group, key=lambda v: v.imag)
    assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) < 3e-14
    assert max(orbit.trivial.values()) < 1e-13


def test_a_shift_that_is_no_symmetry_is_refused() -> None:
    with pytest.raises(ds.errors.NotPeriodicError, match=r"'psi' -> 'psi' .* changes the rate of"):
        periodic_orbit(
            systems.driven_sleigh(),
            {"x": 0.0, "y": 0.0, "psi": 0.0, "u": 0.63, "omega": 0.3},
            2 * math.pi / 3,
            up_to=Shift("x", "psi"),
        )


def test_a_period_that_is_not_the_drives_is_refused() -> None:
    with pytest.raises(ds.errors.NotPeriodicError, match="going on by 4 s changes the rate"):
        periodic_orbit(systems.duffing(), {"x": 0.5, "x_dot": 1.0}, 4.0)


def test_a_section_of_a_driven_motion_is_refused() -> None:
    with pytest.raises(ds.errors.UnsupportedError, match="the equations contain time"):
        periodic_orbit(systems.bouncing_ball(), {"y": 1.0, "y_dot": 1.0}, section="bounce")


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("0.5-0.35-0.08-period", "0.5-0.35-0.08-section", "0.6-0.2-0.05-period")
@pytest.mark.parametrize("ends", ["section", "period"])
@pytest.mark.parametrize(
    ("static", "sliding", "speed"), [(0.4, 0.3, 0.1), (0.6, 0.2, 0.05), (0.5, 0.35, 0.08)]
)
def test_what_sticks_forgets(static: float, sliding: float, speed: float, ends: str) -> None:
    # T = 2 d / v0 + (2 / w)(pi - atan(d w / v0)), d = (mu_s - mu_k) N / k.
    d = (static - sliding) * 10.0 / 100.0
    period = 2 * d / speed + (2 / 10.0) * (math.pi - math.atan(d * 10.0 / speed))
    system = systems.belt(static=static, sliding=sliding, speed=speed)
    guess = {"x": 0.975 * static / 10.0, "x_dot": speed}
    if ends == "section":
        orbit = periodic_orbit(system, guess, section="slip")
    else:
        orbit = periodic_orbit(system, {**guess, "sticks": 1.0}, 1.05 * period)
    assert abs(orbit.period - period) < 1e-14
    assert not len(orbit.multipliers)
    assert orbit.leading == 0.0
    assert orbit.verdict == "stable"
    assert set(orbit.trivial) == {"flow", "forgotten"}
    assert any(re.match(r"sticks after 'stick': .* zero", note) for note in orbit.notes)


@pytest.mark.slow
def test_a_belt_with_damping_repeats_itself_too() -> None:
    orbit = periodic_orbit(
        systems.belt(damping=0.4, speed=0.05), {"x": 0.039, "x_dot": 0.05}, section="slip"
    )
    assert abs(orbit.period - 0.788268784394409376) < 1e-14


@pytest.mark.slow
def test_half_a_drive_and_a_reflection_are_a_period() -> None:
    pendulum, force = systems.forced_pendulum(), {"F": 1.0}
    guess = {"theta": -1.0, "theta_dot": 1.9}
    half = periodic_orbit(pendulum, guess, 1.5 * math.pi, up_to=Reflect("theta"), parameters=force)
    whole = periodic_orbit(pendulum, guess, 3 * math.pi, parameters=force)
    assert abs(half.state["theta"] - whole.state["theta"]) < 1e-13
    squares = sorted(half.multipliers.real**2)
    assert np.abs(np.array(squares) - sorted(whole.multipliers.real)).max() < 1e-12


# F, x' and the time of the impact, trace: exact flow between impacts.
IMPACTS = [
    (7.0, 1.10647552254253622, -0.0415498361207487645, -193.3889082508649),
    (7.5, 1.10378459522598165, -0.176137843388832872, -47.78896911065397),
    (8.5, 1.09935706245647814, -0.445031186243928989, -20.62997067449127),
]


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(("force", "time", "speed", "trace"), IMPACTS)
def test_near_to_grazing_multipliers_grow(
    force: float, time: float, speed: float, trace: float
) -> None:
    period = 2 * math.pi / 2.8
    orbit = periodic_orbit(
        systems.impact_oscillator(),
        {"x": 1.0, "x_dot": speed},
        period,
        parameters={"F": force},
        start_time=time + 1e-6,
    )
    impact = next(event for event in orbit.events if event.name == "wall")
    assert abs(impact.time - period - time) < 1e-12
    assert impact.after is not None
    assert abs(impact.after["x_dot"] - speed) < 1e-12
    # The trace changes by trace / speed with the speed.
    assert abs(orbit.multipliers.sum() - trace) < 1e-11 * abs(trace / speed)
    determinant = 0.8**2 * math.exp(-0.1 * period)
    assert abs(orbit.multipliers.prod() - determinant) < 1e-11 * abs(trace / speed)


def test_what_is_integrated_along_the_way_need_not_return() -> None:
    # x'' + 0.1 x' + x = cos 2t: x = Re(e^{2it} / (1 - 4 + 0.2i)); the damper takes 0.1 x'^2.
    q, heat = ds.coordinates(x="m"), ds.states(heat="J")
    force = ca.cos(2 * ds.time) - 0.1 * q.dot.x - q.x
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        force={"x": force},
        quadratures=heat,
        integrands=[0.1 * q.dot.x**2],
    )
    orbit = periodic_orbit(system, {"x": 0.3, "x_dot": 0.0}, math.pi)
    answer = 1 / complex(-3, 0.2)
    assert abs(orbit.state["x"] - answer.real) < 1e-14
    assert abs(orbit.shift["heat"] - 0.1 * abs(2 * answer) ** 2 / 2 * math.pi) < 1e-12
    assert abs(orbit.multipliers.prod() - math.exp(-0.1 * math.pi)) < 1e-12
    assert orbit.verdict == "stable"


@pytest.mark.slow
@pytest.mark.slow_rows("0.1")
@pytest.mark.parametrize("short", [1e-1, 1e-5, 1e-7])
def test_an_orbit_near_to_a_degenerate_point_says_how_many_digits_are_left(short: float) -> None:
    # (1 - short) sin a = sin b: for a = pi/2, cos b = sqrt(2 short).
    q = ds.coordinates(a="rad", b="rad")
    link = ds.Holonomic("link", (1 - short) * ca.sin(q.a) - ca.sin(q.b))
    system = ds.MechanicalSystem(q, kinetic=(q.dot.a**2 + q.dot.b**2) / 2, goals=[link])
    guess = {"a": 0.3, "b": math.asin((1 - short) * math.sin(0.3)), "a_dot": 1.0}
    orbit = periodic_orbit(
        system, guess, 6.0, up_to=Shift(a=2 * math.pi), family={"energy": 1.0}, verify=False
    )
    notes = [note for note in orbit.notes if "of a degenerate point" in note]
    assert bool(notes) == (short < 1e-3)
    for note in notes:
        (left,) = map(int, re.findall(r"about (\d+) digits", note))
        assert orbit.trivial["energy"] < 10.0 ** (1 - left)

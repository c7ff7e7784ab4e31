"""Special points as solutions of equations: convergence, digits, other parameters, switching.

Each against a closed form, or a Newton iteration on the exact map.
"""

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.analysis.orbits.bordered import solve_special
from daesolve.analysis.orbits.curve import CurvePoint
from daesolve.analysis.orbits.special_points import conditions_near
from tests.analysis.orbits import systems
from tests.analysis.orbits.test_orbit_search import start

periodic_orbit, continue_orbit = ds.analysis.periodic_orbit, ds.analysis.continue_orbit


def ball(restitution: float) -> tuple[ds.analysis.PeriodicOrbit, float, float]:
    """An orbit between fold and doubling, and the closed forms of both."""
    e = restitution
    fold = math.pi * (1 - e) / (1 + e)
    doubling = math.hypot(fold, 2 * (1 + e**2) / (1 + e) ** 2)
    gamma = (fold + doubling) / 2
    phase = math.acos(fold / gamma)
    elapsed = 2 * math.pi - phase
    height = gamma * math.sin(phase) + math.pi * elapsed - elapsed**2 / 2
    orbit = periodic_orbit(
        systems.bouncing_ball(e),
        {"y": height, "y_dot": math.pi - elapsed},
        2 * math.pi,
        parameters={"gamma": gamma},
        verify=False,
    )
    return orbit, fold, doubling


@pytest.mark.long
@pytest.mark.parametrize("restitution", [0.3, 0.5, 0.8, 0.95])
def test_a_ball_folds_where_it_leaves_at_the_start_of_the_period_and_doubles(
    restitution: float,
) -> None:
    # At the fold the impact falls on the start of the period, which is moved away from it.
    orbit, fold, doubling = ball(restitution)
    branch = continue_orbit(orbit, {"gamma": (0.9 * fold, 1.05 * doubling)}, step=0.1)
    assert [point.kind for point in branch.special] == ["fold", "period doubling"]
    for point, exact in zip(branch.special, (fold, doubling), strict=True):
        assert abs(point.value - exact) < 1e-14
        assert point.digits > 14
    # The saddle follows beyond the fold: the branch goes back to the same end.
    assert [end.partition("=")[0] for end in branch.ends] == 2 * ["reached gamma "]


# Gamma of the second doubling by Newton's method on the exact map, 30 digits.
@pytest.mark.long
@pytest.mark.parametrize(
    ("restitution", "second"), [(0.5, 1.66713066076954308), (0.8, 1.22177969954674298)]
)
def test_a_ball_doubles_again(restitution: float, second: float) -> None:
    orbit, _, doubling = ball(restitution)
    over = {"gamma": (0.99 * doubling, 1.02 * doubling)}
    branch = continue_orbit(ball_at(orbit, doubling), over, step=0.2)
    double = branch.special[-1].switch()
    onward = continue_orbit(double, {"gamma": (double.values["gamma"], 1.02 * second)}, step=0.1)
    assert abs(onward.special[-1].value - second) < 1e-14


def ball_at(orbit: ds.analysis.PeriodicOrbit, gamma: float) -> ds.analysis.PeriodicOrbit:
    """The same just below another value."""
    over = {"gamma": (orbit.values["gamma"], gamma)}
    return continue_orbit(orbit, over, step=0.5, detect=()).at(0.995 * gamma)


def near(special: ds.analysis.SpecialPoint) -> CurvePoint:
    """A point beside a special one, off the branch by a thousandth."""
    curve, entry = special.curve, special.point
    aside = 1e-3 * np.cos(np.arange(len(entry.tangent)))
    guess, value = curve.moved(entry.guess, entry.value, aside)
    linear = curve.linear(guess, value)
    return CurvePoint(value, linear.shot, linear.slopes, entry.tangent, 0, 0.0)


@pytest.mark.long
def test_newtons_method_on_special_points_is_quadratic() -> None:
    duffing, pendulum = systems.duffing(), systems.forced_pendulum()
    period = 2 * ca.pi / duffing.parameters.w
    swing, force = {"theta": -1.0, "theta_dot": 1.9}, {"parameters": {"F": 0.99}, "verify": False}
    branches = [
        continue_orbit(
            periodic_orbit(duffing, {"x": 0.5, "x_dot": 1.0}, period, verify=False),
            {"w": (1.3, 2.3)},
            step=0.1,
        ),
        continue_orbit(
            periodic_orbit(pendulum, swing, 3 * math.pi, **force), {"F": (0.99, 1.02)}, step=0.1
        ),
        continue_orbit(
            periodic_orbit(
                pendulum, swing, 1.5 * math.pi, up_to=ds.analysis.Reflect("theta"), **force
            ),
            {"F": (0.99, 1.02)},
            step=0.1,
        ),
        continue_orbit(
            periodic_orbit(
                systems.van_der_pol(),
                {"x": -1.36, "x_dot": -0.51},
                2 * math.pi / 1.25,
                parameters={"F": 0.9},
                verify=False,
            ),
            {"F": (0.8, 0.95)},
            step=0.1,
        ),
    ]
    kinds: set[str] = set()
    for special in (point for branch in branches for point in branch.special):
        kinds.add(special.kind)
        point = near(special)
        condition = dict(conditions_near(special.curve, special.kind, point))[special.kind]
        solution = solve_special(special.curve, point, condition)
        assert abs(solution.point.value - special.value) < 1e-13
        # Each step is of the size of the square of the one before, until differences over 1e-5,
        # which are off by about as much, let it shrink by that factor.
        for first, second in zip(solution.steps, solution.steps[1:], strict=False):
            assert second < max(100.0 * first**2, 1e-3 * first) or first < 1e-9
        assert len(solution.steps) <= 6
    assert kinds == {"fold", "branch point", "symmetry breaking", "Neimark-Sacker"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frequency", "damping", "restitution"), [(2.8, 0.1, 0.8), (3.3, 0.3, 0.5), (1.7, 0.2, 0.9)]
)
def test_an_oscillator_touches_its_wall_where_its_amplitude_is_the_distance(
    frequency: float, damping: float, restitution: float
) -> None:
    w, d = frequency, damping
    q, p = ds.coordinates(x="m"), ds.parameters(F=(7.0, "m/s^2"))
    force = p.F * ca.cos(w * ds.time) - d * q.dot.x - q.x
    wall = ds.Event("wall", q.x - 1, ds.RISING, ds.Reset({"x_dot": -restitution * q.dot.x}))
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": force}, events=[wall])
    amplitude = math.hypot(1 - w**2, d * w)
    answer = 0.95 * amplitude / complex(1 - w**2, d * w)
    guess = {"x": answer.real, "x_dot": -w * answer.imag}
    parameters = {"F": 0.95 * amplitude}
    orbit = periodic_orbit(system, guess, 2 * math.pi / w, parameters=parameters, verify=False)
    branch = continue_orbit(orbit, {"F": (0.95 * amplitude, 1.1 * amplitude)}, step=0.1)
    (touch,) = branch.special
    assert (touch.kind, touch.detail) == ("grazing", "wall")
    assert abs(touch.value - amplitude) < 1e-14 * max(1.0, amplitude) * 2
    assert touch.orbit.residual < 1e-12
    with pytest.raises(ds.errors.UnsupportedError, match="one event more or less"):
        touch.switch()


@pytest.mark.slow
def test_orbits_that_hit_the_wall_come_to_touch_it_at_the_same_force() -> None:
    orbit = periodic_orbit(
        systems.impact_oscillator(),
        {"x": 1.0, "x_dot": -0.445031186243928989},
        2 * math.pi / 2.8,
        parameters={"F": 8.5},
        start_time=1.09935706245647814 + 1e-6,
        verify=False,
    )
    branch = continue_orbit(orbit, {"F": (6.5, 8.6)}, step=0.1)
    assert branch.special[0].kind == "grazing"
    # What is left of the speed, about 1e-14, is multiplied by its slope, 3.7.
    assert abs(branch.special[0].value - math.hypot(1 - 2.8**2, 0.28)) < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize(("damping", "static", "sliding"), [(0.4, 0.4, 0.3), (0.8, 0.5, 0.3)])
def test_a_belt_loses_its_cycle_where_the_mass_hardly_sticks_again(
    damping: float, static: float, sliding: float
) -> None:
    # Exact flow of the slip from x = (mu_s N - c v)/k with x' = v, to where x'' = 0 and x' = v:
    # two equations in time and v, by Newton's method.
    k, load, half = 100.0, 10.0, damping / 2
    w = math.sqrt(k - half**2)

    def end(time: float, v: float) -> tuple[float, float]:
        rest = sliding * load / k
        a = (static * load - damping * v) / k - rest
        b = (v + half * a) / w
        decay, c, s = math.exp(-half * time), math.cos(w * time), math.sin(w * time)
        x = decay * (a * c + b * s)
        rate = decay * ((b * w - half * a) * c - (a * w + half * b) * s)
        return rate - v, -k * x - damping * rate

    unknown = np.array([1.85 * math.pi / w, 0.1 * (static - sliding) / damping * 5])
    for _ in range(50):
        here = np.array(end(*unknown))
        columns = [
            (np.array(end(*(unknown + step))) - np.array(end(*(unknown - step)))) / 2e-6
            for step in 1e-6 * np.eye(2)
        ]
        unknown = unknown - np.linalg.solve(np.array(columns).T, here)
    system = systems.belt(damping=damping, static=static, sliding=sliding, speed=0.1)
    guess = {"x": static / 10 - 0.001, "x_dot": 0.1}
    orbit = periodic_orbit(system, guess, section="slip", verify=False)
    branch = continue_orbit(orbit, {"speed": (0.1, 0.6)}, step=0.1)
    assert branch.special[-1].kind == "grazing"
    assert abs(branch.special[-1].value - unknown[1]) < 1e-13


# -- steady motions --------------------------------------------------------------------------------


def hopf() -> ds.analysis.Branch:
    """x'' = (a - x^2) x' - x + b: rests at b, which loses its stability at a = b^2, with w = 1."""
    q, p = ds.coordinates(x="m"), ds.parameters(a=(-0.3, "1/s"), b=(0.1, "m/s^2"))
    force = (p.a - q.x**2) * q.dot.x - q.x + p.b
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": force})
    rest = periodic_orbit(system, {"x": 0.0}, 0.5, steady=True, verify=False)
    return continue_orbit(rest, {"a": (-0.4, 0.4)}, step=0.1)


@pytest.mark.slow
def test_an_equilibrium_loses_its_stability_to_oscillations_of_a_known_period() -> None:
    (point,) = hopf().special
    assert point.kind == "Hopf"
    assert abs(point.value - 0.01) < 1e-14
    assert point.detail == "period 6.28318530718 s"
    for side in (1, -1):
        orbit = point.switch(side=side)
        assert orbit.values["a"] > 0.01
        assert orbit.verdict == "stable"
        assert abs(orbit.period - 2 * math.pi) < 1e-6
    farther = continue_orbit(point.switch(amplitude=0.5), {"a": (0.005, 0.02)}, step=0.2)
    assert farther.ends[0].startswith("the branch ends at a = 0.01: the orbit shrinks to the")
    assert "(a Hopf point, period 6.283185307 s)" in farther.ends[0]


@pytest.mark.slow
@pytest.mark.parametrize("rate", [1.0, 1.4])
def test_the_brusselator_oscillates_beyond_its_hopf_point(rate: float) -> None:
    # x' = A - (B + 1) x + x^2 y, y' = B x - x^2 y: B = 1 + A^2, w = A, from any time of looking.
    s, p = ds.states(x="", y=""), ds.parameters(B=(1.2, ""), A=(rate, ""))
    rates = {"x": p.A - (p.B + 1) * s.x + s.x**2 * s.y, "y": p.B * s.x - s.x**2 * s.y}
    system = ds.ControlSystem(s, rates, parameters=p)
    for time in (0.3, 30.0):
        guess = {"x": 1.05 * rate, "y": 1.3 / rate}
        rest = periodic_orbit(system, guess, time, steady=True, verify=False)
        (point,) = continue_orbit(rest, {"B": (1.2, 1.3 + rate**2)}, step=0.1).special
        assert point.kind == "Hopf"
        assert abs(point.value - 1 - rate**2) < 1e-12
        assert point.detail == f"period {2 * math.pi / rate:.12g} s"
        assert abs(point.switch(amplitude=0.02).period - 2 * math.pi / rate) < 1e-2


@pytest.mark.slow
def test_a_bead_on_a_turning_hoop_leaves_the_bottom_to_both_sides() -> None:
    # theta'' = sin(theta) (W^2 cos(theta) - 1) - 0.1 theta': cos(theta) = 1 / W^2 from W = 1 on.
    q, p = ds.coordinates(theta="rad"), ds.parameters(W=(0.8, "rad/s"))
    force = ca.sin(q.theta) * (p.W**2 * ca.cos(q.theta) - 1) - 0.1 * q.dot.theta
    hoop = ds.MechanicalSystem(q, p, kinetic=q.dot.theta**2 / 2, force={"theta": force})
    rest = periodic_orbit(hoop, {"theta": 0.0}, 0.5, steady=True, verify=False)
    (point,) = continue_orbit(rest, {"W": (0.8, 1.3)}, step=0.1).special
    assert point.kind == "branch point"
    assert abs(point.value - 1.0) < 1e-14
    angles: list[float] = []
    for side in (1, -1):
        other = point.switch(amplitude=0.3, side=side)
        angles.append(other.state["theta"])
        assert abs(math.acos(1 / other.values["W"] ** 2) - abs(angles[-1])) < 1e-13
    assert angles[0] * angles[1] < 0.0


@pytest.mark.slow
def test_where_no_symmetry_is_named_two_branches_cross_and_the_bent_orbits_are_reached() -> None:
    orbit = periodic_orbit(
        systems.forced_pendulum(),
        {"theta": -1.0, "theta_dot": 1.9},
        3 * math.pi,
        parameters={"F": 0.99},
        verify=False,
    )
    (crossing,) = continue_orbit(orbit, {"F": (0.99, 1.02)}, step=0.1).special
    assert crossing.kind == "branch point"
    assert crossing.detail == "two branches cross"
    # By the half map, regular there, F = 1.00431947742647: the whole one is singular.
    assert abs(crossing.value - 1.00431947742647) < 2e-13
    sides = [crossing.switch(side=side) for side in (1, -1)]
    for bent in sides:
        assert bent.verdict == "stable"
        half = bent.run.at(1.5 * math.pi)
        # No orbit that is its own mirror image half a period later.
        assert abs(half["theta"] + bent.state["theta"]) > 1e-3
    # They are each other's.
    assert abs(sides[0].run.at(1.5 * math.pi)["theta"] + sides[1].state["theta"]) < 1e-3


@pytest.mark.long
def test_a_bicycle_weaves_and_capsizes_at_the_published_speeds() -> None:
    # J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, Proc. R. Soc. A 463 (2007) 1955.
    case = ds.problem("bicycle").case("steady")
    held = {"rear_rotation_dot": -5 / 0.3}
    branch = case.continue_orbit(
        {"rear_rotation_dot": (-25.0, -12.0)},
        {"lean": 0.0, "steer": 0.0, "pitch": 0.0, "yaw_dot": 0.0, **held},
        0.2,
        up_to=ds.analysis.Shift("x", "y", "rear_rotation", "front_rotation", "yaw"),
        family=held,
        steady=True,
        step=0.1,
    )
    capsize, weave = branch.special
    assert (capsize.kind, weave.kind) == ("branch point", "Hopf")
    assert abs(-0.3 * capsize.value - 6.024262015388) < 1e-10
    assert abs(-0.3 * weave.value - 4.2923825363411) < 1e-11


@pytest.mark.long
def test_a_link_comes_to_a_degenerate_point() -> None:
    # r sin a = sin b: at r = 1 both constraints' slopes vanish where a = b = pi / 2.
    q, p = ds.coordinates(a="rad", b="rad"), ds.parameters(r=(0.995, ""))
    link = ds.Holonomic("link", p.r * ca.sin(q.a) - ca.sin(q.b))
    system = ds.MechanicalSystem(q, p, kinetic=(q.dot.a**2 + q.dot.b**2) / 2, goals=[link])
    guess = {"a": 0.3, "b": math.asin(0.995 * math.sin(0.3)), "a_dot": 1.0}
    turn = ds.analysis.Shift(a=2 * math.pi)
    orbit = periodic_orbit(system, guess, 6.0, up_to=turn, family={"energy": 1.0}, verify=False)
    branch = continue_orbit(orbit, {"r": (0.995, 1.01)}, step=1.0)
    (point,) = branch.special
    assert (point.kind, point.detail) == ("degenerate passage", "constraints depend on each other")
    assert abs(point.value - 1.0) < 1e-9
    with pytest.raises(ds.errors.UnsupportedError, match="the continuation is undetermined"):
        point.switch()


@pytest.mark.slow
def test_sides_and_amplitudes_that_cannot_be_are_refused() -> None:
    orbit = periodic_orbit(systems.walker(), start(0.2, -0.2), section="strike", verify=False)
    (doubling,) = continue_orbit(orbit, {"slope": (0.009, 0.0155)}, step=0.2).special
    with pytest.raises(ds.errors.OutOfRangeError, match="the side is 0"):
        doubling.switch(side=0)
    with pytest.raises(ds.errors.OutOfRangeError, match="the amplitude is -1"):
        doubling.switch(amplitude=-1)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("off", [1e-4, 1e-6, 1e-8, 1e-9, 1e-10])
def test_near_to_a_homoclinic_orbit_no_verdict_rests_on_rounding(off: float) -> None:
    # The multiplier is cos^2(0.6) for any slope; it is computed as -150 and 9 at the last two.
    slope, cosine = 0.0289219139541758821 * (1 + off), math.cos(0.6)
    rate = cosine * math.sqrt(4 * math.sin(0.3) * math.sin(slope) / (1 - cosine**2))
    wheel = systems.rimless_wheel(0.3, slope, 1.0, 1.0)
    guess = {"theta": slope - 0.3, "theta_dot": rate}
    orbit = periodic_orbit(wheel, guess, section="strike", verify=False)
    assert orbit.verdict == ("stable" if off > 1e-7 else "unknown")


@pytest.mark.parametrize("damping", [1e-9, -1e-11])
def test_an_integral_that_is_nearly_conserved_is_named(damping: float) -> None:
    q = ds.coordinates(theta="rad")
    pendulum = ds.MechanicalSystem(
        q,
        kinetic=q.dot.theta**2 / 2,
        potential=-9.81 * ca.cos(q.theta),
        force={"theta": -damping * q.dot.theta},
    )
    family = {"energy": -9.81 * math.cos(1.0)}
    orbit = periodic_orbit(pendulum, {"theta": 1.0}, 2.2, family=family, verify=False)
    assert any(note.startswith("'energy' changes by") for note in orbit.notes)

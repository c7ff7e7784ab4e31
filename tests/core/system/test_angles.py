"""Angles by atan2: they jump at their cut, and nowhere else."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daesolve as ds
from tests.core.system.test_piecewise import body


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("rate", [1.0, -1.7])
@pytest.mark.parametrize("eighth", range(-8, 8))
def test_an_angle_is_wrapped_wherever_it_begins_and_however_it_turns(eighth, rate):
    """phi' = w, z' = wrapped(phi): w z grows by the change of wrapped(phi)^2 / 2, cut or no cut."""
    s, begin = ds.states(phi="", z=""), eighth * math.pi / 8 + 0.01
    angle = ca.atan2(3 * ca.sin(s.phi), 3 * ca.cos(s.phi))
    system = ds.ControlSystem(s, {"phi": ca.SX(rate), "z": angle})
    run = ds.solve(system, 15.0, {"phi": begin})

    def half_square(phi):
        return math.remainder(phi, 2 * math.pi) ** 2 / 2

    grown = half_square(begin + 15.0 * rate) - half_square(begin)
    assert run.end_state["z"] == pytest.approx(grown / rate, abs=1e-13)


def test_an_angle_that_stays_at_zero_or_swings_about_it_does_not_switch():
    s = ds.states(phi="", a="", b="")
    zero = ca.sin(s.phi) - 0.5 * ca.sin(s.phi) * 2.0
    swinging = ca.atan2(s.phi - 0.5, 1 + s.phi**2)
    system = ds.ControlSystem(
        s, {"phi": ca.cos(ds.time), "a": ca.atan2(zero, 1 + s.phi**2), "b": swinging}
    )
    run = ds.solve(system, 50.0, {})
    assert run.outcome is ds.Outcome.COMPLETED
    assert not run.events
    assert run.end_state["a"] == pytest.approx(0.0, abs=1e-14)


def test_an_angle_by_atan2_jumps_at_its_cut():
    """A point that goes round: the force atan2(y, x) jumps by 2 pi where y = 0 < -x."""
    q = ds.coordinates(x="m", y="m", z="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        potential=(q.x**2 + q.y**2) / 2,
        force={"z": ca.atan2(q.y, q.x)},
    )
    run = ds.solve(system, 10.0, {"x": 1.0, "y_dot": 1.0})
    # z'' is the angle t, wrapped to (-pi, pi].
    turn = 2.0 * math.pi
    z_dot = (
        math.pi**2 / 2.0
        + (math.pi**2 * 0.0)
        + sum(
            (high - low) * ((high + low) / 2.0 - shift)
            for low, high, shift in ((math.pi, 3 * math.pi, turn), (3 * math.pi, 10.0, 2 * turn))
        )
    )
    assert run.end_state["z_dot"] == pytest.approx(z_dot, abs=1e-11)


def test_a_switch_within_the_guard_of_another_is_put_right_before_rates_count():
    """At the cut of the angle both change at once, and the force goes on as it was."""
    run = ds.solve(
        body(lambda q: ca.fabs(ca.atan2(q.dot.x, q.x)) - 2.0 * q.x), 4.0, {"x": 0.0, "x_dot": 0.4}
    )

    def rate(t, state):
        return state[1], abs(math.atan2(state[1], state[0])) - 2.0 * state[0]

    known = solve_ivp(rate, (0.0, 4.0), (0.0, 0.4), "DOP853", rtol=1e-12, atol=1e-14, max_step=1e-2)
    names = [event.name for event in run.events]
    # The kink at zero; the angle, a quarter of pi beyond; and both at the cut.
    assert names == [f"force_x_switch_{count}" for count in (2, 1, 1, 2)]
    # The other program passes two kinks within a step each.
    assert run.end_state["x"] == pytest.approx(known.y[0, -1], abs=1e-8)


def test_the_angle_of_a_direction_may_be_held():
    """A guard of one switch is written with another, and is not written anew."""
    q = ds.coordinates(x="m", y="m")
    turned = ca.atan2(q.y, q.x) - ds.time
    held = ds.Holonomic("drive", ca.atan2(ca.sin(turned), ca.cos(turned)))
    system = ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, potential=(q.x**2 + q.y**2) / 2, goals=[held]
    )
    # r'' = r - r: out at a constant speed, once about.
    run = ds.solve(system, 7.0, {"x": 1.0, "y": 0.0, "x_dot": 0.5})
    assert run.outcome is ds.Outcome.COMPLETED
    expected = (4.5 * math.cos(7.0), 4.5 * math.sin(7.0))
    assert (run.end_state["x"], run.end_state["y"]) == pytest.approx(expected, abs=1e-10)


def test_an_angle_at_its_cut_is_half_a_turn():
    """atan2(0, -1) is pi: for a constant, a state that stays there, a parameter over a state."""
    q, p = ds.coordinates(x="m", y="m"), ds.parameters(none=0.0)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    zeros = (q.y, 0.0 * q.y, p.none / (q.x + 1))
    force = {"x": sum(ca.atan2(zero, -1 - q.x**2) for zero in zeros)}
    run = ds.solve(ds.MechanicalSystem(q, p, kinetic=kinetic, force=force), 1.0, {})
    assert run["x"][-1] == pytest.approx(1.5 * np.pi, rel=1e-12)

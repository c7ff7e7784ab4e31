"""Loads on a held body that follow integrals, and masses that change with time: closed forms."""

from __future__ import annotations

import math

import casadi as ca
import pytest
from scipy.special import erfinv

import daesolve as ds

FRICTION, GRAVITY = 0.4, 10.0


def block(force, belt=0.0, mass=1.0, weight=GRAVITY, **more):
    """A block between two rails, in the plane, which move at a speed."""
    q = ds.coordinates(x="m", y="m")
    rails = [
        ds.friction.Support(
            velocity=(q.dot.x - belt, q.dot.y), normal=(0.0, side), friction=FRICTION
        )
        for side in (-1.0, 1.0)
    ]
    return ds.MechanicalSystem(
        q,
        kinetic=mass * (q.dot.x**2 + q.dot.y**2) / 2,
        force={"x": force, "y": -weight},
        goals=[ds.Holonomic("rail", q.y, ideal=False, scale=1.0)],
        pairs=[ds.friction.VariantPair("normal", rails)],
        **more,
    )


def loose(run):
    """Return the instants at which a body breaks loose."""
    return [event.time for event in run.events if event.name == "breaks_loose"]


@pytest.mark.parametrize("width", [1e-2, 1e-6])
def test_an_integral_of_a_short_pulse_sets_a_block_in_motion_within_the_pulse(width):
    """z' = exp(-((t - c) / w)^2) / (w sqrt(pi)) brings z from 0 to 1; 3.3 + z reaches the limit."""
    z, centre = ds.states(z="N"), 2.0313
    pulse = ca.exp(-(((ds.time - centre) / width) ** 2)) / (width * math.sqrt(math.pi))
    system = block(3.3 + z.z, quadratures=z, integrands={"z": pulse})
    run = ds.solve(system, 5.0, {"x": 0.0, "x_dot": 0.0, "z": 0.0})
    # z = (1 + erf((t - c) / w)) / 2 = 0.7
    expected = centre + width * float(erfinv(2.0 * (FRICTION * GRAVITY - 3.3) - 1.0))
    assert loose(run) == pytest.approx([expected], abs=1e-9 * width + 1e-15)


def test_an_integral_that_falls_short_of_the_limit_sets_nothing_in_motion():
    z, width = ds.states(z="N"), 1e-6
    pulse = ca.exp(-(((ds.time - 2.0313) / width) ** 2)) / (width * math.sqrt(math.pi))
    system = block(2.999 + z.z, quadratures=z, integrands={"z": pulse})
    run = ds.solve(system, 5.0, {"x": 0.0, "x_dot": 0.0, "z": 0.0})
    assert run.end_state["z"] == pytest.approx(1.0, abs=1e-9)
    assert loose(run) == []


def test_a_weight_that_is_lighter_for_a_microsecond_lets_go():
    lighter = 1.0 - 0.1 * ca.exp(-(((ds.time - 2.0313) / 1e-6) ** 2))
    run = ds.solve(block(3.9, weight=GRAVITY * lighter), 5.0, {"x": 0.0, "x_dot": 0.0})
    # 0.4 * 10 (1 - 0.1 e) = 3.9
    expected = 2.0313 - 1e-6 * math.sqrt(math.log(4.0))
    assert loose(run) == pytest.approx([expected], abs=1e-14)


@pytest.mark.slow
def test_a_mass_that_grows_on_a_belt_that_speeds_up_is_left_behind():
    """(m v)' = (1 + t / 2) 2 + (1 / 2) 2 t is more than friction, 4 N, after 1 s."""
    mass = 1.0 + ds.time / 2.0
    run = ds.solve(block(0.0, 2.0 * ds.time, mass), 1.5, {"x": 0.0, "x_dot": 0.0})
    assert loose(run) == pytest.approx([1.0], abs=1e-12)


TOUCHING = {
    "product": lambda size, t: 2.0 * size * ca.sin(t) * ca.cos(t),
    "square": lambda size, t: size * (1.0 - 2.0 * ca.sin(t - math.pi / 4) ** 2),
    "bump": lambda size, t: size * ca.exp(-((t - 1.3) ** 2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("spelling", TOUCHING)
@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
def test_a_load_that_touches_the_limit_and_turns_back_releases_nothing(spelling, unit):
    mass = 0.7 * unit
    force = TOUCHING[spelling](FRICTION * mass * 9.81, ds.time)
    run = ds.solve(block(force, 0.0, mass, 9.81 * mass), 3.0, {"x": 0.0, "x_dot": 0.0})
    assert (loose(run), run.outcome) == ([], ds.Outcome.COMPLETED)


@pytest.mark.slow
def test_a_load_that_is_larger_than_the_limit_by_a_millionth_releases():
    force = (1.0 + 1e-6) * 4.0 * ca.sin(2.0 * ds.time)
    run = ds.solve(block(force), 1.0, {"x": 0.0, "x_dot": 0.0})
    assert loose(run) == pytest.approx([math.asin(1.0 / (1.0 + 1e-6)) / 2.0], abs=1e-9)


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_a_push_before_which_there_was_no_load_is_followed_in_its_own_direction(sense):
    push = sense * 8.0 * ca.exp(-(((ds.time - 0.4321) / 0.01) ** 2))
    run = ds.solve(block(push), 1.0, {"x": 0.0, "x_dot": 0.0})
    assert loose(run) == pytest.approx([0.4321 - 0.01 * math.sqrt(math.log(2.0))], rel=1e-12)

"""Goals that are quadratic in the velocities, in systems other than the wheel."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds

GRAVITY = 9.81


def damped_pendulum_with_kept_energy():
    """A torque makes up for the damping, so that the motion is that of the free pendulum."""
    q = ds.coordinates(phi=ds.ANGLE)
    r = ds.reactions(torque="N m")
    energy = q.dot.phi**2 / 2 - GRAVITY * ca.cos(q.phi)
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.phi**2 / 2,
        potential=-GRAVITY * ca.cos(q.phi),
        reactions=r,
        force={"phi": r.torque - 0.1 * q.dot.phi},
        goals=[
            ds.Nonholonomic("energy", energy, ideal=False, from_start=True, singular_at_rest=True)
        ],
    )


def free_pendulum():
    q = ds.coordinates(phi=ds.ANGLE)
    return ds.MechanicalSystem(q, kinetic=q.dot.phi**2 / 2, potential=-GRAVITY * ca.cos(q.phi))


@pytest.mark.parametrize("until", [20.0, -20.0])
def test_a_torque_that_keeps_the_energy_undoes_the_damping(until):
    start = {"phi": 0.0, "phi_dot": 10.0}
    kept = ds.solve(damped_pendulum_with_kept_energy(), until, start)
    free = ds.solve(free_pendulum(), until, start)
    assert kept.outcome is ds.Outcome.COMPLETED
    assert kept["phi"] == pytest.approx(free["phi"], abs=1e-11)
    assert kept.reactions["torque"] == pytest.approx(0.1 * kept["phi_dot"], abs=1e-11)


@pytest.mark.parametrize("until", [20.0, -20.0])
def test_it_ends_where_the_pendulum_first_comes_to_rest(until):
    start = {"phi": 0.0, "phi_dot": 2.0}
    run = ds.solve(damped_pendulum_with_kept_energy(), until, start)
    turn = ds.MechanicalSystem(
        (q := ds.coordinates(phi=ds.ANGLE)),
        kinetic=q.dot.phi**2 / 2,
        potential=-GRAVITY * ca.cos(q.phi),
        events=[ds.Event("rest", q.dot.phi, then=ds.Stop())],
    )
    rest = ds.solve(turn, until, start).end_time
    assert run.outcome is ds.Outcome.DEGENERATE
    assert 0.0 < abs(run.end_time) <= abs(rest)
    assert "'energy' lost their influence" in run.message


@pytest.mark.parametrize("until", [5.0, -5.0])
def test_a_particle_may_keep_its_speed_by_a_reaction_along_its_velocity(until):
    """Its direction turns by theta' = -g cos(theta) / v, so that sin(theta) = -tanh(g t / v)."""
    q = ds.coordinates(x="m", y="m")
    squared = q.dot.x**2 + q.dot.y**2
    system = ds.MechanicalSystem(
        q,
        kinetic=squared / 2,
        potential=GRAVITY * q.y,
        goals=[ds.Nonholonomic("speed", squared, from_start=True, singular_at_rest=True)],
    )
    speed = 20.0
    start = {"x": 0.0, "y": 0.0, "x_dot": speed, "y_dot": 0.0}
    run = ds.solve(system, until, start)
    assert run["y_dot"] == pytest.approx(
        -speed * np.tanh(GRAVITY * run.times / speed), abs=speed * 1e-14
    )


def test_the_rate_of_such_a_goal_may_be_off():
    run = ds.solve(
        damped_pendulum_with_kept_energy(),
        20.0,
        {"phi": 0.0, "phi_dot": 10.0},
        formulation=ds.Feedback(rates={"energy": None}),
    )
    assert run.outcome is ds.Outcome.COMPLETED
    assert not run.drift["energy"].driven
    assert run.drift["energy"].max_relative < 1e-13


@pytest.mark.parametrize("until", [20.0, -20.0])
@pytest.mark.parametrize("rate", [10.0, None])
def test_a_relation_with_the_correction_keeps_the_energy(until, rate):
    q = ds.coordinates(phi=ds.ANGLE)
    r = ds.reactions(torque="N m")
    energy = ds.Invariant("energy", q.dot.phi**2 / 2 - GRAVITY * ca.cos(q.phi), drive=True)
    power = (r.torque - 0.1 * q.dot.phi) * q.dot.phi
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.phi**2 / 2,
        potential=-GRAVITY * ca.cos(q.phi),
        reactions=r,
        force={"phi": r.torque - 0.1 * q.dot.phi},
        goals=[energy, ds.Relation("power", power + energy.correction)],
    )
    start = {"phi": 0.0, "phi_dot": 10.0}
    run = ds.solve(system, until, start, formulation=ds.Feedback(rates={"energy": rate}))
    free = ds.solve(free_pendulum(), until, start)
    assert run.drift["energy"].driven is (rate is not None)
    assert run["phi"] == pytest.approx(free["phi"], abs=1e-11)


def test_a_light_body_between_others_is_named_not_their_constraints():
    """A particle of a millionth of a gram holds half a tonne: both ropes are independent."""
    q = ds.coordinates(x="m", y="m", a="m", b="m")
    light = 1e-9
    kinetic = 500 * (q.dot.x**2 + q.dot.y**2) / 2 + light * (q.dot.a**2 + q.dot.b**2) / 2
    rope = ds.Holonomic("rope", q.a**2 + q.b**2 - 1)
    rod = ds.Holonomic("rod", (q.x - q.a) ** 2 + (q.y - q.b) ** 2 - 1)
    system = ds.MechanicalSystem(
        q, kinetic=kinetic, potential=GRAVITY * (500 * q.y + light * q.b), goals=[rope, rod]
    )
    run = ds.solve(system, 5.0, {"x": 1.4, "a": 0.6}, guess={"y": -1.4, "b": -0.8})
    assert run.outcome is ds.Outcome.DEGENERATE
    assert "the inertia of 'a_dot', 1e-09, is so small beside that of 'x_dot', 5e+02" in run.message
    assert "rank_loss" not in run.message

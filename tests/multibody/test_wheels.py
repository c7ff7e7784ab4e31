"""Skates and pairs of wheels: Chaplygin's sleigh, and vehicles whose wheels have coordinates."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError
from daesolve.multibody.bodies import Body, PlanarBody
from daesolve.multibody.contribution import AppliedForce, Contribution, GearedInertia
from daesolve.multibody.joints import Revolute
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import GROUND
from daesolve.multibody.sliding_joints import Planar
from daesolve.multibody.wheels import Skate, WheelPair

MASS, INERTIA, AHEAD = 1.3, 0.4, 0.25


@pytest.mark.slow_rows("True")
@pytest.mark.parametrize("in_space", [False, True])
def test_chaplygins_sleigh_moves_as_in_closed_form(in_space):
    """u = c W tanh(a W t / c), w = W / cosh(a W t / c), with c^2 = (I + m a^2) / m."""
    spin, until = 2.0, 3.0
    if in_space:
        sleigh = Body("s", MASS, (0.2, 0.3, INERTIA), position=(AHEAD, 0, 0),
                      velocity=(0, AHEAD * spin, 0), angular_velocity=(0, 0, spin))  # fmt: skip
        parts = [
            Planar("ice", GROUND.frame(), sleigh.frame()),
            Skate("blade", sleigh.frame((-AHEAD, 0, 0))),
        ]
        name, solver, limit = "s_w3", ds.Dop853(), 1e-8
    else:
        sleigh = PlanarBody("s", MASS, INERTIA, position=(AHEAD, 0),
                            velocity=(0, AHEAD * spin), rate=spin)  # fmt: skip
        parts = [Skate("blade", sleigh.frame((-AHEAD, 0)))]
        name, solver, limit = "s_angle_dot", None, 1e-12
    mechanism = Mechanism([sleigh], parts)
    run = ds.solve(mechanism.system(), until, guess=mechanism.start, solver=solver)
    c = math.sqrt(INERTIA / MASS + AHEAD**2)
    phase = AHEAD * spin * run.times / c
    assert run["blade_speed"] == pytest.approx(c * spin * np.tanh(phase), abs=limit)
    assert run[name] == pytest.approx(spin / np.cosh(phase), abs=limit)
    # m (u w + a w') acts across the blade at the mass centre, all of it from the blade.
    turning = -AHEAD / c**2 * run["blade_speed"] * run[name]
    force = MASS * (run["blade_speed"] * run[name] + AHEAD * turning)
    assert run["blade"] == pytest.approx(force, abs=100 * limit)
    assert run.drift["energy"].driven


RADIUS, TRACK, WHEEL = 0.3, 0.8, 0.15
TORQUES = (0.4, -0.1)


def by_coordinates(until, at):
    """The same vehicle with an angle of its own for each wheel, and three constraints."""
    q = ds.coordinates(x="m", y="m", psi="rad", one="rad", two="rad")
    ahead = ca.vertcat(ca.cos(q.psi), ca.sin(q.psi))
    across = ca.vertcat(-ca.sin(q.psi), ca.cos(q.psi))
    moving = ca.vertcat(q.dot.x, q.dot.y) - AHEAD * q.dot.psi * across  # of the middle of the axle
    u = ca.dot(ahead, moving)
    rims = [u - TRACK / 2 * q.dot.psi, u + TRACK / 2 * q.dot.psi]
    goals = [ds.Nonholonomic("axle", ca.dot(across, moving), unit="N")]
    goals += [
        ds.Nonholonomic(f"rolling_{k}", RADIUS * spin - rim, unit="N")
        for k, (spin, rim) in enumerate(zip((q.dot.one, q.dot.two), rims, strict=True))
    ]
    kinetic = (
        MASS * (q.dot.x**2 + q.dot.y**2) + INERTIA * q.dot.psi**2
        + WHEEL * (q.dot.one**2 + q.dot.two**2)
    ) / 2  # fmt: skip
    system = ds.MechanicalSystem(
        q, kinetic=kinetic, goals=goals, force={"one": TORQUES[0], "two": TORQUES[1]}
    )
    start = {"x": AHEAD, "x_dot": 1.0, "psi_dot": 0.7}
    return ds.solve(system, until, start, at=at)


def test_a_pair_of_wheels_moves_a_vehicle_as_wheels_with_coordinates_do():
    """Path, turns of the wheels, and the force along the axle, which is the true one."""
    at = [1.0, 4.0]
    body = PlanarBody(
        "b", MASS, INERTIA, position=(AHEAD, 0), velocity=(1.0, AHEAD * 0.7), rate=0.7
    )
    axle = WheelPair("axle", body.frame((-AHEAD, 0)), RADIUS, TRACK, WHEEL, TORQUES)
    mechanism = Mechanism([body], [axle])
    run = ds.solve(mechanism.system(), 4.0, guess=mechanism.start, at=at)
    full = by_coordinates(4.0, at)
    pairs = {
        "b_x": "x", "b_y": "y", "b_angle": "psi", "axle_angle_1": "one", "axle_angle_2": "two",
        "b_x_dot": "x_dot", "axle_spin_1": "one_dot", "axle_spin_2": "two_dot", "axle": "axle",
    }  # fmt: skip
    for own, other in pairs.items():
        assert run[own] == pytest.approx(full[other], abs=1e-11), own
    work = TORQUES[0] * run["axle_angle_1"] + TORQUES[1] * run["axle_angle_2"]
    assert run["axle_work"] == pytest.approx(work, abs=1e-11)
    # What the torques did is what the energy has gained, that of the wheels included.
    gained = run["energy"] - (MASS * (1.0 + (0.7 * AHEAD) ** 2) + INERTIA * 0.49) / 2
    wheels = WHEEL / 2 * sum(((1.0 + s * 0.35 * TRACK) / RADIUS) ** 2 for s in (1, -1))
    assert gained - wheels == pytest.approx(work, abs=1e-11)


def test_a_pair_without_torques_keeps_the_energy_of_body_and_wheels():
    body = PlanarBody(
        "b", MASS, INERTIA, position=(AHEAD, 0), velocity=(1.0, 0.7 * AHEAD), rate=0.7
    )
    axle = WheelPair("axle", body.frame((-AHEAD, 0)), RADIUS, TRACK, WHEEL)
    mechanism = Mechanism([body], [axle])
    run = ds.solve(mechanism.system(), 20.0, guess=mechanism.start)
    assert run.drift["energy"].driven
    assert run.drift["energy"].max_relative < 1e-14


@pytest.mark.slow
def test_a_trailer_on_wheels_follows_as_on_a_skate_where_its_wheels_have_no_mass():
    ends = []
    for wheels in (True, False):
        car = PlanarBody("car", 2.0, 0.3, velocity=(1.0, 0.0))
        trailer = PlanarBody("trailer", 1.0, 0.2, position=(-1.0, 0.3))
        place = trailer.frame((0.0, 0.0))
        axle = WheelPair("axle", place, 0.3, 0.5) if wheels else Skate("axle", place)
        parts = [
            Skate("blade", car.frame((0.2, 0.0), 0.2)),
            Revolute("hitch", car.frame((-0.4, 0.0)), trailer.frame((0.6, -0.3))),
            axle,
        ]
        mechanism = Mechanism([car, trailer], parts)
        run = ds.solve(mechanism.system(), 3.0, guess=mechanism.start)
        ends.append([run[name][-1] for name in ("car_x", "car_angle", "trailer_angle", "axle")])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)


@pytest.mark.slow
def test_an_inertia_goes_with_bodies_in_space():
    """A flywheel geared to a body about its third axis adds to its moment, ratio squared."""

    class Flywheel:
        def __init__(self, body):
            turning = 3.0 * ca.dot(body.frame().axis(2), body.frame().angular_velocity)
            self.contribution = Contribution(
                inertias=[GearedInertia(turning, 0.1)],
                forces=[AppliedForce(turning, ca.SX(0.2))],
            )

    body = Body("b", 1.0, (1.0, 1.0, 0.4))
    mechanism = Mechanism([body], [Flywheel(body)])
    run = ds.solve(mechanism.system(), 2.0, guess=mechanism.start, solver=ds.Dop853())
    assert run["b_w3"] == pytest.approx(0.6 / (0.4 + 0.9) * run.times, abs=1e-11)


CART, TOP = PlanarBody("cart", 1.0, 1.0), Body("top", 1.0, (1, 1, 2), axisymmetric=True)
BOX = Body("box", 1.0, (1, 1, 1))


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: Skate("a b", CART.frame()), PosingError, "must be a word"),
        (lambda: Skate("s", CART.centre), PosingError, "must be on a frame of a body"),
        (lambda: Skate("s", GROUND.frame((0, 0))), PosingError, "must be on a frame of a body"),
        (lambda: Skate("s", TOP.frame()), PosingError, "spin with 'top'"),
        (lambda: WheelPair("w", BOX.frame(), 0.1, 1.0), PosingError, "seen from above"),
        (lambda: WheelPair("w", CART.frame(), 0.0, 1.0), OutOfRangeError, "radius .* is 0.0"),
        (lambda: WheelPair("w", CART.frame(), 0.1, -1.0), OutOfRangeError, "track .* is -1.0"),
        (lambda: WheelPair("w", CART.frame(), 0.1, 1.0, -1.0), OutOfRangeError, "inertia .* -1.0"),
        (lambda: WheelPair("w", CART.frame(), 0.1, 1.0, 0.1, 2.0), PosingError, "two torques"),
    ],
)
def test_wheels_that_have_no_meaning_are_refused(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()


def test_an_inertia_along_what_is_not_linear_in_velocities_is_refused():
    class Odd:
        contribution = Contribution(inertias=[GearedInertia(CART.centre.velocity[0] ** 2, 1.0)])

    with pytest.raises(PosingError, match="an inertia along a velocity that is not linear"):
        Mechanism([CART], [Odd()]).system()

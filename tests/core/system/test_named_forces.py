"""A force is named by a coordinate or a velocity: its power is force times rate."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import PosingError, UnknownNameError
from daesolve.multibody import Body, Mechanism, PlanarBody

PUSH = 3.0


def point(force):
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 + q.dot.y**2, force=force)


def skater(force):
    """A point whose speed v is along the direction psi, which turns at the rate w."""
    q = ds.coordinates(x="m", y="m", psi="rad")
    v = ds.velocities(v="m/s", w="rad/s")
    return ds.MechanicalSystem(
        q,
        kinetic=v.v**2 / 2 + v.w**2 / 2,
        velocities=v,
        kinematics=ca.vertcat(v.v * ca.cos(q.psi), v.v * ca.sin(q.psi), v.w),
        force=force(q) if callable(force) else force,
    )


def same(first, second):
    """Return whether two systems have the same generalised forces at every state."""
    own, other = (
        ca.Function("force", [system.dynamics.x, system.dynamics.p], [system.dynamics.force])
        for system in (first, second)
    )
    chance = np.random.default_rng(1)
    x, p = (chance.normal(size=own.size1_in(k)) for k in (0, 1))
    np.testing.assert_allclose(np.array(own(x, p)), np.array(other(x, p)), rtol=1e-14)


def test_a_coordinate_and_its_rate_name_the_same_force():
    same(point({"x": PUSH}), point({"x_dot": PUSH}))
    run = ds.solve(point({"y_dot": PUSH}), until=2.0)
    assert run["y"][-1] == pytest.approx(PUSH / 2.0 * 2.0, rel=1e-12)  # F t^2 / (2 m), m = 2


def test_a_force_on_a_coordinate_acts_on_quasi_velocities_by_its_power():
    """F x' = F v cos psi: the component along the direction, and no torque."""
    same(skater({"x": PUSH}), skater(lambda q: {"v": PUSH * ca.cos(q.psi)}))
    same(skater({"psi": PUSH}), skater({"w": PUSH}))
    same(skater({"psi_dot": PUSH}), skater({"w": PUSH}))


@pytest.mark.parametrize("kind", [PlanarBody, Body])
def test_the_bodies_of_a_mechanism_take_either_name(kind):
    body = PlanarBody("plate", 2.0, 1.0) if kind is PlanarBody else Body("plate", 2.0, [1, 2, 3])
    mechanism = Mechanism([body])
    same(mechanism.system(force={"plate_x": PUSH}), mechanism.system(force={"plate_x_dot": PUSH}))


@pytest.mark.parametrize(
    ("pose", "force"),
    [
        (point, {"x": 1.0, "x_dot": 1.0}),
        (skater, {"psi": 1.0, "w": 1.0}),
        (skater, {"x": 1.0, "x_dot": 1.0}),
    ],
)
def test_one_direction_by_two_names_is_refused(pose, force):
    with pytest.raises(PosingError, match="act along the same velocity: give one of them"):
        pose(force)


def test_what_does_not_move_takes_no_force_and_the_nearest_names_are_listed():
    with pytest.raises(UnknownNameError, match=r"coordinate of the force 'xx': did you mean 'x'"):
        point({"xx": 1.0})
    q, v = ds.coordinates(x="m", y="m"), ds.velocities(v="m/s")
    with pytest.raises(UnknownNameError, match="of the force 'y'"):
        ds.MechanicalSystem(
            q,
            kinetic=v.v**2 / 2,
            velocities=v,
            kinematics=ca.vertcat(v.v, ca.SX(0)),
            force={"y": 1.0},
        )

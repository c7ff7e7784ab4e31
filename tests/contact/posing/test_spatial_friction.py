"""Contacts with two directions of slip, as they are posed."""

from __future__ import annotations

import casadi as ca
import pytest

import daesolve as ds


def test_a_slip_of_two_velocities_or_a_column_of_them_brings_two_rows_and_two_outputs():
    q = ds.coordinates(x="m", y="m", z="m")
    for slip in ((q.dot.x, q.dot.y), [q.dot.x, q.dot.y], ca.vertcat(q.dot.x, q.dot.y)):
        floor = ds.Contact("floor", q.z, slip=slip, friction=0.3)
        point = ds.MechanicalSystem(
            q, kinetic=ca.sumsqr(q.dot.vector) / 2, potential=9.81 * q.z, goals=[floor]
        )
        rows = [row.name for row in point.dynamics.rows]
        assert rows == ["floor", "floor_stuck_1", "floor_stuck_2"]
        assert {"floor_friction_1", "floor_friction_2"} <= {*point.outputs}


@pytest.mark.parametrize("slip", [(), (1.0, 2.0, 3.0), "ab", ((1.0, 2.0), 3.0)])
def test_a_slip_that_is_no_one_or_two_velocities_is_refused(slip):
    q = ds.coordinates(x="m", z="m")
    with pytest.raises(ds.errors.PosingError, match="the slip of the contact 'floor'"):
        ds.Contact("floor", q.z, slip=slip, friction=0.3)


def test_contacts_with_one_and_with_two_directions_do_not_stand_in_one_system():
    q = ds.coordinates(x="m", y="m", z="m")
    floor = ds.Contact("floor", q.z, slip=(q.dot.x, q.dot.y), friction=0.3)
    wall = ds.Contact("wall", q.x, slip=q.dot.y, friction=0.3)
    with pytest.raises(ds.errors.UnsupportedError, match="'wall' has one direction"):
        ds.MechanicalSystem(q, kinetic=ca.sumsqr(q.dot.vector) / 2, goals=[floor, wall])

"""Hadamard's substitutable combinations: how many, which, and what is no Pfaff system."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import (
    DegenerateStartError,
    InconsistentStateError,
    OutOfRangeError,
    PosingError,
    RedundantConstraintsError,
    UnknownNameError,
)
from daesolve.nonholonomic.pfaff import substitutable_combinations, substitutable_report
from tests.systems import EPSILON, pendulum, wheel, wheel_state

from . import tables
from .vehicles import constrained, two_skates

ROUNDING = 1e3 * EPSILON
"""Of sums of some hundred terms, relative to their sizes."""
DIMENSIONS = {
    "unicycle": (1, 1),
    "unicycle, quasi-velocities": (1, 1),
    "unicycle in a potential": (1, 1),
    "unicycle that skids": (0, 0),
    # The difference of the two rows is the rate of phi less a multiple of psi.
    "sleigh, a wheel across its skate": (1, 1),
    "sleigh, a wheel across, ahead": (1, 1),
    "sleigh, its skate": (0, 0),
    "y' = x z'": (0, 0),
    "y' = (x^2 z)'": (1, 0),
    "upright disc": (1, 1),
    "upright disc, x alone": (1, 1),
    "upright disc, heavy in front": (1, 1),
    "tilting disc": (1, 0),
    "ball": (0, 0),
    "rubber ball": (2, 2),
    "rubber Chaplygin ball": (2, 2),
    "mecanum": (2, 1),
    "mecanum, massless wheels": (2, 1),
    "cart": (4, 3),
    "cart, phi and chi": (4, 3),
    "cart that skids": (2, 0),
}
"""How many combinations there are, and Hadamard's count, by hand."""


def attitude(system):
    """A unit quaternion where there is one: the value of its norm is taken from a state."""
    return {"w": 1.0} if "w" in system.coordinates.names else None


@pytest.mark.default_rows(3)
@pytest.mark.parametrize("row", tables.TABLE, ids=lambda row: row.name)
def test_combinations_are_as_many_as_by_hand_and_the_same_alone_as_in_any_lagrangian(row):
    system = row.pose().system
    found = substitutable_combinations(system, at=attitude(system))
    assert (found.dimension, found.bound) == DIMENSIONS[row.name]
    assert found.dimension >= found.bound
    assert found.basis.shape == (found.dimension, len(found.goals))
    solved = tuple(found.each[name] for name in found.goals if name.startswith("solved"))
    assert solved == row.each
    assert not any(found.each[name] for name in found.goals if not name.startswith("solved"))
    assert found.residual < ROUNDING
    assert found.gap > 1e-3


def test_combinations_of_the_cart_are_its_four_rolling_constraints():
    found = substitutable_combinations(tables.vehicle().system)
    rolling = np.array([name.startswith("solved") for name in found.goals])
    assert np.max(np.abs(found.basis[:, ~rolling])) == 0.0
    assert found.basis[:, rolling] == pytest.approx(np.eye(4), abs=ROUNDING)


@pytest.mark.parametrize("heading", [0.3, 2.0])
def test_what_rolls_along_an_upright_disc_may_be_substituted_though_neither_axis_may(heading):
    disc = tables.vertical_disc().system
    found = substitutable_combinations(disc, at={"theta": heading})
    assert found.basis == pytest.approx(np.array([[1.0, math.tan(heading)]]), rel=ROUNDING)
    assert found.state["theta"] == heading


def test_where_an_entry_of_the_basis_vanishes_the_other_leads():
    disc = tables.vertical_disc().system
    found = substitutable_combinations(disc, at={"theta": math.pi / 2})
    assert found.basis == pytest.approx(np.array([[0.0, 1.0]]), abs=ROUNDING)


def test_coefficients_may_depend_on_the_coordinate_that_is_solved_for():
    # z' = z x' is integrable, (z exp(-x))' = 0; z' = z y x' is not.
    q = ds.coordinates(x="m", y="m", z="m")
    bound = ds.Nonholonomic("bound", q.dot.z - q.z * q.dot.x)
    free = ds.Nonholonomic("free", q.dot.z - q.z * q.y * q.dot.x)
    assert substitutable_combinations(constrained(q, [bound])).dimension == 1
    assert substitutable_combinations(constrained(q, [free])).dimension == 0


def test_a_state_that_is_an_exception_has_a_larger_basis():
    # dtheta(D, D) = x: it vanishes at x = 0 alone.
    q = ds.coordinates(x="m", y="m", z="m")
    system = constrained(q, [ds.Nonholonomic("bent", q.dot.z - q.x**2 / 2 * q.dot.y)])
    found = substitutable_combinations(system, at={"x": 0.0})
    assert found.dimension == 0
    assert found.basis.tolist() == [[1.0]]


def test_holonomic_constraints_may_always_be_substituted():
    found = substitutable_combinations(pendulum())
    assert (found.dimension, dict(found.each)) == (1, {"rod": True})
    turning = substitutable_combinations(wheel(), at=wheel_state(0.3, 0.0))
    assert (turning.dimension, turning.freedom) == (2, 1)  # one velocity left: all is integrable


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_of_lengths_and_masses_do_not_matter(unit):
    q = ds.coordinates(x="", y="", psi=ds.ANGLE, phi=ds.ANGLE)
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2 + unit**2 * (q.dot.psi**2 + q.dot.phi**2) / 2,
        goals=[
            ds.Nonholonomic("skate", c * q.dot.y - s * q.dot.x),
            ds.Nonholonomic("rolling", c * q.dot.x + s * q.dot.y + 0.4 * unit * q.dot.phi),
        ],
    )
    found = substitutable_combinations(system)
    assert found.dimension == 1
    assert dict(found.each) == {"skate": False, "rolling": True}


def test_the_report_is_plain_and_names_the_goals_of_each_combination():
    system = tables.mecanum(0.04).system
    report = json.loads(json.dumps(substitutable_report(system)))
    assert report["dimension"] == 2
    # Two wheels with rollers of one slant differ in their rotation as the platform turns.
    pairs = [set(row) for row in report["basis"]]
    assert pairs == [{"solved_0", "solved_3"}, {"solved_1", "solved_2"}]
    single = constrained(*_point())
    assert substitutable_report(single)["gap"] is None


def _point():
    q = ds.coordinates(x="m", y="m")
    return q, [ds.Nonholonomic("still", q.dot.x)]


# -- what is refused -----------------------------------------------------------------------------


def _goal(rest):
    q = ds.coordinates(x="m", y="m", z="m")
    return constrained(q, [ds.Nonholonomic("bad", rest(q))])


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (lambda q: q.dot.x**2 + q.dot.y, r"'bad' is not linear in the velocities"),
        (lambda q: q.dot.x - 1.0, r"'bad' does not vanish with the velocities"),
        (lambda q: q.dot.x - ds.time * q.dot.y, r"'bad' contains time"),
    ],
)
def test_constraints_that_are_no_forms_are_named(rest, message):
    with pytest.raises(PosingError, match=message):
        substitutable_combinations(_goal(rest))


def test_a_constraint_from_the_start_is_refused():
    q = ds.coordinates(x="m", y="m")
    goal = ds.Nonholonomic("kept", q.dot.x, from_start=True)
    with pytest.raises(PosingError, match=r"'kept' is measured from its value at the start"):
        substitutable_combinations(constrained(q, [goal]))


def test_dependent_constraints_are_named():
    q = ds.coordinates(x="m", y="m", z="m")
    goals = [
        ds.Nonholonomic("one", q.dot.x),
        ds.Nonholonomic("innocent", q.dot.z),
        ds.Nonholonomic("two", 2 * q.dot.x),
    ]
    with pytest.raises(RedundantConstraintsError, match=r"constraints 'one', 'two' depend"):
        substitutable_combinations(constrained(q, goals))


def test_a_state_in_which_constraints_lose_their_independence_is_refused():
    at = {"theta_1": math.pi / 2, "theta_2": math.pi / 2}
    with pytest.raises(DegenerateStartError, match=r"'skate_1', 'skate_2' depend on each other"):
        substitutable_combinations(two_skates(), at=at)


def test_velocities_bound_by_kinematics_are_no_pfaff_system_of_goals():
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE)
    v = ds.velocities(speed="m/s", turn="rad/s")
    system = ds.MechanicalSystem(
        q,
        velocities=v,
        kinematics=ca.vertcat(ca.cos(q.psi) * v.speed, ca.sin(q.psi) * v.speed, v.turn),
        kinetic=(v.speed**2 + v.turn**2) / 2,
        goals=[ds.Nonholonomic("curve", v.turn - q.x * v.speed)],
    )
    free = replace(system, goals=[])
    with pytest.raises(PosingError, match="has no constraints"):
        substitutable_combinations(free)
    assert substitutable_combinations(system).dimension == 1  # one velocity left: no bracket
    wider = ds.velocities(speed="m/s", turn="rad/s", slide="m/s")
    z = ds.coordinates(x="m", y="m", psi=ds.ANGLE, z="m")
    bound = ds.MechanicalSystem(
        z,
        velocities=wider,
        kinematics=ca.vertcat(
            ca.cos(z.psi) * wider.speed, ca.sin(z.psi) * wider.speed, wider.turn, wider.slide
        ),
        kinetic=ca.sumsqr(wider.vector) / 2,
        goals=[ds.Nonholonomic("lift", wider.slide - z.x * wider.speed)],
    )
    with pytest.raises(PosingError, match="kinematics restrict the velocities"):
        substitutable_combinations(bound)


def test_requests_that_cannot_be_are_refused():
    system = tables.unicycle().system
    with pytest.raises(UnknownNameError, match="psy"):
        substitutable_combinations(system, at={"psy": 1.0})
    with pytest.raises(UnknownNameError, match="radius"):
        substitutable_combinations(system, parameters={"radius": 1.0})
    with pytest.raises(OutOfRangeError, match="tolerance is 0"):
        substitutable_combinations(system, tolerance=0.0)
    with pytest.raises(OutOfRangeError, match="points is 0"):
        substitutable_combinations(system, points=0)
    with pytest.raises(PosingError, match="'norm', but it is stationary"):
        substitutable_combinations(tables.ball((0.2, 0.2, 0.2), rubber=True).system)
    x = ds.states(x="")
    with pytest.raises(PosingError, match="ControlSystem"):
        substitutable_combinations(ds.ControlSystem(x, {"x": x.x}))


def test_a_system_without_finite_states_is_refused():
    q = ds.coordinates(x="m", y="m")
    system = constrained(q, [ds.Nonholonomic("bad", q.dot.x + ca.sqrt(-1 - q.y**2) * q.dot.y)])
    with pytest.raises(InconsistentStateError, match="no random state"):
        substitutable_combinations(system)

"""What constraints leave with all that follows, where they are more than the velocities."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.errors import (
    ContradictoryGoalsError,
    InconsistentStateError,
    OutOfRangeError,
    PosingError,
    UnknownNameError,
)
from daesolve.nonholonomic import no_slip_closure
from tests.systems import four_bar_state, four_bar_windows, pendulum, wheel, wheel_state

from . import tables
from .vehicles import constrained, two_skates

LEVER, CONICITY = 0.79, 0.3


def plane():
    """A body on a track: y sideways, psi its angle. No constraint."""
    q = ds.coordinates(y="m", psi="rad")
    return constrained(q, []), q


def slips(q, *axles):
    """No slip of wheelsets at some distances along a rigid frame, linear, at unit speed."""
    goals = []
    for k, distance in enumerate(axles):
        sideways = q.y + distance * q.psi
        turn = LEVER * q.dot.psi + CONICITY * sideways
        goals.append(ds.Nonholonomic(f"across_{k}", q.dot.y + distance * q.dot.psi - q.psi))
        goals.append(ds.Nonholonomic(f"along_{k}", turn))
    return goals


def numbers(found):
    return found.dimension, found.positions, found.velocities, found.hidden


def test_a_wheelset_without_slip_keeps_half_of_its_dimensions():
    system, q = plane()
    found = no_slip_closure(system, slips(q, 0.0))
    assert numbers(found) == (2, 2, 0, ())
    assert found.free == 4
    assert found.goals == ("across_0", "along_0")


def test_a_rigid_bogie_without_slip_stands_still():
    system, q = plane()
    found = no_slip_closure(system, slips(q, 1.25, -1.25))
    assert numbers(found) == (0, 0, 0, (2,))
    assert max(abs(found.state["y"]), abs(found.state["psi"])) < 1e-12


def test_a_bogie_whose_second_axle_only_steers_follows_its_wheelset():
    # y' + a psi' = psi at +-a: psi' = 0 follows, so that y = 0 and then y' = psi = 0.
    system, q = plane()
    found = no_slip_closure(system, slips(q, 1.25, -1.25)[:3])
    assert numbers(found) == (0, 0, 0, (1, 1))


@pytest.mark.slow
@settings(derandomize=True, max_examples=4, deadline=None)
@given(st.integers(1, 4), st.integers(0, 3))
def test_linear_equations_leave_what_is_invariant_under_all_of_them(size, seed):
    # q' = A q and q' = B q hold together on the largest subspace of ker (A - B) that A maps
    # into itself: A - B = 1 c^T, so that it is what the pair (c, A) cannot observe.
    generator = np.random.default_rng(seed)
    names = [f"z_{k}" for k in range(4)]
    q = ds.coordinates(**dict.fromkeys(names, "m"))
    matrix = np.zeros((4, 4))
    matrix[:size, :size] = generator.normal(size=(size, size))
    matrix[size:, :] = generator.normal(size=(4 - size, 4))
    seen = np.zeros(4)
    seen[:size] = generator.normal(size=size)  # observes the first `size` alone, all of them
    other = matrix - np.outer(np.ones(4), seen)
    goals = [
        ds.Nonholonomic(f"{label}_{k}", q.dot[name] - ca.dot(ca.DM(rates[k]), q.vector))
        for label, rates in (("one", matrix), ("two", other))
        for k, name in enumerate(names)
    ]
    found = no_slip_closure(constrained(q, goals))
    assert (found.dimension, found.velocities) == (4 - size, 0)
    assert sum(found.hidden) == size
    assert len(found.hidden) == size  # one at a time: 1 c^T has rank one


@pytest.mark.default_rows(2)
@pytest.mark.parametrize(
    ("system", "state", "dimension", "free"),
    [
        (two_skates, {"theta_1": 0.3}, 8, 10),
        (lambda: tables.vehicle().system, {}, 12, 18),
        (lambda: tables.vehicle(halves=True).system, {}, 10, 18),
        (pendulum, {"y": -1.0}, 2, 4),
        (wheel, wheel_state(0.3, 0.0), 3, 6),  # its rotation is a position of its own
        (lambda: tables.ball((0.2, 0.2, 0.2), rubber=True).system, {"w": 1.0}, 7, 10),
        (lambda: four_bar_windows(2), four_bar_state(2), 2, 12),
    ],
    ids=["skates", "cart", "cart, phi and chi", "pendulum", "wheel", "rubber ball", "four bars"],
)
def test_constraints_of_ordinary_systems_leave_what_they_always_do(system, state, dimension, free):
    found = no_slip_closure(system(), state=state)
    assert (found.dimension, found.free, found.hidden) == (dimension, free, ())


def test_without_constraints_all_is_left():
    assert numbers(no_slip_closure(plane()[0])) == (4, 2, 2, ())


def test_goals_are_chosen_by_name_and_others_added():
    system = two_skates()
    assert no_slip_closure(system, ["skate_1"]).dimension == 9
    v = system.velocities
    frozen = ds.Nonholonomic("frozen", v.turn_1)
    found = no_slip_closure(system, ["skate_2", frozen])
    assert (found.dimension, found.goals) == (8, ("skate_2", "frozen"))


def test_what_follows_may_be_curved():
    # y' = psi^2 and y' = y: psi^2 = y, a parabola along which both velocities follow.
    system, q = plane()
    goals = [ds.Nonholonomic("one", q.dot.y - q.psi**2), ds.Nonholonomic("two", q.dot.y - q.y)]
    found = no_slip_closure(system, goals, state={"y": 1.0, "psi": 1.0})
    assert numbers(found) == (1, 1, 0, (1,))
    assert found.state["psi"] ** 2 == pytest.approx(found.state["y"], rel=1e-11)


def test_dependent_constraints_that_agree_leave_no_condition():
    system, q = plane()
    rate = ca.sin(q.psi) ** 2
    goals = [
        ds.Nonholonomic("one", q.dot.y - rate),
        ds.Nonholonomic("two", 3 * q.dot.y + 3 * ca.cos(q.psi) ** 2 - 3),
    ]
    assert numbers(no_slip_closure(system, goals)) == (3, 2, 1, ())


def test_constraints_that_move_may_agree():
    system, q = plane()
    goals = [ds.Holonomic("one", q.y - 2 * ds.time), ds.Nonholonomic("two", q.dot.y - 2)]
    found = no_slip_closure(system, goals, time=0.3)
    assert numbers(found) == (2, 1, 1, ())
    assert found.state["y"] == pytest.approx(0.6, rel=1e-12)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(
    "goals",
    [
        lambda q: [ds.Nonholonomic("one", q.dot.y - 1), ds.Nonholonomic("two", q.dot.y - 2)],
        lambda q: [ds.Holonomic("one", q.y - ds.time), ds.Nonholonomic("two", q.dot.y - 2)],
        lambda q: [
            ds.Nonholonomic("one", q.dot.y - q.psi**2 - 1),
            ds.Nonholonomic("two", q.dot.y + q.psi**2 + q.y**2),
        ],
    ],
)
def test_contradictions_are_reported(goals):
    system, q = plane()
    with pytest.raises(ContradictoryGoalsError, match=r"follows from 'one', 'two' \(by .*contrad"):
        no_slip_closure(system, goals(q))


def test_constraints_count_only_where_they_are_finite():
    system, q = plane()
    root = ds.Nonholonomic("root", q.dot.y - ca.sqrt(q.y) * q.dot.psi)
    assert no_slip_closure(system, [root]).dimension == 3
    with pytest.raises(InconsistentStateError, match="not finite at any"):
        no_slip_closure(system, [root], state={"y": -50.0})


def test_units_do_not_matter():
    q = ds.coordinates(y="", psi="rad")
    small = 1e-6
    goals = []
    for k, distance in enumerate((1.25 * small, -1.25 * small)):
        sideways = q.y + distance * q.psi
        goals += [
            ds.Nonholonomic(f"across_{k}", q.dot.y + distance * q.dot.psi - small * q.psi),
            ds.Nonholonomic(f"along_{k}", LEVER * small * q.dot.psi + CONICITY * sideways),
        ]
    system = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2 + small**2 * q.dot.psi**2 / 2)
    assert numbers(no_slip_closure(system, goals)) == (0, 0, 0, (2,))


def test_requests_that_cannot_be_are_refused():
    system, q = plane()
    with pytest.raises(UnknownNameError, match="skid"):
        no_slip_closure(system, ["skid"])
    with pytest.raises(UnknownNameError, match="phi"):
        no_slip_closure(system, state={"phi": 1.0})
    with pytest.raises(OutOfRangeError, match=r"'psi' is nan"):
        no_slip_closure(system, state={"psi": math.nan})
    with pytest.raises(OutOfRangeError, match="points is 0"):
        no_slip_closure(system, points=0)
    with pytest.raises(PosingError, match="'norm', but it is stationary"):
        no_slip_closure(tables.ball((0.2, 0.2, 0.2), rubber=True).system)
    with pytest.raises(PosingError, match="goals must be a list of constraints, not 'skate_1'"):
        no_slip_closure(two_skates(), "skate_1")
    with pytest.raises(PosingError, match="goals must be names"):
        no_slip_closure(system, [ds.Invariant("kept", q.y)])
    with pytest.raises(PosingError, match=r"'creep' is not linear in the velocities"):
        no_slip_closure(system, [ds.Nonholonomic("creep", q.dot.y**2 + q.dot.psi)])

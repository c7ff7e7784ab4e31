"""Growth vectors against the literature, and at states where they are others than elsewhere."""

from __future__ import annotations

import json
import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.errors import DegenerateStartError, OutOfRangeError, PosingError, UnknownNameError
from daesolve.nonholonomic.growth import growth_vector, growth_vector_report
from daesolve.nonholonomic.pfaff import substitutable_combinations
from tests.systems import EPSILON, free_body, pendulum, wheel, wheel_state

from . import tables
from .vehicles import (
    car_with_trailers,
    constrained,
    direction_of_two_skates,
    two_skates,
    two_skates_by_kinematics,
)

RIGHT = math.pi / 2


def fields(*columns):
    """A system without constraints whose velocities lead along the given fields of (x, y)."""
    q = ds.coordinates(x="m", y="m")
    v = ds.velocities(a="1/s", b="1/s")
    directions = ca.horzcat(*[ca.vertcat(*column(q)) for column in columns])
    return ds.MechanicalSystem(
        q, velocities=v, kinematics=directions @ v.vector, kinetic=ca.sumsqr(v.vector) / 2
    )


# -- two skates ----------------------------------------------------------------------------------


def test_the_brackets_of_two_skates_have_the_determinant_that_tells_where_they_fail():
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, theta_1="rad", theta_2="rad")
    own = direction_of_two_skates(q, 1.3, 0.6)
    turned = [ca.jacobian(own, q[name]) for name in ("theta_1", "theta_2")]
    both = ca.cos(q.theta_1) * ca.cos(q.theta_2)
    miss = ca.det(ca.horzcat(own, *turned)) - (1.3 + 0.6) ** 2 * both
    at = ca.Function("at", [q.theta_1, q.theta_2], [miss])
    angles = np.random.default_rng(3).uniform(-3.0, 3.0, size=(20, 2))
    assert max(abs(float(at(*pair))) for pair in angles) < 100 * EPSILON


@pytest.mark.slow
@settings(derandomize=True, max_examples=4, deadline=None)
@given(st.floats(-1.5, 1.5), st.floats(-1.5, 1.5), st.floats(-3.0, 3.0))
def test_two_skates_grow_at_once_where_neither_stands_across(first, second, heading):
    state = {"theta_1": first, "theta_2": second, "psi": heading}
    found = growth_vector(two_skates(), state)
    assert found.dims == found.generic == (3, 5)
    assert (found.degree, found.regular, found.bracket_generating) == (2, True, True)


@pytest.mark.parametrize("across", [RIGHT, -RIGHT])
@pytest.mark.parametrize("skate", ["theta_1", "theta_2"])
def test_two_skates_take_a_bracket_more_where_one_stands_across(skate, across):
    other = {"theta_1": "theta_2", "theta_2": "theta_1"}[skate]
    found = growth_vector(two_skates(), {skate: across, other: 0.4})
    assert found.dims == (3, 4, 5)
    assert found.generic == (3, 5)
    assert not found.regular
    assert found.largest_dropped[1] < 1e-11
    assert found.smallest_kept[2] > 0.1


def test_two_skates_across_leave_other_velocities_and_this_is_reported():
    with pytest.raises(DegenerateStartError, match=r"'skate_1', 'skate_2'.*another dimension"):
        growth_vector(two_skates(), {"theta_1": RIGHT, "theta_2": -RIGHT})


def test_the_smooth_fields_of_two_skates_lose_one_where_both_stand_across():
    system = two_skates_by_kinematics()
    assert growth_vector(system, {"theta_1": 0.3, "theta_2": -0.5}).dims == (3, 5)
    found = growth_vector(system, {"theta_1": RIGHT, "theta_2": RIGHT})
    assert (found.dims, found.generic, found.positions) == ((2, 4, 5), (3, 5), 5)


# -- the literature ------------------------------------------------------------------------------

FIBONACCI = {0: 2, 1: 3, 2: 5, 3: 8}


@pytest.mark.parametrize("trailers", [0, 1, 2])
def test_a_car_with_trailers_grows_by_one_dimension_at_a_time(trailers):
    system = car_with_trailers(trailers)
    bent = {f"theta_{k}": 0.3 * k + 0.1 for k in range(trailers + 1)}
    dims = growth_vector(system, bent).dims
    assert dims == tuple(range(2, trailers + 4))


@pytest.mark.long_rows("3")
@pytest.mark.parametrize("trailers", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_folded_car_with_trailers_has_the_largest_degree(trailers):
    # F. Jean, The car with n trailers, ESAIM: COCV 1 (1996) 241-266: at right angles F_(n+3).
    folded = {f"theta_{k}": k * RIGHT for k in range(trailers + 1)}
    found = growth_vector(car_with_trailers(trailers), folded)
    assert found.degree == FIBONACCI[trailers]
    assert found.dims[-1] == found.positions == trailers + 3
    assert found.generic == tuple(range(2, trailers + 4))


@pytest.mark.default_rows(3)
@pytest.mark.parametrize(
    ("row", "dims"),
    [
        ("upright disc", (2, 3, 4)),  # Engel
        ("unicycle, quasi-velocities", (2, 3, 4)),
        ("tilting disc", (3, 4, 5)),
        ("sleigh, its skate", (2, 3)),
        ("ball", (3, 5)),
        ("rubber ball", (2, 3, 5)),  # Cartan
    ],
)
def test_growth_vectors_are_those_of_the_literature(row, dims):
    system = next(entry for entry in tables.TABLE if entry.name == row).pose().system
    tilted = {"w": 0.8, "i": 0.1, "j": -0.5, "k": 0.3}
    state = tilted if "w" in system.coordinates.names else {"psi": 0.4} if "psi" in (
        system.coordinates.names) else {"theta": 0.4}  # fmt: skip
    found = growth_vector(system, state)
    assert found.dims == found.generic == dims
    assert found.positions == dims[-1]
    assert found.bracket_generating


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("row", ["cart", "cart that skids", "mecanum", "ball"])
def test_the_first_brackets_miss_as_many_dimensions_as_may_be_substituted(row):
    system = next(entry for entry in tables.TABLE if entry.name == row).pose().system
    state = {"w": 1.0} if "w" in system.coordinates.names else {"psi": 0.4}
    grown = growth_vector(system, state, depth=2)
    kept = substitutable_combinations(system, at=state)
    assert grown.generic[-1] == grown.positions - kept.dimension


coefficients = st.lists(st.integers(-2, 2), min_size=12, max_size=12)


@pytest.mark.slow
@settings(derandomize=True, max_examples=5, deadline=None)
@given(coefficients)
def test_any_constraints_grow_by_what_may_not_be_substituted(numbers):
    q = ds.coordinates(x="m", y="m", z="m", w="m")
    terms = ca.vertcat(1, q.x, q.y, q.z, q.w, q.x * q.y)
    first, second = (ca.dot(ca.DM(part), terms) for part in (numbers[:6], numbers[6:]))
    goals = [
        ds.Nonholonomic("one", q.dot.z - first * q.dot.y),
        ds.Nonholonomic("two", q.dot.w - second * q.dot.x),
    ]
    system = constrained(q, goals)
    kept = substitutable_combinations(system).dimension
    dims = growth_vector(system, {"x": 0.7, "y": -0.3, "z": 0.4, "w": 1.1}, depth=2).generic
    assert dims[-1] == 4 - kept


# -- what does not grow --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "state", "dims", "positions"),
    [
        (pendulum, {"y": -1.0}, (1,), 2),
        (wheel, wheel_state(0.3, 0.0), (1,), 3),
        (lambda: tables.vehicle(halves=True).system, {"psi": 0.2}, (3, 5, 7), 9),
    ],
)
def test_constraints_on_positions_do_not_let_velocities_grow(system, state, dims, positions):
    found = growth_vector(system(), state)
    assert (found.dims, found.generic) == (dims, dims)
    assert found.positions == positions
    assert not found.bracket_generating


def test_a_quaternion_grows_to_the_dimension_of_rotations():
    found = growth_vector(free_body(), {"w": 0.6, "i": -0.8})
    assert (found.dims, found.positions, found.bracket_generating) == ((3,), 3, True)


def test_no_freedom_is_no_growth():
    q = ds.coordinates(x="m", y="m")
    goals = [ds.Nonholonomic("one", q.dot.x), ds.Nonholonomic("two", q.dot.y + q.x * q.dot.x)]
    found = growth_vector(constrained(q, goals), {})
    assert (found.dims, found.degree, found.bracket_generating) == ((0,), 1, False)


def test_dependent_constraints_count_once():
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE)
    slip = ca.cos(q.psi) * q.dot.y - ca.sin(q.psi) * q.dot.x
    twice = [ds.Nonholonomic("blade", slip), ds.Nonholonomic("again", 2 * slip)]
    assert growth_vector(constrained(q, twice), {"psi": 0.3}).dims == (2, 3)


# -- states that are exceptions ------------------------------------------------------------------


def test_a_flat_distribution_pauses_before_it_grows():
    # Martinet: z' = y^2 x' / 2 is flat to first order at y = 0.
    q = ds.coordinates(x="m", y="m", z="m")
    system = constrained(q, [ds.Nonholonomic("flat", q.dot.z - q.y**2 * q.dot.x / 2)])
    found = growth_vector(system, {"y": 0.0})
    assert (found.dims, found.generic, found.degree) == ((2, 2, 3), (2, 3), 3)
    assert growth_vector(system, {"y": 1e-3}).dims == (2, 3)


@pytest.mark.parametrize("order", [2, 6])
def test_a_distribution_that_is_flat_to_some_order_needs_as_many_brackets(order):
    # ad_Y^k X is the first that does not vanish at y = 0, among infinitely many fields along z.
    q = ds.coordinates(x="m", y="m", z="m")
    slope = ca.sin(q.y) ** order * ca.exp(q.x * q.z)
    system = constrained(q, [ds.Nonholonomic("flat", q.dot.z - slope * q.dot.x)])
    found = growth_vector(system, {"x": 0.3, "y": 0.0})
    assert (found.dims, found.degree) == ((2,) * order + (3,), order + 1)


def test_fields_that_vanish_at_a_state_come_back_by_brackets_or_never():
    returning = fields(lambda q: (1, 0), lambda q: (0, q.x**2))
    found = growth_vector(returning, {"x": 0.0, "y": 0.2})
    assert (found.dims, found.generic, found.degree) == ((1, 1, 2), (2,), 3)
    gone = fields(lambda q: (1, 0), lambda q: (0, q.y))
    found = growth_vector(gone, {"x": 0.3, "y": 0.0})
    assert (found.dims, found.generic, found.degree) == ((1,), (2,), 1)


def test_a_depth_that_does_not_suffice_leaves_the_degree_open():
    disc = tables.vertical_disc().system
    found = growth_vector(disc, {"theta": 0.4}, depth=2)
    assert (found.dims, found.degree, found.depth) == ((2, 3), None, 2)


@pytest.mark.parametrize("length", [1e-3, 1e3])
def test_units_of_lengths_do_not_matter(length):
    system = car_with_trailers(1, length)
    assert growth_vector(system, {"theta_0": 0.1, "theta_1": 0.4}).dims == (2, 3, 4)


# -- reports and refusals ------------------------------------------------------------------------


def test_the_report_is_plain():
    report = growth_vector_report(two_skates(), {"theta_1": RIGHT, "theta_2": 0.4})
    assert json.loads(json.dumps(report)) == report
    assert (report["dims"], report["generic"], report["degree"]) == ([3, 4, 5], [3, 5], 3)
    assert (report["regular"], report["bracket_generating"]) == (False, True)
    assert report["state"]["theta_1"] == RIGHT


def test_requests_that_cannot_be_are_refused():
    system = two_skates()
    with pytest.raises(OutOfRangeError, match="state must be a mapping of names to values"):
        growth_vector(two_skates(), [0.3, 0.2])
    with pytest.raises(OutOfRangeError, match="depth is 0"):
        growth_vector(system, {}, depth=0)
    with pytest.raises(OutOfRangeError, match="tolerance is 2"):
        growth_vector(system, {}, tolerance=2.0)
    with pytest.raises(UnknownNameError, match="theta_3"):
        growth_vector(system, {"theta_3": 1.0})
    q = ds.coordinates(x="m", y="m")
    moving = constrained(q, [ds.Holonomic("moving", q.x - ds.time)])
    with pytest.raises(PosingError, match=r"'moving' does not vanish with the velocities"):
        growth_vector(moving, {})


def test_positions_without_a_meaning_are_left_out_of_the_comparison():
    q = ds.coordinates(x="m", y="m", z="m")
    system = constrained(q, [ds.Nonholonomic("bent", q.dot.z - ca.sqrt(q.y) * q.dot.x)])
    found = growth_vector(system, {"y": 2.0})
    assert (found.dims, found.degree) == ((2, 3), 2)

import json

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.equations.consistency import instantaneous
from daesolve.core.posing.symbols import time
from daesolve.errors import (
    InconsistentStateError,
    OutOfRangeError,
    PosingError,
)
from daesolve.nonholonomic.quasi_holonomic import (
    default_coordinates,
    is_quasi_holonomic,
    quasi_holonomic_report,
)

from .tables import (
    CART,
    RADIUS,
    SPIN,
    TABLE,
    Pair,
    particle,
    random_states,
    same_state,
    turntable,
    unicycle,
    unicycle_in_quasi_velocities,
    vehicle,
    vertical_disc,
)


def difference(solved, count=3):
    """How far the accelerations are from those after the substitution, relative to the motion."""
    full, substituted = solved.system.dynamics, solved.substituted().dynamics
    values = substituted.value_vector({})
    own = [full.labels.accelerations.index(name) for name in substituted.labels.accelerations]
    errors = []
    for t, x, p in random_states(full, count):
        found, _ = instantaneous(full, t, x, p)
        other, _ = instantaneous(substituted, t, same_state(full, substituted, x), values)
        moving = x[full.position_count :][own]
        size = max(np.max(np.abs(found[own])), np.max(np.abs(moving)) ** 2)
        errors.append(np.max(np.abs(found[own] - other)) / size)
    return max(errors)


@pytest.mark.slow_rows("rubber ball")
@pytest.mark.default_rows(1)
@pytest.mark.parametrize("row", TABLE, ids=[row.name for row in TABLE])
def test_the_verdict_is_that_of_the_table_and_of_the_accelerations(row):
    solved = row.pose()
    found = is_quasi_holonomic(solved.system, solved.eliminated)
    assert found.points == 20
    assert bool(found) is found.holds is row.holds
    assert tuple(found.each.values()) == row.each
    assert found.for_every_lagrangian is all(row.each)
    missed = [found.residual, *found.each_residual.values()]
    for holds, residual in zip([row.holds, *row.each], missed, strict=True):
        assert residual < 1e-9 if holds else residual > 1e-2
    if row.holds:
        assert difference(solved) < 1e-12
    else:
        assert difference(solved) > 1e-2


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("left", ["skate_0", "skate_1"])
def test_a_pair_that_may_skid_spoils_its_own_wheels_alone(left):
    solved = vehicle()
    found = is_quasi_holonomic(solved.system.without([left]), solved.eliminated)
    assert not found
    for name, holds in found.each.items():
        assert holds is (name.split("_")[1] != left[-1])


LENGTH = st.floats(-1.0, 1.0).filter(lambda value: abs(value) > 0.05)
SIZE = st.floats(0.1, 2.0)
PAIR = st.builds(
    Pair,
    pivot=st.tuples(LENGTH, LENGTH),
    mass=SIZE,
    inertia=st.floats(1.0, 2.0),
    centre=st.tuples(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3)),
    axle=st.tuples(LENGTH, LENGTH),
    radius=SIZE,
    half_track=SIZE,
    wheel_inertia=SIZE,
    spring=SIZE,
)


@pytest.mark.slow
@settings(max_examples=5, deadline=None, derandomize=True)
@given(st.lists(PAIR, min_size=1, max_size=3))
def test_any_vehicle_on_wheel_pairs_is_quasi_holonomic_in_all_its_wheel_angles(pairs):
    solved = vehicle(pairs)
    assert set(default_coordinates(solved.system)) == set(solved.eliminated)
    assert is_quasi_holonomic(solved.system, solved.eliminated, points=3).for_every_lagrangian


# -- constraints that are not linear in the velocities, or move ----------------------------------


def sliding(q):
    """The rate of x + cos z."""
    return q.dot.x - ca.sin(q.z) * q.dot.z


@pytest.mark.parametrize("rest", [(), (sliding,)], ids=["free", "on a curve"])
def test_accelerations_in_the_test_obey_the_constraints_that_remain(rest):
    """y' = f z' + (x^2 z)', f = (x + cos z)': [g] = z'' df/dw + f' e_z where f = 0."""
    solved = particle(
        lambda q: sliding(q) * q.dot.z + 2 * q.x * q.z * q.dot.x + q.x**2 * q.dot.z, *rest
    )
    found = is_quasi_holonomic(solved.system, ["y"])
    assert found.holds is bool(rest)
    error = max(nonlinear_difference(solved))
    assert (error < 1e-12) if rest else (error > 1e-2)


def nonlinear_difference(solved):
    """The same as `difference`, L* differentiated here: its energy is not quadratic."""
    system = solved.system
    q, v = system.coordinates.part(["x", "z"]), system.coordinates.dot
    w = ca.vertcat(v.x, v.z)
    energy = ca.substitute(system.kinetic, v.y, solved.g["y"])
    momentum = ca.gradient(energy, w)
    rest = ca.vertcat(ca.SX(0, 1), *[g.residual for g in system.goals[1:]])
    gradients = ca.jacobian(rest, w)
    count = rest.numel()
    matrix = ca.blockcat(
        [[ca.jacobian(momentum, w), -gradients.T], [gradients, ca.SX(count, count)]]
    )
    right = ca.vertcat(
        ca.gradient(energy, q.vector) - ca.jtimes(momentum, q.vector, w),
        -ca.jtimes(rest, q.vector, w),
    )
    full = system.dynamics
    solve = ca.Function("solve", [full.x], [ca.solve(matrix, right)])
    for t, x, p in random_states(full, 10):
        found, _ = instantaneous(full, t, x, p)
        other = np.asarray(solve(x)).ravel()[:2]
        yield np.max(np.abs(found[[0, 2]] - other)) / max(1.0, np.max(np.abs(found)))


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("skate", [True, False])
@pytest.mark.parametrize("speed", [0.0, 0.8, 1.0 + ca.sin(time)], ids=["rest", "even", "uneven"])
def test_on_a_floor_that_moves_the_verdict_is_that_of_the_accelerations(speed, skate):
    solved = turntable(speed, skate=skate)
    found = is_quasi_holonomic(solved.system, ["phi"])
    error = difference(solved)
    assert (error < 1e-12) if found else (error > 1e-2)
    if found:
        assert found.residual < 1e-12


def through_an_unknown(rate):
    """y' = s x' or s z', s defined by s^3 + s = x."""
    q, s = ds.coordinates(x="m", y="m", z="m"), ds.implicit(s="")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        implicit=s,
        goals=[
            ds.Implicit("defined", s.s**3 + s.s - q.x, s.s),
            ds.Nonholonomic("solved", q.dot.y - s.s * q.dot[rate]),
        ],
    )


def test_implicit_unknowns_are_differentiated():
    """The first is holonomic, y = 3 s^4 / 4 + s^2 / 2 + constant; the second is not."""
    found = is_quasi_holonomic(through_an_unknown("x"), ["y"])
    assert found.for_every_lagrangian
    assert found.residual < 1e-12
    assert is_quasi_holonomic(through_an_unknown("z"), ["y"]).residual > 1e-2


def test_rounding_of_terms_that_cancel_is_not_taken_for_a_part_of_n():
    """y' = (x^3 cos z + sin(x z) e^x)': [g] is zero but for rounding."""

    def total(q):
        x, z = q.x, q.z
        value = x**3 * ca.cos(z) + ca.sin(x * z) * ca.exp(x)
        return ca.jtimes(value, ca.vertcat(x, z), ca.vertcat(q.dot.x, q.dot.z))

    found = is_quasi_holonomic(particle(total).system, ["y"])
    assert found.for_every_lagrangian
    assert found.residual < 1e-10


def test_rounding_of_a_momentum_that_vanishes_is_not_taken_for_one():
    """T has no other y' than c y' - x z' - .., which is what the constraint keeps at zero."""
    q, p = ds.coordinates(x="m", y="m", z="m"), ds.parameters(c=0.7)
    slip = p.c * q.dot.y - q.x * q.dot.z - ca.sin(q.z) * q.dot.x
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.z**2 + slip**2) / 2,
        goals=[
            ds.Nonholonomic("solved", q.dot.y - q.x * q.dot.z / p.c - ca.sin(q.z) * q.dot.x / p.c)
        ],
    )
    found = is_quasi_holonomic(system, ["y"])
    assert found.residual < 1e-10
    assert not found.for_every_lagrangian


def test_the_units_of_a_constraint_do_not_matter():
    q = ds.coordinates(x="m", y="m", z="m")
    small = ds.Nonholonomic("solved", 1e-9 * (q.dot.y - q.x * q.dot.z))
    system = ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2, goals=[small]
    )
    assert is_quasi_holonomic(system, ["y"]).residual > 1e-2


# -- alpha ---------------------------------------------------------------------------------------


def test_alpha_is_the_moment_of_momentum_that_the_wheels_turn_with():
    """alpha_k = sum over the wheels of i phi' (psi' + theta_k') / h."""
    solved = vehicle()
    found = is_quasi_holonomic(solved.system, solved.eliminated)
    dynamics = solved.system.dynamics
    for t, x, _ in random_states(dynamics, 5):
        state = dict(zip(dynamics.labels.states, map(float, x), strict=True))
        alpha = found.coefficients(state, time=t)
        for k, pair in enumerate(CART):
            turning = state["psi_dot"] + state[f"theta_dot_{k}"]
            spins = state[f"phi_dot_{k}_1"] + state[f"phi_dot_{k}_2"]
            expected = pair.wheel_inertia * spins * turning / pair.radius
            assert alpha[f"skate_{k}"] == pytest.approx(expected, rel=1e-12, abs=1e-13)


def test_alpha_at_other_parameters_and_a_state_that_is_given_in_part():
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, phi=ds.ANGLE)
    v = ds.velocities(v_n="m/s", v_tau="m/s", omega="rad/s", spin="rad/s")
    p = ds.parameters(wheel_inertia=(SPIN, "kg m^2", ds.POSITIVE))
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=(v.v_n**2 + v.v_tau**2 + v.omega**2 + p.wheel_inertia * v.spin**2) / 2,
        velocities=v,
        kinematics=ca.vertcat(c * v.v_n - s * v.v_tau, s * v.v_n + c * v.v_tau, v.omega, v.spin),
        goals=[
            ds.Nonholonomic("skate", v.v_n),
            ds.Nonholonomic("rolling", v.v_tau + RADIUS * v.spin),
        ],
    )
    found = is_quasi_holonomic(system, ["phi"])
    state = {"v_tau": 0.9, "omega": 1.1}
    for inertia in (SPIN, 0.5):
        alpha = found.coefficients(state, {"wheel_inertia": inertia})
        assert alpha == pytest.approx({"skate": -inertia * 0.9 * 1.1 / RADIUS**2}, rel=1e-12)
    with pytest.raises(OutOfRangeError, match="wheel_inertia"):
        found.coefficients(state, {"wheel_inertia": -1.0})


# -- which states are looked at ------------------------------------------------------------------


def test_masses_that_make_it_hold_by_chance_are_found_out_by_others():
    disc = vertical_disc(ahead=None).system
    balanced = is_quasi_holonomic(disc, ["x", "y"])
    assert balanced
    assert not balanced.for_every_lagrangian
    assert not is_quasi_holonomic(disc, ["x", "y"], parameters={"ahead": 0.1})


def test_states_where_something_is_not_finite_are_replaced():
    solved = particle(lambda q: ca.sqrt(q.x - 0.3) * q.dot.x)
    found = is_quasi_holonomic(solved.system, ["y"], points=12)
    assert found
    assert found.points == 12


def test_where_no_random_state_will_do_a_state_can_be_given():
    solved = particle(lambda q: ca.sqrt(q.x - 100.0) * q.dot.z)
    with pytest.raises(InconsistentStateError, match="at="):
        is_quasi_holonomic(solved.system, ["y"])
    assert is_quasi_holonomic(solved.system, ["y"], at={"x": 1000.0}).residual > 1e-2


def test_an_invariant_on_positions_whose_value_is_not_known_asks_for_a_state():
    q = ds.coordinates(w="", i="", y="m")
    v = ds.velocities(turning="rad/s", y_dot="m/s")
    system = ds.MechanicalSystem(
        q,
        kinetic=(v.turning**2 + v.y_dot**2) / 2,
        velocities=v,
        kinematics=ca.vertcat(-q.i * v.turning, 2 * q.w * v.turning, v.y_dot),
        goals=[
            ds.Invariant("ellipse", 2 * q.w**2 + q.i**2, on="positions"),
            ds.Nonholonomic("solved", v.y_dot - q.w * v.turning),
        ],
    )
    with pytest.raises(PosingError, match="'ellipse' is unknown"):
        is_quasi_holonomic(system, ["y"])
    assert is_quasi_holonomic(system, ["y"], at={"w": 1.0})


def test_quaternions_and_their_like_are_unit_ones():
    """The rod can be met on the unit circle, and not at its centre."""
    q = ds.coordinates(w="", i="", y="m", z="m")
    v = ds.velocities(turning="rad/s", y_dot="m/s", z_dot="m/s")
    system = ds.MechanicalSystem(
        q,
        kinetic=(v.turning**2 + v.y_dot**2 + v.z_dot**2) / 2,
        velocities=v,
        kinematics=ca.vertcat(-q.i * v.turning, q.w * v.turning, v.y_dot, v.z_dot),
        goals=[
            ds.Invariant("norm", q.w**2 + q.i**2, on="positions"),
            ds.Holonomic("rod", (q.w - 2) ** 2 + q.z**2 - 1.5**2),
            ds.Nonholonomic("solved", v.y_dot - q.w * v.turning),
        ],
    )
    assert is_quasi_holonomic(system, ["y"]).for_every_lagrangian  # y = i + constant


def test_more_goals_than_coordinates_leave_those_that_are_not_needed():
    q = ds.coordinates(x="m", y="m", z="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        goals=[
            ds.Nonholonomic("first", q.dot.y - q.x * q.dot.z),
            ds.Nonholonomic("second", q.dot.y - q.z * q.dot.x),
        ],
    )
    found = is_quasi_holonomic(system, ["y"])
    assert found.by == ("first",)
    assert found.remaining == ("second",)
    assert found  # one freedom is left, and N does no work


# -- words ---------------------------------------------------------------------------------------


def test_the_verdict_can_be_read_and_stored():
    solved = unicycle()
    text = str(is_quasi_holonomic(solved.system, ["phi"]))
    assert text.splitlines()[0] == "solved solved for phi': quasi-holonomic"
    assert "for every Lagrangian: yes" in text
    assert "constraints that remain: skate" in text
    report = quasi_holonomic_report(solved.system)
    assert report["eliminated"] == ["phi"]
    assert report["quasi_holonomic"] is True
    assert report["alpha"] is None
    assert json.loads(json.dumps(report)) == report
    skidding = str(is_quasi_holonomic(unicycle(skate=False).system, ["phi"]))
    assert "not quasi-holonomic" in skidding
    assert "constraints that remain: none" in skidding


@pytest.mark.slow
def test_alpha_is_reported_at_the_state_that_is():
    solved, state = unicycle_in_quasi_velocities(), {"v_tau": -0.9, "omega": 0.7}
    found = is_quasi_holonomic(solved.system, ["phi"], at=state)
    alpha = SPIN * 0.9 * 0.7 / RADIUS**2
    assert found.alpha == pytest.approx({"skate": alpha}, rel=1e-12)
    assert str(found).splitlines()[-1] == f"alpha at the given state: skate {alpha:.6g}"
    assert found.state["spin"] == pytest.approx(0.9 / RADIUS, rel=1e-14)
    report = quasi_holonomic_report(solved.system, at=state)
    assert (report["state"], report["alpha"]) == (found.state, found.alpha)
    assert json.loads(json.dumps(report)) == report
    for skate, expected in ((True, {"skate": 0.0}), (False, None)):
        one = unicycle(skate=skate)
        assert is_quasi_holonomic(one.system, ["phi"], at={}, points=3).alpha == expected


def test_alpha_of_goals_that_do_not_take_part_is_zero():
    """The other wheel of the pair and the other pair."""
    solved = vehicle()
    state = {"v_2": 1.0, "psi_dot": 0.4, "theta_dot_0": -0.1}
    alpha = is_quasi_holonomic(solved.system, solved.eliminated[:1], at=state).alpha
    assert [name for name, value in alpha.items() if value != 0.0] == ["skate_0"]


def test_alpha_is_not_reported_where_the_constraints_cannot_be_solved():
    q = ds.coordinates(x="m", y="m", z="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        goals=[
            ds.Nonholonomic("solved", q.x * q.dot.y - q.dot.z),
            ds.Nonholonomic("tie", q.dot.z - q.dot.x),
        ],
    )
    assert is_quasi_holonomic(system, ["y"], at={"x": 1.0}).alpha == {"tie": 0.0}
    with pytest.raises(InconsistentStateError, match="solved cannot be solved for the rates of y"):
        is_quasi_holonomic(system, ["y"], at={"x": 0.0})


def test_the_time_of_a_state_counts_where_constraints_move():
    q = ds.coordinates(x="m", y="m", z="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        goals=[
            ds.Nonholonomic("solved", q.dot.y - q.x * q.dot.z),
            ds.Holonomic("lift", q.z - time),
        ],
    )
    with pytest.raises(InconsistentStateError, match="'lift'"):
        is_quasi_holonomic(system, ["y"], at={"z": 2.0})
    assert is_quasi_holonomic(system, ["y"], at={"z": 2.0}, time=2.0).residual > 1e-2


def test_coordinates_that_one_would_eliminate():
    assert default_coordinates(unicycle().system) == ("phi",)
    assert default_coordinates(vertical_disc().system) == ("x", "y")
    assert default_coordinates(vehicle(halves=True).system) == ("phi_0", "chi_0", "phi_1", "chi_1")
    q = ds.coordinates(x="m", y="m")
    rod = ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 1)]
    )
    assert default_coordinates(rod) == ()
    with pytest.raises(PosingError, match="name the coordinates to eliminate"):
        quasi_holonomic_report(rod)

"""Constraints that may be substituted because p = dL/dy' is zero where the others hold.

Motions are integrated here, from Lagrange's equations with multipliers, for the full system and for
the one with y' = g put into its energy.
"""

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daesolve as ds
from daesolve.nonholonomic import eliminate, is_quasi_holonomic

UNTIL = 2.0


@dataclass(frozen=True)
class Posed:
    """y' = g, and f = 0: expressions of coordinates (the last is y), velocities and time.

    `on_positions` is the holonomic constraint of which f is the rate, if it is one.
    """

    kinetic: ca.SX
    g: ca.SX
    f: ca.SX
    on_positions: ca.SX | None = None


def wheel_across(q, v, t, ahead=0.0, gear=0.0):
    """A sleigh with a wheel across its skate, so far ahead of it, which drives a rotor."""
    c, s = ca.cos(q[2]), ca.sin(q[2])
    side, along = c * v[1] - s * v[0], c * v[0] + s * v[1]
    frame = (v[0] ** 2 + v[1] ** 2) / 2 + 0.4 * v[2] ** 2 + 0.3 * side * v[2] + 0.1 * along
    spin = 0.6 * v[3] ** 2 + gear * v[3] * v[2]
    return Posed(frame + spin, (side + ahead * v[2]) / 0.4, side)


def counterweight(q, v, t, extra=0.0):
    """A weight whose momentum is that of y' and of what carries it."""
    f = v[0] - ca.sin(q[2]) * v[1] - 0.4 * q[1] * v[2]
    carried = v[3] + q[0] * v[1]
    g = -q[0] * v[1] + (1 + q[2] ** 2) * f + extra * v[2]
    return Posed((v[0] ** 2 + v[1] ** 2 + v[2] ** 2 + carried**2) / 2, g, f)


def moving_rail(q, v, t, extra=0.0):
    """f = 0 asks for a velocity that depends on time, and g is what is left of it."""
    f = v[0] - 0.3 * ca.cos(t) - 0.5 * q[1] * v[2]
    g = q[2] * ca.exp(q[1] / 3) * f + extra * q[0] * v[2]
    return Posed((v[0] ** 2 + v[1] ** 2 + v[2] ** 2 + v[3] ** 2) / 2, g, f)


def on_a_circle(q, v, t, extra=0.0):
    """g is zero on the circle that a holonomic constraint keeps to."""
    circle = q[0] ** 2 + q[1] ** 2 - 1
    f = 2 * q[0] * v[0] + 2 * q[1] * v[1]
    g = (circle + extra) * q[2] * v[0]
    return Posed((v[0] ** 2 + v[1] ** 2 + v[2] ** 2 + v[3] ** 2) / 2, g, f, circle)


@dataclass(frozen=True)
class Case:
    """A system, its like where p is not zero, and where they start."""

    pose: Callable[..., Posed]
    otherwise: dict[str, float]
    positions: tuple[float, ...]
    velocities: tuple[float, ...]


CASES = {
    "wheel across": Case(wheel_across, {"ahead": 0.3}, (0, 0, 0.4), (0.8, None, 0.9)),
    "wheel across with a rotor": Case(wheel_across, {"gear": 0.3}, (0, 0, 0.4), (0.8, None, 0.9)),
    "counterweight": Case(counterweight, {"extra": 0.4}, (0.3, 0.5, 0.4), (None, 0.7, 0.6)),
    "moving rail": Case(moving_rail, {"extra": 0.4}, (0.3, 0.5, 0.4), (None, 0.7, 0.6)),
    "on a circle": Case(on_a_circle, {"extra": 0.6}, (0.6, 0.8, 0.4), (0.4, -0.3, 0.9)),
}


def named(slow=()):
    """The names of the cases, some of which others stand for when time is short."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in slow)) for name in CASES]


def posed_here(case, changes):
    q, v, t = ca.SX.sym("q", 4), ca.SX.sym("v", 4), ca.SX.sym("t")
    return q, v, t, case.pose(q, v, t, **changes)


def system_of(case, changes):
    q = ds.coordinates(a="m", b="m", c="m", y="m")
    posed = case.pose(ca.vertsplit(q.vector), ca.vertsplit(q.dot.vector), ds.time, **changes)
    left = (
        ds.Nonholonomic("left", posed.f)
        if posed.on_positions is None
        else ds.Holonomic("left", posed.on_positions)
    )
    goals = [ds.Nonholonomic("solved", q.dot.y - posed.g), left]
    return ds.MechanicalSystem(q, kinetic=posed.kinetic, goals=goals)


def start(case, changes):
    """Velocities that f = 0 allows, the one that is not given following."""
    q, v, t, posed = posed_here(case, changes)
    rates = ca.Function("rates", [q, v, t], [posed.f, ca.jacobian(posed.f, v), posed.g])
    positions = np.array([*case.positions, 0.0])
    velocities = np.array([*[value or 0.0 for value in case.velocities], 0.0])
    for index, value in enumerate(case.velocities):
        if value is None:
            f, slope, _ = rates(positions, velocities, 0.0)
            velocities[index] -= float(f) / float(slope[index])
    velocities[3] = float(rates(positions, velocities, 0.0)[2])
    return positions, velocities


def motion(kinetic, rows, q, v, t, positions, velocities):
    """Integrate d/dt T_v - T_q = J^T u, rows = 0: the positions at the end."""
    momentum, slopes = ca.gradient(kinetic, v), ca.jacobian(rows, v)
    mass, count = ca.jacobian(momentum, v), rows.numel()

    def along(expression):
        return ca.jtimes(expression, q, v) + ca.jtimes(expression, t, ca.SX(1))

    matrix = ca.blockcat([[mass, -slopes.T], [slopes, ca.SX(count, count)]])
    right = ca.vertcat(ca.gradient(kinetic, q) - along(momentum), -along(rows))
    found = ca.Function("motion", [q, v, t], [ca.solve(matrix, right)[: q.numel()]])
    size = q.numel()

    def rate(time, state):
        return np.concatenate(
            [state[size:], found(state[:size], state[size:], time).full().ravel()]
        )

    both = np.concatenate([positions[:size], velocities[:size]])
    return solve_ivp(rate, (0, UNTIL), both, method="DOP853", rtol=1e-11, atol=1e-12).y[:3, -1]


def difference(case, changes):
    """How far the motion after the substitution is from that of the full system."""
    q, v, t, posed = posed_here(case, changes)
    positions, velocities = start(case, changes)
    rows = ca.vertcat(posed.f, v[3] - posed.g)
    full = motion(posed.kinetic, rows, q, v, t, positions, velocities)
    x, w = ca.SX.sym("x", 3), ca.SX.sym("w", 3)
    put = ca.substitute(posed.kinetic, v[3], posed.g)
    put, f = ca.substitute([put, posed.f], [q, v], [ca.vertcat(x, 0), ca.vertcat(w, 0)])
    return full, motion(put, f, x, w, t, positions, velocities)


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("name", CASES)
def test_where_the_momentum_vanishes_with_the_other_constraints_the_motion_is_the_same(name):
    case = CASES[name]
    found = is_quasi_holonomic(system_of(case, {}), ["y"])
    assert found
    assert found.evidence == "proved"
    full, substituted = difference(case, {})
    np.testing.assert_allclose(substituted, full, atol=1e-9)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("moving rail")
@pytest.mark.parametrize("name", CASES)
def test_where_it_does_not_vanish_the_motion_is_another(name):
    case = CASES[name]
    found = is_quasi_holonomic(system_of(case, case.otherwise), ["y"])
    assert not found
    assert found.evidence == "refuted"
    assert found.residual > 1e-2
    full, substituted = difference(case, case.otherwise)
    assert np.max(np.abs(full - substituted)) > 1e-3


@pytest.mark.slow_rows("moving rail", "on a circle")
@pytest.mark.parametrize("name", named(slow=("wheel across with a rotor", "counterweight")))
def test_the_smaller_system_moves_as_the_full_one_does(name):
    case = CASES[name]
    positions, velocities = start(case, {})
    given = dict(zip(("a", "b", "c"), positions[:3], strict=True))
    given |= dict(zip(("a_dot", "b_dot", "c_dot"), velocities[:3], strict=True))
    small = eliminate(system_of(case, {}), ["y"]).system
    run = ds.solve(small, UNTIL, given, at=[UNTIL])
    full, _ = difference(case, {})
    found = [run[name][-1] for name in ("a", "b", "c")]
    np.testing.assert_allclose(found, full, atol=1e-9)


@pytest.mark.slow
def test_a_wheel_across_takes_no_part_of_the_reaction_of_the_skate():
    """What it adds to the energy is a square of f, and leaves the multipliers of f = 0 alone."""
    case = CASES["wheel across"]
    positions, velocities = start(case, {})
    given = dict(zip(("a", "b", "c"), positions[:3], strict=True))
    given |= dict(zip(("a_dot", "b_dot", "c_dot"), velocities[:3], strict=True))
    full = system_of(case, {})
    small = eliminate(full, ["y"])
    assert small.report.coefficients(given) == {"left": 0.0}
    runs = [ds.solve(system, UNTIL, given, at=[UNTIL]) for system in (full, small.system)]
    expected = runs[0].reactions["left"][-1]
    assert abs(expected) > 1e-2
    for name in ("left", "left_apparent"):
        assert runs[1].reactions[name][-1] == pytest.approx(expected, rel=1e-9)


# -- what is proved, and what is only seen --------------------------------------------------------


def particle(g, kinetic=0.0):
    q = ds.coordinates(x="m", y="m", z="m")
    energy = (q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2 + kinetic
    goals = [ds.Nonholonomic("solved", q.dot.y - g(q))]
    return ds.MechanicalSystem(q, kinetic=energy, goals=goals)


FAR = {
    "bell": lambda q: ca.exp(-((q.x - 60) ** 2)) * q.x * q.dot.z,
    "step": lambda q: ca.fmax(0, q.x - 60) ** 3 * q.dot.z,
    "switch": lambda q: ca.if_else(q.x > 60, q.x * q.dot.z, 0),
}


@pytest.mark.parametrize("name", FAR)
def test_what_wakes_up_far_from_the_samples_is_not_said_to_hold_everywhere(name):
    found = is_quasi_holonomic(particle(FAR[name]), ["y"])
    assert found.evidence == "sampled"
    assert "at 20 sample states" in str(found).splitlines()[0]
    assert "not proved" in str(found)
    assert found.each_evidence == {"y": "sampled"}
    assert "for every Lagrangian: yes at 20 sample states" in str(found)


@pytest.mark.slow_rows("step")
@pytest.mark.parametrize("name", ["bell", "step"])
def test_what_is_only_seen_at_samples_is_reduced_so_that_it_is_right_elsewhere(name):
    """y' wakes up about x = 60, and the particle comes there from 58."""
    full = particle(FAR[name])
    small = eliminate(full, ["y"]).system
    given = {"x": 58.0, "x_dot": 1.0, "z_dot": 5.0}
    runs = [ds.solve(system, 4.0, given, at=[2.0, 4.0]) for system in (full, small)]
    for name in ("x", "y", "z"):
        np.testing.assert_allclose(runs[1][name], runs[0][name], rtol=1e-9)
    assert runs[0]["z"][-1] < 17.0  # without y it were 20


def test_a_bell_that_is_a_total_rate_is_proved_to_hold():
    def rate(q):
        bell = ca.exp(-((q.x - 60) ** 2)) * ca.tanh(q.z)
        return ca.jtimes(bell, ca.vertcat(q.x, q.z), ca.vertcat(q.dot.x, q.dot.z))

    found = is_quasi_holonomic(particle(rate), ["y"])
    assert found.evidence == "proved"
    assert found.for_every_lagrangian


def test_what_holds_for_these_masses_alone_is_proved_for_these_alone():
    q, p = ds.coordinates(x="m", y="m", z="m"), ds.parameters(mass=(0.0, "kg"))
    goals = [ds.Nonholonomic("solved", q.dot.y - q.x * q.dot.z)]
    energy = (q.dot.x**2 + p.mass * q.dot.y**2 + q.dot.z**2) / 2
    found = is_quasi_holonomic(ds.MechanicalSystem(q, p, kinetic=energy, goals=goals), ["y"])
    assert found.evidence == "proved at these parameters"
    assert "at these values of the parameters only" in str(found)
    assert not found.for_every_lagrangian

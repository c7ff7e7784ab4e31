"""Conditions change across the poles of what they compare, and switches are found there."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.system.piecewise import found

SOLVERS = ["taylor", "dop853", "radau"]
ACCURACY = {"taylor": 1e-11}
"""The other solvers keep 1e-10 a step."""
X, Y, A = (ca.SX.sym(name) for name in "xya")


def pushed(condition, until, initial, solver, force=1.0):
    """Run a body of mass one on a line, which is pushed where a condition is true."""
    q = ds.coordinates(x="m")
    push = force * ca.if_else(condition(q), 1.0, 0.0)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": push})
    return ds.solve(system, until, initial, solver=solver, verify=True)


GUARDS = {
    "quotient": 1 / (X - 2) - 5,
    "tangent": ca.tan(X) - 2 * ca.tan(Y),
    "sum": 1 / (X - 1) + X / (Y - 2) - A,
    "nested": 1 / (1 + 1 / X) - 1 / (2 - 1 / (X - Y)),
    "power": X**-3 - 2,
    "square": (1 / (X - 2)) ** 2 - 5 + 1 / (Y * X**2),
    "parameter": -2 / (A * X * ca.sqrt(1 + Y**2)) + 1,
    "absolute value": ca.fabs(1 / X) - ca.fabs(1 / Y),
    "branches": ca.if_else(X > Y, 1 / (X - 1), 1 / ca.log(Y - X)) - 1,
}


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("name", GUARDS)
def test_the_sign_of_a_guard_is_that_of_what_is_finite_at_its_poles(name):
    """At random points; beside poles and zeros alone rounding might say otherwise."""
    switching = found([("here", ca.sign(GUARDS[name]), None)], A, ca.SX(0, 1))
    values = ca.vertcat(ca.SX(0, 1), *[switch.value for switch in switching.switches.values()])
    guards = ca.vertcat(ca.SX(0, 1), *[switch.guard for switch in switching.switches.values()])
    sign = switching.written(ca.sign(GUARDS[name]))
    posed = ca.Function("posed", [X, Y, A], [ca.sign(GUARDS[name])])
    at = ca.Function("at", [X, Y, A, values], [guards])
    written = ca.Function("written", [X, Y, A, values], [sign])
    for point in np.random.default_rng(1).uniform(-3.0, 3.0, (500, 3)).tolist():
        signs = np.ones(values.numel())
        # A guard may stand in that of another, as in `fabs`: they agree one after the other.
        for _ in range(values.numel()):
            signs = np.sign(np.asarray(at(*point, signs)).ravel())
        assert np.all(np.isfinite(signs))
        assert float(written(*point, signs)) == float(posed(*point))


def test_what_has_no_pole_across_which_it_changes_is_one_guard_as_it_was():
    radius = ca.sqrt(X**2 + Y**2)
    for guard in (X - 1, 1 / radius**3 - 2, X / A - 1, ca.exp(X) / (1 + ca.exp(X)) - Y):
        switching = found([("here", ca.sign(guard), None)], A, ca.SX(0, 1))
        (switch,) = switching.switches.values()
        same = ca.Function("same", [X, Y, A], [switch.guard - guard])
        assert float(same(0.3, 0.7, 1.1)) == 0.0


@pytest.mark.slow_rows("dop853", "radau")
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_push_begins_at_a_pole_of_its_condition(solver):
    """x'' = 1 where 1 / (x - 2) > 5, from 2 to 2.2: v^2 = 1 + 2 (0.2)."""
    run = pushed(lambda q: 1 / (q.x - 2) > 5, 5.0, {"x_dot": 1.0}, solver)
    speed, bound = math.sqrt(1.4), ACCURACY.get(solver, 1e-9)
    left = 2.0 + (speed - 1.0)
    assert run.end_state["x_dot"] == pytest.approx(speed, abs=bound)
    assert run.end_state["x"] == pytest.approx(2.2 + speed * (5.0 - left), abs=10 * bound)
    assert [event.time for event in run.events] == pytest.approx([2.0, left], abs=bound)


@pytest.mark.slow_rows("dop853", "radau")
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_pole_in_time_is_known_beforehand(solver):
    """x'' = 1 from 2.05 s to 2.25 s, where 1 / (t - 2.05) > 5."""
    run = pushed(lambda _: 1 / (ds.time - 2.05) > 5, 5.0, {}, solver)
    assert run.end_state["x_dot"] == pytest.approx(0.2, abs=1e-10)
    assert run.end_state["x"] == pytest.approx(0.2 * (5.0 - 2.15), abs=1e-9)


@pytest.mark.slow
@pytest.mark.slow_rows("dop853", "radau")
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_tangent_exceeds_a_number_up_to_its_pole_in_each_half_turn(solver):
    """tan t > 2 for pi/2 - atan 2 in each of six half turns."""
    run = pushed(lambda _: ca.tan(ds.time) > 2, 6 * math.pi, {}, solver)
    expected = 6 * (math.pi / 2 - math.atan(2.0))
    assert run.end_state["x_dot"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_condition_that_is_a_pole_alone_switches_there(solver):
    """A force of 0.1 sign(1 / (x - 2)): v^2 = 1 - 0.2 (2) on the way to x = 2."""
    q = ds.coordinates(x="m")
    force = 0.1 * ca.sign(1 / (q.x - 2))
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": force})
    run = ds.solve(system, 5.0, {"x_dot": 1.0}, solver=solver)
    speed = math.sqrt(0.6)
    met = (1.0 - speed) / 0.1
    (event,) = run.events
    assert event.time == pytest.approx(met, abs=1e-9)
    assert run.end_state["x_dot"] == pytest.approx(speed + 0.1 * (5.0 - met), abs=1e-9)


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_slope_on_a_circle_is_steep_on_both_sides_of_the_vertical(solver):
    """y / x > 1 for angles from pi/4 to pi/2 and from 5 pi/4 to 3 pi/2: a meter of a quarter."""
    q = ds.coordinates(x="m", y="m", z="m")
    steep = ca.if_else(q.y / q.x > 1, 1.0, 0.0)
    kinetic = (q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2
    potential = (q.x**2 + q.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=potential, force={"z": steep})
    run = ds.solve(system, 2 * math.pi, {"x": 1.0, "y_dot": 1.0}, solver=solver)
    assert run.end_state["z_dot"] == pytest.approx(math.pi / 2, abs=1e-8)
    times = [math.pi / 4, math.pi / 2, 5 * math.pi / 4, 3 * math.pi / 2]
    assert [event.time for event in run.events] == pytest.approx(times, abs=1e-8)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_start_at_a_pole_lies_on_the_side_to_which_the_motion_goes(way):
    """1 / x > 5 holds up to 0.2 to the right of x = 0, and nowhere to the left."""
    run = pushed(lambda q: 1 / q.x > 5, 1.0, {"x_dot": way}, "taylor")
    speed = math.sqrt(1.4) if way > 0.0 else -1.0
    assert run.end_state["x_dot"] == pytest.approx(speed, abs=1e-11)

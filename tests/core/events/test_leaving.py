"""A motion that stands on the border of a piecewise expression leaves it as its derivatives say."""

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.events.leaving import rates_later
from tests.systems import prepared_run

E = math.exp


def pushed(force, potential=0.0):
    """A mass of 1 kg under force(t, x, v)."""
    q = ds.coordinates(x="m")
    push = {"x": force(ds.time, q.x, q.dot.x)}
    kinetic = q.dot.x**2 / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=potential, force=push)


FROM_REST = {
    "drag": (lambda t, x, v: t - 0.5 * ca.fabs(v), 5.0 - 8.0 * E(-0.5)),
    "the other way": (lambda t, x, v: -t - 0.5 * ca.fabs(v), 13.0 - 8.0 * E(0.5)),
    "one way": (lambda t, x, v: t - 0.5 * ca.fmax(v, 0.0), 5.0 - 8.0 * E(-0.5)),
    "quadratic": (lambda t, x, v: 1.0 - v * ca.fabs(v), math.log(math.cosh(1.0))),
    "later": (
        lambda t, x, v: ca.fmax(t - 0.3, 0.0) - 2.0 * ca.fabs(v),
        0.7**2 / 4 - 0.7 / 4 + 1 / 8 - E(-1.4) / 8,
    ),
    "never": (lambda t, x, v: -0.5 * ca.fabs(v), 0.0),
    "onto a floor": (
        lambda t, x, v: -9.81 + 400.0 * ca.fmax(-x, 0.0),
        -9.81 / 400.0 * (1.0 - math.cos(20.0)),
    ),
}
"""Forces by name, and where the mass is after a second."""


@pytest.mark.parametrize("solver", ["taylor", "dop853", "radau"])
@pytest.mark.parametrize("name", FROM_REST)
def test_a_mass_leaves_rest_as_its_force_rises(name, solver):
    force, exact = FROM_REST[name]
    run = ds.solve(pushed(force), 1.0, {"x": 0.0}, solver=solver)
    assert run.outcome is ds.Outcome.COMPLETED
    assert run["x"][-1] == pytest.approx(exact, abs=1e-9)
    assert run.audit().holds


@pytest.mark.parametrize("begin", [-8.0, 1e6])
def test_it_does_so_at_any_time(begin):
    system = pushed(lambda t, x, v: (t - begin) - 0.5 * ca.fabs(v))
    run = ds.solve(system, begin + 1.0, {"x": 0.0}, start_time=begin)
    # A time of 1e6 s is known to 1e-10 s, and so is what acts since then.
    assert run["x"][-1] == pytest.approx(5.0 - 8.0 * E(-0.5), abs=1e-9)


@pytest.mark.parametrize("pace", [1e-12, 1e6])
def test_it_does_so_at_any_pace(pace):
    system = pushed(lambda t, x, v: t / pace**3 - 0.5 * ca.fabs(v) / pace)
    run = ds.solve(system, pace, {"x": 0.0})
    assert run["x"][-1] == pytest.approx(5.0 - 8.0 * E(-0.5), abs=1e-9)


def test_what_is_driven_through_several_integrations_leaves_as_well():
    q = ds.coordinates(x="m", y="m")
    force = {"x": ds.time, "y": q.x - 0.5 * ca.fabs(q.dot.y)}
    system = ds.MechanicalSystem(q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, force=force)
    run = ds.solve(system, 1.0, {"x": 0.0, "y": 0.0})
    exact = 1 / 12 - 2 / 3 + 4.0 - 16.0 + 32.0 - 32.0 * E(-0.5)
    assert run["y"][-1] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize(
    ("push", "leaves"), [(ds.time**2, True), (-(ds.time**3), True), (0.0 * ds.time, False)]
)
def test_a_rate_a_moment_later_is_zero_only_where_a_guard_stays(push, leaves):
    system = pushed(lambda t, x, v: push - 0.5 * ca.fabs(v))
    prepared = prepared_run(system, 1e-3, {"x": 0.0})
    asked = np.ones(prepared.problem.guards.numel_out(0), dtype=bool)
    found = rates_later(prepared.problem, 0.0, prepared.initial, prepared.values, asked)
    assert np.all((found != 0.0) == leaves)


@pytest.mark.parametrize("solver", [None, ds.Dop853()], ids=["taylor", "dop853"])
def test_a_guard_whose_zeros_have_no_slope_passes_at_each_of_them(solver):
    """sin(phi)^3 rises through zero once a turn, where its first two derivatives vanish."""
    q, turns = ds.coordinates(phi="rad"), ds.discrete(count=0.0)
    rises = ds.Event("rises", ca.sin(q.phi) ** 3, ds.RISING, ds.Reset({"count": turns.count + 1.0}))
    wheel = ds.MechanicalSystem(q, kinetic=q.dot.phi**2 / 2, discrete=turns, events=[rises])
    run = ds.solve(wheel, 3.0, {"phi": -0.1, "phi_dot": 20.0}, solver=solver)
    assert run.end_values["count"] == 10.0
    # The time of a triple zero is known to the third root of rounding.
    for number, event in enumerate(run.events):
        assert event.time == pytest.approx((2.0 * ca.pi * number + 0.1) / 20.0, abs=1e-4)

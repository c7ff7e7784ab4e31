"""The equations before elimination: derivatives along the motion."""

from __future__ import annotations

import numpy as np
import pytest

from daesolve.core.equations.consistency import instantaneous
from daesolve.core.expressions.translation import function_of
from daesolve.errors import UnknownNameError
from tests.systems import pendulum, wheel, wheel_state


def chain_function(dynamics):
    links = [link for row in dynamics.rows for link in row.chain]
    links += [row.residual for row in dynamics.implicit_rows]
    import casadi as ca

    return function_of(
        "chain",
        [dynamics.t, dynamics.x, dynamics.p],
        [ca.vertcat(*links)],
        (["t", "x", "p"], ["c"]),
    )


def test_hidden_constraints_are_the_rates_of_residuals_off_the_manifold_too():
    """Central differences of order 8 along the flow; implicit unknowns track at a rate."""
    dynamics = wheel().dynamics
    values = dynamics.value_vector({"rate_tangency": 7.0})
    function = chain_function(dynamics)
    x0 = np.array([wheel_state(0.3, 1.1)[n] for n in dynamics.labels.states])
    x0 += 1e-3 * np.random.default_rng(5).normal(size=x0.size)
    acceleration = np.random.default_rng(6).normal(size=3)
    weights = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
    step = 2e-3

    def rate(x):
        rates = dynamics.matrices(0.0, x, values)["position_rates"].ravel()
        return np.concatenate([rates, acceleration])

    def moved(duration):
        x, parts = x0.copy(), 40
        for _ in range(parts):  # classical Runge-Kutta: error far below that of the differences
            h = duration / parts
            a = rate(x)
            b = rate(x + h / 2 * a)
            c = rate(x + h / 2 * b)
            x = x + h / 6 * (a + 2 * b + 2 * c + rate(x + h * c))
        return x

    table = np.array(
        [np.asarray(function(0.0, moved(k * step), values)).ravel() for k in range(-4, 5)]
    )
    found = weights @ table / step
    parts = dynamics.matrices(0.0, x0, values)
    contact, contact_dot, rolling, tangency = table[4]
    laws = parts["jacobian"] @ acceleration + parts["bias"].ravel()
    # differences lose eps / step of values of order one: 1e-13; velocities are of order 1e2
    assert found[0] == pytest.approx(contact_dot, abs=2e-11)
    assert found[1] == pytest.approx(laws[0], abs=2e-9)
    assert found[2] == pytest.approx(laws[1], abs=2e-9)
    assert found[3] == pytest.approx(-7.0 * tangency, abs=1e-10)
    assert abs(contact) > 1e-5
    assert abs(rolling) > 1e-5


def test_values_are_known_by_name():
    dynamics = pendulum().dynamics
    values = dynamics.value_vector({"mass": 3.0})
    assert values[list(dynamics.values).index("mass")] == 3.0
    assert len(values) == dynamics.p.numel()
    with pytest.raises(UnknownNameError, match="did you mean 'mass'"):
        dynamics.value_vector({"masss": 3.0})


def test_there_are_as_many_values_as_symbols_even_if_the_energy_is_the_user_s_own():
    import daesolve as ds

    q = ds.coordinates(x="m")
    energy = q.dot.x**2 / 2 + q.x**2 / 2
    dynamics = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, goals=[ds.Invariant("energy", energy)]
    ).dynamics
    assert len(dynamics.value_vector({})) == dynamics.p.numel()


def test_the_tension_of_the_resting_pendulum_is_its_weight():
    dynamics = pendulum().dynamics
    values = dynamics.value_vector({})
    accelerations, reactions = instantaneous(dynamics, 0.0, np.array([0.0, -1.0, 0, 0]), values)
    assert accelerations == pytest.approx([0.0, 0.0], abs=1e-14)
    assert reactions == pytest.approx([-9.81 / 2], rel=1e-14)


def test_only_a_velocity_that_nothing_changes_is_idle():
    """Not one that a force, a reaction, a constraint or the mass of a moved one acts on."""
    import daesolve as ds

    q = ds.coordinates(free="m", pulled="m", tied="m", coupled="m", chained="m")
    v = q.dot
    coupling = v.pulled * v.coupled / 10 + v.coupled * v.chained / 10
    dynamics = ds.MechanicalSystem(
        q,
        kinetic=(v.free**2 + v.pulled**2 + v.tied**2 + v.coupled**2 + v.chained**2) / 2 + coupling,
        potential=q.pulled**2 / 2,
        goals=[
            ds.Nonholonomic("tie", v.tied - v.pulled),
            ds.Invariant("mixed", v.free + v.pulled**2 / 2, drive=True),
        ],
    ).dynamics
    names = dynamics.labels.states[dynamics.position_count :]
    assert [names[k] for k in dynamics.idle_velocities] == ["free_dot"]
    assert {row.name for row in dynamics.invariants} == {"energy", "mixed"}
    for row in dynamics.invariants:
        assert dynamics.pushed_gradient(row)[0, 0].is_zero()
        assert not row.jacobian[0, 0].is_zero()
        assert not dynamics.pushed_gradient(row)[0, 1].is_zero()


def test_a_constraint_that_is_let_go_of_at_times_leaves_no_velocity_idle():
    import daesolve as ds

    q = ds.coordinates(x="m", y="m")
    d = ds.discrete(held=0.0)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    rail = ds.Nonholonomic("rail", q.dot.x, held_by="held")
    dynamics = ds.MechanicalSystem(q, kinetic=kinetic, discrete=d, goals=[rail]).dynamics
    names = dynamics.labels.states[dynamics.position_count :]
    assert [names[k] for k in dynamics.idle_velocities] == ["y_dot"]

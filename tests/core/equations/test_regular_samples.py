"""Where constraints depend on each other on their manifold alone, and starts that are rounded."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.equations.consistency import complete_start, sample_states
from daesolve.core.equations.rank import constraint_rank
from daesolve.core.equations.regular_samples import regular_samples


def rank_of(system, start):
    dynamics = system.dynamics
    values = dynamics.value_vector({})
    state = complete_start(dynamics, values, {}, guess=start).state
    samples = regular_samples(dynamics, sample_states(dynamics, values, state), values)
    return constraint_rank(dynamics, samples, values)


def points(goals, **names):
    q = ds.coordinates(**names)
    kinetic = sum(q.dot[name] ** 2 for name in names) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, goals=goals(q))


def equal_cranks(q):
    bars = [("bar_0", 0, 1, 1.0), ("bar_1", 1, 2, 1.0), ("bar_2", 0, 2, 2.0)]
    return [
        *[
            ds.Holonomic(f"crank_{k}", (q[f"x{k}"] - k) ** 2 + q[f"y{k}"] ** 2 - 1)
            for k in range(3)
        ],
        *[
            ds.Holonomic(
                name,
                (q[f"x{i}"] - q[f"x{k}"]) ** 2 + (q[f"y{i}"] - q[f"y{k}"]) ** 2 - length**2,
            )
            for name, i, k, length in bars
        ],
    ]


@pytest.mark.slow
def test_three_parallel_cranks_have_a_freedom():
    names = {f"{a}{k}": "m" for k in range(3) for a in "xy"}
    start = {f"x{k}": k + 0.6 for k in range(3)} | {f"y{k}": 0.8 for k in range(3)}
    rank = rank_of(points(equal_cranks, **names), start)
    assert rank.at_start == 5
    assert rank.groups == (("bar_0", "bar_1", "bar_2"),)


def test_a_circle_that_three_surfaces_share_is_one():
    def surfaces(q):
        round_ = q.x**2 + q.y**2
        return [
            ds.Holonomic("cylinder", round_ - 1),
            ds.Holonomic("sphere", round_ + q.z**2 - 1),
            ds.Holonomic("cone", round_ - (1 + q.z) ** 2),
        ]

    rank = rank_of(points(surfaces, x="m", y="m", z="m"), {"x": 0.6, "y": 0.8})
    assert rank.at_start == 2
    assert len(rank.droppable) == 1


def test_light_bodies_leave_independent_goals_independent():
    """In the metric of the masses these rows are parallel to 1e-12."""
    q = ds.coordinates(x="m", y="m", light="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + 1e-24 * q.dot.light**2) / 2,
        goals=[ds.Holonomic("a", q.light - q.x), ds.Holonomic("b", q.light - q.y)],
    )
    rank = rank_of(system, {})
    assert rank.groups == ()


@pytest.mark.parametrize(
    ("residual", "start"),
    [
        (lambda q: 1 - ca.cos(q.x - 0.3) + 0 * q.y, {"x": 0.1 + 0.2, "y": 0.0}),
        (lambda q: (q.x - 0.1) - (q.y - 0.1) ** 2, {"x": 0.3 - 0.2, "y": 0.1}),
        (lambda q: q.x**2 + q.y**2 - 1.0, {"x": 0.6, "y": 0.8}),
    ],
)
def test_a_start_is_not_refused_for_rounding(residual, start):
    system = points(lambda q: [ds.Holonomic("curve", residual(q))], x="m", y="m")
    dynamics = system.dynamics
    found = complete_start(dynamics, dynamics.value_vector({}), start).state
    assert found[:2] == pytest.approx(np.array(list(start.values())), abs=1e-15)

"""An impact is a projection in the metric of the masses: its identities, at random systems."""

from __future__ import annotations

import math
from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import null_space

import daesolve as ds
from daesolve.core.events.instant import MOST_AT_ONCE, SimultaneousResets
from daesolve.errors import ChatteringError
from tests.hybrid_systems import bouncing_ball
from tests.systems import prepared_run

COUNT, HELD, MET = 5, 1, 2
"""Velocities, constraints of the system, constraints that are imposed besides."""


def impact_system(order: str = "simultaneous") -> ds.MechanicalSystem:
    """Five coordinates with any mass matrix; rows of any direction, one held and two imposed.

    The constraints move: each leaves zero at a rate of its own.
    """
    q = ds.coordinates(**{f"q_{k}": "m" for k in range(COUNT)})
    entries = {f"m_{i}_{j}": float(i == j) for i in range(COUNT) for j in range(i + 1)}
    entries |= {f"a_{i}_{j}": float(i == j) for i in range(HELD + MET) for j in range(COUNT)}
    entries |= {f"c_{i}": 0.0 for i in range(HELD + MET)}
    p = ds.parameters(restitution=0.5, clock=1.0, **entries)
    mass = ca.SX(COUNT, COUNT)
    for i in range(COUNT):
        for j in range(COUNT):
            mass[i, j] = p[f"m_{max(i, j)}_{min(i, j)}"]
    goals = [
        ds.Holonomic(
            f"goal_{i}",
            sum(p[f"a_{i}_{j}"] * q[f"q_{j}"] for j in range(COUNT)) + p[f"c_{i}"] * ds.time,
        )
        for i in range(HELD + MET)
    ]
    hit = ds.Event(
        "hit",
        ds.time - p.clock,
        ds.RISING,
        ds.Reset(impose=goals[HELD:], restitution=p.restitution, order=order),  # type: ignore[arg-type]
    )
    return ds.MechanicalSystem(q, p, mass_matrix=mass, goals=goals[:HELD], events=[hit])


SYSTEM = impact_system()
STATES = [f"q_{k}" for k in range(COUNT)]
RATES = [f"q_dot_{k}" for k in range(COUNT)]


class Hit(NamedTuple):
    """An impact with the numbers that it was made of."""

    mass: np.ndarray
    held: np.ndarray
    imposed: np.ndarray
    drifts: np.ndarray
    restitution: float
    before: np.ndarray
    after: np.ndarray
    impact: ds.Impact

    @property
    def rows(self) -> np.ndarray:
        """All constraints, those of the system first."""
        return np.vstack([self.held, self.imposed])

    @property
    def impulses(self) -> np.ndarray:
        """In the order of the rows."""
        return np.array([self.impact.impulses[f"goal_{i}"] for i in range(HELD + MET)])


def hit_of(seed: int, restitution: float, *, moving: bool) -> Hit:
    """Pose random numbers, run up to the impact and a little beyond, and read it."""
    generator = np.random.default_rng(seed)
    root = generator.normal(size=(COUNT, COUNT))
    mass = root @ root.T + 0.3 * np.eye(COUNT)
    rows = generator.normal(size=(HELD + MET, COUNT))
    drifts = generator.normal(size=HELD + MET) if moving else np.zeros(HELD + MET)
    values = {f"m_{i}_{j}": mass[i, j] for i in range(COUNT) for j in range(i + 1)}
    values |= {f"a_{i}_{j}": rows[i, j] for i in range(HELD + MET) for j in range(COUNT)}
    values |= {f"c_{i}": drifts[i] for i in range(HELD + MET)}
    guess = dict(zip(STATES + RATES, generator.normal(size=2 * COUNT), strict=True))
    run = ds.solve(
        SYSTEM,
        1.001,
        guess=guess,
        parameters=values | {"restitution": restitution},
        at=[],
    )
    (event,) = run.events
    assert event.impact is not None
    assert event.after is not None
    return Hit(
        mass,
        rows[:HELD],
        rows[HELD:],
        drifts,
        restitution,
        np.array([event.detail[name] for name in RATES]),
        np.array([event.after[name] for name in RATES]),
        event.impact,
    )


SEEDS = st.integers(0, 10**6)
RESTITUTIONS = st.sampled_from([0.0, 0.3, 1.0])


def near(left: np.ndarray, right: np.ndarray, hit: Hit) -> None:
    """Equal to what the conditions of the matrices make of rounding."""
    gram = hit.rows @ np.linalg.solve(hit.mass, hit.rows.T)
    condition = np.linalg.cond(hit.mass) * np.linalg.cond(gram)
    size = max(float(np.max(np.abs(right))), float(np.max(np.abs(hit.before))))
    assert np.max(np.abs(left - right)) <= 20.0 * np.finfo(float).eps * condition * size


@pytest.mark.slow
@settings(max_examples=12, deadline=None, derandomize=True)
@given(SEEDS, RESTITUTIONS, st.booleans())
def test_an_impact_is_the_solution_of_the_saddle(seed, restitution, moving):
    """[M -A^T; A 0] (v+, i) = (M v-, -c - e (A v- + c)), A all rows, e of the system's own zero."""
    hit = hit_of(seed, restitution, moving=moving)
    count = len(hit.rows)
    factors = np.array([0.0] * HELD + [restitution] * MET)
    saddle = np.block([[hit.mass, -hit.rows.T], [hit.rows, np.zeros((count, count))]])
    target = -hit.drifts - factors * (hit.rows @ hit.before + hit.drifts)
    solution = np.linalg.solve(saddle, np.concatenate([hit.mass @ hit.before, target]))
    near(hit.after, solution[:COUNT], hit)
    near(hit.impulses, solution[COUNT:], hit)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(SEEDS)
def test_without_restitution_it_is_maggis_projection_on_the_admissible_velocities(seed):
    """V (V^T M V)^-1 V^T M v-, V the null space of all rows."""
    hit = hit_of(seed, 0.0, moving=False)
    basis = null_space(hit.rows)
    reduced = np.linalg.solve(basis.T @ hit.mass @ basis, basis.T @ hit.mass @ hit.before)
    near(hit.after, basis @ reduced, hit)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, derandomize=True)
@given(SEEDS, RESTITUTIONS, st.booleans())
def test_momentum_along_admissible_directions_is_kept(seed, restitution, moving):
    hit = hit_of(seed, restitution, moving=moving)
    basis = null_space(hit.rows)
    near(basis.T @ hit.mass @ hit.after, basis.T @ hit.mass @ hit.before, hit)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, derandomize=True)
@given(SEEDS, RESTITUTIONS, st.booleans())
def test_the_kinetic_energies_and_carnots_theorem_are_right(seed, restitution, moving):
    """T- - T+ = (1 - e) / (1 + e) T(v+ - v-), where nothing moves and all that acts is imposed."""
    hit = hit_of(seed, restitution, moving=moving)
    before, after = (v @ hit.mass @ v / 2 for v in (hit.before, hit.after))
    assert hit.impact.kinetic_before == pytest.approx(before, rel=1e-12)
    assert hit.impact.kinetic_after == pytest.approx(after, rel=1e-12)
    assert hit.impact.carnot <= 1e-13
    if not moving:
        lost = hit.after - hit.before
        share = (1.0 - restitution) / (1.0 + restitution)
        assert before - after == pytest.approx(
            share * (lost @ hit.mass @ lost) / 2, abs=1e-12 * before
        )
        assert after <= before * (1.0 + 1e-13)


def test_constraints_that_are_imposed_twice_are_reported_in_one_sentence():
    q = ds.coordinates(x="m", y="m")
    twice = [ds.Holonomic("wall", q.x), ds.Holonomic("wall_again", 2.0 * q.x)]
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        events=[ds.Event("hit", q.x, ds.FALLING, ds.Reset(impose=twice))],
    )
    start = {"x": 1.0, "y": 0.0, "x_dot": -1.0, "y_dot": 0.5}
    run = ds.solve(system, 2.0, start)
    assert run.outcome is ds.Outcome.FAILED
    assert "are redundant" in run.message
    assert "'wall_again'" in run.message
    assert run.end_state["x"] == pytest.approx(0.0, abs=1e-14)


def test_a_reset_that_leaves_a_constraint_unmet_names_it():
    q = ds.coordinates(x="m", y="m")
    d = ds.discrete(length=1.0)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - d.length**2)],
        discrete=d,
        events=[ds.Event("jump", q.x, ds.FALLING, ds.Reset({"length": 2.0}, impose=["rod"]))],
    )
    run = ds.solve(system, 9.0, {"x": 1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 1.0})
    assert run.outcome is ds.Outcome.FAILED
    assert "'jump'" in run.message
    assert "'rod'" in run.message


def test_a_change_that_is_no_number_is_reported():
    q = ds.coordinates(x="m")
    hit = ds.Event("hit", q.x - 1.0, ds.RISING, ds.Reset({"x_dot": ca.log(-q.x)}))
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, events=[hit])
    run = ds.solve(system, 2.0, {"x": 0.0, "x_dot": 1.0})
    assert run.outcome is ds.Outcome.FAILED
    assert "not finite" in run.message


def test_guards_that_differ_by_rounding_are_due_together():
    prepared = prepared_run(bouncing_ball(), 1.0, {"y": 1.0, "y_dot": -1.0})
    assert prepared.transitions is not None
    transitions = prepared.transitions.fresh()
    x = np.zeros(prepared.problem.size)
    for height, speed, due in (
        (1e-13, -1.0, [0]),
        (-1e-13, -1.0, [0]),
        (1e-9, -1.0, []),
        (0.0, 1.0, []),
    ):
        x[:2] = 1.0, 0.0
        transitions.measure(0.0, x, prepared.values)
        x[:2] = height, speed
        assert transitions.due(0.0, x, prepared.values) == due


def test_resets_at_one_instant_are_counted_until_they_are_too_many():
    instant = SimultaneousResets(1e-13)
    for time in (1.0, 2.0):
        for _ in range(MOST_AT_ONCE):
            instant.take(time, "hit")
    with pytest.raises(ChatteringError, match="'hit'"):
        instant.take(2.0, "hit")


@pytest.mark.parametrize("solver", ["taylor", ds.Taylor(engine="kernel"), "dop853"])
def test_what_fires_past_zero_at_the_start_fires_at_its_first_zero_too(
    solver: ds.solvers.Solver | str,
) -> None:
    """Past zero by 1.9 it fires, and by its rate there it would take 3.5 s over that."""
    q, d = ds.coordinates(x="m"), ds.discrete(seen=0.0)
    count = ds.Reset({"seen": d.seen + 1})
    guard = ca.sin(3 * ds.time - 1.75) * q.dot.x - 0.9
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        discrete=d,
        events=[ds.Event("seen", guard, ds.FALLING, count)],
    )
    run = ds.solve(system, until=2.0, initial={"x_dot": 1.0}, solver=solver)
    fall = (math.pi - math.asin(0.9) + 1.75) / 3
    assert [event.time for event in run.events] == pytest.approx([0.0, fall], abs=1e-9)


@pytest.mark.slow_rows(
    "dop853-Direction.FALLING-0.001",
    "dop853-Direction.FALLING-1e-09",
    "dop853-Direction.RISING-0.01",
    "dop853-Direction.RISING-1e-06",
)
@pytest.mark.default_rows(3)
@pytest.mark.parametrize("depth", [1e-2, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("way", [ds.RISING, ds.FALLING])
@pytest.mark.parametrize("solver", ["taylor", ds.Taylor(engine="kernel"), "dop853"])
def test_a_guard_of_time_alone_is_met_each_time_and_in_its_direction_alone(
    solver: ds.solvers.Solver | str, way: ds.Direction, depth: float
) -> None:
    """Segments end where it passes the other way too, which is known beforehand."""
    q, d = ds.coordinates(x="m"), ds.discrete(seen=0.0)
    count = ds.Reset({"seen": d.seen + 1})
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        discrete=d,
        events=[ds.Event("top", ca.sin(ds.time) - (1 - depth), way, count)],
    )
    run = ds.solve(system, until=50.0, initial={"x_dot": 1.0}, solver=solver)
    apart = way.value * math.acos(1 - depth)
    expected = [math.pi / 2 + 2 * math.pi * turn - apart for turn in range(8)]
    # A rounding of the time, and one of the sine by its slope.
    off = 64 * float(np.finfo(float).eps) + 2 * float(np.finfo(float).eps) / math.sin(
        math.acos(1 - depth)
    )
    assert [event.time for event in run.events] == pytest.approx(expected, abs=off)


@pytest.mark.parametrize("solver", ["taylor", ds.Taylor(engine="kernel"), "dop853"])
def test_a_small_guard_of_time_alone_is_met_each_time(solver: ds.solvers.Solver | str) -> None:
    q, d = ds.coordinates(x="m"), ds.discrete(seen=0.0)
    count = ds.Reset({"seen": d.seen + 1})
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        discrete=d,
        events=[ds.Event("seen", -2.6e-4 * ca.sin(3 * ds.time + 4.8), ds.RISING, count)],
    )
    run = ds.solve(system, until=14.0, initial={"x_dot": 1.0}, solver=solver)
    expected = [(3 * math.pi + 2 * math.pi * turn - 4.8) / 3 for turn in range(6)]
    assert [event.time for event in run.events] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("resets", [True, False])
@pytest.mark.parametrize("solver", ["taylor", ds.Taylor(engine="kernel"), "dop853"])
def test_what_passes_at_the_end_of_a_run_to_rounding_happens_there_and_once(
    solver: ds.solvers.Solver | str, resets: bool
) -> None:
    """The sines are before zero by the rounding of 2 pi t / T at 2 s, where T divides 2 s."""
    x, d = ds.states(y="m"), ds.discrete(a=0.0, b=0.0, c=0.0)
    periods = {"a": 0.1, "b": 0.2, "c": 0.3}
    clocks = [
        ds.Event(
            name,
            ca.sin(2 * math.pi * ds.time / period),
            way,
            ds.Reset({name: d[name] + 1}) if resets else ds.Record(),
        )
        for (name, period), way in zip(
            periods.items(), (ds.RISING, ds.EITHER, ds.RISING), strict=True
        )
    ]
    system = ds.ControlSystem(x, {"y": -x.y}, discrete=d, events=clocks)
    run = ds.solve(system, until=2.0, initial={"y": 1.0}, solver=solver)
    met = {name: [e.time for e in run.events if e.name == name and e.time > 0] for name in periods}
    assert met["a"] == pytest.approx([0.1 * k for k in range(1, 21)], abs=1e-14)
    assert met["b"] == pytest.approx([0.1 * k for k in range(1, 21)], abs=1e-14)
    assert met["c"] == pytest.approx([0.3 * k for k in range(1, 7)], abs=1e-14)
    assert run.audit().holds
    later = ds.solve(system, until=2.45, initial=run, solver=solver)
    met = {name: [e.time for e in later.events if e.name == name] for name in periods}
    assert {name: len(times) for name, times in met.items()} == {"a": 4, "b": 4, "c": 2}

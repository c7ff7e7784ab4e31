"""Contacts that touch without a load, surfaces that are pulled away, relations to reactions."""

import math

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

import daesolve as ds

SOLVERS = [ds.Taylor(), ds.Dop853()]
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)


def row_of_balls(restitution):
    names = ["a", "b", "c"]
    q = ds.coordinates(**dict.fromkeys(names, "m"))
    goals = [
        ds.Contact(f"{left}{right}", q[right] - q[left] - 1, restitution=restitution, closed=False)
        for left, right in (("a", "b"), ("b", "c"))
    ]
    return ds.MechanicalSystem(q, kinetic=sum(q.dot[name] ** 2 for name in names) / 2, goals=goals)


@pytest.mark.default_rows(2)
@each_solver
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_ball_thrown_at_two_that_touch_meets_both_as_one(solver, restitution):
    """Newton's law for both gaps at once: the first grows with e times the speed, the other not."""
    start = {"a": -1.0, "b": 1.0, "c": 2.0, "a_dot": 1.0, "b_dot": 0.0, "c_dot": 0.0}
    run = ds.solve(row_of_balls(restitution), 5.0, start, solver=solver, at=[5.0])
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    after = [(1 - 2 * restitution) / 3, (1 + restitution) / 3, (1 + restitution) / 3]
    assert [run[f"{name}_dot"][-1] for name in "abc"] == pytest.approx(after, abs=1e-12)


AMPLITUDE, RATE, GRAVITY = 0.05, 17.0, 10.0


def shaken(moving):
    """A body on a table that moves as a cosine, by its height or by that over the table."""
    q = ds.coordinates(y="m")
    height = AMPLITUDE * ca.cos(RATE * ds.time)
    speed = -AMPLITUDE * RATE * ca.sin(RATE * ds.time)
    place, rate = (q.y + height, q.dot.y + speed) if moving else (q.y, q.dot.y)
    gap = q.y if moving else q.y - height
    return ds.MechanicalSystem(
        q, kinetic=rate**2 / 2, potential=GRAVITY * place, goals=[ds.Contact("table", gap)]
    )


@each_solver
@pytest.mark.parametrize("moving", [False, True], ids=["fixed", "moving"])
def test_a_body_leaves_a_table_where_that_falls_faster_than_it_would(solver, moving):
    """It leaves where the table's acceleration is -g, and flies in a parabola."""
    start = {"y": 0.0 if moving else AMPLITUDE, "y_dot": 0.0}
    run = ds.solve(shaken(moving), 1.0, start, solver=solver, at=[1.0])
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    lost = [event.time for event in run.events if event.name == "table_lost"]
    closed = [event.time for event in run.events if event.name == "table_closed"]
    leaves = np.arccos(GRAVITY / (AMPLITUDE * RATE**2)) / RATE
    turn = 2 * np.pi / RATE
    # From the start on it pulls; the other times the acceleration falls through -g.
    assert lost[0] == 0.0
    exact = turn * np.arange(1, len(lost)) - leaves
    assert len(lost) == 3
    assert lost[1:] == pytest.approx(exact, abs=1e-10)

    def gap(time):
        return AMPLITUDE * (1 - np.cos(RATE * time)) - GRAVITY * time**2 / 2

    assert closed[0] == pytest.approx(brentq(gap, 0.05, 0.2, xtol=1e-15), abs=1e-10)


@pytest.mark.slow_rows("dop853")
@each_solver
def test_a_relation_to_a_contact_s_reaction_holds_in_flight_at_impacts_and_at_rest(solver):
    """A ball falls from rest and comes to rest: what its floor has given it is its weight times t.

    A tenth of that goes sideways.
    """
    q, u = ds.coordinates(x="m", y="m"), ds.reactions(pull="N")
    floor = ds.Contact("floor", q.y, closed=False, restitution=0.5)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=10.0 * q.y,
        reactions=u,
        force={"x": u.pull},
        goals=[floor, ds.Relation("tenth", u.pull - floor.reaction / 10.0)],
    )
    struck = ds.solve(system, until=0.8, initial={"y": 1.0}, solver=solver)
    assert struck.end_state["x_dot"] == pytest.approx(0.15 * math.sqrt(20.0), rel=1e-13)
    resting = ds.solve(system, until=3.0, initial={"y": 1.0}, solver=solver)
    assert resting.end_state["x_dot"] == pytest.approx(3.0, rel=1e-13)
    assert resting["pull"][-1] == pytest.approx(1.0, rel=1e-13)


# -- starts beyond a gap of zero by rounding -------------------------------------------------------


@pytest.mark.default_rows(2)
@pytest.mark.slow_rows("in space-1e-16")
@pytest.mark.parametrize("depth", [1e-16, 1e-13, 1e-12, 1e-11, 1e-10])
@pytest.mark.parametrize("kind", ["smooth", "rubs", "in space"])
def test_a_body_at_rest_a_hair_within_an_open_contact_stays_on_it(kind, depth):
    q = ds.coordinates(x="m", y="m", z="m")
    more = {
        "smooth": {},
        "rubs": {"slip": q.dot.x, "friction": 0.4},
        "in space": {"slip": [q.dot.x, q.dot.y], "friction": 0.4},
    }[kind]
    floor = ds.Contact("floor", q.z - 0.5, closed=False, restitution=0.3, **more)
    kinetic = (q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2
    body = ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.z, goals=[floor])
    run = ds.solve(body, 0.1, {"z": 0.5 - depth, "z_dot": 0.0, "x_dot": 0.2, "y_dot": 0.1})
    assert run.events[0].name == "floor_closed"
    assert run.end_state["z"] - 0.5 == pytest.approx(0.0, abs=2 * depth)


@pytest.mark.parametrize("size", [1e-8, 1e-12])
def test_lengths_near_what_counts_as_a_gap_of_zero_are_reported_or_refused(size):
    q = ds.coordinates(z="m")
    floor = ds.Contact("floor", q.z, restitution=0.7, closed=False)
    ball = ds.MechanicalSystem(
        q, kinetic=q.dot.z**2 / 2, potential=9.81 * size * q.z, goals=[floor]
    )
    start = {"z": size, "z_dot": 0.0}
    if size < 1e-10:
        with pytest.raises(ds.errors.OutOfRangeError, match="a gap below 1e-12 m as zero"):
            ds.solve(ball, 1.0, start)
    else:
        notes = ds.solve(ball, 1.0, start).description["notes"]
        assert any("a gap below 1e-12 m as zero" in note for note in notes)


def test_a_guard_of_both_heights_does_not_see_the_rounding_of_a_landing():
    """One body bounces, the other rests: fmax of both heights has a kink at each landing."""
    q = ds.coordinates(a="m", b="m")
    floors = [ds.Contact("first", q.a, restitution=0.5, closed=False), ds.Contact("second", q.b)]
    runs = [
        ds.solve(
            ds.MechanicalSystem(
                q,
                kinetic=(q.dot.a**2 + q.dot.b**2) / 2,
                force={"a": -9.8, "b": -9.8},
                goals=floors,
                events=[ds.Event("high", guard - 1.0, ds.RISING, ds.Stop())],
            ),
            1.0,
            {"a": 1e-3, "b": 0.0, "a_dot": 0.5},
        )
        for guard in (ca.fmax(q.a, q.b), ca.vertcat(q.a, q.b))
    ]
    # The guard also ends steps at its kinks.
    first, second = ([event.time for event in run.events if event.impact] for run in runs)
    assert len(first) > 5
    assert first == pytest.approx(second, abs=1e-12)

"""Several clocks and guards at one instant: each fires whenever it passes, whatever others do."""

import casadi as ca
import pytest

import daesolve as ds

TURN = 2.0 * ca.pi


def counted(guards):
    """A free mass, and an event with a counter of its own for each guard of (t, x)."""
    q, names = ds.coordinates(x="m"), [f"count_{k}" for k in range(len(guards))]
    counts = ds.discrete(**dict.fromkeys(names, 0.0))
    events = [
        ds.Event(name, guard(ds.time, q.x), ds.RISING, ds.Reset({name: counts[name] + 1}))
        for name, guard in zip(names, guards, strict=True)
    ]
    return ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, discrete=counts, events=events
    )


def clock(period):
    return lambda t, x: ca.sin(TURN * t / period)


SOLVERS = ["taylor", "dop853", "radau", pytest.param("cvodes", marks=pytest.mark.slow)]


@pytest.mark.long_beyond(2)
@pytest.mark.slow_rows("whole ratios-dop853", "same-radau")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("periods", "until", "ticks"),
    [((0.2, 0.2), 2.05, [11, 11]), ((0.1, 0.2, 0.3), 1.22, [13, 7, 5])],
    ids=["same", "whole ratios"],
)
def test_clocks_that_tick_together_lose_no_tick(solver, periods, until, ticks):
    system = counted([clock(period) for period in periods])
    run = ds.solve(system, until, {"x": 1.0}, start_time=-0.02, solver=solver)
    assert [*run.end_values.values()] == ticks
    found = run.audit()
    assert found.holds, str(found)


@pytest.mark.parametrize("solver", SOLVERS)
def test_guards_of_one_state_pass_together_each_time(solver):
    system = counted([lambda t, x: x, lambda t, x: 2.0 * x, lambda t, x: x])
    run = ds.solve(system, 13.0, {"x": 1.0}, solver=solver)
    # cos t rises through zero at 3/4 and 7/4 of a turn.
    assert [*run.end_values.values()] == [2.0, 2.0, 2.0]
    assert run.audit().holds


@pytest.mark.parametrize("solver", SOLVERS)
def test_each_guard_of_a_list_counts_whenever_it_passes(solver):
    q, count = ds.coordinates(x="m"), ds.discrete(passed=0.0)
    guards = [clock(period)(ds.time, q.x) for period in (1.0, 0.5, 1.0)]
    then = ds.Reset(lambda fired: {"passed": count.passed + ca.sum1(fired)})
    event = ds.Event("ticks", guards, ds.RISING, then)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, discrete=count, events=[event])
    run = ds.solve(system, 5.1, {"x": 0.0}, start_time=-0.1, solver=solver)
    assert run.end_values["passed"] == 6 + 11 + 6
    assert len(run.events) == 11


@pytest.mark.parametrize("solver", ["dop853", "radau"])
def test_a_clock_a_reset_and_a_sample_of_a_law_at_one_instant_are_as_with_other_solvers(solver):
    q, count, u = ds.coordinates(x="m"), ds.discrete(n=0.0), ds.inputs(push=(0.0, "N"))
    events = [
        ds.Event("rings", ca.sin(TURN * ds.time), ds.EITHER, ds.Reset({"n": count.n + 1})),
        ds.Event("halves", ca.sin(TURN * ds.time), ds.RISING, ds.Reset({"x_dot": q.dot.x / 2})),
    ]
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        force={"x": u.push},
        inputs=u,
        discrete=count,
        events=events,
    )
    law = ds.sampled("law", 0.25, law=-q.x - 0.5 * q.dot.x)
    runs = [
        ds.solve(system, 2.9, {"x": 1.0}, inputs={"push": law}, solver=by, at=[2.9])
        for by in ("taylor", solver)
    ]
    exact, run = runs
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.end_values["n"] == exact.end_values["n"] == 5.0
    assert run["x"] == pytest.approx(exact["x"], abs=1e-9)

"""A run that begins where another ended is the motion of one run, whatever the problem."""

from __future__ import annotations

import math
import pickle

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

import daesolve as ds
from daesolve.core.posing.value_names import instants

LONGEST = 2.0
"""Of the runs, s."""
PART = 0.55
"""Of a run, what the first of two takes: a time that is no sample of any law."""
SHORT = 0.3
"""Of problems whose runs take long, s."""
LONG = {"omni-friction", "omni-lifting"}
QUICK = ["omni-rolling", "woodpecker", "slider-crank-clearance", "clutches", "robot-arm"]
"""Which roller, which contact, which of two clutches, and which sample of a law."""


def cases(problem):
    return [pytest.param(problem.name, case.name, id=f"{problem.name}-{case.name}")
            for case in problem.cases[:2]]  # fmt: skip


ALL = [case for problem in ds.problems()[0] for case in cases(problem)]


def in_one(name, case_name):
    """A case, and one run of it."""
    case = ds.problem(name).case(case_name)
    horizon = min(case.case.until, SHORT if name in LONG else LONGEST)
    whole = case.solve(until=horizon)
    end = whole.end_time if whole.outcome.good else 0.9 * whole.end_time
    return case, whole if end == whole.end_time else case.solve(until=end)


def assert_goes_on(case, whole, begin):
    """A run from the end or from a point of another one ends as one run does."""
    second = case.solve(until=whole.end_time, initial=begin)
    assert second.outcome.good
    assert whole.outcome.good
    assert second.times[0] == begin.continuation.time
    largest = max(1.0, *map(abs, whole.end_state.values()))
    # Each is right to 1e-12 of its states; impacts and switches multiply that.
    for name, value in whole.end_state.items():
        assert second.end_state[name] == pytest.approx(value, abs=1e-9 * largest)


@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "case"), ALL)
def test_a_run_from_the_end_and_from_a_point_of_another_is_the_motion_of_one(name, case):
    if (name, case) == ("drawer", "jams"):
        pytest.skip("it is jammed from the start on")
    bound, whole = in_one(name, case)
    point = whole.at(PART * whole.end_time)
    assert_goes_on(bound, whole, bound.solve(until=PART * whole.end_time))
    assert_goes_on(bound, whole, point)


@pytest.mark.long_rows("robot-arm", "slider-crank-clearance", "woodpecker")
@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_run_goes_on_with_the_contacts_and_the_laws_of_the_first(name):
    case = "sampled" if name == "robot-arm" else ds.problem(name).cases[0].name
    bound, whole = in_one(name, case)
    assert_goes_on(bound, whole, bound.solve(until=PART * whole.end_time))
    for part in (0.31, 0.8):
        assert_goes_on(bound, whole, whole.at(part * whole.end_time))


@pytest.mark.slow
def test_a_sampled_law_of_another_period_begins_anew():
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    cart = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": u.push}, inputs=u)

    def law(period):
        return {"push": ds.sampled("push", period, ds.time)}

    first = ds.solve(cart, 1.0, {"x": 0.0, "x_dot": 0.0}, inputs=law(0.01))
    second = ds.solve(cart, 2.0, first, inputs=law(0.25), at=[1.0, 1.1, 1.3])
    assert second["push"].tolist() == pytest.approx([1.0, 1.0, 1.25], abs=1e-15)
    same = ds.solve(cart, 2.0, first, inputs=law(0.01), at=[1.005])
    assert same["push"][0] == pytest.approx(1.0, abs=1e-9)


def test_what_is_said_of_the_start_is_newer_than_the_run_that_ended():
    q = ds.coordinates(x="m")
    free = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2)
    first = ds.solve(free, 1.0, {"x": 0.0, "x_dot": 1.0})
    assert ds.solve(free, 3.0, first).times[0] == 1.0
    elsewhere = ds.solve(free, 3.0, first, start_time=2.0)
    assert (elsewhere.times[0], elsewhere["x"][-1]) == (2.0, pytest.approx(2.0, rel=1e-14))


@pytest.mark.long_beyond(7)
@pytest.mark.default_rows(1)
@pytest.mark.slow_rows(
    "-7.3-0.3-0.0",
    "0.0-0.3-0.0",
    "0.0-0.3-0.17",
    "100.0-0.3-0.17",
    "100.0-0.35-0.0",
    "0.0-0.35-0.17",
)
@pytest.mark.parametrize("delay", [0.0, 0.17])
@pytest.mark.parametrize("end", [0.3, 0.35])
@pytest.mark.parametrize("start_time", [0.0, 100.0, -7.3])
def test_a_sampled_law_goes_on_by_another_clock(start_time, end, delay):
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    cart = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": u.push}, inputs=u)

    def control(seen):
        return -4 * seen.x - 3 * seen.x_dot - seen.sum, {"sum": seen.sum + 0.1 * seen.x}

    law = {"push": ds.sampled("control", 0.1, control, delay, {"sum": 0.5})}
    begin = {"x": 1.0, "x_dot": 0.0}
    whole = ds.solve(cart, 2.0, begin, inputs=law)
    until = 2.0 - end + start_time
    for first in (ds.solve(cart, end, begin, inputs=law), whole.at(end)):
        second = ds.solve(cart, until, first, start_time=start_time, inputs=law)
        for name, value in whole.end_state.items():
            # The clock of 100 s is rounded to 1e-14 s, the motion is of about 1 m and 1 m/s.
            assert second.end_state[name] == pytest.approx(value, abs=1e-12)


@pytest.mark.slow
def test_bounces_that_are_left_out_end_by_another_clock():
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=0.1, restitution=0.5, closed=False)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    ball = ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=[floor])
    start = {"x": 0.0, "y": 1.0, "x_dot": 3.0, "y_dot": 0.0}
    # Bounces take sqrt(2 / g) (1 + 2 e / (1 - e)); those of less than about 1e-6 s are left out.
    over = 3.0 * (2.0 / 9.81) ** 0.5
    whole = ds.solve(ball, 2.0, start)
    for first in (ds.solve(ball, over - 1e-6, start), whole.at(over - 1e-6)):
        assert first.continuation.values["accumulating"] == 1.0
        second = ds.solve(ball, 1.0, first, start_time=0.0)
        (ended,) = [event.time for event in second.events if event.name == "accumulated"]
        assert ended == pytest.approx(1e-6, abs=1e-8)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("before", [0.0, 1e-16, 1e-15, 1e-14, 1e-13, 1e-3])
def test_a_tick_that_is_due_at_a_point_or_next_to_it_is_not_lost(tmp_path, before, stored):
    """3 * 0.1 is 0.3 and a rounding, so that a tick at that time lies behind 0.3."""
    q, d = ds.coordinates(x="m"), ds.discrete(next=0.1, count=0.0, turns=0.0)
    events = [
        ds.Event(
            "tick",
            ds.time - d.next,
            ds.RISING,
            ds.Reset({"next": d.next + 0.1, "count": d.count + 1}),
        ),
        ds.Event(
            "turn", ca.sin(10 * ds.time), ds.EITHER, ds.Reset({"turns": d.turns + 1, "x_dot": 1.0})
        ),
    ]
    clock = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, discrete=d, events=events)
    store = tmp_path / "run" if stored else None
    whole = ds.solve(clock, 2.05, {"x": 0.0, "x_dot": 1.0}, store=store)
    assert whole.end_values["count"] == 20.0
    for time in (0.3 - before, math.pi / 10 - before, 1.7 - before):
        second = ds.solve(clock, 2.05, whole.at(time))
        assert second.end_values == pytest.approx(dict(whole.end_values), abs=1e-15)


@pytest.mark.slow
def test_a_point_of_a_block_that_sticks_and_slips_is_a_start():
    """On a belt, pulled back by a spring: within sticking and slipping, and at each change."""
    q, p = ds.coordinates(x="m", y="m"), ds.parameters(pace=(0.3, "m/s"))
    belt = ds.Contact("belt", q.y, slip=q.dot.x - p.pace, friction=0.3)
    kinetic, potential = (q.dot.x**2 + q.dot.y**2) / 2, 9.81 * q.y + 20 * q.x**2 / 2
    block = ds.MechanicalSystem(q, p, kinetic=kinetic, potential=potential, goals=[belt])
    whole = ds.solve(block, 4.0, {"x": 0.4, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0})
    names = [event.name for event in whole.events]
    assert names == ["belt_sticks", "belt_slips"]
    for time in (0.3, 1.1, 2.7, *(event.time for event in whole.events)):
        second = ds.solve(block, 4.0, whole.at(time))
        assert second.end_state == pytest.approx(dict(whole.end_state), abs=1e-13)
        assert second.end_values == whole.end_values


def test_a_run_without_some_of_the_states_is_refused():
    """They would be zero, wherever the case or the user would have them."""
    one, two = ds.coordinates(x="m"), ds.coordinates(x="m", y="m")
    alone = ds.MechanicalSystem(one, kinetic=one.dot.x**2 / 2)
    pair = ds.MechanicalSystem(two, kinetic=(two.dot.x**2 + two.dot.y**2) / 2)
    first = ds.solve(alone, 1.0, {"x": 0.0, "x_dot": 1.0})
    with pytest.raises(ds.errors.OutOfRangeError, match="no value for the states y, y_dot"):
        ds.solve(pair, 2.0, first)
    begin = {**first.end_state, "y": 2.0, "y_dot": 0.0}
    assert ds.solve(pair, 2.0, begin, start_time=first.end_time).end_state["x"] == 2.0


def said(run):
    """Return the note about the run that was continued."""
    (note,) = [note for note in run.notes if "continues" in note]
    return note


def test_a_run_after_one_that_failed_says_so():
    q = ds.coordinates(x="m")
    spring = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    first = ds.solve(spring, 100.0, {"x": 1.0, "x_dot": 0.0}, max_evaluations=100)
    assert first.outcome is ds.Outcome.FAILED
    second = ds.solve(spring, first.end_time + 1.0, first)
    assert said(second) == (
        f"this run continues another run, which failed at t = {first.end_time:.10g} s: "
        f"{first.message}"
    )
    within = ds.solve(spring, first.end_time + 1.0, first.at(1.5))
    assert said(within) == (
        "this run continues another run from t = 1.5 s on; that run failed at "
        f"t = {first.end_time:.10g} s: {first.message}"
    )
    third = ds.solve(spring, first.end_time + 2.0, second)
    assert "failed" not in said(third)


def test_times_among_discrete_values_are_known_by_name():
    names = [
        "accumulating",
        "accumulated_at",
        "sense_a",
        "ended_a",
        "ended_b",
        "heads_c",
        "begun_c",
    ]
    names += ["begun_a", "law_first", "law_sample", "first", "my_first"]
    assert {*instants(names)} == {"accumulated_at", "ended_a", "begun_c", "law_first"}


@pytest.mark.slow
def test_a_run_on_disk_goes_on(tmp_path):
    case = ds.problem("woodpecker").case()
    first = case.solve(until=1.0, store=tmp_path / "first")
    read = ds.Trajectory.from_run(tmp_path / "first")
    ahead = case.solve(until=1.5, initial=read)
    assert ahead.end_state == case.solve(until=1.5, initial=first).end_state


@pytest.mark.slow
def test_a_simulator_begins_where_a_run_ended():
    case = ds.problem("omni-rolling").case()
    first = case.solve(until=0.9)
    sim = ds.Simulator(case, first)
    assert sim.time == first.end_time
    sim.step(0.3)
    assert sim.state == pytest.approx(
        dict(case.solve(until=1.2, initial=first).end_state), abs=1e-9
    )


def test_a_sweep_takes_no_run_as_its_start(tmp_path):
    case = ds.problem("pendulum").case()
    first = case.solve(until=1.0)
    with pytest.raises(ds.errors.OutOfRangeError, match="initial must be a mapping"):
        ds.ensembles.sweep(case, {"mass": [1.0]}, initial=first, out=tmp_path / "swept")
    with pytest.raises(ds.errors.OutOfRangeError, match="initial must be a mapping"):
        case.sensitivity(["mass"], until=2.0, initial=first)


@pytest.mark.slow
def test_a_comparison_begins_where_a_run_ended():
    case = ds.problem("woodpecker").case()
    first = case.solve(until=1.0)
    compared = case.compare(["feedback"], ["taylor", "dop853"], 1.5, first, tolerances=[1e-12])
    ahead = case.solve(until=1.5, initial=first)
    for run in compared.runs:
        assert run.trajectory.times[0] == 1.0
        for name, value in ahead.end_state.items():
            # Impacts and slips multiply the tolerance.
            assert run.trajectory.end_state[name] == pytest.approx(value, abs=1e-8)


def test_a_comparison_measures_errors_from_where_a_run_ended():
    q = ds.coordinates(x="m")
    spring = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    first = ds.solve(spring, 3.0, {"x": 1.0, "x_dot": 0.0})
    for start in (first, first.at(2.0)):
        compared = ds.compare(
            spring, ["feedback"], ["taylor"], 5.0, start, reference={"x": math.cos(5.0)}
        )
        assert compared.runs[0].error < 1e-14


def test_a_point_of_a_run_backwards_is_a_start():
    q = ds.coordinates(x="m")
    spring = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    back = ds.solve(spring, -3.0, {"x": 1.0, "x_dot": 0.0})
    farther = ds.solve(spring, -3.0, back.at(-1.0))
    assert farther.times[0] == -1.0
    assert farther.end_state["x"] == pytest.approx(math.cos(3.0), abs=1e-14)
    forwards = ds.solve(spring, 1.0, back.at(-2.0))
    assert forwards.end_state["x"] == pytest.approx(math.cos(1.0), abs=1e-14)


@pytest.mark.slow
@pytest.mark.slow_rows("index-2-solver2", "null-space-solver1")
@pytest.mark.parametrize(
    ("formulation", "solver"),
    [("feedback", ds.Dop853(1e-4, 1e-6)), ("null-space", ds.Dop853(1e-4, 1e-6)),
     ("index-2", ds.Idas(1e-4, 1e-6))],
)  # fmt: skip
def test_a_run_that_drifted_goes_on_from_the_nearest_consistent_state(formulation, solver):
    case = ds.problem("pendulum").case()
    first = case.solve(30.0, formulation=formulation, solver=solver)
    drift = max(first.drift["rod"].max_relative, first.drift["rod_dot"].max_relative)
    assert drift > 1e-6
    for start in (first, first.at(13.4)):
        second = case.solve(31.0, initial=start)
        # The rod and its rate are of about 1 m and 5 m/s.
        moved = max(abs(value - given) for given, value in second.start.values())
        assert 0.0 < moved < 10 * drift
        assert second.drift["rod"].max_relative < 1e-13


def test_after_an_exact_run_another_length_is_refused_however_near():
    case = ds.problem("pendulum").case()
    first = case.solve(1.0)
    with pytest.raises(ds.errors.InconsistentStateError, match="'rod'"):
        case.solve(2.0, initial=first, parameters={"length": 1.0001})


@pytest.mark.slow
def test_the_point_at_the_end_is_the_end():
    case = ds.problem("omni-rolling").case()
    first = case.solve(until=0.9)
    assert first.at(0.9).continuation == first.continuation


def test_a_case_whose_end_has_passed_needs_another():
    case = ds.problem("pendulum").case()
    first = case.solve(until=case.case.until)
    with pytest.raises(ds.errors.OutOfRangeError, match="the run to continue is at t = 100 s, and"):
        case.solve(initial=first)
    assert case.solve(initial=case.solve(until=1.0)).end_time == case.case.until


@pytest.mark.long
def test_a_point_of_a_stored_run_is_a_start(tmp_path):
    case = ds.problem("woodpecker").case()
    whole = case.solve(until=1.5, store=tmp_path / "whole", at=ds.every_event())
    reopened = ds.resume(tmp_path / "whole")
    for run in (whole, reopened):
        second = case.solve(until=1.5, initial=run.at(0.9), store=tmp_path / f"second-{id(run)}")
        for name, value in whole.end_state.items():
            assert second.end_state[name] == pytest.approx(value, abs=1e-9)
        told = second.description["continues"]
        assert told["directory"] == str((tmp_path / "whole").resolve())
        assert (told["time"], told["end_time"], told["outcome"]) == (0.9, 1.5, "completed")
        read = ds.Trajectory.from_run(tmp_path / f"second-{id(run)}")
        assert read.description["continues"] == told
        assert said(read) == (
            f"this run continues the run in {told['directory']!r} from t = 0.9 s on; that run "
            "completed at t = 1.5 s"
        )


@pytest.mark.slow
@pytest.mark.parametrize("way", [ds.RISING, ds.FALLING])
def test_a_run_that_continues_another_does_not_repeat_its_events(way):
    q, d, to = ds.coordinates(x="m"), ds.discrete(count=0.0), way.value
    blow = ds.Reset({"count": d.count + 1, "x_dot": 1.1 * q.dot.x})
    tick = ds.Reset({"count": d.count + 1})
    events = [
        ds.Event("place", q.x - 0.2 * to, way, blow),
        ds.Event("time", ca.sin(5 * ds.time), way, tick),
        ds.Event("once", ds.time - 0.7, ds.RISING, blow),
    ]
    swing = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, discrete=d, events=events
    )
    start = {"x": 0.0, "x_dot": float(to)}
    whole = ds.solve(swing, 5.0, start)
    instants = [event.time for event in whole.events]
    # At each event, where every guard is at zero or past it at some time; and between them.
    for end in (*instants[1:5], 1.0, 2.0, 2.5, 3.0):
        for begin in (ds.solve(swing, end, start), whole.at(end)):
            second = ds.solve(swing, 5.0, begin)
            assert second.end_values == whole.end_values
            assert second.end_state["x"] == pytest.approx(whole.end_state["x"], abs=1e-13)
            assert [event.time for event in second.events] == pytest.approx(
                [instant for instant in instants if instant > end], abs=1e-13
            )


@pytest.mark.parametrize("reset", [False, True])
def test_a_run_continues_one_that_an_event_has_stopped(reset):
    """Where it stops, the guard is past zero by rounding or not yet at it."""
    q, d = ds.coordinates(x="m"), ds.discrete(count=0.0)
    then = ds.Reset({"count": d.count + 1}) | ds.Stop() if reset else ds.Stop()
    event = ds.Event("mark", ca.sin(7 * q.x) - 0.3, ds.RISING, then)
    swing = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, discrete=d, events=[event]
    )
    run, ends = ds.solve(swing, 30.0, {"x": 0.0, "x_dot": 1.1}), []
    for _ in range(8):
        ends.append(run.end_time)
        run = ds.solve(swing, 30.0, run)

    def guard(time):
        return np.sin(7.7 * np.sin(time)) - 0.3

    times = np.linspace(0.0, 10.0, 1001)
    below = np.flatnonzero((guard(times[:-1]) < 0) & (guard(times[1:]) >= 0))
    zeros = [brentq(guard, times[k], times[k + 1], xtol=1e-15) for k in below[:8]]
    # A rounding of each run, by the least slope of the guard.
    assert ends == pytest.approx(zeros, abs=1e-13)


def falling(then, slope, start_time):
    """A body thrown down, through zero at about 101 m/s; and its start."""
    q, d = ds.coordinates(y="m"), ds.discrete(count=0.0)
    changes = {"then": ds.Reset({"count": d.count + 1}) if then == "reset" else ds.Stop()}
    down = ds.Event("down", slope * q.y, ds.FALLING if slope > 0 else ds.RISING, **changes)
    kinetic = q.dot.y**2 / 2
    body = ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, discrete=d, events=[down])
    return lambda until: ds.solve(body, until, {"y": 50.0, "y_dot": -96.0}, start_time=start_time)


@pytest.mark.default_rows(5)
@pytest.mark.parametrize("start_time", [0.0, -0.4, 1e5, 1e9])
@pytest.mark.parametrize("slope", [1.0, -1e6])
def test_a_run_leaves_the_event_that_stopped_another_whatever_the_clock(slope, start_time):
    """The clock is rounded, so that a fast body stops well past zero, or before it."""
    first = falling("stop", slope, start_time)(start_time + 2.0)
    assert first.outcome is ds.Outcome.STOPPED_BY_EVENT
    second = ds.solve(first.origin, start_time + 2.0, first)
    assert second.outcome is ds.Outcome.COMPLETED
    assert not second.events


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("roundings", [0, 1, 64, 200, 10**6])
@pytest.mark.parametrize("slope", [1.0, -1e6])
@pytest.mark.parametrize("start_time", [0.0, -0.4, 1e5])
def test_an_event_next_to_the_end_of_a_run_counts_once(start_time, slope, roundings):
    """A run counts what is at zero to its own rounding; the next one must know of it."""
    solved = falling("reset", slope, start_time)
    whole = solved(start_time + 2.0)
    (event,) = whole.events
    end = event.time - roundings * math.ulp(event.time)
    for begin in (solved(end), whole.at(end)):
        second = ds.solve(whole.origin, start_time + 2.0, begin)
        assert second.end_values["count"] == 1.0


def test_a_slow_event_right_after_a_point_is_not_lost():
    """It is as near to zero as its terms are rounded, and has not happened yet."""
    q, d = ds.coordinates(y="m"), ds.discrete(count=0.0)
    up = ds.Event("up", q.y - 1000.0, ds.RISING, ds.Reset({"count": d.count + 1}))
    body = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, discrete=d, events=[up])
    whole = ds.solve(body, 2.0, {"y": 999.0, "y_dot": 1.0})
    for before in (2e-14, 1e-13, 1e-12, 1e-11):
        begin = whole.at(1.0 - before)
        assert begin.continuation.values["count"] == 0.0
        assert ds.solve(body, 2.0, begin).end_values["count"] == 1.0


@pytest.mark.slow
@pytest.mark.slow_rows("a_dot")
@pytest.mark.parametrize("name", ["rod", "a_dot", "rod_dot_long"])
def test_a_drifted_run_goes_on_whatever_its_goals_are_called(name):
    q = ds.coordinates(x="m", y="m")
    kinetic, rod = (q.dot.x**2 + q.dot.y**2) / 2, ds.Holonomic(name, q.x**2 + q.y**2 - 1)
    pendulum = ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=[rod])
    loose = {"formulation": "index-2", "solver": ds.Idas(1e-4, 1e-6)}
    first = ds.solve(pendulum, 30.0, {"x": 1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}, **loose)
    assert first.drift[name].max_relative > 1e-6
    assert ds.solve(pendulum, 31.0, first).drift[name].max_relative < 1e-12


def test_the_place_of_a_stop_is_known_from_disk_and_from_a_pickle(tmp_path):
    first = falling("stop", 1.0, 1e5)(1e5 + 2.0)
    ds.solve(first.origin, 1e5 + 2.0, {"y": 50.0, "y_dot": -96.0}, start_time=1e5,
             store=tmp_path / "run")  # fmt: skip
    read = ds.Trajectory.from_run(tmp_path / "run")
    point = pickle.loads(pickle.dumps(first.at(first.end_time)))
    for begin in (read, point):
        assert dict(begin.continuation.fired) == {"down": (0,)}
        assert ds.solve(first.origin, 1e5 + 2.0, begin).outcome is ds.Outcome.COMPLETED

"""Motions of one run beside each other, and motions that wait at their ends for others."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.preparation.beside import in_lane
from daesolve.core.preparation.preparing import Prepared, prepare
from daesolve.core.run.integration.run_options import requested
from daesolve.core.solvers import SegmentEnd, State, Status
from daesolve.core.solvers.lanes import Batch, BatchedStepper, BatchedTaylor, small_batch
from tests.systems import pendulum

NOTHING = np.empty(0)
UNTIL = 3.0


@cache
def passing() -> ds.MechanicalSystem:
    """A pendulum of which it is recorded when it passes below."""
    plain = pendulum()
    lowest = ds.Event("lowest", plain.coordinates.x, ds.RISING)
    return replace(plain, events=(lowest,))


def prepared(x: float = 0.8) -> Prepared:
    request, _ = requested(UNTIL, {"x": x}, {})
    return prepare(passing(), request)


def starts(of: Prepared, count: int) -> list[State]:
    """Small changes of a start, as the shadow of a motion is."""
    return [State(0.0, of.initial * (1.0 + 1e-6 * number), of.values) for number in range(count)]


def foresee(run: Prepared, given: list[State], at: np.ndarray) -> bool:
    """Let the solver of a run know what comes next."""
    return run.scaling.foresee(run.solver, run.problem, given, UNTIL, at)


def ends(of: Prepared, given: list[State], *, foreseen: bool) -> list[SegmentEnd]:
    """Return the ends of segments, with a sample on the way."""
    run, at = in_lane(of, small_batch(len(given))), np.array([0.0, 1.0])
    assert isinstance(run.solver, BatchedTaylor)
    if foreseen:
        assert foresee(run, given, at)
    return [run.integrated(one, UNTIL, at, lambda _: None) for one in given]


@pytest.mark.long_rows("20")
@pytest.mark.slow_rows("2")
@pytest.mark.parametrize("count", [2, 5, 20])
def test_segments_that_are_foreseen_end_as_those_that_are_asked_for_one_by_one(count):
    run = prepared()
    given = starts(run, count)
    together, alone = (ends(run, given, foreseen=foreseen) for foreseen in (True, False))
    for one, other in zip(together, alone, strict=True):
        assert one.status is other.status is Status.REACHED
        assert one.steps == other.steps
        np.testing.assert_array_equal(one.state, other.state)
        np.testing.assert_array_equal(one.samples, other.samples)


def test_what_was_foreseen_otherwise_begins_where_it_is_asked_for():
    run = prepared()
    given = starts(run, 3)
    lanes = in_lane(run, small_batch(3))
    foresee(lanes, [given[0], given[2], given[1]], NOTHING)
    first, *rest = (lanes.integrated(one, UNTIL, NOTHING, lambda _: None) for one in given)
    for end, start in zip((first, *rest), given, strict=True):
        alone = in_lane(run, small_batch(1)).integrated(start, UNTIL, NOTHING, lambda _: None)
        np.testing.assert_array_equal(end.state, alone.state)


def test_motions_that_went_farther_than_is_asked_at_once_are_handed_over():
    """Asked for three steps at once, the second motion has gone along for many more."""
    run = prepared()
    lanes, given = in_lane(run, small_batch(2)), starts(run, 2)
    solver = lanes.solver
    assert isinstance(solver, BatchedTaylor)
    foresee(lanes, given, NOTHING)
    taken = []
    for start in given:
        lane = solver.batch.lane(solver, lanes.problem, start, UNTIL)
        lane.begin(start.x, start.p, 0.0, UNTIL, NOTHING)
        steps = []
        while lane.time != UNTIL:
            steps.append(lane.steps(3))
        taken.append(steps)
    ends = [steps[-1].state for steps in taken]
    alone = [
        in_lane(run, small_batch(1)).solver.segment(
            lanes.problem, start, UNTIL, NOTHING, lambda _: None
        )
        for start in given
    ]
    for end, one in zip(ends, alone, strict=True):
        np.testing.assert_array_equal(end, one.state)


@pytest.mark.parametrize(("runs", "lanes"), [(1, False), (2, True)])
def test_what_pays_by_compiled_code_leaves_it_for_other_runs_alone(runs, lanes):
    chosen = replace(ds.Taylor(), engine="kernel")
    object.__setattr__(chosen, "engine", "heyoka")  # whether it is installed or not
    solver = Batch(runs, 8).solver(prepared().problem, chosen, None)
    assert isinstance(solver, BatchedTaylor) is lanes


def test_motions_that_go_beside_each_other_use_lanes():
    run = prepared()
    lanes = in_lane(run, small_batch(2))
    given = starts(run, 2)
    foresee(lanes, given, NOTHING)
    lanes.integrated(given[0], UNTIL, NOTHING, lambda _: None)
    assert isinstance(lanes.solver, BatchedTaylor)
    stepper = lanes.solver.batch.stepper(lanes.solver, lanes.problem, 2)
    # The second one was taken along to its end.
    np.testing.assert_array_equal(stepper.time[0], [UNTIL, UNTIL])


def test_a_motion_at_its_end_waits_and_is_judged_as_if_it_were_alone():
    """One of three is at its end long before the others; what is seen of none depends on it."""
    runs = [prepared(x) for x in (0.8, 0.6, 0.4)]
    seen = []
    for places in ([0, 1, 2], [0], [1], [2]):
        stepper = BatchedStepper(ds.Taylor(), runs[0].problem, 8)
        for lane, (run, until) in enumerate(zip(runs, (0.5, 2.0, 2.1), strict=True)):
            stepper.begin(lane, run.initial, run.values, 0.0)
            stepper.end[lane], stepper.values[lane] = until, run.values
        memory = np.empty((8, 200, runs[0].problem.size, stepper.order + 1))
        stretch = stepper.steps_of(places, 200, memory)
        found = stepper.screen.examine(stretch, stepper.values[places])
        own = [stretch.of(number, one) for number, one in enumerate(found)]
        seen.append([(one.when[:, 2].sum(), one.end, len(one.when), one.seen) for one in own])
    together, *alone = seen
    assert together == [one for [one] in alone]
    assert [end for _, end, *_ in together] == [0.5, 2.0, 2.1]
    assert together[0][2] < together[1][2]

"""The boundaries of a run; at a time between them it is integrated once more from the last one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.results.trajectory.results import Continuation, TrajectoryPoint
from daesolve.core.run.integration.late_guards import solve_through
from daesolve.core.run.integration.record import Boundary
from daesolve.core.run.integration.run_state import RunState, unobserved
from daesolve.core.solvers import State
from daesolve.errors import OutOfRangeError, is_number


def next_boundary(run: RunState, here: Boundary) -> float:
    """Return the end of the next segment: a whole multiple from the start, or the end."""
    prepared, least = run.prepared, 1e-9 * run.prepared.segment
    while True:
        count = run.segments + 1
        boundary = prepared.start_time + run.sign * count * prepared.segment
        if run.sign * (boundary - prepared.until) >= -least:
            return prepared.until
        if run.sign * (boundary - here.time) > least:
            return boundary
        # The run was extended from a time that is not a multiple.
        run.segments = count


class PassedError(Exception):
    """Ends a run that is repeated as far as it is of interest."""


def end_beyond(moment: float, run: RunState) -> None:
    """End a run that is repeated once a segment begins beyond a time."""
    if run.sign * (run.record.boundaries[-1].time - moment) > run.record.near(moment):
        raise PassedError


def check_covers(begin: float, end: float, moment: object) -> None:
    """Refuse what is no time of a run from `begin` to `end`.

    Raises
    ------
    OutOfRangeError
        The run does not cover it.
    """
    low, high = min(begin, end), max(begin, end)
    if not is_number(moment):
        raise OutOfRangeError(f"the time is {moment!r}, but must be a number")
    if not low <= float(moment) <= high:
        raise OutOfRangeError(f"the run covers {low:g} to {high:g} s, not t = {moment:g} s")


def last_before(run: RunState, moment: float) -> Boundary | None:
    """Return the last boundary in memory before a time, or at that time to rounding."""
    boundaries, near = reversed(run.record.boundaries), run.record.near(moment)
    return next((b for b in boundaries if run.sign * (b.time - moment) <= near), None)


def point_after(run: RunState, here: Boundary, moment: float) -> TrajectoryPoint:
    """Integrate from a boundary to a time within its segment."""
    problem, state, values = run.prepared.problem, here.state, run.values(here)
    held = _held_at(run, here, moment) if run.record.held else None
    onward, beyond = state, run.sign * (moment - here.time) > 0.0
    if held is not None:
        state = onward = held
    elif beyond:
        start = State(here.time, here.state, values)
        end = solve_through(run, start, moment, np.array([moment]), unobserved)
        state, onward = end.state, run.projected(here, end)
    place = Boundary(moment, state, here.whole_turns, here.mode)
    _, reactions, outputs = evaluate_block(
        problem.recover, np.array([moment]), state[None, :], values
    )
    labels = problem.labels
    numbers = zip(labels.reactions + labels.outputs, (*reactions[0], *outputs[0]), strict=True)
    named, onward = run.assembly.named([place, replace(place, state=onward)])
    # At an event to rounding, it is what follows the event, and begins when that was.
    begin = Continuation(moment if beyond else here.time, onward, run.assembly.discrete(place))
    return TrajectoryPoint(moment, named | {n: float(v) for n, v in numbers}, begin)


def _held_at(run: RunState, here: Boundary, moment: float) -> np.ndarray | None:
    """Return the state of a body that friction holds from a boundary to a time; None if not."""
    transitions, values = run.transitions, run.values(here)
    if transitions is None or not transitions.still_held(here.time, here.state, values):
        return None
    if run.sign * (moment - here.time) <= 0.0:
        return None
    asked = np.array([moment])

    def samples_up_to(time: float) -> np.ndarray:
        return asked[asked <= time]

    stretch = transitions.held(here.time, here.state, values, moment, samples_up_to)
    return stretch.samples[-1] if stretch is not None and len(stretch.samples) else None

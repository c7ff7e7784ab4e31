"""Runs that are integrated once more: up to a time, at their beginning, and for their auditor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daesolve.core.features import added
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.findings import Audit
from daesolve.core.results.trajectory.results import Continuation, TrajectoryPoint
from daesolve.core.results.trajectory.samples import Recorded
from daesolve.core.results.trajectory.trajectory import AUDITOR, Trajectory
from daesolve.core.run.integration.late_guards import solve_through
from daesolve.core.run.integration.record import Boundary
from daesolve.core.run.integration.run_state import RunState, unobserved
from daesolve.core.run.integration.sampling import At
from daesolve.core.run.integration.watches.first_steps import FirstSteps
from daesolve.core.solvers import State
from daesolve.errors import OutOfRangeError, is_number

TURNS = 16
"""Turning points of the fastest state that are shown at most, where steps are large."""
BETWEEN = 24
"""Samples from one turning point of the fastest state to the next, where there is room for them."""
FEWEST_BETWEEN = 12
"""The same where there is no room: fewer samples show a longer beginning."""
MOST_PARTS = 12
"""The most parts into which a step is divided."""
MOST_SAMPLES, MOST_NUMBERS = 4000, 400_000
"""The most samples of the beginning, and the most numbers in them."""


@dataclass(frozen=True, eq=False)
class Stage:
    """A run, or what it was extended by: how far it was integrated without a break.

    Parameters
    ----------
    checkpoint
        From which it begins; None at the start of the run.
    until
        Its end, s.
    ends
        The ends of its accepted steps, block by block, as far as they are known; None if they are
        not.
    state
        What it has gathered, and may have kept within its steps; None if that is gone.
    """

    checkpoint: Mapping[str, Any] | None
    until: float
    ends: Sequence[np.ndarray] | None = None
    state: RunState | None = None


Again = Callable[[Stage, Sequence[float] | np.ndarray, Callable[[RunState], None]], RunState]
"""Integrates a stage once more with samples at some times, and shows its state after segments."""


def auditor_of(
    prepared: Prepared, stages: Callable[[], Iterable[Stage]], again: Again
) -> Callable[[Trajectory], Audit] | None:
    """Return what audits a run; None if no feature does.

    Parameters
    ----------
    prepared
        The run as it was prepared.
    stages
        Returns its stages.
    again
        Integrates one of them once more.
    """
    makers = added(AUDITOR)
    return makers[0](prepared, stages, again) if makers else None


# -- a time of the run ----------------------------------------------------------------------------


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
    _, reactions, outputs = problem.block("recover", np.array([moment]), state[None, :], values)
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


# -- the beginning --------------------------------------------------------------------------------


def close_times(steps: FirstSteps, columns: int) -> np.ndarray:
    """Return times within the first steps, long ones of which are divided.

    Parameters
    ----------
    steps
        The first accepted steps.
    columns
        How many numbers there are a sample.

    Returns
    -------
    numpy.ndarray
        (k,) s, in the order of the integration; the ends of the steps are among them.
    """
    times = steps.times
    if len(times) < 2:
        return times
    new = np.append(True, np.diff(times) != 0.0)
    times, states = times[new], steps.states[new]
    if len(times) < 2:
        return times
    turns = [_turning_points(column) for column in states.T]
    lengths = np.diff(times)
    fastest = abs(times[-1] - times[0]) / max(max(turns, default=0), 1)
    most = max(min(MOST_SAMPLES, MOST_NUMBERS // max(columns, 1)), MOST_PARTS)
    slowest = min((count for count in turns if count), default=0)
    shown = len(lengths) if not slowest else int(np.ceil(len(lengths) * TURNS / slowest))
    for between in (BETWEEN, FEWEST_BETWEEN):
        parts = np.ceil(np.abs(lengths) * between / fastest)
        parts = np.clip(parts, 1, MOST_PARTS).astype(int)
        if parts[:shown].sum() <= most:
            break
    kept = min(shown, int(np.searchsorted(np.cumsum(parts), most, side="right")))
    inner: list[np.ndarray] = [
        time + length * np.arange(count) / count
        for time, length, count in zip(times, lengths[:kept], parts, strict=False)
    ]
    return np.append(np.concatenate(inner), times[kept])


def _turning_points(values: np.ndarray) -> int:
    """Return how often a state turns back by more than a hundredth of its range."""
    steps = np.diff(values[np.isfinite(values)])
    total = np.abs(steps).sum()
    moving = steps[np.abs(steps) > 1e-6 * total] if total else steps[:0]
    return int(np.sum(moving[1:] * moving[:-1] < 0.0))


def opening(
    prepared: Prepared, steps: FirstSteps, simulate: Callable[[Prepared, At], Trajectory]
) -> Recorded | None:
    """Integrate the beginning of a run once more, and return it closely sampled.

    Even samples may be farther apart than the turning points of the motion; a line through them
    would then not show the motion. None if the run took no step.

    Parameters
    ----------
    prepared
        The run.
    steps
        Its first steps.
    simulate
        Integrates.
    """
    labels = prepared.problem.labels
    columns = len(labels.states) + len(labels.reactions) + len(labels.outputs)
    times = close_times(steps, columns)
    if len(times) < 2:
        return None
    return simulate(replace(prepared, until=float(times[-1])), times).samples

"""The beginning of a run, sampled closely enough for smooth curves: accepted steps are divided.

Even samples may be farther apart than the turning points of the motion; a line through them would
then not show the motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from daesolve.core.preparation.preparing import Prepared
from daesolve.core.results.trajectory.samples import Recorded
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.sampling import At
from daesolve.core.run.integration.watches.first_steps import FirstSteps

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

    None if the run took no step.

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

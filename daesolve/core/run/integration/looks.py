"""Looks between the ends of steps: at goals assumed to follow from others, and at peaks.

Nothing in the equations depends on such a goal, so no error control sees where it ceases to follow,
and a step may pass over the place. A peak of an output may lie within a step as well: a series of
Taylor takes a parabola in one. So the solution is looked at within steps, at times that have no
period.
"""

from __future__ import annotations

import math

import numpy as np

from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.record import Boundary
from daesolve.core.run.integration.run_state import RunState

A_STEP = 4
"""Looks within a mean step."""
A_RUN = 2000
"""The least number of looks in a run."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def looks(run: RunState, since: float, until: float) -> np.ndarray:
    """Return the times of looks beyond one time and before another, s; none without need."""
    prepared = run.prepared
    if not (run.monitor.sees_peaks or any(entry.follows for entry in prepared.problem.watched)):
        return np.empty(0)
    whole = abs(prepared.until - prepared.start_time)
    apart = min(prepared.mean_step / A_STEP, whole / A_RUN)
    first, last = (abs(time - prepared.start_time) / apart for time in (since, until))
    counts = np.arange(math.floor(first), math.ceil(last) + 1)
    times = prepared.start_time + run.sign * apart * (counts + np.mod(GOLDEN * counts, 1.0))
    inside = (run.sign * (times - since) > 0.0) & (run.sign * (until - times) > 0.0)
    return times[inside]


def among(run: RunState, at: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sample times and looks together, in the direction of the run, and which are looks.

    Where there are no looks the second is empty.
    """
    if not len(others):
        return at, np.zeros(0, dtype=bool)
    times = np.concatenate([at, others])
    order = np.argsort(run.sign * times, kind="stable")
    return times[order], order >= len(at)


def see_reset(run: RunState, here: Boundary) -> None:
    """Look at the peaks here: a reset may have taken an output to its peak."""
    run.monitor.see(StepBlock(np.array([here.time]), here.state[None, :]), run.values(here))

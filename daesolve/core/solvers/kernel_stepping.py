"""Taylor's method by the kernel of `taylor_kernel`, which compiles nothing for the equations."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.segment import (
    NOT_FINITE,
    STALLED,
    Block,
    Segment,
)
from daesolve.core.solvers.series_block import (
    PIECE,
    STUCK,
    Adjusted,
    SeriesBlock,
    SeriesIntegrator,
    after_step,
    steps_at_once,
)
from daesolve.core.solvers.taylor_kernel.instructions import instructions
from daesolve.core.solvers.taylor_kernel.lane_stepping import Lane, LaneStepper, LaneStretch, joined

PIECE_BYTES = 8_000_000
"""Bytes of Taylor coefficients of one motion that are kept at once."""
FIRST_PIECE = 32
"""Steps that are taken at first where an event may interrupt; then twice as many each time."""


class KernelIntegrator(SeriesIntegrator):
    """An integrator of one problem by the kernel.

    Parameters
    ----------
    tolerance
        As in `Taylor`.
    problem
        What to integrate.
    bounded
        Whether exponentials are held within bounds (`Expansion`).
    lane
        What takes the steps; None for a lane of its own.
    """

    def __init__(
        self,
        tolerance: float,
        problem: OdeProblem,
        *,
        bounded: bool = False,
        lane: Lane | None = None,
    ) -> None:
        self.problem, self.tolerance, self.bounded = problem, tolerance, bounded
        interrupted = any(event.then.interrupts for event in problem.guarded)
        # One lane of several ends by itself where something happens.
        self.first = FIRST_PIECE if interrupted and lane is None else PIECE
        if lane is None:
            lane = Lane(LaneStepper(instructions(problem.rhs, bounded=bounded), tolerance))
        self.lane = lane

    def blocks(self, segment: Segment) -> Generator[Block]:
        """Integrate piece by piece: a piece keeps its Taylor coefficients, so it is bounded."""
        lane, start, until = self.lane, segment.start, segment.until
        lane.begin(start.x, start.p, start.time, until, segment.at[len(segment.samples) :])
        adjusted = after_step(self.problem, start.p)
        piece = steps_that_fit(self.problem.size, lane.order)
        ahead = min(self.first, piece)
        stuck = _Stuck(start.time, STUCK * abs(until - start.time))
        while lane.time != until:
            most = min(steps_at_once(segment, lane.order), ahead)
            ahead = min(2 * ahead, piece)
            stretch = lane.steps(most) if adjusted is None else self._one_by_one(most, adjusted)
            times, states, failure = stretch.times, stretch.states, ""
            good = np.logical_and.accumulate(np.all(np.isfinite(states), axis=1))
            if not good[-1]:
                times, states, failure = times[good], states[good], NOT_FINITE
            elif stuck.after(len(stretch.when), stretch.end) and stretch.end != until:
                failure = STALLED
            yield _KernelBlock(
                self.problem,
                start.p,
                times,
                states,
                stretch,
                lane.order,
                failure,
                seen=stretch.seen,
            )
            if failure:
                return

    def _one_by_one(self, most: int, adjusted: Adjusted) -> LaneStretch:
        """Take steps, after each of which something is done to the state."""
        lane, taken = self.lane, list[LaneStretch]()
        goes_on = True
        while goes_on and len(taken) < most and lane.time != lane.until:
            step = lane.steps(1)
            state = step.state
            if np.isfinite(state).all():
                state, goes_on = adjusted(step.end, state)
                lane.put(state)
            else:
                goes_on = False
            taken.append(replace(step, state=state))
        return joined(taken)


def steps_that_fit(size: int, order: int) -> int:
    """Return how many steps to take at most before their coefficients are looked at."""
    return max(min(PIECE, PIECE_BYTES // (8 * size * (order + 1))), 1)


class _Stuck:
    """Notices when very many steps cover next to nothing.

    Parameters
    ----------
    time
        At the start, s.
    least
        What `PIECE` steps must cover, s.
    """

    def __init__(self, time: float, least: float) -> None:
        self._since, self._steps, self._least = time, 0, least

    def after(self, steps: int, time: float) -> bool:
        """Return whether, with so many more steps, it is so."""
        self._steps += steps
        if self._steps < PIECE:
            return False
        covered, self._since, self._steps = abs(time - self._since), time, 0
        return covered < self._least


class _KernelBlock(SeriesBlock):
    """Steps of the kernel."""

    dense: LaneStretch

    def kept(self) -> LaneStretch | None:
        """Return the series."""
        return self.dense.kept()

"""Steps of Taylor's method that keep their series, whichever engine took them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np

from daesolve.core.expressions.evaluation import BufferedFunction
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.dense_segments import (
    AcceptedSteps,
    StepScreening,
    TaylorSegment,
    inner_times,
)
from daesolve.core.solvers.guards import found_hits
from daesolve.core.solvers.observers import Observer
from daesolve.core.solvers.segment import (
    Block,
    EventHit,
    Integrator,
    Segment,
    SegmentEnd,
    State,
)
from daesolve.core.solvers.step_checks import UNSEEN, StepChecks

PIECE = 10_000
"""Steps whose Taylor coefficients are kept at once."""
STUCK = 1e-6
"""A piece that covers less than this part of its segment leads nowhere."""


class DenseSeries(Protocol):
    """The states within steps."""

    @property
    def tcs(self) -> np.ndarray:
        """(k, size, order + 1) the Taylor coefficients of each step."""
        ...

    def __call__(self, moments: np.ndarray, /) -> np.ndarray:
        """Return the states, (j, size), at times."""
        ...


class SeriesBlock(Block):
    """Steps with their Taylor coefficients.

    Parameters
    ----------
    problem, p
        The functions, and their values.
    times, states, failure
        As in `Block`.
    dense
        What is between the ends.
    order
        Of the series.
    seen
        What is known of these steps already; None if nothing is.
    """

    def __init__(
        self,
        problem: OdeProblem,
        p: np.ndarray,
        times: np.ndarray,
        states: np.ndarray,
        dense: DenseSeries,
        order: int,
        failure: str = "",
        *,
        seen: StepScreening | None = None,
    ) -> None:
        super().__init__(times, states, failure)
        self.problem, self.p, self.dense, self.order = problem, p, dense, order
        self.seen = seen

    def hits(self) -> Sequence[EventHit]:
        """Return the events in these steps."""
        first, last = (0, len(self.times) - 1)
        if self.seen is not None:
            first, last = self.seen.first, min(self.seen.last, last)
        if first >= last:
            return ()
        times, states = self.times[first : last + 1], self.states[first : last + 1]

        def states_at(moments: np.ndarray) -> np.ndarray:
            return np.array(self.dense(moments))

        def advance(step: int, time: float) -> np.ndarray:
            return states_at(np.array([time]))[0]

        inner = states_at(inner_times(times))
        return found_hits(
            self.problem, self.p, AcceptedSteps(times, states, inner, states_at, advance)
        )

    def samples(self, times: np.ndarray) -> Iterable[np.ndarray]:
        """Return states within these steps, by their series."""
        return np.array(self.dense(times)) if len(times) else ()

    def evaluations(self, kept: int) -> int:
        """Count an evaluation for each order."""
        return kept * self.order

    def course(self, times: np.ndarray, states: np.ndarray) -> TaylorSegment | None:
        """Return the series themselves, if they must be examined."""
        whole = len(times) == len(self.times) and times[-1] == self.times[-1]
        if whole and self.seen is not None and self.seen.sound:
            return None
        return TaylorSegment(times, states, self.dense.tcs)


class SeriesIntegrator(Integrator):
    """Taylor's method at work on a problem, by either engine.

    Attributes
    ----------
    tolerance
        Relative, of a step.
    bounded
        Whether exponentials are held within bounds, so that rates need not be those of the problem.
    """

    tolerance: float
    bounded: bool

    def segment(self, start: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate; see `Solver.segment`."""
        tolerance = self.tolerance
        self.checks = StepChecks(
            self.problem, start.p, tolerance, UNSEEN * tolerance, own_rates=not self.bounded
        )
        return super().segment(start, until, at, observe)


def steps_at_once(segment: Segment, order: int) -> int:
    """Return how many steps to take at once: no more than there may yet be, or that may stay."""
    remaining = segment.observe.remaining
    most = PIECE if segment.ahead is None else min(PIECE, segment.ahead)
    return most if remaining is None else min(most, max(-(-remaining // order), 1))


Adjusted = Callable[[float, np.ndarray], tuple[np.ndarray, bool]]
"""(t, x) -> the state in its place, and whether to continue."""


def after_step(problem: OdeProblem, p: np.ndarray) -> Adjusted | None:
    """Return the action after each step: the state is projected, and may be the last.

    A motion is to end where its chart does: beyond that its equations are steep, and hundreds of
    steps would be taken in vain. None if there is nothing to do.
    """
    charted = problem.chart is not None and problem.chart.choose is not None
    if problem.project is None and not charted:
        return None
    project = None if problem.project is None else BufferedFunction(problem.project, p)
    guards = BufferedFunction(problem.guards, p) if charted else None

    def adjusted(time: float, x: np.ndarray) -> tuple[np.ndarray, bool]:
        if project is not None:
            x = project(time, x)
        return x, guards is None or bool(guards(time, x)[-1] >= 0.0)

    return adjusted

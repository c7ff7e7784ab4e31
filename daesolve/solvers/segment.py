"""The loop over a segment: where it starts, events, samples, blocks of steps, how it ended.

An `Integrator` gives blocks of accepted steps; the rest happens here, the same for every backend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import Enum

import numpy as np

from daesolve.formulations import OdeProblem
from daesolve.trajectory.results import StepBlock

NOT_FINITE = "the state is no longer finite"
NO_RATE = "the rate of the state is not finite"
STALLED = "the steps have become too small to go on"
UNREPEATABLE = "a step passed over a singular position"


@dataclass(frozen=True)
class State:
    """Where a segment starts.

    Parameters
    ----------
    time
        s
    x
        (size,) state of the problem.
    p
        (np,) parameters, discrete values, rates and references.
    """

    time: float
    x: np.ndarray
    p: np.ndarray


Observer = Callable[[StepBlock], object]
"""Receives accepted steps; where its answer is true the segment ends with them. It may have an
attribute `remaining`: how many more right-hand sides are allowed."""


@dataclass(frozen=True)
class EventHit:
    """A guard that passed through zero: its index among all guards, when and where.

    Parameters
    ----------
    index
        Of the guard among all of the problem.
    time, state
        When it passed, in s, and the state then.
    """

    index: int
    time: float
    state: np.ndarray


class Status(Enum):
    """How a segment ended."""

    REACHED = "the end of the segment was reached"
    STOPPED = "an event interrupted the motion"
    HALTED = "the observer of the steps wants no more of them"
    FAILED = "the solver could not go on"


@dataclass(frozen=True)
class SegmentEnd:
    """What a segment gives back.

    Parameters
    ----------
    status, message
        How it ended; for a failure, the solver's reason.
    time, state
        Where it ended.
    samples
        (k, size) states at the sample times that were reached, exact to the solver's order.
    hits
        Events in the order of time.
    steps, rhs_evaluations
        What it cost.
    """

    status: Status
    message: str
    time: float
    state: np.ndarray
    samples: np.ndarray
    hits: tuple[EventHit, ...]
    steps: int
    rhs_evaluations: int


class StepError(Exception):
    """A method that cannot go on; the message gives the reason.

    Parameters
    ----------
    message
        The reason.
    kept
        How many steps of the block under way stay.
    """

    def __init__(self, message: str, kept: int = 0) -> None:
        super().__init__(message)
        self.kept = kept


class Block(ABC):
    """Accepted steps in a row.

    Parameters
    ----------
    times
        (k + 1,) from the start of the first step.
    states
        (k + 1, size)
    failure
        Why there are no more steps behind these, "" where there may be.
    """

    def __init__(self, times: np.ndarray, states: np.ndarray, failure: str = "") -> None:
        self.times, self.states, self.failure = times, states, failure

    @abstractmethod
    def hits(self) -> Sequence[EventHit]:
        """Return the events in these steps, none beyond the first that interrupts.

        Raises
        ------
        StepError
            The method cannot resolve the steps.
        """

    @abstractmethod
    def samples(self, times: np.ndarray) -> Iterable[np.ndarray]:
        """Return states within these steps, of the method's own order of accuracy.

        Raises
        ------
        StepError
            The method cannot resolve the steps.
        """

    @abstractmethod
    def evaluations(self, kept: int) -> int:
        """Return the right-hand sides since the block before, where so many steps are kept."""

    @property
    def taken(self) -> int | None:
        """How many steps the method took, where the times are those of a grid."""
        return None


class Integrator(ABC):
    """A method at work on a problem.

    Parameters
    ----------
    problem
        The functions.
    """

    problem: OdeProblem

    @abstractmethod
    def blocks(self, segment: Segment) -> Generator[Block]:
        """Yield blocks of accepted steps from the start of a segment to its end.

        A method that fails yields a block that says why. After a block in which an event
        interrupts, or that the observer wants to be the last, no other is asked for.
        """

    def segment(self, start: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate; see `Solver.segment`."""
        segment = Segment(self.problem, start, until, at, observe)
        with closing(self.blocks(segment)) as blocks:
            for block in blocks:
                if segment.take(block):
                    break
        return segment.end()


class Segment:
    """A segment under way.

    Parameters
    ----------
    problem, start, until, at, observe
        Those of `Solver.segment`.
    """

    def __init__(
        self, problem: OdeProblem, start: State, until: float, at: np.ndarray, observe: Observer
    ) -> None:
        self.problem, self.start, self.until, self.at = problem, start, until, at
        self.observe = observe
        self.sign = 1.0 if until >= start.time else -1.0
        self.time, self.state = start.time, start.x.copy()
        self.samples = [start.x.copy() for time in at if time == start.time]
        self.hits: list[EventHit] = []
        self.status, self.message = Status.REACHED, ""
        self.steps = self.evaluations = self._reported = 0

    def take(self, block: Block) -> bool:
        """Take in a block of steps; return whether it is the last."""
        times, states, failure = block.times, block.states, block.failure
        hits: Sequence[EventHit] = ()
        stop: EventHit | None = None
        try:
            if len(times) > 1 and self.problem.events:
                hits = block.hits()
                stop = first_stop(self.problem, hits)
            if stop is not None and stop.time != times[-1]:
                before = self.sign * (times - stop.time) < 0.0
                before[0] = True
                times = np.append(times[before], stop.time)
                states = np.vstack([states[before], stop.state])
                self._drop_samples(stop.time)
            for sample in block.samples(self.pending(float(times[-1]))):
                self.samples.append(sample.copy())
        except StepError as error:
            times, states = times[: error.kept + 1], states[: error.kept + 1]
            failure, stop = str(error), None
            hits = [hit for hit in hits if self.sign * (hit.time - times[-1]) <= 0.0]
        if failure:
            self._drop_samples(float(times[-1]))
        self.hits.extend(hits)
        halts = self._observed(block, times, states)
        if stop is not None:
            self.status, self.message = Status.STOPPED, ""
        elif halts:
            self.status, self.message = Status.HALTED, ""
        elif failure:
            self.status, self.message = Status.FAILED, failure
        return self.status is not Status.REACHED

    def _observed(self, block: Block, times: np.ndarray, states: np.ndarray) -> bool:
        """Count steps, and hand them over; return whether they are to be the last."""
        kept = len(times) - 1
        self.evaluations += block.evaluations(kept)
        if not kept:
            return False
        self.steps += kept if block.taken is None else block.taken
        self.time, self.state = float(times[-1]), states[-1].copy()
        spent, self._reported = self.evaluations - self._reported, self.evaluations
        return bool(self.observe(StepBlock(times[1:], states[1:], spent, block.taken)))

    def pending(self, end: float) -> np.ndarray:
        """Return the sample times up to an end at which no sample has been taken yet."""
        rest = self.at[len(self.samples) :]
        return rest[self.sign * (rest - end) <= 0.0]

    def _drop_samples(self, end: float) -> None:
        """Drop the samples beyond an end."""
        reached = self.sign * (self.at[: len(self.samples)] - end) <= 0.0
        del self.samples[int(np.sum(reached)) :]

    def end(self) -> SegmentEnd:
        """Return what the segment gives back."""
        return SegmentEnd(
            self.status,
            self.message,
            self.time,
            self.state,
            stacked(self.samples, len(self.state)),
            tuple(self.hits),
            self.steps,
            self.evaluations,
        )


def first_stop(problem: OdeProblem, hits: Iterable[EventHit]) -> EventHit | None:
    """Return the first event that interrupts the motion, if one does."""
    return next((hit for hit in hits if problem.guarded[hit.index].then.interrupts), None)


def stacked(samples: Sequence[np.ndarray], size: int) -> np.ndarray:
    """Return samples as a table, (k, size)."""
    return np.array(samples).reshape(len(samples), size)


class Stall:
    """Notices steps that lead nowhere: the last ones together moved less than rounding.

    Parameters
    ----------
    after
        How many steps these are.
    scale
        The time, s, of which 1e-12 is rounding; that of the motion counts where it is larger.
    """

    def __init__(self, after: int, scale: float) -> None:
        self._after, self._scale = after, scale
        self._ends: deque[float] = deque(maxlen=after + 1)

    def at(self, time: float) -> bool:
        """Take in the end of a step; return whether there is no going on."""
        self._ends.append(time)
        if len(self._ends) <= self._after:
            return False
        return abs(time - self._ends[0]) < 1e-12 * max(abs(time), self._scale)

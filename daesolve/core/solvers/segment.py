"""The loop over a segment: where it starts, events, samples, blocks of steps, how it ended.

An `Integrator` gives blocks of accepted steps; the rest happens here, the same for every backend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from daesolve.core.formulations import OdeProblem
from daesolve.core.results.trajectory.results import Dense, StepBlock
from daesolve.core.solvers.dense_segments import DenseSegment
from daesolve.core.solvers.observers import Observer, step_observer
from daesolve.core.solvers.step_checks import StepChecks, StepRejection

NOT_FINITE = "the state is no longer finite"
NO_RATE = "the rate of the state is not finite"
STALLED = "the steps have become too small to continue"
UNREPEATABLE = "a step passed over a singular position"
FEW_AHEAD = 16
"""Steps to take at once, at least, after one that was doubted."""
MOST_AHEAD = 10_000
"""Steps from which it is not bounded any more."""
FARTHER = 8.0
"""The factor between the lengths of successive legs if a block is a whole leg."""
MOST_VAIN = 60
"""How often the first step from a state may be doubted."""
MOST_REJECTIONS, CRAWL = 300, 1e-6
"""So many doubts within this fraction of what is left lead nowhere."""


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

    REACHED = "the segment reached its end"
    PAUSED = "the guards must be looked at before the motion goes on"
    STOPPED = "an event interrupted the motion"
    HALTED = "the observer of the steps stopped the run"
    FAILED = "the solver could not continue"


@dataclass(frozen=True)
class SegmentEnd:
    """The result of a segment.

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
        How many steps it took, and how many right-hand sides it evaluated.
    """

    status: Status
    message: str
    time: float
    state: np.ndarray
    samples: np.ndarray
    hits: tuple[EventHit, ...]
    steps: int
    rhs_evaluations: int

    def followed_by(self, rest: SegmentEnd) -> SegmentEnd:
        """Return this and a rest that begins at its end as one segment."""
        return replace(
            rest,
            samples=np.vstack([self.samples, rest.samples]),
            hits=(*self.hits, *rest.hits),
            steps=self.steps + rest.steps,
            rhs_evaluations=self.rhs_evaluations + rest.rhs_evaluations,
        )


class StepError(Exception):
    """A method cannot continue; the message gives the reason.

    Parameters
    ----------
    message
        The reason.
    kept
        How many steps of the current block are kept.
    """

    def __init__(self, message: str, kept: int = 0) -> None:
        super().__init__(message)
        self.kept = kept


class GuardError(StepError):
    """A guard is not finite; the message names its event.

    Parameters
    ----------
    message
        The sentence.
    hits
        The events before.
    last
        The guard, and the last time and state at which it is finite.
    """

    def __init__(self, message: str, hits: Sequence[EventHit], last: EventHit) -> None:
        super().__init__(message)
        self.hits, self.last = hits, last


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
        """Return states within these steps, of the method's own order of accuracy, in new arrays.

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

    def kept(self) -> Dense | None:
        """Return what gives the states within, in memory of its own; None if it is unknown."""
        return None

    def course(self, times: np.ndarray, states: np.ndarray) -> DenseSegment | None:
        """Return the solution between the ends of the first steps.

        None if it is unknown, or no closer look is requested.

        Parameters
        ----------
        times, states
            The ends of these steps; the last is cut short where an event interrupts.
        """
        return None


Renew = Callable[[State, float], "Integrator"]
"""(start, end) -> a method at work from there."""


class Integrator(ABC):
    """A method at work on a problem.

    Parameters
    ----------
    problem
        The functions.
    checks
        What steps are held against; None if they are not.
    renew
        Makes another one, which starts elsewhere; None if this one can.
    """

    problem: OdeProblem
    checks: StepChecks | None = None
    renew: Renew | None = None
    whole: bool = False
    """Whether a block is all up to the end, so that much is lost where a step of it is doubted."""

    @abstractmethod
    def blocks(self, segment: Segment) -> Generator[Block]:
        """Yield blocks of accepted steps from the start of a segment to its end.

        A method that fails yields a block with the reason. After a block in which an event
        interrupts, or that the observer makes the last, no other is requested.
        """

    def segment(self, start: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate; see `Solver.segment`."""
        segment = Segment(self.problem, start, until, at, observe)
        segment.integrator = integrator = self
        while True:
            with closing(integrator.blocks(segment)) as blocks:
                for block in blocks:
                    if segment.take(block):
                        break
            if not segment.goes_on():
                return segment.end()
            integrator = self.restarted(segment.start, segment.until)
            integrator.checks = self.checks

    def restarted(self, start: State, until: float) -> Integrator:
        """Return the method, ready to continue from another start."""
        return self if self.renew is None else self.renew(start, until)

    def arrive(self, start: State, until: float) -> np.ndarray | None:
        """Return the state at a time, a step or so from a start; None if it is not reached.

        Events are passed over, and the steps are not reported.
        """
        return None


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
        self.problem, self.start, self.at = problem, start, at
        self.until: float = until
        self.observe = step_observer(observe)
        self.sign = 1.0 if until >= start.time else -1.0
        self.time, self.state = start.time, start.x.copy()
        self.samples = [start.x.copy() for time in at if time == start.time]
        self.hits: list[EventHit] = []
        self.status, self.message = Status.REACHED, ""
        self.steps = self.evaluations = self._reported = 0
        self.integrator: Integrator | None = None
        self.ahead: int | None = None
        self._final, self._vain = until, 0
        self._doubt: StepRejection | None = None
        self._rejections: deque[float] = deque(maxlen=MOST_REJECTIONS)

    def take(self, block: Block) -> bool:
        """Take in a block of steps; return whether it is the last."""
        times, states, failure = block.times, block.states, block.failure
        hits: Sequence[EventHit] = ()
        stop: EventHit | None = None
        last: EventHit | None = None
        try:
            if len(times) > 1 and self.problem.events:
                hits, last, failure = _events(block)
                stop = first_stop(self.problem, hits)
            times, states = self._up_to(stop or last, times, states)
            self._doubt = self._rejected(block, times, states, hits)
            if self._doubt is not None:
                kept = self._doubt.step + 1
                times, states, stop, failure = times[:kept], states[:kept], None, ""
                hits = [hit for hit in hits if self.sign * (hit.time - times[-1]) <= 0.0]
            self.samples.extend(block.samples(self.pending(float(times[-1]))))
        except StepError as error:
            times, states = times[: error.kept + 1], states[: error.kept + 1]
            failure, stop = str(error), None
            hits = [hit for hit in hits if self.sign * (hit.time - times[-1]) <= 0.0]
        dropped = 0
        if len(times) > 1:
            dropped = len(times) - 1 - self.observe.accepted_count(times[1:], states[1:])
        if dropped:
            times, states = times[:-dropped], states[:-dropped]
            stop, failure, self._doubt = None, "", None
            hits = [hit for hit in hits if self.sign * (hit.time - times[-1]) <= 0.0]
        if failure or dropped or self._doubt is not None:
            self._drop_samples(float(times[-1]))
        self.hits.extend(hits)
        halts = self._observed(block, times, states) or bool(dropped)
        if stop is not None:
            self.status, self.message = Status.STOPPED, ""
        elif halts:
            self.status, self.message = Status.HALTED, ""
        elif failure:
            self.status, self.message = Status.FAILED, failure
        return self._doubt is not None or self.status is not Status.REACHED

    def _up_to(
        self, last: EventHit | None, times: np.ndarray, states: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of steps, none beyond a place where the motion is interrupted."""
        if last is None or last.time == times[-1]:
            return times, states
        before = self.sign * (times - last.time) < 0.0
        before[0] = True
        self._drop_samples(last.time)
        return np.append(times[before], last.time), np.vstack([states[before], last.state])

    def _rejected(
        self, block: Block, times: np.ndarray, states: np.ndarray, hits: Sequence[EventHit]
    ) -> StepRejection | None:
        """Return the first step of a block that does not agree with the equations."""
        integrator = self.integrator
        if integrator is None or integrator.checks is None or len(times) < 2:
            return None
        course = block.course(times, states)

        def retake(step: int, time: float) -> np.ndarray | None:
            found, start = states[step], float(times[step])
            for end in (time, float(times[step + 1])):
                if not np.isfinite(found).all():
                    return None
                begin = State(start, found, self.start.p)
                arrived = integrator.restarted(begin, end).arrive(begin, end)
                if arrived is None:
                    return None
                start, found = end, arrived
            return found

        stopped = first_stop(self.problem, hits) is not None
        met = [(hit.index, hit.time) for hit in hits]
        doubt = None
        if course is not None:
            doubt = integrator.checks.doubt(course, stopped=stopped, retake=retake, met=met)
        if doubt is not None:
            self.ahead = max(2 * doubt.step, FEW_AHEAD)
        elif self.ahead is not None:
            self.ahead = 2 * self.ahead if self.ahead < MOST_AHEAD else None
        return doubt

    def goes_on(self) -> bool:
        """Begin another leg where a step was doubted, or a leg ended in such a step.

        The leg ends where the step ceases to be right, so that what it did not see is in sight at
        the start of the next step.
        """
        doubt, self._doubt = self._doubt, None
        if doubt is None and self.status is Status.REACHED and self.time != self.until:
            self.status, self.message = Status.FAILED, STALLED
        if self.status is not Status.REACHED or (doubt is None and self.until == self._final):
            return False
        crawls = False
        if doubt is None:
            self._vain = 0
        else:
            self._vain = 0 if self.time != self.start.time else self._vain + 1
            crawls = len(self._rejections) == MOST_REJECTIONS and (
                abs(self.time - self._rejections[0])
                < CRAWL * abs(self._final - self._rejections[0])
            )
            self._rejections.append(self.time)
        least = 4.0 * np.spacing(max(abs(self.time), abs(self._final)))
        until = self._final if doubt is None else doubt.until
        if doubt is None and self.integrator is not None and self.integrator.whole:
            gone = FARTHER * (self.until - self.start.time)
            until = self.time + gone if abs(gone) < abs(until - self.time) else until
        vain = crawls or self._vain > MOST_VAIN or abs(until - self.time) <= least
        if doubt is not None and vain:
            self.status, self.message = Status.FAILED, doubt.sentence
            return False
        self.start, self.until = State(self.time, self.state.copy(), self.start.p), until
        return True

    def _observed(self, block: Block, times: np.ndarray, states: np.ndarray) -> bool:
        """Count steps, and hand them over; return whether they must be the last."""
        kept = len(times) - 1
        self.evaluations += block.evaluations(kept)
        if not kept:
            return False
        self.steps += kept if block.taken is None else block.taken
        self.time, self.state = float(times[-1]), states[-1].copy()
        spent, self._reported = self.evaluations - self._reported, self.evaluations
        dense = block.kept() if self.observe.keeps else None
        return bool(self.observe(StepBlock(times[1:], states[1:], spent, block.taken, dense)))

    def pending(self, end: float) -> np.ndarray:
        """Return the sample times up to an end at which no sample has been taken yet."""
        taken = len(self.samples)
        if self.sign > 0.0:
            reached = int(self.at.searchsorted(end, side="right"))
        else:
            reached = len(self.at) - int(self.at[::-1].searchsorted(end, side="left"))
        return self.at[taken : max(reached, taken)]

    def _drop_samples(self, end: float) -> None:
        """Drop the samples beyond an end."""
        reached = self.sign * (self.at[: len(self.samples)] - end) <= 0.0
        del self.samples[int(np.sum(reached)) :]

    def end(self) -> SegmentEnd:
        """Return the result of the segment."""
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


def _events(block: Block) -> tuple[Sequence[EventHit], EventHit | None, str]:
    """Return the events in a block; where a guard ceases to be finite, and why no step follows."""
    try:
        return block.hits(), None, block.failure
    except GuardError as error:
        return error.hits, error.last, str(error)


def first_stop(problem: OdeProblem, hits: Iterable[EventHit]) -> EventHit | None:
    """Return the first event that interrupts the motion, if one does."""
    return next((hit for hit in hits if problem.guarded[hit.index].then.interrupts), None)


def stacked(samples: Sequence[np.ndarray], size: int) -> np.ndarray:
    """Return samples as a table, (k, size)."""
    return np.array(samples).reshape(len(samples), size)

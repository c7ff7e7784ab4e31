"""Methods that give one accepted step after the other."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence

import numpy as np

from daesolve.core.expressions.blocks import StateFunction, evaluate_block
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.dense_segments import AcceptedSteps, DenseSegment, cubics, inner_states
from daesolve.core.solvers.guards import found_hits
from daesolve.core.solvers.segment import (
    NOT_FINITE,
    STALLED,
    UNREPEATABLE,
    Block,
    EventHit,
    GuardError,
    Integrator,
    Segment,
    State,
    StepError,
    first_stop,
)

BLOCK = 500
"""Steps after which events are looked for, and the observer sees them, at the latest."""
SHRINKS = 4.0
"""A step so many times shorter than the longest one since steps were last looked at is a reason to
look at once."""
AT_LEAST = 8
"""Steps that are looked at together."""
STUCK_AFTER = 200
"""Steps that must have moved the time."""
REPEATED_BY = 1000
"""Steps beyond which a part of one step cannot be repeated."""

Step = tuple[float, np.ndarray]
Interpolant = Callable[[np.ndarray], np.ndarray]
"""times (j,) -> states (j, size)"""


class Pace:
    """Decides when to look at accepted steps: after so many, or as soon as they shrink.

    Parameters
    ----------
    most
        After how many steps.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0
        self.longest = 0.0

    def due(self, step: float) -> bool:
        """Take in the length of a step; return whether to look at the steps now."""
        self.count += 1
        length = abs(step)
        self.longest = max(self.longest, length)
        shrunk = self.count >= AT_LEAST and length * SHRINKS < self.longest
        if not (shrunk or self.count >= self.most):
            return False
        self.count, self.longest = 0, length
        return True


class Stepper(Integrator):
    """A method that gives one accepted step after the other.

    A subclass defines `steps`; samples, events, halting and stalls follow from it. Where the method
    knows states within its last step it may define `within` as well, and where that is cheap
    `interpolant`.

    Parameters
    ----------
    problem
        The functions.
    p
        The values.

    Attributes
    ----------
    rate
        (t, x) -> x', which counts its calls.
    """

    samples_each_step: bool = False
    """Whether `within` gives samples; if not, steps are repeated up to them."""

    def __init__(self, problem: OdeProblem, p: np.ndarray) -> None:
        self.problem, self.p = problem, p
        self.rate = StateFunction(problem.rhs, p)
        self.reported = 0

    @property
    def evaluations(self) -> int:
        """How many right-hand sides were evaluated."""
        return self.rate.calls

    @abstractmethod
    def steps(self, start: State, until: float) -> Iterator[Step]:
        """Yield the time and the state, a new array, at the end of each accepted step.

        The last step ends at `until` exactly, which lies before the start to integrate backwards.

        Raises
        ------
        StepError
            The method cannot continue.
        """

    def again(self, start: State, until: float) -> Iterator[Step]:
        """Yield the steps from the start of a step to a time in it, beside the main sequence."""
        return self.steps(start, until)

    def within(self, time: float) -> np.ndarray:
        """Return the state at a time in the last step that `steps` yielded."""
        raise NotImplementedError

    def step_hits(self) -> list[EventHit] | None:
        """Return the events in the last step; None if blocks of steps are searched."""
        return None

    def blocks(self, segment: Segment) -> Generator[Block]:
        """Yield blocks of steps; see `Integrator.blocks`."""
        gathered, failure = Gathered(self, segment), ""
        try:
            for time, x in self.steps(segment.start, segment.until):
                if gathered.add(time, x):
                    yield gathered.block()
        except StepError as error:
            failure = str(error)
        if failure or gathered.count:
            yield gathered.block(failure)

    def advance(self, start: State, time: float) -> np.ndarray | None:
        """Integrate from the start of a step to a time in it; None if it takes too long."""
        if time == start.time:
            return start.x
        found = start.x
        try:
            for number, (_, x) in enumerate(self.again(start, time)):
                if number >= REPEATED_BY:
                    return None
                found = x
        except StepError:
            return None
        return found

    def arrive(self, start: State, until: float) -> np.ndarray | None:
        """Integrate to a time some steps away, without reporting the steps."""
        return self.advance(start, until)

    def interpolant(self, start: State, end: float) -> Interpolant:
        """Take a step once more, and return what gives states in it: most are never needed.

        Cubics pass through the shorter steps that a fresh start takes.
        """
        from scipy.interpolate import CubicHermiteSpline  # takes long to import, and is rarely used

        passed = [(start.time, start.x), *self.again(start, end)]
        times, states = _moved(np.array([t for t, _ in passed]), np.array([x for _, x in passed]))
        rates = evaluate_block(self.problem.rhs, times, states, self.p)[0]
        sign = 1.0 if end >= start.time else -1.0
        spline: Callable[..., np.ndarray] = CubicHermiteSpline(sign * times, states, sign * rates)
        return lambda moments: spline(sign * moments)

    def resolve(self, times: np.ndarray, states: np.ndarray) -> AcceptedSteps:
        """Return what lies between the ends of steps."""
        times, states = _moved(times, states)
        sign = 1.0 if times[-1] >= times[0] else -1.0
        rates = evaluate_block(self.problem.rhs, times, states, self.p)[0]

        @functools.cache
        def interpolant(step: int) -> Interpolant:
            return self.interpolant(State(times[step], states[step], self.p), times[step + 1])

        def dense(moments: np.ndarray) -> np.ndarray:
            steps = np.searchsorted(sign * times, sign * moments, side="right") - 1
            steps = np.clip(steps, 0, len(times) - 2)
            found = np.empty((len(moments), states.shape[1]))
            for step in sorted(set(steps.tolist())):
                found[steps == step] = interpolant(step)(moments[steps == step])
            return found

        def advance(step: int, time: float) -> np.ndarray:
            found = self.advance(State(times[step], states[step], self.p), time)
            return dense(np.array([time]))[0] if found is None else found

        return AcceptedSteps(times, states, inner_states(times, states, rates), dense, advance)


class Gathered:
    """Steps that will be a block, with the samples and events in each.

    Parameters
    ----------
    stepper
        What takes the steps.
    segment
        Receives the samples.
    """

    def __init__(self, stepper: Stepper, segment: Segment) -> None:
        self._stepper, self._segment = stepper, segment
        self._stall = Stall(STUCK_AFTER, abs(segment.until - segment.start.time))
        self._begin(segment.time, segment.state)

    def _begin(self, time: float, x: np.ndarray) -> None:
        self._times, self._states = [time], [x]
        self._hits: list[EventHit] | None = None
        self._pace = Pace(BLOCK)
        self._failure = ""

    @property
    def count(self) -> int:
        """How many steps there are."""
        return len(self._times) - 1

    @property
    def last(self) -> State:
        """Where the last step ended."""
        return State(self._times[-1], self._states[-1], self._segment.start.p)

    def add(self, time: float, x: np.ndarray) -> bool:
        """Take in a step; return whether the block is full, or an event in it interrupts.

        Raises
        ------
        StepError
            The method cannot continue from it.
        """
        stepper, problem = self._stepper, self._segment.problem
        if not np.all(np.isfinite(x)):
            raise StepError(NOT_FINITE)
        if self._stall.at(time):
            raise StepError(STALLED)
        full = self._pace.due(time - self._times[-1])
        hits, last = self._hits_of_step()
        stop = (first_stop(problem, hits) if hits else None) or last
        if stop is not None:
            time, x = stop.time, stop.state
        if stepper.samples_each_step:
            samples = self._segment.samples
            for moment in self._segment.pending(time).tolist():
                samples.append(x.copy() if moment == time else stepper.within(moment))
        if hits is not None:
            self._hits = [*(self._hits or ()), *hits]
        self._times.append(time)
        self._states.append(x)
        return full or stop is not None

    def _hits_of_step(self) -> tuple[Sequence[EventHit] | None, EventHit | None]:
        """Return the events in the last step, and where a guard ceases to be finite in it."""
        if not self._segment.problem.events:
            return None, None
        try:
            return self._stepper.step_hits(), None
        except GuardError as error:
            self._failure = str(error)
            return error.hits, error.last

    def block(self, failure: str = "") -> Block:
        """Return the steps as a block, and begin another one."""
        times, states = np.array(self._times), np.array(self._states)
        failure = failure or self._failure
        made = _Stepped(self._stepper, times, states, self._hits, failure)
        self._begin(self._times[-1], self._states[-1])
        return made


def _moved(times: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of steps that have a length: a method that is stuck takes others as well."""
    moved = np.append(True, np.diff(times) != 0.0)
    return times[moved], states[moved]


class _Stepped(Block):
    """Steps of a stepper; their events where they are known already."""

    def __init__(
        self,
        stepper: Stepper,
        times: np.ndarray,
        states: np.ndarray,
        known: Sequence[EventHit] | None,
        failure: str,
    ) -> None:
        super().__init__(times, states, failure)
        self.stepper, self.known = stepper, known

    def hits(self) -> Sequence[EventHit]:
        if self.known is not None:
            return self.known
        stepper = self.stepper
        steps = stepper.resolve(self.times, self.states)
        return found_hits(stepper.problem, stepper.p, steps)

    def course(self, times: np.ndarray, states: np.ndarray) -> DenseSegment | None:
        stepper = self.stepper
        if stepper.checks is None or not stepper.checks.hiding:
            return None
        return cubics(stepper.problem, stepper.p, times, states)

    def samples(self, times: np.ndarray) -> Iterator[np.ndarray]:
        """Yield samples, each by a step from the end of the step before it.

        A step that many small ones cannot repeat passed over what it did not see: the segment ends
        before it.
        """
        sign = 1.0 if self.times[-1] >= self.times[0] else -1.0
        places = np.searchsorted(sign * self.times, sign * times)
        for time, step in zip(times.tolist(), places.tolist(), strict=True):
            if self.times[step] == time:
                yield self.states[step]
                continue
            before = State(float(self.times[step - 1]), self.states[step - 1], self.stepper.p)
            found = self.stepper.advance(before, time)
            if found is None:
                raise StepError(UNREPEATABLE, step - 1)
            yield found

    def evaluations(self, kept: int) -> int:
        before, self.stepper.reported = self.stepper.reported, self.stepper.evaluations
        return self.stepper.reported - before


class Stall:
    """Notices steps without progress: the last ones together moved less than rounding.

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
        """Take in the end of a step; return whether the method is stuck."""
        self._ends.append(time)
        if len(self._ends) <= self._after:
            return False
        return abs(time - self._ends[0]) < 1e-12 * max(abs(time), self._scale)

"""One segment step by step: accepted steps, samples in them and events, for Assimulo's solvers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from daesolve.algebra.evaluation import BufferedFunction
from daesolve.algebra.translation import evaluate_block
from daesolve.formulations import OdeProblem
from daesolve.solvers.guards import Steps, crossings, find_events, inner_states
from daesolve.solvers.segment_end import EventHit, Observer, State, Status
from daesolve.solvers.stepping import Pace
from daesolve.trajectory.results import StepBlock

BLOCK = 500
"""Steps after which they are handed over, at the latest."""
STUCK_AFTER = 200
"""Steps that must have moved the time."""

Interpolant = Callable[[float], np.ndarray]

AfterStep = Callable[[float, np.ndarray, Interpolant], bool]
"""Called after each step with its end and what gives states at times in it; returns whether that
is enough."""

Integrate = Callable[[State, float, AfterStep], str]
"""Integrates from a start to a time; returns why it did not arrive, "" where it did."""


@dataclass
class Segment:
    """A segment under way.

    Parameters
    ----------
    problem, start, until, at
        Those of `Solver.segment`.
    integrate
        The method.
    interpolates
        Whether states within a step come at the method's own order.
    observe
        Receives every accepted step.
    evaluations
        Tells how often rates or residuals were evaluated so far.
    """

    problem: OdeProblem
    start: State
    until: float
    at: np.ndarray
    integrate: Integrate
    interpolates: bool
    observe: Observer
    evaluations: Callable[[], int]
    samples: list[np.ndarray] = field(default_factory=list[np.ndarray])
    hits: list[EventHit] = field(default_factory=list[EventHit])
    failure: str = ""
    halted: bool = False

    def __post_init__(self) -> None:
        self.sign = 1.0 if self.until >= self.start.time else -1.0
        self.times = [self.start.time]
        self.states = [self.start.x.copy()]
        self._pace = Pace(BLOCK)
        self._handed, self._told = 0, 0
        self._guards = BufferedFunction(self.problem.guards, self.start.p)
        self._guarded = self._guards(self.start.time, self.start.x)
        self.samples += [self.start.x.copy() for time in self.at if time == self.start.time]
        self._stopping = any(event.then.interrupts for event in self.problem.events)

    def run(self) -> tuple[Status, str]:
        """Integrate, and hand over the steps that were not handed over on the way."""
        status, message = self._run()
        self._hand_over(len(self.times))
        return status, message

    def _run(self) -> tuple[Status, str]:
        """Integrate, pausing where an event may stop the run, to see whether it does."""
        while self.times[-1] != self.until:
            first = len(self.times) - 1
            here = State(self.times[-1], self.states[-1], self.start.p)
            told = self.integrate(here, self.until, self._after)
            if not self.interpolates:
                self._sample_again()
            if self._stopped(first):
                return Status.STOPPED, ""
            if self.halted:
                return Status.HALTED, ""
            if self.failure or told:
                return Status.FAILED, self.failure or told
            if self.times[-1] == here.time:
                return Status.FAILED, "the solver took no step"
        return Status.REACHED, ""

    def _after(self, time: float, x: np.ndarray, interpolate: Interpolant) -> bool:
        """Take in a step; pause after what may be a stop, end where there is no going on."""
        if not np.all(np.isfinite(x)):
            self.failure = "the state is no longer finite"
        elif self._stuck(time):
            self.failure = "the steps have become too small to go on"
        if self.failure:
            return True
        if self.interpolates:
            self._sample(time, x, interpolate)
        due = self._pace.due(time - self.times[-1])
        self.times.append(time)
        self.states.append(x)
        if due:
            # An event may yet cut the last step short.
            self.halted = self._hand_over(len(self.times) - 1)
        return self.halted or (self._stopping and self._may_stop(time, x))

    def _hand_over(self, end: int) -> bool:
        """Give steps away up to one, counted from 0; return whether they are to be the last."""
        first, self._handed = self._handed + 1, max(end - 1, self._handed)
        if end <= first:
            return False
        spent, self._told = self.evaluations() - self._told, self.evaluations()
        times, states = np.array(self.times[first:end]), np.array(self.states[first:end])
        return self.observe(StepBlock(times, states, spent)) is True

    def _stuck(self, time: float) -> bool:
        """Tell whether many steps have led nowhere."""
        if len(self.times) <= STUCK_AFTER:
            return False
        moved = abs(time - self.times[-STUCK_AFTER])
        return moved < 1e-12 * max(abs(time), abs(self.until - self.start.time))

    def _may_stop(self, time: float, x: np.ndarray) -> bool:
        """Tell whether a guard that stops has changed its sign in the last step."""
        before, self._guarded = self._guarded, self._guards(time, x)
        directions = [event.direction for event in self.problem.guarded]
        passed = crossings(before, self._guarded, directions)
        return any(self.problem.guarded[index].then.interrupts for index in passed)

    # -- samples -------------------------------------------------------------------------------

    def _sample(self, end: float, x: np.ndarray, interpolate: Interpolant) -> None:
        """Take the samples up to the end of a step that is not yet written down."""
        for time in self._pending(end):
            self.samples.append(x.copy() if time == end else interpolate(time))

    def _sample_again(self) -> None:
        """Take the samples up to where it has come, each by a step from the step before it."""
        ends = self.sign * np.array(self.times)
        for time in self._pending(self.times[-1]):
            step = int(np.searchsorted(ends, self.sign * time))
            on_end = self.times[step] == time
            self.samples.append(
                self.states[step].copy() if on_end else self._advance(step - 1, time)
            )

    def _pending(self, end: float) -> list[float]:
        rest = self.at[len(self.samples) :]
        return [float(time) for time in rest[self.sign * (rest - end) <= 0.0]]

    # -- once more, beside the main sequence ---------------------------------------------------

    def _again(self, step: int, until: float) -> tuple[np.ndarray, np.ndarray]:
        """Integrate from the start of a step to a time within it; return what is passed."""
        times, states = [self.times[step]], [self.states[step]]

        def after(time: float, x: np.ndarray, interpolate: Interpolant) -> bool:
            times.append(time)
            states.append(x)
            return False

        if until != times[0]:
            self.integrate(State(times[0], states[0], self.start.p), until, after)
        return np.array(times), np.array(states)

    def _advance(self, step: int, time: float) -> np.ndarray:
        return self._again(step, time)[1][-1]

    # -- events --------------------------------------------------------------------------------

    def _stopped(self, first: int) -> bool:
        """Write the events down since a step; end at the first one that stops, if any does."""
        if not self.problem.events or self.times[-1] == self.times[first]:
            return False
        for hit in find_events(self.problem, self.start.p, self._since(first)):
            self.hits.append(hit)
            if self.problem.guarded[hit.index].then.interrupts:
                kept = int(np.sum(self.sign * (np.array(self.times) - hit.time) < 0.0))
                self.times[kept:], self.states[kept:] = [hit.time], [hit.state]
                reached = self.sign * (self.at[: len(self.samples)] - hit.time) <= 0.0
                del self.samples[int(np.sum(reached)) :]
                return True
        return False

    def _since(self, first: int) -> Steps:
        times, states = np.array(self.times[first:]), np.array(self.states[first:])

        from scipy.interpolate import CubicHermiteSpline  # takes long to import, and is rarely used

        def rates(moments: np.ndarray, there: np.ndarray) -> np.ndarray:
            return evaluate_block(self.problem.rhs, moments, there, self.start.p)[0]

        @functools.cache
        def between(step: int) -> CubicHermiteSpline:
            """Cubics through the shorter steps that a fresh start takes within this one."""
            passed, there = self._again(first + step, float(times[step + 1]))
            return CubicHermiteSpline(self.sign * passed, there, self.sign * rates(passed, there))

        def dense(moments: np.ndarray) -> np.ndarray:
            steps = np.searchsorted(self.sign * times, self.sign * moments, side="right") - 1
            steps = np.clip(steps, 0, len(times) - 2)
            found = np.empty((len(moments), states.shape[1]))
            for step in np.unique(steps):
                inside = steps == step
                found[inside] = between(int(step))(self.sign * moments[inside])
            return found

        def advance(step: int, time: float) -> np.ndarray:
            return self._advance(first + step, time)

        inner = inner_states(times, states, rates(times, states))
        return Steps(times, states, inner, dense, advance)

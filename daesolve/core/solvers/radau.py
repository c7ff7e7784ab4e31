"""Radau IIA with exact Jacobians, for stiff equations with many interruptions.

A one-step method continues from an event at once, and a step to a time within a step is as accurate
as the whole one: samples and events are found by such steps, not by a polynomial of lower order.

A call of `guards.find_events`, which serves many steps at once, costs some milliseconds. Here a few
values of a step's polynomial decide, or many where these do not suffice; `find_events` is called
only where these show nothing smooth either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from daesolve.core.expressions.blocks import StateFunction
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.accepted_steps import INNER, AcceptedSteps
from daesolve.core.solvers.base import NEWTON
from daesolve.core.solvers.collocation import ITERATIONS, Collocated, CollocationStepper, radau
from daesolve.core.solvers.error_control import ErrorControlled
from daesolve.core.solvers.guards import LOOKS, POLE, crossings, find_events, locate
from daesolve.core.solvers.hidden_terms import phases
from daesolve.core.solvers.segment import (
    NO_RATE,
    UNREPEATABLE,
    EventHit,
    State,
    StepError,
    first_stop,
)
from daesolve.core.solvers.shapes import dips, grazes, unresolved
from daesolve.core.solvers.stepping import REPEATED_BY, Step, Stepper
from daesolve.core.solvers.swings import FAR, turned
from daesolve.errors import OutOfRangeError, is_one_of

SMALLEST_RTOL = 100 * float(np.finfo(float).eps)
"""Rounding in Newton's iteration allows no less."""
FINE = 1e-7
"""Below this tolerance five stages take less time than three."""


CLOSE = 8
"""The factor by which looks increase if the first ones do not settle it."""
AROUND = 1e-6
"""The fraction of a step within which the zero of the step itself is expected around the zero of
its polynomial."""
WIDER = 100.0
COUNTS = (LOOKS, CLOSE * LOOKS)

Advance = Callable[[float], np.ndarray | None]


@dataclass(frozen=True)
class RadauIIA(ErrorControlled):
    """The implicit Runge-Kutta method Radau IIA, with the exact Jacobian.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    stages
        3 (order 5) or 5 (order 9); None takes 3 for tolerances above 1e-7, else 5.
    """

    stages: int | None = None
    name: ClassVar[str] = "radau"
    projects_steps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_below_smallest()
        if not is_one_of(self.stages, (None, *ITERATIONS)):
            raise OutOfRangeError(f"{self.name}: stages is {self.stages!r}, but must be 3 or 5")

    @property
    def smallest_rtol(self) -> float:
        """What rounding allows."""
        return SMALLEST_RTOL

    def tolerances(self) -> dict[str, float]:
        """Return rtol and atol, and the stages where they were chosen."""
        stages = {} if self.stages is None else {"stages": self.stages}
        return super().tolerances() | stages

    def converges_to(self, problem: OdeProblem) -> float:
        """Count with an iteration that goes far below the tolerance: to its root, times it."""
        return NEWTON

    def halts_at_events(self, problem: OdeProblem) -> bool:
        """Go no farther than the step in which the first event that interrupts lies."""
        return True

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Stepper:
        """Return the method at work."""
        stages = self.stages or (3 if self.rtol > FINE else 5)
        return _Stepper(Collocated(problem, start.p, radau(stages), self.rtol, self.atol))


class _Stepper(Stepper):
    """Steps of collocation, with the events in each."""

    samples_each_step = True

    def __init__(self, method: Collocated) -> None:
        super().__init__(method.problem, method.p)
        self._method = method
        self._march: CollocationStepper | None = None
        self._watch = StepWatch(method.problem, method.p) if method.problem.events else None

    @property
    def evaluations(self) -> int:
        """How many right-hand sides were evaluated."""
        return self._method.evaluations

    def steps(self, start: State, until: float) -> Iterator[Step]:
        """Yield the ends of steps."""
        self._march = march = CollocationStepper(self._method, start.time, start.x.copy(), until)
        if not np.all(np.isfinite(march.f)):
            raise StepError(NO_RATE)
        while march.time != until:
            message = march.step()
            if message:
                raise StepError(message)
            yield march.time, march.x

    def step_hits(self) -> list[EventHit]:
        """Return the events in the last step, up to the first that interrupts, and with it."""
        assert self._march is not None
        assert self._watch is not None
        found = self._watch.hits(self._march, self._advance)
        stop = first_stop(self.problem, found)
        if stop is None:
            return found
        count = found.index(stop) + 1
        return [*found[:count], *self._watch.passed(stop, found[count:])]

    def within(self, time: float) -> np.ndarray:
        """Return the state at a time in the last step, by a step to it."""
        found = self._advance(time)
        if found is None:
            raise StepError(UNREPEATABLE)
        return found

    def _advance(self, time: float) -> np.ndarray | None:
        """Step from the start of the last step to a time in it; None if it takes too long."""
        march, method = self._march, self._method
        assert march is not None
        before, x = march.start
        if time == before:
            return x
        once = march.shortened(time - before)
        if once is not None:
            return once if method.project is None else method.project(time, once)
        beside = CollocationStepper(method, before, x, time)
        for _ in range(REPEATED_BY):
            if beside.step():
                return None
            if beside.time == time:
                return beside.x
        return None


class StepWatch:
    """Finds the events in one step after the other.

    Parameters
    ----------
    problem, p
        Its guards, and the values.
    """

    def __init__(self, problem: OdeProblem, p: np.ndarray) -> None:
        self._problem, self._p = problem, p
        self._guards = StateFunction(problem.guards, p)
        self._looks = {count: StateFunction(problem.guards, p, count) for count in COUNTS}
        self._directions = [event.direction for event in problem.guarded]
        self._swings = phases(problem.guards) is not None
        self._last: tuple[float, np.ndarray, np.ndarray] | None = None

    def hits(self, march: CollocationStepper, advance: Advance) -> list[EventHit]:
        """Return the events in the last step in order, up to the first that interrupts.

        Parameters
        ----------
        march
            After the step.
        advance
            time -> state of the method's own accuracy, from the start of the step.
        """
        values = self._values(march, LOOKS)
        near, finite = _near(values), bool(np.all(np.isfinite(values)))
        if self._turns_far(march, advance) or (near and not finite):
            return self._found_in_general(march, advance)
        if not near:
            return []
        if _unclear(values):
            values = self._values(march, CLOSE * LOOKS)
            if _unresolved(values) or np.any(grazes(values)):
                return self._found_in_general(march, advance)
        found: list[EventHit] = []
        looks = march.start[0] + march.step_taken * np.linspace(0.0, 1.0, len(values))
        looks[-1] = march.time
        for left in np.flatnonzero(np.any(values[:-1] * values[1:] <= 0.0, axis=1)):
            for index in crossings(values[left], values[left + 1], self._directions):
                hit = self._located(
                    march, advance, index, (float(looks[left]), float(looks[left + 1]))
                )
                if hit is None:
                    return self._found_in_general(march, advance)
                sides = np.max(np.abs(values[left : left + 2, index]))
                if abs(self._guards(hit.time, hit.state)[index]) <= POLE * sides:
                    found.append(hit)
            if any(self._problem.guarded[hit.index].then.interrupts for hit in found):
                break
        guarded = self._problem.guarded
        return sorted(
            found, key=lambda hit: (march.sign * hit.time, guarded[hit.index].then.interrupts)
        )

    def passed(self, stop: EventHit, others: Sequence[EventHit]) -> list[EventHit]:
        """Return which of other events have happened where the motion is interrupted.

        But for rounding they are at the same time; from there on they would not be seen.
        """
        values = self._guards(stop.time, stop.state)
        found: list[EventHit] = []
        for hit in others:
            way = self._directions[hit.index].value
            if way * values[hit.index] >= 0.0 and (way or values[hit.index] == 0.0):
                found.append(EventHit(hit.index, stop.time, stop.state))
        return found

    def _values(self, march: CollocationStepper, count: int) -> np.ndarray:
        """Return the guards at the start of the step and at looks into it, (count + 1, guards)."""
        start, parts = march.start, np.arange(1, count + 1) / count
        if self._last is None or self._last[0] != march.time:
            known = self._last is not None and self._last[0] == start[0]
            first = self._last[2] if known and self._last else self._guards(start[0], start[1])
        else:
            first = self._last[1]
        states = march.inside(parts)
        states[-1] = march.x
        times = start[0] + march.step_taken * parts
        table = self._looks[count](times, states)
        self._last = march.time, first, table[-1]
        return np.vstack([first, table])

    def _located(
        self, march: CollocationStepper, advance: Advance, index: int, bracket: tuple[float, float]
    ) -> EventHit | None:
        """Find a zero first on the polynomial of the step, then by steps to it."""
        start, span = march.start, march.step_taken

        def on_polynomial(time: float) -> float:
            if time == march.time:
                return float(self._guards(time, march.x)[index])
            state = march.inside(np.array([(time - start[0]) / span]))[0]
            return float(self._guards(time, state)[index])

        def state_at(time: float) -> np.ndarray:
            found = march.x if time == march.time else advance(time)
            if found is None:
                raise _CannotBeRepeatedError
            return found

        def guard(time: float, x: np.ndarray) -> float:
            return float(self._guards(time, x)[index])

        try:
            low, high = bracket
            ends = [on_polynomial(low), on_polynomial(high)]
            if ends[0] * ends[1] < 0.0:
                near = float(scipy.optimize.brentq(on_polynomial, low, high, rtol=1e-12))
                low, high = self._around(near, march, bracket, guard, state_at)
            time, state = locate(guard, state_at, (low, state_at(low)), (high, state_at(high)))
        except _CannotBeRepeatedError:
            return None
        return EventHit(index, time, state)

    def _around(
        self,
        near: float,
        march: CollocationStepper,
        bracket: tuple[float, float],
        guard: Callable[[float, np.ndarray], float],
        state_at: Callable[[float], np.ndarray],
    ) -> tuple[float, float]:
        """Return times on both sides of a zero of the steps themselves.

        It may lie on the other side of a look than that of the polynomial does.
        """
        step, aside = sorted((march.start[0], march.time)), abs(bracket[1] - bracket[0])
        first, last = max(min(bracket) - aside, step[0]), min(max(bracket) + aside, step[1])
        width = AROUND * march.step_taken
        while abs(width) < last - first:
            low, high = (min(max(near + way, first), last) for way in (-width, width))
            if guard(low, state_at(low)) * guard(high, state_at(high)) <= 0.0:
                return low, high
            width *= WIDER
        return bracket

    def _found_in_general(self, march: CollocationStepper, advance: Advance) -> list[EventHit]:
        """Search one step as blocks of steps are searched."""
        return find_events(self._problem, self._p, self._steps(march, advance))

    def _turns_far(self, march: CollocationStepper, advance: Advance) -> bool:
        """Return whether a sine or cosine in a guard turns far in the step."""
        if not self._swings:
            return False
        return bool(turned(self._problem, self._p, self._steps(march, advance))[0] > FAR)

    def _steps(self, march: CollocationStepper, advance: Advance) -> AcceptedSteps:
        """Return the step as a block of one."""
        start, span = march.start, march.step_taken

        def dense(moments: np.ndarray) -> np.ndarray:
            return march.inside((moments - start[0]) / span)

        def exact(step: int, time: float) -> np.ndarray:
            found = advance(time)
            return dense(np.array([time]))[0] if found is None else found

        return AcceptedSteps(
            np.array([start[0], march.time]),
            np.array([start[1], march.x]),
            march.inside(np.array([INNER])),
            dense,
            exact,
        )


def _near(values: np.ndarray) -> bool:
    """Return whether a guard comes nearer to zero than it moves, or is not finite."""
    moves = np.max(np.abs(values[1:] - values[:-1]), axis=0)
    return not np.all(np.min(np.abs(values), axis=0) > 2.0 * moves)


def _unclear(values: np.ndarray) -> bool:
    """Return whether more may happen between looks than a change of sign from one to the next."""
    return bool(np.any(dips(values))) or _unresolved(values)


def _unresolved(values: np.ndarray) -> bool:
    return any(bool(np.any(table)) for table in unresolved(values))


class _CannotBeRepeatedError(Exception):
    """A part of a step cannot be taken."""

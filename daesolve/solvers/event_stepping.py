"""Taylor's method step by step up to heyoka's terminal events, for motions with many resets.

Between resets there are few steps. heyoka finds the zeros of the guards' own series, so that
nothing is evaluated or integrated beyond an event.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import casadi as ca
import numpy as np

from daesolve.algebra.evaluation import BufferedFunction, Evaluator
from daesolve.formulations import OdeProblem
from daesolve.posing.events import Direction
from daesolve.solvers.heyoka_code import (
    LIMIT,
    NOT_FINITE,
    SUCCESS,
    hy,
    is_entire,
    missing_in_series,
    translated,
)
from daesolve.solvers.segment import NOT_FINITE as STATE_NOT_FINITE
from daesolve.solvers.segment import (
    STALLED,
    EventHit,
    Observer,
    SegmentEnd,
    Stall,
    State,
    Status,
    stacked,
)
from daesolve.trajectory.results import StepBlock

NEAR = 1e-6
"""Of what a guard is after a step, what it was at most at the start where that counts as zero."""
AWAY = 1e-6
"""Of a step, to leave a guard that is zero."""
SLACK = 10.0
"""Times the size that a term of a series has where the last two terms say what the others are."""
STUCK_AFTER = 1000
"""Steps that together move less than rounding lead nowhere."""


def finds_events(problem: OdeProblem) -> bool:
    """Return whether heyoka can find a problem's events, some of which reset.

    Where a guard counts in either direction, the zero at which a motion has just been reset would
    be found again.
    """
    interrupting = [event for event in problem.guarded if event.then.interrupts]
    return (
        any(event.then.reset is not None for event in interrupting)
        and all(event.direction is not Direction.EITHER for event in interrupting)
        and not missing_in_series(problem.guards)
        and is_entire(problem.guards)
    )


class EventIntegrator:
    """A compiled integrator of one problem and its guards.

    Parameters
    ----------
    tolerance, compact, optimisation
        As in `Taylor`, all chosen.
    problem
        Of which `finds_events` is true.
    """

    def __init__(
        self, tolerance: float, compact: bool, optimisation: int | None, problem: OdeProblem
    ) -> None:
        self.problem = problem
        self.rates = translated(problem.rhs)
        self.guards = translated(problem.guards, len(self.rates.hoisted))
        self._values = Evaluator(problem.guards)
        self.met: list[tuple[int, float]] = []
        self._halted = np.nan
        self._terminal: list[int] = []
        ending: list[Any] = []
        passing: list[Any] = []
        ways = {
            Direction.FALLING: hy.event_direction.negative,
            Direction.RISING: hy.event_direction.positive,
            Direction.EITHER: hy.event_direction.any,
        }
        t, x, p = (problem.guards.sx_in(k) for k in range(3))
        moving = ca.which_depends(problem.guards(t, x, p), ca.vertcat(t, x), 1, True)
        for index, event in enumerate(problem.guarded):
            if not moving[index]:
                # Of values alone: it passes nowhere, and heyoka refuses it.
                continue
            guard, way = self.guards.expressions[index], ways[event.direction]
            if event.then.interrupts:
                ending.append(hy.t_event(guard, direction=way))
                self._terminal.append(index)
            else:
                passing.append(hy.nt_event(guard, _Noted(self.met, index), direction=way))
        self._ways = np.array([problem.guarded[index].direction.value for index in self._terminal])
        self.integrator = hy.taylor_adaptive(
            list(zip(self.rates.variables, self.rates.expressions, strict=True)),
            [0.0] * problem.size,
            tol=tolerance,
            high_accuracy=True,
            compact_mode=compact,
            opt_level=optimisation,
            t_events=ending,
            nt_events=passing,
        )
        self.passing = bool(passing)
        self._vanishing = any(event.then.series_vanish for event in problem.guarded)
        self._shortened = False
        self._order = int(self.integrator.order)

    def segment(self, state: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate up to the first event that interrupts; see `Solver.segment`."""
        integrator, current = self.integrator, self.integrator.state
        self._begin(state)
        self.met.clear()
        ends = _Ends(self, state, until, at)
        times: list[float] = []
        states: list[np.ndarray] = []
        now, code = state.time, SUCCESS
        first = self._values(state.time, state.x, state.p)[0][self._terminal]
        farthest = self._first_step(first, until - state.time)
        stall = Stall(STUCK_AFTER, abs(until))
        looked = 2 if farthest else 1
        while now != until:
            code = int(integrator.step(max_delta_t=farthest or until - now, write_tc=True)[0])
            if self._vanishing and code != NOT_FINITE:
                code = self._within_series(code, now, states[-1] if states else state.x)
            if code == NOT_FINITE:
                break
            whole = code == LIMIT and not farthest and not self._shortened
            now = until if whole else integrator.time
            farthest = 0.0
            if ends.busy or ends.sign * now >= ends.next_sample:
                ends.take(now)
            times.append(now)
            states.append(current.copy())
            if code not in (SUCCESS, LIMIT) or stall.at(now):
                break
            if len(times) == looked and self._passed_over(first, now, current, state.p):
                until = now
        if times:
            observe(StepBlock(np.array(times), np.array(states), len(times) * self._order))
        status, message = self._verdict(code, reached=now == until)
        final = states[-1] if states else state.x.copy()
        if status is Status.STOPPED:
            ends.hits.append(EventHit(self._terminal[-code - 1], now, final))
            self._halted = now
        return SegmentEnd(
            status,
            message,
            now,
            final,
            stacked(ends.samples, len(state.x)),
            tuple(ends.hits),
            len(times),
            len(times) * self._order,
        )

    def _begin(self, state: State) -> None:
        integrator = self.integrator
        integrator.time = state.time
        integrator.state[:] = state.x
        numbers = np.concatenate(
            [state.p, self.rates.parameters(state.p), self.guards.parameters(state.p)]
        )
        integrator.pars[:] = numbers[: len(integrator.pars)]
        # Where it goes on from an event, heyoka is blind to that for an instant.
        if self._terminal and state.time != self._halted:
            integrator.reset_cooldowns()

    def _verdict(self, code: int, *, reached: bool) -> tuple[Status, str]:
        if code == NOT_FINITE:
            return Status.FAILED, STATE_NOT_FINITE
        if code not in (SUCCESS, LIMIT):
            return Status.STOPPED, ""
        if not reached:
            return Status.FAILED, STALLED
        return Status.REACHED, ""

    def _first_step(self, guards: np.ndarray, span: float) -> float:
        """Return how far to go at first: away from a guard that is zero; 0.0 where none is.

        From there heyoka would not find the next zero.
        """
        if 0.0 not in guards:
            return 0.0
        usual = abs(self.integrator.last_h) or abs(span)
        return math.copysign(min(AWAY * usual, abs(span)), span)

    def _passed_over(self, first: np.ndarray, now: float, x: np.ndarray, p: np.ndarray) -> bool:
        """Return whether a guard, zero at the start, is past it: heyoka may not see a return.

        Then the segment ends here, for the caller to look for the passage.
        """
        values = self._values(now, x, p)[0][self._terminal]
        return bool(np.any((self._ways * values > 0.0) & (np.abs(first) <= NEAR * np.abs(values))))

    def _within_series(self, code: int, before: float, state: np.ndarray) -> int:
        """Step again where the series of the step does not hold so far; return the new outcome.

        heyoka judges a step by the last two terms. Where friction is constant along a straight
        line these may be zero, while rounding errors are in terms before them and grow.
        """
        integrator = self.integrator
        self._shortened = False
        span = abs(integrator.time - before)
        terms = np.max(np.abs(integrator.tc), axis=0)
        orders = np.arange(self._order // 2, self._order + 1)
        size = max(1.0, float(np.max(np.abs(state))))
        with np.errstate(divide="ignore"):
            holds = np.exp(-2.0) * (SLACK * size / terms[orders]) ** (1.0 / orders)
        if span <= np.min(holds):
            return code
        farther = integrator.time - before
        integrator.time = before
        integrator.state[:] = state
        self._shortened = True
        if code not in (SUCCESS, LIMIT):
            # To find again, nearby, what it met.
            integrator.reset_cooldowns()
        shorter = math.copysign(float(np.min(holds)), farther)
        return int(integrator.step(max_delta_t=shorter, write_tc=True)[0])

    def inside(self, time: float) -> np.ndarray:
        """Return the state within the last step, by its own series."""
        self.integrator.update_d_output(time)
        return np.array(self.integrator.d_output)


class _Ends:
    """What is done at the end of a step: samples, events that do not interrupt, projection."""

    def __init__(
        self, integrator: EventIntegrator, state: State, until: float, at: np.ndarray
    ) -> None:
        self.integrator = integrator
        self.sign = 1.0 if until >= state.time else -1.0
        self.at = at
        self.samples: list[np.ndarray] = []
        for _ in itertools.takewhile(lambda time: self.sign * (time - state.time) <= 0.0, at):
            self.samples.append(state.x.copy())
        self.hits: list[EventHit] = []
        self.project = None
        if integrator.problem.project is not None:
            self.project = BufferedFunction(integrator.problem.project, state.p)
        self.busy = self.project is not None or integrator.passing
        self._look_for_sample()

    def _look_for_sample(self) -> None:
        count = len(self.samples)
        self.next_sample = self.sign * float(self.at[count]) if count < len(self.at) else np.inf

    def take(self, now: float) -> None:
        """Do it."""
        inside = self.integrator.inside
        while self.next_sample <= self.sign * now:
            self.samples.append(inside(float(self.at[len(self.samples)])))
            self._look_for_sample()
        met = self.integrator.met
        self.hits += [EventHit(index, time, inside(time)) for index, time in met]
        met.clear()
        if self.project is not None:
            state = self.integrator.integrator.state
            state[:] = self.project(now, state)


class _Noted:
    """Notes when an event that does not interrupt happens, in the list of its integrator."""

    def __init__(self, met: list[tuple[int, float]], index: int) -> None:
        self.met, self.index = met, index

    def __call__(self, integrator: Any, time: float, sign: int) -> None:
        self.met.append((self.index, time))

    def __deepcopy__(self, memo: Any) -> _Noted:
        # heyoka keeps copies of callbacks.
        return self

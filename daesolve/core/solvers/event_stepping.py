"""Taylor's method, step by step up to heyoka's terminal events, for motions with many resets.

Between resets there are few steps. heyoka finds the zeros of the guards' own series, so that
nothing is evaluated or integrated beyond an event.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions.evaluation import BufferedFunction, Evaluator
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.events import Direction
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.solvers.courses import TaylorSegment
from daesolve.core.solvers.event_way import EventRecorder, Way
from daesolve.core.solvers.grazing import guard_evaluator
from daesolve.core.solvers.heyoka_code import (
    LIMIT,
    NOT_FINITE,
    SUCCESS,
    bounded_table,
    heyoka_table,
    hy,
    translated,
)
from daesolve.core.solvers.hidden_terms import hidden_terms
from daesolve.core.solvers.segment import NOT_FINITE as STATE_NOT_FINITE
from daesolve.core.solvers.segment import (
    STALLED,
    EventHit,
    Observer,
    SegmentEnd,
    State,
    Status,
    believed,
    stacked,
)
from daesolve.core.solvers.step_checks import UNSEEN, StepChecks

NEAR = 1e-6
"""A guard counts as zero at the start of a step up to this fraction of its value at the end."""
POLISHED = 256.0
"""Units in the last place of the time, to which the zero of a guard's series is left as it is."""
AWAY = 1e-6
"""The fraction of a step with which a guard that is zero is left."""
SLACK = 10.0
"""The factor on the size of a term of a series, which the last two terms show."""
MOST_MOVES = 64
"""How often a rounding of time is doubled, to get beyond the zero of a guard."""
TOGETHER = 64
"""The number of steps that are compared with the equations at once."""


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
        self,
        tolerance: float,
        compact: bool,
        optimisation: int | None,
        problem: OdeProblem,
        *,
        bounded: bool = False,
    ) -> None:
        self.problem, self.tolerance, self.bounded = problem, tolerance, bounded
        self._hiding = hidden_terms(problem.rhs) is not None
        self.rates = translated(problem.rhs, table=bounded_table if bounded else heyoka_table)
        self.guards = translated(problem.guards, len(self.rates.hoisted))
        self._values = Evaluator(problem.guards)
        self.met: list[tuple[int, float]] = []
        self._halted, self._halted_by = np.nan, -1
        self._motion: object | None = None
        self._in_force = b""
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
                passing.append(hy.nt_event(guard, EventRecorder(self.met, index), direction=way))
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
        self._begin(state)
        ends = _Ends(self, state, until, at)
        first = self._values(state.time, state.x, state.p)[0][self._terminal]
        way = Way(state, until, self._first_step(first, state, until - state.time))
        way.continues, self._motion = self._continues(state), state.motion
        self.met.clear()
        checks = None
        if self._hiding:
            tolerances = self.tolerance, UNSEEN * self.tolerance
            checks = StepChecks(self.problem, state.p, *tolerances, own_rates=not self.bounded)
        while True:
            over = self._march(way, ends, first, keeps=checks is not None)
            if (checks is None or self._believed(way, ends, checks)) and over:
                break
        status, message = self._verdict(way)
        if status is Status.STOPPED:
            self._polish(way, self._terminal[-way.code - 1])
        elif status is Status.REACHED and way.times and (code := self._past_at_end(way)):
            status, way.code = Status.STOPPED, code
        times, states = np.array(way.times), stacked(way.states, len(state.x))
        count = believed(observe, times, states)
        if count < len(way.times):
            status, message = Status.HALTED, ""
            way.end_after(count)
            ends.drop_beyond(way.now)
        if count:
            observe(StepBlock(times[:count], states[:count], count * self._order))
        if status is Status.STOPPED:
            ends.hits.append(EventHit(self._terminal[-way.code - 1], way.now, way.state))
            self._halted, self._halted_by = way.now, -way.code - 1
        return SegmentEnd(
            status,
            message,
            way.now,
            way.state if count else state.x.copy(),
            stacked(ends.samples, len(state.x)),
            tuple(ends.hits),
            count,
            count * self._order,
        )

    def _march(self, way: Way, ends: _Ends, first: np.ndarray, *, keeps: bool) -> bool:
        """Take steps; return whether there are no more, rather than just enough to examine."""
        current = self.integrator.state
        while way.now != way.until:
            code = way.code = self._step(way, first)
            if code == NOT_FINITE:
                break
            if ends.busy or ends.sign * way.now >= ends.next_sample:
                ends.take(way.now)
            way.times.append(way.now)
            way.states.append(current.copy())
            if keeps:
                way.series.append(np.array(self.integrator.tc))
            if code not in (SUCCESS, LIMIT) or way.stall.at(way.now):
                break
            if len(way.times) == way.looked and self._passed_over(
                first, way.now, current, way.start.p
            ):
                way.until = way.now
            if keeps and len(way.times) - way.believed >= TOGETHER:
                return way.now == way.until
        return True

    def _step(self, way: Way, first: np.ndarray) -> int:
        """Take a step; return its outcome."""
        integrator = self.integrator
        rest = way.farthest or way.until - way.now
        code = int(integrator.step(max_delta_t=rest, write_tc=True)[0])
        if self._vanishing and code != NOT_FINITE:
            code = self._within_series(code, way.now, way.state)
        if self._halts_again(way, code):
            code = self._stepped_over(way)
        if code == NOT_FINITE:
            return code
        whole = code == LIMIT and not way.farthest and not self._shortened
        way.now = way.until if whole else integrator.time
        way.farthest = 0.0
        return code if way.times else self._cut_at_first(way, first, code)

    def _cut_at_first(self, way: Way, first: np.ndarray, code: int) -> int:
        """End a first step where a guard passes right after the start; return the outcome.

        heyoka does not find zeros that are only a rounding away from where it begins.
        """
        start, integrator = way.start, self.integrator
        values = self._values(way.now, integrator.state, start.p)[0][self._terminal]
        passes = (self._ways * first < 0.0) & (self._ways * values > 0.0)
        passes &= np.abs(first) <= NEAR * np.abs(values)
        if way.continues and self._halted == start.time:
            passes[self._halted_by] = False
        if not passes.any():
            return code
        guards, rates = guard_evaluator(self.problem)(start.time, start.x, start.p)
        with np.errstate(divide="ignore", invalid="ignore"):
            after = -(guards / rates)[self._terminal] / (way.now - start.time)
        after[~(passes & (after >= 0.0) & (after <= NEAR))] = np.inf
        index = int(np.argmin(after))
        if math.isinf(after[index]):
            return code
        way.now = start.time + float(after[index]) * (way.now - start.time)
        integrator.state[:] = self.inside(way.now)
        sign = math.copysign(1.0, way.until - start.time)
        self.met[:] = [(k, time) for k, time in self.met if sign * (time - way.now) <= 0.0]
        return -index - 1

    def _past_at_end(self, way: Way) -> int:
        """Return the outcome if a guard has passed a rounding before the end; 0 if none has.

        The series of the guard may be at zero a rounding after it, so that heyoka finds no zero.
        """
        count, p = len(way.times) - 1, way.start.p
        before = self._values(way.time_at(count), way.state_at(count), p)[0][self._terminal]
        guards, rates = guard_evaluator(self.problem)(way.now, way.state, p)
        values, rates = self._ways * guards[self._terminal], self._ways * rates[self._terminal]
        passed = (self._ways * before < 0.0) & (values >= 0.0) & (values <= NEAR * np.abs(before))
        passed &= (values > 0.0) | (rates > 0.0)
        return -int(np.argmax(passed)) - 1 if passed.any() else 0

    def _halts_again(self, way: Way, code: int) -> bool:
        """Return whether the event that ended the segment before is found again.

        Its guard is a rounding before its zero there, and no step changes it.
        """
        known = way.continues and not way.times and self._halted == way.now
        if not known or code in (SUCCESS, LIMIT, NOT_FINITE) or self._halted_by != -code - 1:
            return False
        guard, now, p = self._terminal[self._halted_by], self.integrator.time, way.start.p
        before = float(self._values(way.now, way.state, p)[0][guard])
        after = float(self._values(now, self.integrator.state, p)[0][guard])
        return now == way.now or before == after

    def _stepped_over(self, way: Way) -> int:
        """Go on by roundings of time, beyond the zero of a guard; return the outcome."""
        integrator, begin, halted = self.integrator, way.now, self._halted_by
        ahead, state = begin, way.state
        move = math.copysign(np.spacing(abs(begin)), way.until - begin)
        for _ in range(MOST_MOVES):
            ahead = begin + move if abs(move) < abs(way.until - begin) else way.until
            state = self.inside(ahead)
            value = float(self._values(ahead, state, way.start.p)[0][self._terminal[halted]])
            if ahead == way.until or self._ways[halted] * value > 0.0:
                break
            move *= 2.0
        integrator.state[:] = state
        integrator.time = ahead
        return LIMIT if ahead == way.until else SUCCESS

    def _believed(self, way: Way, ends: _Ends, checks: StepChecks) -> bool:
        """Hold the last steps against the equations; go back before one that does not agree."""
        if len(way.times) == way.believed or way.code == NOT_FINITE:
            return True
        begun = way.believed
        times = np.array([way.time_at(begun), *way.times[begun:]])
        states = np.array([way.state_at(begun), *way.states[begun:]])
        course = TaylorSegment(times, states, np.array(way.series))
        stopped = way.code not in (SUCCESS, LIMIT)
        doubt = checks.doubt(course, stopped=stopped)
        if doubt is None:
            way.believe()
            return True
        way.cut(doubt)
        ends.drop_beyond(way.now)
        self.integrator.time = way.now
        self.integrator.state[:] = way.state
        if stopped:
            # So that it finds the same events again nearby.
            self.integrator.reset_cooldowns()
        return bool(way.failure)

    def _polish(self, way: Way, index: int) -> None:
        """Move the end of a segment to where a guard itself is zero, within the last step.

        heyoka takes the zero of the guard's series over the step, whose terms may be far larger
        than the guard is there.
        """
        values, rates = guard_evaluator(self.problem)(way.now, way.state, way.start.p)
        guard, rate = float(values[index]), float(rates[index])
        if guard == 0.0 or rate == 0.0 or not math.isfinite(guard / rate):
            return
        shift = -guard / rate
        step = abs(way.now - way.time_at(len(way.times) - 1))
        if not POLISHED * math.ulp(way.now) < abs(shift) < NEAR * step:
            return
        time = way.now + shift
        state = self.inside(time)
        polished = float(self._values(time, state, way.start.p)[0][index])
        if abs(polished) < abs(guard):
            way.now = way.times[-1] = time
            way.states[-1] = state

    def _begin(self, state: State) -> None:
        integrator = self.integrator
        integrator.time = state.time
        integrator.state[:] = state.x
        if self._in_force != (in_force := state.p.tobytes()):
            self._in_force = in_force
            numbers = np.concatenate(
                [state.p, self.rates.parameters(state.p), self.guards.parameters(state.p)]
            )
            integrator.pars[:] = numbers[: len(integrator.pars)]
        # When it continues from an event, heyoka does not see that event for an instant.
        anew = not self._continues(state) or state.time != self._halted
        if self._terminal and (anew or self._blind_to_others()):
            integrator.reset_cooldowns()

    def _continues(self, state: State) -> bool:
        return state.motion is not None and state.motion is self._motion

    def _blind_to_others(self) -> bool:
        """Return whether heyoka is blind still to an event that was met before the last one.

        This lasts long if a guard was met slowly, and by now the guard may have another meaning.
        """
        instant = AWAY * abs(self.integrator.last_h)
        left = [0.0 if over is None else over[1] - over[0] for over in self.integrator.te_cooldowns]
        return any(over > instant for k, over in enumerate(left) if k != self._halted_by)

    def _verdict(self, way: Way) -> tuple[Status, str]:
        if way.failure:
            return Status.FAILED, way.failure
        if way.code == NOT_FINITE:
            return Status.FAILED, STATE_NOT_FINITE
        if way.code not in (SUCCESS, LIMIT):
            return Status.STOPPED, ""
        if way.now != way.until:
            return Status.FAILED, STALLED
        return (Status.REACHED if way.now == way.whole else Status.PAUSED), ""

    def _first_step(self, guards: np.ndarray, state: State, span: float) -> float:
        """Return how far to go at first: away from a guard that is zero; 0.0 where none is.

        From there heyoka would not find the next zero.
        """
        if np.count_nonzero(guards) == len(guards):
            return 0.0
        usual = abs(self.integrator.last_h if self._continues(state) else self._tried(state, span))
        if not usual or math.isnan(usual):  # after a series that was not a number
            usual = abs(span)
        return math.copysign(min(AWAY * usual, abs(span)), span)

    def _tried(self, state: State, span: float) -> float:
        """Return the length of a step from a start, which is taken back."""
        integrator = self.integrator
        integrator.step(max_delta_t=span)
        integrator.time = state.time
        integrator.state[:] = state.x
        integrator.reset_cooldowns()
        return float(integrator.last_h)

    def _passed_over(self, first: np.ndarray, now: float, x: np.ndarray, p: np.ndarray) -> bool:
        """Return whether a guard, zero at the start, is past it: heyoka may not see a return.

        Then the segment pauses here, for the caller to look for the passage.
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
            # So that it finds the same events again nearby.
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

    def drop_beyond(self, end: float) -> None:
        """Drop what was found beyond a time."""
        reached = self.sign * (self.at[: len(self.samples)] - end) <= 0.0
        del self.samples[int(np.sum(reached)) :]
        self.hits = [hit for hit in self.hits if self.sign * (hit.time - end) <= 0.0]
        self.integrator.met.clear()
        self._look_for_sample()

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

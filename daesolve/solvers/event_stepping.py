"""Taylor's method step by step up to heyoka's terminal events, for motions with many resets.

Between resets there are few steps. heyoka finds the zeros of the guards' own series, so that
nothing is evaluated or integrated beyond an event.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daesolve.events import Direction
from daesolve.formulations import OdeProblem
from daesolve.solvers.base import (
    BufferedFunction,
    Evaluator,
    EventHit,
    Observer,
    SegmentEnd,
    State,
    Status,
)
from daesolve.solvers.heyoka_code import (
    hy,
    is_entire,
    missing_in_series,
    translated,
)
from daesolve.trajectory import StepBlock

AWAY = 1e-6
"""Of a step, to leave a guard that is zero."""
STUCK_AFTER = 1000
"""Steps that together move less than rounding lead nowhere."""


def finds_events(problem: OdeProblem) -> bool:
    """Tell whether heyoka can find a problem's events, some of which reset.

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
        self._met: list[tuple[int, float]] = []
        self._halted = np.nan
        self._terminal: list[int] = []
        ending, passing = [], []
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
                passing.append(hy.nt_event(guard, _Noted(self._met, index), direction=way))
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

    def segment(self, state: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate up to the first event that interrupts; see `Solver.segment`."""
        integrator = self.integrator
        # Where it goes on from an event, heyoka is blind to that for an instant.
        integrator.time = state.time
        integrator.state[:] = state.x
        numbers = np.concatenate(
            [state.p, self.rates.parameters(state.p), self.guards.parameters(state.p)]
        )
        integrator.pars[:] = numbers[: len(integrator.pars)]
        if state.time != self._halted:
            integrator.reset_cooldowns()
        project = None
        if self.problem.project is not None:
            project = BufferedFunction(self.problem.project, state.p)
        sign = 1.0 if until >= state.time else -1.0
        samples = [state.x.copy()] * int(np.searchsorted(sign * at, sign * state.time, "right"))
        times, states, hits = [], [], []
        status, message, now = Status.REACHED, "", state.time
        farthest = self._first_step(state, until)
        while now != until:
            self._met.clear()
            outcome, _ = integrator.step(max_delta_t=farthest or until - now, write_tc=True)
            limited, farthest = farthest != 0.0, 0.0
            reached, now = now, float(integrator.time)
            code = int(outcome)
            if outcome == hy.taylor_outcome.err_nf_state:
                status, message, now = Status.FAILED, "the state is no longer finite", reached
                break
            if outcome == hy.taylor_outcome.time_limit and not limited:
                now = until
            while len(samples) < len(at) and sign * (at[len(samples)] - now) <= 0.0:
                samples.append(self._inside(float(at[len(samples)])))
            hits += [EventHit(index, time, self._inside(time)) for index, time in self._met]
            if project is not None:
                integrator.state[:] = project(now, integrator.state)
            times.append(now)
            states.append(integrator.state.copy())
            if 0 > code > -1 - len(self._terminal) - 1:
                hits.append(EventHit(self._terminal[-code - 1], now, states[-1]))
                status, self._halted = Status.STOPPED, now
                break
            if self._stuck(times, until):
                status, message = Status.FAILED, "the steps have become too small to go on"
                break
        if times:
            observe(StepBlock(np.array(times), np.array(states)))
        return SegmentEnd(
            status,
            message,
            now,
            states[-1] if states else state.x.copy(),
            np.array(samples).reshape(len(samples), len(state.x)),
            tuple(hits),
            len(times),
            len(times) * int(integrator.order),
        )

    def _first_step(self, state: State, until: float) -> float:
        """Return how far to go at first: away from a guard that is zero; 0.0 where none is.

        From there heyoka would not find the next zero.
        """
        (values,) = self._values(state.time, state.x, state.p)
        if 0.0 not in values[self._terminal]:
            return 0.0
        usual = abs(self.integrator.last_h) or abs(until - state.time)
        return np.sign(until - state.time) * min(AWAY * usual, abs(until - state.time))

    def _inside(self, time: float) -> np.ndarray:
        """Return the state within the last step, by its own series."""
        self.integrator.update_d_output(time)
        return np.array(self.integrator.d_output)

    def _stuck(self, times: list[float], until: float) -> bool:
        if len(times) <= STUCK_AFTER:
            return False
        return abs(times[-1] - times[-1 - STUCK_AFTER]) < 1e-12 * abs(until)


class _Noted:
    """Notes when an event that does not interrupt happens, in the list of its integrator."""

    def __init__(self, met: list[tuple[int, float]], index: int) -> None:
        self.met, self.index = met, index

    def __call__(self, integrator: Any, time: float, sign: int) -> None:
        self.met.append((self.index, time))

    def __deepcopy__(self, memo: Any) -> _Noted:
        # heyoka keeps copies of callbacks.
        return self

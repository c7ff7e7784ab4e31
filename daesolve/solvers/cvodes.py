"""SUNDIALS CVODES through CasADi: multistep, with Jacobians by automatic differentiation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from daesolve.errors import OutOfRangeError
from daesolve.formulations import OdeProblem
from daesolve.solvers.base import (
    EventHit,
    Observer,
    SegmentEnd,
    Solver,
    State,
    Status,
    positive,
)
from daesolve.solvers.guards import Steps, find_events, inner_states
from daesolve.trajectory import StepBlock
from daesolve.translation import evaluate_block

STEP_LIMIT = 20_000
"""Steps from one point of the grid to the next beyond which the motion counts as stuck."""
FIRST_GRID = 512
SHORTEST = 2.0**-12
"""Of a segment that fails, the part to which it is cut down."""


@dataclass(frozen=True)
class Cvodes(Solver):
    """Variable-order, variable-step multistep method.

    CasADi hides the accepted steps; what watches them sees a grid that is at least twice as dense
    (it is made denser, and the segment repeated, where it was not).

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    method
        "adams" for smooth motion, "bdf" for stiff.
    """

    rtol: float = 1e-10
    atol: float = 1e-12
    method: str = "adams"
    name = "cvodes"

    def __post_init__(self) -> None:
        positive(self.name, rtol=self.rtol, atol=self.atol)
        if self.method not in ("adams", "bdf"):
            raise OutOfRangeError(
                f"cvodes: method is {self.method!r}, but must be 'adams' or 'bdf'"
            )

    def refusal(self, problem: OdeProblem) -> str | None:
        """Take every explicit problem."""
        return None

    def tolerances(self) -> dict[str, float]:
        """Return rtol and atol."""
        return {"rtol": self.rtol, "atol": self.atol}

    def tightened(self) -> Solver:
        """Return the method with a tenth of the tolerances."""
        return replace(self, rtol=max(self.rtol / 10, 1e-15), atol=self.atol / 10)

    def segment(
        self,
        problem: OdeProblem,
        state: State,
        until: float,
        at: np.ndarray,
        observe: Observer,
    ) -> SegmentEnd:
        """Integrate one segment; see `Solver.segment`."""
        count = FIRST_GRID
        span = until - state.time
        while True:
            even = state.time + span * np.arange(1, count + 1) / count
            even[-1] = until
            try:
                states, statistics = self._integrate(problem, state, even)
            except RuntimeError as error:
                return self._failed(problem, state, until, at, observe, str(error))
            if 2 * statistics["nsteps"] <= count:
                break
            count = 4 * int(statistics["nsteps"])
        return self._finish(problem, state, even, states, at, observe, statistics)

    def _integrate(
        self, problem: OdeProblem, state: State, grid: np.ndarray
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Integrate in the time since the start, always forwards: CasADi counts on both."""
        sign = 1.0 if grid[-1] >= state.time else -1.0
        tau, x, p = (problem.rhs.sx_in(k) for k in range(3))
        dae = {
            "t": tau,
            "x": x,
            "p": p,
            "ode": sign * problem.rhs(state.time + sign * tau, x, p),
        }
        options = {
            "reltol": self.rtol,
            "abstol": self.atol,
            "max_num_steps": STEP_LIMIT,
            "linear_multistep_method": self.method,
            "show_eval_warnings": False,
            "disable_internal_warnings": True,
        }
        elapsed = list(sign * (grid - state.time))
        integrator = ca.integrator("segment", "cvodes", dae, 0.0, elapsed, options)
        result = integrator(x0=state.x, p=state.p)
        states = np.asarray(result["xf"]).T
        if not np.all(np.isfinite(states)):
            raise RuntimeError("the state is no longer finite")
        return states, integrator.stats()

    def _finish(
        self,
        problem: OdeProblem,
        state: State,
        grid: np.ndarray,
        states: np.ndarray,
        at: np.ndarray,
        observe: Observer,
        statistics: dict[str, Any],
    ) -> SegmentEnd:
        hits, last, end = self._events(problem, state, grid, states)
        times, kept = grid[:last], states[:last]
        if end is not None:
            times, kept = np.append(times, end.time), np.vstack([kept, end.state])
        observe(StepBlock(times, kept))
        sign = 1.0 if grid[-1] >= state.time else -1.0
        reached = at[sign * (at - times[-1]) <= 0.0]
        return SegmentEnd(
            Status.REACHED if end is None else Status.STOPPED,
            "",
            float(times[-1]),
            kept[-1],
            self._samples(problem, state, times, kept, reached),
            tuple(hits),
            int(statistics["nsteps"]),
            int(statistics["nfevals"]),
        )

    def _samples(
        self,
        problem: OdeProblem,
        state: State,
        times: np.ndarray,
        kept: np.ndarray,
        at: np.ndarray,
    ) -> np.ndarray:
        """Integrate once more with output at the sample times: the monitors' grid stays its own."""
        known = {float(time): x for time, x in zip(times, kept, strict=True)}
        known[state.time] = state.x
        others = np.array([time for time in at if float(time) not in known])
        if len(others):
            found = self._integrate(problem, state, others)[0]
            known |= {float(time): x for time, x in zip(others, found, strict=True)}
        return _stack([known[float(time)] for time in at], problem.size)

    def _events(
        self, problem: OdeProblem, state: State, grid: np.ndarray, states: np.ndarray
    ) -> tuple[list[EventHit], int, EventHit | None]:
        """Find the events between grid points: all hits, how many points stay, and the stop."""
        if not problem.events:
            return [], len(grid), None
        hits: list[EventHit] = []
        sign = 1.0 if grid[-1] >= state.time else -1.0
        for hit in find_events(problem, state.p, self._steps(problem, state, grid, states)):
            hits.append(hit)
            if problem.events[hit.index].then.stops:
                return hits, int(np.sum(sign * (grid - hit.time) < 0.0)), hit
        return hits, len(grid), None

    def _steps(
        self, problem: OdeProblem, state: State, grid: np.ndarray, states: np.ndarray
    ) -> Steps:
        times = np.append(state.time, grid)
        table = np.vstack([state.x, states])
        rates = evaluate_block(problem.rhs, times, table, state.p)[0]
        sign = 1.0 if grid[-1] >= state.time else -1.0

        def dense(moments: np.ndarray) -> np.ndarray:
            ordered, back = np.unique(sign * moments, return_inverse=True)
            return self._integrate(problem, state, sign * ordered)[0][back]

        def advance(step: int, time: float) -> np.ndarray:
            return self._advance(problem, state, (float(times[step]), table[step]), time)

        return Steps(times, table, inner_states(times, table, rates), dense, advance)

    def _advance(
        self, problem: OdeProblem, state: State, start: tuple[float, np.ndarray], time: float
    ) -> np.ndarray:
        side = State(start[0], start[1], state.p)
        return self._integrate(problem, side, np.array([time]))[0][-1]

    def _failed(
        self,
        problem: OdeProblem,
        state: State,
        until: float,
        at: np.ndarray,
        observe: Observer,
        reason: str,
    ) -> SegmentEnd:
        """Keep what can be integrated: go on by halves of what is left."""
        message = f"CVODES: {reason.strip().splitlines()[-1]}"
        span, here = until - state.time, state
        samples: list[np.ndarray] = []
        hits: list[EventHit] = []
        steps = evaluations = 0
        while abs(span) > SHORTEST * abs(until - state.time):
            span /= 2
            ahead = here.time + span
            sign = 1.0 if span > 0 else -1.0
            inside = at[(sign * (at - ahead) <= 0.0) & (sign * (at - here.time) > 0.0)]
            if here is state:
                inside = np.concatenate([at[at == state.time], inside])
            try:
                self._integrate(problem, here, np.array([ahead]))
            except RuntimeError:
                continue
            part = self.segment(problem, here, ahead, inside, observe)
            samples.extend(part.samples)
            hits.extend(part.hits)
            steps, evaluations = steps + part.steps, evaluations + part.rhs_evaluations
            here = State(part.time, part.state, state.p)
            if part.status is Status.STOPPED:
                return replace(part, samples=_stack(samples, problem.size), hits=tuple(hits))
        return SegmentEnd(
            Status.FAILED,
            message,
            here.time,
            here.x,
            _stack(samples, problem.size),
            tuple(hits),
            steps,
            evaluations,
        )


def _stack(samples: list[np.ndarray], size: int) -> np.ndarray:
    return np.array(samples).reshape(len(samples), size)

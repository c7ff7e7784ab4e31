"""Integration by CasADi, which hides its steps: what watches them sees a grid in their place."""

from __future__ import annotations

import contextlib
import io
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from daesolve.algebra.translation import evaluate_block
from daesolve.formulations import OdeProblem
from daesolve.solvers.base import EventHit, Observer, SegmentEnd, State, Status
from daesolve.solvers.guards import LOOKS, Steps, find_events, inner_states
from daesolve.trajectory.results import StepBlock

STEP_LIMIT = 20_000
"""Steps from one point of the grid to the next beyond which the motion counts as stuck."""
FIRST_GRID = 512
UNITS = 1e6
"""How long an integration lasts in CasADi's own time, in which it takes no step below 1e-9."""
SHORTEST = 2.0**-12
"""Of a segment that fails, the part to which it is cut down."""
_COMPLAINING = threading.Lock()
"""Held while standard error is turned away, which is one for all threads."""
REASONS = {
    "TOO_MUCH_WORK": "the steps have become too small to go on",
    "TOO_MUCH_ACC": "rounding does not allow so small a tolerance",
    "ERR_FAIL": "the error test failed again and again",
    "ERR_FAILURE": "the error test failed again and again",
    "CONV_FAIL": "Newton's iteration did not converge",
    "CONV_FAILURE": "Newton's iteration did not converge",
    "LSETUP_FAIL": "the matrix of Newton's iteration is singular",
    "LSOLVE_FAIL": "the matrix of Newton's iteration is singular",
}


class IntegrationError(Exception):
    """An integration that did not arrive; the message says why."""


EVEN = 1e-9
"""Looks into a step are even but for rounding."""
Parts = int | np.ndarray
"""Where states are wanted, in parts of a span: at the ends of so many even ones, or at these,
(k,), of which the last is 1."""
Integrate = Callable[[State, float, Parts], tuple[np.ndarray, dict[str, Any]]]
"""(start, end, parts) -> (states at these parts, CasADi's statistics); raises IntegrationError."""


def engine_of(
    engine: str, dae: Mapping[str, ca.SX], parts: Parts, options: Mapping[str, Any]
) -> ca.Function:
    """Make one of CasADi's integrators.

    Parameters
    ----------
    engine
        "cvodes" or "idas".
    dae
        The equations in a time that passes from 0 to `UNITS`.
    parts
        Where states are wanted.
    options
        The engine's.
    """
    common = {
        "max_num_steps": STEP_LIMIT,
        "show_eval_warnings": False,
        "disable_internal_warnings": True,
    }
    inside = np.arange(1, parts + 1) / parts if isinstance(parts, int) else parts
    grid = (UNITS * inside).tolist()
    return ca.integrator("segment", engine, dict(dae), 0.0, grid, common | dict(options))


def run(
    engine: str, integrator: ca.Function, start: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, dict[str, Any]]:
    """Run an integrator.

    Parameters
    ----------
    engine
        Its name.
    integrator
        From `engine_of`.
    start
        x0, z0 and p.

    Returns
    -------
    tuple
        (k, size) states and CasADi's statistics.

    Raises
    ------
    IntegrationError
        The engine failed, or the states are not finite.
    KeyboardInterrupt
        Ctrl-C was pressed: CasADi makes a failure of it.
    """
    told = io.StringIO()
    try:
        with _COMPLAINING, contextlib.redirect_stderr(told):
            result = integrator(**start)
            statistics = integrator.stats()
    except RuntimeError as error:
        if KeyboardInterrupt.__name__ in told.getvalue():
            raise KeyboardInterrupt from None
        raise IntegrationError(f"{engine}: {_reason(str(error))}") from None
    states = np.asarray(result["xf"]).T
    if not np.all(np.isfinite(states)):
        raise IntegrationError(f"{engine}: the state is no longer finite")
    return states, statistics


def _reason(told: str) -> str:
    """Return SUNDIALS' flag in words."""
    flags = re.findall(r'"(?:CV|IDA)_(\w+)"', told)
    if flags and flags[-1] in REASONS:
        return REASONS[flags[-1]]
    return told.strip().splitlines()[-1]


@dataclass(frozen=True)
class Grid:
    """A segment whose states are known on a grid at least twice as dense as the steps.

    The grid is made denser, and the segment repeated, where it was not.

    Parameters
    ----------
    problem, start
        Those of `Solver.segment`.
    integrate
        The method.
    """

    problem: OdeProblem
    start: State
    integrate: Integrate

    def segment(self, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate; see `Solver.segment`."""
        count = FIRST_GRID
        span = until - self.start.time
        while True:
            grid = self.start.time + span * np.arange(1, count + 1) / count
            grid[-1] = until
            try:
                states, statistics = self.integrate(self.start, until, count)
            except IntegrationError as error:
                return self._failed(until, at, observe, str(error))
            if 2 * statistics["nsteps"] <= count:
                break
            while count < 4 * statistics["nsteps"]:
                count *= 2
        return self._finish(grid, states, at, observe, statistics)

    def _finish(
        self,
        grid: np.ndarray,
        states: np.ndarray,
        at: np.ndarray,
        observe: Observer,
        statistics: dict[str, Any],
    ) -> SegmentEnd:
        sign = 1.0 if grid[-1] >= self.start.time else -1.0
        try:
            hits, stop = self._events(grid, states)
            if stop is not None:
                before = sign * (grid - stop.time) < 0.0
                grid = np.append(grid[before], stop.time)
                states = np.vstack([states[before], stop.state])
            samples = self._samples(grid, states, at[sign * (at - grid[-1]) <= 0.0])
        except IntegrationError as error:
            return self._nothing(at, str(error))
        spent, taken = int(statistics["nfevals"]), int(statistics["nsteps"])
        halts = observe(StepBlock(grid, states, spent, taken)) is True
        status = Status.HALTED if halts else Status.REACHED
        return SegmentEnd(
            status if stop is None else Status.STOPPED,
            "",
            float(grid[-1]),
            states[-1],
            samples,
            tuple(hits),
            int(statistics["nsteps"]),
            int(statistics["nfevals"]),
        )

    def _nothing(self, at: np.ndarray, message: str) -> SegmentEnd:
        """End where it began: what lies between points of the grid could not be integrated."""
        start = self.start
        samples = [start.x for time in at if time == start.time]
        return SegmentEnd(
            Status.FAILED,
            message,
            start.time,
            start.x,
            _stack(samples, self.problem.size),
            (),
            0,
            0,
        )

    def _samples(self, grid: np.ndarray, states: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Integrate once more with output at the sample times: the monitors' grid stays its own."""
        known = dict(zip(grid.tolist(), states, strict=True)) | {self.start.time: self.start.x}
        sign = 1.0 if grid[-1] >= self.start.time else -1.0
        others = [time for time in (sign * np.unique(sign * at)).tolist() if time not in known]
        if others:
            found = self._at(np.array(others))
            known |= dict(zip(others, found, strict=True))
        return _stack([known[time] for time in at.tolist()], self.problem.size)

    def _at(self, times: np.ndarray) -> np.ndarray:
        """Return the states at times behind the start, in the order of integration."""
        start, until = self.start.time, float(times[-1])
        return self.integrate(self.start, until, (times - start) / (until - start))[0]

    def _events(
        self, grid: np.ndarray, states: np.ndarray
    ) -> tuple[list[EventHit], EventHit | None]:
        """Find the events between grid points: all up to the first that stops, and that one."""
        hits: list[EventHit] = []
        if not self.problem.events:
            return hits, None
        for hit in find_events(self.problem, self.start.p, self._steps(grid, states)):
            hits.append(hit)
            if self.problem.guarded[hit.index].then.interrupts:
                return hits, hit
        return hits, None

    def _steps(self, grid: np.ndarray, states: np.ndarray) -> Steps:
        p = self.start.p
        times = np.append(self.start.time, grid)
        table = np.vstack([self.start.x, states])
        rates = evaluate_block(self.problem.rhs, times, table, p)[0]
        sign = 1.0 if grid[-1] >= self.start.time else -1.0

        def integrate(step: int, until: float, parts: Parts) -> np.ndarray:
            return self.integrate(State(float(times[step]), table[step], p), until, parts)[0]

        def advance(step: int, time: float) -> np.ndarray:
            return table[step] if time == times[step] else integrate(step, time, 1)[-1]

        def dense(moments: np.ndarray) -> np.ndarray:
            """From the start of the step as well, so that both agree about the sign of a guard."""
            steps = np.searchsorted(sign * times, sign * moments, side="right") - 1
            steps = np.clip(steps, 0, len(grid) - 1)
            found = np.empty((len(moments), table.shape[1]))
            for step in np.unique(steps):
                inside = steps == step
                start, end = times[step], times[step + 1]
                if start == end:  # a segment of a few roundings of time is shorter than its grid
                    found[inside] = table[step]
                    continue
                parts = LOOKS * (moments[inside] - start) / (end - start)
                places = np.rint(parts).astype(int)
                if np.all(places > 0) and np.allclose(parts, places, rtol=0.0, atol=EVEN):
                    found[inside] = integrate(step, float(end), LOOKS)[places - 1]
                else:
                    found[inside] = [advance(step, time) for time in moments[inside].tolist()]
            return found

        return Steps(times, table, inner_states(times, table, rates), dense, advance)

    def _failed(self, until: float, at: np.ndarray, observe: Observer, message: str) -> SegmentEnd:
        """Keep what can be integrated: go on by halves of what is left."""
        size = self.problem.size
        span, here = until - self.start.time, self.start
        sign = 1.0 if span > 0 else -1.0
        samples = [self.start.x for time in at if time == self.start.time]
        hits: list[EventHit] = []
        steps = evaluations = 0
        while abs(span) > SHORTEST * abs(until - self.start.time):
            span /= 2
            ahead = here.time + span
            inside = at[(sign * (at - ahead) <= 0.0) & (sign * (at - here.time) > 0.0)]
            try:
                self.integrate(here, ahead, 1)
            except IntegrationError:
                continue
            part = replace(self, start=here).segment(ahead, inside, observe)
            samples.extend(part.samples)
            hits.extend(part.hits)
            steps, evaluations = steps + part.steps, evaluations + part.rhs_evaluations
            here = State(part.time, part.state, here.p)
            if part.status in (Status.STOPPED, Status.HALTED):
                return replace(part, samples=_stack(samples, size), hits=tuple(hits))
        return SegmentEnd(
            Status.FAILED,
            message,
            here.time,
            here.x,
            _stack(samples, size),
            tuple(hits),
            steps,
            evaluations,
        )


def _stack(samples: list[np.ndarray], size: int) -> np.ndarray:
    return np.array(samples).reshape(len(samples), size)

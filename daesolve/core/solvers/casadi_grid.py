"""Integration by CasADi, which hides its steps: monitors see a grid instead."""

from __future__ import annotations

import contextlib
import io
import re
import threading
from collections.abc import Callable, Generator, Mapping
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.accepted_steps import AcceptedSteps, inner_states
from daesolve.core.solvers.courses import DenseSegment, cubics
from daesolve.core.solvers.guards import LOOKS, found_hits
from daesolve.core.solvers.segment import (
    NOT_FINITE,
    Block,
    EventHit,
    Integrator,
    Segment,
    State,
    StepError,
)

STEP_LIMIT = 20_000
"""Steps from one point of the grid to the next beyond which the motion counts as stuck."""
FIRST_GRID = 512
MOST_GRID = 32_768
"""Points of a grid beyond which a segment is cut into pieces."""
UNITS = 1e6
"""The duration of an integration in CasADi's time, in which it takes no step below 1e-9."""
SHORTEST = 2.0**-12
"""A segment that fails is cut down to this fraction."""
_COMPLAINING = threading.Lock()
"""Held while standard error is turned away, which is one for all threads."""
REASONS = {
    "TOO_MUCH_WORK": "the steps have become too small to continue",
    "TOO_MUCH_ACC": "the tolerance is too small for the rounding errors",
    "REPTD_RHSFUNC_ERR": "the rate of the state is not finite",
    "FIRST_RHSFUNC_ERR": "the rate of the state is not finite",
    "UNREC_RHSFUNC_ERR": "the rate of the state is not finite",
    "RHSFUNC_FAIL": "the rate of the state is not finite",
    "ERR_FAIL": "the error test failed repeatedly",
    "ERR_FAILURE": "the error test failed repeatedly",
    "CONV_FAIL": "Newton's iteration did not converge",
    "CONV_FAILURE": "Newton's iteration did not converge",
    "LSETUP_FAIL": "the matrix of Newton's iteration is singular",
    "LSOLVE_FAIL": "the matrix of Newton's iteration is singular",
}


class IntegrationError(StepError):
    """An integration that did not arrive; the message gives the reason."""


LATE = 1e-9
"""The rounding of time counts if it exceeds this fraction of a span."""
NOISE = 100.0
"""By how many tolerances of a step two states within it may differ that are integrated apart."""
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
    complaints = io.StringIO()
    try:
        with _COMPLAINING, contextlib.redirect_stderr(complaints):
            result = integrator(**start)
            statistics = integrator.stats()
    except RuntimeError as error:
        if KeyboardInterrupt.__name__ in complaints.getvalue():
            raise KeyboardInterrupt from None
        raise IntegrationError(f"{engine}: {_reason(str(error))}") from None
    states = np.asarray(result["xf"]).T
    if not np.all(np.isfinite(states)):
        raise IntegrationError(f"{engine}: {NOT_FINITE}")
    return states, statistics


def _reason(message: str) -> str:
    """Return SUNDIALS' flag in words."""
    flags = re.findall(r'"(?:CV|IDA)_(\w+)"', message)
    if flags and flags[-1] in REASONS:
        return REASONS[flags[-1]]
    return message.strip().splitlines()[-1]


class Grid(Integrator):
    """Segments whose states are known on a grid at least twice as dense as the steps.

    The grid is made denser, and the segment repeated, where it was not.

    Parameters
    ----------
    problem
        The functions.
    integrate
        The method.
    """

    whole = True

    def __init__(self, problem: OdeProblem, integrate: Integrate) -> None:
        self.problem, self.integrate = problem, integrate

    def blocks(self, segment: Segment) -> Generator[Block]:
        """Yield the whole segment; of one that fails what can be integrated."""
        return self._blocks(segment, segment.start, segment.until)

    def arrive(self, start: State, until: float) -> np.ndarray | None:
        """Integrate to a time some steps away; the steps in between are not examined."""
        try:
            return self.integrate(start, until, 1)[0][-1]
        except IntegrationError:
            return None

    def _blocks(
        self, segment: Segment, start: State, until: float, count: int = FIRST_GRID
    ) -> Generator[Block]:
        span = until - start.time
        while True:
            grid = start.time + span * np.arange(count + 1) / count
            grid[-1] = until
            parts: Parts = count
            if np.spacing(max(abs(start.time), abs(until))) > LATE * abs(span) / count:
                # Late in time, the grid is where time is rounded.
                rounded = (grid[1:] - start.time) / span
                parts = rounded if np.all(np.diff(rounded, prepend=0.0) > 0.0) else count
            try:
                states, statistics = self.integrate(start, until, parts)
            except IntegrationError as error:
                yield from self._halves(segment, start, until, str(error))
                return
            if 2 * statistics["nsteps"] <= count:
                break
            while count < 4 * statistics["nsteps"]:
                count *= 2
            if count > MOST_GRID:
                yield from self._pieces(segment, start, until, count // MOST_GRID)
                return
        yield _OnGrid(self, start, grid, np.vstack([start.x, states]), statistics)

    def _pieces(self, segment: Segment, start: State, until: float, count: int) -> Generator[Block]:
        """Yield a segment of very many steps piece by piece, so that it is monitored meanwhile."""
        for end in np.linspace(start.time, until, count + 1)[1:].tolist():
            here = State(segment.time, segment.state, start.p)
            yield from self._blocks(segment, here, end, MOST_GRID)

    def _halves(
        self, segment: Segment, start: State, until: float, message: str
    ) -> Generator[Block]:
        """Keep what can be integrated: continue by halves of the rest."""
        span, here = until - start.time, start
        while abs(span) > SHORTEST * abs(until - start.time):
            span /= 2
            try:
                self.integrate(here, here.time + span, 1)
            except IntegrationError:
                continue
            yield from self._blocks(segment, here, here.time + span)
            here = State(segment.time, segment.state, here.p)
        nothing = np.array([here.time]), here.x[None, :]
        yield _OnGrid(self, here, *nothing, {"nfevals": 0, "nsteps": 0}, message)


class _OnGrid(Block):
    """States on a grid."""

    def __init__(
        self,
        grid: Grid,
        start: State,
        times: np.ndarray,
        states: np.ndarray,
        statistics: Mapping[str, Any],
        failure: str = "",
    ) -> None:
        super().__init__(times, states, failure)
        self.problem, self.integrate, self.start = grid.problem, grid.integrate, start
        self._checks = grid.checks
        self._statistics = statistics
        self._sign = 1.0 if times[-1] >= times[0] else -1.0

    def evaluations(self, kept: int) -> int:
        return int(self._statistics["nfevals"]) if kept else 0

    @property
    def taken(self) -> int:
        return int(self._statistics["nsteps"])

    def course(self, times: np.ndarray, states: np.ndarray) -> DenseSegment | None:
        if self._checks is None or not self._checks.hiding:
            return None
        return cubics(self.problem, self.start.p, times, states, seen=False)

    def samples(self, times: np.ndarray) -> list[np.ndarray]:
        """Integrate once more with output at the sample times: the grid stays that of observers."""
        known = dict(zip(self.times.tolist(), self.states, strict=True))
        sign = self._sign
        others = [time for time in (sign * np.unique(sign * times)).tolist() if time not in known]
        if others:
            start, until = self.start.time, others[-1]
            parts = (np.array(others) - start) / (until - start)
            known |= dict(zip(others, self.integrate(self.start, until, parts)[0], strict=True))
        return [known[time] for time in times.tolist()]

    def hits(self) -> list[EventHit]:
        rates = evaluate_block(self.problem.rhs, self.times, self.states, self.start.p)[0]
        inner = inner_states(self.times, self.states, rates)
        noise = 0.0 if self._checks is None else NOISE * self._checks.relative
        steps = AcceptedSteps(self.times, self.states, inner, self._dense, self._advance, noise)
        return found_hits(self.problem, self.start.p, steps)

    def _from(self, step: int, until: float, parts: Parts) -> np.ndarray:
        start = State(float(self.times[step]), self.states[step], self.start.p)
        return self.integrate(start, until, parts)[0]

    def _advance(self, step: int, time: float) -> np.ndarray:
        return self.states[step] if time == self.times[step] else self._from(step, time, 1)[-1]

    def _dense(self, moments: np.ndarray) -> np.ndarray:
        """From the start of the step as well, so that both agree about the sign of a guard."""
        times = self.times
        steps = np.searchsorted(self._sign * times, self._sign * moments, side="right") - 1
        steps = np.clip(steps, 0, len(times) - 2)
        found = np.empty((len(moments), self.states.shape[1]))
        for step in np.unique(steps):
            inside = steps == step
            start, end = times[step], times[step + 1]
            if start == end:  # a segment of a few roundings of time is shorter than its grid
                found[inside] = self.states[step]
                continue
            count = max(LOOKS, int(np.sum(inside)) + 1)
            parts = count * (moments[inside] - start) / (end - start)
            places = np.rint(parts).astype(int)
            if np.all(places > 0) and np.allclose(parts, places, rtol=0.0, atol=EVEN * count):
                found[inside] = self._from(step, float(end), count)[places - 1]
            else:
                found[inside] = [self._advance(step, time) for time in moments[inside].tolist()]
        return found

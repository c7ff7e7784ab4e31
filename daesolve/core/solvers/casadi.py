"""SUNDIALS CVODES and IDAS through CasADi, which hides their steps: monitors see a grid instead."""

from __future__ import annotations

import contextlib
import io
import re
import threading
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.formulations import DaeProblem, OdeProblem
from daesolve.core.posing.symbols import symbol
from daesolve.core.solvers.dense_segments import AcceptedSteps, DenseSegment, cubics, inner_states
from daesolve.core.solvers.error_control import (
    Control,
    IdaControlled,
    Multistep,
    consistent_start,
    control,
)
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


@dataclass(frozen=True)
class Cvodes(Multistep):
    """Variable-order, variable-step multistep method.

    CasADi hides the accepted steps; monitors see a grid that is at least twice as dense.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    method
        "adams" for smooth motion, "bdf" for stiff.
    """

    name = "cvodes"

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Grid:
        """Return CasADi's integrator at work."""

        def integrate(start: State, end: float, parts: Parts) -> tuple[np.ndarray, dict[str, Any]]:
            pace = (end - start.time) / UNITS
            values = np.concatenate([start.p, [start.time, pace]])
            # Those of even parts are kept: to make one takes long.
            even = isinstance(parts, int)
            engine = _kept_engine(problem, self, parts) if even else self.engine(problem, parts)
            return run("cvodes", engine, {"x0": start.x, "p": values})

        return Grid(problem, integrate)

    def engine(self, problem: OdeProblem, parts: Parts) -> ca.Function:
        """Return an integrator of a problem, with its output at these parts."""
        tau, x, p = (problem.rhs.sx_in(k) for k in range(3))
        start, pace = symbol("start"), symbol("pace")
        dae = {
            "t": tau,
            "x": x,
            "p": ca.vertcat(p, start, pace),
            "ode": pace * problem.rhs(start + pace * tau, x, p),
        }
        options = {
            "reltol": self.rtol,
            "abstol": self.atol,
            "linear_multistep_method": self.method,
        }
        return engine_of("cvodes", dae, parts, options)


@built_once
def _kept_engine(problem: OdeProblem, solver: Cvodes, parts: int) -> ca.Function:
    return solver.engine(problem, parts)


NEWTON = 0.01
"""The fraction of the tolerance to which Newton's iteration converges. With SUNDIALS' third, errors
of the iteration pass for errors of the step: nearly twice the steps in index 2."""
EXACT = 1e-2
"""The fraction of the tolerance to which an explicit step must be exact that replaces others."""


@dataclass(frozen=True)
class Idas(IdaControlled):
    """Backward differentiation formulas of variable order and step for index 1 and 2.

    CasADi hides the accepted steps; monitors see a grid that is at least twice as dense.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance; the test of a step gets a part of them, see
        `error_control`.
    """

    name = "idas"
    forms = frozenset({"index-1", "index-2"})

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Grid:
        """Return CasADi's integrator at work."""
        assert isinstance(problem, DaeProblem)

        def integrate(start: State, end: float, parts: Parts) -> tuple[np.ndarray, dict[str, Any]]:
            return self._integrate(problem, start, end, parts)

        return Grid(problem, integrate)

    def _integrate(
        self, problem: DaeProblem, state: State, until: float, parts: Parts
    ) -> tuple[np.ndarray, dict[str, Any]]:
        pace = (until - state.time) / UNITS
        judged = control(problem, self.rtol, self.atol, state.x)
        start = consistent_start(problem, state, until - state.time, judged)
        if not start.finite:
            raise IntegrationError("idas: the rate of the state is not finite")
        tau, x, z, p = (problem.differential.sx_in(k) for k in range(4))
        arguments = (state.time + pace * tau, x, z, p)
        dae = {
            "t": tau,
            "x": x,
            "z": z,
            "p": p,
            "ode": pace * problem.differential(*arguments),
            "alg": problem.algebraic(*arguments),
        }
        options = {
            "reltol": judged.rtol,
            "abstolv": judged.atol.tolist(),
            "suppress_algebraic": True,
            "nonlin_conv_coeff": NEWTON,
            "max_multistep_order": judged.highest_order,
            "calc_ic": False,
            "init_xdot": (pace * start.rate).tolist(),
            "step0": start.first_step / abs(pace),
        }
        known = {"x0": state.x, "z0": start.unknowns, "p": state.p}
        try:
            return run("idas", engine_of("idas", dae, parts, options), known)
        except IntegrationError:
            short = _explicit(problem, state, until, parts, judged)
            if short is None:
                raise
            return short


def _explicit(
    problem: DaeProblem, state: State, until: float, parts: Parts, judged: Control
) -> tuple[np.ndarray, dict[str, Any]] | None:
    """Integrate a span in one step of the classical method of order 4; None if it is too long.

    In index 2 rounding grows as steps become shorter, until Newton's iteration does not converge.
    Where an event is located, a span may be as short as that.
    """

    def after(start: float, x: np.ndarray, end: float) -> np.ndarray:
        return _step(problem, start, x, state.p, end)

    middle = 0.5 * (state.time + until)
    whole = after(state.time, state.x, until)
    halves = after(middle, after(state.time, state.x, middle), until)
    limits = EXACT * (judged.atol[: len(halves)] + judged.rtol * np.abs(halves))
    if not np.all(np.abs(whole - halves) <= limits):
        return None
    inside = np.arange(1, parts + 1) / parts if isinstance(parts, int) else parts
    times = state.time + (until - state.time) * inside
    states = np.array([after(state.time, state.x, end) for end in times.tolist()])
    return states, {"nsteps": 1, "nfevals": 12 + 4 * len(inside)}


def _step(problem: DaeProblem, time: float, x: np.ndarray, p: np.ndarray, end: float) -> np.ndarray:
    step = end - time

    def rate(part: float, state: np.ndarray) -> np.ndarray:
        return np.asarray(problem.rhs(time + part * step, state, p)).ravel()

    first = rate(0.0, x)
    second = rate(0.5, x + 0.5 * step * first)
    third = rate(0.5, x + 0.5 * step * second)
    fourth = rate(1.0, x + step * third)
    return x + step / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)

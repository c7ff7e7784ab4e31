"""Taylor's method by heyoka: compiled, of order 20, at machine precision over long runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from daesolve.algebra.evaluation import BufferedFunction
from daesolve.errors import MissingBackendError, OutOfRangeError
from daesolve.formulations import OdeProblem
from daesolve.solvers.base import (
    Compilation,
    EventHit,
    Observer,
    SegmentEnd,
    Solver,
    State,
    Status,
    positive,
)
from daesolve.solvers.event_stepping import EventIntegrator, finds_events
from daesolve.solvers.guards import Steps, find_events, inner_times
from daesolve.solvers.heyoka_code import hy, missing_in_series, translated
from daesolve.trajectory.results import StepBlock

PIECE = 10_000
"""Steps whose Taylor coefficients are kept at once."""
STUCK = 1e-6
"""A piece that covers less than this part of its segment leads nowhere."""
QUICK_BELOW = 5_000
"""Expected steps below which compact code without optimisation, the quickest to compile, wins."""
UNROLLED_TO = 1_200
"""Instructions above which unrolled code is no faster than compact code."""
OPTIMISED_FROM = {"compact": 10_000, "unrolled": 400_000}
"""Expected steps from which LLVM's optimisation pays (docs/how-to/choose-a-solver.md)."""
OPTIMISED_TO = {"compact": 1_000_000, "unrolled": 600}
"""Instructions above which it takes minutes."""


def available() -> bool:
    """Tell whether heyoka is installed."""
    return hy is not None


@dataclass(frozen=True)
class Taylor(Solver):
    """Taylor's method with automatic order and step, in compensated arithmetic.

    Parameters
    ----------
    tolerance
        Relative tolerance of a step. The default is the machine epsilon; values below it raise
        the order further.
    code
        "unrolled" is fastest to run and slowest to compile, "compact" the reverse; "auto" weighs
        the horizon against the size of the equations.
    optimisation
        LLVM's level, 0 to 3; None chooses with `code`.
    """

    tolerance: float = float(np.finfo(float).eps)
    code: str = "auto"
    optimisation: int | None = None
    name = "taylor"
    projects_steps = True

    def __post_init__(self) -> None:
        positive(self.name, tolerance=self.tolerance)
        if not 1e-30 <= self.tolerance <= 1e-2:
            raise OutOfRangeError(
                f"taylor: tolerance is {self.tolerance:g}, but must lie in [1e-30, 0.01]"
            )
        if self.code not in ("auto", "compact", "unrolled"):
            raise OutOfRangeError(
                f"taylor: code is {self.code!r}, but must be 'auto', 'compact' or 'unrolled'"
            )
        if self.optimisation not in (None, 0, 1, 2, 3):
            raise OutOfRangeError("taylor: optimisation must be None or 0 to 3")
        if hy is None:
            raise MissingBackendError(
                "taylor needs heyoka, which has no wheel for this machine; install it from "
                "conda-forge (conda install heyoka.py), or use the solver 'cvodes'"
            )

    def refusal(self, problem: OdeProblem) -> str | None:
        """Refuse operations that have no Taylor series (branches, absolute values)."""
        missing = missing_in_series(problem.rhs)
        if not missing:
            return None
        return (
            f"taylor cannot expand {', '.join(sorted(set(missing)))} in a series; pose the system "
            "without it, or use one of dop853, radau, lsoda, cvodes"
        )

    def halts_at_events(self, problem: OdeProblem) -> bool:
        """Tell whether heyoka itself locates the events: where some reset, and series hold."""
        return finds_events(problem)

    def tolerances(self) -> dict[str, float]:
        """Return the tolerance."""
        return {"tolerance": self.tolerance}

    def refined(self) -> Solver:
        """Return the method with a hundredth of the tolerance: another order, other steps."""
        return replace(self, tolerance=max(self.tolerance / 100, 1e-30))

    def configured(self, problem: OdeProblem, steps: float) -> Taylor:
        """Choose how to compile from the size of the equations and the length of the run."""
        size = problem.rhs.n_instructions()
        code, level = self.code, self.optimisation
        if code == "auto":
            code = "unrolled" if steps >= QUICK_BELOW and size <= UNROLLED_TO else "compact"
        if level is None:
            pays = steps >= OPTIMISED_FROM[code] and size <= OPTIMISED_TO[code]
            level = 3 if pays or self.code == "unrolled" else 0
        return replace(self, code=code, optimisation=level)

    def compile(self, problem: OdeProblem) -> Compilation:
        """Translate the right-hand side and compile it; heyoka keeps compiled code on disk."""
        known = _compiled.setdefault(problem, {})
        if self in known:
            return Compilation(0.0, True, (self._told(problem),))
        stored = hy.llvm_state.get_diskcache_size()
        begin = time.perf_counter()
        kind = EventIntegrator if self.halts_at_events(problem) else PiecewiseIntegrator
        known[self] = kind(self.tolerance, self.code == "compact", self.optimisation, problem)
        seconds = time.perf_counter() - begin
        cached = hy.llvm_state.get_diskcache_size() == stored
        return Compilation(seconds, cached, (self._told(problem),))

    def _told(self, problem: OdeProblem) -> str:
        return (
            f"{self.code} code at optimisation level {self.optimisation} for "
            f"{problem.rhs.n_instructions()} instructions"
        )

    def segment(
        self,
        problem: OdeProblem,
        state: State,
        until: float,
        at: np.ndarray,
        observe: Observer,
    ) -> SegmentEnd:
        """Integrate one segment; see `Solver.segment`."""
        known = _compiled.get(problem, {})
        if self not in known:
            self.compile(problem)
            known = _compiled[problem]
        return known[self].segment(state, until, at, observe)


_compiled: WeakKeyDictionary[OdeProblem, dict[Taylor, PiecewiseIntegrator | EventIntegrator]]
_compiled = WeakKeyDictionary()


class PiecewiseIntegrator:
    """A compiled integrator of one problem."""

    def __init__(
        self, tolerance: float, compact: bool, optimisation: int | None, problem: OdeProblem
    ) -> None:
        self.problem = problem
        self.rates = translated(problem.rhs)
        self.integrator = hy.taylor_adaptive(
            list(zip(self.rates.variables, self.rates.expressions, strict=True)),
            [0.0] * problem.size,
            tol=tolerance,
            high_accuracy=True,
            compact_mode=compact,
            opt_level=optimisation,
        )

    def segment(self, state: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate piece by piece: a piece keeps its Taylor coefficients, so it is bounded."""
        integrator = self.integrator
        integrator.time = state.time
        integrator.state[:] = state.x
        numbers = np.concatenate([state.p, self.rates.parameters(state.p)])
        integrator.pars[:] = numbers[: len(integrator.pars)]
        sign = 1.0 if until >= state.time else -1.0
        samples = [state.x.copy() for time in at if time == state.time]
        after_steps = _after_steps(self.problem, state.p)
        hits: list[EventHit] = []
        end, final = state.time, state.x.copy()
        total, outcome, stop = 0, hy.taylor_outcome.step_limit, None
        halted = False
        while outcome == hy.taylor_outcome.step_limit and stop is None and not halted:
            most = _piece(observe, int(integrator.order))
            outcome, _, _, count, dense, _ = integrator.propagate_until(
                until, c_output=True, max_steps=most, **after_steps
            )
            if outcome == hy.taylor_outcome.cb_stop:
                outcome = hy.taylor_outcome.step_limit
            if not count:
                break
            landed = outcome == hy.taylor_outcome.time_limit
            begin = end
            times, states = _accepted(integrator, dense, until if landed else None)
            if len(times) > 1:
                times, states, stop = self._events(state, times, states, dense, hits)
                end, final = float(times[-1]), states[-1].copy()
                count = len(times) - 1
                spent = count * int(integrator.order)
                halted = observe(StepBlock(times[1:], states[1:], spent)) is True
                total += count
            pending = at[len(samples) :]
            reached = pending[sign * (pending - end) <= 0.0]
            samples += [sample.copy() for sample in dense(reached)]
            if abs(end - begin) < STUCK * abs(until - state.time):
                break
        status, message = _status(outcome, stopped=stop is not None)
        if halted and status is not Status.STOPPED:
            status, message = Status.HALTED, ""
        return SegmentEnd(
            status,
            message,
            end,
            final,
            np.array(samples).reshape(len(samples), len(final)),
            tuple(hits),
            total,
            total * int(integrator.order),
        )

    def _events(
        self,
        state: State,
        times: np.ndarray,
        states: np.ndarray,
        dense: Any,
        hits: list[EventHit],
    ) -> tuple[np.ndarray, np.ndarray, EventHit | None]:
        """Add the events of some steps; return what stays of the steps, and what stopped them."""
        if not self.problem.events:
            return times, states, None

        def states_at(moments: np.ndarray) -> np.ndarray:
            return np.array(dense(moments))

        def advance(step: int, time: float) -> np.ndarray:
            return states_at(np.array([time]))[0]

        steps = Steps(times, states, states_at(inner_times(times)), states_at, advance)
        sign = 1.0 if times[-1] >= times[0] else -1.0
        for hit in find_events(self.problem, state.p, steps):
            hits.append(hit)
            if self.problem.guarded[hit.index].then.interrupts:
                before = sign * (times - hit.time) < 0.0
                before[0] = True
                return (
                    np.append(times[before], hit.time),
                    np.vstack([states[before], hit.state]),
                    hit,
                )
        return times, states, None


def _piece(observe: Observer, order: int) -> int:
    """Return how many steps to take at once: no more than there may yet be."""
    remaining: int | None = getattr(observe, "remaining", None)
    return PIECE if remaining is None else min(PIECE, max(-(-remaining // order), 1))


def _after_steps(problem: OdeProblem, p: np.ndarray) -> dict[str, Any]:
    """Return the callback that projects the state after each step, and ends where a chart does.

    Beyond the end of a chart its equations are steep, and hundreds of steps would be taken in vain.
    """
    charted = problem.chart is not None and problem.chart.choose is not None
    if problem.project is None and not charted:
        return {}
    project = None if problem.project is None else BufferedFunction(problem.project, p)
    guards = BufferedFunction(problem.guards, p) if charted else None

    def after_step(integrator: Any) -> bool:
        if project is not None:
            integrator.state[:] = project(integrator.time, integrator.state)
        return guards is None or bool(guards(integrator.time, integrator.state)[-1] >= 0.0)

    return {"callback": after_step}


def _accepted(
    integrator: Any, dense: Any, landed_at: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the start and the ends of the steps of a piece, as far as they are finite."""
    last = float(integrator.time) if landed_at is None else landed_at
    times = np.append(dense.times[:-1], last)
    states = np.vstack([dense.tcs[:, :, 0], integrator.state])
    good = np.logical_and.accumulate(np.all(np.isfinite(states), axis=1))
    return times[good], states[good]


def _status(outcome: Any, *, stopped: bool) -> tuple[Status, str]:
    if stopped:
        return Status.STOPPED, ""
    if outcome == hy.taylor_outcome.step_limit:
        return Status.FAILED, "the steps have become too small to go on"
    if outcome == hy.taylor_outcome.err_nf_state:
        return Status.FAILED, "the state is no longer finite"
    return Status.REACHED, ""

"""Taylor's method by heyoka: compiled, of order 20, at machine precision over long runs."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from daesolve.algebra.evaluation import BufferedFunction
from daesolve.algebra.translation import evaluate_block
from daesolve.errors import MissingBackendError, OutOfRangeError, is_one_of
from daesolve.formulations import OdeProblem
from daesolve.solvers.base import Compilation, Solver, positive
from daesolve.solvers.courses import Series
from daesolve.solvers.event_stepping import EventIntegrator, finds_events
from daesolve.solvers.guards import Steps, found_hits, inner_times
from daesolve.solvers.heyoka_code import (
    bounded_table,
    heyoka_table,
    hy,
    may_overflow,
    missing_in_series,
    translated,
)
from daesolve.solvers.segment import (
    NOT_FINITE,
    STALLED,
    Block,
    EventHit,
    Integrator,
    Observer,
    Segment,
    SegmentEnd,
    State,
    Status,
)
from daesolve.solvers.step_checks import UNSEEN, StepChecks

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
    """Return whether heyoka is installed."""
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
        if not is_one_of(self.code, ("auto", "compact", "unrolled")):
            raise OutOfRangeError(
                f"taylor: code is {self.code!r}, but must be 'auto', 'compact' or 'unrolled'"
            )
        if not is_one_of(self.optimisation, (None, 0, 1, 2, 3)):
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
        """Return whether heyoka itself locates the events: where some reset, and series hold."""
        return finds_events(problem)

    @property
    def any_time(self) -> bool:
        """The tolerance is no time."""
        return True

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
        end = known[self].segment(state, until, at, observe)
        if end.status is not Status.FAILED or end.message != NOT_FINITE:
            return end
        here = State(end.time, end.state, state.p)
        if not may_overflow(problem.rhs) or not _has_rate(problem, here):
            return end
        # Terms overflow within the series that come to nothing in the rate: 1 / (1 + exp(u)).
        rest = self._bounded(problem).segment(here, until, at[len(end.samples) :], observe)
        if rest.status is Status.FAILED and rest.time == end.time:
            return end
        return replace(
            rest,
            samples=np.vstack([end.samples, rest.samples]),
            hits=(*end.hits, *rest.hits),
            steps=end.steps + rest.steps,
            rhs_evaluations=end.rhs_evaluations + rest.rhs_evaluations,
        )

    def _bounded(self, problem: OdeProblem) -> PiecewiseIntegrator | EventIntegrator:
        """Return the integrator in which exponentials do not overflow."""
        known = _bounded.setdefault(problem, {})
        if self not in known:
            kind = EventIntegrator if self.halts_at_events(problem) else PiecewiseIntegrator
            compact, level = self.code == "compact", self.optimisation
            known[self] = kind(self.tolerance, compact, level, problem, bounded=True)
        return known[self]


def _has_rate(problem: OdeProblem, state: State) -> bool:
    rate = evaluate_block(problem.rhs, np.array([state.time]), state.x[None, :], state.p)[0]
    return bool(np.all(np.isfinite(rate)))


_bounded: WeakKeyDictionary[OdeProblem, dict[Taylor, PiecewiseIntegrator | EventIntegrator]]
_bounded = WeakKeyDictionary()
_compiled: WeakKeyDictionary[OdeProblem, dict[Taylor, PiecewiseIntegrator | EventIntegrator]]
_compiled = WeakKeyDictionary()


class PiecewiseIntegrator(Integrator):
    """A compiled integrator of one problem."""

    bounded = False
    """Whether exponentials are held within bounds (`bounded_table`)."""

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
        self.rates = translated(problem.rhs, table=bounded_table if bounded else heyoka_table)
        self.integrator = hy.taylor_adaptive(
            list(zip(self.rates.variables, self.rates.expressions, strict=True)),
            [0.0] * problem.size,
            tol=tolerance,
            high_accuracy=True,
            compact_mode=compact,
            opt_level=optimisation,
        )

    def segment(self, start: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate; see `Solver.segment`."""
        tolerance = self.tolerance
        self.checks = StepChecks(
            self.problem, start.p, tolerance, UNSEEN * tolerance, own_rates=not self.bounded
        )
        return super().segment(start, until, at, observe)

    def blocks(self, segment: Segment) -> Generator[Block]:
        """Integrate piece by piece: a piece keeps its Taylor coefficients, so it is bounded."""
        integrator, state, until = self.integrator, segment.start, segment.until
        integrator.time = state.time
        integrator.state[:] = state.x
        numbers = np.concatenate([state.p, self.rates.parameters(state.p)])
        integrator.pars[:] = numbers[: len(integrator.pars)]
        after_steps = _after_steps(self.problem, state.p)
        least = STUCK * abs(until - state.time)
        limits, outcome = hy.taylor_outcome, hy.taylor_outcome.step_limit
        while outcome in (limits.step_limit, limits.cb_stop):
            most = _piece(segment, int(integrator.order))
            outcome, _, _, count, dense, _ = integrator.propagate_until(
                until, c_output=True, max_steps=most, **after_steps
            )
            landed = outcome == limits.time_limit
            if count:
                times, states = _accepted(integrator, dense, until if landed else None)
            else:
                times, states = np.array([segment.time]), segment.state[None, :]
            failure = ""
            if outcome == limits.err_nf_state:
                failure = NOT_FINITE
            elif segment.ahead is None and not landed and abs(times[-1] - times[0]) < least:
                failure = STALLED
            yield _Piece(self, state.p, times, states, dense, failure)


class _Piece(Block):
    """Steps with their Taylor coefficients."""

    def __init__(
        self,
        integrator: PiecewiseIntegrator,
        p: np.ndarray,
        times: np.ndarray,
        states: np.ndarray,
        dense: Any,
        failure: str,
    ) -> None:
        super().__init__(times, states, failure)
        self.problem, self.p, self.dense = integrator.problem, p, dense
        self.order = int(integrator.integrator.order)

    def hits(self) -> Sequence[EventHit]:
        def states_at(moments: np.ndarray) -> np.ndarray:
            return np.array(self.dense(moments))

        def advance(step: int, time: float) -> np.ndarray:
            return states_at(np.array([time]))[0]

        inner = states_at(inner_times(self.times))
        return found_hits(
            self.problem, self.p, Steps(self.times, self.states, inner, states_at, advance)
        )

    def samples(self, times: np.ndarray) -> Iterable[np.ndarray]:
        return self.dense(times) if len(times) else ()

    def evaluations(self, kept: int) -> int:
        return kept * self.order

    def course(self, times: np.ndarray, states: np.ndarray) -> Series:
        return Series(times, states, self.dense.tcs)


def _piece(segment: Segment, order: int) -> int:
    """Return how many steps to take at once: no more than there may yet be, or that may stay."""
    remaining: int | None = getattr(segment.observe, "remaining", None)
    most = PIECE if segment.ahead is None else min(PIECE, segment.ahead)
    return most if remaining is None else min(most, max(-(-remaining // order), 1))


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

"""Taylor's method by heyoka: compiled, of order 20, at machine precision over long runs."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any, Self
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.errors import MissingBackendError, OutOfRangeError
from daesolve.formulations import OdeProblem
from daesolve.goals import Direction
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
from daesolve.trajectory import StepBlock
from daesolve.translation import (
    Table,
    constants_of,
    evaluate_constants,
    integer_power,
    missing_operations,
    translate,
)

try:
    import heyoka
except ImportError:  # no wheel for this machine
    heyoka = None

hy: Any = heyoka

PIECE = 10_000
"""Steps whose Taylor coefficients are kept at once."""
STUCK = 1e-6
"""A piece that covers less than this part of its segment leads nowhere."""
QUICK_BELOW = 5_000
"""Expected steps below which compact code without optimisation, the quickest to compile, wins."""
UNROLLED_TO = 1_200
"""Instructions above which unrolled code is no faster than compact code."""
OPTIMISED_FROM = {"compact": 10_000, "unrolled": 400_000}
"""Expected steps from which LLVM's optimisation pays for itself (see docs/solvers.md)."""
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
        missing: list[str] = []
        for function in (problem.rhs, problem.guards):
            missing += missing_operations(function, _table())
        if not missing:
            return None
        return (
            f"taylor cannot expand {', '.join(sorted(set(missing)))} in a series; pose the system "
            "without it, or use one of dop853, radau, lsoda, cvodes"
        )

    def tolerances(self) -> dict[str, float]:
        """Return the tolerance."""
        return {"tolerance": self.tolerance}

    def tightened(self) -> Solver:
        """Return the method with a hundredth of the tolerance: another order, other steps."""
        return replace(self, tolerance=max(self.tolerance / 100, 1e-30))

    def resolved(self, problem: OdeProblem, steps: float) -> Taylor:
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
        known[self] = _Integrator(self, problem)
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
        self.compile(problem)
        return _compiled[problem][self].segment(state, until, at, observe)


_compiled: WeakKeyDictionary[OdeProblem, dict[Taylor, _Integrator]] = WeakKeyDictionary()


def _table() -> Table:
    """Every operation that has a Taylor series, in heyoka's expressions."""
    return {
        ca.OP_ASSIGN: lambda a: a,
        ca.OP_ADD: lambda a, b: a + b,
        ca.OP_SUB: lambda a, b: a - b,
        ca.OP_MUL: lambda a, b: a * b,
        ca.OP_DIV: lambda a, b: a / b,
        ca.OP_NEG: lambda a: -a,
        ca.OP_INV: lambda a: 1.0 / a,
        ca.OP_SQ: lambda a: a * a,
        ca.OP_TWICE: lambda a: 2.0 * a,
        ca.OP_SQRT: lambda a: hy.sqrt(a),
        ca.OP_EXP: lambda a: hy.exp(a),
        ca.OP_LOG: lambda a: hy.log(a),
        ca.OP_POW: _power,
        ca.OP_CONSTPOW: _power,
        ca.OP_SIN: lambda a: hy.sin(a),
        ca.OP_COS: lambda a: hy.cos(a),
        ca.OP_TAN: lambda a: hy.tan(a),
        ca.OP_ASIN: lambda a: hy.asin(a),
        ca.OP_ACOS: lambda a: hy.acos(a),
        ca.OP_ATAN: lambda a: hy.atan(a),
        ca.OP_ATAN2: lambda a, b: hy.atan2(a, b),
        ca.OP_SINH: lambda a: hy.sinh(a),
        ca.OP_COSH: lambda a: hy.cosh(a),
        ca.OP_TANH: lambda a: hy.tanh(a),
        ca.OP_ASINH: lambda a: hy.asinh(a),
        ca.OP_ACOSH: lambda a: hy.acosh(a),
        ca.OP_ATANH: lambda a: hy.atanh(a),
        ca.OP_ERF: lambda a: hy.erf(a),
        ca.OP_LOG1P: lambda a: hy.log(1.0 + a),
        ca.OP_EXPM1: lambda a: hy.exp(a) - 1.0,
        ca.OP_HYPOT: lambda a, b: hy.sqrt(a * a + b * b),
    }


def _power(base: Any, exponent: Any) -> Any:
    """Raise to a power; whole ones by products, since heyoka's pow(x, 3) is NaN at x = 0."""
    if isinstance(exponent, float) and exponent.is_integer() and abs(exponent) <= 64:
        return integer_power(base, int(exponent))
    return hy.expression(base) ** exponent


@dataclass(frozen=True)
class _Translated:
    """A function in heyoka's expressions; `hoisted` are values that become parameters."""

    function: ca.Function
    variables: list[Any]
    expressions: list[Any]
    hoisted: tuple[int, ...]

    def parameters(self, p: np.ndarray) -> np.ndarray:
        """Evaluate the hoisted values."""
        with np.errstate(all="ignore"):
            return evaluate_constants(self.function, 2, p, self.hoisted)


def _translated(function: ca.Function, names: list[str], first: int) -> _Translated:
    """Translate (t, x, p); what depends on p alone becomes a parameter, from number `first` on.

    heyoka would carry it along as a series of order 20, and multiply by all of it.
    """
    variables = hy.make_vars(*names) if len(names) > 1 else [hy.make_vars(*names)]
    parameters = [hy.par[index] for index in range(function.nnz_in(2))]
    hoisted = constants_of(function, 2)
    given = {number: hy.par[first + place] for place, number in enumerate(hoisted)}
    outputs = translate(
        function, [[hy.time], variables, parameters], _table(), engine="taylor", given=given
    )
    expressions = [
        entry if isinstance(entry, hy.expression) else hy.expression(float(entry))
        for entry in outputs[0]
    ]
    return _Translated(function, variables, expressions, hoisted)


class _Integrator:
    """A compiled integrator of one problem."""

    def __init__(self, settings: Taylor, problem: OdeProblem) -> None:
        names = [f"x{index}" for index in range(problem.size)]
        own = problem.rhs.nnz_in(2)
        rates = _translated(problem.rhs, names, own)
        self.translated = [rates]
        self.hits: list[tuple[int, float]] = []
        self.stopping: list[int] = []
        self.start = _Start()
        terminal: list[Any] = []
        passing: list[Any] = []
        guards: list[Any] = []
        if problem.events:
            self.translated.append(_translated(problem.guards, names, own + len(rates.hoisted)))
            guards = self.translated[-1].expressions
        for index, (event, guard) in enumerate(zip(problem.events, guards, strict=True)):
            # heyoka's own filter by direction misses a root after one at the start of a step.
            filtered = _Counts(self.start, event.direction)
            if event.then.stops:
                self.stopping.append(index)
                terminal.append(hy.t_event(guard, callback=_Passes(filtered)))
            else:
                passing.append(hy.nt_event(guard, _Recorder(self.hits, index, filtered)))
        self.integrator = hy.taylor_adaptive(
            list(zip(rates.variables, rates.expressions, strict=True)),
            [0.0] * problem.size,
            tol=settings.tolerance,
            high_accuracy=True,
            compact_mode=settings.code == "compact",
            opt_level=settings.optimisation,
            t_events=terminal,
            nt_events=passing,
        )

    def segment(self, state: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate piece by piece: a piece keeps its Taylor coefficients, so it is bounded."""
        integrator = self.integrator
        if integrator.with_events:
            integrator.reset_cooldowns()
        integrator.time = state.time
        integrator.state[:] = state.x
        numbers = np.concatenate([state.p, *(t.parameters(state.p) for t in self.translated)])
        integrator.pars[:] = numbers[: len(integrator.pars)]
        sign = 1.0 if until >= state.time else -1.0
        self.start.time = state.time if state.begins else math.nan
        self.start.sign = sign
        samples = [state.x.copy() for time in at if time == state.time]
        hits: list[EventHit] = []
        end, final = state.time, state.x.copy()
        total, more = 0, True
        outcome: Any = None
        while more:
            self.hits.clear()
            outcome, _, _, steps, dense, _ = integrator.propagate_until(
                until, c_output=True, max_steps=PIECE
            )
            total += int(steps)
            if steps:
                landed = int(outcome) == int(hy.taylor_outcome.time_limit)
                last = until if landed else float(integrator.time)
                times = np.append(dense.times[1:-1], last)
                states = np.vstack([dense.tcs[1:, :, 0], integrator.state])
                good = np.logical_and.accumulate(np.all(np.isfinite(states), axis=1))
                if np.any(good):
                    end, final = float(times[good][-1]), states[good][-1].copy()
                    observe(StepBlock(times[good], states[good]))
                pending = at[len(samples) :]
                reached = pending[sign * (pending - end) <= 0.0]
                samples.extend(np.array(dense(reached)))
                hits.extend(EventHit(i, t, np.array(dense(t))) for i, t in self.hits)
            stuck = steps and abs(dense.times[-1] - dense.times[0]) < STUCK * abs(
                until - state.time
            )
            more = int(outcome) == int(hy.taylor_outcome.step_limit) and not stuck
        status, message = self._status(int(outcome))
        if status is Status.STOPPED:
            hits.append(EventHit(self.stopping[-int(outcome) - 1], end, final))
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

    @staticmethod
    def _status(outcome: int) -> tuple[Status, str]:
        if outcome == int(hy.taylor_outcome.time_limit):
            return Status.REACHED, ""
        if outcome == int(hy.taylor_outcome.step_limit):
            return Status.FAILED, "the steps have become too small to go on"
        if outcome == int(hy.taylor_outcome.err_nf_state):
            return Status.FAILED, "the state is no longer finite"
        if outcome >= 0:
            return Status.REACHED, ""
        return Status.STOPPED, ""


@dataclass
class _Start:
    """The start of the run (NaN in later segments), and the sign of its direction of time."""

    time: float = 0.0
    sign: float = 1.0


class _Shared:
    """heyoka copies its callbacks; these must stay the same objects."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class _Counts(_Shared):
    """Whether a root of a guard is an event: in its direction, and not where the run starts."""

    def __init__(self, start: _Start, direction: Direction) -> None:
        self.start, self.direction = start, direction

    def __call__(self, time: float, sign: int) -> bool:
        along = sign * self.start.sign
        return time != self.start.time and along * self.direction.value >= 0


class _Passes(_Shared):
    """Tells heyoka to go on past a root that is no event."""

    def __init__(self, counts: _Counts) -> None:
        self.counts = counts

    def __call__(self, integrator: Any, sign: int) -> bool:
        return not self.counts(float(integrator.time), sign)


class _Recorder(_Shared):
    """Writes an event down without stopping."""

    def __init__(self, hits: list[tuple[int, float]], index: int, counts: _Counts) -> None:
        self.hits, self.index, self.counts = hits, index, counts

    def __call__(self, integrator: Any, time: float, sign: int) -> None:
        if self.counts(time, sign):
            self.hits.append((self.index, time))

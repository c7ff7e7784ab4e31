"""Taylor's method, of order 20, at machine precision over long runs.

Two engines take its steps: the kernel, which walks a table and compiles nothing for the equations,
and heyoka, which compiles them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Union
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.series import may_overflow, missing_in_series
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.base import Compilation, Solver, positive
from daesolve.core.solvers.observers import Observer
from daesolve.core.solvers.segment import NOT_FINITE, SegmentEnd, State, Status
from daesolve.core.solvers.series_events import halts_in_kernel
from daesolve.errors import MissingBackendError, OutOfRangeError, is_one_of

if TYPE_CHECKING:
    from daesolve.core.solvers.heyoka_stepping import PiecewiseIntegrator
    from daesolve.core.solvers.kernel_events import KernelEventIntegrator
    from daesolve.core.solvers.kernel_stepping import KernelIntegrator
    from daesolve.core.solvers.reset_chains import ResetChains

PAYS_FROM, PAYS_TO = 400_000, 600
"""Expected steps from which heyoka's compiling pays, and instructions up to which it does."""
QUICK_BELOW = 5_000
"""Expected steps below which compact code without optimisation, the quickest to compile, wins."""
UNROLLED_TO = 1_200
"""Instructions above which unrolled code is no faster than compact code."""
OPTIMISED_FROM = {"compact": 10_000, "unrolled": 400_000}
"""Expected steps from which LLVM's optimisation pays (docs/how-to/choose-a-solver.md)."""
OPTIMISED_TO = {"compact": 1_000_000, "unrolled": 600}
"""Instructions above which it takes minutes."""

NO_CODE, IN_CODE = "instructions, nothing to compile", " code at optimisation level "
"""Texts of notes about the method's code: that there is none, or how it was compiled."""


@dataclass(frozen=True)
class Taylor(Solver):
    """Taylor's method with automatic order and step, in compensated arithmetic.

    Parameters
    ----------
    tolerance
        Relative tolerance of a step. The default is the machine epsilon; values below it raise
        the order further.
    code
        For heyoka: "unrolled" runs fastest and compiles slowest, "compact" the reverse; "auto"
        weighs the horizon against the size of the equations.
    optimisation
        LLVM's optimisation level for heyoka, 0 to 3; None chooses it with `code`.
    engine
        "kernel" compiles nothing and runs wherever numba does; "heyoka" compiles the equations;
        "auto" uses heyoka if it is installed and worth it: in very long runs of small systems, and
        if `code` or `optimisation` is given.
    """

    tolerance: float = float(np.finfo(float).eps)
    code: str = "auto"
    optimisation: int | None = None
    engine: str = "auto"
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
        if not is_one_of(self.engine, ("auto", "kernel", "heyoka")):
            raise OutOfRangeError(
                f"taylor: engine is {self.engine!r}, but must be 'auto', 'kernel' or 'heyoka'"
            )
        compiles = self.code != "auto" or self.optimisation is not None
        if compiles and self.engine == "kernel":
            raise OutOfRangeError(
                "taylor: code and optimisation apply only to the engine 'heyoka'; leave them "
                "out, or leave out engine='kernel', which compiles nothing"
            )
        if (compiles or self.engine == "heyoka") and _heyoka() is None:
            raise MissingBackendError(
                "taylor: the engine 'heyoka' has no wheel for this machine; install it from "
                "conda-forge (conda install heyoka.py), or leave out engine, code and optimisation"
            )

    def refusal(self, problem: OdeProblem) -> str | None:
        """Refuse operations that have no Taylor series (branches, absolute values)."""
        missing = missing_in_series(problem.rhs)
        if not missing:
            return None
        return (
            f"taylor cannot expand {', '.join(sorted(set(missing)))} in a series; write the "
            "system without it, or use one of dop853, radau, lsoda, cvodes"
        )

    def halts_at_events(self, problem: OdeProblem) -> bool:
        """Return whether the kernel locates the events, in the guards' series."""
        return self._engine(problem, 0.0) == "kernel" and halts_in_kernel(problem)

    def follows_time_guards(self, problem: OdeProblem) -> bool:
        """Return whether the kernel follows the guards' series."""
        return self.halts_at_events(problem)

    def reset_chains(
        self, problem: OdeProblem, resets: Mapping[int, ca.Function]
    ) -> ResetChains | None:
        """Return the kernel that continues from reset to reset; None for heyoka."""
        integrator = self._at_work(problem)
        from daesolve.core.solvers.kernel_events import KernelEventIntegrator
        from daesolve.core.solvers.reset_chains import ResetChains

        if not isinstance(integrator, KernelEventIntegrator):
            return None
        numbers = integrator.stepper.instructions.numbers
        # Nothing takes the logarithm of a number there: who raises one to a power does not halt.
        taken = any(base is not None for _, base in numbers.own)
        return None if taken else ResetChains(integrator, resets)

    def _engine(self, problem: OdeProblem, steps: float) -> str:
        """Return which engine takes so many steps of a problem."""
        if self.engine != "auto":
            return self.engine
        asked = self.code != "auto" or self.optimisation is not None
        # Where it can, the kernel continues from reset to reset by itself.
        resets = any(e.then.reset is not None and not e.listed for e in problem.events)
        pays = steps >= PAYS_FROM and problem.rhs.n_instructions() <= PAYS_TO
        pays = pays and not (resets and halts_in_kernel(problem))
        return "heyoka" if (asked or pays) and _heyoka() is not None else "kernel"

    @property
    def any_time(self) -> bool:
        """No setting is a time."""
        return True

    def tolerances(self) -> dict[str, float]:
        """Return the tolerance."""
        return {"tolerance": self.tolerance}

    def refined(self) -> Solver:
        """Return the method with a hundredth of the tolerance: another order, other steps."""
        return replace(self, tolerance=max(self.tolerance / 100, 1e-30))

    def configured(self, problem: OdeProblem, steps: float) -> Taylor:
        """Choose the engine, and how to compile, by the equations' size and the run's length."""
        engine = self._engine(problem, steps)
        if engine == "kernel":
            return replace(self, engine=engine)
        size = problem.rhs.n_instructions()
        code, level = self.code, self.optimisation
        if code == "auto":
            code = "unrolled" if steps >= QUICK_BELOW and size <= UNROLLED_TO else "compact"
        if level is None:
            pays = steps >= OPTIMISED_FROM[code] and size <= OPTIMISED_TO[code]
            level = 3 if pays or self.code == "unrolled" else 0
        return replace(self, code=code, optimisation=level, engine=engine)

    def compile(self, problem: OdeProblem) -> Compilation:
        """Read the equations into the kernel's table, or compile them.

        numba keeps the kernel, heyoka what it compiled, on disk.
        """
        known = _made.setdefault(problem, {})
        notes = (self._code_note(problem),)
        if (self, False) in known:
            return Compilation(0.0, True, notes)
        compiles = self._engine(problem, 0.0) == "heyoka"
        stored = _stored() if compiles else 0
        begin = time.perf_counter()
        known[self, False] = self._made(problem)
        taken = time.perf_counter() - begin
        return Compilation(taken, not compiles or _stored() == stored, notes)

    def _made(self, problem: OdeProblem, *, bounded: bool = False) -> TaylorIntegrator:
        """Return the method at work on a problem; bounded exponentials do not overflow."""
        # numba and heyoka take long to import.
        if self._engine(problem, 0.0) == "kernel":
            if not bounded and halts_in_kernel(problem):
                from daesolve.core.solvers.kernel_events import KernelEventIntegrator

                return KernelEventIntegrator(self.tolerance, problem)
            from daesolve.core.solvers.kernel_stepping import KernelIntegrator

            return KernelIntegrator(self.tolerance, problem, bounded=bounded)
        from daesolve.core.solvers.heyoka_stepping import PiecewiseIntegrator

        compact = self.code == "compact"
        return PiecewiseIntegrator(
            self.tolerance, compact, self.optimisation, problem, bounded=bounded
        )

    @staticmethod
    def is_about_code(note: str) -> bool:
        """Return whether a note is about the method's code, and not about the motion."""
        return note.endswith(NO_CODE) or IN_CODE in note

    def _code_note(self, problem: OdeProblem) -> str:
        size = problem.rhs.n_instructions()
        if self._engine(problem, 0.0) == "kernel":
            return f"Taylor's method by the kernel for {size} {NO_CODE}"
        return f"{self.code}{IN_CODE}{self.optimisation} for {size} instructions"

    def segment(
        self,
        problem: OdeProblem,
        state: State,
        until: float,
        at: np.ndarray,
        observe: Observer,
    ) -> SegmentEnd:
        """Integrate one segment; see `Solver.segment`."""
        end = self._at_work(problem).segment(state, until, at, observe)
        if end.status is not Status.FAILED or end.message != NOT_FINITE:
            return end
        here = State(end.time, end.state, state.p)
        if not may_overflow(problem.rhs) or not _has_rate(problem, here):
            return end
        # Terms overflow within the series that come to nothing in the rate: 1 / (1 + exp(u)).
        bounded = self._at_work(problem, bounded=True)
        rest = bounded.segment(here, until, at[len(end.samples) :], observe)
        if rest.status is Status.FAILED and rest.time == end.time:
            return end
        return end.followed_by(rest)

    def _at_work(self, problem: OdeProblem, *, bounded: bool = False) -> TaylorIntegrator:
        """Return the method at work on a problem, which is made once."""
        known = _made.setdefault(problem, {})
        if (self, bounded) not in known:
            known[self, bounded] = self._made(problem, bounded=bounded)
        return known[self, bounded]


def _heyoka() -> Any:
    """Return heyoka, which is imported where it is wanted; None if it is not installed."""
    from daesolve.core.solvers.heyoka_code import hy

    return hy


def _stored() -> int:
    """Return how much compiled code heyoka keeps on disk."""
    return int(_heyoka().llvm_state.get_diskcache_size())


def _has_rate(problem: OdeProblem, state: State) -> bool:
    rate = evaluate_block(problem.rhs, np.array([state.time]), state.x[None, :], state.p)[0]
    return bool(np.all(np.isfinite(rate)))


TaylorIntegrator = Union["KernelIntegrator", "KernelEventIntegrator", "PiecewiseIntegrator"]
_made: WeakKeyDictionary[OdeProblem, dict[tuple[Taylor, bool], TaylorIntegrator]]
_made = WeakKeyDictionary()

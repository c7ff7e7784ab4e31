"""Powers of two by which states and time are divided before a solver sees them.

Solvers have absolute tolerances, first steps and least steps, and some measure all states by one
norm: a pendulum of a nanometre is zero to them. They integrate

    y_i = x_i / 2^k_i,    s = t / 2^m,    dy_i/ds = 2^(m - k_i) f_i(2^m s, 2^k y, p)

instead of x' = f(t, x, p), and what they find is multiplied back. Both are exact in floating
point, so the exponents change only digits that a tolerance decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import DaeProblem, OdeProblem
from daesolve.core.formulations.semi_explicit import SemiExplicit
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.solvers.base import Compilation, Solver
from daesolve.core.solvers.observers import Observer, StepObserver, step_observer
from daesolve.core.solvers.segment import (
    EventHit,
    SegmentEnd,
    State,
    Status,
)

OUTGROWN = 20
"""Powers of two beyond its exponent at which a state is given another one."""
COARSE = 32
"""Exponents of states that have outgrown theirs are multiples of this."""


@dataclass(frozen=True)
class Scaling:
    """The exponents of a problem.

    Parameters
    ----------
    states
        (size,) k, of x.
    visible
        Those of the states that labels name and of what is metered, where a chart has others.
    unknowns
        Those of z of a differential-algebraic equation; empty where all are zero.
    rows
        Those of its algebraic equations, then of its surplus constraints; empty where all are zero.
    time
        m, for solvers whose settings are not times.
    """

    states: tuple[int, ...] = ()
    visible: tuple[int, ...] = ()
    unknowns: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    time: int = 0

    @cached_property
    def needed(self) -> bool:
        """Whether one of them is not zero."""
        return bool(self.time) or any((*self.states, *self.unknowns, *self.rows))

    @property
    def of_whole(self) -> Scaling:
        """The exponents of the same motion in all states, without a chart or multipliers."""
        return Scaling(self.visible, self.visible, time=self.time)

    @property
    def of_changes(self) -> Scaling:
        """Those of the motion in all states and of a small change of it."""
        return Scaling((*self.visible, *self.visible), self.visible, time=self.time)

    def seen_by(self, solver: Solver) -> Scaling:
        """Return the exponents that hold for a solver."""
        return self if solver.any_time or not self.time else replace(self, time=0)

    def compiled(self, solver: Solver, problem: OdeProblem) -> Compilation:
        """Compile what `segment` needs; see `Solver.compile`."""
        return solver.compile(scaled(problem, self.seen_by(solver)))

    def segment(
        self,
        solver: Solver,
        problem: OdeProblem,
        state: State,
        until: float,
        at: np.ndarray,
        observe: Observer,
    ) -> SegmentEnd:
        """Integrate one segment of a problem; see `Solver.segment`."""
        chosen, problem = self.seen_by(solver), problem.in_mode(state.p)
        if not chosen.needed:
            return solver.segment(problem, state, until, at, observe)
        whole: SegmentEnd | None = None
        while True:
            scaling = chosen.grown_to(state.x)
            taken = 0 if whole is None else len(whole.samples)
            end, outgrown = scaling.leg(solver, problem, state, until, at[taken:], observe)
            whole = end if whole is None else whole.followed_by(end)
            if not outgrown or end.time == until or (end.steps == 0 and scaling == chosen):
                return whole
            chosen, state = scaling.grown_to(end.state), State(end.time, end.state, state.p)

    def foresee(
        self,
        solver: Solver,
        problem: OdeProblem,
        starts: Sequence[State],
        until: float,
        at: np.ndarray,
    ) -> bool:
        """Tell a solver which segments will be requested next; see `Solver.foresee`."""
        chosen = self.seen_by(solver)
        if not chosen.needed:
            return solver.foresee(problem, starts, until, at)
        if any(chosen.grown_to(start.x) != chosen for start in starts):
            return False
        units, second = _powers(chosen.states), float(np.ldexp(1.0, chosen.time))
        places = [State(start.time / second, start.x / units, start.p) for start in starts]
        moments = np.asarray(at, dtype=float) / second
        return solver.foresee(scaled(problem, chosen), places, until / second, moments)

    def grown_to(self, x: np.ndarray) -> Scaling:
        """Return the exponents where a state has outgrown its own by far: it wakes up."""
        _, own = np.frexp(np.abs(x))
        states = np.array(self.states, dtype=int)
        outgrown = np.isfinite(x) & (own > states + OUTGROWN) & (x != 0.0)
        if not outgrown.any():
            return self
        # Few different ones, since each is compiled.
        states[outgrown] = COARSE * -(-own[outgrown] // COARSE)
        return replace(self, states=tuple(states.tolist()))

    def leg(
        self,
        solver: Solver,
        problem: OdeProblem,
        state: State,
        until: float,
        at: np.ndarray,
        observe: Observer,
    ) -> tuple[SegmentEnd, bool]:
        """Integrate as far as no state outgrows its exponent; return whether one does."""
        units, second = _powers(self.states), float(np.ldexp(1.0, self.time))
        start = State(state.time / second, state.x / units, state.p)
        watched = _MultipliedBack(observe, units, second)
        end = solver.segment(
            scaled(problem, self),
            start,
            until / second,
            np.asarray(at, dtype=float) / second,
            watched,
        )
        hits = [EventHit(hit.index, hit.time * second, hit.state * units) for hit in end.hits]
        unscaled = replace(
            end,
            time=end.time * second,
            state=end.state * units,
            samples=end.samples * units,
            hits=tuple(hits),
        )
        return unscaled, watched.outgrown and end.status is Status.HALTED


class _MultipliedBack(StepObserver):
    """Hands steps in the units of the problem to an observer."""

    def __init__(self, observe: Observer, units: np.ndarray, second: float) -> None:
        self._observe, self._units, self._second = step_observer(observe), units, second
        self.outgrown = False

    def __call__(self, block: StepBlock) -> object:
        times, states = block.times * self._second, block.states * self._units
        return self._observe(replace(block, times=times, states=states))

    @property
    def remaining(self) -> int | None:
        """How many more right-hand sides are allowed."""
        return self._observe.remaining

    def accepted_count(self, times: np.ndarray, states: np.ndarray) -> int:
        """Return how many of some steps are accepted: none beyond which a state has outgrown."""
        large = np.any(np.abs(states) > np.ldexp(1.0, OUTGROWN), axis=1)
        # The first of them is right: the steps after it are measured by a state that is too large.
        count = int(np.argmax(large)) + 1 if large.any() else len(times)
        given = times[:count] * self._second, states[:count] * self._units
        kept = self._observe.accepted_count(*given)
        self.outgrown = count < len(times) and kept == count
        return kept


def _powers(exponents: Sequence[int]) -> np.ndarray:
    return np.ldexp(1.0, np.array(exponents, dtype=int))


def scaled(problem: OdeProblem, scaling: Scaling) -> OdeProblem:
    """Return a problem in scaled states and time, for a solver alone: built once.

    Its labels, residuals and outputs are still those of the problem, which no solver asks for.
    """
    if not scaling.needed:
        return problem
    return _built(problem, scaling)


@built_once
def _built(problem: OdeProblem, scaling: Scaling) -> OdeProblem:
    second = float(np.ldexp(1.0, scaling.time))
    t, y, p = (problem.rhs.sx_in(k) for k in range(3))
    units, parts = ca.DM(_powers(scaling.states)), ca.DM(1.0 / _powers(scaling.states))
    moment, x = second * t, units * y

    def of_state(name: str, found: ca.SX) -> ca.Function:
        return function_of(name, [t, y, p], [found], (["t", "x", "p"], [name]))

    common = {
        "rhs": of_state("rhs", second * parts * problem.rhs(moment, x, p)),
        "guards": of_state("guards", problem.guards(moment, x, p)),
        "project": problem.project and of_state("project", parts * problem.project(moment, x, p)),
        "equations": problem.equations and _scaled_equations(problem.equations, scaling, second),
    }
    if not isinstance(problem, DaeProblem):
        return replace(problem, **common)
    count = len(problem.unknowns)
    sizes = ca.DM(_powers(scaling.unknowns or (0,) * count))
    algebraic = problem.algebraic.nnz_out(0)
    surplus = problem.surplus.nnz_out(0)
    rows = 1.0 / _powers(scaling.rows or (0,) * (algebraic + surplus))
    w = problem.differential.sx_in(2)
    z = sizes * w
    names = ["t", "x", "z", "p"]
    rate, unknowns = problem.consistent(moment, x, p)
    return replace(
        problem,
        **common,
        differential=function_of(
            "differential",
            [t, y, w, p],
            [second * parts * problem.differential(moment, x, z, p)],
            (names, ["rate"]),
        ),
        algebraic=function_of(
            "algebraic",
            [t, y, w, p],
            [ca.DM(rows[:algebraic]) * problem.algebraic(moment, x, z, p)],
            (names, ["algebraic"]),
        ),
        surplus=of_state("surplus", ca.DM(rows[algebraic:]) * problem.surplus(moment, x, p)),
        consistent=function_of(
            "consistent",
            [t, y, p],
            [second * parts * rate, unknowns / sizes],
            (["t", "x", "p"], ["rate", "unknowns"]),
        ),
    )


def _scaled_equations(equations: SemiExplicit, scaling: Scaling, second: float) -> SemiExplicit:
    """Return the equations before the elimination; their own unknowns stay as they are."""
    units, parts = ca.DM(_powers(scaling.states)), ca.DM(1.0 / _powers(scaling.states))
    shift = ca.SX(*equations.matrix.shape) if equations.shift is None else equations.shift
    terms = [equations.rate, equations.matrix, equations.right_side, shift]
    function = ca.Function("terms", [equations.t, equations.x, equations.z, equations.p], terms)
    rate, matrix, right_side, moved = function(
        second * equations.t, units * equations.x, equations.z, equations.p
    )
    # Not `replace`: equations that were kept on disk are read from there only when they are used.
    return SemiExplicit(
        equations.t,
        equations.x,
        equations.z,
        equations.p,
        second * parts * rate,
        matrix,
        right_side,
        None if equations.shift is None else moved,
        equations.refinements,
    )

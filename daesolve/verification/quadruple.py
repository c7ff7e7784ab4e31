"""Arithmetic of 113 bits: CasADi functions evaluated instruction by instruction, and resets."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cache, partial
from typing import Any

import casadi as ca
import numpy as np

from daesolve.contact.laws.guide_law import GuideLaw
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.elimination.saddle import EliminationPlan
from daesolve.core.events.choices import Choices
from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.guard_table import GuardTable
from daesolve.core.events.jumps import JumpFunction, JumpFunctions
from daesolve.core.events.law import Setting
from daesolve.core.events.leaving import rates_later
from daesolve.core.events.transitions import Ownership, Transitions, laws_for
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.translation import ELEMENTARY, Table, integer_power, translate
from daesolve.core.formulations import OdeProblem
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.solvers.grazing import guard_rates
from daesolve.core.solvers.heyoka_code import ARITHMETIC, hy
from daesolve.errors import MissingBackendError

PRECISION = 113
"""Bits, as in IEEE's quadruple precision."""


def available() -> bool:
    """Return whether heyoka is installed and supports numbers of any precision."""
    return hy is not None and hasattr(hy, "real")


@cache
def real() -> Any:
    """Return the type of numbers of any precision.

    Raises
    ------
    MissingBackendError
        heyoka is not installed, or does not support them.
    """
    if not available():
        raise MissingBackendError(
            "quadruple precision needs heyoka with its type `real`; install it from conda-forge "
            "(conda install heyoka.py)"
        )
    return hy.real


def quad(value: float) -> Any:
    """Return a double as a number of 113 bits."""
    return real()(float(value), PRECISION)


def quads(values: Sequence[float] | np.ndarray) -> Any:
    """Return doubles as an array of 113 bits."""
    return array_of([quad(value) for value in values])


def array_of(numbers: Sequence[Any]) -> Any:
    """Return numbers of 113 bits as an array."""
    return np.array(list(numbers), dtype=real())


class Moment(float):
    """A time that reads as a double; computations take it with all its digits."""

    exact: Any

    def __new__(cls, exact: Any) -> Moment:
        """Keep the number beside the double next to it."""
        moment = super().__new__(cls, float(exact))
        moment.exact = exact
        return moment

    def __eq__(self, other: object) -> bool:
        """Distinguish moments that are next to the same double."""
        return isinstance(other, Moment) and bool(self.exact == other.exact)

    def __hash__(self) -> int:
        """Return that of the double."""
        return super().__hash__()


def evaluate(function: ca.Function, *arguments: float | np.ndarray) -> list[Any]:
    """Evaluate a function of dense columns; return an array for each output.

    Parameters
    ----------
    function
        Of SX expressions.
    *arguments
        Arrays of either precision, and times.

    Raises
    ------
    UnsupportedError
        The function has an operation without an implementation in 113 bits; the message names it.
    """
    inputs = [_numbers(argument) for argument in arguments]
    outputs = translate(function, inputs, _TABLE, quad, "quadruple precision")
    return [array_of(column) for column in outputs]


def _numbers(argument: float | np.ndarray) -> list[Any]:
    if isinstance(argument, Moment):
        return [argument.exact]
    if isinstance(argument, np.ndarray):
        return list(argument if argument.dtype == real() else quads(argument))
    return [quad(argument)]


class QuadEvaluator(Evaluator):
    """A function evaluated in 113 bits.

    Parameters
    ----------
    function
        Of dense columns.
    exact
        How many of its results, the first ones, stay as they are; the others become doubles,
        which keep their leading 16 digits however small they are.
    """

    def __init__(self, function: ca.Function, exact: int) -> None:
        self._function, self._exact = function, exact

    def __call__(self, *arguments: Any) -> list[Any]:
        """Evaluate; the results are new arrays."""
        results = evaluate(self._function, *arguments)
        doubles = [result.astype(float) for result in results[self._exact :]]
        return results[: self._exact] + doubles


class QuadTransitions(Transitions):
    """The transitions of a problem, in quadruple precision.

    What counts as zero is the same as in double precision, `TOGETHER`: the numbers of a problem
    are doubles, so guards that a symmetric motion brings to zero together do so to 1e-16 and no
    better, however exact the motion; and what counts as together belongs to the model.
    """

    def __init__(self, prepared: Prepared) -> None:
        problem, dynamics = prepared.problem, prepared.dynamics
        names = [watched.name for watched in problem.watched]
        double = prepared.transitions
        setting = Setting(
            dynamics=dynamics,
            problem=problem,
            table=GuardTable(problem.events),
            jumps=_QuadJumps(dynamics, problem.plan, problem),
            scales=dict(zip(names, map(float, prepared.scales), strict=True)),
            choices=Choices() if double is None else double.setting.choices,
            path=prepared.path,
        )
        kinds = [_QuadGuides if kind is GuideLaw else kind for kind in laws_for(dynamics)]
        super().__init__(setting, Ownership.of(setting, kinds), tracks=True)
        rates = QuadEvaluator(guard_rates(problem), exact=0)
        later = partial(_rates_later, problem)
        self.book = GuardBook(setting.table, self.book.traits, lambda: rates, later=later)


def _rates_later(
    problem: OdeProblem,
    time: float,
    x: np.ndarray,
    p: np.ndarray,
    guards: np.ndarray,
    rounding: np.ndarray,
) -> np.ndarray:
    """Return the rates of guards a moment later, whose signs need no more than double precision."""
    x, p = x.astype(float), p.astype(float)
    return rates_later(problem, float(time), x, p, guards, rounding.astype(float))


class _QuadGuides(GuideLaw):
    """Lets the supports of guides decide in double precision how the motion continues.

    What they decide is a loaded support, or a heading to be taken back, which is then taken with
    all its digits. A body that comes to rest is not followed.
    """

    def follows(self, fired: Sequence[int]) -> bool:
        """Return whether friction ends the slip, or the motion has become slow."""
        return super().follows(fired) or not self.stopping.isdisjoint(fired)

    def settled(
        self, time: float, events: Collection[str], x: np.ndarray, before: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return state and values after supports have changed, in 113 bits."""
        here, old, new = (np.array(part, dtype=float) for part in (x, before, p))
        _, settled, rests = self.sliding.settle(float(time), events, here, old, new, self.zero)
        p = p.copy()
        for place in np.flatnonzero(settled != new):
            back = settled[place] == -old[place]
            p[place] = -before[place] if back else quad(settled[place])
        return x, p, rests


class _QuadJumps(JumpFunctions):
    """The resets of a problem in 113 bits."""

    def __init__(self, dynamics: Dynamics, plan: EliminationPlan, problem: OdeProblem) -> None:
        super().__init__(dynamics, plan, problem)
        self.built = {}

    def build(self, events: tuple[int, ...]) -> JumpFunction:
        """Build the reset of some events together."""
        return _QuadJump(self.dynamics, self.plan, self.problem, events)


class _QuadJump(JumpFunction):
    """The reset of some events together; what is only reported and checked becomes doubles."""

    def __init__(
        self,
        dynamics: Dynamics,
        plan: EliminationPlan,
        problem: OdeProblem,
        events: tuple[int, ...],
    ) -> None:
        super().__init__(dynamics, plan, problem, events)
        self._evaluate = QuadEvaluator(self.function, exact=2)


def _floor(a: Any) -> Any:
    # A double is exact to 2^53, beyond which every double is whole.
    whole = quad(math.floor(float(a))) if np.isfinite(a) else a
    return whole - 1.0 if whole > a else whole


def _nearest_even(a: Any) -> Any:
    low = _floor(a)
    beyond = a - low
    if beyond == 0.5:
        return low + (0.0 if _floor(low / 2.0) * 2.0 == low else 1.0)
    return low if beyond < 0.5 else low + 1.0


def _truncated(a: Any) -> Any:
    return _floor(a) if a >= 0.0 else -_floor(-a)


def _power(a: Any, b: Any) -> Any:
    exponent = float(b)
    if exponent.is_integer() and abs(exponent) <= 64 and b == exponent:
        return quad(1.0) * integer_power(a, int(exponent))
    return np.power(a, b)


def _truth(a: Any) -> Any:
    return quad(1.0 if a else 0.0)


def _less(a: Any, b: Any) -> Any:
    return _truth(a < b)


def _at_most(a: Any, b: Any) -> Any:
    return _truth(a <= b)


def _equal(a: Any, b: Any) -> Any:
    return _truth(a == b)


def _unequal(a: Any, b: Any) -> Any:
    return _truth(a != b)


def _not(a: Any) -> Any:
    return _truth(a == 0.0)


def _and(a: Any, b: Any) -> Any:
    return _truth(a != 0.0 and b != 0.0)


def _or(a: Any, b: Any) -> Any:
    return _truth(a != 0.0 or b != 0.0)


def _if_else_zero(a: Any, b: Any) -> Any:
    return b if a != 0.0 else quad(0.0)


def _hypot(a: Any, b: Any) -> Any:
    return np.sqrt(a * a + b * b)


def _copysign(a: Any, b: Any) -> Any:
    return abs(a) if math.copysign(1.0, float(b)) > 0.0 else -abs(a)


def _least(a: Any, b: Any) -> Any:
    return a if a <= b or np.isnan(b) else b


def _greatest(a: Any, b: Any) -> Any:
    return a if a >= b or np.isnan(b) else b


def _ceiling(a: Any) -> Any:
    return -_floor(-a)


def _fmod(a: Any, b: Any) -> Any:
    return a - b * _truncated(a / b)


def _remainder(a: Any, b: Any) -> Any:
    return a - b * _nearest_even(a / b)


_TABLE: Table = (
    ARITHMETIC
    | ELEMENTARY
    | {
        ca.OP_POW: _power,
        ca.OP_CONSTPOW: _power,
        ca.OP_HYPOT: _hypot,
        ca.OP_LT: _less,
        ca.OP_LE: _at_most,
        ca.OP_EQ: _equal,
        ca.OP_NE: _unequal,
        ca.OP_NOT: _not,
        ca.OP_AND: _and,
        ca.OP_OR: _or,
        ca.OP_IF_ELSE_ZERO: _if_else_zero,
        ca.OP_FABS: abs,
        ca.OP_COPYSIGN: _copysign,
        ca.OP_FMIN: _least,
        ca.OP_FMAX: _greatest,
        ca.OP_FLOOR: _floor,
        ca.OP_CEIL: _ceiling,
        ca.OP_FMOD: _fmod,
        ca.OP_REMAINDER: _remainder,
    }
)

"""What a gradient is taken of: terms at the end, at given times, along the motion, of samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.symbols import symbol
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import OutOfRangeError, unknown_name

Expression = Callable[[Mapping[str, ca.SX]], "ca.SX | float"]
"""Quantities by name (states, outputs, reactions, parameters, and the time `t`) -> one number."""
SampleTerm = Callable[[Trajectory], tuple[float, Mapping[str, Any]]]
"""A run -> a value, and its derivatives by the samples: name -> (m,)."""


@dataclass(frozen=True)
class Objective:
    """A number that a motion is judged by: the sum of its terms.

    Parameters
    ----------
    end
        Quantities by name -> the term of the end of the run.
    running
        Quantities by name -> what is integrated over the run.
    at
        Times in s -> a term of the quantities at this time; at an event, before it.
    samples
        A run -> a term of its samples, and its derivatives: name of a state, an output or a
        reaction -> (m,), in the order of the samples; those by the times of `run.events` are under
        "event_times".

    Notes
    -----
    The quantities are CasADi expressions: the states, outputs, reactions and parameters of the
    system by their names, and the time as `t`.

    Examples
    --------
    >>> import daesolve as ds
    >>> ds.analysis.Objective(end=lambda now: now["x"] ** 2).end is not None
    True
    """

    end: Expression | None = None
    running: Expression | None = None
    at: Mapping[float, Expression] = field(default_factory=dict[float, Expression])
    samples: SampleTerm | None = None

    def __post_init__(self) -> None:
        terms = (self.end, self.running, self.samples, *self.at.values())
        given = [term for term in terms if term is not None]
        if not given or not all(map(callable, given)):
            raise OutOfRangeError(
                "an objective has at least one of end, running, at and samples, each a function "
                "such as lambda now: now['x'] ** 2"
            )

    @property
    def expressions(self) -> list[Expression]:
        """Its terms of quantities."""
        own = (self.end, self.running, *self.at.values())
        return [term for term in own if term is not None]


class _Quantities(dict[str, ca.SX]):
    """Quantities by name; an unknown one is refused with the nearest name."""

    def __missing__(self, name: str) -> ca.SX:
        raise unknown_name("quantity of the objective", name, list(self))


def expression_in(
    problem: OdeProblem, expression: Expression, t: ca.SX, x: ca.SX, p: ca.SX
) -> ca.SX:
    """Return an expression of quantities in time, states and values.

    Raises
    ------
    UnknownNameError
        It uses a quantity that is none.
    OutOfRangeError
        It is not one number, or uses symbols other than the quantities.
    """
    _, reactions, outputs = problem.recover(t, x, p)
    labels = problem.labels
    named = _Quantities({"t": t, **dict(zip(problem.values, ca.vertsplit(p), strict=True))})
    columns = [(labels.reactions, reactions), (labels.outputs, outputs), (labels.states, x)]
    for names, column in columns:
        named |= {name: column[k] for k, name in enumerate(names)}
    found = ca.SX(expression(named))
    if found.numel() != 1:
        raise OutOfRangeError(
            f"a term of the objective must be one number, not {found.shape[0]} x {found.shape[1]}"
        )
    known = {symbol.name() for symbol in ca.symvar(ca.vertcat(t, x, p))}
    foreign = [symbol.name() for symbol in ca.symvar(found) if symbol.name() not in known]
    if foreign:
        raise OutOfRangeError(
            f"a term of the objective contains {foreign[0]!r} as a symbol: take quantities by "
            "their names from the argument of its function"
        )
    return found


@built_once
def expression_slopes(problem: OdeProblem, expression: Expression) -> Evaluator:
    """(t, x, p) -> the value of an expression, and its derivatives by t, x and p."""
    t, x, p = (problem.rhs.sx_in(k) for k in range(3))
    found = expression_in(problem, expression, t, x, p)
    slopes = [ca.gradient(found, by) for by in (t, x, p)]
    names = (["t", "x", "p"], ["value", "by_t", "by_x", "by_p"])
    return Evaluator(function_of("expression_slopes", [t, x, p], [found, *slopes], names))


@built_once
def sample_cotangents(problem: OdeProblem) -> Evaluator:
    """(t, x, p, w) -> the derivatives of w . (states, reactions, outputs) by t, x and p."""
    t, x, p = (problem.recover.sx_in(k) for k in range(3))
    _, reactions, outputs = problem.recover(t, x, p)
    shown = ca.vertcat(x[: len(problem.labels.states)], reactions, outputs)
    w = symbol("weights", shown.numel())
    slopes = [ca.gradient(ca.dot(w, shown), by) for by in (t, x, p)]
    names = (["t", "x", "p", "w"], ["by_t", "by_x", "by_p"])
    return Evaluator(function_of("sample_cotangents", [t, x, p, w], slopes, names))

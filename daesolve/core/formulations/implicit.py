"""F(t, y, y') = 0 with y = (x, z), for solvers of implicit differential-algebraic equations."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations.problem import DaeProblem
from daesolve.core.posing.symbols import symbol


@dataclass(frozen=True, eq=False)
class ImplicitForm:
    """A problem in implicit form.

    Parameters
    ----------
    residual
        (t, y, yd, p) -> F = (x' - f, g, surplus), dense.
    jacobian
        (t, y, yd, c, p) -> dF/dy + c dF/dyd, sparse.
    differential
        (n,) whether each entry of y is differential.
    """

    residual: ca.Function
    jacobian: ca.Function
    differential: np.ndarray


@built_once
def implicit(problem: DaeProblem) -> ImplicitForm:
    """Return the implicit form of a problem; it is built only once."""
    size, unknowns = problem.size, len(problem.unknowns)
    t, p = problem.rhs.sx_in(0), problem.rhs.sx_in(2)
    y = symbol("y", size + unknowns)
    yd = symbol("yd", size + unknowns)
    c = symbol("c")
    x, z = y[:size], y[size:]
    residual = ca.vertcat(
        yd[:size] - problem.differential(t, x, z, p),
        problem.algebraic(t, x, z, p),
        problem.surplus(t, x, p),
    )
    jacobian = ca.jacobian(residual, y) + c * ca.jacobian(residual, yd)
    return ImplicitForm(
        function_of("implicit", [t, y, yd, p], [residual], (["t", "y", "yd", "p"], ["residual"])),
        ca.Function(
            "implicit_jacobian",
            [t, y, yd, c, p],
            [jacobian],
            ["t", "y", "yd", "c", "p"],
            ["jacobian"],
            {"cse": True},
        ),
        np.arange(size + unknowns) < size,
    )

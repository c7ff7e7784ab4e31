"""First integrals of a motion, which make its orbits form families.

Candidates are the invariants of the equations and the momenta of shifted coordinates. The
derivative of the period map P shows which are integrals of it: dI DP = dI.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.analysis.orbits.flow import Flow
from daesolve.analysis.orbits.nodes import Node
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.posing.symbols import velocity_name


@dataclass(frozen=True, eq=False)
class Integral:
    """A quantity by name, with a function (t, x, p) -> its value and gradient (n,)."""

    name: str
    function: Evaluator
    values: int
    """The number of values that belong to the equations, the first of a place."""

    def value(self, node: Node) -> float:
        """Return its value at a place."""
        return float(self._at(node)[0][0])

    def gradient(self, node: Node) -> np.ndarray:
        """Return its gradient (n,) at a place."""
        return self._at(node)[1]

    def _at(self, node: Node) -> list[np.ndarray]:
        return self.function(node.time, node.x, node.p[: self.values])


def candidates(flow: Flow, shifted: Sequence[str]) -> list[Integral]:
    """Return candidates for first integrals: invariants, and momenta of shifted coordinates."""
    dynamics = flow.dynamics
    integrals = {row.name: row.value for row in dynamics.invariants if row.on != "positions"}
    for name in shifted:
        velocity = velocity_name(name)
        if dynamics.kinetic is not None and velocity in flow.names:
            symbol = dynamics.x[flow.names.index(velocity)]
            momentum = ca.jacobian(dynamics.kinetic, symbol)
            integrals.setdefault(f"momentum of {name}", momentum)
    return [_integral(dynamics, name, value) for name, value in integrals.items()]


def pinned(flow: Flow, name: str) -> Integral:
    """Return a state as a quantity that names a family."""
    return _integral(flow.dynamics, name, flow.dynamics.x[flow.names.index(name)])


def _integral(dynamics: Dynamics, name: str, value: ca.SX) -> Integral:
    arguments = [dynamics.t, dynamics.x, dynamics.p]
    gradient = ca.densify(ca.gradient(value, dynamics.x))
    function = Evaluator(ca.Function("integral", arguments, [ca.densify(value), gradient]))
    return Integral(name, function, len(dynamics.values))


def independent(gradients: np.ndarray, changes: np.ndarray, tolerance: float) -> list[int]:
    """Return which rows are integrals independent of those before them.

    Parameters
    ----------
    gradients
        (k, n) gradients on the tangent space.
    changes
        (k, n) their differences after a period, carried back.
    tolerance
        The fraction of a gradient's largest entry that counts as zero.
    """
    chosen: list[int] = []
    rows: list[np.ndarray] = []
    for k, (row, change) in enumerate(zip(gradients, changes, strict=True)):
        size = float(np.linalg.norm(row))
        if size == 0.0 or np.linalg.norm(change) > tolerance * size:
            continue
        rest = row / size
        for known in rows:
            rest = rest - known * (known @ rest)
        if np.linalg.norm(rest) > tolerance:
            rows.append(rest / np.linalg.norm(rest))
            chosen.append(k)
    return chosen

"""The velocities that constraints leave: named by the problem, or chosen.

    J v + b = 0,  W v + c = w   =>   v = Z w + z

J and b represent the constraints on velocities (holonomic ones differentiated), w the
pseudo-velocities.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.generic_state import value_at_generic_state
from daesolve.core.expressions.singular_values import independent_rows
from daesolve.core.expressions.structure import is_linear
from daesolve.core.posing.symbols import symbol
from daesolve.export.expanding import printed_size
from daesolve.export.readable_expressions import (
    LARGEST_BLOCK,
    plain_pivot,
    simplified,
    small_determinant,
    solved,
)

INDEPENDENT = 1e-9
"""Rows are independent if each adds a singular value, for unit length, above this."""

READABLE = 3000
"""Constraints with more printed operations than this are not solved symbolically."""

Written = Callable[[ca.SX], ca.SX]
"""Substitutes the numbers of the mode in an expression."""


@dataclass(frozen=True, eq=False)
class PseudoVelocities:
    """Pseudo-velocities w, and all velocities in terms of them.

    Parameters
    ----------
    names
        The names of w.
    w
        Their symbols, (K, 1); velocities of the system keep their own symbols.
    meanings
        W v + c, (K, 1).
    basis, drift
        Z, (nv, K), and z, (nv, 1).
    loads
        Y, (nv, m), with J Y = 1 and W Y = 0; the reactions are Y^T (M v' - h).
    pivots
        The expressions that must not be zero.
    """

    names: tuple[str, ...]
    w: ca.SX
    meanings: ca.SX
    basis: ca.SX
    drift: ca.SX
    loads: ca.SX
    pivots: tuple[ca.SX, ...]

    @property
    def velocities(self) -> ca.SX:
        """v, (nv, 1)."""
        return self.basis @ self.w + self.drift

    @property
    def own(self) -> tuple[bool, ...]:
        """Whether each is a velocity of the system."""
        pairs = zip(ca.vertsplit(self.w), ca.vertsplit(self.meanings), strict=True)
        return tuple(ca.is_equal(one, meaning) for one, meaning in pairs)


def pseudo_velocities(
    dynamics: Dynamics, written: Written, numbers: np.ndarray
) -> PseudoVelocities | None:
    """Return pseudo-velocities of a system; None if none can be written down.

    Parameters
    ----------
    dynamics
        The equations without released goals.
    written
        Substitutes the numbers of the mode in expressions.
    numbers
        p.

    Notes
    -----
    If the problem names independent velocities, these are used. Otherwise constraints are solved
    one after another for velocities whose factors do not depend on positions, such as the rates of
    wheels. In a remaining constraint with a cosine and a sine as factors, one speed along the
    allowed direction replaces the two velocities; other constraints are solved where a factor is
    not zero. Holonomic constraints are solved only in the first way.
    """
    v = dynamics.velocities
    rows = [written(row.chain[-1]) for row in dynamics.rows]
    stacked = ca.vertcat(ca.SX(0, 1), *rows)
    if any(not is_linear(row, v) for row in rows):
        return None
    still = ca.SX.zeros(v.numel())
    jacobian = ca.SX(ca.sparsify(ca.jacobian(stacked, v)))
    bias = ca.substitute(stacked, v, still)
    if not _independent(dynamics, jacobian, numbers):
        return None
    named = dynamics.independent
    pivots: tuple[ca.SX, ...] = ()
    if named:
        names, meanings = tuple(named), ca.vertcat(*[written(m) for m in named.values()])
    else:
        choice = _Choice(dynamics, jacobian)
        if not choice.made():
            return None
        names = tuple(name for name, _ in choice.unknowns)
        meanings = ca.vertcat(ca.SX(0, 1), *[meaning for _, meaning in choice.unknowns])
        pivots = tuple(choice.pivots)
    if len(names) + len(rows) != v.numel():
        return None
    weights = ca.SX(ca.sparsify(ca.jacobian(meanings, v)))
    whole = ca.vertcat(jacobian, weights)
    if not _independent(dynamics, whole, numbers):
        return None
    count, free = len(names), len(rows)
    positions = dynamics.x[: dynamics.position_count, :]
    right = ca.horzcat(ca.SX.eye(v.numel()), ca.vertcat(-bias, -ca.substitute(meanings, v, still)))
    inverse = solved(whole, right, positions)
    symbols, labels = _symbols(dynamics, names, meanings)
    return PseudoVelocities(
        labels,
        symbols,
        meanings,
        inverse[:, free : free + count],
        inverse[:, free + count :],
        inverse[:, :free],
        pivots,
    )


def _symbols(
    dynamics: Dynamics, names: Sequence[str], meanings: ca.SX
) -> tuple[ca.SX, tuple[str, ...]]:
    """Return symbols of pseudo-velocities; those that are velocities keep their symbols."""
    own = {entry.name(): entry for entry in ca.vertsplit(dynamics.velocities)}
    found: list[ca.SX] = []
    for name, meaning in zip(names, ca.vertsplit(meanings), strict=True):
        itself = meaning.is_symbolic() and meaning.name() in own
        found.append(ca.SX(meaning) if itself else symbol(name))
    return ca.vertcat(ca.SX(0, 1), *found), tuple(entry.name() for entry in found)


class _Choice:
    """Solves constraints for velocities, one after another, and keeps the remaining velocities.

    Parameters
    ----------
    dynamics
        The equations.
    jacobian
        J, (m, nv).
    """

    def __init__(self, dynamics: Dynamics, jacobian: ca.SX) -> None:
        self.positions = dynamics.x[: dynamics.position_count, :]
        self.matrix = simplified(jacobian, self.positions)
        self.holonomic = [row.degree != 1 for row in dynamics.rows]
        v = ca.vertsplit(dynamics.velocities)
        self.unknowns: list[tuple[str, ca.SX]] = [(entry.name(), entry) for entry in v]
        self.pivots: list[ca.SX] = []
        self.speeds = 0

    def made(self) -> bool:
        """Solve all constraints; return False if there is no good choice."""
        while self.matrix.shape[0]:
            if printed_size(ca.vec(ca.densify(self.matrix))) > READABLE:
                return False
            place = plain_pivot(self.matrix, self.positions)
            if place is not None:
                self._solve(*place)
            elif not (self._turn() or self._solve_together()):
                if any(self.holonomic):
                    return False
                self._solve_anyhow()
        return True

    def _solve(self, row: int, column: int) -> None:
        """Solve a constraint for a velocity, which then depends on the others."""
        matrix = self.matrix
        rows = [i for i in range(matrix.shape[0]) if i != row]
        columns = [j for j in range(matrix.shape[1]) if j != column]
        factors = matrix[rows, column] / ca.densify(matrix)[row, column]
        rest = matrix[rows, columns] - factors @ matrix[row, columns]
        self.matrix = simplified(rest, self.positions)
        del self.unknowns[column], self.holonomic[row]

    def _turn(self) -> bool:
        """Introduce a speed along the direction that a constraint with cosine and sine allows."""
        matrix = ca.densify(self.matrix)
        for i in range(matrix.shape[0]):
            if self.holonomic[i]:
                continue
            touched = [j for j in range(matrix.shape[1]) if not ca.SX(matrix[i, j]).is_zero()]
            for one, other in itertools.combinations(touched, 2):
                a, b = matrix[i, one], matrix[i, other]
                square = simplified(ca.SX(a**2 + b**2), self.positions)
                if not ca.depends_on(square, self.positions):
                    self._take_speed(i, (one, other), square)
                    return True
        return False

    def _take_speed(self, row: int, pair: tuple[int, int], square: ca.SX) -> None:
        """Express two velocities by the speed and the other terms of the constraint."""
        matrix, (one, other) = ca.densify(self.matrix), pair
        a, b = matrix[row, one], matrix[row, other]
        length = ca.densify(square)[0]
        kept = [j for j in range(matrix.shape[1]) if j not in pair]
        rows = [i for i in range(matrix.shape[0]) if i != row]
        # With s = (b x - a y) and a x + b y = -r: x = (b s - a r) / |.|^2, y = -(a s + b r) / |.|^2
        along = (matrix[rows, one] * b - matrix[rows, other] * a) / length
        beside = (matrix[rows, one] * a + matrix[rows, other] * b) / length
        rest = matrix[rows, kept] - beside @ matrix[row, kept]
        self.matrix = simplified(ca.horzcat(along, rest), self.positions)
        meaning = b * self.unknowns[one][1] - a * self.unknowns[other][1]
        self.speeds += 1
        name = "speed" if self.speeds == 1 else f"speed_{self.speeds}"
        self.unknowns = [(name, ca.SX(meaning)), *(self.unknowns[j] for j in kept)]
        del self.holonomic[row]

    def _solve_together(self) -> bool:
        """Solve all remaining constraints at once if a determinant is independent of positions."""
        rows, columns = self.matrix.shape
        if rows > LARGEST_BLOCK or (any(self.holonomic) and rows == 1):
            return False
        for chosen in itertools.combinations(range(columns), rows):
            found = small_determinant(self.matrix[:, list(chosen)], self.positions)
            if not found.is_zero() and not ca.depends_on(found, self.positions):
                self.unknowns = [u for j, u in enumerate(self.unknowns) if j not in chosen]
                self.matrix, self.holonomic = ca.SX(0, columns - rows), []
                return True
        return False

    def _solve_anyhow(self) -> None:
        """Solve a constraint by its shortest nonzero factor, where this does not vanish."""
        matrix = ca.densify(self.matrix)
        rows, columns = ca.sparsify(self.matrix).sparsity().get_triplet()
        sizes = [printed_size(ca.SX(matrix[i, j])) for i, j in zip(rows, columns, strict=True)]
        place = min(range(len(sizes)), key=lambda k: (sizes[k], -columns[k]))
        self.pivots.append(ca.SX(matrix[rows[place], columns[place]]))
        self._solve(rows[place], columns[place])


def _independent(dynamics: Dynamics, matrix: ca.SX, p: np.ndarray) -> bool:
    """Return whether the rows of a matrix are independent at a random state."""
    if not matrix.shape[0]:
        return True
    numbers = value_at_generic_state(dynamics, matrix, p)
    return len(independent_rows(numbers, INDEPENDENT)) == matrix.shape[0]

"""Conditions on the gradient of a function from its derivatives along fields: X_j u = alpha_j.

Every bracket of two fields gives another derivative,

    [X, Y] u = X(Y u) - Y(X u),

so brackets add equations until their fields span every reachable direction. The equations then
determine the gradient of u or contradict each other. If the equations from a further bracket follow
from the others at every place, the gradient belongs to a function: with eta(X) = alpha_X for all X
of a frame, a further bracket states d eta(X_j, X) = 0, and because brackets of the X_j form the
frame, d eta = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.expressions.identities import vanishes
from daesolve.core.expressions.linear import solve_small
from daesolve.nonholonomic.constraint_forms import independent_columns, pivots

DEPENDENT = 1e-7
"""Fields of unit length with a smaller singular value are combinations of others."""
APART = 1e-8
"""The accepted remainder of an equation that follows from others, relative to its terms."""
DEEPEST = 8
"""Brackets of more fields are not formed."""
LARGEST = 400_000
"""Brackets with more instructions than this are not formed either."""

Evaluate = Callable[[ca.SX], np.ndarray]
"""An expression (rows, columns) -> its values at all sample states, (states, rows, columns)."""


@dataclass(frozen=True, eq=False)
class BracketEquations:
    """Equations for a gradient, and whether it exists.

    Parameters
    ----------
    fields, derivatives
        (nq, r) and (1, r): a frame of the reachable directions, and the derivatives of u along it.
    rows
        r positions in which the frame has full rank.
    residual
        The largest contradiction between the equations, relative to their terms.
    depth
        The number of fields in the longest bracket.
    complete
        Whether a further bracket adds no new direction.
    rest, rest_derivatives
        The other equations, which must follow from these.
    """

    fields: ca.SX
    derivatives: ca.SX
    rows: tuple[int, ...]
    residual: float
    depth: int
    complete: bool
    rest: ca.SX
    rest_derivatives: ca.SX

    @property
    def consistent(self) -> bool:
        """Whether no sample state contradicts the equations."""
        return self.residual < APART

    def proved(self, known: Mapping[int, float] | None = None) -> bool:
        """Whether the other equations follow everywhere, as identities."""
        if not self.complete or not self.rest.shape[1]:
            return self.complete
        rows = list(self.rows)
        shares = solve_small(self.fields[rows, :], self.rest[rows, :])
        return vanishes(self.fields @ shares - self.rest, known) and vanishes(
            self.derivatives @ shares - self.rest_derivatives, known
        )

    @property
    def gradient(self) -> ca.SX:
        """A gradient (1, nq) with these derivatives along all reachable directions."""
        rows = list(self.rows)
        found = ca.SX(1, self.fields.shape[0])
        found[0, rows] = solve_small(self.fields[rows, :].T, self.derivatives.T).T
        return found


def bracket_equations(
    positions: ca.SX, fields: ca.SX, derivatives: ca.SX, evaluate: Evaluate
) -> BracketEquations:
    """Extend equations X_j u = alpha_j by brackets.

    Parameters
    ----------
    positions
        (nq,) symbols.
    fields
        (nq, d): the X_j, independent at almost every place.
    derivatives
        (1, d): the alpha_j.
    evaluate
        Evaluates expressions at a few sample states.
    """
    first, slopes = fields, derivatives
    everything, values = fields, derivatives
    frame = _independent(evaluate(everything)[0], [])
    fresh, depth, complete = frame, 1, False
    residual = _residual(evaluate(everything), evaluate(values))
    while depth < DEEPEST and residual < APART and not complete:
        more, more_values = _brackets(
            positions, first, slopes, everything[:, fresh], values[:, fresh]
        )
        if not more.shape[1]:
            complete = True
            break
        if _instructions(more) > LARGEST:
            break
        before = everything.shape[1]
        everything = ca.horzcat(everything, more)
        values = ca.horzcat(values, more_values)
        numbers = evaluate(everything)
        grown = _independent(numbers[0], frame)
        fresh = [k for k in grown if k >= before]
        complete, frame, depth = not fresh, grown, depth + 1
        residual = _residual(numbers, evaluate(values))
    rest = [k for k in range(everything.shape[1]) if k not in frame]
    chosen = evaluate(everything[:, frame])[0]
    rows = tuple(pivots(chosen.T, len(frame)))
    return BracketEquations(
        everything[:, frame],
        values[:, frame],
        rows,
        residual,
        depth,
        complete,
        everything[:, rest],
        values[:, rest],
    )


def _instructions(expression: ca.SX) -> int:
    return ca.Function("size", ca.symvar(expression), [expression]).n_instructions()


def _brackets(
    positions: ca.SX, first: ca.SX, slopes: ca.SX, last: ca.SX, values: ca.SX
) -> tuple[ca.SX, ca.SX]:
    """Return [X, Y] for all X of the first fields and all given Y, with their derivatives of u."""
    brackets, along = ca.SX(first.shape[0], 0), ca.SX(1, 0)
    bends = [ca.jacobian(first[:, a], positions) for a in range(first.shape[1])]
    steeper = ca.jacobian(slopes.T, positions)
    for k in range(last.shape[1]):
        bend, steep = ca.jacobian(last[:, k], positions), ca.jacobian(values[:, k], positions)
        for a, own in enumerate(bends):
            bracket = bend @ first[:, a] - own @ last[:, k]
            if not bracket.nnz() or bracket.is_zero():
                bracket = ca.SX.zeros(first.shape[0], 1)
            brackets = ca.horzcat(brackets, bracket)
            along = ca.horzcat(along, steep @ first[:, a] - steeper[a, :] @ last[:, k])
    return brackets, along


def _independent(numbers: np.ndarray, known: Sequence[int]) -> list[int]:
    """Return the independent columns, the known ones first."""
    lengths = np.linalg.norm(numbers, axis=0)
    present = lengths > DEPENDENT * np.max(lengths, initial=0.0)  # The others are rounding.
    columns = np.where(present, numbers, 0.0) / np.where(present, lengths, 1.0)
    basis = np.linalg.qr(columns[:, known])[0] if known else np.zeros((len(numbers), 0))
    others = [k for k in range(columns.shape[1]) if k not in known]
    return [*known, *independent_columns(basis, columns, others, DEPENDENT)]


def _residual(fields: np.ndarray, derivatives: np.ndarray) -> float:
    """Return the least-squares residual of the equations at each state, relative to the terms."""
    left: list[float] = []
    sizes: list[float] = []
    for columns, along in zip(fields, derivatives[:, 0], strict=True):
        lengths = np.linalg.norm(columns, axis=0)
        present = lengths > DEPENDENT * np.max(lengths, initial=0.0)
        divisors = np.where(present, lengths, 1.0)
        matrix, right = np.where(present, columns, 0.0) / divisors, along / divisors
        gradient = np.linalg.pinv(matrix.T, rcond=DEPENDENT) @ right
        left.append(float(np.linalg.norm(right - matrix.T @ gradient)))
        sizes.append(float(np.linalg.norm(right)))
    return max(left) / (max(sizes) or 1.0)

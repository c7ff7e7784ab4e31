"""Newton's method for the balance of a time step, with some supports sliding and some held.

The mass matrix is the metric: with M = L L', momenta are written as L^-1 M v, and rows of
constraints have length one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daesolve.contact.complementarity.policies import solve
from daesolve.contact.friction.impulse_equations import SlidingFriction, StepBalance
from daesolve.core.expressions.singular_values import shortest_solution

CONVERGED = 1e-13
"""The remainder of the momentum balance, relative to its momenta, at which the iteration may
end."""
ROUNDED, ROUNDED_SMOOTH = 1e-10, 1e-6
"""The same if rounding ends it: a slip far below other velocities is inaccurate."""
DEPENDENT = 1e-10
"""Singular values of unit rows below this count as zero."""
ITERATIONS, HALVINGS = 25, 8


@dataclass(frozen=True, eq=False)
class Iterate:
    """Velocities, signed normal impulses, and further impulses on held rows."""

    v: np.ndarray
    impulses: np.ndarray
    held: np.ndarray

    @property
    def all(self) -> np.ndarray:
        """All of them in one array."""
        return np.concatenate([self.v, self.impulses, self.held])

    def at(self, values: np.ndarray) -> Iterate:
        """Return a point of the same structure."""
        ends = np.cumsum([len(self.v), len(self.impulses)])
        return Iterate(*np.split(values, ends))


@dataclass(frozen=True, eq=False)
class Resting:
    """Held supports.

    Parameters
    ----------
    slipping
        Which pairs are not held, (m,).
    friction
        (nv,) the friction that a correction turns into that of the held supports.
    rows, aims
        rows @ v = aims: no slip, no spin, (k, nv) and (k,).
    """

    slipping: np.ndarray
    friction: np.ndarray
    rows: np.ndarray
    aims: np.ndarray


class NotFoundError(Exception):
    """The iteration does not converge from this point."""


class ImpulseIteration:
    """The iterations of one step.

    Parameters
    ----------
    balance
        The balance of the step.

    Attributes
    ----------
    count
        The number of linear solves.
    """

    def __init__(self, balance: StepBalance) -> None:
        self.balance = balance
        self.count = 0
        self.factor = np.linalg.cholesky(balance.mass)

    @cached_property
    def frictionless(self) -> Iterate:
        """The point without friction.

        Raises
        ------
        VariantError
            The supports do not hold the body.
        """
        chosen = solve(self.balance.supports(None)).chosen
        assert chosen is not None
        v, ideal = self.balance.velocities(chosen.reactions)
        return Iterate(v, chosen.reactions, ideal)

    @cached_property
    def size(self) -> float:
        """The momenta in the balance, in the metric of the masses."""
        balance = self.balance
        pushes = self.by_mass(np.hstack([balance.first, balance.second]))
        lengths = np.linalg.norm(pushes, axis=0).reshape(2, -1).max(axis=0)
        impulses = np.abs(self.frictionless.impulses)
        return float(np.linalg.norm(self.by_mass(balance.momentum)) + lengths @ impulses)

    @cached_property
    def fastest(self) -> float:
        """How fast a support could slide with all the momentum of the step, m/s."""
        rows = self.balance.slips.reshape(-1, len(self.balance.momentum))
        return self.size * float(np.max(self.lengths(rows)))

    def newton(self, start: Iterate, smoothing: float, resting: Resting | None = None) -> Iterate:
        """Solve by Newton's method with a line search.

        Raises
        ------
        NotFoundError
            It does not converge.
        """
        point, (left, matrix) = start, self._linear(start, smoothing, resting)
        enough = ROUNDED_SMOOTH if smoothing > 0.0 else ROUNDED
        for _ in range(ITERATIONS):
            size, share = np.linalg.norm(left), 1.0
            if not np.isfinite(size):
                raise NotFoundError
            if size <= CONVERGED * self.size:
                return point
            self.count += 1
            change = self._change(matrix, left, resting)
            for _ in range(HALVINGS):
                ahead = point.at(point.all + share * change)
                left, matrix = self._linear(ahead, smoothing, resting)
                if np.linalg.norm(left) < size:
                    break
                share /= 2.0
            else:
                if size <= enough * self.size:
                    return point
                raise NotFoundError
            point = ahead
        if np.linalg.norm(left) <= enough * self.size:
            return point
        raise NotFoundError

    def _change(self, matrix: np.ndarray, left: np.ndarray, resting: Resting | None) -> np.ndarray:
        """Solve for Newton's step; if supports can rest in several ways, the smallest one."""
        if resting is not None:
            return shortest_solution(matrix, -left, DEPENDENT)
        try:
            return np.linalg.solve(matrix, -left)
        except np.linalg.LinAlgError:
            raise NotFoundError from None

    def _linear(
        self, point: Iterate, smoothing: float, resting: Resting | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual of the equations at a point, and its gradient."""
        balance = self.balance
        loaded = point.impulses if resting is None else point.impulses * resting.slipping
        rubs = balance.rubs(point.v, loaded, smoothing)
        second = point.impulses > 0.0
        columns = np.where(second, balance.second, -balance.first)
        rubbing = np.where(second, rubs.second, -rubs.first)
        rows, aims, held = balance.rows, balance.aims, balance.rows[balance.count :]
        given = balance.momentum
        if resting is None:
            columns = columns + rubbing
        else:
            columns = columns + np.where(resting.slipping, rubbing, 0.0)
            given = given + resting.friction
            rows, aims = np.vstack([rows, resting.rows]), np.append(aims, resting.aims)
            held = np.vstack([held, resting.rows])
        lengths = self.lengths(rows)
        momenta = balance.mass @ point.v - given - columns @ point.impulses - held.T @ point.held
        missed = (rows @ point.v - aims) / lengths
        above = np.hstack([balance.mass - rubs.slope, -columns, -held.T])
        below = np.hstack(
            [rows / lengths[:, None], np.zeros((len(rows), above.shape[1] - len(point.v)))]
        )
        return (
            np.concatenate([self.by_mass(momenta), missed]),
            np.vstack([self.by_mass(above), below]),
        )

    def by_mass(self, columns: np.ndarray) -> np.ndarray:
        """Return L^-1 times columns."""
        return np.linalg.solve(self.factor, columns)

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Return the lengths of rows of constraints."""
        return np.linalg.norm(self.by_mass(rows.T), axis=0)


def friction_of(rubs: SlidingFriction, impulses: np.ndarray) -> np.ndarray:
    """Return the friction of each pair, (nv, m)."""
    return rubs.second * np.maximum(impulses, 0.0) + rubs.first * np.maximum(-impulses, 0.0)

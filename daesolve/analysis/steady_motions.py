"""Equilibria and steady motions: the rate of a state, its gradient, and cyclic coordinates.

The equations F(x, y) = 0 of a system, y = (v', u), are differentiated directly,

    K dy = -F_x dx,    K = F_y,

so the reactions are eliminated together with their derivatives and without feedback. A coordinate
is cyclic if it affects no rates except those of other cyclic coordinates: it may move while the
motion is steady.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.singular_values import null_space, unit_length
from daesolve.core.posing.symbols import symbol
from daesolve.errors import NotStationaryError

RANK_TOLERANCE = 1e-10
"""Singular values of constraints with rows of unit length below this count as zero."""
INFLUENCE_TOLERANCE = 1e-10
"""Derivatives below this share of the largest count as zero."""
SHIFTS = (0.7, -1.9)
"""Shifts of a coordinate, in its own size or 1, under which a cyclic one changes nothing."""
MOMENTS = (0.37, 1.1)
"""Later times (s) at which a steady motion is examined again."""


@dataclass(frozen=True, eq=False)
class FieldValues:
    """Values at a state: x' (nx,), its gradient f_x (nx, nx), that of the constraints (nc, nx)."""

    rate: np.ndarray
    gradient: np.ndarray
    constraints: np.ndarray


@dataclass(frozen=True, eq=False)
class Field:
    """The rate of the state, without feedback.

    Parameters
    ----------
    dynamics, p
        The equations, and their numbers (np,).
    """

    dynamics: Dynamics
    p: np.ndarray

    def at(self, time: float, state: np.ndarray) -> FieldValues:
        """Evaluate at a consistent state (nx,)."""
        count = self.dynamics.velocity_count
        unknowns, solve = self.unknowns(time, state)
        _, _, by_state, rates, by_position, constraints = self._arrays(time, state, unknowns)
        return FieldValues(
            rate=np.concatenate([rates.ravel(), unknowns[:count]]),
            gradient=np.vstack([by_position, -solve(by_state)[:count]]),
            constraints=constraints,
        )

    def unknowns(
        self, time: float, state: np.ndarray
    ) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """Return accelerations and reactions, stacked, and the solver for them."""
        unknowns = np.zeros(self.dynamics.velocity_count + self.dynamics.reactions.numel())
        balance, matrix, *_ = self._arrays(time, state, unknowns)
        solve = _inverse(matrix)
        return -solve(balance).ravel(), solve

    def _arrays(self, time: float, state: np.ndarray, unknowns: np.ndarray) -> list[np.ndarray]:
        return _function(self.dynamics)(time, state, self.p, unknowns)


@lru_cache(maxsize=16)
def _function(dynamics: Dynamics) -> ArrayFunction:
    """(t, x, p, y) -> F, F_y, F_x, the rates of the positions and their gradient, C_x."""
    x = dynamics.x
    y, balance = balance_of(dynamics)
    outputs = [
        balance,
        ca.jacobian(balance, y),
        ca.jacobian(balance, x),
        dynamics.position_rates,
        ca.jacobian(dynamics.position_rates, x),
        ca.jacobian(ca.vertcat(ca.SX(0, 1), *manifold(dynamics)), x),
    ]
    return ArrayFunction("field", [dynamics.t, x, dynamics.p, y], outputs)


def balance_of(dynamics: Dynamics) -> tuple[ca.SX, ca.SX]:
    """Return y, accelerations and reactions, and F, which is zero."""
    u, accelerations = dynamics.reactions, symbol("a", dynamics.velocity_count)
    balance = ca.vertcat(
        dynamics.mass @ accelerations - dynamics.force - dynamics.influence @ u,
        *[row.jacobian @ accelerations + row.bias for row in dynamics.rows],
        *[row.jacobian @ u + row.offset for row in dynamics.relations],
    )
    return ca.vertcat(accelerations, u), balance


def manifold(dynamics: Dynamics) -> list[ca.SX]:
    """Return every function that is zero on consistent states, and invariants of positions.

    Goals measured from their value at the start are left to that start.
    """
    links = [link for row in dynamics.rows for link in row.chain[1 if row.from_start else 0 :]]
    links += [row.residual for row in dynamics.implicit_rows]
    return links + [row.value for row in dynamics.invariants if row.on == "positions"]


def _inverse(matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a least-squares solver with one refinement; dependent rows are allowed."""
    rows: np.ndarray = np.linalg.norm(matrix, axis=1, keepdims=True)
    rows[rows == 0.0] = 1.0
    columns: np.ndarray = np.linalg.norm(matrix / rows, axis=0)
    columns[columns == 0.0] = 1.0
    inverse = np.linalg.pinv(matrix / rows / columns, rcond=1e-13)

    def solve(right: np.ndarray) -> np.ndarray:
        solution = (inverse @ (right / rows)) / columns[:, None]
        correction = inverse @ ((right - matrix @ solution) / rows)
        return solution + correction / columns[:, None]

    return solve


# -- the tangent space ---------------------------------------------------------------------------


def kernel(matrix: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the directions that a matrix maps to zero, as columns."""
    return null_space(unit_length(matrix, 1), RANK_TOLERANCE)


def tangent_space(constraints: np.ndarray, kept: Sequence[int]) -> np.ndarray:
    """Return a basis of the consistent small motions of some states, as columns (nx, n)."""
    basis = kernel(_shared(constraints, kept)[:, kept])
    tangent = np.zeros((constraints.shape[1], basis.shape[1]))
    tangent[kept] = basis
    return tangent


def influential(gradient: np.ndarray) -> np.ndarray:
    """Return which derivatives are large enough to count."""
    return np.greater(np.abs(gradient), INFLUENCE_TOLERANCE * np.max(np.abs(gradient), initial=0.0))


def _shared(constraints: np.ndarray, states: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the rows of constraints that contain some states."""
    return constraints[np.any(influential(constraints)[:, states], axis=1)]


# -- steady motions ------------------------------------------------------------------------------


def cyclic_coordinates(field: Field, time: float, state: np.ndarray) -> list[int]:
    """Return the coordinates that affect only their own rates and constraints."""
    here = field.at(time, state)
    split = field.dynamics.position_count - len(field.dynamics.implicit_rows)
    cyclic = _closed(here, range(split))
    held = np.max(np.abs(kernel(here.constraints)), axis=1, initial=0.0) <= RANK_TOLERANCE
    for index in np.flatnonzero(held):
        # A coordinate fixed by constraints is not a freedom, although nothing depends on it.
        fewer = [i for i in cyclic if i != index]
        cyclic = fewer if _closed(here, fewer) == fewer else cyclic
    for index in tuple(cyclic):
        others = np.setdiff1d(np.arange(len(state)), cyclic)
        for shift in SHIFTS:
            beside = state.copy()
            beside[index] += shift * max(1.0, abs(state[index]))
            if index in cyclic and not _alike(here, field.at(time, beside), others):
                cyclic = _closed(here, [i for i in cyclic if i != index])
    return cyclic


def _closed(point: FieldValues, candidates: Sequence[int]) -> list[int]:
    """Drop candidates until none affects a rate or constraint outside the set."""
    kept = list(candidates)
    while True:
        others = np.setdiff1d(np.arange(len(point.rate)), kept)
        acting = np.any(influential(point.gradient)[others], axis=0)
        acting |= np.any(influential(_shared(point.constraints, others)), axis=0)
        left = [index for index in kept if not acting[index]]
        if left == kept:
            return kept
        kept = left


def _alike(first: FieldValues, second: FieldValues, states: np.ndarray) -> bool:
    """Compare the rates of some states and their constraints, to first order."""
    least = INFLUENCE_TOLERANCE * np.max(np.abs(first.gradient), initial=1.0)
    pairs = (
        (first.rate[states], second.rate[states]),
        (first.gradient[states], second.gradient[states]),
        (_shared(first.constraints, states), _shared(second.constraints, states)),
    )
    return all(
        one.shape == other.shape and bool(np.all(np.abs(one - other) <= least))
        for one, other in pairs
    )


def check_stationary(
    field: Field, time: float, state: np.ndarray, cyclic: Sequence[int], tolerance: float
) -> float:
    """Return the largest relative rate of the states that are not cyclic.

    It is relative to the rate caused by changing every state by its own size.

    Raises
    ------
    NotStationaryError
        The rate exceeds the tolerance, now or, if the equations contain time, later.
    """
    dynamics = field.dynamics
    names, split = dynamics.labels.states, dynamics.position_count
    others = np.setdiff1d(np.arange(len(state)), cyclic)
    sizes = np.concatenate([_sizes(state[:split]), _sizes(state[split:])])
    here = field.at(time, state)
    scales = np.abs(here.gradient) @ sizes
    for block in (slice(0, split), slice(split, None)):
        scales[block] = np.max(scales[block], initial=0.0) or 1.0
    later = [field.at(time + after, state).rate for after in MOMENTS]
    rates = np.max(np.abs([here.rate, *later]), axis=0)
    shares = rates[others] / scales[others]
    residual = float(np.max(shares, initial=0.0))
    if not residual <= tolerance:
        worst = others[int(np.argmax(np.where(np.isfinite(shares), shares, np.inf)))]
        steady = f" other than {', '.join(names[index] for index in cyclic)}" if cyclic else ""
        raise NotStationaryError(
            f"the state is neither an equilibrium nor a steady motion: {names[worst]!r} changes at "
            f"{rates[worst]:.3g} per second ({residual:.2g} of its size, at most {tolerance:g} is "
            f"allowed); give a state in which every state{steady} keeps its value"
        )
    return residual


def _sizes(part: np.ndarray) -> np.ndarray:
    return np.full(len(part), np.max(np.abs(part), initial=0.0) or 1.0)

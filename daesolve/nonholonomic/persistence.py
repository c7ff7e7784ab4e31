"""Constraints that follow because others must persist: the algorithm of Dirac and Bergmann.

Along z' = f(t, z, lambda), linear in the multipliers, the rate of chi(t, z) is h + D lambda.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
import numpy as np
import scipy

from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.linear import solve_small
from daesolve.errors import ContradictoryGoalsError, PosingError

STEPS = 60
"""The number of steps of Newton's method."""
MET = 1e-11
"""The accepted error of a constraint, and of a step, relative to the state."""
VANISHES = 1e-8
"""A constraint this small relative to its terms, where the others hold, follows from them."""
STAGES = 12
"""The largest number of stages."""
GRADIENT = 1e-11
"""The share of a gradient's length that counts as zero."""


class MultiplierFlow(Protocol):
    """z' = f(t, z, lambda) and the constraints that lambda keeps first."""

    @property
    def t(self) -> ca.SX: ...  # noqa: D102
    @property
    def states(self) -> ca.SX: ...  # noqa: D102
    @property
    def multipliers(self) -> ca.SX: ...  # noqa: D102
    @property
    def p(self) -> ca.SX: ...  # noqa: D102
    @property
    def primary(self) -> ca.SX: ...  # noqa: D102
    @property
    def rate(self) -> ca.SX: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Constraints:
    """All constraints, and the multipliers that they determine.

    Parameters
    ----------
    functions
        chi, the primary ones first.
    parents
        The index of the constraint whose plain rate each constraint is; -1 if it is none.
    stages
        The number of constraints at each stage.
    pivots
        The indices of the constraints whose rates determine multipliers.
    undetermined
        The indices of the undetermined multipliers.
    second_class
        The rank of the brackets of all constraints.
    """

    functions: tuple[ca.SX, ...]
    parents: tuple[int, ...]
    stages: tuple[int, ...]
    pivots: tuple[int, ...]
    undetermined: tuple[int, ...]
    second_class: int

    def roots(self) -> list[int]:
        """Return the indices of constraints that also keep all constraints that are their rates."""
        indices: list[int] = []
        for pivot in self.pivots:
            place = pivot
            while self.parents[place] >= 0:
                place = self.parents[place]
            indices.append(place)
        # If two have the same root, the rates of one do not keep the other.
        return indices if len(set(indices)) == len(indices) else list(self.pivots)


class ConstraintSurface:
    """The surface on which constraints hold.

    Parameters
    ----------
    flow, functions, p
        The flow, the constraints, the numbers in p.
    """

    def __init__(self, flow: MultiplierFlow, functions: Sequence[ca.SX], p: np.ndarray) -> None:
        column = ca.vertcat(*functions)
        parts = [column, ca.jacobian(column, flow.states)]
        self._function = ArrayFunction("surface", [flow.t, flow.states, flow.p], parts)
        self._p = p

    def at(self, t: float, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the constraints and their gradients at a state."""
        value, slope = self._function(t, z, self._p)
        return value.ravel(), slope

    def nearest(self, t: float, z: np.ndarray) -> np.ndarray | None:
        """Return a state that fulfils the constraints; none if Newton's method fails."""
        for _ in range(STEPS):
            value, slope = self.at(t, z)
            if not (np.all(np.isfinite(value)) and np.all(np.isfinite(slope))):
                return None
            step = np.linalg.lstsq(slope, value, rcond=1e-13)[0]
            z = z - step
            size = MET * (1.0 + float(np.linalg.norm(z)))
            if float(np.linalg.norm(step)) <= size and np.all(np.abs(value) <= 1e3 * size):
                return z
        return None


def persistent(flow: MultiplierFlow, p: np.ndarray, samples: int, tolerance: float) -> Constraints:
    """Find all constraints that follow from the primary ones.

    Parameters
    ----------
    flow
        The flow.
    p
        The numbers at which ranks are examined.
    samples
        The number of states examined.
    tolerance
        Singular values below this share of the largest count as zero.

    Raises
    ------
    ContradictoryGoalsError
        No state fulfils the resulting constraints.
    PosingError
        Constraints are not independent where they hold.
    """
    generator = np.random.default_rng(3)
    count = flow.states.numel()
    points = [(0.3 * k, generator.normal(size=count)) for k in range(samples)]
    functions = ca.vertsplit(flow.primary)
    parents, stages = [-1] * len(functions), [len(functions)]
    while len(stages) <= STAGES:
        points = _on(flow, functions, p, points, tolerance)
        rates = _Rates(flow, functions, p)
        pivots, columns = rates.pivots(points, tolerance)
        new = 0
        for place in range(len(functions)):
            if place in pivots:
                continue
            residual, plain = rates.remainder(place, pivots, columns)
            if rates.follows(residual, points):
                continue
            candidate = [*functions, residual]
            nearer = _on(flow, candidate, p, points, tolerance)
            if _independent(flow, candidate, p, nearer, tolerance):
                functions, points, new = candidate, nearer, new + 1
                parents.append(place if plain else -1)
        if not new:
            brackets = _brackets(flow, functions, p, points, tolerance)
            rest = tuple(k for k in range(flow.multipliers.numel()) if k not in columns)
            return Constraints(
                tuple(functions), tuple(parents), tuple(stages), tuple(pivots), rest, brackets
            )
        stages.append(new)
    raise PosingError(f"after {STAGES} stages constraints still lead to others")


class _Rates:
    """The rates h + D lambda of constraints."""

    def __init__(self, flow: MultiplierFlow, functions: Sequence[ca.SX], p: np.ndarray) -> None:
        self._flow, self._p = flow, p
        column = ca.vertcat(*functions)
        along = ca.jtimes(column, flow.states, flow.rate) + ca.jtimes(column, flow.t, ca.SX(1))
        rest = ca.SX.zeros(flow.multipliers.numel())
        self.free = ca.substitute(along, flow.multipliers, rest)
        self.steep = ca.jacobian(along, flow.multipliers)
        self._matrix = self._evaluated(self.steep)

    def _evaluated(self, expression: ca.SX) -> Callable[[float, np.ndarray], np.ndarray]:
        flow = self._flow
        function = ArrayFunction("rates", [flow.t, flow.states, flow.p], [expression])
        return lambda t, z: function(t, z, self._p)[0]

    def pivots(
        self, points: Sequence[tuple[float, np.ndarray]], tolerance: float
    ) -> tuple[list[int], list[int]]:
        """Return rows and columns of a regular block of D, on the constraints; late rows first.

        Raises
        ------
        PosingError
            The rank changes from state to state.
        """
        shape = self.steep.shape
        matrices = [self._matrix(t, z) for t, z in points]
        size = max(float(np.linalg.norm(matrix, 2)) for matrix in matrices)
        if size <= tolerance:
            return [], []
        ranks = {int(np.linalg.matrix_rank(matrix, tol=tolerance * size)) for matrix in matrices}
        if len(ranks) > 1:
            raise PosingError(
                "the brackets of constraints have another rank in other states that fulfil "
                "them: the motion does not belong to one system"
            )
        rank = ranks.pop()
        # Take rows one by one, starting with the last constraints, which keep the others.
        rows: list[int] = []
        for place in reversed(range(shape[0])):
            trial = [*rows, place]
            if all(_rank(matrix[trial], tolerance * size) == len(trial) for matrix in matrices):
                rows.append(place)
        if len(rows) < rank:
            raise PosingError("no choice of constraints determines the multipliers in all states")
        _, _, order = scipy.linalg.qr(matrices[0][rows], pivoting=True)
        return sorted(rows), sorted(int(k) for k in order[:rank])

    def remainder(
        self, place: int, pivots: Sequence[int], columns: Sequence[int]
    ) -> tuple[ca.SX, bool]:
        """Return the condition for a constraint to persist, and whether it is its plain rate."""
        own, row = self.free[place], self.steep[place, :]
        if not pivots or row.nnz() == 0 or row.is_zero():
            return own, True
        block = self.steep[list(pivots), list(columns)]
        return own - row[:, list(columns)] @ solve_small(block, self.free[list(pivots)]), False

    def follows(self, residual: ca.SX, points: Sequence[tuple[float, np.ndarray]]) -> bool:
        """Return whether it vanishes where the constraints hold; elsewhere it need not."""
        function = self._evaluated(residual)
        values = [abs(float(function(t, z).item())) for t, z in points]
        generator = np.random.default_rng(5)
        beside = [
            abs(float(function(t, z + generator.normal(size=len(z))).item())) for t, z in points
        ]
        return max(values) <= VANISHES * max(1.0, min(max(beside), 1e6))


def _on(
    flow: MultiplierFlow,
    functions: Sequence[ca.SX],
    p: np.ndarray,
    points: Sequence[tuple[float, np.ndarray]],
    tolerance: float,
) -> list[tuple[float, np.ndarray]]:
    """Return states that fulfil the constraints, near given ones.

    Raises
    ------
    ContradictoryGoalsError
        There are none.
    """
    surface = ConstraintSurface(flow, functions, p)
    generator = np.random.default_rng(9)
    found: list[tuple[float, np.ndarray]] = []
    for t, z in points:
        for attempt in range(4):
            near = surface.nearest(t, z + attempt * generator.normal(size=len(z)))
            if near is not None:
                found.append((t, near))
                break
    if len(found) < 2:
        value, slope = surface.at(*points[0])
        if _rank(slope, tolerance * max(float(np.linalg.norm(slope)), 1.0)) == len(value):
            raise ContradictoryGoalsError(
                "no states were found that fulfil what follows from the Lagrangian"
            )
        raise ContradictoryGoalsError(
            "no motion fulfils the Lagrangian's equations: a condition misses zero by "
            f"{float(np.max(np.abs(value))):.3g} in every state that fulfils the others, or "
            "holds only where it has no gradient"
        )
    return found


def _independent(
    flow: MultiplierFlow,
    functions: Sequence[ca.SX],
    p: np.ndarray,
    points: Sequence[tuple[float, np.ndarray]],
    tolerance: float,
) -> bool:
    """Return whether the last constraint is independent of the others where all hold.

    Raises
    ------
    PosingError
        It is not independent and does not follow from them, for example because its gradient
        vanishes there.
    """
    surface = ConstraintSurface(flow, functions, p)
    slopes = [surface.at(t, z)[1] for t, z in points]
    # At a double zero Newton's method finds only half of the digits.
    if all(_rank(slope, np.sqrt(tolerance)) == len(functions) for slope in slopes):
        return True
    raise PosingError(
        f"the constraint {functions[-1]} is not independent of the others where it holds: the "
        "constraints are not regular, and their order of contact determines the motion"
    )


def _brackets(
    flow: MultiplierFlow,
    functions: Sequence[ca.SX],
    p: np.ndarray,
    points: Sequence[tuple[float, np.ndarray]],
    tolerance: float,
) -> int:
    """Return the rank of the Poisson brackets of all constraints, where they hold.

    Constraints and coordinates have units: brackets are compared with their terms, and each
    constraint is scaled so that its brackets are about one.
    """
    surface = ConstraintSurface(flow, functions, p)
    half = flow.states.numel() // 2
    ranks: list[int] = []
    for t, z in points:
        slope = surface.at(t, z)[1]
        rows = np.linalg.norm(slope, axis=1, keepdims=True)
        slope = np.where(np.abs(slope) > GRADIENT * rows, slope, 0.0)
        of_q, of_p = slope[:, :half], slope[:, half:]
        brackets = of_q @ of_p.T - of_p @ of_q.T
        terms = np.abs(of_q) @ np.abs(of_p).T
        brackets = np.where(np.abs(brackets) > tolerance * (terms + terms.T), brackets, 0.0)
        largest = np.max(np.abs(brackets), axis=1, initial=0.0)
        units = 1.0 / np.sqrt(np.where(largest > 0.0, largest, 1.0))
        brackets = units[:, None] * brackets * units
        ranks.append(_rank(brackets, tolerance * float(np.linalg.norm(brackets))))
    return max(ranks)


def _rank(matrix: np.ndarray, tolerance: float) -> int:
    return int(np.linalg.matrix_rank(matrix, tol=tolerance))

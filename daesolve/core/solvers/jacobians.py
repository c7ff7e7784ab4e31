"""Exact Jacobians of the right-hand side, written out or by a numeric factorisation.

Written out, the code of the elimination is differentiated by each state: about 0.4 n N
instructions of 4 ns for n states and N instructions of the right-hand side, and they must be
made first. By the implicit function theorem (see `SemiExplicit`) the equations before the
elimination are differentiated numerically, many columns at once, and their matrix is factorised: by
LAPACK, or by SuperLU where it is large. Nothing is made in advance. Measured (one core, chains of N
pendulums in the plane in maximal coordinates; making the code, and one Jacobian):

    N     states   written out            factorised
    5         30   0.02 s     0.03 ms     0.02 s    0.25 ms
    10        60   0.2 s      0.08 ms     0.02 s    0.4 ms
    20       120   1.3 s      0.3 ms      0.05 s    1.1 ms
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import ClassVar, cast

import casadi as ca
import numpy as np
import scipy

from daesolve.core.expressions.blocks import StateFunction
from daesolve.core.expressions.evaluation import BufferedFunction, Evaluator
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.sparse_derivatives import SparseDerivatives
from daesolve.core.expressions.sparse_factors import ORDER, AlikeMatrices, Solve, powers_of_two
from daesolve.core.formulations import OdeProblem
from daesolve.core.formulations.semi_explicit import SemiExplicit

Jacobian = Callable[[float, np.ndarray], np.ndarray]
"""(t, x) -> (size, size)"""
_Factorise = Callable[..., tuple[np.ndarray, np.ndarray, int]]
"""matrix -> factors, pivots, where it is singular"""
_Substitute = Callable[..., tuple[np.ndarray, int]]
"""factors, pivots, right side -> solution, whether an argument cannot be"""
PER_STATE = 0.4
"""Instructions of a Jacobian written out, over those of the rate times the number of states."""
FIXED = 40_000
"""What a numeric factorisation costs at least, in instructions."""
FLOPS = 50.0
"""Operations of LAPACK in the time of an instruction."""
MAKING = 2.0
"""Factor on the cost of a written-out Jacobian in a run, since it must be made first."""
DIRECTIONS = 60.0
"""What derivatives of the equations before the elimination cost, over the equations."""
LARGE = 120
"""From so many unknowns on SuperLU takes less time than LAPACK."""


def exact_jacobian(problem: OdeProblem, p: np.ndarray) -> Jacobian:
    """Return the exact Jacobian of the right-hand side, in the way that costs less.

    Parameters
    ----------
    problem
        Its functions.
    p
        The values.
    """
    if problem.equations is not None and factorises(problem):
        return FactorisedJacobian(problem.equations, p)
    return BufferedFunction(written_out(problem), p).matrix


@built_once
def written_out(problem: OdeProblem) -> ca.Function:
    """Return the Jacobian of the right-hand side as code, (t, x, p) -> (size, size), dense."""
    t, x, p = (problem.rhs.sx_in(k) for k in range(3))
    rate = problem.rhs(t, x, p)
    matrix = ca.densify(ca.jacobian(rate, x))
    return ca.Function("rate_jacobian", [t, x, p], [matrix], {"cse": True})


@built_once
def factorises(problem: OdeProblem) -> bool:
    """Return whether a numeric factorisation costs less than a Jacobian written out."""
    return _costs_less(problem)


def _costs_less(problem: OdeProblem) -> bool:
    written = MAKING * PER_STATE * problem.size * problem.rhs.n_instructions()
    if problem.equations is None or written < FIXED:
        return False
    residual = problem.equations.residual
    unknowns = problem.equations.z.numel()
    work = unknowns**2 * (2.0 / 3.0 * unknowns + 2.0 * problem.size)
    if unknowns >= LARGE:  # Of sparse factors, with three times the entries of the matrix.
        work = 6.0 * residual.jac_sparsity(0, 1).nnz() * problem.size
    return FIXED + DIRECTIONS * residual.n_instructions() + work / FLOPS < written


class _Block:
    """A block of a sparse matrix.

    Parameters
    ----------
    pattern
        The rows of the entries, and the start of each column.
    down, right
        The rows and columns of the block.
    """

    def __init__(self, pattern: SparseDerivatives, down: range, right: range) -> None:
        columns = np.repeat(np.arange(len(pattern.starts) - 1), np.diff(pattern.starts))
        inside = np.isin(pattern.rows, down) & np.isin(columns, right)
        self._places = np.flatnonzero(inside)
        self._rows = pattern.rows[self._places] - down.start
        self._columns = columns[self._places] - right.start
        self._starts = np.searchsorted(self._columns, np.arange(len(right) + 1)).astype(np.int32)
        self._shape = len(down), len(right)

    def sparse(self, entries: np.ndarray) -> scipy.sparse.csc_array:
        """Return it from the entries of the whole matrix."""
        parts = (entries[self._places], self._rows, self._starts)
        return scipy.sparse.csc_array(parts, shape=self._shape)

    def dense(self, entries: np.ndarray) -> np.ndarray:
        """Return it from the entries of the whole matrix, columns first."""
        matrix = np.zeros(self._shape, order="F")
        matrix[self._rows, self._columns] = entries[self._places]
        return matrix


class _Blocks:
    """The derivatives of f and r - K z by x and z, in blocks.

    Parameters
    ----------
    equations
        Before the elimination.
    p
        The values.
    """

    def __init__(self, equations: SemiExplicit, p: np.ndarray) -> None:
        size, whole = equations.x.numel(), equations.residual.nnz_out(0)
        self.derivatives = own = SparseDerivatives(equations.residual, p)
        states, unknowns = range(size), range(size, whole)
        self._own, self._by_z = _Block(own, states, states), _Block(own, states, unknowns)
        self._rest, self._matrix = _Block(own, unknowns, states), _Block(own, unknowns, unknowns)
        self._size, self._none = size, np.zeros(len(unknowns))

    def at(
        self, t: float, x: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, scipy.sparse.csc_array, np.ndarray]:
        """Return df/dx, df/dz and d(r - K z)/dx."""
        entries = self.derivatives(t, np.concatenate([x, z]))[1]
        return self._own.dense(entries), self._by_z.sparse(entries), self._rest.dense(entries)

    def linear(self, t: float, x: np.ndarray) -> tuple[scipy.sparse.csc_array, np.ndarray]:
        """Return K and r."""
        values, entries = self.derivatives(t, np.concatenate([x, self._none]))
        return self._matrix.sparse(-entries), values[self._size :]


class FactorisedJacobian:
    """The Jacobian of a rate by the implicit function theorem, with a numeric factorisation.

    Where the matrix is singular, it is not a number.

    Parameters
    ----------
    equations
        Before the elimination.
    p
        The values.
    """

    def __init__(self, equations: SemiExplicit, p: np.ndarray) -> None:
        self.equations = equations
        self._p = np.ascontiguousarray(p, dtype=float)
        self._blocks = _Blocks(equations, p)
        pattern = equations.shifts.sparsity_out(0)
        self._shift = Evaluator(equations.shifts) if pattern.nnz() else None
        self._places = pattern.row(), pattern.colind()

    def __call__(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return dx'/dx, (size, size)."""
        matrix, right_side = self._blocks.linear(t, x)
        shifted = matrix
        if self._shift is not None:
            (entries,) = self._shift(t, x, self._p)
            shifted = matrix + scipy.sparse.csc_array((entries, *self._places), shape=matrix.shape)
        size = len(x)
        factors = _Factors.of(shifted)
        if factors is None:
            return np.full((size, size), np.nan)
        z = factors.refined(right_side)
        own, by_z, rest = self._blocks.at(t, x, z)
        dz = factors.solve(rest)
        for _ in range(self.equations.refinements):
            z = z + factors.refined(right_side - matrix @ z)
            own, by_z, rest = self._blocks.at(t, x, z)
            dz = dz + factors.solve(rest - matrix @ dz)
        return own + by_z @ dz


def independent_motion(
    equations: SemiExplicit, p: np.ndarray, t: float, x: np.ndarray, counts: tuple[int, int]
) -> np.ndarray | None:
    """Linearise a motion in as many velocities as the goals leave free; None if masses are zero.

    L L^T being the masses, L^T times what forces accelerate times L projects on the velocities that
    the goals leave. The result has two rows for each of these, and the eigenvalues of the motion.

    Parameters
    ----------
    equations, p
        Before the elimination, and the values.
    t, x
        The place.
    counts
        The numbers of positions and velocities, with which x begins.
    """
    positions, velocities = counts
    blocks, own = _Blocks(equations, p), slice(positions, positions + velocities)
    matrix, _ = blocks.linear(t, x)
    factors = _Factors.of(matrix)
    masses = matrix[:velocities, :velocities].toarray()
    if factors is None or not np.all(np.isfinite(masses)):
        return None
    try:
        root = np.linalg.cholesky(masses)
    except np.linalg.LinAlgError:
        return None
    forces = np.zeros((matrix.shape[0], velocities))
    forces[:velocities] = root
    left, sizes, _ = np.linalg.svd(root.T @ factors.solve(forces)[:velocities])
    free = left[:, sizes > 0.5]
    directions = scipy.linalg.solve_triangular(root, free, trans="T", lower=True)
    whole = FactorisedJacobian(equations, p)(t, x)
    back = free.T @ root.T
    moved = whole[:positions, own] @ directions
    return np.block(
        [
            [np.zeros((free.shape[1],) * 2), np.eye(free.shape[1])],
            [back @ whole[own, :positions] @ moved, back @ whole[own, own] @ directions],
        ]
    )


class _Factors:
    """A matrix scaled by powers of two and factorised.

    Masses of small bodies are beside the numbers of constraints: without scales the pivots would
    be chosen by units.
    """

    def __init__(
        self,
        matrix: scipy.sparse.csc_array,
        rows: np.ndarray,
        columns: np.ndarray,
        solve: Solve,
    ) -> None:
        self._matrix, self._rows, self._columns, self._solve = matrix, rows, columns, solve

    @staticmethod
    def of(matrix: scipy.sparse.csc_array) -> _Factors | None:
        """Factorise; None if the matrix is singular or not finite."""
        size = len(matrix.indptr) - 1
        place = np.repeat(np.arange(size), np.diff(matrix.indptr))
        sizes = np.abs(matrix.data)
        if not np.all(np.isfinite(sizes)):
            return None
        rows = powers_of_two(sizes, matrix.indices, size)
        columns = powers_of_two(sizes * rows[matrix.indices], place, size)
        data = matrix.data * rows[matrix.indices] * columns[place]
        if size < LARGE:
            dense = np.zeros((size, size), data.dtype, order="F")
            dense[matrix.indices, place] = data
            solve = _solving(dense)
            return None if solve is None else _Factors(matrix, rows, columns, solve)
        try:
            scaled = scipy.sparse.csc_array(
                (data, matrix.indices, matrix.indptr), shape=matrix.shape
            )
            factors = scipy.sparse.linalg.splu(scaled, permc_spec=ORDER)
        except RuntimeError:  # exactly singular
            return None
        return _Factors(matrix, rows, columns, factors.solve)

    def solve(self, right_side: np.ndarray) -> np.ndarray:
        rows, columns = self._rows, self._columns
        if right_side.ndim == 2:
            rows, columns = rows[:, None], columns[:, None]
        return columns * self._solve(rows * right_side)

    def refined(self, right_side: np.ndarray) -> np.ndarray:
        found = self.solve(right_side)
        return found + self.solve(right_side - self._matrix @ found)


@cache
def _lapack(kind: type) -> tuple[_Factorise, _Substitute]:
    """Return LAPACK's LU factorisation and what solves with it."""
    factorise = cast("_Factorise", scipy.linalg.get_lapack_funcs("getrf", dtype=kind))
    substitute = cast("_Substitute", scipy.linalg.get_lapack_funcs("getrs", dtype=kind))
    return factorise, substitute


def _solving(matrix: np.ndarray) -> Solve | None:
    """Return what solves with a matrix, which is overwritten; None if it is singular."""
    factorise, substitute = _lapack(float if matrix.dtype == float else complex)
    lu, pivots, info = factorise(matrix, overwrite_a=True)
    return None if info else lambda b: substitute(lu, pivots, b)[0]


class MassMatrixEquations(ABC):
    """The equations E y' = F(t, y) of an implicit method, with E diagonal, of zeros and ones.

    y begins with the state x of a problem; unknowns may follow.

    Attributes
    ----------
    mass
        The diagonal of E.
    evaluations
        At how many states F was evaluated.
    good
        Newton's iteration that converges at this rate needs no other Jacobian.
    """

    good: ClassVar[float]

    def __init__(self, function: ca.Function, p: np.ndarray, size: int, stages: int) -> None:
        self._rate = StateFunction(function, p)
        self._rates = StateFunction(function, p, stages)
        self.mass = np.zeros(function.nnz_out(0))
        self.mass[:size] = 1.0

    @property
    def evaluations(self) -> int:
        """At how many states F was evaluated."""
        return self._rate.calls + self._rates.calls

    def rate(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return F at a time, (len(y),)."""
        return self._rate(t, y)

    def rates(self, times: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Return F at the stages, (stages, len(y))."""
        return self._rates(times, table)

    @abstractmethod
    def completed(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return y for a state; its unknowns are not finite where they cannot be."""

    @abstractmethod
    def move(self, t: float, y: np.ndarray) -> bool:
        """Take the Jacobian J of F at another place; return whether it is finite."""

    @abstractmethod
    def factorise(self, sigma: complex) -> Solve | None:
        """Return what solves (sigma E - J) d = b, real where sigma is; None if it is singular."""


def implicit_equations(problem: OdeProblem, p: np.ndarray, stages: int) -> MassMatrixEquations:
    """Return the equations of a problem, with the unknowns of its elimination if that costs less.

    Parameters
    ----------
    problem, p
        Its functions, and the values.
    stages
        At how many states they are evaluated at once.
    """
    if bordered(problem):
        return _Bordered(cast("SemiExplicit", problem.equations), p, stages)
    return _Explicit(problem, p, stages)


def bordered(problem: OdeProblem) -> bool:
    """Return whether the unknowns of the elimination are kept."""
    equations = problem.equations
    return equations is not None and equations.shift is None and factorises(problem)


class _Explicit(MassMatrixEquations):
    """x' = f(t, x), with a dense Jacobian."""

    good = 1e-3

    def __init__(self, problem: OdeProblem, p: np.ndarray, stages: int) -> None:
        super().__init__(problem.rhs, p, problem.size, stages)
        self._jacobian = exact_jacobian(problem, p)
        self._matrix = np.zeros((0, 0))

    def completed(self, t: float, x: np.ndarray) -> np.ndarray:
        return x

    def move(self, t: float, y: np.ndarray) -> bool:
        self._matrix = np.asfortranarray(-self._jacobian(t, y))
        return bool(np.all(np.isfinite(self._matrix)))

    def factorise(self, sigma: complex) -> Solve | None:
        number = complex(sigma) if sigma.imag else float(sigma.real)
        matrix = self._matrix.astype(type(number), order="F")
        matrix.reshape(-1, order="F")[:: len(matrix) + 1] += number
        return _solving(matrix)


class _Bordered(MassMatrixEquations):
    """x' = f(t, x, z) and 0 = r - K z: with the unknowns of the elimination, all is sparse.

    With J = f_x + f_z K^-1 g_x, where g_x = d(r - K z)/dx, the state's part of d solves
    (sigma - J) d = b in

        [ sigma - f_x   -f_z ] [ d ]   [ b ]
        [    -g_x         K  ] [ e ] = [ 0 ].

    A Jacobian takes as long as seven iterations.
    """

    good = 3e-2

    def __init__(self, equations: SemiExplicit, p: np.ndarray, stages: int) -> None:
        self._size = equations.x.numel()
        super().__init__(equations.residual, p, self._size, stages)
        self._blocks = _Blocks(equations, p)
        own = self._blocks.derivatives
        whole = len(self.mass)
        columns = np.repeat(np.arange(whole), np.diff(own.starts))
        diagonal = np.arange(self._size) * (whole + 1)
        joined, into = np.unique(
            np.concatenate([diagonal, own.rows + whole * columns]), return_inverse=True
        )
        self._diagonal, self._into = into[: self._size], into[self._size :]
        self._rows = (joined % whole).astype(np.int32)
        self._starts = np.searchsorted(joined, whole * np.arange(whole + 1)).astype(np.int32)
        self._entries = np.zeros(len(joined))
        self._alike = AlikeMatrices(self._rows, self._starts)

    def completed(self, t: float, x: np.ndarray) -> np.ndarray:
        matrix, right_side = self._blocks.linear(t, x)
        factors = _Factors.of(matrix)
        unknown = np.full(len(right_side), np.nan)
        return np.concatenate([x, unknown if factors is None else factors.refined(right_side)])

    def move(self, t: float, y: np.ndarray) -> bool:
        self._entries = np.zeros(len(self._rows))
        self._entries[self._into] = -self._blocks.derivatives(t, y)[1]
        return bool(np.all(np.isfinite(self._entries)))

    def factorise(self, sigma: complex) -> Solve | None:
        number = complex(sigma) if sigma.imag else float(sigma.real)
        data = self._entries.astype(type(number))
        data[self._diagonal] += number
        if len(self.mass) >= LARGE:
            return self._alike.factorise(data)
        shape = (len(self.mass), len(self.mass))
        factors = _Factors.of(scipy.sparse.csc_array((data, self._rows, self._starts), shape=shape))
        return None if factors is None else factors.solve

"""Exact Jacobians of the right-hand side, written out or by a numeric factorisation.

Written out, the code of the elimination is differentiated by each state: about 0.4 n N
instructions of 4 ns for n states and N instructions of the right-hand side, and they must be
made first. By the implicit function theorem (see `SemiExplicit`) the equations before the
elimination are differentiated, as sparse as they are, and their matrix is factorised: by LAPACK, or
by SuperLU where it is large. That costs some 0.15 ms at least. Measured (one core,
chains of N pendulums in the plane in maximal coordinates; making the code, and one Jacobian):

    N     states   written out            factorised
    5         30   0.04 s     0.04 ms     0.01 s    0.12 ms
    10        60   0.19 s     0.11 ms     0.02 s    0.18 ms
    20       120   1.0 s      0.42 ms     0.04 s    0.40 ms
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import cast

import casadi as ca
import numpy as np
import scipy

from daesolve.core.expressions.blocks import StateFunction
from daesolve.core.expressions.evaluation import BufferedFunction, Evaluator
from daesolve.core.expressions.memory_cache import built_once
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
    unknowns = problem.equations.z.numel()
    work = unknowns**2 * (2.0 / 3.0 * unknowns + 2.0 * problem.size)
    if unknowns >= LARGE:  # Of sparse factors, with three times the entries of the matrix.
        work = 6.0 * problem.equations.system.nnz_out(0) * problem.size
    functions = (problem.equations.system, problem.equations.partials)
    code = sum(function.n_instructions() for function in functions)
    return FIXED + code + work / FLOPS < written


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
        self._system = Evaluator(equations.system)
        self._partials = BufferedFunction(equations.partials, p)
        self._matrix = _Pattern(equations.system.sparsity_out(0))
        self._shift = _Pattern(equations.system.sparsity_out(2))
        self._parts = [_Pattern(pattern) for pattern in equations.patterns]
        self._ends = np.cumsum([len(part.rows) for part in self._parts])[:-1]

    def __call__(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return dx'/dx, (size, size)."""
        entries, right_side, shift = self._system(t, x, self._p)
        matrix = self._matrix.sparse(entries)
        shifted = matrix + self._shift.sparse(shift) if len(shift) else matrix
        size = len(x)
        factors = _Factors.of(shifted)
        if factors is None:
            return np.full((size, size), np.nan)
        z = factors.refined(right_side)
        rest, own, by_z = self._at(t, x, z)
        dz = factors.solve(self._parts[0].dense(rest))
        for _ in range(self.equations.refinements):
            z = z + factors.refined(right_side - matrix @ z)
            rest, own, by_z = self._at(t, x, z)
            dz = dz + factors.solve(self._parts[0].dense(rest) - matrix @ dz)
        return self._parts[1].dense(own) + self._parts[2].sparse(by_z) @ dz

    def _at(self, t: float, x: np.ndarray, z: np.ndarray) -> list[np.ndarray]:
        return np.split(self._partials(t, np.concatenate([x, z])), self._ends)


class _Pattern:
    """Where the non-zeros of a matrix are, columns first."""

    def __init__(self, sparsity: ca.Sparsity) -> None:
        self.shape = sparsity.shape
        self.rows = np.array(sparsity.row(), dtype=np.int32)
        self.starts = np.array(sparsity.colind(), dtype=np.int32)
        self.columns = np.repeat(np.arange(self.shape[1]), np.diff(self.starts))
        self._places = self.rows + self.shape[0] * self.columns

    def sparse(self, entries: np.ndarray) -> scipy.sparse.csc_array:
        return scipy.sparse.csc_array((entries, self.rows, self.starts), shape=self.shape)

    def dense(self, entries: np.ndarray) -> np.ndarray:
        matrix = np.zeros(self.shape[0] * self.shape[1])
        matrix[self._places] = entries
        return matrix.reshape(self.shape, order="F")


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


class NewtonMatrix(ABC):
    """The matrices sigma - J of Newton's iteration for one Jacobian J and several numbers sigma."""

    @abstractmethod
    def move(self, t: float, x: np.ndarray) -> bool:
        """Take the Jacobian at another place; return whether it is finite."""

    @abstractmethod
    def factorise(self, sigma: complex) -> Solve | None:
        """Return what solves (sigma - J) d = b, real where sigma is; None if it is singular."""


def newton_matrix(problem: OdeProblem, p: np.ndarray) -> NewtonMatrix:
    """Return the matrices of Newton's iteration in the way that costs less."""
    equations = problem.equations
    if equations is None or equations.shift is not None or not factorises(problem):
        return _DenseNewton(exact_jacobian(problem, p))
    return _BorderedNewton(equations, p)


class _DenseNewton(NewtonMatrix):
    def __init__(self, jacobian: Jacobian) -> None:
        self._jacobian = jacobian
        self._matrix = np.zeros((0, 0))

    def move(self, t: float, x: np.ndarray) -> bool:
        self._matrix = np.asfortranarray(-self._jacobian(t, x))
        return bool(np.all(np.isfinite(self._matrix)))

    def factorise(self, sigma: complex) -> Solve | None:
        number = complex(sigma) if sigma.imag else float(sigma.real)
        matrix = self._matrix.astype(type(number), order="F")
        matrix.reshape(-1, order="F")[:: len(matrix) + 1] += number
        return _solving(matrix)


class _BorderedNewton(NewtonMatrix):
    """With the unknowns of the elimination kept, so that the matrix is sparse.

    With J = f_x + f_z K^-1 g_x, where g_x = d(r - K z)/dx,

        [ sigma - f_x   -f_z ] [ d ]   [ b ]
        [    -g_x         K  ] [ e ] = [ 0 ].
    """

    def __init__(self, equations: SemiExplicit, p: np.ndarray) -> None:
        self._p = np.ascontiguousarray(p, dtype=float)
        self._system = Evaluator(equations.system)
        self._partials = StateFunction(equations.partials, p)
        self._block = _Pattern(equations.system.sparsity_out(0))
        self._size, unknowns = equations.x.numel(), equations.z.numel()
        rest, own, by_z = (_Pattern(pattern) for pattern in equations.patterns)
        self._ends = np.cumsum([len(part.rows) for part in (rest, own)])
        patterns = [own, by_z, rest, self._block]
        self._whole = self._size + unknowns
        offsets = [(0, 0), (0, self._size), (self._size, 0), (self._size, self._size)]
        places = [
            pattern.rows + down + self._whole * (pattern.columns + right)
            for pattern, (down, right) in zip(patterns, offsets, strict=True)
        ]
        diagonal = np.arange(self._size) * (self._whole + 1)
        joined, self._into = np.unique(np.concatenate([diagonal, *places]), return_inverse=True)
        self._rows = (joined % self._whole).astype(np.int32)
        self._starts = np.searchsorted(joined, self._whole * np.arange(self._whole + 1)).astype(
            np.int32
        )
        self._entries = np.zeros(len(joined))
        self._alike = AlikeMatrices(self._rows, self._starts)
        self._alike_blocks = AlikeMatrices(self._block.rows, self._block.starts)

    def move(self, t: float, x: np.ndarray) -> bool:
        entries, right_side, _ = self._system(t, x, self._p)
        z = self._unknowns(entries, right_side)
        if z is None:
            return False
        rest, own, by_z = np.split(self._partials(t, np.concatenate([x, z])), self._ends)
        parts = np.concatenate([np.zeros(self._size), -own, -by_z, -rest, entries])
        self._entries = np.bincount(self._into, parts, len(self._rows))
        return bool(np.all(np.isfinite(self._entries)))

    def _unknowns(self, entries: np.ndarray, right_side: np.ndarray) -> np.ndarray | None:
        """Solve K z = r, refined once; None if K is singular."""
        matrix = self._block.sparse(entries)
        if len(right_side) < LARGE:
            factors = _Factors.of(matrix)
            return None if factors is None else factors.refined(right_side)
        solve = self._alike_blocks.factorise(entries)
        if solve is None:
            return None
        found = solve(right_side)
        return found + solve(right_side - matrix @ found)

    def factorise(self, sigma: complex) -> Solve | None:
        number = complex(sigma) if sigma.imag else float(sigma.real)
        data = self._entries.astype(type(number))
        data[self._into[: self._size]] += number
        solve = self._solving(data)
        if solve is None:
            return None
        size, border = self._size, np.zeros(self._whole - self._size)
        return lambda b: solve(np.concatenate([b, border]))[:size]

    def _solving(self, data: np.ndarray) -> Solve | None:
        if self._whole >= LARGE:
            return self._alike.factorise(data)
        shape = (self._whole, self._whole)
        factors = _Factors.of(scipy.sparse.csc_array((data, self._rows, self._starts), shape=shape))
        return None if factors is None else factors.solve

"""Coefficients of the Radau IIA methods of 3 and 5 stages, and one step of them.

The collocation polynomial of a step is x + z(theta), z(0) = 0, with z'(c_i) = h f at the stages.
With A^-1 = T diag(lambda) T^-1 the stages come apart: one real and some complex systems

    (lambda_k / h - J) dw_k = (T^-1 F)_k - lambda_k / h w_k,    z = T w.

E. Hairer, G. Wanner, Solving Ordinary Differential Equations II (1996), IV.8; E. Hairer, G. Wanner,
Stiff differential equations solved by Radau methods, J. Comput. Appl. Math. 111 (1999) 93-111.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Legendre


@dataclass(frozen=True, eq=False)
class Collocation:
    """Coefficients of a method of s stages.

    Parameters
    ----------
    stages
        s, odd; the order is 2 s - 1.
    nodes
        (s,) c, the last of them 1.
    eigenvalues
        (k,) lambda: the real one of A^-1, then one of each pair.
    into, out_of
        (k, s) rows of T^-1; (s, k) columns of T, those of a pair twice: z is the real part.
    error
        (s,) what the embedded method of order s, which takes f at the start as well, makes of the
        stages.
    powers
        (s, s): the coefficients of theta, theta^2, ... of z are powers @ z.
    """

    stages: int
    nodes: np.ndarray
    eigenvalues: np.ndarray
    into: np.ndarray
    out_of: np.ndarray
    error: np.ndarray
    powers: np.ndarray

    def at(self, parts: np.ndarray) -> np.ndarray:
        """Return the matrix (j, s) that gives z at parts of the step from the stages."""
        exponents = np.arange(1, self.stages + 1)
        return parts[:, None] ** exponents @ self.powers


@functools.cache
def radau(stages: int) -> Collocation:
    """Return the coefficients of the Radau IIA method."""
    polynomial = Legendre.basis(stages) - Legendre.basis(stages - 1)
    nodes = np.sort((1.0 + np.real(polynomial.roots())) / 2.0)
    nodes[-1] = 1.0
    exponents = np.arange(stages)
    vandermonde = nodes[:, None] ** exponents
    matrix = nodes[:, None] ** (exponents + 1) / (exponents + 1) @ np.linalg.inv(vandermonde)
    inverse = np.linalg.inv(matrix)
    eigenvalues, vectors = np.linalg.eig(inverse)
    back = np.linalg.inv(vectors)
    turning = np.imag(eigenvalues)
    kept = [int(np.argmin(np.abs(turning))), *map(int, np.flatnonzero(turning > 1e-8))]
    real = float(eigenvalues[kept[0]].real)
    quadrature = 1.0 / (exponents + 1.0)
    quadrature[0] -= 1.0 / real
    embedded = np.linalg.solve(vandermonde.T, quadrature)
    doubled = np.array([1.0] + [2.0] * (len(kept) - 1))
    return Collocation(
        stages,
        nodes,
        np.concatenate([[real], eigenvalues[kept[1:]]]),
        back[kept],
        vectors[:, kept] * doubled,
        real * (embedded - matrix[-1]) @ inverse,
        np.linalg.inv(nodes[:, None] ** (exponents + 1)),
    )

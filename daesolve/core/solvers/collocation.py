"""Steps of Radau IIA methods of 3 to 7 stages, of controlled length, with the exact Jacobian.

The collocation polynomial of a step is y + z(theta), z(0) = 0, with E z'(c_i) = h F at the stages.
With A^-1 = T diag(lambda) T^-1 the stages come apart: one real and some complex systems

    (lambda_k / h E - J) dw_k = (T^-1 F)_k - lambda_k / h E w_k,    z = T w.

E. Hairer, G. Wanner, Solving Ordinary Differential Equations II (1996), IV.8; E. Hairer, G. Wanner,
Stiff differential equations solved by Radau methods, J. Comput. Appl. Math. 111 (1999) 93-111.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Legendre

from daesolve.core.expressions.blocks import StateFunction
from daesolve.core.expressions.sparse_factors import Solve
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.jacobians import implicit_equations

ITERATIONS = {3: 7, 5: 10, 7: 13}
"""The most iterations of Newton's method, by the number of stages."""
SHORTEST, LONGEST = 0.2, 10.0
"""What a step may be of the one before it."""
KEPT = 1.2
"""A step is not made longer by less than this factor, so that its factors still serve."""
HARD = 0.7
"""If Newton's method needed this fraction of its iterations, or failed, the next step is no longer
than this one, because it would fail."""
LATE = 1e-10
"""The rounding of time counts if it exceeds this fraction of a step."""


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
    bend
        (s + 1,) the coefficients of theta, theta^2, ... of the polynomial that is zero at the start
        and at all stages and has the slope lambda at the start, lambda being the real one: times
        the estimate of the error it is what the polynomial of the stages leaves out.
    """

    stages: int
    nodes: np.ndarray
    eigenvalues: np.ndarray
    into: np.ndarray
    out_of: np.ndarray
    error: np.ndarray
    powers: np.ndarray
    bend: np.ndarray

    def at(self, parts: np.ndarray) -> np.ndarray:
        """Return the matrix (j, s) that gives z at parts of the step from the stages."""
        exponents = np.arange(1, self.stages + 1)
        return parts[:, None] ** exponents @ self.powers

    def bent(self, parts: np.ndarray) -> np.ndarray:
        """Return what the estimate of the error adds at parts of the step, (j, 1)."""
        return (parts[:, None] ** np.arange(1, self.stages + 2) @ self.bend)[:, None]


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
        real * np.polynomial.polynomial.polyfromroots(nodes) / np.prod(-nodes),
    )


class Collocated:
    """One step of a problem by collocation.

    Parameters
    ----------
    problem, p
        The functions, and the values.
    tableau
        The coefficients.
    rtol, atol
        The tolerances.
    """

    def __init__(
        self, problem: OdeProblem, p: np.ndarray, tableau: Collocation, rtol: float, atol: float
    ) -> None:
        self.problem, self.p, self.tableau = problem, p, tableau
        self.equations = implicit_equations(problem, p, tableau.stages)
        self.project = None if problem.project is None else StateFunction(problem.project, p)
        self.converged = max(10 * np.finfo(float).eps / rtol, min(0.03, math.sqrt(rtol)))
        self._rtol, self._atol = rtol, atol

    @property
    def evaluations(self) -> int:
        """How often rates were evaluated."""
        return self.equations.evaluations

    def scale(self, x: np.ndarray, other: np.ndarray | None = None) -> np.ndarray:
        """Return the size of an error that is tolerated, for each state."""
        sizes = np.abs(x) if other is None else np.maximum(np.abs(x), np.abs(other))
        return self._atol + self._rtol * sizes

    def factorise(self, h: float) -> list[Solve] | None:
        """Return what solves with lambda / h E - J for each lambda; None if one is singular."""
        solves = [self.equations.factorise(number / h) for number in self.tableau.eigenvalues]
        found = [solve for solve in solves if solve is not None]
        return found if len(found) == len(solves) else None

    def collocate(
        self,
        t: float,
        y: np.ndarray,
        h: float,
        guess: np.ndarray,
        solves: list[Solve],
        scale: np.ndarray,
        contraction: float,
    ) -> Iteration:
        """Solve for the stages.

        Parameters
        ----------
        t, y, h
            Where the step starts, and its length.
        guess
            (s, len(y)) z to begin with.
        solves
            From `factorise`.
        scale
            What the error of the state, with which y begins, is measured by.
        contraction
            What is known of the rate of convergence: it lets one iteration be enough.
        """
        tableau, most = self.tableau, ITERATIONS[self.tableau.stages]
        times, size = t + h * tableau.nodes, len(scale)
        weights = (tableau.eigenvalues / h)[:, None] * self.equations.mass
        z, w = guess, tableau.into @ guess
        moves, before = np.empty_like(w), 0.0
        # What is known grows old: as long as one iteration is enough, nothing new is learnt.
        known = max(contraction, 1e-16) ** 0.8
        expected, theta = known, 0.0
        for number in range(1, most + 1):
            f = self.equations.rates(times, y + z)
            defect = tableau.into @ f - weights * w
            moves[0] = solves[0](np.ascontiguousarray(defect[0].real))
            for k in range(1, len(solves)):
                moves[k] = solves[k](defect[k])
            move = float(_norm(moves[:, :size] / scale))
            if not math.isfinite(move):
                return Iteration(False, number, z, 1.0)
            if number > 1:
                theta = move / before
                if theta >= 1.0:
                    return Iteration(False, number, z, theta)
                left = theta ** (most - number) / (1.0 - theta) * move
                if left > self.converged:
                    return Iteration(False, number, z, theta)
                expected = theta / (1.0 - theta)
            w = w + moves
            z = np.real(tableau.out_of @ w)
            if move == 0.0 or expected * move < self.converged:
                return Iteration(True, number, z, theta if number > 1 else known)
            before = move
        return Iteration(False, most, z, theta)


@dataclass(frozen=True)
class Iteration:
    """The result of Newton's method for a step: z, (s, len(y)), the iterations, and their rate."""

    converged: bool
    count: int
    z: np.ndarray
    theta: float


def _norm(table: np.ndarray) -> float:
    flat = table.ravel()
    return math.sqrt(np.vdot(flat, flat).real / flat.size)


class CollocationStepper:
    """Steps of controlled length, one after the other.

    Parameters
    ----------
    method
        What takes them.
    time, x
        The start.
    until
        The end.
    """

    def __init__(self, method: Collocated, time: float, x: np.ndarray, until: float) -> None:
        self.method, self.until = method, until
        self.time, self.y = time, method.equations.completed(time, x)
        self.sign = 1.0 if until >= time else -1.0
        self.f = method.equations.rate(time, self.y)
        self.start, self.z = (time, self.y), None
        self._count = len(x)
        self._size = 0.0
        self._current = False
        self._solves: list[Solve] | None = None
        self._factorised = math.nan
        self._accepted: tuple[float, float] | None = None
        self._theta = 1.0
        self._left = np.zeros(len(self.y))

    @property
    def x(self) -> np.ndarray:
        """The state."""
        return self.y[: self._count]

    @property
    def step_taken(self) -> float:
        """The length of the last step."""
        return self.time - self.start[0]

    def step(self) -> str:
        """Take a step; return why it failed, "" if it did not."""
        method, tableau = self.method, self.method.tableau
        if not self._size:
            if not self._renew():
                return "the Jacobian of the rate is not finite"
            self._size = self._first()
        rejected = failed = False
        while True:
            left = abs(self.until - self.time)
            # The rest may be as short: clocks that ring together differ by the rounding of time.
            if self._size < min(10 * np.spacing(abs(self.time)), left):
                return "the steps have become too small to continue"
            last = self._size >= left * (1.0 - 1e-10)
            h = self.sign * left if last else self._rounded(self.sign * self._size)
            if not self._factorise(h):
                self._size = abs(h) / 2
                continue
            assert self._solves is not None
            scale = method.scale(self.x)
            found = method.collocate(
                self.time, self.y, h, self._guess(h), self._solves, scale, self._theta
            )
            if not found.converged:
                self._theta = 1.0
                if self._current:
                    self._size, failed = abs(h) / 2, True
                elif not self._renew():
                    return "the Jacobian of the rate is not finite"
                continue
            y = self.y + found.z[-1]
            error = self._error(h, found.z, y[: self._count], rejected)
            most = ITERATIONS[tableau.stages]
            safety = 0.9 * (2 * most + 1) / (2 * most + found.count)
            if not error <= 1.0:
                shrunk = error ** (-1.0 / (tableau.stages + 1)) if math.isfinite(error) else 0.0
                self._size = abs(h) * max(SHORTEST, safety * shrunk)
                rejected = True
                continue
            hard = failed or found.count >= HARD * most
            self._accept(h, y, found, error, safety, 1.0 if hard else LONGEST, last=last)
            return ""

    def _rounded(self, h: float) -> float:
        """Return how long a step is that ends where time is rounded: late in time this counts."""
        late = np.spacing(abs(self.time)) > LATE * abs(h)
        return (self.time + h) - self.time if late else h

    def _first(self) -> float:
        """Return a length for the first step: of an explicit one after Hairer, or of the decay.

        E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, II.4.
        """
        method, span = self.method, abs(self.until - self.time)
        scale, rate = method.scale(self.x), self.f[: self._count]
        size, speed = _norm(self.x / scale), _norm(rate / scale)
        guess = 0.01 * size / speed if size > 1e-5 and speed > 1e-5 else 1e-6
        guess = min(guess, span)
        time, ahead = self.time + self.sign * guess, self.x + self.sign * guess * rate
        equations = method.equations
        turned = equations.rate(time, equations.completed(time, ahead))[: self._count] - rate
        bend = _norm(turned / scale) / guess
        if not math.isfinite(bend):
            bend = 1.0 / guess
        worst = max(speed, bend)
        order = method.tableau.stages + 1
        other = (0.01 / worst) ** (1.0 / order) if worst > 1e-15 else max(1e-6, guess * 1e-3)
        return min(100 * guess, other, span)

    def _renew(self) -> bool:
        self._solves = None
        self._current = self.method.equations.move(self.time, self.y)
        return self._current

    def _factorise(self, h: float) -> bool:
        if self._solves is None or self._factorised != h:
            self._solves, self._factorised = self.method.factorise(h), h
        return self._solves is not None

    def _guess(self, h: float) -> np.ndarray:
        """Continue the polynomial of the step before."""
        tableau = self.method.tableau
        if self.z is None:
            return np.zeros((tableau.stages, len(self.y)))
        parts = 1.0 + tableau.nodes * (h / self.step_taken)
        return tableau.at(parts) @ self.z - self.z[-1]

    def _error(self, h: float, z: np.ndarray, x: np.ndarray, rejected: bool) -> float:
        """Estimate the error of the step by the embedded method, filtered where it is stiff."""
        assert self._solves is not None
        scale = self.method.scale(self.x, x)
        equations = self.method.equations
        made = equations.mass * (self.method.tableau.error @ z) / h
        error = self._solves[0](self.f + made)
        size = _norm(error[: self._count] / scale)
        if size > 1.0 and (rejected or self.z is None):
            again = equations.rate(self.time, self.y + error)
            error = self._solves[0](again + made)
            size = _norm(error[: self._count] / scale)
        self._left = error
        return size

    def _accept(
        self,
        h: float,
        y: np.ndarray,
        found: Iteration,
        error: float,
        safety: float,
        longest: float,
        *,
        last: bool,
    ) -> None:
        method = self.method
        power = -1.0 / (method.tableau.stages + 1)
        factor = error**power if error > 0.0 else LONGEST
        if self._accepted is not None and error > 0.0:
            # K. Gustafsson, ACM Trans. Math. Softw. 20 (1994) 496-517.
            length, before = self._accepted
            factor = min(factor, abs(h) / length * (error / before) ** power * factor)
        factor = min(longest, safety * factor)
        slow = found.count > 2 and found.theta > method.equations.good
        if not slow and 1.0 <= factor < KEPT:
            factor = 1.0
        self._accepted = abs(h), max(error, 1e-10)
        self._theta = found.theta
        self.start, self.z = (self.time, self.y), found.z
        self.time, self.y = (self.until if last else self.time + h), y
        if method.project is not None:
            x = method.project(self.time, self.x)
            self.y = method.equations.completed(self.time, x)
        self.f = method.equations.rate(self.time, self.y)
        self._size = abs(h) * factor
        self._current = False
        if slow:
            self._renew()

    def shortened(self, h: float) -> np.ndarray | None:
        """Take the last step again, only a part of it; None if Newton's method fails."""
        assert self.z is not None
        method, (time, y) = self.method, self.start
        parts = method.tableau.nodes * (h / self.step_taken)
        guess = method.tableau.at(parts) @ self.z
        solves = method.factorise(h)
        if solves is None:
            return None
        scale = method.scale(y[: self._count])
        found = method.collocate(time, y, h, guess, solves, scale, 1.0)
        return (y + found.z[-1])[: self._count] if found.converged else None

    def inside(self, parts: np.ndarray) -> np.ndarray:
        """Return the states at parts of the last step, (k, n), within its tolerance.

        What the polynomial of the stages leaves out is as large as the estimate of the error, and
        is added.
        """
        assert self.z is not None
        own, tableau = slice(self._count), self.method.tableau
        states = self.start[1][own] + tableau.at(parts) @ self.z[:, own]
        return states + tableau.bent(parts) * self._left[own]

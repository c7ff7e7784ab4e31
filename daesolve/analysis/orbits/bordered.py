"""Special points of a branch as solutions of equations, found by Newton's method.

Let y be the unknowns of the branch, F(y) = 0 its equations (one fewer than unknowns), and g(y, u) =
0 a condition with as many components as there are further unknowns u and directions along which F
leaves y free. A special point is then a regular zero of (F, g). The condition "A is singular" uses
a bordered matrix,

    [ A    b ] [ v ]   [ 0 ]
    [ c^T  0 ] [ g ] = [ 1 ],

whose g is smooth, and zero where A is singular, without inverting A. Each step corrects F across
the branch and then g along it, with a difference quotient for the derivative of g. The errors
shrink quadratically, down to the rounding of F and g.

W. J. F. Govaerts, Numerical Methods for Bifurcations of Dynamical Equilibria (SIAM, 2000).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from daesolve.analysis.orbits.curve import Curve, CurvePoint, LinearEquations
from daesolve.analysis.orbits.monodromy import Multipliers, multipliers
from daesolve.analysis.orbits.shooting import Guess
from daesolve.core.expressions.singular_values import singular_directions, weakest_direction
from daesolve.errors import DaesolveError, NotPeriodicError

MOST_STEPS = 12
"""The number of steps of Newton's method."""
DIFFERENCE = 1e-5
"""The difference, in scaled unknowns, for the derivative of a condition."""
FINISHED = 1e-14
"""A step, in scaled unknowns, that is rounding."""
SETTLED = 1e-9
"""The same; a smaller step is also rounding if it is not shorter than the one before."""
FARTHEST = 0.5
"""The same; a longer step means that the iteration has failed."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A special point.

    Parameters
    ----------
    point
        The orbit there.
    steps
        The lengths of the steps of Newton's method, in scaled unknowns.
    more
        The further unknowns.
    """

    point: CurvePoint
    steps: tuple[float, ...]
    more: np.ndarray


@dataclass(frozen=True, eq=False)
class CurveEvaluation:
    """The equations at given unknowns, as far as conditions need them."""

    curve: Curve
    linear: LinearEquations
    value: float

    @property
    def spectrum(self) -> Multipliers:
        """The multipliers."""
        linear = self.linear
        return multipliers(self.curve.task_at(self.value), linear.shot, linear.slopes)

    def directions(self, spectrum: Multipliers) -> np.ndarray:
        """Return the directions of the reduced map in sizes of the states, (n, q)."""
        return self.linear.shot.bases[0] @ spectrum.quotient

    def left(self) -> np.ndarray:
        """Return the rows of F in terms that do not depend on rotations of bases, (a, r)."""
        shot, matrix = self.linear.shot, self.linear.matrix
        states, pieces = len(self.curve.task.sizes), len(shot.bases)
        rest = len(matrix) - shot.count
        turned = np.zeros((pieces * states + rest, len(matrix)))
        for k, basis in enumerate((*shot.bases[1:], shot.bases[0])):
            turned[k * states : (k + 1) * states, shot.rows[k]] = basis
        turned[pieces * states :, shot.count :] = np.eye(rest)
        return turned


class Condition(ABC):
    """The condition for a special point.

    `kernel` is the number of directions along which F leaves the unknowns free, and `guess` a first
    guess for the further unknowns.
    """

    kernel: int = 1
    guess: np.ndarray = np.zeros(0)

    @abstractmethod
    def __call__(self, place: CurveEvaluation, more: np.ndarray) -> np.ndarray:
        """Return g, (kernel + len(more),)."""


class Folding(Condition):
    """The tangent t has no component along the axis: t_p = 0."""

    def __init__(self, reference: np.ndarray) -> None:
        self.reference = reference

    def __call__(self, place: CurveEvaluation, more: np.ndarray) -> np.ndarray:
        """Return the component of the tangent along the axis."""
        tangent = place.linear.embedding @ weakest_direction(place.linear.matrix)
        return np.array([tangent[-1] / float(self.reference @ tangent)])


class _Singular(Condition):
    """A condition on the reduced map M: M - mu is singular for a multiplier mu."""

    def __init__(self, place: CurveEvaluation, multiplier: complex) -> None:
        spectrum = place.spectrum
        left, right = _least(spectrum.reduced - multiplier * np.eye(len(spectrum.reduced)))
        directions = place.directions(spectrum)
        self.columns = directions @ left, directions @ right

    def bordered(self, place: CurveEvaluation, multiplier: complex) -> complex:
        """Return g of M - mu."""
        spectrum = place.spectrum
        directions = place.directions(spectrum)
        matrix = spectrum.reduced - multiplier * np.eye(len(spectrum.reduced))
        left, right = (directions.T @ column for column in self.columns)
        return complex(_border(matrix, left[:, None], right[:, None])[0, 0])


class Having(_Singular):
    """The reduced map has a given real multiplier."""

    def __init__(self, place: CurveEvaluation, multiplier: float) -> None:
        super().__init__(place, multiplier)
        self.multiplier = multiplier

    def __call__(self, place: CurveEvaluation, more: np.ndarray) -> np.ndarray:
        """Return g of M - mu."""
        return np.array([self.bordered(place, self.multiplier).real])


class OnCircle(_Singular):
    """The reduced map has the multiplier exp(i phi), with phi unknown; real and imaginary part."""

    def __init__(self, place: CurveEvaluation, value: complex) -> None:
        super().__init__(place, value)
        self.guess = np.array([np.angle(value)])

    def __call__(self, place: CurveEvaluation, more: np.ndarray) -> np.ndarray:
        """Return real and imaginary part of g of M - exp(i phi)."""
        found = self.bordered(place, np.exp(1j * more[0]))
        return np.array([found.real, found.imag])


class Inverse(Condition):
    """The product of two real multipliers is one."""

    def __call__(self, place: CurveEvaluation, more: np.ndarray) -> np.ndarray:
        """Return their product minus one."""
        return np.array([nearest_inverse(place.spectrum)])


def nearest_inverse(spectrum: Multipliers) -> float:
    """Return the product of two real multipliers that is nearest to one, minus one."""
    real = [value.real for value in spectrum.values if value.imag == 0.0]
    products = [one * other - 1.0 for k, one in enumerate(real) for other in real[:k]]
    return min(products, key=abs, default=np.nan)


class Crossing(Condition):
    """F leaves two directions free: two branches cross.

    During the iteration F need not be zero along its left singular vector, which keeps (F, g)
    regular; the caller must check that it is zero at the end.
    """

    kernel = 2

    def __init__(self, place: CurveEvaluation) -> None:
        found = singular_directions(place.linear.matrix)
        self.left = place.left() @ found.left[:, -1:]
        self.right = place.linear.embedding @ found.right[-2:].T

    def __call__(self, place: CurveEvaluation, more: np.ndarray) -> np.ndarray:
        """Return the two values g of the slopes of F."""
        left = place.left().T @ self.left
        right = place.linear.embedding.T @ self.right
        return np.real(_border(place.linear.matrix, left, right)).ravel()


def _least(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the singular vectors of the least singular value."""
    directions = singular_directions(matrix)
    return directions.left[:, -1], directions.right[-1].conj()


def _border(matrix: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return g of a bordered matrix, (columns of left, columns of right)."""
    rows, columns = matrix.shape
    more, least = left.shape[1], right.shape[1]
    left, right = left / np.linalg.norm(left, axis=0), right / np.linalg.norm(right, axis=0)
    whole = np.zeros((rows + least, columns + more), dtype=complex)
    whole[:rows, :columns], whole[:rows, columns:] = matrix, left
    whole[rows:, :columns] = right.conj().T
    given = np.vstack([np.zeros((rows, least)), np.eye(least)])
    return np.linalg.solve(whole, given)[columns:]


class _Newton:
    """Newton's method on (F, g), starting from a point."""

    def __init__(self, curve: Curve, start: CurvePoint, condition: Condition) -> None:
        self.curve, self.condition = curve, condition
        self.sequence = start.shot.sequence

    def place(self, guess: Guess, value: float) -> CurveEvaluation:
        """Evaluate the equations with the same events."""
        linear = self.curve.linear(guess, value)
        if linear.shot.sequence != self.sequence:
            raise NotPeriodicError("other events change the motion near a special point")
        return CurveEvaluation(self.curve, linear, value)

    def beside(
        self, guess: Guess, value: float, change: np.ndarray, more: np.ndarray
    ) -> np.ndarray:
        """Return g near a place."""
        return self.condition(self.place(*self.curve.moved(guess, value, change)), more)

    def step(self, guess: Guess, value: float, more: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the step of the unknowns and of the further unknowns."""
        place, count = self.place(guess, value), self.condition.kernel
        linear = place.linear
        directions = singular_directions(linear.matrix)
        left, values, right = directions.left, directions.values, directions.right
        rank = linear.matrix.shape[1] - count
        if not float(np.min(values[:rank], initial=np.inf)) > 0.0:
            raise NotPeriodicError("more directions are free here than the condition determines")
        missed = left[:, :rank].T @ linear.right
        across = linear.embedding @ (right[:rank].T @ (missed / values[:rank]))
        free = linear.embedding @ right[rank:].T
        here = self.condition(place, more)
        length = float(np.max(np.abs(across)))
        slopes: list[np.ndarray] = []
        if length > FINISHED:
            part = min(1.0, DIFFERENCE / length)
            there = self.beside(guess, value, part * across, more)
            remaining = here + (there - here) / part
        else:
            remaining = here
        for column in free.T:
            there = self.beside(guess, value, DIFFERENCE * column, more)
            slopes.append((there - here) / DIFFERENCE)
        for k in range(len(more)):
            aside = more + DIFFERENCE * np.eye(len(more))[k]
            behind = more - DIFFERENCE * np.eye(len(more))[k]
            difference = self.condition(place, aside) - self.condition(place, behind)
            slopes.append(difference / (2.0 * DIFFERENCE))
        along = np.linalg.solve(np.array(slopes).T, -remaining)
        return across + free @ along[:count], along[count:]


def solve_special(curve: Curve, start: CurvePoint, condition: Condition) -> Solution:
    """Find the special point near a point of a branch.

    Parameters
    ----------
    curve, start
        The branch, and the starting point.
    condition
        The condition at the special point.

    Raises
    ------
    NotPeriodicError
        Newton's method does not converge.
    """
    newton = _Newton(curve, start, condition)
    guess, value, more = start.guess, start.value, condition.guess
    steps: list[float] = []
    for _ in range(MOST_STEPS):
        try:
            change, further = newton.step(guess, value, more)
            guess, value = curve.moved(guess, value, change)
        except (DaesolveError, np.linalg.LinAlgError) as refusal:
            raise NotPeriodicError(f"the special point was not found: {refusal}") from refusal
        more = more + further
        length = float(np.max(np.abs(np.append(change, further))))
        if not length <= FARTHEST:
            break
        settled = bool(steps) and steps[-1] <= SETTLED and length > steps[-1] / 4.0
        steps.append(length)
        if length <= FINISHED or settled:
            linear = newton.place(guess, value).linear
            # Where two branches cross, F does not show which of them this is.
            crosses = condition.kernel > 1
            tangent = start.tangent if crosses else curve.tangent(linear, start.tangent)
            point = CurvePoint(value, linear.shot, linear.slopes, tangent, len(steps), length)
            return Solution(point, tuple(steps), more)
    raise NotPeriodicError("the special point was not found: Newton's method does not converge")

"""Gyroscopic systems with an odd number of small velocities: the oscillations that are not fast.

In A q'' + (1/eps) G q' + C q = 0 with a skew matrix G, fast rotation does not hold velocities along
the kernel of G. A skew matrix of odd order always has such a kernel. With its basis Z and its
complement N, N^T A Z = 0, the coordinates of q = N x + Z y fulfil

    Z^T A Z y'' + Z^T C (Z y + N x) = 0,
    N^T A N x'' + (1/eps) N^T G N x' + N^T C (N x + Z y) = 0,

The first equation has no gyroscopic force: y swings with frequencies of order one, called "pendulum
frequencies" by V. F. Zhuravlev and D. M. Klimov. The second has the regular matrix N^T G N of even
order: its nutation has frequencies of order 1/eps, its precession of order eps, and Dirac's
constraints involve only x.

Sources: A. V. Vlakhova, On "non-holonomic motions" of gyroscopic and wheeled systems, Vestnik
Moskovskogo Universiteta, Ser. 1, Mat. Mekh. (2013) no. 5, 67-73, end of section 2; V. F. Zhuravlev,
D. M. Klimov, Applied methods in the theory of oscillations, Moscow (1988, in Russian).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
import scipy

from daesolve.core.expressions.singular_values import singular_directions
from daesolve.core.posing.goals import Expression
from daesolve.core.posing.rewriting import Rewriting, substitution
from daesolve.core.posing.symbols import coordinates, velocity_name
from daesolve.core.system.system import MechanicalSystem
from daesolve.errors import OutOfRangeError, PosingError, SecondaryConstraintsError
from daesolve.nonholonomic.small_velocities import solvability_samples

KERNEL = 1e-9
"""Singular values below this share of the largest count as zero."""


@dataclass(frozen=True, eq=False)
class GyroscopicSeparation:
    """Coordinates that separate oscillations with pendulum frequencies.

    Parameters
    ----------
    transformation
        T = [N Z], (n, n): q = T (x, y).
    precessing
        The number of x, even.
    inertia, gyroscopic, stiffness
        T^T A T, T^T G T and T^T C T, (n, n).
    """

    transformation: np.ndarray
    precessing: int
    inertia: np.ndarray
    gyroscopic: np.ndarray
    stiffness: np.ndarray

    def nutation(self, eps: float) -> np.ndarray:
        """Return the frequencies of nutation to leading order, i (1/eps) G against A, rad/s."""
        k = self.precessing
        values = np.linalg.eigvals(np.linalg.solve(self.inertia[:k, :k], self.gyroscopic[:k, :k]))
        return np.sort(np.abs(np.imag(values)))[::2] / eps

    def pendulum(self) -> np.ndarray:
        """Return the squares of the pendulum frequencies to leading order, rad^2/s^2."""
        k = self.precessing
        return scipy.linalg.eigh(self.stiffness[k:, k:], self.inertia[k:, k:], eigvals_only=True)

    def precession(self, eps: float) -> np.ndarray:
        """Return the eigenvalues of the precession to leading order, (precessing,), 1/s.

        Pendulums are in their equilibrium, which changes with x.

        Raises
        ------
        SecondaryConstraintsError
            Nothing holds the pendulums at their equilibrium.
        """
        k, c = self.precessing, self.stiffness
        held = c[:k, :k]
        if k < len(c):
            if np.linalg.matrix_rank(c[k:, k:]) < len(c) - k:
                raise SecondaryConstraintsError(
                    "no stiffness holds the directions that fast rotation leaves free: there is "
                    "no precession apart from that motion"
                )
            held = held - c[:k, k:] @ np.linalg.solve(c[k:, k:], c[k:, :k])
        return np.linalg.eigvals(-eps * np.linalg.solve(self.gyroscopic[:k, :k], held))


def separate_gyroscopic(
    inertia: Any, gyroscopic: Any, stiffness: Any | None = None
) -> GyroscopicSeparation:
    """Separate the coordinates that fast rotation holds from the others.

    Parameters
    ----------
    inertia
        A, (n, n), symmetric and positive definite.
    gyroscopic
        G, (n, n), skew, as in A q'' + (1/eps) G q' + C q = 0.
    stiffness
        C, (n, n), symmetric; zero by default.

    Raises
    ------
    OutOfRangeError
        A matrix has the wrong shape or symmetry, or is not finite.

    Examples
    --------
    A rotor on three springs with its axis along z precesses across the axis and swings along it:

    >>> import numpy as np
    >>> from daesolve.nonholonomic import separate_gyroscopic
    >>> skew = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> found = separate_gyroscopic(np.eye(3), skew, np.diag([2.0, 3.0, 4.0]))
    >>> found.precessing, found.pendulum().tolist()
    (2, [4.0])
    >>> print(f"{abs(found.precession(0.01)[0].imag):.12f}")  # 0.01 sqrt(2 * 3)
    0.024494897428
    """
    a, g = _matrix("inertia", inertia), _matrix("gyroscopic", gyroscopic)
    c = np.zeros_like(a) if stiffness is None else _matrix("stiffness", stiffness)
    if not a.shape == g.shape == c.shape:
        raise OutOfRangeError(f"the matrices have the shapes {a.shape}, {g.shape} and {c.shape}")
    _check(a, "inertia", 1.0)
    _check(g, "gyroscopic matrix", -1.0)
    _check(c, "stiffness", 1.0)
    if float(np.min(np.linalg.eigvalsh(a))) <= 0.0:
        raise OutOfRangeError("the inertia is not positive definite")
    whole, count = _separating(a, g)
    return GyroscopicSeparation(
        whole, count, whole.T @ a @ whole, whole.T @ g @ whole, whole.T @ c @ whole
    )


@dataclass(frozen=True, eq=False)
class SeparatedSystem:
    """A system in coordinates that separate pendulum frequencies.

    Parameters
    ----------
    system
        The same motion in other coordinates.
    transformation
        T, (m, m): the coordinates of the small velocities are T times the new ones.
    old
        Names of the replaced coordinates.
    precessing, swinging
        Names of the new coordinates: those that fast rotation holds, and the others.
    """

    system: MechanicalSystem
    transformation: np.ndarray
    old: tuple[str, ...]
    precessing: tuple[str, ...]
    swinging: tuple[str, ...]

    @property
    def small(self) -> tuple[str, ...]:
        """The velocities to name in `small_velocities`."""
        return tuple(map(velocity_name, self.precessing))

    def start(self, state: Mapping[str, float]) -> dict[str, float]:
        """Return a state of the old system in the new coordinates."""
        inverse = np.linalg.inv(self.transformation)
        values = dict(state)
        for named in (str, velocity_name):
            old = np.array([values.pop(named(name), 0.0) for name in self.old])
            names = map(named, (*self.precessing, *self.swinging))
            values |= dict(zip(names, (inverse @ old).tolist(), strict=True))
        return values


def separate_small_velocities(
    system: MechanicalSystem,
    small: Iterable[str],
    *,
    parameters: Mapping[str, float] | None = None,
) -> SeparatedSystem:
    """Write a system in coordinates of which an even number have small velocities.

    Use it if `small_velocities` finds an odd number of velocities held only by gyroscopic forces.
    Velocities along the kernel of the gyroscopic matrix are not small: in the new coordinates they
    count among the large ones.

    Parameters
    ----------
    system, small, parameters
        As in `small_velocities`.

    Raises
    ------
    PosingError
        The system is of another kind, or has goals; or the matrix is regular; or its kernel changes
        with the state, so no linear change of coordinates separates it.
    UnknownNameError, OutOfRangeError
        As in `small_velocities`.

    Notes
    -----
    New coordinates are `precessing_1`, ... and `swinging_1`, ..., A-orthogonal in a sampled state.
    They have the unit of the old coordinates, which must all have the same unit.
    """
    names = tuple(small)
    samples = solvability_samples(system, names, parameters)
    if system.goals:
        raise PosingError(
            f"the goal {system.goals[0].name!r} is written in the old coordinates: separate the "
            "system without goals, and pose them in the new ones"
        )
    old = tuple(system.coordinates.names[system.v.names.index(name)] for name in names)
    units = {system.coordinates.units[system.coordinates.names.index(name)] for name in old}
    if len(units) > 1:
        raise PosingError(
            f"coordinates of small velocities have the units {', '.join(sorted(units))}: pose "
            "them in one unit, because new coordinates are their sums"
        )
    # At rest there may be no rotation, and in some states rotation does not hold anything.
    samples.sort(key=lambda pair: -float(np.linalg.norm(pair[1])))
    (inertia, matrix), *others = samples
    whole, count = _separating(inertia, matrix)
    if count == len(names):
        raise PosingError(
            f"fast rotation holds all of {', '.join(map(repr, names))}: use them directly as "
            "small velocities"
        )
    free = whole[:, count:]
    for _, other in others:
        size = np.linalg.norm(matrix)
        if max(np.linalg.norm(other @ free), np.linalg.norm(free.T @ other)) > KERNEL * size:
            raise PosingError(
                "velocities that fast rotation does not hold change their direction with the "
                "state: no linear change of coordinates separates them; use a coordinate that "
                "follows them"
            )
    return _rewritten(system, old, whole, count, units.pop())


def _rewritten(
    system: MechanicalSystem, old: tuple[str, ...], whole: np.ndarray, count: int, unit: str
) -> SeparatedSystem:
    """Return the system in new coordinates."""
    precessing = tuple(f"precessing_{k + 1}" for k in range(count))
    swinging = tuple(f"swinging_{k + 1}" for k in range(len(old) - count))
    own = system.coordinates
    kept = {n: u for n, u in zip(own.names, own.units, strict=True) if n not in old}
    new = coordinates(**kept, **dict.fromkeys((*precessing, *swinging), unit))
    matrix = np.zeros((len(own), len(new)))
    for place, name in enumerate(own.names):
        if name in kept:
            matrix[place, new.names.index(name)] = 1.0
        else:
            for entry, other in zip(whole[old.index(name)], (*precessing, *swinging), strict=True):
                matrix[place, new.names.index(other)] = entry
    symbols = ca.vertcat(own.vector, own.dot.vector)
    meanings = ca.vertcat(ca.DM(matrix) @ new.vector, ca.DM(matrix) @ new.dot.vector)
    write = Rewriting(substitution(symbols, meanings))
    carried: dict[str, Expression] = {
        name: write(getattr(system, name))
        for name in ("kinetic", "potential", "integrands", "outputs", "events", "drives", "peaks")
    }
    moved = replace(
        system, coordinates=new, force=ca.DM(matrix.T) @ write(system.applied_force), **carried
    )
    return SeparatedSystem(moved, whole, old, precessing, swinging)


def _separating(inertia: np.ndarray, gyroscopic: np.ndarray) -> tuple[np.ndarray, int]:
    """Return [N Z] and the number of columns of N."""
    directions = singular_directions(gyroscopic)
    count = directions.rank(KERNEL * max(directions.values[0], np.finfo(float).tiny))
    free = directions.right[count:].T
    if not count or not free.size:
        return np.eye(len(inertia)), count
    # The complement is orthogonal in the metric of the inertia, so no coupling remains.
    across = singular_directions((inertia @ free).T).right
    return np.hstack([across[free.shape[1] :].T, free]), count


def _matrix(what: str, given: Any) -> np.ndarray:
    try:
        matrix = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise OutOfRangeError(f"the {what} matrix is not a matrix of numbers") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise OutOfRangeError(f"the {what} matrix has the shape {matrix.shape}, and is not square")
    if not np.all(np.isfinite(matrix)):
        raise OutOfRangeError(f"the {what} matrix is not finite")
    return matrix


def _check(matrix: np.ndarray, what: str, sign: float) -> None:
    off = float(np.max(np.abs(matrix - sign * matrix.T)))
    if off > KERNEL * float(np.max(np.abs(matrix))):
        raise OutOfRangeError(f"the {what} is not {'symmetric' if sign > 0 else 'skew'}")

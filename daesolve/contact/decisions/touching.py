"""Touching contacts at an instant: the response of gaps and slips to all reactions together.

With the rows W of gaps and slips, eliminating M v' = h + W^T r and Phi v' + c = 0 gives

    rates = A r + free,     A = W P W^T,     P = M^-1 - M^-1 Phi^T (Phi M^-1 Phi^T)^+ Phi M^-1.

If the reactions of these other constraints rub, they act along B instead of Phi^T, and

    P = M^-1 - M^-1 B (Phi M^-1 B)^-1 Phi M^-1

and A are not symmetric: the gap may even give way to its own reaction.

The rows contain first the normals of all contacts, then their tangents, contact by contact: one
tangent each in the plane, two at right angles in space. Rates and reactions are accelerations and
forces in the smooth motion, velocities and impulses in an impact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from daesolve.contact.complementarity.horizontal import finite_numbers
from daesolve.core.expressions.singular_values import singular_directions
from daesolve.errors import OutOfRangeError, PosingError

IMMOBILE = 1e-30
"""The response of a slip to its own reaction that is rounding, over that of the gap."""
ROUNDED = 1e-15
"""The rate of such a slip that is rounding, over the largest rate."""
TOLERANCE = 1e-10
"""The accepted violation of a condition, relative to its terms."""
SYMMETRIC = 1e-9
"""The asymmetry of A that is rounding, relative to the geometric mean of its diagonal entries."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """Touching contacts at an instant.

    Attributes
    ----------
    matrix
        A, the response of gaps and slips to the reactions: (k, k), 1/kg, k = 2 n in the plane and
        3 n in space. It is symmetric unless reactions of other constraints rub.
    friction
        Coefficients mu of sliding friction: (n,).
    static_friction
        Coefficients of static friction, at least as large: (n,). None: the same.
    directions
        The number of tangents of a contact: 1 in the plane, 2 in space.
    names
        Names of the contacts; "1", "2", ... by default.

    Raises
    ------
    PosingError
        Shapes disagree, or the diagonal entry of a normal is zero, or negative in a symmetric A.
    OutOfRangeError
        A number is not finite, or a coefficient is out of range.
    """

    matrix: np.ndarray
    friction: np.ndarray
    static_friction: np.ndarray | None = None
    directions: int = 1
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        friction = finite_numbers("the coefficients of friction", self.friction)
        count, names = friction.size, tuple(self.names)
        names = names or tuple(str(contact + 1) for contact in range(count))
        if friction.ndim != 1 or not count or len(names) != count or len(set(names)) != count:
            raise PosingError(
                "contacts need at least one contact, a coefficient of friction each, and "
                f"different names: there are {friction.shape} coefficients and the names "
                f"{names}"
            )
        if self.directions not in (1, 2):
            raise PosingError(
                f"a contact must have 1 tangent in the plane or 2 in space, not {self.directions}"
            )
        matrix = finite_numbers("the response to the reactions", self.matrix)
        size = count * (1 + self.directions)
        if matrix.shape != (size, size):
            raise PosingError(
                f"the response of {count} contacts with {self.directions} tangents each must have "
                f"the shape {(size, size)}, not {matrix.shape}"
            )
        least = 0.0 if _is_symmetric(matrix) else -np.inf
        own = np.diag(matrix)[:count]
        stuck = np.flatnonzero((own == 0.0) | (own < least))
        if stuck.size:
            raise PosingError(
                f"the gap of the contact {names[stuck[0]]!r} does not respond to its reaction"
            )
        static = friction
        if self.static_friction is not None:
            static = finite_numbers("the coefficients of static friction", self.static_friction)
        if static.shape != friction.shape or np.any(static < friction) or np.any(friction < 0.0):
            raise OutOfRangeError(
                "coefficients of friction must be >= 0, and static ones at least as large: they "
                f"are {friction} and {static}"
            )
        frozen = {"matrix": matrix, "friction": friction, "static_friction": static}
        for name, value in frozen.items():
            object.__setattr__(self, name, _frozen(value))
        object.__setattr__(self, "names", names)

    @classmethod
    def of_rows(
        cls,
        mass: ArrayLike,
        normal: ArrayLike,
        tangent: ArrayLike,
        friction: ArrayLike,
        static_friction: ArrayLike | None = None,
        bilateral: ArrayLike | None = None,
        names: Sequence[str] = (),
    ) -> Contacts:
        """Return contacts from given rows.

        Parameters
        ----------
        mass
            M (nv, nv), symmetric and positive definite.
        normal, tangent
            Gradients of the rates of the gaps (n, nv), and of the slips (n, nv) or, in space, (2 n,
            nv), contact by contact.
        friction, static_friction, names
            As for the class.
        bilateral
            Rows Phi (m, nv) of the permanent constraints; they may depend on each other.

        Raises
        ------
        PosingError, OutOfRangeError
            As for the class.
        """
        rows = np.vstack([np.atleast_2d(normal), np.atleast_2d(tangent)]).astype(float)
        count = np.atleast_2d(normal).shape[0]
        return cls(
            matrix=without_asymmetry(rows @ inverse_mass(mass, bilateral) @ rows.T),
            friction=np.broadcast_to(np.asarray(friction, dtype=float), (count,)),
            static_friction=None
            if static_friction is None
            else np.broadcast_to(np.asarray(static_friction, dtype=float), (count,)),
            directions=np.atleast_2d(tangent).shape[0] // count,
            names=tuple(names),
        )

    @property
    def count(self) -> int:
        """Number of contacts n."""
        return self.friction.size

    @property
    def static(self) -> np.ndarray:
        """The coefficients of sticking (n,)."""
        assert self.static_friction is not None
        return self.static_friction

    def tangents(self, contact: int) -> slice:
        """Return the rows of the tangents of a contact."""
        first = self.count + contact * self.directions
        return slice(first, first + self.directions)

    def rows(self, which: ArrayLike) -> np.ndarray:
        """Return the indices of the rows of some contacts, given by their indices."""
        chosen = np.asarray(which, dtype=int)
        steps = np.arange(self.directions)
        tangents = self.count + chosen[:, None] * self.directions + steps
        return np.concatenate([chosen, tangents.ravel()])

    def some(self, which: ArrayLike) -> Contacts:
        """Return only some contacts, given by their indices."""
        chosen = np.asarray(which, dtype=int)
        rows = self.rows(chosen)
        return Contacts(
            self.matrix[np.ix_(rows, rows)],
            self.friction[chosen],
            self.static[chosen],
            self.directions,
            tuple(self.names[int(contact)] for contact in np.ravel(chosen)),
        )

    def vector(self, what: str, given: ArrayLike) -> np.ndarray:
        """Return one number per row, after checking.

        Raises
        ------
        PosingError, OutOfRangeError
            The shape is not (k,), or a number is not finite.
        """
        numbers = finite_numbers(what, given)
        if numbers.shape != (len(self.matrix),):
            raise PosingError(
                f"{what}: the shape is {numbers.shape}, {self.count} contacts with "
                f"{self.directions} tangents each need {(len(self.matrix),)}"
            )
        return numbers


def inverse_mass(mass: ArrayLike, bilateral: ArrayLike | None = None) -> np.ndarray:
    """Return M^-1 on the motions that permanent constraints leave free: (nv, nv), 1/kg.

    Parameters
    ----------
    mass, bilateral
        As in `Contacts.of_rows`.

    Raises
    ------
    PosingError
        The mass matrix is not positive definite.
    """
    try:
        factor = np.linalg.cholesky(finite_numbers("the mass matrix", mass))
    except np.linalg.LinAlgError:
        raise PosingError("the mass matrix is not positive definite") from None
    whitening = np.linalg.inv(factor)
    if bilateral is None or not np.size(bilateral):
        return whitening.T @ whitening
    held = np.atleast_2d(finite_numbers("the constraints", bilateral)) @ whitening.T
    lengths = np.linalg.norm(held, axis=1)
    held = held / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    found = singular_directions(held, whole=False)
    basis = found.right[found.values > DEPENDENT]
    free = whitening - basis.T @ (basis @ whitening)
    return free.T @ free


DEPENDENT = 1e-10
"""Constraints are independent if their smallest singular value, for unit rows, exceeds this."""


@dataclass(frozen=True, eq=False)
class ScaledProblem:
    """Contacts with their rates without reactions, in their own units.

    Each contact has one unit for its reactions, which keeps its cone unchanged: the gap's response
    to its own reaction is one, or minus one. All share one unit for rates: the largest rate
    without reactions is one.

    Attributes
    ----------
    contacts
        Contacts with the scaled matrix.
    free
        Scaled rates without reactions: (k,).
    least
        Lower bounds of scaled normal reactions: (n,), zero except in the expansion of an impact.
    reactions, rates
        Units: (k,) each.
    sliding
        Unit vectors in which contacts slide, zero at rest: (n, directions).
    springs
        Whether undetermined loads are those of equal springs under all contacts.
    tolerance
        The accepted violation of a condition, relative to its terms.
    """

    contacts: Contacts
    free: np.ndarray
    least: np.ndarray
    reactions: np.ndarray
    rates: np.ndarray
    sliding: np.ndarray
    springs: bool
    tolerance: float

    @property
    def known(self) -> np.ndarray:
        """Which contacts slide, in given directions: (n,)."""
        return np.asarray(self.sliding.any(axis=1))


def scaled_problem(
    contacts: Contacts,
    free: np.ndarray,
    least: np.ndarray | None = None,
    sliding: np.ndarray | None = None,
    *,
    springs: bool = False,
    tolerance: float = TOLERANCE,
) -> ScaledProblem:
    """Return the problem in its own units; `least` (n,) in the unit of reactions.

    All contacts are at rest unless the directions are given in which they slide.
    """
    count = contacts.count
    units = 1.0 / np.sqrt(np.abs(np.diag(contacts.matrix)[:count]))
    each = np.concatenate([units, np.repeat(units, contacts.directions)])
    own_least = np.zeros(count) if least is None else least / units
    own_free = each * free
    size = max(float(np.max(np.abs(own_free))), float(np.max(own_least))) or 1.0
    own_free, matrix = own_free / size, contacts.matrix * np.outer(each, each)
    # Joints may leave a body no way to slip in a direction: what is left of its row is rounding,
    # and without a reaction as large as you like it would never be at rest.
    immobile = np.abs(np.diag(matrix)) <= IMMOBILE
    matrix[immobile], matrix[:, immobile] = 0.0, 0.0
    own_free[immobile & (np.abs(own_free) <= ROUNDED)] = 0.0
    return ScaledProblem(
        replace(contacts, matrix=matrix),
        own_free,
        own_least / size,
        reactions=each * size,
        rates=size / each,
        sliding=np.zeros((count, contacts.directions)) if sliding is None else sliding,
        springs=springs,
        tolerance=tolerance,
    )


def without_asymmetry(matrix: np.ndarray) -> np.ndarray:
    """Return A without an asymmetry that is rounding."""
    return (matrix + matrix.T) / 2.0 if _is_symmetric(matrix) else matrix


def _is_symmetric(matrix: np.ndarray) -> bool:
    lengths = np.sqrt(np.abs(np.diag(matrix)))
    return bool(np.all(np.abs(matrix - matrix.T) <= SYMMETRIC * np.outer(lengths, lengths)))


def _frozen(numbers: np.ndarray) -> np.ndarray:
    numbers.flags.writeable = False
    return numbers

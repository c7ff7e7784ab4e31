"""The velocities that constraints leave: those that a problem names, or some that are chosen.

    J v + b = 0,  W v + c = w   =>   v = Z w + z

J and b are the constraints on velocities (holonomic ones differentiated), w the pseudo-velocities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.algebra.identity import vanishes
from daesolve.algebra.linear import entries_of
from daesolve.algebra.linearity import is_linear
from daesolve.algebra.reading import solved
from daesolve.algebra.singular_values import independent_rows
from daesolve.equations.dynamics import Dynamics
from daesolve.posing.symbols import symbol

INDEPENDENT = 1e-9
"""Rows are independent where the singular value that each brings, of unit length, exceeds it."""

Written = Callable[[ca.SX], ca.SX]
"""Puts the numbers of the mode into an expression."""


@dataclass(frozen=True, eq=False)
class PseudoVelocities:
    """Pseudo-velocities w, and all velocities by them.

    Parameters
    ----------
    names
        Of w.
    w
        Their symbols, (K, 1); where one is a velocity of the system, its own symbol.
    meanings
        W v + c, (K, 1).
    basis, drift
        Z, (nv, K), and z, (nv, 1).
    loads
        Y, (nv, m), with J Y = 1 and W Y = 0: it gives the reactions, Y^T (M v' - h).
    """

    names: tuple[str, ...]
    w: ca.SX
    meanings: ca.SX
    basis: ca.SX
    drift: ca.SX
    loads: ca.SX

    @property
    def velocities(self) -> ca.SX:
        """v, (nv, 1)."""
        return self.basis @ self.w + self.drift

    @property
    def own(self) -> tuple[bool, ...]:
        """For each whether it is a velocity of the system."""
        pairs = zip(ca.vertsplit(self.w), ca.vertsplit(self.meanings), strict=True)
        return tuple(ca.is_equal(one, meaning) for one, meaning in pairs)


def pseudo_velocities(
    dynamics: Dynamics, written: Written, numbers: np.ndarray
) -> PseudoVelocities | None:
    """Return pseudo-velocities of a system; None where it has none that can be written down.

    Parameters
    ----------
    dynamics
        The equations, without goals that are let go of.
    written
        Puts the numbers of the mode into expressions.
    numbers
        p.

    Notes
    -----
    The problem's own are taken where it names them. Else constraints are solved for velocities
    whose factors depend on no position, such as the rates of wheels; of a constraint that is left,
    a speed along what it allows takes the place of two velocities where their factors are a cosine
    and a sine. Holonomic constraints are solved in no other way.
    """
    v = dynamics.velocities
    rows = [written(row.chain[-1]) for row in dynamics.rows]
    stacked = ca.vertcat(ca.SX(0, 1), *rows)
    if any(not is_linear(row, v) for row in rows):
        return None
    still = ca.SX.zeros(v.numel())
    jacobian = ca.SX(ca.sparsify(ca.jacobian(stacked, v)))
    bias = ca.substitute(stacked, v, still)
    if not _independent(dynamics, jacobian, numbers):
        return None
    named = dynamics.independent
    if named:
        names, meanings = tuple(named), ca.vertcat(*[written(m) for m in named.values()])
    else:
        chosen = _chosen(dynamics, jacobian, numbers)
        if chosen is None:
            return None
        names, meanings = chosen
    if len(names) + len(rows) != v.numel():
        return None
    weights = ca.SX(ca.sparsify(ca.jacobian(meanings, v)))
    whole = ca.vertcat(jacobian, weights)
    if not _independent(dynamics, whole, numbers):
        return None
    count, free = len(names), len(rows)
    positions = dynamics.x[: dynamics.position_count, :]
    right = ca.horzcat(ca.SX.eye(v.numel()), ca.vertcat(-bias, -ca.substitute(meanings, v, still)))
    inverse = solved(whole, right, positions)
    symbols, labels = _symbols(dynamics, names, meanings)
    return PseudoVelocities(
        labels,
        symbols,
        meanings,
        inverse[:, free : free + count],
        inverse[:, free + count :],
        inverse[:, :free],
    )


def _symbols(
    dynamics: Dynamics, names: Sequence[str], meanings: ca.SX
) -> tuple[ca.SX, tuple[str, ...]]:
    """Return symbols of pseudo-velocities: of those that are velocities themselves, these."""
    own = {entry.name(): entry for entry in ca.vertsplit(dynamics.velocities)}
    found: list[ca.SX] = []
    for name, meaning in zip(names, ca.vertsplit(meanings), strict=True):
        itself = meaning.is_symbolic() and meaning.name() in own
        found.append(ca.SX(meaning) if itself else symbol(name))
    return ca.vertcat(ca.SX(0, 1), *found), tuple(entry.name() for entry in found)


def _chosen(
    dynamics: Dynamics, jacobian: ca.SX, p: np.ndarray
) -> tuple[tuple[str, ...], ca.SX] | None:
    """Choose pseudo-velocities: names and meanings; None where there is no good choice."""
    v = dynamics.velocities
    count = v.numel()
    positions = dynamics.x[: dynamics.position_count, :]
    dependent = _solved_for(dynamics, jacobian, p)
    rest = jacobian.shape[0] - len(dependent)
    free = [j for j in range(count) if j not in dependent]
    if not rest:
        return tuple(v[j].name() for j in free), v[free]
    if any(row.degree != 1 for row in dynamics.rows):
        return None
    speeds: dict[int, ca.SX] = {}
    used: set[int] = set()
    for i in range(jacobian.shape[0]):
        touched = [j for j in range(count) if not ca.SX(jacobian[i, j]).is_zero()]
        turned = [j for j in touched if ca.depends_on(jacobian[i, j], positions)]
        if (
            rest
            and len(turned) == 2
            and not used.intersection(touched)
            and not set(turned).intersection(dependent)
        ):
            one, other = turned
            a, b = jacobian[i, one], jacobian[i, other]
            if vanishes(ca.gradient(ca.SX(a**2 + b**2), positions)):
                speeds[one] = b * v[one] - a * v[other]
                used |= set(turned)
                rest -= 1
    if rest:
        return None
    kept = [j for j in free if j not in used]
    names = [f"speed_{k}" if len(speeds) > 1 else "speed" for k in range(1, len(speeds) + 1)]
    meanings = ca.vertcat(*speeds.values(), v[kept])
    return (*names, *(v[j].name() for j in kept)), meanings


def _solved_for(dynamics: Dynamics, jacobian: ca.SX, p: np.ndarray) -> list[int]:
    """Return velocities for which constraints are solved, whose factors depend on no position.

    First, from the last to the first, those that stand in one constraint alone, beside those that
    are solved already.
    """
    positions = dynamics.x[: dynamics.position_count, :]
    entries = entries_of(jacobian.T)
    left, found = set(range(jacobian.shape[0])), list[int]()
    again = True
    while again:
        again = False
        for j in sorted(entries, reverse=True):
            own = [i for i in entries[j] if i in left]
            if j in found or len(own) != 1 or ca.depends_on(entries[j][own[0]], positions):
                continue
            left.discard(own[0])
            found.append(j)
            again = True
    plain = [
        j
        for j in sorted(entries, reverse=True)
        if j not in found and not ca.depends_on(jacobian[:, j], positions)
    ]
    numbers = _somewhere(dynamics, jacobian[sorted(left), :], p)
    if plain and left:
        found += [plain[k] for k in independent_rows(numbers[:, plain].T, INDEPENDENT)]
    return found


def _independent(dynamics: Dynamics, matrix: ca.SX, p: np.ndarray) -> bool:
    """Tell whether the rows of a matrix are independent at a random state."""
    if not matrix.shape[0]:
        return True
    numbers = _somewhere(dynamics, matrix, p)
    return len(independent_rows(numbers, INDEPENDENT)) == matrix.shape[0]


def _somewhere(dynamics: Dynamics, matrix: ca.SX, p: np.ndarray) -> np.ndarray:
    """Evaluate a matrix at a random state."""
    function = ca.Function("matrix", [dynamics.t, dynamics.x, dynamics.p], [ca.densify(matrix)])
    state = np.random.default_rng(24).uniform(0.5, 1.5, size=dynamics.x.numel())
    return np.nan_to_num(np.asarray(function(0.3, state, p)).reshape(matrix.shape))

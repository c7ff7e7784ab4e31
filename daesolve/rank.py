"""Which constraints are independent, and which invariants are conserved, at sample states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.consistency import instantaneous
from daesolve.dynamics import Dynamics, InvariantRow
from daesolve.errors import NoFreedomError, NoInfluenceError, PosingError
from daesolve.translation import function_of

RANK_TOLERANCE = 1e-9
"""A singular value of the scaled constraint matrix below this counts as zero."""
POWER_TOLERANCE = 1e-9
"""Relative power below which an invariant counts as conserved."""
SLOWEST = 1e-3
"""The least rate (1/s) at which an invariant's terms count as changing: less is rounding."""

Samples = Sequence[tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Rank:
    """What the constraints are worth.

    Parameters
    ----------
    redundant
        Groups of goals that depend on each other at every sample, each group with the goals that
        could be dropped last.
    degenerate_at_start
        Goals that depend on each other at the first sample though not everywhere.
    at_start
        The rank at the first sample.
    smallest
        The smallest singular value of the scaled constraint matrix at each sample.
    """

    redundant: tuple[str, ...]
    droppable: tuple[str, ...]
    degenerate_at_start: tuple[str, ...]
    at_start: int
    smallest: tuple[float, ...]


def _scaled_constraints(parts: dict[str, np.ndarray]) -> np.ndarray:
    """J M^-1/2 with rows of unit length."""
    factor = np.linalg.cholesky(parts["mass"])
    rows = np.linalg.solve(factor, parts["jacobian"].T).T
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def _influence(parts: dict[str, np.ndarray]) -> np.ndarray:
    """[J M^-1 B; D]: what each reaction does to each goal and relation."""
    caused = np.linalg.solve(parts["mass"], parts["influence"])
    return np.vstack([parts["jacobian"] @ caused, parts["ties"]])


def _unit_length(matrix: np.ndarray, *axes: int) -> np.ndarray:
    """Scale columns (axis 0) and rows (axis 1) to unit length, one after the other."""
    for axis in axes:
        lengths = np.linalg.norm(matrix, axis=axis, keepdims=True)
        matrix = matrix / np.where(lengths > 0, lengths, 1.0)
    return matrix


@dataclass(frozen=True, eq=False)
class Decoupling:
    """The decoupling matrix at a state: what the reactions do to the goals.

    Parameters
    ----------
    goals
        Constraints, implicit equations, relations: its rows.
    dependent
        The goals that take part in dependences.
    rank, singular_values
        Of the matrix with rows and columns of unit length.
    condition
        With columns of unit length alone: it grows where the influence on a goal vanishes.
    """

    goals: tuple[str, ...]
    dependent: tuple[str, ...]
    rank: int
    singular_values: np.ndarray
    condition: float


def decoupling(dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray) -> Decoupling:
    """Examine the decoupling matrix at a state.

    An implicit unknown is its own control: its equation counts with dg/ds.
    """
    unknowns = dynamics.x[dynamics.position_count - len(dynamics.implicit_rows) :]
    unknowns = unknowns[: len(dynamics.implicit_rows)]
    equations = ca.vertcat(ca.SX(0, 1), *[row.residual for row in dynamics.implicit_rows])
    tracking = ca.Function(
        "tracking", [dynamics.t, dynamics.x, dynamics.p], [ca.jacobian(equations, unknowns)]
    )
    acting, own = _influence(dynamics.matrices(t, x, p)), np.asarray(ca.DM(tracking(t, x, p)))
    matrix = np.zeros(np.add(acting.shape, own.shape))
    matrix[: len(acting), : acting.shape[1]] = acting
    matrix[len(acting) :, acting.shape[1] :] = own
    goals = [row.name for row in (*dynamics.rows, *dynamics.relations, *dynamics.implicit_rows)]
    # What is not finite, at rest for instance, counts as no influence.
    matrix = np.nan_to_num(matrix, posinf=0.0, neginf=0.0)
    scaled = _unit_length(matrix, 0, 1, 0)
    rank, dependent, _ = _dependent(scaled)
    regular = 0 < len(goals) == rank
    return Decoupling(
        tuple(goals),
        tuple(goals[i] for i in dependent),
        rank,
        np.linalg.svd(scaled, compute_uv=False) if goals else np.zeros(0),
        float(np.linalg.cond(_unit_length(matrix, 0))) if regular else np.inf,
    )


def _dependent(matrix: np.ndarray) -> tuple[int, np.ndarray, float]:
    """Return the rank, the rows that take part in dependences, and the smallest singular value."""
    if not matrix.size:
        return 0, np.zeros(0, dtype=int), np.inf
    left, singular, _ = np.linalg.svd(matrix)
    full = np.zeros(matrix.shape[0])
    full[: len(singular)] = singular
    null = left[:, full < RANK_TOLERANCE]
    taking_part = np.any(np.abs(null) > 1e-6, axis=1)
    return int(np.sum(full >= RANK_TOLERANCE)), np.flatnonzero(taking_part), float(full.min())


def check_mass(dynamics: Dynamics, samples: Samples, values: np.ndarray) -> None:
    """Refuse a mass matrix that is not positive definite.

    Raises
    ------
    PosingError
        The velocities without inertia are named.
    """
    names = dynamics.labels.states[dynamics.position_count :]
    for t, x in samples:
        mass = dynamics.matrices(t, x, values)["mass"]
        diagonal = np.abs(np.diag(mass))
        units = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        scaled = units[:, None] * (0.5 * (mass + mass.T)) * units
        sizes, directions = np.linalg.eigh(scaled)
        if sizes[0] <= 1e-14 * max(sizes[-1], 1e-300):
            weak = directions[:, 0]
            missing = [n for n, w in zip(names, weak, strict=True) if abs(w) > 1e-6]
            raise PosingError(
                f"the mass matrix is not positive definite: {', '.join(map(repr, missing))} "
                "carry no inertia; give them some, or make them implicit unknowns"
            )


def constraint_rank(dynamics: Dynamics, samples: Samples, values: np.ndarray) -> Rank:
    """Examine the constraints at sample states.

    Raises
    ------
    NoInfluenceError
        No reaction influences a goal, at any sample.
    NoFreedomError
        The constraints leave no motion.
    """
    names = [row.name for row in dynamics.rows]
    if not names:
        return Rank((), (), (), 0, ())
    parts = [dynamics.matrices(t, x, values) for t, x in samples]
    matrices = [_scaled_constraints(part) for part in parts]
    for index, name in enumerate(names):
        if all(np.linalg.norm(matrix[index]) == 0.0 for matrix in matrices):
            raise NoInfluenceError(f"no reaction influences the goal {name!r}")
    found = [_dependent(matrix) for matrix in matrices]
    ranks = [rank for rank, _, _ in found]
    mechanical = dynamics.rows[0].kind != "control"
    kept = sum(row.from_start for row in dynamics.rows)
    if mechanical and max(ranks) - kept >= dynamics.velocity_count:
        raise NoFreedomError(
            f"no freedom left: {max(ranks)} independent constraints on "
            f"{dynamics.velocity_count} velocities; leave out one of {', '.join(names)}"
        )
    redundant: tuple[str, ...] = ()
    droppable: tuple[str, ...] = ()
    if max(ranks) < len(names):
        best = int(np.argmax(ranks))
        redundant = tuple(names[i] for i in found[best][1])
        droppable = _droppable(matrices[best], names)
    else:
        _check_influence(dynamics, parts, names)
    degenerate = ()
    if ranks[0] < max(ranks):
        degenerate = tuple(names[i] for i in found[0][1])
    smallest = tuple(value for _, _, value in found)
    return Rank(redundant, droppable, degenerate, ranks[0], smallest)


def _droppable(matrix: np.ndarray, names: list[str]) -> tuple[str, ...]:
    """Keep goals in their order as long as each adds to the rank; return the others."""
    kept: list[int] = []
    dropped: list[str] = []
    for index, name in enumerate(names):
        if _dependent(matrix[[*kept, index]])[0] > len(kept):
            kept.append(index)
        else:
            dropped.append(name)
    return tuple(dropped)


def _check_influence(
    dynamics: Dynamics, parts: list[dict[str, np.ndarray]], names: list[str]
) -> None:
    goals = names + [row.name for row in dynamics.relations]
    found = [_dependent(_unit_length(_influence(part), 0, 1, 0)) for part in parts]
    if all(rank < len(goals) for rank, _, _ in found):
        missed = ", ".join(repr(goals[i]) for i in found[0][1])
        raise NoInfluenceError(
            f"the reactions cannot influence the goals {missed} independently; direct them "
            "otherwise in force="
        )


def relative_power(
    dynamics: Dynamics, row: InvariantRow, samples: Samples, values: np.ndarray
) -> float:
    """Return the largest rate of an invariant at the samples, relative to the rate's terms."""
    gradient = function_of(
        "gradient",
        [dynamics.t, dynamics.x, dynamics.p],
        [ca.jacobian(row.value, dynamics.x), ca.jtimes(row.value, dynamics.t, ca.SX(1))],
        (["t", "x", "p"], ["by_state", "by_time"]),
    )
    rates: list[float] = []
    sizes: list[float] = []
    for t, x in samples:
        accelerations, _ = instantaneous(dynamics, t, x, values)
        positions = dynamics.matrices(t, x, values)["position_rates"].ravel()
        moving = np.concatenate([positions, accelerations])
        by_state, by_time = (np.asarray(part).ravel() for part in gradient(t, x, values))
        rates.append(abs(float(by_state @ moving + by_time[0])))
        size = float(np.abs(by_state) @ np.abs(moving) + abs(by_time[0]))
        sizes.append(max(size, SLOWEST * float(np.abs(by_state) @ np.abs(x))))
    largest = max(sizes, default=0.0)
    return max(rates, default=0.0) / largest if largest > 0 else 0.0

"""Which constraints are independent, and which reactions are undetermined.

All results hold at sample states. Dependent constraints leave some reactions undetermined; the
module finds these, their effect on the motion, and their shares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.equations.conservation import SLOWEST
from daesolve.core.equations.consistency import list_residuals, smallest_residuals
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.projection import Projection, levels, metrics
from daesolve.core.equations.scaled_rows import RANK_TOLERANCE, scaled_constraints
from daesolve.core.expressions.singular_values import (
    independent_rows,
    null_space,
    shortest_solution,
    singular_directions,
    singular_values,
    unit_length,
)
from daesolve.core.expressions.term_sizes import term_sizes
from daesolve.errors import (
    ContradictoryGoalsError,
    NoInfluenceError,
    OutOfRangeError,
    PosingError,
    RedundantConstraintsError,
    check_names,
    check_positive,
)

DISAGREEMENT = 1e-6
"""The tolerance, relative to the accelerations of the freed system, within which dependent
constraints agree."""
LATER = (0.37, 0.74)
"""The times after the first sample, s, at which moving dependent constraints are tested again."""

Samples = Sequence[tuple[float, np.ndarray]]
WIDEST_WEIGHTS = 1e2
"""The ratio of redundant weights up to which the proximal iteration converges to rounding."""
SHARE = 1e-6
"""The share in a combination, of unit length, from which a row or a reaction takes part in it."""
MOVED = 1e-6
"""The part of undetermined reactions' accelerations that must remain for them to cause motion."""


@dataclass(frozen=True)
class Rank:
    """The rank of the constraints.

    Parameters
    ----------
    groups
        The goals that depend on each other at every sample, in independent groups: goals of
        different groups do not depend on each other.
    droppable
        The goals without which the others are independent: the last of each dependence.
    degenerate_at_start
        Goals that depend on each other at the first sample but not everywhere.
    at_start
        The rank at the first sample.
    smallest
        The smallest singular value of the scaled constraint matrix at each sample.
    """

    groups: tuple[tuple[str, ...], ...]
    droppable: tuple[str, ...]
    degenerate_at_start: tuple[str, ...]
    at_start: int
    smallest: tuple[float, ...]

    @property
    def redundant(self) -> tuple[str, ...]:
        """The goals of all groups."""
        return tuple(name for group in self.groups for name in group)


def influence(parts: Mapping[str, np.ndarray]) -> np.ndarray:
    """[J M^-1 B; D]: the influence of each reaction on each goal and relation."""
    caused = np.linalg.solve(parts["mass"], parts["influence"])
    return np.vstack([parts["jacobian"] @ caused, parts["ties"]])


@dataclass(frozen=True, eq=False)
class Decoupling:
    """The decoupling matrix at a state: the influence of the reactions on the goals.

    Parameters
    ----------
    goals
        Constraints, implicit equations, relations: its rows.
    dependent
        The goals that take part in dependences.
    rank, singular_values
        The rank and singular values of the matrix with rows and columns scaled to unit length.
    condition
        The condition number with only columns scaled to unit length; it grows where the influence
        on a goal vanishes.
    """

    goals: tuple[str, ...]
    dependent: tuple[str, ...]
    rank: int
    singular_values: np.ndarray
    condition: float


def decoupling(dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray) -> Decoupling:
    """Examine the decoupling matrix at a state.

    An implicit unknown acts as its own control: its equation contributes dg/ds.
    """
    unknowns = dynamics.x[dynamics.position_count - len(dynamics.implicit_rows) :]
    unknowns = unknowns[: len(dynamics.implicit_rows)]
    equations = ca.vertcat(ca.SX(0, 1), *[row.residual for row in dynamics.implicit_rows])
    tracking = dynamics.arrays("tracking", ca.jacobian(equations, unknowns))
    acting, (own,) = influence(dynamics.matrices(t, x, p)), tracking(t, x, p)
    matrix = np.zeros(np.add(acting.shape, own.shape))
    matrix[: len(acting), : acting.shape[1]] = acting
    matrix[len(acting) :, acting.shape[1] :] = own
    goals = [row.name for row in (*dynamics.rows, *dynamics.relations, *dynamics.implicit_rows)]
    # Values that are not finite, for example at rest, count as no influence.
    matrix = np.nan_to_num(matrix, posinf=0.0, neginf=0.0)
    scaled = unit_length(matrix, 0, 1, 0)
    found, dependent, _ = _dependent(scaled)
    regular = 0 < len(goals) == found
    return Decoupling(
        tuple(goals),
        tuple(goals[i] for i in dependent),
        found,
        singular_values(scaled) if goals else np.zeros(0),
        float(np.linalg.cond(unit_length(matrix, 0))) if regular else np.inf,
    )


def _dependent(matrix: np.ndarray) -> tuple[int, list[int], float]:
    """Return the rank, the rows involved in dependences, and the smallest singular value."""
    if not matrix.size:
        return 0, [], np.inf
    smallest = float(singular_values(matrix, len(matrix)).min())
    if smallest > RANK_TOLERANCE:
        return len(matrix), [], smallest
    found = singular_directions(matrix)
    null = found.dependences(RANK_TOLERANCE)
    taking_part: list[int] = np.flatnonzero(np.any(np.abs(null) > SHARE, axis=1)).tolist()
    return found.rank(RANK_TOLERANCE), taking_part, smallest


def _moved(dynamics: Dynamics, time: float, x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return how velocities move the positions, (positions, velocities)."""
    velocities = dynamics.x[dynamics.position_count :]
    slopes = ca.jacobian(dynamics.position_rates, velocities)
    return dynamics.arrays("moved", slopes)(time, x, values)[0]


def check_mass(dynamics: Dynamics, samples: Samples, values: np.ndarray) -> None:
    """Refuse a mass matrix that is not symmetric or not positive definite.

    Raises
    ------
    PosingError
        The message names the velocities without inertia or with negative inertia.
    """
    names = dynamics.labels.states[dynamics.position_count :]
    for t, x in samples:
        mass = dynamics.matrices(t, x, values)["mass"]
        diagonal = np.abs(np.diag(mass))
        units = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        scaled = units[:, None] * mass * units
        uneven = np.abs(scaled - scaled.T) > 1e-9
        if np.any(uneven):
            row, column = np.argwhere(uneven)[0]
            raise PosingError(
                f"the mass matrix is not symmetric: its entries of {names[row]!r} with "
                f"{names[column]!r} are {mass[row, column]:g} and {mass[column, row]:g}"
            )
        sizes = np.linalg.eigvalsh(scaled)
        weak = sizes <= 1e-14 * max(np.max(np.abs(sizes)), 1e-300)
        if np.any(weak):
            directions = np.linalg.eigh(scaled)[1]
            taking_part = np.any(np.abs(directions[:, weak]) > SHARE, axis=1)
            missing = [name for name, part in zip(names, taking_part, strict=True) if part]
            negative = sizes[0] < -1e-14 * np.max(np.abs(sizes))
            weakest = units[:, None] * directions[:, weak]
            if not negative and not np.any(np.abs(_moved(dynamics, t, x, values) @ weakest) > 1e-9):
                raise PosingError(
                    f"the velocities {', '.join(map(repr, missing))} move no coordinate, alone or "
                    "together, and carry no inertia: give each way in which the coordinates move "
                    "one velocity"
                )
            raise PosingError(
                f"the mass matrix is not positive definite: {', '.join(map(repr, missing))} "
                + ("move with negative inertia; give positive masses" if negative else
                   "carry no inertia; give them some, or make them implicit unknowns")
            )  # fmt: skip


def constraint_rank(dynamics: Dynamics, samples: Samples, values: np.ndarray) -> Rank:
    """Examine the constraints at sample states.

    Raises
    ------
    NoInfluenceError
        No reaction influences a goal, at any sample.
    """
    names = [row.name for row in dynamics.rows]
    if not names:
        return Rank((), (), (), 0, ())
    parts = [dynamics.matrices(t, x, values) for t, x in samples]
    matrices = [scaled_constraints(dynamics, t, x, values)[0] for t, x in samples]
    for index, name in enumerate(names):
        if all(np.linalg.norm(matrix[index]) == 0.0 for matrix in matrices):
            raise NoInfluenceError(f"no reaction influences the goal {name!r}")
    found = [_dependent(matrix) for matrix in matrices]
    ranks = [count for count, _, _ in found]
    groups: tuple[tuple[str, ...], ...] = ()
    droppable: tuple[str, ...] = ()
    if max(ranks) < len(names):
        most = max(ranks)
        usual = [matrix for matrix, own in zip(matrices, ranks, strict=True) if own == most]
        found_groups, surplus = _groups(usual)
        groups = tuple(tuple(names[i] for i in group) for group in found_groups)
        droppable = tuple(names[i] for i in surplus)
        _check_own_reactions(dynamics, groups)
        _check_agreement(dynamics, groups, samples, values)
    else:
        _check_influence(dynamics, parts, names)
    degenerate = ()
    if ranks[0] < max(ranks):
        degenerate = tuple(names[i] for i in found[0][1])
    smallest = tuple(value for _, _, value in found)
    return Rank(groups, droppable, degenerate, ranks[0], smallest)


def _groups(matrices: Sequence[np.ndarray]) -> tuple[list[list[int]], list[int]]:
    """Return the groups of rows that depend on each other, and the last row of each dependence.

    Rows are kept in order as long as each adds to the rank. Every other row is a combination of
    kept ones, for one of the matrices: these belong to one group, and groups that share a row are
    merged.
    """
    kept = independent_rows(matrices[0], RANK_TOLERANCE)
    surplus = [index for index in range(len(matrices[0])) if index not in kept]
    groups: list[set[int]] = []
    for index in surplus:
        joined = {index}
        for matrix in matrices:
            shares = shortest_solution(matrix[kept].T, matrix[index])
            joined |= {row for row, share in zip(kept, shares, strict=True) if abs(share) > SHARE}
        apart = [group for group in groups if not group & joined]
        groups = [*apart, joined.union(*[group for group in groups if group & joined])]
    return sorted(sorted(group) for group in groups), surplus


def _check_own_reactions(dynamics: Dynamics, groups: Sequence[Sequence[str]]) -> None:
    """Refuse dependent goals whose reactions the forces direct, because none can be omitted."""
    directed = {row.name for row in dynamics.rows if row.reaction is None}
    for group in groups:
        if directed.intersection(group):
            raise RedundantConstraintsError(
                f"the goals {', '.join(map(repr, group))} depend on each other everywhere, and "
                "their reactions are directed by the forces; leave out one of them together with "
                "one reaction"
            )


def _check_agreement(
    dynamics: Dynamics, groups: Sequence[Sequence[str]], samples: Samples, values: np.ndarray
) -> None:
    """Refuse dependent constraints that require different motions.

    Raises
    ------
    ContradictoryGoalsError
        The message gives the residual of each: an acceleration at a sample, or the goal itself
        slightly later if it moves.
    """
    places = {row.name: index for index, row in enumerate(dynamics.rows)}
    moving = ca.vertcat(*[row.chain[0] for row in dynamics.rows])
    asked = [name for group in groups for name in group]
    biases = ca.vertcat(*[dynamics.rows[places[name]].bias for name in asked])
    accelerations = dynamics.function("biases", biases)
    terms = [term_sizes(accelerations, t, x, values)[0] for t, x in samples]
    start, state = samples[0]
    for group in groups:
        rows = [places[name] for name in group]
        own = [asked.index(name) for name in group]
        for (t, x), sizes in zip(samples, terms, strict=True):
            scaled = scaled_constraints(dynamics, t, x, values, rows)
            parts = dynamics.matrices(t, x, values)
            largest = float(np.max(np.abs(x[: dynamics.position_count]), initial=0.0))
            missed = _missed_accelerations(parts, rows, scaled, sizes[own], largest)
            if missed is not None:
                titles = [f"the acceleration of the goal {name!r}" for name in group]
                raise _contradiction(dict(zip(titles, missed, strict=True)), t)
        if ca.depends_on(moving[rows], dynamics.t):
            for later in LATER:
                missed_goals = _missed_later(dynamics, start + later, state, values)
                named = {f"the goal {name!r}" for name in group}
                if len(missed_goals) > 1 and named >= set(missed_goals):
                    raise _contradiction(missed_goals, start + later)


def _contradiction(missed: dict[str, float], t: float) -> ContradictoryGoalsError:
    return ContradictoryGoalsError(
        f"at t = {t:g} s nothing fulfils {list_residuals(missed)} together: they depend on "
        "each other, but contradict each other"
    )


def _missed_accelerations(
    parts: Mapping[str, np.ndarray],
    rows: list[int],
    scaling: tuple[np.ndarray, np.ndarray],
    terms: np.ndarray,
    largest: float,
) -> np.ndarray | None:
    """Return the smallest residuals of some dependent goals; None if they agree.

    Residuals are compared with the terms of the required accelerations, (rows,), and with those of
    the freed system: if all of them cancel, only rounding remains. At rest without forces all of
    them are rounding: what would not change the positions, of which the largest is given, at a rate
    that counts is none.
    """
    scaled, factors = scaling
    if not np.all(np.linalg.norm(scaled, axis=1) > 0.0):
        return None
    wanted = -parts["bias"].ravel()[rows] * factors
    null = singular_directions(scaled).dependences(RANK_TOLERANCE)
    missed = null @ (null.T @ wanted)
    free = np.linalg.solve(np.linalg.cholesky(parts["mass"]), parts["force"].ravel())
    slow = SLOWEST**2 * largest * float(np.sqrt(np.trace(parts["mass"])))
    sizes = (np.max(np.abs(wanted)), float(np.linalg.norm(free)), np.max(terms * factors), slow)
    if np.max(np.abs(missed)) <= DISAGREEMENT * max(sizes):
        return None
    return missed / factors


def _missed_later(
    dynamics: Dynamics, t: float, x: np.ndarray, values: np.ndarray
) -> dict[str, float]:
    """Return the goals that no positions near a state fulfil at a time, with their residuals."""
    level = levels(dynamics)[0]
    if not level.goals:
        return {}
    metric = metrics(dynamics, t, x, values)[0]
    projection = Projection(level, metric, t, x, values, level.columns)
    return {} if projection.met(x) is not None else smallest_residuals(projection)


def _check_influence(
    dynamics: Dynamics, parts: Sequence[Mapping[str, np.ndarray]], names: list[str]
) -> None:
    if all(np.array_equal(part["influence"], part["jacobian"].T) for part in parts):
        return
    goals = names + [row.name for row in dynamics.relations]
    found = [_dependent(unit_length(influence(part), 0, 1, 0)) for part in parts]
    if all(count < len(goals) for count, _, _ in found):
        missed = ", ".join(repr(goals[i]) for i in found[0][1])
        raise NoInfluenceError(
            f"the reactions cannot influence the goals {missed} independently; direct them "
            "otherwise in force="
        )


def undetermined_reactions(parts: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return combinations of reactions that no goal and no relation determines at a state.

    Parameters
    ----------
    parts
        From `Dynamics.matrices`.

    Returns
    -------
    np.ndarray
        (nu, k); zero in the rows of determined reactions.
    """
    caused = np.vstack([np.linalg.solve(np.linalg.cholesky(parts["mass"]), parts["influence"]),
                        parts["ties"]])  # fmt: skip
    sizes = np.linalg.norm(caused, axis=0)
    sizes[sizes == 0.0] = 1.0
    loose = null_space(unit_length(influence(parts) / sizes, 1), RANK_TOLERANCE)
    return np.where(np.abs(loose) > SHARE, loose, 0.0) / sizes[:, None]


def friction_on_redundant(
    dynamics: Dynamics, samples: Samples, values: np.ndarray
) -> tuple[str, ...]:
    """Return the reactions that are undetermined and yet cause motion.

    Reactions of dependent constraints can be shared in many ways. This does not affect the motion
    if each acts along its goal's gradient. If one also enters a friction law, its share changes the
    friction, and the motion itself is not determined.

    Parameters
    ----------
    dynamics, values
        The equations and p as numbers.
    samples
        Consistent states.

    Returns
    -------
    tuple of str
        The names of the reactions; empty if the motion is determined.
    """
    names = dynamics.labels.reactions
    found: list[str] = []
    for t, x in samples:
        parts = dynamics.matrices(t, x, values)
        if np.array_equal(parts["influence"], parts["jacobian"].T):
            continue
        loose = undetermined_reactions(parts)
        if not loose.size:
            continue
        factor = np.linalg.cholesky(parts["mass"])
        caused = np.linalg.solve(factor, parts["influence"])
        moved = np.linalg.norm(caused @ loose, axis=0)
        by_each = np.linalg.norm(caused, axis=0)[:, None] * np.abs(loose)
        size = np.sum(by_each, axis=0)
        for column in np.flatnonzero(moved > MOVED * size):
            taking_part = by_each[:, column] > SHARE * size[column]
            found += [name for name, part in zip(names, taking_part, strict=True) if part]
    return tuple(dict.fromkeys(found))


def check_weights(dynamics: Dynamics, weights: Mapping[str, float]) -> None:
    """Refuse invalid shares of a load.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        There is no goal of this name with its own reaction, or a weight is not a positive number or
        differs too much from the others.
    """
    own = [row.name for row in dynamics.rows if row.reaction is not None]
    check_names("goal with a redundant weight", weights, own)
    for name, weight in weights.items():
        check_positive(**{f"the redundant weight of {name!r}": weight})
    sizes = [1.0, *weights.values()]
    if not max(sizes) <= WIDEST_WEIGHTS * min(sizes):
        raise OutOfRangeError(
            f"the redundant weights reach from {min(sizes):g} to {max(sizes):g} (goals without one "
            f"have 1), but must lie within a factor of {WIDEST_WEIGHTS:g}"
        )

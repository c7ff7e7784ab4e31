"""Constraints as a Pfaff system: the combinations that may be substituted into any Lagrangian.

The constraints theta = A(q) v = 0 leave the velocities D = ker A. Those combinations c whose
exterior derivative vanishes there,

    sum_i c_i dtheta_i(a, b) = 0 for all a, b in D,

form the first derived system: Hadamard's substitutable combinations. They may be substituted into
the Lagrangian for any masses. Hadamard counted m - d (d - 1) / 2 of them, where d is the dimension
of D: d (d - 1) / 2 equations for m numbers. The equations may be dependent, so there may be more
combinations.

A. V. Borisov, A. A. Kilin, I. S. Mamaev, On the Hadamard-Hamel problem and the dynamics of wheeled
vehicles, Regular and Chaotic Dynamics 20 (2015) 752-766, section 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.core.expressions.singular_values import singular_directions
from daesolve.core.system.system import System
from daesolve.errors import PosingError, RedundantConstraintsError
from daesolve.nonholonomic.constraint_forms import (
    TAKES_PART,
    Forms,
    PfaffSystem,
    check_numbers,
    check_regular,
    unit_velocities,
)


@dataclass(frozen=True, eq=False)
class SubstitutableCombinations:
    """The combinations of constraints that may be substituted into any Lagrangian.

    Parameters
    ----------
    dimension
        The number of combinations, at almost every state.
    bound
        Hadamard's count max(0, m - d (d - 1) / 2), a lower bound.
    freedom
        d, the number of velocities that the constraints leave.
    goals
        The names of the m constraints, in the order of the columns of `basis`.
    basis
        (k, m) at `state`: each row is a combination, in reduced row echelon form. k equals
        `dimension`, or more if `state` is exceptional.
    each
        For each goal, whether it alone is such a combination at every state.
    residual, gap
        The largest singular value counted as zero, and the smallest counted as nonzero, relative to
        the sums of their terms; 0.0 and infinity if there was none.
    state
        The positions where `basis` holds, by name.
    points
        The number of states examined.
    """

    dimension: int
    bound: int
    freedom: int
    goals: tuple[str, ...]
    basis: np.ndarray
    each: Mapping[str, bool]
    residual: float
    gap: float
    state: Mapping[str, float]
    points: int


def substitutable_combinations(
    system: System,
    *,
    parameters: Mapping[str, float] | None = None,
    at: Mapping[str, float] | None = None,
    points: int = 8,
    tolerance: float = 1e-9,
) -> SubstitutableCombinations:
    """Find the combinations of constraints that may be substituted into any Lagrangian.

    Parameters
    ----------
    system
        A mechanical system, in rates of coordinates or quasi-velocities. Holonomic constraints
        count with their rates. Coefficients may depend on any position.
    parameters
        Values that override the defaults.
    at
        A state at which to give the basis; by default a random one. Invariants on positions, such
        as the norm of a quaternion, keep the value that they have there.
    points
        The number of random states that decide.
    tolerance
        The relative singular value that counts as zero.

    Returns
    -------
    SubstitutableCombinations
        The number of combinations, Hadamard's bound, and a basis.

    Raises
    ------
    PosingError
        There is no constraint, or one is not linear in the velocities, or contains time.
    RedundantConstraintsError
        The constraints depend on each other everywhere.
    DegenerateStartError
        The constraints depend on each other at the state `at`.
    UnknownNameError, OutOfRangeError, InconsistentStateError
        A name is unknown, a number is out of range, or no consistent state exists.

    Examples
    --------
    A wheel on an axle: thanks to the skate, the rolling constraint may be substituted.

    >>> import casadi as ca
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, phi=ds.ANGLE)
    >>> c, s = ca.cos(q.psi), ca.sin(q.psi)
    >>> skate = ds.Nonholonomic("skate", c * q.dot.y - s * q.dot.x)
    >>> rolling = ds.Nonholonomic("rolling", c * q.dot.x + s * q.dot.y - 0.4 * q.dot.phi)
    >>> kinetic = (q.dot.x**2 + q.dot.y**2 + q.dot.psi**2 + q.dot.phi**2) / 2
    >>> unicycle = ds.MechanicalSystem(q, kinetic=kinetic, goals=[skate, rolling])
    >>> found = substitutable_combinations(unicycle)
    >>> found.dimension, dict(found.each)
    (1, {'skate': False, 'rolling': True})
    """
    check_numbers(tolerance, points=points)
    pfaff = PfaffSystem.of(system)
    if not pfaff.goals:
        raise PosingError("the system has no constraints, so there is nothing to substitute")
    p, state = pfaff.numbers(parameters, at)
    states = pfaff.random_states(p, points)
    units = unit_velocities(pfaff.dynamics, 0.0, states[0], p)
    independence = [pfaff.rank(x, p, units, tolerance) for x in states]
    rank = max(found.rank for found in independence)
    states = [x for x, found in zip(states, independence, strict=True) if found.rank == rank]
    if rank < len(pfaff.goals):
        dependent = next(found.dependent for found in independence if found.rank == rank)
        raise RedundantConstraintsError(
            f"the constraints {dependent} depend on each other everywhere: leave out one of them "
            "(system.without)"
        )
    if state is None:
        state = states[0]
    check_regular(pfaff.rank(state, p, units, tolerance), rank)
    usual = [pfaff.forms(x, p, units, tolerance) for x in states]
    counts = [int(np.sum(forms.singular_values > tolerance)) for forms in usual]
    independent = max(counts)
    decided = [forms.singular_values for forms in usual]
    freedom = pfaff.velocity_count - rank
    return SubstitutableCombinations(
        dimension=rank - independent,
        bound=max(0, rank - freedom * (freedom - 1) // 2),
        freedom=freedom,
        goals=pfaff.goals,
        basis=_basis(pfaff.forms(state, p, units, tolerance), tolerance),
        each={
            goal: bool(max(np.linalg.norm(f.matrix[:, i]) for f in usual) <= tolerance)
            for i, goal in enumerate(pfaff.goals)
        },
        residual=max(float(np.max(values[independent:], initial=0.0)) for values in decided),
        gap=min(float(np.min(values[:independent], initial=np.inf)) for values in decided),
        state=pfaff.named(state),
        points=len(usual),
    )


def substitutable_report(
    system: System,
    *,
    parameters: Mapping[str, float] | None = None,
    at: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return the substitutable combinations as plain values.

    Parameters
    ----------
    system, parameters, at
        As in `substitutable_combinations`, which also lists the errors.

    Returns
    -------
    dict
        The fields of `SubstitutableCombinations`; `basis` is a list of mappings from goal to
        coefficient (without zeros), and `gap` is None if there is none.
    """
    combinations = substitutable_combinations(system, parameters=parameters, at=at)
    rows = [dict(zip(combinations.goals, row, strict=True)) for row in combinations.basis.tolist()]
    return {
        "dimension": combinations.dimension,
        "bound": combinations.bound,
        "freedom": combinations.freedom,
        "goals": list(combinations.goals),
        "basis": [{goal: value for goal, value in row.items() if value} for row in rows],
        "each": dict(combinations.each),
        "residual": combinations.residual,
        "gap": combinations.gap if np.isfinite(combinations.gap) else None,
        "state": dict(combinations.state),
        "points": combinations.points,
    }


def _basis(here: Forms, tolerance: float) -> np.ndarray:
    """Return all c with c . dtheta = 0 in reduced row echelon form, with rounding set to zero."""
    count = len(here.lengths)
    padded = np.vstack([here.matrix, np.zeros((count, count))])
    directions = singular_directions(padded)
    rows = directions.right[directions.values[:count] <= tolerance]
    pivots: list[int] = []
    for column in range(count):
        step = len(pivots)
        if step == len(rows):
            break
        largest = step + int(np.argmax(np.abs(rows[step:, column])))
        if np.abs(rows[largest, column]) <= TAKES_PART:
            continue
        rows[[step, largest]] = rows[[largest, step]]
        rows[step] /= rows[step, column]
        others = np.arange(len(rows)) != step
        rows[others] -= np.outer(rows[others, column], rows[step])
        pivots.append(column)
    rows = np.where(np.abs(rows) > tolerance, rows, 0.0)
    return rows / here.lengths * here.lengths[pivots][:, None]

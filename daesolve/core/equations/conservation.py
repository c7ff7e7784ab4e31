"""Proofs, from the structure of the equations, that invariants are conserved.

With y = M^-1 (dW/dv)^T the rate of an invariant W is b + y . h + y . B u, where b does not contain
v'. For an energy y = v. The rate is zero if b + y . h vanishes identically and reactions do no
work, that is, if each acts along gradients of constraints that are linear and homogeneous in the
velocities. Discrete values count as free numbers, so a proof holds in every mode, whichever
contacts are closed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from daesolve.core.equations.consistency import instantaneous
from daesolve.core.equations.dynamics import Dynamics, GoalRow, InvariantRow
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.identities import at_random_points, vanishes
from daesolve.core.expressions.linear import solve_definite
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.singular_values import (
    null_space,
    singular_directions,
    unit_length,
)
from daesolve.core.expressions.translation import function_of
from daesolve.core.posing.symbols import symbol
from daesolve.core.posing.value_names import ValueKind

MOST_VELOCITIES = 12
"""The number of velocities beyond which M^-1 is too long an expression; the rate is then
monitored."""
WITHIN = 1e-10
"""The part of a column, relative to its length, that may lie outside the span of others."""
ROUNDING = 1e-12
"""Singular values below this count as zero."""
POWER_TOLERANCE = 1e-9
"""The relative power below which an invariant counts as conserved."""
SLOWEST = 1e-3
"""The least rate (1/s) at which an invariant's terms count as changing; smaller rates are
rounding."""
FEWEST = 2
"""The number of random points at which all values must be real."""


def is_proved(dynamics: Dynamics, row: InvariantRow, values: Mapping[str, float]) -> bool:
    """Return whether an invariant is proved to be conserved in every mode.

    Parameters
    ----------
    dynamics, row
        The equations, and one of their invariants.
    values
        p by name; parameters keep these values, all others may change.
    """
    if _is_always_proved(dynamics, row):
        return True
    numbers = _numbers(dynamics, values)
    return bool(numbers) and _is_proved(dynamics, row, numbers)


def enter_forces(
    dynamics: Dynamics, goals: Collection[str], values: Mapping[str, float]
) -> tuple[str, ...]:
    """Return reactions of dependent goals whose shares the motion may depend on.

    They do not act only along their gradients, and their undetermined part is not proved to cancel.

    Parameters
    ----------
    dynamics, goals
        The equations, and the names of goals with their own reactions.
    values
        p by name; parameters keep these values, all others may change.
    """
    numbers = _numbers(dynamics, values)
    found = tuple(
        dynamics.labels.reactions[row.reaction]
        for row in dynamics.rows
        if row.name in goals
        and row.reaction is not None
        and not vanishes(dynamics.influence[:, row.reaction] - row.jacobian.T, numbers)
    )
    return found if found and _undetermined_move(dynamics, numbers) else ()


def _numbers(dynamics: Dynamics, values: Mapping[str, float]) -> dict[int, float]:
    """Return the values of parameters by the hashes of their symbols."""
    lasting = dynamics.lasting(values)
    symbols = zip(dynamics.values, ca.vertsplit(dynamics.p), strict=True)
    return {symbol.__hash__(): lasting[n] for n, symbol in symbols if n in lasting}


def _without_feedback(dynamics: Dynamics, expression: ca.SX) -> ca.SX:
    """Write an expression without feedback, but with the values that keep dependent goals."""
    added = _of_feedback(dynamics)
    return ca.substitute(expression, added, ca.SX.zeros(added.numel(), 1))


@built_once
def _of_feedback(dynamics: Dynamics) -> ca.SX:
    """Return the values that feedback has added to those that were posed, as a column."""
    symbols = dict(zip(dynamics.values, ca.vertsplit(dynamics.p), strict=True))
    added = [
        value
        for name, value in symbols.items()
        if name not in dynamics.ranges and not ValueKind.KEPT.is_a(name)
    ]
    return ca.vertcat(ca.SX(0, 1), *added)


@built_once
def _is_always_proved(dynamics: Dynamics, row: InvariantRow) -> bool:
    """Return whether an invariant is proved to be conserved whatever the values of parameters."""
    return _is_proved(dynamics, row, {})


def _is_proved(dynamics: Dynamics, row: InvariantRow, known: Mapping[int, float]) -> bool:
    bias = _without_feedback(dynamics, row.bias)
    slope = _without_feedback(dynamics, row.jacobian)
    if not ca.sparsify(slope).nnz():
        return vanishes(bias, known)
    force = _without_feedback(dynamics, dynamics.force)
    if row.twice_kinetic is not None:
        y, momentum = dynamics.velocities, dynamics.mass @ dynamics.velocities
        along = vanishes(slope.T - momentum, known) and vanishes(bias + ca.dot(y, force), known)
        return along and are_powerless(dynamics, known)
    if dynamics.velocity_count > MOST_VELOCITIES:
        return False
    y = solve_definite(dynamics.mass, slope.T)
    influence = _without_feedback(dynamics, dynamics.influence)
    return vanishes(bias + ca.dot(y, force), known) and vanishes(influence.T @ y, known)


def are_powerless(dynamics: Dynamics, known: Mapping[int, float]) -> bool:
    """Return whether reactions provably do no work on any motion that fulfils the goals.

    Parameters
    ----------
    dynamics
        The equations.
    known
        The values of some symbols, by their hashes.
    """
    if not all(_is_homogeneous(dynamics, row, known) for row in dynamics.rows):
        return False
    offsets = [_without_feedback(dynamics, row.offset) for row in dynamics.relations]
    if not vanishes(ca.vertcat(ca.SX(0, 1), *offsets), known):
        return False
    return is_ideal(dynamics, known) or _is_along_gradients(dynamics, known)


def is_ideal(dynamics: Dynamics, known: Mapping[int, float]) -> bool:
    """Return whether every reaction provably acts along the gradient of its own goal.

    Parameters
    ----------
    dynamics, known
        As in `are_powerless`.
    """
    own = {row.reaction: row for row in dynamics.rows if row.reaction is not None}
    if len(own) != dynamics.reactions.numel() or len(own) != len(dynamics.rows):
        return False
    return all(
        vanishes(dynamics.influence[:, place] - row.jacobian.T, known) for place, row in own.items()
    )


def _is_homogeneous(dynamics: Dynamics, row: GoalRow, known: Mapping[int, float]) -> bool:
    """Return whether the velocities that a goal allows are those orthogonal to its gradient.

    Then J v is the residual itself, or twice the residual if that is quadratic in the velocities.
    """
    power, last = row.jacobian @ dynamics.velocities, row.chain[-1]
    orders = (1.0, 2.0) if row.degree == 1 and not row.from_start else (1.0,)
    return any(
        vanishes(_without_feedback(dynamics, power - order * last), known) for order in orders
    )


def _is_along_gradients(dynamics: Dynamics, known: Mapping[int, float]) -> bool:
    """Return whether forces of reactions are combinations of gradients, at random points.

    Reactions bound by relations count in the combinations that the relations leave; implicit
    unknowns have the values that their equations define. For a goal that is released at times, only
    its own reaction counts along its gradient, because another one, such as friction, does work
    while it slides.
    """
    lasting = [row for row in dynamics.rows if row.hold is None]
    influence = ca.SX(dynamics.influence)
    for row in dynamics.rows:
        if row.hold is not None and row.reaction is not None:
            influence[:, row.reaction] -= row.jacobian.T
    tables = _at_random_points(replace(dynamics, influence=influence, rows=tuple(lasting)), known)
    for _, acting, along, tied in tables:
        # A velocity with a large unit has small forces, which must not hide others.
        units = np.max(np.abs(np.vstack([acting.T, along])), axis=0, initial=0.0)
        units = np.where(units > 0.0, units, 1.0)[:, None]
        free = (acting / units) @ null_space(unit_length(tied, 1), ROUNDING)
        columns = unit_length(free, 0)
        spanned = singular_directions(unit_length(along.T / units, 0), whole=False)
        directions = spanned.left[:, spanned.values > ROUNDING]
        outside = columns - directions @ (directions.T @ columns)
        if np.max(np.abs(outside), initial=0.0) > WITHIN:
            return False
    return len(tables) >= FEWEST


def _undetermined_move(dynamics: Dynamics, known: Mapping[int, float]) -> bool:
    """Return whether the undetermined part of the reactions may cause motion."""
    tables = _at_random_points(dynamics, known)
    for mass, acting, along, tied in tables:
        caused = np.linalg.solve(mass, acting)
        determined = unit_length(np.vstack([along @ caused, tied]), 1)
        loose = null_space(determined, WITHIN)
        moved = np.linalg.norm(caused @ loose, axis=0)
        by_each = np.linalg.norm(caused, axis=0) @ np.abs(loose)
        if np.any(moved > np.sqrt(WITHIN) * by_each):
            return True
    return len(tables) < FEWEST


def _at_random_points(
    dynamics: Dynamics, known: Mapping[int, float]
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Return M, B, J and D at random points where implicit equations hold and all is real."""
    count = dynamics.reactions.numel()
    parts = [
        dynamics.mass,
        dynamics.influence,
        dynamics.gradients,
        ca.vertcat(ca.SX(0, count), *[row.jacobian for row in dynamics.relations]),
    ]
    first = dynamics.position_count - len(dynamics.implicit_rows)
    unknowns = dynamics.x[first : dynamics.position_count]
    equations = ca.vertcat(ca.SX(0, 1), *[row.residual for row in dynamics.implicit_rows])
    expressions = [_without_feedback(dynamics, part) for part in parts]
    tables = at_random_points(expressions, known, equations, unknowns)
    return [
        (np.real(mass), np.real(acting), np.real(along), np.real(tied))
        for mass, acting, along, tied in zip(*tables, strict=True)
        if all(_is_real(table) for table in (mass, acting, along, tied))
    ]


def _is_real(table: np.ndarray) -> bool:
    return bool(np.all(np.isfinite(table)) and np.all(np.imag(table) == 0.0))


def relative_powers(
    dynamics: Dynamics,
    rows: Sequence[InvariantRow],
    samples: Sequence[tuple[float, np.ndarray]],
    values: np.ndarray,
) -> np.ndarray:
    """Return the largest rate of each invariant at the samples, relative to the rate's terms."""
    if not (rows and samples):
        return np.zeros(len(rows))
    function = _rates(dynamics, tuple(rows))
    found = np.zeros((len(samples), 2, len(rows)))
    for number, (t, x) in enumerate(samples):
        accelerations, _ = instantaneous(dynamics, t, x, values)
        parts = function(t, np.concatenate([x, accelerations]), values)
        rates, terms, sizes = (np.abs(part) for part in parts)
        found[number] = rates, np.maximum(terms, SLOWEST * sizes)
    known = np.all(np.isfinite(found), axis=1)
    most, largest = np.max(np.where(known[:, None], found, 0.0), axis=0)
    powers = np.where(largest > 0.0, most / np.where(largest > 0.0, largest, 1.0), 0.0)
    # If no sample shows a rate, conservation is not known.
    return np.where(np.any(known, axis=0), powers, np.inf)


@built_once
def _rates(dynamics: Dynamics, rows: tuple[InvariantRow, ...]) -> Evaluator:
    return Evaluator(rates_function(dynamics, rows, share=False))


@built_once
def rates_function(
    dynamics: Dynamics, rows: tuple[InvariantRow, ...], *, share: bool = True
) -> ca.Function:
    """Return (t, (x, v'), p) -> the rates of invariants, the summed sizes of their terms, W.

    The third result contains the sizes of the terms of the invariants themselves.

    Parameters
    ----------
    dynamics, rows
        The equations, and the invariants.
    share
        See `function_of`.
    """
    values = ca.vertcat(ca.SX(0, 1), *[row.value for row in rows])
    slopes, by_time = ca.jacobian(values, dynamics.x), ca.jtimes(values, dynamics.t, ca.SX(1))
    accelerations = symbol("acceleration", dynamics.velocity_count)
    moving = ca.vertcat(dynamics.position_rates, accelerations)
    return function_of(
        "rates",
        [dynamics.t, ca.vertcat(dynamics.x, accelerations), dynamics.p],
        [
            slopes @ moving + by_time,
            ca.fabs(slopes) @ ca.fabs(moving) + ca.fabs(by_time),
            ca.fabs(slopes) @ ca.fabs(dynamics.x),
        ],
        (["t", "x", "p"], ["rates", "terms", "sizes"]),
        share=share,
    )

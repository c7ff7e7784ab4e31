"""The choice of kept goals among dependent ones by their grip, renewed during a run.

Among dependent goals, as many are omitted as there are dependences. Let N contain the vanishing
combinations of their rows as orthonormal columns. The squared minors of N over sets of goals add up
to one, and the minor of a set gives the squared volume that the other goals keep without it. The
largest minor therefore shows which goals to omit. A choice may lose its grip although the rank is
full; then another choice exists.

Each of these goals has a discrete value, `kept_<goal>`, as a factor of its row: if it is zero, the
row states that the goal's reaction is zero.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import casadi as ca
import numpy as np
import scipy

from daesolve.core.equations.alternatives import Alternatives
from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.equations.projection import Level, Projection, levels, metrics
from daesolve.core.equations.scaled_rows import without_rounding
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.identities import is_combination
from daesolve.core.expressions.singular_values import equilibrated, singular_directions
from daesolve.core.posing.symbols import symbol
from daesolve.core.posing.value_names import ValueKind
from daesolve.errors import PosingError

ALL_TO = 3000
"""The number of sets of goals up to which all are compared."""
LOOKED_AT = 40
"""The number of states of a path at which sets are compared."""
DEGRADED = 0.1
"""The fraction of its initial squared volume at which a choice is made again."""
USABLE = 1e-2
"""The least accepted ratio of a choice's minor here to the largest."""
LASTING = 0.3
"""The least accepted minor along a path, relative to the largest here, for a choice by the path."""
SAME = 1.0 - 1e-6
"""Minors of at least this share of the largest count as equal; then later goals are omitted."""
DEPENDENT = 1e-6
"""If a singular value that should not be zero is below this, nothing can be chosen there."""
GRIP = "kept_grip"
"""The value that stores the grip of the kept goals when they were chosen."""


def goals_that_follow(
    dynamics: Dynamics,
    group: Sequence[str],
    dropped: Sequence[str],
    numbers: Mapping[str, float],
) -> list[str]:
    """Return the goals of a group that follow, identically, from the kept ones.

    Parameters
    ----------
    dynamics
        The equations.
    group, dropped
        Goals that depend on each other, and those to omit.
    numbers
        p by name; discrete values may change, and are treated as symbols.
    """
    rows = {row.name: row for row in dynamics.rows}
    kept = [rows[name] for name in group if name not in dropped]
    fixed = [name for name in dynamics.values if name not in dynamics.discrete]
    places = [list(dynamics.values).index(name) for name in fixed]
    symbols = ca.vertcat(ca.SX(0, 1), *[dynamics.p[place] for place in places])
    known = ca.vertcat(ca.SX(0, 1), *[ca.SX(numbers[name]) for name in fixed])

    def with_numbers(expression: ca.SX) -> ca.SX:
        return ca.substitute(expression, symbols, known)

    found: list[str] = []
    for name in dropped:
        row = rows[name]
        # A statement about positions holds for their rates too; a goal on rates may follow from
        # either.
        level = [own.chain[0] for own in kept if own.kind == row.kind]
        if row.kind == "nonholonomic":
            level += [own.chain[1] for own in kept if own.kind == "holonomic"]
        if is_combination(with_numbers(row.chain[0]), list(map(with_numbers, level))):
            found.append(name)
    return found


@dataclass(frozen=True, eq=False)
class RowChoice:
    """Chooses which of several dependent goals to keep.

    Parameters
    ----------
    dynamics
        The equations, with all of them.
    groups
        Goals that depend on each other, group by group.
    surplus
        The number of omitted goals in each group.
    """

    dynamics: Dynamics
    groups: tuple[tuple[str, ...], ...]
    surplus: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The goals of all groups."""
        return tuple(name for group in self.groups for name in group)

    def dropped(self, times: np.ndarray, states: np.ndarray, p: np.ndarray) -> tuple[str, ...]:
        """Return the goals that are best omitted.

        Parameters
        ----------
        times, states
            (k,) and (k, nx): the current state, followed by the known path of the motion.
        p
            p as numbers; entries beyond those of the equations are ignored.
        """
        further = 1 + np.linspace(0, len(times) - 2, min(LOOKED_AT, len(times) - 1)).astype(int)
        looked_at = np.concatenate([[0], further])
        numbers = p[: len(self.dynamics.values)]
        tables = evaluate_block(self._gradients, times[looked_at], states[looked_at], numbers)
        found: list[str] = []
        mass = tables[-1].reshape(len(looked_at), self.dynamics.velocity_count, -1)
        for group, surplus, table in zip(self.groups, self.surplus, tables, strict=False):
            stack = table.reshape(len(table), len(group), -1)
            found += [group[index] for index in _left_out(stack, mass, surplus)]
        return tuple(found)

    def settled(self, time: float, states: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the nearest states that fulfil all goals, including omitted ones.

        Otherwise their errors would grow from choice to choice, because a kept goal is only
        corrected at its rate.
        """
        dynamics, numbers = self.dynamics, p[: len(self.dynamics.values)]
        both = metrics(dynamics, time, states, numbers)
        for level, metric in zip(self._levels, both, strict=True):
            if level.columns.size:
                projection = Projection(level, metric, time, states, numbers, level.columns)
                found = projection.met(states)
                states = states if found is None else found
        return states

    @cached_property
    def _levels(self) -> tuple[Level, Level]:
        rows = self.dynamics.invariants
        return levels(self.dynamics, tuple(row.name for row in rows if row.on == "positions"))

    @cached_property
    def _gradients(self) -> ca.Function:
        """(t, x, p) -> the rows of each group as a column, row by row, and the mass matrix."""
        dynamics = self.dynamics
        rows = {row.name: row.jacobian for row in dynamics.rows}
        stacks = [ca.vec(ca.vertcat(*[rows[name] for name in group]).T) for group in self.groups]
        return dynamics.function("rows", *stacks, ca.vec(dynamics.mass))


def _left_out(stack: np.ndarray, masses: np.ndarray, surplus: int) -> list[int]:
    """Return which rows are best omitted from matrices (k, m, n), the first of them here."""
    nulls: list[np.ndarray] = []
    for number, (matrix, mass) in enumerate(zip(stack, masses, strict=True)):
        if not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(mass))):
            continue
        scaled, factors, _ = equilibrated(without_rounding(matrix))
        found = singular_directions(scaled)
        held = len(matrix) - surplus
        if number == 0 or (held and found.values[held - 1] > DEPENDENT):
            # Masses do not affect which combinations vanish, but how firm a grip is.
            root = np.linalg.cholesky(np.asarray(mass, dtype=float))
            weighed = np.linalg.solve(root, np.asarray(matrix.T, dtype=float))
            lengths = np.linalg.norm(weighed, axis=0)
            weighted = (factors * lengths)[:, None] * found.left[:, held:]
            nulls.append(np.linalg.qr(weighted)[0])
    if not nulls:
        return list(range(len(stack[0]) - surplus, len(stack[0])))
    candidates = candidate_sets(nulls[0], surplus, ALL_TO)
    minors = np.array([np.abs(np.linalg.det(null[candidates])) for null in nulls])
    here, most = minors[0], np.max(minors[0])
    lasting = np.where(here > USABLE * most, np.min(minors, axis=0), 0.0)
    sizes = lasting if np.max(lasting) > LASTING * most else here
    return candidates[np.flatnonzero(sizes >= SAME * np.max(sizes))[-1]].tolist()


def candidate_sets(rows: np.ndarray, count: int, most: int) -> np.ndarray:
    """Return sets of so many rows, (k, count): all if at most so many, else the best one here."""
    if math.comb(len(rows), count) <= most:
        return np.array(list(itertools.combinations(range(len(rows)), count)), dtype=int)
    _, order = cast(tuple[np.ndarray, np.ndarray], scipy.linalg.qr(rows.T, mode="r", pivoting=True))
    return np.sort(order[:count])[None, :]


# -- the equations -------------------------------------------------------------------------------


def with_alternatives(dynamics: Dynamics, choice: RowChoice, *, shared: bool) -> Dynamics:
    """Return the equations in which discrete values keep dependent goals or not.

    Parameters
    ----------
    dynamics, choice
        The equations with all goals, and the choice among them.
    shared
        Whether all goals share loads, instead of only the kept ones carrying them.

    Raises
    ------
    PosingError
        A parameter has the name of one of these values.
    """
    kept = {name: ValueKind.KEPT.name_of(name) for name in choice.names}
    for name in (*kept.values(), GRIP):
        if name in dynamics.values:
            raise PosingError(f"the name {name!r} is reserved by the library; rename the parameter")
    symbols = {name: symbol(value) for name, value in kept.items()}
    influence, directed = ca.SX(dynamics.influence), ca.SX(dynamics.influence)
    rows: list[GoalRow] = []
    for row in dynamics.rows:
        if row.reaction is not None:
            directed[:, row.reaction] = directed[:, row.reaction] - row.jacobian.T
        if row.name not in symbols:
            rows.append(row)
            continue
        assert row.reaction is not None
        rows.append(_switched(row, symbols[row.name]))
        influence[:, row.reaction] *= symbols[row.name]
    return replace(
        dynamics,
        rows=tuple(rows),
        influence=influence,
        p=ca.vertcat(dynamics.p, *symbols.values(), symbol(GRIP)),
        values={**dynamics.values, **dict.fromkeys(kept.values(), 1.0), GRIP: 0.0},
        alternatives=Alternatives(
            choice.groups,
            choice.surplus,
            choice.dropped,
            choice.settled,
            ca.SX(ca.sparsify(directed)) if shared else None,
        ),
    )


def _switched(row: GoalRow, kept: ca.SX) -> GoalRow:
    return replace(
        row,
        chain=tuple(kept * link for link in row.chain),
        jacobian=kept * row.jacobian,
        bias=kept * row.bias,
        hold=kept,
        posed=row.chain,
    )


def monitor_dependent_goals(dynamics: Dynamics, groups: Sequence[Sequence[str]]) -> Dynamics:
    """Return equations that monitor dependent goals, all of which are kept.

    A row whose grip grows from zero has no effect before it is firm.
    """
    names = {name for group in groups for name in group}
    rows = tuple(
        replace(row, posed=row.chain) if row.name in names and row.typical is None else row
        for row in dynamics.rows
    )
    return replace(dynamics, rows=rows)


def monitor_omitted_goals(
    dynamics: Dynamics, rows: Sequence[GoalRow], numbers: Mapping[str, float]
) -> Dynamics:
    """Return equations that monitor omitted goals.

    Parameters
    ----------
    dynamics, rows
        The equations without these goals, and their rows.
    numbers
        p by name, for the equations with them.
    """
    aside: list[GoalRow] = []
    for row in rows:
        chain = row.chain
        if row.from_start:
            own = ValueKind.REFERENCE.name_of(row.name)
            free = [s for s in ca.symvar(ca.vertcat(*chain)) if s.name() == own]
            chain = tuple(ca.substitute(c, ca.vertcat(*free), ca.SX(numbers[own])) for c in chain)
        aside.append(replace(row, chain=chain))
    return replace(dynamics, aside=tuple(aside))

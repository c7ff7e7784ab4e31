"""Handles goals that depend on each other: drops them, chooses among them, or keeps all.

That a goal follows from others is proved from its expression, or else assumed and monitored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from daesolve.core.equations.alternatives import Alternatives
from daesolve.core.equations.consistency import time_states
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.rank import Rank, Samples
from daesolve.core.equations.row_choice import (
    RowChoice,
    goals_that_follow,
    monitor_dependent_goals,
    monitor_omitted_goals,
    with_alternatives,
)
from daesolve.core.events.row_law import chosen_rows
from daesolve.core.formulations import Formulation, OdeProblem
from daesolve.core.preparation.request import Redundant, Request
from daesolve.core.system.system import MechanicalSystem, System
from daesolve.errors import RedundantConstraintsError, UndeterminedMotionError

SEEN = "near the start and is monitored during the run"
"""How the dependence of a goal is known if its expression does not prove it."""


@dataclass(frozen=True, eq=False)
class NonredundantSystem:
    """A system with the goals that are kept.

    Parameters
    ----------
    system, dynamics
        Without the goals that were left out, and its equations.
    proximal
        Whether its elimination is proximal.
    values
        The discrete values that say which dependent goals are kept at the start, by name.
    """

    system: System
    dynamics: Dynamics
    proximal: bool
    values: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, eq=False)
class Dependent:
    """A system with goals that depend on each other.

    Parameters
    ----------
    system, values
        The equations, and p by name.
    rank
        Which goals depend on each other.
    samples
        Consistent states, the start first.
    """

    system: System
    values: Mapping[str, float]
    rank: Rank
    samples: Samples

    def kept(
        self, request: Request, formulation: Formulation, notes: list[str]
    ) -> NonredundantSystem:
        """Keep the goals as requested; notes receive what was left out and why."""
        passes = request.rank_loss == "pass"
        if request.redundant == "drop":
            return self._without_some(formulation, notes, passes=passes)
        choice = RowChoice(self.system.dynamics, self.rank.groups, self._surplus(()))
        if passes or not formulation.chooses_goals:
            return NonredundantSystem(self.system, self.system.dynamics, proximal=True)
        if not self._switchable(choice, formulation):
            watched = monitor_dependent_goals(self.system.dynamics, self.rank.groups)
            return NonredundantSystem(self.system, watched, proximal=True)
        if not all(self._shown(group) == self._own(group) for group in self.rank.groups):
            notes.append(f"the dependence between {', '.join(choice.names)} was checked {SEEN}")
        return self._switched(self.system, choice, shared=True)

    def _own(self, group: Sequence[str]) -> list[str]:
        """Return the goals of a group that follow from its others."""
        return [name for name in self.rank.droppable if name in group]

    def _shown(self, group: Sequence[str]) -> list[str]:
        """Return those that are shown to follow by their expressions."""
        return goals_that_follow(self.system.dynamics, group, self._own(group), self.values)

    def _surplus(self, gone: Sequence[str]) -> tuple[int, ...]:
        """Return how many goals of each group follow from others, beside those that are gone."""
        left = [name for name in self.rank.droppable if name not in gone]
        counts = [sum(name in left for name in group) for group in self.rank.groups]
        return tuple(count for count in counts if count)

    def _without_some(
        self, formulation: Formulation, notes: list[str], *, passes: bool
    ) -> NonredundantSystem:
        """Leave out what follows from others; what only seems to is chosen by its grip."""
        droppable = self.rank.droppable
        gone: list[str] = []
        groups: list[tuple[str, ...]] = []
        for group in self.rank.groups:
            shown = self._shown(group)
            gone += shown
            if len(shown) < len(self._own(group)):
                groups.append(tuple(name for name in group if name not in shown))
        system = self.system
        if gone:
            gone = [name for name in droppable if name in gone]
            system = _with_switches(system).without(gone)
            notes.append(f"dropped as redundant: {', '.join(gone)}; the motion is the same")
        if not groups:
            return NonredundantSystem(system, system.dynamics, passes)
        choice = RowChoice(system.dynamics, tuple(groups), self._surplus(gone))
        names, count = ", ".join(choice.names), sum(choice.surplus)
        if not passes and self._switchable(choice, formulation):
            notes.append(
                f"dropped as redundant: {count} of {names}, those that follow best from the "
                f"others; the dependence was checked {SEEN}"
            )
            return self._switched(system, choice, shared=False)
        p = _numbers(system, self.values)
        left_out = choice.dropped(*time_states(self.samples), p)
        rows = [row for row in system.dynamics.rows if row.name in left_out]
        notes.append(
            f"dropped as redundant: {', '.join(left_out)}; that the others of {names} imply them "
            f"was checked {SEEN}"
        )
        system = _with_switches(system).without(left_out)
        return NonredundantSystem(
            system, monitor_omitted_goals(system.dynamics, rows, self.values), passes
        )

    def _switched(self, system: System, choice: RowChoice, *, shared: bool) -> NonredundantSystem:
        """Let discrete values say which goals are kept."""
        start = time_states(self.samples[:1])
        dropped = choice.dropped(*start, _numbers(system, self.values))
        dynamics = with_alternatives(system.dynamics, choice, shared=shared)
        assert dynamics.alternatives is not None
        return NonredundantSystem(system, dynamics, False, dynamics.alternatives.values(dropped))

    def _switchable(self, choice: RowChoice, formulation: Formulation) -> bool:
        """Return whether other goals may be kept on the way: no event imposes any of them."""
        imposed = {name for row in choice.dynamics.resets.values() for name in row.imposed}
        singular = {row.name for row in choice.dynamics.rows if row.typical is not None}
        return formulation.chooses_goals and (imposed | singular).isdisjoint(choice.names)


def _with_switches(system: System) -> System:
    """Return a system with its switches, which stay where goals go: these may be watched."""
    if isinstance(system, MechanicalSystem) and system.pairs != ():
        return system
    return system.posed


def _numbers(system: System, values: Mapping[str, float]) -> np.ndarray:
    return system.dynamics.value_vector(
        {name: values.get(name, default) for name, default in system.dynamics.values.items()}
    )


def check_redundant(rank: Rank, moving: Sequence[str], redundant: Redundant) -> str:
    """Describe undetermined reactions, or raise an error if they are not acceptable.

    Parameters
    ----------
    rank, moving
        Which goals depend on each other, and which of their reactions enter a force.
    redundant
        The requested rule.

    Raises
    ------
    RedundantConstraintsError
        No rule was requested.
    UndeterminedMotionError
        The reactions enter a force, and no rule for sharing them was requested.
    """
    first, *others = [", ".join(map(repr, group)) for group in rank.groups]
    depend = f"the goals {first} depend on each other everywhere" + "".join(
        f", and so do {other}" for other in others
    )
    surplus = ", ".join(map(repr, rank.droppable))
    if moving and redundant != "minimum-norm":
        raise UndeterminedMotionError(
            f"{depend}, and the reactions {', '.join(map(repr, moving))}, which they do not "
            "determine, enter a force, so the motion is not determined either; leave out "
            f"{surplus}, or set redundant = 'minimum-norm', which shares the reactions by "
            "redundant_weights"
        )
    if redundant == "error":
        raise RedundantConstraintsError(
            f"{depend}, so their reactions are not determined; leave out {surplus}, or set "
            "redundant = 'drop' or 'minimum-norm'"
        )
    chosen = f"{depend}: their reactions are not unique; the report shows those of minimum norm"
    if moving:
        return f"{chosen}; they enter a force, so the motion depends on this choice"
    return f"{chosen}; the motion is unique"


def with_same_rows(rows: Alternatives, samples: Samples, numbers: np.ndarray) -> Samples:
    """Return the samples at which the same of dependent goals would be kept as at the first."""
    chosen = [rows.dropped(*time_states([sample]), numbers) for sample in samples]
    return [sample for sample, own in zip(samples, chosen, strict=True) if own == chosen[0]]


def with_rows(
    rows: Alternatives,
    problem: OdeProblem,
    time: float,
    state: np.ndarray,
    values: Mapping[str, float],
) -> dict[str, float]:
    """Return the values with which those of dependent goals are kept that have the best grip."""
    numbers = problem.value_vector(values)
    x = problem.enter(time, state, numbers)
    chosen = chosen_rows(problem, rows, time, x, numbers)
    return dict(zip(problem.values, map(float, chosen), strict=True))


def without_grip(
    problem: OdeProblem, samples: Samples, numbers: np.ndarray, rank: Rank
) -> tuple[str, ...]:
    """Name the dependent goals whose pivots are the proximal shift alone, in elimination's order.

    These pivots say nothing of the rank along the run.
    """
    times, visible = time_states(samples)
    states = np.hstack([visible, np.zeros((len(visible), problem.size - visible.shape[1]))])
    table, _ = problem.block("residuals", times, states, numbers)
    typical = np.nanmedian(table[:, len(problem.watched) + 1 :], axis=0)
    pivots = dict(zip(problem.pivot_goals, typical, strict=True))
    redundant = [name for name in rank.redundant if name in pivots]
    return tuple(sorted(redundant, key=lambda name: pivots[name])[: len(rank.droppable)])

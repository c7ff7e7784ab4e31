"""What a formulation hands to a solver: CasADi functions of (t, x, z, p), and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.algebra.blocks import evaluate_block
from daesolve.elimination.saddle import EliminationPlan
from daesolve.formulations.semi_explicit import SemiExplicit
from daesolve.posing.events import Event
from daesolve.posing.symbols import Labels

FORMS = ("ode", "index-1", "index-2", "index-3", "overdetermined")
"""What a formulation makes, and what solvers take."""


@dataclass(frozen=True)
class Watched:
    """One residual that monitors follow.

    Parameters
    ----------
    name
        The goal's name, or that of its hidden constraint (`contact_dot`).
    goal
        The goal.
    kind
        "residual", "hidden", "relation", "implicit" or "invariant".
    driven
        Whether errors in it are fed back.
    rate
        The name of its rate among the values, None where there is none.
    note
        What a reader should know about it.
    follows
        Whether it is the residual of a goal that was taken to follow from others.
    """

    name: str
    goal: str
    kind: str
    driven: bool
    rate: str | None
    note: str = ""
    follows: bool = False


def as_driven(watched: Iterable[Watched], names: Collection[str]) -> tuple[Watched, ...]:
    """Say of the residuals of these names that errors in them do not stay."""
    return tuple(replace(entry, driven=True) if entry.name in names else entry for entry in watched)


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates of a reduced state, which hold in a neighbourhood and are then chosen anew.

    Parameters
    ----------
    embed
        (t, x, p) -> the states that labels name, without work integrals.
    restrict
        (t, those states, p) -> x without work integrals.
    whole
        The same motion in all states, without a chart.
    choose
        (t, those states, p, path) -> p with the discrete values of another chart, which is to
        serve along a path, (k, n) states, as far as one can; None where one chart serves
        everywhere. It is called where the last of the problem's guards falls to zero.
    """

    embed: ca.Function
    restrict: ca.Function
    whole: OdeProblem
    choose: Callable[[float, np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class OdeProblem:
    """An explicit ordinary differential equation, with what is needed to show and to watch it.

    Parameters
    ----------
    labels
        Names and units. Without a chart `labels.states` are the first entries of x, with one they
        are what it embeds; work integrals may follow in x.
    size
        The length of x.
    values
        The names of p and their defaults.
    rhs
        (t, x, p) -> x'
    recover
        (t, x, p) -> (accelerations, reactions, outputs)
    residuals
        (t, x, p) -> the residuals in the order of `watched`, then the kinetic energy, then the
        relative pivot of each goal in `pivot_goals`; and what the reactions do to each of
        `singular_goals`, one after the other.
    guards
        (t, x, p) -> the guards of the `events`, one after the other; `guarded` names each event.
    watched, pivot_goals, events
        What these are.
    singular_goals
        Goals that lose their grip wherever the motion comes to rest, and were accepted so.
    plan
        How the reactions were eliminated.
    project
        (t, x, p) -> the nearest consistent x; None where nothing is projected.
    chart
        How x stands for the states; None where it begins with them.
    stiff
        Whether something in it is far faster than the motion, and dies out.
    equations
        The same equations before the elimination, which Jacobians of large systems are taken from;
        None where there are none.
    """

    labels: Labels
    size: int
    values: Mapping[str, float]
    rhs: ca.Function
    recover: ca.Function
    residuals: ca.Function
    guards: ca.Function
    watched: tuple[Watched, ...]
    pivot_goals: tuple[str, ...]
    singular_goals: tuple[str, ...]
    events: tuple[Event, ...]
    plan: EliminationPlan
    project: ca.Function | None = None
    chart: Chart | None = None
    stiff: bool = False
    equations: SemiExplicit | None = None

    @cached_property
    def guarded(self) -> tuple[Event, ...]:
        """The event of each guard."""
        return tuple(event for event in self.events for _ in range(event.count))

    def value_vector(self, values: Mapping[str, float]) -> np.ndarray:
        """Return p as numbers: the defaults, some of them overridden by name."""
        return np.array([values.get(name, default) for name, default in self.values.items()])

    def enter(
        self, time: float, states: np.ndarray, p: np.ndarray, works: np.ndarray | None = None
    ) -> np.ndarray:
        """Return x from the states that labels name and the work integrals, zero at the start."""
        x = states
        if self.chart is not None:
            x = np.asarray(self.chart.restrict(time, states, p)).ravel()
        return np.concatenate([x, np.zeros(self.size - len(x)) if works is None else works])

    def visible(self, times: np.ndarray, table: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the states that labels name, (k, n), from a table of x, (k, size).

        p is the same for all of them, (np,), or one for each, (k, np).
        """
        if self.chart is None:
            return table[:, : len(self.labels.states)].copy()
        if len(times) == 1:
            x = table[0, : self.chart.embed.nnz_in(1)]
            return np.asarray(self.chart.embed(float(times[0]), x, np.ravel(p))).T
        return evaluate_block(self.chart.embed, times, table, p)[0]


@dataclass(frozen=True, eq=False, kw_only=True)
class DaeProblem(OdeProblem):
    """A semi-explicit differential-algebraic equation x' = f(t, x, z, p), 0 = g(t, x, z, p).

    What it inherits describes the same motion with z eliminated: `rhs` is the underlying ordinary
    differential equation, `recover` takes accelerations and reactions from the state alone.

    Parameters
    ----------
    unknowns
        The names of z.
    differential
        (t, x, z, p) -> x'
    algebraic
        (t, x, z, p) -> g, as many as z.
    surplus
        (t, x, p) -> further constraints for overdetermined solvers, none in other forms.
    consistent
        (t, x, p) -> (x', z) at a state that fulfils all constraints.
    form
        What it is, of `FORMS`.
    indices
        The index of each of (x, z) after Hairer and Wanner, Solving ODEs II, VII.1: 1 for ordinary
        ones; an error in a variable of index i grows like h^(1-i) as the step h shrinks.
    """

    unknowns: tuple[str, ...]
    differential: ca.Function
    algebraic: ca.Function
    surplus: ca.Function
    consistent: ca.Function
    form: str
    indices: tuple[int, ...]

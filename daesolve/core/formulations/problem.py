"""The interface between formulation and solver: CasADi functions of (t, x, z, p), nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import casadi as ca
import numpy as np

from daesolve.core.equations.elimination.saddle import EliminationPlan
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations.semi_explicit import SemiExplicit
from daesolve.core.posing.events import Event
from daesolve.core.posing.symbols import Labels

MANY_INSTRUCTIONS = 20_000
"""The number of instructions of the rate from which functions are built for each mode."""
MOST_MODES = 64
"""The largest number of modes whose functions are kept."""
WIDEST = 2.0
"""The largest ratio of instructions of functions for several modes to the least for one."""

FORMS = ("ode", "index-1", "index-2", "index-3", "overdetermined")
"""The forms of problems, which formulations make and solvers accept."""


@dataclass(frozen=True)
class Watched:
    """A residual that monitors follow.

    Parameters
    ----------
    name
        The goal's name, or the name of its hidden constraint (`contact_dot`).
    goal
        The goal.
    kind
        "residual", "hidden", "relation", "implicit" or "invariant".
    driven
        Whether its errors are fed back.
    rate
        The name of its rate among the values; None if it has none.
    note
        A remark for the reader of the report.
    follows
        Whether it is the residual of a goal that was assumed to follow from others.
    """

    name: str
    goal: str
    kind: str
    driven: bool
    rate: str | None
    note: str = ""
    follows: bool = False


def as_driven(watched: Iterable[Watched], names: Collection[str]) -> tuple[Watched, ...]:
    """Mark the residuals of these names as driven: their errors do not persist."""
    return tuple(replace(entry, driven=True) if entry.name in names else entry for entry in watched)


def functions_of(arguments: Sequence[ca.SX], parts: Sequence[ca.SX]) -> dict[str, ca.Function]:
    """Return the functions of an `OdeProblem`, by its fields.

    Parameters
    ----------
    arguments
        t, x and p.
    parts
        The rate of x; accelerations, reactions and outputs; residuals and influences; guards.
    """
    returned = {
        "rhs": ["rate"],
        "recover": ["accelerations", "reactions", "outputs"],
        "residuals": ["residuals", "influences"],
        "guards": ["g"],
    }
    left, functions = list(parts), dict[str, ca.Function]()
    for name, names in returned.items():
        own, left = left[: len(names)], left[len(names) :]
        functions[name] = function_of(name, arguments, own, (["t", "x", "p"], names), share=False)
    return functions


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates of a reduced state, valid in a neighbourhood and then chosen again.

    Parameters
    ----------
    embed
        (t, x, p) -> the states named by labels, without work integrals.
    restrict
        (t, states, p) -> x without work integrals.
    whole
        The same motion in all states, without a chart.
    choose
        (t, states, p, path) -> p with the discrete values of another chart, chosen to work along a
        path, (k, n) states, as far as possible. It is called where the last guard of the problem
        falls to zero. None if one chart works everywhere.
    """

    embed: ca.Function
    restrict: ca.Function
    whole: OdeProblem
    choose: Callable[[float, np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class OdeProblem:
    """An explicit ordinary differential equation, with everything needed to show and monitor it.

    Parameters
    ----------
    labels
        Names and units. Without a chart, `labels.states` are the first entries of x; with one, they
        are the embedded states. Work integrals may follow in x.
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
        relative pivot of each goal in `pivot_goals`, then the influence of the reactions on each of
        `singular_goals`.
    guards
        (t, x, p) -> the guards of the `events`, one after the other; `guarded` names each event.
    watched, pivot_goals, events
        The names or objects of these, in order.
    singular_goals
        Goals that lose their grip wherever the motion comes to rest, and were accepted
        nevertheless.
    plan
        How the reactions were eliminated.
    project
        (t, x, p) -> the nearest consistent x; None if nothing is projected.
    chart
        How x represents the states; None if x begins with them.
    stiff
        Whether it contains decaying dynamics far faster than the motion.
    equations
        The same equations before the elimination, used for Jacobians of large systems; None if not
        available.
    holds
        The places in p of the values that hold goals released at times.
    borne
        The guards that depend on reactions.
    whole
        (t, x, p) -> the parts of all functions; see `functions_of`. Modes of a large problem are
        made of it; None if the functions are the same in all modes.
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
    holds: tuple[int, ...] = ()
    borne: tuple[int, ...] = ()
    whole: ca.Function | None = None

    @cached_property
    def _modes(self) -> dict[frozenset[int], OdeProblem]:
        """The problem without the goals that some modes release; the latest last."""
        return {}

    def in_mode(self, p: np.ndarray) -> OdeProblem:
        """Return the problem for values that release the same goals as p, if it is large.

        Its functions take the same arguments and return the same, but compute nothing for most
        goals that are released: of many contacts only those that close cost something. What has
        been held is often held again, so new functions serve the modes before as well.
        """
        if self.whole is None:
            return self
        released = frozenset(place for place in self.holds if p[place] == 0.0)
        if not released:
            return self
        for known in reversed(self._modes):
            if known <= released:
                return self._modes[known]
        return self._added(self.whole, released)

    def _added(self, whole: ca.Function, released: frozenset[int]) -> OdeProblem:
        """Make functions for another mode, and for those before unless they become too large."""
        modes = self._modes
        widened = released.intersection(*list(modes)[-1:])
        made = self._without(whole, widened)
        sizes = [known.rhs.n_instructions() for known in modes.values()]
        if sizes and made.rhs.n_instructions() > WIDEST * min(sizes):
            widened, made = released, self._without(whole, released)
        modes[widened] = made
        if len(modes) > MOST_MODES:
            del modes[next(iter(modes))]
        return made

    def _without(self, whole: ca.Function, released: Collection[int]) -> OdeProblem:
        """Return the problem with zeros in place of some values."""
        t, x, p = arguments = [whole.sx_in(k) for k in range(3)]
        values = ca.SX(p)
        values[list(released)] = 0.0
        functions = functions_of(arguments, whole.call([t, x, values]))
        return replace(self, **functions, whole=None)

    def block(
        self, name: str, times: np.ndarray, states: np.ndarray, values: np.ndarray
    ) -> list[np.ndarray]:
        """Return what a function returns for many states, as `evaluate_block` does.

        Parameters
        ----------
        name
            "rhs", "recover", "residuals" or "guards".
        times, states
            (k,) and (k, size).
        values
            p, shared by all states, (np,), or given for each, (k, np).
        """
        if values.ndim == 1 or not len(values):
            problem = self if values.ndim > 1 else self.in_mode(values)
            return evaluate_block(getattr(problem, name), times, states, values)
        problems = list(map(self.in_mode, values))
        ends = [k for k in range(1, len(problems)) if problems[k] is not problems[k - 1]]
        parts = [
            evaluate_block(getattr(problems[a], name), times[a:b], states[a:b], values[a:b])
            for a, b in pairwise([0, *ends, len(problems)])
        ]
        return parts[0] if len(parts) == 1 else [*map(np.concatenate, zip(*parts, strict=True))]

    @cached_property
    def guarded(self) -> tuple[Event, ...]:
        """The event of each guard."""
        return tuple(event for event in self.events for _ in range(event.count))

    def value_vector(self, values: Mapping[str, float]) -> np.ndarray:
        """Return p as numbers: the defaults, with some overridden by name."""
        return np.array([values.get(name, default) for name, default in self.values.items()])

    def enter(
        self, time: float, states: np.ndarray, p: np.ndarray, works: np.ndarray | None = None
    ) -> np.ndarray:
        """Return x from the states named by labels and the work integrals, zero at the start."""
        x = states
        if self.chart is not None:
            x = np.asarray(self.chart.restrict(time, states, p)).ravel()
        return np.concatenate([x, np.zeros(self.size - len(x)) if works is None else works])

    def visible(self, times: np.ndarray, table: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the states named by labels, (k, n), from a table of x, (k, size).

        p is shared by all rows, (np,), or given for each, (k, np).
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

    The inherited members describe the same motion with z eliminated: `rhs` is the underlying
    ordinary differential equation, and `recover` computes accelerations and reactions from the
    state.

    Parameters
    ----------
    unknowns
        The names of z.
    differential
        (t, x, z, p) -> x'
    algebraic
        (t, x, z, p) -> g, as many as z.
    surplus
        (t, x, p) -> further constraints for overdetermined solvers; empty in other forms.
    consistent
        (t, x, p) -> (x', z) at a state that fulfils all constraints.
    form
        Its form, one of `FORMS`.
    indices
        The index of each entry of (x, z) after Hairer and Wanner, Solving ODEs II, VII.1: 1 for
        ordinary ones. An error in a variable of index i grows like h^(1-i) as the step h shrinks.
    """

    unknowns: tuple[str, ...]
    differential: ca.Function
    algebraic: ca.Function
    surplus: ca.Function
    consistent: ca.Function
    form: str
    indices: tuple[int, ...]

"""What a formulation hands to a solver: CasADi functions of (t, x, p), and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from daesolve.dynamics import Dynamics
from daesolve.elimination import EliminationPlan
from daesolve.goals import Event
from daesolve.symbols import Labels


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
    """

    name: str
    goal: str
    kind: str
    driven: bool
    rate: str | None
    note: str = ""


@dataclass(frozen=True, eq=False)
class OdeProblem:
    """An explicit ordinary differential equation, with what is needed to show and to watch it.

    Parameters
    ----------
    labels
        Names and units; `labels.states` are the first entries of x, work integrals may follow.
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
        (t, x, p) -> the guards in the order of `events`.
    watched, pivot_goals, events
        What these are.
    singular_goals
        Goals that lose their grip wherever the motion comes to rest, and were accepted so.
    plan
        How the reactions were eliminated.
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


class Formulation(ABC):
    """A way to make an integrable problem of any system."""

    name: str

    @abstractmethod
    def problem(
        self,
        dynamics: Dynamics,
        plan: EliminationPlan,
        conserved: Mapping[str, bool],
        rates: Mapping[str, float | None],
    ) -> OdeProblem:
        """Build the problem.

        Parameters
        ----------
        dynamics
            The equations.
        plan
            How to eliminate the reactions.
        conserved
            For each invariant, whether it is.
        rates
            From `chosen_rates`; only which of them are None shapes the problem.
        """

    @abstractmethod
    def chosen_rates(self, dynamics: Dynamics, default: float) -> dict[str, float | None]:
        """Return the rate of each goal in 1/s, None (never zero) where it is only measured.

        Parameters
        ----------
        dynamics
            The equations.
        default
            The rate of goals for which nothing else is chosen.
        """

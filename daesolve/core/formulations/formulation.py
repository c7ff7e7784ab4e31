"""The contract of a formulation: its input, its result, and the properties that it declares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, ClassVar

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics, InvariantRow
from daesolve.core.equations.elimination.saddle import EliminationPlan
from daesolve.core.formulations.problem import OdeProblem
from daesolve.core.formulations.rates import Rate, Rates
from daesolve.core.posing.symbols import symbol
from daesolve.errors import PosingError


@dataclass(frozen=True, eq=False)
class Elimination:
    """A system, and the decisions made about it before a formulation builds its functions.

    Parameters
    ----------
    dynamics
        The equations.
    plan
        How to eliminate the reactions.
    conserved
        Whether each invariant is conserved.
    rates
        The rate of each goal, from `Formulation.chosen_rates`. The numbers are values of p; only
        which of them are None shapes the functions.
    """

    dynamics: Dynamics
    plan: EliminationPlan
    conserved: Mapping[str, bool]
    rates: Mapping[str, float | None]

    @property
    def driven_invariants(self) -> list[InvariantRow]:
        """The invariants of velocities whose errors the accelerations correct."""
        return [
            row
            for row in self.dynamics.invariants
            if row.on == "velocities"
            and self.rates[row.name] is not None
            and self.conserved[row.name]
            and not row.by_relation
        ]

    @property
    def metered_invariants(self) -> list[InvariantRow]:
        """The invariants that are not conserved; the work done on each is a separate state."""
        rows = self.dynamics.invariants
        return [row for row in rows if row.automatic and not self.conserved[row.name]]

    @property
    def work_names(self) -> tuple[str, ...]:
        """The names of the work integrals, which follow the states in x."""
        works = [f"work_{row.name}" for row in self.metered_invariants]
        return (*works, *self.dynamics.meters)

    @cached_property
    def works(self) -> ca.SX:
        """The work integrals as a column of symbols; x is `dynamics.x` followed by these."""
        return ca.vertcat(ca.SX(0, 1), *[symbol(name) for name in self.work_names])

    def powers(self, accelerations: ca.SX, reactions: ca.SX | None = None) -> ca.SX:
        """Return the rates of the work integrals.

        Parameters
        ----------
        accelerations
            v' as an expression.
        reactions
            The expression of the reactions; None leaves them as symbols.
        """
        rows = self.metered_invariants
        works = [row.bias + row.jacobian @ accelerations for row in rows]
        meters = ca.vertcat(ca.SX(0, 1), *[power for power, _ in self.dynamics.meters.values()])
        if reactions is not None:
            meters = ca.substitute(meters, self.dynamics.reactions, reactions)
        return ca.vertcat(ca.SX(0, 1), *works, meters)


class Formulation(ABC):
    """A way to turn any system into an integrable problem.

    A formulation is a frozen dataclass of its settings, so equal formulations make equal problems.
    The following members describe it to other modules.
    """

    name: ClassVar[str]
    """Its name in Python and on the command line, in lower case with hyphens."""
    makes: ClassVar[str] = "ode"
    """The form of its problems, one of `FORMS`."""
    parameters_of_functions: ClassVar[tuple[str, ...]] = ("rate", "rates")
    """Settings that are values of p; changing them reuses the same functions."""
    number: ClassVar[str | None] = None
    """The setting that may follow the name, such as the mobility in "viscous:1e-7"."""
    wraps: ClassVar[tuple[str, str] | None] = None
    """The setting that holds another formulation, and the name of the default one; the title of
    any other follows the name, as in "projected:index-1"."""
    releases: ClassVar[bool] = False
    """Whether it releases constraints where contacts open."""
    chooses_goals: ClassVar[bool] = False
    """Whether it can change, during a run, which of several dependent goals it keeps."""
    replaces_constraints: ClassVar[bool] = False
    """Whether it continues, with replacements, where constraints become dependent."""
    projects: ClassVar[bool] = False
    """Whether it moves states back to the constraints between steps."""
    stiff: ClassVar[bool] = False
    """Whether it adds dynamics that are far faster than the motion."""
    solved_best_by: ClassVar[tuple[str, str] | None] = None
    """The solver to choose automatically, by name, and the reason; None leaves the usual choice."""

    @property
    def title(self) -> str:
        """Its name in reports and on the command line."""
        if self.number is not None:
            return f"{self.name}:{float(getattr(self, self.number))!r}"
        if self.wraps is not None:
            setting, usual = self.wraps
            inner: Formulation = getattr(self, setting)
            return self.name if inner.title == usual else f"{self.name}:{inner.title}"
        return self.name

    @property
    def form(self) -> str:
        """The form of its problems, one of `FORMS`; solvers that do not fit are refused early."""
        return self.makes

    @property
    def common_rate(self) -> Rate:
        """The rate given for all goals; zero if it accepts none."""
        return getattr(self, "rate", 0.0)

    @property
    def single_rates(self) -> Rates:
        """The rates given for single goals."""
        return getattr(self, "rates", {})

    @property
    def shape(self) -> tuple[object, ...]:
        """The settings that shape the functions: the class, and all but the values of p.

        Raises
        ------
        PosingError
            A setting cannot be compared, or is not a field of the dataclass.
        """
        given = settings_of(self)
        return (
            type(self),
            *[
                _comparable(self.name, name, value)
                for name, value in given.items()
                if name not in self.parameters_of_functions
            ],
        )

    def values(self, dynamics: Dynamics) -> dict[str, float]:
        """Return the values of p set by its settings, by name."""
        return {}

    def notes(self, dynamics: Dynamics) -> tuple[str, ...]:
        """Return its notes for the report."""
        return ()

    @abstractmethod
    def chosen_rates(self, dynamics: Dynamics, default: float) -> dict[str, float | None]:
        """Return the rate of each goal in 1/s; None (never zero) if it is only measured.

        Parameters
        ----------
        dynamics
            The equations.
        default
            The rate of goals without another one.
        """

    @abstractmethod
    def problem(self, elimination: Elimination) -> OdeProblem:
        """Build the problem.

        x consists of the states, or their chart coordinates, followed by `elimination.works`, whose
        rates are `elimination.powers(...)`.
        """

    def built(self, elimination: Elimination) -> OdeProblem:
        """Build the problem, and check the lengths of what its functions return.

        Raises
        ------
        PosingError
            A length is wrong; the message names the function and the difference.
        """
        problem = self.problem(elimination)
        labels, works = problem.labels, elimination.work_names
        shown = len(labels.states)
        if problem.chart is not None:
            shown = problem.chart.restrict.numel_out(0)
        watched = len(problem.watched) + 1 + len(problem.pivot_goals)
        lengths = {
            "x": (problem.size, max(problem.size, shown + len(works))),
            "the state that rhs takes": (problem.rhs.numel_in(1), problem.size),
            "the rate that rhs returns": (problem.rhs.numel_out(0), problem.size),
            "p of rhs": (problem.rhs.numel_in(2), len(problem.values)),
            "the reactions of recover": (problem.recover.numel_out(1), len(labels.reactions)),
            "the outputs of recover": (problem.recover.numel_out(2), len(labels.outputs)),
            "the table of residuals": (problem.residuals.numel_out(0), watched),
            "the table of guards": (problem.guards.numel_out(0), len(problem.guarded)),
        }
        for what, (found, wanted) in lengths.items():
            if found == wanted:
                continue
            lacks = f"{what} has {found} entries, but must have {wanted}"
            if works and wanted - found == len(works):
                lacks += (
                    f": the work integrals {', '.join(map(repr, works))} are missing, which follow "
                    "the states as elimination.works and grow at elimination.powers(...)"
                )
            raise PosingError(f"the formulation {self.name!r} builds a wrong problem: {lacks}")
        return problem


def settings_of(made: object) -> dict[str, Any]:
    """Return the settings of a formulation or solver by name.

    Raises
    ------
    PosingError
        It is not a dataclass, or has settings besides its fields.
    """
    kind = type(made)
    names = [entry.name for entry in fields(made)] if is_dataclass(made) else []
    kept = {name for base in kind.__mro__ for name in vars(base)}
    others = [name for name in getattr(made, "__dict__", {}) if name not in {*names, *kept}]
    if others or not is_dataclass(made):
        raise PosingError(
            f"{kind.__name__} must be a frozen dataclass, so that its settings are known: "
            "write @dataclass(frozen=True) above it"
            + (f", and make {', '.join(map(repr, others))} fields of it" if others else "")
        )
    return {name: getattr(made, name) for name in names}


def _comparable(owner: str, name: str, value: object) -> tuple[object, ...]:
    """Return a value that equal settings share; 1, 1.0 and True remain different."""
    if isinstance(value, Formulation):
        return (name, *value.shape)
    try:
        hash(value)
    except TypeError:
        raise PosingError(
            f"the setting {name!r} of the formulation {owner!r} is a {type(value).__name__}, "
            "which may change: give numbers, words or tuples of them, or, if it is a value of "
            "p, name the setting in parameters_of_functions"
        ) from None
    return (name, type(value), repr(value) if isinstance(value, float) else value)

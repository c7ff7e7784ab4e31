"""Pairs formulations, solvers and tolerances for a comparison, and names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from daesolve.core.formulations import Formulation
from daesolve.core.preparation.naming import formulation_of, solver_of
from daesolve.core.solvers import Solver
from daesolve.errors import MissingBackendError, OutOfRangeError, UnsupportedError, is_number

LEADING = ("tolerance", "rtol")
"""What a solver may call the tolerance that is chosen; an absolute one keeps its ratio to it."""


USUAL_FORMULATIONS = ("feedback", "null-space", "index-1", "index-2", "ggl")
USUAL_SOLVERS = ("taylor", "dop853", "idas")
"""The names of the solvers that are compared by default."""
USUAL_TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
"""As many make a line of the work for a precision."""

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Refused:
    """What was not run, and why; `tolerance` is None if the pair itself cannot meet."""

    formulation: str
    solver: str
    tolerance: float | None
    reason: str


@dataclass(frozen=True)
class Attempt:
    """A formulation with a solver with chosen tolerances, and the names of both."""

    formulation_name: str
    formulation: Formulation
    solver_name: str
    solver: Solver

    @property
    def tolerance(self) -> float | None:
        """The chosen tolerance; None for a solver without one."""
        name = _leading(self.solver)
        return None if name is None else self.solver.tolerances()[name]

    def __str__(self) -> str:
        settings = [f"{name} {value:.2g}" for name, value in self.solver.tolerances().items()]
        return ", ".join([f"{self.formulation_name} + {self.solver_name}", *settings])


def _listed(what: str, entries: Iterable[Entry]) -> list[Entry]:
    try:
        names = None if isinstance(entries, str) else list(entries)
    except TypeError:
        names = None
    if names is None:
        raise UnsupportedError(f"{what} must be a list, [{entries!r}], not {entries!r}")
    if any(entry is None for entry in names):
        raise UnsupportedError(f"{what} contain None: leave it out")
    return names


def attempts(
    formulations: Sequence[Formulation | str] | None,
    solvers: Sequence[Solver | str] | None,
    tolerances: Sequence[float] | None,
) -> tuple[list[Attempt], list[Refused]]:
    """List the pairs to run, and those that cannot even be created.

    Parameters
    ----------
    formulations, solvers
        Objects or names; None takes the usual ones, in all pairs that fit.
    tolerances
        For every solver that has one; None takes its own, or the usual ones if formulations or
        solvers are left out.

    Raises
    ------
    UnknownNameError
        A formulation or solver is unknown.
    UnsupportedError
        An entry is neither an object nor a name.
    OutOfRangeError
        There is no formulation or no solver, or a tolerance is not positive.
    """
    usual = formulations is None or solvers is None
    tolerances = USUAL_TOLERANCES if usual and tolerances is None else tolerances
    formulations = _listed(
        "formulations", USUAL_FORMULATIONS if formulations is None else formulations
    )
    solvers = _listed("solvers", USUAL_SOLVERS if solvers is None else solvers)
    levels = [] if tolerances is None else _listed("tolerances", tolerances)
    if not formulations or not solvers:
        raise OutOfRangeError("a comparison needs at least one formulation and one solver")
    for tolerance in levels:
        if not (is_number(tolerance) and tolerance > 0):
            raise OutOfRangeError(f"the tolerance is {tolerance!r}, but must be a number > 0")
    methods = [formulation_of(entry) for entry in formulations]
    method_names = distinct_names(methods)
    made: list[Solver] = []
    missing: list[tuple[str, float | None, str]] = []
    for entry in solvers:
        try:
            made.append(solver_of(entry))
        except MissingBackendError as error:
            missing.append((str(entry), None, str(error)))
    ready: list[tuple[str, Solver]] = []
    for name, solver in zip(distinct_names(made), made, strict=True):
        for tolerance in levels if levels and _leading(solver) else (None,):
            try:
                ready.append((name, with_tolerance(solver, tolerance) if tolerance else solver))
            except OutOfRangeError as error:
                missing.append((name, tolerance, str(error)))
    return (
        [
            Attempt(method_name, method, solver_name, solver)
            for method_name, method in zip(method_names, methods, strict=True)
            for solver_name, solver in ready
            if not usual or method.form in solver.forms
        ],
        [
            Refused(method_name, solver_name, tolerance, reason)
            for method_name in method_names
            for solver_name, tolerance, reason in missing
        ],
    )


def _leading(solver: Solver) -> str | None:
    """Return the name of the tolerance that is chosen; None if the solver has none."""
    return next((name for name in LEADING if name in solver.tolerances()), None)


def with_tolerance(solver: Solver, tolerance: float) -> Solver:
    """Return a solver with another tolerance; the absolute one keeps its ratio to it.

    Raises
    ------
    OutOfRangeError
        The solver has no tolerance, or cannot use this one.
    """
    name, present = _leading(solver), solver.tolerances()
    if name is None:
        raise OutOfRangeError(
            f"{solver.name} has no tolerance, so it cannot be set to {tolerance:g}"
        )
    changed = {name: tolerance}
    if "atol" in present:
        changed["atol"] = tolerance * (present["atol"] / present[name])
    settings: Any = solver  # every solver is a dataclass, each with settings of its own
    return replace(settings, **changed)


def distinct_names(entries: Sequence[Formulation] | Sequence[Solver]) -> list[str]:
    """Name formulations or solvers, distinguished by their settings if two share a name."""
    named = [
        f"{entry.name}({settings})" if (settings := _settings(entry, entries)) else entry.name
        for entry in entries
    ]
    return [
        f"{name} #{named[: place + 1].count(name)}" if named.count(name) > 1 else name
        for place, name in enumerate(named)
    ]


def _settings(entry: Any, entries: Sequence[Any]) -> str:
    """List the settings in which an entry differs from others of its name."""
    others = [other for other in entries if other.name == entry.name]
    names = [field.name for field in fields(entry)] if is_dataclass(entry) else []
    return ", ".join(
        f"{name}={_short(getattr(entry, name))}"
        for name in names
        if any(getattr(other, name) != getattr(entry, name) for other in others)
    )


def _short(value: Any) -> str:
    return str(getattr(value, "name", value))

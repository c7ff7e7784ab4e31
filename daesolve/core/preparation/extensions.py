"""Formulations and solvers of installed packages, by their entry points.

A package offers its classes under the groups `daesolve.formulations` and `daesolve.solvers`, each
by the class's own `name`. One that cannot be loaded is named, and does not affect the others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from daesolve.core.formulations import FORMULATIONS, Formulation
from daesolve.core.solvers import SOLVERS, Solver
from daesolve.core.solvers.elsewhere import usual_name
from daesolve.errors import PluginError, UnknownNameError, in_words, unknown_name

FORMULATION_GROUP = "daesolve.formulations"
SOLVER_GROUP = "daesolve.solvers"
Wrong = Callable[[str, object], str | None]
"""Returns what is wrong with the object of an entry point; None if nothing is."""


@dataclass(frozen=True)
class BrokenPlugin:
    """A plugin that could not be loaded, and why."""

    name: str
    source: str
    reason: str


def load(point: EntryPoint, wrong: Wrong) -> Any:
    """Load what an entry point names.

    Raises
    ------
    PluginError
        It cannot be loaded, or is of the wrong kind.
    """
    try:
        loaded = point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginError(
            f"the plugin {point.name!r} ({point.value}) cannot be loaded: {in_words(error)}"
        ) from error
    fault = wrong(point.name, loaded)
    if fault is not None:
        raise PluginError(f"the plugin {point.name!r} ({point.value}) {fault}")
    return loaded


def offered(group: str, wrong: Wrong) -> tuple[tuple[Any, ...], tuple[BrokenPlugin, ...]]:
    """Load everything that is offered under a group.

    Returns
    -------
    offered
        What could be loaded, in the order of the names.
    broken
        The names of the others, each with the reason.
    """
    found: list[Any] = []
    broken: list[BrokenPlugin] = []
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        try:
            found.append(load(point, wrong))
        except PluginError as error:
            source = point.dist.name if point.dist is not None else point.value
            broken.append(BrokenPlugin(point.name, source, str(error)))
    return tuple(found), tuple(broken)


def formulations() -> tuple[dict[str, type[Formulation]], tuple[BrokenPlugin, ...]]:
    """Return every formulation by its name, the library's own first; and what is broken."""
    found, broken = offered(FORMULATION_GROUP, _wrong_formulation)
    return {**FORMULATIONS, **{kind.name: kind for kind in found}}, broken


def solvers() -> tuple[dict[str, type[Solver]], tuple[BrokenPlugin, ...]]:
    """Return every solver by its name, the library's own first; and what is broken."""
    found, broken = offered(SOLVER_GROUP, _wrong_solver)
    return {**SOLVERS, **{kind.name: kind for kind in found}}, broken


def formulation_kind(name: str, whole: str | None = None) -> type[Formulation]:
    """Return the class of a formulation by its name.

    Parameters
    ----------
    name
        The name.
    whole
        The whole request, including what follows the name.

    Raises
    ------
    UnknownNameError, PluginError
        It does not exist, or cannot be loaded.
    """
    return _kind("formulation", name, whole, FORMULATIONS, FORMULATION_GROUP, _wrong_formulation)


def solver_kind(name: str) -> type[Solver]:
    """Return the class of a solver by its name.

    Raises
    ------
    UnknownNameError, PluginError
        It does not exist, or cannot be loaded.
    """
    return _kind("solver", name, None, SOLVERS, SOLVER_GROUP, _wrong_solver)


def installed_as(kind: type[Formulation] | type[Solver]) -> str | None:
    """Return the name by which a class can be found again; None if there is none."""
    own = FORMULATIONS if issubclass(kind, Formulation) else SOLVERS
    name = kind.name
    if name in own:
        return name if own[name] is kind else None
    try:
        found = formulation_kind(name) if own is FORMULATIONS else solver_kind(name)
    except (LookupError, PluginError):
        return None
    return name if found is kind else None


def _kind(
    what: str, name: str, whole: str | None, own: dict[str, Any], group: str, wrong: Wrong
) -> Any:
    if name in own:
        return own[name]
    points = {point.name: point for point in entry_points(group=group)}
    if name not in points:
        known_as = usual_name(name) if own is SOLVERS else None
        if known_as is not None:
            raise UnknownNameError(
                f"unknown solver {name!r}: here the nearest in kind is {known_as!r}"
            )
        raise unknown_name(what, name if whole is None else whole, [*own, *points])
    return load(points[name], wrong)


def _wrong_formulation(name: str, given: object) -> str | None:
    return _wrong(name, given, Formulation, "daesolve.Formulation", FORMULATIONS)


def _wrong_solver(name: str, given: object) -> str | None:
    return _wrong(name, given, Solver, "daesolve.Solver", SOLVERS)


def _wrong(name: str, given: object, base: type, wanted: str, own: dict[str, Any]) -> str | None:
    if not (isinstance(given, type) and issubclass(given, base)):
        return f"gives {given!r}, but must give a class that inherits from {wanted}"
    if name in own:
        return "has a name that the library already uses: choose another"
    called = getattr(given, "name", None)
    if called != name:
        return f"gives {given.__name__}, whose name is {called!r}: use one name for both"
    if not is_dataclass(given):
        return f"gives {given.__name__}, which must be a frozen dataclass of its settings"
    if inspect.isabstract(given):
        missing: frozenset[str] = getattr(given, "__abstractmethods__", frozenset())
        return f"gives {given.__name__}, which lacks {', '.join(sorted(missing))}"
    return None

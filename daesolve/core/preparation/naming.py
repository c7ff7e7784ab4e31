"""Formulations and solvers by the names that the command line and Python share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, overload

from daesolve.core.formulations import Feedback, Formulation
from daesolve.core.preparation.extensions import formulation_kind, formulations, solver_kind
from daesolve.core.solvers import Solver, Taylor
from daesolve.errors import OutOfRangeError, UnsupportedError, unknown_name


def named_in(title: str) -> tuple[type[Formulation], str]:
    """Return the class of a formulation, and what follows its name.

    Parameters
    ----------
    title
        A name, optionally followed by a number or the formulation that it wraps.

    Returns
    -------
    kind
        The class.
    behind
        The number, or ""; or the title of the wrapped formulation, by default the usual one.

    Raises
    ------
    UnknownNameError, PluginError
        The name is unknown, or nothing may follow it.
    """
    outer, colon, behind = title.partition(":")
    kind = formulation_kind(outer, title)
    if colon and not (behind and (kind.number or kind.wraps)):
        raise unknown_name("formulation", title, formulations()[0])
    return kind, behind or ("" if kind.wraps is None else kind.wraps[1])


def formulation_named(name: str, rates: Mapping[str, Any] | None = None) -> Formulation:
    """Create a formulation from its name.

    Parameters
    ----------
    name
        The name of a formulation of the library or of an installed package. `projected:index-1`
        wraps a formulation other than feedback; `viscous:1e-7` gives the mobility,
        `regularised:1e-3` the speed.
    rates
        `rate` and `rates` of the formulation; by default none.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        The formulation is unknown, a number is invalid, or the formulation has no rates.
    """
    settings = dict(rates or {})
    kind, behind = named_in(name)
    if kind.wraps is not None:
        return kind(**{kind.wraps[0]: formulation_named(behind, settings)})
    if behind and kind.number:
        settings[kind.number] = _number(kind.name, kind.number.upper(), behind)
    if rates and "rate" not in {entry.name for entry in fields(kind)}:  # pyright: ignore
        raise OutOfRangeError(
            f"the formulation {name!r} has no rates, because the solver imposes the "
            "constraints; leave out --rate"
        )
    return kind(**settings)


def solver_named(name: str, settings: Mapping[str, Any] | None = None) -> Solver:
    """Create a solver from its name.

    Parameters
    ----------
    name
        The name of a solver of the library or of an installed package.
    settings
        Its fields by name; by default its own.

    Raises
    ------
    UnknownNameError
        The solver is unknown.
    OutOfRangeError
        A setting is invalid.
    MissingBackendError
        Its package is not installed.
    """
    return solver_kind(name)(**(settings or {}))


@overload
def formulation_of(given: None) -> None: ...
@overload
def formulation_of(given: Formulation | str) -> Formulation: ...
def formulation_of(given: Formulation | str | None) -> Formulation | None:
    """Return a formulation given as an object or by its name; None stays None.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        The formulation is unknown, or a number in its name is invalid.
    UnsupportedError
        It is neither a formulation nor a name, such as a class.
    """
    if isinstance(given, str):
        return formulation_named(given)
    _check_kind("formulation", given, Formulation, "ds.Feedback()", Feedback.name)
    return given


@overload
def solver_of(given: None) -> None: ...
@overload
def solver_of(given: Solver | str) -> Solver: ...
def solver_of(given: Solver | str | None) -> Solver | None:
    """Return a solver given as an object or by its name; None stays None.

    Raises
    ------
    UnknownNameError, MissingBackendError
        The solver is unknown, or its package is not installed.
    UnsupportedError
        It is neither a solver nor a name, such as a class.
    """
    if isinstance(given, str):
        return solver_named(given)
    _check_kind("solver", given, Solver, "ds.Taylor()", Taylor.name)
    return given


def made_by_name(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of `solve`, with formulation and solver created from their names if necessary.

    Raises
    ------
    UnknownNameError, OutOfRangeError, UnsupportedError, MissingBackendError
        As in `formulation_of` and `solver_of`.
    """
    made = dict(options)
    if "formulation" in made:
        made["formulation"] = formulation_of(made["formulation"])
    if "solver" in made:
        made["solver"] = solver_of(made["solver"])
    return made


def _check_kind(option: str, given: object, kind: type, right: str, name: str) -> None:
    if given is not None and not isinstance(given, kind):
        raise UnsupportedError(
            f"the {option} is {given!r}, but must be an instance like {right}, or a name like "
            f"{name!r}"
        )


def _number(formulation: str, what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OutOfRangeError(
            f"the formulation {formulation}:{what} needs a number, not {text!r}"
        ) from None

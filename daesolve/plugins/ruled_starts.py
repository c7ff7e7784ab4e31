"""Finds the parameters from which the start of a case follows by the rules of its problem."""

from __future__ import annotations

import warnings
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    ValuesView,
)
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.posing.symbols import symbol
from daesolve.errors import Named
from daesolve.export.named import StartRule

ROUNDED = 1e-13
"""How far expressions may differ from the numbers of a rule, as a fraction of the start value, or
of 1 if the value is smaller."""


class ReadTracker(Named[Any]):
    """Values by name that record which of them are read.

    Parameters
    ----------
    values
        The values.

    Attributes
    ----------
    read
        The names of those that were read.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values, "parameter")
        self.read = set[str]()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:  # pyright: ignore
        """Return a value, or the default if there is none."""
        self.read.add(name)
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self.read.update(super().keys())
        return super().__iter__()

    def keys(self) -> KeysView[str]:  # pyright: ignore
        """Return the names; all values count as read then."""
        self.read.update(super().keys())
        return super().keys()  # pyright: ignore

    def items(self) -> ItemsView[str, Any]:  # pyright: ignore
        """Return names and values; all count as read then."""
        self.read.update(super().keys())
        return super().items()  # pyright: ignore

    def values(self) -> ValuesView[Any]:  # pyright: ignore
        """Return the values; all count as read then."""
        self.read.update(super().keys())
        return super().values()  # pyright: ignore


def traced(
    rule: Callable[..., object],
    start: Mapping[str, float],
    parameters: Mapping[str, float],
    structure: Mapping[str, Any],
) -> StartRule | None:
    """Return the result of a rule as expressions of parameters; None if it only accepts numbers.

    Parameters
    ----------
    rule, start, parameters, structure
        As in `settled`; the rule is called with symbols instead of the parameters.
    """
    symbols = {name: symbol(name) for name in parameters}
    try:
        with warnings.catch_warnings():
            # Functions of NumPy do not always say what symbols mean: CasADi warns of that.
            warnings.simplefilter("error")
            found: Any = rule(start, Named(symbols, "parameter"), structure)
        states = {str(name): ca.SX(value) for name, value in found.items()}
    except Exception:  # It is a plugin's, and made for numbers.
        return None
    scalar = all(state.is_scalar() for state in states.values())
    return StartRule(symbols, states) if scalar else None


def settled(
    rules: Iterable[Callable[..., object] | None],
    start: Mapping[str, float],
    parameters: Mapping[str, float],
    structure: Mapping[str, Any],
) -> frozenset[str]:
    """Return the parameters that rules read.

    Parameters
    ----------
    rules
        Functions of start values, parameters and structure; each is called once.
    start, parameters, structure
        Their arguments.
    """
    noted = ReadTracker(parameters)
    for rule in rules:
        if rule is not None:
            rule(start, noted, structure)
    return frozenset(noted.read & {*parameters})


def ruled_start(
    rule: Callable[..., object] | None,
    derived: Callable[..., object] | None,
    given: tuple[Mapping[str, float], Mapping[str, float], Mapping[str, Any]],
) -> tuple[frozenset[str], StartRule | None]:
    """Return the parameters that cannot be set in a unit, and the rule of its start.

    Parameters
    ----------
    rule, derived
        The rules of a problem for its start, and for parameters that follow from others.
    given
        Start values, parameters and structure.
    """
    found = None if rule is None else traced(rule, *given)
    read = settled([rule], *given)
    if found is None or rule is None or not _agree(found, rule(*given), given[1]):
        return read | settled([derived], *given), None
    # What it reads but its expressions do not contain was converted to a number meanwhile.
    column = ca.vertcat(ca.SX(0, 1), *found.states.values())
    kept = {name for name in read if ca.depends_on(column, found.parameters[name])}
    return (read - kept) | settled([derived], *given), found


def _agree(found: StartRule, numbers: Any, parameters: Mapping[str, float]) -> bool:
    """Return whether the expressions of a rule give its numbers, to rounding."""
    symbols = ca.vertcat(ca.SX(0, 1), *found.parameters.values())
    function = ca.Function("rule", [symbols], [ca.vertcat(ca.SX(0, 1), *found.states.values())])
    values = [float(parameters[name]) for name in found.parameters]
    own = np.asarray(function(values)).ravel()
    given = np.array([float(numbers[name]) for name in found.states])
    return bool(np.all(np.abs(own - given) <= ROUNDED * np.maximum(1.0, np.abs(given))))

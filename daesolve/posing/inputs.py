"""Inputs: what acts on a system from outside, which a run says.

An input is a symbol like a parameter. A run gives it a number, or something that changes: an
expression of time and states, a table, a sampled law. Each of these becomes a `Drive`: an
expression in place of the symbol, with the discrete values and the events that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import casadi as ca
import numpy as np

from daesolve.errors import PosingError
from daesolve.posing.axes import Axis
from daesolve.posing.events import Event
from daesolve.posing.symbols import ANY, Parameters, SymbolVector


class Inputs(Parameters):
    """Symbols that a run gives values.

    Attributes
    ----------
    unset
        The names of those without a default: a run that does not give them is refused.
    posed
        The names of all that were declared, those too in whose place a run has put expressions.
    """

    def __init__(self, defaults: Mapping[str, float | None], units: Mapping[str, str]) -> None:
        numbers = {name: 0.0 if value is None else value for name, value in defaults.items()}
        super().__init__(numbers, units, dict.fromkeys(defaults, ANY), "input")
        self.unset = frozenset(name for name, value in defaults.items() if value is None)
        self.posed = tuple(defaults)

    def joined(self, other: SymbolVector) -> Self:
        """Return these and others."""
        whole = super().joined(other)
        assert isinstance(other, Inputs)
        whole.unset = self.unset | other.unset
        whole.posed = (*self.posed, *other.posed)
        return whole

    def without(self, names: Sequence[str]) -> Self:
        """Return those that are left without some."""
        rest = self.part([name for name in self.names if name not in names])
        rest.defaults = {name: self.defaults[name] for name in rest.names}
        rest.ranges = {name: self.ranges[name] for name in rest.names}
        rest.unset = self.unset & {*rest.names}
        rest.posed = self.posed
        return rest


NO_INPUTS = Inputs({}, {})


def inputs(**entries: str | tuple[float, str]) -> Inputs:
    """Declare inputs by name and unit: `inputs(torque="N m", brake=(0.0, "N"))`.

    They may stand wherever parameters may. `solve(..., inputs={"torque": ...})` says what each is:
    a number, an expression of time (`ds.time`), states and parameters, a `table` or a `sampled`
    law. Their values are columns of the result.

    Parameters
    ----------
    **entries
        By its name the unit of each; or its default and its unit. One without a default is to be
        given in every run.

    Raises
    ------
    PosingError
        An entry is something else, or a name is no identifier.

    Examples
    --------
    >>> import casadi as ca
    >>> import daesolve as ds
    >>> q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    >>> cart = ds.MechanicalSystem(q, kinetic=q.dot.x**2, force={"x": u.push}, inputs=u)
    >>> run = ds.solve(cart, 2.0, inputs={"push": 3 * ds.time})
    >>> round(run.end_state["x_dot"], 9), float(run["push"][-1])  # 2 kg
    (3.0, 6.0)
    """
    defaults: dict[str, float | None] = {}
    units: dict[str, str] = {}
    for name, entry in entries.items():
        if isinstance(entry, str):
            defaults[name], units[name] = None, entry
        elif isinstance(entry, tuple) and len(entry) == 2:
            defaults[name], units[name] = entry
        else:
            raise PosingError(
                f"the input {name!r} must be a unit, or (default, unit), not {entry!r}"
            )
    return Inputs(defaults, units)


@dataclass(frozen=True, eq=False)
class PythonLaw:
    """A law in Python, which is called at an instant.

    Parameters
    ----------
    event
        The name of the event at which it is.
    arguments
        What it sees, by name, as expressions of (t, x, p).
    results
        The names of the discrete values that it gives, in the order of what `call` returns.
    call
        Numbers by name -> the results.
    """

    event: str
    arguments: Mapping[str, ca.SX]
    results: tuple[str, ...]
    call: Callable[[Mapping[str, float]], Sequence[float]]


@dataclass(frozen=True, eq=False)
class Lookup:
    """A table at its arguments, as numbers.

    Parameters
    ----------
    axes
        The nodes along each argument.
    coefficients
        (pieces, ..., degree + 1, ...) of the polynomials, lowest first.
    arguments
        Where it is read, as expressions of (t, x, p).
    bases, terms
        The names of the discrete values in which its expression is written: the base of each
        argument, and the coefficients of a piece.
    """

    axes: tuple[Axis, ...]
    coefficients: np.ndarray
    arguments: tuple[ca.SX, ...]
    bases: tuple[str, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Drive:
    """What an expression that changes from time to time adds to a system.

    Parameters
    ----------
    name
        Whose it is.
    values
        Discrete values.
    events
        What changes them.
    begin
        Some of them at the start of a run, as expressions of time, states and values there.
    law
        What gives some of them by Python, where something does.
    period
        Of a sampled law, s: what it sees at an instant is what was there before others changed as
        well. None of others.
    leans
        By the name of a value that is 1.0 where an argument falls at the start, the argument.
    lookup
        The table, where it is one.
    """

    name: str
    values: Parameters
    events: tuple[Event, ...] = ()
    begin: Mapping[str, Any] = field(default_factory=dict[str, Any])
    law: PythonLaw | None = None
    period: float | None = None
    leans: Mapping[str, ca.SX] = field(default_factory=dict[str, ca.SX])
    lookup: Lookup | None = None


def drive_values(defaults: Mapping[str, float]) -> Parameters:
    """Return the discrete values of a drive."""
    empty = dict.fromkeys(defaults, "")
    return Parameters(defaults, empty, dict.fromkeys(defaults, ANY), "discrete value")

"""Inputs: external actions on a system, which each run supplies.

An input is a symbol like a parameter. A run gives it a number or something that varies: an
expression of time and states, a table, a sampled law. Each of these becomes a `Drive`, an
expression that replaces the symbol, with the discrete values and events that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import casadi as ca
import numpy as np

from daesolve.core.posing.axes import Axis
from daesolve.core.posing.events import Event
from daesolve.core.posing.symbols import ANY, Parameters, SymbolVector
from daesolve.errors import PosingError


class Inputs(Parameters):
    """Symbols whose values a run supplies.

    Attributes
    ----------
    unset
        The names of inputs without a default. A run that does not give them is refused.
    posed
        The names of all declared inputs, including those that a run has replaced with expressions.
    """

    def __init__(self, defaults: Mapping[str, float | None], units: Mapping[str, str]) -> None:
        numbers = {name: 0.0 if value is None else value for name, value in defaults.items()}
        super().__init__(numbers, units, dict.fromkeys(defaults, ANY), "input")
        self.unset = frozenset(name for name, value in defaults.items() if value is None)
        self.posed = tuple(defaults)

    def joined(self, other: SymbolVector) -> Self:
        """Join these inputs with others."""
        whole = super().joined(other)
        assert isinstance(other, Inputs)
        whole.unset = self.unset | other.unset
        whole.posed = (*self.posed, *other.posed)
        return whole

    def without(self, names: Sequence[str]) -> Self:
        """Return the inputs without some of them."""
        rest = self.part([name for name in self.names if name not in names])
        rest.defaults = {name: self.defaults[name] for name in rest.names}
        rest.ranges = {name: self.ranges[name] for name in rest.names}
        rest.unset = self.unset & {*rest.names}
        rest.posed = self.posed
        return rest


NO_INPUTS = Inputs({}, {})


def inputs(**entries: str | tuple[float, str]) -> Inputs:
    """Declare inputs by name and unit: `inputs(torque="N m", brake=(0.0, "N"))`.

    Use them wherever parameters are allowed. `solve(..., inputs={"torque": ...})` supplies each: a
    number, an expression of time (`ds.time`), states and parameters, a `table` or a `sampled` law.
    The result contains their values as columns.

    Parameters
    ----------
    **entries
        The unit of each input by name, or its default and unit. Every run must give the inputs
        without a default.

    Raises
    ------
    PosingError
        An entry is something else, or a name is not a valid identifier.

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
    """A law in Python that is called at certain instants.

    Parameters
    ----------
    event
        The name of the event that calls it.
    arguments
        The arguments of the law by name, as expressions of (t, x, p).
    results
        The names of the discrete values that it sets, in the order in which `call` returns them.
    call
        Maps numbers by name to the results.
    """

    event: str
    arguments: Mapping[str, ca.SX]
    results: tuple[str, ...]
    call: Callable[[Mapping[str, float]], Sequence[float]]


@dataclass(frozen=True, eq=False)
class Lookup:
    """A table with its arguments, as numbers.

    Parameters
    ----------
    axes
        The nodes along each argument.
    coefficients
        (pieces, ..., degree + 1, ...) of the polynomials, lowest first.
    arguments
        The arguments, as expressions of (t, x, p).
    bases, terms
        The names of the discrete values in its expression: the base of each argument, and the
        coefficients of a piece.
    """

    axes: tuple[Axis, ...]
    coefficients: np.ndarray
    arguments: tuple[ca.SX, ...]
    bases: tuple[str, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Drive:
    """The parts that an expression with switching pieces adds to a system.

    Parameters
    ----------
    name
        The name of its owner.
    values
        Its discrete values.
    events
        The events that change them.
    begin
        Some of these values at the start of a run, as expressions of time, states and values there.
    law
        The Python law that sets some of them, if any.
    period
        The period of a sampled law, s; None for others. Sampled laws read the values that held at
        an instant before other drives changed theirs.
    leans
        The argument, keyed by the name of a value that is 1.0 if the argument falls at the start.
    lookup
        The table, if it is one.
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

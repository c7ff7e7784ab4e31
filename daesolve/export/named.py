"""CasADi functions whose inputs and outputs are named entry by entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daesolve.errors import OutOfRangeError, PosingError, unknown_name


@dataclass(frozen=True)
class Entry:
    """One number in an input or an output of a function.

    Parameters
    ----------
    name, unit
        As posed: `phi_dot` and `rad/s`. The unit is empty if it is unknown.
    kind
        What it is: "time", "coordinate", "quadrature", "implicit unknown", "velocity", "state",
        "parameter", "input", "discrete value", "reaction", ...
    default
        Its default; None if it has none.
    """

    name: str
    unit: str = ""
    kind: str = ""
    default: float | None = None


Entries = tuple[Entry, ...]


@dataclass(frozen=True)
class LabelledShape:
    """The entries of an input or an output.

    Parameters
    ----------
    rows
        The entries of a column, or what the rows of a matrix are.
    columns
        What the columns of a matrix are; None for a column.
    """

    rows: Entries
    columns: Entries | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rows."""
        return tuple(entry.name for entry in self.rows)

    @property
    def units(self) -> tuple[str, ...]:
        """The units of the rows."""
        return tuple(entry.unit for entry in self.rows)

    @property
    def size(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.rows), 1 if self.columns is None else len(self.columns)


class NamedFunction(ca.Function):
    """A CasADi function whose inputs and outputs have names and units.

    It is called and exported like any other CasADi function; `at` calls it by names.

    Attributes
    ----------
    inputs, outputs
        The entries, by the names of inputs and outputs.

    Examples
    --------
    >>> import daesolve as ds
    >>> q, p = ds.coordinates(height="m"), ds.parameters(gravity=(9.81, "m/s^2"))
    >>> stone = ds.MechanicalSystem(
    ...     q, p, kinetic=q.dot.height**2 / 2, potential=p.gravity * q.height
    ... )
    >>> rhs = stone.function("rhs")
    >>> rhs.inputs["x"].names, rhs.inputs["x"].units
    (('height', 'height_dot'), ('m', 'm/s'))
    >>> rhs.at({"height": 2.0, "height_dot": 1.0}, {"gravity": 10.0})
    {"height'": 1.0, "height_dot'": -10.0}
    """

    def __init__(
        self,
        function: ca.Function,
        inputs: Mapping[str, LabelledShape],
        outputs: Mapping[str, LabelledShape],
    ) -> None:
        super().__init__(function)
        self.inputs, self.outputs = dict(inputs), dict(outputs)
        given = [*self.inputs.values(), *self.outputs.values()]
        sizes = [function.size_in(k) for k in range(function.n_in())]
        sizes += [function.size_out(k) for k in range(function.n_out())]
        if [shape.size for shape in given] != [tuple(size) for size in sizes]:
            raise PosingError(
                f"the function {function.name()!r} has other sizes than the names of its entries"
            )

    def __reduce__(self) -> Any:
        return _restored, (self.serialize(), self.inputs, self.outputs)

    def at(
        self,
        state: Mapping[str, float],
        values: Mapping[str, float] | None = None,
        time: float = 0.0,
    ) -> Any:
        """Return the first output at numbers given by name.

        Parameters
        ----------
        state
            Every state.
        values
            Parameters, inputs and discrete values; those left out have their defaults.
        time
            In s.

        Returns
        -------
        dict or numpy.ndarray
            A dict by name for a column; an array for a matrix.

        Raises
        ------
        UnknownNameError, OutOfRangeError
            The function does not have a name, or a value is missing.
        """
        x = column_at(self.inputs["x"].rows, state, "state")
        p = column_at(self.inputs["p"].rows, values or {}, "value")
        found: Any = self(time, x, p)
        first = next(iter(self.outputs.values()))
        array = np.array(found[0] if isinstance(found, tuple) else found, dtype=float)
        if first.columns is not None:
            return array
        return dict(zip(first.names, array.ravel().tolist(), strict=True))


def _restored(
    text: str, inputs: Mapping[str, LabelledShape], outputs: Mapping[str, LabelledShape]
) -> NamedFunction:
    return NamedFunction(ca.Function.deserialize(text), inputs, outputs)


def column_at(entries: Iterable[Entry], given: Mapping[str, float], what: str) -> np.ndarray:
    """Return numbers given by name as a column in the order of the entries.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        A name is not an entry, or an entry without a default is missing.
    """
    own = tuple(entries)
    names = [entry.name for entry in own]
    for name in given:
        if name not in names:
            raise unknown_name(what, name, names)
    column: list[float] = []
    for entry in own:
        value = given.get(entry.name, entry.default)
        if value is None:
            raise OutOfRangeError(f"the {entry.kind or what} {entry.name!r} is not given")
        column.append(float(value))
    return np.array(column)


@dataclass(frozen=True, eq=False)
class StartRule:
    """States at the start as expressions of parameters.

    Parameters
    ----------
    parameters
        The symbols of the parameters, by name.
    states
        Expressions in these symbols, by name; once evaluated, they are made consistent.
    """

    parameters: Mapping[str, ca.SX]
    states: Mapping[str, ca.SX]

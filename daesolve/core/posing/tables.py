"""Tables of measured values: polynomials between nodes, with coefficients that events change.

    value = sum_k c_k (a - base)^k

c and base are discrete values of the piece that contains the argument a. At a node, the
coefficients of the next piece replace the current ones. Between nodes the motion is smooth, and
only one polynomial is evaluated, however many nodes there are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import casadi as ca
import numpy as np

from daesolve.core.posing.axes import Axis
from daesolve.core.posing.events import RISING, Event, Reset, Stop
from daesolve.core.posing.goals import Expression, as_scalar, is_word
from daesolve.core.posing.inputs import Drive, Lookup, drive_values
from daesolve.core.posing.measured import Column, column_of, grid_of
from daesolve.core.posing.symbols import Parameters, time
from daesolve.errors import OutOfRangeError, PosingError, is_one_of

Kind = Literal["steps", "linear", "cubic", "periodic cubic"]
Outside = Literal["hold", "refuse"]
DEGREES: dict[str, int] = {"steps": 0, "linear": 1, "cubic": 3, "periodic cubic": 3}
BEYOND = 1e-11
"""How far beyond an end a table that refuses still holds, as a fraction of its width: ten times
what counts as zero of a guard, so that a run may end on the last node."""
ROUNDING = 1e-12
"""The least difference of neighbouring values or slopes, as a fraction of the largest."""


@dataclass(frozen=True, eq=False)
class Table:
    """Values over one or two arguments; call the table with arguments to get its expression.

    Parameters
    ----------
    name
        A word.
    axes
        The nodes.
    values
        (n,) or (n, m).
    kind, outside
        As in `table`.
    """

    name: str
    axes: tuple[Axis, ...]
    values: np.ndarray
    kind: Kind
    outside: Outside
    _uses: list[Use] = field(default_factory=list["Use"], repr=False)

    def __call__(self, *arguments: Expression) -> ca.SX:
        """Return the value at given arguments, as an expression for use anywhere.

        Raises
        ------
        PosingError
            The number of scalar expressions differs from the number of arguments.
        """
        if len(arguments) != len(self.axes):
            raise PosingError(
                f"the table {self.name!r} needs {len(self.axes)} arguments, not {len(arguments)}"
            )
        given = tuple(as_scalar(f"the argument of the table {self.name!r}", a) for a in arguments)
        for use in self._uses:
            if all(ca.is_equal(a, b, 1) for a, b in zip(given, use.arguments, strict=True)):
                return use.expression
        number = len(self._uses) + 1
        use = Use(self, self.name if number == 1 else f"{self.name}_{number}", given)
        self._uses.append(use)
        _known.update((symbol.element_hash(), use) for symbol in use.own)
        return use.expression

    @property
    def smooth_to(self) -> int:
        """The highest derivative without a jump between its nodes; -1 if the values jump."""
        degree = DEGREES[self.kind]
        if degree > 1:
            return degree - 1
        for place, axis in enumerate(self.axes):
            last = np.moveaxis(self.values, place, -1)
            if degree == 1:
                last = np.diff(last, axis=-1) / np.diff(axis.nodes)
            size = np.max(np.abs(last), initial=0.0)
            if np.any(np.abs(np.diff(last, axis=-1)) > ROUNDING * size):
                return degree - 1
        return degree

    @property
    def coefficients(self) -> np.ndarray:
        """The coefficients, (pieces, ..., degree + 1, ...)."""
        first = self.axes[0].pieces(self.values)
        if len(self.axes) == 1:
            return first
        inner = self.axes[1].pieces(np.moveaxis(first, 2, 0))
        return np.transpose(inner, (2, 0, 3, 1))


@dataclass(frozen=True, eq=False)
class Use:
    """A table with its arguments.

    Parameters
    ----------
    table, name, arguments
        The table, the prefix of its discrete values, and the arguments.
    """

    table: Table
    name: str
    arguments: tuple[ca.SX, ...]
    values: Parameters = field(init=False)

    def __post_init__(self) -> None:
        defaults: dict[str, float] = {}
        for place, axis in enumerate(self.table.axes):
            names = self._of_axis(place)
            row = [0.0, 0.0, *self._numbers(axis)[0], 0.0]
            defaults |= dict(zip(names, row, strict=True))
        flat = self.table.coefficients.reshape(self._count, -1)[0]
        defaults |= {f"{self.name}_{k}": float(value) for k, value in enumerate(flat)}
        object.__setattr__(self, "values", drive_values(defaults))

    @property
    def own(self) -> list[ca.SX]:
        """The symbols in its expression."""
        return ca.vertsplit(self.values.vector)

    @property
    def _count(self) -> int:
        return int(np.prod([axis.count for axis in self.table.axes]))

    def _of_axis(self, place: int) -> list[str]:
        words = ("piece", "turns", "base", "lower", "upper", "below", "beyond", "falls")
        mark = "" if len(self.table.axes) == 1 else "xy"[place] + "_"
        return [f"{self.name}_{mark}{word}" for word in words]

    @staticmethod
    def _numbers(axis: Axis) -> np.ndarray:
        """Return base, ends, and whether there is a piece on either side, (pieces, 5)."""
        inner, count = axis.borders, axis.count
        first, last = float(axis.nodes[0]), float(axis.nodes[-1])
        lower, upper = np.append(first, inner), np.append(inner, last)
        below, beyond = np.ones(count), np.ones(count)
        if not axis.periodic:
            below[0] = beyond[-1] = 0.0
        return np.stack([axis.bases, lower, upper, below, beyond], axis=1)

    @property
    def expression(self) -> ca.SX:
        """The value as an expression."""
        degrees = [axis.degree + 1 for axis in self.table.axes]
        own = [self.values[f"{self.name}_{k}"] for k in range(int(np.prod(degrees)))]
        away = [
            argument - self.values[self._of_axis(place)[2]]
            for place, argument in enumerate(self.arguments)
        ]
        if len(degrees) == 1:
            return horner(own, away[0])
        rows = [own[k * degrees[1] : (k + 1) * degrees[1]] for k in range(degrees[0])]
        return horner([horner(row, away[1]) for row in rows], away[0])

    def drive(self, fixed: Collection[int], *, constrains: bool = False) -> Drive:
        """Return the parts that it adds to a system.

        Parameters
        ----------
        fixed
            The hashes of the symbols that no motion changes.
        constrains
            Whether a constraint contains it: a run may end at its last node, but not pass it.
        """
        rising = [_rises(argument, fixed) for argument in self.arguments]
        guards = [self._guards(*one, constrains=constrains) for one in enumerate(rising)]
        changes: Any = self._next(rising) if len(rising) > 1 else self._next_of_one(rising[0])
        # An impact may carry the argument past several nodes at once.
        reset = Reset(changes, whenever_past=not all(rising))
        column = [guard for own in guards for guard in own]
        events = [Event(f"{self.name}_node", column, RISING, reset, listed=False)]
        if self.table.outside == "refuse" and self.table.kind != "periodic cubic":
            events.append(self._end())
        found: list[tuple[ca.SX, ca.SX]] = []
        leans: dict[str, ca.SX] = {}
        for place, (axis, argument) in enumerate(zip(self.table.axes, self.arguments, strict=True)):
            name = self._of_axis(place)[-1]
            leans |= {} if rising[place] else {name: argument}
            # At a node, use the piece that the argument enters.
            found.append(axis.found(argument - axis.rounding * self.values[name]))
        return Drive(
            self.name,
            self.values,
            tuple(events),
            begin=self._at(found),
            leans=leans,
            lookup=self._lookup(),
        )

    def _lookup(self) -> Lookup:
        """Return the table as numbers."""
        bases = tuple(self._of_axis(place)[2] for place in range(len(self.table.axes)))
        count = self.table.coefficients[(0,) * len(self.table.axes)].size
        terms = tuple(f"{self.name}_{k}" for k in range(count))
        table = self.table
        return Lookup(table.axes, table.coefficients, self.arguments, bases, terms)

    def _guards(self, place: int, rises: bool, *, constrains: bool) -> list[ca.SX]:
        """Return guards that pass zero at the ends of a piece; negative if no piece follows."""
        argument, own = self.arguments[place], self.values
        _, _, _, lower, upper, below, beyond, _ = (own[name] for name in self._of_axis(place))
        axis = self.table.axes[place]
        late = axis.late if axis.degree else 0.0
        if rises:
            return [beyond * (argument - (upper + late * constrains)) + (beyond - 1)]
        up = beyond * (argument - (upper + late)) + axis.width * (beyond - 1)
        down = below * ((lower - late) - argument) + axis.width * (below - 1)
        return [up, down]

    def _next(self, rising: Sequence[bool]) -> Callable[[ca.SX], Mapping[str, ca.SX]]:
        def changes(passed: ca.SX) -> Mapping[str, ca.SX]:
            found: list[tuple[ca.SX, ca.SX]] = []
            first = 0
            for place, rises in enumerate(rising):
                up = passed[first]
                down = ca.SX(0) if rises else passed[first + 1]
                first += 1 if rises else 2
                found.append(self._after(place, up, down, rises))
            return self._at(found)

        return changes

    def _next_of_one(self, rises: bool) -> dict[str, ca.SX]:
        """Return the changes where the only argument passes a node, on whichever side."""
        (argument,), names = self.arguments, self._of_axis(0)
        _, _, _, lower, upper, below, beyond, _ = (self.values[name] for name in names)
        nearer = ca.SX(2 * argument >= lower + upper)
        up = ca.SX(1) if rises else ca.if_else(below, ca.if_else(beyond, nearer, 0), 1)
        return self._at([self._after(0, up, 1 - up, rises)])

    def _after(self, place: int, up: ca.SX, down: ca.SX, rises: bool) -> tuple[ca.SX, ca.SX]:
        """Return piece and turns after a node, always at least one piece on, despite rounding."""
        axis, names = self.table.axes[place], self._of_axis(place)
        piece, turns = self.values[names[0]], self.values[names[1]]
        count = axis.count
        if rises:
            whole = turns * count + piece + up
        else:
            inner, around = axis.found(self.arguments[place])
            there = around * count + inner
            here = turns * count + piece
            whole = ca.if_else(up, ca.fmax(here + 1, there), here)
            whole = ca.if_else(down, ca.fmin(here - 1, there), whole)
        if not axis.periodic:
            return ca.fmin(ca.fmax(whole, 0), count - 1), ca.SX(0)
        turns = ca.floor(whole / count)
        return whole - turns * count, turns

    def _at(self, found: Sequence[tuple[ca.SX, ca.SX]]) -> dict[str, ca.SX]:
        """Return all values in a piece of each axis."""
        chosen: dict[str, ca.SX] = {}
        hots: list[ca.SX] = []
        for place, (axis, (piece, turns)) in enumerate(zip(self.table.axes, found, strict=True)):
            hot = ca.densify(ca.SX(ca.DM(np.arange(axis.count)) == piece))
            hots.append(hot)
            row = [_picked(hot, column) for column in self._numbers(axis).T]
            ahead = turns * axis.period if axis.periodic else ca.SX(0)
            row = [*(entry + ahead for entry in row[:3]), *row[3:]]
            names = self._of_axis(place)[:-1]
            chosen |= dict(zip(names, [piece, turns, *row], strict=True))
        whole = hots[0] if len(hots) == 1 else ca.vec(hots[1] @ hots[0].T)
        table = self.table.coefficients.reshape(self._count, -1)
        chosen |= {f"{self.name}_{k}": _picked(whole, col) for k, col in enumerate(table.T)}
        return chosen

    def _end(self) -> Event:
        """Return the event that ends a run beyond the nodes."""
        guards: list[ca.SX] = []
        spans: list[str] = []
        for axis, argument in zip(self.table.axes, self.arguments, strict=True):
            first, last = float(axis.nodes[0]), float(axis.nodes[-1])
            width = axis.width
            slack = max(BEYOND * width, 16.0 * axis.rounding)
            # In widths, so that no axis sets what counts as zero of another.
            guards += [(argument - (last + slack)) / width, ((first - slack) - argument) / width]
            spans.append(f"{first:g} to {last:g}")
        why = (
            f"the table {self.table.name!r} has no value here: its nodes go from "
            f"{' and from '.join(spans)}, and outside = 'refuse'"
        )
        return Event(f"{self.name}_end", guards, RISING, Stop(why, whenever_past=True))


_known: dict[int, Use] = {}
"""The tables by the symbols in their expressions, which identify the tables in a system."""


def uses_in(expressions: Iterable[ca.SX]) -> list[Use]:
    """Return the tables in some expressions; tables in arguments of others come first."""
    found: dict[int, Use] = {}
    for expression in expressions:
        for symbol in ca.symvar(expression):
            use = _known.get(symbol.element_hash())
            if use is None or id(use) in found:
                continue
            found |= {id(inner): inner for inner in uses_in(use.arguments)}
            found[id(use)] = use
    return list(found.values())


def _rises(argument: ca.SX, fixed: Collection[int]) -> bool:
    """Return whether an argument equals time up to quantities that no motion changes."""
    others = {symbol.element_hash() for symbol in ca.symvar(argument)} - {time.element_hash()}
    slope = ca.simplify(ca.jacobian(argument, time))
    return others <= {*fixed} and slope.is_constant() and float(slope) == 1.0


def horner(coefficients: Sequence[ca.SX], at: ca.SX) -> ca.SX:
    """Return a polynomial, lowest coefficient first."""
    *rest, whole = coefficients
    for coefficient in reversed(rest):
        whole = coefficient + at * whole
    return whole


def _picked(hot: ca.SX, column: np.ndarray) -> ca.SX:
    """Return the entry of a column at the position of the one."""
    values = np.asarray(column, dtype=float)
    if np.all(values == values[0]):
        return ca.SX(float(values[0]))
    return ca.dot(hot, ca.DM(values))


def table(
    name: str,
    nodes: Column,
    values: Column,
    kind: Kind = "linear",
    outside: Outside = "hold",
) -> Table:
    """Return a table of values for use as an input or, called with an argument, in any expression.

    Solvers stop at its nodes. Between them it is a polynomial, so every method keeps its order.

    Parameters
    ----------
    name
        A word.
    nodes, values
        (n,) rising, and (n,): arrays, pandas series, or (path of a CSV file, column name).
    kind
        "steps" keeps each value up to the next node; "linear" has kinks; "cubic" is a spline with
        two continuous derivatives (not-a-knot); "periodic cubic" is a periodic spline, whose last
        value must equal its first.
    outside
        Beyond the nodes, "hold" keeps the value at the end and "refuse" ends the run.

    Raises
    ------
    PosingError, OutOfRangeError
        There are fewer than two nodes, they do not rise, a number is not finite, or the kind is
        unknown.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m")
    >>> spring = ds.table("spring", [-1.0, 0.0, 2.0], [-3.0, 0.0, 2.0])
    >>> system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": -spring(q.x)})
    >>> run = ds.solve(system, 2.0, initial={"x": 1.0})
    >>> run.outcome.name
    'COMPLETED'
    """
    axis = _axis(name, "nodes", nodes, kind, outside)
    found = column_of(f"the values of the table {name!r}", values)
    if len(found) != len(axis.nodes):
        raise PosingError(
            f"the table {name!r} has {len(axis.nodes)} nodes, but {len(found)} values"
        )
    if axis.periodic and found[0] != found[-1]:
        raise PosingError(
            f"the table {name!r} is periodic, but begins with {found[0]:g} and ends with "
            f"{found[-1]:g}: its last value must equal its first"
        )
    return _checked(Table(name, (axis,), found, kind, outside))


def table2(
    name: str,
    first: Column,
    second: Column,
    values: Any,
    kind: Kind = "linear",
    outside: Outside = "hold",
) -> Table:
    """Return a table over two arguments; see `table`.

    Parameters
    ----------
    name
        A word.
    first, second
        The nodes of the arguments, (n,) and (m,).
    values
        (n, m).
    kind, outside
        As in `table`, but without periodic kinds. The polynomials are products of those in each
        argument.

    Raises
    ------
    PosingError, OutOfRangeError
        As in `table`.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m", y="m")
    >>> slope = ds.table2("slope", [0, 1, 2], [0, 1], [[0, 1], [1, 2], [4, 5]])
    >>> height = slope(q.x, q.y)
    """
    if kind == "periodic cubic":
        raise PosingError(f"the table {name!r} over two arguments cannot be periodic")
    axes = tuple(_axis(name, "nodes", nodes, kind, outside) for nodes in (first, second))
    found = grid_of(f"the values of the table {name!r}", values)
    shape = tuple(len(axis.nodes) for axis in axes)
    if found.shape != shape:
        raise PosingError(
            f"the values of the table {name!r} are {found.shape}, but must be {shape}"
        )
    if not np.all(np.isfinite(found)):
        raise OutOfRangeError(f"the values of the table {name!r} are not all finite numbers")
    return _checked(Table(name, axes, found, kind, outside))


def _checked(made: Table) -> Table:
    """Return a table after checking that its coefficients are finite.

    Raises
    ------
    OutOfRangeError
        Nodes are so close, or values so large, that a coefficient is not finite.
    """
    with np.errstate(all="ignore"):
        if not np.all(np.isfinite(made.coefficients)):
            raise OutOfRangeError(
                f"the table {made.name!r} is too steep: a slope between its nodes is not finite"
            )
    return made


def _axis(name: str, what: str, nodes: Column, kind: Kind, outside: Outside) -> Axis:
    if not is_word(name):
        raise PosingError(f"the name of a table must be a word, not {name!r}")
    if not is_one_of(kind, get_args(Kind)):
        raise OutOfRangeError(
            f"the kind of the table {name!r} is {kind!r}, but must be one of "
            f"{', '.join(get_args(Kind))}"
        )
    if not is_one_of(outside, get_args(Outside)):
        raise OutOfRangeError(
            f"outside of the table {name!r} is {outside!r}, but must be 'hold' or 'refuse'"
        )
    found = column_of(f"the {what} of the table {name!r}", nodes)
    if len(found) < 2:
        raise PosingError(f"the table {name!r} has {len(found)} nodes, but needs at least two")
    falls = np.flatnonzero(np.diff(found) <= 0.0)
    if len(falls):
        k = int(falls[0])
        raise PosingError(
            f"the {what} of the table {name!r} do not rise: {found[k]:.10g} is followed by "
            f"{found[k + 1]:.10g} at index {k + 2}"
        )
    return Axis(found, DEGREES[kind], kind == "periodic cubic", outside == "hold")


def with_data(saved: Mapping[str, Any]) -> Table:
    """Rebuild the table stored in a manifest; see `data_of`."""
    nodes = [np.array(entry, dtype=float) for entry in saved["nodes"]]
    kind, outside = saved["kind"], saved["outside"]
    if len(nodes) == 1:
        return table(saved["name"], nodes[0], np.array(saved["values"]), kind, outside)
    return table2(saved["name"], nodes[0], nodes[1], np.array(saved["values"]), kind, outside)


def data_of(given: Table) -> dict[str, Any]:
    """Return a table as plain data."""
    return {
        "name": given.name,
        "nodes": [axis.nodes for axis in given.axes],
        "values": given.values,
        "kind": given.kind,
        "outside": given.outside,
    }

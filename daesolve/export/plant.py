"""A system for export: functions of time, state and values, tables, events, a start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.contact.posing.contact_rows import brakes_in, contacts_in
from daesolve.contact.posing.guides import guides_in
from daesolve.core.equations.dynamics import ResetRow
from daesolve.core.equations.elimination.impacts import changed_by, settle_function
from daesolve.core.equations.fitting import fitting_values
from daesolve.core.expressions.translation import function_of
from daesolve.core.posing.axes import Axis
from daesolve.core.posing.events import Direction, Event, Record
from daesolve.core.posing.inputs import Lookup
from daesolve.core.posing.tables import ROUNDING
from daesolve.errors import InconsistentStateError, OutOfRangeError
from daesolve.export.named import Entries, Entry, LabelledShape, NamedFunction
from daesolve.export.quantities import QUANTITIES, Equations
from daesolve.export.words import distinct

SIGNS = {Direction.FALLING: "falling", Direction.EITHER: "either", Direction.RISING: "rising"}


@dataclass(frozen=True)
class PlantEvent:
    """An event of a plant.

    Parameters
    ----------
    name, direction
        Of the event, and "falling", "either" or "rising".
    guards
        The places of its guards among those of the plant.
    does
        What it does, in a few words.
    """

    name: str
    direction: str
    guards: tuple[int, ...]
    does: str


@dataclass(frozen=True, eq=False)
class Plant:
    """A system to write in another language.

    Parameters
    ----------
    name
        A word.
    equations
        The equations, with piecewise expressions as they were posed.
    start
        A consistent state by name; a random one if it is None.
    time
        That of the start, in s.
    """

    name: str
    equations: Equations
    start: Mapping[str, float] | None = None
    time: float = 0.0

    # -- entries -----------------------------------------------------------------------------------

    @property
    def states(self) -> Entries:
        """The entries of the state."""
        return self.equations.states

    @cached_property
    def _looked_up(self) -> frozenset[str]:
        """The discrete values by which tables follow their arguments, which are not values here."""
        rows = self.equations.dynamics.drives
        return frozenset(n for row in rows if row.lookup is not None for n in row.values)

    @cached_property
    def _own(self) -> Entries:
        """The entries of p, except those of tables."""
        return tuple(e for e in self.equations.values if e.name not in self._looked_up)

    @cached_property
    def values(self) -> Entries:
        """The entries of p: parameters, inputs and discrete values, without those of tables.

        The defaults of discrete values are those of the mode in which a run would start.
        """
        fitted = self._fitted
        return tuple(
            replace(e, default=float(fitted[e.name]))
            if e.kind == "discrete value" and e.default is not None
            else e
            for e in self._own
        )

    @cached_property
    def _fitted(self) -> dict[str, float]:
        """Values of the mode that agrees with the start."""
        dynamics, state = self.equations.dynamics, self.begin
        given = np.array([0.0 if e.default is None else e.default for e in self._own])
        known = dict(zip(dynamics.values, self._known(self.time, state, given), strict=True))
        try:
            return fitting_values(dynamics, known, state, self.time)
        except InconsistentStateError:
            if self.start is not None:
                raise
            return known

    @cached_property
    def numbers(self) -> np.ndarray:
        """The defaults of all values; zero where an input has none."""
        return np.array([0.0 if e.default is None else e.default for e in self.values])

    @cached_property
    def begin(self) -> np.ndarray:
        """The state at the start."""
        if self.start is not None:
            for name in self.equations.dynamics.labels.states:
                if name not in self.start:
                    raise OutOfRangeError(f"the start has no value for the state {name!r}")
            return np.array([float(self.start[entry.name]) for entry in self.states])
        if not self.equations.samples:
            raise InconsistentStateError(
                "no consistent state was found automatically: give a start with a value "
                "for every state"
            )
        return self.equations.samples[0][1]

    @cached_property
    def lookups(self) -> dict[str, Lookup]:
        """The tables by name, those in the arguments of others first."""
        rows = self.equations.dynamics.drives
        names = distinct(row.name for row in rows if row.lookup is not None)
        return dict(zip(names, [row.lookup for row in rows if row.lookup], strict=True))

    @cached_property
    def table_entries(self) -> Entries:
        """The tables at their arguments: the base and coefficients of a piece of each."""
        return tuple(
            Entry(name, "", "table")
            for lookup in self.lookups.values()
            for name in (*lookup.bases, *lookup.terms)
        )

    # -- functions ---------------------------------------------------------------------------------

    @cached_property
    def _symbols(self) -> dict[str, ca.SX]:
        """The symbols of what functions take."""
        dynamics = self.equations.dynamics
        own = dict(zip(dynamics.values, ca.vertsplit(dynamics.p), strict=True))
        values = [own[entry.name] for entry in self.values]
        tables = [own[entry.name] for entry in self.table_entries]
        empty = ca.SX(0, 1)
        found = {"t": dynamics.t, "x": dynamics.x, "p": ca.vertcat(empty, *values)}
        return found | ({"tables": ca.vertcat(empty, *tables)} if tables else {})

    @property
    def _inputs(self) -> dict[str, LabelledShape]:
        shapes = {
            "t": LabelledShape((Entry("time", "s", "time"),)),
            "x": LabelledShape(self.states),
            "p": LabelledShape(self.values),
        }
        return shapes | (
            {"tables": LabelledShape(self.table_entries)} if self.table_entries else {}
        )

    def _function(
        self,
        name: str,
        outputs: Mapping[str, tuple[ca.SX, LabelledShape]],
        passed: ca.SX | None = None,
    ) -> NamedFunction:
        symbols, inputs = dict(self._symbols), self._inputs
        if passed is not None:
            symbols["passed"] = passed
            inputs["passed"] = LabelledShape(
                tuple(Entry(f"passed_{k + 1}", "", "passed") for k in range(passed.numel()))
            )
        made = function_of(
            name,
            list(symbols.values()),
            [self.equations.given(ca.SX(expression)) for expression, _ in outputs.values()],
            (list(symbols), list(outputs)),
        )
        return NamedFunction(made, inputs, {key: shape for key, (_, shape) in outputs.items()})

    @cached_property
    def functions(self) -> dict[str, NamedFunction]:
        """The quantities that the system has, by name; those without entries are left out."""
        found: dict[str, NamedFunction] = {}
        for name in QUANTITIES:
            if name not in self.equations.has:
                continue
            expression, shape = self.equations.written(name)
            if name == "guards":
                places = [place for event in self._own_events for place in event[1]]
                expression = expression[places]
                shape = LabelledShape(tuple(shape.rows[place] for place in places))
            if shape.size[0] and shape.size[1]:
                found[name] = self._function(name, {name: (expression, shape)})
        return found

    @cached_property
    def arguments(self) -> NamedFunction | None:
        """(t, x, p, tables) -> the arguments of the tables, in their order."""
        if not self.lookups:
            return None
        found = [argument for lookup in self.lookups.values() for argument in lookup.arguments]
        rows = tuple(
            Entry(f"{name}_at_{k + 1}", "", "argument")
            for name, lookup in self.lookups.items()
            for k in range(len(lookup.arguments))
        )
        return self._function("arguments", {"arguments": (ca.vertcat(*found), LabelledShape(rows))})

    def begun(self, time: float, state: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the tables at their arguments at the start of a run."""
        names = list(self.equations.dynamics.values)
        known = self._known(time, state, values)
        return np.array([known[names.index(entry.name)] for entry in self.table_entries])

    def _known(self, time: float, state: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return all numbers of the equations, those of tables at their arguments."""
        dynamics = self.equations.dynamics
        names = list(dynamics.values)
        known = self.equations.numbers.copy()
        for entry, value in zip(self._own, values, strict=True):
            known[names.index(entry.name)] = value
        for row in dynamics.drives:
            if row.lookup is None:
                continue
            begin = ca.vertcat(*row.begin.values())
            found = ca.Function("begin", [dynamics.t, dynamics.x, dynamics.p], [begin])
            column = np.asarray(found(time, state, known)).ravel()
            for name, value in zip(row.begin, column, strict=True):
                known[names.index(name)] = value
        return known

    # -- events ------------------------------------------------------------------------------------

    @cached_property
    def _own_events(self) -> list[tuple[int, range]]:
        """The indices of events and the places of their guards, except the nodes of tables."""
        dynamics = self.equations.dynamics
        nodes = {n for row in dynamics.drives if row.lookup is not None for n in row.events}
        found: list[tuple[int, range]] = []
        first = 0
        for index, event in enumerate(dynamics.events):
            if event.name not in nodes:
                found.append((index, range(first, first + event.count)))
            first += event.count
        return found

    @cached_property
    def _decided(self) -> frozenset[int]:
        """The indices of events after which laws of contact decide."""
        found: set[int] = set()
        for row in contacts_in(self.equations.dynamics):
            found |= {row.lost, row.closed, *(row.rubbing.events if row.rubbing else ())}
        for brake in brakes_in(self.equations.dynamics):
            found |= {*brake.events}
        return frozenset(found)

    @cached_property
    def events(self) -> tuple[PlantEvent, ...]:
        """The events, with the places of their guards in `functions["guards"]`."""
        found: list[PlantEvent] = []
        first = 0
        for index, places in self._own_events:
            event = self.equations.dynamics.events[index]
            own = tuple(range(first, first + len(places)))
            first += len(places)
            found.append(PlantEvent(event.name, SIGNS[event.direction], own, self._does(index)))
        return tuple(found)

    def _does(self, index: int) -> str:
        event: Event = self.equations.dynamics.events[index]
        if index in self._decided:
            return "a contact changes, which daesolve decides"
        words: list[str] = []
        if event.then.reset is not None:
            words.append("reset" if event.name in self.resets else "a reset that is not exported")
        if event.then.stops:
            words.append("the motion ends")
        if any(isinstance(part, Record) for part in event.then.parts):
            words.append("noted")
        return ", ".join(words)

    @cached_property
    def resets(self) -> dict[str, NamedFunction]:
        """By the event, (t, x, p, passed) -> state and values after it."""
        dynamics = self.equations.dynamics
        found: dict[str, NamedFunction] = {}
        for index, _ in self._own_events:
            if index in dynamics.resets and index not in self._decided:
                name = dynamics.events[index].name
                found[name] = self._reset(name, dynamics.resets[index])
        return found

    def _reset(self, name: str, row: ResetRow) -> NamedFunction:
        equations, dynamics = self.equations, self.equations.dynamics
        after, values, restitution = changed_by(dynamics, row, dynamics.x, dynamics.p)
        if row.imposed:
            rows = [*dynamics.rows, *row.momentary]
            factors = [restitution if r.name in row.imposed else ca.SX(0) for r in rows]
            settle = settle_function(dynamics, equations.plan, row.momentary, row.imposed)
            after = settle(dynamics.t, after, values, ca.vertcat(*factors))[0]
        names = list(dynamics.values)
        kept = values[[names.index(entry.name) for entry in self.values]]
        outputs = {
            "state_after": (after, LabelledShape(self.states)),
            "values_after": (ca.vertcat(ca.SX(0, 1), kept), LabelledShape(self.values)),
        }
        return self._function(name, outputs, row.fired)

    # -- what stays behind -------------------------------------------------------------------------

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """What the export leaves out, a sentence each."""
        dynamics = self.equations.dynamics
        found = [
            f"The sampled law {row.name} is a Python function: its results, "
            f"{', '.join(row.law.results)}, keep the values given here."
            for row in dynamics.drives
            if row.law is not None
        ]
        values = list(dynamics.values)
        decided = [values[row.hold] for row in contacts_in(dynamics)]
        decided += [values[brake.sticks] for brake in brakes_in(dynamics)]
        if decided:
            held = ", ".join(decided)
            found.append(
                f"Values say which contacts are closed, stick or slide ({held}, ...), and they "
                "stay as given: the rules by which daesolve changes them are not exported."
            )
        if (guides := guides_in(dynamics)) is not None:
            names = ", ".join(pair.name for pair in guides.pairs)
            found.append(
                f"Values say which supports of {names} are loaded, and they stay as given: the "
                "rules by which daesolve changes them are not exported."
            )
        if dynamics.meters:
            found.append(
                f"The additional integrals of a run, {', '.join(dynamics.meters)}, are not "
                "exported."
            )
        return tuple(found)


def reach_of(axis: Axis) -> float:
    """Return how far beyond its nodes a table has a value; infinite if it holds its ends."""
    if axis.periodic or axis.holds:
        return math.inf
    return ROUNDING * float(axis.nodes[-1] - axis.nodes[0])

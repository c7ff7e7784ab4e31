"""The variables of a unit: their references, names, units and permitted uses."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import frexp, inf, isfinite

import casadi as ca
import numpy as np

from daesolve.core.posing.symbols import ANY, Interval
from daesolve.export.fmu.functions import UnitFunctions
from daesolve.export.fmu.guards import OF_STATE, WatchedGuard

HIDDEN, FIXED, TUNABLE, SETTLED, INPUT, DISCRETE = range(6)
"""The kind of an entry of p: an internal number, a parameter that can be set before the start, one
that can also be tuned later, one from which the start follows by a rule that is not in the unit, an
input, or a discrete value."""

LEAST = 1e-3
"""Each state counts as at least this fraction of the largest, separately for positions and
velocities."""


@dataclass(frozen=True, eq=False)
class UnitValue:
    """An entry of p."""

    name: str
    unit: str
    kind: int
    default: float
    range: Interval


@dataclass(frozen=True, eq=False)
class UnitState:
    """A continuous state: its start and its nominal size."""

    name: str
    unit: str
    start: float
    nominal: float


@dataclass(frozen=True, eq=False)
class Variables:
    """All variables of a unit, in the order of their references.

    Time comes first, then states, their derivatives, the entries of p, the variables shown, and
    event indicators.
    """

    states: tuple[UnitState, ...]
    values: tuple[UnitValue, ...]
    shown: tuple[tuple[str, str, str], ...]
    indicators: tuple[tuple[str, int], ...]

    @property
    def first_rate(self) -> int:
        """The reference of the first derivative."""
        return 1 + len(self.states)

    @property
    def first_value(self) -> int:
        """The reference of the first entry of p."""
        return self.first_rate + len(self.states)

    @property
    def first_shown(self) -> int:
        """The reference of the first variable shown."""
        return self.first_value + len(self.values)

    @property
    def first_indicator(self) -> int:
        """The reference of the first event indicator."""
        return self.first_shown + len(self.shown)


def variables_of(
    functions: UnitFunctions, guards: Collection[WatchedGuard], settled: Collection[str]
) -> Variables:
    """Return the variables of a unit.

    Parameters
    ----------
    functions, guards
        Of the unit.
    settled
        The names of parameters from which the start follows by a rule that is not in it.
    """
    events = functions.problem.events
    seen: dict[int, int] = {}
    indicators: list[tuple[str, int]] = []
    for place, guard in enumerate(guards):
        number = seen[guard.event] = seen.get(guard.event, 0) + 1
        if guard.kind == OF_STATE:
            event = events[guard.event]
            more = f"[{number}]" if event.count > 1 else ""
            indicators.append((f"indicator({event.name}){more}", place))
    shown = [(entry.name, entry.unit, entry.what) for entry in functions.shown]
    return Variables(
        _states(functions), _values(functions, settled), tuple(shown), tuple(indicators)
    )


def _states(functions: UnitFunctions) -> tuple[UnitState, ...]:
    prepared, labels = functions.prepared, functions.problem.labels
    start, count = prepared.initial, len(labels.states)
    names = list(labels.states)
    units = list(map(str, labels.state_units))
    for number in range(len(names), functions.problem.size):
        names.append(f"work_state_{number - count + 1}")
        units.append("J")
    largest = np.abs(start)
    if prepared.path.size:
        width = prepared.path.shape[1]
        largest[:width] = np.maximum(largest[:width], np.max(np.abs(prepared.path), axis=0))
    # A state that hardly moves is no more accurate than the largest of its kind.
    kinds = np.arange(len(largest)) < functions.dynamics.position_count
    for own in (kinds, ~kinds):
        largest[own] = np.maximum(largest[own], LEAST * np.max(largest[own], initial=0.0))
    return tuple(
        UnitState(name, unit, float(value), nominal_of(float(size)))
        for name, unit, value, size in zip(names, units, start, largest, strict=True)
    )


def nominal_of(size: float) -> float:
    """Return the largest power of two not above a size; 1 if the size is zero or not finite."""
    if not isfinite(size) or size == 0.0:
        return 1.0
    return 2.0 ** (frexp(size)[1] - 1)


def _values(functions: UnitFunctions, settled: Collection[str]) -> tuple[UnitValue, ...]:
    prepared, dynamics = functions.prepared, functions.dynamics
    system = prepared.system
    units = dict(zip(system.parameters.names, system.parameters.units, strict=True))
    units |= dict(zip(dynamics.inputs.names, dynamics.inputs.units, strict=True))
    tuned = _tunable(functions)
    found: list[UnitValue] = []
    for place, name in enumerate(functions.problem.values):
        if name in dynamics.inputs.names:
            kind = INPUT
        elif name in system.parameters.names and name in dynamics.posed_ranges:
            kind = SETTLED if name in settled else TUNABLE if name in tuned else FIXED
        elif name in dynamics.posed_ranges:
            kind = DISCRETE
        else:
            kind = HIDDEN
        unit = str(units.get(name, ""))
        range_ = dynamics.ranges.get(name, ANY)
        found.append(UnitValue(name, unit, kind, float(prepared.values[place]), range_))
    return tuple(found)


def _tunable(functions: UnitFunctions) -> frozenset[str]:
    """Return the parameters that may change between events: none of them occurs in a constraint."""
    dynamics = functions.dynamics
    parts = [link for row in dynamics.rows for link in row.chain]
    parts += [row.residual for row in dynamics.implicit_rows]
    parts += [row.value for row in dynamics.invariants if row.on == "positions"]
    parts += [begin for row in dynamics.drives for begin in row.begin.values()]
    column = ca.vertcat(ca.SX(0, 1), *parts)
    return frozenset(
        name
        for place, name in enumerate(dynamics.values)
        if not ca.depends_on(column, dynamics.p[place])
    )


def rate_name(state: str) -> str:
    """Return the name of a derivative in FMI's notation."""
    return f"der({state})"


def bound(value: float) -> str | None:
    """Return a bound as text, None if there is none."""
    return None if abs(value) == inf else repr(float(value))

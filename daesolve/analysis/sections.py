"""Poincaré sections: the states of a motion wherever an expression passes through zero.

The guard is posed as an event that is only recorded, so that it is located as exactly as every
other event: to rounding in time, with the solver's own accuracy in the state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Unpack
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.analysis.members import of_members
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.posing.events import EITHER, Direction, Event
from daesolve.core.posing.goals import as_scalar
from daesolve.core.preparation.beside import in_lane
from daesolve.core.preparation.preparing import Prepared, prepare
from daesolve.core.preparation.request import Request
from daesolve.core.results.displayable import Displayable
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.record import Happening, RunRecord
from daesolve.core.run.integration.run_options import (
    Initial,
    RunOptions,
    Source,
    check_options,
    requested_of,
)
from daesolve.core.run.integration.sampling import At
from daesolve.core.run.integration.simulation import simulate_recorded
from daesolve.core.system.system import System
from daesolve.errors import (
    DaesolveError,
    OutOfRangeError,
    PosingError,
    check_names,
    suggest_names,
    unknown_name,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daesolve.core.solvers.lanes import Batch

OWN_NAME = "section"
"""The name of the event added for a guard."""
FEW = 400
"""The number of points up to which each is drawn large enough to be visible."""


@dataclass(frozen=True, eq=False)
class Section(Displayable):
    """The passages of a motion through a section.

    Parameters
    ----------
    event
        The name of the event.
    times
        (k,) the times of the passages, s, in the order of the run.
    states, reactions, outputs
        Name -> (k,) values there; angles are unwrapped. If the event resets the state, they are the
        values before the reset. A section of a finished run has only states.
    units
        The unit of each of them.
    run
        The motion.

    Examples
    --------
    `len(section)`, `section["x_dot"]`, `np.diff(section.times)`
    """

    event: str
    times: np.ndarray
    states: Mapping[str, np.ndarray]
    reactions: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    run: Trajectory

    def __post_init__(self) -> None:
        suggest_names(self, states="state", reactions="reaction", outputs="output")
        suggest_names(self, units="state, reaction or output")

    def __len__(self) -> int:
        return len(self.times)

    def __str__(self) -> str:
        count = "1 passage" if len(self) == 1 else f"{len(self)} passages"
        span = ""
        if len(self):
            first, last = self.times[[0, -1]].tolist()
            span = f", t = {first:.10g} s to {last:.10g} s"
        ranges = (
            f"\n  {name} from {values.min():.6g} to {values.max():.6g} {self.units.get(name, '')}"
            for name, values in self.states.items()
            if len(values)
        )
        return f"{count} of {self.event!r}{span}" + "".join(line.rstrip() for line in ranges)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a state, a reaction or an output.

        Raises
        ------
        UnknownNameError
            There is no such name.
        """
        for columns in (self.states, self.outputs, self.reactions):
            if name in columns:
                return columns[name]
        known = (*self.states, *self.outputs, *self.reactions)
        raise unknown_name("state, output or reaction", name, known)


def sections(
    source: Source,
    guard: ca.SX | str,
    until: float | None = None,
    initial: Initial | None = None,
    *,
    direction: Direction = EITHER,
    **options: Unpack[RunOptions],
) -> Section:
    """Run a motion and record its states wherever an expression passes through zero.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    guard
        An expression of time, states, parameters and reactions; or the name of an event of the
        system. For an angle that turns over, use an expression of period 2 pi, such as its sine.
    until, initial
        As in `solve`, or in the `solve` of the case, whose horizon is used without `until`.
    direction
        The direction in which the guard must pass through zero to count; an event has its own.
    **options
        See `RunOptions`. Without `at`, only the passages are sampled.

    Returns
    -------
    Section
        The passages. A start with a zero guard does not count as one.

    Raises
    ------
    UnknownNameError
        The system has no event of that name.
    PosingError
        The guard is not a scalar expression of the system's symbols, or a direction is given for an
        event.
    DaesolveError
        The run cannot be prepared.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m")
    >>> spring = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    >>> start = {"x": 1.0, "x_dot": 0.0}
    >>> found = ds.analysis.sections(spring, q.x, 20.0, start, direction=ds.RISING)
    >>> len(found), bool(abs(found["x_dot"] - 1.0).max() < 1e-14)
    (3, True)
    """
    check_options("sections", options)
    return _make_section(guard, direction, *requested_of(source, until, initial, options))


def many_sections(
    source: Source,
    guard: ca.SX | str,
    members: Sequence[Mapping[str, float]],
    until: float | None = None,
    *,
    direction: Direction = EITHER,
    **options: Unpack[RunOptions],
) -> list[Section | DaesolveError]:
    """Record the sections of many motions, several at a time in the lanes of one processor.

    To rounding, each result equals that of `sections`. It is the same to the last bit whatever the
    other members are.

    Parameters
    ----------
    source, guard, until, direction, **options
        As in `sections`.
    members
        The parameters and start values, by name, in which the members differ.

    Returns
    -------
    list
        The section of each member, in order, or the error of one that could not be run.

    Raises
    ------
    OutOfRangeError
        There are no members, or one is not a mapping.
    PosingError
        The source is neither a system nor a case.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m")
    >>> spring = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    >>> starts = [{"x": 0.1 * k, "x_dot": 0.0} for k in range(1, 9)]
    >>> found = ds.analysis.many_sections(spring, q.x, starts, 20.0, direction=ds.RISING)
    >>> [round(float(one["x_dot"][-1]), 12) for one in found]
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    """
    check_options("many_sections", options)
    return of_members(partial(_make_section, guard, direction), source, members, until, options)


def _make_section(
    guard: ca.SX | str,
    direction: Direction,
    system: System,
    request: Request,
    at: At,
    batch: Batch | None = None,
) -> Section:
    """Record the section of a prepared run, in a lane of a batch if there is one."""
    system, name = guarded(system, guard, direction)
    prepared = prepare(system, request)
    if batch is not None:
        prepared = in_lane(prepared, batch)
    run, record = simulate_recorded(prepared, [] if at is None else at)
    return _recorded(prepared, run, record, name)


def section_of(run: Trajectory, event: str) -> Section:
    """Return the states of a finished run at one of its events.

    Parameters
    ----------
    run
        A run in memory or from its directory.
    event
        The event's name.

    Raises
    ------
    UnknownNameError
        No event of this name happened.
    """
    passages = [entry for entry in run.events if entry.name == event]
    if not passages:
        raise unknown_name("event of this run", event, {entry.name for entry in run.events})
    names = list(passages[0].detail)
    return Section(
        event=event,
        times=np.array([entry.time for entry in passages]),
        states={name: np.array([entry.detail[name] for entry in passages]) for name in names},
        reactions={},
        outputs={},
        units={name: run.units[name] for name in names},
        run=run,
    )


_posed: WeakKeyDictionary[System, dict[tuple[int, Direction], System]] = WeakKeyDictionary()


def guarded(system: System, guard: ca.SX | str, direction: Direction) -> tuple[System, str]:
    """Return a system with a guard, and the name of its event.

    Raises
    ------
    UnknownNameError
        The system has no event of this name.
    PosingError
        A direction is given for an event that has one.
    """
    if not isinstance(guard, str):
        return with_guard(system, guard, direction), OWN_NAME
    names = [event.name for event in system.events]
    check_names("event", [guard], names)
    if direction is not EITHER:
        raise PosingError(f"the event {guard!r} already has a direction: leave it out here")
    return system, guard


def with_guard(system: System, guard: ca.SX, direction: Direction) -> System:
    """Add a recorded event; equal guards give the same system, so it is compiled only once.

    The event keeps the expression alive, whose identity could otherwise be reused.
    """
    if any(event.name == OWN_NAME for event in system.events):
        raise PosingError(
            f"the system has an event {OWN_NAME!r}: give its name instead of a guard, or rename it"
        )
    expression = as_scalar("the guard of the section", guard)
    if expression.is_constant():
        raise PosingError(
            f"the guard of the section is the constant {expression}: give an expression of the "
            "states, such as q.x, or the name of an event"
        )
    known = _posed.setdefault(system, {})
    key = expression.element_hash(), direction
    if key not in known:
        event = Event(OWN_NAME, expression, direction)
        known[key] = replace(system, events=(*system.events, event))
    return known[key]


def _recorded(prepared: Prepared, run: Trajectory, record: RunRecord, event: str) -> Section:
    """Collect the records of an event; reactions and outputs are computed there."""
    passages = [entry for entry in record.events if entry.name == event]
    labels = prepared.problem.labels
    named = [entry.detail for entry in run.events if entry.name == event]
    reactions, outputs = _recovered(prepared, record, passages)
    return Section(
        event=event,
        times=np.array([entry.time for entry in passages]),
        states={name: np.array([row[name] for row in named]) for name in labels.states},
        reactions=dict(zip(labels.reactions, reactions.T, strict=True)),
        outputs=dict(zip(labels.outputs, outputs.T, strict=True)),
        units=labels.units(),
        run=run,
    )


def _recovered(
    prepared: Prepared, record: RunRecord, passages: Sequence[Happening]
) -> tuple[np.ndarray, np.ndarray]:
    """Return reactions and outputs at events, (k, n) each."""
    places = [entry.at for entry in passages]
    table = np.array([place.state for place in places]).reshape(len(places), prepared.problem.size)
    times = np.array([place.time for place in places])
    _, reactions, outputs = evaluate_block(
        prepared.problem.recover, times, table, record.mode_table(places)
    )
    return reactions, outputs


def portrait(x: np.ndarray, y: np.ndarray, x_label: str = "", y_label: str = "") -> Figure:
    """Draw the points of a section in the plane of two quantities.

    Parameters
    ----------
    x, y
        (k,)
    x_label, y_label
        The labels of the axes.

    Raises
    ------
    OutOfRangeError
        Their numbers differ.

    Notes
    -----
    Sizes and colours follow the current Matplotlib settings.
    """
    if np.shape(x) != np.shape(y):
        raise OutOfRangeError(
            f"the points have {np.size(x)} abscissae and {np.size(y)} ordinates: give the "
            "same number"
        )
    from matplotlib.figure import Figure  # The import takes long.

    figure = Figure()
    axes = figure.add_subplot()
    size = 3.0 if len(x) <= FEW else 1.2
    axes.plot(x, y, "o", markersize=size, markeredgewidth=0)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return figure

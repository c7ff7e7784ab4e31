"""The guards of a unit: what each depends on, and how the C code watches it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from daesolve.core.equations.borders import Borders
from daesolve.core.events.guard_table import GuardTable, Role
from daesolve.core.events.transitions import Ownership
from daesolve.core.preparation.preparing import Prepared

OF_STATE, OF_TIME, OF_VALUES, IDLE = range(4)
"""What a guard is watched as: an event indicator, a time that is known before, a condition on
values alone that resets change, or not at all since it is only recorded."""


@dataclass(frozen=True)
class WatchedGuard:
    """A guard in the C code.

    Parameters
    ----------
    event
        The index of its event.
    kind
        `OF_STATE`, `OF_TIME`, `OF_VALUES` or `IDLE`.
    way
        The direction in which it counts: 1 rising, -1 falling, 0 either.
    stops, whenever
        Whether the motion ends there, and whether it counts whenever it is past zero.
    role
        How its law watches it.
    bars_start
        Whether no motion may start past it: a barrier of the state.
    border
        The place in p of a sign, or -1 (always) or -2 (never): see `Borders`.
    """

    event: int
    kind: int
    way: int
    stops: bool
    whenever: bool
    role: Role
    bars_start: bool
    border: int


def watched_guards(prepared: Prepared) -> tuple[WatchedGuard, ...]:
    """Return the guards of a run in their order."""
    problem = prepared.problem
    table = GuardTable(problem.events)
    transitions = prepared.transitions
    owners: Sequence[object] = [None] * len(problem.events)
    roles = [Role(barrier=True, posed=True)] * len(problem.events)
    if transitions is not None:
        ownership = Ownership(table, transitions.laws)
        owners, roles = ownership.owners, ownership.roles
    borders = Borders.of(prepared.dynamics, problem.events).places.tolist()
    t, x, p = (problem.guards.sx_in(k) for k in range(3))
    entries = ca.vertsplit(problem.guards(t, x, p)) if table.guarded else []
    found: list[WatchedGuard] = []
    for number, (event, (index, _)) in enumerate(zip(table.guarded, table.places, strict=True)):
        counts = event.then.interrupts or owners[index] is not None
        found.append(
            WatchedGuard(
                event=index,
                kind=_kind(entries[number], t, x) if counts else IDLE,
                way=event.direction.value,
                stops=event.then.stops,
                whenever=event.then.counts_past,
                role=roles[index],
                bars_start=roles[index].bars_start
                and not event.then.counts_past
                and bool(ca.depends_on(entries[number], x)),
                border=borders[number],
            )
        )
    return tuple(found)


def _kind(guard: ca.SX, t: ca.SX, x: ca.SX) -> int:
    """Return how a guard is watched: one that is affine in time alone is known beforehand."""
    if ca.depends_on(guard, x):
        return OF_STATE
    if not ca.depends_on(guard, t):
        return OF_VALUES
    affine = not ca.depends_on(ca.jacobian(guard, t), t)
    return OF_TIME if affine else OF_STATE

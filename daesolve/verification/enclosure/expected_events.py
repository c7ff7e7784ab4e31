"""The events of a computed run, and what follows each: a reset, an impact, another mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.contact.laws.contact_law import ContactLaw
from daesolve.contact.laws.frictional_law import FrictionalContactLaw
from daesolve.contact.posing.names import REST
from daesolve.core.events.jumps import JumpFunction
from daesolve.core.events.reset_law import ResetLaw
from daesolve.core.expressions.translation import function_of
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.run.integration.record import Happening, RunRecord
from daesolve.verification.enclosure.contact_changes import (
    RESET_NAMES,
    ContactChange,
    contact_change,
    first_guards,
)
from daesolve.verification.enclosure.crossings import NotCertifiedError

LAWS = (ContactLaw, FrictionalContactLaw)
"""Those whose decisions a certificate follows."""


@dataclass(frozen=True, eq=False)
class ExpectedEvent:
    """An event of the computed run.

    Parameters
    ----------
    name
        Of the event.
    time
        About when, s.
    guard
        The guard that passes zero.
    reset
        (t, x, p) -> (x, p) after it; None where nothing changes.
    zeros
        The guards that are zero after it, and how many of their derivatives, themselves included.
    """

    name: str
    time: float
    guard: int
    reset: ca.Function | None
    zeros: Mapping[int, int]


def expected_events(prepared: Prepared, record: RunRecord) -> list[ExpectedEvent]:
    """Return the events of a computed run.

    Raises
    ------
    NotCertifiedError
        One of them cannot be enclosed; the message names it, and `before` are those before it.
    """
    problem = prepared.problem
    indices = {event.name: k for k, event in enumerate(problem.events)}
    firsts = first_guards(problem)
    changes: dict[tuple[int, int], ContactChange] = {}
    found: list[ExpectedEvent] = []
    for happening in record.events:
        if happening.name == REST and found and found[-1].time == happening.time:
            # It says of the change before it that everything rests.
            continue
        index = indices.get(happening.name, -1)
        try:
            _refuse(prepared, record, happening, index)
            guard, mode = int(firsts[index]) + happening.fired[0], -1
            if happening.after is not None:
                mode = 0
                if _of_contacts(prepared, index):
                    # A slip that reverses has an event without a guard of its own.
                    guard, mode = next(iter(happening.asked), guard), happening.after.mode
                if (guard, mode) not in changes:
                    changes[guard, mode] = _change(prepared, record, happening, index)
        except NotCertifiedError as reason:
            raise NotCertifiedError(f"{happening.name!r}, {reason}", before=found) from None
        change = changes.get((guard, mode), ContactChange(None, {}))
        found.append(
            ExpectedEvent(happening.name, happening.time, guard, change.reset, change.zeros)
        )
    return found


def _of_contacts(prepared: Prepared, index: int) -> bool:
    assert prepared.transitions is not None
    return isinstance(prepared.transitions.owner(index), LAWS)


def _refuse(prepared: Prepared, record: RunRecord, happening: Happening, index: int) -> None:
    """Refuse an event that cannot be followed.

    Raises
    ------
    NotCertifiedError
        The message says why, behind the name of the event.
    """
    if index < 0:
        raise NotCertifiedError("which is no event of the system")
    if len(happening.fired) != 1:
        raise NotCertifiedError("several guards of which pass together")
    starts = happening.time <= prepared.start_time
    if starts and (happening.after is None or not _of_contacts(prepared, index)):
        raise NotCertifiedError("which happens at the start")
    if happening.after is None:
        return
    assert prepared.transitions is not None
    if _of_contacts(prepared, index):
        if not starts and len(happening.asked) != 1:
            raise NotCertifiedError("at which several guards pass together")
        return
    if type(prepared.transitions.owner(index)) is not ResetLaw:
        raise NotCertifiedError("after which more than a reset or a contact decides")
    modes = [record.modes[place.mode] for place in (happening.at, happening.after)]
    rows = prepared.dynamics.unilateral
    for mode, when in zip(modes, ("while {} is closed", "after which {} is closed"), strict=True):
        closed = [row.title for row in rows if mode[row.hold] != 0.0]
        if closed:
            raise NotCertifiedError(when.format(closed[0]))


def _change(
    prepared: Prepared, record: RunRecord, happening: Happening, index: int
) -> ContactChange:
    """Return what an event changes."""
    if _of_contacts(prepared, index):
        return contact_change(prepared, record, happening, index)
    assert prepared.transitions is not None
    fired = np.zeros(prepared.problem.events[index].count)
    fired[happening.fired[0]] = 1.0
    return ContactChange(_reset(prepared.transitions.function((index,)), fired), {})


def _reset(jump: JumpFunction, fired: np.ndarray) -> ca.Function:
    """Return a reset for the guards that fired."""
    given = [jump.function.sx_in(k) for k in range(3)]
    after, values, *_ = jump.function(*given, ca.DM(fired))
    return function_of("reset", given, [after, values], RESET_NAMES)

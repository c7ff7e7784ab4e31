"""The events of a computed run, and what follows each: a reset, or the impact of one contact.

In the impact of one contact without friction, while all others are open, the complementarity
problem of the contacts has one answer: the contact pushes, and its gap opens at e times the speed
at which it closed.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.contact.laws.contact_law import ContactLaw
from daesolve.contact.posing.contact_rows import ContactRow, contacts_in
from daesolve.core.equations.elimination.impacts import settle_function
from daesolve.core.events.jumps import JumpFunction
from daesolve.core.events.reset_law import ResetLaw
from daesolve.core.expressions.translation import function_of
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.run.integration.record import Happening, RunRecord
from daesolve.verification.enclosure.crossings import NotCertifiedError

NAMES = (["t", "x", "p"], ["x_after", "p_after"])


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
    """

    name: str
    time: float
    guard: int
    reset: ca.Function | None


def expected_events(prepared: Prepared, record: RunRecord) -> list[ExpectedEvent]:
    """Return the events of a computed run.

    Raises
    ------
    NotCertifiedError
        One of them cannot be enclosed; the message names it, and `before` are those before it.
    """
    problem, dynamics = prepared.problem, prepared.dynamics
    indices = {event.name: k for k, event in enumerate(problem.events)}
    firsts = np.concatenate([[0], np.cumsum([event.count for event in problem.events])])
    met = {row.closed: row for row in contacts_in(dynamics)}
    resets: dict[int, ca.Function] = {}
    found: list[ExpectedEvent] = []
    for happening in record.events:
        index = indices.get(happening.name, -1)
        why = _obstacle(prepared, record, happening, index)
        if why:
            raise NotCertifiedError(f"{happening.name!r}, {why}", before=found)
        place = happening.fired[0]
        guard = int(firsts[index]) + place
        if happening.after is not None and guard not in resets:
            if index in met:
                resets[guard] = _impact(prepared, met[index])
            else:
                assert prepared.transitions is not None
                fired = (np.arange(problem.events[index].count) == place).astype(float)
                resets[guard] = _reset(prepared.transitions.function((index,)), fired)
        reset = None if happening.after is None else resets[guard]
        found.append(ExpectedEvent(happening.name, happening.time, guard, reset))
    return found


def _obstacle(prepared: Prepared, record: RunRecord, happening: Happening, index: int) -> str:
    """Return why an event cannot be followed; empty if it can."""
    if index < 0:
        return "which is no event of the system"
    if happening.time <= prepared.start_time:
        return "which happens at the start"
    if len(happening.fired) != 1:
        return "several guards of which pass together"
    if happening.after is None:
        return ""
    assert prepared.transitions is not None
    law, rows = type(prepared.transitions.owner(index)), prepared.dynamics.unilateral
    modes = [record.modes[place.mode] for place in (happening.at, happening.after)]
    before, after = ([row for row in rows if mode[row.hold] != 0.0] for mode in modes)
    if law not in (ResetLaw, ContactLaw):
        return "after which more than a reset or an impact without friction decides"
    if before:
        return f"while {before[0].title} is closed"
    if after:
        return f"after which {after[0].title} stays closed"
    return ""


def _reset(jump: JumpFunction, fired: np.ndarray) -> ca.Function:
    """Return a reset for the guards that fired."""
    given = [jump.function.sx_in(k) for k in range(3)]
    after, values, *_ = jump.function(*given, ca.DM(fired))
    return function_of("reset", given, [after, values], NAMES)


def _impact(prepared: Prepared, contact: ContactRow) -> ca.Function:
    """Return the impact of a contact, which opens again."""
    dynamics = prepared.dynamics
    t, x, p = dynamics.t, dynamics.x, dynamics.p
    closed = ca.SX(p)
    closed[contact.hold] = 1.0
    factors = ca.SX.zeros(len(dynamics.rows))  # pyright: ignore
    factors[contact.row] = contact.restitution
    settle = settle_function(dynamics, prepared.problem.plan, ())
    after = settle(t, x, closed, factors)[0]
    opened = ca.SX(p)
    opened[contact.hold] = 0.0
    return function_of("impact", [t, x, p], [after, opened], NAMES)

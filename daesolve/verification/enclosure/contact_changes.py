"""What one contact changes in an event: it opens, closes, begins to stick, to slip, or reverses.

The computed run says which mode follows. The proof is that of the guards of all contacts, which are
positive as long as a mode agrees with the conditions of contact, none is zero or below afterwards.
Some are zero at the event itself, and so are derivatives of theirs: the gap of a contact that opens
has no rate, as the contact held it, and no acceleration, as its load is zero; a slip that begins
has no rate where the friction of sliding is that of sticking. Of these the next derivative is
positive.

In the impact of one contact without friction, while all others are open, the complementarity
problem of the contacts has one answer: the contact pushes, and its gap opens at e times the speed
at which it closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.contact.posing.contact_rows import (
    ContactFriction,
    ContactRow,
    SpatialContactFriction,
    contacts_in,
)
from daesolve.core.equations.elimination.impacts import settle_function
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.run.integration.record import Happening, RunRecord
from daesolve.verification.enclosure.crossings import NotCertifiedError

RESET_NAMES = (["t", "x", "p"], ["x_after", "p_after"])


@dataclass(frozen=True, eq=False)
class ContactChange:
    """What an event changes.

    Parameters
    ----------
    reset
        (t, x, p) -> (x, p) after it; None where nothing changes.
    zeros
        The guards that are zero after it, and how many of their derivatives, themselves included.
    """

    reset: ca.Function | None
    zeros: Mapping[int, int]


def first_guards(problem: OdeProblem) -> np.ndarray:
    """Return the first guard of each event."""
    return np.concatenate([[0], np.cumsum([event.count for event in problem.events])])


def contact_guards(prepared: Prepared) -> tuple[int, ...]:
    """Return the guards of contacts that are positive while the mode is right."""
    firsts = first_guards(prepared.problem)
    events: list[int] = []
    for row in contacts_in(prepared.dynamics):
        if not isinstance(row.rubbing, SpatialContactFriction):
            events += [row.lost, row.closed]
            events += [] if row.rubbing is None else row.rubbing.events
    return tuple(int(guard) for k in events for guard in range(firsts[k], firsts[k + 1]))


def contact_change(
    prepared: Prepared, record: RunRecord, happening: Happening, index: int
) -> ContactChange:
    """Return what a contact changes in an event of the computed run.

    Raises
    ------
    NotCertifiedError
        It cannot be followed; the message says why, behind the name of the event.
    """
    rows = contacts_in(prepared.dynamics)
    assert happening.after is not None
    before, after = (record.modes[place.mode] for place in (happening.at, happening.after))
    own = [row for row in rows if index in _events_of(row)]
    if not own:
        raise NotCertifiedError("after which more than a reset or a contact decides")
    row = own[0]
    if isinstance(row.rubbing, SpatialContactFriction):
        raise NotCertifiedError(f"in which {row.title} may slip in two directions")
    _refuse_others(prepared, row, before, after)
    if index == row.closed:
        return _closing(prepared, rows, row, before, after)
    if happening.impact is not None:
        raise NotCertifiedError("in which an impact ends a jam")
    starts = happening.time <= prepared.start_time
    zeros = _zeros(prepared, row, index, starts=starts)
    return ContactChange(_in_mode(prepared, _values_of(row), after), zeros)


def _events_of(row: ContactRow) -> tuple[int, ...]:
    return row.lost, row.closed, *(() if row.rubbing is None else row.rubbing.events)


def _values_of(row: ContactRow) -> list[int]:
    """Return the places in p of the discrete values that say what a contact does."""
    rubbing = row.rubbing
    return [row.hold, *([] if rubbing is None else [rubbing.slides, rubbing.sticks])]


def _refuse_others(
    prepared: Prepared, row: ContactRow, before: np.ndarray, after: np.ndarray
) -> None:
    """Refuse an event in which something else changes than one contact."""
    names, own = list(prepared.problem.values), set(_values_of(row))
    for place in np.flatnonzero(before != after).tolist():
        name = names[place]
        if place not in own and not any(kind.is_a(name) for kind in MEASURED):
            raise NotCertifiedError(f"in which {name!r} changes together with {row.title}")


MEASURED = (ValueKind.REFERENCE, ValueKind.FLOOR, ValueKind.RATE)
"""Values of feedback, which is left out."""


def _zeros(prepared: Prepared, row: ContactRow, index: int, *, starts: bool) -> dict[int, int]:
    """Return the guards that are zero after a change without an impact, and of which order."""
    firsts, rubbing = first_guards(prepared.problem), row.rubbing
    if index == row.lost:
        # At the start its load may be anything.
        return {int(firsts[row.closed]): 2 if starts else 3}
    if rubbing is None or index == rubbing.begins_to_stick:
        return {}
    stops = int(firsts[rubbing.begins_to_stick])
    return {stops: 2 if index == rubbing.begins_to_slip and _is_one_friction(rubbing) else 1}


def _is_one_friction(rubbing: ContactFriction) -> bool:
    """Return whether it sticks up to the friction with which it slides."""
    return ca.is_equal(rubbing.friction, rubbing.static_friction, 100)


def _closing(
    prepared: Prepared,
    rows: Sequence[ContactRow],
    row: ContactRow,
    before: np.ndarray,
    after: np.ndarray,
) -> ContactChange:
    """Return the impact of a contact, after which it opens again or, without rebound, stays."""
    closed = [other.title for other in rows if before[other.hold] != 0.0]
    if closed:
        raise NotCertifiedError(f"while {closed[0]} is closed")
    if row.rubbing is not None:
        raise NotCertifiedError(
            "after which more than a reset or an impact without friction decides"
        )
    stays = after[row.hold] != 0.0
    if stays and not row.restitution.is_zero():
        raise NotCertifiedError(f"after which {row.title} stays closed, though it rebounds")
    dynamics = prepared.dynamics
    t, x, p = dynamics.t, dynamics.x, dynamics.p
    touching, mode = ca.SX(p), ca.SX(p)
    touching[row.hold], mode[row.hold] = 1.0, float(stays)
    factors = ca.SX.zeros(len(dynamics.rows))  # pyright: ignore
    factors[row.row] = row.restitution
    settle = settle_function(dynamics, prepared.problem.plan, ())
    met = settle(t, x, touching, factors)[0]
    opens = {} if stays else {int(first_guards(prepared.problem)[row.closed]): 1}
    return ContactChange(function_of("impact", [t, x, p], [met, mode], RESET_NAMES), opens)


def _in_mode(prepared: Prepared, places: Sequence[int], after: np.ndarray) -> ca.Function:
    """Return the change of discrete values to those of a mode."""
    dynamics = prepared.dynamics
    t, x, p = dynamics.t, dynamics.x, dynamics.p
    values = ca.SX(p)
    for place in places:
        values[place] = float(after[place])
    return function_of("mode", [t, x, p], [x, values], RESET_NAMES)

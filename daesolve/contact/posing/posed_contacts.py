"""What contacts add to their system: values, events, constraints that hold while they stick."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import casadi as ca

from daesolve.contact.posing.brakes import (
    Brake,
    Rubbing,
    brakes_of,
    check_laws_in_space,
    friction_limit,
    shared_name,
    without_own_events,
)
from daesolve.contact.posing.contact_records import with_contact_meters, with_contact_outputs
from daesolve.contact.posing.contact_rows import (
    ContactRows,
    brake_rows,
    contact_rows,
    gaps_depend,
)
from daesolve.contact.posing.contacts import CLOSED, RATIO, Contact, contacts_of, while_moving
from daesolve.contact.posing.names import ACCUMULATED, JAM, REST
from daesolve.contact.posing.spatial_friction import check_directions, split_of, split_values
from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.posing.events import FALLING, RISING, Event, Reset
from daesolve.core.posing.goals import AnyGoal, Expression, Goal
from daesolve.core.posing.symbols import Interval, Parameters, time
from daesolve.core.posing.value_names import ENDS, PENDING
from daesolve.core.system.posed import PosedAddition, PosedMechanics
from daesolve.errors import PosingError, UnsupportedError


class PosedContacts(PosedAddition):
    """The contacts among the goals of a system."""

    def directed(
        self,
        system: PosedMechanics,
        directed: ca.SX,
        rows: Sequence[GoalRow],
        reactions: ca.SX,
        posed: Callable[[Expression], ca.SX],
    ) -> ca.SX:
        """Return what the forces direct, with the friction of sliding contacts."""
        by_name = {row.name: row for row in rows}
        for contact in contacts_of(system.goals):
            if not contact.sticking:
                continue
            pushes = posed(-contact.friction * contact.direction)
            for goal, push in zip(contact.sticking, ca.vertsplit(pushes), strict=True):
                row = by_name[goal.name]
                assert row.hold is not None
                slope = ca.substitute(row.jacobian, row.hold, 1.0)
                directed = directed + slope.T @ (push * ca.jacobian(contact.reaction, reactions))
        return directed

    def completed(
        self, dynamics: Dynamics, system: PosedMechanics, written: Callable[[Expression], ca.SX]
    ) -> Dynamics:
        """Return the equations with the contacts in their symbols."""
        rows = contact_rows(contacts_of(system.goals), dynamics, written)
        brakes = brake_rows(brakes_of(system), dynamics, written)
        own = ContactRows(rows, brakes, not brakes and gaps_depend(rows, dynamics))
        return replace(dynamics, additions=(*dynamics.additions, own))


def complete_contacts(system: PosedMechanics) -> dict[str, object]:
    """Return the parts of a system with those that its contacts bring along.

    Raises
    ------
    PosingError, UnsupportedError
        The contacts cannot be decided, or not with what else the system has.
    """
    contacts = contacts_of(system.goals)
    brakes = brakes_of(system)
    if not contacts and not brakes:
        return {}
    _check_held(system.goals, contacts, system.pairs)
    check_laws_in_space(system)
    events = without_own_events(system, brakes)
    discrete, events = _with_contacts(system.discrete, events, contacts, brakes)
    others = [part for part in system.additions if not isinstance(part, PosedContacts)]
    return {
        "discrete": discrete,
        "events": events,
        "goals": _with_sticking(system.goals, contacts),
        "outputs": with_contact_outputs(system.outputs, contacts, brakes, discrete),
        "meters": with_contact_meters(system.meters, contacts, discrete),
        "additions": (*others, PosedContacts()),
    }


def _with_contacts(
    discrete: Parameters,
    events: Sequence[Event],
    contacts: Sequence[Contact],
    brakes: Sequence[Brake],
) -> tuple[Parameters, tuple[Event, ...]]:
    """Return discrete values and events of a system, followed by those of its contacts."""
    rubbing = [*(contact for contact in contacts if contact.sticking), *brakes]
    check_directions({one.name: len(one.sticking) for one in rubbing})
    if rubbing and any(event.name == JAM for event in events):
        raise PosingError(
            f"the event {JAM!r} is reserved by the library when contacts have friction: rename "
            "the event"
        )
    if rubbing and PENDING not in discrete:
        none = {PENDING: 0.0, ENDS: 0.0}
        ranges = {PENDING: CLOSED, ENDS: Interval(-math.inf, math.inf)}
        units = {PENDING: "", ENDS: "s"}
        discrete = discrete.joined(Parameters(none, units, ranges, "discrete value"))
    for contact in contacts:
        own = contact.values[contact.held_by]
        if not (contact.held_by in discrete and discrete[contact.held_by] is own):
            discrete = discrete.joined(contact.values)
    further = [event for contact in contacts for event in contact.events]
    in_space = [one.name for one in rubbing if one.in_space is not None]
    if len(in_space) > 1 and f"split_{in_space[0]}_1" not in discrete:
        discrete = discrete.joined(split_values(in_space))
    shared = {
        shared_name(one, other): RATIO
        for one in rubbing
        for other in rubbing
        if other is not one and not in_space and shared_name(one, other) not in discrete
    }
    if shared:
        none = dict.fromkeys(shared, 0.0)
        discrete = discrete.joined(
            Parameters(none, dict.fromkeys(shared, ""), shared, "discrete value")
        )
    known = {event.name for event in events}
    if rubbing and ACCUMULATED not in known:
        pending, ends = discrete[PENDING], discrete[ENDS]
        guard = pending * (time - ends) + pending - 1.0
        further.append(Event(ACCUMULATED, guard, RISING, Reset({PENDING: 0.0})))
        # The decision about the contacts detects it, not a guard.
        further.append(Event(REST, ca.SX(1.0) + 0.0 * pending, FALLING, Reset({PENDING: 0.0})))
    further += [
        event
        for one in rubbing
        for event in _friction_events(one, rubbing, discrete)
        if event.name not in known
    ]
    return discrete, (*events, *[event for event in further if event not in events])


def _with_sticking(goals: Sequence[AnyGoal], contacts: Sequence[Contact]) -> tuple[AnyGoal, ...]:
    """Return the goals of a system with the constraints of sticking contacts."""
    further = [goal for contact in contacts for goal in contact.sticking]
    return (*goals, *[goal for goal in further if goal not in goals])


def _friction_events(
    contact: Rubbing, rubbing: Sequence[Rubbing], discrete: Parameters
) -> tuple[Event, ...]:
    """Return the events where a contact stops sliding or sticking, or reverses its slip.

    Contacts that stick together, such as two feet on one plane, share their available friction.
    A brake that reverses its slip has both other events, and one that lets go of what is kicked.
    """
    space = contact.in_space
    if space is not None:
        others = [other.in_space for other in rubbing if other.in_space is not None]
        return space.events(others, split_of(others, discrete))
    (sticking,) = contact.sticking
    limit = friction_limit(contact, rubbing, discrete)
    side, sticks = contact.direction, contact.values[f"sticks_{contact.name}"]
    slip, held = ca.SX(sticking.residual), sticking.reaction
    stops = side * slip + (1.0 - side * side)
    within = ca.vertcat(*[sticks * (limit + way * held) + (1.0 - sticks) for way in (-1.0, 1.0)])
    within = while_moving(within, contact.resting)
    none = Reset({side.name(): 0.0})
    events = (
        Event(f"{contact.name}_sticks", stops, FALLING, none),
        Event(f"{contact.name}_slips", within, FALLING, none),
        Event(f"{contact.name}_reverses", ca.SX(1.0) + 0.0 * side, FALLING, none),
    )
    return (*events[:2], _kicked(contact)) if isinstance(contact, Brake) else events


def _kicked(brake: Brake) -> Event:
    """Return the event by which a brake lets go of a slip that a reset or an input has changed."""
    sticks, squared = brake.values[brake.goal.held_by], ca.SX(brake.goal.residual) ** 2
    still = brake.goal.still**2
    beyond = sticks * (squared - still) / (squared + still) - (1.0 - sticks)
    free = Reset({brake.goal.held_by: 0.0}, whenever_past=True)
    return Event(f"{brake.name}_sense", beyond, RISING, free, listed=False)


def _check_held(
    goals: Sequence[AnyGoal], contacts: Sequence[Contact], pairs: Sequence[object]
) -> None:
    """Refuse contacts whose state cannot be decided.

    Raises
    ------
    UnsupportedError
        The system also has pairs of supports that are no laws of friction. Or a contact that is
        not the only one holds further goals: opening it would then release several constraints at
        once, and no complementarity problem decides which contacts open.
    """
    if pairs:
        raise UnsupportedError(
            f"the contact {contacts[0].name!r} is combined with pairs of supports, but beside "
            "contacts each pair needs two supports that face each other at one point in the plane, "
            "with one coefficient, and no law or contact may slip in two directions, nor a law be "
            "pressed by a contact"
        )
    for goal in goals:
        if not isinstance(goal, Goal) or not goal.held_by:
            continue
        shared = any(goal.held_by == contact.held_by for contact in contacts)
        if shared and not isinstance(goal, Contact) and len(contacts) > 1:
            raise UnsupportedError(
                f"the goal {goal.name!r} is released with the contact that has "
                f"{goal.held_by!r}, which must then be the only contact of the system, not one "
                f"of {len(contacts)}: opening is decided for single reactions"
            )

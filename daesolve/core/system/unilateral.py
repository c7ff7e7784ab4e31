"""Supports that only push, with friction: contacts open, close by an impact, stick and slide.

While closed, a contact is a holonomic constraint whose reaction N pushes. If N would pull, the
contact opens and its constraint is released; if the gap is zero again, it closes.
`modes.contact_law` decides for all contacts together which of them open or close at an instant
(Signorini's conditions 0 <= N, 0 <= gap'', N gap'' = 0). If one of them has friction,
`modes.rubbing_law` decides for all together which open, stick and slide: a sticking contact is a
constraint on its slip, and a sliding one is pushed against its slip by mu N.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from daesolve.core.equations.contact_rows import ContactFriction, ContactRow, SpatialRubbing
from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.posing.contacts import ACCUMULATED, ENDS, JAM, PENDING, REST
from daesolve.core.posing.events import FALLING, RISING, Event, Reset
from daesolve.core.posing.goals import (
    AnyGoal,
    Expression,
    Goal,
    Holonomic,
    Nonholonomic,
    as_scalar,
)
from daesolve.core.posing.symbols import Interval, Parameters, time
from daesolve.core.system.spatial_friction import (
    SpatialFriction,
    check_directions,
    own_values,
    slips_of,
    split_values,
)
from daesolve.errors import OutOfRangeError, PosingError, UnsupportedError

CLOSED = Interval(0.0, 1.0)
"""The allowed values of `contact_<name>` and `sticks_<name>`."""
SIDE = Interval(-1.0, 1.0)
"""The allowed values of `slides_<name>`."""


@dataclass(frozen=True, eq=False)
class Contact(Holonomic):
    """A support that can only push.

    Its residual is the gap. Neither the gap nor its reaction, along the gradient of the gap, is
    negative. The contact has a discrete value `contact_<name>`, 1.0 while closed and 0.0 while
    open, and the events `<name>_lost` and `<name>_closed`.

    Parameters
    ----------
    restitution
        e, a number or an expression of parameters and the state: after an impact the gap opens at e
        times the closing speed (Newton's law).
    closed
        Whether the contact is closed at the start. A run overrides it by
        `parameters={"contact_<name>": 0.0}`.
    slip
        The sliding velocity of the bodies at the contact, m/s, linear in the velocities; with it
        the contact has friction. In space give two components at right angles. None for a smooth
        contact.
    friction, static_friction
        Coulomb's mu while it slides, and the mu up to which it sticks, at least as large; numbers
        or expressions of parameters and the state.
    tangential_restitution
        The fraction of the slip that an impact returns (Newton's law), from 0 to 1.

    Notes
    -----
    A contact with friction has the discrete values `slides_<name>`, the sign of its slip or zero,
    or a part of its friction where others hold it; `sticks_<name>`, whether its slip is held at
    zero; and `rests_<name>`, whether all contacts rest, held by only some of the constraints. It
    has the events `<name>_sticks`, `<name>_slips` and `<name>_reverses`, and the output
    `<name>_friction`, N, along the slip. In space, where the slip has a direction, `slides_<name>`
    is 1.0 or 0.0, and the outputs are `<name>_friction_1` and `<name>_friction_2`.

    Raises
    ------
    PosingError
        It has no reaction along its gradient, something else holds it, or friction has no slip.
    OutOfRangeError
        A constant coefficient is negative, static friction is below friction, or tangential
        restitution is not between 0 and 1.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(y="m")
    >>> floor = ds.Contact("floor", q.y, restitution=0.5, closed=False)
    >>> ball = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=10 * q.y, goals=[floor])
    >>> run = ds.solve(ball, until=0.9, initial={"y": 1.25})
    >>> [(event.name, round(event.time, 9)) for event in run.events]
    [('floor_closed', 0.5)]
    """

    restitution: Expression = 0.0
    closed: bool = True
    slip: Expression | Sequence[Expression] | None = None
    friction: Expression = 0.0
    static_friction: Expression | None = None
    tangential_restitution: Expression = 0.0
    values: Parameters = field(init=False)
    events: tuple[Event, Event] = field(init=False)
    sticking: tuple[Nonholonomic, ...] = field(init=False)

    def __post_init__(self) -> None:
        value = f"contact_{self.name}"
        if self.held_by not in ("", value) or not self.ideal:
            raise PosingError(
                f"the contact {self.name!r} must be ideal and must not be held by another "
                "contact: its reaction acts along the gradient of its gap; its friction may "
                "enter the forces"
            )
        if not isinstance(self.closed, bool | int | np.bool_):
            raise PosingError(
                f"the contact {self.name!r}: closed is {self.closed!r}, but must be True or False"
            )
        object.__setattr__(self, "held_by", value)
        super().__post_init__()
        closed = float(bool(self.closed))
        ranges, starts = {value: CLOSED}, {value: closed}
        slips = slips_of(f"of the contact {self.name!r}", self.slip) if self.rubs else ()
        if len(slips) > 1:
            own = own_values(self.name)
            starts, ranges = starts | own[0], ranges | own[1]
        elif slips:
            ranges |= {f"slides_{self.name}": SIDE, f"sticks_{self.name}": CLOSED}
            ranges |= {f"rests_{self.name}": CLOSED}
            starts |= {name: 0.0 for name in ranges if name != value}
        values = Parameters(starts, dict.fromkeys(ranges, ""), ranges, "discrete value")
        object.__setattr__(self, "values", values)
        touches, open_ = values[value], 1.0 - values[value]
        opens = Reset({value: 0.0})
        closes = Reset({value: 1.0}, impose=[self.name], restitution=self.restitution)
        # An inactive guard is one, far from zero.
        pushes = _while_moving(touches * self.reaction + open_, self.resting)
        lost = Event(f"{self.name}_lost", pushes, FALLING, opens)
        met = Event(f"{self.name}_closed", open_ * self.residual + touches, FALLING, closes)
        object.__setattr__(self, "events", (lost, met))
        self._rub(slips)

    @property
    def resting(self) -> ca.SX:
        """Whether it rests with an undetermined share of the load; zero for a smooth contact."""
        name = f"rests_{self.name}"
        return self.values[name] if name in self.values else ca.SX(0)

    def _rub(self, slips: Sequence[ca.SX]) -> None:
        """Check the friction data, and pose the constraint that holds while it sticks."""
        owner = f"of the contact {self.name!r}"
        own = {"friction": self.friction, "tangential restitution": self.tangential_restitution}
        if self.static_friction is not None:
            own["static friction"] = self.static_friction
        numbers = {what: as_scalar(f"the {what} {owner}", value) for what, value in own.items()}
        known = {what: float(value) for what, value in numbers.items() if value.is_constant()}
        for what, number in known.items():
            most = 1.0 if what == "tangential restitution" else math.inf
            if not 0.0 <= number <= most:
                least = "from 0 to 1" if most == 1.0 else "at least 0"
                raise OutOfRangeError(f"the {what} {owner} is {number:g}, but must be {least}")
        if known.get("static friction", math.inf) < known.get("friction", 0.0):
            raise OutOfRangeError(
                f"the static friction {owner} is {known['static friction']:g}, below its "
                f"friction {known['friction']:g}: it must be at least as large"
            )
        if not slips and (any(number != 0.0 for number in known.values()) or len(known) < len(own)):
            raise PosingError(f"friction {owner} needs its slip: give slip=, linear in velocities")
        stuck, holds = f"{self.name}_stuck", f"sticks_{self.name}"
        places = ("",) if len(slips) == 1 else ("_1", "_2")
        sticking = tuple(
            Nonholonomic(f"{stuck}{place}", slip, held_by=f"{holds}{place}", unit="N")
            for place, slip in zip(places, slips, strict=False)
        )
        object.__setattr__(self, "sticking", sticking)

    @property
    def rubs(self) -> bool:
        """Whether it has a slip."""
        return self.slip is not None

    @property
    def in_space(self) -> SpatialFriction | None:
        """Its friction, if its slip has two directions."""
        if len(self.sticking) == 1 or not self.sticking:
            return None
        return SpatialFriction(
            self.name, self.sticking, self.values, self.reaction, self.friction, self.static
        )

    @property
    def static(self) -> Expression:
        """mu_s, up to which it sticks."""
        return self.friction if self.static_friction is None else self.static_friction

    @property
    def direction(self) -> ca.SX:
        """The direction in which it slides, a column, or the sign in the plane; otherwise zero."""
        space = self.in_space
        return self.values[f"slides_{self.name}"] if space is None else space.direction

    @property
    def traction(self) -> ca.SX:
        """The friction force along its slip, N: from the constraint, or from Coulomb's law."""
        held = ca.vertcat(*[goal.reaction for goal in self.sticking])
        return held - self.friction * self.direction * self.reaction


def contacts_of(goals: Iterable[AnyGoal]) -> list[Contact]:
    """Return the contacts among some goals."""
    return [goal for goal in goals if isinstance(goal, Contact)]


def with_contacts(
    discrete: Parameters, events: Sequence[Event], contacts: Sequence[Contact]
) -> tuple[Parameters, tuple[Event, ...]]:
    """Return discrete values and events of a system, followed by those of its contacts."""
    rubbing = [contact for contact in contacts if contact.sticking]
    check_directions({contact.name: len(contact.sticking) for contact in rubbing})
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
    in_space = [contact.name for contact in rubbing if contact.in_space is not None]
    if len(in_space) > 1 and f"split_{in_space[0]}_1" not in discrete:
        discrete = discrete.joined(split_values(in_space))
    shared = {
        shared_name(one, other): CLOSED
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
        for contact in rubbing
        for event in _friction_events(contact, rubbing, discrete)
        if event.name not in known
    ]
    return discrete, (*events, *[event for event in further if event not in events])


def with_sticking(goals: Sequence[AnyGoal], contacts: Sequence[Contact]) -> tuple[AnyGoal, ...]:
    """Return the goals of a system with the constraints of sticking contacts."""
    further = [goal for contact in contacts for goal in contact.sticking]
    return (*goals, *[goal for goal in further if goal not in goals])


def split_of(in_space: Sequence[SpatialFriction], discrete: Parameters) -> Parameters | None:
    """Return the values that split friction among contacts in space, if there are several."""
    return discrete if len(in_space) > 1 else None


def _friction_events(
    contact: Contact, rubbing: Sequence[Contact], discrete: Parameters
) -> tuple[Event, ...]:
    """Return the events where a contact stops sliding or sticking, or reverses its slip.

    Contacts that stick together, such as two feet on one plane, share their available friction.
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
    within = _while_moving(within, contact.resting)
    none = Reset({f"slides_{contact.name}": 0.0})
    return (
        Event(f"{contact.name}_sticks", stops, FALLING, none),
        Event(f"{contact.name}_slips", within, FALLING, none),
        Event(f"{contact.name}_reverses", ca.SX(1.0) + 0.0 * side, FALLING, none),
    )


def shared_name(one: Contact, other: Contact) -> str:
    """Return the discrete value for whether a contact also holds another one's slip."""
    return f"stuck_{one.name}_{other.name}"


def friction_limit(contact: Contact, rubbing: Sequence[Contact], discrete: Parameters) -> ca.SX:
    """Return the largest friction of a sticking contact and of those that it holds, N."""
    limit = _limit(contact)
    for other in rubbing:
        if other is not contact:
            limit += discrete[shared_name(contact, other)] * _limit(other)
    return limit


def _while_moving(guard: ca.SX, resting: ca.SX) -> ca.SX:
    """Return a guard that is one while a contact rests, when no reaction is known."""
    return guard if resting.is_zero() else (1.0 - resting) * guard + resting


def _limit(contact: Contact) -> ca.SX:
    """Return the largest friction of a contact that sticks, N."""
    return contact.static * contact.values[contact.held_by] * contact.reaction


def with_friction(
    directed: ca.SX,
    contacts: Sequence[Contact],
    rows: Sequence[GoalRow],
    reactions: ca.SX,
    posed: Callable[[Expression], ca.SX],
) -> ca.SX:
    """Return the directed reactions, including the friction of sliding contacts.

    Parameters
    ----------
    directed
        (nv, nu), the part that the forces direct.
    contacts, rows
        The contacts, and the goals, including those that hold while contacts stick.
    reactions
        The symbols of all reactions.
    posed
        Writes an expression in the velocities of the equations.
    """
    by_name = {row.name: row for row in rows}
    for contact in contacts:
        if not contact.sticking:
            continue
        pushes = posed(-contact.friction * contact.direction)
        for goal, push in zip(contact.sticking, ca.vertsplit(pushes), strict=True):
            row = by_name[goal.name]
            assert row.hold is not None
            slope = ca.substitute(row.jacobian, row.hold, 1.0)
            directed = directed + slope.T @ (push * ca.jacobian(contact.reaction, reactions))
    return directed


def contact_rows(
    contacts: Sequence[Contact],
    dynamics: Dynamics,
    written: Callable[[Expression], ca.SX],
) -> tuple[ContactRow, ...]:
    """Return the contacts in the symbols of the equations."""
    names, rows = list(dynamics.values), [row.name for row in dynamics.rows]
    events = [event.name for event in dynamics.events]
    return tuple(
        ContactRow(
            name=contact.name,
            row=rows.index(contact.name),
            hold=names.index(contact.held_by),
            lost=events.index(contact.events[0].name),
            closed=events.index(contact.events[1].name),
            restitution=written(contact.restitution),
            rubbing=_rubbing(contact, rows, names, events, written),
        )
        for contact in contacts
    )


def _rubbing(
    contact: Contact,
    rows: Sequence[str],
    names: Sequence[str],
    events: Sequence[str],
    written: Callable[[Expression], ca.SX],
) -> ContactFriction | None:
    if not contact.sticking:
        return None
    name = contact.name
    rests = f"rests_{name}"
    plane = ContactFriction(
        row=rows.index(contact.sticking[0].name),
        slides=names.index(f"slides_{name}"),
        sticks=names.index(contact.sticking[0].held_by),
        rests=names.index(rests) if rests in names else None,
        begins_to_stick=events.index(f"{name}_sticks"),
        begins_to_slip=events.index(f"{name}_slips"),
        reverses=events.index(f"{name}_reverses"),
        friction=written(contact.friction),
        static_friction=written(contact.static),
        restitution=written(contact.tangential_restitution),
    )
    if contact.in_space is None:
        return plane
    return SpatialRubbing.beside(plane, name, rows, names, events)


def check_held(goals: Sequence[AnyGoal], pairs: Sequence[object]) -> None:
    """Refuse contacts whose state cannot be decided.

    Raises
    ------
    UnsupportedError
        The system also has pairs of supports, which are decided separately. Or a contact that is
        not the only one holds further goals: opening it would then release several constraints at
        once, and no complementarity problem decides which contacts open.
    """
    contacts = contacts_of(goals)
    if contacts and len(pairs):
        raise UnsupportedError(
            f"the contact {contacts[0].name!r} is combined with pairs of supports, but the "
            "library cannot decide together which supports are loaded and which contacts "
            "open; use only one of the two"
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

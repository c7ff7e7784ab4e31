"""Supports that can only push: a contact holds its gap at zero, opens, and closes by an impact.

While it is closed, a contact is a holonomic constraint whose reaction N pushes. Where N would pull,
it opens, and the constraint is gone; where the gap is zero again, it closes. Which contacts open or
close at an instant is one question for all of them (Signorini's conditions 0 <= N, 0 <= gap'',
N gap'' = 0), which `modes.contact_law` answers.

Supports with friction can jam: their reactions grow without bounds while the body still slides. The
equations for the reactions have the matrix Phi M^-1 (n + f tau) of the loaded supports. Its
determinant over the friction-free one is 1 without friction, and zero where the body jams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import casadi as ca
import numpy as np

from daesolve.algebra.linear import solve_definite
from daesolve.equations.dynamics import ContactRow, Dynamics
from daesolve.errors import PosingError, UnsupportedError
from daesolve.posing.events import FALLING, Event, Reset, Stop
from daesolve.posing.goals import AnyGoal, Expression, Goal, Holonomic
from daesolve.posing.guides import JAM, Guides
from daesolve.posing.symbols import Interval, Parameters

CLOSED = Interval(0.0, 1.0)
"""What `contact_<name>` may be."""
JAMMED = 1e-6
"""The part of the friction-free determinant below which supports have jammed."""
LARGEST = 12
"""Pairs beyond which the determinant is too long an expression."""


@dataclass(frozen=True, eq=False)
class Contact(Holonomic):
    """A support that can only push.

    Its residual is the gap, which is not negative. Its reaction, along the gradient of the gap, is
    not negative either. It has a discrete value `contact_<name>`, 1.0 while it is closed and 0.0
    while it is open, and the events `<name>_lost` and `<name>_closed`.

    Parameters
    ----------
    restitution
        e, a number or an expression of parameters and of the state: where the gap closes with a
        speed, the contact is left with e times this speed (Newton's law).
    closed
        Whether it is closed at the start. `parameters={"contact_<name>": 0.0}` sets it for a run.

    Raises
    ------
    PosingError
        It brings no reaction of its own along the gradient, or is held by something else.

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
    values: Parameters = field(init=False)
    events: tuple[Event, Event] = field(init=False)

    def __post_init__(self) -> None:
        value = f"contact_{self.name}"
        if self.held_by not in ("", value) or not self.ideal:
            raise PosingError(
                f"the contact {self.name!r} must be ideal and hold alone: its reaction acts "
                "along the gradient of its gap; friction may enter the forces with it"
            )
        if not isinstance(self.closed, bool | int | np.bool_):
            raise PosingError(
                f"the contact {self.name!r}: closed is {self.closed!r}, but must be True or False"
            )
        object.__setattr__(self, "held_by", value)
        super().__post_init__()
        closed = float(bool(self.closed))
        values = Parameters({value: closed}, {value: ""}, {value: CLOSED}, "discrete value")
        touches, open_ = values[value], 1.0 - values[value]
        opens = Reset({value: 0.0})
        closes = Reset({value: 1.0}, impose=[self.name], restitution=self.restitution)
        # What does not count is one, far from zero.
        lost = Event(f"{self.name}_lost", touches * self.reaction + open_, FALLING, opens)
        met = Event(f"{self.name}_closed", open_ * self.residual + touches, FALLING, closes)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "events", (lost, met))


def contacts_of(goals: Iterable[AnyGoal]) -> list[Contact]:
    """Return the contacts among some goals."""
    return [goal for goal in goals if isinstance(goal, Contact)]


def with_contacts(
    discrete: Parameters, events: Sequence[Event], contacts: Sequence[Contact]
) -> tuple[Parameters, tuple[Event, ...]]:
    """Return discrete values and events of a system, those of its contacts behind its own."""
    for contact in contacts:
        own = contact.values[contact.held_by]
        if not (contact.held_by in discrete and discrete[contact.held_by] is own):
            discrete = discrete.joined(contact.values)
    further = [event for contact in contacts for event in contact.events]
    return discrete, (*events, *[event for event in further if event not in events])


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
        )
        for contact in contacts
    )


def check_held(goals: Sequence[AnyGoal], pairs: Sequence[object]) -> None:
    """Refuse contacts that nothing could decide on.

    Raises
    ------
    UnsupportedError
        There are pairs of supports besides, on which is decided apart. Or further goals are held
        by a contact that is not the only one: then opening it lets go of several constraints at
        once, and no complementarity problem says which contacts open.
    """
    contacts = contacts_of(goals)
    if contacts and len(pairs):
        raise UnsupportedError(
            f"the contact {contacts[0].name!r} is posed beside pairs of supports, but which of "
            "them are loaded and which contacts open is not decided together; take one or the other"
        )
    for goal in goals:
        if not isinstance(goal, Goal) or not goal.held_by:
            continue
        shared = any(goal.held_by == contact.held_by for contact in contacts)
        if shared and not isinstance(goal, Contact) and len(contacts) > 1:
            raise UnsupportedError(
                f"the goal {goal.name!r} is let go of with the contact that has "
                f"{goal.held_by!r}, which is then to be the only contact of the system, not one of "
                f"{len(contacts)}: which of them open is decided for single reactions"
            )


def watched_for_jams(dynamics: Dynamics, guides: Guides) -> Dynamics:
    """Return the equations with the event `jam`.

    Raises
    ------
    PosingError
        Other reactions are directed by the forces too, or the pairs are too many.
    """
    count = len(guides.pairs)
    own = sum(row.reaction is not None for row in dynamics.rows)
    if dynamics.relations or dynamics.reactions.numel() != own + count:
        raise PosingError(
            "pairs of supports go together with ideal constraints, and with no other reactions "
            "that are directed by the forces"
        )
    if count > LARGEST:
        raise PosingError(f"a system takes at most {LARGEST} pairs of supports, not {count}")
    stop = Stop(
        "the supports jam: their reactions grow without bounds while the body still slides, and "
        "dry friction of rigid bodies determines no motion after it"
    )
    ratio = determinant_ratio(dynamics, guides)
    event = Event(JAM, ratio - JAMMED, FALLING, stop)
    return replace(dynamics, events=(*dynamics.events, event))


def determinant_ratio(dynamics: Dynamics, guides: Guides) -> ca.SX:
    """Return det Phi M^-1 (n + f tau) over det Phi M^-1 n for the loaded supports."""
    ideal = [row.jacobian for row in dynamics.rows if row.reaction is not None]
    kept = ca.vertcat(*[row.jacobian for row in dynamics.rows if row.reaction is None])
    normals: list[ca.SX] = []
    frictions: list[ca.SX] = []
    for k, (first, second) in enumerate(guides.supports):
        share = (1 + guides.variants[k]) / 2
        normal, friction = share * second.normal, share * second.friction
        if first is not None:
            normal -= (1 - share) * first.normal
            friction -= (1 - share) * first.friction
        normals.append(normal)
        frictions.append(friction)
    held = solve_definite(dynamics.mass, kept.T)
    if ideal:
        rows = ca.vertcat(*ideal)
        free = solve_definite(dynamics.mass, rows.T)
        held = held - free @ solve_definite(rows @ free, rows @ held)
    without = held.T @ ca.horzcat(*normals)
    return determinant(without + held.T @ ca.horzcat(*frictions)) / determinant(without)


def determinant(matrix: ca.SX) -> ca.SX:
    """Return the determinant without a division (R. S. Bird, Inf. Process. Lett. 111 (2011))."""
    count = matrix.shape[0]
    power = matrix
    for _ in range(count - 1):
        upper = ca.triu(power) - ca.diag(ca.diag(power))
        tail = ca.SX(0)
        for k in reversed(range(count)):
            upper[k, k] = -tail
            tail = tail + power[k, k]
        power = upper @ matrix
    return power[0, 0] if count % 2 else -power[0, 0]

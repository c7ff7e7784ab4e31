"""Contacts in the symbols of the equations: their rows, values and events."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import casadi as ca
import numpy as np

from daesolve.contact.posing.brakes import Brake
from daesolve.contact.posing.contacts import Contact
from daesolve.contact.posing.jamming import NEAR, jam_ratio
from daesolve.contact.posing.names import JAM
from daesolve.core.equations.additions import Addition, UnilateralRow
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.choices import ORDERED
from daesolve.core.expressions.singular_values import independent_rows
from daesolve.core.formulations import Elimination
from daesolve.core.posing.events import FALLING, Event, Reset
from daesolve.core.posing.goals import Expression
from daesolve.core.preparation.request import Request
from daesolve.errors import OutOfRangeError, UnsupportedError, unknown_name

PLACES = 3
"""At so many places slopes of gaps are compared."""
DEPENDENT = 1e-9
"""The part of a unit slope that is rounding."""


@dataclass(frozen=True, eq=False)
class ContactFriction:
    """The friction of a contact, in the symbols of the equations.

    Parameters
    ----------
    row
        The index of the constraint on its slip among the rows.
    slides, sticks, rests
        The indices of its discrete values in p; in space there is no index for `rests`.
    begins_to_stick, begins_to_slip, reverses
        The indices of its events; without the last, the first two say that it reverses.
    friction, static_friction, restitution
        mu while it slides, mu up to which it sticks, and the fraction of the slip that an impact
        returns.
    """

    row: int
    slides: int
    sticks: int
    rests: int | None
    begins_to_stick: int
    begins_to_slip: int
    reverses: int | None
    friction: ca.SX
    static_friction: ca.SX
    restitution: ca.SX

    @property
    def rows(self) -> tuple[int, ...]:
        """The indices of the constraints on its slip."""
        return (self.row,)

    @property
    def holds(self) -> tuple[int, ...]:
        """The indices in p of the values that hold them."""
        return (self.sticks,)

    @property
    def events(self) -> tuple[int, ...]:
        """The indices of its events."""
        own = self.begins_to_stick, self.begins_to_slip
        return own if self.reverses is None else (*own, self.reverses)

    @property
    def reversal(self) -> tuple[int, ...]:
        """Those where its slip reverses."""
        return self.events if self.reverses is None else (self.reverses,)


@dataclass(frozen=True, eq=False)
class BrakeFriction(ContactFriction):
    """The friction of a brake, which is a contact under a given normal reaction.

    Parameters
    ----------
    name
        The name of its law.
    presses
        The normal reaction, of states and reactions.
    ended
        The index in p of the time when its slip last ended.
    """

    name: str
    presses: ca.SX
    ended: int


@dataclass(frozen=True, eq=False)
class SpatialContactFriction(ContactFriction):
    """The friction of a contact in space; `row` is the first of its two directions of slip.

    Parameters
    ----------
    second, sticks_second
        As `row` and `sticks`, for the other direction.
    heads, heading, turning, begun
        The indices in p of the value for sliding in a given direction, of that direction, of its
        rate, and of its starting time.
    still, bears
        The indices of the slip below which it is at rest, m/s, and of the size of its friction, N.
    split, shift, along
        The indices of its share in the friction of contacts that stick together; none if there is
        no other contact.
    sets_out, shares
        The indices of the internal events for a beginning slip, and for shares.
    """

    second: int
    sticks_second: int
    heads: int
    heading: tuple[int, ...]
    turning: tuple[int, ...]
    begun: int
    still: int
    bears: int
    split: tuple[int, ...]
    shift: tuple[int, ...]
    along: tuple[int, ...]
    sets_out: int
    shares: int

    @staticmethod
    def beside(
        first: ContactFriction,
        name: str,
        rows: Sequence[str],
        names: Sequence[str],
        events: Sequence[str],
    ) -> SpatialContactFriction:
        """Return the friction of a contact from that along the first direction of its slip."""

        def places(what: str) -> tuple[int, ...]:
            both = [f"{what}_{name}_{k}" for k in (1, 2)]
            return tuple(names.index(one) for one in both if one in names)

        own = {part.name: getattr(first, part.name) for part in fields(first)}
        return SpatialContactFriction(
            **own,
            second=rows.index(f"{name}_stuck_2"),
            sticks_second=names.index(f"sticks_{name}_2"),
            heads=names.index(f"heads_{name}"),
            heading=places("heading"),
            turning=places("turning"),
            begun=names.index(f"begun_{name}"),
            still=names.index(f"still_{name}"),
            bears=names.index(f"bears_{name}"),
            split=places("split"),
            shift=places("shift"),
            along=places("along"),
            sets_out=events.index(f"{name}_sets_out"),
            shares=events.index(f"{name}_shares"),
        )

    @property
    def rows(self) -> tuple[int, ...]:
        """The indices of the constraints on its slip."""
        return self.row, self.second

    @property
    def holds(self) -> tuple[int, ...]:
        """The indices in p of the values that hold them."""
        return self.sticks, self.sticks_second

    @property
    def events(self) -> tuple[int, ...]:
        """The indices of its events."""
        return (*super().events, self.sets_out, self.shares)


@dataclass(frozen=True, eq=False)
class ContactRow(UnilateralRow):
    """A contact in the symbols of the equations.

    Parameters
    ----------
    name, row, hold, closed, restitution
        As in `UnilateralRow`.
    follows
        The index in p of the value that says whether others keep its gap at zero.
    slack
        The index in p of how far its reaction may fall below zero by rounding.
    lost
        The index of the event at which it opens.
    spatial
        Whether it or another one beside it has two directions of slip.
    rubbing
        Its friction; None for a smooth one.
    """

    follows: int
    slack: int
    lost: int
    spatial: bool
    rubbing: ContactFriction | None = None

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"the contact {self.name!r}"

    @property
    def opening_advice(self) -> str:
        """How a run starts with it open, as a sentence."""
        value = {f"contact_{self.name}": 0.0}
        return (
            f"The contact {self.name!r} is closed at the start; to start with it open, pose it "
            f"with closed=False or give parameters={value}. To continue a run, pass the run "
            "itself, not its end_state"
        )

    @property
    def slips(self) -> tuple[int, ...]:
        """The indices of the constraints on its slip."""
        return () if self.rubbing is None else self.rubbing.rows

    @property
    def slip_holds(self) -> tuple[int, ...]:
        """The indices in p of the values that hold them."""
        return () if self.rubbing is None else self.rubbing.holds

    @property
    def shares_loads(self) -> bool:
        """Whether it is in space: as the fourth foot of a body, it may share a load."""
        return self.spatial


@dataclass(frozen=True, eq=False)
class ContactRows(Addition):
    """The contacts of a system and its brakes, in the symbols of the equations.

    `depend` says whether gaps follow from others wherever these are zero, as under the fourth foot
    of a body.
    """

    rows: tuple[ContactRow, ...]
    brakes: tuple[BrakeFriction, ...] = ()
    depend: bool = False
    options: ClassVar[Collection[str]] = (
        "impact",
        "impact_order",
        "on_gain",
        "on_jam",
        "on_ambiguous",
    )

    @property
    def unilateral(self) -> tuple[ContactRow, ...]:
        """The contacts."""
        return self.rows

    @property
    def restitutions(self) -> dict[str, ca.SX]:
        """The coefficients of restitution of contacts and of their slips."""
        found: dict[str, ca.SX] = {}
        for row in self.rows:
            found[row.title] = row.restitution
            if row.rubbing is not None:
                found[f"the slip of {row.title}"] = row.rubbing.restitution
        return found

    @property
    def expressions(self) -> list[ca.SX]:
        """What impacts read."""
        return [row.restitution for row in self.rows]

    def in_motion(self, p: np.ndarray) -> np.ndarray:
        """Return p with every contact closed, and sliding if it has friction."""
        p = p.copy()
        for row in self.rows:
            p[row.hold] = 1.0
            if row.rubbing is not None:
                p[row.rubbing.slides], p[[*row.slip_holds]] = 1.0, 0.0
        for brake in self.brakes:
            p[brake.slides], p[brake.sticks] = 1.0, 0.0
        return p

    def events(self, elimination: Elimination) -> tuple[Event, ...]:
        """Return the events of a jam: one near it, and one in it, which no motion passes."""
        if not any(row.slips for row in self.rows):
            return ()
        dynamics = elimination.dynamics
        gaps = [dynamics.rows[row.row] for row in self.rows]
        ratio = jam_ratio(gaps, dynamics, elimination.plan)
        return (Event(JAM, [ratio - NEAR, 1.0], FALLING, Reset()),)

    def check_request(self, request: Request) -> None:
        """Refuse a law of impacts for other slips, and an order that does not name the contacts.

        Raises
        ------
        OutOfRangeError, UnknownNameError, UnsupportedError
            The message names what is wrong, and what would be right.
        """
        names = [row.name for row in self.rows]
        returning = [
            row.name
            for row in self.rows
            if row.rubbing is not None and not row.rubbing.restitution.is_zero()
        ]
        if returning and request.impact != "newton":
            raise UnsupportedError(
                f"the contact {returning[0]!r} has a tangential restitution, which belongs to "
                f"Newton's law: leave out impact = {request.impact!r}, or the restitution"
            )
        if request.impact_order is None:
            return
        if request.impact not in ORDERED:
            raise UnsupportedError(
                "impact_order needs impact = 'sequential' or 'routh', because it orders impacts "
                "that follow one another"
            )
        for name in request.impact_order:
            if name not in names:
                raise unknown_name("contact in impact_order", name, names)
        if len(request.impact_order) != len(names) or len(set(request.impact_order)) != len(names):
            raise OutOfRangeError(
                f"impact_order is {list(request.impact_order)}, but must name each contact once: "
                f"{', '.join(names)}"
            )


def contacts_in(dynamics: Dynamics) -> tuple[ContactRow, ...]:
    """Return the contacts of a system, in the symbols of its equations."""
    own = (part.rows for part in dynamics.additions if isinstance(part, ContactRows))
    return next(own, ())


def brakes_in(dynamics: Dynamics) -> tuple[BrakeFriction, ...]:
    """Return the brakes of a system, in the symbols of its equations."""
    own = (part.brakes for part in dynamics.additions if isinstance(part, ContactRows))
    return next(own, ())


def rub(dynamics: Dynamics) -> bool:
    """Return whether anything rubs on which the law of the contacts decides, or shares loads."""
    own = [part for part in dynamics.additions if isinstance(part, ContactRows)]
    return any(part.depend or part.brakes or any(r.rubbing for r in part.rows) for part in own)


def gaps_depend(rows: Sequence[ContactRow], dynamics: Dynamics) -> bool:
    """Return whether smooth gaps follow from others, and from constraints, wherever all are zero.

    Then some sum of their slopes vanishes together with that of the gaps. Of both limits of a joint
    the latter is the width of its range.
    """
    if len(rows) < 2 or any(row.rubbing for row in rows):
        return False
    lasting = [row for row in dynamics.rows if row.hold is None]
    chains = [row.chain for row in (*lasting, *(dynamics.rows[own.row] for own in rows))]
    table = ca.vertcat(*[ca.horzcat(ca.jacobian(c[0], dynamics.x), c[0]) for c in chains])
    function = ca.Function("gaps", [dynamics.t, dynamics.x, dynamics.p], [ca.densify(table)])
    p, drawn = dynamics.value_vector({}), np.random.default_rng(0)
    p[[row.hold for row in rows]] = 1.0
    for _ in range(PLACES):
        found = np.array(function(0.0, drawn.normal(size=dynamics.x.numel()), p), dtype=float)
        if not np.all(np.isfinite(found)):
            return False
        kept = independent_rows(found, DEPENDENT)
        if len([k for k in kept if k >= len(lasting)]) == len(rows):
            return False
    return True


def contact_rows(
    contacts: Sequence[Contact],
    dynamics: Dynamics,
    written: Callable[[Expression], ca.SX],
) -> tuple[ContactRow, ...]:
    """Return the contacts in the symbols of the equations."""
    names, rows = list(dynamics.values), [row.name for row in dynamics.rows]
    events = [event.name for event in dynamics.events]
    spatial = any(contact.in_space is not None for contact in contacts)
    return tuple(
        ContactRow(
            name=contact.name,
            row=rows.index(contact.name),
            hold=names.index(contact.held_by),
            follows=names.index(f"follows_{contact.name}"),
            slack=names.index(f"slack_{contact.name}"),
            lost=events.index(contact.events[0].name),
            spatial=spatial,
            closed=events.index(contact.events[1].name),
            restitution=written(contact.restitution),
            rubbing=_rubbing(contact, rows, names, events, written),
        )
        for contact in contacts
    )


def brake_rows(
    brakes: Sequence[Brake], dynamics: Dynamics, written: Callable[[Expression], ca.SX]
) -> tuple[BrakeFriction, ...]:
    """Return the brakes in the symbols of the equations."""
    names, rows = list(dynamics.values), [row.name for row in dynamics.rows]
    events = [event.name for event in dynamics.events]
    return tuple(
        BrakeFriction(
            row=rows.index(brake.goal.name),
            slides=names.index(f"sense_{brake.name}"),
            sticks=names.index(brake.goal.held_by),
            rests=None,
            begins_to_stick=events.index(f"{brake.name}_sticks"),
            begins_to_slip=events.index(f"{brake.name}_slips"),
            reverses=None,
            friction=written(brake.goal.friction),
            static_friction=written(brake.goal.static_friction),
            restitution=ca.SX(0),
            name=brake.name,
            presses=written(brake.goal.presses),
            ended=names.index(f"ended_{brake.name}"),
        )
        for brake in brakes
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
    return SpatialContactFriction.beside(plane, name, rows, names, events)


def in_space(rows: Sequence[ContactRow]) -> bool:
    """Return whether a contact with friction has two directions of slip."""
    return any(isinstance(row.rubbing, SpatialContactFriction) for row in rows)

"""Contacts in the symbols of the equations: their rows, values and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import casadi as ca


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
        The indices of its events.
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
    reverses: int
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
        return self.begins_to_stick, self.begins_to_slip, self.reverses


@dataclass(frozen=True, eq=False)
class SpatialRubbing(ContactFriction):
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
    ) -> SpatialRubbing:
        """Return the friction of a contact from that along the first direction of its slip."""

        def places(what: str) -> tuple[int, ...]:
            both = [f"{what}_{name}_{k}" for k in (1, 2)]
            return tuple(names.index(one) for one in both if one in names)

        own = {part.name: getattr(first, part.name) for part in fields(first)}
        return SpatialRubbing(
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
class ContactRow:
    """A support that can only push, in the symbols of the equations.

    Parameters
    ----------
    name
        The name of its goal.
    row, hold
        The index of its goal among the rows, and of its discrete value in p.
    lost, closed
        The indices of its events.
    restitution
        The fraction of the approach speed at which bodies separate.
    rubbing
        Its friction; None for a smooth one.
    """

    name: str
    row: int
    hold: int
    lost: int
    closed: int
    restitution: ca.SX
    rubbing: ContactFriction | None = None


def opening_advice(rows: Sequence[ContactRow], missed: Mapping[str, float]) -> str:
    """Say how a contact starts open whose gap is positive; empty where there is none.

    Parameters
    ----------
    rows
        The contacts.
    missed
        The residuals of violated goals, by their titles: of a contact, its gap.
    """
    for row in rows:
        if missed.get(f"the goal {row.name!r}", 0.0) > 0.0:
            value = {f"contact_{row.name}": 0.0}
            return (
                f". The contact {row.name!r} is closed at the start; to start with it open, pose "
                f"it with closed=False or give parameters={value}. To continue a run, pass the run "
                "itself, not its end_state"
            )
    return ""


def in_space(rows: Sequence[ContactRow]) -> bool:
    """Return whether a contact with friction has two directions of slip."""
    return any(isinstance(row.rubbing, SpatialRubbing) for row in rows)

"""Contacts in the symbols of the equations: which rows, values and events are theirs."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca


@dataclass(frozen=True, eq=False)
class Rubbing:
    """The friction of a contact, in the symbols of the equations.

    Parameters
    ----------
    row
        The index of the constraint on its slip among the rows.
    slides, sticks, rests
        The places of its discrete values among p.
    begins_to_stick, begins_to_slip, reverses
        The indices of its events.
    friction, static_friction, restitution
        mu while it slides, mu up to which it sticks, and what part of the slip an impact returns.
    """

    row: int
    slides: int
    sticks: int
    rests: int
    begins_to_stick: int
    begins_to_slip: int
    reverses: int
    friction: ca.SX
    static_friction: ca.SX
    restitution: ca.SX

    @property
    def events(self) -> tuple[int, int, int]:
        """The indices of its events."""
        return self.begins_to_stick, self.begins_to_slip, self.reverses


@dataclass(frozen=True, eq=False)
class ContactRow:
    """A support that can only push, in the symbols of the equations.

    Parameters
    ----------
    name
        Of its goal.
    row, hold
        The index of its goal among the rows, and of its discrete value among p.
    lost, closed
        The indices of its events.
    restitution
        With what part of the speed it is left.
    rubbing
        Its friction; None for a smooth one.
    """

    name: str
    row: int
    hold: int
    lost: int
    closed: int
    restitution: ca.SX
    rubbing: Rubbing | None = None

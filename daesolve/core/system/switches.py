"""The discrete values that choose the branches of piecewise expressions; see `piecewise`."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from daesolve.core.posing.events import FALLING, RISING, Event, Reset


@dataclass(frozen=True, eq=False)
class Switch:
    """A discrete value that follows its guard.

    Parameters
    ----------
    name
        The name of the value and of its event.
    value
        Its symbol.
    guard
        An expression of time, states, and other switches.
    counts
        Whether it counts whole steps of the guard instead of giving the guard's sign.
    goal
        The constraint that contains it, which is imposed when it switches; None elsewhere.
    """

    name: str
    value: ca.SX
    guard: ca.SX
    counts: bool
    goal: str | None

    @property
    def event(self) -> Event:
        """The event that keeps the value consistent with the guard."""
        imposed = () if self.goal is None else (self.goal,)
        if self.counts:
            guards = [self.guard - (self.value + 1), self.value - self.guard]
            change = Reset(self._stepped, impose=imposed, whenever_past=True)
            return Event(self.name, guards, RISING, change)
        change = Reset({self.name: -self.value}, impose=imposed, whenever_past=True)
        return Event(self.name, self.value * self.guard, FALLING, change)

    def _stepped(self, passed: ca.SX) -> dict[str, ca.SX]:
        """Return the number of whole steps; at a border, that beyond it, despite rounding."""
        whole = ca.floor(self.guard)
        up, down = ca.fmax(self.value + 1, whole), ca.fmin(self.value - 1, whole)
        return {self.name: ca.if_else(passed[0], up, down)}

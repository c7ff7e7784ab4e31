"""A segment of `event_stepping` under way: its steps so far, and the events met in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from daesolve.core.solvers.heyoka_code import LIMIT, SUCCESS
from daesolve.core.solvers.segment import MOST_VAIN, State
from daesolve.core.solvers.stalling import Stall
from daesolve.core.solvers.step_checks import Doubt

STUCK_AFTER = 1000
"""After so many steps that together move less than rounding, the integrator is stuck."""


class Way:
    """A segment under way: the steps so far, and where it goes.

    Parameters
    ----------
    start, until
        Those of the segment.
    farthest
        How far to go at first; 0.0 where that is not bounded.
    """

    def __init__(self, start: State, until: float, farthest: float) -> None:
        self.start, self.until, self.farthest = start, until, farthest
        self.now, self.code, self.failure = start.time, SUCCESS, ""
        self.continues = False
        self.times: list[float] = []
        self.states: list[np.ndarray] = []
        self.series: list[np.ndarray] = []
        self.believed = 0
        self.stall = Stall(STUCK_AFTER, abs(until))
        self.looked = 2 if farthest else 1
        self.whole, self._vain = until, 0

    @property
    def state(self) -> np.ndarray:
        """The state that was reached."""
        return self.state_at(len(self.states))

    def state_at(self, count: int) -> np.ndarray:
        """Return the state after so many steps."""
        return self.states[count - 1] if count else self.start.x

    def time_at(self, count: int) -> float:
        """Return the time after so many steps."""
        return self.times[count - 1] if count else self.start.time

    def end_after(self, count: int) -> None:
        """Drop what comes after so many steps."""
        del self.times[count:], self.states[count:]
        self.now = self.time_at(count)

    def believe(self) -> None:
        """Accept all steps so far."""
        self.believed, self.series = len(self.times), []

    def cut(self, doubt: Doubt) -> None:
        """Go back before a doubtful step, and then no farther than it is right."""
        kept = self.believed + doubt.step
        self._vain = 0 if doubt.step else self._vain + 1
        del self.times[kept:], self.states[kept:]
        self.believe()
        self.now, self.until, self.code = self.time_at(kept), self.whole, LIMIT
        self.farthest = doubt.until - self.now
        if self._vain > MOST_VAIN or abs(self.farthest) <= 4.0 * np.spacing(abs(self.now)):
            self.failure = doubt.sentence


class EventRecorder:
    """Notes when an event that does not interrupt happens, in the list of its integrator."""

    def __init__(self, met: list[tuple[int, float]], index: int) -> None:
        self.met, self.index = met, index

    def __call__(self, integrator: Any, time: float, sign: int) -> None:
        """Note it."""
        self.met.append((self.index, time))

    def __deepcopy__(self, memo: Any) -> EventRecorder:
        # heyoka keeps copies of callbacks.
        return self

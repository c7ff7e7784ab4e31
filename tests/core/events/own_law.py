"""A law of a user's own, as a file of his own holds it: a ball that stays where it strikes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

import daesolve as ds
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.guard_table import Role
from daesolve.core.events.law import Beginning, Jump, Setting, SwitchingLaw

STAYS, KEPT = 0.1, 0.8
"""How long it stays, s, and which part of its speed it has when it leaves."""


class Dwell(SwitchingLaw):
    """After "strike" the body stays for `STAYS` seconds; then it "leaves"."""

    def __init__(self, setting: Setting, events: Sequence[int]) -> None:
        super().__init__(events)
        self.strike = next(k for k in events if setting.table.events[k].name == "strike")
        self.speed = setting.problem.labels.states.index("y_dot")
        values = list(setting.problem.values)
        self.values = [values.index(name) for name in ("stays", "until", "speed")]

    @classmethod
    def begin(cls, dynamics: Dynamics, beginning: Beginning) -> Beginning:
        """It is free, whatever the values of the request say."""
        if "stays" not in beginning.values:
            return beginning
        values = {**beginning.values, "stays": 0.0}
        return replace(beginning, values=values, notes=(*beginning.notes, "it begins free"))

    @classmethod
    def of(cls, setting: Setting, free: Sequence[int]) -> Dwell | None:
        names = {setting.table.events[k].name: k for k in free}
        if not {"strike", "leaves"} <= names.keys():
            return None
        return cls(setting, [names["strike"], names["leaves"]])

    def role(self, event: int) -> Role:
        """The floor is a barrier, which it answers; the end of the stay is a switch."""
        floor = event == self.strike
        return Role(barrier=floor, bars_start=floor)

    def decide(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int], book: GuardBook
    ) -> Iterator[Jump]:
        for guard in fired:
            event, place = book.table.places[guard]
            x, p = x.copy(), p.copy()
            if event == self.strike:
                p[self.values] = 1.0, time + STAYS, -KEPT * x[self.speed]
                x[self.speed] = 0.0
            else:
                x[self.speed] = p[self.values[-1]]
                p[self.values[0]] = 0.0
            yield Jump({event: (place,)}, x, p, None)


def ball(then: ds.Action | None = None) -> ds.MechanicalSystem:
    """A ball that falls; its events are posed to change nothing, since the law decides."""
    q = ds.coordinates(y="m")
    mode = ds.discrete(stays=0.0, until=0.0, speed=0.0)
    stayed = mode.stays * (ds.time - mode.until)
    events = [
        ds.Event("strike", q.y, ds.FALLING, then or ds.Reset()),
        ds.Event("leaves", stayed, ds.RISING, ds.Reset()),
    ]
    gravity = {"y": -10.0 * (1.0 - mode.stays)}
    return ds.MechanicalSystem(
        q, kinetic=q.dot.y**2 / 2, force=gravity, discrete=mode, events=events
    )

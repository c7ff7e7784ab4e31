"""Sums over events that the drawing of a live page follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from daesolve.multibody.drawing.sums import Amount
from daesolve.multibody.drawing.traced import Traced, column, expression_of
from daesolve.reporting.document import event_document
from daesolve.reporting.live.posing import LiveRun

SAME = 1e-12
"""How far what an event adds may be from what it added in the stored run, relative to the largest,
or to 1."""


class EventSums:
    """The sums, and on which events a page adds what to them.

    Parameters
    ----------
    live
        The run.
    p
        The values in its functions.

    Attributes
    ----------
    symbols
        Of the sums.
    events
        For each of them the index of its event.
    """

    def __init__(self, live: LiveRun, p: ca.SX) -> None:
        problem = live.prepared.problem
        self._live, self._p = live, p
        self._t, self._before, self._after = (
            ca.SX.sym("instant"),
            ca.SX.sym("before", problem.size),
            ca.SX.sym("after", problem.size),
        )
        watched = {guard.event for guard in live.unit.sheet.guards}
        self._watched = {problem.events[place].name: place for place in sorted(watched)}
        self._amounts: list[ca.SX] = []
        self._known: list[np.ndarray] = []
        self.symbols: list[ca.SX] = []
        self.events: list[int] = []

    def follow(self, name: str, amount: Amount, known: np.ndarray) -> np.ndarray:
        """Return a sum with its symbol; as it is if a page cannot add it up."""
        added = self._added(name, amount) if name in self._watched else None
        if added is None:
            return known
        self.events.append(self._watched[name])
        self._amounts.append(added)
        self._known.append(known)
        self.symbols.append(ca.SX.sym(f"sum_{len(self.symbols)}"))
        return column(known, self.symbols[-1])

    def _added(self, name: str, amount: Amount) -> ca.SX | None:
        """Return what an event adds, as an expression; None if that is not what it added."""
        events = [event for event in self._live.run.events if event.name == name]
        both = [(event.detail, event.after or {}) for event in events]
        detail, after = both[0] if both else (self._live.run.end_state, {})
        expression = expression_of(
            amount(
                {
                    "name": name,
                    "time": Traced(events[0].time if events else 0.0, self._t),
                    "detail": self._traced(detail, self._before),
                    "after": self._traced(after or detail, self._after),
                }
            )
        )
        function = ca.Function("added", [self._t, self._before, self._after, self._p], [expression])
        wanted = np.array([float(amount(event_document(event))) for event in events])
        size = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
        for event, number in zip(events, wanted, strict=True):
            if event.after is None and ca.depends_on(expression, self._after):
                return None
            known = [self._state(event.detail), self._state(event.after or event.detail)]
            own = float(function(event.time, *known, self._values(event.after or {})))
            if not abs(own - number) <= SAME * size:
                return None
        return expression

    def _traced(self, known: Mapping[str, float], x: ca.SX) -> dict[str, Any]:
        places = {state.name: k for k, state in enumerate(self._live.states)}
        values = {name: k for k, name in enumerate(self._live.prepared.problem.values)}
        found: dict[str, Any] = {}
        for name, number in known.items():
            if name in places:
                found[name] = Traced(number, x[places[name]])
            elif name in values:
                found[name] = Traced(number, self._p[values[name]])
        return found

    def _state(self, known: Mapping[str, float]) -> np.ndarray:
        more = self._live.prepared.problem.size - len(self._live.states)
        return np.array([known.get(s.name, np.nan) for s in self._live.states] + [0.0] * more)

    def _values(self, after: Mapping[str, float]) -> np.ndarray:
        problem, values = self._live.prepared.problem, self._live.prepared.values.copy()
        for name, number in after.items():
            if name in problem.values:
                values[list(problem.values).index(name)] = number
        return values

    @property
    def column(self) -> ca.SX:
        """All symbols."""
        return ca.vertcat(ca.SX(0, 1), *self.symbols)

    @property
    def samples(self) -> np.ndarray:
        """(sums, samples) of the stored run."""
        return np.array(self._known)

    @property
    def function(self) -> ca.Function:
        """(t, x before, x after, p after) -> what events add, named "page_added"."""
        return ca.Function(
            "page_added",
            [self._t, self._before, self._after, self._p],
            [ca.densify(ca.vertcat(ca.SX(0, 1), *self._amounts))],
        )

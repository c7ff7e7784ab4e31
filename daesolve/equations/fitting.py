"""What holds wherever a guard is past zero: at a start nobody has yet seen it pass."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from daesolve.algebra.translation import function_of
from daesolve.equations.consistency import instantaneous
from daesolve.equations.dynamics import Dynamics, ResetRow
from daesolve.errors import VARIANT_ERRORS, DegenerateStartError, InconsistentStateError
from daesolve.posing.events import Event

ROUNDING = 1e-12
"""Of the largest force, what a reaction is rounded by."""
MOST_ROUNDS = 32
"""Rounds of resets after which no values are found that agree."""


def fitting_values(
    dynamics: Dynamics, values: Mapping[str, float], state: np.ndarray, time: float
) -> dict[str, float]:
    """Return values with those changed that resets `whenever_past` ask for.

    Parameters
    ----------
    dynamics, values
        The equations, and p by name.
    state
        (nx,) the consistent start.
    time
        s

    Raises
    ------
    InconsistentStateError
        The values change for ever: no mode agrees with the start.
    """
    resets = {
        index: row
        for index, row in dynamics.resets.items()
        if dynamics.events[index].then.counts_past
    }
    found = dict(values)
    if not resets:
        return found
    past = _Past(dynamics, [dynamics.events[index] for index in resets])
    changes = _changes(dynamics, list(resets.values()))
    names = list(dict.fromkeys(name for row in resets.values() for name in row.values))
    fired = past(found, state, time)
    for _ in range(MOST_ROUNDS):
        if not fired.any():
            return found
        p = dynamics.value_vector(found)
        changed = np.asarray(changes(time, state, p, fired.astype(float))).ravel()
        found |= dict(zip(names, changed.tolist(), strict=True))
        fired = past(found, state, time)
    raise InconsistentStateError(
        f"at the start no mode agrees with the state: the events {past.named(fired)} ask for "
        "others without end; start elsewhere, or give the discrete values as parameters"
    )


def refuse_past(
    dynamics: Dynamics, values: Mapping[str, float], state: np.ndarray, time: float
) -> None:
    """Refuse a start where an event that stops `whenever_past` has happened.

    Raises
    ------
    VariantError, DegenerateStartError
        By the event's name.
    """
    stops = [event for event in dynamics.events if event.then.stops and event.then.counts_past]
    if not stops:
        return
    past = _Past(dynamics, stops)
    for event, there in zip(past.owners, past(values, state, time), strict=True):
        if there:
            kind = VARIANT_ERRORS.get(event.name, DegenerateStartError)
            raise kind(f"at the start {event.then.breakdown or f'{event.name!r} has happened'}")


class _Past:
    """Finds the guards of some events that are past zero by more than reactions are rounded."""

    def __init__(self, dynamics: Dynamics, events: list[Event]) -> None:
        self.dynamics = dynamics
        self.owners = [event for event in events for _ in range(event.count)]
        self._ways = np.array([event.direction.value for event in self.owners])
        guards = ca.vertcat(*[event.guards for event in events])
        self._reacting = ca.depends_on(guards, dynamics.reactions)
        slopes = ca.sum2(ca.fabs(ca.jacobian(guards, dynamics.reactions)))
        arguments = [dynamics.t, dynamics.x, dynamics.p, dynamics.reactions]
        self._guards = function_of(
            "guards", arguments, [guards, slopes], (["t", "x", "p", "u"], ["guards", "slopes"])
        )

    def __call__(self, values: Mapping[str, float], state: np.ndarray, time: float) -> np.ndarray:
        p, u = self.dynamics.value_vector(values), np.zeros(self.dynamics.reactions.numel())
        rounding = 0.0
        if self._reacting:
            u = instantaneous(self.dynamics, time, state, p)[1]
            acting = self.dynamics.matrices(time, state, p)["force"]
            rounding = ROUNDING * (np.max(np.abs(u)) + np.max(np.abs(acting)))
        guards, slopes = (np.asarray(part).ravel() for part in self._guards(time, state, p, u))
        return self._ways * guards > rounding * slopes

    def named(self, past: np.ndarray) -> str:
        """Return the names of the events of some guards, for a message."""
        names = [event.name for event, there in zip(self.owners, past, strict=True) if there]
        return ", ".join(map(repr, dict.fromkeys(names)))


def _changes(dynamics: Dynamics, rows: list[ResetRow]) -> ca.Function:
    """(t, x, p, fired) -> what the rows change; later ones see what earlier ones did."""
    names = list(dynamics.values)
    fired = ca.vertcat(*[row.fired for row in rows])
    p = dynamics.p
    for row in rows:
        own = ca.vertcat(*row.values.values())
        after = ca.substitute(own, dynamics.p, p)
        passed = ca.sum1(row.fired) > 0
        p = ca.SX(p)
        for place, name in enumerate(row.values):
            at = names.index(name)
            p[at] = ca.if_else(passed, after[place], p[at])
    changed = dict.fromkeys(name for row in rows for name in row.values)
    column = ca.vertcat(*[p[names.index(name)] for name in changed])
    arguments = [dynamics.t, dynamics.x, dynamics.p, fired]
    return function_of("changes", arguments, [column], (["t", "x", "p", "fired"], ["values"]))

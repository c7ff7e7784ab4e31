"""Values that agree with a state: the branches of laws at a start, and what cannot be held.

No guard has passed yet at a start, so `whenever_past` resets act.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.equations.borders import Borders
from daesolve.core.equations.consistency import instantaneous
from daesolve.core.equations.dynamics import Dynamics, ResetRow
from daesolve.core.equations.scaled_rows import RANK_TOLERANCE
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.singular_values import shortest_solution, unit_length
from daesolve.core.posing.events import Event
from daesolve.errors import VARIANT_ERRORS, DegenerateStartError, InconsistentStateError

ROUNDING = 1e-12
"""The rounding of a reaction, relative to the largest force."""
MOST_ROUNDS = 32
"""The number of rounds of resets after which the search for consistent values has failed."""


def without_driven(
    dynamics: Dynamics, place: tuple[float, np.ndarray], before: np.ndarray, after: np.ndarray
) -> tuple[np.ndarray, dict[int, tuple[int, ...]]]:
    """Release goals that a reset holds although other goals move what they would stop.

    A drive that takes a slip through zero would need an infinite reaction to stop: the event at
    which the reaction is too large happens at once, on the side on which it grows.

    Parameters
    ----------
    dynamics, place
        The equations, and where: time (s) and state.
    before, after
        p before and after the reset.

    Returns
    -------
    ndarray
        p after the releases.
    dict
        The events that release goals, each with the places of the guards that pass.
    """
    releases = _releases_of(dynamics)
    held = [one for one in releases if before[one.hold] == 0.0 and after[one.hold] == 1.0]
    if not held:
        return after, {}
    parts = dynamics.matrices(*place, after)
    others = [k for k, row in enumerate(dynamics.rows) if row.hold is None]
    rows = unit_length(parts["jacobian"], 1)
    driven = [one for one in held if _depends(rows[one.row], rows[others])]
    events: dict[int, tuple[int, ...]] = {}
    free = after.copy()
    free[[one.hold for one in driven]] = 0.0
    for one in driven:
        moving = instantaneous(dynamics, *place, free)[0]
        rate = float(parts["jacobian"][one.row] @ moving + parts["bias"].ravel()[one.row])
        slopes = np.asarray(one.slopes(*place, after)).ravel()
        fired = slopes * rate < 0.0 if np.any(slopes * rate < 0.0) else one.loaded
        after = after.copy()
        changed = np.asarray(one.changes(*place, after, fired.astype(float))).ravel()
        after[one.changed] = changed
        events[one.event] = tuple(np.flatnonzero(fired).tolist())
    return after, events


@dataclass(frozen=True, eq=False)
class _Release:
    """The event that releases a goal where its reaction is too large.

    Parameters
    ----------
    row, hold, event
        The goal among the rows, the value that holds it in p, and the event.
    loaded, slopes
        Which of its guards depend on the reaction, and (t, x, p) -> their slopes where it is zero.
    changed, changes
        Which entries of p it changes, and (t, x, p, fired) -> to what.
    """

    row: int
    hold: int
    event: int
    loaded: np.ndarray
    slopes: ca.Function
    changed: list[int]
    changes: ca.Function


@built_once
def _releases_of(dynamics: Dynamics) -> list[_Release]:
    return [
        _release(dynamics, place, row.hold.name(), dynamics.reactions[row.reaction], event)
        for place, row in enumerate(dynamics.rows)
        if row.hold is not None and row.reaction is not None
        for event, reset in dynamics.resets.items()
        if row.hold.name() in reset.values
        and ca.depends_on(dynamics.events[event].guards, dynamics.reactions[row.reaction])
    ]


def _release(dynamics: Dynamics, row: int, hold: str, reaction: ca.SX, event: int) -> _Release:
    reset, guards, names = dynamics.resets[event], dynamics.events[event].guards, [*dynamics.values]
    none = ca.SX.zeros(*dynamics.reactions.shape)
    slopes = ca.substitute(ca.jacobian(guards, reaction), dynamics.reactions, none)
    return _Release(
        row,
        names.index(hold),
        event,
        np.array([ca.depends_on(guard, reaction) for guard in ca.vertsplit(guards)]),
        dynamics.function("slopes", slopes),
        [names.index(name) for name in reset.values],
        changes_of(dynamics, [reset]),
    )


def _depends(row: np.ndarray, others: np.ndarray) -> bool:
    """Return whether a row of unit length is a combination of others."""
    if not len(others):
        return False
    shares = shortest_solution(others.T, row, RANK_TOLERANCE)
    return bool(np.linalg.norm(row - others.T @ shares) <= RANK_TOLERANCE)


class Fitting:
    """Changes values as the resets with `whenever_past` request.

    Parameters
    ----------
    dynamics
        The equations.

    Attributes
    ----------
    names
        Of the values that it may change.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        self._dynamics = dynamics
        resets = {
            index: row
            for index, row in dynamics.resets.items()
            if dynamics.events[index].then.counts_past
        }
        self.names = list(dict.fromkeys(name for row in resets.values() for name in row.values))
        if resets:
            self._past = _Past(dynamics, [dynamics.events[index] for index in resets])
            self._changes = changes_of(dynamics, list(resets.values()))

    def __call__(
        self, values: Mapping[str, float], state: np.ndarray, time: float
    ) -> dict[str, float]:
        """Return the values that agree with a state; arguments as in `fitting_values`."""
        found = dict(values)
        if not self.names:
            return found
        fired = self._past(found, state, time)
        for _ in range(MOST_ROUNDS):
            if not fired.any():
                return found
            p = self._dynamics.value_vector(found)
            changed = np.asarray(self._changes(time, state, p, fired.astype(float))).ravel()
            found |= dict(zip(self.names, changed.tolist(), strict=True))
            held = self._dynamics.value_vector(found)
            let_go, _ = without_driven(self._dynamics, (time, state), p, held)
            found |= dict(zip(self._dynamics.values, let_go.tolist(), strict=True))
            fired = self._past(found, state, time)
        raise InconsistentStateError(
            f"at the start no mode agrees with the state: the events {self._past.named(fired)} "
            "switch modes endlessly; start elsewhere, or give the discrete values as parameters"
        )


def fitting_values(
    dynamics: Dynamics, values: Mapping[str, float], state: np.ndarray, time: float
) -> dict[str, float]:
    """Return values after the changes that resets with `whenever_past` request.

    Parameters
    ----------
    dynamics, values
        The equations, and p by name.
    state, time
        (nx,) the consistent start, and s.

    Raises
    ------
    InconsistentStateError
        The values keep changing: no mode agrees with the start.
    """
    return Fitting(dynamics)(values, state, time)


def refuse_past(
    dynamics: Dynamics, values: Mapping[str, float], state: np.ndarray, time: float
) -> None:
    """Refuse a start at which an event that stops `whenever_past` has happened.

    Raises
    ------
    VariantError, DegenerateStartError
        Such an event has happened; the event's name decides which error it is.
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
    """Finds guards that are past zero by more than the rounding of reactions."""

    def __init__(self, dynamics: Dynamics, events: list[Event]) -> None:
        self.dynamics = dynamics
        self.owners = [event for event in events for _ in range(event.count)]
        self._ways = np.array([event.direction.value for event in self.owners])
        self._borders = Borders.of(dynamics, events)
        guards = ca.vertcat(*[event.guards for event in events])
        self._reacting = ca.depends_on(guards, dynamics.reactions)
        slopes = ca.sum2(ca.fabs(ca.jacobian(guards, dynamics.reactions)))
        self._guards = dynamics.function("guards", guards, slopes, further=[dynamics.reactions])

    def __call__(self, values: Mapping[str, float], state: np.ndarray, time: float) -> np.ndarray:
        p, u = self.dynamics.value_vector(values), np.zeros(self.dynamics.reactions.numel())
        rounding = 0.0
        if self._reacting:
            u = instantaneous(self.dynamics, time, state, p)[1]
            acting = self.dynamics.matrices(time, state, p)["force"]
            rounding = ROUNDING * (np.max(np.abs(u)) + np.max(np.abs(acting)))
        guards, slopes = (np.asarray(part).ravel() for part in self._guards(time, state, p, u))
        at_border = (guards == 0.0) & self._borders.past(p)
        # Where reactions are not finite, guards that do not depend on them still count: they may
        # choose another branch of a law, in which reactions are finite.
        beyond = np.where(slopes == 0.0, 0.0, rounding * slopes)
        return (self._ways * guards > beyond) | at_border

    def named(self, past: np.ndarray) -> str:
        """Return the names of the events of some guards, for a message."""
        names = [event.name for event, there in zip(self.owners, past, strict=True) if there]
        return ", ".join(map(repr, dict.fromkeys(names)))


def changes_of(dynamics: Dynamics, rows: list[ResetRow]) -> ca.Function:
    """(t, x, p, fired) -> the changes by the rows; later ones see earlier changes."""
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
    return dynamics.function("changes", column, further=[fired])

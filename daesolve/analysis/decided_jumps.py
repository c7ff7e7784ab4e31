"""How a decision at an instant depends on the state.

The behaviour of contacts is decided at the instant, without a formula. As long as the same guards
fire and the same events follow, the result is nevertheless a smooth function of the state, and
extrapolated differences give its derivative: the state is varied, moved to where the guard is zero,
and decided again.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from daesolve.analysis.variational import differentiated
from daesolve.contact.laws.contact_functions import stepped
from daesolve.core.events.guard_book import REMEMBERED
from daesolve.core.events.guard_table import Place
from daesolve.core.events.law import Jump, SwitchingLaw
from daesolve.core.events.transitions import Transitions
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.formulations import OdeProblem
from daesolve.core.run.integration.record import RunRecord
from daesolve.core.solvers.grazing import guard_evaluator
from daesolve.errors import DaesolveError, NoDerivativeError

FIRST_PART = 0.02
"""The first variation of the state, relative to its size."""
NEAREST = 8
"""Steps of Newton's method for the zero of a guard."""
UNSURE = 1e-6
"""The change with the step, relative to the largest slope, beyond which differences show no
slope."""
ASIDE = 1e-6
"""The variation of the state, relative to its size, in the test whether the order of guards
matters."""
MATTERS = 1e-3
"""The least difference between two orders, relative to the largest velocity, if the order
matters."""


class Changes(NamedTuple):
    """Derivatives of time (k,), state (size, k) and values (np, k) with respect to k numbers."""

    times: np.ndarray
    state: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class JumpDecision:
    """A decision made at an instant of a run.

    Parameters
    ----------
    law
        The law that decided.
    place
        Time in s, state and values there.
    asked
        The guards that caused the decision.
    zeros
        The tolerance for zero of each guard.
    crossed
        The guard that passed zero; None if the instant is given, as at the start.
    events
        The indices of the events that followed.
    names
        The names of the events, for messages.
    """

    law: SwitchingLaw
    place: Place
    asked: tuple[int, ...]
    zeros: np.ndarray
    crossed: int | None
    events: frozenset[int]
    names: str


Change = tuple[float, np.ndarray, np.ndarray]
"""Derivatives of time, state and values with respect to one number."""


class DecidedJumps:
    """Carries derivatives through decisions along a run.

    Parameters
    ----------
    transitions, problem
        The transitions between modes, and the integrated problem.
    by
        The numbers with respect to which the run is differentiated.
    largest
        (number of positions,) the largest magnitude of each in the run.
    """

    def __init__(
        self,
        transitions: Transitions,
        problem: OdeProblem,
        by: Sequence[str],
        largest: np.ndarray,
    ) -> None:
        self._transitions, self._positions = transitions, transitions.dynamics.position_count
        self._largest = largest
        self._rate, self._guards = Evaluator(problem.rhs), guard_evaluator(problem)
        guards = sum(event.count for event in problem.events)
        hidden = transitions.dynamics.hidden_events
        self._hidden = {k for k, event in enumerate(problem.events) if event.name in hidden}
        self._by = [repr(name) for name in by]
        self._met = np.full((guards, REMEMBERED), np.nan)
        self._met_slopes = np.zeros((guards, REMEMBERED, len(by)))

    def remembering(
        self, by: Sequence[str], met: np.ndarray, met_slopes: np.ndarray
    ) -> DecidedJumps:
        """Return the same at another instant, for derivatives by other numbers.

        Parameters
        ----------
        by
            The k numbers.
        met, met_slopes
            (guards, 5) when guards were answered before, and the derivatives, (guards, 5, k).
        """
        other = copy(self)
        other._by = [repr(name) for name in by]
        other._met, other._met_slopes = met, met_slopes
        return other

    def answered(self, decision: JumpDecision, met: np.ndarray) -> tuple[Jump | None, np.ndarray]:
        """Return what a decision changes, and when guards were answered, this instant included."""
        return self._again(decision, decision.place, met)

    def through(
        self, decision: JumpDecision, changes: Changes
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Carry derivatives through an instant.

        Parameters
        ----------
        decision
            The decision.
        changes
            The derivatives of the time, and of state and values at that time.

        Returns
        -------
        tuple
            State and values afterwards, and their derivatives, (size, k) and (np, k).

        Raises
        ------
        NoDerivativeError
            The result jumps, or differs from the result in the run.
        """
        jump, met = self._again(decision, decision.place, self._met)
        if jump is None or frozenset(jump.events) - self._hidden != decision.events:
            raise NoDerivativeError(
                f"at t = {decision.place[0]:.10g} s the decision about contacts, {decision.names}, "
                "lies on a border: repeated, it leads to other events"
            )
        size = len(jump.x)
        columns = zip(changes.times, changes.state.T, changes.values.T, strict=True)
        slopes = [self._slope(decision, jump, change, k) for k, change in enumerate(columns)]
        answered = np.any((met != self._met) & ~np.isnan(met), axis=1)
        self._met = met
        self._met_slopes[answered, :-1] = self._met_slopes[answered, 1:]
        self._met_slopes[answered, -1] = changes.times
        table = np.array(slopes).T
        return jump.x, jump.p, table[:size], table[size:]

    def _again(
        self,
        decision: JumpDecision,
        place: Place,
        met: np.ndarray,
        asked: Sequence[int] | None = None,
    ) -> tuple[Jump | None, np.ndarray]:
        guards = decision.asked if asked is None else asked
        return self._transitions.decided_again(decision.law, place, guards, decision.zeros, met)

    def _slope(
        self,
        decision: JumpDecision,
        jump: Jump,
        change: Change,
        number: int,
    ) -> np.ndarray:
        """Return the derivatives of state and values afterwards, (size + np,), by one number."""
        by, met_slopes = self._by[number], self._met_slopes[:, :, number]
        if not any(np.any(part) for part in (*change, met_slopes)):
            return np.zeros(len(jump.x) + len(jump.p))

        def after(moved: float) -> np.ndarray:
            place = self._moved(decision, change, moved)
            jump_beside, _ = self._again(decision, place, self._met + moved * met_slopes)
            if jump_beside is None or jump_beside.events.keys() != jump.events.keys():
                raise NoDerivativeError("other events follow if it changes")
            return np.concatenate([jump_beside.x, jump_beside.p])

        try:
            slope, error = differentiated(after, 0.0, FIRST_PART * self._size(decision, change))
        except DaesolveError as refusal:
            raise NoDerivativeError(self._changes_at_once(decision, by, str(refusal))) from refusal
        if error > UNSURE:
            why = f"the differences still change by a relative {error:.1g}"
            raise NoDerivativeError(self._changes_at_once(decision, by, why))
        return slope

    @staticmethod
    def _changes_at_once(decision: JumpDecision, by: str, why: str) -> str:
        return (
            f"at t = {decision.place[0]:.10g} s the decision about contacts, {decision.names}, has "
            f"no derivative by {by}: {why}"
        )

    def check_order(
        self, decision: JumpDecision, change: Change, apart: Sequence[int], by: str
    ) -> None:
        """Refuse guards that pass together here, but separately nearby, if their order matters.

        Parameters
        ----------
        decision
            The decision.
        change
            The derivatives of time, state and values by one number.
        apart
            The guards that pass at different times if the number changes.
        by
            The name of the number, for messages.

        Raises
        ------
        NoDerivativeError
            The velocities afterwards depend on which guard passes first.
        """
        aside = ASIDE * self._size(decision, change)
        for side in (aside, -aside):
            place = self._moved(decision, change, side)
            try:
                together = self._after(decision, place, decision.asked)
                ends = [self._one_by_one(decision, place, apart, first) for first in apart]
            except DaesolveError as refusal:
                why = self._changes_at_once(decision, by, str(refusal))
                raise NoDerivativeError(why) from refusal
            least = MATTERS * _largest(together[1][self._positions :])
            if any(_largest(end[1] - together[1]) > least for end in ends):
                why = "its order matters, and changes there"
                raise NoDerivativeError(self._changes_at_once(decision, by, why))

    def _one_by_one(
        self, decision: JumpDecision, place: Place, apart: Sequence[int], first: int
    ) -> Place:
        """Return the state after one guard passes before the others."""
        rest = [guard for guard in decision.asked if guard not in apart]
        onward = self._after(decision, place, [first, *rest])
        return self._after(decision, onward, [guard for guard in apart if guard != first])

    def _after(self, decision: JumpDecision, place: Place, asked: Sequence[int]) -> Place:
        """Return the state after guards pass at a place; the place itself if nothing changes."""
        jump, _ = self._again(decision, place, self._met, asked)
        return place if jump is None else (place[0], jump.x, jump.p)

    def _size(self, decision: JumpDecision, change: Change) -> float:
        """Return the change of a number that changes time, state or values by their own size."""
        time, x, p = decision.place
        tau, state, values = change
        rates = self._rate(time, x, p)[0]
        count = self._positions
        if not any(np.any(part) for part in change):  # Only earlier answers move.
            return float(np.nanmin(np.diff(self._met, axis=1), initial=np.inf))
        # Positions may be zero by chance; small velocities matter by their direction.
        places = np.maximum(np.abs(x[:count]), self._largest)
        pairs = [(state[:count], places), (state[count:], x[count:]), (tau * rates, x)]
        pairs += [(values[k : k + 1], p[k : k + 1]) for k in np.flatnonzero(values)]
        ratios = [_largest(of) / (_largest(by) or 1.0) for of, by in pairs]
        return 1.0 / (max(ratios) or 1.0)

    def _moved(self, decision: JumpDecision, change: Change, by: float) -> Place:
        """Return the place of the instant for another value of a number."""
        start, state, values = decision.place
        x, p = state + by * change[1], values + by * change[2]
        time, guard = start + by * change[0], decision.crossed
        if guard is None:
            return time, x, p
        on, left = 0.0, np.inf
        best = time, x
        for _ in range(NEAREST):
            there = stepped(self._rate, time, x, p, on) if on else x
            guards, rates = self._guards(time + on, there, p)
            if not abs(guards[guard]) < left:
                break
            best, left = (time + on, there), abs(guards[guard])
            if left == 0.0 or rates[guard] == 0.0:
                break
            on -= guards[guard] / rates[guard]
        return best[0], best[1], p


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def never_held(record: RunRecord) -> RunRecord:
    """Return the record of a run.

    Raises
    ------
    NoDerivativeError
        Dry friction held the body for a while; derivatives cannot pass through this.
    """
    if record.held:
        raise NoDerivativeError(
            "dry friction holds the body for a while, and derivatives cannot pass such a hold: "
            "choose an end before the body comes to rest"
        )
    return record

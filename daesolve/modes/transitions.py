"""What happens at an instant: which events are due, what they change, what an impact costs.

Several guards may reach zero together; what they ask for is done at once. The state is tested
besides the crossing: a guard at zero, to rounding, whose rate points outwards is due as well,
whatever a solver saw. After each reset the test is repeated, until nothing is due.

Two kinds of guards are told apart by what their reset does. A *barrier* is one that its reset
answers: it changes what the guard depends on, or imposes a constraint for the instant alone (a
bouncing ball, a wheel that goes on to its next roller). It is due whenever it is at zero on its way
out. A *switch* only changes the mode, and the motion passes through (a relay, a string that meets
a peg). Once it has fired it is not due again before it was inside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.algebra.evaluation import Evaluator
from daesolve.algebra.translation import function_of
from daesolve.elimination.saddle import EliminationPlan
from daesolve.equations.dynamics import Dynamics
from daesolve.errors import (
    ChatteringError,
    InconsistentStateError,
    NoDerivativeError,
    ResetError,
)
from daesolve.formulations import OdeProblem
from daesolve.friction.sliding import Sliding
from daesolve.modes.contact_changes import ContactChanges
from daesolve.modes.jumps import JumpFunction, joined
from daesolve.trajectory.results import Impact

TOGETHER = 1e-12
"""Guards nearer to zero than this part of the largest value met pass together."""
PAST = 1e-6
"""Of the largest value met, how far past zero a guard is reset whatever its rate, if it may be."""
STARTS = 1e-9
"""Of its terms, how far beyond a barrier a start may lie by rounding."""
MOST_AT_ONCE = 32
"""Resets at one instant beyond which they never end."""
INSTANT = 1e-13
"""Resets closer than this part of the time and of a segment are at one instant."""
ANSWERED = 1e-6
"""Of a guard's rate, what is left at least where a reset sends it back or lets it go on."""

_Measured = tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Time, state, values, guards, rates of guards."""


@dataclass(frozen=True)
class Jump:
    """What changed at once.

    Parameters
    ----------
    events
        The guards that fired, by the index of their event, each from 0.
    x, p
        The state and the values after.
    impact
        What was imposed, if anything was.
    rests
        Whether the body stays at rest from here on.
    """

    events: Mapping[int, tuple[int, ...]]
    x: np.ndarray
    p: np.ndarray
    impact: Impact | None
    rests: bool = False


class Transitions:
    """The resets of a problem.

    Parameters
    ----------
    dynamics, plan
        The equations, and how reactions are eliminated.
    problem
        What is integrated.
    scales
        Of residuals by name; one for others.
    sliding
        What chooses the loaded supports of guides, where there are some.

    Attributes
    ----------
    tolerances
        (guards,) what counts as zero.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        plan: EliminationPlan,
        problem: OdeProblem,
        scales: Mapping[str, float],
        sliding: Sliding | None = None,
    ) -> None:
        self.dynamics, self.plan, self.problem = dynamics, plan, problem
        self._scales, self.sliding = scales, sliding
        if problem not in _built:
            _built[problem] = _Built(Evaluator(guard_rates(problem)), Evaluator(problem.rhs), {})
        self._guards = _built[problem].guards
        self._jumps = _built[problem].jumps
        self._rate = _built[problem].rate
        counts = [event.count for event in problem.events]
        self._firsts = np.cumsum([0, *counts[:-1]])
        self._owners = np.repeat(np.arange(len(counts)), counts)
        self._places = [(k, j) for k, e in enumerate(problem.events) for j in range(e.count)]
        self._largest = np.zeros(len(problem.events))
        self.tolerances = np.zeros(len(self._owners))
        # A chart's own event is no event of the motion.
        own = self._owners < len(dynamics.events)
        interrupting = np.array([event.then.interrupts for event in problem.guarded], dtype=bool)
        directions = np.array([event.direction.value for event in problem.guarded])
        self._ways = np.where(interrupting & own, directions, 0)
        self._either = interrupting & own & (directions == 0)
        whenever = [event.then.counts_past for event in problem.guarded]
        self._whenever = np.array(whenever, dtype=bool)
        self._directions, self._recorded = directions, own & ~interrupting
        t, x, p = (problem.guards.sx_in(k) for k in range(3))
        moving = ca.which_depends(problem.guards(t, x, p), ca.vertcat(t, x), 1, True)
        self._still = own & ~np.array(moving, dtype=bool)
        resets = [dynamics.resets.get(index) for index in range(len(problem.events))]
        moves = [_moves_its_guard(dynamics, index) for index in range(len(problem.events))]
        blows = [reset is None or bool(reset.momentary) for reset in resets]
        self._moved = np.array(moves, dtype=bool)[self._owners]
        self._barriers = self._moved | np.array(blows, dtype=bool)[self._owners]
        self._contacts = self._prepared_contacts()
        self._armed = np.ones(len(self._owners), dtype=bool)
        nothing = np.empty(0)
        self._measured: _Measured = (math.nan, nothing, nothing, nothing, nothing)
        self._passed = np.full(len(self._owners), -np.inf)

    def _prepared_contacts(self) -> ContactChanges | None:
        """Return what decides on contacts; their guards are neither barriers nor switches."""
        contacts = self.dynamics.contacts
        self._lost = np.array([self._firsts[row.lost] for row in contacts], dtype=int)
        self._closing = np.array([self._firsts[row.closed] for row in contacts], dtype=int)
        self._of_contacts = np.zeros(len(self._owners), dtype=bool)
        self._of_contacts[[*self._lost, *self._closing]] = True
        self._moved &= ~self._of_contacts
        self._barriers &= ~self._of_contacts
        if not contacts:
            return None
        if self.problem not in _contacts:
            _contacts[self.problem] = ContactChanges(self.dynamics, self.plan, self.problem.size)
        return _contacts[self.problem]

    def fresh(self) -> Transitions:
        """Return the transitions of a run that has seen nothing yet."""
        return Transitions(self.dynamics, self.plan, self.problem, self._scales, self.sliding)

    def saved(self) -> dict[str, Any]:
        """Return what this run has seen, to go on from in another process."""
        return {"largest": self._largest, "armed": self._armed, "passed": self._passed}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from what `saved` returned."""
        self._largest = np.array(saved["largest"], dtype=float)
        self.tolerances = TOGETHER * self._largest[self._owners]
        self._armed = np.array(saved["armed"], dtype=bool)
        self._passed = np.array(saved["passed"], dtype=float)

    def check_start(self, time: float, x: np.ndarray, p: np.ndarray) -> None:
        """Refuse a start beyond a barrier of the state, from where no motion is meant.

        Raises
        ------
        InconsistentStateError
            The event is named.
        """
        values, _ = self._guards(time, x, p)
        slopes = np.abs(np.asarray(self._slopes(time, x, p)))
        sizes = np.maximum(np.abs(x), 1e-3 * np.max(np.abs(x), initial=0.0))
        past = self._ways * values > STARTS * slopes @ sizes
        resets = np.array([event.then.reset is not None for event in self.problem.guarded])
        past &= self._barriers | np.isin(np.arange(len(past)), self._closing)
        past &= ~self._whenever
        for guard in np.flatnonzero(past & resets & slopes.any(axis=1)):
            raise InconsistentStateError(
                f"the start lies beyond the barrier of the event "
                f"{self.problem.guarded[guard].name!r}, where its guard is {values[guard]:.6g}: "
                f"start where it is {'positive' if self._ways[guard] < 0 else 'negative'}"
            )

    @cached_property
    def _slopes(self) -> ca.Function:
        t, x, p = (self.problem.guards.sx_in(k) for k in range(3))
        slopes = ca.jacobian(self.problem.guards(t, x, p), x)
        return function_of("slopes", [t, x, p], [slopes], (["t", "x", "p"], ["slopes"]))

    def measure(self, time: float, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the guards and their rates; the sizes of guards are remembered."""
        known = time == self._measured[0] and p is self._measured[2]
        if known and np.array_equal(x, self._measured[1]):
            return self._measured[3], self._measured[4]
        values, rates = self._guards(time, x, p)
        self._measured = (time, x.copy(), p, values, rates)
        sizes = np.maximum.reduceat(np.abs(values), self._firsts)
        if (sizes > self._largest).any():
            self._largest = np.maximum(self._largest, sizes)
            self.tolerances = TOGETHER * self._largest[self._owners]
        self._armed |= self._ways * values < -self.tolerances
        return values, rates

    def outside(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return how far each guard is past zero, in the direction in which it counts."""
        return self._ways * self.measure(time, x, p)[0]

    def due(self, time: float, x: np.ndarray, p: np.ndarray) -> list[int]:
        """Return the guards that are at zero or past it and on their way out."""
        values, rates = self.measure(time, x, p)
        outside = (self._ways * values >= -self.tolerances) & (self._ways * rates > 0.0)
        # A reaction that pulls at the start or after a reset does so on its way back as well.
        if self._contacts is not None:
            outside[self._lost] |= -values[self._lost] > self.tolerances[self._lost]
        far = PAST * self._largest[self._owners]
        outside |= self._whenever & (self._ways * values > far)
        return np.flatnonzero(outside & self._armed).tolist()

    def counts(self, time: float, guard: int) -> bool:
        """Tell whether a zero that a solver found is not that at which a switch has just fired."""
        return bool(self._armed[guard] or time > self._passed[guard])

    def beside(self, time: float, x: np.ndarray, p: np.ndarray) -> list[int]:
        """Return the guards of either direction that are at zero where another has interrupted.

        The motion starts anew from there, so that no solver would tell them.
        """
        if not self._either.any():
            return []
        values, rates = self.measure(time, x, p)
        there = self._either & (np.abs(values) <= self.tolerances) & (time > self._passed)
        return np.flatnonzero(there & (rates != 0.0)).tolist()

    def passing(self, time: float, x: np.ndarray, p: np.ndarray) -> list[int]:
        """Return the guards, only recorded, that pass zero at the instant at which another stops.

        A solver may end before it tells them.
        """
        if not self._recorded.any():
            return []
        values, rates = self.measure(time, x, p)
        on = np.where(self._directions == 0, rates != 0.0, self._directions * rates > 0.0)
        there = self._recorded & (np.abs(values) <= self.tolerances) & on
        return np.flatnonzero(there).tolist()

    def switched(self, time: float, x: np.ndarray, p: np.ndarray, before: np.ndarray) -> list[int]:
        """Return the guards of values alone that a reset has taken through zero."""
        if not self._still.any():
            return []
        values, _ = self.measure(time, x, p)
        rising = (before < 0.0) & (values >= 0.0) & (self._directions >= 0)
        falling = (before > 0.0) & (values <= 0.0) & (self._directions <= 0)
        return np.flatnonzero(self._still & (rising | falling)).tolist()

    def fire(self, time: float, x: np.ndarray, p: np.ndarray, guards: Sequence[int]) -> np.ndarray:
        """Take note of guards that fire now; return the rates of all guards."""
        values, rates = self.measure(time, x, p)
        self._armed[guards] = self._barriers[guards]
        for guard in guards:
            reach, speed = abs(values[guard]) + 2.0 * self.tolerances[guard], abs(rates[guard])
            self._passed[guard] = time + (reach / speed if speed > 0.0 else np.inf)
        return rates

    def answered(
        self, time: float, x: np.ndarray, p: np.ndarray, jump: Jump, before: np.ndarray
    ) -> np.ndarray:
        """Take note of how a reset left the guards that fired; return the rates of all guards.

        What it has sent back may be met again at once, a switch as well. What it has left at zero
        and on its way has passed, be it a barrier: a blow on a motion that goes on. Only where it
        changed what the guard depends on is it asked again: the motion is at another border now.

        Parameters
        ----------
        time, x, p
            After the reset.
        jump
            The reset.
        before
            The rates of all guards before it.
        """
        values, rates = self.measure(time, x, p)
        for event, places in jump.events.items():
            together = len(places) == 1 or not self.dynamics.resets[event].sequential
            for guard in (self._firsts[event] + place for place in places):
                turned = rates[guard] * before[guard]
                size = ANSWERED * before[guard] ** 2
                at_zero = self._ways[guard] * values[guard] >= -self.tolerances[guard]
                if turned < -size:
                    self._armed[guard] = True
                elif together and turned > size and at_zero and not self._moved[guard]:
                    self._armed[guard] = False
        return rates

    def late(self, time: float, x: np.ndarray, p: np.ndarray) -> list[int]:
        """Return the guards that are well past zero: no solver told when they passed."""
        values, _ = self.measure(time, x, p)
        late = self._ways * values > self.tolerances
        return np.flatnonzero(late & (self._armed | self._of_contacts)).tolist()

    def jumps(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int]
    ) -> Iterator[Jump]:
        """Reset what these guards ask for, and yield each jump.

        Raises
        ------
        ResetError
            A reset leads to no state, or leaves a constraint unmet.
        """
        if self._contacts is not None:
            yield from self._contact_jumps(self._contacts, time, x, p, fired)
            return
        yield from self._plain_jumps(time, x, p, fired)

    def _contact_jumps(
        self,
        contacts: ContactChanges,
        time: float,
        x: np.ndarray,
        p: np.ndarray,
        fired: Sequence[int],
    ) -> Iterator[Jump]:
        """Do what other events ask for, then let contacts open and close."""
        others = [guard for guard in fired if not self._of_contacts[guard]]
        for jump in self._plain_jumps(time, x, p, others):
            x, p = jump.x, jump.p
            yield jump
        # Whatever is decided, a gap that opens now is met again where it closes.
        self._passed[self._of_contacts] = time
        met = np.isin(self._closing, list(fired))
        met |= np.abs(self.measure(time, x, p)[0][self._closing]) <= self.tolerances[self._closing]
        near = (met, self.tolerances[self._closing])
        change = contacts.decide(time, x, p, near, lambda x, p: self._reactions(time, x, p))
        if change is not None:
            events = dict.fromkeys(change.events, (0,))
            self._armed[self._closing[~change.closed]] = False
            yield Jump(events, change.x, change.p, change.impact)

    def _reactions(
        self, time: float, x: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the reactions of the contacts that are closed in p, and their rates."""
        values, rates = self._guards(time, x, p)
        return values[self._lost], rates[self._lost]

    def _plain_jumps(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int]
    ) -> Iterator[Jump]:
        groups: dict[int, tuple[int, ...]] = {}
        for guard in sorted(set(fired)):
            event, place = self._places[guard]
            if event in self.dynamics.resets:
                groups[event] = (*groups.get(event, ()), place)
        if not any(self.dynamics.resets[event].sequential for event in groups):
            if groups:
                yield self._jump(time, x, p, groups)
            return
        for event, places in groups.items():
            taken = [(place,) for place in places]
            steps: list[Jump] = []
            for chosen in taken if self.dynamics.resets[event].sequential else [places]:
                steps.append(self._jump(time, x, p, {event: chosen}))
                x, p = steps[-1].x, steps[-1].p
            impact = joined([step.impact for step in steps])
            yield replace(steps[-1], events={event: places}, impact=impact)

    def function(self, events: tuple[int, ...]) -> JumpFunction:
        """Return the function that resets these events together.

        Raises
        ------
        NoDerivativeError
            What they change is no function: it is decided at the instant which contacts open.
        """
        if any(self._of_contacts[self._firsts[event]] for event in events):
            names = ", ".join(repr(self.problem.events[event].name) for event in events)
            raise NoDerivativeError(
                f"the events {names} have no derivative: which contacts open and close there is "
                "decided at the instant"
            )
        if events not in self._jumps:
            self._jumps[events] = JumpFunction(self.dynamics, self.plan, self.problem, events)
        return self._jumps[events]

    def _jump(
        self, time: float, x: np.ndarray, p: np.ndarray, groups: Mapping[int, tuple[int, ...]]
    ) -> Jump:
        function = self.function(tuple(groups))
        chart = self.problem.chart
        states, own = x, len(self.dynamics.values)
        if chart is not None:
            works = x[chart.embed.nnz_in(1) :]
            visible = self.problem.visible(np.array([time]), x[None, :], p)[0]
            states = np.concatenate([visible, works])
        after, values, impact = function(time, states, p[:own], groups, self._scales)
        rests = False
        if self.sliding is not None:
            names = {self.problem.events[index].name for index in groups}
            count = len(self.dynamics.labels.states)
            settled = self.sliding.settle(time, names, after[:count], p[:own], values)
            after[:count], values, rests = settled
        values = np.concatenate([values, p[own:]])
        if chart is not None:
            count = len(self.dynamics.labels.states)
            if chart.choose is not None:
                values = chart.choose(time, after[:count], values, after[None, :count])
            after = self.problem.enter(time, after[:count], values, after[count:])
        if not math.isfinite(self._rate(time, after, values)[0].sum()):
            names = ", ".join(repr(self.problem.events[index].name) for index in groups)
            raise ResetError(
                f"the reset of {names} at t = {time:.10g} s leaves a state from which no motion "
                "goes on: a constraint or a mass vanishes with what it changes, or a force is not "
                "finite there; where a constraint is let go of, ask for rank_loss = 'pass'"
            )
        return Jump(dict(groups), after, values, impact, rests)


@dataclass(frozen=True)
class _Built:
    """What was compiled for a problem."""

    guards: Evaluator
    rate: Evaluator
    jumps: dict[tuple[int, ...], JumpFunction]


_built: WeakKeyDictionary[OdeProblem, _Built] = WeakKeyDictionary()
_contacts: WeakKeyDictionary[OdeProblem, ContactChanges] = WeakKeyDictionary()


@dataclass
class Instant:
    """Counts resets that follow each other at once.

    Parameters
    ----------
    width
        What counts as the same time beside rounding, s.
    """

    width: float
    began: float = np.nan
    count: int = 0

    def take(self, time: float, event: str) -> None:
        """Count one more.

        Raises
        ------
        ChatteringError
            There are more than `MOST_AT_ONCE`.
        """
        if abs(time - self.began) <= self.width + INSTANT * abs(time):
            self.count += 1
        else:
            self.began, self.count = time, 1
        if self.count > MOST_AT_ONCE:
            raise ChatteringError(
                f"at t = {time:.10g} s the event {event!r} happened more than {MOST_AT_ONCE} times "
                "at one instant: the motion comes to rest on its guard; end before, give it a mode "
                "in which it rests there, or, if it counts either way, the direction in which it "
                "is met"
            )


def _moves_its_guard(dynamics: Dynamics, event: int) -> bool:
    """Tell whether a reset changes what its own guards depend on."""
    reset = dynamics.resets.get(event)
    if reset is None:
        return False
    names = list(dynamics.values)
    changed = [dynamics.x[index] for index in reset.states]
    changed += [dynamics.p[names.index(name)] for name in reset.values]
    return bool(ca.depends_on(dynamics.events[event].guards, ca.vertcat(ca.SX(0, 1), *changed)))


def guard_rates(problem: OdeProblem) -> ca.Function:
    """(t, x, p) -> the guards and their rates along the motion."""
    t, x, p = (problem.guards.sx_in(k) for k in range(3))
    values = problem.guards(t, x, p)
    moving = ca.jtimes(values, x, problem.rhs(t, x, p)) + ca.jtimes(values, t, ca.SX(1))
    return function_of("guard_rates", [t, x, p], [values, moving], (["t", "x", "p"], ["g", "rate"]))

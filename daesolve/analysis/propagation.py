"""Derivatives carried along a known run: from boundary to boundary, through its events.

The times of events are known; their changes follow from the guards. Between them,
`variational_flow` integrates the variational equations.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from daesolve.analysis.decided_jumps import Changes, DecidedJumps, JumpDecision
from daesolve.analysis.run_events import APART, RunEvents
from daesolve.analysis.run_legs import legs_of, samples_of
from daesolve.analysis.variational import guard_slopes, jump_slopes
from daesolve.analysis.variational_flow import VariationalFlow, WholeState
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.run.integration.record import Boundary, Happening, RunRecord
from daesolve.core.solvers import Solver

if TYPE_CHECKING:
    from daesolve.core.solvers.lanes import Batch


class Propagation(RunEvents):
    """The derivatives along a run.

    Parameters
    ----------
    prepared, record
        The prepared run, and its record.
    solver
        The requested solver; None lets the library choose.
    slopes
        (n + np, k) derivatives of the states and of the values at the start.
    nominal
        The k numbers by name.
    batch
        The batch that it shares with other propagations; None uses one for its own directions.

    Attributes
    ----------
    state, values
        (size, k) and (np, k): the derivatives at a fixed time, as far as the run was followed.
    event_times
        (k,) for each event so far.
    apart
        (k,) for each guard processed after another at one instant: the change of the time between.
    sides
        (before, after) for each event so far, (size, k): the derivatives of the state at the event,
        whose time varies; after is None if nothing changed there. None unless a caller sets a list.
    begun
        The derivatives of state and values at the start of each leg; None unless a caller sets a
        list.
    backwards
        How to process guards that pass together if a formula resets the state: None at once, False
        one after another in the order of the guards, True in reverse order.
    """

    def __init__(
        self,
        prepared: Prepared,
        record: RunRecord,
        solver: Solver | None,
        slopes: np.ndarray,
        nominal: Mapping[str, float],
        batch: Batch | None = None,
    ) -> None:
        super().__init__(prepared, record)
        if batch is None and slopes.shape[1] > 1:
            from daesolve.core.solvers.lanes import small_batch  # The import takes long.

            batch = small_batch(slopes.shape[1])
        steps = float(max(self.record.steps, 1))
        self.flow = VariationalFlow.of(prepared, tuple(nominal), solver, steps, batch)
        visible = len(slopes) - len(self.problem.values)
        works = np.zeros((self.problem.size - visible, slopes.shape[1]))
        self.state = np.vstack([slopes[:visible], works])
        self.values: np.ndarray = slopes[visible:]
        self.nominal = tuple(nominal)
        self.sizes = np.array([abs(value) or 1.0 for value in nominal.values()])
        self.event_times: list[np.ndarray] = []
        self.sides: list[tuple[np.ndarray, np.ndarray | None]] | None = None
        self.begun: list[tuple[np.ndarray, np.ndarray]] | None = None
        self.parted: list[tuple[float, str, str]] = []
        self.apart: list[np.ndarray] = []
        self._jumped = np.nan
        self.backwards: bool | None = None
        self._decided: DecidedJumps | None = None
        switching = prepared.transitions
        if switching is not None and any(law.decides for law in switching.laws):
            largest = self.largest_positions()
            self._decided = DecidedJumps(switching, self.problem, self.nominal, largest)

    def to_end(
        self, outcome: Outcome, sampled: dict[int, tuple[np.ndarray, np.ndarray]] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of the last state, (size, k), and of the last time, (k,).

        Parameters
        ----------
        outcome
            How the run ended.
        sampled
            Receives the derivatives of state and values at the time of each sample of the record.

        Raises
        ------
        NoDerivativeError
            A guard has no slope where it passes, or the equations cannot be integrated.
        """
        record, sign = self.record, self.prepared.sign
        boundaries, legs = record.boundaries, legs_of(record, self.prepared)
        taken = {} if sampled is None else sampled
        before, begun, within = samples_of(record, sign)
        taken |= dict.fromkeys(before, (self.state, self.values))
        self.happen(legs[0], {}, np.zeros(len(self.sizes)))
        taken |= dict.fromkeys(begun, (self.state, self.values))
        for here, there, happened, samples in zip(
            boundaries, boundaries[1:], legs[1:], within, strict=False
        ):
            moments = {event.time for event in happened if event.after is None}
            if sampled is not None:
                moments |= {record.sample_times[k] for k in samples}
            values = self.values
            if self.begun is not None:
                self.begun.append((self.state, values))
            changes = self.advance(here, there.time, sorted(moments, key=lambda t: sign * t))
            if sampled is not None:
                taken |= {k: (changes[record.sample_times[k]], values) for k in samples}
            self.happen(happened, changes, None)
        end_time = np.zeros(len(self.sizes))
        if outcome is Outcome.STOPPED_BY_EVENT:
            stops = {event.name for event in self.problem.events if event.then.stops}
            events = zip(self.record.events, self.event_times, strict=True)
            ended = [times for event, times in events if event.name in stops]
            if not ended:
                raise self.ends_in_rest()
            end_time = ended[-1]
        return self.state + self._motion(self.place(boundaries[-1]), end_time), end_time

    def notes(self) -> list[str]:
        """Return notes on the variational integration, and on one-sided derivatives."""
        sentences = [self.flow.method]
        for pair in dict.fromkeys((guards, by) for _, guards, by in self.parted):
            times = [time for time, *rest in self.parted if tuple(rest) == pair]
            sentences.append(
                f"{pair[0]} pass together at t = {times[0]:.10g} s"
                + (f" and {len(times) - 1} times later" if len(times) > 1 else "")
                + f", but not where {pair[1]} changes: the derivative uses the first of them, "
                "and depends on the direction of the change"
            )
        return sentences

    def _motion(self, place: WholeState, times: np.ndarray) -> np.ndarray:
        """Return the change of the motion, (size, k), for changes of time."""
        return np.outer(self.rate(*place)[0], times)

    def advance(self, here: Boundary, until: float, at: Sequence[float]) -> dict[float, np.ndarray]:
        """Integrate the variational equations; return the changes of the state at several times."""
        if until == here.time:
            return dict.fromkeys(at, self.state)
        changes = self.state, self.values[self.flow.changing]
        moments = self.place(here), self.sizes, changes, until, np.array(at)
        self.state, reached = self.flow.carry(*moments)
        return dict(zip(at, reached, strict=True))

    # -- events -------------------------------------------------------------------------------

    def happen(
        self,
        happened: Sequence[Happening],
        changes: Mapping[float, np.ndarray],
        times: np.ndarray | None,
    ) -> None:
        """Process the events within a leg and at its end; `times` is how that changes, if known."""
        for _, group in itertools.groupby(
            happened, lambda e: id(e if e.after is None else e.after)
        ):
            events = list(group)
            if events[0].after is not None:
                times, self._jumped = self._through(events, times), events[0].time
                self.event_times += [times] * len(events)
                continue
            moved = self.event_times[-1] if self.by_jump(events[0], self._jumped) else times
            change = changes.get(events[0].time, self.state)
            if moved is None:
                _, moved = self._crossing(events, change)
            self.event_times.append(moved)
            if self.sides is not None:
                place = self.place(events[0].at)
                self.sides.append((change + self._motion(place, moved), None))

    def _through(self, events: Sequence[Happening], times: np.ndarray | None) -> np.ndarray:
        """Process a jump; return the change of its time."""
        place = self.place(events[0].at)
        crossed: int | None = None
        if times is None:
            crossed, times = self._crossing(events, self.state)
        before = state = self.state + self._motion(place, times)
        decision = self.decision(events, place, crossed)
        self._note_parted(events, place, Changes(times, state, self.values), decision)
        if decision is None and self.backwards is not None:
            still = Changes(np.zeros(len(self.sizes)), self.state, self.values)
            guards = list(self.guards_at_zero(events, place, still)) if crossed is not None else []
            if len(guards) > 1:
                return self._one_by_one(guards[::-1] if self.backwards else guards, place)
        if decision is None:
            place, state = self._reset(events, place, times, state)
        else:
            assert self._decided is not None
            changes = Changes(times, state, self.values)
            x, p, state, self.values = self._decided.through(decision, changes)
            place = WholeState(place.time, x, p)
        if self.sides is not None:
            self.sides += [(before, state)] * len(events)
        self.state = state - self._motion(place, times)
        return times

    def _one_by_one(self, guards: Sequence[int], place: WholeState) -> np.ndarray:
        """Process guards that pass together one after another; return the times of the first."""
        transitions, slopes = self.prepared.transitions, guard_slopes(self.problem)
        assert transitions is not None
        passed: list[np.ndarray] = []
        state: np.ndarray = self.state
        for guard in guards:
            event = self.indices[self.problem.guarded[guard].name]
            count = range(len(self.sizes))
            found = [slopes(*place, 0.0, state[:, k], self.values[:, k]) for k in count]
            times = np.array([-change[guard] / rates[guard] for _, rates, change in found])
            passed.append(times)
            moved = state + self._motion(place, times)
            jump = jump_slopes(transitions.function((event,)))
            fired = self.selected(event, [guard - self.firsts[event]])
            changed = [
                jump(*place, fired, times[k], moved[:, k], self.values[:, k])
                for k in range(len(times))
            ]
            place = WholeState(place.time, *changed[0][:2])
            self.values = np.array([change[3] for change in changed]).T
            state = np.array([change[2] for change in changed]).T - self._motion(place, times)
        self.state = state
        self.apart += [late - early for early, late in itertools.pairwise(passed)]
        return passed[0]

    def _reset(
        self,
        events: Sequence[Happening],
        place: WholeState,
        times: np.ndarray,
        state: np.ndarray,
    ) -> tuple[WholeState, np.ndarray]:
        """Process resets; return the resulting state and its change."""
        transitions = self.prepared.transitions
        assert transitions is not None
        for step in self.steps_of(events):
            slopes = jump_slopes(transitions.function(tuple(step)))
            fired = np.concatenate([self.selected(event, chosen) for event, chosen in step.items()])
            changed = [
                slopes(*place, fired, times[k], state[:, k], self.values[:, k])
                for k in range(len(times))
            ]
            place = WholeState(place.time, *changed[0][:2])
            state = np.array([change[2] for change in changed]).T
            self.values = np.array([change[3] for change in changed]).T
        return place, state

    def _crossing(
        self, events: Sequence[Happening], state: np.ndarray
    ) -> tuple[int | None, np.ndarray]:
        """Return the first guard of an event, and the change of its time.

        No guard determines the time of what touches where the motion begins.
        """
        place = self.place(events[0].at)
        still = Changes(np.zeros(len(self.sizes)), state, self.values)
        for guard, (_, rate, change) in self.guards_at_zero(events, place, still).items():
            times = -change / rate
            if np.all(np.isfinite(times)):
                return guard, times
        if not self.touches_at_start(events, place, still, self.sizes):
            raise self.no_slope(events[0])
        return None, np.zeros(len(self.sizes))

    def _note_parted(
        self,
        events: Sequence[Happening],
        place: WholeState,
        changes: Changes,
        decision: JumpDecision | None,
    ) -> None:
        """Note guards that pass here together, but separately if a number changes.

        Raises
        ------
        NoDerivativeError
            The result depends on which of them passes first.
        """
        least = APART * self.elapsed(place.time)
        # A guard past zero at the start, such as a reaction that pulls, stays so under any change.
        crossing = {
            guard: (rate, change)
            for guard, (value, rate, change) in self.guards_at_zero(events, place, changes).items()
            if abs(value / rate) <= least
        }
        for k, (by, size) in enumerate(zip(self.nominal, self.sizes, strict=True)):
            apart = [
                guard
                for guard, (rate, change) in crossing.items()
                if abs(change[k] / rate) * size > least
            ]
            if not apart:
                continue
            names = [self.name_of(guard) for guard in crossing]
            if len(names) == 1:
                at_start = place.time == self.prepared.start_time
                names.append("the start" if at_start else "the event before")
            self.parted.append((place.time, " and ".join(names), repr(by)))
            if decision is not None and len(crossing) > 1:
                assert self._decided is not None
                change = changes.times[k], changes.state[:, k], changes.values[:, k]
                self._decided.check_order(decision, change, list(crossing), repr(by))

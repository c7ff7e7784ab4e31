"""What happened at the events of a recorded run: where, by which guards, and what decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from daesolve.analysis.decided_jumps import Changes, JumpDecision, never_held
from daesolve.analysis.variational import guard_slopes
from daesolve.analysis.variational_flow import WholeState
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.preparation.request import DEFAULT_RATE
from daesolve.core.run.integration.record import Boundary, Happening, RunRecord
from daesolve.errors import NoDerivativeError

TOGETHER = 1e-9
"""Guards with zeros closer than this, relative to the time run so far, pass together."""
APART = 1e-6
"""How far they may separate, relative to the time so far, if a number changes by its own size."""


class RunEvents:
    """The places and events of a recorded run, in all states.

    Parameters
    ----------
    prepared, record
        The prepared run, and its record.

    Attributes
    ----------
    problem
        The motion in all states, without a chart.
    rates
        By index in p, those that replace the run's.
    rate
        (t, x, p) -> x'.
    """

    def __init__(self, prepared: Prepared, record: RunRecord) -> None:
        self.prepared, self.record = prepared, never_held(record)
        chart = prepared.problem.chart
        self.problem = prepared.problem if chart is None else chart.whole
        self.rates = self._rates()
        self.rate = Evaluator(self.problem.rhs)
        counts = [event.count for event in self.problem.events]
        self.firsts = [sum(counts[:k]) for k in range(len(counts))]
        t, x, p = (self.problem.guards.sx_in(k) for k in range(3))
        guards = self.problem.guards(t, x, p)
        self._moving = ca.which_depends(guards, ca.vertcat(t, x), 1, True)
        self.indices = {event.name: k for k, event in enumerate(self.problem.events)}

    @property
    def exponents(self) -> tuple[int, ...]:
        """The powers of two of all states."""
        return self.prepared.scaling.visible or (0,) * self.problem.size

    @property
    def start_values(self) -> np.ndarray:
        """The values at the start, by whose sizes a solver measures derivatives."""
        return self.prepared.values

    @property
    def compared(self) -> list[int]:
        """The states by which a motion is compared with the run; the works may be rounding."""
        return [*range(len(self.problem.labels.states))]

    @property
    def parts(self) -> tuple[slice, ...]:
        """The positions, the velocities, and the works."""
        count, visible = self.prepared.dynamics.position_count, len(self.problem.labels.states)
        return slice(0, count), slice(count, visible), slice(visible, None)

    def _rates(self) -> dict[int, float]:
        """Return rates for goals without any, which would drift; the motion is the same."""
        dynamics, names = self.prepared.dynamics, self.problem.values
        sign = 1.0 if self.prepared.until >= self.prepared.start_time else -1.0
        rows = (*dynamics.rows, *dynamics.implicit_rows)
        indices = [ValueKind.RATE.place(row.name, names) for row in rows]
        return {k: sign * DEFAULT_RATE for k in indices if self.prepared.values[k] == 0.0}

    def place(self, here: Boundary) -> WholeState:
        """Return a boundary in all states, with the current values."""
        problem, own, x = self.prepared.problem, self.record.modes[here.mode], here.state
        if problem.chart is not None:
            visible = problem.visible(np.array([here.time]), x[None, :], own)[0]
            x = np.concatenate([visible, x[problem.chart.embed.nnz_in(1) :]])
        p = own[: len(self.problem.values)].copy()
        p[list(self.rates)] = list(self.rates.values())
        return WholeState(here.time, x, p)

    def sample(self, k: int) -> Boundary:
        """Return the place of a sample of the record."""
        record = self.record
        return replace(record.sampled_at[k], time=record.sample_times[k], state=record.samples[k])

    def largest_positions(self) -> np.ndarray:
        """Return the largest size of each position at samples and boundaries of the run."""
        record = self.record
        sampled = [self.sample(k) for k in range(len(record.samples))]
        states = [self.place(here).x for here in (*record.boundaries, *sampled)]
        return np.max(np.abs(states), axis=0)[: self.prepared.dynamics.position_count]

    def decision(
        self, events: Sequence[Happening], place: WholeState, crossed: int | None
    ) -> JumpDecision | None:
        """Return the decision of a law; None if a formula resets the state."""
        first = events[0]
        if not self.decides(first):
            return None
        transitions = self.prepared.transitions
        assert transitions is not None
        assert first.zeros is not None
        followed = frozenset(self.indices[event.name] for event in events)
        law = transitions.owner(self.indices[first.name])
        names = ", ".join(repr(event.name) for event in events)
        return JumpDecision(law, place, first.asked, first.zeros, crossed, followed, names)

    def steps_of(self, events: Sequence[Happening]) -> list[dict[int, tuple[int, ...]]]:
        """Return the simultaneous resets as guards by events; sequential ones follow each other."""
        fired = {self.indices[event.name]: event.fired for event in events}
        first = next(iter(fired))
        if self.prepared.dynamics.resets[first].sequential:
            return [{first: (place,)} for place in fired[first]]
        return [fired]

    def by_jump(self, event: Happening, jumped: float) -> bool:
        """Return whether the last jump, at a time, and not the motion took guards through zero."""
        guards = [guard for guard in self.guards_fired([event]) if self._moving[guard]]
        if not guards or event.time != jumped:
            return not guards
        still = np.zeros(self.problem.size), np.zeros(len(self.problem.values))
        values, rates, _ = guard_slopes(self.problem)(*self.place(event.at), 0.0, *still)
        near = APART * self.elapsed(event.time)
        return all(abs(values[guard]) > near * abs(rates[guard]) for guard in guards)

    def selected(self, event: int, chosen: Sequence[int]) -> np.ndarray:
        """Return which guards of an event are chosen, as 1.0 or 0.0."""
        return np.isin(np.arange(self.problem.events[event].count), chosen).astype(float)

    def decides(self, event: Happening) -> bool:
        """Return whether a law, and not a formula, decided what followed an event."""
        transitions = self.prepared.transitions
        if event.after is None or transitions is None:
            return False
        return transitions.owner(self.indices[event.name]).decides

    def guards_fired(self, events: Sequence[Happening]) -> list[int]:
        """Return the guards that caused a transition.

        A decision may cause events other than the one whose guard passed.
        """
        if self.decides(events[0]):
            # One guard of each event determines its time; the law handles the others.
            owners = {self.problem.guarded[guard].name: guard for guard in events[0].asked[::-1]}
            return sorted(owners.values())
        return [
            self.firsts[self.indices[event.name]] + place
            for event in events
            for place in event.fired
        ]

    def name_of(self, guard: int) -> str:
        """Return the name of a guard for messages."""
        event = self.problem.guarded[guard]
        place = guard - self.firsts[self.indices[event.name]]
        return f"{event.name!r} ({place + 1})" if event.count > 1 else repr(event.name)

    def elapsed(self, time: float) -> float:
        """Return the time since the start, at least a thousandth of the run, s."""
        begin, until = self.prepared.start_time, self.prepared.until
        return max(abs(time - begin), 1e-3 * abs(until - begin))

    def guards_at_zero(
        self, events: Sequence[Happening], place: WholeState, changes: Changes
    ) -> dict[int, tuple[float, float, np.ndarray]]:
        """Return the guards that pass here: value, rate and change (k,) of each."""
        guards = self.guards_fired(events)
        slopes = guard_slopes(self.problem)
        found = [
            slopes(*place, changes.times[k], changes.state[:, k], changes.values[:, k])
            for k in range(len(changes.times))
        ]
        values, rates = found[0][0][guards], found[0][1][guards]
        with np.errstate(divide="ignore", invalid="ignore"):
            away = np.abs(values / rates)
        away[np.isnan(away)] = np.inf
        near = away <= np.min(away) + TOGETHER * self.elapsed(place.time)
        moved = np.array([change for *_, change in found]).T[guards]
        return {
            guard: (float(value), float(rate), change)
            for guard, value, rate, change, passes in zip(
                guards, values, rates, moved, near, strict=True
            )
            if passes and rate != 0.0
        }

    def touches_at_start(
        self, events: Sequence[Happening], place: WholeState, changes: Changes, sizes: np.ndarray
    ) -> bool:
        """Return whether guards rest at zero where the motion begins, however it is changed.

        `sizes`, (k,), are those of the numbers.
        """
        zeros = events[0].zeros
        if place.time != self.prepared.start_time or zeros is None:
            return False
        guards, slopes = list(events[0].asked), guard_slopes(self.problem)
        for k, size in enumerate(sizes.tolist()):
            found = slopes(*place, 0.0, changes.state[:, k], changes.values[:, k])
            away = np.abs(found[0]) + np.abs(found[1]) + size * np.abs(found[2])
            if np.any(away[guards] > zeros[guards]):
                return False
        return True

    def no_slope(self, event: Happening) -> NoDerivativeError:
        """Return the error for an event whose time has no derivative."""
        return NoDerivativeError(
            f"at t = {event.at.time:.10g} s the guard of the event {event.name!r} has no "
            "slope where it passes zero, so the time of the event has no derivative"
        )

    def ends_in_rest(self) -> NoDerivativeError:
        """Return the error for a run that ends where friction stops the body."""
        return NoDerivativeError(
            f"dry friction brings the body to rest at t = {self.record.boundaries[-1].time:.10g} "
            "s, and derivatives cannot reach a stop: choose an earlier end"
        )

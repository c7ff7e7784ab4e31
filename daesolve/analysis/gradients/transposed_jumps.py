"""Cotangents carried back through what happens at an instant.

Where a formula resets the state, its derivatives are transposed exactly. Where a law decides, the
derivatives in every direction that the constraints allow before the instant are found forwards, as
`decided_jumps` does, and transposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.analysis.decided_jumps import Changes, DecidedJumps, JumpDecision
from daesolve.analysis.gradients.adjoint_equations import Change, guard_gradients, jump_change
from daesolve.analysis.gradients.backward_flow import Cotangent, largest_states
from daesolve.analysis.run_events import RunEvents
from daesolve.analysis.state_field import kernel, manifold
from daesolve.analysis.variational_flow import WholeState
from daesolve.core.events.jumps import JumpFunction, without
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.run.integration.record import Happening

NO_GUARD = -1
"""Instead of a guard where the time of an instant is given."""


@dataclass(frozen=True, eq=False)
class Instant:
    """Events that happen together.

    Parameters
    ----------
    events
        The events; the first has the place before them.
    clock
        The number of the instant whose guard determines its time; -1 if that is fixed.
    guard
        This guard, if it is its own clock; None otherwise.
    decision
        What a law decided; None if a formula resets the state, or nothing changes.
    met, clocks
        When guards were answered before, (guards, 5), and the clocks of these answers.
    """

    events: tuple[Happening, ...]
    clock: int
    guard: int | None
    decision: JumpDecision | None = None
    met: np.ndarray | None = None
    clocks: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class JumpStage:
    """A part of what happens at an instant.

    Parameters
    ----------
    change
        What it changes.
    fired
        Which guards passed.
    jump
        The jump of the motion that it belongs to, if any.
    """

    change: Change
    fired: np.ndarray
    jump: JumpFunction | None = None

    def _opened(self, place: WholeState) -> list[int]:
        """Return the contacts that are open throughout, as places in p."""
        if self.jump is None:
            return []
        states, values = (self.jump.function.numel_in(k) for k in (1, 2))
        return self.jump.opened(place.time, place.x[:states], place.p[:values], self.fired)

    def forwards(self, place: WholeState) -> WholeState:
        """Return the place after it."""
        opened = self._opened(place)
        values = without(place.p, opened)
        x, p, *_ = self.change.values(place.time, place.x, values, self.fired)
        p[opened] = place.p[opened]
        return WholeState(place.time, x, p)

    def back(self, place: WholeState, after: Cotangent) -> list[np.ndarray]:
        """Return the derivatives by t, x and p before it."""
        values = without(place.p, self._opened(place))
        given = place.time, place.x, values, self.fired
        return self.change.cotangents(*given, after.state, after.values)


class TransposedJumps:
    """Carries cotangents back through the instants of a run.

    Parameters
    ----------
    events
        The run.
    active
        The indices of values by which derivatives are wanted.
    decided
        What differentiates decisions; None if no law decides.

    Attributes
    ----------
    by_time
        By the number of an instant: the derivative by its time, from all that comes after it.
    """

    def __init__(
        self, events: RunEvents, active: Sequence[int], decided: DecidedJumps | None, instants: int
    ) -> None:
        self.events, self.active, self.decided = events, list(active), decided
        self.by_time = np.zeros(instants)
        self._guards = guard_gradients(events.problem)
        self._constraints: dict[tuple[str, ...], ArrayFunction] = {}
        self._sizes: np.ndarray | None = None

    def count_directions(self, instant: Instant) -> int:
        """Return in how many directions the state before an instant may change."""
        return len(self._directions(self.events.place(instant.events[0].at), works=False))

    def at_guard(self, instant: Instant, place: WholeState, after: Cotangent) -> Cotangent:
        """Let the time of an instant follow from its guard."""
        if instant.guard is None or not self.by_time[instant.clock]:
            return after
        weights = np.zeros(self.events.problem.guards.nnz_out(0))
        weights[instant.guard] = 1.0
        rate, _, by_state, by_values = self._guards(*place, weights)
        share = -self.by_time[instant.clock] / rate[0]
        return after.plus(share * by_state, share * by_values)

    def through(self, instant: Instant, place: WholeState, after: Cotangent) -> Cotangent:
        """Carry a cotangent of the state after an instant back to the state before it."""
        if instant.decision is not None:
            return self._through_decision(instant, instant.decision, place, after)
        places, stages = [place], self.stages(instant)
        for stage in stages:
            places.append(stage.forwards(places[-1]))
        by_time = -float(self.events.rate(*places[-1])[0] @ after.state)
        for stage, here in zip(stages[::-1], places[-2::-1], strict=True):
            late, *parts = stage.back(here, after)
            by_time += float(late[0])
            after = Cotangent(*parts)
        by_time += float(self.events.rate(*place)[0] @ after.state)
        self._at_clock(instant.clock, by_time)
        return self.at_guard(instant, place, after)

    def stages(self, instant: Instant) -> list[JumpStage]:
        """Return what happens at an instant, one after the other."""
        return [JumpStage(jump_change(jump), fired, jump) for jump, fired in self.jumps_of(instant)]

    def jumps_of(self, instant: Instant) -> list[tuple[JumpFunction, np.ndarray]]:
        """Return the resets at an instant, and which guards passed."""
        events, found = self.events, list[tuple[JumpFunction, np.ndarray]]()
        assert events.prepared.transitions is not None
        for step in events.steps_of(instant.events):
            fired = np.concatenate([events.selected(*entry) for entry in step.items()])
            found.append((events.prepared.transitions.function(tuple(step)), fired))
        return found

    def _at_clock(self, clock: int, by_time: float) -> None:
        if clock >= 0:
            self.by_time[clock] += by_time

    def _through_decision(
        self, instant: Instant, decision: JumpDecision, place: WholeState, after: Cotangent
    ) -> Cotangent:
        """Transpose the derivatives of a decision in the directions that are possible before it."""
        events, decided = self.events, self.decided
        assert decided is not None
        assert instant.met is not None
        assert instant.clocks is not None
        rate = events.rate(*place)[0]
        directions = self._directions(place, works=bool(np.any(after.state[self._visible :])))
        states, values = directions.T[: len(place.x)], directions.T[len(place.x) :]
        count, earlier = states.shape[1], self._earlier(instant, decision)
        late = int(instant.guard is None and instant.clock >= 0)
        times = np.zeros(count + late + len(earlier))
        if instant.guard is not None:
            weights = np.zeros(events.problem.guards.nnz_out(0))
            weights[instant.guard] = 1.0
            speed, _, by_state, by_values = self._guards(*place, weights)
            times[:count] = -(by_state @ states + by_values @ values) / speed[0]
        times[count : count + late] = 1.0
        more = np.zeros((1, late + len(earlier)))
        changes = Changes(
            times,
            np.hstack([states, more.repeat(len(place.x), 0)]) + np.outer(rate, times),
            np.hstack([values, more.repeat(len(place.p), 0)]),
        )
        slopes = np.zeros((*instant.met.shape, len(times)))
        for k, entry in enumerate(earlier):
            slopes[(*entry, count + late + k)] = 1.0
        names = ["a change of the state"] * len(times)
        x, p, moved, passed = decided.remembering(names, instant.met, slopes).through(
            decision, changes
        )
        found = after.state @ moved + after.values @ passed
        found -= (after.state @ events.rate(place.time, x, p)[0]) * times
        if late:
            self._at_clock(instant.clock, float(found[count]))
        for entry, by_time in zip(earlier, found[count + late :].tolist(), strict=True):
            self._at_clock(int(instant.clocks[entry]), by_time)
        own = found[:count]
        if instant.guard is not None:
            own = own + self.by_time[instant.clock] * times[:count]
        weighed = directions.T / self._units(place)[:, None] ** 2 @ own
        return Cotangent(weighed[: len(place.x)], weighed[len(place.x) :])

    @property
    def _visible(self) -> int:
        return len(self.events.problem.labels.states)

    def _units(self, place: WholeState) -> np.ndarray:
        """Return the sizes of states and values, in which directions are orthonormal."""
        if self._sizes is None:
            self._sizes = largest_states(self.events)
        values = np.abs(place.p)
        values[values == 0.0] = 1.0
        return np.concatenate([self._sizes, values])

    def _directions(self, place: WholeState, *, works: bool) -> np.ndarray:
        """Return the possible changes of state and values before an instant, as rows."""
        dynamics = self.events.prepared.dynamics
        own = place.p[: dynamics.p.numel()]
        mode = dynamics.in_mode(own)
        key = tuple(row.name for row in mode.rows)
        if key not in self._constraints:
            goals = ca.vertcat(ca.SX(0, 1), *manifold(mode))
            slopes = ca.jacobian(goals, ca.vertcat(dynamics.x, dynamics.p))
            given = [dynamics.t, dynamics.x, dynamics.p]
            self._constraints[key] = ArrayFunction("constraints", given, [slopes])
        (slopes,) = self._constraints[key](place.time, place.x[: self._visible], own)
        size, count = len(place.x), self._visible
        free = [*range(size if works else count), *(size + k for k in self.active)]
        table = np.zeros((len(slopes), size + len(place.p)))
        table[:, :count] = slopes[:, :count]
        table[:, size : size + len(own)] = slopes[:, count:]
        units = self._units(place)
        basis = kernel((table * units)[:, free])
        found = np.zeros((basis.shape[1], len(units)))
        found[:, free] = basis.T
        return found * units

    def _earlier(self, instant: Instant, decision: JumpDecision) -> list[tuple[int, int]]:
        """Return the earlier answers on which a decision depends, as places in `met`."""
        assert instant.met is not None
        assert instant.clocks is not None
        assert self.decided is not None
        known = np.argwhere(~np.isnan(instant.met) & (instant.clocks >= 0))
        if not known.size:
            return []
        gaps = np.diff(instant.met, axis=1)
        aside = 1e-3 * float(np.nanmin(np.append(gaps[gaps > 0.0], 1.0)))
        steps = np.arange(instant.met.shape[1], 0, -1, dtype=float)
        moved: np.ndarray = np.subtract(instant.met, aside * steps**2)
        here, _ = self.decided.answered(decision, instant.met)
        there, _ = self.decided.answered(decision, moved)
        if here is not None and there is not None and np.array_equal(here.p, there.p):
            return []
        return [(int(guard), int(slot)) for guard, slot in known]

"""A recorded run with its derivative in one direction, through which cotangents go back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from daesolve.analysis.gradients.objective import Expression
from daesolve.analysis.gradients.tangent_equations import (
    moved_to_event,
    place_of,
    tangent_jump,
    tangent_problem,
)
from daesolve.analysis.gradients.transposed_jumps import Instant, JumpStage, TransposedJumps
from daesolve.analysis.propagation import Propagation
from daesolve.analysis.run_events import RunEvents
from daesolve.analysis.run_legs import legs_of
from daesolve.analysis.variational_flow import WholeState
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.run.integration.record import Boundary

Tangent = tuple[np.ndarray, np.ndarray, float]
"""The derivatives of state, values, and of the time of the last event."""


class TangentRun(RunEvents):
    """A run and its derivative in one direction, as one motion.

    Parameters
    ----------
    events
        The run.
    start
        (n + np,) the derivative of its start.
    outcome
        How it ended.
    active
        The indices of values that change.
    running
        What is integrated, if anything.

    Attributes
    ----------
    base
        The run's own problem.
    slopes
        (n + np, 1) the derivative of the start.
    """

    def __init__(
        self,
        events: RunEvents,
        start: np.ndarray,
        outcome: Outcome,
        active: Sequence[int],
        running: Expression | None,
    ) -> None:
        super().__init__(events.prepared, events.record)
        self.base, self.running, self.active = self.problem, running, tuple(active)
        self._samples = [super(TangentRun, self).sample(k) for k in range(len(self.record.samples))]
        self._tangents = self._carried(start, outcome)
        self._moved = start[len(start) - len(self.base.values) :][list(active)]
        self.problem = tangent_problem(self.base, self.active, running)
        self.rate = Evaluator(self.problem.rhs)

    def _carried(self, start: np.ndarray, outcome: Outcome) -> Mapping[int, Tangent]:
        """Carry the derivative forwards; return it by place."""
        record, solver = self.record, self.prepared.request.solver
        direction = {"the direction": 1.0}
        carried = Propagation(self.prepared, record, solver, start[:, None], direction)
        carried.sides, carried.begun = [], []
        first = carried.state[:, 0], carried.values[:, 0]
        sampled: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        carried.to_end(outcome, sampled)
        # The tangent of an event's values is that of its leg; a reset at the start has the first.
        found: dict[int, Tangent] = {id(record.boundaries[0]): (*first, 0.0)}
        begun = [(state[:, 0], values[:, 0]) for state, values in carried.begun]
        begun.append((carried.state[:, 0], carried.values[:, 0]))
        late, values, number = 0.0, first[1], 0
        for leg, happened in enumerate(legs_of(record, self.prepared)):
            before = late
            for event in happened:
                change, time = carried.sides[number][0][:, 0], float(carried.event_times[number][0])
                rate = carried.rate(*carried.place(event.at))[0]
                found[id(event.at)] = change - rate * time, values, before
                late = time if event.after is not None else late
                number += 1
            if leg < len(begun):
                values = begun[leg][1]
                found[id(record.boundaries[leg])] = (*begun[leg], late)
        for k, (state, own) in sampled.items():
            place = record.sampled_at[k]
            own_late = found.get(id(place), (None, None, 0.0))[2]
            found[id(self._samples[k])] = state[:, 0], own[:, 0], own_late
        return found

    def sample(self, k: int) -> Boundary:
        """Return the place of a sample, always the same one."""
        return self._samples[k]

    def place(self, here: Boundary) -> WholeState:
        """Return a place with the derivatives there."""
        whole = super().place(here)
        if self.problem is self.base:
            return whole
        state, values, late = self._tangents[id(here)]
        x, p = place_of(whole.x, whole.p, state, values[list(self.active)], late)
        return WholeState(whole.time, x, p)

    @property
    def exponents(self) -> tuple[int, ...]:
        """The powers of two of all states."""
        own = self.prepared.scaling.visible or (0,) * self.base.size
        return (*own, *own, 0)

    @property
    def start_values(self) -> np.ndarray:
        """The values at the start."""
        return np.concatenate([super().start_values, self._moved, [0.0]])

    @property
    def compared(self) -> list[int]:
        """The states by which a motion is compared with the run."""
        return [*super().compared, *(self.base.size + k for k in super().compared)]

    @property
    def parts(self) -> tuple[slice, ...]:
        """The positions, the velocities and the works, and the same of the derivative."""
        size = self.base.size
        ends = [part.indices(size)[:2] for part in super().parts]
        again = [slice(size + low, size + high) for low, high in ends]
        return (*(slice(*end) for end in ends), *again, slice(2 * size, None))


class TangentJumps(TransposedJumps):
    """Carries cotangents back through the instants of a motion and of its derivative."""

    events: TangentRun

    def stages(self, instant: Instant) -> list[JumpStage]:
        """Return what happens at an instant: to the event, its resets, and from it."""
        events, nothing = self.events, np.zeros(0)
        own = events.base, events.active, events.running
        resets = [
            JumpStage(tangent_jump(jump, events.active), fired, jump)
            for jump, fired in self.jumps_of(instant)
        ]
        enter, leave = moved_to_event(*own, instant.guard, 1), moved_to_event(*own, None, -1)
        return [JumpStage(enter, nothing), *resets, JumpStage(leave, nothing)]

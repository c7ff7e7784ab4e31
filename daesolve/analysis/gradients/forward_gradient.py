"""The gradient of an objective from derivatives that are carried forwards.

Where laws decide what contacts do, every direction costs many decisions, and some directions lead
to other events, although none of the numbers changes in them. Then the derivatives by each number
are carried forwards, as `sensitivity` does, and only what is integrated goes back, leg by leg.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daesolve.analysis.gradients.backward_flow import BackwardFlow, Cotangent
from daesolve.analysis.gradients.objective import Expression, expression_slopes
from daesolve.analysis.gradients.reversal import Pulls, unwrapped
from daesolve.analysis.propagation import Propagation
from daesolve.analysis.run_legs import legs_of
from daesolve.analysis.sample_derivatives import changes_at_samples
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.run.integration.sampling import At


class ForwardGradient:
    """Sums up the terms of an objective along derivatives that are carried forwards.

    Parameters
    ----------
    propagation
        What carries them, at the start of the run.
    outcome, at
        How the run ended, and its sample times.
    active
        The indices of values that may change.
    """

    def __init__(
        self, propagation: Propagation, outcome: Outcome, at: At, active: Sequence[int]
    ) -> None:
        self.propagation, self.at, self.outcome = propagation, at, outcome
        self.active = list(active)
        propagation.begun = []
        self._sampled: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.final, self.end_time = propagation.to_end(outcome, self._sampled)

    def of_end(self, end: Expression) -> tuple[float, np.ndarray]:
        """Return the value of a term of the end, and its derivatives, (k,)."""
        carried = self.propagation
        last = carried.place(carried.record.boundaries[-1])
        found, late, by_state, by_values = expression_slopes(carried.problem, end)(*last)
        slopes = late[0] * self.end_time + by_state @ self.final
        return float(found[0]), slopes + self._by_values(by_values, carried.values)

    def of_samples(self, pulls: Pulls, by_event: np.ndarray) -> np.ndarray:
        """Return the derivatives of terms of samples and of the times of events, (k,)."""
        carried = self.propagation
        shape = len(by_event), len(carried.nominal)
        found = by_event @ np.array(carried.event_times).reshape(shape)
        ended = self.outcome, self.end_time
        order, changes = changes_at_samples(carried, self._sampled, self.at, ended)
        for k, (state, values, times) in zip(order, changes, strict=True):
            if k not in pulls:
                continue
            place = carried.place(carried.sample(k))
            late, by_state, by_values = pulls[k](place)
            along = late + float(by_state @ carried.rate(*place)[0])
            found = found + by_state @ state + along * times
            found = found + self._by_values(by_values, values)
        return found

    def of_running(self, running: Expression, flow: BackwardFlow) -> tuple[float, np.ndarray]:
        """Return the integral of a term over the run, and its derivatives, (k,)."""
        carried = self.propagation
        record, density = carried.record, expression_slopes(carried.problem, running)
        known = {
            id(event): change
            for event, change in zip(record.events, carried.event_times, strict=True)
        }
        still = np.zeros(len(carried.nominal))
        found, begun = np.zeros(len(carried.nominal)), carried.begun or []
        legs, late = legs_of(record, carried.prepared), still
        for k, (low, (state, values)) in enumerate(zip(record.boundaries, begun, strict=False)):
            jumps = [event for event in legs[k + 1] if event.after is not None]
            high = jumps[0].at if jumps else record.boundaries[k + 1]
            start, end = carried.place(low), unwrapped(carried, high, low)
            nothing = Cotangent(np.zeros(len(end.x)), np.zeros(len(end.p)))
            before = flow.back(start, end, nothing)
            found = found + before.state @ state + self._by_values(before.values, values)
            found = found - float(density(*start)[0][0]) * late
            late = known[id(jumps[0])] if jumps else still
            if k == len(record.boundaries) - 2 and not jumps:
                late = self.end_time
            found = found + float(density(*end)[0][0]) * late
        return flow.integral, found

    def _by_values(self, by_values: np.ndarray, values: np.ndarray) -> np.ndarray:
        return by_values[self.active] @ values[self.active]

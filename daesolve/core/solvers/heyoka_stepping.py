"""Taylor's method by heyoka, piece by piece: code that is compiled for the equations."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.heyoka_code import bounded_table, heyoka_table, hy, translated
from daesolve.core.solvers.segment import (
    NOT_FINITE,
    STALLED,
    Block,
    Segment,
)
from daesolve.core.solvers.series_block import (
    STUCK,
    SeriesBlock,
    SeriesIntegrator,
    after_step,
    steps_at_once,
)


class PiecewiseIntegrator(SeriesIntegrator):
    """A compiled integrator of one problem.

    Parameters
    ----------
    tolerance, compact, optimisation
        As in `Taylor`, all chosen.
    problem
        What to integrate.
    bounded
        Whether exponentials are held within bounds (`bounded_table`).
    """

    def __init__(
        self,
        tolerance: float,
        compact: bool,
        optimisation: int | None,
        problem: OdeProblem,
        *,
        bounded: bool = False,
    ) -> None:
        self.problem, self.tolerance, self.bounded = problem, tolerance, bounded
        self.rates = translated(problem.rhs, table=bounded_table if bounded else heyoka_table)
        self.integrator = hy.taylor_adaptive(
            list(zip(self.rates.variables, self.rates.expressions, strict=True)),
            [0.0] * problem.size,
            tol=tolerance,
            high_accuracy=True,
            compact_mode=compact,
            opt_level=optimisation,
        )

    def blocks(self, segment: Segment) -> Generator[Block]:
        """Integrate piece by piece: a piece keeps its Taylor coefficients, so it is bounded."""
        integrator, state, until = self.integrator, segment.start, segment.until
        integrator.time = state.time
        integrator.state[:] = state.x
        numbers = np.concatenate([state.p, self.rates.parameters(state.p)])
        integrator.pars[:] = numbers[: len(integrator.pars)]
        callback = _callback(self.problem, state.p)
        least = STUCK * abs(until - state.time)
        order = int(integrator.order)
        limits, outcome = hy.taylor_outcome, hy.taylor_outcome.step_limit
        while outcome in (limits.step_limit, limits.cb_stop):
            most = steps_at_once(segment, order)
            outcome, _, _, count, dense, _ = integrator.propagate_until(
                until, c_output=True, max_steps=most, **callback
            )
            landed = outcome == limits.time_limit
            if count:
                times, states = _accepted(integrator, dense, until if landed else None)
            else:
                times, states = np.array([segment.time]), segment.state[None, :]
            failure = ""
            if outcome == limits.err_nf_state:
                failure = NOT_FINITE
            elif segment.ahead is None and not landed and abs(times[-1] - times[0]) < least:
                failure = STALLED
            yield SeriesBlock(self.problem, state.p, times, states, dense, order, failure)


def _callback(problem: OdeProblem, p: np.ndarray) -> dict[str, Any]:
    """Return heyoka's option for the action after each step."""
    adjusted = after_step(problem, p)
    if adjusted is None:
        return {}

    def callback(integrator: Any) -> bool:
        integrator.state[:], goes_on = adjusted(integrator.time, integrator.state)
        return goes_on

    return {"callback": callback}


def _accepted(
    integrator: Any, dense: Any, landed_at: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the start and the ends of the steps of a piece, as far as they are finite."""
    last = float(integrator.time) if landed_at is None else landed_at
    times = np.append(dense.times[:-1], last)
    states = np.vstack([dense.tcs[:, :, 0], integrator.state])
    good = np.logical_and.accumulate(np.all(np.isfinite(states), axis=1))
    return times[good], states[good]

"""A run once more, sampled within every accepted step, for an audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.audit import Audit, Certificate, audit
from daesolve.audit.certificate import PLACES
from daesolve.integration.record import RunRecord
from daesolve.preparation.preparing import Prepared
from daesolve.trajectory.trajectory import Trajectory

MOST_STEPS = 60_000
"""Steps that are looked at; of a longer run, so many that lie evenly over it."""


def nodes(ends: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the starts and lengths of the steps to look at, and what is left out.

    Parameters
    ----------
    ends
        The ends of accepted steps, block by block, the start of the run first.
    """
    times = np.concatenate([np.empty(0), *ends])
    if len(times) < 2:
        return np.empty(0), np.empty(0), ""
    sign = 1.0 if times[-1] >= times[0] else -1.0
    # Steps that were taken back come twice.
    times = sign * np.unique(sign * times)
    starts, lengths = times[:-1], np.diff(times)
    clear = np.abs(lengths) > 64.0 * np.spacing(np.abs(starts) + np.abs(lengths))
    starts, lengths = starts[clear], lengths[clear]
    if len(starts) <= MOST_STEPS:
        return starts, lengths, ""
    chosen = np.unique(np.linspace(0, len(starts) - 1, MOST_STEPS).astype(int))
    left = f"{len(chosen)} of {len(starts)} steps were looked at"
    return starts[chosen], lengths[chosen], left


Again = Callable[[Prepared, np.ndarray], tuple[Trajectory, RunRecord]]
"""Integrates a prepared run once more, with samples at some times."""


@dataclass(frozen=True, eq=False)
class Auditor:
    """Audits a run.

    Parameters
    ----------
    prepared
        The run as it was prepared.
    ends
        The ends of its accepted steps, block by block.
    again
        Integrates it once more.
    """

    prepared: Prepared
    ends: Sequence[np.ndarray]
    again: Again

    def __call__(self, run: Trajectory) -> Audit:
        """Return the audit of the run."""
        return audit(self.certificate(run))

    def certificate(self, run: Trajectory) -> Certificate:
        """Return the run with its motion within each step."""
        prepared = self.prepared
        starts, lengths, left_out = nodes(self.ends)
        columns: dict[str, np.ndarray] = {}
        values: dict[str, np.ndarray] = {}
        times = (starts[:, None] + lengths[:, None] * PLACES).ravel()
        if len(times):
            motion, record = self.again(prepared, times)
            # A run may have taken steps back where it ended.
            reached = np.count_nonzero(motion.times[: len(times)] == times[: len(motion.times)])
            starts, lengths = starts[: reached // len(PLACES)], lengths[: reached // len(PLACES)]
            shape = (len(starts), len(PLACES))
            times = times[: len(starts) * len(PLACES)]
            for series in (motion.states, motion.reactions, motion.outputs):
                columns |= {name: row[: len(times)].reshape(shape) for name, row in series.items()}
            table = np.atleast_2d(record.mode_table(record.sampled_at[: len(times)]))
            table = np.broadcast_to(table, (len(times), table.shape[1]))[:: len(PLACES)]
            places = {name: k for k, name in enumerate(prepared.problem.values)}
            values = {name: table[:, places[name]] for name in prepared.dynamics.discrete}
        numbers = dict(zip(prepared.problem.values, prepared.values.tolist(), strict=True))
        return Certificate(
            system=prepared.system,
            parameters=numbers | dict(prepared.parameters),
            starts=starts,
            lengths=lengths,
            columns=columns,
            values=values,
            events=run.events,
            accuracy=prepared.solver.step_tolerance,
            driven=frozenset(name for name, rate in prepared.rates.items() if rate is not None),
            left_out=left_out,
        )

"""The beginning of a run on disk, kept where its samples are too sparse to be joined."""

from __future__ import annotations

from dataclasses import replace

from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.storage import Writer
from daesolve.core.results.trajectory.curves import KINDS, ROWS, first_oscillations, has_curves
from daesolve.core.results.trajectory.samples import Recorded
from daesolve.core.results.trajectory.stored_trajectories import stored_run
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.simulation import simulate
from daesolve.core.run.integration.watches.first_steps import FIRST_STEPS

LEEWAY = 2
"""The first steps may be this many times as long as the mean step."""


def keep_opening(writer: Writer, run: Trajectory, prepared: Prepared) -> None:
    """Store the beginning of a run, closely sampled, if its samples are too sparse to join.

    A stored beginning is kept, also when the run is extended.

    Parameters
    ----------
    writer
        Of the run's directory.
    run
        Its samples are on disk.
    prepared
        What was run.

    Raises
    ------
    StorageError
        It cannot be written.
    """
    if writer.has_opening:
        return
    stored = stored_run(writer.directory)
    backwards = prepared.until < prepared.start_time
    shown = run.thinned(ROWS)
    parts = [(shown.times, shown.states)]
    if stored.rows > len(shown.times):
        first = first_oscillations(stored, backwards=backwards)
        parts.append((first.times, first.states))
    if has_curves(parts, backwards=backwards):
        return
    begun = run.opening() or _begun_again(prepared)
    if begun is not None:
        named = {kind: dict(getattr(begun, kind)) for kind in KINDS}
        writer.write_opening(begun.times, **named)


def _begun_again(prepared: Prepared) -> Recorded | None:
    """Return the beginning of a run that resumed from a checkpoint, integrated again."""
    reach = LEEWAY * FIRST_STEPS * prepared.mean_step
    span = prepared.until - prepared.start_time
    part = span if abs(span) <= reach else reach if span > 0.0 else -reach
    return simulate(replace(prepared, until=prepared.start_time + part)).opening()

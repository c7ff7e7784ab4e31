"""A run that is repeated in another way, and held against what was posed."""

from __future__ import annotations

from dataclasses import replace

from daesolve.core.preparation.preparing import Prepared
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.run_options import By
from daesolve.verification.second_run import verify


def verified(
    prepared: Prepared, run: Trajectory, by: By = True, rows: int | None = None
) -> Trajectory:
    """Return a run with its repetition and its audit; see `verify` and `audited`.

    Parameters
    ----------
    prepared, run, by
        As in `verify`.
    rows
        At how many samples the repetition is compared at most; None for all.
    """
    shown = run if rows is None else run.thinned(rows)
    found = verify(prepared, shown, shown.times, by)
    run = replace(run, verification=found)
    if found.interrupted:
        return run
    try:
        return audited(run)
    except KeyboardInterrupt:
        return replace(run, verification=replace(found, interrupted=True))


def audited(run: Trajectory) -> Trajectory:
    """Return a run with its audit; one that contradicts what was posed ends as `contradicted`.

    What cannot be audited, a run in lanes or one that a test made up, stays as it is.
    """
    if run.auditor is None:
        return run
    found = run.audit()
    if found.holds:
        return replace(run, audited=found)
    return replace(run, audited=found, outcome=Outcome.CONTRADICTED, message=found.objection)

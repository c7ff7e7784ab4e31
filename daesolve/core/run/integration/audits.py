"""Where features hold a run against what was posed: part by part, and once it has ended.

A watch sees the steps that a part has kept, and returns a sentence if they contradict what was
posed. The auditor of a run gets its stages, and integrates them once more where it needs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.core.features import added
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.results.trajectory.findings import Audit
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.results.trajectory.trajectory import AUDITOR, Trajectory
from daesolve.core.run.integration.refuting import take_down_refuted
from daesolve.core.run.integration.run_state import RunState
from daesolve.core.run.integration.watches.kept_steps import Row

WATCHES = "watches of parts"
"""The point at which features add functions of type `Watch`."""
Watch = Callable[[RunState, Row], str | None]


@dataclass(frozen=True, eq=False)
class Stage:
    """A run, or what it was extended by: how far it was integrated without a break.

    Parameters
    ----------
    checkpoint
        From which it begins; None at the start of the run.
    until
        Its end, s.
    ends
        The ends of its accepted steps, block by block, as far as they are known; None if they are
        not.
    state
        What it has gathered, and may have kept within its steps; None if that is gone.
    """

    checkpoint: Mapping[str, Any] | None
    until: float
    ends: Sequence[np.ndarray] | None = None
    state: RunState | None = None


Again = Callable[[Stage, Sequence[float] | np.ndarray, Callable[[RunState], None]], RunState]
"""Integrates a stage once more with samples at some times, and shows its state after segments."""


def contradicted(run: RunState) -> tuple[Outcome, str] | None:
    """Return that a run, since this was asked last, contradicts what was posed; None if not.

    Parameters
    ----------
    run
        The run, between two segments.
    """
    steps = run.monitor.kept_steps.handed_over()
    if steps is None:
        return None
    said = (watch(run, steps) for watch in added(WATCHES))
    objection = next((one for one in said if one is not None), None)
    if objection is None:
        return None
    take_down_refuted(run)
    # A run that drifted too far fails, and says what to change.
    return None if run.monitor.untrusted() else (Outcome.CONTRADICTED, objection)


def auditor_of(
    prepared: Prepared, stages: Callable[[], Iterable[Stage]], again: Again
) -> Callable[[Trajectory], Audit] | None:
    """Return what audits a run; None if no feature does.

    Parameters
    ----------
    prepared
        The run as it was prepared.
    stages
        Returns its stages.
    again
        Integrates one of them once more.
    """
    makers = added(AUDITOR)
    return makers[0](prepared, stages, again) if makers else None

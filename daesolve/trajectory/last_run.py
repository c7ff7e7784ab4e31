"""The run that ended last in this process: what it was is known, its samples are not kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daesolve.trajectory.trajectory import Trajectory


@dataclass(frozen=True)
class Latest:
    """What was run last.

    Parameters
    ----------
    description
        Of the trajectory.
    sources
        Of its problem.
    """

    description: Mapping[str, Any]
    sources: Sequence[str]


_ended: list[Latest] = []


def remembered(run: Trajectory) -> Trajectory:
    """Return a run, which is the latest from now on."""
    _ended[:] = [Latest(run.description, run.sources)]
    return run


def latest() -> Latest | None:
    """Return what was run last; None where nothing was."""
    return _ended[-1] if _ended else None

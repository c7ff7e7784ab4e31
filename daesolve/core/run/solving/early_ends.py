"""Warns of a run that ended before its time, so that no script takes it for a whole one."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Generator
from contextlib import contextmanager

from daesolve.core.results.trajectory.in_words import ENDED
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import EndedEarlyWarning

_reporting: list[bool] = []
"""One for each caller that reports endings; filters of warnings are lost where threads set them."""
PACKAGE = __name__.partition(".")[0]


def warned_of(run: Trajectory) -> Trajectory:
    """Return a run; warn whoever called the library if the motion could not be followed to its end.

    An event that stops a run is an end that was asked for.
    """
    if run.outcome.good or _reporting:
        return run
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(
        f"the run {ENDED[run.outcome]} at t = {run.end_time:.10g} s, and its end_state is the "
        f"state there: {run.message}",
        EndedEarlyWarning,
        stacklevel=level,
    )
    return run


@contextmanager
def reported_otherwise() -> Generator[None]:
    """Leave out these warnings, where the caller reports how each run ended."""
    _reporting.append(True)
    try:
        yield
    finally:
        _reporting.pop()

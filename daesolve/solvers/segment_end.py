"""Where a segment starts, who watches its steps, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from daesolve.trajectory.results import StepBlock


@dataclass(frozen=True)
class State:
    """Where a segment starts.

    Parameters
    ----------
    time
        s
    x
        (size,) state of the problem.
    p
        (np,) parameters, discrete values, rates and references.
    """

    time: float
    x: np.ndarray
    p: np.ndarray


Observer = Callable[[StepBlock], object]
"""Receives accepted steps; where its answer is true the segment ends with them. It may have an
attribute `remaining`: how many more right-hand sides are allowed."""


@dataclass(frozen=True)
class EventHit:
    """A guard that passed through zero: its index among all guards, when and where.

    Parameters
    ----------
    index
        Of the guard among all of the problem.
    time, state
        When it passed, in s, and the state then.
    """

    index: int
    time: float
    state: np.ndarray


class Status(Enum):
    """How a segment ended."""

    REACHED = "the end of the segment was reached"
    STOPPED = "an event interrupted the motion"
    HALTED = "the observer of the steps wants no more of them"
    FAILED = "the solver could not go on"


@dataclass(frozen=True)
class SegmentEnd:
    """What a segment gives back.

    Parameters
    ----------
    status, message
        How it ended; for a failure, the solver's reason.
    time, state
        Where it ended.
    samples
        (k, size) states at the sample times that were reached, exact to the solver's order.
    hits
        Events in the order of time.
    steps, rhs_evaluations
        What it cost.
    """

    status: Status
    message: str
    time: float
    state: np.ndarray
    samples: np.ndarray
    hits: tuple[EventHit, ...]
    steps: int
    rhs_evaluations: int

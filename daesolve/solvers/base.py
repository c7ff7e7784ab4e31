"""The contract of a solver: it integrates one segment and knows no mechanics."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

import numpy as np

from daesolve.errors import OutOfRangeError
from daesolve.formulations import DaeProblem, OdeProblem
from daesolve.trajectory.results import StepBlock

Rate = Callable[[float, np.ndarray], np.ndarray]


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
"""Takes in accepted steps; where it returns True the segment is to end with them. It may have an
attribute `remaining`: how many right-hand sides there may yet be."""


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
    HALTED = "what observes the steps wants no more of them"
    FAILED = "the solver could not go on"


@dataclass(frozen=True)
class SegmentEnd:
    """What a segment gives back.

    Parameters
    ----------
    status, message
        How it ended, and the solver's own word on a failure.
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


@dataclass(frozen=True)
class Compilation:
    """What preparing a problem for a solver took.

    Parameters
    ----------
    seconds
        The time that it took.
    cached
        Whether the compiled code was there already.
    notes
        Sentences for the notes of a run.
    """

    seconds: float = 0.0
    cached: bool = False
    notes: tuple[str, ...] = field(default=())


class Solver(ABC):
    """A backend. Concrete solvers are frozen dataclasses of their settings.

    A solver

    * integrates forwards and backwards, lands on `until`, and restarts at each segment;
    * gives sample states of its own order of accuracy without changing its steps;
    * hands every accepted step to `observe`, in blocks, and ends where that returns True;
    * locates events of the problem's guards, and returns at those that interrupt the motion;
    * returns what it has when it fails, with its reason; it does not raise.
    """

    name: ClassVar[str]
    forms: ClassVar[frozenset[str]] = frozenset({"ode"})
    """What it takes, of `formulations.FORMS`."""
    projects_steps: ClassVar[bool] = False
    """Whether it applies the problem's projection after each step; if not, each segment does."""

    @property
    def steps_over(self) -> bool:
        """Whether steps are taken whatever the error, over singular positions between them."""
        return False

    def halts_at_events(self, problem: OdeProblem) -> bool:
        """Tell whether it integrates no farther than to the first event that interrupts."""
        return False

    @abstractmethod
    def refusal(self, problem: OdeProblem) -> str | None:
        """Say in a sentence why this solver cannot take the problem; None where it can."""

    @abstractmethod
    def tolerances(self) -> dict[str, float]:
        """Return the tolerances that are in force, by name."""

    @property
    def step_tolerance(self) -> float:
        """The relative tolerance of a step; zero where that is fixed."""
        told = self.tolerances()
        return told.get("rtol", told.get("tolerance", 0.0))

    def converges_to(self, problem: OdeProblem) -> float:
        """Return the part of a step's tolerance to which Newton's iteration is to converge.

        Where that is far smaller, rounding stops it long before it shows in steps.
        """
        return NEWTON if isinstance(problem, DaeProblem) and max(problem.indices) > 1 else 1.0

    @abstractmethod
    def refined(self) -> Solver:
        """Return the solver with which a run of this one is verified."""

    def configured(self, problem: OdeProblem, steps: float) -> Solver:
        """Return the solver with every automatic choice made.

        Parameters
        ----------
        problem
            What is to be integrated.
        steps
            How many steps the whole run is expected to take.
        """
        return self

    def compile(self, problem: OdeProblem) -> Compilation:
        """Compile what `segment` needs; called once before a run."""
        return Compilation()

    @abstractmethod
    def segment(
        self,
        problem: OdeProblem,
        state: State,
        until: float,
        at: np.ndarray,
        observe: Observer,
    ) -> SegmentEnd:
        """Integrate from `state` to the time `until`.

        Parameters
        ----------
        problem
            The functions.
        state
            The start.
        until
            The end, s; before the start to integrate backwards.
        at
            Sample times within the segment, in the order of integration.
        observe
            Receives every accepted step.
        """


NEWTON = 0.1
"""What `Solver.converges_to` counts for methods whose iteration goes far below the tolerance."""
SHRINKS = 4.0
"""A step so many times shorter than the longest one since steps were last looked at is a reason to
look at once."""
AT_LEAST = 8
"""Steps that are looked at together."""


class Pace:
    """Tells when accepted steps are to be looked at: after so many, or as soon as they shrink.

    Parameters
    ----------
    most
        After how many steps.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0
        self.longest = 0.0

    def due(self, step: float) -> bool:
        """Take in the length of a step; return whether steps are to be looked at now."""
        self.count += 1
        length = abs(step)
        self.longest = max(self.longest, length)
        shrunk = self.count >= AT_LEAST and length * SHRINKS < self.longest
        if not (shrunk or self.count >= self.most):
            return False
        self.count, self.longest = 0, length
        return True


def positive(owner: str, **values: float) -> None:
    """Refuse settings that are not finite positive numbers.

    Raises
    ------
    OutOfRangeError
        One is not; it is named.
    """
    for name, value in values.items():
        if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
            raise OutOfRangeError(f"{owner}: {name} is {value!r}, but must be a number > 0")

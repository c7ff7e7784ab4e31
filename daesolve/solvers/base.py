"""The contract of a solver: it integrates one segment and knows no mechanics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import casadi as ca
import numpy as np

from daesolve.errors import OutOfRangeError, is_number
from daesolve.formulations import DaeProblem, OdeProblem
from daesolve.solvers.segment import Integrator, Observer, SegmentEnd, State
from daesolve.solvers.step_checks import StepChecks

if TYPE_CHECKING:
    from daesolve.solvers.reset_chains import ResetChains


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
    """A backend. A concrete solver is a frozen dataclass of its settings, in one file.

    It defines

    * `name`, by which it is asked for, and `forms`, which it takes;
    * `tolerances` and `refined`;
    * `integrator`, which returns the method at work on a problem. For most this is a
      `daesolve.solvers.Stepper`, whose `steps` yields the ends of accepted steps; samples, recorded
      and interrupting events, halting and stalls follow from these.

    It may define `refusal` where it cannot take every problem of its forms, `configured` where
    settings are chosen automatically, and `compile` where that takes time.

    What then holds for `segment`:

    * it integrates forwards and backwards, lands on `until`, and restarts at each segment;
    * it gives states at sample times of its own order of accuracy without changing its steps;
    * it hands every accepted step to `observe` once, in blocks, and ends where its answer is true;
    * it locates events of the problem's guards, and returns at those that interrupt the motion;
    * where it fails it returns what it has, with the reason; it does not raise.

    A backend that is not installed raises `MissingBackendError` when the solver is made.
    """

    name: ClassVar[str]
    forms: ClassVar[frozenset[str]] = frozenset({"ode"})
    """The forms of equations that it takes, of `formulations.FORMS`."""
    projects_steps: ClassVar[bool] = False
    """Whether it applies the problem's projection after each step; if not, it is applied after each
    segment."""

    @property
    def any_time(self) -> bool:
        """Whether no setting is a time, so that a run may be integrated in another unit of it."""
        return False

    @property
    def steps_over(self) -> bool:
        """Whether steps are taken whatever the error, over singular positions between them."""
        return False

    def halts_at_events(self, problem: OdeProblem) -> bool:
        """Return whether it integrates no farther than the first event that interrupts."""
        return False

    def follows_time_guards(self, problem: OdeProblem) -> bool:
        """Return whether it misses no zero of a guard of time alone, however near to others."""
        return False

    def reset_chains(
        self, problem: OdeProblem, resets: Mapping[int, ca.Function]
    ) -> ResetChains | None:
        """Return what goes on from reset to reset by itself; None if the solver cannot.

        Parameters
        ----------
        problem
            A problem that it halts at the events of.
        resets
            By guard; see `reset_chains.ResetChains`.
        """
        return None

    def refusal(self, problem: OdeProblem) -> str | None:
        """Return a sentence why this solver cannot take a problem of its forms; None if it can."""
        return None

    @abstractmethod
    def tolerances(self) -> dict[str, float]:
        """Return the tolerances that are in force, by name."""

    @property
    def step_tolerance(self) -> float:
        """The relative tolerance of a step; zero where that is fixed."""
        tolerances = self.tolerances()
        return tolerances.get("rtol", tolerances.get("tolerance", 0.0))

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

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Integrator:
        """Return the method at work on a problem, for a segment from `start` to `until`."""
        raise NotImplementedError(f"{type(self).__name__} defines no integrator")

    def foresee(
        self, problem: OdeProblem, starts: Sequence[State], until: float, at: np.ndarray
    ) -> bool:
        """Learn of segments that will be asked for one after the other, from such starts.

        A solver that integrates several motions at once begins all; return whether it does.
        """
        return False

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
        integrator = self.integrator(problem, state, until)
        integrator.renew = partial(self.integrator, problem)
        if self.step_tolerance:
            absolute = self.tolerances().get("atol", self.step_tolerance)
            integrator.checks = StepChecks(problem, state.p, self.step_tolerance, absolute)
        return integrator.segment(state, until, at, observe)


NEWTON = 0.1
"""What `Solver.converges_to` counts for methods whose iteration goes far below the tolerance."""


def positive(owner: str, **values: float) -> None:
    """Refuse settings that are not finite positive numbers.

    Raises
    ------
    OutOfRangeError
        One is not; it is named.
    """
    for name, value in values.items():
        if not (is_number(value) and value > 0):
            raise OutOfRangeError(f"{owner}: {name} is {value!r}, but must be a number > 0")

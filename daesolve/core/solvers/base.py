"""The contract of a solver: it integrates one segment and knows no mechanics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import casadi as ca
import numpy as np

from daesolve.core.formulations import DaeProblem, OdeProblem
from daesolve.core.solvers.observers import Observer
from daesolve.core.solvers.segment import Integrator, SegmentEnd, State
from daesolve.core.solvers.step_checks import StepChecks
from daesolve.errors import OutOfRangeError, is_number

if TYPE_CHECKING:
    from daesolve.core.solvers.reset_chains import ResetChains


@dataclass(frozen=True)
class Compilation:
    """The cost of preparing a problem for a solver.

    Parameters
    ----------
    seconds
        The time, s.
    cached
        Whether the compiled code was already cached.
    notes
        Sentences for the notes of a run.
    """

    seconds: float = 0.0
    cached: bool = False
    notes: tuple[str, ...] = field(default=())


class Solver(ABC):
    """A backend. A concrete solver is a frozen dataclass of its settings, in its own file.

    It defines

    * `name`, by which users select it, and `forms`, the forms of equations that it accepts;
    * `tolerances` and `refined`;
    * `integrator`, which returns the method at work on a problem. For most this is a
      `daesolve.core.solvers.Stepper`, whose `steps` yields the ends of accepted steps; samples,
      recorded and interrupting events, halting and stalls follow from these.

    It may define `refusal` if it cannot integrate every problem of its forms, `configured` if
    settings are chosen automatically, and `compile` if that takes time.

    `segment` then guarantees:

    * it integrates forwards and backwards, lands on `until`, and restarts at each segment;
    * it returns states at sample times with the method's order of accuracy, without changing its
      steps;
    * it passes every accepted step to `observe` once, in blocks, and ends where that returns true;
    * it locates events of the problem's guards, and returns at those that interrupt the motion;
    * if it fails, it returns the results so far with the reason; it does not raise.

    A backend that is not installed raises `MissingBackendError` when the solver is created.
    """

    name: ClassVar[str]
    forms: ClassVar[frozenset[str]] = frozenset({"ode"})
    """The forms of equations that it accepts, of `formulations.FORMS`."""
    projects_steps: ClassVar[bool] = False
    """Whether it applies the problem's projection after each step; if not, it is applied after each
    segment."""

    @property
    def any_time(self) -> bool:
        """Whether no setting is a time, so that a run may be integrated in another unit of time."""
        return False

    @property
    def steps_over(self) -> bool:
        """Whether steps are accepted whatever the error, also past singular positions in them."""
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
        """Return a stepper that continues from reset to reset; None if the solver has none.

        Parameters
        ----------
        problem
            A problem at whose events it halts.
        resets
            By guard; see `reset_chains.ResetChains`.
        """
        return None

    def refusal(self, problem: OdeProblem) -> str | None:
        """Return why this solver cannot integrate a problem of its forms; None if it can."""
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
        """Return the fraction of a step's tolerance to which Newton's iteration must converge.

        If that is far smaller, rounding stops the iteration long before it shows in steps.
        """
        return NEWTON if isinstance(problem, DaeProblem) and max(problem.indices) > 1 else 1.0

    @abstractmethod
    def refined(self) -> Solver:
        """Return the solver that verifies a run of this one."""

    def configured(self, problem: OdeProblem, steps: float) -> Solver:
        """Return the solver with every automatic choice made.

        Parameters
        ----------
        problem
            The problem.
        steps
            The expected number of steps of the whole run.
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
        """Announce segments that will be requested one after the other, from these starts.

        A solver that integrates several motions at once begins all of them; return whether it does.
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
        One is not; the message names it.
    """
    for name, value in values.items():
        if not (is_number(value) and value > 0):
            raise OutOfRangeError(f"{owner}: {name} is {value!r}, but must be a number > 0")

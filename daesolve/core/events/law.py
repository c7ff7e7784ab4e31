"""The contract of a switching law, which decides at an instant how a motion continues.

Between instants a motion is smooth, in one mode. A law owns events, whose guards end that mode, and
decides what follows. There is one module for each law; features add theirs to those of the core.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.choices import Choices
from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.guard_table import GuardTable, Role
from daesolve.core.events.jumps import JumpFunction, JumpFunctions
from daesolve.core.formulations import OdeProblem
from daesolve.core.results.trajectory.results import Impact, StepBlock
from daesolve.errors import NoDerivativeError, VariantError


@dataclass(frozen=True, eq=False)
class Beginning:
    """What is known about a motion at the start of a run.

    Parameters
    ----------
    time, until
        The start and the end of the run, s.
    state
        (nx,) the consistent start.
    values
        p by name.
    choices
        How the motion continues where the equations leave it open.
    resting
        Whether dry friction holds the body at rest from the start on.
    energy
        The kinetic energy that a body in guides has or would reach, J; None without guides.
    notes
        What was chosen, in words.
    """

    time: float
    until: float
    state: np.ndarray
    values: Mapping[str, float]
    choices: Choices = field(default_factory=Choices)
    resting: bool = False
    energy: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Setting:
    """The problem for which a law is created.

    Parameters
    ----------
    dynamics, problem
        The equations, and what is integrated.
    table
        The guards of the problem's events.
    jumps
        The functions that reset events.
    scales
        Of residuals by name; one for others.
    choices
        As in `Beginning`.
    path
        (k, n) states that a short run went through.
    """

    dynamics: Dynamics
    problem: OdeProblem
    table: GuardTable
    jumps: JumpFunctions
    scales: Mapping[str, float]
    choices: Choices
    path: np.ndarray


@dataclass(frozen=True)
class Jump:
    """What changed at once.

    Parameters
    ----------
    events
        The guards that fired, by the index of their event, each from 0; none where only the
        representation of the state changed, which is not an event of the motion.
    x, p
        The state and the values after.
    impact
        What was imposed, if anything was.
    rests
        Whether the body stays at rest from here on.
    """

    events: Mapping[int, tuple[int, ...]]
    x: np.ndarray
    p: np.ndarray
    impact: Impact | None
    rests: bool = False


class Ending(Enum):
    """How a stretch that a law integrated ended."""

    RESTS = "the body came to rest, and stays there"
    GOES_ON = "the motion continues like any other"
    REACHED = "the run ended first"
    FAILED = "the motion could not be integrated"


@dataclass(frozen=True, eq=False)
class StretchEvent:
    """An event on the way: its name, which of its guards, when (s), where, and p after it."""

    event: str
    place: int
    time: float
    state: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Stretch:
    """A stretch of the motion that a law integrated.

    Parameters
    ----------
    time, state
        Where it ended.
    ending, message
        How, and in a sentence where it failed.
    switchings, blocks
        What happened on the way, and the accepted steps between.
    samples
        (k, size) states at those of the sample times that were reached.
    evaluations
        Of the right-hand side.
    event
        The event at its end; empty if there is none.
    error
        Why no mode continues the motion, where none does.
    onward
        State and values with which the motion continues, if they are different.
    fires
        The guards that fire at its end: laws decide what follows.
    """

    time: float
    state: np.ndarray
    ending: Ending
    message: str
    switchings: tuple[StretchEvent, ...]
    blocks: tuple[StepBlock, ...]
    samples: np.ndarray
    evaluations: int
    event: str = ""
    error: VariantError | None = None
    onward: tuple[np.ndarray, np.ndarray] | None = None
    fires: tuple[int, ...] = ()


class SwitchingLaw(ABC):
    """Decides in which mode a motion begins and continues.

    To add a law, write its class in a new module, and register it at the point "switching laws"
    (`daesolve.core.features`). Pose its events with `Reset()`, which interrupts the motion and
    changes nothing: audits then leave to the law what it changes. Where a reset is posed with
    changes, they hold the law to these. The loop of a run, the preparation and the solvers know
    laws by this contract only:

    * `begin` chooses the first mode, from the equations alone, before anything is built. It
      returns the beginning with other values (and notes), or refuses with an error that says what
      to change. The law need not be that of a problem yet.
    * `of` makes the law of a problem, from the events that no law before it in the list has
      taken; None if the problem has nothing for it. `events` are what it takes.
    * `role` says how the guards of an event are watched. The default is a switch: it fires once
      where it passes zero, and again after it has been inside.
    * `decide` says what happens at an instant. It is called whenever any guard of the motion fires,
      of whatever law, with those of its own (perhaps none), and yields jumps one after the other;
      each starts where the one before ended. The laws are asked from the last in the list to the
      first, which so has the last word. All is repeated until nothing is due. It raises a
      `ResetError` where nothing follows, which ends the run as failed, and a `VariantError` where
      the model has no continuation, which ends it as degenerate.
    * `follows` says whether the law itself integrates what comes next, such as the last phase of a
      motion that comes to rest; then `finish` does so, instead of `decide`.
    * `hold` follows a body that rests, where what acts on it depends on time; `keeps_still` says
      whether what else happened meanwhile has left it there.
    * `function` returns the jump as a function of the state, by which sensitivities are carried
      over it; where `decides` is set, they are carried by differences of what `decide` yields.

    A law keeps no memory: what a run has seen of guards is in its `GuardBook`, which `decide`
    receives. Everything else that a mode needs is in the discrete values of p.

    Attributes
    ----------
    events
        The indices of the events that it owns.
    """

    of_motion: ClassVar[bool] = True
    """Whether its events belong to the motion; else only the representation of the state changes:
    they are found by solvers alone, and not written down."""
    decides: ClassVar[bool] = False
    """Whether what it yields is a smooth function of time, state and values, though of no formula,
    as long as the same guards fire and the same events follow."""

    def __init__(self, events: Sequence[int]) -> None:
        self.events = tuple(events)

    @classmethod
    def begin(cls, dynamics: Dynamics, beginning: Beginning) -> Beginning:
        """Choose the first mode.

        Parameters
        ----------
        dynamics
            The equations.
        beginning
            What the laws before it in the list have chosen.

        Raises
        ------
        DaesolveError
            No motion may begin there.
        """
        return beginning

    @classmethod
    @abstractmethod
    def of(cls, setting: Setting, free: Sequence[int]) -> SwitchingLaw | None:
        """Return the law of a problem; None if it has no events for it.

        Parameters
        ----------
        setting
            The problem.
        free
            The indices of events that no law has taken.
        """

    def role(self, event: int) -> Role:
        """Return how the guards of one of its events are watched."""
        return Role()

    @abstractmethod
    def decide(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int], book: GuardBook
    ) -> Iterator[Jump]:
        """Yield what changes at an instant.

        Parameters
        ----------
        time, x, p
            When (s), the problem's state and values, in the order of `problem.labels.states` and
            `problem.values`; in charts the former is that of `chart_law.visible_state`. They are
            not the law's, which changes copies.
        fired
            The guards of its events that fire.
        book
            What the run has seen of guards.

        Raises
        ------
        ResetError, VariantError
            Nothing follows.
        """

    def follows(self, fired: Sequence[int]) -> bool:
        """Return whether it integrates what follows these guards, of any events."""
        return False

    def finish(
        self,
        time: float,
        x: np.ndarray,
        p: np.ndarray,
        until: float,
        samples_up_to: Callable[[float], np.ndarray],
    ) -> Stretch:
        """Integrate a stretch.

        Parameters
        ----------
        time, x, p
            Where it begins.
        until
            The end of the run, s.
        samples_up_to
            Time -> the sample times up to there, s.
        """
        raise NotImplementedError

    def keeps_still(self, time: float, x: np.ndarray, p: np.ndarray) -> bool:
        """Return whether nothing slides in a state; for a law that holds bodies."""
        return False

    def hold(
        self,
        time: float,
        x: np.ndarray,
        p: np.ndarray,
        until: float,
        samples_up_to: Callable[[float], np.ndarray],
        book: GuardBook,
    ) -> Stretch | None:
        """Follow a resting body until it is set free; None if it rests for ever.

        Parameters
        ----------
        time, x, p, until, samples_up_to
            As in `finish`.
        book
            The history of the guards.
        """
        return None

    def function(self, events: Sequence[int]) -> JumpFunction:
        """Return the function that resets some of its events together.

        Raises
        ------
        NoDerivativeError
            What they change is not a function of the state.
        """
        raise NoDerivativeError(f"what follows the events {list(events)} has no derivative")

"""The transitions of a run: tracks guards, and asks the laws, in order, what follows.

Several guards may reach zero together; what they ask for is done at once. After each jump the test
is repeated, until nothing is due.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from daesolve.core.equations.borders import Borders
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.elimination.saddle import EliminationPlan
from daesolve.core.events.bound_guards import BoundGuards
from daesolve.core.events.chart_law import ChartLaw
from daesolve.core.events.choices import Choices
from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.guard_slopes import at_once, beside, refuse_start
from daesolve.core.events.guard_table import GuardTable, GuardTraits, Place, Role
from daesolve.core.events.jumps import JumpFunction, JumpFunctions
from daesolve.core.events.law import Beginning, Jump, Setting, Stretch, SwitchingLaw
from daesolve.core.events.leaving import rates_later
from daesolve.core.events.overlaps import Overlaps
from daesolve.core.events.reset_law import ResetLaw
from daesolve.core.events.row_law import RowLaw
from daesolve.core.features import added
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.grazing import guard_evaluator
from daesolve.core.solvers.resting import sizes_of_terms
from daesolve.errors import PosingError

LAWS = "switching laws"
"""The point at which features add laws."""


def laws_for(dynamics: Dynamics) -> tuple[type[SwitchingLaw], ...]:
    """Return the laws that equations may need.

    The first takes its events first, begins first, and decides last.
    """
    return (*added(LAWS, dynamics), ChartLaw, RowLaw, ResetLaw)


def begin(dynamics: Dynamics, beginning: Beginning) -> Beginning:
    """Choose the mode in which a motion begins.

    Parameters
    ----------
    dynamics, beginning
        The equations, and what is known of the start.

    Raises
    ------
    DaesolveError
        No motion may begin there.
    """
    for law in laws_for(dynamics) if dynamics.events else added(LAWS, dynamics):
        beginning = law.begin(dynamics, beginning)
    return beginning


@dataclass(frozen=True, eq=False)
class Ownership:
    """Which law owns each event of a problem, and how their guards are watched.

    Parameters
    ----------
    table
        The guards.
    laws
        Those that the problem has, in the order of `laws_for`.
    """

    table: GuardTable
    laws: tuple[SwitchingLaw, ...]

    @staticmethod
    def of(setting: Setting, kinds: Sequence[type[SwitchingLaw]] | None = None) -> Ownership:
        """Let laws take the events of a problem.

        Parameters
        ----------
        setting
            The problem.
        kinds
            The laws that there are, in their order; `laws_for` if it is None.
        """
        free = list(range(len(setting.table.events)))
        laws: list[SwitchingLaw] = []
        for kind in laws_for(setting.dynamics) if kinds is None else kinds:
            law = kind.of(setting, free)
            if law is not None:
                _refuse_recorded(law, setting.table)
                laws.append(law)
                free = [event for event in free if event not in law.events]
        return Ownership(setting.table, tuple(laws))

    @cached_property
    def owners(self) -> list[SwitchingLaw | None]:
        """The law of each event; None if it only stops the run, or is only recorded."""
        by_event = {event: law for law in self.laws for event in law.events}
        return [by_event.get(event) for event in range(len(self.table.events))]

    @property
    def owned(self) -> np.ndarray:
        """Whether a law decides what follows, for each guard."""
        return self.table.each([owner is not None for owner in self.owners])

    @property
    def of_motion(self) -> np.ndarray:
        """Whether it belongs to the motion, for each guard."""
        return self.table.each([owner is None or owner.of_motion for owner in self.owners])

    @property
    def roles(self) -> list[Role]:
        """How the guards of each event are watched."""
        return [
            Role(barrier=True, posed=True) if owner is None else owner.role(event)
            for event, owner in enumerate(self.owners)
        ]

    @property
    def deciding(self) -> list[tuple[SwitchingLaw, frozenset[int]]]:
        """The laws in the order in which they decide, each with its guards."""
        guards_of = self.table.guards_of
        return [(law, frozenset(guards_of(law.events).tolist())) for law in reversed(self.laws)]


def _refuse_recorded(law: SwitchingLaw, table: GuardTable) -> None:
    """Refuse a law of events at which no motion is interrupted.

    Raises
    ------
    PosingError
        The message says what to change.
    """
    for event in (table.events[index] for index in law.events):
        if not event.then.interrupts:
            raise PosingError(
                f"the law {type(law).__name__} takes the event {event.name!r}, which is only "
                "recorded: pose it with Reset(), which interrupts the motion and changes nothing"
            )


class Transitions:
    """What switches the modes of a problem.

    Parameters
    ----------
    setting, ownership
        The problem, and its laws.
    tracks
        Whether guards are tracked even if no law switches the motion.

    Attributes
    ----------
    laws
        Those of the problem.
    book
        What this run has seen of the guards.
    switches, stops
        For each guard whether a law decides what follows, and whether the run ends there.
    tracks
        Whether the motion itself is switched, so that its guards are tracked; a change of chart
        does not affect the motion.
    charted
        Whether the motion may leave the chart in which it is described.
    """

    def __init__(self, setting: Setting, ownership: Ownership, *, tracks: bool = False) -> None:
        self.setting, self.dynamics, self.problem = setting, setting.dynamics, setting.problem
        self.laws = ownership.laws
        self.tracks = tracks or any(law.of_motion for law in self.laws)
        self.charted = not all(law.of_motion for law in self.laws)
        self.switches, self._of_motion = ownership.owned, ownership.of_motion
        stops = setting.table.each([event.then.stops for event in setting.table.events])
        self.stops = stops & self._of_motion
        self._deciding = ownership.deciding
        which = self._of_motion & self.tracks, self.dynamics.switches
        self._traits = GuardTraits.of(setting.problem, setting.table, ownership.roles, *which)
        self._sequential = {k for k, row in self.dynamics.resets.items() if row.sequential}
        self.book = self._new_book()

    def _new_book(self) -> GuardBook:
        evaluator = partial(guard_evaluator, self.problem)
        terms = partial(sizes_of_terms, self.problem)
        borders = Borders.of(self.dynamics, self.setting.table.events)
        later = partial(rates_later, self.problem)
        posed = self._traits.posed & ~self._traits.constant
        bound = BoundGuards(self.dynamics, self.problem, posed)
        watched = bound if bound.any else None
        return GuardBook(
            self.setting.table, self._traits, evaluator, terms, borders, later, watched
        )

    def fresh(self, path: np.ndarray | None = None) -> Transitions:
        """Return the transitions of a run that has seen nothing yet.

        Parameters
        ----------
        path
            (k, n) states that a short run went through, where that matters.
        """
        if path is not None and self.charted:
            setting = replace(self.setting, path=path)
            return Transitions(setting, Ownership.of(setting))
        other = copy.copy(self)
        other.book = self._new_book()
        return other

    def saved(self) -> dict[str, Any] | None:
        """Return what this run has seen, so that another process can resume."""
        return self.book.saved() if self.tracks else None

    def restore(self, saved: Mapping[str, Any] | None) -> None:
        """Restore what `saved` returned."""
        if saved is not None:
            self.book.restore(saved)

    def check_start(self, time: float, x: np.ndarray, p: np.ndarray) -> None:
        """Refuse a start beyond a barrier of the state, where no motion makes sense.

        Raises
        ------
        InconsistentStateError
            The message names the event or the contact.
        """
        if self.tracks:
            events = self.setting.table.events
            closing = {events[row.closed].name: row.title for row in self.dynamics.unilateral}
            refuse_start(self.book, self.problem, (time, x, p), closing)

    @cached_property
    def _stepped(self) -> Overlaps | None:
        return Overlaps.changed_by(self.dynamics, (), self.dynamics.inputs.names)

    def check_inputs(self, time: float, x: np.ndarray, before: np.ndarray, p: np.ndarray) -> None:
        """Refuse inputs that step a barrier past the state.

        Raises
        ------
        ResetError
            The message names the event.
        """
        if self._stepped is not None:
            state, own = x[: self.dynamics.x.numel()], self.dynamics.p.numel()
            what = f"the step of the inputs at t = {time:.10g} s"
            self._stepped.check(what, (time, state, before[:own]), (time, state, p[:own]))

    # -- what is due --------------------------------------------------------------------------

    def measure(self, time: float, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the guards and their rates; their sizes are remembered."""
        return self.book.measure(time, x, p)

    def guards(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the guards; none if they are not tracked."""
        return self.book.measure(time, x, p)[0] if self.tracks else np.empty(0)

    def due(self, time: float, x: np.ndarray, p: np.ndarray) -> list[int]:
        """Return the guards that are at zero or past it and on their way out; see `GuardBook`."""
        return self.book.due(time, x, p) if self.tracks else []

    def at_once(
        self, time: float, x: np.ndarray, p: np.ndarray, found: Collection[int], accuracy: float
    ) -> list[int]:
        """Return the guards that pass with those found; see `daesolve.core.events.guard_slopes`.

        What ends a run wherever it is past is not past yet, and the run may end before it is.
        """
        if not self.tracks:
            return []
        # A motion may end just before a zero, where no solver finds it.
        self.book.arrive(time, x, p)
        if not found:
            return []
        passing = at_once(self.book, self.problem, (time, x, p), found, accuracy)
        bars = self.stops & self._traits.whenever & ~self.switches
        return [guard for guard in passing if not bars[guard]]

    def late(self, time: float, x: np.ndarray, p: np.ndarray) -> list[int]:
        """Return the guards that are well past zero: no solver found where they passed."""
        return self.book.late(time, x, p) if self.tracks else []

    def interrupting(
        self, time: float, x: np.ndarray, p: np.ndarray, found: Iterable[tuple[int, float]]
    ) -> list[int]:
        """Return the guards that interrupt the motion here.

        Parameters
        ----------
        time, x, p
            Where a solver has come to.
        found
            The guards that it found to pass zero, each with its time, s.
        """
        guarded = self.setting.table.guarded
        guards = [
            guard
            for guard, moment in found
            if guarded[guard].then.interrupts and self.book.counts(moment, guard)
        ]
        return guards + beside(self.book, (time, x, p)) if guards else []

    # -- what follows -------------------------------------------------------------------------

    def follower(self, fired: Iterable[int]) -> SwitchingLaw | None:
        """Return the law that integrates what follows these guards; None if there is none."""
        guards = list(fired)
        return next((law for law in self.laws if law.follows(guards)), None)

    def follower_from(
        self, place: Place, fired: list[int]
    ) -> tuple[SwitchingLaw | None, list[int]]:
        """Return the law that integrates what follows from here, and the guards that are due."""
        law = self.follower(fired) if fired else None
        if law is None or not law.keeps_still(*place):
            return law, fired
        # It is held: that it is slow is no news, and others decide.
        return None, [guard for guard in fired if not law.follows([guard])]

    def held(
        self,
        time: float,
        x: np.ndarray,
        p: np.ndarray,
        until: float,
        samples_up_to: Callable[[float], np.ndarray],
    ) -> Stretch | None:
        """Let a law follow a body that rests, as `SwitchingLaw.hold`; None if it stays."""
        found = (law.hold(time, x, p, until, samples_up_to, self.book) for law in self.laws)
        return next((stretch for stretch in found if stretch is not None), None)

    def still_held(self, time: float, x: np.ndarray, p: np.ndarray) -> bool:
        """Return whether a body that was held has not been set in motion."""
        return any(law.keeps_still(time, x, p) for law in self.laws)

    def decide(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int]
    ) -> Iterator[Jump]:
        """Yield what changes where guards fire, and keep book on them.

        Parameters
        ----------
        time, x, p
            When (s), and where. What is yielded may be changed in place before the next.
        fired
            The guards, in their order.

        Raises
        ------
        ResetError, VariantError
            Nothing follows.
        """
        own = [guard for guard in fired if self._of_motion[guard]]
        rates = self.book.fire(time, x, p, own) if own else np.empty(0)
        for jump in self.jumps(time, x, p, fired):
            yield jump
            if jump.events:
                place = (time, jump.x, jump.p)
                rates = self.book.answered(place, jump.events, rates, self._sequential)

    def jumps(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int]
    ) -> Iterator[Jump]:
        """Yield what changes where guards fire, like `decide`, but without recording it."""
        happens = any(self._of_motion[guard] for guard in fired)
        for law, guards in self._deciding:
            if law.of_motion and not happens:
                continue
            for jump in law.decide(time, x, p, [k for k in fired if k in guards], self.book):
                x, p = jump.x, jump.p
                yield jump

    def asked(self, time: float, x: np.ndarray, p: np.ndarray) -> Iterator[Jump]:
        """Yield what laws of the motion change where no guard fires.

        Values were changed from outside, on which reactions and friction may depend.
        """
        for law, _ in self._deciding:
            if law.of_motion:
                for jump in law.decide(time, x, p, (), self.book):
                    x, p = jump.x, jump.p
                    yield jump

    def owner(self, event: int) -> SwitchingLaw:
        """Return the law that owns an event; there is one."""
        return next(law for law in self.laws if event in law.events)

    def decided_again(
        self,
        law: SwitchingLaw,
        place: Place,
        asked: Sequence[int],
        zeros: np.ndarray,
        met: np.ndarray,
    ) -> tuple[Jump | None, np.ndarray]:
        """Decide what follows as if a run had come to a place; the run's own book stays as it is.

        Parameters
        ----------
        law
            One that `decides`.
        place
            Time in s, state and values.
        asked
            The guards that fire, of all events.
        zeros
            What counts as zero, of each guard.
        met
            (guards, 5) when guards were answered before, as in `GuardBook`.

        Returns
        -------
        Jump or None
            What changes; None if nothing does.
        ndarray
            When guards were answered, this instant included.

        Raises
        ------
        ResetError, VariantError
            Nothing follows.
        """
        book = self._new_book()
        book.know(zeros)
        book.met = met.copy()
        own = self.setting.table.guards_of(law.events)
        fired = [guard for guard in asked if guard in own]
        jumps = [jump for jump in law.decide(*place, fired, book) if jump.events]
        return jumps[0] if jumps else None, book.met

    def function(self, events: Sequence[int]) -> JumpFunction:
        """Return the function that resets these events together, all of one law.

        Raises
        ------
        NoDerivativeError
            What they change is not a function of the state.
        """
        return self.owner(events[0]).function(events)


def transitions_of(
    dynamics: Dynamics,
    plan: EliminationPlan,
    problem: OdeProblem,
    scales: Mapping[str, float],
    choices: Choices = Choices(),  # noqa: B008
) -> Transitions | None:
    """Return what switches the modes of a problem; None if nothing does.

    Parameters
    ----------
    dynamics, plan, problem
        The equations, how reactions are eliminated, and what is integrated.
    scales
        Of residuals by name; one for others.
    choices
        How the motion continues where the equations leave it open.
    """
    if not problem.events:
        return None
    setting = Setting(
        dynamics=dynamics,
        problem=problem,
        table=GuardTable(problem.events),
        jumps=JumpFunctions(dynamics, plan, problem),
        scales=scales,
        choices=choices,
        path=np.empty((0, len(problem.labels.states))),
    )
    ownership = Ownership.of(setting)
    return Transitions(setting, ownership) if ownership.laws else None

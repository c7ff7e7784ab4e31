"""The state of a run, which it carries from segment to segment and saves in checkpoints."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.events.instant import INSTANT, SimultaneousResets
from daesolve.core.events.transitions import Transitions
from daesolve.core.expressions.intervals import TimeGuards
from daesolve.core.features import added
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.assembly import TrajectoryAssembly
from daesolve.core.run.integration.checkpoints import restored_boundaries, saved_boundary
from daesolve.core.run.integration.dense_output import DenseOutput
from daesolve.core.run.integration.effort import Effort
from daesolve.core.run.integration.record import Boundary, Happening, RunRecord
from daesolve.core.run.integration.sampling import At, Schedule
from daesolve.core.run.integration.watches.conservation_watch import ConservationWatch
from daesolve.core.run.integration.watches.first_steps import FirstSteps
from daesolve.core.run.integration.watches.flat_zeros import FlatZeros
from daesolve.core.run.integration.watches.following_watch import FollowingWatch
from daesolve.core.run.integration.watches.grip_watch import GripWatch
from daesolve.core.run.integration.watches.monitor import Monitor, NumberWatch
from daesolve.core.run.integration.watches.passage_watch import PassageWatch
from daesolve.core.run.integration.watches.watch import Watch
from daesolve.core.solvers import EventHit, Observer, SegmentEnd, State, Status
from daesolve.core.solvers.series_events import time_guards

WATCHES: tuple[type[Watch], ...] = (
    FirstSteps,
    PassageWatch,
    FollowingWatch,
    GripWatch,
    NumberWatch,
    ConservationWatch,
    FlatZeros,
)
FURTHER = "watches"
"""The point at which features add further kinds of `Watch`."""
WATCHED_AT_ONCE = 500
"""Steps after which the monitors see those between resets, which are few at a time."""
FIRST_STRETCH = 50.0
"""One part in so many of a segment is gone at once before it is known when resets interrupt."""
LONGER = 1.2
"""The next stretch is this factor times the time between the last two interruptions."""
SHORTEST = 1e-9
"""The least stretch, as a fraction of the boundary's time."""
FEWEST, LONGEST = 4, 64
"""Resets from which it pays to follow them, and the longest pause where there are fewer."""
TURN_PARTS = (6.28125, 0.0019353071693331003, 1.0253376489868793e-11, 1.1650928224373424e-19)
"""2 pi in parts of few digits, so that a whole number of turns (up to 1e7) is exact in each."""


def wrap(state: np.ndarray, whole_turns: np.ndarray, angles: Sequence[int]) -> None:
    """Take whole turns out of the angles of a state, exactly, and count them.

    Angles grow to thousands of radians in a long run and would lose digits.

    Parameters
    ----------
    state, whole_turns
        Changed in place; whole_turns are (angles,) integers.
    angles
        The indices of the angles in the state.
    """
    if all(abs(state[index]) <= math.pi for index in angles):
        return
    places = np.array(angles, dtype=int)
    values = state[places]
    whole = np.round(values / (2.0 * math.pi))
    if not np.all(np.isfinite(whole)):
        return
    for part in TURN_PARTS:
        values = values - whole * part
    state[places] = values
    whole_turns += whole.astype(int)


@dataclass
class StepQueue:
    """Steps that the monitor has not seen yet, each block with the index of its values."""

    blocks: list[tuple[StepBlock, int]] = field(default_factory=list[tuple[StepBlock, int]])
    count: int = 0

    def put(self, blocks: Iterable[StepBlock], mode: int) -> None:
        """Add steps in which the same values are in force."""
        for block in blocks:
            self.blocks.append((block, mode))
            self.count += len(block.times)

    def show(self, monitor: Monitor, values: Sequence[np.ndarray]) -> None:
        """Pass all of them to the monitor."""
        if not self.blocks:
            return
        blocks = [block for block, _ in self.blocks]
        counts = [len(block.times) for block in blocks]
        modes = np.repeat([mode for _, mode in self.blocks], counts)
        joined = StepBlock(
            np.concatenate([block.times for block in blocks]),
            np.concatenate([block.states for block in blocks]),
        )
        self.blocks.clear()
        self.count = 0
        monitor.observe(joined, modes, values)


@dataclass
class LookAhead:
    """How far a run integrates at once if the motion may be interrupted at any time.

    Parameters
    ----------
    needed
        Whether stretches are limited, instead of going from boundary to boundary.
    entered
        When the motion was interrupted last, s.
    stretch
        How far it goes, s.
    """

    needed: bool
    entered: float
    stretch: float

    def take(self, end: SegmentEnd, boundary: float) -> None:
        """Take in the end of a stretch on the way to a boundary.

        The next interruption is expected as far as this one was from the one before it; without
        one, the next stretch is longer.
        """
        if end.status is not Status.STOPPED:
            self.stretch *= 2.0
            return
        self.stretch = LONGER * max(abs(end.time - self.entered), SHORTEST * abs(boundary))
        self.entered = end.time

    def reach(self, time: float, boundary: float) -> float:
        """Return how far to go from a time: not much farther than the motion is known to last."""
        if not self.needed:
            return boundary
        sign = 1.0 if boundary >= time else -1.0
        ahead = time + sign * self.stretch
        return boundary if sign * (ahead - boundary) >= 0.0 else ahead


@dataclass
class ResetPace:
    """Decides when to try following simple resets: less and less often if there are few.

    Parameters
    ----------
    pause
        How many instants pass before it is tried again.
    waits
        How many of these are left.
    """

    pause: int = 0
    waits: int = 0

    def begins(self) -> bool:
        """Return whether to try now."""
        if self.waits:
            self.waits -= 1
        return not self.waits

    def take(self, resets: int) -> None:
        """Take in how many resets were followed."""
        self.pause = self.pause // 2 if resets >= FEWEST else min(2 * self.pause + 1, LONGEST)
        self.waits = self.pause


@dataclass(eq=False)
class RunState:
    """A run under way.

    Parameters
    ----------
    prepared
        The run.
    record, monitor, effort
        What it has gathered, what was watched, what it has cost.
    schedule
        When it is sampled.
    transitions, instant
        What switches its modes, and how many resets there were at one instant; None if nothing
        does.
    ahead
        How far it integrates at once.
    scheduled
        Guards of time alone, whose zeros are known beforehand; None if the solver knows them.
    queue
        Steps that the monitor will see later.
    pace
        When simple resets are followed.
    segments
        How many are complete, counted from the start.
    whole
        Whether the nodes of tables and the samples of laws are recorded as events, so that
        derivatives can be carried through them.
    motion
        Keeps the motion within steps; None if it is not kept.
    """

    prepared: Prepared
    record: RunRecord
    monitor: Monitor
    effort: Effort
    schedule: Schedule
    transitions: Transitions | None
    instant: SimultaneousResets
    ahead: LookAhead
    scheduled: TimeGuards | None = None
    queue: StepQueue = field(default_factory=StepQueue)
    pace: ResetPace = field(default_factory=ResetPace)
    segments: int = 0
    whole: bool = False
    motion: DenseOutput | None = None

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The names of events that are not recorded."""
        dynamics = self.prepared.dynamics
        known = {name for row in dynamics.drives for name in row.events}
        return dynamics.hidden_events - known if self.whole else dynamics.hidden_events

    @property
    def sign(self) -> float:
        """+1 forwards in time, -1 backwards."""
        return self.schedule.sign

    @property
    def switched(self) -> bool:
        """Whether the motion itself is switched: its steps come in short pieces."""
        return self.transitions is not None and self.transitions.tracks

    @property
    def assembly(self) -> TrajectoryAssembly:
        """Builds the trajectory of the run."""
        notes = [] if self.transitions is None else self.transitions.book.carried.notes()
        return TrajectoryAssembly(self.prepared, self.record, self.monitor, tuple(notes))

    def values(self, here: Boundary) -> np.ndarray:
        """Return p as it is in force here."""
        return self.record.modes[here.mode]

    # -- from place to place ------------------------------------------------------------------

    def start(self) -> Boundary:
        """Take in the start of the run, and return it."""
        prepared = self.prepared
        whole_turns = np.zeros(len(prepared.wrapped), dtype=int)
        here = Boundary(prepared.start_time, prepared.initial, whole_turns)
        self.wrap(here)
        self.monitor.start(here.state)
        self.sample(self.schedule.up_to(0, here.time), itertools.repeat(here.state), here)
        return here

    def solve(self, start: State, until: float, at: np.ndarray, observe: Observer) -> SegmentEnd:
        """Integrate from a state, with the solver of the run."""
        return self.prepared.integrated(start, until, at, observe)

    def after(self, here: Boundary, end: SegmentEnd) -> Boundary:
        """Return the start of the segment after one that has ended."""
        state = self.projected(here, end)
        after = Boundary(end.time, state, here.whole_turns.copy(), here.mode)
        self.wrap(after)
        return after

    def projected(self, here: Boundary, end: SegmentEnd) -> np.ndarray:
        """Return the state with which the motion goes on after the end of a segment."""
        problem, solver = self.prepared.problem, self.prepared.solver
        state = end.state.copy()
        if problem.project is None or solver.projects_steps:
            return state
        projected = np.asarray(problem.project(end.time, state, self.values(here))).ravel()
        return projected if np.all(np.isfinite(projected)) else state

    def in_mode(self, here: Boundary, state: np.ndarray, values: np.ndarray) -> Boundary:
        """Return the place from which the motion continues with other values."""
        self.record.modes.append(values)
        if not self.switched:
            self.monitor.change_values(values)
        return Boundary(here.time, state, here.whole_turns.copy(), len(self.record.modes) - 1)

    @property
    def releases(self) -> bool:
        """Whether an invariant is no longer conserved, but still driven."""
        watch = self.monitor.watch(ConservationWatch)
        return watch is not None and watch.pending

    def let_go(self, here: Boundary) -> Boundary:
        """Return the place from which no quantity is driven that is not conserved."""
        watch = self.monitor.watch(ConservationWatch)
        if watch is None or not watch.pending:
            return here
        here = self.in_mode(here, here.state, watch.undriven(self.values(here)))
        # It is not a change of charts.
        self.record.carried += 1
        for name, broken in watch.broken.items():
            self.monitor.measure_only(name, broken.note)
        return here

    def wrap(self, here: Boundary) -> None:
        """Take whole turns out of the angles."""
        if self.prepared.wrapped:
            wrap(here.state, here.whole_turns, self.prepared.wrapped)

    def unwrapped(self, here: Boundary, guards: Sequence[int]) -> Boundary:
        """Put whole turns back into the angles that a reset names: it changes what is shown."""
        if not np.count_nonzero(here.whole_turns):
            return here
        dynamics, problem = self.prepared.dynamics, self.prepared.problem
        owners = [problem.events.index(problem.guarded[guard]) for guard in guards]
        rows = [dynamics.resets[owner] for owner in owners if owner in dynamics.resets]
        named = {index for row in rows for index in row.states}
        if named.isdisjoint(self.prepared.wrapped):
            return here
        angles = np.array(self.prepared.wrapped, dtype=int)
        put = np.array([int(angle) in named for angle in angles], dtype=bool)
        state, whole_turns = here.state.copy(), here.whole_turns.copy()
        state[angles[put]] += 2.0 * math.pi * whole_turns[put]
        whole_turns[put] = 0
        return Boundary(here.time, state, whole_turns, here.mode)

    # -- what is written down -----------------------------------------------------------------

    def sample(self, times: np.ndarray, samples: Iterable[np.ndarray], here: Boundary) -> None:
        """Keep samples wrapped, so that what is computed from them loses no digits."""
        if not len(times):
            return
        rows = list(itertools.islice(samples, len(times)))
        self.record.take(times[: len(rows)].tolist(), rows, here)
        self.record.taken += len(rows)

    def sample_event(self, place: Boundary) -> None:
        """Keep a sample at an event, if requested."""
        if self.schedule.each_event:
            self.record.take([place.time], [place.state], place)

    def happened(self, hit: EventHit, here: Boundary) -> None:
        """Record an event that changes nothing: once per instant, with all its guards."""
        guarded = self.prepared.problem.guarded
        name = guarded[hit.index].name
        place = Boundary(hit.time, hit.state, here.whole_turns, here.mode)
        fired = hit.index - guarded.index(guarded[hit.index])
        events = self.record.events
        near = self.record.near(hit.time)
        recent = itertools.takewhile(
            lambda k: abs(hit.time - events[k].time) <= near, reversed(range(len(events)))
        )
        for known in recent:
            if events[known].name == name:
                joined = tuple(sorted({*events[known].fired, fired}))
                events[known] = replace(events[known], fired=joined)
                return
        if self.record.known(name, hit.time, near, fired):
            return
        events.append(Happening(hit.time, name, place, fired=(fired,)))
        self.sample_event(place)

    # -- what the monitors see ----------------------------------------------------------------

    def watch(self, block: StepBlock) -> bool:
        """Let the monitor see steps; return whether the segment cannot be trusted further."""
        self.monitor.observe(block)
        return self.monitor.over

    def watch_later(self, blocks: Iterable[StepBlock], mode: int) -> None:
        """Pass steps to the monitor once there are many."""
        self.queue.put(blocks, mode)
        if self.queue.count >= WATCHED_AT_ONCE:
            self.watch_the_rest()

    def watch_the_rest(self) -> None:
        """Pass to the monitor the steps that it has not seen."""
        self.queue.show(self.monitor, self.record.modes)

    def timed(self) -> bool:
        """Return whether the loads depend on time, or switch at a time."""
        dynamics = self.prepared.dynamics
        numbers = ca.DM(self.record.modes[-1][: len(dynamics.values)])
        switches = [dynamics.events[index].guards for index in dynamics.resets]
        acting = ca.veccat(dynamics.mass, dynamics.force, dynamics.influence, *switches)
        return bool(ca.depends_on(ca.substitute(acting, dynamics.p, numbers), dynamics.t))

    # -- checkpoints --------------------------------------------------------------------------

    def saved(self, here: Boundary) -> dict[str, Any]:
        """Return all that another process needs to resume from here."""
        record = self.record
        return {
            "here": saved_boundary(here, record),
            "before": saved_boundary(record.boundaries[-1], record),
            "until": self.prepared.until,
            "segments": self.segments,
            "taken": record.taken,
            "steps": record.steps,
            "rhs_evaluations": record.rhs_evaluations,
            "wall_seconds": record.wall_seconds,
            "tally": record.tally_so_far(),
            "recent": record.at_instant(here.time),
            "monitor": self.monitor.saved(),
            "transitions": self.transitions and self.transitions.saved(),
            "instant": [self.instant.began, self.instant.count],
            "ahead": [self.ahead.entered, self.ahead.stretch],
            "effort": self.effort.saved(),
            "pace": [self.pace.pause, self.pace.waits],
        }

    def restore(self, saved: Mapping[str, Any]) -> Boundary:
        """Restore what `saved` returned; return where that is."""
        record = self.record
        here = record.goes_on(*restored_boundaries(saved["before"], saved["here"]))
        self.segments = int(saved["segments"])
        record.taken = int(saved["taken"]) if self.schedule.covers(here.time) else 0
        record.steps, record.rhs_evaluations = int(saved["steps"]), int(saved["rhs_evaluations"])
        record.wall_seconds = float(saved["wall_seconds"])
        record.restore(saved["tally"], saved["recent"])
        # Runs that were begun before watches were all the monitor's have some of them here.
        self.monitor.restore({**saved, **saved["monitor"]})
        watch = self.monitor.watch(ConservationWatch)
        for name, broken in () if watch is None else watch.broken.items():
            self.monitor.measure_only(name, broken.note)
        if self.transitions is not None:
            self.transitions.restore(saved["transitions"])
        self.instant.began, self.instant.count = float(saved["instant"][0]), saved["instant"][1]
        self.ahead.entered, self.ahead.stretch = map(float, saved["ahead"])
        self.effort.restore(saved["effort"])
        self.pace = ResetPace(*map(int, saved.get("pace", ())))
        return here


def unobserved(block: StepBlock) -> None:
    """Take in steps that are not passed on to the user."""


def fresh_state(prepared: Prepared, at: At, extended_from: float | None = None) -> RunState:
    """Return the state of a run that has seen nothing yet.

    Parameters
    ----------
    prepared, at
        The run, and when it is sampled.
    extended_from
        The end of the run before it was extended, s.
    """
    transitions = prepared.transitions and prepared.transitions.fresh(prepared.path)
    problem = prepared.problem.in_mode(prepared.values)
    halts = prepared.solver.halts_at_events(problem)
    follows = halts and prepared.solver.follows_time_guards(problem)
    known = follows or not prepared.problem.events
    return RunState(
        prepared=prepared,
        record=RunRecord([prepared.values], step=prepared.mean_step),
        monitor=Monitor(prepared, watches_of(prepared)),
        effort=Effort(prepared.request.max_evaluations, prepared.mean_step, prepared.until),
        schedule=Schedule(at, prepared.start_time, prepared.until, extended_from),
        transitions=transitions,
        instant=SimultaneousResets(INSTANT * prepared.segment),
        ahead=LookAhead(
            transitions is not None and (transitions.charted or not halts),
            prepared.start_time,
            prepared.segment / FIRST_STRETCH,
        ),
        scheduled=None if known else time_guards(prepared.problem, prepared.dynamics.switches),
    )


def watches_of(prepared: Prepared) -> list[Watch]:
    """Return the watches over a run, in the order in which they judge its steps."""
    kinds: list[type[Watch]] = [*WATCHES, *added(FURTHER)]
    asked = [kind for kind in kinds if not kind.when or attrgetter(kind.when)(prepared)]
    return [watch for kind in asked if (watch := kind.of(prepared)) is not None]

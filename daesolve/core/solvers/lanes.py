"""Lanes: motions of the same equations integrated together in the SIMD lanes of one processor.

Each run is an ordinary run in its own thread: it goes from boundary to boundary, finds its events,
is monitored and ends separately. Only the integration is done for all at once, as soon as the last
of them has requested it. One thread runs at a time.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from daesolve.core.formulations import OdeProblem
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.solvers.base import Compilation, Solver
from daesolve.core.solvers.batch_screen import Screen
from daesolve.core.solvers.kernel_stepping import KernelIntegrator
from daesolve.core.solvers.observers import Observer, StepObserver, step_observer
from daesolve.core.solvers.segment import SegmentEnd, State
from daesolve.core.solvers.series_block import PIECE
from daesolve.core.solvers.step_checks import UNSEEN
from daesolve.core.solvers.taylor import Taylor
from daesolve.core.solvers.taylor_kernel.instructions import instructions
from daesolve.core.solvers.taylor_kernel.lane_stepping import (
    NARROW,
    Lane,
    LaneStepper,
    LaneStretch,
    joined,
    passed,
)
from daesolve.errors import DaesolveError

LANES = 16
"""With more, steps cost no less: see docs/how-to/ensembles.md."""
TOGETHER_BYTES = 8_000_000
"""Bytes of Taylor coefficients of all lanes, which are examined while they are in the cache."""
FEWEST = 16
"""The least number of steps that are taken together."""

Found = TypeVar("Found")
Start = tuple[np.ndarray, np.ndarray, float, float, np.ndarray]
"""Where a motion starts and how far it goes, as `Lane.begin` takes it."""


@dataclass(frozen=True)
class BatchedTaylor(Taylor):
    """Taylor's method for one of several runs that are integrated together."""

    batch: Batch = field(kw_only=True, repr=False)

    def refusal(self, problem: OdeProblem) -> str | None:
        """Refuse what each run would have to do separately between steps."""
        if problem.project is not None:
            return (
                "batches do not project the state after each step: use the formulation "
                "'feedback', or run the members one by one"
            )
        resets = [event.name for event in problem.events if event.then.reset is not None]
        if resets:
            return (
                f"batches do not support resets, which the event {resets[0]!r} needs: run the "
                "members one by one"
            )
        return super().refusal(problem)

    def follows_time_guards(self, problem: OdeProblem) -> bool:
        """Lanes look at guards at their steps, and not at the guards' series."""
        return False

    def compile(self, problem: OdeProblem) -> Compilation:
        """Read the equations into the kernel's table, for all lanes."""
        begin = time.perf_counter()
        self.batch.stepper(self, problem)
        note = f"{self._code_note(problem)}, for {self.batch.width} runs at a time"
        return Compilation(time.perf_counter() - begin, True, (note,))

    def foresee(
        self, problem: OdeProblem, starts: Sequence[State], until: float, at: np.ndarray
    ) -> bool:
        """Let the first of some segments take the others along; see `Solver.foresee`."""
        if len(starts) > 1:
            self.batch.foresee(self, problem, starts, until, at)
        return len(starts) > 1

    def segment(
        self, problem: OdeProblem, state: State, until: float, at: np.ndarray, observe: Observer
    ) -> SegmentEnd:
        """Integrate one segment; see `Solver.segment`."""
        lane = self.batch.lane(self, problem, state, until)
        seen = BlockJoiner(observe)
        integrator = KernelIntegrator(self.tolerance, problem, lane=lane)
        end = integrator.segment(state, until, at, seen)
        seen.hand_on()
        return end


class BlockJoiner(StepObserver):
    """Joins blocks of steps, since one long block is watched faster than several short ones.

    They end after the same numbers of steps, whatever runs are beside this one.
    """

    def __init__(self, observe: Observer) -> None:
        self.observe = step_observer(observe)
        self.blocks: list[StepBlock] = []
        self.steps = 0

    def __call__(self, block: StepBlock) -> object:
        """Take in a block."""
        self.blocks.append(block)
        self.steps += len(block.times)
        enough: object = None
        while self.steps >= PIECE and not enough:
            enough = self.hand_on(PIECE)
        return enough

    def accepted_count(self, times: np.ndarray, states: np.ndarray) -> int:
        """Return how many of some steps its observer accepts."""
        return self.observe.accepted_count(times, states)

    def hand_on(self, most: int | None = None) -> object:
        """Let what has been taken in be observed, at most so many steps of it."""
        if not self.blocks:
            return None
        times = np.concatenate([block.times for block in self.blocks])
        states = np.concatenate([block.states for block in self.blocks])
        spent = sum(block.evaluations for block in self.blocks)
        most = len(times) if most is None else most
        self.steps = len(times) - most
        self.blocks = [StepBlock(times[most:], states[most:])] if self.steps else []
        return self.observe(StepBlock(times[:most], states[:most], spent))


def batch_of(runs: int) -> Batch:
    """Return a batch for so many runs, as many at a time as go at once."""
    return Batch(min(runs, LANES), NARROW if runs <= NARROW else LANES)


def small_batch(motions: int) -> Batch:
    """Return a batch in which one run has so many motions beside each other."""
    return Batch(1, NARROW if motions <= NARROW else LANES)


class SharedLane(Lane):
    """A lane of a batch: its steps are taken with those of the others.

    Parameters
    ----------
    batch, stepper, number
        What it waits for, what takes its steps, and where.

    Attributes
    ----------
    beside
        Lanes that are not asked yet, but will be: they go along.
    """

    def __init__(self, batch: Batch, stepper: BatchedStepper, number: int) -> None:
        super().__init__(stepper, number)
        self.batch, self.shared = batch, stepper
        self.found: deque[LaneStretch] = deque()
        self.most = PIECE
        self.beside: Sequence[SharedLane] = ()
        self._foreseen: Start | None = None
        self._passed: list[LaneStretch] = []
        self._count = 0
        self._reached, self._sign = 0.0, 1.0
        self._looks = np.zeros(0)

    @property
    def time(self) -> float:
        """Where the motion is as far as its run knows, s."""
        return self._reached

    @property
    def room(self) -> int:
        """How many steps there may be before its run is to see them."""
        return self.most - self._count

    def begin(
        self, x: np.ndarray, p: np.ndarray, time: float, until: float, looks: np.ndarray
    ) -> None:
        """Start; see `Lane.begin`. What was foreseen, and is so, has begun."""
        foreseen, self._foreseen = self._foreseen, None
        start = x, p, time, until, looks
        if foreseen is not None and _same(start, foreseen):
            return
        super().begin(x, p, time, until, looks)
        self.shared.values[self.number] = p
        self.found.clear()
        self._reached, self._sign = time, 1.0 if until >= time else -1.0
        self._looks = self._sign * looks
        self._passed, self._count = [], 0

    def foresee(self, *start: *Start) -> None:
        """Start what will be requested later, from such a start."""
        self.begin(*start)
        self._foreseen = start

    def begins(self, start: State, until: float) -> bool:
        """Return whether a motion that was foreseen starts so."""
        if self._foreseen is None:
            return False
        *place, end, _ = self._foreseen
        return _same((start.x, start.p, start.time, until), (*place, end))

    def steps(self, most: int) -> LaneStretch:
        """Take steps, as many at once as all lanes do."""
        if not self.found:
            self.most = most
            # One that went along may have gone as far already.
            if self.room > 0:
                self.batch.integrate(self)
            else:
                self._hand_over()
        stretch = self.found.popleft()
        self._reached = stretch.end
        return stretch

    def take(self, stretch: LaneStretch) -> None:
        """Take in steps; the run is to see them where they are many, or not calm, or it asks."""
        last = self._sign * stretch.end
        first = self._sign * stretch.when[0, 0]
        looked = self._looks.size > 0 and bool(
            np.any((self._looks >= first) & (self._looks <= last))
        )
        calm = stretch.seen is not None and stretch.seen.calm
        if calm and not looked:
            self._passed.append(passed(stretch))
            self._count += len(stretch.when)
            if self.room > 0 and stretch.end != self.until:
                return
        self._hand_over()
        if looked or not calm:
            # The memory of the series is that of the next steps too.
            self.found.append(stretch.copied())

    def _hand_over(self) -> None:
        """Let the run see the steps that were passed over."""
        if self._passed:
            self.found.append(joined(self._passed))
            self._passed, self._count = [], 0


class BatchedStepper(LaneStepper):
    """Motions of one problem that advance together, and what examines their steps.

    Parameters
    ----------
    solver, problem, lanes
        How, what, and how many.
    width
        How many take a step at once; None for all.
    """

    def __init__(
        self, solver: Taylor, problem: OdeProblem, lanes: int, width: int | None = None
    ) -> None:
        super().__init__(instructions(problem.rhs), solver.tolerance, lanes, width)
        self.screen = Screen(problem, solver.tolerance, UNSEEN * solver.tolerance)
        self.values = np.zeros((lanes, len(problem.values)))
        size = 8 * self.width * problem.size * (self.order + 1)
        self.fit = max(TOGETHER_BYTES // size, FEWEST)
        self._memory = np.empty((self.width, self.fit, problem.size, self.order + 1))

    def advance(self, asking: Sequence[SharedLane]) -> None:
        """Integrate in the lanes that ask until one of their runs has something to see.

        Lanes beside them advance too, as long as nothing happens in them.
        """
        while not any(lane.found for lane in asking):
            lanes = [one for lane in asking for one in (lane, *lane.beside) if not one.found]
            for first in range(0, len(lanes), self.width):
                self._take_in(lanes[first : first + self.width])

    def _take_in(self, lanes: Sequence[SharedLane]) -> None:
        """Take steps in some lanes, as many as go at once, and look through them."""
        places = [lane.number for lane in lanes]
        most = min(self.fit, *(lane.room for lane in lanes))
        stretch = self.steps_of(places, most, self._memory)
        seen = self.screen.examine(stretch, self.values[places])
        for number, lane in enumerate(lanes):
            lane.take(stretch.of(number, seen[number]))


class Batch:
    """Several runs at a time, each in a thread, that wait for each other before each stretch.

    Parameters
    ----------
    runs
        How many.
    width
        How many motions take a step at once; None for as many.
    """

    def __init__(self, runs: int, width: int | None = None) -> None:
        self.runs, self.width = runs, runs if width is None else width
        self._turn = threading.Condition()
        self._running = 0
        self._asking: list[SharedLane] = []
        self._broken: BaseException | None = None
        # A solver as a key would hold this batch, which only a search for circles then frees.
        self._steppers: dict[tuple[OdeProblem, float, int], BatchedStepper] = {}
        self._thread = threading.local()

    def run(self, tasks: Sequence[Callable[[], Found]]) -> list[Found | DaesolveError]:
        """Run tasks, as many at a time as there are lanes; return what each gave, or its error.

        Raises
        ------
        BaseException
            An error of a task other than a `DaesolveError`, or Ctrl-C; the others end with it.
        """
        results: dict[int, Found | DaesolveError] = {}
        left = iter(enumerate(tasks))
        threads = [
            threading.Thread(target=self._work, args=(lane, left, results))
            for lane in range(min(self.runs, len(tasks)))
        ]
        self._running = len(threads)
        try:
            for thread in threads:
                thread.start()
            # A wait without a timeout misses Ctrl-C on Windows, and one that another thread got.
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.1)
        except BaseException as error:
            self._broken = error
            for thread in threads:
                thread.join()
            raise
        if self._broken is not None:
            raise self._broken
        return [results[number] for number in range(len(tasks))]

    def _work(
        self,
        lane: int,
        left: Iterator[tuple[int, Callable[[], Found]]],
        results: dict[int, Found | DaesolveError],
    ) -> None:
        """Run the remaining work, one piece after the other, in turn with the other threads."""
        self._thread.lane = lane
        with self._turn:
            try:
                for number, task in left:
                    try:
                        results[number] = task()
                    except DaesolveError as error:
                        results[number] = error
            except BaseException as error:
                self._broken = self._broken or error
            finally:
                self._running -= 1
                self._go_on()

    def stepper(self, solver: Taylor, problem: OdeProblem, each: int = 1) -> BatchedStepper:
        """Return what takes the steps of all runs of a problem, so many motions of each."""
        key = problem, solver.tolerance, each
        if key not in self._steppers:
            self._steppers[key] = BatchedStepper(solver, problem, each * self.runs, self.width)
        return self._steppers[key]

    def solver(self, problem: OdeProblem, chosen: Solver, asked: Solver | None) -> Solver:
        """Return a solver with its steps in a lane of the batch, where they can be there.

        Parameters
        ----------
        problem
            What it is to integrate.
        chosen, asked
            The solver that was chosen, and the one requested, if one was.
        """
        if type(chosen) is not Taylor or (asked is not None and asked != Taylor(chosen.tolerance)):
            return chosen
        if self.runs == 1 and chosen.engine == "heyoka":
            # In very long runs of small systems it is faster than two or three lanes.
            return chosen
        solver = BatchedTaylor(chosen.tolerance, engine="kernel", batch=self)
        charted = problem.chart is not None and problem.chart.choose is not None
        return chosen if charted or solver.refusal(problem) is not None else solver

    def lane(self, solver: Taylor, problem: OdeProblem, start: State, until: float) -> SharedLane:
        """Return the lane of the run that asks; where it was foreseen, the one that began."""
        stepper, foreseen = self._thread.__dict__.pop("foreseen", (None, ()))
        for place, lane in enumerate(foreseen):
            if stepper == (problem, solver.tolerance) and lane.begins(start, until):
                lane.beside = foreseen[place + 1 :]
                self._thread.foreseen = stepper, lane.beside
                return lane
        return SharedLane(self, self.stepper(solver, problem), self._place)

    def foresee(
        self,
        solver: Taylor,
        problem: OdeProblem,
        starts: Sequence[State],
        until: float,
        at: np.ndarray,
    ) -> None:
        """Begin segments that the run will ask for one after the other, from such starts."""
        each = len(starts)
        stepper = self.stepper(solver, problem, each)
        lanes = [SharedLane(self, stepper, each * self._place + k) for k in range(each)]
        for lane, start in zip(lanes, starts, strict=True):
            lane.foresee(start.x, start.p, start.time, until, at[at != start.time])
        self._thread.foreseen = (problem, solver.tolerance), lanes

    @property
    def _place(self) -> int:
        """Of the thread that asks, its number."""
        return getattr(self._thread, "lane", 0)

    def integrate(self, lane: SharedLane) -> None:
        """Wait until something happens in a lane; all continue once all have asked."""
        with self._turn:
            self._asking.append(lane)
            self._go_on()
            self._turn.wait_for(lambda: bool(lane.found) or self._broken is not None)
            if not lane.found:
                # Without another thread, the run raises the error itself.
                raise _BrokenError if self._running else self._broken or _BrokenError

    def _go_on(self) -> None:
        """Integrate as soon as all runs have asked; end them where one of them broke down."""
        if self._broken is None and self._asking and len(self._asking) >= self._running:
            asking = self._asking
            try:
                for stepper in dict.fromkeys(lane.shared for lane in asking):
                    stepper.advance([lane for lane in asking if lane.shared is stepper])
                self._asking = [lane for lane in asking if not lane.found]
            except BaseException as error:
                self._broken = error
        self._turn.notify_all()


def _same(one: Sequence[object], other: Sequence[object]) -> bool:
    return all(bool(np.all(a == b)) for a, b in zip(one, other, strict=True))


class _BrokenError(Exception):
    """Ends a run beside one that broke down."""

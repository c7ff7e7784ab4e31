"""Batches: runs of one structure, integrated together in the SIMD lanes of one processor.

Each run is a run like any other, in a thread of its own: it goes from boundary to boundary, finds
its events, is watched and ends on its own. Only what it asks of its integrator is done for all at
once, as soon as the last of them has asked. One thread runs at a time.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from daesolve.errors import DaesolveError, OutOfRangeError, UnsupportedError
from daesolve.formulations import OdeProblem
from daesolve.integration.run_options import (
    RunOptions,
    check_options,
    requested_by,
    with_values,
)
from daesolve.plugins.bound_case import BoundCase
from daesolve.preparation.lately import prepare_once
from daesolve.preparation.naming import made_by_name, solver_of
from daesolve.preparation.preparing import Prepared
from daesolve.solvers import Compilation, SegmentEnd, Solver, State, Taylor
from daesolve.solvers.calm_steps import Screen
from daesolve.solvers.kernel_stepping import KernelIntegrator
from daesolve.solvers.segment import Observer
from daesolve.solvers.series_block import PIECE
from daesolve.solvers.step_checks import UNSEEN
from daesolve.solving.solving import SolveOptions, integrated
from daesolve.taylor_kernel.instructions import instructions
from daesolve.taylor_kernel.marching import Lane, LaneStretch, March, joined, passed
from daesolve.trajectory.results import StepBlock
from daesolve.trajectory.trajectory import Trajectory

LANES = 16
"""With more, steps cost no less: see docs/how-to/ensembles.md."""
TOGETHER_BYTES = 8_000_000
"""Of Taylor coefficients of all lanes, which are looked through while they are in the cache."""
FEWEST = 16
"""Steps that are taken together at least."""
MOST_LANES = 64
"""More than the widest registers hold several times over would only wait for each other."""

Result = Trajectory | DaesolveError
Task = Callable[[], Trajectory]


def run_batch(
    case: BoundCase,
    members: Sequence[Mapping[str, float]],
    until: float | None = None,
    *,
    initial: Mapping[str, float] | None = None,
    lanes: int | None = None,
    **options: Unpack[SolveOptions],
) -> list[Result]:
    """Run the members of an ensemble, several at a time in the lanes of one processor.

    A member's result is to rounding that of a single run, and the same in every bit whatever
    members are beside it. Ctrl-C ends all of them.

    Parameters
    ----------
    case
        What all of them are.
    members
        In what they differ: parameters, start values of the case and states, by name.
    until
        In place of the case's horizon, s.
    initial
        Start values that all have.
    lanes
        How many go at once; None takes sixteen.
    **options
        As in `BoundCase.solve`, the same for all, but no `store` and no `atol`; the solver is
        `Taylor`, by its name too, or left out, and then `rtol` is its tolerance.

    Returns
    -------
    list
        The trajectory of each member, in their order; the error of one that could not be run.

    Raises
    ------
    UnsupportedError
        Another solver, an absolute tolerance or a place on disk is asked for, or members differ in
        structure.
    OutOfRangeError
        The number of lanes or the tolerance cannot be, or `rtol` is given beside a solver.
    """
    check_options("run_batch", options, more=tuple(SolveOptions.__annotations__))
    solver = batch_solver(solver_of(options.get("solver")), options.get("rtol"))
    if type(solver) is not Taylor:
        raise UnsupportedError(
            f"batches are integrated by the solver 'taylor', not by {solver!r}: leave the solver "
            "out, or run the members one by one"
        )
    if solver.engine == "heyoka" or solver.code != "auto" or solver.optimisation is not None:
        raise UnsupportedError(
            "the lanes of a batch are those of the kernel: leave out engine, code and optimisation "
            "of the solver 'taylor', or run the members one by one"
        )
    _check(case, members, lanes, options)
    batch = Batch(lanes or LANES)
    together = BatchedTaylor(solver.tolerance, engine="kernel", batch=batch)
    case = with_values(case, initial, options)
    options |= {"solver": together, "rtol": None, "parameters": None}

    def run(number: int) -> Trajectory:
        return case.with_values(members[number]).solve(until, **options)

    return batch.run([partial(run, number) for number in range(len(members))])


def run_in_lanes(
    case: BoundCase,
    members: Sequence[Mapping[str, float]],
    until: float | None = None,
    **options: Unpack[RunOptions],
) -> list[Result]:
    """Run the members of an ensemble, each by the method that is chosen for it.

    Those for which that is Taylor's go several at a time in lanes, where they can; the others as
    they would by themselves.

    Parameters
    ----------
    case, members, until, **options
        As in `run_batch`, but with any solver and formulation.

    Returns
    -------
    list
        The trajectory of each member, in their order; the error of one that could not be run.
    """
    batch, made = Batch(LANES), made_by_name(options)

    def run(number: int) -> Trajectory:
        member = case.with_values(members[number])
        request, at = requested_by(member, until, made)
        prepared = prepare_once(member.system, request)
        return member.of_problem(integrated(batch.in_lane(prepared), at))

    return batch.run([partial(run, number) for number in range(len(members))])


def batch_solver(solver: Solver | None, rtol: float | None) -> Solver:
    """Return the solver of a batch: the one that is asked for, or Taylor's method.

    Parameters
    ----------
    solver
        What is asked for; None leaves Taylor's method.
    rtol
        The tolerance of a solver that is left out; None leaves it its own.

    Raises
    ------
    OutOfRangeError
        The tolerance cannot be, or is given beside a solver.
    """
    if rtol is None:
        return Taylor() if solver is None else solver
    if solver is not None:
        raise OutOfRangeError(
            f"rtol is for the solver that is chosen automatically, and {solver.name!r} is asked "
            "for: give the tolerance to the solver"
        )
    return Taylor(tolerance=rtol)


def _check(
    case: BoundCase,
    members: Sequence[Mapping[str, float]],
    lanes: int | None,
    options: Mapping[str, Any],
) -> None:
    """Refuse what no batch can be made of."""
    if options.get("atol") is not None:
        raise UnsupportedError(
            "batches are integrated by Taylor's method, which takes no absolute tolerance: leave "
            "out atol, or run the members one by one"
        )
    structural = {name for member in members for name in member if name in case.problem.structure}
    if structural:
        raise UnsupportedError(
            f"the members of a batch share one structure, but differ in "
            f"{', '.join(sorted(structural))}: make a batch for each structure"
        )
    if lanes is not None and not (type(lanes) is int and 1 <= lanes <= MOST_LANES):
        raise OutOfRangeError(
            f"the number of lanes is {lanes!r}, but must be a whole number from 1 to {MOST_LANES}"
        )
    if options.get("max_evaluations") is not None:
        raise UnsupportedError(
            "max_evaluations bounds what a single run costs, and the runs of a batch go on "
            "together: leave it out, or run the members one by one"
        )
    if options.get("store") is not None:
        raise UnsupportedError(
            "the runs of a batch are not stored, since one that goes on alone would differ in "
            "the last bits: leave out store, or run the members one by one"
        )


@dataclass(frozen=True)
class BatchedTaylor(Taylor):
    """Taylor's method for one of several runs that are integrated together."""

    batch: Batch = field(kw_only=True, repr=False)

    def refusal(self, problem: OdeProblem) -> str | None:
        """Refuse what each run would do on its own between steps."""
        if problem.project is not None:
            return (
                "batches do not project the state after each step: take the formulation "
                "'feedback', or run the members one by one"
            )
        resets = [event.name for event in problem.events if event.then.reset is not None]
        if resets:
            return (
                f"batches do not go through resets, as the event {resets[0]!r} asks for: run the "
                "members one by one"
            )
        return super().refusal(problem)

    def compile(self, problem: OdeProblem) -> Compilation:
        """Read the equations into the kernel's table, for all lanes."""
        begin = time.perf_counter()
        self.batch.march(self, problem)
        note = f"{self._told(problem)}, for {self.batch.width} runs at a time"
        return Compilation(time.perf_counter() - begin, True, (note,))

    def segment(
        self, problem: OdeProblem, state: State, until: float, at: np.ndarray, observe: Observer
    ) -> SegmentEnd:
        """Integrate one segment; see `Solver.segment`."""
        lane = self.batch.lane(self, problem)
        seen = BlockJoiner(observe)
        integrator = KernelIntegrator(self.tolerance, problem, lane=lane)
        end = integrator.segment(state, until, at, seen)
        seen.hand_on()
        return end


class BlockJoiner:
    """Joins blocks of steps, since one long block is watched faster than several short ones.

    They end after the same numbers of steps, whatever runs are beside this one.
    """

    def __init__(self, observe: Observer) -> None:
        self.observe = observe
        self.believed = getattr(observe, "believed", None)
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


class SharedLane(Lane):
    """A lane of a batch: its steps are taken with those of the others.

    Parameters
    ----------
    batch, march, number
        What it waits for, what takes its steps, and where.
    """

    def __init__(self, batch: Batch, march: SharedMarch, number: int) -> None:
        super().__init__(march, number)
        self.batch, self.shared = batch, march
        self.found: deque[LaneStretch] = deque()
        self.most = 1
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
        """Start; see `Lane.begin`."""
        super().begin(x, p, time, until, looks)
        self.shared.values[self.number] = p
        self.found.clear()
        self._reached, self._sign = time, 1.0 if until >= time else -1.0
        self._looks = self._sign * looks
        self._passed, self._count = [], 0

    def steps(self, most: int) -> LaneStretch:
        """Take steps, as many at once as all lanes do."""
        if not self.found:
            self.most = most
            self.batch.integrate(self)
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
        if self._passed:
            self.found.append(joined(self._passed))
            self._passed, self._count = [], 0
        if looked or not calm:
            # The memory of the series is that of the next steps too.
            self.found.append(replace(stretch, coefficients=stretch.coefficients.copy()))


class SharedMarch(March):
    """Motions of one problem that go on together, and what looks through their steps.

    Parameters
    ----------
    solver, problem, lanes
        How, what, and how many.
    """

    def __init__(self, solver: Taylor, problem: OdeProblem, lanes: int) -> None:
        super().__init__(instructions(problem.rhs), solver.tolerance, lanes)
        self.screen = Screen(problem, solver.tolerance, UNSEEN * solver.tolerance)
        self.values = np.zeros((lanes, len(problem.values)))
        size = 8 * lanes * problem.size * (self.order + 1)
        self.fit = max(TOGETHER_BYTES // size, FEWEST)
        self._memory = np.empty((lanes, self.fit, problem.size, self.order + 1))

    def advance(self, lanes: Sequence[SharedLane]) -> None:
        """Integrate in the lanes that ask until one of their runs has something to see."""
        places = [lane.number for lane in lanes]
        values = self.values[places]
        while not any(lane.found for lane in lanes):
            most = min(self.fit, *(lane.room for lane in lanes))
            stretch = self.steps_of(places, most, self._memory)
            seen = self.screen.looked_through(stretch, values)
            for number, lane in enumerate(lanes):
                lane.take(stretch.of(number, seen[number]))


class Batch:
    """Several runs at a time, each in a thread, that wait for each other before each stretch.

    Parameters
    ----------
    width
        How many.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._turn = threading.Condition()
        self._running = 0
        self._asking: list[SharedLane] = []
        self._broken: BaseException | None = None
        self._marches: dict[tuple[OdeProblem, Taylor], SharedMarch] = {}
        self._thread = threading.local()

    def run(self, tasks: Sequence[Task]) -> list[Result]:
        """Run tasks, as many at a time as there are lanes; return what each gave, or its error.

        Raises
        ------
        BaseException
            That of a task, where it is no `DaesolveError`, or Ctrl-C; the others end with it.
        """
        results: dict[int, Result] = {}
        left = iter(enumerate(tasks))
        threads = [
            threading.Thread(target=self._work, args=(lane, left, results))
            for lane in range(min(self.width, len(tasks)))
        ]
        self._running = len(threads)
        try:
            for thread in threads:
                thread.start()
            # A wait without an end hears no Ctrl-C on Windows, nor one that another thread took.
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
        self, lane: int, left: Iterator[tuple[int, Task]], results: dict[int, Result]
    ) -> None:
        """Run what is left to run, one after the other, in turn with the other threads."""
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

    def march(self, solver: Taylor, problem: OdeProblem) -> SharedMarch:
        """Return what takes the steps of all runs of a problem."""
        if (problem, solver) not in self._marches:
            self._marches[problem, solver] = SharedMarch(solver, problem, self.width)
        return self._marches[problem, solver]

    def in_lane(self, prepared: Prepared) -> Prepared:
        """Return a run with its steps in a lane of the batch, where it can be there."""
        problem, chosen, asked = prepared.problem, prepared.solver, prepared.request.solver
        if type(chosen) is not Taylor or (asked is not None and asked != Taylor(chosen.tolerance)):
            return prepared
        solver = BatchedTaylor(chosen.tolerance, engine="kernel", batch=self)
        charted = problem.chart is not None and problem.chart.choose is not None
        if charted or solver.refusal(problem) is not None:
            return prepared
        note = f"its steps taken beside those of others, {self.width} at a time"
        return replace(prepared, solver=solver, notes=(*prepared.notes, note))

    def lane(self, solver: Taylor, problem: OdeProblem) -> SharedLane:
        """Return the lane of the run that asks."""
        return SharedLane(self, self.march(solver, problem), getattr(self._thread, "lane", 0))

    def integrate(self, lane: SharedLane) -> None:
        """Wait until there is something to see in a lane; all go on once all have asked."""
        with self._turn:
            self._asking.append(lane)
            self._go_on()
            self._turn.wait_for(lambda: bool(lane.found) or self._broken is not None)
            if not lane.found:
                raise _BrokenError

    def _go_on(self) -> None:
        """Integrate as soon as all runs have asked; end them where one of them broke down."""
        if self._broken is None and self._asking and len(self._asking) >= self._running:
            asking = self._asking
            try:
                for march in dict.fromkeys(lane.shared for lane in asking):
                    march.advance([lane for lane in asking if lane.shared is march])
                self._asking = [lane for lane in asking if not lane.found]
            except BaseException as error:
                self._broken = error
        self._turn.notify_all()


class _BrokenError(Exception):
    """Ends a run beside one that broke down."""

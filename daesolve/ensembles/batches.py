"""Batches: runs of one structure, integrated together in the SIMD lanes of heyoka's batch mode.

Each run is a run like any other, in a thread of its own: it goes from boundary to boundary, finds
its events, is watched and ends on its own. Only what it asks of its integrator is done for all at
once, as soon as the last of them has asked. One thread runs at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Unpack

import numpy as np

from daesolve.errors import DaesolveError, OutOfRangeError, UnsupportedError
from daesolve.formulations import OdeProblem
from daesolve.integration.run_options import check_options, with_values
from daesolve.plugins.bound_case import BoundCase
from daesolve.preparation.naming import solver_of
from daesolve.solvers import Compilation, SegmentEnd, Solver, State, Taylor
from daesolve.solvers.guards import inner_times
from daesolve.solvers.heyoka_code import Translated, hy, translated
from daesolve.solvers.heyoka_stepping import PiecewiseIntegrator
from daesolve.solvers.segment import Observer
from daesolve.solvers.series_block import PIECE
from daesolve.solvers.taylor import OPTIMISED_TO
from daesolve.solving.solving import SolveOptions
from daesolve.trajectory.results import StepBlock
from daesolve.trajectory.trajectory import Trajectory

PIECE_BYTES = 10_000_000
"""Of Taylor coefficients that are kept at once: with more, each step waits for the memory."""
MOST_LANES = 64
"""More than the widest registers hold several times over would only wait for each other."""

Result = Trajectory | DaesolveError
Task = Callable[[], Trajectory]
Found = tuple[Any, float, float, int, "Dense | None", None]
"""As heyoka returns it: outcome, shortest and longest step, steps, continuous output."""


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
        How many go at once; None takes what the processor's registers hold.
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
    MissingBackendError
        heyoka is not installed.
    """
    check_options("run_batch", options, more=tuple(SolveOptions.__annotations__))
    solver = batch_solver(solver_of(options.get("solver")), options.get("rtol"))
    if type(solver) is not Taylor:
        raise UnsupportedError(
            f"batches are integrated by the solver 'taylor', not by {solver!r}: leave the solver "
            "out, or run the members one by one"
        )
    _check(case, members, lanes, options)
    batch = Batch(lanes or hy.recommended_simd_size())
    together = BatchedTaylor(solver.tolerance, solver.code, solver.optimisation, batch=batch)
    case = with_values(case, initial, options)
    options |= {"solver": together, "rtol": None, "parameters": None}

    def run(number: int) -> Trajectory:
        return case.with_values(members[number]).solve(until, **options)

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

    def configured(self, problem: OdeProblem, steps: float) -> Taylor:
        """Choose how to compile, by the equations alone, so that all members share the code.

        Unrolled code is little faster in many lanes, and takes ten times as long to compile.
        """
        code = "compact" if self.code == "auto" else self.code
        pays = problem.rhs.n_instructions() <= OPTIMISED_TO[code]
        level = (3 if pays else 0) if self.optimisation is None else self.optimisation
        return replace(self, code=code, optimisation=level)

    def compile(self, problem: OdeProblem) -> Compilation:
        """Compile for all lanes; heyoka keeps compiled code on disk."""
        stored = hy.llvm_state.get_diskcache_size()
        begin = time.perf_counter()
        self.batch.code(self, problem)
        seconds = time.perf_counter() - begin
        cached = hy.llvm_state.get_diskcache_size() == stored
        note = f"{self._told(problem)}, for {self.batch.width} runs at a time"
        return Compilation(seconds, cached, (note,))

    def segment(
        self, problem: OdeProblem, state: State, until: float, at: np.ndarray, observe: Observer
    ) -> SegmentEnd:
        """Integrate one segment; see `Solver.segment`."""
        lane = Lane(self.batch, self.batch.code(self, problem))
        seen = BlockJoiner(observe)
        end = _OfOneLane(problem, lane).segment(state, until, at, seen)
        seen.hand_on()
        return end


class _OfOneLane(PiecewiseIntegrator):
    """An integrator of one problem, whose steps are taken in a lane."""

    def __init__(self, problem: OdeProblem, lane: Lane) -> None:
        self.problem, self.rates, self.integrator = problem, lane.code.rates, lane
        self.tolerance = lane.code.tolerance


class BlockJoiner:
    """Joins blocks of steps, since one long block is watched faster than several short ones."""

    def __init__(self, observe: Observer) -> None:
        self.observe = observe
        self.blocks: list[StepBlock] = []
        self.steps = 0

    def __call__(self, block: StepBlock) -> object:
        """Take in a block."""
        self.blocks.append(block)
        self.steps += len(block.times)
        return self.hand_on() if self.steps >= PIECE else None

    def hand_on(self) -> object:
        """Let what has been taken in be observed."""
        if self.blocks:
            times = np.concatenate([block.times for block in self.blocks])
            states = np.concatenate([block.states for block in self.blocks])
            spent = sum(block.evaluations for block in self.blocks)
            self.blocks, self.steps = [], 0
            return self.observe(StepBlock(times, states, spent))
        return None


class Code:
    """The compiled equations of a problem for all lanes."""

    def __init__(self, solver: Taylor, problem: OdeProblem, width: int) -> None:
        self.rates: Translated = translated(problem.rhs)
        self.tolerance = solver.tolerance
        self.batch = hy.taylor_adaptive_batch(
            list(zip(self.rates.variables, self.rates.expressions, strict=True)),
            np.zeros((problem.size, width)),
            tol=solver.tolerance,
            high_accuracy=True,
            compact_mode=solver.code == "compact",
            opt_level=solver.optimisation,
        )
        step = 8 * width * problem.size * (int(self.batch.order) + 1)
        self.piece = min(int(max(PIECE_BYTES // step, 1)), PIECE)


class StepStretch:
    """heyoka's continuous output of steps that were taken together."""

    def __init__(self, output: Any) -> None:
        self.output = output

    @cached_property
    def inner(self) -> np.ndarray:
        """(k, size, lanes) where guards are judged within steps; for all lanes at once.

        For one lane alone it would cost as much.
        """
        return self.output(np.column_stack([inner_times(lane) for lane in self.output.times.T]))


@dataclass(frozen=True)
class Dense:
    """A lane's part of a stretch, as heyoka's continuous output of one run."""

    stretch: StepStretch
    number: int
    steps: int

    @property
    def times(self) -> np.ndarray:
        """(k + 1,) the ends of the steps, from the start."""
        return self.stretch.output.times[: self.steps + 1, self.number]

    @property
    def tcs(self) -> np.ndarray:
        """(k, size, order + 1) the Taylor coefficients of each step."""
        return self.stretch.output.tcs[: self.steps, :, :, self.number]

    def __call__(self, moments: np.ndarray) -> np.ndarray:
        """Return the states at some times, (j, size)."""
        if len(moments) == self.steps and np.array_equal(moments, inner_times(self.times)):
            return self.stretch.inner[: self.steps, :, self.number]
        output = self.stretch.output
        table = np.tile(output.times[0], (len(moments), 1))
        table[:, self.number] = moments
        return output(table)[:, :, self.number]


class Lane:
    """Acts as heyoka's integrator in one run; its steps are taken with those of the others."""

    def __init__(self, batch: Batch, code: Code) -> None:
        self.batch, self.code = batch, code
        self.order = code.batch.order
        self.state, self.pars = (
            np.zeros(len(table)) for table in (code.batch.state, code.batch.pars)
        )
        self.exact_time = (0.0, 0.0)
        self.until = 0.0
        self.found: Found | None = None

    @property
    def time(self) -> float:
        """The time, s."""
        return self.exact_time[0]

    @time.setter
    def time(self, value: float) -> None:
        self.exact_time = (value, 0.0)

    def propagate_until(self, until: float, *, c_output: bool, max_steps: int) -> Found:
        """Integrate, as heyoka's method of this name, but fewer steps at once."""
        assert c_output
        self.until = until
        return self.batch.integrate(self)

    def take(self, number: int, stretch: StepStretch | None) -> None:
        """Take over what was found in the lane of this number."""
        batch = self.code.batch
        outcome, shortest, longest, steps = batch.propagate_res[number]
        self.state[:] = batch.state[:, number]
        self.exact_time = tuple(float(part[number]) for part in batch.dtime)
        if outcome != hy.taylor_outcome.err_nf_state:
            landed = self.time == self.until
            limits = hy.taylor_outcome
            outcome = limits.time_limit if landed else limits.step_limit
        taken = 0 if stretch is None else min(steps, len(stretch.output.tcs))
        dense = None if stretch is None else Dense(stretch, number, taken)
        self.found = (outcome, shortest, longest, steps, dense, None)


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
        self._asking: list[Lane] = []
        self._broken: BaseException | None = None
        self._codes: dict[tuple[OdeProblem, Taylor], Code] = {}

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
            threading.Thread(target=self._work, args=(left, results))
            for _ in range(min(self.width, len(tasks)))
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

    def _work(self, left: Iterator[tuple[int, Task]], results: dict[int, Result]) -> None:
        """Run what is left to run, one after the other, in turn with the other threads."""
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

    def code(self, solver: Taylor, problem: OdeProblem) -> Code:
        """Return the compiled equations of a problem."""
        if (problem, solver) not in self._codes:
            self._codes[problem, solver] = Code(solver, problem, self.width)
        return self._codes[problem, solver]

    def integrate(self, lane: Lane) -> Found:
        """Wait until all runs have asked, and return what was found in a lane."""
        with self._turn:
            self._asking.append(lane)
            self._go_on()
            self._turn.wait_for(lambda: lane.found is not None or self._broken is not None)
            if lane.found is None:
                raise _BrokenError
            found, lane.found = lane.found, None
            return found

    def _go_on(self) -> None:
        """Integrate as soon as all runs have asked; end them where one of them broke down."""
        if self._broken is None and self._asking and len(self._asking) >= self._running:
            asking, self._asking = self._asking, []
            try:
                for code in dict.fromkeys(lane.code for lane in asking):
                    _advance(code, [lane for lane in asking if lane.code is code])
            except BaseException as error:
                self._broken = error
        self._turn.notify_all()


class _BrokenError(Exception):
    """Ends a run beside one that broke down."""


def _advance(code: Code, lanes: Sequence[Lane]) -> None:
    """Integrate a stretch in all lanes.

    heyoka stops all of them where one comes to a state that is not finite: that one has ended, and
    the others go again without it.
    """
    batch = code.batch
    while lanes:
        # Lanes without a run repeat the first one.
        filled = [*lanes, *[lanes[0]] * (batch.batch_size - len(lanes))]
        batch.set_dtime(
            *(list(part) for part in zip(*(lane.exact_time for lane in filled), strict=True))
        )
        batch.state[:] = np.column_stack([lane.state for lane in filled])
        batch.pars[:] = np.column_stack([lane.pars for lane in filled])
        output, _ = batch.propagate_until(
            [lane.until for lane in filled], c_output=True, max_steps=code.piece
        )
        stretch = None if output is None else StepStretch(output)
        outcomes = [outcome for outcome, *_ in batch.propagate_res]
        failed = [
            lane
            for lane, end in zip(lanes, outcomes, strict=False)
            if end == hy.taylor_outcome.err_nf_state
        ]
        for number, lane in enumerate(lanes):
            if lane in failed or not failed:
                lane.take(number, stretch)
        lanes = [lane for lane in lanes if lane not in failed] if failed else []

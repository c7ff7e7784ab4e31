"""Taylor's method by the kernel from reset to reset, as long as these are simple.

What Python does at an instant takes longer than a step. Here functions, comparisons and steps are
carried out by `taylor_kernel.chaining`, many resets at once; what is left to Python is to record
what happened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions.blocks import layout
from daesolve.core.expressions.translation import function_of
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.solvers.grazing import guard_rates
from daesolve.core.solvers.guard_terms import GuardTerms, Limits
from daesolve.core.solvers.kernel_events import KernelEventIntegrator, recorded
from daesolve.core.solvers.segment import EventHit, State
from daesolve.core.solvers.taylor_kernel import chaining
from daesolve.core.solvers.taylor_kernel.lane_stepping import LaneStretch

compiled: Any = chaining
RESETS = 256
"""The most resets that are followed at once."""
STEPS = 2048
"""The most steps for this."""
MET = 4
"""The factor for passages of guards that are only recorded."""


@dataclass(frozen=True, eq=False)
class ResetChain:
    """Resets that followed each other.

    Parameters
    ----------
    guards, steps, met
        (k,) of each the guard that fired, and how many steps and how many passages of guards that
        are only recorded there were up to it.
    moments
        (k,) when, s.
    before, after
        (k, size) the states before it, and (k, rows) what its function gave.
    times, states
        (steps,) and (steps, size) where the steps end.
    passages
        (m, 3) a guard, the step, and how far in it, s.
    series, when
        The series of the steps, and their starts and lengths; until more is followed.
    """

    guards: np.ndarray
    steps: np.ndarray
    met: np.ndarray
    moments: np.ndarray
    before: np.ndarray
    after: np.ndarray
    times: np.ndarray
    states: np.ndarray
    passages: np.ndarray
    series: np.ndarray
    when: np.ndarray

    def recorded(self, reset: int) -> list[EventHit]:
        """Return what guards that only are recorded passed between two resets."""
        first, last = (int(self.steps[reset - 1]) if reset else 0), int(self.steps[reset])
        own = slice(self.met[reset - 1] if reset else 0, self.met[reset])
        return recorded(self.passages[own], self.when, self._stretch(first, last))

    def states_at(self, first: int, last: int, moments: np.ndarray) -> np.ndarray:
        """Return the states, (j, size), at times within some steps."""
        return self._stretch(first, last)(moments)

    def block(self, first: int, last: int, *, keeps: bool) -> StepBlock:
        """Return some steps, with what is within them if that is kept."""
        dense = self._stretch(first, last).copied() if keeps and last > first else None
        return StepBlock(self.times[first:last], self.states[first:last], dense=dense)

    def _stretch(self, first: int, last: int) -> LaneStretch:
        when, series = self.when[first:last], self.series[first:last]
        return LaneStretch(when, series, float(self.times[last - 1]), self.states[last - 1])


class ResetChains:
    """The kernel at work on a problem and its resets.

    Parameters
    ----------
    integrator
        What takes the steps.
    resets
        By guard (t, x, p) -> columns: the state and the values after it, further requested values,
        and residuals before and after.
    """

    def __init__(
        self, integrator: KernelEventIntegrator, resets: Mapping[int, ca.Function]
    ) -> None:
        problem, stepper = integrator.problem, integrator.stepper
        t, x, p = (problem.rhs.sx_in(k) for k in range(3))
        given = stepper.instructions.numbers.given
        listed = ca.SX(0, 1) if given is None else ca.vertcat(*given.call([p]))
        numbers = function_of("numbers", [t, x, p], [listed], (["t", "x", "p"], ["numbers"]))
        functions = [guard_rates(problem), problem.rhs, numbers, *resets.values()]
        self._integrator, self._programs = integrator, _joined(functions)
        self._program = np.full(len(problem.guarded), -1)
        self._program[list(resets)] = compiled.FIRST_RESET + np.arange(len(resets))
        self._rows = int(self._programs[3][compiled.FIRST_RESET :, 5].max())
        size, steps = problem.size, integrator.most_steps(STEPS)
        self._room = (
            np.empty((steps, size, stepper.order + 1)), np.empty((steps, 3, 1)), np.empty(steps),
            np.empty((steps, size)), (np.empty((MET * steps, 3)), np.zeros(1, dtype=np.int64)),
        )  # fmt: skip
        self._found = (
            np.empty((RESETS, 3), dtype=np.int64), np.empty(RESETS), np.empty((RESETS, size)),
            np.empty((RESETS, self._rows)),
        )  # fmt: skip

    @property
    def order(self) -> int:
        """Of the series: evaluations of a step."""
        return self._integrator.stepper.order

    def follow(self, start: State, until: float, terms: GuardTerms, limits: Limits) -> ResetChain:
        """Follow a motion from reset to reset, until something is not simple.

        Parameters
        ----------
        start, until
            Where it starts, and how far to go at most, s.
        terms, limits
            What is known of guards, and what decides whether a reset is simple.
        """
        stepper, guards = self._integrator.begin(start, until)
        series, when, times, ends, (met, met_count) = self._room
        met_count[0] = 0
        resets, taken = compiled.chain(
            compiled.VERSION,
            (stepper.work, stepper.stride, stepper.table, stepper.order, stepper.x, stepper.low,
             stepper.time, stepper.end, self._integrator.tolerances),
            guards, stepper.instructions.borders, stepper.numbers.copy(), self._programs,
            start.p.copy(), terms.traits, (terms.tolerances, terms.reach,
             np.where(limits.known, self._program, -1)),
            (terms.armed, terms.passed, terms.reached, terms.entered),
            (limits.accuracy, limits.answered, *limits.instant, limits.last, limits.sizes,
             limits.worse, limits.angles),
            self._room, self._found,
        )  # fmt: skip
        which, moments, before, after = (found[:resets].copy() for found in self._found)
        return ResetChain(
            which[:, 0], which[:, 1], which[:, 2], moments, before, after,
            times[:taken].copy(), ends[:taken].copy(), met[: which[-1, 2] if resets else 0].copy(),
            series[:taken], when[:taken, :, 0].copy(),
        )  # fmt: skip


def _joined(functions: Sequence[ca.Function]) -> tuple[np.ndarray, ...]:
    """Return the programs of functions of (t, x, p), one behind the other; see `chaining`."""
    runs, codes, constants = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
    places = list[tuple[int, ...]]()
    run, code, number = 0, 0, 0
    for function in functions:
        made = layout(function, True)
        part = made.moving
        own = made.numbers(np.zeros(function.nnz_in(2)))
        runs.append(part.runs + np.array([0, code, code]))
        codes.append(part.codes)
        constants.append(own)
        ends = run + len(part.runs), number + len(own)
        places.append((run, ends[0], number, ends[1], part.registers, part.rows))
        run, number, code = *ends, code + len(part.codes)
    return (
        np.concatenate(runs), np.concatenate(codes), np.concatenate(constants),
        np.array(places, dtype=np.int64),
    )  # fmt: skip

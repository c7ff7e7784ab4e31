"""Comparison of steps with the equations, in blocks.

A step is judged by the method that took it: a series by its last terms, a Runge-Kutta method by the
stages that it happened to take. Here it is judged by the equations, in two ways.

Where the solution between the ends is the method's own (Taylor's), its derivative at the end of
each step is compared with the rate there. And where a term may hide (`unresolved_terms`), its
argument, which is slow, is followed through the step: where the term may become active, the
derivative of the solution is compared with the rate, or the step is taken once more from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import DaeProblem, OdeProblem
from daesolve.core.solvers.activation import FIRST_LOOKS, check_points, may_activate, turns
from daesolve.core.solvers.dense_segments import Cubics, DenseSegment, TaylorSegment
from daesolve.core.solvers.resting import AT_ZERO, sized_guards
from daesolve.core.solvers.unresolved_terms import UnresolvedTerms, unresolved_terms

MARGIN = 1e4
"""The factor on the tolerance of a step by which its derivative, times its length, may be off;
correct series are off by less than a hundredth of this (benchmarks/step_checks.py)."""
UNSEEN = 1e-3
"""The fraction of its tolerance that heyoka's step control leaves of a state below 1."""
ROUNDINGS = 1e3
"""A rate may be off by this many times the change that rounding of the state causes."""
NEIGHBOURS, NEAR = 12, 2.0**-36
"""States on a line that show how rates scatter, and how far apart they are, as part of a state."""
EARLY = (0.0, 0.125)
"""The fractions of a step at which this is tested: at rest nothing scatters, and late in a wrong
step everything does."""
SPREAD = 70.0
"""The variance of fourth differences of numbers that scatter with the variance 1."""
LATE = 30.0
"""Roundings of the time that it may be off."""
RETAKEN = {"ode": 100.0, "multipliers": 1e4}
"""The factor on the tolerance of a step by which a step that is taken again may differ."""
TURNED = 8.0
"""Radians, at most, that the phase of a term that may hide turns in a step that is looked into."""
TAKEN = 0.75
"""The fraction of that length with which a step is taken again."""
MOST_PASSED = 8
"""Stretches of a grid, at most, that are taken once more because states do not follow rates."""
MOST_RETAKEN = 256
"""Steps of a block that are taken once more before the next of them is where the block ends."""
BEFORE_EVENT = 0.99
"""The fraction of a step that an event cuts short up to which it is compared with the equations."""
INNER = 16
"""The number of parts of a stretch in the search for the place where a derivative ceases to be
right."""
ROUNDS = 8
"""The number of rounds of this search: to 2e-10 of the stretch."""


@dataclass(frozen=True)
class StepRejection:
    """A step that does not agree with the equations.

    Parameters
    ----------
    step
        Its number in its block.
    until
        The time in it up to which it agrees with the equations: its start if it does not at all.
    """

    step: int
    until: float

    @property
    def sentence(self) -> str:
        """Why the method cannot continue from the start of the step."""
        return (
            "from there on, no step agrees with the equations, however short; use another "
            "solver (dop853, radau), or another tolerance"
        )


Places = tuple[np.ndarray, np.ndarray]
"""(j,) numbers of steps, and (j,) parts of them."""
NOWHERE: Places = (np.zeros(0, dtype=int), np.zeros(0))

Retake = Callable[[int, float], np.ndarray | None]
"""(step, time in it) -> the state at its end, with a stop at that time; None if it fails."""


def evaluated(
    function: ca.Function, times: np.ndarray, states: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Return the only output of a function of (t, x, p) at some states."""
    return evaluate_block(function, times, states, values)[0]


def followed(problem: OdeProblem) -> ca.Function:
    """(t, x, p) -> the rates, and the guards, whose terms are much the same."""
    if not problem.events:
        return problem.rhs
    t, x, p = (problem.rhs.sx_in(k) for k in range(3))
    both = ca.vertcat(problem.rhs(t, x, p), problem.guards(t, x, p))
    return function_of("followed", [t, x, p], [both], (["t", "x", "p"], ["both"]), share=False)


def unresolved_terms_of(problem: OdeProblem) -> UnresolvedTerms | None:
    """Return the terms of rates and guards that a step may miss."""
    return unresolved_terms(problem.rhs, *([problem.guards] if problem.events else []))


def excess(
    slopes: np.ndarray,
    rates: np.ndarray,
    spans: np.ndarray,
    sizes: np.ndarray,
    ends: np.ndarray,
    relative: float,
    absolute: float,
) -> np.ndarray:
    """Return the errors of derivatives over the allowed ones, (...).

    Parameters
    ----------
    slopes, rates
        (..., size) the derivatives, and what they should be.
    spans, sizes, ends
        (...) the lengths of their steps, s, how large states are at the start, and when they end.
    relative, absolute
        The tolerances of a step.
    """
    # numba is imported where something is checked.
    from daesolve.core.solvers.compiled_checks import missed

    late = LATE * np.spacing(np.abs(ends))
    return missed(slopes, rates, (spans, sizes, late), MARGIN * relative, MARGIN * absolute)


class StepChecks:
    """Holds the steps of one problem against its equations.

    Parameters
    ----------
    problem, p
        The functions, and the values.
    relative, absolute
        The tolerances of a step.
    own_rates
        Whether the second coefficients of series are the rates of the equations.
    """

    def __init__(
        self,
        problem: OdeProblem,
        p: np.ndarray,
        relative: float,
        absolute: float,
        *,
        own_rates: bool = True,
    ) -> None:
        self.problem, self.p = problem, p
        self.relative, self.absolute, self._own_rates = relative, absolute, own_rates
        multipliers = isinstance(problem, DaeProblem) and max(problem.indices) > 1
        self._differs = RETAKEN["multipliers" if multipliers else "ode"]
        self.hidden = unresolved_terms_of(problem)

    @property
    def hiding(self) -> bool:
        """Whether there is a term that may hide, in the rates or in a guard."""
        return self.hidden is not None

    def doubt(
        self,
        course: DenseSegment,
        *,
        stopped: bool,
        retake: Retake | None = None,
        met: Sequence[tuple[int, float]] = (),
    ) -> StepRejection | None:
        """Return the first step that does not agree with the equations.

        Parameters
        ----------
        course
            The steps.
        stopped
            Whether the last of them was cut short by an event, beyond which there may be others.
        retake
            Takes one of them once more; for a method with a series it is not needed.
        met
            The guards that were found to pass zero in these steps, by their indices, and when.
        """
        activated, found = self._looked(course)
        if isinstance(course, TaylorSegment):
            found += self._of_series(course, activated, stopped=stopped)
        elif isinstance(course, Cubics) and self.hidden is not None and retake is not None:
            found += self._of_cubics(course, self.hidden, activated, retake)
            if not course.seen:
                found += self._passed_over(course, self.hidden, retake)
        if self.problem.events:
            found += self._of_guards(course, activated, met)
        return min(found, key=lambda doubt: doubt.step, default=None)

    def _looked(self, course: DenseSegment) -> tuple[Places, list[StepRejection]]:
        """Follow the arguments of hidden terms through each step.

        Returns
        -------
        tuple
            The places at which terms may have activated up.
        list
            A doubt about the first step in which phases turn too far to be followed.
        """
        hidden = self.hidden
        if hidden is None:
            return NOWHERE, []
        count = len(course.spans)
        every = np.arange(count)
        ends = evaluated(hidden.arguments, course.times, course.states, self.p)
        looks = [ends[:-1]]
        for part in FIRST_LOOKS:
            parts = np.full(count, part)
            states = course.inner(every, parts) if hidden.needed else course.states[:-1]
            moments = course.moments(every, parts)
            looks.append(evaluated(hidden.arguments, moments, states, self.p))
        table = np.stack([*looks, ends[1:]])

        def arguments(steps: np.ndarray, parts: np.ndarray) -> np.ndarray:
            moments, states = course.moments(steps, parts), course.inner(steps, parts)
            return evaluated(hidden.arguments, moments, states, self.p)

        active = np.flatnonzero(may_activate(hidden, table))
        activated = check_points(hidden, arguments, active) if active.size else NOWHERE
        return activated, self._turned(course, turns(hidden, table))

    def _turned(self, course: DenseSegment, turned: np.ndarray) -> list[StepRejection]:
        """Reject the first step in which a phase turns too far; `turned` is (k, phases), rad."""
        most = np.max(turned, axis=1, initial=0.0)
        if not np.any(most > TURNED):
            return []
        step = int(np.argmax(most > TURNED))
        part = TAKEN * TURNED / most[step]
        return [StepRejection(step, float(course.times[step] + part * course.spans[step]))]

    def _of_series(
        self, course: TaylorSegment, activated: Places, *, stopped: bool
    ) -> list[StepRejection]:
        """Compare derivatives with rates: at all ends, and where terms may have activated up."""
        every = np.arange(len(course.spans))
        slopes = course.slopes(every, np.ones(len(every)))[:-1]
        rates = course.coefficients[1:, :, 1]
        if not self._own_rates:
            inside = slice(1, -1)
            rates = evaluated(self.problem.rhs, course.times[inside], course.states[inside], self.p)
        ends = every[:-1][self._excess(course, every[:-1], slopes, rates) > 1.0]
        # What an event changes is changed at the end of the step.
        steps, parts = np.append(ends, every[-1]), np.ones(len(ends) + 1)
        parts[-1] = BEFORE_EVENT if stopped else 1.0
        within = (activated[0] != every[-1]) | (activated[1] <= parts[-1])
        steps, parts = (
            np.append(steps, activated[0][within]),
            np.append(parts, activated[1][within]),
        )
        excess = self._defects(course, steps, parts)
        suspects = np.unique(steps[excess > 1.0])
        if not suspects.size:
            return []
        allowed = np.maximum(1.0, ROUNDINGS * self._rounding(course, suspects))
        for step, most in zip(suspects.tolist(), allowed.tolist(), strict=True):
            inside = steps == step
            if np.any(excess[inside] > most):
                return [self._cut(course, step, np.unique(parts[inside]), most)]
        return []

    def _defects(self, course: DenseSegment, steps: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """Return the errors of derivatives over the allowed ones."""
        moments, states = course.moments(steps, parts), course.inner(steps, parts)
        rates = evaluated(self.problem.rhs, moments, states, self.p)
        return self._excess(course, steps, course.slopes(steps, parts), rates)

    def _excess(
        self, course: DenseSegment, steps: np.ndarray, slopes: np.ndarray, rates: np.ndarray
    ) -> np.ndarray:
        """Return the errors of derivatives over the allowed ones, (j,)."""
        spans, ends = np.abs(course.spans[steps]), course.times[steps + 1]
        sizes = np.max(np.abs(course.states[steps]), axis=1)
        return excess(slopes, rates, spans, sizes, ends, self.relative, self.absolute)

    def _rounding(self, course: TaylorSegment, steps: np.ndarray) -> np.ndarray:
        """Return the errors of derivatives by rounding alone, over the allowed ones, (j,)."""
        shakes = 1.0 + 4.0 * np.finfo(float).eps * np.array([0.0, 1.0, -1.0])
        three = np.repeat(steps, len(shakes))
        states = course.states[three] * np.tile(shakes, len(steps))[:, None]
        rates = evaluated(self.problem.rhs, course.times[three], states, self.p)
        off = self._excess(course, three, course.coefficients[three, :, 1], rates)
        return np.maximum(np.max(off.reshape(-1, len(shakes)), axis=1), self._noise(course, steps))

    def _noise(self, course: TaylorSegment, steps: np.ndarray) -> np.ndarray:
        """Return what rates scatter by, early in steps, over what derivatives may be off, (j,).

        Differences of large numbers leave a scatter of which two neighbours may show nothing. High
        differences along a short line through a state and its time show it, as they leave nothing
        of what is smooth.
        """
        found = np.zeros(len(steps))
        for part in EARLY:
            parts = np.full(len(steps), part)
            moments, places = course.moments(steps, parts), course.inner(steps, parts)
            along = NEAR * np.cos(np.arange(self.problem.size, dtype=float))
            line = 1.0 + np.arange(NEIGHBOURS)[:, None] * along
            states = (places[:, None, :] * line).reshape(-1, places.shape[1])
            times = moments[:, None] + course.spans[steps, None] * NEAR * np.arange(NEIGHBOURS)
            with np.errstate(all="ignore"):
                rates = evaluated(self.problem.rhs, times.ravel(), states, self.p).reshape(
                    len(steps), NEIGHBOURS, -1
                )
                differences: np.ndarray = np.diff(rates, 4, axis=1)
                scatter = np.sqrt(np.mean(differences**2, axis=1) / SPREAD)
                # Beyond where a step is right, there may be no rate.
                scatter[~np.isfinite(scatter)] = 0.0
                off = self._excess(course, steps, rates[:, 0], rates[:, 0] + scatter)
            found = np.maximum(found, np.where(np.isfinite(off), off, 0.0))
        return found

    def _cut(
        self, course: TaylorSegment, step: int, parts: np.ndarray, allowed: float
    ) -> StepRejection:
        """Return up to where a step agrees with the equations."""
        even = np.linspace(0.0, float(parts[-1]), INNER + 1)
        marks: np.ndarray = np.unique(np.concatenate([even, parts]))
        off = self._defects(course, np.full(len(marks), step), marks) > allowed
        for _ in range(ROUNDS):
            first = int(np.argmax(off))
            marks = np.linspace(float(marks[max(first - 1, 0)]), float(marks[first]), INNER + 1)
            # What is right by a hair is not right once more.
            off = self._defects(course, np.full(len(marks), step), marks) > 0.5 * allowed
        believed = float(marks[max(int(np.argmax(off)) - 1, 0)])
        return StepRejection(step, float(course.times[step] + believed * course.spans[step]))

    def _of_cubics(
        self, course: Cubics, hidden: UnresolvedTerms, activated: Places, retake: Retake
    ) -> list[StepRejection]:
        """Take steps once more in which a term was neither at the start nor at the end awake."""
        steps, parts = activated
        if not steps.size:
            return []
        weights = self._weights(course, hidden, steps, parts)
        sizes = np.maximum(
            np.max(np.abs(course.states[steps]), axis=1),
            np.max(np.abs(course.states[steps + 1]), axis=1),
        )
        allowed = self.absolute + self.relative * sizes
        felt = ~(weights * np.abs(course.spans[steps]) <= allowed)
        felt &= (parts > 0.0) & (parts < 1.0)
        for count, step in enumerate(np.unique(steps[felt]).tolist()):
            inside = np.flatnonzero(felt & (steps == step))
            time = float(course.moments(steps[inside], parts[inside])[0])
            if count == MOST_RETAKEN:
                return [StepRejection(step, time)]
            worst = inside[np.argmax(weights[inside])]
            peak = float(course.moments(steps[[worst]], parts[[worst]])[0])
            found = retake(step, peak)
            if found is None:
                return [StepRejection(step, time)]
            off = np.max(np.abs(found - course.states[step + 1]))
            if not off <= self._differs * np.max(allowed[inside]):
                return [StepRejection(step, time)]
        return []

    def _passed_over(
        self, course: Cubics, hidden: UnresolvedTerms, retake: Retake
    ) -> list[StepRejection]:
        """Find where states on a grid do not change as rates say.

        A grid may be much finer than the steps that it hides. Then a term that a step passed over
        is well resolved on the grid, and there in plain sight, and the states do not follow it.
        """
        ends = evaluated(hidden.arguments, course.times, course.states, self.p)
        with np.errstate(invalid="ignore"):
            near: np.ndarray = np.any((ends >= hidden.low) & (ends <= hidden.high), axis=1)
        cells = np.flatnonzero(np.logical_or(near[:-1], near[1:]))
        spans, moved = course.spans[cells, None], np.diff(course.states, axis=0)[cells]
        trapezoid = spans * (course.rates[cells] + course.rates[cells + 1]) / 2.0
        halves = np.full(len(cells), 0.5)
        moments, states = course.moments(cells, halves), course.inner(cells, halves)
        middle = spans * evaluated(self.problem.rhs, moments, states, self.p)
        simpson = (trapezoid + 2.0 * middle) / 3.0
        sizes = np.max(np.maximum(np.abs(course.states[:-1]), np.abs(course.states[1:])), axis=1)
        allowed = self.absolute + self.relative * sizes[cells]
        with np.errstate(invalid="ignore"):
            differs: np.ndarray = np.abs(moved - simpson) - np.abs(simpson - trapezoid)
            off: np.ndarray = np.max(differs, axis=1) / allowed
        suspect = np.flatnonzero(off > 1.0)
        runs = np.split(suspect, np.flatnonzero(np.diff(cells[suspect]) > 1) + 1)
        runs = [run for run in runs if run.size and np.max(off[run]) > self._differs]
        worst_first = sorted(runs, key=lambda run: -float(np.max(off[run])))
        for run in sorted(worst_first[:MOST_PASSED], key=lambda run: int(run[0])):
            worst = run[np.argmax(off[run])]
            step = int(cells[worst])
            found = retake(step, float(moments[worst]))
            late = np.inf if found is None else np.max(np.abs(found - course.states[step + 1]))
            if not late <= self._differs * allowed[worst]:
                first = int(cells[run[0]])
                return [StepRejection(first, float(course.times[first + 1]))]
        return []

    def _weights(
        self, course: Cubics, hidden: UnresolvedTerms, steps: np.ndarray, parts: np.ndarray
    ) -> np.ndarray:
        """Return what terms do to the rate that the method did not see at an end, (j,)."""
        moments, states = course.moments(steps, parts), course.inner(steps, parts)
        now = evaluated(hidden.nodes, moments, states, self.p)
        ends = evaluated(hidden.nodes, course.times, course.states, self.p)

        def rates(nodes: np.ndarray) -> np.ndarray:
            values = np.hstack([np.tile(self.p, (len(steps), 1)), nodes])
            return evaluated(hidden.held, moments, states, values)[:, : self.problem.size]

        with np.errstate(invalid="ignore"):
            awake = rates(now)
            sides = [np.abs(awake - rates(ends[steps + end])) for end in (0, 1)]
            hidden_from = np.minimum(*sides) if course.seen else np.maximum(*sides)
            weights = np.max(hidden_from, axis=1)
        weights[np.isnan(weights)] = np.inf
        return weights

    def _of_guards(
        self, course: DenseSegment, activated: Places, met: Sequence[tuple[int, float]]
    ) -> list[StepRejection]:
        """End a step at once if a guard changes sign more often than was found."""
        steps, parts = activated
        inside = (parts > 0.0) & (parts < 1.0)
        steps, parts = steps[inside], parts[inside]
        if not steps.size:
            return []
        moments, states = course.moments(steps, parts), course.inner(steps, parts)
        values = evaluated(self.problem.guards, moments, states, self.p)
        ends = evaluated(self.problem.guards, course.times, course.states, self.p)
        other = np.any((values * ends[steps] < 0.0) | (values * ends[steps + 1] < 0.0), axis=1)
        for step in np.unique(steps[other]).tolist():
            inside = np.flatnonzero(steps == step)
            times = np.append(course.times[step], moments[inside])
            places = np.vstack([course.states[step], states[inside]])
            # A step that ends in a zero ends with the sign of what lies before.
            ahead = [guard for guard, time in met if time == course.times[step + 1]]
            first = self._first_missed(times, places, ends[step + 1], met, ahead)
            if first is not None:
                return [StepRejection(step, first)]
        return []

    def _first_missed(
        self,
        times: np.ndarray,
        states: np.ndarray,
        end: np.ndarray,
        met: Sequence[tuple[int, float]],
        ahead: Sequence[int],
    ) -> float | None:
        """Return when, in a step, a guard has changed sign that does so more often than was found.

        Parameters
        ----------
        times, states
            Of the start of the step, and of places in it.
        end
            (guards,) at its end.
        met
            The guards that were found to pass zero, and when.
        ahead
            Those that do so at the end of the step.
        """
        values, sizes = sized_guards(self.problem, times, states, self.p)
        # Near its zero, a guard of one term is as large as its term.
        rounding = AT_ZERO * np.max(sizes, axis=0)
        signs = np.vstack([np.where(np.abs(values) > rounding, np.sign(values), 0.0),
                           np.sign(end)])  # fmt: skip
        signs[-1, list(ahead)] = 0.0
        signs[np.isnan(signs)] = 0.0
        low, high = min(times[0], times[-1]), max(times[0], times[-1])
        for index, event in enumerate(self.problem.guarded):
            felt = np.flatnonzero(signs[:, index])
            turns = np.flatnonzero(np.diff(signs[felt, index]))
            after = signs[felt[turns + 1], index]
            counted = np.sum(after * event.direction.value >= 0.0)
            found = sum(guard == index and low < time < high for guard, time in met)
            if len(turns) > 1 and counted > found:
                return float(times[felt[turns[0] + 1]])
        return None

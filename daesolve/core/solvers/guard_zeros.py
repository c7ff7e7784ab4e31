"""Where guards are zero between two looks at them, to rounding."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from daesolve.core.expressions.blocks import StateFunction
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.events import Direction
from daesolve.core.solvers.dense_segments import AcceptedSteps
from daesolve.core.solvers.grazing import MOST_ITERATIONS
from daesolve.core.solvers.resting import AT_ZERO, goes_back, sizes_of_terms
from daesolve.core.solvers.segment import EventHit

NOWHERE = 1.0
"""The value of a guard that need not be examined."""
POLE = 1e3
"""What a guard is at a place over what it was around, beyond which this is a pole and no zero."""

Row = tuple[float, np.ndarray, np.ndarray]
"""A time, the state and the guards."""


@dataclass(frozen=True, eq=False)
class GuardZeros:
    """Finds the zeros of guards within accepted steps.

    Parameters
    ----------
    problem, p, steps
        As of `find_events`.
    """

    problem: OdeProblem
    p: np.ndarray
    steps: AcceptedSteps

    @cached_property
    def _guards(self) -> StateFunction:
        return StateFunction(self.problem.guards, self.p)

    @cached_property
    def directions(self) -> list[Direction]:
        """Those in which guards count."""
        return [event.direction for event in self.problem.guarded]

    @cached_property
    def sign(self) -> float:
        """1.0 where times grow along the integration, -1.0 where they fall."""
        return 1.0 if self.steps.times[-1] >= self.steps.times[0] else -1.0

    def between(
        self, step: int, ends: tuple[Row, Row], still: np.ndarray, values: np.ndarray
    ) -> Iterator[tuple[EventHit, np.ndarray]]:
        """Yield where guards pass zero between two looks into a step, and all guards there.

        Parameters
        ----------
        step, ends
            The step, and the looks.
        still
            (guards,) which are at zero throughout: they pass nowhere.
        values
            (k, guards) what guards are at all looks into the step.

        Raises
        ------
        NoNumberError
            A guard has no value there.
        """
        guards, start = self._guards, ends[0]
        passing = [(k, ends[1]) for k in crossings(start[2], ends[1][2], self.directions)]
        for index, end in passing:
            time, state = locate(
                lambda t, x, index=index: _number(guards(t, x), index, t),
                lambda moment: self.steps.advance(step, moment),
                start[:2],
                end[:2],
            )
            there = np.where(still, NOWHERE, guards(time, state))
            sides = np.array([start[2][index], end[2][index]])
            size, place = float(np.max(np.abs(sides))), (time, state)
            if is_pole(float(there[index]), sides, values[:, index]) or goes_back(
                self.problem, self.p, place, self.sign, index, size
            ):
                continue
            yield EventHit(index, time, state), there
            known = {other for other, _ in passing}
            passing += [(k, (*place, there)) for k in self._dips(start, there) if k not in known]

    def _dips(self, start: Row, there: np.ndarray) -> list[int]:
        """Return the guards that are past zero where another is at zero.

        No two looks show it if one dips through zero just there, as the speed of a slip that turns
        round.
        """
        passed = crossings(start[2], there, self.directions)
        if len(passed) == 1:
            return passed
        # What was at zero to rounding may have any sign.
        rounding = AT_ZERO * sizes_of_terms(self.problem, start[0], start[1], self.p)
        return [k for k in passed if abs(start[2][k]) > rounding[k]]


def is_pole(there: float, sides: np.ndarray, step: np.ndarray) -> bool:
    """Return whether a guard changes its sign at a pole, where it is nowhere near to zero.

    Looks may come as near to the pole as the place that is found: the whole step tells.

    Parameters
    ----------
    there, sides
        What it is where its sign changes, and (2,) at the looks around.
    step
        (k,) what it is at all looks into the step.
    """
    near = abs(there) < np.min(np.abs(sides))
    return not near and bool(
        abs(there) > POLE * min(np.max(np.abs(sides)), np.median(np.abs(step)))
    )


class NoNumberError(ArithmeticError):
    """A guard has no value where its zero is looked for, though it has on both sides."""

    def __init__(self, time: float, values: np.ndarray) -> None:
        super().__init__()
        self.time, self.values = time, values


def _number(values: np.ndarray, index: int, time: float) -> float:
    if np.isnan(values[index]):
        raise NoNumberError(time, values)
    return float(values[index])


def no_number(problem: OdeProblem, time: float, values: np.ndarray) -> str:
    """Say which guard is not finite, and from when."""
    worst = int(np.argmin(np.isfinite(values)))
    return (
        f"the guard of the event {problem.guarded[worst].name!r} is {values[worst]} from t = "
        f"{time:.10g} s on; define it so that it has a value along the whole motion"
    )


def crossings(before: np.ndarray, after: np.ndarray, directions: Sequence[Direction]) -> list[int]:
    """Return the guards that passed through zero in their direction.

    A guard that starts at zero exactly has been located already and does not count again.
    """
    found: list[int] = []
    for index, direction in enumerate(directions):
        rising = before[index] < 0.0 <= after[index]
        falling = before[index] > 0.0 >= after[index]
        if (rising and direction is not Direction.FALLING) or (
            falling and direction is not Direction.RISING
        ):
            found.append(index)
    return found


def locate(
    guard: Callable[[float, np.ndarray], float],
    advance: Callable[[float], np.ndarray],
    start: tuple[float, np.ndarray],
    end: tuple[float, np.ndarray],
) -> tuple[float, np.ndarray]:
    """Polish the time of an event within one step by re-stepping from the step's start.

    Parameters
    ----------
    guard
        (t, x) -> its value; of opposite sign at start and end.
    advance
        time -> state, integrated from the start with the solver's own accuracy.
    start, end
        Times and states around the event.

    Returns
    -------
    tuple
        The time of the event to rounding, at zero or past it, and the state there.
    """

    @functools.cache
    def state_at(time: float) -> np.ndarray:
        if time == start[0]:
            return start[1]
        if time == end[0]:
            return end[1]
        return advance(time)

    # The ends may be interpolated: where the step itself disagrees about a sign there, the end
    # that is nearer to zero is the place.
    values = [guard(*start), guard(*end)]
    nearer = start if abs(values[0]) < abs(values[1]) else end
    if start[0] == end[0]:
        return nearer
    if values[0] * values[1] > 0.0:
        return nearer[0], advance(nearer[0])
    span = end[0] - start[0]

    def moment(elapsed: float) -> float:
        return end[0] if elapsed == span else start[0] + elapsed

    # Counted from the start of the step, so that late in time the root is as near as times are.
    root, result = scipy.optimize.brentq(
        lambda elapsed: guard(moment(elapsed), state_at(moment(elapsed))),
        0.0,
        span,
        xtol=0.5 * np.spacing(max(abs(start[0]), abs(end[0]), 1e-300)),
        rtol=np.float64(8.9e-16),
        maxiter=MOST_ITERATIONS,
        full_output=True,
    )
    assert result.converged
    # At zero or past it: a motion that continues from here must not meet it again.
    found = moment(float(root))
    move = np.spacing(max(abs(found), abs(span))) * np.sign(span)
    while guard(found, state_at(found)) * values[1] < 0.0 and found != end[0]:
        found = float(found + move) if abs(found + move - end[0]) < abs(found - end[0]) else end[0]
        move *= 2.0
    return found, state_at(found)

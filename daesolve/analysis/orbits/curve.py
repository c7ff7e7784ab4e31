"""The curve of orbits over a parameter or a first integral: its equations, tangent and corrector.

The unknowns y are the places of an orbit, its period, the amounts of its symmetry, and the value of
the axis. A point of the curve solves the equations of an orbit and one more, which is a plane
across the tangent t or another condition:

    t . (y - y_predicted) = 0

Folds are no obstacle, because the value is an unknown like the others. H. B. Keller, in
Applications of Bifurcation Theory (Academic Press, 1977), 359.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from daesolve.analysis.orbits.integrals import Integral
from daesolve.analysis.orbits.monodromy import Verdict
from daesolve.analysis.orbits.newton import ROUNDING, NewtonSolution
from daesolve.analysis.orbits.nodes import Node
from daesolve.analysis.orbits.shooting import (
    Guess,
    Shot,
    Slopes,
    Task,
    assembled,
    central_slope,
    conditions,
    cotangent,
    displaced,
    follows,
    shoot,
    slopes_of,
)
from daesolve.core.expressions.singular_values import weakest_direction
from daesolve.errors import DaesolveError, NotPeriodicError

MOST_CORRECTIONS = 8
"""The number of corrector steps after which it has failed."""
EXACT = 1e-10
"""A correction after which the next one is rounding, because they shrink quadratically."""
ROUNDED = 1e-13
"""A correction that is itself rounding, so that the slopes are exact too."""
BY_DIFFERENCE = 1e-6
"""The difference, relative to the scale of the axis, for differentiating an integral."""
STEEP = 0.1
"""The component of a tangent along the axis below which it does not lead to another value."""
MISSED = 1e-7
"""The largest distance, in sizes, by which an orbit may miss itself."""
TOO_FAR = 0.5
"""A correction longer than this, in sizes, and than four times the shortest one is a failure."""
LEAVING = 0.004
"""The distance of an event from the start or end of a piece at which it is about to leave, as a
fraction of the piece."""
STARTS_TRIED = 40
"""The number of other starts that are tried."""


@dataclass(frozen=True, eq=False)
class ContinuationAxis:
    """The varied quantity.

    Parameters
    ----------
    name
        The name of a parameter, first integral or state.
    index
        Its index in p; None if it is not a parameter.
    integral
        The integral that has the value at the first place; None for a parameter.
    scale
        The total range of variation.
    """

    name: str
    index: int | None
    integral: Integral | None
    scale: float


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """An orbit of the curve, with its value, its tangent (in scaled unknowns) and corrections."""

    value: float
    shot: Shot
    slopes: Slopes
    tangent: np.ndarray
    corrections: int
    accuracy: float

    @property
    def guess(self) -> Guess:
        """Its unknowns except the value."""
        return self.shot.guess

    @property
    def forward(self) -> float:
        """The component of the tangent along the axis."""
        return float(self.tangent[-1])

    @property
    def solution(self) -> NewtonSolution:
        """It as a solution of the equations of its task."""
        return NewtonSolution(self.shot, self.slopes, (self.shot.residual,), self.accuracy)


@dataclass(frozen=True, eq=False)
class LinearEquations:
    """The equations at a guess.

    Parameters
    ----------
    shot, slopes
        The flight, and its derivatives.
    matrix, right
        (r, c) and (r,), in the coordinates of the unknowns.
    embedding
        E (a, c), from these coordinates to the scaled unknowns.
    """

    shot: Shot
    slopes: Slopes
    matrix: np.ndarray
    right: np.ndarray
    embedding: np.ndarray


Extra = Callable[[LinearEquations, np.ndarray], tuple[np.ndarray, float]]
"""One more equation: maps the equations and the scaled unknowns to its row (c,) and right side."""


class Curve:
    """The orbits of a task over an axis.

    Parameters
    ----------
    task
        The definition of a periodic motion; its family names the axis if that is not a parameter.
    axis
        The varied quantity.
    start
        A guess, whose sizes serve as units, and whose period is kept if it is given.
    """

    def __init__(self, task: Task, axis: ContinuationAxis, start: Guess) -> None:
        self.task, self.axis = task, axis
        self.period = start.period
        group = [task.manifold.sizes[index] for index in task.group.shifts]
        self._amounts = np.array(group)

    # -- unknowns -----------------------------------------------------------------------------

    def task_at(self, value: float) -> Task:
        """Return the task with the axis at a given value."""
        axis = self.axis
        if axis.integral is None:
            return self.task
        family = [
            (integral, value if integral is axis.integral else known)
            for integral, known in self.task.family
        ]
        return replace(self.task, family=tuple(family))

    def value_of(self, guess: Guess) -> float:
        """Return the value of the axis at a guess."""
        first, axis = guess.nodes[0], self.axis
        if axis.index is not None:
            return float(first.p[axis.index])
        assert axis.integral is not None
        return axis.integral.value(first)

    def vector(self, guess: Guess, value: float) -> np.ndarray:
        """Return the scaled unknowns."""
        task = self.task
        parts = [node.x / task.sizes for node in guess.nodes]
        if task.free_period:
            parts.append(np.array([guess.period / self.period]))
        parts += [guess.amounts / self._amounts, np.array([value / self.axis.scale])]
        return np.concatenate(parts)

    def upward(self, guess: Guess) -> np.ndarray:
        """Return the direction of the axis, in scaled unknowns."""
        direction = np.zeros(len(self.vector(guess, 0.0)))
        direction[-1] = 1.0
        return direction

    def moved(self, guess: Guess, value: float, change: np.ndarray) -> tuple[Guess, float]:
        """Return a guess and value after a change of the scaled unknowns."""
        task, count = self.task, len(self.task.sizes)
        value = value + float(change[-1]) * self.axis.scale
        period = guess.period
        at = task.pieces * count
        if task.free_period:
            period = period + float(change[at]) * self.period
            at += 1
        amounts = guess.amounts + change[at : at + len(guess.amounts)] * self._amounts
        nodes = [self._with_value(node, value) for node in guess.nodes]
        if self.axis.index is not None:
            period = task.period_at(nodes[0], period)
        changes = task.sizes * change[: task.pieces * count].reshape(task.pieces, count)
        places = displaced(task, nodes, [*changes], period)
        return Guess(places, period, amounts, np.zeros(len(task.integrals))), value

    def _with_value(self, node: Node, value: float) -> Node:
        if self.axis.index is None:
            return node
        return self.task.flow.with_parameters(node, {self.axis.name: value})

    # -- equations ----------------------------------------------------------------------------

    def linear(self, guess: Guess, value: float) -> LinearEquations:
        """Return the equations at a guess, with the column of the axis."""
        task, axis = self.task_at(value), self.axis
        shot = shoot(task, guess)
        by = {} if axis.index is None else {axis.name: axis.index}
        slopes = slopes_of(task, shot, by)
        given = conditions(task, shot)
        inner, right = assembled(task, shot, slopes, given)
        column, along = np.zeros(len(inner)), np.zeros((task.pieces, len(task.sizes)))
        if axis.index is not None:
            column, along = self._by_parameter(task, shot, slopes, len(inner))
        else:
            self._by_integral(task, shot, column)
        matrix = np.column_stack([inner, axis.scale * column])
        return LinearEquations(shot, slopes, matrix, right, self._embedding(task, shot, along))

    def _by_parameter(
        self, task: Task, shot: Shot, slopes: Slopes, rows: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the column of a parameter, and the scaled derivative of the places by it."""
        index = self.axis.index
        assert index is not None
        nodes = shot.guess.nodes
        along = np.array([follows(task, node, index) for node in nodes]) / task.sizes
        column = np.zeros(rows)
        lengthening = task.period_slope(nodes[0], self.axis.name)
        for k in range(task.pieces):
            onto = (k + 1) % task.pieces
            own = slopes.parameters[k][:, 0] + lengthening * slopes.by_period[k]
            column[shot.rows[k]] = own - shot.bases[onto].T @ along[onto]
        first, at = nodes[0], rows - len(task.family)
        step = BY_DIFFERENCE * self.axis.scale

        def moved(side: float) -> Node:
            node = self._with_value(first, float(first.p[index]) + side)
            return Node(first.time, first.x + side * (task.sizes * along[0]), node.p)

        for place, (integral, _) in enumerate(task.family):
            slope = central_slope(lambda side, one=integral: one.value(moved(side)), step)
            column[at + place] = slope / self._size(task, shot, integral)
        return column, along

    def _by_integral(self, task: Task, shot: Shot, column: np.ndarray) -> None:
        at = len(column) - len(task.family)
        for place, (integral, _) in enumerate(task.family):
            if integral is self.axis.integral:
                column[at + place] = -1.0 / self._size(task, shot, integral)

    def _size(self, task: Task, shot: Shot, integral: Integral) -> float:
        row = cotangent(task, integral, shot.guess.nodes[0], shot.bases[0])
        return float(np.linalg.norm(row)) or 1.0

    def _embedding(self, task: Task, shot: Shot, along: np.ndarray) -> np.ndarray:
        states = len(task.sizes)
        border = int(task.free_period) + len(shot.amounts)
        columns = shot.count + border + len(task.integrals) + 1
        matrix = np.zeros((task.pieces * states + border + 1, columns))
        for k, basis in enumerate(shot.bases):
            rows = slice(k * states, (k + 1) * states)
            matrix[rows, shot.spans[k]] = basis
            matrix[rows, -1] = self.axis.scale * along[k]
        at, row = shot.count, task.pieces * states
        if task.free_period:
            matrix[row, at] = 1.0 / self.period
            at, row = at + 1, row + 1
        for place, size in enumerate(self._amounts):
            matrix[row + place, at + place] = 1.0 / size
        matrix[-1, -1] = 1.0
        return matrix

    # -- points -------------------------------------------------------------------------------

    def corrected(
        self,
        guess: Guess,
        value: float,
        extra: Extra,
        before: np.ndarray,
        *,
        exact: bool = False,
        sequence: tuple[object, ...] | None = None,
    ) -> CurvePoint:
        """Solve the equations with one more; return the point, its tangent along the last one.

        With `exact`, the slopes are exact too, not only the places. With a `sequence`, no events
        other than these may change the motion.

        Raises
        ------
        NotPeriodicError
            The corrector does not converge.
        """
        shortest = np.inf
        for count in range(1, MOST_CORRECTIONS + 1):
            linear = self.linear(guess, value)
            if sequence is not None and linear.shot.sequence != sequence:
                break
            row, right = extra(linear, self.vector(guess, value))
            matrix = np.vstack([linear.matrix, row])
            step = np.linalg.lstsq(matrix, np.append(linear.right, right), rcond=None)[0]
            change = linear.embedding @ step
            length = float(np.max(np.abs(change)))
            if not np.isfinite(length) or length > max(TOO_FAR, 4.0 * shortest):
                break
            # Where orbits hardly differ, as next to a Hopf point, rounding leaves longer steps.
            least = EXACT if exact else ROUNDING
            stalled = shortest <= least and shortest / 4.0 < length <= ROUNDING
            if length <= (ROUNDED if exact else EXACT) or stalled:
                tangent = self.tangent(linear, before)
                guess, value = self.moved(guess, value, change)
                last = shoot(self.task_at(value), guess)
                if sequence is not None and last.sequence != sequence:
                    break
                if not last.residual <= MISSED:
                    # Only the unfolding absorbs the remainder: there is no orbit.
                    raise NotPeriodicError(
                        f"no orbit was found at {self.axis.name} = {value:.10g}: the state misses "
                        f"itself by {last.residual:.2g} of its size"
                    )
                return CurvePoint(value, last, linear.slopes, tangent, count, length)
            shortest = min(shortest, length)
            try:
                guess, value = self.moved(guess, value, change)
            except DaesolveError as refusal:
                raise NotPeriodicError(f"the branch does not continue: {refusal}") from refusal
        raise NotPeriodicError(
            f"no orbit was found at {self.axis.name} = {value:.10g}: the last correction is "
            f"{shortest:.2g} of its size"
        )

    def at_value(
        self, guess: Guess, value: float, before: np.ndarray, *, exact: bool = False
    ) -> CurvePoint:
        """Return the orbit at a value of the axis, as in `corrected`, starting along a tangent."""
        change = np.zeros(len(before))
        own = self.value_of(guess)
        if abs(before[-1]) > STEEP:
            change = before * ((value - own) / self.axis.scale / before[-1])
        start = self.moved(guess, own, change)[0]
        start = self.moved(start, value, np.zeros(len(before)))[0]

        def fixed(linear: LinearEquations, vector: np.ndarray) -> tuple[np.ndarray, float]:
            row = np.zeros(linear.matrix.shape[1])
            row[-1] = 1.0
            return row, value / self.axis.scale - float(vector[-1])

        return self.corrected(start, value, fixed, before, exact=exact)

    def onward(self, point: CurvePoint, step: float, *, exact: bool = False) -> CurvePoint:
        """Return the orbit one step along the curve, as in `corrected`."""
        change = step * point.tangent
        guess, value = self.moved(point.guess, point.value, change)
        predicted = self.vector(point.guess, point.value) + change

        def across(linear: LinearEquations, vector: np.ndarray) -> tuple[np.ndarray, float]:
            row = point.tangent @ linear.embedding
            return row, -float(point.tangent @ (vector - predicted))

        events = point.shot.sequence
        return self.corrected(guess, value, across, point.tangent, exact=exact, sequence=events)

    def predicted(self, point: CurvePoint, step: float) -> Shot:
        """Return the uncorrected motion one step along the tangent."""
        guess, value = self.moved(point.guess, point.value, step * point.tangent)
        return shoot(self.task_at(value), guess)

    def tangent(self, linear: LinearEquations, before: np.ndarray) -> np.ndarray:
        """Return the unit tangent that continues in a direction."""
        null = weakest_direction(linear.matrix)
        tangent = linear.embedding @ null
        tangent = tangent / (float(np.linalg.norm(tangent)) or 1.0)
        return tangent if tangent @ before >= 0.0 else -tangent


@dataclass(frozen=True, eq=False)
class BranchPoint:
    """An orbit of a branch, without its run.

    Parameters
    ----------
    value
        The value of the varied quantity.
    guess
        The solution: places, period, amounts of the symmetry.
    tangent, step
        The direction of the branch in scaled unknowns, and the next step.
    period
        s.
    multipliers
        Complex, largest first.
    verdict
        As in `PeriodicOrbit`.
    """

    value: float
    guess: Guess
    tangent: np.ndarray
    step: float
    period: float
    multipliers: np.ndarray
    verdict: Verdict


def moved_start(curve: Curve, point: CurvePoint) -> CurvePoint | None:
    """Return the point with pieces that start far from events; None if the starts may stay.

    The start stays if the orbit ends at a section, or if its state names a family.
    """
    task = curve.task
    named = [integral.name for integral, _ in task.family]
    if curve.axis.integral is not None:
        named.append(curve.axis.name)
    if task.passage is not None or task.steady or any(name in task.flow.names for name in named):
        return None
    later = away_from_events(task, point.shot)
    if later is None:
        return None
    nodes = [task.flow.fly(node, later).end for node in point.guess.nodes]
    guess = replace(point.guess, nodes=tuple(nodes))
    before = np.sign(point.forward) * curve.upward(guess)
    return curve.at_value(guess, point.value, before)


def away_from_events(task: Task, shot: Shot) -> float | None:
    """Return by how much later, s, pieces begin far from events; None if they already do."""
    duration = shot.period / task.pieces
    parts = np.array([
        (event.time - flight.start.time) / duration
        for flight in shot.flights for event in flight.happened if event.after is not None
    ])  # fmt: skip
    if not len(parts) or np.min(_to_ends(parts)) >= LEAVING:
        return None
    others = np.arange(1, STARTS_TRIED) / STARTS_TRIED
    distances = [float(np.min(_to_ends(parts - other))) for other in others]
    return float(others[int(np.argmax(distances))]) * duration


def _to_ends(parts: np.ndarray) -> np.ndarray:
    """Return the distance of fractions of a piece from its start or end."""
    whole = parts % 1.0
    return np.minimum(whole, 1.0 - whole)

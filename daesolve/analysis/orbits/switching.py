"""From a special point to an orbit of the branch that begins there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np

from daesolve.analysis.orbits.bordered import DIFFERENCE, Crossing, CurveEvaluation
from daesolve.analysis.orbits.curve import Curve, Extra, LinearEquations
from daesolve.analysis.orbits.monodromy import multipliers
from daesolve.analysis.orbits.nodes import Passage
from daesolve.analysis.orbits.orbit import PeriodicOrbit
from daesolve.analysis.orbits.orbit_search import finished
from daesolve.analysis.orbits.shooting import Guess, Task, central_slope, shoot, slopes_of
from daesolve.analysis.orbits.special_points import Kind
from daesolve.core.expressions.singular_values import singular_directions, weakest_direction
from daesolve.errors import NotPeriodicError

UNSWITCHED: Mapping[Kind, str] = {
    "fold": "both parts of a fold belong to the branch itself",
    "neutral saddle": "nothing branches off at a neutral saddle",
    "Neimark-Sacker": "a torus begins at a Neimark-Sacker point, not a periodic orbit",
    "several at once": (
        "several multipliers pass through the unit circle, and no single direction leads to the "
        "new orbits; give periodic_orbit a guess beside the orbit"
    ),
    "degenerate passage": (
        "constraints depend on each other there, so the continuation is undetermined"
    ),
    "grazing": (
        "a touching orbit belongs to the branch of orbits with one event more or less: give "
        "periodic_orbit a guess beyond it"
    ),
}
"""The reasons why no branch is followed from a special point."""
SHORT = 0.5
"""The largest angle, in rad, by which a pair may turn in the time used to read its frequency."""
OSCILLATES = 0.03
"""A change in a pair's direction, relative to the largest, that is not rounding."""
MOST_HALVINGS = 40
"""How often a time is halved to read a frequency from it."""


def switched(curve: Curve, kind: Kind, guess: Guess, value: float, along: np.ndarray,
             amplitude: float) -> PeriodicOrbit:  # fmt: skip
    """Return an orbit of the branch that begins at a special point.

    Parameters
    ----------
    curve, kind
        The branch, and the kind of the point.
    guess, value, along
        The orbit there, the value of the varied quantity, and the tangent of the branch.
    amplitude
        The distance of the first place from the orbit, in sizes of the states, with the sign of the
        side.

    Raises
    ------
    NotPeriodicError
        No such orbit was found.
    """
    if kind == "Hopf":
        return _oscillation(curve, guess, value, amplitude)
    if kind == "branch point":
        return _crossing(curve, guess, value, along, amplitude)
    return _doubled(curve, guess, value, amplitude)


def _doubled(curve: Curve, guess: Guess, value: float, amplitude: float) -> PeriodicOrbit:
    """Return an orbit of twice the period beside one whose multiplier is -1."""
    task = curve.task_at(value)
    shot = shoot(task, guess)
    matrix = slopes_of(task, shot).monodromy
    # Use the vector itself, not modulo the flow and the shifts.
    vector = weakest_direction(matrix + np.eye(len(matrix)))
    direction = shot.bases[0] @ vector
    return _aside(curve, _task_doubled(task), guess, value, direction, 2.0 * shot.period, amplitude)


def _task_doubled(task: Task) -> Task:
    """Return the task of twice the period."""
    passage = task.passage
    if passage is not None:
        passage = Passage(passage.event, 2 * passage.count)
    group, rule = task.group.squared(), task.doubled_rule()
    return replace(task, group=group, pieces=1, passage=passage, rule=rule)


def hopf_period(curve: Curve, guess: Guess, value: float) -> float:
    """Return the period of the oscillations that begin at a Hopf point, s."""
    return _pair(curve, guess, value)[0]


def _pair(curve: Curve, guess: Guess, value: float) -> tuple[float, np.ndarray]:
    """Return the period of the pair on the circle, and its direction (n,) in sizes, complex.

    The map over a long time leaves whole turns of the angle undetermined, so a short time is used.
    """
    task = replace(curve.task_at(value), pieces=1)
    duration = guess.period
    for _ in range(MOST_HALVINGS):
        shot = shoot(task, Guess(guess.nodes[:1], duration, np.zeros(0)))
        spectrum = multipliers(task, shot, slopes_of(task, shot))
        angles = np.angle(spectrum.values)
        if np.max(np.abs(angles), initial=0.0) <= SHORT:
            rotating = [k for k, angle in enumerate(angles) if angle > 0.0]
            k = min(rotating, key=lambda k: abs(abs(spectrum.values[k]) - 1.0))
            return 2.0 * math.pi * duration / angles[k], spectrum.vectors[:, k]
        duration /= 2.0
    raise NotPeriodicError("the pair of multipliers rotates too fast to determine its period")


def _oscillation(curve: Curve, guess: Guess, value: float, amplitude: float) -> PeriodicOrbit:
    """Return a periodic orbit near a steady motion with a pair on the circle."""
    period, pair = _pair(curve, guess, value)
    task = curve.task_at(value)
    # The sizes of resting states are unknown: use those of the oscillation.
    manifold, moves = copy(task.manifold), task.manifold.sizes * np.abs(pair)
    oscillating = moves >= OSCILLATES * np.max(moves)
    scale = float(np.max(manifold.sizes[oscillating] / moves[oscillating]))
    manifold.sizes = np.maximum(manifold.sizes, scale * moves)
    free = replace(task, manifold=manifold, steady=False, free_period=True, pieces=1)
    direction = np.real(pair) * task.sizes / manifold.sizes
    return _aside(curve, free, guess, value, direction, period, amplitude)


def _aside(
    curve: Curve, task: Task, guess: Guess, value: float, direction: np.ndarray, period: float,
    amplitude: float,
) -> PeriodicOrbit:  # fmt: skip
    """Return the orbit of a task whose first place lies aside; solve for the value of the axis."""
    direction = direction / np.linalg.norm(direction)
    first = guess.nodes[0]
    x = first.x + amplitude * (task.sizes * direction)
    start = task.flow.consistent(first.time, x, first.p)
    one = shoot(task, Guess((start,), period, np.zeros(0), guess.alpha))
    onward = Curve(task, curve.axis, one.guess)
    centre = first.x / task.sizes
    ambient = np.zeros(len(onward.vector(one.guess, value)))
    ambient[: len(direction)] = direction

    def aside(linear: LinearEquations, vector: np.ndarray) -> tuple[np.ndarray, float]:
        apart = direction @ (vector[: len(direction)] - centre)
        return ambient @ linear.embedding, float(amplitude - apart)

    return _solved(onward, one.guess, value, aside)


def _crossing(
    curve: Curve, guess: Guess, value: float, along: np.ndarray, amplitude: float
) -> PeriodicOrbit:
    """Return an orbit of the second of two crossing branches.

    Along both branches, the second derivative of F vanishes in the direction that F does not reach.
    Their directions are the two zeros of a quadratic form, one of which belongs to the given
    branch.
    """
    tangents = _tangents(curve, guess, value)
    along = along / np.linalg.norm(along)
    second = min(tangents, key=lambda tangent: abs(float(tangent @ along)))
    first = next(tangent for tangent in tangents if tangent is not second)
    normal = second - first * float(first @ second)
    states = len(curve.task.sizes)
    size = float(np.linalg.norm(second[:states])) or 1.0
    second = second / size
    centre = curve.vector(guess, value)
    far = amplitude * float(normal @ second)

    def aside(linear: LinearEquations, vector: np.ndarray) -> tuple[np.ndarray, float]:
        return normal @ linear.embedding, far - float(normal @ (vector - centre))

    moved, there = curve.moved(guess, value, amplitude * second)
    return _solved(curve, moved, there, aside)


def _tangents(curve: Curve, guess: Guess, value: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the unit tangents of two crossing branches, in scaled unknowns."""
    place = CurveEvaluation(curve, curve.linear(guess, value), value)
    condition, none = Crossing(place), np.zeros(0)
    embedding = place.linear.embedding
    free = singular_directions(place.linear.matrix).right[-2:].T

    def beside(column: np.ndarray, part: float) -> np.ndarray:
        moved, there = curve.moved(guess, value, part * column)
        return condition(CurveEvaluation(curve, curve.linear(moved, there), there), none)

    ways = (embedding @ free).T
    columns = [central_slope(partial(beside, column), DIFFERENCE) for column in ways]
    border = embedding.T @ condition.right
    border = border / np.linalg.norm(border, axis=0)
    form = (border.T @ free).T @ np.array(columns).T
    sizes, axes = np.linalg.eigh((form + form.T) / 2.0)
    if not sizes[0] * sizes[1] < 0.0:
        raise NotPeriodicError("no second branch goes through this point")
    # s^T form s = l_0 a_0^2 + l_1 a_1^2 = 0 for the parts a of s along the axes.
    parts = np.sqrt([sizes[1], -sizes[0]])
    first, second = (embedding @ free @ axes @ (parts * [1.0, sign]) for sign in (1.0, -1.0))
    return first / np.linalg.norm(first), second / np.linalg.norm(second)


def _solved(curve: Curve, guess: Guess, value: float, aside: Extra) -> PeriodicOrbit:
    point = curve.corrected(guess, value, aside, curve.upward(guess), exact=True)
    return finished(curve.task_at(point.value), point.solution, verify=True)

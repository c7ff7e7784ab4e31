"""What is watched at every accepted step: residuals, energy, and the grip of the reactions.

Nothing here depends on where a run is sampled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from daesolve.formulations import OdeProblem
from daesolve.trajectory import Drift, StepBlock
from daesolve.translation import evaluate_block

BINS_PER_DECADE = 10
ROUNDING = 3e-16
"""A residual below this part of its scale has no growth exponent."""
TAIL = 6
"""Steps in a row that show a pivot that passed through zero."""
STRAIGHT = 0.2
"""Relative change of slope below which a line counts as straight."""
LOST_GRIP = 1e-9
"""A relative pivot below this means that constraints have become dependent."""


@dataclass(frozen=True)
class LostGrip:
    """Where reactions lost their grip: when, which goals, and the last step before it."""

    time: float
    goals: tuple[str, ...]
    last_time: float
    last_state: np.ndarray


def _loss(times: np.ndarray, grip: np.ndarray) -> int | None:
    """Return the first step at or beyond which a relative pivot was zero.

    It is below rounding there, or its square root falls in a straight line to zero and rises
    in another from it: the pivot passed through a double zero between two steps.
    """
    below = np.flatnonzero(grip < LOST_GRIP)
    first = int(below[0]) if below.size else None
    root = np.sqrt(np.maximum(grip, 0.0))
    if len(times) < TAIL:
        return first
    width = np.diff(times)
    slope = np.diff(root) / np.where(width == 0.0, np.inf, width)
    before, after = slope[1:-3], slope[3:-1]
    turning = np.flatnonzero((before * after < 0.0) & (root[2:-3] * root[3:-2] > 0.0)) + 2
    for gap in turning:
        if _touches_zero(times, root, slope, int(gap)):
            return int(gap) + 1 if first is None else min(first, int(gap) + 1)
    return first


def _touches_zero(times: np.ndarray, root: np.ndarray, slope: np.ndarray, gap: int) -> bool:
    """Tell whether straight lines from both sides of a gap between steps meet at zero in it."""
    before, after = slope[gap - 1], slope[gap + 1]
    straight = (
        abs(slope[gap - 2] - before) < STRAIGHT * abs(before)
        and abs(slope[gap + 2] - after) < STRAIGHT * abs(after)
        and abs(before + after) < STRAIGHT * abs(before)
    )
    if not straight:
        return False
    from_left = times[gap] - root[gap] / before
    from_right = times[gap + 1] - root[gap + 1] / after
    inside = (from_left - times[gap]) * (from_left - times[gap + 1]) <= 0.0
    near = abs(from_left - from_right) < STRAIGHT * abs(times[gap + 1] - times[gap])
    return bool(inside and near)


class Monitor:
    """Accumulates over the steps of a run.

    Parameters
    ----------
    problem
        What is integrated.
    values
        p as numbers.
    scales
        The scale of each residual in `problem.watched`; NaN for an energy without a scale of its
        own, which takes the largest kinetic energy met.
    start_time
        The start of the run, s.
    """

    def __init__(
        self, problem: OdeProblem, values: np.ndarray, scales: np.ndarray, start_time: float
    ) -> None:
        self.problem, self.values, self.scales = problem, values, scales
        self.start_time = start_time
        count = len(problem.watched)
        names = list(problem.values)
        self._rates = np.array(
            [abs(values[names.index(w.rate)]) if w.rate else 0.0 for w in problem.watched]
        )
        self.largest = np.zeros(count)
        self.last = np.zeros(count)
        self.correction = np.zeros(count)
        self.largest_kinetic = 0.0
        self.smallest_pivots = np.full(len(problem.pivot_goals), np.inf)
        self.lost_grip: LostGrip | None = None
        self._tail = (
            np.empty(0),
            np.empty((0, problem.size)),
            np.empty((0, len(problem.pivot_goals))),
        )
        self._squares: dict[int, np.ndarray] = {}
        self._counts: dict[int, int] = {}
        self._last_time = start_time

    def start(self, state: np.ndarray) -> None:
        """Take in the start of the run."""
        self.observe(StepBlock(np.array([self.start_time]), state[None, :]))

    def observe(self, block: StepBlock) -> None:
        """Take in a block of accepted steps."""
        if len(block.times):
            with np.errstate(all="ignore"):
                self._observe(block)

    def _observe(self, block: StepBlock) -> None:
        table = evaluate_block(self.problem.residuals, block.times, block.states, self.values)[0]
        count = len(self.problem.watched)
        sizes = np.abs(table[:, :count])
        worst = np.where(np.isnan(sizes), np.inf, sizes)
        self.largest = np.maximum(self.largest, worst.max(axis=0, initial=0.0))
        steps = np.abs(np.diff(block.times, prepend=self._last_time))
        before = np.vstack([self.last, sizes[:-1]])
        mean = (0.5 * before + 0.5 * sizes) * steps[:, None]
        self.correction += np.where(self._rates > 0.0, self._rates * mean.sum(axis=0), 0.0)
        self.last = sizes[-1]
        self._last_time = float(block.times[-1])
        self.largest_kinetic = max(self.largest_kinetic, float(np.max(table[:, count])))
        self._bin(block.times, sizes)
        self._watch_grip(block, table[:, count + 1 :])

    def _bin(self, times: np.ndarray, sizes: np.ndarray) -> None:
        elapsed = np.abs(times - self.start_time)
        later = elapsed > 0.0
        if not np.any(later):
            return
        bins = np.floor(BINS_PER_DECADE * np.log10(elapsed[later])).astype(int)
        squares = sizes[later] ** 2
        for number in np.unique(bins):
            chosen = bins == number
            total = squares[chosen].sum(axis=0)
            self._squares[number] = self._squares.get(number, 0.0) + total
            self._counts[number] = self._counts.get(number, 0) + int(chosen.sum())

    def _watch_grip(self, block: StepBlock, pivots: np.ndarray) -> None:
        if not pivots.size or self.lost_grip is not None:
            return
        grip = np.where(np.isnan(pivots), 0.0, pivots)
        self.smallest_pivots = np.minimum(self.smallest_pivots, grip.min(axis=0))
        times = np.concatenate([self._tail[0], block.times])
        states = np.vstack([self._tail[1], block.states])
        grips = np.vstack([self._tail[2], grip])
        lost = [_loss(times, column) for column in grips.T]
        found = [index for index in lost if index is not None]
        if found:
            first = min(found)
            goals = tuple(
                name
                for name, index in zip(self.problem.pivot_goals, lost, strict=True)
                if index is not None and index <= first + 1
            )
            last = max(first - 1, 0)
            self.lost_grip = LostGrip(
                float(times[first]), goals, float(times[last]), states[last].copy()
            )
        self._tail = (times[-TAIL:], states[-TAIL:], grips[-TAIL:])

    def weakest(self) -> tuple[str, ...]:
        """Name the goals whose grip fell furthest, weakest first."""
        order = np.argsort(self.smallest_pivots)
        return tuple(self.problem.pivot_goals[i] for i in order if self.smallest_pivots[i] < 1e-3)

    def drift(self) -> Mapping[str, Drift]:
        """Return the drift of everything that is watched."""
        result: dict[str, Drift] = {}
        for index, watched in enumerate(self.problem.watched):
            scale = float(self.scales[index])
            if math.isnan(scale):
                scale = self.largest_kinetic if self.largest_kinetic > 0 else 1.0
            result[watched.name] = Drift(
                driven=watched.driven,
                max_abs=float(self.largest[index]),
                max_relative=float(self.largest[index]) / scale,
                final_relative=float(self.last[index]) / scale,
                scale=scale,
                correction=float(self.correction[index]) / scale,
                growth_exponent=self._growth(index, scale),
                note=watched.note,
                history=self._history(index, scale),
            )
        return result

    def _history(self, index: int, scale: float) -> tuple[tuple[float, float], ...]:
        return tuple(
            (
                10.0 ** ((number + 0.5) / BINS_PER_DECADE),
                math.sqrt(self._squares[number][index] / self._counts[number]) / scale,
            )
            for number in sorted(self._counts)
        )

    def _growth(self, index: int, scale: float) -> float | None:
        if not self._counts:
            return None
        times, size = np.array(self._history(index, scale)).T
        recent = times > times[-1] / 100.0
        times, size = times[recent], size[recent]
        if len(times) < BINS_PER_DECADE or not np.all(np.isfinite(size)):
            return None
        if size[-1] < ROUNDING or np.any(size == 0.0):
            return None
        return float(np.polyfit(np.log10(times), np.log10(size), 1)[0])

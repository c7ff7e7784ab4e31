"""What is watched at every accepted step: residuals, energy, and the grip of the reactions.

Nothing here depends on where a run is sampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from daesolve.degeneracy import Dependence, RankWatch, restored_dependence
from daesolve.formulations import OdeProblem
from daesolve.passages import Breach, PassageWatch
from daesolve.peaks import PeakWatch
from daesolve.results import Drift, Peak, StepBlock
from daesolve.translation import evaluate_block

BINS_PER_DECADE = 10
ROUNDING = 3e-16
"""A residual below this part of its scale has no growth exponent."""
TAIL = 6
"""Steps in a row that show a pivot that passed through zero."""
STRAIGHT = 0.2
"""Relative change of slope below which a line counts as straight."""
WEAK = 1e-2
"""A goal that is singular at rest, with a relative pivot below this, is at rest with another."""
FIRM = 1e-3
"""A relative pivot above this is not on its way through zero."""
LOST_GRIP = 1e-9
"""A relative pivot below this means that constraints have become dependent."""
LOST_EXACTLY = 1e-14
"""The same where rounding grows as u / sigma alone, and sigma is judged besides."""


@dataclass(frozen=True)
class LostGrip:
    """Where reactions lost their grip: when, which goals, and the last step before it.

    `dependence` is what the singular values of the constraints say there, where that is why.
    """

    time: float
    goals: tuple[str, ...]
    last_time: float
    last_state: np.ndarray
    dependence: Dependence | None = None


@dataclass(frozen=True)
class _Grip:
    """Steps with the relative pivots and the influences of singular goals at their ends."""

    times: np.ndarray
    states: np.ndarray
    grips: np.ndarray
    influences: np.ndarray

    def then(self, later: _Grip) -> _Grip:
        """Join two stretches."""
        return _Grip(
            np.concatenate([self.times, later.times]),
            np.vstack([self.states, later.states]),
            np.vstack([self.grips, later.grips]),
            np.vstack([self.influences, later.influences]),
        )

    def tail(self, count: int) -> _Grip:
        """Return the last steps."""
        parts = (self.times, self.states, self.grips, self.influences)
        return _Grip(*(part[-count:] for part in parts))


def _turned(influence: np.ndarray) -> int | None:
    """Return the first step over which an influence, (k, n), has come to point the other way.

    It is linear in the velocities, and was zero where the motion came to rest in between.
    """
    along = np.sum(influence[1:] * influence[:-1], axis=1)
    turned = np.flatnonzero(along < 0.0)
    return int(turned[0]) + 1 if turned.size else None


def _loss(times: np.ndarray, grip: np.ndarray, lost: float) -> int | None:
    """Return the first step at or beyond which a relative pivot was zero.

    It is below what counts as lost there, or its square root falls in a straight line to zero and
    rises in another from it: the pivot passed through a double zero between two steps.
    """
    below = np.flatnonzero(grip < lost)
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
    surplus
        Goals that depend on the others everywhere, so that they have no grip to lose.
    passes
        Whether the run goes on where constraints lose rank; then it is watched there.
    ranks
        What judges the rank of the constraints where it ends the run; None where nothing does.
    peaks
        Outputs whose largest magnitudes are told.
    """

    def __init__(
        self,
        problem: OdeProblem,
        values: np.ndarray,
        scales: np.ndarray,
        start_time: float,
        *,
        surplus: Sequence[str] = (),
        passes: bool = False,
        ranks: RankWatch | None = None,
        peaks: Sequence[str] = (),
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
        self.breach: Breach | None = None
        self._passages = PassageWatch(problem) if passes and problem.pivot_goals else None
        self._ranks = ranks
        self._peaks = PeakWatch(problem, peaks) if peaks else None
        self._surplus = [problem.pivot_goals.index(name) for name in surplus]
        self._tail: _Grip | None = None
        self._squares: dict[int, np.ndarray] = {}
        self._counts: dict[int, int] = {}
        self._last_time = start_time

    def start(self, state: np.ndarray) -> None:
        """Take in the start of the run."""
        self.observe(StepBlock(np.array([self.start_time]), state[None, :]))

    def change_values(self, values: np.ndarray) -> None:
        """Go on with other discrete values, and with a state that has another meaning."""
        self.values = values
        self._tail = None
        if self._passages is not None:
            self._passages.forget()
        if self._ranks is not None:
            self._ranks.forget()

    @property
    def warned(self) -> Dependence | None:
        """Where constraints first came so near to depending on each other that digits were lost."""
        return None if self._ranks is None else self._ranks.warned

    @property
    def passages(self) -> int:
        """How often the grip of a goal became weak and the run went on."""
        return 0 if self._passages is None else self._passages.count

    def observe(
        self,
        block: StepBlock,
        modes: np.ndarray | None = None,
        values: Sequence[np.ndarray] = (),
    ) -> None:
        """Take in a block of accepted steps; nothing counts after a breach.

        Parameters
        ----------
        block
            The steps.
        modes, values
            Where p differs from step to step, (k,) which of the values each step has.
        """
        if not len(block.times) or self.breach is not None:
            return
        table = self.values if modes is None else np.array([values[int(mode)] for mode in modes])
        if self._peaks is not None:
            self._peaks.observe(block, table)
        with np.errstate(all="ignore"):
            found = evaluate_block(self.problem.residuals, block.times, block.states, table)
            if modes is None:
                self._observe(block, *found)
            elif self._passages is None and self._grip_is_firm(found[0]):
                self._tail = None
                self._observe(block, *found)
            else:
                for part in np.split(np.arange(len(modes)), np.flatnonzero(np.diff(modes)) + 1):
                    self.change_values(values[int(modes[part[0]])])
                    steps = StepBlock(block.times[part], block.states[part])
                    self._observe(steps, *(each[part] for each in found))

    def _grip_is_firm(self, table: np.ndarray) -> bool:
        """Tell whether no step comes near to a loss of grip."""
        grips = table[:, len(self.problem.watched) + 1 :]
        return not self.problem.singular_goals and bool(np.all(grips > FIRM))

    def _observe(self, block: StepBlock, table: np.ndarray, influences: np.ndarray) -> None:
        count = len(self.problem.watched)
        sizes, pivots = np.abs(table[:, :count]), table[:, count + 1 :]
        grips = np.where(np.isnan(pivots), 0.0, pivots)
        grips[:, self._surplus] = 1.0
        kinetic = np.fmax.accumulate(np.fmax(table[:, count], self.largest_kinetic))
        kept = self._judge_passages(block, sizes, grips, kinetic)
        if kept:
            steps = StepBlock(block.times[:kept], block.states[:kept])
            self.largest_kinetic = float(kinetic[kept - 1])
            self._accumulate(steps.times, sizes[:kept])
            self._watch_grip(steps, grips[:kept], influences[:kept])

    def _accumulate(self, times: np.ndarray, sizes: np.ndarray) -> None:
        worst = np.where(np.isnan(sizes), np.inf, sizes)
        self.largest = np.maximum(self.largest, worst.max(axis=0, initial=0.0))
        steps = np.abs(np.diff(times, prepend=self._last_time))
        before = np.vstack([self.last, sizes[:-1]])
        mean = (0.5 * before + 0.5 * sizes) * steps[:, None]
        self.correction += np.where(self._rates > 0.0, self._rates * mean.sum(axis=0), 0.0)
        self.last = sizes[-1]
        self._last_time = float(times[-1])
        self._bin(times, sizes)

    def _judge_passages(
        self, block: StepBlock, sizes: np.ndarray, grips: np.ndarray, kinetic: np.ndarray
    ) -> int:
        """Return how many steps of a block are to be trusted."""
        if self._passages is None:
            return len(block.times)
        states = self.problem.visible(block.times, block.states, self.values)
        velocities = states[:, -self.problem.recover.nnz_out(0) :]
        scales = self._scales(float(kinetic[-1]))
        relative = np.where(np.isnan(sizes), np.inf, sizes) / scales
        self.breach = self._passages.observe(block, velocities, relative, grips)
        if self.breach is None:
            return len(block.times)
        return int(np.sum(np.flatnonzero(block.times == self.breach.last_time)[:1] + 1))

    def _scales(self, kinetic: float) -> np.ndarray:
        """Return the scales; the energy's is the largest kinetic energy, unless one is given."""
        return np.where(np.isnan(self.scales), kinetic if kinetic > 0.0 else 1.0, self.scales)

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

    def _watch_grip(self, block: StepBlock, grips: np.ndarray, influences: np.ndarray) -> None:
        if not grips.size or self.lost_grip is not None:
            return
        self.smallest_pivots = np.minimum(self.smallest_pivots, grips.min(axis=0))
        steps = _Grip(block.times, block.states, grips, influences)
        steps = steps if self._tail is None else self._tail.then(steps)
        carried = len(steps.times) - len(block.times)
        self._tail = steps.tail(TAIL)
        dependence = self._dependence(block, grips)
        lost = self._losses(steps)
        if dependence is not None and carried + dependence[0] <= min(lost.values(), default=np.inf):
            first, told = carried + dependence[0], dependence[1]
            last = max(first - 1, 0)
            self.lost_grip = LostGrip(
                told.time, told.goals, float(steps.times[last]), steps.states[last].copy(), told
            )
            return
        if not lost:
            return
        first = min(lost.values())
        last = max(first - 1, 0)
        weak = steps.grips[last : first + 1].min(axis=0)
        goals = tuple(
            name
            for name, grip in zip(self.problem.pivot_goals, weak, strict=True)
            if lost.get(name, first + 2) <= first + 1
            or (name in self.problem.singular_goals and grip < WEAK)
        )
        told = None
        if self._ranks is not None and not set(goals) <= set(self.problem.singular_goals):
            around = slice(last, first + 1)
            told = self._ranks.judge(
                StepBlock(steps.times[around], steps.states[around]), self.values
            )
        self.lost_grip = LostGrip(
            float(steps.times[first]),
            goals,
            float(steps.times[last]),
            steps.states[last].copy(),
            told,
        )

    def _dependence(self, block: StepBlock, grips: np.ndarray) -> tuple[int, Dependence] | None:
        """Return the first step of a block at which constraints depend on each other, and how."""
        return None if self._ranks is None else self._ranks.observe(block, grips, self.values)

    def _losses(self, steps: _Grip) -> dict[str, int]:
        """Return the first step at which each goal has lost its grip, if it has."""
        singular = self.problem.singular_goals
        parts = np.split(steps.influences, len(singular), axis=1) if singular else ()
        turned = {goal: _turned(part) for goal, part in zip(singular, parts, strict=True)}
        limit = LOST_EXACTLY if self._ranks is not None and self._ranks.exact else LOST_GRIP
        found: dict[str, int] = {}
        for goal, grip in zip(self.problem.pivot_goals, steps.grips.T, strict=True):
            below = limit if goal not in singular else LOST_GRIP
            places = (_loss(steps.times, grip, below), turned.get(goal))
            where = [step for step in places if step is not None]
            if where:
                found[goal] = min(where)
        return found

    def give_up(self, time: float, state: np.ndarray, goals: tuple[str, ...]) -> None:
        """End where no solver could go on, if constraints nearly depend on each other there.

        Parameters
        ----------
        time, state
            Where it came to.
        goals
            Those whose grip has been weak.
        """
        if self._ranks is None or not goals or self.lost_grip is not None:
            return
        seen = self._ranks.judge(StepBlock(np.array([time]), state[None, :]), self.values)
        if seen is not None:
            self.lost_grip = LostGrip(time, goals, time, state.copy(), seen)

    @property
    def settled(self) -> bool:
        """Whether no passage is under way, so that what was taken in will not be taken back."""
        return self._passages is None or not self._passages.inside

    def conditioning(self) -> dict[str, float]:
        """Return the smallest grip of each goal, relative to its typical size."""
        pairs = zip(self.problem.pivot_goals, self.smallest_pivots.tolist(), strict=True)
        return {name: grip for name, grip in pairs if grip < np.inf}

    def peaks(self) -> dict[str, Peak]:
        """Return the largest magnitudes of the outputs that are watched."""
        return {} if self._peaks is None else self._peaks.peaks()

    def saved(self) -> dict[str, Any]:
        """Return all that is known, to go on from in another process."""
        bins = sorted(self._counts)
        return {
            "values": self.values,
            "largest": self.largest,
            "last": self.last,
            "correction": self.correction,
            "largest_kinetic": self.largest_kinetic,
            "smallest_pivots": self.smallest_pivots,
            "last_time": self._last_time,
            "bins": bins,
            "squares": [self._squares[number] for number in bins],
            "counts": [self._counts[number] for number in bins],
            "tail": None if self._tail is None else asdict(self._tail),
            "lost_grip": None if self.lost_grip is None else asdict(self.lost_grip),
            "passages": None if self._passages is None else self._passages.saved(),
            "ranks": None if self._ranks is None else self._ranks.saved(),
            "peaks": None if self._peaks is None else self._peaks.saved(),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from what `saved` returned."""
        self.values, self.largest, self.last, self.correction, self.smallest_pivots = (
            np.array(saved[name], dtype=float)
            for name in ("values", "largest", "last", "correction", "smallest_pivots")
        )
        self.largest_kinetic = float(saved["largest_kinetic"])
        self._last_time = float(saved["last_time"])
        rows = zip(saved["bins"], saved["squares"], saved["counts"], strict=True)
        for number, squares, count in rows:
            self._squares[int(number)] = np.array(squares, dtype=float)
            self._counts[int(number)] = int(count)
        tail, lost = saved["tail"], saved["lost_grip"]
        if tail is not None:
            count = len(tail["times"])
            parts = (tail[name] for name in ("times", "states", "grips", "influences"))
            times, *tables = (np.array(part, dtype=float) for part in parts)
            self._tail = _Grip(times, *(table.reshape(count, -1) for table in tables))
        if lost is not None:
            state = np.array(lost["last_state"], dtype=float)
            times = float(lost["time"]), float(lost["last_time"])
            told = restored_dependence(lost["dependence"])
            self.lost_grip = LostGrip(times[0], tuple(lost["goals"]), times[1], state, told)
        if self._passages is not None:
            self._passages.restore(saved["passages"])
        if self._ranks is not None:
            self._ranks.restore(saved["ranks"])
        if self._peaks is not None:
            self._peaks.restore(saved["peaks"])

    def weakest(self) -> tuple[str, ...]:
        """Name the goals whose grip fell furthest, weakest first."""
        order: list[int] = np.argsort(self.smallest_pivots).tolist()
        return tuple(self.problem.pivot_goals[i] for i in order if self.smallest_pivots[i] < 1e-3)

    def drift(self) -> Mapping[str, Drift]:
        """Return the drift of everything that is watched."""
        result: dict[str, Drift] = {}
        scales = self._scales(self.largest_kinetic)
        times, sizes = self._histories(scales)
        for index, watched in enumerate(self.problem.watched):
            scale = float(scales[index])
            result[watched.name] = Drift(
                driven=watched.driven,
                max_abs=float(self.largest[index]),
                max_relative=float(self.largest[index]) / scale,
                final_relative=float(self.last[index]) / scale,
                scale=scale,
                correction=float(self.correction[index]) / scale,
                growth_exponent=_growth(times, sizes[:, index]),
                note=watched.note,
                history=tuple(zip(times.tolist(), sizes[:, index].tolist(), strict=True)),
            )
        return result

    def _histories(self, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the middles of the bins, (k,) s, and what was in them over the scales, (k, n)."""
        numbers = np.array(sorted(self._counts), dtype=float)
        rows = [np.sqrt(self._squares[n] / self._counts[n]) / scales for n in sorted(self._counts)]
        table = np.array(rows).reshape(len(rows), len(scales))
        return 10.0 ** ((numbers + 0.5) / BINS_PER_DECADE), table


def _growth(times: np.ndarray, size: np.ndarray) -> float | None:
    """Return the slope of a history, in log-log, over the last two decades of time."""
    recent = times > times[-1] / 100.0 if times.size else np.zeros(0, dtype=bool)
    times, size = times[recent], size[recent]
    if len(times) < BINS_PER_DECADE or not np.all(np.isfinite(size)):
        return None
    if size[-1] < ROUNDING or np.any(size == 0.0):
        return None
    return float(np.polyfit(np.log10(times), np.log10(size), 1)[0])

"""Whether reactions keep their grip on the goals: the pivots of the elimination along a motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from daesolve.core.formulations import OdeProblem
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.watches.rank_watch import (
    Dependence,
    RankWatch,
    restored_dependence,
)
from daesolve.core.run.integration.watches.watch import Loss, MeasuredSteps, Watch, step_accuracy

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
LIGHT = 1e-6
"""A grip that is usually below this is so by the masses of light bodies: less counts as lost."""
LOST_EXACTLY = 1e-14
"""The same where rounding grows as u / sigma alone, and sigma is judged besides."""


FAINT = 1e-3
"""A weaker grip is reported where a run ends because of it."""


@dataclass(frozen=True)
class LostGrip(Loss):
    """Where the reactions of goals lost their grip.

    `dependence` is what the singular values of the constraints say there, where that is why.
    """

    goals: tuple[str, ...]
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


class GripWatch(Watch):
    """Judges the grips of goals.

    Parameters
    ----------
    problem
        What is integrated.
    ranks
        What judges the rank of the constraints where it ends the run; None if nothing does.
    passes
        Whether the run continues where constraints lose rank.
    steps_over
        Whether the solver steps over an instant of rest, where goals that are singular there have
        no grip.

    Attributes
    ----------
    smallest
        The smallest grip of each goal, relative to its typical size.
    lost
        Where a grip was lost first, whether or not that ends the run.
    """

    name, when = "grip", "problem.pivot_goals"

    def __init__(
        self,
        problem: OdeProblem,
        ranks: RankWatch | None = None,
        *,
        passes: bool = False,
        steps_over: bool = False,
    ) -> None:
        self.problem, self.ranks = problem, ranks
        self._passes, self._steps_over = passes, steps_over
        self.smallest = np.full(len(problem.pivot_goals), np.inf)
        self.lost: LostGrip | None = None
        self._tail: _Grip | None = None

    @classmethod
    def of(cls, prepared: Prepared) -> Self:
        """Watch where goals have reactions; their rank as well, unless the run passes losses."""
        ranks = None if prepared.passes else _rank_watch(prepared)
        steps_over = prepared.solver.steps_over
        return cls(prepared.problem, ranks, passes=prepared.passes, steps_over=steps_over)

    def judge(self, steps: MeasuredSteps) -> Loss | None:
        """Look for the first step at which a grip is lost."""
        if self.lost is not None:
            return None
        self.smallest = np.minimum(self.smallest, steps.grips.min(axis=0))
        if steps.joined:
            self._tail = None
        grip = _Grip(steps.times, steps.states, steps.grips, steps.influences)
        grip = grip if self._tail is None else self._tail.then(grip)
        carried = len(grip.times) - len(steps.times)
        self._tail = grip.tail(TAIL)
        values = steps.values[0] if steps.joined else steps.values
        seen = None if self.ranks is None else self.ranks.observe(steps.block, steps.grips, values)
        losses = self._losses(grip)
        if seen is not None and carried + seen[0] <= min(losses.values(), default=np.inf):
            first, dependence = carried + seen[0], seen[1]
            return self._lost(grip, first, dependence.time, dependence.goals, dependence)
        if not losses:
            return None
        first = min(losses.values())
        around = slice(max(first - 1, 0), first + 1)
        weak = grip.grips[around].min(axis=0)
        goals = tuple(
            name
            for name, pivot in zip(self.problem.pivot_goals, weak, strict=True)
            if losses.get(name, first + 2) <= first + 1
            or (name in self.problem.singular_goals and pivot < WEAK)
        )
        dependence = None
        if self.ranks is not None and not set(goals) <= set(self.problem.singular_goals):
            place = StepBlock(grip.times[around], grip.states[around])
            dependence = self.ranks.judge(place, values)
        return self._lost(grip, first, float(grip.times[first]), goals, dependence)

    def _lost(
        self,
        grip: _Grip,
        first: int,
        time: float,
        goals: tuple[str, ...],
        dependence: Dependence | None,
    ) -> Loss | None:
        last = max(first - 1, 0)
        place = float(grip.times[last]), grip.states[last].copy()
        return self._record(LostGrip(time, *place, goals, dependence))

    @property
    def ending(self) -> Loss | None:
        """The loss that ends the run; None if there is none, or the run goes on past it."""
        if self.lost is None or self._passes:
            return None
        at_rest = set(self.lost.goals) <= set(self.problem.singular_goals)
        return None if at_rest and self._steps_over else self.lost

    def _record(self, lost: LostGrip) -> Loss | None:
        """Remember a loss; return it if it ends the run."""
        self.lost = lost
        return self.ending

    def _losses(self, steps: _Grip) -> dict[str, int]:
        """Return the first step at which each goal has lost its grip, if it has."""
        singular = self.problem.singular_goals
        parts = np.split(steps.influences, len(singular), axis=1) if singular else ()
        turned = {goal: first_turn(part) for goal, part in zip(singular, parts, strict=True)}
        limit = LOST_EXACTLY if self.ranks is not None and self.ranks.exact else LOST_GRIP
        usual = {} if self.ranks is None else self.ranks.usual_grips()
        found: dict[str, int] = {}
        for goal, grip in zip(self.problem.pivot_goals, steps.grips.T, strict=True):
            below = limit if goal not in singular else LOST_GRIP
            if usual.get(goal, 1.0) < LIGHT:
                below = min(below, max(LOST_GRIP * usual[goal], LOST_EXACTLY / 10.0))
            places = (first_loss(steps.times, grip, below), turned.get(goal))
            where = [step for step in places if step is not None]
            if where:
                found[goal] = min(where)
        return found

    def needs_modes(self, grips: np.ndarray) -> bool:
        """Return whether a step comes near to a loss of grip."""
        return bool(self.problem.singular_goals) or not np.all(grips > FIRM)

    def forget(self) -> None:
        """Continue with a state whose meaning has changed."""
        self._tail = None
        if self.ranks is not None:
            self.ranks.forget()

    def unsettled(self) -> tuple[float, int] | None:
        """Return the begin of the steps that may yet show a pivot that passed through zero."""
        if self._tail is None or self.lost is not None or self._passes:
            return None
        return float(self._tail.times[0]), TAIL

    def give_up(
        self, time: float, state: np.ndarray, p: np.ndarray, goals: tuple[str, ...]
    ) -> Loss | None:
        """End if constraints nearly depend on each other where no solver could continue."""
        seen = None if self.lost is not None or not goals else self._dependence(time, state, p)
        return seen and self._record(LostGrip(time, time, state.copy(), goals, seen))

    def behind(self, loss: Loss, p: np.ndarray) -> Loss | None:
        """Return the loss of which a goal that is missed is a sign: that all lose their grip."""
        seen = self._dependence(loss.last_time, loss.last_state, p)
        if seen is None:
            return loss
        return self._record(LostGrip(loss.time, loss.last_time, loss.last_state, seen.goals, seen))

    def _dependence(self, time: float, state: np.ndarray, p: np.ndarray) -> Dependence | None:
        place = StepBlock(np.array([time]), state[None, :])
        return None if self.ranks is None else self.ranks.judge(place, p)

    def weakest(self) -> tuple[str, ...]:
        """Name the goals whose grip fell furthest, weakest first."""
        if not np.count_nonzero(self.smallest < FAINT):
            return ()
        order: list[int] = np.argsort(self.smallest).tolist()
        return tuple(self.problem.pivot_goals[i] for i in order if self.smallest[i] < FAINT)

    def notes(self, *, ended: bool) -> list[str]:
        """Say where grips were lost or nearly so, and the run went on."""
        notes: list[str] = []
        lost, warned = self.lost, None if self.ranks is None else self.ranks.warned
        if lost is not None and not ended and not self._passes:
            at_rest = set(lost.goals) <= set(self.problem.singular_goals)
            notes.append(
                f"went on past t = {lost.time:.10g} s, where {', '.join(lost.goals)} lost "
                "their influence, and wherever they did so again"
                + (": at rest the goals do not determine the motion" if at_rest else "")
            )
        if warned is not None and not ended:
            notes.append(
                f"at t = {warned.time:.10g} s {warned.sentence}, below {warned.threshold:.3g}: "
                "rounding costs more digits there than the tolerance"
            )
        return notes

    def saved(self) -> dict[str, Any]:
        """Return all that is known, so that another process can resume."""
        return {
            "smallest_pivots": self.smallest,
            "tail": None if self._tail is None else asdict(self._tail),
            "lost_grip": None if self.lost is None else asdict(self.lost),
            "ranks": None if self.ranks is None else self.ranks.saved(),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what `saved` returned."""
        self.smallest = np.array(saved["smallest_pivots"], dtype=float)
        tail, lost = saved["tail"], saved["lost_grip"]
        if tail is not None:
            count = len(tail["times"])
            parts = (tail[name] for name in ("times", "states", "grips", "influences"))
            times, *tables = (np.array(part, dtype=float) for part in parts)
            self._tail = _Grip(times, *(table.reshape(count, -1) for table in tables))
        if lost is not None:
            place = float(lost["last_time"]), np.array(lost["last_state"], dtype=float)
            seen = restored_dependence(lost["dependence"])
            self.lost = LostGrip(float(lost["time"]), *place, tuple(lost["goals"]), seen)
        if self.ranks is not None:
            self.ranks.restore(saved["ranks"])


def _rank_watch(prepared: Prepared) -> RankWatch:
    return RankWatch(
        prepared.dynamics,
        prepared.problem,
        prepared.values,
        prepared.samples,
        step_accuracy(prepared),
        prepared.surplus,
        shares=prepared.problem.plan.proximal and prepared.dynamics.shares_loads,
    )


def first_turn(influence: np.ndarray) -> int | None:
    """Return the first step over which an influence, (k, n), has come to point the other way.

    It is linear in the velocities, and was zero where the motion came to rest in between.
    """
    along = np.sum(influence[1:] * influence[:-1], axis=1)
    turned = np.flatnonzero(along < 0.0)
    return int(turned[0]) + 1 if turned.size else None


def first_loss(times: np.ndarray, grip: np.ndarray, lost: float) -> int | None:
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
    touching = turning[_touches_zero(times, root, slope, turning)]
    if touching.size:
        passed = int(touching[0]) + 1
        return passed if first is None else min(first, passed)
    return first


def _touches_zero(
    times: np.ndarray, root: np.ndarray, slope: np.ndarray, gaps: np.ndarray
) -> np.ndarray:
    """Return whether straight lines from both sides of gaps between steps meet at zero in them."""
    before, after = slope[gaps - 1], slope[gaps + 1]
    straight = np.abs(slope[gaps - 2] - before) < STRAIGHT * np.abs(before)
    straight &= np.abs(slope[gaps + 2] - after) < STRAIGHT * np.abs(after)
    straight &= np.abs(before + after) < STRAIGHT * np.abs(before)
    start, end = times[gaps], times[gaps + 1]
    from_left, from_right = start - root[gaps] / before, end - root[gaps + 1] / after
    inside = (from_left - start) * (from_left - end) <= 0.0
    near = np.abs(from_left - from_right) < STRAIGHT * np.abs(end - start)
    return straight & inside & near

"""Monitors every accepted step: residuals, energy, and the grip of the reactions.

Nothing here depends on where a run is sampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.formulations import OdeProblem, Watched
from daesolve.core.results.trajectory.results import Drift, Peak, StepBlock
from daesolve.core.run.integration.watches.degeneracy import (
    Dependence,
    RankWatch,
    restored_dependence,
)
from daesolve.core.run.integration.watches.first_steps import FirstSteps
from daesolve.core.run.integration.watches.following import FollowingWatch
from daesolve.core.run.integration.watches.kept_steps import KeptSteps
from daesolve.core.run.integration.watches.losses import (
    FIRM,
    LIGHT,
    LOST_EXACTLY,
    LOST_GRIP,
    TAIL,
    WEAK,
    Grip,
    LostGrip,
    NotFinite,
    first_loss,
    first_turn,
)
from daesolve.core.run.integration.watches.passages import INDEPENDENT, Breach, PassageWatch
from daesolve.core.run.integration.watches.step_statistics import (
    PeakWatch,
    PendingSteps,
    nothing_seen,
    restored_peaks,
    restored_pending_steps,
)

FAINT = 1e-3
"""A weaker grip is reported where a run ends because of it."""


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
        Whether the run continues where constraints lose rank; then it is watched there.
    steps_over
        Whether the solver steps over an instant of rest, where goals that are singular there have
        no grip.
    ranks
        What judges the rank of the constraints where it ends the run; None if nothing does.
    peaks
        Outputs whose largest magnitudes are reported.
    least_kinetic
        The kinetic energy that is no more than rounding, J.
    agreement
        The part of its scale that the residual of a goal that follows from others may reach.
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
        steps_over: bool = False,
        ranks: RankWatch | None = None,
        peaks: Sequence[str] = (),
        least_kinetic: float = 0.0,
        agreement: float = np.inf,
    ) -> None:
        self.problem, self.values, self.scales = problem, values, scales
        self.start_time = start_time
        names = list(problem.values)
        rates = [abs(values[names.index(w.rate)]) if w.rate else 0.0 for w in problem.watched]
        self._sizes = nothing_seen(start_time, np.array(rates))
        self.smallest_pivots = np.full(len(problem.pivot_goals), np.inf)
        self.lost_grip: LostGrip | None = None
        self.breach: Breach | None = None
        self.not_finite: NotFinite | None = None
        self._last: tuple[float, np.ndarray] | None = None
        self._passes, self._steps_over = passes, steps_over
        self._least_kinetic = least_kinetic
        self._following = FollowingWatch(problem, scales, agreement, start_time)
        self._passages = PassageWatch(problem) if passes and problem.pivot_goals else None
        self._ranks = ranks
        self._peak_watch = PeakWatch(problem, peaks)
        self._peaks = self._peak_watch.nothing_seen()
        self._surplus = [problem.pivot_goals.index(name) for name in surplus]
        self._tail: Grip | None = None
        self._pending: list[PendingSteps] = []
        self._notes: dict[str, str] = {}
        self.first_steps, self.kept_steps = FirstSteps(), KeptSteps()

    def start(self, state: np.ndarray) -> None:
        """Take in the start of the run."""
        self.observe(StepBlock(np.array([self.start_time]), state[None, :]))

    def change_values(self, values: np.ndarray) -> None:
        """Continue with other discrete values, and with a state whose meaning has changed."""
        self.values = values
        self._tail = self._last = None
        if self._passages is not None:
            self._passages.forget()
        if self._ranks is not None:
            self._ranks.forget()

    def measure_only(self, goal: str, note: str) -> None:
        """Record that a goal is no longer driven, with a note for the report."""
        self._notes[goal] = note
        rates = self._sizes.rates.copy()
        rates[[watched.goal == goal for watched in self.problem.watched]] = 0.0
        self._sizes = self._sizes.driven_at(rates)
        self._pending = [steps.driven_at(rates) for steps in self._pending]

    @property
    def warned(self) -> Dependence | None:
        """Where constraints first came so near to depending on each other that digits were lost."""
        return None if self._ranks is None else self._ranks.warned

    @property
    def over(self) -> bool:
        """Whether something was seen that ends the run."""
        if self.breach is not None or self.not_finite is not None:
            return True
        if self.lost_grip is None or self._passes:
            return False
        at_rest = set(self.lost_grip.goals) <= set(self.problem.singular_goals)
        return not (at_rest and self._steps_over)

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
        """Take in a block of accepted steps; nothing counts of what the run does not keep.

        Parameters
        ----------
        block
            The steps.
        modes, values
            Where p differs from step to step, (k,) which of the values each step has.
        """
        if not len(block.times) or self.over:
            return
        self.first_steps.take(block)
        table = self.values if modes is None else np.array([values[int(mode)] for mode in modes])
        self.kept_steps.take(block, table)
        with np.errstate(all="ignore"):
            outputs = self._peak_watch.outputs(block, table)
            sizes, influences = evaluate_block(
                self.problem.residuals, block.times, block.states, table
            )
            if modes is None:
                self._observe(block, sizes, influences, outputs)
            elif self._passages is None and self._grip_is_firm(sizes):
                self._tail = None
                self._observe(block, sizes, influences, outputs)
            else:
                for part in np.split(np.arange(len(modes)), np.flatnonzero(np.diff(modes)) + 1):
                    if self.over:
                        return
                    self.change_values(values[int(modes[part[0]])])
                    steps = StepBlock(block.times[part], block.states[part])
                    self._observe(steps, sizes[part], influences[part], outputs[part])

    def _grip_is_firm(self, table: np.ndarray) -> bool:
        """Return whether no step comes near to a loss of grip."""
        grips = table[:, len(self.problem.watched) + 1 :]
        return not self.problem.singular_goals and bool(np.all(grips > FIRM))

    def _observe(
        self, block: StepBlock, table: np.ndarray, influences: np.ndarray, outputs: np.ndarray
    ) -> None:
        count = len(self.problem.watched)
        residuals, pivots = table[:, :count], table[:, count + 1 :]
        sizes = np.abs(residuals)
        grips = np.where(np.isnan(pivots), 0.0, pivots)
        grips[:, self._surplus] = 1.0
        kinetic = np.fmax.accumulate(np.fmax(table[:, count], self._sizes.kinetic))
        kept = self._judge_passages(block, sizes, grips, kinetic)
        if self._following.watches and self.breach is None:
            self.breach = self._following.observe(block, sizes)
            kept = kept if self.breach is None else 0
        if kept:
            steps = StepBlock(block.times[:kept], block.states[:kept])
            self._watch_grip(steps, grips[:kept], influences[:kept])
        if not self.over:
            self._watch_numbers(block, table[:, : count + 1])
        before = self._sizes, self._peaks
        seen = PendingSteps(block.times, residuals, outputs, kinetic, lambda: before)
        self._pending.append(seen)
        self._take(seen, len(seen.times))
        lost = self.breach or self.not_finite or self.lost_grip
        if lost is not None and self.over:
            self._take_back(lost.last_time)
        else:
            self._settle()

    def _watch_numbers(self, block: StepBlock, table: np.ndarray) -> None:
        """See that residuals and the kinetic energy, the last column, are numbers."""
        finite = np.isfinite(table)
        if np.all(finite) or self._passes:
            self._last = float(block.times[-1]), block.states[-1].copy()
            return
        first = int(np.flatnonzero(~np.all(finite, axis=1))[0])
        names = [*(f"the residual {w.name!r}" for w in self.problem.watched), "the kinetic energy"]
        what = names[int(np.flatnonzero(~finite[first])[0])]
        if first:
            self._last = float(block.times[first - 1]), block.states[first - 1].copy()
        time = float(block.times[first])
        self.not_finite = NotFinite(what, time, *(self._last or (time, block.states[0].copy())))

    def _take(self, steps: PendingSteps, count: int) -> None:
        """Take in the first of some steps, instead of all that was seen since before them."""
        self._sizes, self._peaks = steps.with_first(count)

    def _beyond(self, steps: PendingSteps, time: float) -> int:
        """Return the first step that ends beyond a time, in the direction of the run."""
        inside = np.abs(steps.times - self.start_time) <= abs(time - self.start_time)
        return int(np.sum(np.logical_and.accumulate(inside)))

    def _take_back(self, last_time: float) -> None:
        """Forget the steps beyond the last that the run keeps."""
        for steps in self._pending:
            kept = self._beyond(steps, last_time)
            if kept < len(steps.times):
                self._take(steps, kept)
                return

    def _settle(self) -> None:
        """Let go of the steps that nothing to come can take back."""
        if self._following.watches:
            since, most = self._following.looked, len(self._pending)
        elif self._passages is not None:
            # What a passage takes back, it takes back to where it began.
            since, most = self._passages.entered, 1
        else:
            since = float(self._tail.times[0]) if self._tail and self.lost_grip is None else None
            most = TAIL
        counts = [] if since is None else [self._beyond(s, since) for s in self._pending]
        later = zip(self._pending, counts, strict=False)
        self._pending = [s.after(count) for s, count in later if count < len(s.times)][:most]

    def _judge_passages(
        self, block: StepBlock, sizes: np.ndarray, grips: np.ndarray, kinetic: np.ndarray
    ) -> int:
        """Return how many steps of a block can be trusted."""
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

    @property
    def sees_peaks(self) -> bool:
        """Whether peaks of outputs are to be found."""
        return bool(self._peak_watch.names)

    def see(self, block: StepBlock, values: np.ndarray) -> None:
        """Look at the peaks alone, at places that are no ends of steps."""
        if len(block.times) and self.sees_peaks and not self.over:
            with np.errstate(all="ignore"):
                outputs = self._peak_watch.outputs(block, values)
            self._peaks = self._peaks.then(block.times, outputs)

    def look(self, block: StepBlock, values: np.ndarray, until: float) -> None:
        """Look at goals that follow from others, and at them alone, within steps up to a time."""
        if not self._following.watches:
            return
        seen = self.breach is not None and self.breach.event == INDEPENDENT
        if self.over and not seen:
            return
        self.breach = self._following.look(block, values, until, self.breach)
        self._lost_where_missed(values)
        lost = self.breach or self.lost_grip
        if lost is not None:
            self._take_back(lost.last_time)

    def _lost_where_missed(self, values: np.ndarray) -> None:
        """Take a goal that is missed where all goals lose their grip for a sign of that alone."""
        breach, ranks = self.breach, self._ranks
        if breach is None or breach.event != INDEPENDENT or ranks is None:
            return
        place = StepBlock(np.array([breach.last_time]), breach.last_state[None, :])
        seen = ranks.judge(place, values)
        if seen is not None:
            self.breach, lost = None, (breach.time, seen.goals, breach.last_time)
            self.lost_grip = LostGrip(*lost, breach.last_state, seen)

    def _scales(self, kinetic: float) -> np.ndarray:
        """Return the scales; the energy's is the largest kinetic energy, unless one is given."""
        largest = kinetic if kinetic > self._least_kinetic else 1.0
        return np.where(np.isnan(self.scales), largest, self.scales)

    def _watch_grip(self, block: StepBlock, grips: np.ndarray, influences: np.ndarray) -> None:
        if not grips.size or self.lost_grip is not None:
            return
        self.smallest_pivots = np.minimum(self.smallest_pivots, grips.min(axis=0))
        steps = Grip(block.times, block.states, grips, influences)
        steps = steps if self._tail is None else self._tail.then(steps)
        carried = len(steps.times) - len(block.times)
        self._tail = steps.tail(TAIL)
        dependence = self._dependence(block, grips)
        lost = self._losses(steps)
        if dependence is not None and carried + dependence[0] <= min(lost.values(), default=np.inf):
            first, seen = carried + dependence[0], dependence[1]
            last = max(first - 1, 0)
            self.lost_grip = LostGrip(
                seen.time, seen.goals, float(steps.times[last]), steps.states[last].copy(), seen
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
        seen = None
        if self._ranks is not None and not set(goals) <= set(self.problem.singular_goals):
            around = slice(last, first + 1)
            seen = self._ranks.judge(
                StepBlock(steps.times[around], steps.states[around]), self.values
            )
        self.lost_grip = LostGrip(
            float(steps.times[first]),
            goals,
            float(steps.times[last]),
            steps.states[last].copy(),
            seen,
        )

    def _dependence(self, block: StepBlock, grips: np.ndarray) -> tuple[int, Dependence] | None:
        """Return the first step of a block at which constraints depend on each other, and how."""
        return None if self._ranks is None else self._ranks.observe(block, grips, self.values)

    def _losses(self, steps: Grip) -> dict[str, int]:
        """Return the first step at which each goal has lost its grip, if it has."""
        singular = self.problem.singular_goals
        parts = np.split(steps.influences, len(singular), axis=1) if singular else ()
        turned = {goal: first_turn(part) for goal, part in zip(singular, parts, strict=True)}
        limit = LOST_EXACTLY if self._ranks is not None and self._ranks.exact else LOST_GRIP
        usual = {} if self._ranks is None else self._ranks.usual_grips()
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

    def give_up(self, time: float, state: np.ndarray, goals: tuple[str, ...]) -> None:
        """End where no solver could continue, if constraints nearly depend on each other there.

        Where a run is to pass them, it ends before the passage that the solver could not make.

        Parameters
        ----------
        time, state
            Where it came to.
        goals
            Those whose grip has been weak.
        """
        if self._passages is not None and self.breach is None:
            self.breach = self._passages.given_up(time, goals)
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
        """Return the largest magnitudes of the watched outputs."""
        return self._peak_watch.named(self._peaks)

    def saved(self) -> dict[str, Any]:
        """Return all that is known, so that another process can resume."""
        return {
            **self._sizes.saved(),
            "values": self.values,
            "smallest_pivots": self.smallest_pivots,
            "tail": None if self._tail is None else asdict(self._tail),
            "lost_grip": None if self.lost_grip is None else asdict(self.lost_grip),
            "passages": None if self._passages is None else self._passages.saved(),
            "ranks": None if self._ranks is None else self._ranks.saved(),
            "following": self._following.saved(),
            "peaks": self._peaks.saved(),
            "unsettled": [steps.saved() for steps in self._pending],
            "kept_steps": self.kept_steps.saved(),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what `saved` returned."""
        self._sizes = self._sizes.restored(saved)
        self.values, self.smallest_pivots = (
            np.array(saved[name], dtype=float) for name in ("values", "smallest_pivots")
        )
        tail, lost = saved["tail"], saved["lost_grip"]
        if tail is not None:
            count = len(tail["times"])
            parts = (tail[name] for name in ("times", "states", "grips", "influences"))
            times, *tables = (np.array(part, dtype=float) for part in parts)
            self._tail = Grip(times, *(table.reshape(count, -1) for table in tables))
        if lost is not None:
            state = np.array(lost["last_state"], dtype=float)
            times = float(lost["time"]), float(lost["last_time"])
            seen = restored_dependence(lost["dependence"])
            self.lost_grip = LostGrip(times[0], tuple(lost["goals"]), times[1], state, seen)
        if self._passages is not None:
            self._passages.restore(saved["passages"])
        if self._ranks is not None:
            self._ranks.restore(saved["ranks"])
        self._following.restore(saved["following"])
        self._peaks = restored_peaks(saved["peaks"])
        self._pending = [restored_pending_steps(steps, self._sizes) for steps in saved["unsettled"]]
        self.first_steps, self.kept_steps = FirstSteps(), KeptSteps()
        self.kept_steps.restore(saved.get("kept_steps"))

    def weakest(self) -> tuple[str, ...]:
        """Name the goals whose grip fell furthest, weakest first."""
        if not np.count_nonzero(self.smallest_pivots < FAINT):
            return ()
        order: list[int] = np.argsort(self.smallest_pivots).tolist()
        return tuple(self.problem.pivot_goals[i] for i in order if self.smallest_pivots[i] < FAINT)

    def drift(self) -> Mapping[str, Drift]:
        """Return the drift of everything watched."""
        return self._sizes.drift(self._watched(), self._scales(self._sizes.kinetic))

    def _watched(self) -> list[Watched]:
        """Return the watched residuals, with the notes from the run."""
        return [
            replace(each, note="; ".join(filter(None, (each.note, self._notes.get(each.goal)))))
            for each in self.problem.watched
        ]

    def untrusted(self) -> dict[str, str]:
        """Return which residuals cannot be trusted, by name."""
        return self._sizes.untrusted(self._watched(), self._scales(self._sizes.kinetic))

    def untrusted_sentence(self) -> str:
        """Return which residuals show that the numbers cannot be trusted; empty if none does."""
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.untrusted().items():
            by_reason.setdefault(reason, []).append(name)
        parts = [f"the residual of {', '.join(own)} {why}" for why, own in by_reason.items()]
        return f"not to be trusted: {' and '.join(parts)}" if parts else ""

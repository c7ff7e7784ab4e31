"""Monitors every accepted step: residuals, energy, and what the watches of a run look at.

Nothing here depends on where a run is sampled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np

from daesolve.core.formulations import OdeProblem, Watched
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.results import Drift, Peak, StepBlock
from daesolve.core.run.integration.record import RunRecord
from daesolve.core.run.integration.watches.first_steps import FirstSteps
from daesolve.core.run.integration.watches.following_watch import FollowingWatch
from daesolve.core.run.integration.watches.grip_watch import GripWatch, LostGrip
from daesolve.core.run.integration.watches.passage_watch import INDEPENDENT, Breach, PassageWatch
from daesolve.core.run.integration.watches.step_statistics import (
    PeakWatch,
    PendingSteps,
    nothing_seen,
    restored_peaks,
    restored_pending_steps,
)
from daesolve.core.run.integration.watches.watch import (
    Loss,
    MeasuredSteps,
    Watch,
    restore_states,
    saved_states,
)
from daesolve.core.solvers import EventHit

LOOKS_IN_STEP = 4
"""Looks within a mean step."""
LOOKS_IN_RUN = 2000
"""The least number of looks in a run."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
Kind = TypeVar("Kind", bound=Watch)


@dataclass(frozen=True)
class NotFinite(Loss):
    """The first residual or energy that is not finite."""

    what: str


class NumberWatch(Watch):
    """Sees that residuals and the kinetic energy are numbers."""

    def __init__(self, problem: OdeProblem) -> None:
        self.problem = problem
        self._last: tuple[float, np.ndarray] | None = None

    @classmethod
    def of(cls, prepared: Prepared) -> Self | None:
        """Watch unless the run passes positions where they need not be."""
        return None if prepared.passes else cls(prepared.problem)

    def judge(self, steps: MeasuredSteps) -> Loss | None:
        """Return where one is not finite."""
        finite = np.isfinite(np.column_stack([steps.residuals, steps.kinetic]))
        if np.all(finite):
            self._last = float(steps.times[-1]), steps.states[-1].copy()
            return None
        first = int(np.flatnonzero(~np.all(finite, axis=1))[0])
        named = [f"the residual {w.name!r}" for w in self.problem.watched]
        what = [*named, "the kinetic energy"][int(np.flatnonzero(~finite[first])[0])]
        if first:
            self._last = float(steps.times[first - 1]), steps.states[first - 1].copy()
        time = float(steps.times[first])
        return NotFinite(time, *(self._last or (time, steps.states[0].copy())), what)

    def forget(self) -> None:
        """Continue with a state whose meaning has changed."""
        self._last = None


class Monitor:
    """Accumulates over the steps of a run, and shows them to its watches.

    Parameters
    ----------
    prepared
        The run. A scale is NaN for an energy without a scale of its own, which takes the largest
        kinetic energy met.
    watches
        What else looks at the run, in the order in which they judge steps.

    Attributes
    ----------
    loss
        Where a watch has ended the run; None while it goes on.
    """

    def __init__(self, prepared: Prepared, watches: Sequence[Watch] = ()) -> None:
        self.prepared, self.problem, self.values = prepared, prepared.problem, prepared.values
        self.scales, self.start_time = prepared.scales, prepared.start_time
        self.watches = watches
        names = list(self.problem.values)
        rates = [abs(self.values[names.index(w.rate)]) if w.rate else 0.0
                 for w in self.problem.watched]  # fmt: skip
        self._sizes = nothing_seen(self.start_time, np.array(rates))
        self._peak_watch = PeakWatch(self.problem, prepared.dynamics.peaks)
        self._peaks = self._peak_watch.nothing_seen()
        self._surplus = [self.problem.pivot_goals.index(name) for name in prepared.surplus]
        self.loss: Loss | None = None
        self._pending: list[PendingSteps] = []
        self._notes: dict[str, str] = {}
        self.grip, self._following = self.watch(GripWatch), self.watch(FollowingWatch)
        self._passages = self.watch(PassageWatch)
        self.first_steps = self.watch(FirstSteps) or FirstSteps()
        self._takers = [watch.take for watch in self._defining("take")]
        self._judges = [watch.judge for watch in self._defining("judge")]
        self._unsettling = self._defining("unsettled")

    def watch(self, kind: type[Kind]) -> Kind | None:
        """Return the watch of a kind; None if there is none in this run."""
        return next((watch for watch in self.watches if isinstance(watch, kind)), None)

    def _defining(self, hook: str) -> list[Watch]:
        """Return the watches that define a method, so that the others cost nothing."""
        return [w for w in self.watches if getattr(type(w), hook) is not getattr(Watch, hook)]

    def start(self, state: np.ndarray) -> None:
        """Take in the start of the run."""
        self.observe(StepBlock(np.array([self.start_time]), state[None, :]))

    def change_values(self, values: np.ndarray) -> None:
        """Continue with other discrete values, and with a state whose meaning has changed."""
        self.values = values
        for watch in self.watches:
            watch.forget()

    def measure_only(self, goal: str, note: str) -> None:
        """Record that a goal is no longer driven, with a note for the report."""
        self._notes[goal] = note
        rates = self._sizes.rates.copy()
        rates[[watched.goal == goal for watched in self.problem.watched]] = 0.0
        self._sizes = self._sizes.driven_at(rates)
        self._pending = [steps.driven_at(rates) for steps in self._pending]

    @property
    def over(self) -> bool:
        """Whether something was seen that ends the run."""
        return self.loss is not None

    @property
    def lost_grip(self) -> LostGrip | None:
        """Where reactions lost their grip first, whether or not that ends the run."""
        return None if self.grip is None else self.grip.lost

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
        table = self.values if modes is None else np.array([values[int(mode)] for mode in modes])
        for take in self._takers:
            take(block, table)
        with np.errstate(all="ignore"):
            outputs = self._peak_watch.outputs(block, table)
            measured, influences = self.problem.block("residuals", block.times, block.states, table)
            grips = measured[:, len(self.problem.watched) + 1 :]
            if modes is None or not any(watch.needs_modes(grips) for watch in self.watches):
                self._observe(block, table, measured, influences, outputs)
                return
            for part in np.split(np.arange(len(modes)), np.flatnonzero(np.diff(modes)) + 1):
                if self.over:
                    return
                self.change_values(values[int(modes[part[0]])])
                own = StepBlock(block.times[part], block.states[part])
                rows = measured[part], influences[part], outputs[part]
                self._observe(own, self.values, *rows)

    def _observe(
        self,
        block: StepBlock,
        values: np.ndarray,
        measured: np.ndarray,
        influences: np.ndarray,
        outputs: np.ndarray,
    ) -> None:
        count = len(self.problem.watched)
        residuals, energy, pivots = (
            measured[:, :count],
            measured[:, count],
            measured[:, count + 1 :],
        )
        kinetic = np.fmax.accumulate(np.fmax(energy, self._sizes.kinetic))
        grips = np.where(np.isnan(pivots), 0.0, pivots)
        grips[:, self._surplus] = 1.0
        scales = self._scales(float(kinetic[-1]))
        place = block.times, block.states, values
        steps = MeasuredSteps(*place, residuals, energy, grips, influences, scales)
        for judge in self._judges:
            loss = judge(steps)
            if loss is not None:
                self.loss, steps = self.loss or loss, steps.before(loss)
                if not len(steps.times):
                    break
        before = self._sizes, self._peaks
        seen = PendingSteps(block.times, residuals, outputs, kinetic, lambda: before)
        self._pending.append(seen)
        self._take(seen, len(seen.times))
        if self.loss is not None:
            self._take_back(self.loss.last_time)
        else:
            self._settle()

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
        answers = (watch.unsettled() for watch in self._unsettling)
        since = next((answer for answer in answers if answer is not None), None)
        if since is None:
            self._pending = []
            return
        counts = [self._beyond(steps, since[0]) for steps in self._pending]
        later = zip(self._pending, counts, strict=False)
        self._pending = [s.after(count) for s, count in later if count < len(s.times)][: since[1]]

    # -- between the ends of steps -------------------------------------------------------------

    @property
    def sees_peaks(self) -> bool:
        """Whether peaks of outputs are to be found."""
        return bool(self._peak_watch.names)

    @property
    def looks_within(self) -> bool:
        """Whether the motion is looked at within steps.

        Nothing in the equations depends on a goal that is assumed to follow from others, so no
        error control sees where it ceases to, and a step may pass over the place. A peak of an
        output may lie within a step as well: a series of Taylor takes a parabola in one.
        """
        return self.sees_peaks or self._following is not None

    @property
    def needs_stops(self) -> bool:
        """Whether resets must not be followed in one go, since the motion between them is seen."""
        return self.sees_peaks or any(watch.needs_stops for watch in self.watches)

    def look_times(self, since: float, until: float) -> np.ndarray:
        """Return the times of looks beyond one time and before another, which have no period, s."""
        prepared = self.prepared
        if not self.looks_within:
            return np.empty(0)
        whole = abs(prepared.until - self.start_time)
        apart = min(prepared.mean_step / LOOKS_IN_STEP, whole / LOOKS_IN_RUN)
        sign = 1.0 if until >= since else -1.0
        first, last = (abs(time - self.start_time) / apart for time in (since, until))
        counts = np.arange(math.floor(first), math.ceil(last) + 1)
        times = self.start_time + sign * apart * (counts + np.mod(GOLDEN * counts, 1.0))
        inside = (sign * (times - since) > 0.0) & (sign * (until - times) > 0.0)
        return times[inside]

    def see(self, block: StepBlock, values: np.ndarray) -> None:
        """Look at the peaks alone, at places that are no ends of steps."""
        if len(block.times) and self.sees_peaks and not self.over:
            with np.errstate(all="ignore"):
                outputs = self._peak_watch.outputs(block, values)
            self._peaks = self._peaks.then(block.times, outputs)

    def look(self, block: StepBlock, values: np.ndarray, until: float) -> None:
        """Look at goals that follow from others, and at them alone, within steps up to a time."""
        loss = self.loss
        if self._following is None:
            return
        if loss is not None and not (isinstance(loss, Breach) and loss.event == INDEPENDENT):
            return
        loss = self._following.look(block, values, until, loss)
        if loss is not None and self.grip is not None:
            loss = self.grip.behind(loss, values)
        self.loss = loss
        if loss is not None:
            self._take_back(loss.last_time)

    def _scales(self, kinetic: float) -> np.ndarray:
        """Return the scales; the energy's is the largest kinetic energy, unless one is given."""
        largest = kinetic if kinetic > self.prepared.least_kinetic else 1.0
        return np.where(np.isnan(self.scales), largest, self.scales)

    # -- how it ends ---------------------------------------------------------------------------

    def give_up(self, time: float, state: np.ndarray, goals: tuple[str, ...]) -> None:
        """End where no solver could continue, if a watch says why; see `Watch.give_up`."""
        for watch in self.watches:
            self.loss = self.loss or watch.give_up(time, state, self.values, goals)

    def pass_guards(self, hits: Sequence[EventHit], since: float, p: np.ndarray) -> None:
        """Take in the guards that passed zero in a segment; see `Watch.pass_guards`."""
        for watch in self.watches if hits else ():
            watch.pass_guards(hits, since, p)

    def contradiction(self, record: RunRecord) -> str | None:
        """Say how the run contradicts what was posed; see `Watch.contradiction`."""
        said = [watch.contradiction(record) for watch in self.watches]
        return next((one for one in said if one is not None), None)

    @property
    def settled(self) -> bool:
        """Whether no passage is under way, so that what was taken in will not be taken back."""
        return self._passages is None or not self._passages.inside

    def conditioning(self) -> dict[str, float]:
        """Return the smallest grip of each goal, relative to its typical size."""
        if self.grip is None:
            return {}
        pairs = zip(self.problem.pivot_goals, self.grip.smallest.tolist(), strict=True)
        return {name: grip for name, grip in pairs if grip < np.inf}

    def weakest(self) -> tuple[str, ...]:
        """Name the goals whose grip fell furthest, weakest first."""
        return () if self.grip is None else self.grip.weakest()

    def peaks(self) -> dict[str, Peak]:
        """Return the largest magnitudes of the watched outputs."""
        return self._peak_watch.named(self._peaks)

    def notes(self) -> list[str]:
        """Return the notes of the watches."""
        return [note for watch in self.watches for note in watch.notes(ended=self.over)]

    def saved(self) -> dict[str, Any]:
        """Return all that is known, so that another process can resume."""
        return {
            **self._sizes.saved(),
            "values": self.values,
            "peaks": self._peaks.saved(),
            "unsettled": [steps.saved() for steps in self._pending],
            "watches": saved_states(self.watches),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what `saved` returned."""
        self._sizes = self._sizes.restored(saved)
        self.values = np.array(saved["values"], dtype=float)
        self._peaks = restored_peaks(saved["peaks"])
        self._pending = [restored_pending_steps(steps, self._sizes) for steps in saved["unsettled"]]
        self.first_steps.clear()
        # Runs that were begun before watches had an entry of their own have theirs here.
        restore_states(self.watches, saved.get("watches", {"grip": saved, **saved}))
        self.loss = None if self.grip is None else self.grip.ending

    def drift(self) -> Mapping[str, Drift]:
        """Return the drift of everything watched."""
        return self._sizes.drift(self._watched(), self._scales(self._sizes.kinetic))

    def _watched(self) -> Sequence[Watched]:
        """Return the watched residuals, with the notes from the run."""
        if not self._notes:
            return self.problem.watched
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

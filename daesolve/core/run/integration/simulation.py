"""Runs from their start or a checkpoint to their end: parts on disk, interruption, any time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from daesolve.core.interruptions import interruptible
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.results import Outcome, TrajectoryPoint
from daesolve.core.results.trajectory.samples import Recorded
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.checkpoints import Keeper
from daesolve.core.run.integration.dense_output import DenseOutput
from daesolve.core.run.integration.endings import (
    Verdict,
    contradicted,
    ended_at_sample,
    judged,
)
from daesolve.core.run.integration.event_handling import at_end, at_start
from daesolve.core.run.integration.loop import next_boundary, to_boundary
from daesolve.core.run.integration.record import Boundary, RunRecord
from daesolve.core.run.integration.replay import (
    PassedError,
    Stage,
    auditor_of,
    check_covers,
    end_beyond,
    last_before,
    opening,
    point_after,
)
from daesolve.core.run.integration.run_state import RunState, fresh_state
from daesolve.core.run.integration.sampling import At, sample_times
from daesolve.core.run.integration.simple_resets import SimpleResets
from daesolve.core.run.integration.watches.monitor import Monitor
from daesolve.errors import StorageError

MOST_BOUNDARIES = 10_000
"""Number of boundaries beyond which a run in memory keeps a checkpoint instead."""
Progress = Callable[[float, Monitor, int], None]
"""Called after each segment with the time reached, the monitor and the number of events."""


def simulate(prepared: Prepared, at: At = None, progress: Progress | None = None) -> Trajectory:
    """Integrate a prepared run.

    Parameters
    ----------
    prepared
        From `preparation.prepare`.
    at
        Sample times, `every(...)`, `every_event()`, or None for 1001 even samples.
    progress
        Called after each segment.

    Returns
    -------
    Trajectory
        Contains everything up to the end of the run, however it ended. Ctrl-C ends it after the
        current segment.
    """
    return _simulated(_Run(prepared, at, progress, forgets=True))


def simulate_recorded(
    prepared: Prepared, at: At = None, progress: Progress | None = None
) -> tuple[Trajectory, RunRecord]:
    """Integrate a prepared run like `simulate`, and also return what it gathered."""
    run = _Run(prepared, at, progress)
    run.state.whole = True
    return _simulated(run), run.state.record


def _simulated(run: _Run) -> Trajectory:
    """Integrate a run, and return its trajectory with its samples in memory."""
    prepared, state = run.prepared, run.state
    times = sample_times(run.at, prepared.start_time, prepared.until)
    outcome, message = run.ended()
    listed = times if state.schedule.own else None
    return run.trajectory(outcome, message, state.assembly.samples(listed))


def simulate_stored(
    prepared: Prepared, at: At, progress: Progress | None, keeper: Keeper
) -> Trajectory:
    """Integrate or resume a prepared run, part by part to disk, where its samples stay.

    Parameters
    ----------
    prepared, at, progress
        As in `simulate`.
    keeper
        Stores the parts, and has the checkpoint to resume from.
    """
    run = _Run(prepared, at, progress, keeper)
    outcome, message = run.ended()
    return run.trajectory(outcome, message, keeper.samples())


class _Run:
    """One run, from its start or from a checkpoint.

    Parameters
    ----------
    prepared, at, progress
        As in `simulate`.
    keeper
        Stores it on disk; None if it stays in memory.
    resumed
        The checkpoint from which it continues, if that is not the keeper's.
    forgets
        Whether it keeps checkpoints instead of every boundary once these are many.
    """

    def __init__(
        self,
        prepared: Prepared,
        at: At,
        progress: Progress | None,
        keeper: Keeper | None = None,
        resumed: Mapping[str, Any] | None = None,
        *,
        forgets: bool = False,
    ) -> None:
        self.at, self.forgets = at, forgets
        self.checkpoints: list[Mapping[str, Any]] = []
        self.prepared, self.progress, self.keeper = prepared, progress, keeper
        self.resumed = keeper.resumed if keeper is not None else resumed
        extended_from = None if keeper is None else keeper.extended_from
        self.state = fresh_state(prepared, at, extended_from)
        self.state.motion = DenseOutput(self.state.sign) if forgets else None
        self.over = False
        self.clock = 0.0

    def ended(self) -> tuple[Outcome, str]:
        """Integrate, and return how it ended."""
        self.clock = time.perf_counter()
        try:
            return judged(self.state, *self._integrate())
        finally:
            self._take_time()

    def _take_time(self) -> None:
        now = time.perf_counter()
        self.state.record.wall_seconds += now - self.clock
        self.clock = now

    def trajectory(self, outcome: Outcome, message: str, samples: Recorded) -> Trajectory:
        """Return the trajectory with its samples."""
        trajectory = self.state.assembly.trajectory(outcome, message, samples)
        auditor = auditor_of(self.prepared, self._stages, self._again)
        trajectory = replace(trajectory, _evaluate=self._point, auditor=auditor)
        if self.resumed is not None:
            return trajectory
        begin = partial(opening, self.prepared, self.state.monitor.first_steps, simulate)
        return replace(trajectory, _begin=begin)

    # -- integration --------------------------------------------------------------------------

    def _integrate(self) -> Verdict:
        state = self.state
        resets = None if state.transitions is None else SimpleResets(state)
        here, verdict = self._begin()
        with interruptible(by_termination=self.keeper is not None) as interrupted:
            while verdict is None:
                boundary = next_boundary(state, here)
                try:
                    here, verdict = to_boundary(state, here, boundary, resets, self.keeper)
                except StorageError as error:
                    verdict = self._not_written(error)
                if self.progress is not None:
                    self.progress(here.time, state.monitor, state.record.event_count)
                if verdict is None and boundary == self.prepared.until:
                    here, verdict = at_end(state, here)
                    verdict = verdict or (Outcome.COMPLETED, "")
                elif verdict is None:
                    state.segments += 1
                    here, verdict = self._kept(here, interrupted=interrupted())
        return self._ended(here, verdict)

    def _begin(self) -> tuple[Boundary, Verdict | None]:
        """Return where the run starts or continues."""
        if self.resumed is None:
            here, verdict = at_start(self.state, self.state.start())
            self.state.record.begin_in(here)
            return here, verdict
        here, ended = self.state.restore(self.resumed), self.resumed["ended"]
        if ended is None or self.resumed["until"] != self.prepared.until:
            return here, None
        self.over = True
        return here, (Outcome(ended[0]), str(ended[1]))

    def _ended(self, here: Boundary, verdict: Verdict) -> Verdict:
        if self.over or (self.keeper is not None and self.keeper.done):
            self.state.record.boundaries.append(here)
            return verdict
        self._sample_end(here)
        if verdict[0].good:
            here, unknown = self._finite(here)
            verdict = unknown or verdict
        self.state.record.boundaries.append(here)
        if self.keeper is None:
            return verdict
        if verdict[0] is not Outcome.INTERRUPTED:
            failure = self._write(self.keeper, here, verdict)
            return verdict if failure is None else failure
        try:
            self.keeper.write_partial(self.state.assembly)
        except StorageError:
            unread = "the samples of the current part could not be written"
            return Outcome.INTERRUPTED, f"{verdict[1]} ({unread})"
        return verdict

    def _finite(self, here: Boundary) -> tuple[Boundary, Verdict | None]:
        """End at the last sample whose reactions and outputs are numbers, or where contradicted."""
        found = self.state.assembly.not_finite()
        if found is None:
            return here, contradicted(self.state)
        return ended_at_sample(self.state, *found)

    def _sample_end(self, here: Boundary) -> None:
        """Let the samples end with the end of the run, but keep a user's list that is whole."""
        schedule, record = self.state.schedule, self.state.record
        if schedule.all_reached(here.time):
            return
        keeper = self.keeper
        on_disk = keeper is not None and not record.samples
        if keeper is not None and on_disk and keeper.last_sample_time() == here.time:
            return
        record.take_end(here, arrivals=schedule.each_event)

    # -- parts on disk ------------------------------------------------------------------------

    def _kept(self, here: Boundary, *, interrupted: bool) -> tuple[Boundary, Verdict | None]:
        """Hand a part that is full to the keeper; end where there was an interruption."""
        state, keeper = self.state, self.keeper
        if keeper is not None and keeper.full(state.segments) and state.monitor.settled:
            here, ended = self._finite(here)
            if ended is not None:
                return here, ended
            failure = self._write(keeper, here, None)
            if failure is not None:
                return here, failure
            here = state.record.flushed(here)
            if keeper.done:
                return here, (Outcome.COMPLETED, "")
        many = len(state.record.boundaries) > MOST_BOUNDARIES
        if self.forgets and many and state.monitor.settled:
            saved = state.saved(here)
            unfinished = {"tally": asdict(saved["tally"]), "ended": None}
            self.checkpoints.append({**saved, **unfinished})
            state.record.forget(here)
        if not interrupted:
            return here, None
        kept = f"interrupted at t = {here.time:g} s; everything up to there is kept"
        how = "" if keeper is None else f", and {keeper.advice}"
        return here, (Outcome.INTERRUPTED, kept + how)

    def _write(self, keeper: Keeper, here: Boundary, verdict: Verdict | None) -> Verdict | None:
        """Write a part; return how the run ends where that fails."""
        self._take_time()
        try:
            keeper.write(self.state.assembly, here, self.state.saved(here), verdict)
        except StorageError as error:
            return self._not_written(error)
        return None

    def _not_written(self, error: StorageError) -> Verdict:
        assert self.keeper is not None
        return Outcome.INTERRUPTED, f"{error}; nothing is lost: {self.keeper.advice}"

    # -- any time of the run ------------------------------------------------------------------

    def _stages(self) -> Sequence[Stage]:
        """Return the stages of the run, each of which was integrated without a break."""
        if self.resumed is None:
            ends = self.state.monitor.first_steps.ends
            return [Stage(None, self.prepared.until, ends, self.state)]
        return [] if self.keeper is None else [Stage(*of) for of in self.keeper.stages()]

    def _again(
        self, stage: Stage, at: Sequence[float] | np.ndarray, look: Callable[[RunState], None]
    ) -> RunState:
        """Integrate a stage once more with samples of its own, at most until `look` ends it."""
        begin = None if stage.checkpoint is None else {**stage.checkpoint, "taken": 0}
        prepared = replace(self.prepared, until=stage.until)

        def show(*_: object) -> None:
            look(again.state)

        again = _Run(prepared, at, show, resumed=begin)
        with suppress(PassedError):
            if again.ended()[0] is Outcome.INTERRUPTED:
                raise KeyboardInterrupt
        return again.state

    def _point(self, moment: float) -> TrajectoryPoint:
        """Integrate from the last boundary before a time, with the run's own solver."""
        check_covers(self.prepared.start_time, self.state.record.boundaries[-1].time, moment)
        before = last_before(self.state, moment)
        if before is not None:
            return point_after(self.state, before, moment)
        if self.keeper is not None:
            return self._point_between(moment, *self.keeper.around(moment, self.state.sign))
        sign = self.state.sign
        known = [c for c in self.checkpoints if sign * (c["here"]["time"] - moment) < 0.0]
        return self._point_between(moment, known[-1] if known else None, self.prepared.until)

    def _point_between(
        self, moment: float, checkpoint: Mapping[str, Any] | None, until: float
    ) -> TrajectoryPoint:
        """Integrate again from a checkpoint, until a segment ends beyond a time."""
        state = self._again(Stage(checkpoint, until), [until], partial(end_beyond, moment))
        before = last_before(state, moment)
        assert before is not None
        return point_after(state, before, moment)

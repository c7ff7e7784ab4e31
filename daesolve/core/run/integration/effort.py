"""What ends a run early: a budget, and steps that lead nowhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.dense_output import DenseOutput
from daesolve.core.run.integration.watches.monitor import Monitor
from daesolve.core.solvers.observers import Observer, StepObserver

CRAWL = 1e-6
"""Many successive steps below this fraction of the mean step of a short run lead nowhere."""
MANY = {False: 2000, True: 200}
"""The number of such steps that ends a run, without and with reactions that have a weak grip."""
GROWS = 1.05
"""The factor by which as many later steps are longer if the motion comes out of a narrow place, for
example where a slip begins slowly and friction turns it."""
SLOW = 1e-3
"""Many successive steps below this fraction of the mean step of a short run may lead nowhere."""
LONG = 20_000
"""The number of such steps after which the rest of the run is estimated."""
FAR = 1_000_000
"""They lead nowhere if the rest of the run would take more steps than this."""
IDLE = 100
"""So many successive interruptions that change nothing, and hardly move the time, lead nowhere."""


class Effort:
    """Counts right-hand sides and steps, and decides when they end a run.

    Parameters
    ----------
    most
        How many right-hand sides there may be; None sets no bound.
    mean_step
        Of a short run at the start, s.
    until
        The end of the run, s; None if it is not known.

    Attributes
    ----------
    reason
        Why the run ends; empty as long as it does not.
    over_budget
        Whether the reason is the bound.
    """

    def __init__(self, most: int | None, mean_step: float, until: float | None = None) -> None:
        self.most, self.mean_step, self._until = most, mean_step, until
        self.reason = ""
        self.over_budget = False
        self._mark: float | None = None
        self._steps = 0
        self._crawled = 0.0
        self._idle: list[float] = []
        self._slow = 0

    def saved(self) -> list[float | int | None]:
        """Return all that is known, so that another process can resume."""
        return [self._mark, self._steps, self._crawled]

    def restore(self, saved: Sequence[float | int | None]) -> None:
        """Restore what `saved` returned."""
        mark, steps, *crawled = saved
        self._mark = None if mark is None else float(mark)
        self._steps, self._crawled = int(steps or 0), float((*crawled, 0.0)[0] or 0.0)

    def begin(self, time: float) -> None:
        """Take in the start of a stretch that a law integrates."""
        if self._mark is None or not self._steps:
            self._mark = time

    def take(self, block: StepBlock, spent: int, *, weak: bool) -> bool:
        """Take in a block of steps; return whether the run ends with it.

        Parameters
        ----------
        block
            The steps.
        spent
            Right-hand sides from the start of the run.
        weak
            Whether a reaction has a weak grip.
        """
        if self._mark is None or not len(block.times):
            return bool(self.reason)
        self._steps += len(block.times) if block.taken is None else block.taken
        if self._steps >= MANY[weak]:
            reached = float(block.times[-1])
            step = abs(reached - self._mark) / self._steps
            crawls = step < CRAWL * self.mean_step
            if crawls and step <= GROWS * self._crawled:
                self.reason = (
                    f"the steps have shrunk to {step:.2g} s, less than a millionth of the "
                    "first steps"
                )
            self._crawled = step if crawls else 0.0
            self._judge_pace(reached)
            self._mark, self._steps = reached, 0
        return self.over(spent)

    def _judge_pace(self, reached: float) -> None:
        """End a run that has become so slow that it would not return; a bound on it is heeded."""
        assert self._mark is not None
        step = abs(reached - self._mark) / self._steps
        self._slow = self._slow + self._steps if step < SLOW * self.mean_step else 0
        if self._slow < LONG or self._until is None or self.most is not None or self.reason:
            return
        rest = abs(self._until - reached) / step if step else math.inf
        if rest > FAR:
            self.reason = (
                f"the steps have shrunk to {step:.2g} s, less than a thousandth of the first "
                f"steps, and {rest:.2g} more would be needed; set max_evaluations to continue "
                "at this pace"
            )

    def interrupted(self, time: float, name: str, *, idle: bool) -> bool:
        """Take in an interruption; return whether the run cannot continue.

        Parameters
        ----------
        time
            When, s.
        name
            The event at which steps ended.
        idle
            Whether nothing happened to the motion there.
        """
        self._idle = [*self._idle, time] if idle else []
        several = len(self._idle) > IDLE
        if several and abs(time - self._idle.pop(0)) < CRAWL * self.mean_step * IDLE:
            self.reason = (
                f"the guard of the event {name!r} stays at zero and triggers nothing, so that "
                "no step can advance"
            )
        return bool(self.reason)

    def over(self, spent: int) -> bool:
        """Return whether the run must end."""
        if self.most is not None and spent >= self.most and not self.reason:
            self.reason = f"the budget of {self.most} right-hand sides was spent"
            self.over_budget = True
        return bool(self.reason)


class Counted(StepObserver):
    """Observes the steps of a segment, and counts what they cost.

    Parameters
    ----------
    effort
        What the run may cost.
    monitor
        Knows whether a grip has been weak.
    observe
        Takes in the steps, and returns whether the segment ends with them.
    spent
        Right-hand sides before the segment.
    accepted
        Returns how many of some steps are good; None if all are.
    motion
        Keeps the states within steps as well; None if they are not kept.
    """

    def __init__(
        self,
        effort: Effort,
        monitor: Monitor,
        observe: Observer,
        spent: int,
        accepted: Callable[[np.ndarray, np.ndarray], int] | None = None,
        motion: DenseOutput | None = None,
    ) -> None:
        self.effort, self.monitor, self.observe = effort, monitor, observe
        self.spent, self._accepted, self.motion = spent, accepted, motion

    def __call__(self, block: StepBlock) -> bool:
        """Take in a block of steps; return whether the segment ends with it."""
        self.spent += block.evaluations
        if self.motion is not None:
            self.motion.take(block)
        enough = bool(self.observe(block))
        return self.effort.take(block, self.spent, weak=bool(self.monitor.weakest())) or enough

    def accepted_count(self, times: np.ndarray, states: np.ndarray) -> int:
        """Return how many of some steps are good."""
        return len(times) if self._accepted is None else self._accepted(times, states)

    @property
    def keeps(self) -> bool:
        """Whether it keeps the states within steps."""
        return self.motion is not None and self.motion.keeps

    @property
    def remaining(self) -> int | None:
        """How many right-hand sides there may yet be."""
        most = self.effort.most
        return None if most is None else max(most - self.spent, 1)

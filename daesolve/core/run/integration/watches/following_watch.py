"""Whether goals that were assumed to follow from others still do.

They are not driven. If the residual of such a goal exceeds the accumulated errors of the steps, it
is independent of the others: what follows is not the requested motion.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from daesolve.core.formulations import OdeProblem
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.watches.passage_watch import INDEPENDENT, Breach
from daesolve.core.run.integration.watches.watch import (
    AGREED_STEPS,
    Loss,
    MeasuredSteps,
    Watch,
    step_accuracy,
)

AGREEMENT = 1e-7
"""The largest residual, over its scale, of a goal that follows from others."""
Place = tuple[float, np.ndarray]


class FollowingWatch(Watch):
    """Judges goals that follow from others at the ends of steps, and between these.

    Parameters
    ----------
    problem, scales
        What is integrated, and the scale of each residual.
    agreement
        The part of its scale that a residual may reach.
    start_time
        The start of the run, s.
    """

    name, when, needs_stops = "following", "follows", True

    def __init__(
        self, problem: OdeProblem, scales: np.ndarray, agreement: float, start_time: float
    ) -> None:
        follows = [entry.follows and entry.kind == "residual" for entry in problem.watched]
        self.problem, self.agreement = problem, agreement
        self.places = np.flatnonzero(follows)
        self._scales = scales[self.places]
        self._step: Place | None = None
        self._look: Place | None = None
        self.looked = start_time

    @classmethod
    def of(cls, prepared: Prepared) -> Self:
        """Watch where goals are assumed to follow from others."""
        agreement = max(AGREEMENT, AGREED_STEPS * step_accuracy(prepared))
        return cls(prepared.problem, prepared.scales, agreement, prepared.start_time)

    def judge(self, steps: MeasuredSteps) -> Loss | None:
        """Return where a goal is missed at the ends of steps."""
        self._step, breach = self._judged(steps.block, np.abs(steps.residuals), self._step)
        if self._look is None:
            self._look = self._step
        return breach

    def unsettled(self) -> tuple[float, int] | None:
        """Return up to where the motion was looked at within steps."""
        return self.looked, sys.maxsize

    def look(
        self, block: StepBlock, values: np.ndarray, until: float, known: Breach | None
    ) -> Breach | None:
        """Judge states within the steps up to a time, s; return where a goal is missed.

        Where it is known that one is at the end of a step, it may have been so before.
        """
        self.looked = until
        if known is not None:
            inside = np.abs(block.times - known.last_time) < abs(known.time - known.last_time)
            block = StepBlock(block.times[inside], block.states[inside])
        if not len(block.times):
            return known
        with np.errstate(all="ignore"):
            table, _ = self.problem.block("residuals", block.times, block.states, values)
        self._look, breach = self._judged(block, np.abs(table), self._look)
        if breach is None and known is not None and self._look is not None:
            return replace(known, last_time=self._look[0], last_state=self._look[1])
        return breach or known

    def saved(self) -> dict[str, Any]:
        """Return all that is known, so that another process can resume."""
        return {"step": self._step, "look": self._look, "looked": self.looked}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what `saved` returned."""
        self._step, self._look = (_restored(saved[name]) for name in ("step", "look"))
        self.looked = float(saved["looked"])

    def _judged(
        self, block: StepBlock, sizes: np.ndarray, before: Place | None
    ) -> tuple[Place | None, Breach | None]:
        """Return the last place at which all follow, and where one does not."""
        own = sizes[:, self.places]
        relative = own / self._scales
        missed = np.flatnonzero(np.any(~(relative <= self.agreement), axis=1))
        count = int(missed[0]) if missed.size else len(block.times)
        if count:
            before = float(block.times[count - 1]), block.states[count - 1].copy()
        if not missed.size:
            return before, None
        last_time, last_state = before or (float(block.times[0]), block.states[0].copy())
        worst = int(np.argmax(np.nan_to_num(relative[count], nan=np.inf)))
        return before, Breach(
            float(block.times[count]),
            last_time,
            last_state,
            INDEPENDENT,
            (self.problem.watched[int(self.places[worst])].goal,),
            f"by {own[count, worst]:.3g}, {relative[count, worst]:.2g} of its scale",
        )


def _restored(place: Sequence[Any] | None) -> Place | None:
    return None if place is None else (float(place[0]), np.array(place[1], dtype=float))

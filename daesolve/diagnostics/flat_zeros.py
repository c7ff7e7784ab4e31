"""Which guards passed through zero without a slope, as (x - a)^3 does.

When they did is known to few digits only: of a guard of degree n and of size 1, to the n-th root
of rounding. On its way in and on its way out it is at zero alike, so that a passage may be missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daesolve.formulations import OdeProblem
from daesolve.solvers import EventHit
from daesolve.solvers.grazing import guard_evaluator

BEFORE = 1e-2
"""Of the way from the last passage, how far before a zero rates are compared with the one there."""
BETWEEN = 1e-2
"""Of this stretch, where a guard that just grazes zero has lost its rate in proportion."""
LOST = 1e-3
"""Of its rate before, what a guard has at most at a zero without slope, and shortly before it."""
LOOKED_AT = 8
"""Passages of each guard that are looked at."""


class FlatZeros:
    """Looks at the first passages of each guard.

    Parameters
    ----------
    problem
        Its guards.

    Attributes
    ----------
    found
        By event, when its guard first passed zero without a slope, s.
    """

    def __init__(self, problem: OdeProblem) -> None:
        self._problem = problem
        self._left = np.full(len(problem.guarded), LOOKED_AT)
        self.found: dict[str, float] = {}

    def take(self, hits: Sequence[EventHit], start: float, p: np.ndarray) -> None:
        """Look at what a segment passed.

        Parameters
        ----------
        hits, start, p
            The passages, the start of the segment, s, and the values in it.
        """
        for hit in hits:
            name = self._problem.guarded[hit.index].name
            if self._left[hit.index] and name not in self.found:
                self._left[hit.index] -= 1
                if self._is_flat(hit, hit.time - start, p):
                    self.found[name] = hit.time

    def _is_flat(self, hit: EventHit, span: float, p: np.ndarray) -> bool:
        evaluate = guard_evaluator(self._problem)
        along = np.asarray(self._problem.rhs(hit.time, hit.state, p)).ravel()

        def rate(back: float) -> float:
            _, rates = evaluate(hit.time - back, hit.state - back * along, p)
            return abs(float(rates[hit.index]))

        far = BEFORE * span
        allowed = LOST * rate(far)
        return rate(0.0) < allowed and rate(BETWEEN * far) < allowed

    def notes(self) -> list[str]:
        """Say which guards they are."""
        return [
            f"the guard of the event {name!r} passed zero at t = {time:.10g} s without a slope, as "
            "(x - a)^3 does: the instant is known to few digits, and the run may have missed a "
            "passage; pose a guard that has a slope there, such as x - a"
            for name, time in self.found.items()
        ]

    def saved(self) -> dict[str, Any]:
        """Return all that is known, to go on from in another process."""
        return {"left": self._left, "found": self.found}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from what `saved` returned."""
        self._left = np.array(saved["left"], dtype=int)
        self.found = {str(name): float(time) for name, time in saved["found"].items()}

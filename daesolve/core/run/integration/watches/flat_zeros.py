"""Which guards passed through zero without a slope, like (x - a)^3, or with hardly any.

The time of the former is known only to a few digits: for a guard of degree n and size 1, to the
n-th root of rounding. On its way in and on its way out it is at zero alike, so that a passage may
be missed. One that grazes zero turns round just behind it: nearer than a solver is accurate,
whether it passes is chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import casadi as ca
import numpy as np

from daesolve.core.expressions.term_sizes import ROUNDING, term_sizes
from daesolve.core.formulations import OdeProblem
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.run.integration.watches.watch import AGREED_STEPS, Watch
from daesolve.core.solvers import EventHit
from daesolve.core.solvers.grazing import guard_evaluator
from daesolve.core.solvers.resting import sizes_of_terms

BEFORE = 1e-2
"""The rate at a zero is compared with the rate at this fraction of the way since the last passage,
before the zero."""
BETWEEN = 1e-2
"""And this fraction of that stretch before the zero, where a guard that just grazes zero has lost
its rate in proportion."""
SLOW = 1e-3
"""The part of its rate near an earlier passage below which a guard may turn round at a zero. One
that turns round within rounding has 1e-7 of it, if it bends there as it does elsewhere."""
LOST = 1e-3
"""At a zero without slope a guard has at most this fraction of its rate before, and shortly before
it too."""
LOOKED_AT = 8
"""Passages of each guard that are looked at."""


class FlatZeros(Watch):
    """Looks at the first passages of each guard.

    Parameters
    ----------
    problem
        Its guards.
    accuracy
        Of its terms, to what part a guard is known that depends on the state.

    Attributes
    ----------
    flat, grazed
        By event, when its guard first passed zero without a slope, and when it first turned round
        behind zero nearer than it is known, s.
    done
        Of which guards enough was seen, (guards,).
    """

    name, when = "flat_zeros", "problem.guarded"

    def __init__(self, problem: OdeProblem, accuracy: float) -> None:
        self._problem, self._accuracy = problem, accuracy
        self._left = np.full(len(problem.guarded), LOOKED_AT)
        self._fastest = np.full(len(problem.guarded), np.inf)
        self.flat: dict[str, float] = {}
        self.grazed: dict[str, float] = {}
        self._judge()

    @classmethod
    def of(cls, prepared: Prepared) -> Self:
        """Look where there are guards."""
        return cls(prepared.problem, AGREED_STEPS * prepared.solver.step_tolerance)

    def pass_guards(self, hits: Sequence[EventHit], since: float, p: np.ndarray) -> None:
        """Examine the zeros that a segment passed."""
        for hit in hits:
            if not self.done[hit.index]:
                self._left[hit.index] -= 1
                self._look(self._problem.guarded[hit.index].name, hit, hit.time - since, p)
                self._judge()

    def touches(self, hit: EventHit, start: float, p: np.ndarray) -> bool:
        """Return whether a guard only touches zero, to rounding, and turns round there.

        Parameters
        ----------
        hit, start, p
            The passage, the start of the segment, s, and the values in it.
        """
        evaluate, guard = guard_evaluator(self._problem), hit.index
        problem = self._problem.in_mode(p)
        here = float(evaluate(hit.time, hit.state, p)[1][guard])
        if abs(here) > SLOW * self._fastest[guard]:
            return False
        along = np.asarray(problem.rhs(hit.time, hit.state, p)).ravel()

        def rate(way: float) -> float:
            return float(evaluate(hit.time + way, hit.state + way * along, p)[1][guard])

        for part in (BEFORE, BETWEEN * BEFORE):
            apart = part * (hit.time - start)
            before = rate(-apart)
            if part == BEFORE:
                self._fastest[guard] = max(abs(here), abs(before))
            if before * here > 0.0 and abs(here) > 0.9 * abs(before):
                return False  # It passes: its rate hardly changes here.
            if before * (after := rate(apart)) < 0.0:
                depth = here**2 * abs(apart / (after - before))
                # At an extremum it does not change with the state: its own terms count.
                place = hit.time, hit.state, p
                terms = term_sizes(problem.guards, *place, small_factors=True)[0]
                return bool(depth <= ROUNDING * terms[guard])
        return False

    def _judge(self) -> None:
        """Set of which guards enough was seen."""
        named = {*self.flat, *self.grazed}
        self.done = np.array(
            [
                left == 0 or event.name in named
                for left, event in zip(self._left, self._problem.guarded, strict=True)
            ],
            dtype=bool,
        )

    def _look(self, name: str, hit: EventHit, span: float, p: np.ndarray) -> None:
        evaluate, problem = guard_evaluator(self._problem), self._problem.in_mode(p)
        along = np.asarray(problem.rhs(hit.time, hit.state, p)).ravel()

        def rate(back: float) -> float:
            _, rates = evaluate(hit.time - back, hit.state - back * along, p)
            return float(rates[hit.index])

        far = BEFORE * span
        here, before, between = (rate(back) for back in (0.0, far, BETWEEN * far))
        allowed = LOST * abs(before)
        if abs(here) < allowed and abs(between) < allowed:
            self.flat[name] = hit.time
        elif here * (before - here) > 0.0 and _depends(problem, hit.index):
            further = here**2 * abs(far) / (2.0 * abs(before - here))
            terms = sizes_of_terms(problem, hit.time, hit.state, p)
            if further <= self._accuracy * terms[hit.index]:
                self.grazed[name] = hit.time

    def notes(self, *, ended: bool) -> list[str]:
        """Return notes that name these guards."""
        return [
            *(
                f"the guard of the event {name!r} passed zero at t = {time:.10g} s without a "
                "slope, as (x - a)^3 does: the instant is known to few digits, and the run "
                "may have missed a passage; use a guard with a slope there, such as x - a"
                for name, time in self.flat.items()
            ),
            *(
                f"the guard of the event {name!r} turns back just beyond zero at t = "
                f"{time:.10g} s, closer than the accuracy of the state: you cannot trust "
                "whether and when it passes; use a tighter tolerance, or Taylor's method"
                for name, time in self.grazed.items()
            ),
        ]

    def saved(self) -> dict[str, Any]:
        """Return all that is known, so that another process can resume."""
        return {"left": self._left, "found": self.flat, "grazed": self.grazed}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what `saved` returned."""
        self._left = np.array(saved["left"], dtype=int)
        self.flat, self.grazed = (
            {str(name): float(time) for name, time in saved.get(kind, {}).items()}
            for kind in ("found", "grazed")
        )
        self._judge()


def _depends(problem: OdeProblem, guard: int) -> bool:
    """Return whether a guard has the errors of states; one of time alone has none."""
    t, x, p = (problem.guards.sx_in(k) for k in range(3))
    return bool(ca.depends_on(problem.guards(t, x, p)[guard], x))

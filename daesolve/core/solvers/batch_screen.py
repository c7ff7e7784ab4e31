"""Steps of several motions looked through together: those in which nothing asks for a closer look.

What is passed over here is what the search for events (`guards`) and the checks of steps
(`step_checks`) would pass without a word, by the same conditions, taken for all motions at once.
Whatever is not goes their way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daesolve.core.expressions.blocks import evaluate_lanes
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.activation import FIRST_LOOKS, may_activate_in
from daesolve.core.solvers.compiled_checks import looked
from daesolve.core.solvers.dense_segments import INNER, StepScreening
from daesolve.core.solvers.phase_splitting import FAR
from daesolve.core.solvers.shapes import AROUND, FEW, stretches_near
from daesolve.core.solvers.step_checks import TURNED, excess, unresolved_terms_of
from daesolve.core.solvers.taylor_kernel.lane_stepping import BatchStretch
from daesolve.core.solvers.unresolved_terms import UnresolvedTerms, phases

PARTS = np.array([INNER, *FIRST_LOOKS])
"""The fractions of a step at which it is examined, for guards and for terms that may hide."""
GUARDED = (0,)
"""Which of them are for guards."""
FEWEST = 2
"""Steps of which something can be said of guards."""
MARGIN = AROUND + 2
"""Steps beside those at which guards come near to zero, by which these are judged."""


@dataclass(frozen=True, eq=False)
class Screen:
    """Looks through the steps of several motions of a problem.

    Parameters
    ----------
    problem
        The functions.
    relative, absolute
        The tolerances of a step.
    """

    problem: OdeProblem
    relative: float
    absolute: float

    @cached_property
    def hidden(self) -> UnresolvedTerms | None:
        """What may hide in the rates and the guards."""
        return unresolved_terms_of(self.problem)

    def examine(self, stretch: BatchStretch, values: np.ndarray) -> list[StepScreening]:
        """Return for each lane what asks for a closer look.

        Parameters
        ----------
        stretch
            The steps.
        values
            (lanes, np) p.
        """
        lanes, count = len(values), len(stretch.when)
        own = np.count_nonzero(stretch.when[:, 2], axis=0)
        spans = np.ascontiguousarray(stretch.when[:, 2].T)
        inner, slopes = looked(stretch.coefficients, spans, PARTS)
        times = np.vstack([stretch.when[:, 0], stretch.end[:1]]).T.copy()
        starts, end = stretch.coefficients[:, :, :, 0], stretch.state.T[:, None, :]
        steps = _Steps(spans, times, np.concatenate([starts, end], axis=1), inner)
        with np.errstate(all="ignore"):
            sound = np.isfinite(stretch.state).all(axis=0)
            sound &= self._agree(steps, stretch.coefficients[:, :, :, 1], slopes, values)
            if self.hidden is not None:
                sound &= self._asleep(steps, self.hidden, values)
            near = np.zeros((lanes, count), dtype=bool)
            if self.problem.events:
                near = self._near(steps, values, int(np.min(own)))
                near[own < FEWEST] = True
        first = np.maximum(np.argmax(near, axis=1) - MARGIN, 0)
        last = np.minimum(count - np.argmax(near[:, ::-1], axis=1) + MARGIN, own)
        last[~np.any(near, axis=1)] = 0
        first[last == 0] = 0
        found = zip(first.tolist(), last.tolist(), sound.tolist(), strict=True)
        return [StepScreening(start, stop, sound=right) for start, stop, right in found]

    def _agree(
        self, steps: _Steps, starts: np.ndarray, slopes: np.ndarray, values: np.ndarray
    ) -> np.ndarray:
        """Return where the derivatives at the ends of steps are the rates there."""
        times, states = steps.times[:, -1:].copy(), steps.states[:, -1:].copy()
        last = evaluate_lanes(self.problem.rhs, times, states, values)
        rates = np.concatenate([starts[:, 1:], last], axis=1)
        sizes = np.max(np.abs(steps.states[:, :-1]), axis=2)
        ends = steps.times[:, 1:]
        found = excess(
            slopes, rates, np.abs(steps.spans), sizes, ends, self.relative, self.absolute
        )
        return np.all(found <= 1.0, axis=1)

    def _asleep(self, steps: _Steps, hidden: UnresolvedTerms, values: np.ndarray) -> np.ndarray:
        """Return where the arguments of hidden terms say that none may wake up."""
        places = [(steps.times, steps.states), *(steps.within(k) for k in (1, 2))]
        ends, *inside = (evaluate_lanes(hidden.arguments, *place, values) for place in places)
        return ~may_activate_in(hidden, ends, tuple(inside), TURNED)

    def _near(self, steps: _Steps, values: np.ndarray, fewest: int) -> np.ndarray:
        """Return in which steps, so many at least, a guard comes near to zero, (lanes, k)."""
        lanes, count = steps.spans.shape
        # What says little by its number, says more by looks within.
        parts = GUARDED if 2 * fewest + 1 > FEW else (1, *GUARDED, 2)
        each = len(parts) + 1
        moments = np.empty((lanes, each * count + 1))
        table = np.empty((lanes, each * count + 1, self.problem.guards.nnz_out(0)))
        places = [(steps.times, steps.states), *(steps.within(part) for part in parts)]
        for place, (times, states) in enumerate(places):
            moments[:, place::each] = times
            table[:, place::each] = evaluate_lanes(self.problem.guards, times, states, values)
        near = stretches_near(moments, table)
        return np.any(near.reshape(lanes, count, each), axis=2) | self._swings(steps, values)

    def _swings(self, steps: _Steps, values: np.ndarray) -> np.ndarray:
        """Return in which steps a sine in a guard turns far, (lanes, k)."""
        arguments = phases(self.problem.guards)
        if arguments is None:
            return np.zeros(steps.spans.shape, dtype=bool)
        ends = evaluate_lanes(arguments, steps.times, steps.states, values)
        inner = evaluate_lanes(arguments, *steps.within(0), values)
        ways = np.abs(inner - ends[:, :-1]) + np.abs(ends[:, 1:] - inner)
        return np.any(ways > FAR, axis=2)


@dataclass(frozen=True, eq=False)
class _Steps:
    """Steps of several motions.

    Parameters
    ----------
    spans, times, states, inner
        (lanes, k), (lanes, k + 1), (lanes, k + 1, n), and (3, lanes, k, n) at the parts `PARTS`.
    """

    spans: np.ndarray
    times: np.ndarray
    states: np.ndarray
    inner: np.ndarray

    def within(self, part: int) -> tuple[np.ndarray, np.ndarray]:
        """Return times, (lanes, k), and states, (lanes, k, n), at a part of each step."""
        return self.times[:, :-1] + PARTS[part] * self.spans, self.inner[part]

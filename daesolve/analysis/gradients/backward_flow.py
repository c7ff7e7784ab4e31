"""Derivatives of an objective carried back between two places of a run.

The motion goes back together with them, from states that are known. As it may grow apart from the
run on the way back, it is compared with the run at the next known state; where it has, the
stretch is divided, at samples of the run or at states that are integrated forwards again. So no
more than a few hundred states are added to the run, however long the stretch is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.analysis.gradients.adjoint_equations import adjoint_problem, motion_alone
from daesolve.analysis.gradients.objective import Expression
from daesolve.analysis.run_events import RunEvents
from daesolve.analysis.variational_flow import WholeState
from daesolve.core.formulations import Feedback
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.choosing import choose_solver
from daesolve.core.run.integration.run_state import unobserved
from daesolve.core.solvers import Solver, State, Status
from daesolve.core.solvers.scaling import Scaling
from daesolve.errors import NoDerivativeError

APART = 1e-14
"""How far a motion on its way back may come apart from the run, in parts of its largest state."""
ROUNDING = 1e-16
"""From where such a distance grows."""
PER_STEP = 10.0
"""The same distance, in tolerances of a step, for solvers with a coarser one."""
MOST_PIECES = 200
"""How many pieces a stretch is divided into at once."""
FIRST = 60.0
"""Steps of the run that go back at once at first."""
SHORT = 20.0
"""Steps of the run that are divided only if the motion comes back worse than COARSE."""
COARSE = 1e-12
"""How well it comes back at least, in parts of the largest state, or 100 tolerances of a step."""
USUAL = 6
"""Powers of two within which values are measured in SI units."""
SHORTEST = 0.01
"""The shortest part of a step that goes back by itself."""
EXPLODED = 0.25
"""The part that goes back at once after the whole has exploded."""
LONGER = 1.5
"""The factor by which stretches grow again where they come back well."""


@dataclass(frozen=True, eq=False)
class Cotangent:
    """Derivatives of an objective by the state, (size,), and by the values, (np,), at a time."""

    state: np.ndarray
    values: np.ndarray

    def plus(self, state: np.ndarray, values: np.ndarray) -> Cotangent:
        """Return the sum with others."""
        return Cotangent(self.state + state, self.values + values)


class BackwardFlow:
    """What carries cotangents back along the smooth parts of a run.

    Parameters
    ----------
    events
        The run.
    active
        The indices of values by which derivatives are wanted.
    running
        What is integrated, if anything.
    asked
        The requested solver; None lets the library choose.

    Attributes
    ----------
    integral
        What was integrated so far.
    apart
        The largest distance between the motion on its way back and the run, in parts of its
        largest state.
    """

    def __init__(
        self,
        events: RunEvents,
        active: Sequence[int],
        running: Expression | None,
        asked: Solver | None,
    ) -> None:
        prepared, self.problem = events.prepared, events.problem
        self.active, self.running = list(active), running
        rates = [k for k, name in enumerate(self.problem.values) if ValueKind.RATE.is_a(name)]
        self.adjoint = adjoint_problem(self.problem, tuple(active), tuple(rates), running)
        self.motion = motion_alone(self.problem)
        fits = asked is not None and "ode" in asked.forms
        steps = max(float(events.record.steps), 1.0)
        self.solver, self.forwards = (
            choose_solver(asked if fits else None, Feedback(), problem, steps, [])
            for problem in (self.adjoint, self.motion)
        )
        size = self.problem.size
        of_states = events.exponents
        of_values = [-_exponent(events.start_values[k]) for k in active]
        exponents = (*of_states, *(-k for k in of_states), *of_values, 0)
        self.scaling = Scaling(exponents, of_states, time=prepared.scaling.time)
        self.whole = Scaling(of_states, of_states, time=prepared.scaling.time)
        self.units = np.ldexp(1.0, np.array(exponents[size : 2 * size], dtype=int))
        self.scaling.compiled(self.solver, self.adjoint)
        self.method = (
            f"adjoint equations of {self.adjoint.rhs.n_instructions()} instructions by "
            f"{self.solver.name}"
        )
        if asked is not None and not fits:
            method = f", because {asked.name} solves only differential-algebraic equations"
            self.method += method
        tolerance, coarser = self.solver.step_tolerance, prepared.solver.step_tolerance
        # The states of a run by a coarser solver are off by what all of its steps left.
        off = PER_STEP * steps * coarser if coarser > tolerance else 0.0
        self.limit = max(APART, PER_STEP * tolerance, off)
        self.coarse = max(COARSE, PER_STEP**2 * tolerance, off)
        step = abs(events.record.boundaries[-1].time - prepared.start_time) / steps
        self.step, self.reach = step, FIRST * step
        self.largest, self.compared = largest_states(events), events.compared
        self.integral = self.apart = 0.0

    def back(
        self,
        low: WholeState,
        high: WholeState,
        after: Cotangent,
        known: Sequence[WholeState] = (),
    ) -> Cotangent:
        """Carry a cotangent back between two known states of the same smooth motion.

        Parameters
        ----------
        low, high
            The earlier and the later place, in the order of the run.
        after
            The cotangent at the later one.
        known
            Places between them, in the order of the run.

        Raises
        ------
        NoDerivativeError
            The equations cannot be integrated.
        """
        if low.time == high.time or (self.running is None and not np.any(after.state)):
            return after
        length = abs(high.time - low.time)
        pieces = math.ceil(length / self.reach)
        if pieces > 1:
            return self._divided(low, high, after, known, min(pieces, MOST_PIECES))
        before, apart, integral = self._carried(low, high, after)
        short = SHORT * self.step
        if apart > (self.limit if length > short else self.coarse):
            share = EXPLODED
            if math.isfinite(apart):
                growth = math.log(apart / ROUNDING)
                share = min(math.log(self.limit / ROUNDING) / growth / LONGER, 0.5)
            shorter = share * length
            self.reach = shorter if apart > self.coarse else max(shorter, 0.99 * short)
            if self.reach < SHORTEST * self.step:
                came = f"it comes back {apart:.1g} of its largest state from the run"
                raise NoDerivativeError(
                    f"the motion before t = {high.time:.10g} s cannot be followed backwards, since "
                    + (came if math.isfinite(apart) else "it decays too fast")
                )
            return self.back(low, high, after, known)
        if apart < self.limit / 100.0 and length >= self.reach / LONGER:
            self.reach *= LONGER
        self.apart = max(self.apart, apart)
        self.integral += integral
        return before

    def _divided(
        self,
        low: WholeState,
        high: WholeState,
        after: Cotangent,
        known: Sequence[WholeState],
        pieces: int,
    ) -> Cotangent:
        """Carry back piece by piece, between known states or such that are integrated again."""
        chosen = range(len(known))
        if len(known) >= pieces:
            chosen = np.unique(np.linspace(-1, len(known), pieces + 1).round()[1:-1]).astype(int)
        places = [known[k] for k in chosen] if known else self._repeated(low, high, pieces)
        ends = [-1, *chosen, len(known)] if known else [0] * (len(places) + 2)
        for k in range(len(places), -1, -1):
            earlier = places[k - 1] if k else low
            later = places[k] if k < len(places) else high
            after = self.back(earlier, later, after, known[ends[k] + 1 : ends[k + 1]])
        return after

    def _repeated(self, low: WholeState, high: WholeState, pieces: int) -> list[WholeState]:
        """Return states between two places, integrated once more from the earlier one."""
        moments = np.linspace(low.time, high.time, pieces + 1)[1:-1]
        start, end = State(low.time, low.x, low.p), float(moments[-1])
        found = self.whole.segment(self.forwards, self.motion, start, end, moments, unobserved)
        if found.status is not Status.REACHED:
            raise NoDerivativeError(
                f"the motion cannot be repeated from t = {low.time:.10g} s: {found.message}"
            )
        known = zip(moments.tolist(), found.samples, strict=True)
        return [WholeState(time, x, low.p) for time, x in known]

    def _carried(
        self, low: WholeState, high: WholeState, after: Cotangent
    ) -> tuple[Cotangent, float, float]:
        """Integrate back; return the cotangent, how far the motion is from `low`, the integral.

        It is infinitely far if it explodes on the way.
        """
        size = self.problem.size
        unit = float(np.max(np.abs(after.state) / self.units, initial=0.0)) or 1.0
        start = np.concatenate([high.x, after.state / unit, np.zeros(len(self.active) + 1)])
        end = self.scaling.segment(
            self.solver,
            self.adjoint,
            State(high.time, start, np.append(low.p, 1.0 / unit)),
            low.time,
            np.empty(0),
            unobserved,
        )
        if end.status is not Status.REACHED:
            return after, math.inf, 0.0
        values = after.values.copy()
        values[self.active] += unit * end.state[2 * size : -1]
        apart = np.max((np.abs(end.state[:size] - low.x) / self.largest)[self.compared])
        before = Cotangent(unit * end.state[size : 2 * size], values)
        return before, float(apart), -unit * float(end.state[-1])


def largest_states(events: RunEvents) -> np.ndarray:
    """Return the largest size in the run of positions, velocities and what else is integrated."""
    states = np.max(np.abs([events.place(here).x for here in events.record.boundaries]), axis=0)
    for part in events.parts:
        states[part] = np.max(states[part], initial=0.0) or 1.0
    return states


def _exponent(value: float) -> int:
    """Return the power of two of a value that is far from 1; others need no unit of their own."""
    exponent = int(np.frexp(abs(value))[1]) if value else 0
    return exponent if abs(exponent) > USUAL else 0

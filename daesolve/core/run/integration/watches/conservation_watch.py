"""Watches driven invariants that are assumed to be conserved, without a proof.

Feedback holds whatever it drives, conserved or not. So the rate of each invariant is evaluated
without feedback at every accepted step. Once it is no longer zero, the later steps are rejected:
the run continues from the last good step, and the invariant is no longer driven.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from daesolve.core.equations.conservation import (
    POWER_TOLERANCE,
    SLOWEST,
    is_proved,
    rates_function,
)
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.projection import Level, Projection, levels
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.run.integration.record import RunRecord
from daesolve.core.run.integration.watches.watch import Watch

if TYPE_CHECKING:
    from daesolve.core.run.integration.watches.monitor import Monitor

OUT_OF_REACH = 1e100
"""The floor of a gradient, beside which nothing moves an invariant."""


@dataclass(frozen=True)
class Broken:
    """An invariant no longer driven: since when, s, and its rate there over its terms."""

    since: float
    rate: float

    @property
    def note(self) -> str:
        """The note for the report."""
        return (
            f"driven only up to t = {self.since:.10g} s: there its rate reaches "
            f"{self.rate:.2g} of its terms, so it is not conserved"
        )


class ConservationWatch(Watch):
    """Watches over the steps of a run.

    Parameters
    ----------
    dynamics, problem
        The equations, and what is integrated.
    limits
        By invariant, how large its rate may be relative to the largest recent terms.

    Attributes
    ----------
    broken
        The invariants that are no longer driven, by name.
    pending
        Whether some of them have yet to be released.
    """

    name, when, needs_stops = "conservation", "assumed", True

    def __init__(
        self, dynamics: Dynamics, problem: OdeProblem, limits: Mapping[str, float]
    ) -> None:
        self.dynamics, self.problem = dynamics, problem
        self.rows = [row for row in dynamics.invariants if row.name in limits]
        self.names = [row.name for row in self.rows]
        self.limits = np.array([limits[name] for name in self.names])
        self.largest = np.zeros(len(self.names))
        self.broken: dict[str, Broken] = {}
        self.pending = False
        self._reached = np.nan
        self._function = rates_function(dynamics, tuple(self.rows))
        self._places = [list(problem.values).index(name) for name in dynamics.values]
        self._levels: dict[tuple[str, ...], tuple[Level, Level]] = {}

    @classmethod
    def of(cls, prepared: Prepared) -> Self:
        """Watch where driven invariants are taken for conserved without a proof."""
        return cls(prepared.dynamics, prepared.problem, prepared.assumed)

    @cached_property
    def _rates(self) -> np.ndarray:
        """The places of all rates of feedback among p."""
        names = list(self.problem.values)
        wanted = [ValueKind.RATE.name_of(goal) for goal in self.dynamics.goal_names]
        return np.array([names.index(name) for name in wanted if name in names], dtype=int)

    # -- steps --------------------------------------------------------------------------------

    def believed(self, times: np.ndarray, states: np.ndarray, p: np.ndarray) -> int:
        """Return how many of these steps are good, and take them in.

        Parameters
        ----------
        times, states
            (k,) s and (k, size), the ends of the steps.
        p
            The values in force.
        """
        watched = np.array([name not in self.broken for name in self.names], dtype=bool)
        if not watched.any() or not len(times):
            return len(times)
        free = self._without_feedback(p)
        rates, sizes = self._evaluate(times, states, free)
        largest = _lately(np.vstack([self.largest, sizes]))[1:]
        with np.errstate(invalid="ignore"):
            suspect = (np.abs(rates) > self.limits * largest) & watched
        firsts = np.full(len(self.names), len(times))
        for place in np.flatnonzero(suspect.any(axis=0)).tolist():
            steps = np.flatnonzero(suspect[:, place])
            relative = np.abs(rates[steps, place]) / largest[steps, place]
            found = self._first(times, states, p, largest, place, steps, relative)
            firsts[place] = len(times) if found is None else found
        count = int(np.min(firsts))
        for place in np.flatnonzero(firsts == count).tolist() if count < len(times) else []:
            since = float(times[count - 1]) if count else self._reached
            rate = float(np.abs(rates[count, place]) / largest[count, place])
            self.broken[self.names[place]] = Broken(since, rate)
            self.pending = True
        if count:
            self.largest = largest[count - 1]
            self._reached = float(times[count - 1])
        return count

    def begin(self, time: float) -> None:
        """Take in the start of a stretch, s."""
        self._reached = time

    def _without_feedback(self, p: np.ndarray) -> np.ndarray:
        free = p.copy()
        free[self._rates] = 0.0
        return free

    def _evaluate(
        self, times: np.ndarray, states: np.ndarray, free: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rates, and the sizes of their terms, (k, n) each."""
        with np.errstate(all="ignore"):
            visible = self.problem.visible(times, states, free)[:, : self.dynamics.x.numel()]
            accelerations = self.problem.block("recover", times, states, free)[0]
            rates, terms, sizes = evaluate_block(
                self._function, times, np.hstack([visible, accelerations]), free[self._places]
            )
            return rates, np.fmax(terms, SLOWEST * sizes)

    # -- what solvers leave of constraints ----------------------------------------------------

    def _first(
        self,
        times: np.ndarray,
        states: np.ndarray,
        p: np.ndarray,
        largest: np.ndarray,
        place: int,
        steps: np.ndarray,
        relative: np.ndarray,
    ) -> int | None:
        """Return the first of suspect steps where the rate is not due to unmet constraints.

        A state that misses constraints by the solver's tolerance lets reactions do work. The rate
        counts at the nearest state that meets them; None if it is zero there.
        """

        def breaks(step: int) -> bool:
            found = self._rate_when_met(float(times[step]), states[step], p, place)
            return not found <= self.limits[place] * largest[step, place]

        worst = int(np.argmax(relative))
        if not breaks(int(steps[worst])):
            return None
        low, high = -1, worst
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if breaks(int(steps[middle])) else (middle, high)
        return int(steps[high])

    def _rate_when_met(self, time: float, state: np.ndarray, p: np.ndarray, place: int) -> float:
        """Return the size of a rate at the nearest state that meets the constraints."""
        free, problem = self._without_feedback(p), self.problem
        x = problem.visible(np.array([time]), state[None, :], p)[0]
        own = p[self._places]
        for level in self._levels_in(own):
            if level.goals:
                weights = np.eye(level.columns.size)
                met = Projection(level, weights, time, x, own, level.columns).met(x)
                x = x if met is None else met
        entered = problem.enter(time, x, free)
        rates, _ = self._evaluate(np.array([time]), entered[None, :], free)
        return abs(float(rates[0, place]))

    def _levels_in(self, p: np.ndarray) -> tuple[Level, Level]:
        """Return the constraints that hold in a mode."""
        engaged = self.dynamics.in_mode(p)
        key = tuple(row.name for row in engaged.rows)
        if key not in self._levels:
            held = tuple(row.name for row in self.dynamics.invariants if row.on == "positions")
            self._levels[key] = levels(engaged, held)
        return self._levels[key]

    # -- what is no longer driven -------------------------------------------------------------

    def undriven(self, p: np.ndarray) -> np.ndarray:
        """Return the values with which nothing drives the broken invariants."""
        names, values = list(self.problem.values), p.copy()
        for name in self.broken:
            values[ValueKind.RATE.place(name, names)] = 0.0
            values[ValueKind.FLOOR.place(name, names)] = OUT_OF_REACH
        self.pending = False
        return values

    def stays_driven(self) -> str | None:
        """Name a broken invariant that the projection of states would hold for ever."""
        positions = [row.name for row in self.rows if row.on == "positions"]
        held = self.problem.project is not None
        return next((name for name in positions if held and name in self.broken), None)

    def notes(self, *, ended: bool) -> list[str]:
        """Report what is no longer driven, and since when."""
        return [f"{name} is {broken.note}" for name, broken in self.broken.items()]

    def saved(self) -> dict[str, Any]:
        """Return all that is known, so that another process can resume."""
        broken = {name: [entry.since, entry.rate] for name, entry in self.broken.items()}
        return {"largest": self.largest, "broken": broken}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what `saved` returned."""
        self.largest = np.array(saved["largest"], dtype=float)
        self.broken = {name: Broken(*map(float, pair)) for name, pair in saved["broken"].items()}


def _lately(sizes: np.ndarray) -> np.ndarray:
    """Return the largest of sizes, (k, n), up to each step, where those before count half as much.

    What was met long ago, as in a close encounter, does not excuse what is large now.
    """
    steps = np.arange(len(sizes))[:, None]
    with np.errstate(divide="ignore"):
        return np.exp2(np.maximum.accumulate(np.log2(sizes) + steps) - steps)


def take_down_refuted(monitor: Monitor, record: RunRecord) -> None:
    """Record which invariants are not conserved, among those that grew and have no proof.

    Their residuals grew for that, not because digits were lost. Their rates are checked where the
    run was sampled, and at the ends of its segments.

    Parameters
    ----------
    monitor, record
        What was watched, and what the run has gathered.
    """
    prepared, grown = monitor.prepared, set(monitor.untrusted())
    dynamics, problem = prepared.dynamics, prepared.problem
    values = dict(zip(problem.values, prepared.values.tolist(), strict=True))
    for row in dynamics.invariants:
        if row.name not in grown or is_proved(dynamics, row, values):
            continue
        watch = ConservationWatch(dynamics, problem, {row.name: POWER_TOLERANCE})
        for time, state, mode in record.places(prepared.sign):
            watch.believed(np.array([time]), state[None, :], record.modes[mode])
            if row.name in watch.broken:
                rate = watch.broken[row.name].rate
                note = f"not conserved: at t = {time:.10g} s its rate is {rate:.2g} of its terms"
                monitor.measure_only(row.name, note)
                break

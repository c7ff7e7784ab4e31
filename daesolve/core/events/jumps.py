"""Instantaneous changes at events: resets, the projection of an impact, new references."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.equations.elimination.impacts import changed_by, impact_energies, settle_function
from daesolve.core.equations.elimination.saddle import EliminationPlan
from daesolve.core.equations.fitting import Fitting
from daesolve.core.events.continuity import Continuity
from daesolve.core.events.overlaps import Overlaps, Place
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.symbols import symbol, velocity_name
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.results.trajectory.results import Impact
from daesolve.errors import InconsistentStateError, ResetError

LEFT_OVER = 1e-6
"""The residual over its scale beyond which a reset has left a constraint unmet."""
WORSE = 10.0
"""A reset may leave up to this many times the residual before it."""
PULLED = 1e-9
"""An impulse below this fraction of the largest counts as zero."""


class JumpFunction:
    """The reset of some events together.

    Parameters
    ----------
    dynamics, plan, problem
        The equations, how reactions are eliminated, and what is integrated.
    events
        The indices of the events.

    Attributes
    ----------
    function
        (t, states and work integrals, p, fired) -> (states and work integrals, p, impulses,
        [T before, T after, miss of Carnot's theorem], residuals before, residuals after);
        fired are the guards of the events one after the other, 1.0 or 0.0.
    continuity
        What must be the same before and after, if switches turn on which an energy depends.
    overlaps
        The gaps of unilateral goals and barriers that it changes; none may be negative after it.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        plan: EliminationPlan,
        problem: OdeProblem,
        events: tuple[int, ...],
    ) -> None:
        self.names = [problem.events[index].name for index in events]
        self._guards_of = {index: range(problem.events[index].count) for index in events}
        rows = [dynamics.resets[index] for index in events]
        momentary = {row.name: row for reset in rows for row in reset.momentary}
        self.imposes = any(reset.imposed for reset in rows)
        self._has_energies = any(reset.energies for reset in rows)
        self.reactions = (*dynamics.labels.reactions, *momentary)
        self.goals = [name for row in dynamics.rows for name in row.links]
        switches = {*self.names} <= {*dynamics.switches}
        # Their own law decides on gaps that open, and on the velocities of gaps and slips.
        rates, gaps = decided_by_laws(dynamics)
        driving = {name for row in dynamics.drives for name in row.events}
        self._driven = {*self.names} <= driving
        self._rates_open = np.array([name in rates for name in self.goals], dtype=bool)
        self._gaps_open = np.array([name in gaps for name in self.goals], dtype=bool)
        imposed = {name for reset in rows for name in reset.imposed}
        # Dry friction lets go of a slip that it finds in motion, wherever it is found.
        self._held_by = [
            None if row.hold is None else row.hold.name()
            for row in dynamics.rows
            for _ in row.links
        ]
        self._dynamics = dynamics
        # The reaction of each that may open, and the places in p that hold it.
        self._pushing = {
            reaction: [one.hold, *one.slip_holds]
            for one in dynamics.unilateral
            if (reaction := dynamics.rows[one.row].reaction) is not None
            and self.imposes
            and one.name not in imposed
        }
        self.continuity = Continuity.of(dynamics, events)
        self.overlaps = Overlaps.of(dynamics, events)
        self._count = dynamics.x.numel()
        # What switches in time may change the energy, as a spring that stiffens does.
        goes_on = (
            switches
            and not self.imposes
            and not any(
                ca.depends_on(dynamics.events[index].guards, dynamics.t) for index in events
            )
        )
        works = symbol("works", _work_count(dynamics, problem))
        sampled = {name for row in dynamics.drives if row.together for name in row.events}
        resets = {index: dynamics.events[index].name in sampled for index in events}
        self.function = _jump_function(
            dynamics, plan, resets, list(momentary.values()), works, goes_on=goes_on
        )
        self._evaluate = Evaluator(self.function)
        self._sizes: tuple[Mapping[str, float], np.ndarray] = ({}, np.empty(0))

    def __call__(
        self,
        time: float,
        states: np.ndarray,
        p: np.ndarray,
        groups: Mapping[int, tuple[int, ...]],
        scales: Mapping[str, float],
    ) -> tuple[np.ndarray, np.ndarray, Impact | None]:
        """Return the states and values after, and the impact.

        Raises
        ------
        ResetError
            The result is not finite, or a constraint is left unmet.
        """
        fired = np.array(
            [float(place in chosen) for e, chosen in groups.items() for place in self._guards_of[e]]
        )
        opened = self.opened(time, states, p, fired)
        found = self._evaluate(time, states, without(p, opened), fired)
        after, values, impulses, energies, before, left = found
        values[opened] = p[opened]
        if not (math.isfinite(sum(after.tolist())) and math.isfinite(sum(values.tolist()))):
            raise ResetError(
                f"{self._where(time)} does not lead to a finite state: the imposed constraints "
                "contradict or repeat others, or a change is not finite"
            )
        if self.goals:
            self._check(float(time), (before, left), (after, values), scales)
        if self.continuity is not None:
            x, old, new = (np.array(n, dtype=float) for n in (states[: self._count], p, values))
            self.continuity.check(float(time), x, old, new, fired)
        if self.overlaps is not None:
            self._check_gaps(self.overlaps, (time, states, p), (time, after, values))
        return after, values, self.impact([*impulses.tolist(), *energies.tolist()])

    def opened(
        self, time: float, states: np.ndarray, p: np.ndarray, fired: np.ndarray
    ) -> list[int]:
        """Return what holds the goals, places in p, that would have to pull in the impact.

        They are open during it. Their own law decides what follows, by the speeds of their gaps.
        """
        closed = {k: places for k, places in self._pushing.items() if p[places[0]] == 1.0}
        found: list[int] = []
        while closed:
            impulses = self._evaluate(time, states, without(p, found), fired)[2]
            worst = min(closed, key=lambda reaction: float(impulses[reaction]))
            # What is not finite is refused where it is used.
            if not impulses[worst] < -PULLED * np.max(np.abs(impulses)):
                break
            found += closed.pop(worst)
        return found

    @property
    def plain(self) -> bool:
        """Whether its numbers and residuals suffice to judge it."""
        judged = self.continuity is None and self.overlaps is None
        return judged and not self._pushing and not self._rates_open.any()

    def sizes(self, scales: Mapping[str, float]) -> np.ndarray:
        """Return the scales of the residuals that are checked, (goals,)."""
        return np.array([scales.get(name, 1.0) for name in self.goals])

    def impact(self, results: Sequence[float]) -> Impact | None:
        """Return the imposed impact; None if nothing was imposed.

        Parameters
        ----------
        results
            The impulses and energies that `function` gives, and perhaps more.
        """
        if not (self.imposes or self._has_energies):
            return None
        count = len(self.reactions)
        # Energies that an event reports come without the impulses that belong to them.
        named = dict(zip(self.reactions, results, strict=False)) if self.imposes else {}
        kinetic, remaining, miss = results[count : count + 3]
        return Impact(named, kinetic, remaining, abs(miss) / kinetic if kinetic > 0.0 else 0.0)

    def _where(self, time: float) -> str:
        return f"the reset of {', '.join(map(repr, self.names))} at t = {time:.10g} s"

    def _check_gaps(self, overlaps: Overlaps, before: Place, after: Place) -> None:
        """Refuse to leave bodies within each other."""
        old, new = (
            (float(t), np.array(x[: self._count], dtype=float), np.array(p, dtype=float))
            for t, x, p in (before, after)
        )
        overlaps.check(self._where(new[0]), old, new)

    @cached_property
    def _fitting(self) -> Fitting:
        return Fitting(self._dynamics)

    def _released(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return which goals are released in a state by modes that follow from it, (goals,)."""
        known = dict(zip(self._dynamics.values, p.tolist(), strict=False))
        try:
            found = self._fitting(known, x, time)
        except InconsistentStateError:
            found = known
        return np.array([name is not None and found[name] == 0.0 for name in self._held_by])

    def _check(
        self,
        time: float,
        residuals: tuple[np.ndarray, np.ndarray],
        after: tuple[np.ndarray, np.ndarray],
        scales: Mapping[str, float],
    ) -> None:
        """Refuse to continue if a constraint is violated that was met before."""
        before, left = residuals
        if self._sizes[0] is not scales:
            self._sizes = scales, self.sizes(scales)
        sizes = self._sizes[1]
        unmet = np.abs(left) > LEFT_OVER * sizes + WORSE * np.abs(before)
        unmet &= ~(self._rates_open | (self._gaps_open & (left > 0.0)))
        if unmet.any() and {*self._held_by}.intersection(self._fitting.names):
            unmet &= ~self._released(time, after[0][: self._count], after[1])
        if unmet.any():
            worst = int(np.argmax(np.where(unmet, np.abs(left) / sizes, 0.0)))
            hint = "impose it, or change the state so that it holds"
            if self._driven:
                hint = (
                    "in a constraint a table must be smooth (kind = 'cubic', and outside = "
                    "'refuse', which ends it at its nodes), and a sampled law is not allowed"
                )
            raise ResetError(
                f"{self._where(time)} leaves the goal {self.goals[worst]!r} off by "
                f"{left[worst]:.3g}: {hint}"
            )


def without(p: np.ndarray, places: list[int]) -> np.ndarray:
    """Return values of which some are zero."""
    if places:
        p = p.copy()
        p[places] = 0.0
    return p


def decided_by_laws(dynamics: Dynamics) -> tuple[set[str], set[str]]:
    """Return the names of the rates of gaps and of slips, and of gaps."""
    names = {row.name for row in dynamics.unilateral}
    rates = {velocity_name(name) for name in names}
    for row in dynamics.unilateral:
        for k in row.slips:
            rates.update(dynamics.rows[k].links)
    return rates, names


@built_once
def _functions(problem: OdeProblem) -> dict[tuple[int, ...], JumpFunction]:
    """Return the resets of a problem that were built so far."""
    return {}


class JumpFunctions:
    """The resets of a problem, each built once for the events that it resets together.

    Parameters
    ----------
    dynamics, plan, problem
        As in `JumpFunction`.
    """

    def __init__(self, dynamics: Dynamics, plan: EliminationPlan, problem: OdeProblem) -> None:
        self.dynamics, self.plan, self.problem = dynamics, plan, problem
        self.built = _functions(problem)

    def __call__(self, events: tuple[int, ...]) -> JumpFunction:
        """Return the function that resets these events together."""
        if events not in self.built:
            self.built[events] = self.build(events)
        return self.built[events]

    def build(self, events: tuple[int, ...]) -> JumpFunction:
        """Build it."""
        return JumpFunction(self.dynamics, self.plan, self.problem, events)


def _work_count(dynamics: Dynamics, problem: OdeProblem) -> int:
    whole = problem if problem.chart is None else problem.chart.whole
    return whole.size - dynamics.x.numel()


def _jump_function(
    dynamics: Dynamics,
    plan: EliminationPlan,
    sampled: Mapping[int, bool],
    momentary: Sequence[GoalRow],
    works: ca.SX,
    *,
    goes_on: bool,
) -> ca.Function:
    """Reset by events, of which samples of laws read what was there before all changes."""
    t, x, p = dynamics.t, dynamics.x, dynamics.p
    resets = [dynamics.resets[index] for index in sampled]
    links = ca.vertcat(ca.SX(0, 1), *[link for row in dynamics.rows for link in row.chain])
    residuals = function_of("links", [t, x, p], [links], (["t", "x", "p"], ["links"]))
    after, values = x, p
    thrown: dict[str, ca.SX] = {}
    results: list[ca.SX] = []
    for reset, reads_before in zip(resets, sampled.values(), strict=True):
        if reset.energies:
            results.append(impact_energies(dynamics, reset, after, values))
        seen = (x, p) if reads_before else None
        changed_x, changed_p, restitution = changed_by(dynamics, reset, after, values, seen)
        after, values = changed_x, changed_p
        thrown |= dict.fromkeys(reset.imposed, restitution)
    impulses = ca.SX(dynamics.reactions.numel() + len(momentary), 1)
    energies = ca.SX(3, 1)
    if results:
        missed = sum((one[2] for one in results), ca.SX(0))
        energies = ca.vertcat(results[0][0], results[-1][1], missed)
    if any(reset.imposed for reset in resets):
        rows = [*dynamics.rows, *momentary]
        factors = ca.vertcat(ca.SX(0, 1), *[thrown.get(row.name, ca.SX(0)) for row in rows])
        settle = settle_function(dynamics, plan, momentary, thrown)
        after, impulses, imposed = settle(t, after, values, factors)
        first = energies[0] if results else imposed[0]
        energies = ca.vertcat(first, imposed[1], energies[2] + imposed[2])
    if not goes_on:
        values = with_references(dynamics, t, after, values, works)
    fired = ca.vertcat(*[reset.fired for reset in resets])
    state = ca.vertcat(x, works)
    return function_of(
        "jump",
        [t, state, p, fired],
        [
            ca.vertcat(after, works),
            values,
            impulses,
            energies,
            residuals(t, x, p),
            residuals(t, after, values),
        ],
        (
            ["t", "x", "p", "fired"],
            ["state", "values", "impulses", "energies", "before", "left"],
        ),
    )


def with_references(dynamics: Dynamics, t: ca.SX, x: ca.SX, p: ca.SX, works: ca.SX) -> ca.SX:
    """Set the references of held and measured quantities to their current values."""
    held = {row.name: row.held for row in dynamics.invariants}
    held |= {
        row.name: row.chain[0] + dynamics.p[ValueKind.REFERENCE.place(row.name, dynamics.values)]
        for row in dynamics.rows
        if row.from_start
    }
    if not held:
        return p
    column = ca.vertcat(*held.values())
    function = ca.Function("held", [dynamics.t, dynamics.x, dynamics.p], [column])
    found = function(t, x, p)
    metered = [row.name for row in dynamics.invariants if row.automatic]
    new = ca.SX(p)
    for place, name in enumerate(held):
        value = found[place]
        if works.numel() and name in metered:
            value = value - works[metered.index(name)]
        new[ValueKind.REFERENCE.place(name, dynamics.values)] = value
    return new


def joined(impacts: Sequence[Impact | None]) -> Impact | None:
    """Return several impacts at one instant as one."""
    known = [impact for impact in impacts if impact is not None]
    if not known:
        return None
    return Impact(
        {name: sum(impact.impulses[name] for impact in known) for name in known[0].impulses},
        known[0].kinetic_before,
        known[-1].kinetic_after,
        max(impact.carnot for impact in known),
    )

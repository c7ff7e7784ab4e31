"""What happens at an instant: which events are due, what they change, what an impact costs.

Several guards may reach zero together; what they ask for is done at once. The state is tested
besides the crossing: a guard at zero, to rounding, whose rate points outwards is due as well,
whatever a solver saw. After each reset the test is repeated, until nothing is due.

Two kinds of guards are told apart by what their reset does. A *barrier* is one that its reset
answers: it changes what the guard depends on, or imposes a constraint for the instant alone (a
bouncing ball, a wheel that goes on to its next roller). It is due whenever it is at zero on its way
out. A *switch* only changes the mode, and the motion passes through (a relay, a string that meets
a peg). Once it has fired it is not due again before it was inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.dynamics import Dynamics, GoalRow, ResetRow
from daesolve.elimination import EliminationPlan, Saddle
from daesolve.errors import ChatteringError, PosingError, ResetError
from daesolve.formulations import OdeProblem
from daesolve.solvers import Evaluator
from daesolve.trajectory import Impact
from daesolve.translation import function_of

TOGETHER = 1e-12
"""Guards nearer to zero than this part of the largest value met pass together."""
MOST_AT_ONCE = 32
"""Resets at one instant beyond which they never end."""
INSTANT = 1e-13
"""Resets closer than this part of the time and of a segment are at one instant."""
ANSWERED = 1e-6
"""Of a guard's rate, what is left at least where a reset sends it back or lets it go on."""
LEFT_OVER = 1e-6
"""The residual over its scale beyond which a reset has left a constraint unmet."""


@dataclass(frozen=True)
class Jump:
    """What changed at once.

    Parameters
    ----------
    events
        The guards that fired, by the index of their event, each from 0.
    x, p
        The state and the values after.
    impact
        What was imposed, if anything was.
    """

    events: Mapping[int, tuple[int, ...]]
    x: np.ndarray
    p: np.ndarray
    impact: Impact | None


class Transitions:
    """The resets of a problem.

    Parameters
    ----------
    dynamics, plan
        The equations, and how reactions are eliminated.
    problem
        What is integrated.
    scales
        Of residuals by name; one for others.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        plan: EliminationPlan,
        problem: OdeProblem,
        scales: Mapping[str, float],
    ) -> None:
        self.dynamics, self.plan, self.problem = dynamics, plan, problem
        self._scales = scales
        if problem not in _built:
            _built[problem] = _Built(Evaluator(_guard_rates(problem)), {})
        self._guards = _built[problem].guards
        self._jumps = _built[problem].jumps
        counts = [event.count for event in problem.events]
        self._firsts = np.cumsum([0, *counts[:-1]])
        self._owners = np.repeat(np.arange(len(counts)), counts)
        self._places = [(k, j) for k, e in enumerate(problem.events) for j in range(e.count)]
        self._largest = np.zeros(len(problem.events))
        # A chart's own event is no event of the motion.
        own = self._owners < len(dynamics.events)
        interrupting = [event.then.interrupts for event in problem.guarded]
        directions = np.array([event.direction.value for event in problem.guarded])
        self._ways = np.where(interrupting & own, directions, 0)
        self._either = interrupting & own & (directions == 0)
        resets = [dynamics.resets.get(index) for index in range(len(problem.events))]
        moves = [_moves_its_guard(dynamics, index) for index in range(len(problem.events))]
        blows = [reset is None or bool(reset.momentary) for reset in resets]
        self._moved = np.array(moves, dtype=bool)[self._owners]
        self._barriers = self._moved | np.array(blows, dtype=bool)[self._owners]
        self._armed = np.ones(len(self._owners), dtype=bool)
        self._measured = (np.nan, np.empty(0), np.empty(0), np.empty(0), np.empty(0))
        self._passed = np.full(len(self._owners), -np.inf)

    def fresh(self) -> Transitions:
        """Return the transitions of a run that has seen nothing yet."""
        return Transitions(self.dynamics, self.plan, self.problem, self._scales)

    def measure(self, time: float, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the guards and their rates; the sizes of guards are remembered."""
        known = time == self._measured[0] and p is self._measured[2]
        if known and np.array_equal(x, self._measured[1]):
            return self._measured[3], self._measured[4]
        values, rates = self._guards(time, x, p)
        self._measured = (time, x.copy(), p, values, rates)
        sizes = np.maximum.reduceat(np.abs(values), self._firsts)
        self._largest = np.maximum(self._largest, sizes)
        self._armed |= self._ways * values < -self.tolerances()
        return values, rates

    def tolerances(self) -> np.ndarray:
        """Return what counts as zero, for each guard."""
        return TOGETHER * self._largest[self._owners]

    def outside(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return how far each guard is past zero, in the direction in which it counts."""
        return self._ways * self.measure(time, x, p)[0]

    def due(self, time: float, x: np.ndarray, p: np.ndarray) -> list[int]:
        """Return the guards that are at zero or past it and on their way out."""
        values, rates = self.measure(time, x, p)
        outside = (self._ways * values >= -self.tolerances()) & (self._ways * rates > 0.0)
        return np.flatnonzero(outside & self._armed).tolist()

    def counts(self, time: float, guard: int) -> bool:
        """Tell whether a zero that a solver found is not that at which a switch has just fired."""
        return bool(self._armed[guard] or time > self._passed[guard])

    def beside(self, time: float, x: np.ndarray, p: np.ndarray) -> list[int]:
        """Return the guards of either direction that are at zero where another has interrupted.

        The motion starts anew from there, so that no solver would tell them.
        """
        values, _ = self.measure(time, x, p)
        there = self._either & (np.abs(values) <= self.tolerances()) & (time > self._passed)
        return np.flatnonzero(there).tolist()

    def fire(self, time: float, x: np.ndarray, p: np.ndarray, guards: Sequence[int]) -> np.ndarray:
        """Take note of guards that fire now; return the rates of all guards."""
        values, rates = self.measure(time, x, p)
        self._armed[guards] = self._barriers[guards]
        with np.errstate(divide="ignore", invalid="ignore"):
            width = (np.abs(values) + 2.0 * self.tolerances()) / np.abs(rates)
        self._passed[guards] = time + np.nan_to_num(width, nan=np.inf)[guards]
        return rates

    def answered(
        self, time: float, x: np.ndarray, p: np.ndarray, jump: Jump, before: np.ndarray
    ) -> np.ndarray:
        """Take note of how a reset left the guards that fired; return the rates of all guards.

        What it has sent back may be met again at once, a switch as well. What it has left at zero
        and on its way has passed, be it a barrier: a blow on a motion that goes on. Only where it
        changed what the guard depends on is it asked again: the motion is at another border now.

        Parameters
        ----------
        time, x, p
            After the reset.
        jump
            The reset.
        before
            The rates of all guards before it.
        """
        values, rates = self.measure(time, x, p)
        size = ANSWERED * before**2
        back, on = rates * before < -size, rates * before > size
        at_zero = self._ways * values >= -self.tolerances()
        for event, places in jump.events.items():
            guards = self._firsts[event] + np.array(places)
            self._armed[guards] |= back[guards]
            if len(places) == 1 or not self.dynamics.resets[event].sequential:
                self._armed[guards] &= ~(on & at_zero & ~self._moved)[guards]
        return rates

    def late(self, time: float, x: np.ndarray, p: np.ndarray) -> list[int]:
        """Return the guards that are well past zero: no solver told when they passed."""
        values, _ = self.measure(time, x, p)
        late = self._ways * values > self.tolerances()
        return np.flatnonzero(late & self._armed).tolist()

    def jumps(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int]
    ) -> Iterator[Jump]:
        """Reset what these guards ask for, and yield each jump.

        Raises
        ------
        ResetError
            A reset leads to no state, or leaves a constraint unmet.
        """
        groups: dict[int, tuple[int, ...]] = {}
        for guard in sorted(set(fired)):
            event, place = self._places[guard]
            if event in self.dynamics.resets:
                groups[event] = (*groups.get(event, ()), place)
        if not any(self.dynamics.resets[event].sequential for event in groups):
            if groups:
                yield self._jump(time, x, p, groups)
            return
        for event, places in groups.items():
            taken = [(place,) for place in places]
            steps: list[Jump] = []
            for chosen in taken if self.dynamics.resets[event].sequential else [places]:
                steps.append(self._jump(time, x, p, {event: chosen}))
                x, p = steps[-1].x, steps[-1].p
            yield replace(steps[-1], events={event: places}, impact=_joined(steps))

    def function(self, events: tuple[int, ...]) -> JumpFunction:
        """Return the function that resets these events together."""
        if events not in self._jumps:
            self._jumps[events] = JumpFunction(self.dynamics, self.plan, self.problem, events)
        return self._jumps[events]

    def _jump(
        self, time: float, x: np.ndarray, p: np.ndarray, groups: Mapping[int, tuple[int, ...]]
    ) -> Jump:
        function = self.function(tuple(groups))
        chart = self.problem.chart
        states, own = x, len(self.dynamics.values)
        if chart is not None:
            works = x[chart.embed.nnz_in(1) :]
            visible = self.problem.visible(np.array([time]), x[None, :], p)[0]
            states = np.concatenate([visible, works])
        after, values, impact = function(time, states, p[:own], groups, self._scales)
        values = np.concatenate([values, p[own:]])
        if chart is not None:
            count = len(self.dynamics.labels.states)
            if chart.choose is not None:
                values = chart.choose(time, after[:count], values, after[None, :count])
            after = self.problem.enter(time, after[:count], values, after[count:])
        return Jump(dict(groups), after, values, impact)


class JumpFunction:
    """The reset of some events together.

    Parameters
    ----------
    dynamics, plan, problem
        As in `Transitions`.
    events
        The indices of the events.

    Attributes
    ----------
    function
        (t, states and work integrals, p, fired) -> (states and work integrals, p, impulses,
        [T before, T after, miss of Carnot's theorem], residuals before, residuals after);
        fired are the guards of the events one after the other, 1.0 or 0.0.
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
        self.reactions = (*dynamics.labels.reactions, *momentary)
        self.goals = [name for row in dynamics.rows for name in row.links]
        works = ca.SX.sym("works", _work_count(dynamics, problem))  # pyright: ignore
        self.function = _jump_function(dynamics, plan, rows, list(momentary.values()), works)
        self._evaluate = Evaluator(self.function)

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
        after, values, impulses, energies, before, left = self._evaluate(time, states, p, fired)
        where = f"the reset of {', '.join(map(repr, self.names))} at t = {time:.10g} s"
        if not (np.all(np.isfinite(after)) and np.all(np.isfinite(values))):
            raise ResetError(
                f"{where} leads to no finite state: the constraints that it imposes contradict or "
                "repeat others, or a change is not finite"
            )
        sizes = np.array([scales.get(name, 1.0) for name in self.goals])
        unmet = np.abs(left) > LEFT_OVER * sizes + 10.0 * np.abs(before)
        if np.any(unmet):
            worst = int(np.argmax(np.where(unmet, np.abs(left) / sizes, 0.0)))
            raise ResetError(
                f"{where} leaves the goal {self.goals[worst]!r} off by {left[worst]:.3g}: impose "
                "it, or change the state so that it is met"
            )
        if not self.imposes:
            return after, values, None
        kinetic = float(energies[0])
        named = dict(zip(self.reactions, map(float, impulses), strict=True))
        miss = float(energies[2]) / kinetic if kinetic > 0.0 else 0.0
        return after, values, Impact(named, kinetic, float(energies[1]), abs(miss))


@dataclass(frozen=True)
class _Built:
    """What was compiled for a problem."""

    guards: Evaluator
    jumps: dict[tuple[int, ...], JumpFunction]


_built: WeakKeyDictionary[OdeProblem, _Built] = WeakKeyDictionary()


@dataclass
class Instant:
    """Counts resets that follow each other at once.

    Parameters
    ----------
    width
        What counts as the same time beside rounding, s.
    """

    width: float
    began: float = np.nan
    count: int = 0

    def take(self, time: float, event: str) -> None:
        """Count one more.

        Raises
        ------
        ChatteringError
            There are more than `MOST_AT_ONCE`.
        """
        if abs(time - self.began) <= self.width + INSTANT * abs(time):
            self.count += 1
        else:
            self.began, self.count = time, 1
        if self.count > MOST_AT_ONCE:
            raise ChatteringError(
                f"at t = {time:.10g} s the event {event!r} happened more than {MOST_AT_ONCE} times "
                "at one instant: the motion comes to rest on its guard; end before, give it a mode "
                "in which it rests there, or, if it counts either way, the direction in which it "
                "is met"
            )


def _work_count(dynamics: Dynamics, problem: OdeProblem) -> int:
    whole = problem if problem.chart is None else problem.chart.whole
    return whole.size - dynamics.x.numel()


def _joined(steps: Sequence[Jump]) -> Impact | None:
    """Return several impacts at one instant as one."""
    impacts = [step.impact for step in steps if step.impact is not None]
    if not impacts:
        return None
    names = impacts[0].impulses
    return Impact(
        {name: sum(impact.impulses[name] for impact in impacts) for name in names},
        impacts[0].kinetic_before,
        impacts[-1].kinetic_after,
        max(impact.carnot for impact in impacts),
    )


def _moves_its_guard(dynamics: Dynamics, event: int) -> bool:
    """Tell whether a reset changes what its own guards depend on."""
    reset = dynamics.resets.get(event)
    if reset is None:
        return False
    names = list(dynamics.values)
    changed = [dynamics.x[index] for index in reset.states]
    changed += [dynamics.p[names.index(name)] for name in reset.values]
    return bool(ca.depends_on(dynamics.events[event].guards, ca.vertcat(ca.SX(0, 1), *changed)))


def _guard_rates(problem: OdeProblem) -> ca.Function:
    """(t, x, p) -> the guards and their rates along the motion."""
    t, x, p = (problem.guards.sx_in(k) for k in range(3))
    values = problem.guards(t, x, p)
    moving = ca.jtimes(values, x, problem.rhs(t, x, p)) + ca.jtimes(values, t, ca.SX(1))
    return function_of("guard_rates", [t, x, p], [values, moving], (["t", "x", "p"], ["g", "rate"]))


def _jump_function(
    dynamics: Dynamics,
    plan: EliminationPlan,
    resets: Sequence[ResetRow],
    momentary: Sequence[GoalRow],
    works: ca.SX,
) -> ca.Function:
    t, x, p = dynamics.t, dynamics.x, dynamics.p
    links = ca.vertcat(ca.SX(0, 1), *[link for row in dynamics.rows for link in row.chain])
    residuals = function_of("links", [t, x, p], [links], (["t", "x", "p"], ["links"]))
    after, values, thrown = x, p, {}
    for reset in resets:
        changed_x, changed_p, restitution = _changed(dynamics, reset, after, values)
        after, values = changed_x, changed_p
        thrown |= dict.fromkeys(reset.imposed, restitution)
    impulses = ca.SX(dynamics.reactions.numel() + len(momentary), 1)
    energies = ca.SX(3, 1)
    if any(reset.imposed for reset in resets):
        rows = [*dynamics.rows, *momentary]
        factors = ca.vertcat(ca.SX(0, 1), *[thrown.get(row.name, ca.SX(0)) for row in rows])
        settle = _settle_function(dynamics, plan, momentary)
        after, impulses, energies = settle(t, after, values, factors)
    values = _with_references(dynamics, t, after, values, works)
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


def _changed(dynamics: Dynamics, reset: ResetRow, x: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return state, values and restitution after the changes of one event."""
    names = list(dynamics.values)
    numbers = {names.index(name): change for name, change in reset.values.items()}
    changes = [*reset.states.values(), *numbers.values(), reset.restitution]
    arguments = [dynamics.t, dynamics.x, dynamics.p, reset.fired]
    function = ca.Function("changes", arguments, [ca.vertcat(*changes)])
    found = function(dynamics.t, x, p, reset.fired)
    new_x, new_p = ca.SX(x), ca.SX(p)
    for place, index in enumerate(reset.states):
        new_x[index] = found[place]
    for place, index in enumerate(numbers, len(reset.states)):
        new_p[index] = found[place]
    return new_x, new_p, found[-1]


def _settle_function(
    dynamics: Dynamics, plan: EliminationPlan, momentary: Sequence[GoalRow]
) -> ca.Function:
    """(t, x, p, restitution of each constraint) -> (x, impulses, energies): the projection."""
    count = dynamics.reactions.numel()
    own = [replace(row, reaction=count + k) for k, row in enumerate(momentary)]
    symbols = [ca.SX.sym(f"impulse_{row.name}") for row in own]  # pyright: ignore
    whole = replace(
        dynamics,
        rows=(*dynamics.rows, *own),
        reactions=ca.vertcat(dynamics.reactions, *symbols),
        influence=ca.horzcat(dynamics.influence, *[row.jacobian.T for row in own]),
    )
    try:
        saddle = Saddle(whole, replace(plan, refinements=max(plan.refinements, 1)))
    except PosingError:
        names = ", ".join(repr(row.name) for row in whole.rows)
        raise ResetError(
            f"constraints that are imposed at once repeat others: of {names} some depend on each "
            "other; impose each motion once"
        ) from None
    restitution = ca.SX.sym("restitution", len(whole.rows))  # pyright: ignore
    before = dynamics.velocities
    targets = [
        row.jacobian @ before - (1.0 + restitution[k]) * row.chain[-1]
        for k, row in enumerate(whole.rows)
    ]
    momentum = dynamics.mass @ before
    after, impulses = saddle.solve(momentum, targets, [ca.SX(0)] * len(whole.relations))
    energies = ca.vertcat(
        ca.dot(before, momentum) / 2,
        ca.dot(after, dynamics.mass @ after) / 2,
        _carnot(whole, before, after, impulses, targets, symmetric=saddle.symmetric),
    )
    positions = dynamics.x[: dynamics.position_count]
    return function_of(
        "settle",
        [dynamics.t, dynamics.x, dynamics.p, restitution],
        [ca.vertcat(positions, after), impulses, energies],
        (["t", "x", "p", "restitution"], ["state", "impulses", "energies"]),
    )


def _carnot(
    dynamics: Dynamics,
    before: ca.SX,
    after: ca.SX,
    impulses: ca.SX,
    targets: Sequence[ca.SX],
    *,
    symmetric: bool,
) -> ca.SX:
    """Return T- - T+ - (energy of the lost velocities) + (work of the impulses at v+)."""
    lost = after - before
    mass = dynamics.mass
    energy_lost = (ca.dot(before, mass @ before) - ca.dot(after, mass @ after)) / 2
    work = ca.dot(ca.vertcat(*targets), impulses)
    if not symmetric:
        work = ca.dot(after, dynamics.influence @ impulses)
    return energy_lost - ca.dot(lost, mass @ lost) / 2 + work


def _with_references(dynamics: Dynamics, t: ca.SX, x: ca.SX, p: ca.SX, works: ca.SX) -> ca.SX:
    """Take what is held or measured from its value now: references are those of the new motion."""
    names = list(dynamics.values)
    held = {row.name: row.value for row in dynamics.invariants}
    held |= {
        row.name: row.chain[0] + dynamics.p[names.index(f"reference_{row.name}")]
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
        new[names.index(f"reference_{name}")] = value
    return new

"""Pieces of a motion, from a state to a time or a guard's passage, with their derivatives.

One preparation serves every piece: pieces differ in their start, values and end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial

import casadi as ca
import numpy as np

from daesolve.analysis.orbits.autonomy import clocks, is_autonomous, resets_of
from daesolve.analysis.orbits.bends import Bends
from daesolve.analysis.orbits.nodes import (
    Flight,
    Node,
    Passage,
    check_not_interrupted,
    last_within,
)
from daesolve.analysis.variational import guard_slopes
from daesolve.core.equations.consistency import Start, complete_start
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.results.trajectory.results import Continuation, Outcome
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.record import Boundary, Happening, RunRecord
from daesolve.core.run.integration.sampling import At
from daesolve.core.run.integration.simulation import simulate_recorded
from daesolve.core.solvers import Solver
from daesolve.errors import NotPeriodicError, UnsupportedError

LONGER = 1.25
"""How far ahead a passage is first searched, as a multiple of the expected time."""
SEAM = 1e-9
"""Guards at zero within this part of a flight's duration count as at its start or end."""
TOWARDS_GUARD = 6
"""Steps of Newton's method to a section."""
EPSILON = float(np.finfo(float).eps)
DOUBLINGS = 5
"""How often the range of the search for a passage is doubled before it fails."""


class Flow:
    """The motions of a prepared request, from any state.

    Raises
    ------
    UnsupportedError
        A law is sampled: what it holds is part of the motion's state, but none of its states.
    """

    def __init__(self, prepared: Prepared) -> None:
        sampled = [row.name for row in prepared.dynamics.drives if row.period is not None]
        if sampled:
            raise UnsupportedError(
                f"the law {sampled[0]!r} takes samples, and what it holds between them is no "
                "state of a periodic orbit: write it as an expression of the states, or follow a "
                "run until it repeats itself"
            )
        self.prepared = prepared
        self.dynamics = prepared.dynamics
        self.names = prepared.dynamics.labels.states
        self.value_names = tuple(prepared.problem.values)
        chart = prepared.problem.chart
        self.whole = prepared.problem if chart is None else chart.whole
        self._rhs = Evaluator(self.whole.rhs)

    @property
    def start(self) -> Node:
        """The start of the prepared request."""
        prepared = self.prepared
        return Node(prepared.start_time, prepared.start.state.copy(), prepared.values.copy())

    @cached_property
    def autonomous(self) -> bool:
        """Whether the motion, its guards and its resets are independent of time."""
        return is_autonomous(self.dynamics, self.whole)

    def depends_on(self, name: str) -> bool:
        """Return whether the motion, its guards or its resets depend on a parameter."""
        index = self.value_names.index(name)
        dynamics, problem = self.dynamics, self.whole
        t, x, p = (problem.rhs.sx_in(k) for k in range(3))
        whole = ca.vertcat(problem.rhs(t, x, p), problem.guards(t, x, p))
        momentary = [
            link
            for row in dynamics.resets.values()
            for goal in row.momentary
            for link in goal.chain
        ]
        own = ca.vertcat(resets_of(dynamics), *momentary)
        return ca.depends_on(whole, p[index]) or ca.depends_on(own, dynamics.p[index])

    @cached_property
    def clocks(self) -> tuple[str, ...]:
        """The discrete values that are set to instants along the motion."""
        return clocks(self.dynamics)

    @cached_property
    def clocked(self) -> bool:
        """Whether the motion may depend on how long ago the instants of its clocks were."""
        problem, dynamics = self.whole, self.dynamics
        t, x, p = (problem.rhs.sx_in(k) for k in range(3))
        smooth = ca.vertcat(problem.rhs(t, x, p), problem.guards(t, x, p))
        timed = ca.depends_on(smooth, t) or ca.depends_on(resets_of(dynamics), dynamics.t)
        return self.autonomous and bool(self.clocks) and timed

    @cached_property
    def of_tables(self) -> frozenset[str]:
        """The discrete values of tables."""
        rows = self.dynamics.drives
        return frozenset(name for row in rows if row.lookup is not None for name in row.values)

    @property
    def quadratures(self) -> tuple[str, ...]:
        """The states that are integrals along the motion, of which it may be independent."""
        split = self.dynamics.position_count
        return self.names[split - self.dynamics.quadrature_count : split]

    def rate(self, node: Node) -> np.ndarray:
        """Return the rate of the state (n,) at a place."""
        x = np.concatenate([node.x, np.zeros(self.whole.size - len(node.x))])
        return self._rhs(node.time, x, node.p[: len(self.whole.values)])[0][: len(node.x)]

    def with_references(self, node: Node) -> Node:
        """Return a place with the references of invariants that apply there."""
        rows = self._held_rows
        if not rows:
            return node
        p = node.p.copy()
        places = [ValueKind.REFERENCE.place(name, self.value_names) for name in rows]
        p[places] = self._held(node.time, node.x, p[: len(self.dynamics.values)])[0]
        return Node(node.time, node.x, p)

    @cached_property
    def _held_rows(self) -> list[str]:
        return [row.name for row in self.dynamics.invariants if row.fixed is None]

    @cached_property
    def _held(self) -> Evaluator:
        dynamics = self.dynamics
        held = [row.value for row in dynamics.invariants if row.fixed is None]
        arguments = [dynamics.t, dynamics.x, dynamics.p]
        return Evaluator(ca.Function("held", arguments, [ca.densify(ca.vertcat(*held))]))

    def consistent(self, time: float, x: np.ndarray, p: np.ndarray) -> Node:
        """Return the consistent state nearest to a state, as a place.

        Raises
        ------
        InconsistentStateError
            No consistent state is near.
        """
        own = p[: len(self.dynamics.values)]
        guess = dict(zip(self.names, x.tolist(), strict=True))
        state = complete_start(self.dynamics, own, {}, guess=guess, time=time).state
        place = Node(time, state, p)
        return self.with_references(replace(place, p=self._bends.fitting(place)))

    def in_pieces(self, node: Node) -> Node:
        """Return a place with the pieces of tables that its arguments are in."""
        return replace(node, p=self._bends.pieces(node))

    def at_time(self, node: Node, time: float) -> Node:
        """Return a place of autonomous motions at another time, to which its clocks move too."""
        p = node.p.copy()
        p[[self.value_names.index(name) for name in self.clocks]] += time - node.time
        return Node(time, node.x, p)

    def with_parameters(self, node: Node, parameters: Mapping[str, float]) -> Node:
        """Return a place with other numbers of parameters."""
        p = node.p.copy()
        for name, value in parameters.items():
            p[self.value_names.index(name)] = value
        return Node(node.time, node.x, p)

    def solved_by(self, solver: Solver, steps: float = 1.0) -> Flow:
        """Return the same motions with another solver, whose expected number of steps is given."""
        other = replace(self.prepared, solver=solver.configured(self.prepared.problem, steps))
        other.scaling.compiled(other.solver, other.problem)
        return Flow(other)

    # -- flights ------------------------------------------------------------------------------

    def fly(self, start: Node, duration: float) -> Flight:
        """Run for some time, the events at its end included.

        Raises
        ------
        NotPeriodicError
            The motion ends too early.
        """
        prepared, run, record = self.run(start, duration)
        self.check_reached(run)
        end = self.node(prepared, record, record.boundaries[-1])
        if self._is_due(end, record, duration):
            further = self.run(start, (1.0 + 2.0 * SEAM) * duration)
            closing = last_within(further[2], end.time, SEAM * duration)
            if closing is not None and closing.after is not None:
                prepared, run, record = further
                end = self.after(prepared, record, closing.after, end.time)
                return self._bent(Flight(prepared, record, run, start, end, closing=closing))
        return self._bent(Flight(prepared, record, run, start, end))

    def fly_to(self, start: Node, passage: Passage, foreseen: float) -> Flight:
        """Run to the passage of a guard, the events at the same instant included.

        Parameters
        ----------
        start, passage
            The start, and the passage.
        foreseen
            The expected time, s.

        Raises
        ------
        NotPeriodicError
            There is no such passage.
        """
        duration, passages = LONGER * foreseen, list[Happening]()
        for _ in range(DOUBLINGS):
            prepared, run, record = self.run(start, duration)
            passages = [event for event in record.events if event.name == passage.event]
            # If the start lies on the guard, rounding may make it pass immediately.
            passages = [
                event for event in passages if abs(event.time - start.time) > SEAM * foreseen
            ]
            if len(passages) >= passage.count:
                stop = passages[passage.count - 1]
                closing = last_within(record, stop.time, SEAM * foreseen) or stop
                end = self.node(prepared, record, closing.after or closing.at, stop.time)
                return self._bent(Flight(prepared, record, run, start, end, stop, closing))
            self.check_reached(run)
            duration *= 2.0
        raise NotPeriodicError(
            f"the event {passage.event!r} passes {len(passages)} times within "
            f"{duration / 2.0:.3g} s, not {passage.count} times as requested: give a closer "
            "guess, or a longer period"
        )

    def _bent(self, flight: Flight) -> Flight:
        """Return a flight that knows its bends."""
        place = partial(self.node, flight.prepared, flight.record)
        events = [event for event in flight.happened if event is not flight.stop]
        return replace(
            flight, bends=tuple(self._bends.of(events, (flight.start, flight.end), place))
        )

    @cached_property
    def _bends(self) -> Bends:
        return Bends(self.prepared, self.whole)

    def run(
        self, start: Node, duration: float, at: At = ()
    ) -> tuple[Prepared, Trajectory, RunRecord]:
        """Run from a place after the events there."""
        prepared = self.beginning(start, duration)
        run, record = simulate_recorded(prepared, at)
        check_not_interrupted(run)
        return prepared, run, record

    def beginning(self, start: Node, duration: float) -> Prepared:
        """Return a run from a place, at which the events have happened that leave it as it is.

        Guards past zero have passed, too, as in a run that continues another.
        """
        state = dict(zip(self.names, start.x.tolist(), strict=True))
        begin = replace(self.prepared.request, initial=state, guess={})
        passed, until = self.passed(start, duration), start.time + duration
        past = self._ways * self._guards(start)[0] > 0.0
        if passed or np.any(past & self._lasting):
            before = Continuation(start.time, state, {}, end_time=start.time, firing=lambda: passed)
            begin = replace(begin, begun={}, continues=before.described())
        return replace(
            self.prepared,
            request=replace(begin, start_time=start.time, until=until),
            start=Start(start.x, {}),
            values=start.p,
            start_time=start.time,
            until=until,
        )

    # -- seams ------------------------------------------------------------------------------------

    def passed(self, start: Node, duration: float) -> dict[str, tuple[int, ...]]:
        """Return the guards at zero at a place that pass on after their events, by name.

        A state cannot tell whether these events are about to happen, or have happened: a place is
        after them. If an event sends its guard back or away, its guard tells.
        """
        rates, near = self._near_zero(start, duration)
        events, end = self._first_events(start, duration) if near.any() else ([], start)
        if not events:
            return {}
        after, beside = self._near_zero(end, duration)
        on = near & beside & (rates * after > 0.0)
        guards: dict[str, tuple[int, ...]] = {}
        for event in events:
            first = self._firsts[event.name]
            if all(on[first + place] for place in event.fired):
                guards[event.name] = (*guards.get(event.name, ()), *event.fired)
        return guards

    def entered(self, start: Node, duration: float) -> Node:
        """Return the place after the events with which a run would begin at a place.

        Guards that pass on have passed before: only the mode follows from them.
        """
        events, end = self._first_events(start, duration)
        if not events:
            return start
        values, rates = self._guards(end)
        zero = self._near_zero(end, duration)[1]
        on = (zero | (self._ways * values > 0.0)) & (self._ways * rates > 0.0)
        fired = [self._firsts[event.name] + place for event in events for place in event.fired]
        return Node(start.time, start.x if np.all(on[fired]) else end.x, end.p)

    def _first_events(self, start: Node, duration: float) -> tuple[list[Happening], Node]:
        """Return the events with which a run would begin at a place, and the place after them."""
        begin = replace(self.prepared, start=Start(start.x, {}), values=start.p)
        until = start.time + 2.0 * SEAM * duration
        begin = replace(begin, start_time=start.time, until=until)
        _, record = simulate_recorded(begin, ())
        events = [event for event in record.events if event.after is not None]
        if not events:
            return [], start
        assert events[-1].after is not None
        return events, self.node(begin, record, events[-1].after)

    def at_section(self, flight: Flight) -> int | None:
        """Return the guard at whose passage a flight ends, if it is still at zero afterwards."""
        if flight.stop is None:
            return None
        guard = self._firsts[flight.stop.name] + flight.stop.fired[0]
        near = self._near_zero(flight.end, flight.end.time - flight.start.time)[1]
        return guard if near[guard] else None

    def onto(self, guard: int, node: Node, farthest: float) -> Node | None:
        """Return the place near by at which the motion through a place has a guard at zero.

        Parameters
        ----------
        guard, node
            The guard, and the place.
        farthest
            The largest time between them, s; None is returned beyond.
        """
        moved = node
        for _ in range(TOWARDS_GUARD):
            values, rates = self._guards(moved)
            late = float(values[guard] / rates[guard]) if rates[guard] else math.inf
            if not abs(late) <= farthest:
                return None
            if abs(late) <= EPSILON * farthest:
                break
            moved = self.consistent(node.time, moved.x - late * self.rate(moved), moved.p)
        return moved

    def _near_zero(self, node: Node, duration: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the rates of guards at a place, and which are zero but for a tiny time.

        Bends are none of them: they change nothing.
        """
        values, rates = self._guards(node)
        near = np.abs(values) <= SEAM * duration * np.abs(rates)
        return rates, near & ~np.isin(self._owners, list(self._bends.names))

    def _guards(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """Return the guards at a place, and their rates."""
        problem = self.whole
        x = np.concatenate([node.x, np.zeros(problem.size - len(node.x))])
        still = np.zeros(problem.size), np.zeros(len(problem.values))
        own = node.p[: len(problem.values)]
        values, rates, _ = guard_slopes(problem)(node.time, x, own, 0.0, *still)
        return values, rates

    @cached_property
    def _ways(self) -> np.ndarray:
        """The direction of each guard."""
        return np.array([event.direction.value for event in self.whole.guarded], dtype=float)

    @cached_property
    def _lasting(self) -> np.ndarray:
        """Whether each guard may stay past zero once its event has happened."""
        then = [event.then for event in self.whole.guarded]
        return np.array([each.interrupts and not each.counts_past for each in then], dtype=bool)

    @cached_property
    def _owners(self) -> list[str]:
        """The name of the event of each guard."""
        return [event.name for event in self.whole.guarded]

    @cached_property
    def _firsts(self) -> dict[str, int]:
        """The first guard of each event."""
        counts = np.cumsum([0, *(event.count for event in self.whole.events)]).tolist()
        return {event.name: counts[k] for k, event in enumerate(self.whole.events)}

    def _is_due(self, end: Node, record: RunRecord, duration: float) -> bool:
        """Return whether a guard is at zero at the end of a run whose event has not happened."""
        rates, near = self._near_zero(end, duration)
        late = [e for e in record.events if abs(e.time - end.time) <= SEAM * duration]
        for event in late:
            near[[self._firsts[event.name] + place for place in event.fired]] = False
        return bool(np.any(near & (self._ways * rates >= 0.0)))

    def after(self, prepared: Prepared, record: RunRecord, place: Boundary, time: float) -> Node:
        """Return the place a tiny time after a boundary of a run, or before it."""
        last = self.node(prepared, record, place)
        return Node(time, last.x + (time - last.time) * self.rate(last), last.p)

    def check_reached(self, run: Trajectory) -> None:
        """Refuse a run that ends early.

        Raises
        ------
        NotPeriodicError
            It does.
        """
        if run.outcome is not Outcome.COMPLETED:
            raise NotPeriodicError(
                f"the motion does not return, because it ends {run.outcome.value} at t = "
                f"{run.end_time:.10g} s: {run.message}"
            )

    def node(
        self, prepared: Prepared, record: RunRecord, place: Boundary, time: float | None = None
    ) -> Node:
        """Return a boundary of a run as a place, with the whole turns of its angles."""
        p = record.modes[place.mode]
        moment = place.time if time is None else time
        x = prepared.problem.visible(np.array([moment]), place.state[None, :], p)[0].copy()
        x = x[: len(self.names)]
        x[list(prepared.wrapped)] += 2.0 * math.pi * place.whole_turns
        return Node(moment, x, p)

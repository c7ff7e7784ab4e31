"""Orbits that begin or cease to touch a guard: the guard and its rate are zero at once.

On one side of the touch the event happens, on the other it does not; its time, where the guard
passes zero, has no derivative at the touch. The time of the touch has one: with the guard h and its
rate h', the orbit is taken to the instant at which h' passes zero, whether h is zero there or not,
and

    F(y) = 0,  h(x(theta), p) = 0  with  h'(x(theta), p) = 0

is regular in the unknowns y of the branch and the time theta of the touch. An event that changes
nothing at rest, such as an impact, is then only recorded. An event that changes the mode, such as
sticking, is due at the touch. The guard is also zero where the mode begins; to distinguish this,
the module uses

    -h' + K h - C h'^2,

which is zero where h and h' are zero, and passes zero there like -h'.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import casadi as ca
import numpy as np

from daesolve.analysis.orbits.bordered import Condition, CurveEvaluation, Solution, solve_special
from daesolve.analysis.orbits.curve import Curve, CurvePoint
from daesolve.analysis.orbits.flow import Flow
from daesolve.analysis.orbits.nodes import Flight, Node
from daesolve.analysis.variational import guard_slopes
from daesolve.core.posing.events import EITHER, Event
from daesolve.core.preparation.preparing import prepare
from daesolve.errors import DaesolveError, NotPeriodicError

RISES = 100.0
"""K, in 1/period: how strongly a nonzero guard outweighs its rate."""
LEAVES = 2.0
"""C, relative to the inverse rate with which the guard leaves zero where the mode begins."""
AT_ZERO = 1e-6
"""The fraction of a guard's largest value at events that counts as zero."""


def touching(curve: Curve, point: CurvePoint, name: str) -> tuple[Solution, Curve]:
    """Find where the orbits of a branch touch the guard of an event.

    Returns
    -------
    Solution
        The orbit there.
    Curve
        The branch through this orbit, with motions that pass the touch.

    Raises
    ------
    NotPeriodicError
        They do not touch it near the point.
    """
    flow = curve.task.flow
    try:
        changes = _changes_mode(flow, point, name)
        smooth = _through(flow, point, name, changes=changes)
        task = replace(curve.task, flow=smooth)
        other = Curve(task, curve.axis, point.guess)
        start = other.at_value(point.guess, point.value, point.tangent)
        return solve_special(other, start, _Touch(flow, name)), other
    except (DaesolveError, np.linalg.LinAlgError) as refusal:
        raise NotPeriodicError(f"no touch was found: {refusal}") from refusal


class _Touch(Condition):
    """The guard is zero where its rate is."""

    def __init__(self, flow: Flow, name: str) -> None:
        self.guard, self.name = _Guard(flow, name), name

    def __call__(self, place: CurveEvaluation, more: np.ndarray) -> np.ndarray:
        flow = place.curve.task.flow
        found = [
            self.guard.values(flow.node(flight.prepared, flight.record, event.at, event.time))[0]
            for flight in place.linear.shot.flights
            for event in flight.happened
            if event.name == self.name
        ]
        if not found:
            raise NotPeriodicError(f"the motion does not come near the event {self.name!r}")
        return np.array([min(found, key=abs)])


class _Guard:
    """The guard of an event, and its rate along the motion."""

    def __init__(self, flow: Flow, name: str) -> None:
        dynamics, problem, prepared = flow.dynamics, flow.whole, flow.prepared
        event = next(event for event in dynamics.events if event.name == name)
        if event.count > 1:
            raise NotPeriodicError(f"the event {name!r} has several guards")
        t, x = dynamics.t, dynamics.x
        rest = prepared.values[len(dynamics.values) : len(problem.values)]
        whole = ca.vertcat(x, ca.SX.zeros(problem.size - x.numel()))
        rates = problem.rhs(t, whole, ca.vertcat(dynamics.p, ca.SX(rest)))[: x.numel()]
        self.value = ca.SX(event.guards)
        self.rate = ca.jtimes(self.value, x, rates) + ca.jacobian(self.value, t)
        self._count = len(dynamics.values)
        self._both = ca.Function("guard", [t, x, dynamics.p], [self.value, self.rate])

    def values(self, node: Node) -> tuple[float, float]:
        """Return guard and rate at a place."""
        value, rate = self._both(node.time, node.x, node.p[: self._count])
        return float(value), float(rate)


def _through(flow: Flow, point: CurvePoint, name: str, *, changes: bool) -> Flow:
    """Return the motions in which an event happens where the rate of its guard is zero."""
    prepared, guard = flow.prepared, _Guard(flow, name)
    event = next((event for event in prepared.system.events if event.name == name), None)
    if event is None or event.direction is EITHER:
        raise NotPeriodicError(f"the guard of the event {name!r} is not touched from one side")
    if changes:
        outward = event.direction.value
        leaving = _leaving(flow, point, guard, outward)
        slope = guard.rate
        more = RISES / point.shot.period * guard.value
        more -= 0.0 if leaving is None else outward * LEAVES / leaving * slope**2
        touch = replace(event, guard=more - slope)
    else:
        touch = Event(name, -guard.rate, event.direction)
    events = tuple(touch if one is event else one for one in prepared.system.events)
    first = point.guess.nodes[0]
    near = dict(zip(flow.names, first.x.tolist(), strict=True))
    values = dict(zip(flow.value_names, first.p.tolist(), strict=True))
    given = {key: values[key] for key in (*flow.dynamics.posed_ranges, *flow.dynamics.discrete)}
    request = replace(
        prepared.request, initial={}, guess=near, start_time=first.time,
        until=first.time + point.shot.period, parameters={**prepared.request.parameters, **given},
    )  # fmt: skip
    return Flow(prepare(replace(prepared.system, events=events), request))


def _leaving(flow: Flow, point: CurvePoint, guard: _Guard, outward: float) -> float | None:
    """Return the least rate at which a guard leaves zero after events; None if it does not."""
    rates: list[float] = []
    for flight in point.shot.flights:
        nodes = [flight.start, *_after(flow, flight)]
        for value, rate in map(guard.values, nodes):
            if abs(value) <= AT_ZERO and outward * rate < 0.0:
                rates.append(abs(rate))
    return min(rates, default=None)


def _after(flow: Flow, flight: Flight) -> list[Node]:
    """Return the places after the events of a flight."""
    return [
        flow.node(flight.prepared, flight.record, event.after, event.time)
        for event in flight.happened
        if event.after is not None
    ]


def _changes_mode(flow: Flow, point: CurvePoint, name: str) -> bool:
    """Return whether an event changes discrete values."""
    index = [event.name for event in flow.dynamics.events].index(name)
    return index in flow.dynamics.resets and bool(flow.dynamics.resets[index].values)


def passing_rates(flight: Flight) -> Iterator[tuple[str, float]]:
    """Return the rates at which guards of effective events pass: name and rate."""
    prepared, record = flight.prepared, flight.record
    chart = prepared.problem.chart
    whole = prepared.problem if chart is None else chart.whole
    slopes, events = guard_slopes(whole), list(whole.events)
    firsts = np.cumsum([0, *(event.count for event in events)])
    names = [event.name for event in events]
    for event in flight.changing:
        if event.name not in names:
            continue
        p = record.modes[event.at.mode]
        x = prepared.problem.visible(np.array([event.time]), event.at.state[None, :], p)[0]
        x = np.concatenate([x, np.zeros(whole.size - len(x))])
        still = np.zeros(len(whole.values))
        rates = slopes(event.time, x, p[: len(still)], 0.0, np.zeros(whole.size), still)[1]
        first = int(firsts[names.index(event.name)])
        for place in event.fired:
            yield event.name, abs(float(rates[first + place]))

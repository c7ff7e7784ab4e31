"""Ends of a branch: orbits shrink to an equilibrium at a Hopf point, or approach a rest point.

Beyond a Hopf point the same orbits would return, shifted by half a period. Near a rest point the
period grows without bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from daesolve.analysis.orbits.bordered import CurveEvaluation, OnCircle, solve_special
from daesolve.analysis.orbits.curve import Curve, CurvePoint
from daesolve.analysis.orbits.nodes import Node, flown
from daesolve.analysis.orbits.shooting import Guess, Shot, Task
from daesolve.analysis.orbits.steady_states import slopes_along
from daesolve.analysis.orbits.switching import hopf_period
from daesolve.errors import DaesolveError

PART = 0.05
"""The time over which the equilibrium is examined, as a fraction of the period."""
STEPS = 12
"""Steps of the Gauss-Newton method from the slowest place."""
STILL = 1e-9
"""A rate, in sizes per period, that counts as zero."""
NEAR = 0.1
"""The largest distance, in sizes, at which the motion passes the rest point."""


def turned_round(curve: Curve, before: CurvePoint, after: CurvePoint) -> bool:
    """Return whether orbits have shrunk to zero and grow on the other side within a step."""
    task = curve.task
    if task.steady or not task.free_period:
        return False
    rates = [
        task.flow.rate(point.guess.nodes[0]) / task.manifold.sizes for point in (before, after)
    ]
    sizes = [float(np.linalg.norm(rate)) for rate in rates]
    # Elsewhere, neighbours on a branch hardly differ.
    return float(rates[0] @ rates[1]) < -0.5 * sizes[0] * sizes[1]


def shrunk_to(curve: Curve, before: CurvePoint, after: CurvePoint) -> str:
    """Describe where orbits shrink to an equilibrium between two neighbours: value and period."""
    name, flow = curve.axis.name, curve.task.flow
    rates = [float(np.linalg.norm(flow.rate(one.guess.nodes[0]))) for one in (before, after)]
    part = rates[0] / sum(rates)
    nodes = before.guess.nodes[0], after.guess.nodes[0]
    x = (1.0 - part) * nodes[0].x + part * nodes[1].x
    value = (1.0 - part) * before.value + part * after.value
    near = f"the branch ends near {name} = {value:.4g}: the orbit shrinks to an equilibrium"
    if curve.axis.index is None:
        return near
    task = replace(curve.task, steady=True, free_period=False, pieces=1)
    try:
        guess = Guess((Node(nodes[0].time, x, nodes[0].p),), PART * before.shot.period, np.zeros(0))
        steady = Curve(task, curve.axis, guess)
        start = steady.at_value(guess, value, steady.upward(guess))
        place = CurveEvaluation(steady, steady.linear(start.guess, start.value), start.value)
        turning = [complex(v) for v in place.spectrum.values if v.imag > 0.0]
        pair = min(turning, key=lambda v: abs(abs(v) - 1.0))
        point = solve_special(steady, start, OnCircle(place, pair / abs(pair))).point
        period = hopf_period(steady, point.guess, point.value)
    except (DaesolveError, ValueError, np.linalg.LinAlgError):
        return near
    free = {flow.names[index] for index in task.group.shifts}
    state = zip(flow.names, point.guess.nodes[0].x.tolist(), strict=True)
    listed = ", ".join(f"{key} = {number:.6g}" for key, number in state if key not in free)
    return (
        f"the branch ends at {name} = {point.value:.10g}: the orbit shrinks to the equilibrium "
        f"{listed} (a Hopf point, period {period:.10g} s)"
    )


def rest_point(task: Task, shot: Shot) -> Mapping[str, float] | None:
    """Return the rest state that an orbit approaches most closely; None if there is none near.

    Coordinates that are shifted in a period do not matter and are left out.
    """
    node = _slowest(task, shot)
    basis = task.manifold.basis(node.time, node.x, node.p)
    sizes = task.manifold.sizes
    for _ in range(STEPS):
        rate = task.flow.rate(node) / sizes
        if np.max(np.abs(rate)) * shot.period <= STILL:
            free = {task.flow.names[index] for index in task.group.shifts}
            named = zip(task.flow.names, node.x.tolist(), strict=True)
            return {name: value for name, value in named if name not in free}
        slopes = slopes_along(task, node, basis, lambda place: task.flow.rate(place) / sizes)
        change = basis @ np.linalg.lstsq(slopes, -rate, rcond=1e-8)[0]
        if not np.max(np.abs(change)) <= NEAR:
            return None
        try:
            node = task.flow.consistent(node.time, node.x + sizes * change, node.p)
        except DaesolveError:
            return None
    return None


def _slowest(task: Task, shot: Shot) -> Node:
    """Return the place of an orbit with the smallest rates, in sizes."""
    best, least = shot.guess.nodes[0], np.inf
    for flight in shot.flights:
        run = flown(replace(flight.prepared, until=flight.end.time))
        states = np.column_stack([run[name] for name in task.flow.names])
        for time, x in zip(run.times.tolist(), states, strict=True):
            here = Node(time, x, flight.values_at(time))
            size = float(np.max(np.abs(task.flow.rate(here) / task.manifold.sizes)))
            if size < least:
                best, least = here, size
    return best

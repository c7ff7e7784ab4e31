"""The rest point that a motion approaches when its period grows without bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from daesolve.analysis.orbits.pieces import Node, flown
from daesolve.analysis.orbits.shooting import Shot, Task
from daesolve.analysis.orbits.steady_states import slopes_along
from daesolve.errors import DaesolveError

STEPS = 12
"""Steps of the Gauss-Newton method from the slowest place."""
STILL = 1e-9
"""A rate, in sizes per period, that counts as zero."""
NEAR = 0.1
"""The largest distance, in sizes, at which the motion passes the rest point."""


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

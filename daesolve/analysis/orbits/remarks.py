"""Remarks on an orbit: where it sticks, what it forgets, what it passes closely."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import scipy

from daesolve.analysis.manifold import kept_by_states
from daesolve.analysis.orbits.flights import Flight, Flow, Node, flown
from daesolve.analysis.orbits.monodromy import Multipliers
from daesolve.analysis.orbits.shooting import Shot, Task
from daesolve.integration.record import Boundary

NEAR = 1e-2
"""The singular value near a degenerate point, relative to the largest along an orbit."""
LOOKED_INTO = 0.2
"""The same for a sample near which the minimum is searched."""
BESIDE = (0.1, -0.3, 0.7)
"""The variation of states that shows whether a rate is zero by chance."""
Seen: TypeAlias = tuple[float, Flight, float, float]
"""A singular value of the constraints: its size, flight, time, and the time between samples."""


def remarks(task: Task, shot: Shot, spectrum: Multipliers) -> list[str]:
    """Return sentences about an orbit."""
    found: list[str] = []
    lost = len(spectrum.reduced) - len(spectrum.values)
    if lost:
        sticking = [_sticks(task.flow, flight) for flight in shot.flights]
        events = dict.fromkeys(name for names in sticking for name in names)
        many = "multiplier is" if lost == 1 else f"{lost} multipliers are"
        begin = f"sticks after {' and '.join(map(repr, events))}: its" if events else "its"
        found.append(f"{begin} {many} zero, because the earlier state is forgotten")
    near = nearest_degenerate(task, shot)
    if near < NEAR:
        digits = max(0.0, 2.0 * math.log10(near) - math.log10(np.finfo(float).eps))
        found.append(
            f"the motion passes within {near:.1g} of a degenerate point, where constraints depend "
            f"on each other: about {digits:.0f} digits are left"
        )
    return found


def nearest_degenerate(task: Task, shot: Shot) -> float:
    """Return the least singular value of the constraints along an orbit, relative to the largest.

    Both are those of one mode: an open contact is no constraint. It is infinity if there are no
    constraints.
    """
    manifold = task.manifold
    by_mode: dict[tuple[str, ...], list[Seen]] = {}
    if not kept_by_states(manifold.dynamics):
        return math.inf
    for flight in shot.flights:
        run = flown(replace(flight.prepared, until=flight.end.time))
        states = np.column_stack([run[name] for name in task.flow.names])
        step = float(np.max(np.diff(run.times), initial=0.0))
        for time, x in zip(run.times.tolist(), states, strict=True):
            p = flight.values_at(time)
            value = manifold.independence(time, x, p)
            if math.isfinite(value):
                by_mode.setdefault(manifold.mode(p), []).append((value, flight, time, step))
    return min((_least(task, found) for found in by_mode.values()), default=math.inf)


def _least(task: Task, found: list[Seen]) -> float:
    """Return the least singular value that was seen in one mode, relative to the largest."""
    manifold = task.manifold
    largest = max(one[0] for one in found)
    least, flight, time, step = min(found, key=lambda one: one[0])
    mode = manifold.mode(flight.values_at(time))
    if least > LOOKED_INTO * largest or step == 0.0:
        return least / largest

    def at(moment: float) -> float:
        point = flight.run.at(moment)
        x = np.array([point[name] for name in task.flow.names])
        p = flight.values_at(moment)
        return manifold.independence(moment, x, p) if manifold.mode(p) == mode else least

    low, high = max(time - step, flight.start.time), min(time + step, flight.end.time)
    refined = scipy.optimize.minimize_scalar(at, bounds=(low, high), method="bounded")
    return min(least, float(refined.fun)) / largest


def _sticks(flow: Flow, flight: Flight) -> list[str]:
    """Return the events after which a velocity that changed before has a zero rate."""
    found: list[str] = []
    split = flow.dynamics.position_count
    for event in flight.happened:
        if event.after is None:
            continue
        before, after = (_idle(flow, flight, place)[split:] for place in (event.at, event.after))
        if np.any(after & ~before):
            found.append(event.name)
    return found


def _idle(flow: Flow, flight: Flight, place: Boundary) -> np.ndarray:
    """Return (n,) which states have a zero rate in the mode of a place, whatever their values."""
    node = flow.node(flight.prepared, flight.record, place)
    idle = np.ones(len(node.x), dtype=bool)
    for aside in (0.0, *BESIDE):
        idle &= flow.rate(Node(node.time, node.x + aside, node.p)) == 0.0
    return idle

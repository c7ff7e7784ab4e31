"""Remarks on an orbit: where it sticks, what it forgets, what it passes closely."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from daesolve.analysis.orbits.flow import Flow
from daesolve.analysis.orbits.monodromy import Multipliers
from daesolve.analysis.orbits.nodes import Flight, Node, flown
from daesolve.analysis.orbits.shooting import Shot, Task
from daesolve.core.run.integration.record import Boundary

EPSILON = float(np.finfo(float).eps)
NEAR = 1e-2
"""The singular value near a degenerate point, relative to the largest along an orbit."""
DEPENDENT = 1e-9
"""The singular value up to which constraints depend on each other, relative to the largest."""
LOOKED_INTO = 0.2
"""The same for a sample near which the minimum is searched."""
BESIDE = (0.1, -0.3, 0.7)
"""The variation of states that shows whether a rate is zero by chance."""


def remarks(task: Task, shot: Shot, spectrum: Multipliers) -> list[str]:
    """Return sentences about an orbit."""
    sentences: list[str] = []
    lost = len(spectrum.reduced) - len(spectrum.values)
    if lost:
        sticking = [_sticks(task.flow, flight) for flight in shot.flights]
        events = dict.fromkeys(name for names in sticking for name in names)
        many = "multiplier is" if lost == 1 else f"{lost} multipliers are"
        begin = f"sticks after {' and '.join(map(repr, events))}: its" if events else "its"
        sentences.append(f"{begin} {many} zero, because the earlier state is forgotten")
    near = nearest_degenerate(task, shot)
    if near < NEAR:
        left = 2.0 * math.log10(max(near, EPSILON)) - math.log10(EPSILON)
        digits = max(0.0, left)
        sentences.append(
            f"the motion passes within {near:.1g} of a degenerate point, where constraints depend "
            f"on each other: about {digits:.0f} digits are left"
        )
    return sentences


def nearest_degenerate(task: Task, shot: Shot) -> float:
    """Return the least singular value of the constraints along an orbit, relative to the largest.

    Modes count apart, because each holds other constraints. It is infinity if there are none.
    """
    modes: dict[bytes, list[_RankSample]] = {}
    for flight in shot.flights:
        run = flown(replace(flight.prepared, until=flight.end.time))
        states = np.column_stack([run[name] for name in task.flow.names])
        step = float(np.max(np.diff(run.times), initial=0.0))
        for time, x in zip(run.times.tolist(), states, strict=True):
            mode, grips = task.manifold.grips(time, x, flight.values_at(time))
            if grips.size:
                modes.setdefault(mode, []).append(_RankSample(grips, flight, time, step))
    return min((_nearest(task, mode, samples) for mode, samples in modes.items()), default=math.inf)


@dataclass(frozen=True, eq=False)
class _RankSample:
    """The singular values of the constraints at a sample, largest first."""

    grips: np.ndarray
    flight: Flight
    time: float
    step: float

    @property
    def rank(self) -> int:
        return int(np.sum(self.grips > DEPENDENT * self.grips[0]))


def _nearest(task: Task, mode: bytes, samples: Sequence[_RankSample]) -> float:
    """Return the least singular value in a mode, relative to the largest there."""
    # Rows that depend on each other everywhere, such as those of dependent goals, do not count.
    last = max(sample.rank for sample in samples) - 1
    largest = max(float(sample.grips[last]) for sample in samples)
    nearest = min(samples, key=lambda sample: sample.grips[last])
    least, flight, time = float(nearest.grips[last]), nearest.flight, nearest.time
    if least > LOOKED_INTO * largest or nearest.step == 0.0:
        return least / largest

    def at(moment: float) -> float:
        point = flight.run.at(moment)
        x = np.array([point[name] for name in task.flow.names])
        there, grips = task.manifold.grips(moment, x, flight.values_at(moment))
        return float(grips[last]) if there == mode else largest

    low = max(time - nearest.step, flight.start.time)
    high = min(time + nearest.step, flight.end.time)
    refined = scipy.optimize.minimize_scalar(at, bounds=(low, high), method="bounded")
    return min(least, float(refined.fun)) / largest


def _sticks(flow: Flow, flight: Flight) -> list[str]:
    """Return the events after which a velocity that changed before has a zero rate."""
    sentences: list[str] = []
    split = flow.dynamics.position_count
    for event in flight.happened:
        if event.after is None:
            continue
        before, after = (_idle(flow, flight, place)[split:] for place in (event.at, event.after))
        if np.any(after & ~before):
            sentences.append(event.name)
    return sentences


def _idle(flow: Flow, flight: Flight, place: Boundary) -> np.ndarray:
    """Return (n,) which states have a zero rate in the mode of a place, whatever their values."""
    node = flow.node(flight.prepared, flight.record, place)
    idle = np.ones(len(node.x), dtype=bool)
    for aside in (0.0, *BESIDE):
        idle &= flow.rate(Node(node.time, node.x + aside, node.p)) == 0.0
    return idle

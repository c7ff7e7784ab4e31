"""The starts of an orbit's pieces, away from events that could move to another piece.

Along a branch the time of an event changes. When it reaches the start of the period, the state
there jumps to the state after the event, and so do the unknowns of the branch. The orbit itself
does not jump, and is followed from another start.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daesolve.analysis.orbits.curve import Curve, CurvePoint
from daesolve.analysis.orbits.shooting import Shot, Task

NEAR = 0.004
"""The distance of an event from the start or end of a piece at which it is about to leave, as a
fraction of the piece."""
PLACES = 40
"""The number of other starts that are tried."""


def moved_start(curve: Curve, point: CurvePoint) -> CurvePoint | None:
    """Return the point with pieces that start far from events; None if the starts may stay.

    The start stays if the orbit ends at a section, or if its state names a family.
    """
    task = curve.task
    named = [integral.name for integral, _ in task.family]
    if curve.axis.integral is not None:
        named.append(curve.axis.name)
    if task.passage is not None or task.steady or any(name in task.flow.names for name in named):
        return None
    later = away_from_events(task, point.shot)
    if later is None:
        return None
    nodes = [task.flow.fly(node, later).end for node in point.guess.nodes]
    guess = replace(point.guess, nodes=tuple(nodes))
    before = np.sign(point.forward) * curve.upward(guess)
    return curve.at_value(guess, point.value, before)


def away_from_events(task: Task, shot: Shot) -> float | None:
    """Return by how much later, s, pieces begin far from events; None if they already do."""
    duration = shot.period / task.pieces
    parts = np.array([
        (event.time - flight.start.time) / duration
        for flight in shot.flights for event in flight.happened if event.after is not None
    ])  # fmt: skip
    if not len(parts) or np.min(_around(parts)) >= NEAR:
        return None
    others = np.arange(1, PLACES) / PLACES
    distances = [float(np.min(_around(parts - other))) for other in others]
    return float(others[int(np.argmax(distances))]) * duration


def _around(parts: np.ndarray) -> np.ndarray:
    """Return the distance of fractions of a piece from its start or end."""
    whole = parts % 1.0
    return np.minimum(whole, 1.0 - whole)

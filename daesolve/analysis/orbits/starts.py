"""Where on an orbit its pieces start: not where an event is about to pass to another piece.

Along a branch the time of an event changes. Where it comes to the start of the period, the state
there jumps to that after the event, and the unknowns of the branch with it. The orbit itself does
not, and is followed from another time on.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daesolve.analysis.orbits.curve import Curve, Point

NEAR = 0.004
"""Of a piece, how near to its start or end an event is about to leave it."""
PLACES = 40
"""How many other starts are looked at."""


def moved_start(curve: Curve, point: Point) -> Point | None:
    """Return the point with pieces that start far from events; None where they may stay.

    The start of an orbit that ends at a section, or by whose state a family is named, stays.
    """
    task = curve.task
    named = [integral.name for integral, _ in task.family]
    if curve.axis.integral is not None:
        named.append(curve.axis.name)
    if task.passage is not None or task.steady or any(name in task.flow.names for name in named):
        return None
    duration = point.shot.period / task.pieces
    parts = np.array([
        (event.time - flight.start.time) / duration
        for flight in point.shot.flights for event in flight.happened if event.after is not None
    ])  # fmt: skip
    if not len(parts) or np.min(_around(parts)) >= NEAR:
        return None
    others = np.arange(1, PLACES) / PLACES
    distances = [float(np.min(_around(parts - other))) for other in others]
    later = float(others[int(np.argmax(distances))]) * duration
    nodes = [task.flow.fly(node, later).end for node in point.guess.nodes]
    guess = replace(point.guess, nodes=tuple(nodes))
    before = np.zeros(len(point.tangent))
    before[-1] = np.sign(point.forward)
    return curve.at_value(guess, point.value, before)


def _around(parts: np.ndarray) -> np.ndarray:
    """Return how far parts of a piece are from its start or end."""
    whole = parts % 1.0
    return np.minimum(whole, 1.0 - whole)

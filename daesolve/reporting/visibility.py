"""How often bodies visibly turn back on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from daesolve.core.results.trajectory.curves import LEAST_RANGE
from daesolve.multibody.drawing import (
    Arrow,
    Circle,
    Dot,
    Drawing,
    Line,
    Outline,
    Placed,
    Point,
    Shape,
    Trace,
    evaluate,
    moves,
)

SEEN_STEP = 5e-3
"""The fraction of the view's width below which a reversal of a point is invisible."""
MOST_POINTS = 8
"""The largest number of points of a shape that are examined."""


def turns_in_pictures(shown: Sequence[Sequence[Placed]], views: Sequence[np.ndarray]) -> int:
    """Return the largest number of visible reversals of a point of a body, from picture to picture.

    Parameters
    ----------
    shown
        The bodies of each picture.
    views
        (2, 2) the corners of the view of each picture.
    """
    width, middles = _width(views), np.array([view.mean(axis=0) for view in views])
    most = 0
    for bodies in zip(*shown, strict=True):
        fixed = len({body.points.shape for body in bodies}) == 1
        if isinstance(bodies[0].shape, Arrow | Trace) or not fixed:
            continue
        points = np.array([body.points if body.shown else body.points + np.nan for body in bodies])
        some = points[:, :: max(-(-points.shape[1] // MOST_POINTS), 1)]
        paths = np.moveaxis((some - middles[:, None]) / width, 0, -1).reshape(-1, len(shown))
        most = max([most, *map(_reversals, paths)])
    return most


def turns_between(
    drawing: Drawing,
    dense: Mapping[str, np.ndarray],
    parameters: Mapping[str, float],
    places: np.ndarray,
    view: np.ndarray,
) -> int:
    """Return the largest number of visible reversals of the middle of a body, over all samples.

    Pictures can make a fast oscillation look slow. A fast spin may look slow too, but this hides
    no oscillation, so only middles are examined. The view must be the same in all pictures.

    Parameters
    ----------
    drawing
        With its bodies.
    dense
        The series at all samples and pictures.
    parameters
        Of the run.
    places
        (k,) the indices of the pictures among these.
    view
        (2, 2) the corners of the view of all pictures.
    """
    bodies = [[Trace(point) for point in _watched(drawing, shape)] for shape in drawing.shapes]
    bodies = [body for body in bodies if any(moves(trace, dense) for trace in body)]
    if not bodies or len(places) < 2:
        return 0
    traces = [trace for body in bodies for trace in body]
    paths = iter(evaluate(replace(drawing, shapes=traces), dense, parameters, int(places[-1])))
    shown, most, width = slice(int(places[0]), int(places[-1]) + 1), 0, _width([view])
    for body in bodies:
        # A point that does not move has one place.
        points = [next(paths).points for _ in body]
        path = sum((own if len(own) == 1 else own[shown] for own in points), np.zeros((1, 2)))
        most = max([most, *map(_reversals, (path / (len(body) * width)).T)])
    return most


def _width(views: Sequence[np.ndarray]) -> float:
    return max(float(np.ptp(views[0][:, 0])), LEAST_RANGE)


def _watched(drawing: Drawing, shape: Shape) -> Sequence[Point]:
    """Return points of a shape whose mean is the middle of its body."""
    if isinstance(shape, Circle):
        return [shape.centre]
    if isinstance(shape, Dot):
        return [shape.at]
    if isinstance(shape, Outline) and not drawing.in_space:
        return [shape.at]
    if not isinstance(shape, Line | Outline):
        return []
    points = [*shape.points]
    return points[:: -(-len(points) // MOST_POINTS)]


def _reversals(values: np.ndarray) -> int:
    """Return how often values turn back by more than `SEEN_STEP`."""
    finite = values[np.isfinite(values)]
    if not finite.size or np.ptp(finite) <= SEEN_STEP:
        return 0
    count, way, farthest = 0, 0, float(finite[0])
    for value in finite.tolist():
        ahead = (value - farthest) * (way or 1)
        if way == 0 and abs(ahead) > SEEN_STEP:
            way, farthest = (1 if ahead > 0.0 else -1), value
        elif way and ahead > 0.0:
            farthest = value
        elif way and -ahead > SEEN_STEP:
            count, way, farthest = count + 1, -way, value
    return count

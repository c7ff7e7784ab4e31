"""The picture on a card: the bodies of a run at one instant, large and without axes."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from daesolve.multibody.drawing import Arrow
from daesolve.reporting.figures.renderer import look_at, paint
from daesolve.reporting.figures.scene import Scene, SceneSample, paint_backdrop, scene_of
from daesolve.reporting.figures.style import style
from daesolve.reporting.film import around
from daesolve.reporting.sampling import Document

SIZE = 3.6, 2.4
"""Of every card, inches."""
ROOM = 1.3
"""The width of the view over that of the bodies."""
LEAST = 0.03
"""The part of the whole scene that a card shows at least."""


def card(document: Document) -> Figure | None:
    """Draw the bodies of a run at one instant; None if it has no drawing or nothing moves.

    Raises
    ------
    DaesolveError
        The stored drawing is broken.
    """
    seen = scene_of(document)
    if seen is None or not seen.instants:
        return None
    instant = max(seen.instants, key=_extent)
    limits = _limits(seen, instant)
    with style():
        figure = Figure(figsize=SIZE)
        figure.set_layout_engine("none")
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        paint_backdrop(axes, seen, limits, 1.0)
        for body in instant.bodies:
            paint(axes, body)
        look_at(axes, limits)
        axes.set_axis_off()
    return figure


def _box(instant: SceneSample) -> np.ndarray:
    """Return the corners around the bodies, without arrows."""
    return around(
        body.box for body in instant.bodies if body.shown and not isinstance(body.shape, Arrow)
    )


def _extent(instant: SceneSample) -> float:
    """Return the area of the bodies: where it is largest, they hide least of each other."""
    width, height = np.ptp(_box(instant), axis=0).tolist()
    return float(width * height)


def _limits(seen: Scene, instant: SceneSample) -> np.ndarray:
    """Return the corners of what the card shows, in its proportions."""
    box = _box(instant)
    whole = np.ptp(seen.box, axis=0)
    size = np.maximum(ROOM * np.ptp(box, axis=0), LEAST * float(whole.max()))
    width = max(float(size[0]), float(size[1]) * SIZE[0] / SIZE[1]) or 1.0
    half = 0.5 * np.array([width, width * SIZE[1] / SIZE[0]])
    middle = box.mean(axis=0)
    return np.array([middle - half, middle + half])

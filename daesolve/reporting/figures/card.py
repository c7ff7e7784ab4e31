"""The picture on a card: the bodies of a run at one instant, large and without axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from daesolve.multibody.drawing import Arrow, Trace
from daesolve.reporting.figures.renderer import look_at, paint
from daesolve.reporting.figures.scene import Scene, SceneSample, paint_backdrop, scene_of
from daesolve.reporting.figures.style import style
from daesolve.reporting.film import around
from daesolve.reporting.sampling import Document

SIZE = 3.6, 2.4
"""Of every card, inches."""
ROOM = 1.3
"""The width of the view over that of the bodies."""
LEAST = 0.01
"""The part of the whole scene that a card shows at least."""
WHOLE = 2.75
"""The size of the whole scene over that of the bodies, up to which a card shows all of it."""
NEARLY = 0.95
"""The part of the largest area of the bodies that counts as it."""
TRAIL = 1.5
"""The length of the way that the bodies have come, over the width of the card."""


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
    instant = _widest(seen.instants)
    limits = _limits(seen, instant)
    with style():
        figure = Figure(figsize=SIZE)
        figure.set_layout_engine("none")
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        paint_backdrop(axes, _with_trails(seen, instant, limits, document["times"]), limits, 1.0)
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


def _widest(instants: Sequence[SceneSample]) -> SceneSample:
    """Return the last instant at which the bodies have nearly the largest area.

    Where it is largest, they hide least of each other; a late instant has a way behind it.
    """
    areas = [float(np.ptp(_box(instant), axis=0).prod()) for instant in instants]
    least = NEARLY * max(areas)
    return [one for one, area in zip(instants, areas, strict=True) if area >= least][-1]


def _limits(seen: Scene, instant: SceneSample) -> np.ndarray:
    """Return the corners of what the card shows, in its proportions."""
    box, largest = _box(instant), float(np.ptp(seen.box, axis=0).max())
    if largest <= WHOLE * float(np.ptp(box, axis=0).max()):
        box = seen.box
    size = np.maximum(ROOM * np.ptp(box, axis=0), LEAST * largest)
    width = max(float(size[0]), float(size[1]) * SIZE[0] / SIZE[1]) or 1.0
    half = 0.5 * np.array([width, width * SIZE[1] / SIZE[0]])
    middle = box.mean(axis=0)
    return np.array([middle - half, middle + half])


def _with_trails(
    seen: Scene, instant: SceneSample, limits: np.ndarray, times: Sequence[float]
) -> Scene:
    """Return the scene with the last part of each trace before an instant, if it is a line."""
    until = int(np.searchsorted(times, instant.time)) + 1
    longest = TRAIL * float(np.ptp(limits[:, 0]))
    return replace(
        seen,
        backdrop=[
            replace(entry, points=_end_of(entry.points[:until], longest))
            if isinstance(entry.shape, Trace) and not seen.scattered(entry)
            else entry
            for entry in seen.backdrop
        ],
    )


def _end_of(points: np.ndarray, longest: float) -> np.ndarray:
    """Return the end of a line, up to a length."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    left = np.cumsum(np.nan_to_num(steps)[::-1])[::-1]
    return points[int(np.count_nonzero(left > longest)) :]

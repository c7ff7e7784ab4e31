"""The scene: the surroundings, the paths, and the bodies at a few instants of a run.

Bodies that are tiny against the way they go are shown once more, enlarged, below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from daesolve.drawing import (
    Drawing,
    Line,
    Placed,
    Trace,
    check,
    evaluate,
    from_json,
    moves,
    names,
    to_json,
)
from daesolve.errors import DaesolveError
from daesolve.reporting.curves import common_legend, strip
from daesolve.reporting.document import Document
from daesolve.reporting.facts import short
from daesolve.reporting.painting import (
    ABOVE,
    COMPASS,
    free_spot,
    look_at,
    name,
    paint,
    paint_samples,
    strokes,
)
from daesolve.reporting.sampling import SEEN, columns, joinable
from daesolve.reporting.style import PANEL_WIDTH, RULE, style

DrawingRule = Callable[[Document], Drawing]
"""Makes the drawing of a run from its document."""

INSTANTS = 5
CANDIDATES = 200
"""Among how many samples the instants are looked for."""
NEAREST = 0.05
"""The part of the whole motion that must lie between two instants."""
ANGULAR = 0.25
"""How much the steps of a trace may change from one to the next, over their length, in a line."""
TINY = 1 / 12
"""The part of the scene below which bodies are enlarged."""
FEW = 12
"""Bodies that can be told apart although they lie upon each other."""
HEAPED = 0.5
"""The way from one instant to the next, over the size of the bodies, below which they do."""
SMALL = 0.5
"""The strokes of tiny bodies, beside those of others."""
FAINTEST = 0.35
MARGIN = 0.05
FLATTEST, STEEPEST = 0.2, 1.6
"""The bounds of the height of the scene over its width."""
TALLEST = 4.6
AXIS = 0.55
"""What the labels of an axis take, inches."""
TEXT = np.array([0.26, 0.13])
"""How far the middle of a text stays from what is drawn, to its sides and above it, inches."""


@dataclass(frozen=True, eq=False)
class Instant:
    """The moving bodies at a sample."""

    time: float
    bodies: Sequence[Placed]

    @property
    def points(self) -> np.ndarray:
        """(k, 2) all their points."""
        return np.concatenate([body.points for body in self.bodies])

    @property
    def box(self) -> np.ndarray:
        """(2, 2) the corners around them."""
        return around(body.box for body in self.bodies)


@dataclass(frozen=True, eq=False)
class Scene:
    """What is to be seen of a run.

    Parameters
    ----------
    drawing
        Its shapes.
    backdrop
        The fixed surroundings and the whole traces.
    instants
        The bodies at a few samples, in the order of the motion.
    joinable
        Whether samples are so close that a line through them may be honest.
    """

    drawing: Drawing
    backdrop: Sequence[Placed]
    instants: Sequence[Instant]
    joinable: bool

    @property
    def box(self) -> np.ndarray:
        """(2, 2) the corners around everything."""
        boxes = [entry.box for entry in self.backdrop]
        return around([*boxes, *(instant.box for instant in self.instants)])

    @property
    def body_size(self) -> float:
        """The largest extent of the bodies at an instant."""
        return max((float(np.ptp(one.box, axis=0).max()) for one in self.instants), default=0.0)

    @property
    def tiny(self) -> bool:
        """Whether the bodies are too small to be recognized."""
        return 0.0 < self.body_size < TINY * float(np.ptp(self.box, axis=0).max())

    @property
    def heaped(self) -> bool:
        """Whether many bodies lie upon each other at the instants, so that none is recognized."""
        if not self.instants or sum(body.shown for body in self.instants[0].bodies) <= FEW:
            return False
        middles = np.array([instant.box.mean(axis=0) for instant in self.instants])
        ways = np.linalg.norm(np.diff(middles, axis=0), axis=1)
        return bool(np.any(ways < HEAPED * self.body_size))

    @property
    def on_the_spot(self) -> bool:
        """Whether there is no more to be seen of the whole than of the bodies."""
        return float(np.ptp(self.box, axis=0).max()) < (1.0 + HEAPED) * self.body_size

    def scattered(self, entry: Placed) -> bool:
        """Tell whether it is a trace, or a part of one, with samples too far apart to be joined."""
        return isinstance(entry.shape, Trace) and not (self.joinable and _smooth(entry.points))


def with_drawing(document: dict[str, Any], rule: DrawingRule | None) -> dict[str, Any]:
    """Return the document of a run with its drawing, made by the problem's rule.

    A rule that fails must not cost a long run: the notes tell so, and there is no drawing.
    """
    if rule is None or not document["times"]:
        return document
    try:
        drawing = rule(document)
        check(drawing, [*columns(document, drawing.series), *document["parameters"]])
        return {**document, "drawing": to_json(drawing)}
    except Exception as error:
        kind = "" if isinstance(error, DaesolveError) else f"{type(error).__name__}: "
        note = f"there is no picture of the scene: {kind}{error}"
        return {**document, "notes": [*document["notes"], note]}


def samples(document: Document) -> dict[str, np.ndarray]:
    """Return every series of a run and the time "t", each (k,), in the order of the motion."""
    return {name: entry.values for name, entry in columns(document).items()}


def scene(document: Document) -> Figure | None:
    """Draw the scene of a run; None where the run has no drawing or no samples.

    Raises
    ------
    DaesolveError
        The stored drawing is broken.
    """
    stored = document.get("drawing")
    if stored is None or not document["times"]:
        return None
    drawing, parameters = from_json(stored), document["parameters"]
    series = columns(document, drawing.series)
    values = {name: entry.values for name, entry in series.items()}
    backdrop = [
        entry
        for entry in evaluate(drawing, values, parameters, -1)
        if isinstance(entry.shape, Trace) or not moves(entry.shape, values)
    ]
    instants = _instants(drawing, values, parameters)
    used = [entry for name, entry in series.items() if name in names(drawing)]
    seen = Scene(drawing, backdrop, instants, joinable(used, SEEN))
    with style():
        if seen.heaped and seen.on_the_spot:
            return _side_by_side(seen)
        return _enlarged(seen) if seen.tiny or seen.heaped else _alone(seen)


def _instants(
    drawing: Drawing, series: Mapping[str, np.ndarray], parameters: Mapping[str, float]
) -> list[Instant]:
    """Choose the first sample, the last, and between them those that differ most from others."""
    bodies = [
        shape for shape in drawing.shapes if moves(shape, series) and not isinstance(shape, Trace)
    ]
    if not bodies:
        return []
    moving, times = replace(drawing, shapes=bodies), series["t"]
    candidates = np.unique(np.linspace(0, len(times) - 1, CANDIDATES).round().astype(int))
    found = [
        Instant(float(times[index]), evaluate(moving, series, parameters, int(index)))
        for index in candidates
    ]
    found = [instant for instant in found if np.isfinite(instant.points).all()]
    places = np.array([instant.points.ravel() for instant in found])
    return [found[place] for place in _far_apart(places)]


def _far_apart(places: np.ndarray) -> list[int]:
    """Return the first row, the last, and one by one the farthest from all that are chosen.

    Parameters
    ----------
    places
        (n, m)
    """
    if not len(places):
        return []
    chosen = {0, len(places) - 1}
    least = NEAREST * np.linalg.norm(np.ptp(places, axis=0))
    gaps = np.min([np.linalg.norm(places - places[row], axis=1) for row in chosen], axis=0)
    while len(chosen) < INSTANTS and gaps.max() > least:
        farthest = int(gaps.argmax())
        chosen.add(farthest)
        gaps = np.minimum(gaps, np.linalg.norm(places - places[farthest], axis=1))
    return sorted(chosen)


def _smooth(points: np.ndarray) -> bool:
    """Tell whether a line through points, (k, 2), with gaps where they are NaN, has no corners."""
    steps = np.diff(points, axis=0)
    bends = np.linalg.norm(np.diff(steps, axis=0), axis=1)
    return bool(np.nansum(bends) <= ANGULAR * np.nansum(np.linalg.norm(steps, axis=1)))


def around(boxes: Iterable[np.ndarray]) -> np.ndarray:
    """Return the corners, (2, 2), around boxes; zeros if none of them is anywhere."""
    known = [box for box in boxes if np.isfinite(box).all()]
    if not known:
        return np.zeros((2, 2))
    return np.array([np.min(known, axis=0)[0], np.max(known, axis=0)[1]])


def framed(box: np.ndarray) -> np.ndarray:
    """Return the corners of a box with a margin, neither too flat nor too steep for a page."""
    size = np.ptp(box, axis=0)
    size = size + 2.0 * MARGIN * (size.max() or 1.0)
    width = max(size[0], size[1] / STEEPEST)
    half = 0.5 * np.array([width, max(size[1], FLATTEST * width)])
    middle = box.mean(axis=0)
    return np.array([middle - half, middle + half])


def _size(limits: np.ndarray) -> tuple[float, float]:
    """Return the width and the height of the scene in inches."""
    width, height = np.ptp(limits, axis=0)
    inches = min(PANEL_WIDTH - AXIS, TALLEST * width / height)
    return inches, inches * height / width


def _alone(seen: Scene) -> Figure:
    limits = framed(seen.box)
    width, height = _size(limits)
    figure = Figure(figsize=(width + AXIS, height + 1.3 * AXIS))
    _overview(figure.add_subplot(), seen, limits)
    return figure


def _enlarged(seen: Scene) -> Figure:
    """Draw the scene, and below it the bodies of each instant in a panel of its own."""
    limits = framed(seen.box)
    width, height = _size(limits)
    side = (PANEL_WIDTH - AXIS) / INSTANTS
    heights = (height + 1.3 * AXIS, side + 0.6 * AXIS)
    figure = Figure(figsize=(PANEL_WIDTH, sum(heights)))
    grid = figure.add_gridspec(2, INSTANTS, height_ratios=heights)
    _overview(figure.add_subplot(grid[0, :]), seen, limits)
    panels = [figure.add_subplot(grid[1, column]) for column in range(len(seen.instants))]
    for panel, instant in zip(panels, seen.instants, strict=True):
        _closer(panel, seen, instant)
    shown = np.ptp(panels[0].get_xlim())
    larger = side / shown * np.ptp(limits[:, 0]) / width
    panels[0].set_ylabel(f"{larger:.2g} times larger")
    return figure


def _side_by_side(seen: Scene) -> Figure:
    """Draw the bodies of each instant in a panel of its own, at one scale."""
    side = (PANEL_WIDTH - AXIS) / INSTANTS
    figure = Figure(figsize=(PANEL_WIDTH, side + 1.2 * AXIS))
    panels = np.atleast_1d(figure.subplots(1, INSTANTS))
    for panel, instant in zip(panels, seen.instants, strict=False):
        _closer(panel, seen, instant)
    for unused in panels[len(seen.instants) :]:
        unused.remove()
    _name_all(panels[0], seen)
    common_legend(figure)
    return figure


def _overview(axes: Axes, seen: Scene, limits: np.ndarray) -> None:
    size = SMALL if seen.tiny else 1.0
    _paint_backdrop(axes, seen, limits, size)
    for place, instant in enumerate(seen.instants, start=1):
        faded = FAINTEST + (1.0 - FAINTEST) * place / len(seen.instants)
        for body in instant.bodies:
            paint(axes, body, strength=1.0 if seen.tiny else faded, size=size)
    _tell_times(axes, seen, limits)
    _name_all(axes, seen)
    strip(axes, room=_size(limits)[0])
    look_at(axes, limits)
    axes.set_xlabel(seen.drawing.x_label)
    axes.set_ylabel(seen.drawing.y_label)


def _name_all(axes: Axes, seen: Scene) -> None:
    unjoined = [entry.shape for entry in seen.backdrop if seen.scattered(entry)]
    for shape in seen.drawing.shapes:
        name(axes, shape, scattered=shape in unjoined)


def _tell_times(axes: Axes, seen: Scene, limits: np.ndarray) -> None:
    """Write the time of each instant beside it."""
    text = TEXT * np.ptp(limits[:, 0]) / _size(limits)[0]
    bodies = [body for instant in seen.instants for body in instant.bodies]
    taken = strokes([*seen.backdrop, *bodies])
    for instant in seen.instants:
        others = [one.points for one in seen.instants if one is not instant]
        spot = free_spot(
            instant.bodies, np.concatenate([np.empty((0, 2)), *others]), taken, text, limits
        )
        taken = np.vstack([taken, spot + 0.5 * text * COMPASS])
        axes.text(
            spot[0], spot[1], _told(instant), ha="center", va="center", fontsize=8, zorder=ABOVE
        )


def _told(instant: Instant) -> str:
    return f"{short(instant.time) if abs(instant.time) < 100.0 else f'{instant.time:.0f}'} s"


def _closer(axes: Axes, seen: Scene, instant: Instant) -> None:
    half = (0.5 + MARGIN) * seen.body_size
    middle = instant.box.mean(axis=0)
    limits = np.array([middle - half, middle + half])
    _paint_backdrop(axes, seen, limits, 1.0)
    for body in instant.bodies:
        paint(axes, body)
    look_at(axes, limits)
    axes.set_title(f"t = {_told(instant)}")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(visible=True, color=RULE)


def _paint_backdrop(axes: Axes, seen: Scene, limits: np.ndarray, size: float) -> None:
    for entry in seen.backdrop:
        part = _within(entry, limits) if isinstance(entry.shape, Line | Trace) else entry
        if seen.scattered(part):
            paint_samples(axes, part)
        else:
            paint(axes, part, size=size)


def _within(line: Placed, limits: np.ndarray) -> Placed:
    """Return a line without those of its parts that lie outside of limits altogether."""
    begin, end = line.points[:-1], line.points[1:]
    seen = (np.maximum(begin, end) >= limits[0]) & (np.minimum(begin, end) <= limits[1])
    part = seen.all(axis=1)
    kept = np.append(part, False) | np.append(False, part)
    return replace(line, points=np.where(kept[:, None], line.points, np.nan))

"""The scene: the surroundings, the paths, and the bodies at a few instants of a run.

Bodies that are tiny against the way they go are shown once more, enlarged, below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from daesolve.core.results.trajectory.curves import joinable
from daesolve.multibody.drawing import (
    Circle,
    Drawing,
    Line,
    Outline,
    Placed,
    Trace,
    evaluate,
    from_json,
    moves,
    names,
)
from daesolve.multibody.drawing.placement import evaluate_all
from daesolve.reporting.facts import short
from daesolve.reporting.figures.renderer import ABOVE, look_at, name, paint, paint_samples
from daesolve.reporting.figures.style import RULE, common_legend, narrow, panel_width, strip, style
from daesolve.reporting.film import MARGIN, TINY, around, framed
from daesolve.reporting.sampling import SEEN, Document, columns

INSTANTS = 5
IN_A_COLUMN = 3
"""How many instants a narrow figure has side by side."""
CANDIDATES = 200
"""Among how many samples the instants are looked for."""
NEAREST = 0.05
"""The part of the whole motion that must lie between two instants."""
ANGULAR = 0.25
"""The largest change of successive steps of a trace, over their length, in a line."""
FEW = 12
"""Bodies that can be distinguished although they lie upon each other."""
HEAPED = 0.5
"""The way from one instant to the next, over the size of the bodies, below which they do."""
SMALL = 0.5
"""The strokes of tiny bodies, beside those of others."""
FAINTEST = 0.35
TALLEST = 4.6
AXIS = 0.55
"""What the labels of an axis take, inches."""
TEXT = np.array([0.26, 0.13])
"""The distance of the middle of a text from drawn shapes, to its sides and above it, inches."""
COMPASS = np.array([[0, -1], [-1, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [1, 1], [0, 1]])
"""Sides of a body on which a text may be written, the best one last."""
NEARLY = 0.05
"""The relative difference up to which sizes look alike."""
ENOUGH = 0.99
"""A distance from drawn shapes, in sizes of a text, beyond which more is no gain."""


@dataclass(frozen=True, eq=False)
class SceneSample:
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
    """What can be seen of a run.

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
    instants: Sequence[SceneSample]
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
        """Whether the whole scene shows no more than the bodies."""
        return float(np.ptp(self.box, axis=0).max()) < (1.0 + HEAPED) * self.body_size

    def scattered(self, entry: Placed) -> bool:
        """Return whether it is of a trace with samples too far apart to be joined."""
        return isinstance(entry.shape, Trace) and not (self.joinable and _smooth(entry.points))


def scene(document: Document) -> Figure | None:
    """Draw the scene of a run; None if the run has no drawing or no samples.

    Raises
    ------
    DaesolveError
        The stored drawing is broken.
    """
    seen = scene_of(document)
    if seen is None:
        return None
    with style():
        if seen.heaped and seen.on_the_spot:
            return _side_by_side(seen)
        return _enlarged(seen) if seen.tiny or seen.heaped else _alone(seen)


def scene_of(document: Document) -> Scene | None:
    """Return what can be seen of a run; None if it has no drawing or no samples."""
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
    return Scene(drawing, backdrop, instants, joinable(used, SEEN))


def _instants(
    drawing: Drawing, series: Mapping[str, np.ndarray], parameters: Mapping[str, float]
) -> list[SceneSample]:
    """Choose the first sample, the last, and between them those that differ most from others."""
    bodies = [
        shape for shape in drawing.shapes if moves(shape, series) and not isinstance(shape, Trace)
    ]
    if not bodies:
        return []
    moving, times = replace(drawing, shapes=bodies), series["t"]
    candidates = np.unique(np.linspace(0, len(times) - 1, CANDIDATES).round().astype(int))
    found = [
        SceneSample(float(times[index]), placed)
        for index, placed in zip(
            candidates, evaluate_all(moving, series, parameters, candidates.tolist()), strict=True
        )
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
    """Return whether a line through points (k, 2), with gaps at NaN, has no corners."""
    steps = np.diff(points, axis=0)
    bends = np.linalg.norm(np.diff(steps, axis=0), axis=1)
    return bool(np.nansum(bends) <= ANGULAR * np.nansum(np.linalg.norm(steps, axis=1)))


def _size(limits: np.ndarray) -> tuple[float, float]:
    """Return the width and the height of the scene in inches."""
    width, height = np.ptp(limits, axis=0)
    inches = min(panel_width() - AXIS, TALLEST * width / height)
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
    columns, rows = _beside(seen)
    side = (panel_width() - AXIS) / columns
    heights = (height + 1.3 * AXIS, *[side + 0.6 * AXIS] * rows)
    figure = Figure(figsize=(panel_width(), sum(heights)))
    grid = figure.add_gridspec(1 + rows, columns, height_ratios=heights)
    _overview(figure.add_subplot(grid[0, :]), seen, limits)
    panels = [
        figure.add_subplot(grid[1 + place // columns, place % columns])
        for place in range(len(seen.instants))
    ]
    for panel, instant in zip(panels, seen.instants, strict=True):
        _closer(panel, seen, instant)
    shown = np.ptp(panels[0].get_xlim())
    larger = side / shown * np.ptp(limits[:, 0]) / width
    panels[0].set_ylabel(_magnified(float(larger)))
    return figure


def _beside(seen: Scene) -> tuple[int, int]:
    """Return the columns and rows of a panel for each instant."""
    columns = IN_A_COLUMN if narrow() else INSTANTS
    return columns, -(-len(seen.instants) // columns)


def _magnified(factor: float) -> str:
    """Say how large the bodies are drawn against those of the scene above."""
    if abs(factor - 1.0) < NEARLY:
        return "as large as above"
    return f"{factor:.2g} times larger" if factor > 1.0 else f"{1.0 / factor:.2g} times smaller"


def _side_by_side(seen: Scene) -> Figure:
    """Draw the bodies of each instant in a panel of its own, at one scale."""
    columns, rows = _beside(seen)
    side = (panel_width() - AXIS) / columns
    figure = Figure(figsize=(panel_width(), rows * (side + 0.5 * AXIS) + 0.7 * AXIS))
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, instant in zip(panels, seen.instants, strict=False):
        _closer(panel, seen, instant)
    for unused in panels[len(seen.instants) :]:
        unused.remove()
    _name_all(panels[0], seen)
    common_legend(figure)
    return figure


def _overview(axes: Axes, seen: Scene, limits: np.ndarray) -> None:
    size = SMALL if seen.tiny else 1.0
    paint_backdrop(axes, seen, limits, size)
    for place, instant in enumerate(seen.instants, start=1):
        faded = FAINTEST + (1.0 - FAINTEST) * place / len(seen.instants)
        for body in instant.bodies:
            paint(axes, body, strength=1.0 if seen.tiny else faded, size=size)
    _write_times(axes, seen, limits)
    _name_all(axes, seen)
    strip(axes, room=_size(limits)[0])
    look_at(axes, limits)
    axes.set_xlabel(seen.drawing.x_label)
    axes.set_ylabel(seen.drawing.y_label)


def _name_all(axes: Axes, seen: Scene) -> None:
    unjoined = [entry.shape for entry in seen.backdrop if seen.scattered(entry)]
    for shape in seen.drawing.shapes:
        name(axes, shape, scattered=shape in unjoined)


def _write_times(axes: Axes, seen: Scene, limits: np.ndarray) -> None:
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
            spot[0],
            spot[1],
            _time_text(instant),
            ha="center",
            va="center",
            fontsize=8,
            zorder=ABOVE,
        )


def _time_text(instant: SceneSample) -> str:
    return f"{short(instant.time) if abs(instant.time) < 100.0 else f'{instant.time:.0f}'} s"


def _closer(axes: Axes, seen: Scene, instant: SceneSample) -> None:
    half = (0.5 + MARGIN) * seen.body_size
    middle = instant.box.mean(axis=0)
    limits = np.array([middle - half, middle + half])
    paint_backdrop(axes, seen, limits, 1.0)
    for body in instant.bodies:
        paint(axes, body)
    look_at(axes, limits)
    axes.set_title(f"t = {_time_text(instant)}")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(visible=True, color=RULE)


def paint_backdrop(axes: Axes, seen: Scene, limits: np.ndarray, size: float) -> None:
    """Draw the surroundings and the traces, as far as they lie within limits."""
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


def strokes(entries: Sequence[Placed]) -> np.ndarray:
    """Return (k, 2) points along drawn shapes, so close that no text fits between them."""
    found = np.concatenate([_strokes(entry) for entry in entries])
    return found[np.isfinite(found).all(axis=1)]


def free_spot(
    bodies: Sequence[Placed],
    others: np.ndarray,
    taken: np.ndarray,
    text: np.ndarray,
    limits: np.ndarray,
) -> np.ndarray:
    """Return where a text beside bodies goes: in sight, upon nothing, apart from other bodies.

    Parameters
    ----------
    bodies
        What the text is about.
    others
        (k, 2) points of what it is not about; it may be empty.
    taken
        (m, 2) points of all that is drawn.
    text
        (2,) how far the middle of the text stays from what is drawn, to its sides and above it.
    limits
        (2, 2) the corners of the axes.
    """
    points = np.concatenate([body.points for body in bodies])
    radii = np.concatenate([np.full(len(body.points), body.radius) for body in bodies])
    towards = COMPASS / np.linalg.norm(COMPASS, axis=1)[:, None]
    spots = points[:, None] + radii[:, None, None] * towards + text * COMPASS
    spots = spots.reshape(-1, 2)
    inside = ((spots - text >= limits[0]) & (spots + text <= limits[1])).all(axis=1)
    room = np.minimum(scipy.spatial.KDTree(taken / text).query(spots / text)[0], ENOUGH)
    apart = (
        scipy.spatial.KDTree(others / text).query(points / text)[0]
        if len(others)
        else np.zeros(len(points))
    )
    return spots[np.lexsort((np.repeat(apart, len(COMPASS)), room, inside))[-1]]


def _strokes(entry: Placed) -> np.ndarray:
    if isinstance(entry.shape, Circle):
        turns = np.linspace(0.0, 2.0 * math.pi, 24)
        rim = entry.points + entry.radius * np.column_stack([np.cos(turns), np.sin(turns)])
        along = np.linspace(entry.spokes[:, 0], entry.spokes[:, 1], 12)
        return np.concatenate([rim, along.reshape(-1, 2)])
    parts = np.linspace(0.0, 1.0, 2 + 200 // len(entry.points))[:, None, None]
    closed = isinstance(entry.shape, Outline)
    ends = np.vstack([entry.points, entry.points[:1]]) if closed else entry.points
    between = ends[:-1] + parts * np.diff(ends, axis=0)
    return np.concatenate([entry.points, between.reshape(-1, 2)])

"""The pictures of an animation: the shapes of a run's drawing at even times, as data.

Samples stay as they are; the times between them are interpolated, for drawing alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from daesolve.core.results.trajectory.curves import Series, joinable
from daesolve.errors import DaesolveError
from daesolve.multibody.drawing import (
    Arrow,
    Camera,
    Circle,
    Drawing,
    Placed,
    Trace,
    angles,
    evaluate,
    from_json,
    moves,
    names,
)
from daesolve.multibody.drawing.placement import evaluate_all
from daesolve.reporting.document import NO_PICTURE, ReportError
from daesolve.reporting.excerpt import Excerpt, Mark
from daesolve.reporting.facts import short, title
from daesolve.reporting.sampling import SEEN, Document, columns
from daesolve.reporting.visibility import turns_between, turns_in_pictures

FOLLOWED = 0.5
"""The part of the whole way below which a camera's width is followed along it."""
TOO_FAR = 0.5 * math.pi
"""The turn between two pictures beyond which its direction cannot be seen."""
Progress = Callable[[int, int], None]
"""Called after each picture with the number of those done and of all."""
FOLLOWABLE = 0.2
"""Turning points a picture, above which an eye cannot follow a motion."""
CORNERS = np.array([[-1.0, -1.0], [1.0, 1.0]])
NEAR = 1e-9
"""The part of the step between samples within which a time is that of a sample."""
TINY = 1 / 12
"""The part of the scene below which bodies are enlarged."""
MARGIN = 0.05
FLATTEST, STEEPEST = 0.2, 1.6
"""The bounds of the height of the scene over its width."""


@dataclass(frozen=True, eq=False)
class FilmFrame:
    """The picture at a time.

    Parameters
    ----------
    time
        Of the run, s.
    bodies
        What moves, traces included, in its place.
    view
        (2, 2) the corners of what is looked at.
    """

    time: float
    bodies: Sequence[Placed]
    view: np.ndarray


@dataclass(frozen=True, eq=False)
class Film:
    """An animation before it is drawn.

    Parameters
    ----------
    title
        Of the run.
    drawing
        Its shapes.
    surroundings
        What does not move, in its place.
    pictures
        At even times, at least two.
    rate
        Pictures a second of playing.
    whole
        (2, 2) the corners around everything in any picture.
    follows
        Whether the view goes along with the bodies.
    joined
        Whether times between samples are interpolated; else each picture shows the last sample.
    thinned
        Whether there are more samples than are drawn.
    smooth
        Whether a motion between pictures can be drawn: nothing but the spokes of circles turns
        too far from one to the next.
    turns
        The largest number of visible reversals of a point.
    at_samples
        How many of the pictures are at a sample's own time.
    turn
        The largest turn of an angle from one picture to the next, rad.
    clock
        (k,) how many pictures come before each vertex of a trace; negative before the first.
    marks
        The events from the first picture to the last.
    remark
        What a viewer should know first; may be empty.
    """

    title: str
    drawing: Drawing
    surroundings: Sequence[Placed]
    pictures: Sequence[FilmFrame]
    rate: float
    whole: np.ndarray
    follows: bool
    joined: bool
    thinned: bool
    smooth: bool
    turns: int
    at_samples: int
    turn: float
    clock: np.ndarray
    marks: Sequence[Mark]
    remark: str = ""

    @property
    def followable(self) -> bool:
        """Whether an eye can follow it: nothing turns to and fro within a few pictures either."""
        return self.smooth and self.turns <= max(1.0, FOLLOWABLE * len(self.pictures))

    @property
    def seconds(self) -> float:
        """The playing time, s."""
        return len(self.pictures) / self.rate

    @property
    def pace(self) -> float:
        """Seconds of the run per second of playing time."""
        return abs(self.pictures[-1].time - self.pictures[0].time) / self.seconds

    @property
    def decimals(self) -> int:
        """How many decimals distinguish the times of two pictures."""
        step = self.pace / self.rate
        return min(max(0, math.ceil(-math.log10(step))), 12)

    @property
    def speed(self) -> str:
        """How fast it plays."""
        if abs(self.pace - 1.0) < 5e-3:
            return "real time"
        return f"{short(float(self.pace))} × real time"

    @property
    def notes(self) -> list[str]:
        """What a viewer should know about interpolation and speed."""
        count, others = len(self.pictures), len(self.pictures) - self.at_samples
        notes = [self.remark] if self.remark else []
        if not self.joined and self.thinned:
            notes.append(
                "There are too many samples to draw the motion between them: each picture "
                "shows the latest sample. Show a shorter part (--from, --until)."
            )
        elif not self.joined:
            notes.append(
                "The samples are too far apart to interpolate: each picture shows the latest "
                "sample. Run with closer samples (--every) to see the motion."
            )
        elif others:
            notes.append(
                f"{self.at_samples} of {count} pictures show a sample of the run; the other "
                f"{others} are interpolated, for drawing only."
            )
        else:
            notes.append(f"Each of the {count} pictures shows a sample of the run.")
        if self.turn > TOO_FAR:
            notes.append(
                f"Something turns by up to {short(self.turn, 2)} rad between two pictures, so "
                "you cannot see its direction. Show a shorter part (--from, --until), or play "
                "it longer (--seconds)."
            )
        return notes


def film(part: Excerpt) -> Film:
    """Return the pictures of a run's animation.

    Parameters
    ----------
    part
        Of a run with a drawing.

    Raises
    ------
    ReportError
        The run has no drawing.
    """
    document, times = part.document, part.times
    drawing = _drawing(document)
    series, joined = _joined(columns(document, drawing.series), names(drawing), part)
    clock, dense = _dense(series, times, joined=joined)
    elapsed = _elapsed(times, series["t"].times)
    places = np.searchsorted(clock, elapsed)
    parameters = document["parameters"]
    moving = [shape for shape in drawing.shapes if moves(shape, series) or isinstance(shape, Trace)]
    shown = _shown(replace(drawing, shapes=moving), dense, parameters, places)
    surroundings = [
        entry
        for entry in evaluate(drawing, dense, parameters, int(places[-1]))
        if entry.shape not in moving
    ]
    whole = around(entry.box for bodies in (*shown, surroundings) for entry in bodies)
    views, follows = _views(drawing, shown, whole, dense, parameters, places)
    smooth = joined and _turn(_without_spokes(drawing), dense, parameters, places) <= TOO_FAR
    paces = elapsed - elapsed[0]
    return Film(
        title=title(document),
        drawing=drawing,
        surroundings=surroundings,
        pictures=[
            FilmFrame(float(time), bodies, view)
            for time, bodies, view in zip(times, shown, views, strict=True)
        ],
        rate=len(times) / part.seconds,
        whole=whole,
        follows=follows,
        joined=joined,
        thinned=part.thinned,
        smooth=smooth,
        turns=max(
            turns_in_pictures(shown, views),
            0 if follows else turns_between(drawing, dense, parameters, places, views[0]),
        ),
        at_samples=_at_samples(times, series["t"].times),
        turn=_turn(drawing, dense, parameters, places),
        clock=(clock[: places[-1] + 1] - elapsed[0]) / paces[-1] * (len(times) - 1),
        marks=part.marks,
    )


def _drawing(document: Document) -> Drawing:
    stored = document.get("drawing")
    if stored is None:
        failed = [note for note in document["notes"] if note.startswith(NO_PICTURE)]
        reason = failed[-1] if failed else "its problem offers none (drawing=)"
        reason = reason.removeprefix(f"{NO_PICTURE}: ")
        raise ReportError(f"the run of {title(document)} has no drawing: {reason}")
    return from_json(stored)


def _joined(
    series: Mapping[str, Series], used: Set[str], part: Excerpt
) -> tuple[dict[str, Series], bool]:
    """Return the series, and whether they can be joined by lines where samples are close.

    If they can be joined there, but not before, nothing is kept of what is before.
    """
    times = series["t"].times
    sign = 1.0 if times[-1] >= times[0] else -1.0
    low, high = sorted(sign * time for time in part.span)
    close = slice(
        int(np.searchsorted(sign * times, low, side="left")),
        int(np.searchsorted(sign * times, high, side="right")),
    )
    joined = joinable([_part(series[name], close) for name in used & set(series)], SEEN)
    before = slice(0, close.start + 1)
    if joined and not joinable([_part(series[n], before) for n in used & set(series)], SEEN):
        kept = slice(close.start, None)
        return {name: _part(entry, kept) for name, entry in series.items()}, joined
    return dict(series), joined


def _part(entry: Series, part: slice) -> Series:
    slopes = None if entry.slopes is None else entry.slopes[part]
    return Series(entry.times[part], entry.values[part], slopes)


def _shown(
    drawing: Drawing,
    dense: Mapping[str, np.ndarray],
    parameters: Mapping[str, float],
    places: np.ndarray,
) -> list[list[Placed]]:
    """Return the shapes in each picture; a trace is evaluated once, and shown up to each time."""
    alone = [shape for shape in drawing.shapes if not isinstance(shape, Trace)]
    bodies = replace(drawing, shapes=alone or drawing.shapes)
    whole = evaluate(drawing, dense, parameters, int(places[-1]))
    moving: list[list[Placed]] = [[] for _ in places]
    if alone:
        moving = evaluate_all(bodies, dense, parameters, places.tolist())
    shown: list[list[Placed]] = []
    for place, placed in zip(places, moving, strict=True):
        there = iter(placed)
        shown.append(
            [
                replace(entry, points=entry.points[: place + 1], depth=entry.depth[: place + 1])
                if isinstance(entry.shape, Trace)
                else next(there)
                for entry in whole
            ]
        )
    return shown


def _without_spokes(drawing: Drawing) -> Drawing:
    """Return a drawing without the angles that show in the spokes of circles alone."""
    shapes = [
        replace(shape, angle=None, spokes=0) if isinstance(shape, Circle) else shape
        for shape in drawing.shapes
    ]
    return replace(drawing, shapes=shapes)


def _elapsed(times: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return times of the run counted from its first sample, in the order of the motion."""
    return np.abs(times - samples[0])


def _at_samples(times: np.ndarray, samples: np.ndarray) -> int:
    known, asked = _elapsed(samples, samples), _elapsed(times, samples)
    after = np.clip(np.searchsorted(known, asked), 1, len(known) - 1)
    gaps = np.minimum(np.abs(asked - known[after - 1]), np.abs(asked - known[after]))
    return int(np.sum(gaps <= NEAR * np.diff(known).max()))


def _dense(
    series: Mapping[str, Series], times: np.ndarray, *, joined: bool
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the elapsed times of samples and pictures together, and every series there."""
    samples = series["t"].times
    known = _elapsed(samples, samples)
    asked = _elapsed(times, samples)
    clock = np.unique(np.concatenate([known[known <= asked[-1]], asked]))
    if joined:
        sign = 1.0 if samples[-1] > samples[0] else -1.0
        return clock, {name: entry.at(samples[0] + sign * clock) for name, entry in series.items()}
    last = np.searchsorted(known, clock, side="right") - 1
    return clock, {name: entry.values[last] for name, entry in series.items()}


def _views(
    drawing: Drawing,
    shown: Sequence[Sequence[Placed]],
    whole: np.ndarray,
    dense: Mapping[str, np.ndarray],
    parameters: Mapping[str, float],
    places: np.ndarray,
) -> tuple[list[np.ndarray], bool]:
    """Return what each picture looks at, and whether that goes along with the bodies."""
    camera = drawing.camera
    if camera is not None:
        squares = _squares(drawing, camera, dense, parameters, places)
        near = FOLLOWED
    else:
        squares = _about_bodies(shown)
        near = TINY
    width = max((float(np.ptp(square[:, 0])) for square in squares), default=0.0)
    if 0.0 < width < near * float(np.ptp(whole, axis=0).max()):
        return _held(squares), True
    return [framed(whole)] * len(shown), False


def _squares(
    drawing: Drawing,
    camera: Camera,
    dense: Mapping[str, np.ndarray],
    parameters: Mapping[str, float],
    places: np.ndarray,
) -> list[np.ndarray]:
    looked_at = replace(drawing, shapes=[Circle(camera.at, camera.width)])
    placed = evaluate_all(looked_at, dense, parameters, places.tolist())
    circles = [circle for (circle,) in placed]
    return [circle.points + 0.5 * circle.radius * CORNERS for circle in circles]


def _about_bodies(shown: Sequence[Sequence[Placed]]) -> list[np.ndarray]:
    """Return squares of one size about what moves, without arrows and traces."""
    boxes = [
        around(
            body.box for body in bodies if body.shown and not isinstance(body.shape, Arrow | Trace)
        )
        for bodies in shown
    ]
    half = (0.5 + MARGIN) * max(float(np.ptp(box, axis=0).max()) for box in boxes)
    return [box.mean(axis=0) + half * CORNERS for box in boxes]


def _held(squares: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the same, where a place is unknown the last known one."""
    found: list[np.ndarray] = []
    known = next((square for square in squares if np.isfinite(square).all()), np.zeros((2, 2)))
    for square in squares:
        known = square if np.isfinite(square).all() else known
        found.append(known)
    return found


def _turn(
    drawing: Drawing,
    dense: Mapping[str, np.ndarray],
    parameters: Mapping[str, float],
    places: np.ndarray,
) -> float:
    """Return the largest change of an angle from one picture to the next, rad."""
    # A trace is the one shape that is evaluated at all samples at once.
    changing = [angle for angle in angles(drawing) if not names(angle).isdisjoint(dense)]
    if not changing:
        return 0.0
    clocks = Drawing([Trace((angle, 0.0)) for angle in changing])
    hands = evaluate(clocks, dense, parameters, int(places[-1]))
    steps = np.abs(np.diff([hand.points[places, 0] for hand in hands], axis=1))
    return float(steps[np.isfinite(steps)].max(initial=0.0))


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


class AnimationError(DaesolveError, RuntimeError):
    """The file of an animation cannot be written."""


class MissingFfmpegError(AnimationError):
    """The program that encodes films is not installed."""

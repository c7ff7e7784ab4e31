"""The pictures of an animation: the shapes of a run's drawing at even times, as data.

Samples stay as they are; the times between them are interpolated, for drawing alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from daesolve.drawing import (
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
from daesolve.errors import OutOfRangeError
from daesolve.reporting.document import Document, ReportError
from daesolve.reporting.facts import short, title
from daesolve.reporting.sampling import SEEN, Series, columns, joinable
from daesolve.reporting.scene import MARGIN, TINY, around, framed

SECONDS = 10.0
PICTURES_A_SECOND = 25.0
LONGEST = 600.0
FASTEST = 60.0
FOLLOWED = 0.5
"""The part of the whole way below which a camera's width is followed along it."""
LEEWAY, EVEN = 0.1, 1e-6
"""How much the number of pictures may change to have each at a sample, if these are even."""
TOO_FAR = 0.5 * math.pi
"""The turn between two pictures beyond which its direction cannot be seen."""
CORNERS = np.array([[-1.0, -1.0], [1.0, 1.0]])
NEAR = 1e-9
"""The part of the step between samples within which a time is that of a sample."""


@dataclass(frozen=True, eq=False)
class Picture:
    """What is to be seen at a time.

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
    at_samples
        How many of the pictures are at a sample's own time.
    turn
        The largest turn of an angle from one picture to the next, rad.
    """

    title: str
    drawing: Drawing
    surroundings: Sequence[Placed]
    pictures: Sequence[Picture]
    rate: float
    whole: np.ndarray
    follows: bool
    joined: bool
    at_samples: int
    turn: float

    @property
    def seconds(self) -> float:
        """The time of playing, s."""
        return len(self.pictures) / self.rate

    @property
    def pace(self) -> float:
        """Seconds of the run in a second of playing."""
        return abs(self.pictures[-1].time - self.pictures[0].time) / self.seconds

    @property
    def decimals(self) -> int:
        """How many decimals tell the times of two pictures apart."""
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
        """What a viewer should know of its honesty."""
        count, others = len(self.pictures), len(self.pictures) - self.at_samples
        told: list[str] = []
        if not self.joined:
            told.append(
                "The samples are too far apart to be joined: each picture shows the last sample "
                "before it. Run with closer samples (--at) to see the motion."
            )
        elif others:
            told.append(
                f"{self.at_samples} of {count} pictures show a sample of the run, the other "
                f"{others} are interpolated between samples, for drawing alone."
            )
        else:
            told.append(f"Each of the {count} pictures shows a sample of the run.")
        if self.turn > TOO_FAR:
            told.append(
                f"Something turns by up to {short(self.turn, 2)} rad between two pictures, so that "
                "its direction cannot be seen. Show a shorter part (--from, --until), or play it "
                "longer (--seconds)."
            )
        return told


def film(
    document: Document,
    *,
    seconds: float = SECONDS,
    rate: float = PICTURES_A_SECOND,
    begin: float | None = None,
    end: float | None = None,
) -> Film:
    """Return the pictures of a run's animation.

    Parameters
    ----------
    document
        Of a run with a drawing.
    seconds
        The time of playing, s; at most 600.
    rate
        About how many pictures a second; at most 60. It changes by up to a tenth if so each
        picture is at a sample.
    begin, end
        The part of the run that is shown, s; all of its samples by default.

    Raises
    ------
    ReportError
        The run has no drawing, or fewer than two samples.
    OutOfRangeError
        A number lies outside of what it can be.
    """
    drawing = _drawing(document)
    _within("the time of playing", seconds, LONGEST, "s")
    _within("the number of pictures a second", rate, FASTEST, "1/s")
    series = columns(document, drawing.series)
    times = _times(series["t"].times, begin, end, max(2, round(seconds * rate)))
    rate = len(times) / seconds
    used = [entry for name, entry in series.items() if name in names(drawing)]
    joined = joinable(used, SEEN)
    clock, dense = _dense(series, times, joined=joined)
    places = np.searchsorted(clock, _elapsed(times, series["t"].times))
    parameters = document["parameters"]
    moving = [shape for shape in drawing.shapes if moves(shape, series) or isinstance(shape, Trace)]
    alone = replace(drawing, shapes=moving)
    shown = [evaluate(alone, dense, parameters, int(place)) for place in places]
    surroundings = [
        entry
        for entry in evaluate(drawing, dense, parameters, int(places[-1]))
        if entry.shape not in moving
    ]
    whole = around(entry.box for bodies in (*shown, surroundings) for entry in bodies)
    views, follows = _views(drawing, shown, whole, dense, parameters, places)
    return Film(
        title=title(document),
        drawing=drawing,
        surroundings=surroundings,
        pictures=[
            Picture(float(time), bodies, view)
            for time, bodies, view in zip(times, shown, views, strict=True)
        ],
        rate=rate,
        whole=whole,
        follows=follows,
        joined=joined,
        at_samples=_at_samples(times, series["t"].times),
        turn=_turn(drawing, dense, parameters, places),
    )


def _drawing(document: Document) -> Drawing:
    stored = document.get("drawing")
    if stored is None:
        raise ReportError(
            f"the run of {title(document)} has no drawing: its problem offers none (drawing=), or "
            "it could not be made"
        )
    if len(document["times"]) < 2:
        raise ReportError(f"the run of {title(document)} has fewer than two samples to show")
    return from_json(stored)


def _within(what: str, value: float, largest: float, unit: str) -> None:
    if not 0.0 < value <= largest:
        raise OutOfRangeError(f"{what} is {value:g} {unit}, but must be > 0 and <= {largest:g}")


def _times(samples: np.ndarray, begin: float | None, end: float | None, count: int) -> np.ndarray:
    """Return even times from the beginning to the end in the order of the motion, about `count`."""
    first, last = float(samples[0]), float(samples[-1])
    low, high = min(first, last), max(first, last)
    begin, end = first if begin is None else begin, last if end is None else end
    for name, time in (("beginning", begin), ("end", end)):
        if not low <= time <= high:
            raise OutOfRangeError(
                f"the {name} of what is shown is {time:g} s, but the samples of the run go from "
                f"{low:g} to {high:g} s"
            )
    if not (end - begin) * (last - first) > 0.0:
        raise OutOfRangeError(
            f"there is nothing to show from {begin:g} to {end:g} s: the run goes from {first:g} "
            f"to {last:g} s"
        )
    between = samples[(samples >= min(begin, end)) & (samples <= max(begin, end))]
    at_samples = _at_even_samples(between, count)
    return np.linspace(begin, end, count) if at_samples is None else at_samples


def _at_even_samples(samples: np.ndarray, count: int) -> np.ndarray | None:
    """Return about `count` of the samples, the first and the last among them, at even steps."""
    steps = np.diff(samples)
    if not len(steps) or not np.allclose(steps, steps[0], rtol=EVEN):
        return None
    few, many = math.ceil((1.0 - LEEWAY) * count), math.floor((1.0 + LEEWAY) * count)
    fitting = [n for n in range(max(few, 2), many + 1) if len(steps) % (n - 1) == 0]
    if not fitting:
        return None
    nearest = min(fitting, key=lambda n: abs(n - count))
    return samples[:: len(steps) // (nearest - 1)]


def _elapsed(times: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return times of the run counted from its first sample, in the order of the motion."""
    return np.abs(times - samples[0])


def _at_samples(times: np.ndarray, samples: np.ndarray) -> int:
    known = _elapsed(samples, samples)
    gaps = np.abs(_elapsed(times, samples)[:, None] - known).min(axis=1)
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
        squares = _squares(camera, dense, parameters, places)
        near = FOLLOWED
    else:
        squares = _about_bodies(shown)
        near = TINY
    width = max((float(np.ptp(square[:, 0])) for square in squares), default=0.0)
    if 0.0 < width < near * float(np.ptp(whole, axis=0).max()):
        return _held(squares), True
    return [framed(whole)] * len(shown), False


def _squares(
    camera: Camera,
    dense: Mapping[str, np.ndarray],
    parameters: Mapping[str, float],
    places: np.ndarray,
) -> list[np.ndarray]:
    looked_at = Drawing([Circle(camera.at, camera.width)])
    circles = [evaluate(looked_at, dense, parameters, int(place))[0] for place in places]
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
    hands = [Circle((0.0, 0.0), 1.0, angle, spokes=1) for angle in angles(drawing)]
    if not hands:
        return 0.0
    clocks = Drawing(hands)
    turned = np.array(
        [
            [hand.angle for hand in evaluate(clocks, dense, parameters, int(place))]
            for place in places
        ]
    )
    steps = np.abs(np.diff(turned, axis=0))
    return float(steps[np.isfinite(steps)].max(initial=0.0))

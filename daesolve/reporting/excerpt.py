"""The part of a run that an animation needs: the times of its pictures, samples and events.

From a long run on disk all samples are read in the part that is shown, and few elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daesolve.core.results.trajectory.results import EventRecord
from daesolve.core.results.trajectory.samples import Samples, StoredSamples
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import OutOfRangeError
from daesolve.reporting.document import ReportError, document
from daesolve.reporting.facts import title
from daesolve.reporting.sampling import Document, columns

SECONDS = 10.0
PICTURES_A_SECOND = 25.0
CLOSE_PICTURES = 50.0
"""Pictures per second of a motion that is too fast to follow in fewer."""
LONGEST = 600.0
FASTEST = 60.0
LEEWAY, EVEN = 0.1, 1e-6
"""How much the number of pictures may change so that each is at a sample, if samples are this
even."""
MOST_SHOWN, MOST_ELSE = 10_000, 5_000
"""The most samples of a run on disk: in the part that is shown, and in the whole run."""
BESIDE = 100
"""Samples before and after the part shown that help to judge whether samples can be joined."""
MOST_EVENTS = 1000
"""Above this number, only the last of those between two pictures is shown."""


@dataclass(frozen=True)
class Mark:
    """An event in an excerpt: its time (s), its name, and the number of pictures before it."""

    time: float
    name: str
    place: float


@dataclass(frozen=True)
class Playing:
    """The part of a run to show, and how fast.

    Parameters
    ----------
    seconds
        The playing time, s; at most 600.
    rate
        About how many pictures per second; at most 60. It changes by up to a tenth if each picture
        can then be at a sample.
    begin, end
        The part of the run to show, s; by default all of its samples.
    """

    seconds: float = SECONDS
    rate: float = PICTURES_A_SECOND
    begin: float | None = None
    end: float | None = None

    def pictures(self) -> int:
        """Return the approximate number of pictures.

        Raises
        ------
        OutOfRangeError
            A number is out of range.
        """
        for what, value, largest, unit in (
            ("the playing time", self.seconds, LONGEST, "s"),
            ("the number of pictures per second", self.rate, FASTEST, "1/s"),
        ):
            if not 0.0 < value <= largest:
                raise OutOfRangeError(
                    f"{what} is {value:g} {unit}, but must be > 0 and <= {largest:g}"
                )
        return max(2, round(self.seconds * self.rate))


@dataclass(frozen=True, eq=False)
class Excerpt:
    """The data needed to show a part of a run.

    Parameters
    ----------
    document
        With the samples that are needed.
    times
        (k,) of the pictures, even, in the order of the motion, s.
    seconds
        The playing time, s.
    marks
        The events from the first picture to the last.
    span
        The time span (s) in which the samples are as close as possible; elsewhere there may be few.
    thinned
        Whether some samples are left out even there.
    """

    document: Document
    times: np.ndarray
    seconds: float
    marks: list[Mark]
    span: tuple[float, float]
    thinned: bool = False


def from_document(whole: Document, playing: Playing) -> Excerpt:
    """Return all samples of a run, and the times at which it is shown.

    Parameters
    ----------
    whole
        The document of the run.
    playing
        The part to show.

    Raises
    ------
    ReportError
        It has fewer than two samples.
    OutOfRangeError
        A number is out of range.
    """
    samples = columns(whole)["t"].times
    _require_two(len(samples), whole)
    times = _times(samples, playing, playing.pictures())
    events = ((event["time"], event["name"]) for event in whole["events"])
    span = float(samples.min()), float(samples.max())
    return Excerpt(whole, times, playing.seconds, _marks(events, times), span)


def from_run(run: Trajectory, identity: Mapping[str, Any], playing: Playing) -> Excerpt:
    """Return the samples of a run that its animation needs; the others are not kept in memory.

    Parameters
    ----------
    run
        In memory or on disk.
    identity
        As in `document`.
    playing
        The part to show.

    Raises
    ------
    ReportError
        It has fewer than two samples.
    OutOfRangeError
        A number is out of range.
    ArchiveError
        The run on disk is damaged.
    """
    count = playing.pictures()
    bare = Samples(np.empty(0), {}, {}, {})
    whole = document(replace(run, samples=bare), identity)
    known = run.times
    _require_two(len(known), whole)
    backwards = (whole["until"] or 0.0) < whole["start_time"]
    ordered = known if (known[-1] < known[0]) == backwards else known[::-1]
    times = _times(ordered, playing, count)
    marks = _marks(_events_of(run), times)
    rows, close = _rows(known, times)
    samples = Samples(
        known[rows],
        {name: values[rows] for name, values in run.states.items()},
        {name: values[rows] for name, values in run.reactions.items()},
        {name: values[rows] for name, values in run.outputs.items()},
        [EventRecord(mark.time, mark.name, {}) for mark in marks],
    )
    span = sorted((float(known[close[0]]), float(known[close[1]])))
    return Excerpt(
        document(replace(run, samples=samples), identity),
        times,
        playing.seconds,
        marks,
        (span[0], span[1]),
        thinned=close[1] - close[0] >= MOST_SHOWN,
    )


def _require_two(count: int, whole: Document) -> None:
    if count < 2:
        raise ReportError(f"the run of {title(whole)} has fewer than two samples to show")


def _times(samples: np.ndarray, playing: Playing, count: int) -> np.ndarray:
    """Return even times from the beginning to the end in the order of the motion, about `count`."""
    first, last = float(samples[0]), float(samples[-1])
    low, high = min(first, last), max(first, last)
    begin = first if playing.begin is None else playing.begin
    end = last if playing.end is None else playing.end
    for name, time in (("beginning", begin), ("end", end)):
        if not low <= time <= high:
            raise OutOfRangeError(
                f"the {name} of the time shown is {time:g} s, but the samples of the run cover "
                f"{low:g} to {high:g} s"
            )
    if not (end - begin) * (last - first) > 0.0:
        turned = (
            "" if begin == end else f", so give its beginning as {end:g} and its end as {begin:g}"
        )
        raise OutOfRangeError(
            f"there is nothing to show from {begin:g} to {end:g} s: the run covers {first:g} "
            f"to {last:g} s{turned}"
        )
    rising = samples if last > first else samples[::-1]
    shown = slice(
        np.searchsorted(rising, min(begin, end)),
        np.searchsorted(rising, max(begin, end), side="right"),
    )
    between = rising[shown] if last > first else rising[shown][::-1]
    at_samples = _at_even_samples(between, count)
    return np.linspace(begin, end, count) if at_samples is None else at_samples


def _at_even_samples(samples: np.ndarray, count: int) -> np.ndarray | None:
    """Return about `count` of the samples, the first and the last among them, at even steps."""
    steps = np.diff(samples)
    if not len(steps) or np.ptp(steps) > EVEN * abs(steps[0]):
        return None
    few, many = math.ceil((1.0 - LEEWAY) * count), math.floor((1.0 + LEEWAY) * count)
    fitting = [n for n in range(max(few, 2), many + 1) if len(steps) % (n - 1) == 0]
    if not fitting:
        return None
    nearest = min(fitting, key=lambda n: abs(n - count))
    return samples[:: len(steps) // (nearest - 1)]


def _rows(known: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, tuple[int, int]]:
    """Return which samples are needed, and the first and the last one of those that are close.

    Needed are those about what is shown, on both sides of each picture, and few of all others.
    """
    last = len(known) - 1
    rising = known[-1] >= known[0]
    clock = known if rising else known[::-1]
    shown = np.sort(times)
    before = np.searchsorted(clock, shown, side="left") - 1
    after = np.searchsorted(clock, shown, side="right")
    low, high = max(int(before[0]) - BESIDE, 0), min(int(after[-1]) + BESIDE, last)
    close, others = _spread(low, high, MOST_SHOWN), _spread(0, last, MOST_ELSE)
    rows = np.unique(np.clip(np.hstack([before, before + 1, after, close, others]), 0, last))
    return (rows, (low, high)) if rising else (last - rows[::-1], (last - high, last - low))


def _spread(first: int, last: int, most: int) -> np.ndarray:
    """Return at most so many whole numbers from the first to the last, both included."""
    return np.unique(np.linspace(first, last, min(most, last - first + 1)).round().astype(int))


def _events_of(run: Trajectory) -> Iterable[tuple[float, str]]:
    """Go through the times and the names of events, those of a run on disk part by part."""
    if isinstance(run.samples, StoredSamples):
        batches = run.samples.stored.event_batches()
        return ((row["t"], row["event"]) for batch in batches for row in batch)
    return ((event.time, event.name) for event in run.events)


def _marks(events: Iterable[tuple[float, str]], times: np.ndarray) -> list[Mark]:
    """Return the events within times, where they are too many the last before each picture."""
    last, span = len(times) - 1, float(times[-1] - times[0])
    every: list[Mark] = []
    latest: dict[int, Mark] = {}
    for time, name in events:
        mark = Mark(time, name, (time - float(times[0])) / span * last)
        if 0.0 <= mark.place <= last:
            latest[math.ceil(mark.place)] = mark
            if len(every) <= MOST_EVENTS:
                every.append(mark)
    return every if len(every) <= MOST_EVENTS else list(latest.values())

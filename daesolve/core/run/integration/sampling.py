"""The sample times of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.errors import OutOfRangeError, is_number, shortened

DEFAULT_SAMPLES = 1001
MOST_SAMPLES = 1e8
"""More would not fit into memory."""


@dataclass(frozen=True)
class Every:
    """Samples at a constant interval, including the start and the end."""

    interval: float


def every(interval: float) -> Every:
    """Ask for samples every `interval` s."""
    if not (is_number(interval) and interval > 0):
        raise OutOfRangeError(f"the sample interval is {interval!r}, but must be > 0")
    return Every(float(interval))


@dataclass(frozen=True)
class EveryEvent:
    """A sample at each event, on arrival, besides the start and the end."""


def every_event() -> EveryEvent:
    """Ask for a sample at each event, on arrival, besides the start and the end."""
    return EveryEvent()


At = Every | EveryEvent | Sequence[float] | np.ndarray | None


def sample_times(at: At, start: float, until: float) -> np.ndarray:
    """Return the sample times: the requested ones, or 1001 even ones.

    Raises
    ------
    OutOfRangeError
        A time is not finite or lies outside the run.
    """
    if at is None:
        return np.linspace(start, until, DEFAULT_SAMPLES)
    if isinstance(at, EveryEvent):
        return np.array([start, until])
    if isinstance(at, Every):
        if abs(until - start) / at.interval > MOST_SAMPLES:
            raise OutOfRangeError(
                f"the sample interval {at.interval:g} s asks for more than {MOST_SAMPLES:g} "
                "samples in memory; store the run (store=DIR, --out DIR)"
            )
        sign = 1.0 if until >= start else -1.0
        return np.append(_grid(sign * at.interval, start, 0, grid_count(at, start, until)), until)
    try:
        times = np.asarray(None if isinstance(at, str) else at, dtype=float).ravel()
    except (TypeError, ValueError):
        times = np.array([np.nan])
    if isinstance(at, str) or np.any(np.isnan(times)):
        raise OutOfRangeError(f"the sample times must be numbers or every(...), not {at!r}")
    low, high = min(start, until), max(start, until)
    outside = ~np.isfinite(times) | (times < low) | (times > high)
    if np.any(outside):
        raise OutOfRangeError(
            f"the sample time {times[outside][0]:g} lies outside the run, {low:g} to {high:g} s"
            f"{_in_direction(times, start, until)}"
        )
    return times


def _in_direction(times: np.ndarray, start: float, until: float) -> str:
    """Return how to list times whose last one, perhaps taken for the end, is not the furthest."""
    sign = 1.0 if until >= start else -1.0
    ahead = sign * np.sort(sign * times)
    if (
        np.array_equal(ahead, times)
        or sign * (ahead[0] - start) < 0.0
        or not np.isfinite(ahead).all()
    ):
        return ""
    given, right = (", ".join(f"{time:g}" for time in listed) for listed in (times, ahead))
    way = "ascend" if sign > 0.0 else "descend"
    return (
        f": times must {way}, in the direction of the run, to its end: give "
        f"{shortened(right)}, not {shortened(given)}, and no end before {ahead[-1]:g} s"
    )


def grid_count(at: Every, start: float, until: float) -> int:
    """Return how many samples at a constant interval lie before the end."""
    # until - start is rounded as start and until are.
    rounding = 4.0 * np.finfo(float).eps * max(abs(start), abs(until))
    span = abs(until - start) * (1 - 1e-12) - rounding
    return max(math.ceil(span / at.interval), 1)


def _grid(interval: float, start: float, first: int, count: int) -> np.ndarray:
    """Return samples number first to count; a negative interval goes backwards."""
    return start + interval * np.arange(first, count)


class Schedule:
    """The sample times of a run in its direction.

    Parameters
    ----------
    at
        The requested sample times.
    start, until
        s
    after
        The time from which the run was extended: times up to there have been sampled.

    Attributes
    ----------
    each_event
        Whether each event is sampled as well.
    own
        Whether the user listed the times.
    """

    def __init__(self, at: At, start: float, until: float, after: float | None = None) -> None:
        self.sign = 1.0 if until >= start else -1.0
        self.until, self.start = until, start
        self.after = start if after is None else after
        self.each_event = isinstance(at, EveryEvent)
        self.grid: Every | None = at if isinstance(at, Every) else None
        self.own = not (at is None or isinstance(at, Every | EveryEvent))
        if isinstance(at, Every):
            self.count = grid_count(at, start, until)
            self.first = 0
            if after is not None:
                self.first = grid_count(at, start, after)
                # The end of the stretch before may have been one of the grid, to rounding.
                beyond = self.sign * (start - after) + self.first * at.interval
                self.first = min(self.first + int(beyond <= 1e-9 * at.interval), self.count)
            return
        times = sample_times(at, start, until) if after is None else np.array([until])
        self.listed = times[np.argsort(self.sign * times, kind="stable")]
        self._along = self.sign * self.listed

    def covers(self, moment: float) -> bool:
        """Return whether samples up to a moment are of this stretch, not of the one before it."""
        return self.sign * (moment - self.after) > 0.0

    def all_reached(self, moment: float) -> bool:
        """Return whether a moment lies beyond all times of the user's list."""
        return self.own and bool(np.all(self.sign * (self.listed - moment) <= 0.0))

    def up_to(self, taken: int, moment: float) -> np.ndarray:
        """Return the sample times that follow those already taken, up to a moment."""
        if self.grid is None:
            last = int(self._along.searchsorted(self.sign * moment, side="right"))
            return self.listed[taken : max(taken, last)]
        first = self.first + taken
        interval = self.sign * self.grid.interval
        reached = math.floor((moment - self.start) / interval) + 2
        found = _grid(interval, self.start, first, min(reached, self.count))
        found = found[self.sign * (found - moment) <= 0.0]
        ends = moment == self.until and first <= self.count
        return np.append(found, self.until) if ends else found


def saved_sampling(at: At, start: float, until: float) -> dict[str, Any]:
    """Return the request for a manifest; even samples by their interval."""
    if at is None:
        return {"kind": "every", "interval": abs(until - start) / (DEFAULT_SAMPLES - 1)}
    if isinstance(at, EveryEvent):
        return {"kind": "events"}
    if isinstance(at, Every):
        return {"kind": "every", "interval": at.interval}
    return {"kind": "times", "times": sample_times(at, start, until)}


def restored_sampling(saved: Mapping[str, Any]) -> At:
    """Return the request in a manifest."""
    if saved["kind"] == "events":
        return EveryEvent()
    if saved["kind"] == "every":
        return Every(float(saved["interval"]))
    return np.array(saved["times"], dtype=float)

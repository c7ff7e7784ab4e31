"""What samples can show: whether they resolve the motion, and how to draw them if they do not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.drawing import Column
from daesolve.errors import PosingError
from daesolve.reporting.document import Document

FEWEST = 20
"""Below this number samples are drawn as dots."""
MOST_TURNS = 200
"""Turning points that a wide panel can show as a line."""
UNRESOLVED = 0.05
"""The part of its range by which a coordinate may miss what its velocity foretells."""
RESTLESS = 0.35
"""Turning points a sample, above which samples cannot be joined."""
OPENING_TURNS = 12
SEEN = 1e-3
"""The part of its whole way by which a point must move to be seen to move."""


@dataclass(frozen=True, eq=False)
class Series:
    """The samples of one quantity in the order of the integration.

    Parameters
    ----------
    times, values
        (k,) NaN where there is no finite value.
    slopes
        Its derivative where that is known.
    """

    times: np.ndarray
    values: np.ndarray
    slopes: np.ndarray | None = None

    def first(self, count: int) -> Series:
        """Return the first samples alone."""
        slopes = None if self.slopes is None else self.slopes[:count]
        return Series(self.times[:count], self.values[:count], slopes)

    def every(self, count: int) -> Series:
        """Return every so-many-th sample."""
        slopes = None if self.slopes is None else self.slopes[::count]
        return Series(self.times[::count], self.values[::count], slopes)

    def joined(self, parts: int = 8) -> tuple[np.ndarray, np.ndarray]:
        """Return points of a line through the samples, cubic where the slopes are known."""
        if self.slopes is None or not 2 <= len(self.times) <= 500:
            return self.times, self.values
        inner = np.linspace(0.0, 1.0, parts, endpoint=False)
        times = (self.times[:-1, None] + np.diff(self.times)[:, None] * inner).ravel()
        times = np.append(times, self.times[-1])
        return times, self.at(times)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return values between the samples, cubic where the slopes are known, else linear.

        Parameters
        ----------
        times
            (k,) within the samples, of which there are at least two.
        """
        sign = 1.0 if self.times[-1] >= self.times[0] else -1.0
        after = np.searchsorted(sign * self.times, sign * times, side="right")
        place = np.clip(after - 1, 0, len(self.times) - 2)
        step = np.diff(self.times)[place]
        # Two samples may be at one time.
        s = np.divide(times - self.times[place], step, out=np.zeros(len(times)), where=step != 0.0)
        begin, end = self.values[place], self.values[place + 1]
        if self.slopes is None:
            between = begin + (end - begin) * s
        else:
            between = (
                begin * (1 + 2 * s) * (1 - s) ** 2
                + step * self.slopes[place] * s * (1 - s) ** 2
                + end * s**2 * (3 - 2 * s)
                + step * self.slopes[place + 1] * s**2 * (s - 1)
            )
        # A sample stays what it is, though there be no value on its other side.
        return np.where(s == 0.0, begin, np.where(s == 1.0, end, between))


def series(document: Document, kind: str) -> dict[str, Series]:
    """Return the series of a kind: "states", "reactions" or "outputs"."""
    return in_order(document, document, kind)


def in_order(document: Document, part: Document, kind: str) -> dict[str, Series]:
    """Return the series of a part of a run, in the order of the integration."""
    times = np.array(part["times"], dtype=float)
    backwards = len(times) > 1 and (document.get("until") or 0.0) < document.get("start_time", 0.0)
    order = np.argsort(-times if backwards else times, kind="stable")
    columns: Mapping[str, Column] = part[kind]
    values = {name: np.array(column, dtype=float)[order] for name, column in columns.items()}
    return {
        name: Series(times[order], column, values.get(rate_name(name)))
        for name, column in values.items()
    }


def rate_name(name: str) -> str:
    """Return the name of a coordinate's velocity: theta_1 -> theta_dot_1."""
    return re.sub(r"^(.*?)((?:_\d+)*)$", r"\1_dot\2", name)


def turning_points(values: np.ndarray, least: float = 0.0) -> int:
    """Count the samples at which a series turns back by more than rounding.

    Parameters
    ----------
    values
        (k,)
    least
        Steps that are smaller than this part of the range are passed over.
    """
    finite = values[np.isfinite(values)]
    if len(finite) < 3:
        return 0
    steps = np.diff(finite)
    rounding = 1e-9 * np.max(np.abs(finite))
    steps = steps[np.abs(steps) > max(rounding, least * float(np.ptp(finite)))]
    return int(np.sum(steps[1:] * steps[:-1] < 0))


def columns(document: Document, own: Mapping[str, Column] | None = None) -> dict[str, Series]:
    """Return every series of a run by name, and the time as "t".

    Parameters
    ----------
    document
        Of a run.
    own
        Further series, one value for each of the run's times.

    Raises
    ------
    PosingError
        A further series is shorter or longer.
    """
    for name, column in (own or {}).items():
        if len(column) != len(document["times"]):
            raise PosingError(
                f"the drawing's own series {name!r} has {len(column)} values for "
                f"{len(document['times'])} times"
            )
    kinds = ("reactions", "outputs", "states")
    every = {name: column for kind in kinds for name, column in document[kind].items()}
    return series({**document, "every": {"t": document["times"], **every, **(own or {})}}, "every")


def resolved(document: Document) -> bool:
    """Tell whether the samples are dense enough to be joined by a line."""
    states = series(document, "states").values()
    return len(document["times"]) >= FEWEST and joinable(list(states))


def beginnings(document: Document, kind: str) -> dict[str, Series]:
    """Return the first stretch of series, where it has samples that can be joined by lines.

    It is the `opening` of a run of which the document has not every sample, else the run itself.
    """
    part = document.get("opening") or document
    states = list(in_order(document, part, "states").values())
    if len(part["times"]) < FEWEST or not joinable(states):
        return {}
    return in_order(document, part, kind)


def joinable(entries: Sequence[Series], least: float = 0.0) -> bool:
    """Tell whether the samples of series are dense enough to be joined by lines.

    Parameters
    ----------
    entries
        Of one run.
    least
        The part of its range by which a series must move to be seen to move.
    """
    return all(
        len(entry.times) >= FEWEST
        and _missed(entry) <= UNRESOLVED
        and turning_points(entry.values, least) < RESTLESS * len(entry.times)
        for entry in entries
    )


def _missed(entry: Series) -> float:
    """Return by which part of its range a coordinate misses the trapezoid of its velocity."""
    slopes = entry.slopes
    if slopes is None or len(entry.times) < 2:
        return 0.0
    foretold = np.diff(entry.times) * 0.5 * (slopes[1:] + slopes[:-1])
    error = np.abs(np.diff(entry.values) - foretold)
    error = error[np.isfinite(error)]
    width = np.ptp(entry.values[np.isfinite(entry.values)]) if error.size else 0.0
    size = np.max(np.abs(entry.values), initial=0.0, where=np.isfinite(entry.values))
    if width <= 1e-9 * size or width < 1e-12:
        return 0.0
    return float(np.quantile(error, 0.9) / width)


def opening(entry: Series) -> int:
    """Return how many samples show the beginning of a motion: about six oscillations."""
    turns = turning_points(entry.values)
    if turns <= OPENING_TURNS:
        return len(entry.times)
    return max(FEWEST, int(len(entry.times) * OPENING_TURNS / turns))


def envelope(entry: Series, bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return edges (k + 1,) of equal spans of time and the least and largest sample in each (k,).

    Parameters
    ----------
    entry
        The samples.
    bins
        How many spans; those without a sample have NaN.
    """
    low, high = float(entry.times.min()), float(entry.times.max())
    edges = np.linspace(low, high, bins + 1)
    place = np.clip(np.searchsorted(edges, entry.times, side="right") - 1, 0, bins - 1)
    least, largest = np.full(bins, np.inf), np.full(bins, -np.inf)
    finite = np.isfinite(entry.values)
    np.minimum.at(least, place[finite], entry.values[finite])
    np.maximum.at(largest, place[finite], entry.values[finite])
    empty = least > largest
    least[empty] = largest[empty] = np.nan
    return edges, least, largest

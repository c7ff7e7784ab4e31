"""What samples can show: whether they resolve the motion, and how to draw them if they do not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

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

    def joined(self, parts: int = 8) -> tuple[np.ndarray, np.ndarray]:
        """Return points of a line through the samples, cubic where the slopes are known."""
        if self.slopes is None or not 2 <= len(self.times) <= 500:
            return self.times, self.values
        step = np.diff(self.times)[:, None]
        s = np.linspace(0.0, 1.0, parts, endpoint=False)[None, :]
        begin, end = self.values[:-1, None], self.values[1:, None]
        before, after = step * self.slopes[:-1, None], step * self.slopes[1:, None]
        between = (
            begin * (1 + 2 * s) * (1 - s) ** 2
            + before * s * (1 - s) ** 2
            + end * s**2 * (3 - 2 * s)
            + after * s**2 * (s - 1)
        )
        times = (self.times[:-1, None] + step * s).ravel()
        return np.append(times, self.times[-1]), np.append(between.ravel(), self.values[-1])


def series(document: Document, kind: str) -> dict[str, Series]:
    """Return the series of a kind: "states", "reactions" or "outputs"."""
    times = np.array(document["times"], dtype=float)
    backwards = len(times) > 1 and (document.get("until") or 0.0) < document.get("start_time", 0.0)
    order = np.argsort(-times if backwards else times, kind="stable")
    columns: Mapping[str, list[float | None]] = document[kind]
    values = {name: np.array(column, dtype=float)[order] for name, column in columns.items()}
    return {
        name: Series(times[order], column, values.get(rate_name(name)))
        for name, column in values.items()
    }


def rate_name(name: str) -> str:
    """Return the name of a coordinate's velocity: theta_1 -> theta_dot_1."""
    return re.sub(r"^(.*?)((?:_\d+)*)$", r"\1_dot\2", name)


def turning_points(values: np.ndarray) -> int:
    """Count the samples at which a series turns back by more than rounding."""
    finite = values[np.isfinite(values)]
    if len(finite) < 3:
        return 0
    steps = np.diff(finite)
    steps = steps[np.abs(steps) > 1e-9 * np.max(np.abs(finite))]
    return int(np.sum(steps[1:] * steps[:-1] < 0))


def resolved(document: Document) -> bool:
    """Tell whether the samples are dense enough to be joined by a line."""
    states = series(document, "states")
    paired = [entry for entry in states.values() if entry.slopes is not None]
    if len(document["times"]) < FEWEST or any(_missed(entry) > UNRESOLVED for entry in paired):
        return False
    count = len(document["times"])
    return all(turning_points(s.values) < RESTLESS * count for s in states.values())


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


def opening(entry: Series, *, joinable: bool) -> int:
    """Return how many samples show the beginning of a motion: about six oscillations, if joined."""
    if not joinable:
        return min(FEWEST, len(entry.times))
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

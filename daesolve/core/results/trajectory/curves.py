"""Whether the samples of a run can be joined by lines, and the beginning of a run that can.

Samples may be farther apart than the turning points of the motion; a line through them would then
not show the motion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.core.encoding import numbers_of, read_parquet
from daesolve.core.results.storage import Stored
from daesolve.core.results.storage.files import samples_file
from daesolve.core.results.trajectory.samples import Samples, every_of

FEWEST = 20
"""Fewer samples than this are drawn as dots."""
UNRESOLVED = 0.05
"""The part of its range by which a coordinate may miss the prediction of its velocity."""
RESTLESS = 0.35
"""Turning points per sample above which samples cannot be joined."""
OPENING_TURNS = 12
LEAST_RANGE = 1e-12
"""Rounding at rest, in units of the quantity; a range below this is not magnified."""
ROWS = 2001
"""The most samples of a run on disk that are shown, evenly chosen."""
OPENING = 1500
"""The most further samples of its beginning, if some samples are left out."""
LEADING = 48_000
"""The first samples from which these are chosen, if the motion is slow beside its samples."""
KINDS = ("states", "reactions", "outputs")


@dataclass(frozen=True, eq=False)
class Series:
    """The samples of one quantity in the order of the integration.

    Parameters
    ----------
    times, values
        (k,) NaN where there is no finite value.
    slopes
        Its derivative, or None if unknown.
    """

    times: np.ndarray
    values: np.ndarray
    slopes: np.ndarray | None = None

    def first(self, count: int) -> Series:
        """Return only the first samples."""
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
        # A sample keeps its value even if its other neighbour has none.
        return np.where(s == 0.0, begin, np.where(s == 1.0, end, between))


def ordered(
    times: Sequence[float] | np.ndarray, columns: Mapping[str, Any], *, backwards: bool
) -> dict[str, Series]:
    """Return columns as series in the order of the integration.

    Parameters
    ----------
    times
        (k,) s, in any order.
    columns
        Name -> (k,) values, None where one is not finite.
    backwards
        Whether the run goes back in time.
    """
    times = np.array(times, dtype=float)
    order = np.argsort(-times if backwards and len(times) > 1 else times, kind="stable")
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
        Steps that are smaller than this part of the range are ignored.
    """
    finite = values[np.isfinite(values)]
    if len(finite) < 3:
        return 0
    steps = np.diff(finite)
    rounding = 1e-9 * np.max(np.abs(finite))
    steps = steps[np.abs(steps) > max(rounding, least * float(np.ptp(finite)))]
    return int(np.sum(steps[1:] * steps[:-1] < 0))


def joinable(entries: Sequence[Series], least: float = 0.0) -> bool:
    """Return whether the samples of series are dense enough to be joined by lines.

    Parameters
    ----------
    entries
        Of one run.
    least
        The part of its range below which a movement of a series does not count.
    """
    return all(
        len(entry.times) >= FEWEST
        and _missed(entry) <= UNRESOLVED
        and (
            at_rest(entry.values)
            or turning_points(entry.values, least) < RESTLESS * len(entry.times)
        )
        for entry in entries
    )


def at_rest(values: np.ndarray) -> bool:
    """Return whether the values change only by rounding."""
    finite = values[np.isfinite(values)]
    return not finite.size or bool(np.ptp(finite) <= LEAST_RANGE)


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


def has_curves(
    parts: Iterable[tuple[Sequence[float] | np.ndarray, Mapping[str, Any]]], *, backwards: bool
) -> bool:
    """Return whether there is a stretch of samples that can be joined, or nothing to join.

    Parameters
    ----------
    parts
        Times and states of a run: of all samples that are shown, then of the first ones.
    backwards
        Whether the run goes back in time.
    """
    return any(
        not len(times) or joinable([*ordered(times, states, backwards=backwards).values()])
        for times, states in parts
    )


def first_oscillations(stored: Stored, *, backwards: bool) -> Samples:
    """Return the first oscillations of a run on disk: every sample, or as few as show them.

    Parameters
    ----------
    stored
        The run.
    backwards
        Whether it goes back in time.
    """
    first = _leading(stored)
    states = list(ordered(first.times, first.states, backwards=backwards).values())
    length = max(map(opening, states), default=0)
    every = -(-length // OPENING)
    while every > 1 and not joinable([entry.every(every) for entry in states]):
        every //= 2
    return every_of(first, slice(0, every * OPENING, max(every, 1)))


def _leading(stored: Stored) -> Samples:
    """Return the first samples without a gap."""
    columns = stored.manifest["columns"]
    wanted = ["t", *(column for kind in KINDS for column in columns[kind].values())]
    wanted = list(dict.fromkeys(wanted))
    pieces: dict[str, list[np.ndarray]] = {name: [np.empty(0)] for name in wanted}
    count = 0
    for number in stored.numbers:
        if count >= LEADING:
            break
        table = read_parquet(samples_file(stored.directory, number), wanted)
        for name in wanted:
            pieces[name].append(numbers_of(table, name)[: LEADING - count])
        count += table.num_rows
    read = {name: np.concatenate(parts) for name, parts in pieces.items()}
    states, reactions, outputs = (
        {name: read[column] for name, column in columns[kind].items()} for kind in KINDS
    )
    return Samples(read["t"], states, reactions, outputs)

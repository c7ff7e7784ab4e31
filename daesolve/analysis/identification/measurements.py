"""Measured outputs of a model: read from tables, and held against what the model can show."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from daesolve.core.encoding import is_tuple
from daesolve.core.posing.measured import columns_of, from_csv, grid_of
from daesolve.errors import (
    ClockError,
    HorizonError,
    MeasurementGapError,
    OutOfRangeError,
    TooFewRowsError,
    UnknownColumnError,
    WrongUnitError,
    check_names,
    is_number,
    unknown_name,
)

TIME = "time"
"""The column with the times, s."""
THOUSAND = 1e3
"""The factor between a unit and the next with another prefix."""
HALF_TURN = math.pi
MEDIAN = 0.6744897501960817
"""The median size of a normal variable with the deviation 1."""
Noise = float | Mapping[str, float] | None
"""The standard deviation of a measurement: of all columns, by column, or to be estimated."""
Missing = Literal["refuse", "skip"]
"""What to do with missing values."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """Measured outputs.

    Parameters
    ----------
    times
        (m,) s, increasing.
    columns
        The values of outputs and states by name, (m,); NaN where nothing was measured.
    noise
        The standard deviation of each column; empty if they are to be estimated.
    turning
        The columns that show an angle within one turn.
    """

    times: np.ndarray
    columns: Mapping[str, np.ndarray]
    noise: Mapping[str, float]
    turning: Collection[str] = ()

    def present(self, name: str, rows: slice = slice(None)) -> np.ndarray:
        """Return in which of some rows a column has a value."""
        return np.isfinite(self.columns[name][rows])

    @property
    def counts(self) -> dict[str, int]:
        """The number of measured values of each column."""
        return {name: int(np.sum(self.present(name))) for name in self.columns}

    @property
    def count(self) -> int:
        """The number of measured values."""
        return sum(self.counts.values())

    @property
    def sizes(self) -> dict[str, float]:
        """The root mean square of each column."""
        return {
            name: float(np.sqrt(np.nanmean(values**2))) or 1.0
            for name, values in self.columns.items()
        }

    def relative(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return columns of the same names relative to the sizes of the data, (rows, columns)."""
        return np.array([columns[name] / size for name, size in self.sizes.items()]).T

    def apart(self, name: str, model: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        """Return by how much values of a model exceed the measured ones in some rows."""
        gap = model - self.columns[name][rows]
        if name in self.turning:
            gap = gap - 2 * HALF_TURN * np.round(gap / (2 * HALF_TURN))
        return gap

    @property
    def roughness(self) -> dict[str, float]:
        """By how much a value of each column differs from the line through its two neighbours.

        It is that of most values, in terms of a standard deviation: noise, and curvature between
        rows. It is infinite for fewer than three values.
        """
        found: dict[str, float] = {}
        for name, values in self.columns.items():
            shown = self.present(name)
            times, own = self.times[shown], values[shown]
            if len(own) < 3:
                found[name] = math.inf
                continue
            if name in self.turning:
                own = np.unwrap(own)
            share = (times[1:-1] - times[:-2]) / (times[2:] - times[:-2])
            line = own[:-2] + share * (own[2:] - own[:-2])
            spread = np.sqrt(1.0 + share**2 + (1.0 - share) ** 2)
            sizes = np.abs(own[1:-1] - line) / spread
            found[name] = float(np.median(sizes)) / MEDIAN
        return found

    def with_noise(self, noise: Noise) -> Measurements:
        """Return the same measurements with a noise as `identify` takes it.

        Raises
        ------
        UnknownNameError, OutOfRangeError
            There is no such column, or its noise is no positive number.
        """
        return replace(self, noise=_noise_levels(noise, self.columns))

    def early(self, rows: int) -> Measurements:
        """Return the first rows alone."""
        columns = {name: values[:rows] for name, values in self.columns.items()}
        return replace(self, times=self.times[:rows], columns=columns)

    def check_horizon(self, start: float, until: float) -> None:
        """Refuse times that the motion does not reach.

        Raises
        ------
        ClockError
            The times show another clock: none of them is in the horizon.
        HorizonError
            Some times are before or after the motion.
        """
        first, last = float(self.times[0]), float(self.times[-1])
        low, high = min(start, until), max(start, until)
        if last < low or first > high:
            raise ClockError(
                f"the data have another clock: their times go from {first:.10g} to {last:.10g} s, "
                f"and the motion from {low:.10g} to {high:.10g} s; subtract the time at which it "
                "starts"
            )
        if last - first > THOUSAND / 2 * (high - low):
            raise ClockError(
                f"the data have another clock: they last {last - first:.6g} s, and the motion "
                f"{high - low:.6g} s; {TIME!r} must be in s"
            )
        if first < low or last > high:
            outside = int(np.sum((self.times < low) | (self.times > high)))
            raise HorizonError(
                f"{outside} of {len(self.times)} rows are outside the motion, which goes from "
                f"{low:.10g} to {high:.10g} s, while the times go from {first:.10g} to "
                f"{last:.10g} s: leave them out, or give another end (until=..., --until)"
            )

    def check_units(self, model: Mapping[str, np.ndarray], units: Mapping[str, str]) -> None:
        """Refuse columns whose size is nearer to a thousand times that of the model than to it.

        Parameters
        ----------
        model
            The same columns for the start values of the parameters.
        units
            The unit of each.

        Raises
        ------
        WrongUnitError
            The message names the column, the factor and the unit of the model.
        """
        for name, column in self.columns.items():
            if name in self.turning:
                continue
            shown = self.present(name)
            measured, own_values = column[shown], model[name][shown]
            size, own = (float(np.sqrt(np.mean(v**2))) for v in (measured, own_values))
            if not size or not own or abs(math.log(size / own)) < math.log(THOUSAND) / 2:
                continue
            # A shift or a slow start is not a unit: the curves themselves must agree.
            if measured @ own_values < math.sqrt(0.5) * size * own * len(measured):
                continue
            raise WrongUnitError(
                f"the column {name!r} is about {size / own:.2g} times what the model shows with "
                f"the given parameters: it must be in {units[name] or 'units of 1'}"
            )


def measured(
    data: Any,
    known: Collection[str],
    angles: Collection[str],
    missing: Missing,
) -> Measurements:
    """Return measured outputs.

    Parameters
    ----------
    data
        A pandas table, a mapping of columns, or the path of a CSV or Parquet file; with a column
        `time` (or, in a pandas table, an index of that name).
    known
        The names of states, outputs and reactions.
    angles
        Those that are angles.
    missing
        As in `identify`.

    Raises
    ------
    UnknownColumnError
        A column is none of these, or there is no time.
    MeasurementGapError
        A value is missing.
    ClockError
        Times do not increase.
    TooFewRowsError
        There are no rows, or no columns besides the time.
    PosingError
        A file cannot be read, or holds something else than numbers.
    """
    columns = _columns(data)
    if TIME not in columns:
        raise UnknownColumnError(
            f"the data have no column {TIME!r}, in s; there are "
            f"{', '.join(map(repr, columns)) or 'none'}"
        )
    for name in columns:
        if name != TIME and name not in known:
            raise UnknownColumnError(str(unknown_name("output or state of a column", name, known)))
    if len(columns) < 2 or not len(columns[TIME]):
        raise TooFewRowsError("the data have no measured values: a column of an output, and rows")
    if missing not in get_args(Missing):
        raise OutOfRangeError(f"missing is {missing!r}, but must be 'refuse' or 'skip'")
    for name, values in columns.items():
        _check_complete(name, values, columns[TIME], missing == "skip" and name != TIME)
    times = columns.pop(TIME)
    backward = np.flatnonzero(np.diff(times) <= 0.0)
    if len(backward):
        k = int(backward[0])
        raise ClockError(
            f"the times do not increase: {times[k]:.10g} s in row {k + 1} is followed by "
            f"{times[k + 1]:.10g} s"
        )
    turning = [name for name, values in columns.items() if name in angles and _turns(values)]
    return Measurements(times, columns, {}, turning)


def _turns(values: np.ndarray) -> bool:
    """Whether an angle is shown within one turn, and leaps from one end to the other."""
    shown = values[np.isfinite(values)]
    return bool(np.ptp(shown) <= 2 * HALF_TURN and np.any(np.abs(np.diff(shown)) > HALF_TURN))


def _columns(data: Any) -> dict[str, np.ndarray]:
    """Return the columns of a table as numbers; what is missing is NaN."""
    if isinstance(data, str | Path):
        data = columns_of(Path(data))
    elif hasattr(data, "columns") and hasattr(data, "index"):
        indexed = data.index.name in (TIME, "t") and TIME not in data.columns
        own = {TIME: data.index.to_numpy()} if indexed else {}
        data = own | {name: data[name].to_numpy() for name in data.columns}
    if not isinstance(data, Mapping):
        raise OutOfRangeError(
            "data must be a pandas table, a mapping of columns, or the path of a CSV file, not "
            f"{type(data).__name__}"
        )
    found: dict[str, np.ndarray] = {}
    for name, given in cast("Mapping[str, Any]", data).items():
        of_file = is_tuple(given) and len(given) == 2 and isinstance(given[0], Path)
        numbers: Any = from_csv(given[0], given[1]) if of_file else given
        found[str(name)] = np.ravel(grid_of(f"the values of {str(name)!r}", numbers))
    return found


def _check_complete(name: str, values: np.ndarray, times: np.ndarray, skip: bool) -> None:
    if len(values) != len(times):
        raise MeasurementGapError(
            f"the column {name!r} has {len(values)} values, and {TIME!r} has {len(times)}"
        )
    if skip and np.all(np.isnan(values)):
        raise TooFewRowsError(f"the column {name!r} has no values: leave it out")
    gaps = np.flatnonzero(np.isinf(values) if skip else ~np.isfinite(values))
    if len(gaps):
        raise MeasurementGapError(
            f"the column {name!r} has no finite number in row {gaps[0] + 1} (and in "
            f"{len(gaps)} of {len(values)}): leave out these rows, or skip values that are missing "
            "(missing='skip', --missing skip)"
        )


def _noise_levels(noise: Noise, columns: Mapping[str, np.ndarray]) -> dict[str, float]:
    if noise is None:
        return {}
    levels = dict(noise) if isinstance(noise, Mapping) else dict.fromkeys(columns, noise)
    check_names("measured column", levels, columns)
    for name in columns:
        level = levels.get(name)
        if not is_number(level) or not 0.0 < float(level) < math.inf:
            raise OutOfRangeError(
                f"the noise of {name!r} is {level!r}, but must be a positive number, in the unit "
                "of the column"
            )
    return {name: float(levels[name]) for name in columns}

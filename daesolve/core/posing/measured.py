"""Columns of measured numbers: from arrays, from pandas, from CSV files."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.encoding import is_tuple
from daesolve.errors import OutOfRangeError, PosingError, unknown_name

Column = Any
"""Numbers, a pandas series, or a CSV file with the name of a column."""


def column_of(owner: str, given: Column) -> np.ndarray:
    """Return a column of finite numbers, (n,).

    Parameters
    ----------
    owner
        The owner of the numbers, for messages.
    given
        The numbers, or their source.

    Raises
    ------
    PosingError, UnknownNameError, OutOfRangeError
        The file cannot be read, it lacks the column, there are no numbers, or one is not finite.
    """
    numbers: Any = given
    if is_tuple(given) and len(given) == 2 and isinstance(given[0], str | Path):
        path, name = given
        numbers = from_csv(Path(path), str(name))
    try:
        found = _numbers(owner, numbers)
    except PosingError:
        raise
    except (TypeError, ValueError):
        raise PosingError(
            f"{owner} must be numbers, a pandas series, or (path of a CSV file, name of a column), "
            f"not {type(given).__name__}"
        ) from None
    if found.ndim != 1:
        raise PosingError(f"{owner} must be one column of numbers, not {found.shape}")
    if not len(found):
        raise PosingError(f"{owner} are empty")
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        raise OutOfRangeError(f"{owner} contain {found[bad[0]]} at index {bad[0] + 1}: remove gaps")
    return found


def grid_of(owner: str, given: Any) -> np.ndarray:
    """Return an array of numbers; missing numbers are NaN.

    Raises
    ------
    PosingError
        It is not an array of numbers.
    """
    try:
        return _numbers(owner, given)
    except PosingError:
        raise
    except (TypeError, ValueError):
        raise PosingError(f"{owner} are not an array of numbers") from None


def _numbers(owner: str, given: Any) -> np.ndarray:
    """Return numbers, with time spans in seconds; masked ones are NaN.

    Raises
    ------
    PosingError
        They are dates.
    TypeError, ValueError
        They are something else.
    """
    raw = np.ma.asanyarray(given)
    if raw.dtype.kind == "M" or (raw.dtype == object and any(hasattr(e, "year") for e in raw.flat)):
        raise PosingError(
            f"{owner} are dates: give the seconds since a reference date, (dates - dates[0]) / "
            "pandas.Timedelta(seconds=1)"
        )
    if raw.dtype.kind == "m":
        raw = raw / np.timedelta64(1, "s")
    if raw.dtype.kind == "c" or (
        raw.dtype == object and any(isinstance(entry, ca.SX | ca.MX) for entry in raw.flat)
    ):
        raise TypeError
    return np.ma.filled(np.ma.asarray(raw, dtype=float), math.nan)


def from_csv(path: Path, name: str) -> list[float]:
    """Return a column of a CSV file whose first line has the names; empty entries are NaN.

    Raises
    ------
    PosingError, UnknownNameError
        The file cannot be read, it does not have exactly one such column, or an entry is not a
        number.
    """
    rows = _rows(path)
    header = [entry.strip() for entry in rows[0][1]] if rows else []
    if name not in header:
        raise unknown_name(f"column of {str(path)!r}", name, header)
    if header.count(name) > 1:
        raise PosingError(f"{str(path)!r} has {header.count(name)} columns {name!r}: rename them")
    place = header.index(name)
    found: list[float] = []
    for number, row in rows[1:]:
        text = row[place].strip() if place < len(row) else ""
        try:
            found.append(float(text) if text else math.nan)
        except ValueError:
            raise PosingError(
                f"the column {name!r} of {str(path)!r} has {text!r} in row {number}, which "
                "is not a number"
            ) from None
    return found


def columns_of(path: Path) -> dict[str, Any]:
    """Return the columns of a CSV or Parquet file by name, (path, name) of a CSV file.

    Raises
    ------
    PosingError
        The file cannot be read.
    """
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        try:
            found = pq.read_table(path)
        except (OSError, ValueError) as error:
            raise PosingError(f"{str(path)!r} cannot be read: {error}") from None
        return {name: found.column(name).to_numpy() for name in found.column_names}
    rows = _rows(path)
    return {name.strip(): (path, name.strip()) for name in (rows[0][1] if rows else ())}


def first_column(path: Path) -> str:
    """Return the name of the first column of a CSV file.

    Raises
    ------
    PosingError
        The file cannot be read or is empty.
    """
    rows = _rows(path)
    if not rows:
        raise PosingError(f"{str(path)!r} is empty")
    return rows[0][1][0].strip()


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the non-empty rows of a CSV file, each with its line number.

    Raises
    ------
    PosingError
        The file cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream)
            return [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PosingError(f"{str(path)!r} cannot be read as a table: {error}") from None

"""Columns of measured numbers: from arrays, from pandas, from CSV files."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np

from daesolve.errors import OutOfRangeError, PosingError, unknown_name
from daesolve.storage.encoding import is_tuple

Column = Any
"""Numbers, a pandas series, or a CSV file and the name of one of its columns."""


def column_of(owner: str, given: Column) -> np.ndarray:
    """Return a column of finite numbers, (n,).

    Parameters
    ----------
    owner
        Whose they are, for messages.
    given
        The numbers, or where they are.

    Raises
    ------
    PosingError, UnknownNameError, OutOfRangeError
        The file cannot be read, it has no such column, there are no numbers, or one is none.
    """
    numbers: Any = given
    if is_tuple(given) and len(given) == 2 and isinstance(given[0], str | Path):
        path, name = given
        numbers = from_csv(Path(path), str(name))
    try:
        found = np.array(numbers, dtype=float)
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
        raise OutOfRangeError(
            f"{owner} contain {found[bad[0]]} in place {bad[0] + 1}: leave gaps out"
        )
    return found


def from_csv(path: Path, name: str) -> list[float]:
    """Return a column of a CSV file whose first line has the names; an empty entry is NaN.

    Raises
    ------
    PosingError, UnknownNameError
        It cannot be read, has no such column, or an entry is no number.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = [row for row in csv.reader(stream) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise PosingError(f"{str(path)!r} cannot be read as a table: {error}") from None
    header = [entry.strip() for entry in rows[0]] if rows else []
    if name not in header:
        raise unknown_name(f"column of {str(path)!r}", name, header)
    place = header.index(name)
    found: list[float] = []
    for number, row in enumerate(rows[1:], start=2):
        text = row[place].strip() if place < len(row) else ""
        try:
            found.append(float(text) if text else math.nan)
        except ValueError:
            raise PosingError(
                f"the column {name!r} of {str(path)!r} has {text!r} in row {number}, no number"
            ) from None
    return found


def first_column(path: Path) -> str:
    """Return the name of the first column of a CSV file.

    Raises
    ------
    PosingError
        It cannot be read, or is empty.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = [row for row in csv.reader(stream) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise PosingError(f"{str(path)!r} cannot be read as a table: {error}") from None
    if not rows:
        raise PosingError(f"{str(path)!r} is empty")
    return rows[0][0].strip()

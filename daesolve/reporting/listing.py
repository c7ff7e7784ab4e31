"""Lists of entries that have the same values by name, as a table for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daesolve.core.encoding import is_list, is_mapping
from daesolve.reporting.layout import Rows

WIDEST = 78
"""Characters that a table may take."""
GAPS = (2, 1)
"""Characters between columns, in order of preference."""
ROUNDING = 1e-13
"""A number below this fraction of the largest beside it is shown as zero."""
LONGEST = 12
"""The most numbers in an entry of a table."""


def table_of(entries: Sequence[Any], shown: Callable[[Any], str]) -> Rows | None:
    """Return entries as a table, an entry a row or, where that is too wide, an entry a column.

    Parameters
    ----------
    entries
        Of a list.
    shown
        Returns a value in words.

    Returns
    -------
    Rows or None
        None if they have not the same names, or neither table is narrow enough.
    """
    flat = [_flattened(entry) for entry in entries]
    if len(flat) < 2 or any(row is None for row in flat):
        return None
    rows = [row for row in flat if row is not None]
    names = list(rows[0])
    if not names or any(list(row) != names for row in rows):
        return None
    cells = [[shown(row[name]) for name in names] for row in rows]
    heads = [name.rpartition(".")[2] for name in names]
    heads = names if len(set(heads)) < len(heads) else heads
    upright = [heads, *cells]
    turned = [list(column) for column in zip(*upright, strict=True)]
    for lines in (upright, turned):
        for gap in GAPS:
            heads, *others = lines
            table = Rows(heads, others, whole=heads, right=True, gap=gap)
            if table.width <= WIDEST:
                return table
    return None


def _flattened(entry: Any, before: str = "") -> dict[str, Any] | None:
    """Return the values of an entry by name; None if it has lists of entries, or long lists."""
    if not is_mapping(entry):
        return None
    found: dict[str, Any] = {}
    for name, value in entry.items():
        if is_mapping(value):
            inner = _flattened(value, f"{before}{name}.")
            if inner is None:
                return None
            found |= _rounded(inner)
        elif is_list(value) and (len(value) > LONGEST or any(map(_is_nested, value))):
            return None
        else:
            found[f"{before}{name}"] = value
    return found


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of one kind, without those that are the rounding of others."""
    sizes = [abs(value) for value in values.values() if isinstance(value, float)]
    least = ROUNDING * max(sizes, default=0.0)
    return {
        name: 0.0 if isinstance(value, float) and abs(value) <= least else value
        for name, value in values.items()
    }


def _is_nested(value: Any) -> bool:
    return is_mapping(value) or is_list(value)

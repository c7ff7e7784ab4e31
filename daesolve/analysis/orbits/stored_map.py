"""A stability map on disk: a line for each row, written when it is found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daesolve.analysis.orbits.lines import Lines
from daesolve.analysis.orbits.stability_rows import BorderPoint, MapRow

ROWS = "map.jsonl"


class MapStore:
    """The file of a map, and its finished rows; without a directory they are not stored.

    Parameters
    ----------
    directory
        The directory; None for none.
    identity
        Plain values that distinguish the map from others.

    Raises
    ------
    StorageError
        The directory contains another map, or cannot be written.
    """

    def __init__(self, directory: str | Path | None, identity: object) -> None:
        self._lines = Lines(directory, ROWS, "map", identity)
        self.rows: dict[int, MapRow] = {line["row"]: _row(line) for line in self._lines.known}

    def keep(self, number: int, row: MapRow) -> None:
        """Write a row."""
        self.rows[number] = row
        self._lines.add(
            {
                "row": number,
                "cells": row.cells,
                "borders": [[point.kind, point.x, point.y] for point in row.borders],
            }
        )


def _row(line: Mapping[str, Any]) -> MapRow:
    cells = [None if cell is None else (cell[0], cell[1]) for cell in line["cells"]]
    return MapRow(tuple(cells), tuple(BorderPoint(*point) for point in line["borders"]))

"""Branches and stability maps on disk: JSON lines are added, from which a computation resumes.

Numbers are written so that reading restores every bit; a truncated line is ignored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from daesolve.analysis.orbits.branch import BranchPoint
from daesolve.analysis.orbits.curve import Curve
from daesolve.analysis.orbits.monodromy import Verdict
from daesolve.analysis.orbits.nodes import Node
from daesolve.analysis.orbits.shooting import Guess
from daesolve.analysis.orbits.special_points import Kind
from daesolve.analysis.orbits.stability_rows import BorderPoint, MapRow
from daesolve.errors import StorageError

FORMAT = 1
POINTS = "branch.jsonl"
ROWS = "map.jsonl"


class StoredLines:
    """The lines of a file below its head; without a directory nothing is written.

    Parameters
    ----------
    directory, name
        The directory, None for none, and the name of the file.
    what
        The kind of content, in a word.
    identity
        Plain values that distinguish the content from others.

    Raises
    ------
    StorageError
        The directory contains something else, or cannot be written.
    """

    def __init__(
        self, directory: str | Path | None, name: str, what: str, identity: object
    ) -> None:
        self._path = None if directory is None else Path(directory) / name
        self.lines: list[dict[str, Any]] = []
        if self._path is None:
            return
        digest = hashlib.sha256(repr(identity).encode()).hexdigest()
        head = {"format": FORMAT, what: digest}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lines = list(_whole(self._path)) if self._path.exists() else []
            if lines and lines[0] != head:
                raise StorageError(
                    f"{self._path.parent} contains another {what}: use another directory, or "
                    "remove this one"
                )
            # Rewrite the truncated line.
            text = "\n".join(json.dumps(line) for line in (lines or [head])) + "\n"
            fresh = self._path.with_suffix(".new")
            fresh.write_text(text)
            fresh.replace(self._path)
        except OSError as error:
            raise StorageError(f"{self._path} cannot be written: {error}") from error
        self.lines = lines[1:]

    def add(self, line: Mapping[str, Any]) -> None:
        """Write a line."""
        if self._path is None:
            return
        try:
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise StorageError(f"{self._path} cannot be written: {error}") from error


def _whole(path: Path) -> Iterator[dict[str, Any]]:
    """Return the lines up to the first incomplete one."""
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return


Special = list[tuple[Kind, BranchPoint, str]]


class BranchStore(StoredLines):
    """The file of a branch; without a directory nothing is stored.

    Parameters
    ----------
    directory
        The directory; None for none.
    curve, low, high, step
        The curve, its range and its step.

    Raises
    ------
    StorageError
        The directory contains another branch, or cannot be written.
    """

    def __init__(
        self, directory: str | Path | None, curve: Curve, low: float, high: float, step: float
    ) -> None:
        super().__init__(directory, POINTS, "branch", _identity(curve, low, high, step))

    def stored(self, sense: float) -> Iterator[tuple[BranchPoint | None, Special, str]]:
        """Return the stored results in one direction: points, special points, and the end."""
        for line in self.lines:
            if line["sense"] == sense:
                special: Special = [
                    (cast("Kind", kind), _entry(saved), detail)
                    for kind, saved, detail in line["special"]
                ]
                point = None if line["point"] is None else _entry(line["point"])
                yield point, special, line["end"]

    def add_point(
        self, sense: float, entry: BranchPoint | None, special: Special, end: str = ""
    ) -> None:
        """Store a point with the special points before it, and the end of the branch if known."""
        self.add(
            {
                "sense": sense,
                "point": None if entry is None else _saved(entry),
                "special": [[kind, _saved(one), detail] for kind, one, detail in special],
                "end": end,
            }
        )


def _identity(curve: Curve, low: float, high: float, step: float) -> list[object]:
    """Return plain values that distinguish a branch: names, sizes, range and values."""
    task, axis = curve.task, curve.axis
    return [
        axis.name, repr((low, high, step)), task.group.words, repr(task.passage), task.pieces,
        task.flow.names, task.flow.value_names, task.manifold.sizes.tolist(),
        task.flow.prepared.solver.name, task.steady,
        None if task.free_period or task.passage is not None else curve.period,
    ]  # fmt: skip


def _saved(entry: BranchPoint) -> Mapping[str, Any]:
    guess = entry.guess
    return {
        "value": entry.value,
        "step": entry.step,
        "period": entry.period,
        "verdict": entry.verdict,
        "tangent": entry.tangent.tolist(),
        "multipliers": [[v.real, v.imag] for v in entry.multipliers.tolist()],
        "time": guess.period,
        "amounts": guess.amounts.tolist(),
        "alpha": guess.alpha.tolist(),
        "nodes": [[node.time, node.x.tolist(), node.p.tolist()] for node in guess.nodes],
    }


def _entry(saved: Mapping[str, Any]) -> BranchPoint:
    nodes = [Node(time, np.array(x), np.array(p)) for time, x, p in saved["nodes"]]
    guess = Guess(tuple(nodes), saved["time"], np.array(saved["amounts"]), np.array(saved["alpha"]))
    multipliers = np.array([complex(*pair) for pair in saved["multipliers"]], dtype=complex)
    return BranchPoint(
        value=saved["value"],
        guess=guess,
        tangent=np.array(saved["tangent"]),
        step=saved["step"],
        period=saved["period"],
        multipliers=multipliers,
        verdict=cast("Verdict", saved["verdict"]),
    )


class MapStore(StoredLines):
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
        super().__init__(directory, ROWS, "map", identity)
        self.rows: dict[int, MapRow] = {line["row"]: _row(line) for line in self.lines}

    def add_row(self, number: int, row: MapRow) -> None:
        """Write a row."""
        self.rows[number] = row
        self.add(
            {
                "row": number,
                "cells": row.cells,
                "borders": [[point.kind, point.x, point.y] for point in row.borders],
            }
        )


def _row(line: Mapping[str, Any]) -> MapRow:
    cells = [None if cell is None else (cell[0], cell[1]) for cell in line["cells"]]
    return MapRow(tuple(cells), tuple(BorderPoint(*point) for point in line["borders"]))

"""A branch on disk: a line for each point, written when it is found, and read when it goes on.

Numbers are written so that they are read to the same bits; a line that was cut off is left out.
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
from daesolve.analysis.orbits.flights import Node
from daesolve.analysis.orbits.monodromy import Verdict
from daesolve.analysis.orbits.shooting import Guess
from daesolve.analysis.orbits.special import Kind
from daesolve.errors import StorageError

POINTS = "branch.jsonl"
FORMAT = 1
Special = list[tuple[Kind, BranchPoint, str]]


class Store:
    """The file of a branch; without a directory it keeps nothing.

    Parameters
    ----------
    directory
        Where to; None for nowhere.
    curve, low, high, step
        What is followed.

    Raises
    ------
    StorageError
        The directory has another branch, or cannot be written.
    """

    def __init__(
        self, directory: str | Path | None, curve: Curve, low: float, high: float, step: float
    ) -> None:
        self.path = None if directory is None else Path(directory) / POINTS
        self._lines: list[dict[str, Any]] = []
        if self.path is None:
            return
        head = {"format": FORMAT, "branch": _identity(curve, low, high, step)}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lines = list(_lines(self.path)) if self.path.exists() else []
            if lines and lines[0] != head:
                raise StorageError(
                    f"{self.path.parent} contains another branch: choose another "
                    "directory, or remove it"
                )
            # What was cut off is written anew.
            whole = [json.dumps(line) for line in (lines or [head])]
            self.path.write_text("\n".join(whole) + "\n")
        except OSError as error:
            raise StorageError(f"{self.path} cannot be written: {error}") from error
        self._lines = lines[1:]

    def kept(self, sense: float) -> Iterator[tuple[BranchPoint | None, Special, str]]:
        """Return what is known in one direction: points, special ones, and how it ended."""
        for line in self._lines:
            if line["sense"] == sense:
                special: Special = [
                    (cast("Kind", kind), _entry(saved), detail)
                    for kind, saved, detail in line["special"]
                ]
                point = None if line["point"] is None else _entry(line["point"])
                yield point, special, line["end"]

    def keep(
        self, sense: float, entry: BranchPoint | None, special: Special, end: str = ""
    ) -> None:
        """Write a point with what is special on the way to it, and how the branch ends there."""
        if self.path is None:
            return
        saved = {
            "sense": sense,
            "point": None if entry is None else _saved(entry),
            "special": [[kind, _saved(one), detail] for kind, one, detail in special],
            "end": end,
        }
        try:
            with self.path.open("a") as file:
                file.write(json.dumps(saved) + "\n")
        except OSError as error:
            raise StorageError(f"{self.path} cannot be written: {error}") from error


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return


def _identity(curve: Curve, low: float, high: float, step: float) -> str:
    """Return what distinguishes a branch from others: names, sizes, range and values."""
    task, axis = curve.task, curve.axis
    parts = [
        axis.name, repr((low, high, step)), task.group.words, repr(task.passage), task.pieces,
        task.flow.names, task.flow.value_names, task.manifold.sizes.tolist(),
        task.flow.prepared.solver.name, task.steady,
        None if task.free_period or task.passage is not None else curve.period,
    ]  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()


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

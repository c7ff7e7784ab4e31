"""A branch on disk: a line for each point, written when it is found and read on resumption.

Numbers are written so that reading restores every bit; a truncated line is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from daesolve.analysis.orbits.branch import BranchPoint
from daesolve.analysis.orbits.curve import Curve
from daesolve.analysis.orbits.lines import Lines
from daesolve.analysis.orbits.monodromy import Verdict
from daesolve.analysis.orbits.pieces import Node
from daesolve.analysis.orbits.shooting import Guess
from daesolve.analysis.orbits.special import Kind

POINTS = "branch.jsonl"
Special = list[tuple[Kind, BranchPoint, str]]


class BranchStore:
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
        self._lines = Lines(directory, POINTS, "branch", _identity(curve, low, high, step))

    def kept(self, sense: float) -> Iterator[tuple[BranchPoint | None, Special, str]]:
        """Return the stored results in one direction: points, special points, and the end."""
        for line in self._lines.known:
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
        """Store a point with the special points before it, and the end of the branch if known."""
        self._lines.add(
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

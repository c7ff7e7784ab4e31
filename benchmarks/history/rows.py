"""The rows of the history: one for each measured commit, in a file with a line of JSON for each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROWS = Path(__file__).with_name("rows.jsonl")
LOSS = 1.2
"""A figure that takes this many times as long as before is a loss."""
EARLIER = 5
"""With how many rows before it a row is compared, so that small losses in a row are seen too."""
BUSY = 0.05
"""The spread of a loop above which the machine was busy."""


@dataclass(frozen=True)
class Ratio:
    """Time over the time of the loop: the median, and the quartiles around it."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Row:
    """What was measured at a commit.

    Parameters
    ----------
    commit, committed
        Its abbreviated hash, with a `+` if the tree had further changes, and its time (ISO).
    date, machine, versions
        When and where it was measured, as in `common.conditions`.
    loops
        The version of the loops.
    spread
        The larger spread of the two loops: the distance of the quartiles over the median.
    ratios
        By figure; a figure that the commit could not run is missing.
    """

    commit: str
    committed: str
    date: str
    machine: str
    versions: Mapping[str, str]
    loops: int
    spread: float
    ratios: Mapping[str, Ratio]


@dataclass(frozen=True)
class Change:
    """A figure of a row beside the earlier row in which it was fastest.

    Parameters
    ----------
    figure, now, before
        The figure in both rows.
    since
        The commit of the earlier row.
    noise
        The mean spread of the loops in both rows.
    """

    figure: str
    now: Ratio
    before: Ratio
    since: str
    noise: float

    @property
    def factor(self) -> float:
        """How many times as long it takes now."""
        return self.now.median / self.before.median

    @property
    def lost(self) -> bool:
        """Whether it is over 20 % slower, and the quartiles are apart by more than the noise."""
        return self.factor > LOSS and self.now.low > self.before.high * (1 + self.noise)


def read(path: Path = ROWS) -> list[Row]:
    """Return all rows in the order of their commits."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found: list[dict[str, Any]] = [json.loads(line) for line in lines]
    for one in found:
        one["ratios"] = {name: Ratio(*ratio) for name, ratio in one["ratios"].items()}
    rows = [Row(**one) for one in found]
    return sorted(rows, key=lambda row: row.committed)


def append(row: Row, path: Path = ROWS) -> None:
    """Append a row."""
    ratios = {
        name: [float(f"{value:.4g}") for value in (ratio.low, ratio.median, ratio.high)]
        for name, ratio in row.ratios.items()
    }
    with path.open("a", encoding="utf-8") as file:
        print(json.dumps(asdict(row) | {"ratios": ratios}), file=file)


def place_of(rows: Sequence[Row], commit: str) -> int:
    """Return the index of the last row of a commit.

    Raises
    ------
    ValueError
        The commit has no row.
    """
    found = [i for i, row in enumerate(rows) if commit.startswith(row.commit.rstrip("+"))]
    if not found:
        raise ValueError(f"{commit} has no row; measure it first")
    return found[-1]


def before(rows: Sequence[Row], index: int) -> list[Row]:
    """Return the last rows before a row that belong to other commits and the same loops."""
    now = rows[index]
    alike = [row for row in rows[:index] if row.loops == now.loops and row.commit != now.commit]
    return alike[-EARLIER:]


def changes(rows: Sequence[Row], index: int) -> list[Change]:
    """Compare every figure of a row with the rows before it; new figures are left out.

    The earlier row whose upper quartile is smallest counts, so that a loss is not hidden by an
    earlier loss, nor made by one lucky measurement with a wide spread.
    """
    found: list[Change] = []
    earlier = before(rows, index)
    for name, now in rows[index].ratios.items():
        having = [row for row in earlier if name in row.ratios]
        if having:
            best = min(having, key=lambda row: row.ratios[name].high)
            noise = (rows[index].spread + best.spread) / 2
            found.append(Change(name, now, best.ratios[name], best.commit, noise))
    return found

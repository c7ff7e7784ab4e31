"""What a sweep has given so far, read from its directory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daesolve.ensembles.sweep_files import arrow, parts, sweep_manifest
from daesolve.errors import MissingPackageError, OutOfRangeError
from daesolve.storage.encoding import read_parquet
from daesolve.trajectory.results import Outcome

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True)
class Sweep:
    """The results of a sweep on disk.

    Parameters
    ----------
    directory
        Where they are; see `daesolve.ensembles.sweep_files`.
    count, done, failed
        How many members there are, how many of them have run, and how many of these neither
        completed nor were stopped by an event.
    interrupted
        Whether it ended before every member had run.
    """

    directory: Path
    count: int
    done: int
    failed: int
    interrupted: bool = False

    @classmethod
    def from_directory(cls, directory: str | Path) -> Sweep:
        """Return what a directory holds so far.

        Raises
        ------
        NotARunError, FormatError, NotResumableError
            It holds no sweep.
        """
        directory = Path(directory)
        count = sweep_manifest(directory)["count"]
        ended = outcomes(directory)
        failed = sum(has_failed(outcome) for outcome in ended.values())
        return cls(directory, count, len(ended), failed, len(ended) < count)

    def member(self, number: int) -> dict[str, Any]:
        """Return the results of a member by column; None where it has none.

        Raises
        ------
        OutOfRangeError
            There is no such member, or it has not run yet.
        """
        for path in parts(self.directory, "members"):
            table = read_parquet(path)
            numbers = table.column("member").to_pylist()
            if number in numbers:
                return table.slice(numbers.index(number), 1).to_pylist()[0]
        raise OutOfRangeError(
            f"there are no results of the member {number!r}: members are numbered from 0 to "
            f"{self.count - 1}, and {self.done} of them have run"
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each member that has run, in their order."""
        return self._frame("members").set_index("member")

    def samples_to_pandas(self) -> pd.DataFrame:
        """Return the samples, in the order of members and times; empty where there are none."""
        return self._frame("samples").set_index("member")

    def _frame(self, kind: str) -> pd.DataFrame:
        try:
            import_module("pandas")  # Arrow asks for it.
        except ImportError:
            raise MissingPackageError("pandas", "tables") from None
        return results_table(self.directory, kind).to_pandas()


def outcomes(directory: Path) -> dict[int, str]:
    """Return how each member ended that has run, by its number."""
    found: dict[int, str] = {}
    for path in parts(directory, "members"):
        table = read_parquet(path, ["member", "outcome"])
        numbers: list[Any] = table.column("member").to_pylist()
        words: list[Any] = table.column("outcome").to_pylist()
        found.update(zip(numbers, words, strict=True))
    return found


def reasons(directory: Path) -> list[tuple[str, int]]:
    """Return why members failed and how many did so, the most frequent reason first."""
    counts: Counter[str] = Counter()
    for path in parts(directory, "members"):
        table = read_parquet(path, ["outcome", "message"])
        words = (table.column(name).to_pylist() for name in ("outcome", "message"))
        counts.update(
            message for outcome, message in zip(*words, strict=True) if not Outcome(outcome).good
        )
    return counts.most_common()


def results_table(directory: Path, kind: str) -> pa.Table:
    """Return every row of "members" or "samples", by the member's number."""
    import pyarrow as pa

    tables = [read_parquet(path) for path in parts(directory, kind)]
    if not tables:
        return arrow({"member": []}, {})
    joined = pa.concat_tables(tables, promote_options="default")
    columns = ["member", "t"] if kind == "samples" else ["member"]
    return joined.sort_by([(name, "ascending") for name in columns])


def has_failed(outcome: str) -> bool:
    """Return whether a member ended otherwise than it was meant to."""
    return not Outcome(outcome).good

"""The results of a sweep so far, read from its directory, and how they depend on one number."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daesolve.core.results.displayable import Displayable
from daesolve.core.results.storage import located
from daesolve.core.results.trajectory.results import Outcome
from daesolve.ensembles.audits import SweepAudit
from daesolve.ensembles.chunks import DIFFERENCE, MEASURE, PEAK, over_column
from daesolve.ensembles.sweep_files import arrow, parts, read_part, sweep_manifest
from daesolve.errors import MissingPackageError, OutOfRangeError
from daesolve.plugins.bound_case import BoundCase

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True)
class Sweep(Displayable):
    """The results of a sweep on disk.

    Parameters
    ----------
    directory
        The directory; see `daesolve.ensembles.sweep_files` for its files.
    count, done, failed
        How many members there are, how many of them have run, and how many of these neither
        completed nor were stopped by an event.
    interrupted
        Whether it ended before every member had run.
    auditor
        What `audit` asks, with the results so far; None if they were read from the directory
        alone.
    """

    directory: Path
    count: int
    done: int
    failed: int
    interrupted: bool = False
    auditor: Callable[[Iterator[dict[str, Any]], Iterable[int] | None], SweepAudit] | None = field(
        default=None, repr=False, compare=False
    )

    @classmethod
    def from_directory(cls, directory: str | Path) -> Sweep:
        """Return the results in a directory so far.

        Raises
        ------
        NotARunError, FormatError, NotResumableError
            The directory contains no sweep.
        """
        directory = located(directory)
        count = sweep_manifest(directory)["count"]
        ended = outcomes(directory)
        failed = sum(has_failed(outcome) for outcome in ended.values())
        return cls(directory, count, len(ended), failed, len(ended) < count)

    def member(self, number: int) -> dict[str, Any]:
        """Return the results of a member by column; None if it has none.

        Raises
        ------
        OutOfRangeError
            There is no such member, or it has not run yet.
        """
        for path in parts(self.directory, "members"):
            table = read_part(path)
            numbers = table.column("member").to_pylist()
            if number in numbers:
                return table.slice(numbers.index(number), 1).to_pylist()[0]
        raise OutOfRangeError(
            f"there are no results for the member {number!r}: members are numbered from 0 to "
            f"{self.count - 1}, and {self.done} of them have run"
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the results of each member that has run by column, as they arrived."""
        for path in parts(self.directory, "members"):
            yield from read_part(path).to_pylist()

    def audit(self, members: Iterable[int] | None = None) -> SweepAudit:
        """Hold the runs of members against what was posed.

        Each is run once more, alone, and audited; see `Trajectory.audit`.

        Parameters
        ----------
        members
            Their numbers; None for all that have run.

        Raises
        ------
        OutOfRangeError
            A member has not run, or this was read from its directory alone.
        """
        if self.auditor is None:
            raise OutOfRangeError(
                "this sweep was read from its directory alone, which does not pose its case: audit "
                "what daesolve.sweep or daesolve.ensembles.resume_sweep returns"
            )
        return self.auditor(self.rows(), members)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each member that has run, in their order."""
        return self._frame("members").set_index("member")

    def samples_to_pandas(self) -> pd.DataFrame:
        """Return the samples, in the order of members and times; empty if there are none."""
        return self._frame("samples").set_index("member")

    def _frame(self, kind: str) -> pd.DataFrame:
        try:
            import_module("pandas")  # Arrow asks for it.
        except ImportError:
            raise MissingPackageError("pandas", "tables") from None
        return results_table(self.directory, kind).to_pandas()


def outcomes(directory: Path) -> dict[int, str]:
    """Return how each member that has run ended, by its number."""
    found: dict[int, str] = {}
    for path in parts(directory, "members"):
        table = read_part(path, ["member", "outcome"])
        numbers: list[Any] = table.column("member").to_pylist()
        words: list[Any] = table.column("outcome").to_pylist()
        found.update(zip(numbers, words, strict=True))
    return found


def reasons(directory: Path) -> list[tuple[str, int]]:
    """Return why members failed and how many for each reason, the most frequent first."""
    counts: Counter[str] = Counter()
    for path in parts(directory, "members"):
        table = read_part(path, ["outcome", "message"])
        words = (table.column(name).to_pylist() for name in ("outcome", "message"))
        counts.update(
            message for outcome, message in zip(*words, strict=True) if not Outcome(outcome).good
        )
    return counts.most_common()


@dataclass(frozen=True)
class LargestDifference:
    """The largest `difference` of a state among verified members, and the `member` that has it.

    It is NaN if that of any member is: what its repetition did not reach is unknown.
    """

    difference: float
    member: int


def differences(directory: Path) -> dict[str, LargestDifference]:
    """Return the largest difference of each state; empty where no member was verified."""
    found: dict[str, LargestDifference] = {}
    for path in parts(directory, "members"):
        for row in read_part(path).to_pylist():
            for column, value in row.items():
                if not column.startswith(DIFFERENCE) or value is None:
                    continue
                name = column.removeprefix(DIFFERENCE)
                known = found.get(name)
                if known is None or value > known.difference or math.isnan(value):
                    found[name] = LargestDifference(value, row["member"])
    return found


def results_table(directory: Path, kind: str) -> pa.Table:
    """Return every row of "members" or "samples", by the member's number."""
    import pyarrow as pa

    tables = [read_part(path) for path in parts(directory, kind)]
    if not tables:
        return arrow({"member": []}, {})
    joined = pa.concat_tables(tables, promote_options="default")
    columns = ["member", "t"] if kind == "samples" else ["member"]
    return joined.sort_by([(name, "ascending") for name in columns])


def has_failed(outcome: str) -> bool:
    """Return whether a member failed to end as intended."""
    return not Outcome(outcome).good


ROUNDED = 1e-13
"""Anything smaller, in its own unit, counts as rounding and shows no order."""


@dataclass(frozen=True)
class ConvergenceOrders:
    """One quantity over the values of the varied number.

    Parameters
    ----------
    name, unit
        Of the quantity; of a peak it is `peak_<output>`.
    values
        One for each value of the varied number.
    orders
        The slope in log-log from each value to the next; None if one of the two is not above zero,
        or is rounding.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    orders: tuple[float | None, ...]


@dataclass(frozen=True)
class MeasuredDependence:
    """Measures over the values of one number, from the largest down.

    Parameters
    ----------
    over, unit
        The varied number.
    values
        The values whose runs were completed.
    measures
        What was measured.
    """

    over: str
    unit: str
    values: tuple[float, ...]
    measures: tuple[ConvergenceOrders, ...]

    def document(self) -> dict[str, Any]:
        """Return it as an object for JSON."""
        return {
            "over": self.over,
            "values": list(self.values),
            "measures": {
                measured.name: {
                    "unit": measured.unit,
                    "values": list(measured.values),
                    "orders": list(measured.orders),
                }
                for measured in self.measures
            },
        }


def dependence(sweep: Sweep, case: BoundCase) -> MeasuredDependence | None:
    """Return how measures and peaks depend on the varied number.

    Parameters
    ----------
    sweep
        The results.
    case
        What was varied.

    Returns
    -------
    MeasuredDependence or None
        None if nothing was measured, or unless exactly one positive number was varied, with at
        least two values.
    """
    over = list(sweep_manifest(sweep.directory)["columns"]["over"])
    if len(over) != 1:
        return None
    column = over_column(over[0])
    rows = [
        row for path in parts(sweep.directory, "members") for row in read_part(path).to_pylist()
    ]
    rows = [row for row in rows if Outcome(row["outcome"]).good and _is_size(row[column])]
    rows.sort(key=lambda row: -row[column])
    names = [name for row in rows[:1] for name in row if name.startswith((MEASURE, PEAK))]
    sizes = [row[column] for row in rows]
    if not names or len(set(sizes)) < 2:
        return None
    units = case.system.dynamics.labels.units()
    found = [
        ConvergenceOrders(
            name.removeprefix(MEASURE),
            _unit(name, case, units),
            values := tuple(row[name] for row in rows),
            local_orders(sizes, values),
        )
        for name in names
    ]
    declared = dict(zip(case.system.parameters.names, case.system.parameters.units, strict=True))
    return MeasuredDependence(over[0], declared.get(over[0], ""), tuple(sizes), tuple(found))


def local_orders(sizes: Sequence[float], values: Sequence[float]) -> tuple[float | None, ...]:
    """Return the slopes in log-log between neighbours; None if rounding would make them."""
    pairs = list(zip(sizes, values, strict=True))
    return tuple(
        math.log(after[1] / before[1]) / math.log(after[0] / before[0])
        if _is_measured(before[1]) and _is_measured(after[1]) and after[0] != before[0]
        else None
        for before, after in itertools.pairwise(pairs)
    )


def _is_measured(value: Any) -> bool:
    return _is_size(value) and value > ROUNDED


def _is_size(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value > 0.0


def _unit(name: str, case: BoundCase, units: dict[str, str]) -> str:
    if name.startswith(PEAK):
        return units.get(name.removeprefix(PEAK), "")
    measure = case.problem.measures.get(name.removeprefix(MEASURE))
    return "" if measure is None else measure.unit

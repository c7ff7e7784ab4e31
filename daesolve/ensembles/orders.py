"""How what was measured of the members of a sweep depends on the one number that was varied."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from daesolve.ensembles.chunks import MEASURE, PEAK, over_column
from daesolve.ensembles.sweep_files import parts, sweep_manifest
from daesolve.ensembles.sweep_results import Sweep
from daesolve.plugins.bound_case import BoundCase
from daesolve.storage.encoding import read_parquet
from daesolve.trajectory.results import Outcome


@dataclass(frozen=True)
class Measured:
    """One quantity over the values of the varied number.

    Parameters
    ----------
    name, unit
        Of the quantity; of a peak it is `peak_<output>`.
    values
        One for each value of the varied number.
    orders
        The slope in log-log from each value to the next; None where one of the two is not above
        zero.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    orders: tuple[float | None, ...]


@dataclass(frozen=True)
class MeasuredDependence:
    """What was measured, over the values of one number, from the largest down.

    Parameters
    ----------
    over, unit
        The varied number.
    values
        Those whose runs came to their end.
    measures
        What was measured.
    """

    over: str
    unit: str
    values: tuple[float, ...]
    measures: tuple[Measured, ...]

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
        None where nothing was measured, or it was not one number above zero that was varied, with
        two values at least.
    """
    over = list(sweep_manifest(sweep.directory)["columns"]["over"])
    if len(over) != 1:
        return None
    column = over_column(over[0])
    rows = [
        row for path in parts(sweep.directory, "members") for row in read_parquet(path).to_pylist()
    ]
    rows = [row for row in rows if Outcome(row["outcome"]).good and _is_size(row[column])]
    rows.sort(key=lambda row: -row[column])
    names = [name for row in rows[:1] for name in row if name.startswith((MEASURE, PEAK))]
    sizes = [row[column] for row in rows]
    if not names or len(set(sizes)) < 2:
        return None
    units = case.system.dynamics.labels.units()
    found = [
        Measured(
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
    """Return the slopes in log-log between neighbours; None where there is none."""
    pairs = list(zip(sizes, values, strict=True))
    return tuple(
        math.log(after[1] / before[1]) / math.log(after[0] / before[0])
        if _is_size(before[1]) and _is_size(after[1]) and after[0] != before[0]
        else None
        for before, after in itertools.pairwise(pairs)
    )


def _is_size(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value > 0.0


def _unit(name: str, case: BoundCase, units: dict[str, str]) -> str:
    if name.startswith(PEAK):
        return units.get(name.removeprefix(PEAK), "")
    measure = case.problem.measures.get(name.removeprefix(MEASURE))
    return "" if measure is None else measure.unit

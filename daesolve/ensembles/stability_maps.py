"""Stability maps whose rows are shared among the workers of a Dask cluster."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from daesolve.analysis.orbits import StabilityMap, stability_map
from daesolve.ensembles.chunks import Task, case_of
from daesolve.ensembles.sweeping import task_of
from daesolve.ensembles.workers import connected
from daesolve.errors import OutOfRangeError
from daesolve.plugins.bound_case import BoundCase

BLOCKS = 4
"""Blocks of rows for each worker, so that none waits long for the last."""
ORBIT = ("near", "period", "section", "passages", "up_to", "family", "steady", "pieces")


def sweep_stability(
    case: BoundCase,
    over: Mapping[str, tuple[float, float]],
    *,
    scheduler: str,
    cells: tuple[int, int] = (40, 40),
    **orbit: Any,
) -> StabilityMap:
    """Compute a stability map on a Dask cluster, whose workers find the orbit and share the rows.

    Parameters
    ----------
    case
        Of an installed problem, or one in a file that every worker has.
    over, cells
        As in `daesolve.analysis.stability_map`.
    scheduler
        The address of a Dask scheduler, such as "tcp://host:8786".
    **orbit
        Which orbit: `near`, a state by name, `period`, a number, `section`, the name of an event,
        `passages`, `up_to`, `family`, `steady`, `pieces`, as in `case.periodic_orbit`.

    Returns
    -------
    StabilityMap
        The same bits as `daesolve.analysis.stability_map` of that orbit has.

    Raises
    ------
    OutOfRangeError
        No scheduler answers, it has no workers, or something cannot be sent to them.
    WorkerError
        A worker has other versions, or not the problem.
    DaesolveError
        As in `daesolve.analysis.stability_map` and `case.periodic_orbit`.
    """
    _check(orbit)
    task = task_of(case, None, None, {}, batch=False, installed=True)
    client = connected(scheduler)
    try:
        workers = len(client.nthreads())
        if not workers:
            raise OutOfRangeError(
                f"the Dask scheduler at {scheduler!r} has no workers: start at least one"
            )
        marks = np.linspace(0, cells[1], min(BLOCKS * workers, cells[1]) + 1).astype(int).tolist()
        blocks = list(itertools.pairwise(marks))
        futures = [
            client.submit(rows_of, task, orbit, dict(over), cells, block, pure=False)
            for block in blocks
        ]
        return joined(client.gather(futures), blocks)
    finally:
        client.close()


def _check(orbit: Mapping[str, Any]) -> None:
    for name, value in orbit.items():
        if name not in ORBIT:
            raise OutOfRangeError(
                f"{name!r} does not describe an orbit: give some of {', '.join(ORBIT)}"
            )
        plain = {"near": Mapping, "period": (int, float), "section": str}
        if name in plain and value is not None and not isinstance(value, plain[name]):
            raise OutOfRangeError(
                f"{name} is {value!r}, which cannot be sent to workers: give a state by its "
                "name, a period as a number, a section as the name of an event"
            )


def rows_of(
    task: Task,
    orbit: Mapping[str, Any],
    over: Mapping[str, tuple[float, float]],
    cells: tuple[int, int],
    rows: tuple[int, int],
) -> StabilityMap:
    """Return some rows of a map; this is what a worker does."""
    given = dict(orbit)
    near = given.pop("near", None)
    found = case_of(task).periodic_orbit(near, verify=False, **given)
    return stability_map(found, over, cells=cells, rows=rows)


def joined(parts: list[StabilityMap], blocks: list[tuple[int, int]]) -> StabilityMap:
    """Return the map whose rows are those of parts."""
    one = parts[0]
    verdicts = np.vstack([part.verdicts[a:b] for part, (a, b) in zip(parts, blocks, strict=True)])
    leading = np.vstack([part.leading[a:b] for part, (a, b) in zip(parts, blocks, strict=True)])
    borders = tuple(point for part in parts for point in part.borders)
    return StabilityMap(one.names, one.x, one.y, verdicts, leading, borders)

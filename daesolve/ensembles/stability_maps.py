"""Stability maps whose rows are shared between processes or the workers of a Dask cluster."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from daesolve.analysis.orbits import StabilityMap, stability_map
from daesolve.analysis.orbits.stability_maps import Plane, Progress
from daesolve.analysis.orbits.stability_rows import MapRow
from daesolve.analysis.orbits.stored_results import MapStore
from daesolve.ensembles.chunks import SweepTask, WorkerError, case_of
from daesolve.ensembles.dispatch import POLL
from daesolve.ensembles.sweeping import check_workers, cores, task_of
from daesolve.ensembles.workers import Cluster, LocalProcesses, Lost, Workers
from daesolve.errors import OutOfRangeError
from daesolve.plugins.bound_case import BoundCase

BLOCKS = 4
"""Blocks of rows per worker, so that no worker waits long for the last block."""
ORBIT = ("near", "period", "section", "passages", "up_to", "family", "steady", "pieces")

Part = tuple[Mapping[str, Any], Mapping[str, tuple[float, float]], tuple[int, int], tuple[int, ...]]
"""Which orbit, over what, how many cells, and the numbers of the rows."""
Rows = tuple[tuple[int, MapRow], ...]


def sweep_stability(
    case: BoundCase,
    over: Mapping[str, tuple[float, float]],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    cells: tuple[int, int] = (40, 40),
    follow: bool = False,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **orbit: Any,
) -> StabilityMap:
    """Compute a stability map with several processes, each of which finds the orbit itself.

    Parameters
    ----------
    case
        A case of an installed problem, or of one in a file that every worker has.
    over, cells, follow, out, progress
        As in `daesolve.analysis.stability_map`.
    workers
        The number of processes; by default one per core. 0 computes everything in this process,
        which is also the default on a single core.
    scheduler
        The address of a Dask scheduler, such as "tcp://host:8786", instead of processes.
    **orbit
        Which orbit: `near`, a state by name, `period`, `section`, the name of an event,
        `passages`, `up_to`, `family`, `steady`, `pieces`, as in `case.periodic_orbit`.

    Returns
    -------
    StabilityMap
        The same in every bit as `daesolve.analysis.stability_map` of that orbit.

    Raises
    ------
    OutOfRangeError
        No scheduler answers, it has no workers, or an argument cannot be sent to them.
    WorkerError
        A worker has other versions, lacks the problem, or ends twice before it answers.
    StorageError
        The directory contains another map.
    DaesolveError
        As in `daesolve.analysis.stability_map` and `case.periodic_orbit`.
    """
    _check(orbit)
    check_workers(workers, scheduler)
    given = dict(orbit)
    found = case.periodic_orbit(given.pop("near", None), verify=False, **given)
    count = cores() if workers is None else workers
    if scheduler is None and (count == 0 or (workers is None and count == 1)):
        return stability_map(found, over, cells=cells, follow=follow, out=out, progress=progress)
    plane = Plane.of(found, over, cells)
    store = MapStore(out, plane.identity(found))
    missing = [number for number in range(cells[1]) if number not in store.rows]
    if missing:
        task = task_of(case, None, None, {}, batch=False, elsewhere=True)
        sent = _sendable(case, orbit)

        def part(numbers: tuple[int, ...]) -> Part:
            return sent, dict(over), cells, numbers

        if scheduler is not None:
            running: Workers = Cluster(task, scheduler, rows_of)
        else:
            running = LocalProcesses(task, min(count, len(missing)), rows_of)
        with closing(_answers(running, scheduler, missing, part)) as answers:
            for rows in answers:
                for number, row in rows:
                    store.add_row(number, row)
                if progress is not None:
                    progress(len(store.rows), cells[1])
    whole = plane.filled(store.rows)
    return plane.followed(found, whole) if follow else whole


def _check(orbit: Mapping[str, Any]) -> None:
    for name, value in orbit.items():
        if name not in ORBIT:
            raise OutOfRangeError(
                f"{name!r} does not describe an orbit: use some of {', '.join(ORBIT)}"
            )
        plain = {"near": Mapping, "period": (int, float, ca.SX), "section": str}
        if name in plain and value is not None and not isinstance(value, plain[name]):
            raise OutOfRangeError(
                f"{name} is {value!r}, which cannot be sent to workers: give a state by name, a "
                "period as a number or an expression of parameters, a section as the name of an "
                "event"
            )


def _sendable(case: BoundCase, orbit: Mapping[str, Any]) -> dict[str, Any]:
    """Return what says which orbit, an expression for its period as a function of parameters."""
    sent = dict(orbit)
    if isinstance(sent.get("period"), ca.SX):
        sent["period"] = ca.Function("period", [case.system.dynamics.p], [sent["period"]])
    return sent


def rows_of(task: SweepTask, part: Part) -> Rows:
    """Return some rows of a map, in a worker."""
    orbit, over, cells, numbers = part
    given, case = dict(orbit), case_of(task)
    near = given.pop("near", None)
    if isinstance(given.get("period"), ca.Function):
        given["period"] = given["period"](case.system.dynamics.p)
    found = case.periodic_orbit(near, verify=False, **given)
    return tuple(Plane.of(found, over, cells).rows(found, numbers))


def _blocks(numbers: list[int], workers: int) -> list[tuple[int, ...]]:
    """Return rows in blocks of neighbours."""
    count = min(BLOCKS * workers, len(numbers))
    marks = np.linspace(0, len(numbers), count + 1).astype(int).tolist()
    return [tuple(numbers[a:b]) for a, b in itertools.pairwise(marks)]


def _answers(
    running: Workers,
    scheduler: str | None,
    missing: list[int],
    part: Callable[[tuple[int, ...]], Part],
) -> Generator[Rows]:
    """Yield the rows of parts as workers find them.

    Raises
    ------
    OutOfRangeError
        A scheduler has no workers.
    WorkerError
        A worker cannot work, or one after the other ends before it answers about the same rows.
    """
    tried: set[tuple[int, ...]] = set()
    under_way = 0
    try:
        if not running.count:
            raise OutOfRangeError(f"the Dask scheduler at {scheduler!r} has no workers: start some")
        left = [part(block) for block in _blocks(missing, running.count)][::-1]
        while left or under_way:
            for _ in range(min(running.free, len(left))):
                running.submit(left.pop())
                under_way += 1
            for ended, answer in running.finished(POLL):
                under_way -= 1
                if not isinstance(answer, Lost):
                    yield answer
                elif ended[3] in tried:
                    raise WorkerError(f"{answer.reason}, twice, in the rows {ended[3]}")
                else:
                    tried.add(ended[3])
                    left.append(ended)
    finally:
        running.close()

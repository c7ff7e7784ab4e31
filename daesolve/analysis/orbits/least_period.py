"""Whether the period found is a multiple of the least one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from daesolve.analysis.orbits.first_look import places
from daesolve.analysis.orbits.pieces import Node
from daesolve.analysis.orbits.shooting import Shot, Task
from daesolve.analysis.orbits.symmetry import check_symmetry
from daesolve.errors import DaesolveError, NotPeriodicError

PARTS = (2, 3, 5, 7)
"""The prime factors that are tested, with their products."""
MOST = 64
"""The largest multiple that is tested."""
ALIKE = 1e-7
"""The distance, in sizes, within which the state after part of a period equals the start."""


def multiple_of_least(task: Task, shot: Shot) -> int:
    """Return how many times an orbit goes round in its period; one if no repetition is seen.

    A given symmetry allows only those numbers of repetitions after which it is the same again:
    three for a reflection, any number for a free shift.
    """
    times = 1
    if task.steady:
        return times
    for part in PARTS:
        while times * part <= MOST and _returns(task, shot, times * part):
            times *= part
    return times


def _returns(task: Task, shot: Shot, times: int) -> bool:
    """Return whether an orbit has returned after a part of its period."""
    group, flow, first = task.group, task.flow, shot.guess.nodes[0]
    power = np.linalg.matrix_power(group.fixed, times)
    if not np.array_equal(power, group.fixed) or np.any(group.offset):
        return False
    piece = shot.period / times
    with suppress(DaesolveError):
        if task.passage is None:
            end = flow.fly(first, piece).end
        elif task.passage.count % times:
            return False
        else:
            count = task.passage.count // times
            end = flow.fly_to(first, replace(task.passage, count=count), piece).end
        amounts = group.nearest(task.whole(first), task.whole(end))
        back = group.undo(amounts, task.whole(end))
        apart = np.abs((task.part(back) - first.x) / task.sizes)
        return float(np.max(apart)) <= ALIKE and _alike(task, first, amounts, piece)
    return False


def _alike(task: Task, node: Node, amounts: np.ndarray, lag: float) -> bool:
    """Return whether equations that contain time repeat after a part of a period."""
    if task.flow.autonomous:
        return True
    try:
        check_symmetry(task.flow, task.group, amounts, places(task.flow, node), "", lag)
    except NotPeriodicError:
        return False
    return True

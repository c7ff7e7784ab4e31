"""Whether the period that was found is a multiple of the least one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from daesolve.analysis.orbits.first_look import places
from daesolve.analysis.orbits.flights import Node
from daesolve.analysis.orbits.shooting import Shot, Task
from daesolve.analysis.orbits.symmetry import check_symmetry
from daesolve.errors import DaesolveError, NotPeriodicError

PARTS = (2, 3, 5, 7)
"""Of which multiples are looked for, and of their products."""
MOST = 64
"""The largest multiple that is looked for."""
ALIKE = 1e-7
"""In sizes, how near the state after a part of a period comes to that at the start."""


def multiple_of_least(task: Task, shot: Shot) -> int:
    """Return how many times an orbit goes round in its period; one where it is not seen to more.

    A symmetry that is given allows those numbers of times after which it is itself again: a
    reflection three, a free shift any.
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
        apart = np.abs((task.part(back) - task.vector(first)) / task.sizes)
        return float(np.max(apart)) <= ALIKE and _alike(task, first, amounts, piece)
    return False


def _alike(task: Task, node: Node, amounts: np.ndarray, lag: float) -> bool:
    """Return whether equations that contain time are the same after a part of a period."""
    if task.flow.autonomous:
        return True
    try:
        check_symmetry(task.flow, task.group, amounts, places(task.flow, node), "", lag)
    except NotPeriodicError:
        return False
    return True

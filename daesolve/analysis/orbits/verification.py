"""Verification of an orbit: its own run, a solution with other steps, and its least period."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from daesolve.analysis.orbits.first_period import places
from daesolve.analysis.orbits.flow import LONGER, SEAM
from daesolve.analysis.orbits.monodromy import Multipliers, multipliers
from daesolve.analysis.orbits.newton import CONVERGED, NewtonSolution
from daesolve.analysis.orbits.nodes import Node, last_within
from daesolve.analysis.orbits.shooting import (
    Guess,
    Shot,
    Task,
    assembled,
    conditions,
    moved,
    shoot,
    slopes_of,
)
from daesolve.analysis.orbits.symmetry import check_symmetry
from daesolve.core.run.solving.repetition import check_verifier
from daesolve.core.solvers import Solver
from daesolve.errors import DaesolveError, NotPeriodicError
from daesolve.verification.second_run import ANOTHER_METHOD

PERIODS = 10
"""The number of periods in the run."""
MOST_STEPS = 3
"""The number of steps with the given matrix, of which the first is almost exact."""
LEFT = 1e-4
"""Errors, in sizes, that end the comparison."""
ROUNDING = 2.0
"""The rounding that steps leave, relative to the spacing of numbers."""
ALLOWED = 1e3
"""The accepted error of a run, as a multiple of the rounding of an orbit."""
PARTS = (2, 3, 5, 7)
"""The prime factors that are tested, with their products."""
MOST_TURNS = 64
"""The largest multiple that is tested."""
ALIKE = 1e-7
"""The distance, in sizes, within which the state after part of a period equals the start."""


def check_by_run(task: Task, solution: NewtonSolution, spectrum: Multipliers) -> str:
    """Run an orbit for ten periods, or as long as its instability permits; return a sentence.

    Raises
    ------
    NotPeriodicError
        The run leaves the orbit.
    """
    shot = solution.shot
    start = task.whole(shot.guess.nodes[0])
    # A run departs from an orbit by its residual, however far other orbits with the same residual
    # are. Neutral directions separate like a power of time.
    floor = ALLOWED * max(shot.residual, 1e-14) * _transient(solution)
    growth = max([1.0, *np.abs(spectrum.values)])
    allowed = [floor * count**2 * growth**count for count in range(1, PERIODS + 1)]
    allowed = [each for each in allowed if each <= LEFT]
    worst = 0.0
    for count, back in enumerate(_returns(task, shot, len(allowed)), start=1):
        end = task.whole(back)
        for _ in range(count):
            end = task.group.undo(shot.amounts, end)
        apart = np.abs((task.part(end) - task.part(start)) / task.sizes)
        worst = max(worst, float(np.max(apart)))
        if not worst <= allowed[count - 1]:
            raise NotPeriodicError(
                f"the result is not an orbit: after {count} periods its own run is off by "
                f"{worst:.2g} of its size, but {allowed[count - 1]:.2g} is allowed"
            )
    return _sentence(len(allowed), worst)


def check_clocks(task: Task, shot: Shot) -> None:
    """Refuse an orbit that returns with another time since its clocks were set, if it matters.

    Raises
    ------
    NotPeriodicError
        The motion from there differs.
    """
    if not task.flow.clocked:
        return
    flow, first, last = task.flow, shot.guess.nodes[0], shot.flights[-1]
    end = flow.at_time(last.end, first.time)
    later = first.p.copy()
    places = [flow.value_names.index(name) for name in flow.clocks]
    later[places] = end.p[places]
    if np.array_equal(later, first.p):
        return
    one = replace(task, pieces=1)
    again = shoot(one, Guess((replace(first, p=later),), shot.period, shot.amounts))
    if again.residual <= max(LEFT, 2.0 * shot.residual):
        return
    names = " and ".join(repr(flow.value_names[k]) for k in places if later[k] != first.p[k])
    raise NotPeriodicError(
        f"the motion returns with another time since {names} was set, on which it depends: begin "
        "where an event sets it, with section= and its name"
    )


def _returns(task: Task, shot: Shot, periods: int) -> list[Node]:
    """Return the places after each of some periods of one run, which never begins again."""
    if not periods:
        return []
    return (_after_times if task.passage is None else _after_passages)(task, shot, periods)


def _after_times(task: Task, shot: Shot, count: int) -> list[Node]:
    """Return the places after each of some periods, after the events there."""
    flow, first, least = task.flow, shot.guess.nodes[0], SEAM * shot.period
    times = [first.time + (k + 1) * shot.period for k in range(count)]
    prepared, run, record = flow.run(first, times[-1] - first.time + 2.0 * least, times)
    flow.check_reached(run)
    nodes: list[Node] = []
    for time, x, at in zip(record.sample_times, record.samples, record.sampled_at, strict=True):
        closing = last_within(record, time, least)
        if closing is None or closing.after is None:
            nodes.append(flow.node(prepared, record, replace(at, time=time, state=x)))
        else:
            nodes.append(flow.after(prepared, record, closing.after, time))
    return nodes[:count]


def _after_passages(task: Task, shot: Shot, count: int) -> list[Node]:
    """Return the places after the last passage of each of some periods.

    Raises
    ------
    NotPeriodicError
        There are not so many.
    """
    flow, first, passage = task.flow, shot.guess.nodes[0], task.passage
    assert passage is not None
    least = SEAM * shot.period
    prepared, run, record = flow.run(first, (count - 1 + LONGER) * shot.period)
    flow.check_reached(run)
    stops = [event for event in record.events if event.name == passage.event]
    stops = [event for event in stops if abs(event.time - first.time) > least]
    stops = stops[passage.count - 1 :: passage.count][:count]
    if len(stops) < count:
        raise NotPeriodicError(
            f"the result is not an orbit: in {count} periods of its own run, the event "
            f"{passage.event!r} ends {len(stops)} of them"
        )
    ends = [(stop, last_within(record, stop.time, least) or stop) for stop in stops]
    return [flow.node(prepared, record, last.after or last.at, stop.time) for stop, last in ends]


def _transient(solution: NewtonSolution) -> float:
    """Return the largest growth of changes within a period."""
    return max(1.0, *(float(np.linalg.norm(piece, 2)) for piece in solution.slopes.pieces))


def _sentence(count: int, worst: float) -> str:
    if count == 0:
        return "changes grow too fast to compare a separate run"
    return f"its own run over {count} periods stays within {worst:.1g} of its size"


@dataclass(frozen=True)
class Confirmation:
    """The digits that a solution with other steps confirms.

    Parameters
    ----------
    digits
        The digits of period and state, the latter in sizes.
    multipliers
        The digits of the multipliers, relative for those above one.
    how
        A sentence that describes the method.
    """

    digits: float
    multipliers: float
    how: str


def confirmed(
    task: Task, solution: NewtonSolution, spectrum: Multipliers, solver: Solver | None
) -> Confirmation:
    """Repeat the last step with other steps; return the number of equal digits, and how."""
    prepared = task.flow.prepared
    if solver is None:
        chosen = prepared.solver.refined()
    else:
        check_verifier(prepared, solver)
        chosen = solver
    apart, again, here = _repeated(task, solution, chosen)
    if apart == 0.0 and solver is None:
        chosen = ANOTHER_METHOD
        apart, again, here = _repeated(task, solution, chosen)
    # Both have the rounding of their steps, which grows like other changes.
    rounding = ROUNDING * float(np.finfo(float).eps)
    least = max(solution.shot.residual, rounding * _transient(solution))
    apart = max(apart, least)
    others = multipliers(again, here, slopes_of(again, here)).values
    # The map changes with the place, where rounding leaves it open, like the square of its entries.
    entries = max(1.0, float(np.linalg.norm(spectrum.matrix, 2)))
    moved = max(_moved(spectrum.values, others), least, rounding * entries**2)
    how = f"repeated by {chosen.name}, whose orbit differs by {apart:.1g}"
    return Confirmation(-math.log10(apart), max(0.0, -math.log10(moved)), how)


def _moved(values: np.ndarray, others: np.ndarray) -> float:
    """Return the largest distance from multipliers to the nearest ones of the other solution."""
    if len(values) != len(others):
        return 1.0
    return max(
        (float(np.min(np.abs(others - value))) / max(1.0, abs(value)) for value in values),
        default=0.0,
    )


def _repeated(task: Task, solution: NewtonSolution, solver: Solver) -> tuple[float, Task, Shot]:
    """Return the distance, in sizes, of another solver's orbit from the given one, and it."""
    shot = solution.shot
    steps = float(max(shot.flights[0].record.steps, 1))
    again = replace(task, flow=task.flow.solved_by(solver, steps))
    here = shoot(again, shot.guess)
    for _ in range(MOST_STEPS):
        matrix, right = assembled(again, here, solution.slopes, conditions(again, here))
        step = np.linalg.lstsq(matrix, right, rcond=None)[0]
        here = shoot(again, moved(again, here, step, 1.0))
        if float(np.max(np.abs(step))) <= CONVERGED:
            break
    changes = [
        np.max(np.abs((a.x - b.x) / task.manifold.sizes))
        for a, b in zip(here.guess.nodes, shot.guess.nodes, strict=True)
    ]
    apart = max(float(change) for change in changes)
    return max(apart, abs(here.period - shot.period) / shot.period), again, here


def multiple_of_least(task: Task, shot: Shot) -> int:
    """Return how many times an orbit goes round in its period; one if no repetition is seen.

    A given symmetry allows only those numbers of repetitions after which it is the same again:
    three for a reflection, any number for a free shift.
    """
    times = 1
    if task.steady:
        return times
    for part in PARTS:
        while times * part <= MOST_TURNS and _returns_after(task, shot, times * part):
            times *= part
    return times


def _returns_after(task: Task, shot: Shot, times: int) -> bool:
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

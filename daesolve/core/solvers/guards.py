"""Finds where guards pass through zero along accepted steps."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from daesolve.core.equations.elimination.saddle import SHARED_ROUNDING
from daesolve.core.expressions.blocks import StateFunction, evaluate_block
from daesolve.core.expressions.term_sizes import ROUNDING
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.events import Direction
from daesolve.core.solvers.dense_segments import AcceptedSteps, inner_times
from daesolve.core.solvers.grazing import MOST_ITERATIONS, Look, guard_evaluator, guards_at, hidden
from daesolve.core.solvers.phase_splitting import split_phases
from daesolve.core.solvers.resolved_steps import (
    MOST_PARTS,
    LookAt,
    Looks,
    Table,
    even_looks,
    refined_looks,
    resolved_steps,
    together,
)
from daesolve.core.solvers.resting import goes_back, sizes_of_terms, still_steps
from daesolve.core.solvers.segment import EventHit, GuardError
from daesolve.core.solvers.shapes import appears, dips, extrema, unresolved, worth_a_look

LOOKS = 8
"""The number of parts of a step at whose ends guards are evaluated."""
MOST_LOOKS = 4096
"""The number of parts of a step up to which what is rough in it is divided."""
NOWHERE = 1.0
"""The value of a guard that need not be examined."""
POLE = 1e3
"""What a guard is at a place over what it was around, beyond which this is a pole and no zero."""


def find_events(problem: OdeProblem, p: np.ndarray, steps: AcceptedSteps) -> list[EventHit]:
    """Return where guards pass through zero in their directions, in the order of integration.

    All steps are judged at once by the guards at their ends and at one place between. A step is
    looked into where a guard changes its sign, or comes so near to zero that it might dip through
    it in between: nearer than it moves around there.

    Of events at one time, those that interrupt the motion come last. Steps after the first one
    with such an event are not looked into: the motion does not get there.

    Parameters
    ----------
    problem
        Its guards and events.
    p
        The values.
    steps
        The accepted steps.

    Raises
    ------
    GuardError
        A guard is not finite where the motion comes to, or swings too often to be searched.
    """
    steps = split_phases(problem, p, steps)
    judged = _judged(problem, p, steps)
    worth, looks = _worth(problem, p, steps, judged)
    if not worth:
        return []
    resolved = {} if looks is None else resolved_steps(problem, p, looks, steps.dense)
    guarded = problem.guarded
    directions = [event.direction for event in guarded]
    interrupts = [event.then.interrupts for event in guarded]
    guards = StateFunction(problem.guards, p)
    found: list[EventHit] = []
    sign = 1.0 if steps.times[-1] >= steps.times[0] else -1.0

    def in_order() -> list[EventHit]:
        return sorted(found, key=lambda hit: (sign * hit.time, interrupts[hit.index]))

    for step in worth:
        known = resolved.get(step)
        table = _looked_into(problem, p, steps, judged, step) if known is None else known
        times, states, values = table
        before = len(found)
        with np.errstate(invalid="ignore"):
            changes = np.any(values[:-1] * values[1:] <= 0.0, axis=1)
        for left in np.flatnonzero(changes):
            for index in crossings(values[left], values[left + 1], directions):
                before_it = float(times[left]), states[left]
                try:
                    time, state = locate(
                        lambda t, x, index=index: _number(guards(t, x), index, t),
                        lambda time, step=step: steps.advance(step, time),
                        before_it,
                        (float(times[left + 1]), states[left + 1]),
                    )
                except _NoNumberError as error:
                    message = no_number(problem, error.time, error.values)
                    raise GuardError(message, in_order(), EventHit(0, *before_it)) from None
                sides, there = values[left : left + 2, index], guards(time, state)[index]
                size = float(np.max(np.abs(sides)))
                if not _is_pole(float(there), sides, values[:, index]) and not goes_back(
                    problem, p, (time, state), sign, index, size
                ):
                    found.append(EventHit(index, time, state))
        if any(interrupts[hit.index] for hit in found[before:]):
            break
        if not np.all(np.isfinite(values[-1])):
            moment, place = float(times[-1]), max(len(times) - 2, 0)
            message = no_number(problem, moment, values[-1])
            last = EventHit(0, float(times[place]), states[place])
            raise GuardError(message, in_order(), last)
    return in_order()


def _is_pole(there: float, sides: np.ndarray, step: np.ndarray) -> bool:
    """Return whether a guard changes its sign at a pole, where it is nowhere near to zero.

    Looks may come as near to the pole as the place that is found: the whole step tells.

    Parameters
    ----------
    there, sides
        What it is where its sign changes, and (2,) at the looks around.
    step
        (k,) what it is at all looks into the step.
    """
    near = abs(there) < np.min(np.abs(sides))
    return not near and bool(
        abs(there) > POLE * min(np.max(np.abs(sides)), np.median(np.abs(step)))
    )


class _NoNumberError(ArithmeticError):
    """A guard has no value where its zero is looked for, though it has on both sides."""

    def __init__(self, time: float, values: np.ndarray) -> None:
        super().__init__()
        self.time, self.values = time, values


def _number(values: np.ndarray, index: int, time: float) -> float:
    if np.isnan(values[index]):
        raise _NoNumberError(time, values)
    return float(values[index])


def no_number(problem: OdeProblem, time: float, values: np.ndarray) -> str:
    """Say which guard is not finite, and from when."""
    worst = int(np.argmin(np.isfinite(values)))
    return (
        f"the guard of the event {problem.guarded[worst].name!r} is {values[worst]} from t = "
        f"{time:.10g} s on; define it so that it has a value along the whole motion"
    )


@dataclass(frozen=True, eq=False)
class _Judged:
    """Guards at the ends of steps; these with those in between, and their times; and which stay.

    `still` says, (k, guards), which are at zero throughout a step: they pass nowhere.
    """

    ends: np.ndarray
    table: np.ndarray
    moments: np.ndarray
    still: np.ndarray


def _judged(problem: OdeProblem, p: np.ndarray, steps: AcceptedSteps) -> _Judged:
    """Evaluate guards at all steps."""
    count = len(steps.times) - 1
    moments = np.empty(2 * count + 1)
    moments[::2], moments[1::2] = steps.times, inner_times(steps.times)
    states = np.empty((2 * count + 1, steps.states.shape[1]))
    states[::2], states[1::2] = steps.states, steps.inner
    table = evaluate_block(problem.guards, moments, states, p)[0]
    still = still_steps(problem, p, moments, states, table)
    return _Judged(table[::2], table, moments, still)


def _worth(
    problem: OdeProblem, p: np.ndarray, steps: AcceptedSteps, judged: _Judged
) -> tuple[list[int], Looks | None]:
    """Return the steps that may hold a zero, or where a guard is not finite, in their order.

    Also the looks into steps that were needed to decide it.
    """
    table, still = judged.table, np.repeat(judged.still, 2, axis=0)
    worth = worth_a_look(judged.moments, table, still)
    near = np.flatnonzero(worth.reshape(-1, 2).any(axis=1))
    finite: np.ndarray = np.all(np.isfinite(table), axis=1)
    gone = np.flatnonzero(~(finite[:-2:2] & finite[1::2] & finite[2::2]))
    # Beyond the first of these the motion does not get.
    near = near[near < gone[0]] if gone.size else near
    if not near.size:
        return gone[:1].tolist(), None
    looks = _looks_into(problem, p, steps, judged, near)
    values = np.moveaxis(looks.values, 1, 0)
    with np.errstate(all="ignore"):
        changes = values[:-1] * values[1:] <= 0.0
    rounding = _noise(problem, steps, values)
    shown = (changes, appears(values), dips(values), *unresolved(values, rounding))
    possible = np.any([np.any(table, axis=(0, 2)) for table in shown], axis=0)
    worth = [*near[possible].tolist(), *gone[:1].tolist()]
    return worth, looks.at(possible & ~judged.still[near].any(axis=1))


def _looks_into(
    problem: OdeProblem, p: np.ndarray, steps: AcceptedSteps, judged: _Judged, near: np.ndarray
) -> Looks:
    """Return even looks into steps, all at once; what stays at zero counts for `NOWHERE`."""
    both = np.column_stack([near, near + 1])
    ends = Looks(near, steps.times[both], steps.states[both], judged.ends[both])
    looks = even_looks(problem, p, ends, LOOKS, steps.dense)
    np.moveaxis(looks.values, 1, 0)[:, judged.still[near]] = NOWHERE
    return looks


def _looked_into(
    problem: OdeProblem, p: np.ndarray, steps: AcceptedSteps, judged: _Judged, step: int
) -> Table:
    """Return times within a step, states and guards, so close that each is smooth between.

    At the ends they are those of the steps: what one step takes for negative there, the next
    does not take for positive. Where a guard ceases to be finite they end, and it is so at the
    last of them alone.
    """
    start, end = float(steps.times[step]), float(steps.times[step + 1])
    ends, still = judged.ends, judged.still[step]

    def look(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states = steps.dense(times)
        return states, evaluate_block(problem.guards, times, states, p)[0]

    parts, rounding = LOOKS, ROUNDING * sizes_of_terms(problem, start, steps.states[step], p)
    while True:
        looks = np.linspace(start, end, parts + 1)
        inner, values = look(looks[1:-1])
        states = np.vstack([steps.states[step], inner, steps.states[step + 1]])
        values = np.vstack([ends[step], values, ends[step + 1]])
        values[:, still] = NOWHERE
        limits = _noise(problem, steps, values) + rounding
        if parts >= MOST_PARTS or not any(np.any(table) for table in unresolved(values, limits)):
            break
        parts *= 2

    def look_beside(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states, values = look(times)
        values[:, still] = NOWHERE
        return states, values

    tables = refined_looks((looks, states, values), parts, MOST_LOOKS, limits, look_beside)
    looks, states, values = together(tables)
    gone = ~np.isfinite(values).all(axis=1)
    if gone.any():
        looks, states, values = _up_to_gone((looks, states, values), int(np.argmax(gone)), look)
        tables = [(looks, states, values)]
    extra = np.unique([time for table in tables for time in extrema(table[0], table[2])])
    if extra.size:
        looks, states, values = _in_order(looks, states, values, (extra, *look_beside(extra)))
    return _with_hidden(problem, p, steps, step, (looks, states, values), (still, limits))


def _noise(problem: OdeProblem, steps: AcceptedSteps, values: np.ndarray) -> np.ndarray | float:
    """Return what in guards, looks by rows, is no smooth function of time.

    That is the noise of steps, and the rounding of loads that are shared: of each load as much as
    of the largest (see `Saddle`).
    """
    shared = SHARED_ROUNDING if problem.plan.proximal else 0.0
    part = max(steps.noise, shared)
    if not part:
        return 0.0
    sizes = np.where(np.isfinite(values), np.abs(values), 0.0)
    sizes = np.max(sizes, axis=0, initial=0.0)
    noise, loads = part * sizes, [*problem.borne]
    if shared and loads:
        largest = np.max(sizes[..., loads], axis=-1, keepdims=True)
        noise[..., loads] = np.maximum(noise[..., loads], shared * largest)
    return noise


def _up_to_gone(
    table: tuple[np.ndarray, np.ndarray, np.ndarray],
    first: int,
    look: LookAt,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return looks up to where a guard ceases to be finite, found to rounding."""
    looks, states, values = (column[: first + 1] for column in table)
    if first == 0:
        return looks, states, values
    good = [looks[-2], states[-2], values[-2]]
    bad = [looks[-1], states[-1], values[-1]]
    while (middle := 0.5 * (good[0] + bad[0])) not in (good[0], bad[0]):
        state, row = look(np.array([middle]))
        place = good if np.isfinite(row).all() else bad
        place[:] = middle, state[0], row[0]
    rows = [
        [*column[:-1], *pair]
        for column, pair in zip((looks, states, values), zip(good, bad, strict=True), strict=True)
    ]
    return np.array(rows[0]), np.array(rows[1]), np.array(rows[2])


def _in_order(
    looks: np.ndarray,
    states: np.ndarray,
    values: np.ndarray,
    more: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return looks with others among them."""
    moments = np.concatenate([looks, more[0]])
    order = np.argsort(moments * np.sign(looks[-1] - looks[0]), kind="stable")
    return moments[order], np.vstack([states, more[1]])[order], np.vstack([values, more[2]])[order]


def _with_hidden(
    problem: OdeProblem,
    p: np.ndarray,
    steps: AcceptedSteps,
    step: int,
    table: tuple[np.ndarray, np.ndarray, np.ndarray],
    judged: tuple[np.ndarray, np.ndarray | float],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return looks with those between them at which a guard has dipped through zero.

    `judged` says which guards to skip, and by how much the others may be off.
    """
    still, rounding = judged
    evaluate = guard_evaluator(problem)

    def seen(time: float, state: np.ndarray) -> Look:
        values, rates = evaluate(time, state, p)
        values[still], rates[still] = NOWHERE, 0.0
        return Look(time, state, values, rates)

    known = guards_at(problem, table[0], table[1], p)[1]
    known[:, still] = 0.0
    looks = [Look(*row) for row in zip(table[0].tolist(), *table[1:], known, strict=True)]
    found = hidden(
        looks,
        lambda time: seen(time, steps.dense(np.array([time]))[0]),
        lambda time: seen(time, steps.advance(step, time)),
        rounding,
    )
    if not found:
        return table
    columns = zip(*[(look.time, look.state, look.values) for look in found], strict=True)
    times, states, values = map(np.array, columns)
    return _in_order(*table, (times, states, values))


def crossings(before: np.ndarray, after: np.ndarray, directions: Sequence[Direction]) -> list[int]:
    """Return the guards that passed through zero in their direction.

    A guard that starts at zero exactly has been located already and does not count again.
    """
    found: list[int] = []
    for index, direction in enumerate(directions):
        rising = before[index] < 0.0 <= after[index]
        falling = before[index] > 0.0 >= after[index]
        if (rising and direction is not Direction.FALLING) or (
            falling and direction is not Direction.RISING
        ):
            found.append(index)
    return found


def locate(
    guard: Callable[[float, np.ndarray], float],
    advance: Callable[[float], np.ndarray],
    start: tuple[float, np.ndarray],
    end: tuple[float, np.ndarray],
) -> tuple[float, np.ndarray]:
    """Polish the time of an event within one step by re-stepping from the step's start.

    Parameters
    ----------
    guard
        (t, x) -> its value; of opposite sign at start and end.
    advance
        time -> state, integrated from the start with the solver's own accuracy.
    start, end
        Times and states around the event.

    Returns
    -------
    tuple
        The time of the event to rounding, at zero or past it, and the state there.
    """

    @functools.cache
    def state_at(time: float) -> np.ndarray:
        if time == start[0]:
            return start[1]
        if time == end[0]:
            return end[1]
        return advance(time)

    # The ends may be interpolated: where the step itself disagrees about a sign there, the end
    # that is nearer to zero is the place.
    values = [guard(*start), guard(*end)]
    nearer = start if abs(values[0]) < abs(values[1]) else end
    if start[0] == end[0]:
        return nearer
    if values[0] * values[1] > 0.0:
        return nearer[0], advance(nearer[0])
    span = end[0] - start[0]

    def moment(elapsed: float) -> float:
        return end[0] if elapsed == span else start[0] + elapsed

    # Counted from the start of the step, so that late in time the root is as near as times are.
    root, result = scipy.optimize.brentq(
        lambda elapsed: guard(moment(elapsed), state_at(moment(elapsed))),
        0.0,
        span,
        xtol=0.5 * np.spacing(max(abs(start[0]), abs(end[0]), 1e-300)),
        rtol=np.float64(8.9e-16),
        maxiter=MOST_ITERATIONS,
        full_output=True,
    )
    assert result.converged
    # At zero or past it: a motion that continues from here must not meet it again.
    found = moment(float(root))
    move = np.spacing(max(abs(found), abs(span))) * np.sign(span)
    while guard(found, state_at(found)) * values[1] < 0.0 and found != end[0]:
        found = float(found + move) if abs(found + move - end[0]) < abs(found - end[0]) else end[0]
        move *= 2.0
    return found, state_at(found)


def found_hits(problem: OdeProblem, p: np.ndarray, steps: AcceptedSteps) -> list[EventHit]:
    """Search steps for events; return them up to the first that interrupts."""
    found: list[EventHit] = []
    for hit in find_events(problem, p, steps):
        found.append(hit)
        if problem.guarded[hit.index].then.interrupts:
            break
    return found

"""Finds where guards pass through zero along accepted steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from daesolve.core.equations.elimination.saddle import SHARED_ROUNDING
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.term_sizes import ROUNDING
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.dense_segments import AcceptedSteps, inner_times
from daesolve.core.solvers.grazing import Look, guard_evaluator, guards_at, hidden
from daesolve.core.solvers.guard_zeros import (
    NOWHERE,
    GuardZeros,
    NoNumberError,
    Row,
    no_number,
)
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
from daesolve.core.solvers.resting import sizes_of_terms, still_steps
from daesolve.core.solvers.segment import EventHit, GuardError
from daesolve.core.solvers.shapes import appears, dips, extrema, unresolved, worth_a_look

SHORTER = 1e-3
"""The least part of a step by which it is looked into anew up to where it is interrupted."""
LOOKS = 8
"""The number of parts of a step at whose ends guards are evaluated."""
MOST_LOOKS = 4096
"""The number of parts of a step up to which what is rough in it is divided."""


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
    zeros = GuardZeros(problem, p, steps)
    interrupts = [event.then.interrupts for event in problem.guarded]
    found: list[EventHit] = []

    def in_order() -> list[EventHit]:
        return sorted(found, key=lambda hit: (zeros.sign * hit.time, interrupts[hit.index]))

    for step in worth:
        known = resolved.get(step)
        table = _looked_into(zeros, judged, step) if known is None else known
        times, states, values = table
        before = len(found)
        for start, end in _changes(table):
            try:
                for hit, _ in zeros.between(step, (start, end), judged.still[step], values):
                    found.append(hit)
            except NoNumberError as error:
                message = no_number(problem, error.time, error.values)
                raise GuardError(message, in_order(), EventHit(0, *start[:2])) from None
        if any(interrupts[hit.index] for hit in found[before:]):
            break
        if not np.all(np.isfinite(values[-1])):
            moment, place = float(times[-1]), max(len(times) - 2, 0)
            message = no_number(problem, moment, values[-1])
            last = EventHit(0, float(times[place]), states[place])
            raise GuardError(message, in_order(), last)
    return in_order()


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


def _looked_into(zeros: GuardZeros, judged: _Judged, step: int) -> Table:
    """Return times within a step, states and guards, so close that each is smooth between.

    At the ends they are those of the steps: what one step takes for negative there, the next
    does not take for positive. Where a guard ceases to be finite they end, and it is so at the
    last of them alone. They also end where the motion is interrupted: it does not get farther.
    """
    problem, p, steps, still = zeros.problem, zeros.p, zeros.steps, judged.still[step]
    start, end = (
        (float(steps.times[k]), steps.states[k], judged.ends[k]) for k in (step, step + 1)
    )

    def look(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states = steps.dense(times)
        return states, evaluate_block(problem.guards, times, states, p)[0]

    parts, rounding = LOOKS, ROUNDING * sizes_of_terms(problem, *start[:2], p)
    while True:
        looks = np.linspace(start[0], end[0], parts + 1)
        inner, values = look(looks[1:-1])
        states = np.vstack([start[1], inner, end[1]])
        values = np.vstack([start[2], values, end[2]])
        values[:, still] = NOWHERE
        limits = _noise(problem, steps, values) + rounding
        if parts >= MOST_PARTS or not any(np.any(table) for table in unresolved(values, limits)):
            break
        parts *= 2
        first = _interruption(zeros, step, (looks, states, values), still)
        if first is not None and abs(end[0] - first[0]) > SHORTER * abs(end[0] - start[0]):
            # A guard may turn where another ends the motion: no looks beyond are smooth.
            end, parts = first, LOOKS

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


def _changes(table: Table) -> Iterator[tuple[Row, Row]]:
    """Yield the looks between which a guard changes its sign."""
    times, states, values = table
    with np.errstate(invalid="ignore"):
        changes = np.any(values[:-1] * values[1:] <= 0.0, axis=1)
    for left in np.flatnonzero(changes).tolist():
        start, end = ((float(times[k]), states[k], values[k]) for k in (left, left + 1))
        yield start, end


def _interruption(zeros: GuardZeros, step: int, table: Table, still: np.ndarray) -> Row | None:
    """Return where the motion is interrupted first, as far as looks into a step show it."""
    guarded = zeros.problem.guarded
    for ends in _changes(table):
        try:
            found = [
                (hit.time, hit.state, there)
                for hit, there in zeros.between(step, ends, still, table[2])
                if guarded[hit.index].then.interrupts
            ]
        except NoNumberError:
            return None
        if found:
            return min(found, key=lambda row: zeros.sign * row[0])
    return None


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


def found_hits(problem: OdeProblem, p: np.ndarray, steps: AcceptedSteps) -> list[EventHit]:
    """Search steps for events; return them up to the first that interrupts."""
    found: list[EventHit] = []
    for hit in find_events(problem, p, steps):
        found.append(hit)
        if problem.guarded[hit.index].then.interrupts:
            break
    return found

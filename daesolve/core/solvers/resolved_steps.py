"""Steps in which even looks show the whole course of every guard, many of them at once.

Resolved steps are those that an examination of single steps (`guards`) would leave as they are, by
the same conditions: smooth guards that do not dip through zero between two looks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.grazing import guards_at, suspect
from daesolve.core.solvers.shapes import rough_stretches, unresolved, vertices

MOST_PARTS = 64
"""The most parts of a step that are examined here; what is rough in them is examined singly."""
AT_ONCE = 256
"""Steps that are looked into together, whose looks are to fit into the cache."""

Dense = Callable[[np.ndarray], np.ndarray]
"""times (j,) -> states (j, size) within the steps."""
Table = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Times, states and guards at the looks into a step."""
LookAt = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Times -> states, and guards."""


@dataclass(frozen=True, eq=False)
class Looks:
    """Even looks into several steps, their ends included.

    Parameters
    ----------
    steps
        (n,) the numbers of the steps.
    times, states, values
        (n, looks), (n, looks, size) and (n, looks, guards).
    """

    steps: np.ndarray
    times: np.ndarray
    states: np.ndarray
    values: np.ndarray

    def at(self, places: np.ndarray | slice) -> Looks:
        """Return some of them."""
        return Looks(*(part[places] for part in (self.steps, self.times, self.states, self.values)))


def even_looks(problem: OdeProblem, p: np.ndarray, ends: Looks, parts: int, dense: Dense) -> Looks:
    """Look into steps at the ends of so many even parts, between the first and last known looks."""
    first, last = ends.times[:, :1], ends.times[:, -1:]
    times = first + (last - first) * np.arange(1, parts) / parts
    moments = times.ravel()
    states = dense(moments)
    inner = moments, states, evaluate_block(problem.guards, moments, states, p)[0]
    known = ends.times, ends.states, ends.values
    tables = (
        np.concatenate([end[:, :1], part.reshape(*times.shape, *part.shape[1:]), end[:, -1:]], 1)
        for end, part in zip(known, inner, strict=True)
    )
    return Looks(ends.steps, *tables)


def resolved_steps(
    problem: OdeProblem, p: np.ndarray, looks: Looks, dense: Dense
) -> dict[int, Table]:
    """Return the looks into resolved steps, and extrema between them, by the step's number.

    Parameters
    ----------
    problem, p
        The guards, and the values.
    looks
        None of their guards stays at zero throughout.
    dense
        States within the steps.
    """
    found: dict[int, Table] = {}
    for first in range(0, len(looks.steps), AT_ONCE):
        part = looks.at(slice(first, first + AT_ONCE))
        while len(part.steps):
            part = part.at(np.all(np.isfinite(part.values), axis=(1, 2)))
            rough = np.any(
                [np.any(one, axis=(0, 2)) for one in unresolved(np.moveaxis(part.values, 1, 0))],
                axis=0,
            )
            found |= _tables(problem, p, part.at(~rough), dense)
            parts = 2 * (part.times.shape[1] - 1)
            if parts > MOST_PARTS:
                break
            part = even_looks(problem, p, part.at(rough), parts, dense)
    return found


def _tables(problem: OdeProblem, p: np.ndarray, looks: Looks, dense: Dense) -> dict[int, Table]:
    """Return the looks into smooth steps in which no guard dips between them."""
    count, each = len(looks.steps), int(looks.times.shape[1])
    if not count:
        return {}
    steps: np.ndarray = np.repeat(np.arange(count), each)
    parts = looks.times, looks.states, looks.values
    times, states, values = (part.reshape(count * each, *part.shape[2:]) for part in parts)
    rates = guards_at(problem, times, states, p)[1]
    row, extra = vertices(looks.times, looks.values)
    if row.size:
        # Where looks show an extremum that points to zero, it is looked at as well.
        inner = dense(extra)
        more = (extra, inner, *guards_at(problem, extra, inner, p))
        steps = np.append(steps, row)
        table = (
            np.concatenate(pair) for pair in zip((times, states, values, rates), more, strict=True)
        )
        times, states, values, rates = table
        order = np.lexsort((np.sign(looks.times[0, -1] - looks.times[0, 0]) * times, steps))
        steps, times = steps[order], times[order]
        states, values, rates = states[order], values[order], rates[order]
    dips, turns = suspect(np.diff(times)[:, None], values, rates)
    hidden = np.any(dips | turns, axis=1) & (steps[1:] == steps[:-1])
    resolved: np.ndarray = np.all(np.isfinite(values), axis=1)
    resolved[1:] &= ~hidden
    ends: np.ndarray = np.searchsorted(steps, np.arange(1, count))
    tables = zip(*(np.split(part, ends) for part in (times, states, values, resolved)), strict=True)
    found = zip(looks.steps.tolist(), tables, strict=True)
    return {
        step: (when, where, guards) for step, (when, where, guards, all_) in found if all_.all()
    }


def refined_looks(
    table: Table, parts: int, most: int, limits: np.ndarray, look: LookAt
) -> list[Table]:
    """Return even looks, and closer ones wherever these show no smooth function.

    A slip that stops, or nearly does, has a kink: all else in its step is smooth.

    Parameters
    ----------
    table
        At the ends of so many parts of a step, or of a stretch of it that is as rough.
    parts, most
        Into how many parts the step is divided that closely, and may be.
    limits
        See `unresolved`.
    look
        Looks at other times.
    """
    found = [table]
    if parts >= most:
        return found
    for first, last in rough_stretches(table[2], limits):
        times, states, values = (part[first : last + 1] for part in table)
        inner = 0.5 * (times[:-1] + times[1:])
        places, guards = look(inner)
        behind = np.arange(1, len(times))
        closer = (
            np.insert(times, behind, inner),
            np.insert(states, behind, places, axis=0),
            np.insert(values, behind, guards, axis=0),
        )
        found += refined_looks(closer, 2 * parts, most, limits, look)
    return found


def together(tables: Sequence[Table]) -> Table:
    """Return the looks of all tables in their order, each once."""
    if len(tables) == 1:
        return tables[0]
    times, states, values = (np.concatenate(part) for part in zip(*tables, strict=True))
    _, order = np.unique(times * np.sign(times[1] - times[0]), return_index=True)
    return times[order], states[order], values[order]

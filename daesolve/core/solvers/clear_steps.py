"""Steps that a closer look clears of zeros of guards, many of them at once.

Steps are cleared here if an examination of single steps (`guards`) would find nothing, by the same
looks and the same conditions. All others are examined singly.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.built_once import built_once
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.grazing import guard_rates, suspect
from daesolve.core.solvers.shapes import unresolved, vertices

MOST_PARTS = 64
"""The most pieces of a step that are examined here; what is still rough is left to `guards`."""

Look = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Times, (j,), -> the guards there and their rates, (j, guards) each."""


def are_clear(
    problem: OdeProblem,
    p: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray, np.ndarray],
    dense: Callable[[np.ndarray], np.ndarray],
    parts: int,
) -> np.ndarray:
    """Return which steps hold no zero of a guard.

    Parameters
    ----------
    problem, p
        The guards, and the values.
    ends
        (k, 2) times, (k, 2, size) states and (k, 2, guards) guards at both ends of each step.
    dense
        times (j,) -> states (j, size) within the steps.
    parts
        Of each step, at whose ends it is looked at first.
    """
    times, states, known = ends
    function = rates_of(problem)

    def look(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, rates = evaluate_block(function, moments, dense(moments), p)
        return values, rates

    clear, left = np.zeros(len(times), dtype=bool), np.arange(len(times))
    edge = evaluate_block(function, times.ravel(), states.reshape(-1, states.shape[2]), p)[1]
    edge = edge.reshape(known.shape)
    while left.size and parts <= MOST_PARTS:
        first, last = times[left, 0], times[left, 1]
        moments = first[:, None] + (last - first)[:, None] * np.arange(parts + 1) / parts
        moments[:, -1] = last
        inside = [
            table.reshape(len(left), parts - 1, -1) for table in look(moments[:, 1:-1].ravel())
        ]
        values, rates = (
            np.concatenate([both[left, :1], table, both[left, 1:]], axis=1)
            for both, table in zip((known, edge), inside, strict=True)
        )
        smooth = ~np.any(
            [np.any(one, axis=(0, 2)) for one in unresolved(np.moveaxis(values, 1, 0))], axis=0
        )
        clear[left[smooth]] = _pass_nothing(moments[smooth], values[smooth], rates[smooth], look)
        left, parts = left[~smooth], 2 * parts
    return clear


def _pass_nothing(
    moments: np.ndarray, values: np.ndarray, rates: np.ndarray, look: Look
) -> np.ndarray:
    """Return in which steps guards have no zero, neither at looks nor at extrema between them.

    Parameters
    ----------
    moments, values, rates
        (k, looks), and (k, looks, guards) twice.
    look
        More of them.
    """
    steps = np.repeat(np.arange(len(moments)), moments.shape[1])
    row, extra = vertices(moments, values)
    table = [moments.ravel(), *(one.reshape(-1, one.shape[2]) for one in (values, rates))]
    if row.size:
        steps = np.append(steps, row)
        table = [np.concatenate(pair) for pair in zip(table, (extra, *look(extra)), strict=True)]
        sign = np.sign(moments[0, -1] - moments[0, 0])
        order = np.lexsort((sign * table[0], steps))
        steps, table = steps[order], [one[order] for one in table]
    times, values, rates = table
    with np.errstate(invalid="ignore"):
        found = np.any(values[:-1] * values[1:] <= 0.0, axis=1)
    for suspected in suspect(np.diff(times)[:, None], values, rates):
        found |= np.any(suspected, axis=1)
    found &= steps[1:] == steps[:-1]
    nothing = np.ones(len(moments), dtype=bool)
    nothing[steps[1:][found]] = False
    nothing[steps[~np.all(np.isfinite(values), axis=1)]] = False
    return nothing


@built_once
def rates_of(problem: OdeProblem) -> ca.Function:
    """(t, x, p) -> the guards of a problem and their rates along the motion."""
    return guard_rates(problem)

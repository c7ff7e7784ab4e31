"""Steps in which even looks show the whole course of every guard, many of them at once.

Plain steps are those that an examination of single steps (`guards`) would leave as they are,
by the same conditions: smooth guards that do not dip through zero between two looks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.clear_steps import rates_of
from daesolve.core.solvers.grazing import suspect
from daesolve.core.solvers.shapes import unresolved, vertices

FEWEST = 2
"""Steps from which it pays to look at them together."""


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

    def at(self, places: np.ndarray) -> Looks:
        """Return some of them."""
        return Looks(*(part[places] for part in (self.steps, self.times, self.states, self.values)))


def plain_steps(
    problem: OdeProblem,
    p: np.ndarray,
    looks: Looks,
    wanted: Sequence[int],
    dense: Callable[[np.ndarray], np.ndarray],
) -> dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return times, states and guards at the looks into plain steps, by the step's number.

    Parameters
    ----------
    problem, p
        The guards, and the values.
    looks
        None of their guards stays at zero throughout.
    wanted
        The steps to be judged.
    dense
        times (j,) -> states (j, size) within the steps.
    """
    looks = looks.at(np.isin(looks.steps, wanted))
    if len(looks.steps) < FEWEST:
        return {}
    rough = [np.any(one, axis=(0, 2)) for one in unresolved(np.moveaxis(looks.values, 1, 0))]
    looks = looks.at(np.all(np.isfinite(looks.values), axis=(1, 2)) & ~np.any(rough, axis=0))
    count, each = len(looks.steps), int(looks.times.shape[1])
    if not count:
        return {}
    steps: np.ndarray = np.repeat(np.arange(count), each)
    parts = looks.times, looks.states, looks.values
    times, states, values = (part.reshape(count * each, *part.shape[2:]) for part in parts)
    function = rates_of(problem)
    rates = evaluate_block(function, times, states, p)[1]
    row, extra = vertices(looks.times, looks.values)
    if row.size:
        # Where looks show an extremum that points to zero, it is looked at as well.
        inner = dense(extra)
        more = (extra, inner, *evaluate_block(function, extra, inner, p))
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
    plain: np.ndarray = np.all(np.isfinite(values), axis=1)
    plain[1:] &= ~hidden
    ends: np.ndarray = np.searchsorted(steps, np.arange(1, count))
    tables = zip(*(np.split(part, ends) for part in (times, states, values, plain)), strict=True)
    found = zip(looks.steps.tolist(), tables, strict=True)
    return {
        step: (when, where, guards) for step, (when, where, guards, all_) in found if all_.all()
    }

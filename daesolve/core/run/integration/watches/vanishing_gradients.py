"""Where the gradient of a constraint vanishes by itself along a motion.

There the set of positions crosses itself, as where all bars of a linkage lie on one line: the
constraint holds no velocity, and several motions continue. The gradient G of a motion that passes
straight through turns round, G -> -G, between two steps. One that comes near by is lost in rounding
where |G| is too small. Only constraints are watched whose gradient has no steady entry, since
others cannot vanish.
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.translation import function_of

LEAST = 1e-5
"""Below this fraction of its largest length a gradient counts as zero: u / LEAST^2, an error of
1e-6 of the accelerations, lasts for about LEAST of the motion, and leaves 1e-11."""
TURNED = -0.9
"""The product of the unit gradients of two steps below which the gradient has turned round."""
STEADY = 0.9
"""The same beyond which it has not turned from one step to the next."""


class VanishingGradients:
    """Judges the lengths and directions of gradients along the steps of a run.

    Parameters
    ----------
    dynamics
        The equations.
    goals
        Those that are to be independent.

    Attributes
    ----------
    largest
        The largest length of each gradient so far.
    """

    def __init__(self, dynamics: Dynamics, goals: tuple[str, ...]) -> None:
        self._dynamics = dynamics
        rows = {row.name: row for row in dynamics.rows}
        self.goals = tuple(
            name
            for name in goals
            if rows[name].hold is None and _may_vanish(rows[name].jacobian, dynamics)
        )
        self.largest = np.zeros(len(self.goals))
        self._last: np.ndarray | None = None

    @cached_property
    def _gradients(self) -> ca.Function:
        """(t, x, p) -> the gradients over the roots of the masses, row after row."""
        dynamics = self._dynamics
        rows = {row.name: row.jacobian for row in dynamics.rows}
        light = float(np.finfo(float).tiny)
        roots = ca.sqrt(ca.fmax(ca.densify(ca.diag(dynamics.mass)), light)).T
        gradients = [ca.densify(rows[name]) / roots for name in self.goals]
        return function_of(
            "gradients",
            [dynamics.t, dynamics.x, dynamics.p],
            [ca.vec(ca.vertcat(*gradients).T)],
            (["t", "x", "p"], ["gradients"]),
        )

    def first(
        self, times: np.ndarray, visible: np.ndarray, values: np.ndarray
    ) -> tuple[int, str, float] | None:
        """Return the first of some steps at which a gradient has vanished.

        Returns
        -------
        tuple or None
            Its index, the goal, and the length there over the largest one; None if there is none.
        """
        if not self.goals:
            return None
        parameters = values[: len(self._dynamics.values)]
        table = evaluate_block(self._gradients, times, visible, parameters)[0]
        rows = table.reshape(len(times), len(self.goals), -1)
        lengths = np.linalg.norm(rows, axis=2)
        largest = np.fmax.accumulate(np.vstack([self.largest, lengths]))[1:]
        relative = lengths / np.where(largest > 0.0, largest, 1.0)
        units = rows / np.where(lengths > 0.0, lengths, 1.0)[..., None]
        known = units if self._last is None else np.concatenate([self._last, units])
        carried = len(known) - len(units)
        none = np.zeros((1, len(self.goals)))
        along = np.vstack([none, np.sum(known[1:] * known[:-1], axis=2)])
        steady = np.vstack([none, along[:-1]]) > STEADY
        turned = (along < TURNED) & steady
        vanished = (relative < LEAST) | turned[carried:]
        self.largest, self._last = largest[-1], known[-2:]
        steps = np.flatnonzero(vanished.any(axis=1))
        if not steps.size:
            return None
        step = int(steps[0])
        column = int(np.flatnonzero(vanished[step])[0])
        return step, self.goals[column], float(relative[step, column])

    def forget(self) -> None:
        """Continue with a state whose meaning has changed."""
        self._last = None


def _may_vanish(row: ca.SX, dynamics: Dynamics) -> bool:
    """Return whether all entries of a gradient change along a motion."""
    moving = ca.vertcat(dynamics.t, dynamics.x)
    return all(ca.depends_on(row.nz[k], moving) for k in range(row.nnz()))

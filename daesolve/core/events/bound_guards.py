"""Guards that the constraints in force keep at zero, whatever errors a solver makes.

A latch that catches a mass at x = 1 holds x - 1 = 0, which is the guard of the catch as well. While
it holds, that guard has the errors of the solver alone. So has one of what cannot move at all.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.guard_table import Place
from daesolve.core.events.leaving import time_to_leave
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem

TRIALS = 3
"""At so many states near to the motion slopes are compared."""
SPREAD = 0.1
"""How far from the motion these are, as a part of each state, and at least of one."""
SAME = 1e-9
"""The part of a slope that is rounding."""


class BoundGuards:
    """Tells which guards are functions of residuals that are held at zero.

    Parameters
    ----------
    dynamics, problem
        The equations, and what is integrated.
    posed
        Which guards may be meant, (guards,).
    """

    def __init__(self, dynamics: Dynamics, problem: OdeProblem, posed: np.ndarray) -> None:
        self._problem, self._dynamics = problem, dynamics
        self._guards, self._used = _meant(dynamics, tuple(np.flatnonzero(posed).tolist()))
        self._none = np.zeros(len(problem.guarded), dtype=bool)
        self._known: tuple[bytes | None, np.ndarray] = None, self._none

    @property
    def any(self) -> bool:
        """Whether there may be such a guard."""
        return bool(len(self._guards) and self._dynamics.rows)

    def __call__(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return which guards the constraints in force keep at zero, (guards,)."""
        if not self.any:
            return self._none
        key = p[self._used].tobytes()
        if self._known[0] != key:
            self._known = key, self._kept((time, x, p))
        return self._known[1]

    def time_to_leave(self, place: Place, guards: np.ndarray, zeros: np.ndarray) -> np.ndarray:
        """Return how long some guards take to leave zero; see `leaving.time_to_leave`."""
        return time_to_leave(self._problem, place, guards, zeros)

    def _kept(self, place: Place) -> np.ndarray:
        """Return which guards are functions of residuals near a place, and zero where these are.

        At states around it their slopes are sums of those of the residuals.
        """
        time, x, p = place
        state = self._problem.visible(np.array([time]), x[None, :], p)[0]
        sizes = np.maximum(np.abs(state), 1.0)
        drawn = np.random.default_rng(0).uniform(-SPREAD, SPREAD, (TRIALS, len(state)))
        function = _with_slopes(self._dynamics, tuple(self._guards.tolist()))
        found, bound = np.ones(len(self._guards), dtype=bool), self._none.copy()
        for moved in (0.0 * sizes, *(drawn * sizes)):
            table = np.array(function(time, state + moved, p[: self._dynamics.p.numel()]), float)
            guards, residuals = table[: len(found)], table[len(found) :]
            lengths = np.linalg.norm(residuals[:, 1:], axis=1)
            if not np.all(np.isfinite(table)):
                return bound
            # What is released has no slope.
            units = residuals[lengths > 0.0] / lengths[lengths > 0.0, None]
            parts = np.asarray(
                np.linalg.lstsq(units[:, 1:].T, guards[:, 1:].T, rcond=SAME)[0], dtype=float
            )
            rest = np.abs(guards - parts.T @ units)
            slopes = np.linalg.norm(guards[:, 1:], axis=1)
            found &= (np.max(rest[:, 1:], axis=1) <= SAME * slopes) & (slopes > 0.0)
            found &= moved.any() | (rest[:, 0] <= SAME * slopes * np.max(sizes))
            if not found.any():
                return bound
        bound[self._guards[found]] = True
        return bound


@built_once
def _meant(dynamics: Dynamics, posed: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return which of some guards are of the state, and the places in p of what matters for these.

    Counters and references, which change at every event, do not. Clocks and loads are not meant.
    """
    guards = _guards(dynamics)
    loaded = ca.which_depends(guards, ca.vertcat(ca.SX(0, 1), dynamics.reactions), 1, True)
    moved = ca.which_depends(guards, dynamics.x, 1, True)
    meant = [k for k in posed if k < len(loaded) and moved[k] and not loaded[k]]
    used = ca.which_depends(ca.vertcat(guards[meant], *_links(dynamics)), dynamics.p, 1, False)
    return np.array(meant, dtype=int), np.flatnonzero(used)


@built_once
def _with_slopes(dynamics: Dynamics, guards: tuple[int, ...]) -> ca.Function:
    """Return (t, x, p) -> some guards, and the residuals, each with its slopes."""
    both = ca.vertcat(dynamics.x, dynamics.t)
    column = ca.vertcat(_guards(dynamics)[list(guards)], *_links(dynamics))
    table = ca.densify(ca.horzcat(column, ca.jacobian(column, both)))
    arguments = [dynamics.t, dynamics.x, dynamics.p]
    return function_of("bound", arguments, [table], (["t", "x", "p"], ["table"]), share=False)


def _guards(dynamics: Dynamics) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *[event.guards for event in dynamics.events])


def _links(dynamics: Dynamics) -> list[ca.SX]:
    """Return the residuals of all constraints, and their rates where these are kept as well."""
    return [link for row in dynamics.rows for link in row.chain]

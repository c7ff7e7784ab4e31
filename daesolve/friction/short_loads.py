"""How far what acts on a held body may bow between two looks: loads that are there for a moment.

A load that passes the limit of friction between two looks is not seen at them. The slope of what
acts is enclosed over the whole step: where it lies between two numbers, what acts is off its chord
by no more than a quarter of their difference times the step.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daesolve.algebra.enclosures import enclosed
from daesolve.algebra.translation import function_of
from daesolve.friction.sticking import Sticking

BOW = 0.25
"""Of step times difference of slopes, how far a curve may be off its chord."""


class ShortLoads:
    """Bounds how far accelerations of slips may be off a straight line within a step.

    Parameters
    ----------
    sticking
        Which slips.
    """

    def __init__(self, sticking: Sticking) -> None:
        self.sticking, dynamics = sticking, sticking.dynamics
        acting = ca.vertcat(dynamics.force, sticking.carried)
        self._count = dynamics.force.numel()
        slopes = ca.densify(ca.jacobian(acting, dynamics.t))
        self.timed = slopes.nnz() > 0 and not slopes.is_zero()
        arguments, names = [dynamics.t, dynamics.x, dynamics.p], (["t", "x", "p"], ["slopes"])
        self._slopes = function_of("slopes_in_time", arguments, [slopes], names)

    def bow(self, times: tuple[float, float], states: np.ndarray, p: np.ndarray) -> float:
        """Return by how much accelerations of slips may be off their chord, m/s^2.

        Parameters
        ----------
        times
            The ends of the step, s.
        states
            (k, nx) the states at some of its times.
        p
            The values.
        """
        if not self.timed:
            return 0.0
        low, high = states.min(axis=0), states.max(axis=0)
        first, last = np.array(times[:1]), np.array(times[1:])
        found = np.array(enclosed(self._slopes, [first, low, p], [last, high, p]))
        with np.errstate(invalid="ignore"):
            widths = BOW * (times[1] - times[0]) * (found[:, 1] - found[:, 0])
        if not np.all(np.isfinite(widths)):
            return np.inf
        pushes = self.sticking.pushes(times[0], states[0], p)
        pushed = float(np.max(pushes @ widths[: self._count], initial=0.0))
        return pushed + float(np.max(widths[self._count :], initial=0.0))

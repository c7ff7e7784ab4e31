"""Bounds for short loads on a held body, between two evaluations.

A load that exceeds the friction limit only between two evaluations would go unnoticed. The slope of
the acting forces is therefore enclosed over the whole step: if it lies between two numbers, the
forces deviate from their chord by at most a quarter of their difference times the step.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daesolve.contact.friction.state_functions import state_function
from daesolve.contact.friction.sticking import StickingSearch
from daesolve.core.expressions.enclosures import enclosed

BOW = 0.25
"""The deviation of a curve from its chord, relative to the step times the difference of slopes."""
ROUNDING = 1e-12
"""The excess over the limit, relative to the effect of loads without friction, due to rounding."""


class ShortLoads:
    """Bounds how far accelerations of slips deviate from a straight line within a step.

    Parameters
    ----------
    sticking
        The sticking slips.
    """

    def __init__(self, sticking: StickingSearch) -> None:
        self.sticking, dynamics = sticking, sticking.dynamics
        # The effect of reactions and friction coefficients counts as much as their forces.
        acting = ca.vertcat(dynamics.force, ca.vec(dynamics.influence), sticking.carried)
        self._shape = dynamics.influence.shape
        self._count = dynamics.force.numel()
        slopes = ca.densify(ca.jacobian(acting, dynamics.t))
        self.timed = slopes.nnz() > 0 and not slopes.is_zero()
        self._slopes = state_function(dynamics, "slopes_in_time", {"slopes": slopes})

    def bow(self, times: tuple[float, float], states: np.ndarray, p: np.ndarray) -> float:
        """Return the deviation of slip accelerations from their chord beyond rounding, m/s^2.

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
        borne = self._count + self._shape[0] * self._shape[1]
        force = self.sticking.dynamics.matrices(times[0], states[0], p)["force"]
        turned = widths[self._count : borne].reshape(self._shape, order="F").sum(axis=1)
        loads = widths[: self._count] + turned * float(np.max(np.abs(force)))
        carried = float(np.max(widths[borne:], initial=0.0))
        rounding = float(np.max(pushes @ np.abs(force).ravel(), initial=0.0)) * ROUNDING
        return float(np.max(pushes @ loads, initial=0.0)) + carried - rounding

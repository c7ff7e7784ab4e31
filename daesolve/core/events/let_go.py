"""Which unilateral goals must let go of a state that a reset or a step of inputs has set.

A closed one holds its gap at zero, and its slip while it sticks. A kick changes velocities, and
a belt that jumps changes the slip: what no longer holds is released, and its law then
decides on the velocities as they are.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daesolve.core.events.jumps import LEFT_OVER
from daesolve.core.events.law import Setting
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.posing.symbols import velocity_name


class LettingGo:
    """Says what a state has left of what the unilateral goals of a system hold.

    Parameters
    ----------
    setting
        The problem.

    Attributes
    ----------
    gap_limits, gap_rate_limits, slip_limits
        (n,) what constraints may leave of gaps, m, of their rates and of slips, m/s.
    """

    def __init__(self, setting: Setting) -> None:
        dynamics = setting.dynamics
        ones, rows = dynamics.unilateral, dynamics.rows
        t, x, p = dynamics.t, dynamics.x, dynamics.p
        self._holds = [row.hold for row in ones]
        gaps, rates = (
            ca.densify(ca.vertcat(*[rows[row.row].chain[k] for row in ones])) for k in (0, 1)
        )
        self._gaps = Evaluator(ca.Function("gaps", [t, x, p], [gaps]))
        self._rates = Evaluator(ca.Function("rates", [t, x, p], [rates]))

        def limits(names: list[str]) -> np.ndarray:
            return LEFT_OVER * np.array([setting.scales.get(name, 1.0) for name in names])

        names = [row.name for row in ones]
        self.gap_limits = limits(names)
        self.gap_rate_limits = limits([velocity_name(name) for name in names])
        # What does not rub has no slip to hold.
        slips = [row.slips[0] if row.slips else row.row for row in ones]
        self.slip_limits = limits([rows[place].name for place in slips])

    def apart(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return whose gap is open, as far as constraints hold it at zero, (n,).

        Parameters
        ----------
        time, x, p
            When (s), the states of the equations, and the values.
        """
        return np.asarray(self._gaps(time, x, self._closed(p))[0] > self.gap_limits)

    def leaves(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return whose gap is open or has a rate; arguments as in `apart`."""
        rates = self._rates(time, x, self._closed(p))[0]
        return self.apart(time, x, p) | self.parts(rates)

    def _closed(self, p: np.ndarray) -> np.ndarray:
        everything = p.copy()
        everything[self._holds] = 1.0
        return everything

    def parts(self, rates: np.ndarray) -> np.ndarray:
        """Return whose gap has a rate, m/s, that no constraint leaves, (n,)."""
        return np.asarray(np.abs(rates) > self.gap_rate_limits)

    def slides(self, speeds: np.ndarray) -> np.ndarray:
        """Return whose slip has a speed, m/s, that no constraint leaves, (n,)."""
        return np.asarray(speeds > self.slip_limits)

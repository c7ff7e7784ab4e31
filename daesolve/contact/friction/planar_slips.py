"""The slips in the plane of the supports of guides, and their gradients."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.contact.posing.guides import Guides
from daesolve.core.equations.dynamics import Dynamics


def linear_function(dynamics: Dynamics, name: str, slips: ca.SX) -> ca.Function:
    """Return (t, x, p) -> slips and their gradients by the velocities."""
    slopes = ca.jacobian(slips, dynamics.velocities)
    return dynamics.function(name, slips, slopes)


class PlanarSlips:
    """The slips of supports in the plane, whose senses are discrete values.

    Parameters
    ----------
    dynamics, guides
        The equations, and their guides.
    """

    def __init__(self, dynamics: Dynamics, guides: Guides) -> None:
        self.dynamics = dynamics
        planar = [support for support in guides.rubbing if support.sense is not None]
        self.expression = ca.vertcat(ca.SX(0, 1), *[support.slip for support in planar])
        self.senses = [support.sense.name() for support in planar if support.sense is not None]
        """The names of the values that hold their senses."""

    def at(self, time: float, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the slips, m/s, and their gradients by the velocities: (k,) and (k, nv)."""
        slips, slopes = self._function(time, x, p)
        return np.asarray(slips).ravel(), np.asarray(slopes)

    @cached_property
    def _function(self) -> ca.Function:
        return linear_function(self.dynamics, "planar", self.expression)

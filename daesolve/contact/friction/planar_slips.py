"""The slips in the plane of guides and of laws of friction with them, and their gradients."""

from __future__ import annotations

from collections.abc import Collection
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
        self.expression = ca.vertcat(ca.SX(0, 1), *[slip for slip, _ in guides.lines])
        self.senses = [sense.name() for _, sense in guides.lines]
        """The names of the values that hold their senses."""
        self._rests = {brake.sense.name(): brake.rests.name() for brake in guides.brakes}

    def braked(
        self, p: np.ndarray, *, at_rest: bool, among: Collection[str] | None = None
    ) -> np.ndarray:
        """Return p with what laws of friction bear at rest, or while they slide.

        Parameters
        ----------
        p, at_rest
            The values, and which of both.
        among
            The senses of slips whose laws are meant; None means all.
        """
        if not self._rests:
            return p
        values, names = p.copy(), list(self.dynamics.values)
        for sense, name in self._rests.items():
            if among is None or sense in among:
                values[names.index(name)] = float(at_rest)
        return values

    def bearing(self, *, at_rest: bool) -> dict[str, float]:
        """Return the values for all by name."""
        return dict.fromkeys(self._rests.values(), float(at_rest))

    def at(self, time: float, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the slips, m/s, and their gradients by the velocities: (k,) and (k, nv)."""
        slips, slopes = self._function(time, x, p)
        return np.asarray(slips).ravel(), np.asarray(slopes)

    @cached_property
    def _function(self) -> ca.Function:
        return linear_function(self.dynamics, "planar", self.expression)

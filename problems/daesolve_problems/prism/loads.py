"""The complementarity problems of the prism under any load across its guide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import daesolve as ds
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.complementarity.properties import frictionless_sign
from daesolve.typing import BoundCase, VariantState
from daesolve_problems.prism.guide import sliding, start_states


@dataclass(frozen=True, eq=False)
class Loads:
    """The complementarity problem as a function of the force and the moment.

    Parameters
    ----------
    state
        Where the prism is, under the load of its case.
    unloaded
        The problem without a load across the guide.
    by_force, by_moment
        (2,) what 1 N and 1 N m add to its right-hand side.
    """

    state: VariantState
    unloaded: HorizontalComplementarity
    by_force: np.ndarray
    by_moment: np.ndarray

    def at(self, force_y: float, moment: float) -> HorizontalComplementarity:
        """Return the problem of a load (N, N m)."""
        added = force_y * self.by_force + moment * self.by_moment
        return self.unloaded.under(self.unloaded.load + added)

    def acceleration(self, reactions: np.ndarray) -> float:
        """Return x'' in m/s^2, on which the load acts through the reactions (2,) alone."""
        return float(self.state.accelerations(reactions)[0])


def loads(case: BoundCase) -> Loads:
    """Return the problems at the start of a case, which are linear in the load.

    Raises
    ------
    FrictionlessIllPosed
        The supports do not hold the prism in every variant, even without friction.
    """
    system = case.system
    assert isinstance(system, ds.MechanicalSystem)
    states, direction = start_states(case), {"x_dot": sliding(case).slip_sign}

    def under(**load: float) -> VariantState:
        problem = ds.friction.variant_problem(system, {**case.values, **load})
        return problem.at(states, direction=direction)

    unloaded, pushed, turned = (
        under(force_y=force_y, moment=moment).complementarity
        for force_y, moment in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))
    )
    frictionless_sign(unloaded)
    return Loads(under(), unloaded, pushed.load - unloaded.load, turned.load - unloaded.load)

"""Constraints on accelerations; the multipliers are algebraic unknowns of index 1."""

from __future__ import annotations

from dataclasses import dataclass, field

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.formulations.multipliers import FreeMotion, WithMultipliers
from daesolve.core.formulations.problem import DaeProblem
from daesolve.core.formulations.rates import (
    Rate,
    Rates,
    check_rates,
    common_rate,
    constraint_rates,
    measured,
    refuse_rates,
    with_single,
)


@dataclass(frozen=True)
class Index1(WithMultipliers):
    """Every goal is differentiated until accelerations appear, with Baumgarte stabilisation.

    Parameters
    ----------
    rate
        The rate of every goal in 1/s. With None or zero, errors of position and velocity grow;
        "auto" determines the rate by a short run without feedback.
    rates
        Rates of single goals.
    """

    rate: Rate = None
    rates: Rates = field(default_factory=dict[str, float | None])
    name = "index-1"
    makes = "index-1"

    def __post_init__(self) -> None:
        check_rates(self.rate, self.rates)

    def chosen_rates(self, dynamics: Dynamics, default: float) -> dict[str, float | None]:
        """Return the rate of each goal; invariants of velocities are measured.

        Raises
        ------
        UnsupportedError
            A rate is given for such an invariant.
        """
        idle = [r.name for r in dynamics.invariants if r.on == "velocities" and not r.by_relation]
        refuse_rates(self.name, self.rates, idle, "which drives no invariants of velocities")
        common = common_rate(self.rate, default if self.rate == "auto" else 0.0)
        chosen = measured(dynamics, default) | constraint_rates(dynamics.rows, common)
        return with_single(chosen, self.rates)

    def _constrained(self, motion: FreeMotion) -> DaeProblem:
        return motion.constrained(self.makes, motion.on_accelerations())

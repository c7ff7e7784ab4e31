"""Regularised friction, with the slip V replaced by V / sqrt(V^2 + speed^2).

Friction fades below this speed, and nothing is ever at rest: a body creeps under any load, however
small, at a speed proportional to the regularisation speed. Free, fast sliding hardly changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.formulations.feedback import Feedback
from daesolve.core.formulations.formulation import Elimination, Formulation
from daesolve.core.formulations.problem import OdeProblem
from daesolve.core.formulations.rates import Rate, Rates, check_rates
from daesolve.errors import OutOfRangeError, UnsupportedError, is_number


@runtime_checkable
class FadingFriction(Protocol):
    """What a feature adds whose friction can fade at low speed."""

    def faded_values(self, speed: float) -> dict[str, float]:
        """Return the values of a run whose friction fades below a slip, m/s."""
        ...

    def faded(self, dynamics: Dynamics) -> Dynamics:
        """Return the equations with friction that fades, and without events that it rules out."""
        ...


@dataclass(frozen=True)
class Regularised(Formulation):
    """Feedback, with the friction of supports fading at low speed.

    Parameters
    ----------
    speed
        The slip below which friction fades, m/s. It is a value of the run and does not shape the
        functions. The equations become as stiff as friction over mass and this speed.
    rate, rates
        As in `Feedback`.
    """

    speed: float = 1e-3
    rate: Rate = None
    rates: Rates = field(default_factory=dict[str, float | None])
    name = "regularised"
    parameters_of_functions = ("speed", "rate", "rates")
    number = "speed"
    stiff = True
    solved_best_by = ("lsoda", "because regularised friction is stiff only at low speed")

    def __post_init__(self) -> None:
        if not is_number(self.speed) or self.speed <= 0.0:
            raise OutOfRangeError(
                f"regularised: speed is {self.speed!r}, but must be a number > 0, in m/s"
            )
        check_rates(self.rate, self.rates)

    def values(self, dynamics: Dynamics) -> dict[str, float]:
        """Return the speed, if there are supports with friction."""
        values: dict[str, float] = {}
        for addition in _fading(dynamics):
            values |= addition.faded_values(float(self.speed))
        return values

    def chosen_rates(self, dynamics: Dynamics, default: float) -> dict[str, float | None]:
        """Return the rate of each goal, as `Feedback` does."""
        return Feedback(self.rate, self.rates).chosen_rates(dynamics, default)

    def problem(self, elimination: Elimination) -> OdeProblem:
        """Build the functions; see `Formulation.problem`.

        Raises
        ------
        UnsupportedError
            The system has no pairs of supports, to whose friction this applies.
        """
        dynamics = elimination.dynamics
        fading = _fading(dynamics)
        if not fading:
            raise UnsupportedError(
                "regularised applies to the friction of pairs of supports, but the system has "
                "none; use feedback"
            )
        for addition in fading:
            dynamics = addition.faded(dynamics)
        return replace(Feedback().problem(replace(elimination, dynamics=dynamics)), stiff=True)


def _fading(dynamics: Dynamics) -> list[FadingFriction]:
    return [part for part in dynamics.additions if isinstance(part, FadingFriction)]

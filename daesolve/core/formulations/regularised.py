"""Regularised friction, with the slip V replaced by V / sqrt(V^2 + speed^2).

Friction fades below this speed, and nothing is ever at rest: a body creeps under any load, however
small, at a speed proportional to the regularisation speed. Free, fast sliding hardly changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.formulations.feedback import Feedback
from daesolve.core.formulations.formulation import Elimination, Formulation
from daesolve.core.formulations.problem import OdeProblem
from daesolve.core.formulations.rates import Rate, Rates, check_rates
from daesolve.core.posing.guides import AT_REST, OF_THEIR_OWN, SMOOTHING, Guides
from daesolve.errors import OutOfRangeError, UnsupportedError, is_number


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
        return {} if dynamics.guides is None else {SMOOTHING: float(self.speed)}

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
        if dynamics.guides is None:
            raise UnsupportedError(
                "regularised applies to the friction of pairs of supports, but the system has "
                "none; use feedback"
            )
        smooth = _smoothed(dynamics, dynamics.guides)
        return replace(Feedback().problem(replace(elimination, dynamics=smooth)), stiff=True)


def _smoothed(dynamics: Dynamics, guides: Guides) -> Dynamics:
    """Return the equations without a stop, with smooth slip directions in the plane."""
    faded = [
        (s.sense, s.slip / ca.sqrt(s.slip**2 + guides.smoothing**2))
        for s in guides.rubbing
        if s.sense is not None
    ]
    senses = ca.vertcat(ca.SX(0, 1), *[sense for sense, _ in faded])
    smooth = ca.vertcat(ca.SX(0, 1), *[slip for _, slip in faded])

    def written(expression: ca.SX) -> ca.SX:
        return ca.substitute(expression, senses, smooth)

    never = {AT_REST, *OF_THEIR_OWN}
    return replace(
        dynamics,
        influence=written(dynamics.influence),
        events=tuple(
            replace(event, guard=ca.SX.ones(event.count, 1))
            if event.name in never
            else replace(event, guard=written(event.guards))
            for event in dynamics.events
        ),
        outputs={name: written(value) for name, value in dynamics.outputs.items()},
        recovered={name: written(value) for name, value in dynamics.recovered.items()},
        meters={name: (written(power), unit) for name, (power, unit) in dynamics.meters.items()},
    )

"""Maggi's equations in independent velocities, with Tatarinov's brackets by differentiation.

    v = Z w + v0,  (Z^T M Z) w' = Z^T (h - M (Z' w + v0'))

Constraints on velocities hold exactly, ideal reactions drop out. G. A. Maggi, Principii della
teoria matematica del movimento dei corpi (1896); Ya. V. Tatarinov, Equations of classical
mechanics in a new form, Moscow Univ. Mech. Bull. 58 (2003) 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics, InvariantRow
from daesolve.core.equations.elimination.saddle import Saddle
from daesolve.core.expressions.linear import solve_definite, solve_small
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations.charts import IndependentVelocities
from daesolve.core.formulations.feedback import Feedback
from daesolve.core.formulations.formulation import Elimination, Formulation
from daesolve.core.formulations.problem import OdeProblem, Watched
from daesolve.core.formulations.rates import Rate, Rates, check_rates, refuse_rates
from daesolve.core.posing.symbols import symbol
from daesolve.errors import NoFreedomError, UnsupportedError


@dataclass(frozen=True)
class NullSpace(Formulation):
    """Only independent velocities: those given by the problem (`independent=`), or chosen ones.

    Parameters
    ----------
    rate
        The rate of goals on positions and of driven invariants in 1/s. "auto" determines it by a
        short run; None uses the case's rate, or 10.
    rates
        Rates of single goals; None or zero: measured, not driven.
    """

    rate: Rate = None
    rates: Rates = field(default_factory=dict[str, float | None])
    name = "null-space"

    def __post_init__(self) -> None:
        check_rates(self.rate, self.rates)

    def chosen_rates(self, dynamics: Dynamics, default: float) -> dict[str, float | None]:
        """Return the rate of each goal; constraints on velocities need none.

        Raises
        ------
        UnsupportedError
            A rate is given for such a constraint.
        """
        exact = [row.name for row in dynamics.rows if row.degree == 1]
        refuse_rates(self.name, self.rates, exact, "where constraints on velocities hold exactly")
        chosen = Feedback(self.rate, self.rates).chosen_rates(dynamics, default)
        return chosen | dict.fromkeys(exact)

    def problem(self, elimination: Elimination) -> OdeProblem:
        """Build the functions; see `Formulation.problem`.

        Raises
        ------
        UnsupportedError
            Reactions are not ideal, a goal is not linear in the velocities, or constraints may
            lose rank.
        PosingError
            The problem gives too many or too few independent velocities.
        NoFreedomError
            The constraints leave no independent velocities.
        """
        dynamics = elimination.dynamics
        saddle = Saddle(dynamics, elimination.plan)
        _refuse(dynamics, saddle)
        base = Feedback().problem(elimination)
        if dynamics.velocity_count <= len(dynamics.rows):
            raise NoFreedomError(
                "null-space integrates independent velocities, but the constraints leave none; "
                "use feedback"
            )
        independent = IndependentVelocities.of(dynamics, saddle)
        # Use both indices: for a single number CasADi makes [:0] a row.
        positions = dynamics.x[: dynamics.position_count, :]
        w = symbol("w", independent.count)
        still = ca.SX.zeros(dynamics.velocity_count)
        velocities = independent.solve(
            [-ca.substitute(row.chain[-1], dynamics.velocities, still) for row in dynamics.rows],
            w - independent.offset,
        )
        works = elimination.works
        x = ca.vertcat(positions, w, works)
        states = ca.vertcat(positions, velocities)
        arguments = [dynamics.t, x, independent.p]
        whole = [dynamics.t, ca.vertcat(states, works), dynamics.p]
        names = ["t", "x", "p"]
        rate = ca.vertcat(
            _rate(elimination, independent),
            base.rhs.call(whole)[0][base.size - len(dynamics.meters) :, :],
        )

        def of_states(function: ca.Function) -> ca.Function:
            outputs = function.call(whole)
            return function_of(function.name(), arguments, outputs, (names, function.name_out()))

        event = independent.event()
        guards = [base.guards.call(whole)[0]]
        if event is not None:
            guards.append(ca.substitute(event.guards, dynamics.velocities, velocities))
        return replace(
            base,
            size=x.numel(),
            values=independent.values,
            rhs=function_of(
                "rhs",
                arguments,
                [ca.substitute(rate, dynamics.velocities, velocities)],
                (names, ["rate"]),
            ),
            recover=of_states(base.recover),
            residuals=of_states(base.residuals),
            guards=function_of("guards", arguments, [ca.vertcat(*guards)], (names, ["g"])),
            watched=_exact(dynamics, base.watched),
            events=base.events if event is None else (*base.events, event),
            chart=independent.chart(base, w, velocities),
            equations=None,  # The base's labels describe other states.
        )


def _refuse(dynamics: Dynamics, saddle: Saddle) -> None:
    """Refuse systems for which the null space cannot be used."""
    others = "use feedback, or index-1 with its own solver"
    if saddle.plan.proximal:
        raise UnsupportedError(
            "null-space needs independent constraints everywhere, and cannot pass where they lose "
            f"rank or are redundant; {others}"
        )
    own = all(row.reaction is not None for row in dynamics.rows)
    if not own or dynamics.relations or not saddle.symmetric:
        raise UnsupportedError(
            "null-space needs ideal reactions, which drop out of its equations; here forces or "
            f"relations direct them: {others}"
        )
    for row in dynamics.rows:
        if ca.depends_on(row.jacobian, dynamics.velocities):
            raise UnsupportedError(
                f"null-space needs goals that are linear in the velocities, and {row.name!r} is "
                f"not; {others}"
            )


def _rate(elimination: Elimination, independent: IndependentVelocities) -> ca.SX:
    """Return the rates of positions, w and works on invariants, as functions of all states."""
    dynamics = elimination.dynamics
    bias = _time_derivative(dynamics, independent.matrix @ dynamics.velocities + independent.offset)
    drift = independent.solve([-row.bias for row in dynamics.rows], -bias)
    # Z^T M Z = G^-1 and Z = Y G^-1, so G Z^T = Y^T: no matrix remains to be inverted.
    push = independent.directions.T @ (dynamics.force - dynamics.mass @ drift)
    push = push - _correction(dynamics, elimination.driven_invariants, independent)
    basis = independent.directions @ solve_definite(independent.gram, ca.SX.eye(independent.count))
    accelerations = drift + basis @ push
    back = independent.solve(
        [-row.rate * row.chain[-2] if row.degree > 1 else ca.SX(0) for row in dynamics.rows],
        ca.SX(independent.count, 1),
    )
    positions = ca.substitute(
        dynamics.position_rates, dynamics.velocities, dynamics.velocities + back
    )
    works = [r.bias + r.jacobian @ accelerations for r in elimination.metered_invariants]
    return ca.vertcat(positions, push, *works)


def _time_derivative(dynamics: Dynamics, expression: ca.SX) -> ca.SX:
    """Differentiate along the motion with v held constant."""
    moving = ca.vertcat(dynamics.x[: dynamics.position_count, :], dynamics.t)
    return ca.jtimes(expression, moving, ca.vertcat(dynamics.position_rates, 1.0))


def _correction(
    dynamics: Dynamics, driven: list[InvariantRow], independent: IndependentVelocities
) -> ca.SX:
    """Sum rate * error along the reduced metric gradients, for all invariants at once."""
    if not driven:
        return ca.SX(independent.count, 1)
    slopes = ca.vertcat(*[row.jacobian for row in driven])
    pushes = ca.vertcat(*[dynamics.pushed_gradient(row) for row in driven])
    # (Z^T M Z)^-1 Z^T is Y^T, the metric gradient of each in w.
    directions = independent.directions.T @ pushes.T
    gram = (slopes @ independent.directions) @ solve_definite(independent.gram, directions)
    gram = gram + ca.diag(ca.vertcat(*[row.floor for row in driven]))
    errors = ca.vertcat(*[row.rate * (row.value - row.reference) for row in driven])
    return directions @ solve_small(gram, errors)


def _exact(dynamics: Dynamics, watched: tuple[Watched, ...]) -> tuple[Watched, ...]:
    """Mark the constraints on velocities as exact by construction."""
    held = {[*row.links][-1] for row in dynamics.rows}
    return tuple(
        replace(entry, driven=True, rate=None) if entry.name in held else entry for entry in watched
    )

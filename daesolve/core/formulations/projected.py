"""Metric projection back to the constraints, after each step or each segment.

Positions move by S w, velocities by dv, both minimal in the metric of the mass matrix,

    M w = J^T mu,  J w = -g;        M dv = J^T nu,  J dv = -(J v + b),

driven invariants along their metric gradients. E. Hairer, C. Lubich, G. Wanner, Geometric
Numerical Integration, IV.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics, InvariantRow
from daesolve.core.equations.elimination.saddle import Saddle
from daesolve.core.expressions.linear import solve_small
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations.feedback import Feedback
from daesolve.core.formulations.formulation import Elimination, Formulation
from daesolve.core.formulations.problem import OdeProblem, as_driven
from daesolve.core.formulations.rates import Rate, Rates
from daesolve.core.posing.symbols import symbol
from daesolve.errors import UnsupportedError

SWEEPS = 2
"""Newton steps of each projection; after a step of the solver, the first squares the error."""
REST = 1e-3
"""Fraction of an invariant's floor in feedback; nearer to rest its gradient vanishes and it is
skipped."""


@dataclass(frozen=True)
class Projected(Formulation):
    """Another formulation with projection: after each step, or each segment of multistep solvers.

    Parameters
    ----------
    inner
        The formulation to project; by default feedback, because errors would grow between the
        projections of a multistep method. An invariant whose rate is switched off is not projected.
    """

    inner: Formulation = field(default_factory=Feedback)
    name = "projected"
    wraps = ("inner", Feedback.name)
    projects = True

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Formulation) or isinstance(self.inner, Projected):
            raise UnsupportedError(
                f"projected wraps another formulation, such as Feedback(), not {self.inner!r}"
            )

    @property
    def form(self) -> str:
        """The form of the inner formulation."""
        return self.inner.form

    @property
    def chooses_goals(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the inner formulation chooses goals."""
        return self.inner.chooses_goals

    @property
    def releases(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the inner formulation releases constraints."""
        return self.inner.releases

    @property
    def common_rate(self) -> Rate:
        """The common rate of the inner formulation."""
        return self.inner.common_rate

    @property
    def single_rates(self) -> Rates:
        """The single rates of the inner formulation."""
        return self.inner.single_rates

    @property
    def shape(self) -> tuple[object, ...]:
        """The shape of the inner formulation, and the goals whose rates are switched off."""
        return (type(self), *self.inner.shape, *sorted(self._off))

    @property
    def _off(self) -> set[str]:
        return {goal for goal, rate in self.single_rates.items() if not rate}

    def values(self, dynamics: Dynamics) -> dict[str, float]:
        """Return the values of the inner formulation."""
        return self.inner.values(dynamics)

    def notes(self, dynamics: Dynamics) -> tuple[str, ...]:
        """Return the notes of the inner formulation."""
        return self.inner.notes(dynamics)

    def chosen_rates(self, dynamics: Dynamics, default: float) -> dict[str, float | None]:
        """Return the rates of the inner formulation."""
        return self.inner.chosen_rates(dynamics, default)

    def problem(self, elimination: Elimination) -> OdeProblem:
        """Build the functions; see `Formulation.problem`.

        Raises
        ------
        UnsupportedError
            The inner formulation has its own coordinates, or the system has no mass matrix.
        """
        dynamics = elimination.dynamics
        inner = self.inner.problem(elimination)
        if inner.chart is not None:
            raise UnsupportedError(
                "null-space already fulfils the constraints on velocities; project feedback or "
                "index-1 instead"
            )
        if not dynamics.position_count:
            raise UnsupportedError(
                "projected moves a state in the metric of the mass matrix, which a control "
                "system does not have; use feedback"
            )
        saddle = Saddle(dynamics.ideal(), elimination.plan)
        invariants = [
            row
            for row in dynamics.invariants
            if row.drive and elimination.conserved[row.name] and row.name not in self._off
        ]
        held = {name for row in dynamics.rows for name in row.links}
        held |= {row.name for row in (*dynamics.implicit_rows, *invariants)}
        project = _projection(dynamics, saddle, invariants, inner.size)
        return replace(inner, project=project, watched=as_driven(inner.watched, held))


def _projection(
    dynamics: Dynamics, saddle: Saddle, invariants: list[InvariantRow], size: int
) -> ca.Function:
    """Compose the sweeps: positions, velocities, invariants."""
    moves = [_moved_positions(dynamics, saddle), _moved_velocities(dynamics, saddle)]
    slow = [row for row in invariants if row.on == "positions"]
    fast = [row for row in invariants if row.on == "velocities"]
    if slow:
        moves.insert(1, _moved_by_positions(dynamics, slow))
    if fast:
        moves.append(_moved_along(dynamics, saddle, fast))
    steps = [dynamics.function("move", moved) for moved in moves]
    x = symbol("x", size)
    visible = dynamics.x.numel()
    states = x[:visible]
    for step in steps:
        for _ in range(SWEEPS):
            states = step(dynamics.t, states, dynamics.p)
    result = ca.vertcat(states, x[visible:])
    names = (["t", "x", "p"], ["projected"])
    return function_of("project", [dynamics.t, x, dynamics.p], [result], names)


def _moved_positions(dynamics: Dynamics, saddle: Saddle) -> ca.SX:
    """Return the state after a Newton step of the positions, implicit unknowns included."""
    nothing = ca.SX(dynamics.velocity_count, 1)
    targets = [-row.chain[-2] if row.degree > 1 else ca.SX(0) for row in dynamics.rows]
    w, _ = saddle.solve(nothing, targets, [])
    rates = ca.vertcat(ca.SX(0, 1), *[row.rate for row in dynamics.implicit_rows])
    tracking = ca.substitute(dynamics.position_rates, rates, ca.SX.ones(rates.shape))
    resting = ca.substitute(dynamics.position_rates, rates, ca.SX.zeros(rates.shape))
    moved = ca.substitute(tracking, dynamics.velocities, ca.densify(w))
    still = ca.substitute(resting, dynamics.velocities, ca.SX.zeros(nothing.shape))
    positions = dynamics.x[: dynamics.position_count]
    return ca.vertcat(positions + moved - still, dynamics.velocities)


def _moved_by_positions(dynamics: Dynamics, invariants: list[InvariantRow]) -> ca.SX:
    """Return the state after a Newton step of invariants of positions, such as unit quaternions."""
    positions = dynamics.x[: dynamics.position_count]
    moved = positions
    for row in invariants:
        gradient = ca.gradient(row.value, positions)
        moved = moved - (row.value - row.reference) * gradient / ca.sumsqr(gradient)
    return ca.vertcat(moved, dynamics.velocities)


def _moved_velocities(dynamics: Dynamics, saddle: Saddle) -> ca.SX:
    """Return the state after a Newton step of the velocities."""
    nothing = ca.SX(dynamics.velocity_count, 1)
    moved, _ = saddle.solve(nothing, [-row.chain[-1] for row in dynamics.rows], [])
    positions = dynamics.x[: dynamics.position_count]
    return ca.vertcat(positions, dynamics.velocities + moved)


def _moved_along(dynamics: Dynamics, saddle: Saddle, invariants: list[InvariantRow]) -> ca.SX:
    """Return the state after a Newton step of the invariants within the constraints."""
    still = [ca.SX(0)] * len(dynamics.rows)
    directions = [saddle.solve(dynamics.pushed_gradient(row).T, still, [])[0] for row in invariants]
    gram = ca.vertcat(*[ca.horzcat(*[row.jacobian @ d for d in directions]) for row in invariants])
    # At rest the gradient vanishes; the invariant cannot be corrected there and need not be.
    floors = ca.vertcat(*[REST * row.floor for row in invariants])
    errors = ca.vertcat(*[row.value - row.reference for row in invariants])
    step = ca.horzcat(*directions) @ solve_small(gram + ca.diag(floors), errors)
    positions = dynamics.x[: dynamics.position_count]
    return ca.vertcat(positions, dynamics.velocities - step)

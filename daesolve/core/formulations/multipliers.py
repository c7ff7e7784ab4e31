"""Common parts of the formulations with multipliers: M v' = h + B u with u among the unknowns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.linear import solve_definite
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations.feedback import Feedback, target
from daesolve.core.formulations.formulation import Elimination, Formulation
from daesolve.core.formulations.problem import DaeProblem, OdeProblem, as_driven
from daesolve.core.formulations.rates import measured
from daesolve.core.posing.symbols import symbol
from daesolve.errors import UnsupportedError


@dataclass(frozen=True, eq=False)
class FreeMotion:
    """A system with its reactions among the unknowns, before constraints are chosen.

    Parameters
    ----------
    dynamics
        The equations.
    base
        The same motion with the reactions eliminated.
    accelerations
        v' as an expression of (t, x, u, p).
    metered
        The rates of the work integrals.
    """

    dynamics: Dynamics
    base: OdeProblem
    accelerations: ca.SX
    metered: ca.SX

    def on_accelerations(self) -> list[ca.SX]:
        """Return J v' minus its required value, for each goal."""
        return [row.jacobian @ self.accelerations - target(row) for row in self.dynamics.rows]

    def relations(self) -> list[ca.SX]:
        """Return the residuals of the relations between reactions."""
        dynamics = self.dynamics
        return [row.jacobian @ dynamics.reactions + row.offset for row in dynamics.relations]

    def _let_go(self, constraints: Sequence[ca.SX], z: ca.SX) -> list[ca.SX]:
        """Return the constraints; for a released one, the condition that its multiplier is zero.

        Parameters
        ----------
        constraints
            One for each goal, which has its `hold`; then those of the stabilisers.
        z
            The reactions, then the stabilisers.
        """
        dynamics, count = self.dynamics, self.dynamics.reactions.numel()
        stabilised = [row for row in dynamics.rows if row.degree > 1]
        places = [row.reaction for row in dynamics.rows]
        places += [count + k for k in range(len(stabilised))]
        found = list[ca.SX]()
        # Further constraints follow only if there are stabilisers.
        for constraint, row, place in zip(
            constraints, [*dynamics.rows, *stabilised], places, strict=False
        ):
            if row.hold is None or place is None:
                found.append(constraint)
            else:
                found.append(constraint - (1.0 - row.hold) * z[place])
        return found

    def constrained(
        self,
        form: str,
        constraints: Sequence[ca.SX],
        *,
        imposed: Collection[str] = (),
        velocity_index: int = 1,
        multiplier_index: int = 1,
        surplus: Sequence[ca.SX] = (),
        stabilisers: Sequence[tuple[str, ca.SX]] = (),
        position_rates: ca.SX | None = None,
    ) -> DaeProblem:
        """Build the problem.

        Parameters
        ----------
        form
            One of `FORMS`.
        constraints
            One for each goal, which must be zero; further ones for the stabilisers.
        imposed
            The names of the residuals that these make zero.
        velocity_index, multiplier_index
            The indices of z and of what z acts on; of v and of the work integrals.
        surplus
            Further constraints, for overdetermined solvers.
        stabilisers
            Names and symbols of additional unknowns, which are zero in the exact motion.
        position_rates
            q' and s', if they differ from those of the dynamics.
        """
        dynamics, base = self.dynamics, self.base
        rates = dynamics.position_rates if position_rates is None else position_rates
        works = symbol("work", self.metered.numel())
        x = ca.vertcat(dynamics.x, works)
        z = ca.vertcat(dynamics.reactions, *[own for _, own in stabilisers])
        arguments = [dynamics.t, x, z, dynamics.p]
        names = ["t", "x", "z", "p"]
        residuals = ca.vertcat(ca.SX(0, 1), *self._let_go(constraints, z), *self.relations())
        fast = ca.vertcat(self.accelerations, self.metered)
        pushed = ca.jacobian(fast, dynamics.reactions).sparsity().row()
        inherited: dict[str, Any] = {e.name: getattr(base, e.name) for e in fields(base)}
        inherited["watched"] = as_driven(base.watched, imposed)
        return DaeProblem(
            **inherited,
            unknowns=(*dynamics.labels.reactions, *[name for name, _ in stabilisers]),
            differential=function_of(
                "differential",
                arguments,
                [ca.vertcat(rates, self.accelerations, self.metered)],
                (names, ["rate"]),
            ),
            algebraic=function_of("algebraic", arguments, [residuals], (names, ["residual"])),
            surplus=function_of(
                "surplus",
                [dynamics.t, x, dynamics.p],
                [ca.vertcat(ca.SX(0, 1), *surplus)],
                (["t", "x", "p"], ["residual"]),
            ),
            consistent=_consistent(base, dynamics.reactions.numel(), len(stabilisers)),
            form=form,
            indices=(
                *[1] * dynamics.position_count,
                *[velocity_index if k in pushed else 1 for k in range(fast.numel())],
                *[multiplier_index] * z.numel(),
            ),
        )


class WithMultipliers(Formulation):
    """A formulation with the reactions among the unknowns; the solver imposes the constraints."""

    releases = True

    def chosen_rates(self, dynamics: Dynamics, default: float) -> dict[str, float | None]:
        """Drive no goals: the solver imposes the constraints."""
        return measured(dynamics, default)

    def problem(self, elimination: Elimination) -> DaeProblem:
        """Build the functions; see `Formulation.problem`.

        Raises
        ------
        UnsupportedError
            Constraints may depend on each other, which leaves multipliers undetermined; or the
            formulation does not support such a system.
        """
        if elimination.plan.proximal:
            raise UnsupportedError(
                "multipliers are not determined where constraints lose rank or are redundant: "
                "use feedback, or drop redundant constraints (redundant = 'drop')"
            )
        base = Feedback().problem(elimination)
        dynamics = elimination.dynamics
        force = dynamics.force + dynamics.influence @ dynamics.reactions
        accelerations = solve_definite(dynamics.mass, force)
        powers = elimination.powers(accelerations)
        return self._constrained(FreeMotion(dynamics, base, accelerations, powers))

    @abstractmethod
    def _constrained(self, motion: FreeMotion) -> DaeProblem:
        """Return the problem with the conditions that the solver makes zero."""


def _consistent(base: OdeProblem, count: int, stabilisers: int) -> ca.Function:
    t, x, p = (base.rhs.sx_in(k) for k in range(3))
    reactions = base.recover(t, x, p)[1][:count]
    z = ca.vertcat(reactions, ca.SX.zeros(stabilisers))
    return function_of(
        "consistent", [t, x, p], [base.rhs(t, x, p), z], (["t", "x", "p"], ["rate", "z"])
    )

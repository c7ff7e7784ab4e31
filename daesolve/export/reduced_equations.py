"""Equations of motion in pseudo-velocities without reactions, and the reactions from them.

With v = Z w + z, M* = Z^T M Z and T* = T at that v, the pseudo-velocities w obey

    d/dt dL*/dw_a + {P_a, L*} = sum_b w_b {P_a, P_b} + Q_a                                    (1)

(Ya. V. Tatarinov, Equations of classical mechanics in a new form, Moscow Univ. Mech. Bull. 58
(2003) no. 3). P_a = p . X_a are the momenta along the directions X_a = S Z_a of w_a, {P_a, f} is
-X_a(f), and {P_a, P_b} = -p . [X_a, X_b] is evaluated at p = dL/dq'. If the kinematics or the
constraints contain time, or masses are given instead of an energy, the module uses Maggi's
equations,

    M* w' = Z^T (h - M (Z' w + z')).                                                          (2)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.identities import vanishes, vanishing
from daesolve.core.expressions.linear import is_zero
from daesolve.core.posing.symbols import symbol
from daesolve.core.system.free_motion import Kinematics, structure_of
from daesolve.core.system.posed import PosedControl, PosedMechanics
from daesolve.export.mode import InMode
from daesolve.export.pseudo_velocities import PseudoVelocities, pseudo_velocities
from daesolve.export.readable_expressions import collected, simplified, solved


@dataclass(frozen=True, eq=False)
class ReducedEquations:
    """The equations of motion in pseudo-velocities, as expressions of time, positions and w.

    Parameters
    ----------
    mode
        The mode in which they hold.
    pseudo
        The pseudo-velocities.
    rates
        Symbols of w', (K, 1).
    directions
        X, (nx, K); the rates of the positions are X w + x_0.
    position_rates
        X w + x_0.
    mass
        M*, (K, K).
    push
        The right-hand side of M* w' = push, (K, 1).
    lagrangian
        The parts of (1); None if (2) is used instead.
    integrals
        First integrals by name.
    reactions
        The reactions by name, in terms of time, positions, w and w'.
    """

    mode: InMode
    pseudo: PseudoVelocities
    rates: ca.SX
    directions: ca.SX
    position_rates: ca.SX
    mass: ca.SX
    push: ca.SX
    lagrangian: Lagrangian | None
    integrals: Mapping[str, ca.SX]
    reactions: Mapping[str, ca.SX]

    @property
    def positions(self) -> ca.SX:
        """The symbols of the positions."""
        dynamics = self.mode.dynamics
        return dynamics.x[: dynamics.position_count, :]

    @cached_property
    def accelerations(self) -> ca.SX:
        """The rates w' as functions of the state, (K, 1)."""
        return solved(self.mass, self.push, self.positions)


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """The parts of (1).

    Parameters
    ----------
    momenta
        dL*/dw, (K, 1).
    turning
        The rate of the momenta without the terms in w', (K, 1).
    slopes
        {P_a, L*}, (K, 1).
    brackets
        {P_a, P_b} at p = dL/dq', for a < b, where nonzero.
    forces
        Q, (K, 1).
    """

    momenta: ca.SX
    turning: ca.SX
    slopes: ca.SX
    brackets: Mapping[tuple[int, int], ca.SX]
    forces: ca.SX


def reduced_equations(
    system: PosedMechanics | PosedControl, dynamics: Dynamics, values: Mapping[str, float]
) -> ReducedEquations | None:
    """Return the equations of a system in pseudo-velocities; None if it has none.

    Parameters
    ----------
    system, dynamics
        The posed system, and its equations.
    values
        Parameters and discrete values by name that differ from their defaults; they decide
        everything that depends on a mode.

    Raises
    ------
    UnknownNameError
        There is no such value.
    """
    mode = InMode.of(dynamics, values)
    dynamics = mode.dynamics
    if isinstance(system, PosedControl) or not _ideal(dynamics):
        return None
    pseudo = pseudo_velocities(dynamics, mode.written, mode.numbers)
    if pseudo is None:
        return None
    return _Reduction(system, mode, pseudo).equations()


def _ideal(dynamics: Dynamics) -> bool:
    """Return whether all reactions act along the gradients of their goals, and drop out."""
    if dynamics.relations:
        return False
    count = dynamics.reactions.numel()
    own = [row for row in dynamics.rows if row.reaction is not None]
    rubbing = any(row.slips for row in dynamics.unilateral)
    if len(own) < len(dynamics.rows) or rubbing:
        return False
    places = [row.reaction for row in own]
    directed = [k for k in range(count) if k not in places]
    acting = ca.SX(ca.sparsify(dynamics.influence[:, directed]))
    return acting.nnz() == 0


class _Reduction:
    """Derives the equations of one system in one mode."""

    def __init__(self, system: PosedMechanics, mode: InMode, pseudo: PseudoVelocities) -> None:
        self.system, self.mode, self.pseudo = system, mode, pseudo
        dynamics = self.dynamics = mode.dynamics
        self.v, self.w = dynamics.velocities, pseudo.w
        self.positions = dynamics.x[: dynamics.position_count, :]
        self.velocities = pseudo.velocities
        rates = mode.written(dynamics.position_rates)
        self.position_rates = self.at(rates)
        self.directions = ca.jacobian(self.position_rates, self.w)
        self.mass_of_all = mode.written(dynamics.mass)

    def at(self, expression: ca.SX) -> ca.SX:
        """Substitute velocities in terms of pseudo-velocities in an expression."""
        # Use other names first: a pseudo-velocity may be one of the velocities.
        held = symbol("held", self.w.numel()) if self.w.numel() else ca.SX(0, 1)
        velocities = ca.densify(ca.substitute(self.velocities, self.w, held))
        return ca.substitute(ca.substitute(expression, self.v, velocities), held, self.w)

    def along(self, expressions: ca.SX) -> ca.SX:
        """Differentiate by time with w held constant."""
        moved = ca.jacobian(expressions, self.positions) @ self.position_rates
        return moved + ca.jtimes(expressions, self.dynamics.t, ca.SX(1))

    def tidy(self, column: ca.SX) -> ca.SX:
        """Sort expressions by powers of w."""
        return collected(ca.densify(column), self.w, self.positions)

    def equations(self) -> ReducedEquations:
        """Return the equations."""
        mode, pseudo, dynamics = self.mode, self.pseudo, self.dynamics
        basis = pseudo.basis
        mass = _mirrored(simplified(basis.T @ self.mass_of_all @ basis, self.positions))
        force = self.at(mode.written(dynamics.force))
        drift = self.along(self.velocities)  # Z' w + z'
        push = basis.T @ (force - self.mass_of_all @ drift)
        lagrangian = self._lagrangian(mass, push)
        if lagrangian is not None:
            push = self._sum(lagrangian)
        push = self.tidy(push)
        rates = ca.vertcat(ca.SX(0, 1), *[symbol(rate_name(name)) for name in pseudo.names])
        loads = pseudo.loads.T @ (self.mass_of_all @ (basis @ rates + drift) - force)
        names = [
            dynamics.labels.reactions[row.reaction]
            for row in dynamics.rows
            if row.reaction is not None
        ]
        both = ca.vertcat(self.w, rates)
        return ReducedEquations(
            mode=mode,
            pseudo=pseudo,
            rates=rates,
            directions=self.directions,
            position_rates=self.tidy(self.position_rates),
            mass=mass,
            push=push,
            lagrangian=lagrangian,
            integrals=self._integrals(lagrangian),
            reactions=dict(
                zip(
                    names,
                    ca.vertsplit(collected(ca.densify(loads), both, self.positions)),
                    strict=True,
                )
            ),
        )

    def _lagrangian(self, mass: ca.SX, push: ca.SX) -> Lagrangian | None:
        """Return the parts of (1); None if (2) must be used."""
        system, dynamics = self.system, self.dynamics
        timed = ca.veccat(self.position_rates, self.velocities, mass)
        steady = not ca.depends_on(timed, dynamics.t) and is_zero(
            ca.SX(simplified(self.pseudo.drift, self.positions))
        )
        if system.kinetic is None or system.mass_matrix is not None or not steady:
            return None
        w = self.w
        momenta = mass @ w
        kinetic = ca.dot(w, momenta) / 2
        potential = self.mode.written(system.in_velocities(system.smoothed(system.potential)))
        auxiliaries = system.auxiliaries
        potential = ca.substitute(potential, auxiliaries.vector, auxiliaries.meanings)
        slopes = -self.directions.T @ ca.gradient(kinetic - potential, self.positions)
        brackets = self._brackets()
        turned = self._turned(brackets)
        turning = self.along(momenta)
        forces = push - (turned - turning - slopes)
        given = self._applied()
        if given is not None:
            forces = self.pseudo.basis.T @ given
        return Lagrangian(
            momenta=self.tidy(momenta),
            turning=self.tidy(turning),
            slopes=self.tidy(slopes),
            brackets=brackets,
            forces=self.tidy(forces),
        )

    def _applied(self) -> ca.SX | None:
        """Return the applied forces without reactions; None if they contain rates."""
        system = self.system
        force = system.in_velocities(system.smoothed(system.applied_force))
        auxiliaries = system.auxiliaries
        moved = ca.jacobian(auxiliaries.meanings, self.positions) @ self.dynamics.position_rates
        force = ca.substitute(force, auxiliaries.dot.vector, moved)
        force = ca.substitute(force, auxiliaries.vector, auxiliaries.meanings)
        if ca.depends_on(force, system.implicit.dot.vector):
            return None
        u = self.dynamics.reactions
        return self.at(self.mode.written(ca.substitute(force, u, ca.SX.zeros(*u.shape))))

    def _brackets(self) -> dict[tuple[int, int], ca.SX]:
        """Return {P_a, P_b} at p = dL/dq'."""
        system, basis = self.system, self.pseudo.basis
        momenta = self.mass_of_all @ self.velocities
        structure = None
        if system.kinematics is not None:
            q = system.coordinates.vector
            q_dot = self.mode.written(system.smoothed(system.kinematics))
            k = Kinematics(q, self.v, q_dot, ca.SX(0, 1), True)
            structure = structure_of(ca.jacobian(q_dot, self.v), k)
        found: dict[tuple[int, int], ca.SX] = {}
        count = self.w.numel()
        turned = [ca.jtimes(basis, self.positions, self.directions[:, a]) for a in range(count)]
        for a in range(count):
            for b in range(a + 1, count):
                commutator = turned[a][:, b] - turned[b][:, a]
                if structure is not None:
                    along = ca.substitute(structure, self.v, ca.densify(basis[:, a]))
                    commutator = commutator + along @ basis[:, b]
                bracket = self.tidy(-ca.dot(momenta, commutator))
                if not bracket.is_zero() and not ca.SX(bracket[0]).is_zero():
                    found[a, b] = bracket
        return found

    def _turned(self, brackets: Mapping[tuple[int, int], ca.SX]) -> ca.SX:
        """Return the sums of w_b {P_a, P_b} over b."""
        total = ca.SX.zeros(self.w.numel())
        for (a, b), bracket in brackets.items():
            total[a] += self.w[b] * bracket
            total[b] -= self.w[a] * bracket
        return total

    def _sum(self, parts: Lagrangian) -> ca.SX:
        return self._turned(parts.brackets) - parts.turning - parts.slopes + parts.forces

    def _integrals(self, lagrangian: Lagrangian | None) -> dict[str, ca.SX]:
        """Return the invariants of the system, and the momenta that are conserved."""
        found: dict[str, ca.SX] = {}
        for row in self.dynamics.invariants:
            value = self.tidy(self.at(self.mode.written(row.value)))
            if not row.doubt and not value.is_constant():
                found[row.name] = value
        if lagrangian is None:
            return found
        change = self._turned(lagrangian.brackets) - lagrangian.slopes + lagrangian.forces
        for place, gone in enumerate(vanishing(change).ravel()):
            name = self.pseudo.names[place]
            momentum = lagrangian.momenta[place]
            known = any(vanishes(ca.SX(momentum - value)) for value in found.values())
            if gone and not known:
                found[f"momentum of {name}"] = momentum
        return found


def rate_name(name: str) -> str:
    """Return the name of the symbol for the rate of a pseudo-velocity."""
    return f"rate of {name}"


def _mirrored(matrix: ca.SX) -> ca.SX:
    """Return a symmetric matrix with identical expressions on both sides of the diagonal."""
    upper = ca.triu(matrix)
    return ca.SX(ca.sparsify(upper + upper.T - ca.diag(ca.diag(matrix))))

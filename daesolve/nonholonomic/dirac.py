"""Dirac's equations of a system whose small velocities carry no kinetic energy in the limit.

With L = v.A v/2 + b.v - V, large velocities v1 and small ones v2, and S = A22 - A21 A11^-1 A12,
the Lagrangian without the energy of the small velocities, L0 = L - v2.S v2/2, is singular. Its
momenta fulfil the primary constraints Phi = p2 - b2 - A21 A11^-1 (p1 - b1) = 0, and

    H = H0(t, q, p1) + Phi.S^-1 Phi/2,    lambda = S^-1 Phi = v2

holds for the full system. Its motion therefore obeys

    q' = dH0/dp + Phi_p^T lambda,    p' = -dH0/dq - Phi_q^T lambda + (lambda.S lambda)_q/2 + Q,
    (S lambda)' = R + Phi_p (lambda.S lambda)_q/2,

exactly, where R(t, q, p1, lambda) is the rate of Phi along Dirac's equations, the case S = 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.linear import solve_definite, solve_small
from daesolve.core.system.system import MechanicalSystem
from daesolve.nonholonomic.independent_motion import IndependentMotion


@dataclass(frozen=True, eq=False)
class DiracEquations:
    """Dirac's equations and the terms they neglect, as expressions of (t, x, lambda, p).

    Parameters
    ----------
    t, slow, multipliers, p
        Symbols: time, x = (positions, p1), lambda, and the numbers in `Dynamics.p`.
    velocities
        v of the full system.
    constraints
        Phi, an expression of (t, q, p1, p2).
    inertia
        S, (m, m) for m small velocities.
    balance
        R, (m, 1).
    solvability
        M = dR/dlambda.
    rate
        x' by Dirac's equations.
    neglected
        The terms neglected in x': (lambda.S lambda)_q1/2 in p1', zero elsewhere.
    drift
        R_x x' + R_t: while R = 0 is kept, M lambda' + drift = 0.
    carried
        Further terms due to the inertia of the small velocities, besides S lambda', (m, 1): S'
        lambda, and Phi_p (lambda.S lambda)_q/2 with the opposite sign. To the second order the
        small velocities of the slow motion are lambda + M^-1 (S lambda' + carried), with lambda
        where R = 0.
    reactions
        u of the full system, (nu, 1).
    restoring
        By the name of each goal on positions, its residual and the direction in x across it.
    """

    t: ca.SX
    slow: ca.SX
    multipliers: ca.SX
    p: ca.SX
    velocities: ca.SX
    constraints: ca.SX
    inertia: ca.SX
    balance: ca.SX
    solvability: ca.SX
    rate: ca.SX
    neglected: ca.SX
    drift: ca.SX
    carried: ca.SX
    reactions: ca.SX
    restoring: Mapping[str, tuple[ca.SX, ca.SX]]

    def arguments(self) -> list[ca.SX]:
        """Return the symbols that everything except `constraints` depends on."""
        return [self.t, self.slow, self.multipliers, self.p]

    @cached_property
    def changing(self) -> ca.SX:
        """The rate of lambda while R = 0 is kept."""
        return -solve_small(self.solvability, self.drift)

    def lengthening(self, changing: ca.SX) -> ca.SX:
        """Return T' along the slow motion, T = |S^1/2 M^-1 S^1/2| the time of the fast motion, s.

        As long as T' is much smaller than 1, fast motions end, or complete many turns, before they
        slow down. Where M becomes singular on the way, T' passes 1 first.

        Parameters
        ----------
        changing
            lambda', (m, 1).
        """
        inverse = solve_small(self.solvability, ca.SX.eye(self.multipliers.numel()))
        square = ca.dot(self.inertia @ inverse @ self.inertia, inverse)
        return ca.jtimes(
            ca.sqrt(square),
            ca.vertcat(self.t, self.slow, self.multipliers),
            ca.vertcat(1, self.rate, changing),
        )


def dirac_equations(
    system: MechanicalSystem,
    motion: IndependentMotion,
    small: Sequence[int],
    slow: ca.SX,
    multipliers: ca.SX,
    constrained: ca.SX,
) -> DiracEquations:
    """Derive Dirac's equations.

    Parameters
    ----------
    system
        A system posed by its kinetic energy.
    motion
        Its independent velocities: all if it has no goals.
    small
        The indices of the m small velocities.
    slow, multipliers
        The symbols of x = (positions, p1) and of lambda.
    constrained
        The symbols of the momenta p2.
    """
    dynamics = system.dynamics
    t, count = dynamics.t, dynamics.position_count
    large = [index for index in motion.independent if index not in small]
    symbols = slow[count:, 0], multipliers, constrained
    plain = system.velocities is None and not motion.dependent
    parts = (
        _in_coordinates(system, large, small, *symbols)
        if plain
        else _in_quasi_velocities(motion, large, small, *symbols)
    )
    across = {row.name: motion.restoring(row) for row in motion.on_positions}
    parts |= {f"residual of {row.name}": row.chain[0] for row in motion.on_positions}
    parts |= {f"across {name}": direction for name, direction in across.items()}
    parts["reactions"] = ca.substitute(motion.reactions, dynamics.velocities, parts["velocities"])
    names = [*parts]
    written = ca.substitute([*parts.values()], [dynamics.x[:count]], [slow[:count]])
    own = dict(zip(names, written, strict=True))
    balance, rate = own["balance"], own["rate"]

    def following(expression: ca.SX) -> ca.SX:
        return ca.jtimes(expression, slow, rate) + ca.jtimes(expression, t, ca.SX(1))

    return DiracEquations(
        t=t,
        slow=slow,
        multipliers=multipliers,
        p=dynamics.p,
        velocities=own["velocities"],
        constraints=own["constraints"],
        inertia=own["inertia"],
        balance=balance,
        solvability=ca.jacobian(balance, multipliers),
        rate=rate,
        neglected=ca.vertcat(ca.SX.zeros(count), own["neglected"]),
        drift=following(balance),
        carried=own["carried"] + following(own["moving"]),
        reactions=own["reactions"],
        restoring={name: (own[f"residual of {name}"], own[f"across {name}"]) for name in across},
    )


@dataclass(frozen=True, eq=False)
class _Split:
    """Large and small velocities, of momenta p = A v + b: the first follow from p1 and lambda.

    Parameters
    ----------
    ties
        A21 A11^-1.
    inertia
        S.
    own, freed
        p1 - b1, and A11^-1 (p1 - b1).
    velocities, constraints
        All velocities, and Phi.
    """

    ties: ca.SX
    inertia: ca.SX
    own: ca.SX
    freed: ca.SX
    velocities: ca.SX
    constraints: ca.SX

    @staticmethod
    def of(
        mass: ca.SX,
        linear: ca.SX,
        places: tuple[Sequence[int], Sequence[int]],
        momenta: tuple[ca.SX, ca.SX],
        multipliers: ca.SX,
    ) -> _Split:
        """Split a mass matrix and the momenta at rest, b, by the places of both kinds."""
        large, small = places
        heavy, mixed = _block(mass, large, large), _block(mass, large, small)
        ties = solve_definite(heavy, mixed).T if large else mixed.T
        own = momenta[0] - _block(linear, large, [0])
        freed = solve_definite(heavy, own) if large else own
        moving = ca.vertcat(freed - ties.T @ multipliers, multipliers)
        return _Split(
            ties,
            _block(mass, small, small) - ties @ mixed,
            own,
            freed,
            _arranged(moving, [*large, *small]),
            momenta[1] - _block(linear, small, [0]) - ties @ own,
        )

    @property
    def parts(self) -> dict[str, ca.SX]:
        """Those of `DiracEquations` that it has."""
        return {name: getattr(self, name) for name in ("velocities", "constraints", "inertia")}


def _in_coordinates(
    system: MechanicalSystem,
    large: Sequence[int],
    small: Sequence[int],
    p1: ca.SX,
    multipliers: ca.SX,
    p2: ca.SX,
) -> dict[str, ca.SX]:
    """Return the parts of `DiracEquations` by name, in the symbols of the system's positions.

    Here `carried` lacks the rate of `moving`.
    """
    dynamics = system.dynamics
    assert dynamics.kinetic is not None
    q, v, kinetic = dynamics.x[: dynamics.coordinate_count], dynamics.velocities, dynamics.kinetic
    rest = ca.SX.zeros(v.numel())
    at_rest, linear = ca.substitute([kinetic, ca.gradient(kinetic, v)], [v], [rest])
    split = _Split.of(dynamics.mass, linear, (large, small), (p1, p2), multipliers)
    ties, velocities, constraints = split.ties, split.velocities, split.constraints
    hamiltonian = ca.dot(split.own, split.freed) / 2 - at_rest
    moved = ca.jtimes(constraints, q, velocities) + ca.jtimes(constraints, dynamics.t, ca.SX(1))
    driven = (
        _forces(system, velocities)
        - ca.gradient(hamiltonian, q)
        - ca.jtimes(constraints, q, multipliers, True)
    )
    driven_large = _block(driven, large, [0])
    rates = ca.substitute(dynamics.position_rates, v, velocities)
    steep = ca.gradient(ca.dot(multipliers, split.inertia @ multipliers) / 2, q)
    steep_large = _block(steep, large, [0])
    return {
        **split.parts,
        "balance": moved + _block(driven, small, [0]) - ties @ driven_large,
        "rate": ca.vertcat(rates, driven_large),
        "neglected": steep_large,
        "carried": ties @ steep_large - _block(steep, small, [0]),
        "moving": split.inertia @ multipliers,
    }


def _in_quasi_velocities(
    motion: IndependentMotion,
    large: Sequence[int],
    small: Sequence[int],
    p1: ca.SX,
    multipliers: ca.SX,
    p2: ca.SX,
) -> dict[str, ca.SX]:
    """Return the same parts in independent or quasi-velocities, by Hamel's equations A w' = Q.

    With n = (-A21 A11^-1, 1), n A = (0, S), so S lambda' = n Q exactly, and R = n Q. Besides the
    rate of Phi along Dirac's equations, R contains the forces due to S lambda and finite
    velocities. They are as small as S lambda', which order 0 neglects; but during the fast motion
    they change the large momenta by as much as the refinement does. Forces that contain reactions
    are those at the accelerations that they cause.
    """
    dynamics = motion.dynamics
    q, w = dynamics.x[: dynamics.position_count], motion.w
    places = {index: place for place, index in enumerate(motion.independent)}
    own, few = [places[index] for index in large], [places[index] for index in small]
    momenta = motion.momenta
    linear = ca.substitute(momenta, w, ca.SX.zeros(w.numel()))
    split = _Split.of(motion.mass, linear, (own, few), (p1, p2), multipliers)
    rates = motion.of_independent(dynamics.position_rates)
    # p1 = dT/dw1 also changes with its coefficients.
    along = ca.jtimes(momenta, ca.vertcat(q, dynamics.t), ca.vertcat(rates, 1))
    force, along, rates, velocities = ca.substitute(
        [motion.force, along, rates, motion.velocities], [w], [split.velocities]
    )
    pushed = _block(force, own, [0])
    return {
        **split.parts,
        "velocities": velocities,
        "balance": _block(force, few, [0]) - split.ties @ pushed,
        "rate": ca.vertcat(rates, pushed + _block(along, own, [0])),
        "neglected": ca.SX.zeros(len(large)),
        "carried": ca.SX.zeros(len(small)),
        "moving": ca.SX.zeros(len(small)),
    }


def _block(matrix: ca.SX, rows: Sequence[int], columns: Sequence[int]) -> ca.SX:
    """Return some rows and columns, in the right shape even if there are none of them."""
    if not rows:
        return ca.SX(0, len(columns))
    return ca.SX(matrix[list(rows), list(columns)])


def _arranged(column: ca.SX, order: Sequence[int]) -> ca.SX:
    """Place entries given in one order at their indices."""
    arranged = ca.SX(*column.shape)
    for place, index in enumerate(order):
        arranged[index] = column[place]
    return arranged


def _forces(system: MechanicalSystem, velocities: ca.SX) -> ca.SX:
    """Return Q - dV/dq at given velocities: all forces on the system except inertial ones."""
    bare: Dynamics = replace(system, kinetic=0.0, events=(), outputs={}).dynamics
    return ca.substitute(bare.force, bare.velocities, velocities)

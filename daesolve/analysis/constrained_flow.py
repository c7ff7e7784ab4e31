"""The motion under ideal constraints, in positions and independent velocities.

With q' = S v, A v = 0 and v = B w, B smooth in q:

    q' = S B w,   (B^T M B) w' = B^T (h - M B' w),

the equations of Hamel and Boltzmann. Without friction, the divergence in (q, w) is linear in w.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.analysis.logarithmic_gradient import hashed_values
from daesolve.contact.posing.contact_rows import contacts_in
from daesolve.contact.posing.guides import guides_in
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.linear import solve_definite
from daesolve.core.system.system import System
from daesolve.errors import DegenerateStartError, OutOfRangeError, PosingError, check_names
from daesolve.nonholonomic.constraint_forms import PfaffSystem

STATES = 12
"""The number of random states at which numbers are compared."""
RANK = 1e-9
"""Singular values of constraints below this count as zero."""


@dataclass(frozen=True, eq=False)
class ConstrainedFlow:
    """Positions and independent velocities, and their rates.

    Parameters
    ----------
    pfaff
        The constraints.
    positions, velocities
        Symbols: q (nq,) and w (d,).
    names
        The names of w: the velocities that are kept.
    fields
        (nq, d): q' = fields w.
    mass
        (d, d): B^T M B.
    acceleration
        (d,): w'.
    values
        The numbers of p.
    states
        Random states that fulfil the constraints on positions.
    """

    pfaff: PfaffSystem
    positions: ca.SX
    velocities: ca.SX
    names: tuple[str, ...]
    fields: ca.SX
    mass: ca.SX
    acceleration: ca.SX
    values: np.ndarray
    states: tuple[np.ndarray, ...]

    @property
    def divergence(self) -> ca.SX:
        """The divergence in (q, w)."""
        moving = ca.jacobian(self.fields @ self.velocities, self.positions)
        return ca.trace(moving) + ca.trace(ca.jacobian(self.acceleration, self.velocities))

    @property
    def known(self) -> dict[int, float]:
        """The numbers of p by the hash of their symbols."""
        return hashed_values(self.pfaff.dynamics.p, self.values)

    def at_rest(self, expression: ca.SX) -> ca.SX:
        """Return an expression with w = 0."""
        still = ca.SX.zeros(*self.velocities.shape)
        return ca.SX(ca.substitute(expression, self.velocities, still))

    def function(self, expression: ca.SX) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Return (x, w) -> the values of an expression."""
        dynamics = self.pfaff.dynamics
        arguments = [dynamics.t, dynamics.x, self.velocities, dynamics.p]
        function = ArrayFunction("flow", arguments, [expression])
        return lambda x, w: function(0.0, x, w, self.values)[0]

    def sampled(self, expression: ca.SX) -> np.ndarray:
        """Return an expression at all sample states, w random: (states, rows, columns)."""
        generator, function = np.random.default_rng(5), self.function(expression)
        size = self.velocities.numel()
        return np.array([function(x, generator.normal(size=size)) for x in self.states])


def constrained_flow(
    system: System,
    parameters: Mapping[str, float] | None = None,
    velocities: Sequence[str] | None = None,
    at: Mapping[str, float] | None = None,
) -> ConstrainedFlow:
    """Return the motion under the constraints.

    Parameters
    ----------
    system
        A mechanical system with ideal constraints that are linear in the velocities.
    parameters
        Values that override the defaults.
    velocities
        The names of the velocities to keep; None chooses some for which the constraints can be
        solved.
    at
        A state that defines the values of invariants on positions.

    Raises
    ------
    PosingError
        The system is not mechanical, or is switched, driven or directed.
    UnknownNameError, OutOfRangeError, DegenerateStartError
        The velocities cannot be kept.
    """
    pfaff = PfaffSystem.of(system)
    dynamics = pfaff.dynamics
    _check(dynamics)
    p, _ = pfaff.numbers(parameters, at)
    states = pfaff.random_states(p, STATES)
    solved, free, kept = _chosen(pfaff, states, p, velocities)
    basis = pfaff.basis(kept, solved, free)
    labels = dynamics.labels.states[dynamics.position_count :]
    w = ca.SX.sym("w", len(free))  # pyright: ignore[reportArgumentType]
    all_of_them = ca.densify(basis @ w)
    fields = pfaff.directions @ basis
    bent = ca.jtimes(all_of_them, pfaff.positions, fields @ w)
    force = ca.substitute(
        dynamics.without_feedback(dynamics.force), dynamics.velocities, all_of_them
    )
    mass = basis.T @ dynamics.mass @ basis
    push = basis.T @ (force - dynamics.mass @ bent)
    return ConstrainedFlow(
        pfaff,
        pfaff.positions,
        w,
        tuple(labels[k] for k in free),
        fields,
        mass,
        solve_definite(mass, push) if free else ca.SX(0, 1),
        p,
        tuple(states),
    )


def _check(dynamics: Dynamics) -> None:
    if dynamics.relations or any(row.reaction is None for row in dynamics.rows):
        raise PosingError(
            "forces or relations direct the reactions, but volumes need a separate ideal reaction "
            "for each constraint"
        )
    if contacts_in(dynamics) or guides_in(dynamics) is not None:
        raise PosingError(
            "contacts or supports switch the motion, but volumes need a smooth motion"
        )
    if ca.depends_on(ca.vertcat(dynamics.force, ca.vec(dynamics.mass)), dynamics.t):
        raise PosingError("the forces contain time, but volumes need an autonomous system")


def _chosen(
    pfaff: PfaffSystem,
    states: Sequence[np.ndarray],
    p: np.ndarray,
    velocities: Sequence[str] | None,
) -> tuple[list[int], list[int], list[int]]:
    """Return the velocities solved for, those kept, and the rows used."""
    count = pfaff.velocity_count
    if not pfaff.goals:
        return [], list(range(count)), []
    kept, solved = pfaff.regular(states, p, RANK)
    rank = len(kept)
    if velocities is None:
        return solved, [k for k in range(count) if k not in solved], kept
    labels = pfaff.dynamics.labels.states[pfaff.dynamics.position_count :]
    check_names("velocity", velocities, labels)
    free = [labels.index(name) for name in velocities]
    solved = [k for k in range(count) if k not in free]
    if len(set(free)) != count - rank:
        raise OutOfRangeError(
            f"velocities has {len(set(free))} names, but the constraints leave {count - rank} "
            "velocities"
        )
    block = pfaff.parts(states[0], p)[0][np.ix_(kept, solved)]
    if np.linalg.cond(block) > 1.0 / RANK:
        raise DegenerateStartError(
            f"the constraints cannot be solved with {', '.join(velocities)} kept: choose "
            "other velocities"
        )
    return solved, free, kept

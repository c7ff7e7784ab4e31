"""Poses pairs of supports: their reactions, friction and events, and the jam in which a run ends.

Supports with friction can jam: their reactions grow without bound while the body still slides. The
equations for the reactions have the matrix Phi M^-1 (n + f tau) of the loaded supports and of all
other constraints, whose reactions may rub as well. Its determinant relative to the friction-free
one is 1 without friction and zero where the body jams.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca

from daesolve.contact.posing.guided_brakes import guided_brakes_in
from daesolve.contact.posing.guides import (
    FRICTION_WORK,
    Guides,
    SupportAction,
    guide_events,
    guides,
)
from daesolve.contact.posing.names import JAM
from daesolve.contact.posing.supports import check_pairs, check_supports
from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.expressions.linear import determinant, solve_definite
from daesolve.core.posing.events import FALLING, Event, Stop
from daesolve.core.posing.goals import Expression, Goal, as_scalar
from daesolve.core.posing.symbols import time
from daesolve.core.system.piecewise import jumps
from daesolve.core.system.posed import PosedAddition, PosedMechanics
from daesolve.core.system.system import MechanicalSystem
from daesolve.errors import PosingError

JAMMED = 1e-6
"""The fraction of the friction-free determinant below which supports have jammed."""
LARGEST = 12
"""The number of pairs beyond which the determinant is too long an expression."""


@dataclass(frozen=True, eq=False)
class PosedGuides(PosedAddition):
    """The guides of a system whose reactions, forces and events are posed."""

    guides: Guides

    def completed(
        self, dynamics: Dynamics, system: PosedMechanics, written: Callable[[Expression], ca.SX]
    ) -> Dynamics:
        """Return the equations with the guides, and with the event `jam`."""
        guides = _with_switches(self.guides, system)
        whole = watched_for_jams(dynamics, guides)
        return replace(whole, additions=(*whole.additions, guides))


def pose_pairs(system: MechanicalSystem) -> MechanicalSystem:
    """Return the system with the reactions, forces and events of its pairs of supports.

    Raises
    ------
    PosingError, OutOfRangeError
        The message names the problem, and the pair or its support.
    """
    pairs = check_pairs(system.pairs, system.goals)
    if not pairs:
        return replace(system, pairs=())
    rates, v = system.coordinates.dot.vector, system.v.vector
    moving = rates if system.velocities is None else ca.vertcat(rates, v)
    others = [part for own in (system.implicit, system.auxiliaries) for part in (own, own.dot)]
    unknowns = ca.vertcat(*[part.vector for part in others])
    check_supports(pairs, system.coordinates.vector, moving, unknowns)
    timed = [goal.residual for goal in system.goals if isinstance(goal, Goal)]
    posed = guides(
        pairs,
        (system.coordinates.vector, rates),
        v,
        len(system.v) - len(timed),
        not ca.depends_on(ca.vertcat(ca.SX(0, 1), *timed), time),
        system.in_velocities,
        guided_brakes_in(system),
    )
    kinetic = system.kinetic
    if kinetic is None:
        assert system.mass_matrix is not None
        kinetic = ca.dot(v, system.mass_matrix @ v) / 2
    return replace(
        system,
        pairs=(),
        additions=(*system.additions, PosedGuides(posed)),
        reactions=system.reactions.joined(posed.reactions),
        discrete=system.discrete.joined(posed.values),
        force=system.applied_force + posed.force,
        events=(*system.events, *guide_events(posed, as_scalar("the kinetic energy", kinetic))),
        meters={**system.meters, FRICTION_WORK: (posed.power(v), "J")},
    )


def _with_switches(guides: Guides, posed: PosedMechanics) -> Guides:
    """Write the supports of guides with the switches of the system that holds their forces.

    Otherwise, decisions at the instant of a switch would use the value before it.
    """

    def written(support: SupportAction) -> SupportAction:
        # Only slips that jump have switches: the others do not pass a guard at once.
        return replace(
            support,
            normal=posed.smoothed(support.normal),
            friction=posed.smoothed(support.friction),
            slip=posed.smoothed(support.slip) if jumps(support.slip) else support.slip,
        )

    if posed.switching is None or posed.switching.plain:
        return guides
    supports = tuple(
        (None if first is None else written(first), written(second))
        for first, second in guides.supports
    )
    return replace(guides, supports=supports)


def watched_for_jams(dynamics: Dynamics, guides: Guides) -> Dynamics:
    """Return the equations with the event `jam`.

    Raises
    ------
    PosingError
        The forces also direct other reactions, or there are too many pairs.
    """
    count = len(guides.pairs)
    own = sum(row.reaction is not None for row in dynamics.rows)
    if dynamics.relations or dynamics.reactions.numel() != own + count:
        raise PosingError(
            "pairs of supports can be combined only with ideal constraints, not with other "
            "reactions that the forces direct"
        )
    if count > LARGEST:
        raise PosingError(f"a system may have at most {LARGEST} pairs of supports, not {count}")
    stop = Stop(
        "the supports jam: their reactions grow without bounds while the body still slides, and "
        "dry friction of rigid bodies determines no motion after it"
    )
    ratio = determinant_ratio(dynamics, guides)
    event = Event(JAM, ratio - JAMMED, FALLING, stop)
    return replace(dynamics, events=(*dynamics.events, event))


def determinant_ratio(dynamics: Dynamics, guides: Guides) -> ca.SX:
    """Return the determinant of the equations for all reactions over the one without friction.

    With the derivatives W of the goals that the pairs keep and J of all others, and with the
    friction F of those reactions that rub, the loaded supports push along n = W^T C + J^T G. Then

        r = det(T + Z) / det C,   T = [C 0; G 1],   Z = S^-1 [W; J] M^-1 F,

    where S = [W; J] M^-1 [W; J]^T, and only rows and columns of F count: without friction of other
    constraints r is det(W P (n + f tau)) / det(W P n) with the response P under these.
    """
    kept = [row for row in dynamics.rows if row.reaction is None]
    others = [row for row in dynamics.rows if row.reaction is not None]
    rows = ca.vertcat(*[row.jacobian for row in (*kept, *others)])
    normals, frictions = loaded_columns(guides)
    rubbing = [friction_of(dynamics, row) for row in others]
    chosen = [k for k, friction in enumerate(rubbing, len(kept)) if friction.nnz()]
    own = [*range(len(kept)), *chosen]
    # A released goal has no row: only its own unknown appears there.
    loose = [ca.SX(0)] * len(kept)
    loose += [ca.SX(0) if row.hold is None else 1.0 - row.hold for row in others]
    answer = solve_definite(dynamics.mass, rows.T)
    inertia = rows @ answer + ca.diag(ca.vertcat(*loose))
    friction = ca.horzcat(frictions, *[rubbing[k - len(kept)] for k in chosen])
    shares = solve_definite(inertia, answer.T @ ca.horzcat(normals, friction))[own, :]
    without = ca.horzcat(shares[:, : len(kept)], ca.SX.eye(len(own))[:, len(kept) :])
    ratio = determinant(without + shares[:, len(kept) :])
    return ratio / determinant(shares[: len(kept), : len(kept)])


def loaded_columns(guides: Guides) -> tuple[ca.SX, ca.SX]:
    """Return the normals and the friction of the loaded supports, (nv, m) each."""
    normals, frictions = list[ca.SX](), list[ca.SX]()
    for k, (first, second) in enumerate(guides.supports):
        share = (1 + guides.variants[k]) / 2
        normal, friction = share * second.normal, share * second.friction
        if first is not None:
            normal -= (1 - share) * first.normal
            friction -= (1 - share) * first.friction
        normals.append(normal)
        frictions.append(friction)
    return ca.horzcat(*normals), ca.horzcat(*frictions)


def friction_of(dynamics: Dynamics, row: GoalRow) -> ca.SX:
    """Return what a unit of the own reaction of a goal does besides holding it, (nv, 1)."""
    assert row.reaction is not None
    return ca.sparsify(ca.simplify(dynamics.influence[:, row.reaction] - row.jacobian.T))

"""Laws of dry friction on what slides in pairs of supports: they slide and rest with the supports.

A body at rest between its supports does not slip in the law either. What holds the slip of the law
is then no further constraint: its friction is a load against the slip that would begin, up to its
limit while nothing slides. One decision says for all whether the body rests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import casadi as ca

from daesolve.contact.posing.brakes import Sticking, slip_rows
from daesolve.contact.posing.supports import Support, VariantPair, pairs_of
from daesolve.core.expressions.identities import vanishes
from daesolve.core.expressions.singular_values import rank
from daesolve.core.posing.goals import Expression, Goal, Relation
from daesolve.core.posing.symbols import time
from daesolve.core.system.posed import PosedAddition, PosedMechanics, outputs_changed
from daesolve.errors import UnsupportedError

_Posed = TypeVar("_Posed", bound=PosedMechanics)


@dataclass(frozen=True, eq=False)
class GuidedBrake:
    """A law of friction whose slip is zero where that of a support is.

    Parameters
    ----------
    name
        The name of the law.
    slip
        Its slip.
    sense, rests
        The discrete values that hold the sign of the slip, and 1 while it bears up to its limit at
        rest.
    still
        The slip that counts as none.
    """

    name: str
    slip: ca.SX
    sense: ca.SX
    rests: ca.SX
    still: float


@dataclass(frozen=True, eq=False)
class GuidedBrakes(PosedAddition):
    """The laws that slide and rest with the pairs of supports of a system."""

    brakes: tuple[GuidedBrake, ...]


def guided_brakes_in(system: PosedMechanics) -> tuple[GuidedBrake, ...]:
    """Return the laws that slide and rest with the pairs of supports of a system."""
    found = (part.brakes for part in system.additions if isinstance(part, GuidedBrakes))
    return next(found, ())


def with_guided_brakes(system: _Posed) -> _Posed:
    """Return the system with laws that slide and rest with its pairs of supports.

    Raises
    ------
    UnsupportedError
        A law holds another slip than that of a support.
    """
    goals, pairs = guided_laws(system), pairs_of(system.pairs)
    supports = [support for pair in pairs for support in pair.supports]
    slips = [slip_of(support, system) for support in supports if support.size == 2]
    for goal in goals:
        why = _reason(goal, system, pairs, slips)
        if why:
            raise UnsupportedError(
                f"the law of friction {goal.law!r} is combined with pairs of supports, but {why}"
            )
    return _joined(system, goals) if goals else system


def guided_laws(system: PosedMechanics) -> list[Sticking]:
    """Return the slips of laws of friction which constraints leave free, beside pairs of supports.

    Others are prescribed, and their laws act for themselves.
    """
    laws = [goal for goal in system.goals if isinstance(goal, Sticking)]
    if not laws or not pairs_of(system.pairs):
        return []
    return [goal for goal in laws if _is_free(ca.SX(goal.residual), system)]


def _joined(system: _Posed, goals: Sequence[Sticking]) -> _Posed:
    """Return the system in which laws bear a load up to their limit instead of a reaction."""
    values, law = system.discrete, [goal.law for goal in goals]
    brakes = tuple(
        GuidedBrake(
            goal.law,
            ca.SX(goal.residual),
            values[f"sense_{goal.law}"],
            values[goal.held_by],
            goal.still,
        )
        for goal in goals
    )
    borne = [
        -brake.rests * brake.sense * ca.SX(goal.bears)
        for brake, goal in zip(brakes, goals, strict=True)
    ]
    reactions = ca.vertcat(*[goal.reaction for goal in goals])

    def written(expression: Expression) -> ca.SX:
        return ca.substitute(ca.SX(expression), reactions, ca.vertcat(*borne))

    own = {f"{name}_{what}" for name in law for what in ("sticks", "slips", "sense")}
    names = {goal.name for goal in goals}
    labels = {
        goal.reaction_label: (load, goal.unit) for goal, load in zip(goals, borne, strict=True)
    }
    return replace(
        system,
        goals=tuple(
            replace(goal, residual=written(goal.residual)) if isinstance(goal, Relation) else goal
            for goal in system.goals
            if goal.name not in names
        ),
        force=written(system.applied_force) + _along(goals, system, borne),
        events=tuple(
            replace(event, guard=written(event.guards))
            for event in system.events
            if event.name not in own
        ),
        outputs=outputs_changed(written, system.outputs),
        meters=outputs_changed(written, system.meters),
        recovered=outputs_changed(written, system.recovered) | labels,
        additions=(*system.additions, GuidedBrakes(brakes)),
    )


def _along(goals: Sequence[Sticking], system: PosedMechanics, loads: Sequence[ca.SX]) -> ca.SX:
    """Return loads along slips as a force on the velocities."""
    slips = system.in_velocities(ca.vertcat(*[ca.SX(goal.residual) for goal in goals]))
    return ca.jacobian(slips, system.v.vector).T @ ca.vertcat(*loads)


def slip_of(support: Support, system: PosedMechanics) -> ca.SX:
    """Return the slip of a support in the plane."""
    normal, velocity = _column(support.normal), _velocity(support, system)
    return normal[1] * velocity[0] - normal[0] * velocity[1]


def normal_of(support: Support, system: PosedMechanics) -> ca.SX:
    """Return how a support pushes along its normal, a column among the velocities."""
    velocity = system.in_velocities(_velocity(support, system))
    return ca.jacobian(velocity, system.v.vector).T @ _column(support.normal)


def _velocity(support: Support, system: PosedMechanics) -> ca.SX:
    if support.velocity is not None:
        return _column(support.velocity)
    assert support.point is not None
    point, q = _column(support.point), system.coordinates
    return ca.jtimes(point, q.vector, q.dot.vector) + ca.jacobian(point, time)


def _column(given: Sequence[Expression] | ca.SX) -> ca.SX:
    return given if isinstance(given, ca.SX) else ca.vertcat(*[ca.SX(entry) for entry in given])


def _is_free(slip: ca.SX, system: PosedMechanics) -> bool:
    """Return whether the constraints that always hold leave a slip free."""
    count, rows = slip_rows(system, [slip])
    return rank(rows) > rank(rows[:count])


def _reason(
    goal: Sticking,
    system: PosedMechanics,
    pairs: Sequence[VariantPair],
    slips: Sequence[ca.SX],
) -> str:
    """Return why a law does not slide and rest with supports; nothing if it does."""
    if not all(pair.planar for pair in pairs):
        return "in space no decision says for both whether the body rests; use a law on a line"
    laws = [other.law for other in system.goals if isinstance(other, Sticking)]
    if laws.count(goal.law) > 1 or not ca.SX(goal.touching).is_one():
        return "only a law whose slip has one component, and which always acts, rests with them"
    own = [pair.reaction for pair in pairs]
    if ca.depends_on(ca.SX(goal.presses), ca.vertcat(*own)):
        return "it is pressed by one of them; give the friction to the support"
    residuals = [*slips, ca.SX(goal.residual)]
    timed = [part.residual for part in system.goals if isinstance(part, Goal) and not part.held_by]
    if any(_carried(slip, system) for slip in residuals) or ca.depends_on(
        ca.vertcat(ca.SX(0, 1), *[ca.SX(part) for part in timed]), time
    ):
        return "it or one of their guides moves while the body is at rest; let both stand still"
    for slip in slips:
        count, rows = slip_rows(system, [slip, ca.SX(goal.residual)])
        if rank(rows) == rank(rows[: count + 1]) > rank(rows[:count]):
            return ""
    return "its slip is not that of one of them, so that one may stick while the other slides"


def _carried(slip: ca.SX, system: PosedMechanics) -> bool:
    """Return whether there is a slip without velocities."""
    v = system.v.vector
    written = system.in_velocities(slip)
    return not vanishes(ca.substitute(written, v, ca.SX.zeros(*v.shape)))

"""Pairs of supports beside contacts: each is then a law of friction pressed by a constraint.

The two supports of a pair that face each other at one point push along one normal and rub against
one slip, whichever is loaded: their friction is f |N| against the slip, and at most as large while
nothing slips. That is a brake under the reaction N of an ideal constraint, on which the law of the
contacts decides.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca

from daesolve.contact.posing.brakes import Sticking, brakes_of
from daesolve.contact.posing.contacts import contacts_of
from daesolve.contact.posing.guided_brakes import normal_of, slip_of
from daesolve.contact.posing.guides import FRICTION_WORK, SWITCH
from daesolve.contact.posing.supports import VariantPair, pairs_of
from daesolve.core.expressions.identities import vanishes
from daesolve.core.posing.events import FALLING, Event, Reset
from daesolve.core.posing.goals import Expression, Goal, Holonomic, Relation
from daesolve.core.posing.symbols import Parameters, discrete
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.system.posed import PosedMechanics, outputs_changed

DRIVEN = 1e-12
"""At rest it bears this fraction more, so that a slip that begins is driven, not only rounding."""

LONG_AGO = -1e30
"""s, before any start."""


@dataclass(frozen=True, eq=False)
class _Guide:
    """A pair as a law: what holds the slip, the force while it slides, and the power of both."""

    law: Sticking
    force: ca.SX
    power: ca.SX


def with_guides_as_laws(system: PosedMechanics) -> dict[str, object]:
    """Return the parts of a system with contacts in which pairs of supports are laws of friction.

    They remain pairs where they are not: where supports of a pair do not face each other at one
    point, or where the contacts do not decide on laws.
    """
    pairs = pairs_of(system.pairs)
    if len(pairs) < len(system.pairs):
        return {}
    kept = [goal for goal in system.goals if isinstance(goal, Goal) and not goal.ideal]
    if not contacts_of(system.goals) or not pairs or len(kept) != len(pairs):
        return {}
    loaded = [ValueKind.VARIANT.name_of(pair.name) for pair in pairs]
    own = {f"{kind}_{pair.name}": 0.0 for pair in pairs for kind in ("sticks", "sense")}
    own |= {f"ended_{pair.name}": LONG_AGO for pair in pairs}
    values = discrete(**own, **dict.fromkeys(loaded, 1.0))
    ideal = [replace(goal, ideal=True) for goal in kept]
    signed = _pushes(pairs, ideal, system)
    if signed is None:
        return {}
    guides = [
        _guide(pair, push, system, values)
        for pair, push in zip(pairs, ca.vertsplit(signed), strict=True)
    ]
    reactions = ca.vertcat(*[pair.reaction for pair in pairs])

    def written(expression: Expression) -> ca.SX:
        return ca.substitute(ca.SX(expression), reactions, signed)

    by_name = {goal.name: goal for goal in ideal}
    goals = [by_name.get(goal.name, goal) for goal in system.goals]
    shown = {pair.name: (n, "N") for pair, n in zip(pairs, ca.vertsplit(signed), strict=True)}
    parts: dict[str, object] = {
        "pairs": (),
        "goals": (
            *(
                replace(goal, residual=written(goal.residual))
                if isinstance(goal, Relation)
                else goal
                for goal in goals
            ),
            *(guide.law for guide in guides),
        ),
        "force": written(system.applied_force) + sum((g.force for g in guides), ca.SX(0)),
        "discrete": system.discrete.joined(values),
        "outputs": outputs_changed(written, system.outputs),
        "recovered": outputs_changed(written, system.recovered) | shown,
        "events": (*system.events, _switches(values, loaded, ca.vertsplit(signed))),
        "meters": {
            **outputs_changed(written, system.meters),
            FRICTION_WORK: (sum((g.power for g in guides), ca.SX(0)), "J"),
        },
    }
    whole = copy.copy(system)
    for name, value in parts.items():
        object.__setattr__(whole, name, value)
    decided = {brake.name for brake in brakes_of(whole)}
    return parts if decided.issuperset(pair.name for pair in pairs) else {}


def _switches(values: Parameters, loaded: Sequence[str], signed: Sequence[ca.SX]) -> Event:
    """Return the event at which another support is loaded."""

    def others(fired: ca.SX) -> dict[str, ca.SX]:
        return {name: values[name] * (1 - 2 * fired[k]) for k, name in enumerate(loaded)}

    pressing = [values[name] * push for name, push in zip(loaded, signed, strict=True)]
    return Event(SWITCH, pressing, FALLING, Reset(others, whenever_past=True))


def _pushes(
    pairs: Sequence[VariantPair], kept: Sequence[Goal], system: PosedMechanics
) -> ca.SX | None:
    """Return N of each pair from the reactions of the constraints; None if pairs are no laws.

    With the gradients W of these and the normals n = W^T A, their reactions are A N.
    """
    if not all(_face(pair, system) for pair in pairs):
        return None
    rows = ca.horzcat(*[_row(goal, system) for goal in kept])
    normals = ca.horzcat(*[normal_of(pair.supports[1], system) for pair in pairs])
    shares = ca.solve(rows.T @ rows, rows.T @ normals)
    if not vanishes(ca.simplify(normals - rows @ shares)) or vanishes(ca.det(shares)):
        return None
    return ca.solve(shares, ca.vertcat(*[goal.reaction for goal in kept]))


def _face(pair: VariantPair, system: PosedMechanics) -> bool:
    """Return whether the supports of a pair face each other at one point in the plane."""
    if not pair.planar or pair.count != 2:
        return False
    slips = [system.in_velocities(slip_of(support, system)) for support in pair.supports]
    pushes = [normal_of(support, system) for support in pair.supports]
    rubs = [ca.SX(support.friction) for support in pair.supports]
    return vanishes(ca.vertcat(slips[0] + slips[1], pushes[0] + pushes[1], rubs[0] - rubs[1]))


def _guide(pair: VariantPair, signed: ca.SX, system: PosedMechanics, values: Parameters) -> _Guide:
    """Return a pair as a law, under its reaction."""
    support = pair.supports[1]
    slip, rubs = slip_of(support, system), ca.SX(support.friction)
    name, stick, sense = pair.name, f"sticks_{pair.name}", f"sense_{pair.name}"
    presses = ca.fabs(signed)
    static = (1.0 + DRIVEN) * rubs
    law = Sticking(
        f"{name}_stick",
        slip,
        held_by=stick,
        unit="N",
        bears=static * presses,
        law=name,
        presses=presses,
        friction=rubs,
        static_friction=static,
    )
    pressing = values[ValueKind.VARIANT.name_of(name)] * signed
    slides = -(1.0 - values[stick]) * values[sense] * rubs * pressing
    along = ca.jacobian(system.in_velocities(slip), system.v.vector).T
    return _Guide(law, along * slides, (slides + law.reaction) * slip)


def _row(goal: Goal, system: PosedMechanics) -> ca.SX:
    """Return the gradient of a constraint by the velocities, a column."""
    q = system.coordinates
    residual = ca.SX(goal.residual)
    if isinstance(goal, Holonomic):
        residual = ca.jtimes(residual, q.vector, q.dot.vector)
    return ca.jacobian(system.in_velocities(residual), system.v.vector).T

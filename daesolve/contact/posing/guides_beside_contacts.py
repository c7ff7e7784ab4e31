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
    """A pair as a constraint and a law.

    `signed` is N, `law` holds the slip, `force` acts on the velocities while it slides.
    """

    goal: Goal
    law: Sticking
    signed: ca.SX
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
    found = [_guide(pair, kept, system, values) for pair in pairs]
    guides = [guide for guide in found if guide is not None]
    if len(guides) < len(pairs):
        return {}
    reactions = ca.vertcat(*[pair.reaction for pair in pairs])
    signed = ca.vertcat(*[guide.signed for guide in guides])

    def written(expression: Expression) -> ca.SX:
        return ca.substitute(ca.SX(expression), reactions, signed)

    by_name = {guide.goal.name: guide.goal for guide in guides}
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
        "events": (*system.events, _switches(values, loaded, [guide.signed for guide in guides])),
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


def _guide(
    pair: VariantPair, kept: Sequence[Goal], system: PosedMechanics, values: Parameters
) -> _Guide | None:
    """Return a pair as a constraint and a law; None if it is not."""
    if not pair.planar or pair.count != 2:
        return None
    v = system.v.vector
    first, second = pair.supports
    slips = [system.in_velocities(slip_of(support, system)) for support in pair.supports]
    pushes = [normal_of(support, system) for support in pair.supports]
    rubs = [ca.SX(support.friction) for support in (first, second)]
    apart = ca.vertcat(slips[0] + slips[1], pushes[0] + pushes[1], rubs[0] - rubs[1])
    if not vanishes(apart):
        return None
    for goal in kept:
        row = _row(goal, system)
        ratio = ca.dot(row, pushes[1]) / ca.dot(row, row)
        if row.nnz() and vanishes(ca.simplify(pushes[1] - ratio * row)):
            break
    else:
        return None
    ideal = replace(goal, ideal=True)
    signed = ideal.reaction / ratio
    name, stick, sense = pair.name, f"sticks_{pair.name}", f"sense_{pair.name}"
    presses = ca.fabs(signed)
    static = (1.0 + DRIVEN) * rubs[1]
    law = Sticking(
        f"{name}_stick",
        slip_of(second, system),
        held_by=stick,
        unit="N",
        bears=static * presses,
        law=name,
        presses=presses,
        friction=rubs[1],
        static_friction=static,
    )
    pressing = values[ValueKind.VARIANT.name_of(name)] * signed
    slides = -(1.0 - values[stick]) * values[sense] * rubs[1] * pressing
    return _Guide(
        ideal,
        law,
        signed,
        ca.jacobian(slips[1], v).T * slides,
        (slides + law.reaction) * slip_of(second, system),
    )


def _row(goal: Goal, system: PosedMechanics) -> ca.SX:
    """Return the gradient of a constraint by the velocities, a column."""
    q = system.coordinates
    residual = ca.SX(goal.residual)
    if isinstance(goal, Holonomic):
        residual = ca.jtimes(residual, q.vector, q.dot.vector)
    return ca.jacobian(system.in_velocities(residual), system.v.vector).T

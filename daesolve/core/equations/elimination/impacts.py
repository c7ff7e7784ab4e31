"""Resets in symbols: changes, and the projection of the velocities in an impact."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics, GoalRow, ResetRow
from daesolve.core.equations.elimination.saddle import EliminationPlan, Saddle
from daesolve.core.posing.symbols import symbol
from daesolve.errors import PosingError, ResetError


def changed_by(
    dynamics: Dynamics,
    reset: ResetRow,
    x: ca.SX,
    p: ca.SX,
    seen: tuple[ca.SX, ca.SX] | None = None,
) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return state, values and restitution after the changes of one event.

    They follow from another state and other values, (x, p), if these are given.
    """
    names = list(dynamics.values)
    numbers = {names.index(name): change for name, change in reset.values.items()}
    changes = [*reset.states.values(), *numbers.values(), reset.restitution]
    arguments = [dynamics.t, dynamics.x, dynamics.p, reset.fired]
    function = ca.Function("changes", arguments, [ca.vertcat(*changes)])
    found = function(dynamics.t, *(seen or (x, p)), reset.fired)
    new_x, new_p = ca.SX(x), ca.SX(p)
    for place, index in enumerate(reset.states):
        new_x[index] = found[place]
    for place, index in enumerate(numbers, len(reset.states)):
        new_p[index] = found[place]
    return new_x, new_p, found[-1]


def impact_energies(dynamics: Dynamics, reset: ResetRow, x: ca.SX, p: ca.SX) -> ca.SX:
    """Return T before, T after and the error of Carnot's theorem, if an event gives energies."""
    inputs = [dynamics.t, dynamics.x, dynamics.p, reset.fired]
    function = ca.Function("energies", inputs, [ca.vertcat(*reset.energies)])
    before, after, lost = ca.vertsplit(function(dynamics.t, x, p, reset.fired))
    return ca.vertcat(before, after, before - after - lost)


def settle_function(
    dynamics: Dynamics,
    plan: EliminationPlan,
    momentary: Sequence[GoalRow],
    imposed: Collection[str] = (),
) -> ca.Function:
    """(t, x, p, restitution of each constraint) -> (x, impulses, energies): the projection.

    Goals that bear no impulses are released in it, unless they are imposed.
    """
    count = dynamics.reactions.numel()
    own = [replace(row, reaction=count + k) for k, row in enumerate(momentary)]
    symbols = [symbol(f"impulse_{row.name}") for row in own]
    whole = replace(
        dynamics,
        rows=(*dynamics.rows, *own),
        reactions=ca.vertcat(dynamics.reactions, *symbols),
        influence=ca.horzcat(_smooth(dynamics), *[row.jacobian.T for row in own]),
    )
    try:
        saddle = Saddle(whole, replace(plan, refinements=max(plan.refinements, 1)))
    except PosingError:
        names = ", ".join(repr(row.name) for row in whole.rows)
        raise ResetError(
            f"constraints imposed at the same instant are redundant: some of {names} depend on "
            "each other; impose each motion once"
        ) from None
    restitution = symbol("restitution", len(whole.rows))
    before = dynamics.velocities
    targets = [
        row.jacobian @ before - (1.0 + restitution[k]) * row.chain[-1]
        for k, row in enumerate(whole.rows)
    ]
    momentum = dynamics.mass @ before
    after, impulses = saddle.solve(momentum, targets, [ca.SX(0)] * len(whole.relations))
    energies = ca.vertcat(
        ca.dot(before, momentum) / 2,
        ca.dot(after, dynamics.mass @ after) / 2,
        _carnot(whole, before, after, impulses, targets, symmetric=saddle.symmetric),
    )
    positions = dynamics.x[: dynamics.position_count]
    states = ca.vertcat(positions, after)
    held = [row for row in dynamics.rows if row.name not in imposed]
    holds = ca.vertcat(ca.SX(0, 1), *[dynamics.p[k] for k in impulse_free_holds(dynamics, held)])
    found = ca.substitute([states, impulses, energies], [holds], [ca.SX.zeros(holds.shape)])
    return dynamics.function("settle", *found, further=[restitution])


def impulse_free_holds(dynamics: Dynamics, rows: Sequence[GoalRow]) -> list[int]:
    """Return the places in p of what holds those goals that bear no impulses."""
    places = {name: place for place, name in enumerate(dynamics.values)}
    held = [row.hold.name() for row in rows if row.hold is not None and not row.bears_impulses]
    return [places[name] for name in dict.fromkeys(held)]


def _smooth(dynamics: Dynamics) -> ca.SX:
    """Return the action of impulses: along the gradients.

    Friction of mu times an impulse would reverse the slip.
    """
    influence = ca.SX(dynamics.influence)
    for row in dynamics.rows:
        if row.reaction is not None:
            influence[:, row.reaction] = row.jacobian.T
    return influence


def _carnot(
    dynamics: Dynamics,
    before: ca.SX,
    after: ca.SX,
    impulses: ca.SX,
    targets: Sequence[ca.SX],
    *,
    symmetric: bool,
) -> ca.SX:
    """Return T- - T+ - (energy of the lost velocities) + (work of the impulses at v+)."""
    lost = after - before
    mass = dynamics.mass
    energy_lost = (ca.dot(before, mass @ before) - ca.dot(after, mass @ after)) / 2
    if symmetric:  # Each impulse belongs to the target of its own row.
        work = ca.dot(ca.vertcat(*targets), impulses)
    else:
        work = ca.dot(after, dynamics.influence @ impulses)
    return energy_lost - ca.dot(lost, mass @ lost) / 2 + work

"""The record of contacts with friction: slip, friction, work, state and stick margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from daesolve.contact.posing.brakes import Brake, Rubbing, friction_limit, shared_name
from daesolve.contact.posing.contacts import Contact
from daesolve.contact.posing.names import friction_work
from daesolve.contact.posing.spatial_friction import SpatialFriction, split_of
from daesolve.core.posing.symbols import Parameters

STICKS = 2.0
"""The value of `<name>_state` while a contact sticks; it is 1.0 or -1.0 while sliding, and 0.0
if open."""
TINY = 1e-300
"""N^2, added below a root whose argument may be zero."""


def with_contact_outputs(
    outputs: Mapping[str, Any],
    contacts: Sequence[Contact],
    brakes: Sequence[Brake],
    discrete: Parameters,
) -> dict[str, Any]:
    """Return the outputs of a system together with those of its contacts with friction.

    Parameters
    ----------
    outputs
        The posed outputs, which come first.
    contacts, brakes, discrete
        The contacts, the laws that stick and slide with them, and all discrete values.
    """
    rubbing = [contact for contact in contacts if contact.sticking]
    in_space = [contact.in_space for contact in rubbing if contact.in_space is not None]
    planar = [*(one for one in rubbing if one.in_space is None), *brakes]
    margins = {one.name: _own_margin(one, planar, discrete) for one in planar}
    further: dict[str, Any] = {}
    for contact in rubbing:
        space = contact.in_space
        if space is None:
            further |= _in_the_plane(contact, planar, discrete, margins)
        else:
            further |= _in_space(space, in_space, discrete)
    return {**further, **outputs}


def with_contact_meters(
    meters: Mapping[str, Any], contacts: Sequence[Contact], discrete: Parameters
) -> dict[str, Any]:
    """Return the meters of a system with the friction work of contacts that slide.

    The work is that of the slip, including the motion of a belt: the energy lost as heat.
    """
    rubbing = [contact for contact in contacts if contact.sticking]
    in_space = [contact.in_space for contact in rubbing if contact.in_space is not None]
    further: dict[str, Any] = {}
    for contact in rubbing:
        space = contact.in_space
        slip = ca.vertcat(*[ca.SX(goal.residual) for goal in contact.sticking])
        force = contact.traction if space is None else _traction(space, in_space, discrete)
        further[friction_work(contact.name)] = ca.dot(force, slip), "J"
    return {**further, **meters}


def _in_the_plane(
    contact: Contact,
    rubbing: Sequence[Rubbing],
    discrete: Parameters,
    margins: Mapping[str, ca.SX],
) -> dict[str, Any]:
    name, (sticking,) = contact.name, contact.sticking
    margin, idle = margins[name], 1.0 - contact.values[f"sticks_{name}"]
    for other in rubbing:
        if other is not contact:
            by_it = discrete[shared_name(other, contact)]
            margin, idle = margin + by_it * margins[other.name], idle * (1.0 - by_it)
    # A part of the friction, of one that sticks, is not a direction.
    side = contact.direction
    slides = ca.fabs(side) >= 1.0
    sticks = contact.values[contact.held_by] * (1.0 - slides)
    sticks += (1.0 - sticks) * contact.resting
    spare = contact.static * contact.reaction - ca.fabs(contact.friction * side * contact.reaction)
    margin += sticks * idle * (1.0 - contact.resting) * spare
    return {
        f"{name}_friction": (contact.traction, "N"),
        f"{name}_slip": (ca.SX(sticking.residual), "m/s"),
        f"{name}_state": (slides * side + STICKS * sticks, ""),
        f"{name}_margin": (margin, "N"),
    }


def _in_space(
    space: SpatialFriction, others: Sequence[SpatialFriction], discrete: Parameters
) -> dict[str, Any]:
    name, slides = space.name, space.value("slides")
    sticks = space.value("contact") * (1.0 - slides)
    held = space.held(others, split_of(others, discrete))
    margin = ca.SX(space.static) * space.normal - ca.sqrt(ca.sumsqr(held) + TINY)
    found: dict[str, Any] = {}
    parts = zip(ca.vertsplit(_traction(space, others, discrete)), space.sticking, strict=True)
    for k, (force, sticking) in enumerate(parts, 1):
        found[f"{name}_friction_{k}"] = (force, "N")
        found[f"{name}_slip_{k}"] = (ca.SX(sticking.residual), "m/s")
    return found | {
        f"{name}_state": (slides + STICKS * sticks, ""),
        f"{name}_margin": (sticks * margin, "N"),
    }


def _traction(
    space: SpatialFriction, others: Sequence[SpatialFriction], discrete: Parameters
) -> ca.SX:
    """Return the friction of a contact in space, a column, N."""
    slid = space.friction * space.direction * space.normal
    return space.held(others, split_of(others, discrete)) - slid


def _own_margin(contact: Rubbing, rubbing: Sequence[Rubbing], discrete: Parameters) -> ca.SX:
    """Return how far friction stays below its limit while a contact holds the slip, N.

    There is no margin while it rests and its share of the load is undetermined.
    """
    (sticking,) = contact.sticking
    limit = friction_limit(contact, rubbing, discrete)
    sticks = contact.values[f"sticks_{contact.name}"] * (1.0 - contact.resting)
    return sticks * (limit - ca.fabs(sticking.reaction))

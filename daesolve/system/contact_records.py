"""What a run tells of contacts that rub: slip, friction and its work, state, and stick margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from daesolve.posing.contacts import friction_work
from daesolve.posing.symbols import Parameters
from daesolve.system.unilateral import Contact, friction_limit, shared_name

STICKS = 2.0
"""What `<name>_state` is where a contact sticks; sliding it is 1.0 or -1.0, and open 0.0."""


def with_contact_outputs(
    outputs: Mapping[str, Any], contacts: Sequence[Contact], discrete: Parameters
) -> dict[str, Any]:
    """Return the outputs of a system with those of its contacts that rub.

    Parameters
    ----------
    outputs
        Those that are posed, which come first.
    contacts, discrete
        The contacts, and all discrete values.
    """
    rubbing = [contact for contact in contacts if contact.sticking is not None]
    margins = {contact.name: _own_margin(contact, rubbing, discrete) for contact in rubbing}
    further: dict[str, Any] = {}
    for contact in rubbing:
        assert contact.sticking is not None
        name = contact.name
        holders = [other for other in rubbing if other is not contact]
        held = [discrete[shared_name(other, contact)] for other in holders]
        sticks = sum(held, start=contact.values[f"sticks_{name}"])
        margin = margins[name]
        for other, by_it in zip(holders, held, strict=True):
            margin = margin + by_it * margins[other.name]
        further[f"{name}_friction"] = (contact.traction, "N")
        further[f"{name}_slip"] = (ca.SX(contact.sticking.residual), "m/s")
        further[f"{name}_state"] = (contact.direction + STICKS * sticks, "")
        further[f"{name}_margin"] = (margin, "N")
    return {**further, **outputs}


def with_contact_meters(meters: Mapping[str, Any], contacts: Sequence[Contact]) -> dict[str, Any]:
    """Return the meters of a system with the work of friction in contacts that slide.

    It is that of the slip, which a belt that moves is part of: what is lost there as heat.
    """
    further = {
        friction_work(contact.name): (contact.traction * contact.sticking.residual, "J")
        for contact in contacts
        if contact.sticking is not None
    }
    return {**further, **meters}


def _own_margin(contact: Contact, rubbing: Sequence[Contact], discrete: Parameters) -> ca.SX:
    """Return by how much friction stays below its limit where a contact holds the slip, N."""
    assert contact.sticking is not None
    limit = friction_limit(contact, rubbing, discrete)
    sticks = contact.values[f"sticks_{contact.name}"]
    return sticks * (limit - ca.fabs(contact.sticking.reaction))

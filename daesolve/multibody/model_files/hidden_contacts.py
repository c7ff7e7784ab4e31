"""Leaves out contacts with a plane that a sphere beside them always keeps open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daesolve.multibody.bodies import at_start
from daesolve.multibody.collision import ShapeContact
from daesolve.multibody.model_files.assembly import Assembly
from daesolve.multibody.model_files.contact_reach import Reach
from daesolve.multibody.model_files.model import Mixture
from daesolve.multibody.plane_contact import PlaneContact
from daesolve.multibody.surfaces import Sphere

ROUNDING = 1e-12
"""m; how far a sphere may stick out of another that hides it."""


@dataclass(frozen=True, eq=False)
class _OnPlane:
    """A contact with a plane of a sphere, or of a point.

    Parameters
    ----------
    contact
        The contact.
    plane
        The number of the geom.
    bodies
        Those in which its centre is fixed.
    centre, radius
        m
    rubs
        Coefficients of friction.
    """

    contact: ShapeContact
    plane: int
    bodies: set[int]
    centre: np.ndarray
    radius: float
    rubs: tuple[float, ...]

    @classmethod
    def of(
        cls,
        contact: ShapeContact,
        geoms: tuple[int, int],
        mixture: Mixture,
        reach: Reach,
        bodies: Sequence[Any],
    ) -> _OnPlane | None:
        """Return it for a contact of a geom with a plane; None if it is none."""
        if not isinstance(contact, PlaneContact) or not isinstance(contact.surface, Sphere | None):
            return None
        geom, plane = geoms
        centre = ca.DM(at_start(contact.frame.position, bodies)).full().ravel()
        radius = 0.0 if contact.surface is None else float(ca.SX(contact.surface.radius))
        radius += mixture.margin
        owners = reach.bodies_at(reach.model.bodies[reach.model.geoms[geom].body].welded, centre)
        return cls(contact, plane, owners, centre, radius, mixture.rubs)

    def hides(self, other: _OnPlane) -> bool:
        """Return whether it always touches the plane before another does, or at once and alike."""
        room = self.radius - other.radius - float(np.linalg.norm(self.centre - other.centre))
        least = -ROUNDING if self.rubs == other.rubs else ROUNDING
        return self.plane == other.plane and bool(self.bodies & other.bodies) and room >= least


def without_hidden(
    parts: Sequence[tuple[ShapeContact, tuple[int, int]]],
    mixtures: Mapping[tuple[int, int], Mixture],
    assembly: Assembly,
    reach: Reach,
) -> list[ShapeContact]:
    """Return contacts without those points and spheres that a sphere always keeps off a plane.

    The sphere belongs to the same body, or is where a joint holds it to that: of two capsules that
    meet at a joint, one end is enough. Nor does a sphere touch a plane that no joint moves.
    """
    bodies = [carrier.body for carrier in assembly.carriers.values()]
    shown: list[_OnPlane] = []
    found = [_OnPlane.of(part, geoms, mixtures[geoms], reach, bodies) for part, geoms in parts]
    # The largest first, which no other hides but an equal one before it.
    for one in sorted(filter(None, found), key=lambda one: -one.radius):
        if not any(other.hides(one) for other in shown):
            shown.append(one)
    # What does not move stays away from a plane.
    visible = {id(one.contact) for one in shown if 0 not in one.bodies}
    return [
        part
        for (part, _), on_plane in zip(parts, found, strict=True)
        if on_plane is None or id(part) in visible
    ]

"""Contacts between two shapes: one for each place where they may touch at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import casadi as ca

from daesolve.core.posing.events import Event
from daesolve.core.posing.goals import Expression
from daesolve.core.posing.symbols import Parameters
from daesolve.errors import UnsupportedError
from daesolve.multibody.collision.capsule_contact import CapsuleContact
from daesolve.multibody.collision.nearest import (
    carried,
    nearest_on_box,
    nearest_on_cylinder,
)
from daesolve.multibody.collision.shapes import (
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    HalfSpace,
    Shape,
    TriaxialEllipsoid,
)
from daesolve.multibody.compliance import ComplianceLaw
from daesolve.multibody.contact_geometry import Touch, material, over_plane
from daesolve.multibody.contribution import NO_VALUES
from daesolve.multibody.places import Frame
from daesolve.multibody.plane_contact import PlaneContact
from daesolve.multibody.round_contact import RoundContact
from daesolve.multibody.supports import Rubs, Supporting
from daesolve.multibody.surfaces import Disc, Sphere, Surface

Placed = tuple[Frame, Shape]
"""A shape, and the frame of a body in whose axes it lies."""


@dataclass(frozen=True, eq=False)
class EllipsoidOnPlane:
    """An ellipsoid over a plane.

    With the normal n in axes of the ellipsoid, its centre is h = |a n| above a plane that it
    touches, where a are the semi-axes, and the lowest point is -a^2 n / h from the centre.

    Parameters
    ----------
    frame
        Along the axes of the ellipsoid, at its centre.
    semi_axes
        m
    plane
        Its axis 3 is the normal, towards the ellipsoid.
    """

    frame: Frame
    semi_axes: Sequence[float]
    plane: Frame

    @cached_property
    def _lowest(self) -> tuple[ca.SX, ca.SX]:
        sizes = ca.SX([*map(float, self.semi_axes)])
        across = sizes * (self.frame.rotation.T @ self.plane.axis(2))
        height = ca.sqrt(ca.sumsqr(across))
        return height, -self.frame.rotation @ (sizes * across) / height

    @cached_property
    def gap(self) -> ca.SX:
        """The distance of the lowest point from the plane, m."""
        apart = self.frame.position - self.plane.position
        return ca.dot(self.plane.axis(2), apart) - self._lowest[0]

    @cached_property
    def point(self) -> ca.SX:
        """The lowest point, in space, m: (3, 1)."""
        return self.frame.position + self._lowest[1]

    @cached_property
    def slip(self) -> ca.SX:
        """The velocity of the material there along the plane, m/s: (2, 1)."""
        return over_plane(self.point, material(self.frame, self._lowest[1]), self.plane)[:2]


@dataclass(frozen=True, eq=False)
class EllipsoidContact(Supporting):
    """An ellipsoid on a plane; its names and outputs are those of a `PlaneContact`.

    Parameters
    ----------
    name
        A word.
    frame, semi_axes, plane
        As in `EllipsoidOnPlane`.
    friction, unilateral, restitution, closed, static_friction, tangential_restitution, compliance
        As in `PlaneContact`.
    """

    name: str
    frame: Frame
    semi_axes: Sequence[float]
    plane: Frame
    friction: Rubs = None
    unilateral: bool = False
    restitution: Expression = 0.0
    closed: bool = True
    static_friction: Expression | None = None
    tangential_restitution: Expression = 0.0
    compliance: ComplianceLaw | None = None

    def __post_init__(self) -> None:
        _ = self.support

    @cached_property
    def values(self) -> Parameters:
        """None."""
        return NO_VALUES

    @cached_property
    def touch(self) -> Touch:
        """Its geometry."""
        return EllipsoidOnPlane(self.frame, self.semi_axes, self.plane)

    @property
    def _owners(self) -> list[object]:
        return [self.frame.body, self.plane.body]

    def _events(self, discrete: Parameters) -> tuple[Event, ...]:
        return ()


ShapeContact = PlaneContact | RoundContact | EllipsoidContact
"""`CapsuleContact` is a kind of `RoundContact`."""
Geometry = Callable[..., ShapeContact]
"""A contact of a name and of options that contacts share."""


def contacts_between(
    name: str,
    first: Placed,
    second: Placed,
    *,
    friction: Rubs = None,
    restitution: Expression = 0.0,
    closed: bool = False,
    compliance: ComplianceLaw | None = None,
    margin: float = 0.0,
) -> tuple[ShapeContact, ...]:
    """Return the contacts of two shapes, parts of a mechanism: one for each place that may touch.

    On a plane a capsule has two places, a cylinder the lowest point of either rim, a box or a
    convex hull its vertices, anything else one. Spheres and capsules touch each other at one place,
    and a sphere a box or a cylinder.

    Parameters
    ----------
    name
        A word. Several contacts are called `<name>_1`, `<name>_2`, ...
    first, second
        Each a frame of a body or of the ground, and the shape in its axes.
    friction, restitution, closed
        As in `PlaneContact`, of a unilateral contact.
    compliance
        A law of compliant contact; None for rigid bodies.
    margin
        The distance that is kept between the shapes, m.

    Raises
    ------
    UnsupportedError
        There are no contacts between two such shapes: see `can_touch`.

    Notes
    -----
    Two capsules side by side, with parallel axes, touch at one of the places that are nearest. A
    run ends where a cylinder comes to stand upright on a plane, as no point of its rim is lowest
    then (`<name>_1_flat`).

    Examples
    --------
    >>> import daesolve as ds
    >>> from daesolve.multibody import GROUND, Body, Box, HalfSpace, Mechanism, contacts_between
    >>> brick = Body("brick", 1.0, (0.01, 0.01, 0.01), position=(0, 0, 0.3))
    >>> shapes = (brick.frame(), Box((0.1, 0.1, 0.1))), (GROUND.frame(), HalfSpace())
    >>> len(contacts_between("floor", *shapes, friction=0.5))
    8
    """
    made = _geometries(first, second, margin) or _geometries(second, first, margin)
    if not made:
        kinds = " and a ".join(type(shape).__name__ for _, shape in (first, second))
        raise UnsupportedError(
            f"the contact {name!r} is between a {kinds}, which is not supported: use spheres, "
            "capsules or a plane for one of them"
        )
    options: dict[str, Any] = {"friction": friction, "compliance": compliance}
    if compliance is None:
        options |= {"unilateral": True, "restitution": restitution, "closed": closed}
    names = [name] if len(made) == 1 else [f"{name}_{k}" for k in range(1, len(made) + 1)]
    return tuple(make(own, **options) for own, make in zip(names, made, strict=True))


def can_touch(first: Shape, second: Shape) -> bool:
    """Return whether there are contacts between two shapes."""
    for one, other in ((first, second), (second, first)):
        if isinstance(other, HalfSpace) and not isinstance(one, HalfSpace):
            return True
        if isinstance(one, Sphere) and isinstance(other, Sphere | Capsule | Box | Cylinder):
            return True
    return isinstance(first, Capsule) and isinstance(second, Capsule)


def _geometries(first: Placed, second: Placed, margin: float) -> list[Geometry]:
    """Return how to make the contacts of two shapes; none if they do not touch in this order."""
    (own, shape), (other, beside) = first, second
    if isinstance(beside, HalfSpace):
        return _on_plane(own, shape, carried(other, ca.SX([0.0, 0.0, margin])))
    match shape, beside:
        case Sphere(), Sphere():
            radii = shape.radius, beside.radius + margin
            return [partial(RoundContact, first=own, second=other, radii=radii)]
        case Sphere() | Capsule(), Capsule():
            length = shape.half_length if isinstance(shape, Capsule) else 0.0
            return [
                partial(
                    CapsuleContact,
                    first=own,
                    second=other,
                    radii=(shape.radius, beside.radius + margin),
                    half_lengths=(length, beside.half_length),
                )
            ]
        case Sphere(), Box() | Cylinder():
            if isinstance(beside, Box):
                near = nearest_on_box(other, beside.half_lengths, own.position)
            else:
                near = nearest_on_cylinder(other, beside.radius, beside.half_length, own.position)
            return [partial(RoundContact, first=own, second=near, radii=(shape.radius, margin))]
        case _:
            return []


def _on_plane(frame: Frame, shape: Shape, plane: Frame) -> list[Geometry]:
    """Return how to make the contacts of a shape with a plane."""

    def places(arms: Iterable[Iterable[float]], surface: Surface | None) -> list[Geometry]:
        there = [carried(frame, ca.SX([float(part) for part in arm])) for arm in arms]
        return [partial(PlaneContact, frame=one, surface=surface, plane=plane) for one in there]

    match shape:
        case Sphere():
            return places([(0.0, 0.0, 0.0)], shape)
        case Capsule() | Cylinder():
            round_ends = isinstance(shape, Capsule)
            surface = Sphere(shape.radius) if round_ends else Disc(shape.radius)
            return places([(0.0, 0.0, side * shape.half_length) for side in (-1, 1)], surface)
        case Box() | ConvexHull():
            return places(shape.vertices, None)
        case TriaxialEllipsoid():
            axes = shape.semi_axes
            return [partial(EllipsoidContact, frame=frame, semi_axes=axes, plane=plane)]
        case HalfSpace():
            return []

"""Contacts between shapes: planes, spheres, capsules, boxes, cylinders, ellipsoids and hulls."""

from daesolve.multibody.collision.shape_contacts import ShapeContact, can_touch, contacts_between
from daesolve.multibody.collision.shapes import (
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    HalfSpace,
    Shape,
    TriaxialEllipsoid,
    bounding_radius,
)

__all__ = [
    "Box",
    "Capsule",
    "ConvexHull",
    "Cylinder",
    "HalfSpace",
    "Shape",
    "ShapeContact",
    "TriaxialEllipsoid",
    "bounding_radius",
    "can_touch",
    "contacts_between",
]

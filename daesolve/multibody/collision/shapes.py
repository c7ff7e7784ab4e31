"""The shapes that touch, each in the axes of a frame whose origin is its centre."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from daesolve.errors import OutOfRangeError, PosingError, is_number
from daesolve.multibody.surfaces import Sphere


@dataclass(frozen=True)
class HalfSpace:
    """Everything below a plane, whose normal is axis 3 of its frame."""


@dataclass(frozen=True)
class Capsule:
    """A cylinder about axis 3 with a half sphere at either end.

    Parameters
    ----------
    radius
        m
    half_length
        From the centre to the centre of either half sphere, m.
    """

    radius: float
    half_length: float

    def __post_init__(self) -> None:
        _check_sizes(self, radius=self.radius, half_length=self.half_length)


@dataclass(frozen=True)
class Box:
    """A box along the axes of its frame.

    Parameters
    ----------
    half_lengths
        Half of its edges, m: three.
    """

    half_lengths: Sequence[float]

    def __post_init__(self) -> None:
        _check_three(self, self.half_lengths)

    @property
    def vertices(self) -> np.ndarray:
        """Its corners, m: (8, 3)."""
        return np.array(list(product((-1.0, 1.0), repeat=3))) * np.asarray(self.half_lengths)


@dataclass(frozen=True)
class Cylinder:
    """A cylinder about axis 3 with flat ends.

    Parameters
    ----------
    radius, half_length
        m
    """

    radius: float
    half_length: float

    def __post_init__(self) -> None:
        _check_sizes(self, radius=self.radius, half_length=self.half_length)


@dataclass(frozen=True)
class TriaxialEllipsoid:
    """An ellipsoid along the axes of its frame.

    Parameters
    ----------
    semi_axes
        m: three.
    """

    semi_axes: Sequence[float]

    def __post_init__(self) -> None:
        _check_three(self, self.semi_axes)


@dataclass(frozen=True, eq=False)
class ConvexHull:
    """The convex hull of some points.

    Parameters
    ----------
    vertices
        m: at least four rows of three numbers, none of them within the hull of the others.
    """

    vertices: np.ndarray

    def __post_init__(self) -> None:
        shape = np.shape(self.vertices)
        if len(shape) != 2 or shape[1] != 3 or shape[0] < 4:
            raise PosingError(
                f"the vertices of a ConvexHull must be four or more rows of three numbers, not an "
                f"array of the shape {shape}"
            )
        if not np.all(np.isfinite(self.vertices)):
            raise OutOfRangeError("the vertices of a ConvexHull must be finite numbers")


Shape = HalfSpace | Sphere | Capsule | Box | Cylinder | TriaxialEllipsoid | ConvexHull


def bounding_radius(shape: Shape) -> float:
    """Return how far a shape reaches from its centre, m."""
    match shape:
        case HalfSpace():
            return math.inf
        case Sphere():
            return float(shape.radius)
        case Capsule():
            return shape.radius + shape.half_length
        case Box():
            return float(np.linalg.norm(shape.half_lengths))
        case Cylinder():
            return math.hypot(shape.radius, shape.half_length)
        case TriaxialEllipsoid():
            return max(shape.semi_axes)
        case ConvexHull():
            return float(np.max(np.linalg.norm(shape.vertices, axis=1)))


def _check_sizes(shape: Shape, **sizes: float) -> None:
    for name, size in sizes.items():
        if not is_number(size) or not size > 0.0:
            raise OutOfRangeError(
                f"the {name} of a {type(shape).__name__} is {size!r}, but must be a number > 0, m"
            )


def _check_three(shape: Shape, sizes: Sequence[float]) -> None:
    if len(sizes) != 3:
        raise PosingError(f"a {type(shape).__name__} needs three lengths, not {sizes!r}")
    _check_sizes(shape, **{f"length {k}": size for k, size in enumerate(sizes, 1)})

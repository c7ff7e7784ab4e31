"""How two bodies touch: their gap, where it is, and how they slide along each other there.

The gap lies along a normal n, from the second body to the first. Its rate is n . (v - v'), with the
velocities v and v' of the material on either side of it, however the bodies roll: the nearest
points wander along the surfaces, across n. What is left of v - v' is the slip, so that friction
along the slip does the work of its force at the material.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import casadi as ca

from daesolve.multibody.places import Frame, PlanarFrame, PlanarPoint, Point
from daesolve.multibody.surfaces import Surface, lowest_point


class Touch(Protocol):
    """How a body is to another."""

    @cached_property
    def gap(self) -> ca.SX:
        """The distance of their surfaces, m."""
        ...

    @cached_property
    def point(self) -> ca.SX:
        """The point of the first that is nearest to the second, in space, m: (3, 1) or (2, 1)."""
        ...

    @cached_property
    def slip(self) -> ca.SX:
        """The velocity of its material over that of the second, along it, m/s: (2, 1) or (1, 1)."""
        ...


@dataclass(frozen=True, eq=False)
class SurfaceOnPlane:
    """A surface of revolution over a plane.

    Parameters
    ----------
    frame
        Axis 3 is that of the surface, and its origin the surface's centre.
    surface
        Of revolution.
    plane
        Its axis 3 is the normal, towards the surface.
    end
        As for `lowest_point`.
    """

    frame: Frame
    surface: Surface
    plane: Frame
    end: ca.SX | None = None

    @cached_property
    def _lowest(self) -> tuple[ca.SX, ca.SX]:
        return lowest_point(self.surface, self.frame.axis(2), self.plane.axis(2), self.end)

    @cached_property
    def gap(self) -> ca.SX:
        """The distance of the lowest point from the plane, m."""
        return (
            ca.dot(self.plane.axis(2), self.frame.position - self.plane.position) - self._lowest[0]
        )

    @cached_property
    def point(self) -> ca.SX:
        """The lowest point, in space, m: (3, 1)."""
        return self.frame.position + self._lowest[1]

    @cached_property
    def velocity(self) -> ca.SX:
        """The velocity of the material there over the plane, in axes of the plane, m/s: (3, 1)."""
        velocity = self.frame.velocity + ca.cross(self.frame.angular_velocity, self._lowest[1])
        return over_plane(self.point, velocity, self.plane)

    @cached_property
    def slip(self) -> ca.SX:
        """Its part in the plane, m/s: (2, 1)."""
        return self.velocity[:2]

    @cached_property
    def cosine(self) -> ca.SX:
        """The cosine e . n of axis and normal."""
        return ca.dot(self.frame.axis(2), self.plane.axis(2))


@dataclass(frozen=True, eq=False)
class PointOnPlane:
    """A point of a body over a plane.

    Parameters
    ----------
    place
        The point.
    plane
        Its axis 3 is the normal, towards the body.
    """

    place: Point
    plane: Frame

    @cached_property
    def gap(self) -> ca.SX:
        """Its distance from the plane, m."""
        return ca.dot(self.plane.axis(2), self.place.position - self.plane.position)

    @cached_property
    def point(self) -> ca.SX:
        """Where it is in space, m: (3, 1)."""
        return self.place.position

    @cached_property
    def slip(self) -> ca.SX:
        """Its velocity over the plane, along the plane's first and second axis, m/s: (2, 1)."""
        return over_plane(self.point, self.place.velocity, self.plane)[:2]


@dataclass(frozen=True, eq=False)
class CircleOnLine:
    """A circle in the plane over a line.

    Parameters
    ----------
    place
        The centre; where the radius is zero, a point of a body.
    radius
        m
    line
        Along its axis 1; axis 2 is the normal, towards the circle.
    """

    place: PlanarPoint
    radius: ca.SX
    line: PlanarFrame

    @cached_property
    def gap(self) -> ca.SX:
        """The distance of the lowest point from the line, m."""
        away = self.place.position - self.line.position
        return ca.dot(self.line.direction(1), away) - self.radius

    @cached_property
    def point(self) -> ca.SX:
        """The lowest point, m: (2, 1)."""
        return self.place.position - self.radius * self.line.direction(1)

    @cached_property
    def slip(self) -> ca.SX:
        """The velocity of the material there over the line, along it, m/s: (1, 1)."""
        own = self.place.velocity + turned(self.place, self.point - self.place.position)
        under = self.line.velocity + turned(self.line, self.point - self.line.position)
        return ca.dot(self.line.direction(0), own - under)


def over_plane(point: ca.SX, velocity: ca.SX, plane: Frame) -> ca.SX:
    """Return a velocity at a point over the material of a plane there, in its axes: (3, 1)."""
    under = plane.velocity + ca.cross(plane.angular_velocity, point - plane.position)
    return plane.rotation.T @ (velocity - under)


def turned(place: PlanarPoint, arm: ca.SX) -> ca.SX:
    """Return the velocity that a turn gives the end of an arm from a place, in the plane: (2, 1).

    A place that is no frame is a point, with no arm.
    """
    if not isinstance(place, PlanarFrame):
        return ca.SX(2, 1)
    return place.rate * ca.vertcat(-arm[1], arm[0])

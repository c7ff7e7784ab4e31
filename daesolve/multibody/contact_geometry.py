"""The geometry of two touching bodies: their gap, its place, and their slip there.

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

from daesolve.multibody.places import Frame, Place, PlanarFrame, PlanarPoint, Point
from daesolve.multibody.surfaces import Surface, lowest_point

NOTHING = 1e-20
"""What is lost beside any distance of a normal from where it has no directions of slip."""


class Touch(Protocol):
    """The geometry of one body relative to another."""

    @cached_property
    def gap(self) -> ca.SX:
        """The distance of their surfaces, m."""
        ...

    @cached_property
    def point(self) -> ca.SX:
        """The point of the first body nearest to the second, m: (3, 1) or (2, 1)."""
        ...

    @cached_property
    def slip(self) -> ca.SX:
        """The velocity of its material relative to the second, along it, m/s: (2, 1) or (1, 1)."""
        ...


@dataclass(frozen=True, eq=False)
class SurfaceOnPlane:
    """A surface of revolution over a plane.

    Parameters
    ----------
    frame
        Axis 3 is the axis of the surface, and its origin the centre.
    surface
        Of revolution.
    plane
        Its axis 3 is the normal, towards the surface.
    end
        As in `lowest_point`.
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
        return over_plane(self.point, material(self.frame, self._lowest[1]), self.plane)

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
        own = material(self.place, self.point - self.place.position)
        under = material(self.line, self.point - self.line.position)
        return ca.dot(self.line.direction(0), own - under)


@dataclass(frozen=True, eq=False)
class RoundOnRound:
    """Two spheres, or two circles in the plane; one with zero radius is a point.

    Parameters
    ----------
    first, second
        Their centres: frames, unless they are points.
    radii
        m
    inside
        Whether the first is inside the second, which is hollow.
    side
        In space, 1.0 or -1.0: which end of the axis z is turned onto the normal, the short way, and
        the axes x and y with it onto the directions of slip. They do not exist where the normal
        points to the other end.
    pressed
        Whether they may be pressed into each other, so that friction acts in the middle of what
        they have in common; where one is a point, there.
    """

    first: Place
    second: Place
    radii: tuple[ca.SX, ca.SX]
    inside: bool = False
    side: ca.SX | float = 1.0
    pressed: bool = False

    @cached_property
    def _apart(self) -> ca.SX:
        return self.first.position - self.second.position

    @cached_property
    def normal(self) -> ca.SX:
        """From the material of the second to the first: (3, 1) or (2, 1)."""
        outwards = self._apart / ca.sqrt(ca.sumsqr(self._apart))
        return -outwards if self.inside else outwards

    @cached_property
    def gap(self) -> ca.SX:
        """The distance of the two surfaces, m."""
        own, other = self.radii
        distance = ca.sqrt(ca.sumsqr(self._apart))
        return other - own - distance if self.inside else distance - own - other

    @cached_property
    def point(self) -> ca.SX:
        """The point of the first that is nearest, in space, m: (3, 1) or (2, 1)."""
        return self.first.position - self.radii[0] * self.normal

    @cached_property
    def tangents(self) -> ca.SX:
        """The directions of slip, columns at right angles to the normal: (3, 2) or (2, 1)."""
        if isinstance(self.first, PlanarPoint):
            return ca.vertcat(self.normal[1], -self.normal[0])
        return tangents_of(self.normal, self.side)

    @cached_property
    def slip(self) -> ca.SX:
        """The velocity of the first's material over the second's, m/s: (2, 1) or (1, 1)."""
        own, other = self._arms
        return self.tangents.T @ (material(self.first, own) - material(self.second, other))

    @cached_property
    def _arms(self) -> tuple[ca.SX, ca.SX]:
        """Return the ways from both centres to where they slide along each other."""
        own, other = -self.radii[0] * self.normal, self.radii[1] * self.normal
        if not self.pressed:
            return own, -other if self.inside else other
        # One place in space: with two, equal and opposite forces would have a moment.
        if not isinstance(self.first, Frame | PlanarFrame):
            own = 0 * own
        elif not isinstance(self.second, Frame | PlanarFrame):
            own = -self._apart
        else:
            own = own - self.gap / 2 * self.normal
        return own, own + self._apart


@dataclass(frozen=True, eq=False)
class PinInHole:
    """A pin in a wider hole, in the plane; its centre may pass the middle of the hole.

    The normal is smooth there: it uses the clearance c instead of the distance d of the centres,
    which are equal where they touch. So is the gap of a rigid contact, (c^2 - d^2) / 2 c, which has
    the rate of c - d there.

    Parameters
    ----------
    pin, hole
        Their centres.
    radius
        Of the pin, m.
    clearance
        How much wider the hole is, m.
    near
        Of a compliant contact, whose depth counts, 1.0 while d < c / 2 and 0.0 beyond; d then
        counts as c / 2. None for a rigid one.
    """

    pin: PlanarFrame
    hole: PlanarFrame
    radius: ca.SX
    clearance: ca.SX
    near: ca.SX | None = None

    @cached_property
    def _apart(self) -> ca.SX:
        return self.pin.position - self.hole.position

    @cached_property
    def squared(self) -> ca.SX:
        """The squared distance of the centres, m^2."""
        return ca.sumsqr(self._apart)

    @cached_property
    def _distance(self) -> ca.SX:
        if self.near is None:
            return self.clearance
        half = self.clearance / 2
        return ca.sqrt(self.near * half**2 + (1 - self.near) * self.squared)

    @cached_property
    def _normal(self) -> ca.SX:
        return -self._apart / self._distance

    @cached_property
    def gap(self) -> ca.SX:
        """What vanishes where they touch, at the rate of their distance, m."""
        if self.near is None:
            return (self.clearance**2 - self.squared) / (2 * self.clearance)
        return self.clearance - self._distance

    @cached_property
    def point(self) -> ca.SX:
        """The point of the pin that is nearest, m: (2, 1)."""
        return self.pin.position - self.radius * self._normal

    @cached_property
    def slip(self) -> ca.SX:
        """The velocity of the pin's material over the hole's, m/s: (1, 1)."""
        # In a compliant contact, the middle of the overlap, as in `RoundOnRound`.
        half = 0.0 if self.near is None else self.gap / 2
        own = material(self.pin, -(self.radius + half) * self._normal)
        other = material(self.hole, -(self.radius + self.clearance - half) * self._normal)
        along = ca.vertcat(self._normal[1], -self._normal[0])
        return ca.dot(along, own - other)


def tangents_of(normal: ca.SX, side: ca.SX | float) -> ca.SX:
    """Return where the axes x and y come when z, or -z with y reversed, is turned onto a normal.

    Parameters
    ----------
    normal
        (3, 1), of length one; not near the axis that is turned, reversed.
    side
        1.0 for z, -1.0 for -z.

    Returns
    -------
    ca.SX
        (3, 2), columns; with the normal they are right-handed.
    """
    x, y, z = ca.vertsplit(normal)
    part = 1 / (1 + side * z + NOTHING)
    first = ca.vertcat(1 - part * x * x, -part * x * y, -side * x)
    second = ca.vertcat(-part * x * y, 1 - part * y * y, -side * y)
    return ca.horzcat(first, side * second)


def material(place: Place, arm: ca.SX) -> ca.SX:
    """Return the velocity of the material at the end of an arm from a place, which is in space.

    A place that is not a frame is a point, with no arm.
    """
    if isinstance(place, Frame):
        return place.velocity + ca.cross(place.angular_velocity, arm)
    if isinstance(place, PlanarFrame):
        return place.velocity + place.rate * ca.vertcat(-arm[1], arm[0])
    return place.velocity


def over_plane(point: ca.SX, velocity: ca.SX, plane: Frame) -> ca.SX:
    """Return a velocity at a point over the material of a plane there, in its axes: (3, 1)."""
    return plane.rotation.T @ (velocity - material(plane, point - plane.position))

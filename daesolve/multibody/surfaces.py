"""Surfaces of revolution, and where they touch a plane.

A convex surface of revolution about the axis e lies on a plane with the normal n, |e| = |n| = 1.
The height of its centre above the plane then depends only on c = e . n: this is its support h(c).
The support function also gives the point of contact. From the centre, the lowest point is

    r = -(h - c h') n - h' e,

and the rate of the gap (centre . n - h) is exactly the normal velocity of the material point there,
since h' c' = h' n . (omega x e) = -n . (omega x r).

For the spindle, the surface of a circular arc about its chord, r is (2.2) of
K. V. Gerasimov, Dynamics of vehicles on omni-wheels (Moscow State University, 2018), chapter 3;
gap = 0 is (2.6), and |c| <= `Ends.edge` is (2.4).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import casadi as ca

from daesolve.core.posing.goals import Expression
from daesolve.core.posing.symbols import symbol
from daesolve.multibody.checks import check_size

BLUNT = 1e-9
"""How near to zero a sine is blunted: a rim that stands upright, off the plane, has a slope still.

Where it may touch a plane, at 1e-3 and more, that is less than rounding."""


@dataclass(frozen=True, eq=False)
class Ends:
    """The two rims, or tips, at which a surface is cut off, along its axis and against it.

    Parameters
    ----------
    edge
        |c| beyond which the lower end touches, and not the surface between the ends.
    half_length
        Their distance from the centre, m.
    radius
        Of the rims, m; zero for tips.
    """

    edge: ca.SX
    half_length: ca.SX
    radius: ca.SX

    def support(self, cosine: ca.SX, sine: ca.SX, end: ca.SX) -> ca.SX:
        """Return the support of an end: `end` is 1.0 for the one along the axis, else -1.0."""
        return self.radius * sine - end * self.half_length * cosine


class Surface(ABC):
    """A convex surface of revolution about axis 3 of a frame, whose origin is its centre."""

    @abstractmethod
    def support(self, cosine: ca.SX) -> ca.SX:
        """Return h, the height of the centre above a plane that the surface touches, m.

        Parameters
        ----------
        cosine
            c = e . n, of the axis and the plane's normal.
        """

    @property
    def ends(self) -> Ends | None:
        """Where the surface is cut off; None if it is of one piece."""
        return None

    def lies_flat(self, end: ca.SX | None) -> ca.SX:
        """Return 1 if no single point is lowest when its axis is along the plane's normal, else 0.

        Parameters
        ----------
        end
            As in `lowest_point`.
        """
        return ca.SX(0)


def sine_of(cosine: ca.SX) -> ca.SX:
    """Return sqrt(1 - c^2)."""
    return ca.sqrt(1 - cosine**2)


def lowest_point(
    surface: Surface, axis: ca.SX, normal: ca.SX, end: ca.SX | None = None
) -> tuple[ca.SX, ca.SX]:
    """Return the height of the centre above a plane that is touched, and where it is touched.

    Parameters
    ----------
    surface
        What lies on the plane.
    axis, normal
        Its axis and the plane's normal towards it, (3, 1), of length one.
    end
        Which of its ends may touch: 0.0 for none, 1.0 for the one along the axis, -1.0 for the
        other. None is for a surface of one piece.

    Returns
    -------
    tuple
        h, m, and r from the centre, (3, 1), m.
    """
    cosine, sine = symbol("cosine"), symbol("sine")
    ends = surface.ends
    if end is None or ends is None:
        height = surface.support(cosine)
    else:
        # On its tip a spindle may stand upright, where the support of its arc has no slope.
        between = end == 0
        height = between * surface.support(between * cosine)
        height += (end != 0) * ends.support(cosine, sine, end)
    slope = ca.jacobian(height, cosine) - ca.jacobian(height, sine) * cosine / sine
    along, across = ca.dot(axis, normal), ca.cross(axis, normal)
    # Not of the cosine, near to which one a sine has lost half of its digits.
    own = [along, ca.sqrt(ca.sumsqr(across) + BLUNT**2)]
    height, slope = ca.substitute([height, slope], [cosine, sine], own)
    return height, -(height - along * slope) * normal - slope * axis


@dataclass(frozen=True, eq=False)
class Sphere(Surface):
    """A sphere.

    Parameters
    ----------
    radius
        A number or an expression of parameters, m.
    """

    radius: Expression

    def __post_init__(self) -> None:
        _check_sizes(self, radius=self.radius)

    def support(self, cosine: ca.SX) -> ca.SX:
        """Return its radius."""
        return ca.SX(self.radius)


@dataclass(frozen=True, eq=False)
class Disc(Surface):
    """A flat disc with a sharp rim. If it lies flat, no single point is lowest.

    Parameters
    ----------
    radius
        Of the rim, m.
    """

    radius: Expression

    def __post_init__(self) -> None:
        _check_sizes(self, radius=self.radius)

    def support(self, cosine: ca.SX) -> ca.SX:
        """Return radius * sine."""
        return self.radius * sine_of(cosine)

    def lies_flat(self, end: ca.SX | None) -> ca.SX:
        """Return 1: its whole rim."""
        return ca.SX(1)


@dataclass(frozen=True, eq=False)
class Torus(Surface):
    """A wheel with a round tyre. If it lies flat, no single point is lowest.

    Parameters
    ----------
    radius
        Of the circle in the middle of the tyre, m.
    tube
        The radius of the tyre itself, m.
    """

    radius: Expression
    tube: Expression

    def __post_init__(self) -> None:
        _check_sizes(self, radius=self.radius, tube=self.tube)

    def support(self, cosine: ca.SX) -> ca.SX:
        """Return radius * sine + tube."""
        return self.radius * sine_of(cosine) + self.tube

    def lies_flat(self, end: ca.SX | None) -> ca.SX:
        """Return 1: a circle of its tyre."""
        return ca.SX(1)


@dataclass(frozen=True, eq=False)
class Ellipsoid(Surface):
    """An ellipsoid of revolution.

    Parameters
    ----------
    radius
        Its semi-axis across the axis of revolution, m.
    half_length
        Its semi-axis along the axis of revolution, m.
    """

    radius: Expression
    half_length: Expression

    def __post_init__(self) -> None:
        _check_sizes(self, radius=self.radius, half_length=self.half_length)

    def support(self, cosine: ca.SX) -> ca.SX:
        """Return the distance of its centre from a tangent plane."""
        across, along = ca.SX(self.radius) ** 2, ca.SX(self.half_length) ** 2
        return ca.sqrt(across * (1 - cosine**2) + along * cosine**2)


@dataclass(frozen=True, eq=False)
class Spindle(Surface):
    """A circular arc rotated about its chord: the roller of an omni-wheel.

    At the distance x from its middle its radius is sqrt(arc^2 - x^2) - offset.

    Parameters
    ----------
    arc
        The radius of the arc, m.
    offset
        The distance of the axis from the centre of the arc, m; less than `arc`.
    half_length
        The distance from its middle at which it is cut off on either side, m. Without it the
        spindle is pointed, half_length = sqrt(arc^2 - offset^2).

    Notes
    -----
    The arc touches where |c| <= half_length / arc. Beyond, the lower end does. Support and lowest
    point are continuous there, but their rates are not: a contact switches at an event.
    """

    arc: Expression
    offset: Expression
    half_length: Expression | None = None

    def __post_init__(self) -> None:
        _check_sizes(self, arc=self.arc, offset=self.offset)
        _check_sizes(self, **{"arc - offset": self.arc - self.offset})
        if self.half_length is not None:
            _check_sizes(self, half_length=self.half_length)
            pointed = ca.sqrt(ca.SX(self.arc) ** 2 - ca.SX(self.offset) ** 2)
            _check_sizes(self, **{"what half_length cuts off": pointed - self.half_length})

    def support(self, cosine: ca.SX) -> ca.SX:
        """Return arc - offset * sine."""
        return self.arc - self.offset * sine_of(cosine)

    @property
    def ends(self) -> Ends:
        """Its tips, or the rims where it is cut off."""
        arc, offset = ca.SX(self.arc), ca.SX(self.offset)
        if self.half_length is None:
            half_length = ca.sqrt(arc**2 - offset**2)
            return Ends(half_length / arc, half_length, ca.SX(0))
        half_length = ca.SX(self.half_length)
        return Ends(half_length / arc, half_length, ca.sqrt(arc**2 - half_length**2) - offset)

    def lies_flat(self, end: ca.SX | None) -> ca.SX:
        """Return 1 for the rim where it is cut off, 0 for a tip and for its arc."""
        return ca.SX(0) if self.half_length is None or end is None else ca.SX(end != 0)


def _check_sizes(surface: Surface, **sizes: Expression) -> None:
    """Refuse a size that is known and is not positive."""
    for name, size in sizes.items():
        check_size(f"{name} of a {type(surface).__name__}", size, "> 0", "m")

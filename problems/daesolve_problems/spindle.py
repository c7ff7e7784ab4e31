"""Rollers whose contour is an arc of their wheel's circle, and wheels that carry them.

n rollers surround a wheel of the radius l. A roller spans the central angle 2 al, al = pi / n; at
the angle b from its middle, as the wheel's centre sees it, it is as thick as is needed to reach
the wheel's circle,

    rho(b) = l cos(b) - d,  x(b) = l sin(b) along its axis,  |b| <= al,

its axis lying in the wheel's plane at the distance d from the wheel's centre. At its ends it has
the radius rho_end = l cos(al) - d, so that

    d = l cos(al) - rho_end,  rho = l (cos(b) - cos(al) + e),  e = rho_end / l.

With rho_end = 0 it is pointed, and neighbours meet in their tips. Homogeneous, with c = cos(b),
s = sin(b) and u = c - cos(al) + e, it has the volume and the moments of inertia

    V   = 2 pi l^3 int u^2 c db
    B/m = (pi l^5 / V) int u^4 c db                   about its axis
    A/m = B / (2 m) + (2 pi l^5 / V) int u^2 s^2 c db  across it, through its middle,

the integrals taken from 0 to al. They have closed forms in al, sin(al) and cos(al), whose terms
are of the order of 1 while their sums are as small as al^9. A Gauss rule that is exact to rounding
keeps all digits for any number of rollers, and is used here.

K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and with
friction, Moscow State University (2018), chapter 3, (2.1), has the pointed roller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

NODES: Final = 20
"""Nodes of the Gauss rule: for al <= pi / 2 its error is below rounding."""


@dataclass(frozen=True)
class Spindle:
    """A homogeneous roller; lengths are numbers or expressions of parameters.

    Parameters
    ----------
    wheel_radius
        l, m.
    rollers
        n, of its wheel.
    end_radius
        rho_end, m; 0 where it is pointed.
    """

    wheel_radius: Any
    rollers: int
    end_radius: Any = 0.0

    @property
    def half_angle(self) -> float:
        """Return al = pi / n, rad."""
        return math.pi / self.rollers

    @property
    def axis_distance(self) -> Any:
        """Return d, the distance of its axis from the wheel's centre, m."""
        return self.wheel_radius * math.cos(self.half_angle) - self.end_radius

    @property
    def half_length(self) -> Any:
        """Return l sin(al), m."""
        return self.wheel_radius * math.sin(self.half_angle)

    @property
    def middle_radius(self) -> Any:
        """Return its largest radius l - d, m."""
        return self.wheel_radius * 2.0 * math.sin(self.half_angle / 2.0) ** 2 + self.end_radius

    @property
    def volume(self) -> Any:
        """Return V, m^3."""
        return 2.0 * math.pi * self.wheel_radius**3 * self._integral(2)

    @property
    def along(self) -> Any:
        """Return B / m, about its axis, m^2."""
        return self.wheel_radius**2 * self._integral(4) / (2.0 * self._integral(2))

    @property
    def across(self) -> Any:
        """Return A / m, across its axis through its middle, m^2."""
        spread = self._integral(2, sines=2) / self._integral(2)
        return self.along / 2.0 + self.wheel_radius**2 * spread

    def lowest(self, cosine: float) -> tuple[float, tuple[float, float]]:
        """Return the height of its centre when it touches a plane, and the point of contact.

        Its arc touches where |c| <= sin(al), c = cos of the angle between its axis and the normal;
        beyond, the edge of its lower end does.

        Parameters
        ----------
        cosine
            c.

        Returns
        -------
        tuple
            The height, m, and the parts along the normal and along the axis of the arm from the
            centre to the point of contact, m.
        """
        sine = math.sqrt(1.0 - cosine**2)
        if abs(cosine) <= math.sin(self.half_angle):
            toward = self.axis_distance / sine
            arm = -self.wheel_radius + toward, -toward * cosine
            return self.wheel_radius - self.axis_distance * sine, arm
        along = -math.copysign(self.half_length, cosine)
        # If it is upright, a whole rim is lowest: the middle of the rim represents it.
        thick = self.end_radius / sine if sine > 0.0 else 0.0
        return self.end_radius * sine - along * cosine, (-thick, along + thick * cosine)

    def _integral(self, power: int, sines: int = 0) -> Any:
        """Return the integral of u^power s^sines c from 0 to al, a polynomial in e.

        Its coefficients are positive, as is cos(b) - cos(al), written as a product.
        """
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        half = self.half_angle / 2.0
        b = half * (1.0 + nodes)
        height = 2.0 * np.sin(half + b / 2.0) * np.sin(half - b / 2.0)
        density = half * weights * np.sin(b) ** sines * np.cos(b)
        end = self.end_radius / self.wheel_radius
        total: Any = 0.0
        for k in range(power + 1):
            moment = math.comb(power, k) * float(density @ height ** (power - k))
            total = total + moment * end**k
        return total


@dataclass(frozen=True)
class Wheel:
    """A thin disc that carries homogeneous rollers; all numbers or expressions of parameters.

    The disc has the radius l cos(pi / n), where pointed rollers meet, however the rollers end.

    Parameters
    ----------
    mass
        Disc and rollers together, kg.
    roller_share
        The mass of all its rollers over `mass`.
    roller
        Each of its rollers.
    """

    mass: Any
    roller_share: Any
    roller: Spindle

    @property
    def disc_mass(self) -> Any:
        """Return the mass of the disc, kg."""
        return self.mass * (1.0 - self.roller_share)

    @property
    def disc_radius(self) -> Any:
        """Return l cos(al), m."""
        return self.roller.wheel_radius * math.cos(self.roller.half_angle)

    @property
    def roller_mass(self) -> Any:
        """Return the mass of a roller, kg."""
        return self.mass * self.roller_share / self.roller.rollers

    @property
    def roller_along(self) -> Any:
        """Return B, of a roller about its axis, kg m^2."""
        return self.roller_mass * self.roller.along

    @property
    def roller_across(self) -> Any:
        """Return A, of a roller across its axis, kg m^2."""
        return self.roller_mass * self.roller.across

    @property
    def axial(self) -> Any:
        """Return J, of disc and rollers about the axle, kg m^2."""
        ring = self.roller_across + self.roller_mass * self.roller.axis_distance**2
        return self.disc_mass * self.disc_radius**2 / 2.0 + self.roller.rollers * ring

    @property
    def upright(self) -> Any:
        """Return the moment about the vertical through its centre, kg m^2.

        Rollers contribute only by A and their mass, not by B: their rotation about their own axes
        is counted separately. For n >= 3 it does not depend on how the wheel has turned.
        """
        ring = self.roller_across + self.roller_mass * self.roller.axis_distance**2
        return self.disc_mass * self.disc_radius**2 / 4.0 + self.roller.rollers * ring / 2.0

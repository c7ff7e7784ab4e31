"""Bricard's mechanism of six axes, each normal to the next: its motion from rest by a quadrature.

Five rods of length 1 and the ground join P1 = (0, 0, 0), P2, ..., P6 = (0, 0, 1); each joint's axis
is normal to both its rods and to the axes beside it, that of P1 along y, that of P6 along x.
The mechanism is symmetric by a third of a turn, P1 -> P3 -> P5, P2 -> P4 -> P6. So the triangle
P1 P3 P5 has equal sides, and with theta the angle of the first rod, s = sin(theta), c = cos(theta),

    P2 = (c, 0, -s),  P3 = (c D, -C, -s D),  P5 = (0, -C, D),
    P4 = P3 + P5 - P2 - P6 + C (c C/D, c^2 D, c^2 C),  D = 1/(1 + s),  C = sqrt(1 + 2 s) D.

Its potential energy is -m g C (3 + s), and from rest at theta = 0 it swings to theta = pi and back,

    M theta'^2 / 2 = m g 2 s (3 + 2 s + s^2) / ((1 + s) ((3 + s) sqrt(1 + 2 s) + 3 (1 + s))),

without a difference of near numbers. M (kg m^2) comes from the rods' velocities, which are
derivatives by a complex step: exact to rounding. With theta = pi sin^2(tau/2) the rate of tau is
smooth and does not vanish.

A rod is thin, or a bar of square cross-section. SI units, angles in rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.integrate import solve_ivp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64] | NDArray[np.complex128]

PUBLISHED: Final = {0.4: 0.851169, 1.0: 0.273334, 2.0: -0.779947, 8.0: -0.757063, 10.0: 0.999265}
"""x of P3 at some times: the benchmark's reference as drawn (six digits) in the documentation of
L. Tagliapietra, M. Vivian, E. Ceseracciu, M. Reggiani, MBS-BOS (2015), problem A04."""

STEP: Final = 1e-30


def points(theta: Array) -> list[Array]:
    """Return P1 to P6, each (3, k), at angles of the first rod, (k,); sin(theta) > -1/2."""
    s, c = np.sin(theta), np.cos(theta)
    d = 1 / (1 + s)
    height = np.sqrt(1 + 2 * s) * d
    zero = 0 * s
    first, last = np.stack([zero, zero, zero]), np.stack([zero, zero, zero + 1])
    second = np.stack([c, zero, -s])
    third, fifth = np.stack([c * d, -height, -s * d]), np.stack([zero, -height, d])
    along = np.stack([c * height**2 / d, c**2 * height * d, c**2 * height**2])
    return [first, second, third, third + fifth - second - last + along, fifth, last]


def joint_axes(places: list[Array]) -> list[Array]:
    """Return the axes of the joints at P2, P4 and P6, each (3, k): normal to the rods there."""
    rods = [end - begin for begin, end in pairwise(places)]
    axes = [np.cross(rods[i], rods[i + 1], axis=0) for i in (0, 2)]
    sides = [axis / np.sqrt(np.sum(axis * axis, axis=0)) for axis in axes]
    return [*sides, np.zeros_like(sides[0]) + np.array([[1.0], [0.0], [0.0]])]


@dataclass(frozen=True)
class Rods:
    """What the motion depends on: gravity (m/s^2) and the side of the cross-section (m)."""

    gravity: float = 9.81
    width: float = 0.0

    def inertia(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return M for rods of 1 kg, (k,)."""
        places = points(theta + 1j * STEP)
        second, fourth, sixth = joint_axes(places)
        total = np.zeros_like(theta)
        for i, axis in enumerate([second, second, fourth, fourth, sixth]):
            rod = places[i + 1] - places[i]
            moving = (places[i + 1] + places[i]).imag / (2 * STEP)
            side = np.cross(rod.real, axis.real, axis=0)
            spin = np.sum(axis.imag / STEP * side, axis=0)
            total += np.sum(moving**2, axis=0) + self.width**2 / 6 * spin**2
            total += (1 + self.width**2) / 12 * np.sum((rod.imag / STEP) ** 2, axis=0)
        return total

    def pace(self, tau: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return tau', 1/s, (k,)."""
        begun, left = np.sin(tau / 2) ** 2, np.cos(tau / 2) ** 2
        near = np.minimum(begun, left)
        s = np.sin(np.pi * near)
        by_square = np.pi * np.sinc(near) / (4 * np.maximum(begun, left))  # s / sin(tau)^2
        roots = (3 + s) * np.sqrt(1 + 2 * s) + 3 * (1 + s)
        fallen = 2 * self.gravity * (3 + 2 * s + s * s) / ((1 + s) * roots)
        return 2 / np.pi * np.sqrt(2 * fallen * by_square / self.inertia(np.pi * begun))

    def period(self) -> float:
        """Return the time from rest to rest at the same place, s."""
        tau = 2 * np.pi * np.arange(256) / 256
        return float(2 * np.pi * np.mean(1 / self.pace(tau)))

    def angles(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return theta at times (increasing from 0), right to some 1e-12."""
        run = solve_ivp(
            lambda _, tau: self.pace(tau),
            (0.0, times[-1]),
            [0.0],
            t_eval=times,
            method="DOP853",
            rtol=3e-14,
            atol=1e-14,
        )
        return np.pi * np.sin(run.y[0] / 2) ** 2

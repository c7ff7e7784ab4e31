"""Lagrange's top: a heavy body, symmetric about an axis through its fixed point, by sn.

With u the cosine of the axis's angle from the vertical, A the moment across the axis about the
fixed point, B the moment along it, s the rate of spin told from space, psi the azimuth,

    u'^2 = (1 - u^2)(alpha - beta u) - (b - a u)^2 = beta (u - u1)(u - u2)(u - u3),
    a = B s/A,  b = p_psi/A,  beta = 2 m g l/A,  alpha = 2 E/A - B s^2/A,
    u = u1 + (u2 - u1) sn^2(w (t - t0), k^2),  w^2 = beta (u3 - u1)/4,  k^2 = (u2 - u1)/(u3 - u1),
    psi' = (b - a u)/(1 - u^2).

u1 < u2 lie between -1 and 1. It starts where the angle does not change: at one of u1, u2. An
upright top sleeps where (B s)^2 > 4 A m g l. Goldstein, Classical mechanics, 5.7. SI units, angles
in rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import mpmath
import numpy as np
from mpmath import mpf

DIGITS: Final = 30


@dataclass(frozen=True)
class Top:
    """Mass (kg), distance of its centre (m), A about the fixed point and B (kg m^2), gravity."""

    mass: float
    distance: float
    across: float
    along: float
    gravity: float = 9.81

    def sleeping_spin(self) -> float:
        """Return the spin above which an upright top sleeps, rad/s."""
        weight = self.mass * self.gravity * self.distance
        return float(2 * np.sqrt(self.across * weight) / self.along)

    def steady_precession(self, spin: float, tilt: float) -> float:
        """Return the slow steady rate of psi at a spin measured from space, rad/s.

        From A psi'^2 cos(tilt) - B s psi' + m g l = 0.
        """
        weight = self.mass * self.gravity * self.distance
        moment = self.along * spin
        root = np.sqrt(moment**2 - 4 * self.across * weight * np.cos(tilt))
        return float(2 * weight / (moment + root))

    def axis(
        self, times: np.ndarray, spin: float, tilt: float, precession: float = 0.0
    ) -> np.ndarray:
        """Return the direction of its axis, (3, k), z up, at first in the plane of x and z.

        Parameters
        ----------
        times
            (k,), s.
        spin
            Told from space, rad/s.
        tilt
            From the vertical at the start, where it does not change, rad.
        precession
            psi' at the start, rad/s.
        """
        with mpmath.workdps(DIGITS):
            motion = _Motion(self, mpf(spin), mpf(tilt), mpf(precession))
            columns = [motion.axis(mpf(float(time))) for time in times]
        return np.array(columns, dtype=float).T


class _Motion:
    """The constants of a motion, in high precision."""

    def __init__(self, top: Top, spin: Any, tilt: Any, precession: Any) -> None:
        inertia = mpf(top.across)
        start = mpmath.cos(tilt)
        self.beta = 2 * mpf(top.mass) * mpf(top.gravity) * mpf(top.distance) / inertia
        self.a = mpf(top.along) * spin / inertia
        self.b = (1 - start**2) * precession + self.a * start
        alpha = (1 - start**2) * precession**2 + self.beta * start
        # The cubic over (u - start): beta u^2 + (beta start - alpha - a^2) u + rest.
        linear = self.beta * start - alpha - self.a**2
        rest = start * linear - self.beta + 2 * self.a * self.b
        root = mpmath.sqrt(linear**2 - 4 * self.beta * rest)
        inner = 2 * rest / (root - linear)
        self.third = (root - linear) / (2 * self.beta)
        self.low, self.high = sorted([start, inner])
        self.modulus = (self.high - self.low) / (self.third - self.low)
        self.pace = mpmath.sqrt(self.beta * (self.third - self.low)) / 2
        self.quarter = mpmath.ellipk(self.modulus)
        self.begins_low = start == self.low
        self.turned = mpmath.quad(self.azimuth_rate, [0, self.quarter / self.pace])

    def cosine(self, time: Any) -> Any:
        """u at a time."""
        begin = 0 if self.begins_low else self.quarter
        sine = mpmath.ellipfun("sn", begin + self.pace * time, m=self.modulus)
        return self.low + (self.high - self.low) * sine**2

    def azimuth_rate(self, time: Any) -> Any:
        """psi' at a time."""
        u = self.cosine(time)
        return (self.b - self.a * u) / (1 - u**2)

    def axis(self, time: Any) -> tuple[Any, Any, Any]:
        """The direction of the axis at a time."""
        # From one turning point to the next psi grows by the same: what is left is less than that.
        half = self.quarter / self.pace
        whole = mpmath.nint(time / (2 * half))
        azimuth = 2 * whole * self.turned
        azimuth += mpmath.quad(self.azimuth_rate, [2 * whole * half, time])
        u = self.cosine(time)
        sine = mpmath.sqrt(1 - u**2)
        return sine * mpmath.cos(azimuth), sine * mpmath.sin(azimuth), u

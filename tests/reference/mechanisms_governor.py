"""The flyball governor by four coordinates: two rods' angles, the slider's height, the shaft.

A rod of length l hangs at a distance e from the shaft, a below the horizontal. In the plane that
turns with the shaft its middle lies at (e + l/2 cos a, l - l/2 sin a), and, with m the rod's mass,
mu its ball's, J2 and J1 its moments across and along,

    I(a) = m (e + l/2 cos a)^2 + J2 cos^2 a + J1 sin^2 a + mu (e + l cos a)^2,
    J = m l^2/4 + J2 + mu l^2,    (I_0 + I(a) + I(b)) omega = const,
    J a'' = omega^2 I'(a)/2 + (m/2 + mu) g l cos a - F dL/da,
    M s'' = -M g - F_a dL_a/ds - F_b dL_b/ds,    F = k (L - L_0) + c L',

L the distance from the slider's point (e, s) to the rod's middle. SI units, angles in rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.integrate import solve_ivp

PUBLISHED: Final = {0.1: 0.523836, 0.5: 0.743249, 1.0: 0.50142, 2.0: 0.505909, 3.0: 0.513246}
"""The slider's height at some times: the benchmark's reference as drawn (six digits) in the
documentation of L. Tagliapietra, M. Vivian, E. Ceseracciu, M. Reggiani, MBS-BOS (2015), problem
A05."""


STEP: Final = 1e-30


@dataclass(frozen=True)
class Governor:
    """Density (kg/m^3), ball (kg), stiffness (N/m), damping (N s/m), gravity, turning (rad/s)."""

    density: float = 3000.0
    ball: float = 5.0
    stiffness: float = 8e5
    damping: float = 4e4
    gravity: float = 9.81
    turning: float = 2 * np.pi
    arm: float = 0.05
    width: float = 0.01
    side: float = 0.1

    @property
    def rod(self) -> tuple[float, float, float]:
        """m, J2 and J1."""
        mass = self.density * self.width**2
        return mass, mass * (1 + self.width**2) / 12, mass * self.width**2 / 6

    def about_shaft(self, rods: np.ndarray) -> np.ndarray:
        """Return the moment of everything about the shaft, kg m^2, by the rods' angles, (2,)."""
        mass, across, along = self.rod
        cosine, sine = np.cos(rods), np.sin(rods)
        turned = mass * (self.arm + cosine / 2) ** 2 + across * cosine**2 + along * sine**2
        turned = turned + self.ball * (self.arm + cosine) ** 2
        return along + self.density * self.side**5 / 6 + np.sum(turned)

    def rate(self, state: np.ndarray, momentum: float) -> np.ndarray:
        """Return the rates of (s, a, b, shaft, s', a', b')."""
        height, rods, speed, rates = state[0], state[1:3], state[4], state[5:7]
        mass, across, along = self.rod
        cosine, sine = np.cos(rods), np.sin(rods)
        omega = momentum / self.about_shaft(rods)
        outward, up = cosine / 2, 1 - sine / 2 - height
        length = np.sqrt(outward**2 + up**2)
        by_angle = -(outward * sine + up * cosine) / (2 * length)
        by_height = -up / length
        force = self.stiffness * (length - 0.5)
        force = force + self.damping * (by_angle * rates + by_height * speed)
        wider = mass * (self.arm + cosine / 2) / 2 + (across - along) * cosine
        slope = -2 * sine * (wider + self.ball * (self.arm + cosine))
        turn = omega**2 * slope / 2 + (mass / 2 + self.ball) * self.gravity * cosine
        bends = (turn - force * by_angle) / (mass / 4 + across + self.ball)
        rise = -self.gravity - np.sum(force * by_height) / (self.density * self.side**3)
        return np.array([speed, *rates, omega, rise, *bends])

    def states(self, times: np.ndarray, tolerance: float = 1e-11) -> dict[str, np.ndarray]:
        """Integrate from the benchmark's start: rods at 30 degrees, springs unstretched.

        Parameters
        ----------
        times
            (k,), s, increasing from 0.
        tolerance
            Relative; states are right to some 100 times of it.

        Returns
        -------
        dict
            height (m), right and left (rad below the horizontal), shaft (rad, from 0).
        """
        start = np.array([0.5, np.pi / 6, np.pi / 6, 0.0, 0.0, 0.0, 0.0])
        momentum = self.turning * self.about_shaft(start[1:3])
        steps = 1j * STEP * np.eye(len(start))
        run = solve_ivp(
            lambda _, x: self.rate(x, momentum),
            (0.0, times[-1]),
            start,
            t_eval=times,
            method="Radau",
            rtol=tolerance,
            atol=tolerance / 100,
            jac=lambda _, x: np.array([self.rate(x + e, momentum).imag / STEP for e in steps]).T,
        )
        return dict(zip(("height", "right", "left", "shaft"), run.y, strict=False))

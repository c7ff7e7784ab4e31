"""A disc that rolls without slip: Newton-Euler's equations, the contact force eliminated by hand.

In axes along the heading, the axle and across both (e_1, e_2, e_3; the contact lies at -r e_3 from
the centre), with angular velocity w and tan = tan(beta), the axes turn with (w1, w3 tan, w3). No
slip gives the centre's velocity (r w2, -r w1, 0). Its acceleration, the rate of the angular
momentum (A w1, C w2, A w3) and the moment (r F2, -r F1, 0) of the contact force
F = m a + m g (0, sin beta, cos beta) give

    (A + m r^2) w1' = (C + m r^2) w2 w3 - A w3^2 tan + m g r sin(beta)
    (C + m r^2) w2' = -m r^2 w1 w3
    A w3'           = A w1 w3 tan - C w1 w2

with beta' = w1, alpha' = w3 / cos(beta), gamma' = w2 - w3 tan(beta).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp


@dataclass(frozen=True)
class Disc:
    """Mass (kg), radius (m), moments about a diameter and the axle (kg m^2), gravity (m/s^2)."""

    mass: float = 0.3048
    radius: float = 0.05
    diameter: float = 0.3048 * 0.05**2 / 4
    axle: float = 0.3048 * 0.05**2 / 2
    gravity: float = 9.81

    def spin_rates(self, beta: float, w: np.ndarray) -> np.ndarray:
        """Return w' at a lean beta."""
        inertia = self.mass * self.radius**2
        tangent = np.tan(beta)
        weight = self.mass * self.gravity * self.radius * np.sin(beta)
        return np.array(
            [
                ((self.axle + inertia) * w[1] * w[2] - self.diameter * w[2] ** 2 * tangent + weight)
                / (self.diameter + inertia),
                -inertia * w[0] * w[2] / (self.axle + inertia),
                w[0] * w[2] * tangent - self.axle / self.diameter * w[0] * w[1],
            ]
        )

    def states(self, times: np.ndarray, start: dict[str, float]) -> dict[str, np.ndarray]:
        """Integrate from x = y = alpha = gamma = 0; return states and the force of the ground.

        Parameters
        ----------
        times
            (k,), s, increasing from 0.
        start
            beta, alpha_dot, beta_dot, gamma_dot.
        """
        beta = start["beta"]
        across = start["alpha_dot"] * np.cos(beta)
        about_axle = start["gamma_dot"] + start["alpha_dot"] * np.sin(beta)
        first = [0.0, 0.0, 0.0, beta, 0.0, start["beta_dot"], about_axle, across]
        tight = {"method": "DOP853", "rtol": 3e-14, "atol": 1e-14}
        run = solve_ivp(self._rate, (0.0, times[-1]), first, t_eval=times, **tight)
        x, y, alpha, lean, gamma, w1, w2, w3 = run.y
        rates = np.array([self.spin_rates(b, w) for b, w in zip(lean, run.y[5:].T, strict=True)]).T
        along = self.mass * self.radius * (rates[1] + w1 * w3)
        plane = self.mass * self.radius * (-rates[0] + w2 * w3)
        up = self.mass * self.radius * (-(w1**2) - w2 * w3 * np.tan(lean))
        return {
            "x": x,
            "y": y,
            "alpha": alpha,
            "beta": lean,
            "gamma": gamma,
            "beta_dot": w1,
            "alpha_dot": w3 / np.cos(lean),
            "gamma_dot": w2 - w3 * np.tan(lean),
            "longitudinal": along,
            "lateral": plane * np.cos(lean) - up * np.sin(lean),
            "normal": plane * np.sin(lean) + up * np.cos(lean) + self.mass * self.gravity,
        }

    def _rate(self, time: float, state: np.ndarray) -> np.ndarray:
        alpha, beta, w = state[2], state[3], state[5:]
        forward, left = self.radius * w[1], -self.radius * w[0] * np.cos(beta)
        place = [
            np.cos(alpha) * forward - np.sin(alpha) * left,
            np.sin(alpha) * forward + np.cos(alpha) * left,
        ]
        turning = [w[2] / np.cos(beta), w[0], w[1] - w[2] * np.tan(beta)]
        return np.array([*place, *turning, *self.spin_rates(beta, w)])

    def circle_matrix(self, beta: float, w: np.ndarray) -> np.ndarray:
        """Return the gradient (4, 4) of (beta', w') with respect to (beta, w), exact."""
        step = 1e-30
        columns = []
        for index in range(4):
            moved = np.array([beta, *w], dtype=complex)
            moved[index] += 1j * step
            columns.append([moved[1].imag, *self.spin_rates(moved[0], moved[1:]).imag])
        return np.array(columns).T / step

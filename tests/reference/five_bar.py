"""The five-bar linkage in the angles of its cranks alone.

The knees are known from these, the tip is where two circles meet, and the rods follow.
With phi(q) all four angles and G their derivative by q, G^T M G q'' = G^T (h - M G' q').
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp


@dataclass(frozen=True)
class FiveBar:
    """The numbers of a linkage, m, kg and m/s^2."""

    base: float
    crank: float
    rod: float
    crank_mass: float
    rod_mass: float
    gravity: float

    def angles(self, q: np.ndarray) -> np.ndarray:
        """Return left, left_rod, right, right_rod of the cranks' (2,), the tip being above."""
        feet = np.array([-self.base / 2, self.base / 2])
        knees = np.stack([feet + self.crank * np.cos(q), self.crank * np.sin(q)], axis=1)
        between = knees[1] - knees[0]
        half = np.hypot(*between) / 2
        normal = np.array([-between[1], between[0]]) / (2 * half)
        tip = knees.mean(axis=0) + np.sqrt(self.rod**2 - half**2) * normal
        rods = [np.arctan2(*(tip - knee)[::-1]) for knee in knees]
        return np.array([q[0], rods[0], q[1], rods[1]])

    def _shape(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return phi, G and G' v, by the two equations of the loop."""
        phi = self.angles(q)
        c, s = np.cos(phi), np.sin(phi)
        a, b = self.crank, self.rod
        by_rods = np.array([[-b * s[1], b * s[3]], [b * c[1], -b * c[3]]])
        by_cranks = np.array([[-a * s[0], a * s[2]], [a * c[0], -a * c[2]]])
        rods = -np.linalg.solve(by_rods, by_cranks)
        G = np.array([[1, 0], rods[0], [0, 1], rods[1]])
        rate = G @ v
        bend = np.array([
            a * c[0] * rate[0] ** 2 + b * c[1] * rate[1] ** 2
            - a * c[2] * rate[2] ** 2 - b * c[3] * rate[3] ** 2,
            a * s[0] * rate[0] ** 2 + b * s[1] * rate[1] ** 2
            - a * s[2] * rate[2] ** 2 - b * s[3] * rate[3] ** 2,
        ])  # fmt: skip
        more = np.linalg.solve(by_rods, bend)
        return phi, G, np.array([0.0, more[0], 0.0, more[1]])

    def accelerations(self, q: np.ndarray, v: np.ndarray, torques: np.ndarray) -> np.ndarray:
        """Return q'', (2,)."""
        phi, G, bias = self._shape(q, v)
        rate = G @ v
        a, b, m, n = self.crank, self.rod, self.crank_mass, self.rod_mass
        mass, force = np.zeros((4, 4)), np.zeros(4)
        for k in (0, 2):
            own, other = phi[k], phi[k + 1]
            mass[k, k], mass[k + 1, k + 1] = a * a * (m / 3 + n), n * b * b / 3
            mass[k, k + 1] = mass[k + 1, k] = n * a * b / 2 * np.cos(own - other)
            twist = n * a * b / 2 * np.sin(own - other)
            force[k] = -twist * rate[k + 1] ** 2 - self.gravity * a * (m / 2 + n) * np.cos(own)
            force[k + 1] = twist * rate[k] ** 2 - self.gravity * n * b / 2 * np.cos(other)
        force[[0, 2]] += torques
        return np.linalg.solve(G.T @ mass @ G, G.T @ (force - mass @ bias))

    def controlled(
        self,
        q: np.ndarray,
        target: np.ndarray,
        gains: tuple[float, float],
        period: float,
        most: float,
        ticks: int,
    ) -> np.ndarray:
        """Return q and q', (4,), after a controller has looked so many times, from rest."""
        state = np.concatenate([q, np.zeros(2)])
        for _ in range(ticks):
            push = -gains[0] * (state[:2] - target) - gains[1] * state[2:]
            push = np.clip(push, -most, most)

            def rate(t: float, y: np.ndarray, push: np.ndarray = push) -> np.ndarray:
                return np.concatenate([y[2:], self.accelerations(y[:2], y[2:], push)])

            state = solve_ivp(
                rate, (0.0, period), state, method="DOP853", rtol=1e-12, atol=1e-13
            ).y[:, -1]
        return state

"""The index reduction of Gear, Gupta and Leimkuhler for implicit solvers, with Jacobians.

    q' = v + G' mu,   M v' = weight + G' u,   0 = g(q),   0 = G v

Solvers for index 1 treat u and mu as the rates of two further unknowns (Gear 1988).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .tasks import Mechanism


@dataclass(frozen=True, eq=False)
class Stabilised:
    """The mechanism with n coordinates and m constraints as R(y, y') = 0.

    y = (q, v, u, mu); with `integrated`, y = (q, v, U, N) where U' = u and N' = mu.
    """

    mechanism: Mechanism
    integrated: bool

    @property
    def size(self) -> int:
        """2 (n + m)."""
        return 2 * (len(self.mechanism.names) + len(self.mechanism.lengths))

    @property
    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Consistent y and y'."""
        mechanism = self.mechanism
        n, m = len(mechanism.names), len(mechanism.lengths)
        u = mechanism.multipliers()
        G = mechanism.jacobian(mechanism.start)
        acceleration = np.linalg.solve(mechanism.mass, mechanism.weight + G.T @ u)
        reactions = np.concatenate((u, np.zeros(m)))
        y = np.concatenate((mechanism.start, mechanism.start_rate, np.zeros(2 * m)))
        rate = np.concatenate((mechanism.start_rate, acceleration, np.zeros(2 * m)))
        (rate if self.integrated else y)[2 * n :] = reactions
        return y, rate

    def residual(self, y: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return R, (2n + 2m,)."""
        mechanism = self.mechanism
        n, m = len(mechanism.names), len(mechanism.lengths)
        q, v = y[:n], y[n : 2 * n]
        reactions = rate if self.integrated else y
        u, mu = reactions[2 * n : 2 * n + m], reactions[2 * n + m :]
        curved = mechanism.curvature @ q
        G = curved + mechanism.slope
        return np.concatenate(
            (
                rate[:n] - v - mu @ G,
                mechanism.mass @ rate[n : 2 * n] - mechanism.weight - u @ G,
                (curved @ q) / 2 + mechanism.slope @ q + mechanism.constant,
                G @ v,
            )
        )

    def jacobians(self, y: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return dR/dy and dR/dy'."""
        mechanism = self.mechanism
        n, m = len(mechanism.names), len(mechanism.lengths)
        q, v = y[:n], y[n : 2 * n]
        reactions = rate if self.integrated else y
        u, mu = reactions[2 * n : 2 * n + m], reactions[2 * n + m :]
        A = mechanism.curvature
        G = A @ q + mechanism.slope
        by_y, by_rate = np.zeros((self.size, self.size)), np.zeros((self.size, self.size))
        by_y[:n, :n] = -np.tensordot(mu, A, 1)
        by_y[:n, n : 2 * n] = -np.eye(n)
        by_y[n : 2 * n, :n] = -np.tensordot(u, A, 1)
        by_y[2 * n : 2 * n + m, :n] = G
        by_y[2 * n + m :, :n] = A @ v
        by_y[2 * n + m :, n : 2 * n] = G
        by_rate[:n, :n] = np.eye(n)
        by_rate[n : 2 * n, n : 2 * n] = mechanism.mass
        by_reactions = by_rate if self.integrated else by_y
        by_reactions[:n, 2 * n + m :] = -G.T
        by_reactions[n : 2 * n, 2 * n : 2 * n + m] = -G.T
        return by_y, by_rate

"""A chain of N thin rods that hangs from a fixed end, by their angles.

With theta_i the angle of rod i from the downward vertical, all rods of length l and mass m,

    sum_j m l^2 c_ij (cos(theta_i - theta_j) theta_j'' + sin(theta_i - theta_j) theta_j'^2)
        = -m g l (N - i + 1/2) sin(theta_i),
    c_ii = N - i + 1/3,  c_ij = N - max(i, j) + 1/2.

SI units, angles in rad.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp


def chain_angles(
    links: int, times: np.ndarray, start: float, length: float = 1.0, gravity: float = 9.81
) -> np.ndarray:
    """Return the angles of all rods from rest, (links, k).

    Parameters
    ----------
    links
        N.
    times
        (k,), s, increasing from 0.
    start
        The angle of all rods at first, rad.
    length
        Of a rod, m.
    gravity
        m/s^2.
    """
    below = links - np.arange(1, links + 1.0)
    coupling = np.minimum.outer(below, below) + 0.5
    np.fill_diagonal(coupling, below + 1 / 3)

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        theta, omega = state[:links], state[links:]
        apart = theta[:, None] - theta
        pull = (coupling * np.sin(apart)) @ omega**2
        weight = gravity / length * (below + 0.5) * np.sin(theta)
        return np.concatenate([omega, np.linalg.solve(coupling * np.cos(apart), -pull - weight)])

    first = np.concatenate([np.full(links, start), np.zeros(links)])
    tight = {"method": "DOP853", "rtol": 3e-14, "atol": 1e-14}
    return solve_ivp(rate, (0.0, times[-1]), first, t_eval=times, **tight).y[:links]

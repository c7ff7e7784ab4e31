"""The knife edge on an incline, released from rest with a rate of turn W: closed form.

With G = g sin(incline) and the blade along (cos W t, sin W t), the speed w along the blade obeys
w' = G cos W t, so that w = (G / W) sin W t. Then x' = w cos W t, y' = w sin W t integrate to

    x = G sin^2(W t) / (2 W^2),    y = G (W t - sin(2 W t) / 2) / (2 W^2),

and the force to the left of the blade follows from Newton's law across it:
m (w W) = -m G sin W t + u, u = 2 m G sin W t.
"""

from __future__ import annotations

import numpy as np


def knife_edge_states(
    times: np.ndarray, mass: float, incline: float, gravity: float, turning: float
) -> dict[str, np.ndarray]:
    """Return x, y, phi, their rates, the speed along the blade and the force to its left."""
    pull, angle = gravity * np.sin(incline), turning * times
    speed = pull / turning * np.sin(angle)
    unit = pull / (2 * turning**2)
    return {
        "x": unit * np.sin(angle) ** 2,
        "y": unit * (angle - np.sin(2 * angle) / 2),
        "phi": angle,
        "x_dot": speed * np.cos(angle),
        "y_dot": speed * np.sin(angle),
        "phi_dot": np.full_like(times, turning),
        "speed": speed,
        "blade": 2 * mass * pull * np.sin(angle),
    }

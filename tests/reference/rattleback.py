"""An ellipsoid that rolls without slip: Newton-Euler's equations in axes of the body.

State: the vertical mu (unit, downwards) and the angular velocity w as the body sees them. With r
from the mass centre to the contact, no slip is v = r x w, so that

    I w' + w x I w = r x F,   F = m (v' + w x v - g mu),   v' = r' x w + r x w',
    mu' = mu x w,             r = s mu / eps - h e_3,      s = diag(a^2, b^2, c^2),

which is linear in w'. The angle of the heading follows from mu and w:
gamma' = (w3 cos b - w1 sin b) / cos a, sin a = mu2, tan b = -mu1 / mu3.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

MASS, GRAVITY, HEIGHT = 1.0, 9.81, 0.01
SQUARES = np.array([0.2, 0.03, 0.02]) ** 2
INERTIA = np.array([[2e-4, -2e-5, 0.0], [-2e-5, 1.6e-3, 0.0], [0.0, 0.0, 1.7e-3]])


def _skew(vector: np.ndarray) -> np.ndarray:
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _instant(mu: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mu', w' and the force of the plane, in axes of the body."""
    spin = _skew(w)
    mu_dot = -spin @ mu
    reach = np.sqrt(SQUARES @ mu**2)
    arm = SQUARES * mu / reach - np.array([0.0, 0.0, HEIGHT])
    arm_dot = SQUARES * (mu_dot / reach - mu * (SQUARES @ (mu * mu_dot)) / reach**3)
    lever = _skew(arm)
    known = MASS * (spin @ (lever @ w) - spin @ arm_dot - GRAVITY * mu)
    w_dot = np.linalg.solve(INERTIA - MASS * lever @ lever, lever @ known - spin @ (INERTIA @ w))
    return mu_dot, w_dot, known + MASS * lever @ w_dot


def rattleback_states(
    times: np.ndarray, alpha: float, beta: float, w: np.ndarray
) -> dict[str, np.ndarray]:
    """Integrate from gamma = 0; return angles, angular velocity, energy and the normal force."""

    def rate(time: float, state: np.ndarray) -> np.ndarray:
        mu, spin = state[:3], state[3:6]
        mu_dot, spin_dot, _ = _instant(mu, spin)
        sine, cosine = -mu[0], mu[2]
        across = np.hypot(sine, cosine)
        turn = (spin[2] * cosine - spin[0] * sine) / across**2
        return np.array([*mu_dot, *spin_dot, turn])

    mu = [-np.cos(alpha) * np.sin(beta), np.sin(alpha), np.cos(alpha) * np.cos(beta)]
    tight = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14}
    run = solve_ivp(rate, (0.0, times[-1]), [*mu, *w, 0.0], t_eval=times, **tight)
    down, spin = run.y[:3], run.y[3:6]
    instants = [_instant(m, s) for m, s in zip(down.T, spin.T, strict=True)]
    reach = np.sqrt(SQUARES @ down**2)
    arm = SQUARES[:, None] * down / reach - np.array([[0.0], [0.0], [HEIGHT]])
    velocity = np.cross(arm.T, spin.T)
    turning = np.einsum("ik,ij,jk->k", spin, INERTIA, spin)
    height = np.einsum("ik,ik->k", arm, down)
    return {
        "alpha": np.arcsin(down[1]),
        "beta": np.arctan2(-down[0], down[2]),
        "gamma": run.y[6],
        "w1": spin[0],
        "w2": spin[1],
        "w3": spin[2],
        "normal": np.array([-force @ m for (_, _, force), m in zip(instants, down.T, strict=True)]),
        "energy": MASS * np.sum(velocity**2, axis=1) / 2 + turning / 2 + MASS * GRAVITY * height,
    }

"""A wheelset with linear creep, without the package: linear equations, solved by exponentials.

Sinusoidal forces are states of their own, (cos, sin), so that each model is x' = A x with constant
A, and x(t) = exp(A t) x(0) to rounding.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

FORCED = {
    "force_mean": 0.8,
    "force_amplitude": 0.5,
    "moment_mean": 0.2,
    "moment_amplitude": 0.4,
    "frequency": 0.7,
}
FREE = {**dict.fromkeys(FORCED, 0.0), "frequency": 0.7}
START = {"y": 1.0, "psi": 0.3, "y_dot": -0.4, "psi_dot": 0.9}

# Of the page: e = eps Lambda = 0.01, for rho_z = 1 and rho_z = 0.9.
FULL_SLOW = {1.0: 0.004999375131216494 + 0.999950008747938j,
             0.9: 0.0045245337570432 + 0.9999589418705827j}  # fmt: skip
FULL_FAST = {1.0: (-200.0049993751312,), 0.9: (-246.8963056804, -200.0263236340)}
REFINED_SLOW = {1.0: 0.005 + 1.0j, 0.9: 0.004525 + 0.9999998871875j}


def _motion(matrix, start, times):
    """States at even times, a row each."""
    step = expm(matrix * (times[1] - times[0]))
    states = [expm(matrix * times[0]) @ start]
    for _ in times[1:]:
        states.append(step @ states[-1])
    return np.array(states)


def _named(states, rates):
    return {"y": states[:, 0], "psi": states[:, 1], "y_dot": rates[:, 0], "psi_dot": rates[:, 1]}


def full_matrix(e, eta=0.3, rho_z=1.0, forces=FORCED):
    """e v' = -2 (v - psi) + f, e eta rho_z^2 w' = -2 eta (w + y) + m.

    x = (y, psi, v, w, 1, cos, sin).
    """
    a = np.zeros((7, 7))
    a[0, 2] = a[1, 3] = 1.0
    a[2, [1, 2, 4, 5]] = np.array([2, -2, forces["force_mean"], forces["force_amplitude"]]) / e
    turning = [-2 * eta, -2 * eta, forces["moment_mean"], forces["moment_amplitude"]]
    a[3, [0, 3, 4, 6]] = np.array(turning) / (e * eta * rho_z**2)
    a[5, 6], a[6, 5] = -forces["frequency"], forces["frequency"]
    return a


def full(times, e, forces=FORCED, eta=0.3, rho_z=1.0):
    """States of the full model by name."""
    start = np.array([*START.values(), 1.0, 1.0, 0.0])
    states = _motion(full_matrix(e, eta, rho_z, forces), start, times)
    return _named(states, states[:, 2:])


def slow_matrix(e, eta=0.3, rho_z=1.0, forces=FORCED):
    """(19), and (17) where e = 0; x = (y, psi, 1, cos, sin)."""
    f0, f1, m0, m1 = list(forces.values())[:4]
    w, r = forces["frequency"], e * rho_z**2
    a = np.zeros((5, 5))
    a[0] = [e / 2, 1, f0 / 2 - e * m0 / (4 * eta), f1 / 2, e * w * f1 / 4 - e * m1 / (4 * eta)]
    a[1] = [
        -1,
        r / 2,
        m0 / (2 * eta) + r * f0 / 4,
        r * f1 / 4 - r * w * m1 / (4 * eta),
        m1 / (2 * eta),
    ]
    a[3, 4], a[4, 3] = -w, w
    return a


def slow(times, e, forces=FORCED, eta=0.3, rho_z=1.0, *, corrected=True):
    """States of (19) by name; of (17) where e = 0. The corrected start is that of (19)."""
    y, psi, v, w = START.values()
    f = forces["force_mean"] + forces["force_amplitude"]
    m = forces["moment_mean"]
    if corrected:
        moved = y + e / 2 * (v - psi - f / 2), psi + e * rho_z**2 / 2 * (w + y - m / (2 * eta))
    else:
        moved = y, psi
    matrix = slow_matrix(e, eta, rho_z, forces)
    states = _motion(matrix, np.array([*moved, 1.0, 1.0, 0.0]), times)
    return _named(states, states @ matrix.T)


def rolling(times):
    """States of the motion without slip: y' = psi, psi' = -y."""
    cosine, sine = np.cos(times), np.sin(times)
    y = START["y"] * cosine + START["psi"] * sine
    psi = START["psi"] * cosine - START["y"] * sine
    return {"y": y, "psi": psi, "y_dot": psi, "psi_dot": -y}


def full_eigenvalues(e, rho_z=1.0):
    """The roots of (e s^2 + 2 s) (e rho_z^2 s^2 + 2 s) + 4."""
    r = rho_z**2
    return np.roots([e * e * r, 2 * e * (1 + r), 4, 0, 4])


def symmetric_slow_eigenvalue(e):
    """For rho_z = 1: in z = y - i psi, e z'' + 2 z' - 2 i z = 0."""
    return (-1 + np.sqrt(1 + 2j * e)) / e


def refined_eigenvalue(e, rho_z=1.0):
    """Of (19)."""
    r = rho_z**2
    return e * (1 + r) / 4 + 1j * np.sqrt(1 - (e * (1 - r) / 4) ** 2)


def dimensional_matrix(p):
    """The equations of Newton in SI units, with springs: x = (Y, Psi, Y', Psi')."""
    creep = p["friction"] * p["axle_load"] / 2 / (p["eps"] * p["speed"])  # of a wheel, N s/m
    inertia = p["mass"] * (p["rho_z"] * p["half_track"]) ** 2
    lead = p["speed"] * p["conicity"] / p["radius"]
    a = np.zeros((4, 4))
    a[0, 2] = a[1, 3] = 1.0
    lateral = [-p.get("lateral_stiffness", 0.0), 2 * creep * p["speed"]]
    a[2, :3] = np.array([*lateral, -2 * creep - p.get("lateral_damping", 0.0)]) / p["mass"]
    along = 2 * creep * p["half_track"]  # two wheels at half the track
    yaw = [-along * lead, -p.get("yaw_stiffness", 0.0), -along * p["half_track"]]
    a[3, [0, 1, 3]] = np.array(yaw) / inertia
    return a


def critical_speed(p):
    """Where Routh and Hurwitz have the straight motion lose its stability; without damping.

    (M s^2 + 2 c s / V + k) (J s^2 + 2 c l^2 s / V + k_psi) + 4 c^2 l gamma / R = 0 at s = i w.
    """
    creep = p["friction"] * p["axle_load"] / 2 / p["eps"]
    mass, arm = p["mass"], p["half_track"]
    inertia = mass * (p["rho_z"] * arm) ** 2
    k, k_psi = p["lateral_stiffness"], p.get("yaw_stiffness", 0.0)
    square = (k_psi + arm**2 * k) / (inertia + arm**2 * mass)
    tie = 4 * creep**2 * arm * p["conicity"] / p["radius"]
    tie += (k - mass * square) * (k_psi - inertia * square)
    return 2 * creep * arm * np.sqrt(square / tie), np.sqrt(square)

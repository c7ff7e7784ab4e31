"""The body on three pairs of pads by Newton's and Euler's laws, in NumPy.

Plane motion of a rigid body of 1.5 kg between two horizontal planes, on three pads of uniform
pressure above and three below; all six equations of a rigid body with its products of inertia, of
which three give the reactions. Friction of a pad by Carlson's and Legendre's integrals. Everything
is posed again here, from the mechanics; nothing is taken from the library.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import ellipk, elliprd

MASS, INERTIA, PRODUCT_XZ, PRODUCT_YZ = 1.5, 0.02, 0.003, -0.002
FORCE, MOMENT = np.array([0.0, 0.0, -14.715]), np.array([0.0, -1.15, 0.0])
CENTRES = np.array(
    [
        [[0.11, 0.012], [-0.045, 0.11], [-0.035, -0.1]],
        [[0.13, -0.005], [-0.04, 0.105], [-0.03, -0.095]],
    ]
)
"""Of the upper and of the lower pads, in the body, m."""
HEIGHT, RADIUS, FRICTION, UP = (0.05, -0.06), (0.015, 0.02), (0.25, 0.3), (-1.0, 1.0)
START = np.array([0.0, 0.0, 0.3, 1.2, 0.5, 9.0, 0.0])
"""x, y, phi, their rates, and the work of friction."""

STOP = 0.824838051660837
"""s; these equations, restarted wherever a centre of rotation crosses the rim of a pad, where
friction has a term (1 - x) ln|1 - x|, and the library's by Taylor's method agree to 4e-15."""
PASSING = 5e-12
"""How far off a Runge-Kutta method is that passes these rims unawares."""


def resistance(speed: float, spin: float, radius: float) -> tuple[float, float]:
    """Force and moment of a uniform pad, for unit reaction and coefficient of friction, N and N m.

    By B and D, the integrals of cos^2 and sin^2 over sqrt(1 - m sin^2): no cancellation for x < 1.
    """
    rim = radius * abs(spin)
    m = min(speed, rim) ** 2 / max(speed, rim) ** 2
    sine = float(elliprd(0.0, 1.0 - m, 1.0)) / 3.0
    cosine = float(ellipk(m)) - sine
    slide = 4.0 / (3.0 * np.pi) * (2.0 * cosine + (1.0 - m) * sine)
    if speed <= rim:
        turn = (4.0 - 2.0 * m) * (cosine + (1.0 - m) * sine) - (1.0 - m) * (cosine + sine)
        return slide * speed / rim, radius * 4.0 / (9.0 * np.pi) * turn
    turn = ((3.0 * m - 1.0) * cosine + (1.0 - m) * sine) * speed / rim
    return slide, radius * 4.0 / (9.0 * np.pi) * turn


def _wrench(state: np.ndarray, side: int, pair: int) -> tuple[float, ...]:
    """Force and moment about the mass centre of a unit reaction, N and N m."""
    phi, vx, vy, spin = state[2:6]
    a, b = CENTRES[side, pair]
    x, y = a * np.cos(phi) - b * np.sin(phi), a * np.sin(phi) + b * np.cos(phi)
    slip = vx - spin * y, vy + spin * x
    speed = float(np.hypot(*slip))
    along, about = resistance(speed, spin, RADIUS[side])
    fx, fy = (-FRICTION[side] * along * component / speed for component in slip)
    up, h = UP[side], HEIGHT[side]
    turning = x * fy - y * fx - FRICTION[side] * about * np.sign(spin)
    return fx, fy, up, y * up - h * fy, h * fx - x * up, turning


def solved(state: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Accelerations (x, y, phi), signed reactions (3,) and the power of friction.

    Parameters
    ----------
    state
        As `START`.
    signs
        (3,) 1 where the lower pad is loaded, -1 where the upper one is.
    """
    phi, spin = state[2], state[5]
    columns = (
        np.array([_wrench(state, int(sign > 0), pair) for pair, sign in enumerate(signs)]).T * signs
    )
    xz = PRODUCT_XZ * np.cos(phi) - PRODUCT_YZ * np.sin(phi)
    yz = PRODUCT_XZ * np.sin(phi) + PRODUCT_YZ * np.cos(phi)
    # Unknown: x'', y'', phi'' and the signed reactions; angular momentum about x is -xz phi', ...
    matrix = np.zeros((6, 6))
    matrix[0, 0] = matrix[1, 1] = MASS
    matrix[3:, 2] = -xz, -yz, INERTIA
    matrix[:, 3:] = -columns
    gyroscopic = spin**2 * np.array([yz, -xz, 0.0])
    right = np.concatenate([FORCE, MOMENT - gyroscopic])
    found = np.linalg.solve(matrix, right)
    force = columns @ found[3:]
    power = force[0] * state[3] + force[1] * state[4] + force[5] * spin
    return found[:3], found[3:], float(power)


def loaded(state: np.ndarray) -> np.ndarray:
    """Which pads are loaded: the only signs (3,) with which the reactions agree."""
    found = [
        np.array(signs)
        for signs in itertools.product((-1.0, 1.0), repeat=3)
        if np.all(np.array(signs) * solved(state, np.array(signs))[1] >= 0.0)
    ]
    assert len(found) == 1
    return found[0]


def rate(_time: float, state: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The rate of the state while the same pads are loaded."""
    accelerations, _, power = solved(state, signs)
    return np.concatenate([state[3:6], accelerations, [power]])


def guards(_time: float, state: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The loads of the pads, positive while they are loaded."""
    return signs * solved(state, signs)[1]


def kinetic(state: np.ndarray) -> float:
    """The kinetic energy, J."""
    return float(MASS * (state[3] ** 2 + state[4] ** 2) + INERTIA * state[5] ** 2) / 2.0


def pad_distances(state: np.ndarray, signs: np.ndarray) -> list[float]:
    """How far the centre of rotation is from each loaded pad, over its radius."""
    _, _, phi, vx, vy, spin = state[:6]
    turn = np.array([[np.cos(phi), -np.sin(phi)], [np.sin(phi), np.cos(phi)]])
    found = []
    for pair, sign in enumerate(signs):
        side = int(sign > 0)
        x, y = turn @ CENTRES[side, pair]
        found.append(float(np.hypot(vx - spin * y, vy + spin * x) / abs(spin) / RADIUS[side]))
    return found

"""The circle map of two bogies by DOP853 in one coordinate, with its variational equation.

Nothing of the library: psi' = V N_3 / |N|_G with N the product of the rows of the two skates, and
theta_1' = C_1 - psi', theta_2 = theta_1 + D t.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

MASS, CENTRE, FRONT, REAR, BOGIE, INERTIA, LEVEL = 3.0, 0.2, 1.0, 0.8, 0.3, 2.1, 1.1


def turning(first: complex, second: complex, parameters: dict[str, float]) -> complex:
    """psi' of two angles, which may be complex."""
    mass, centre = parameters.get("mass", MASS), parameters.get("centre", CENTRE)
    front, rear = parameters.get("front", FRONT), parameters.get("rear", REAR)
    own = parameters.get("inertia", INERTIA) - 2 * parameters.get("bogie_inertia", BOGIE)
    s_1, c_1, s_2, c_2 = np.sin(first), np.cos(first), np.sin(second), np.cos(second)
    rows = (c_1, s_1, -front * c_1), (c_2, s_2, rear * c_2)
    n = np.cross(*rows)
    square = n[0] ** 2 + (n[1] + centre * n[2]) ** 2 + (own / mass - centre**2) * n[2] ** 2
    return parameters.get("level", LEVEL) * n[2] / np.sqrt(square)


def lift(
    angle: float, first: float, difference: float, parameters: dict[str, float] | None = None
) -> tuple[float, float]:
    """F at an angle for C_1 and D, and F'."""
    given = parameters or {}

    def rate(t: float, y: np.ndarray) -> list[float]:
        # The derivative by a complex step, exact to rounding.
        aside = turning(y[0] + 1e-30j, y[0] + 1e-30j + difference * t, given)
        return [first - aside.real, -aside.imag / 1e-30 * y[1]]

    period = 2 * math.pi / abs(difference)
    found = scipy.integrate.solve_ivp(
        rate, (0.0, period), [angle, 1.0], method="DOP853", rtol=1e-13, atol=1e-13
    )
    return float(found.y[0, -1]), float(found.y[1, -1])


def end_of_tongue(
    angle: float, first: float, difference: float, k: int, parameters: dict[str, float]
) -> tuple[float, float]:
    """C_1 and the angle with F = id + k pi and F' = 1, by Newton's method from a guess."""

    def miss(unknown: np.ndarray) -> np.ndarray:
        reached, slope = lift(unknown[1], unknown[0], difference, parameters)
        return np.array([reached - unknown[1] - k * math.pi, slope - 1.0])

    unknown = np.array([first, angle])
    for _ in range(12):
        here = miss(unknown)
        columns = [(miss(unknown + s) - miss(unknown - s)) / 2e-6 for s in 1e-6 * np.eye(2)]
        step = np.linalg.solve(np.column_stack(columns), -here)
        unknown = unknown + step
        if np.max(np.abs(step)) < 1e-13:
            break
    return float(unknown[0]), float(unknown[1])

"""The four-bar linkage with N windows whose bars stay parallel: closed form of its rotation.

N + 1 thin rods (mass m, length l) stand on the ground, N join their tops. With psi the angle of the
standing ones from the downward vertical,

    I psi'' = -V g sin(psi),   I = m l^2 ((N + 1)/3 + N),   V = m l ((N + 1)/2 + N).

From the upright position (psi = pi) with the tops moving at the speed v along x, psi' = -v/l, the
bars never stop:

    sin(psi/2) = sn(tau, k^2), cos(psi/2) = cn(tau, k^2), psi' = -2 c dn(tau, k^2), tau = K - c t,
    c^2 = V g/I + (v / 2l)^2,   k^2 = V g / (I c^2).

Constants are taken as decimals. SI units, angles in rad.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mpmath
import numpy as np
from mpmath import mpf

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DIGITS: Final = 34


def four_bar_states(
    windows: int, times: ArrayLike, speed: str = "1", gravity: str = "9.81"
) -> dict[str, np.ndarray]:
    """States of rods of unit mass and length, exact to rounding in doubles.

    Parameters
    ----------
    windows
        N.
    times
        s.
    speed, gravity
        Of the tops at the start, along x, m/s; m/s^2; as decimals.

    Returns
    -------
    dict
        Arrays like `times`: x_i, y_i, x_dot_i, y_dot_i of each top, i from 1.
    """
    moments = np.asarray(times, dtype=float)
    rows = np.empty((moments.size, 4))
    with mpmath.workdps(DIGITS):
        inertia = mpf(windows + 1) / 3 + windows
        weight = (mpf(windows + 1) / 2 + windows) * mpf(gravity)
        pace = mpmath.sqrt(weight / inertia + mpf(speed) ** 2 / 4)
        parameter = weight / (inertia * pace**2)
        quarter = mpmath.ellipk(parameter)
        for row, time in zip(rows, moments, strict=True):
            tau = quarter - pace * mpf(repr(float(time)))
            sn, cn, dn = (_jacobi(kind, tau, parameter) for kind in ("sn", "cn", "dn"))
            sine, cosine, turn = 2 * sn * cn, 1 - 2 * sn**2, -2 * pace * dn
            row[:] = [sine, -cosine, turn * cosine, turn * sine]
    states: dict[str, np.ndarray] = {}
    for i in range(1, windows + 2):
        states[f"x_{i}"] = rows[:, 0] + (i - 1)
        for column, name in enumerate(("y", "x_dot", "y_dot"), 1):
            states[f"{name}_{i}"] = rows[:, column]
    return states


def _jacobi(kind: str, argument: Any, parameter: Any) -> Any:
    return mpmath.ellipfun(kind, argument, m=parameter)

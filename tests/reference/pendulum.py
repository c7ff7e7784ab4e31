"""A point pendulum in Cartesian coordinates: exact libration by Jacobi's elliptic functions.

A point of mass m on a massless rod of length l about the origin, gravity g along ``-y``:

    m x'' = 2 lambda x,   m y'' = 2 lambda y - m g,   x^2 + y^2 - l^2 = 0,

``lambda`` (N/m) being the multiplier of the residual ``x^2 + y^2 - l^2``, the force
``lambda grad(x^2 + y^2 - l^2)``. With the angle theta from the downward vertical,
``x = l sin theta``, ``y = -l cos theta`` and

    theta'^2 / 2 - (g/l) cos theta = 2 (g/l) k^2 - g/l,   0 <= k < 1 (libration),
    sin(theta/2) = k sn(tau),  theta' = 2 k omega cn(tau),  cos(theta/2) = dn(tau),
    tau = omega t + tau_0,   omega = sqrt(g/l),   period 4 K(k) / omega,
    tension = m (l theta'^2 + g cos theta) = -2 l lambda.

SI units, angles in rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import mpmath
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

GUARD_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class PendulumParameters:
    """Mass m in kg, length l in m, gravity g in m/s^2."""

    mass: float = 1.0
    length: float = 1.0
    gravity: float = 9.81


DEFAULT_PARAMETERS: Final = PendulumParameters()


@dataclass(frozen=True, slots=True)
class _Libration:
    """Modulus k, phase tau_0, quarter period K of the elliptic functions; omega in 1/s."""

    modulus: Any
    phase: Any
    quarter: Any
    frequency: Any


def _number(value: float, *, decimal: bool) -> Any:
    return mpmath.mpf(repr(float(value)) if decimal else float(value))


def _libration(
    start: tuple[float, float, float], parameters: PendulumParameters, *, decimal: bool
) -> _Libration:
    """From (x, y, angular velocity); to be called in the precision wanted."""
    x, y, rate = (_number(value, decimal=decimal) for value in start)
    length = _number(parameters.length, decimal=decimal)
    frequency = mpmath.sqrt(_number(parameters.gravity, decimal=decimal) / length)
    half_sine = mpmath.sin(mpmath.atan2(x, -y) / 2)
    modulus = mpmath.hypot(half_sine, rate / (2 * frequency))
    if modulus >= 1:
        msg = "the pendulum turns over or is upright: only libration is described"
        raise ValueError(msg)
    quarter = mpmath.ellipk(modulus**2)
    if modulus == 0:
        return _Libration(modulus, modulus, quarter, frequency)
    rising = mpmath.atan2(half_sine, abs(rate) / (2 * frequency))  # tan = sn / |cn|
    phase = mpmath.ellipf(rising, modulus**2)
    if rate < 0:
        phase = 2 * quarter - phase
    return _Libration(modulus, phase, quarter, frequency)


def pendulum_states(
    times: ArrayLike,
    x: float,
    y: float,
    angular_velocity: float = 0.0,
    parameters: PendulumParameters = DEFAULT_PARAMETERS,
    *,
    decimal: bool = False,
    digits: int = 34,
) -> dict[str, NDArray[np.float64]]:
    """State and rod force of the librating pendulum at given times, exact to rounding in doubles.

    Parameters
    ----------
    times
        Times in s (of any sign and order).
    x, y
        Start; only its direction from the origin counts, the distance is ``parameters.length``.
    angular_velocity
        theta' at the start, rad/s (positive towards +x below the pivot).
    parameters
        Constants.
    decimal
        Take numbers as the shortest decimals that print them (9.81 as 981/100), not as the
        binary numbers they are; it moves the phase by up to 1e-16 per radian.
    digits
        Decimals that the arithmetic keeps.

    Returns
    -------
    dict
        Arrays like ``times``: x, y (m), x_dot, y_dot (m/s), tension (N), multiplier (N/m),
        angle (rad), angle_dot (rad/s).

    Raises
    ------
    ValueError
        If the energy suffices to turn over.
    """
    moments = np.asarray(times, dtype=float)
    names = ("x", "y", "x_dot", "y_dot", "tension", "multiplier", "angle", "angle_dot")
    rows = np.empty((moments.size, len(names)))
    with mpmath.workdps(digits + GUARD_DIGITS):
        motion = _libration((x, y, angular_velocity), parameters, decimal=decimal)
        mass, length, gravity = (
            _number(value, decimal=decimal)
            for value in (parameters.mass, parameters.length, parameters.gravity)
        )
        for row, time in zip(rows, moments.ravel(), strict=True):
            argument = motion.frequency * _number(time, decimal=decimal) + motion.phase
            argument -= 4 * motion.quarter * mpmath.nint(argument / (4 * motion.quarter))
            sn, cn, dn = (
                mpmath.ellipfun(name, argument, m=motion.modulus**2) for name in ("sn", "cn", "dn")
            )
            sine = 2 * motion.modulus * sn * dn
            cosine = 1 - 2 * (motion.modulus * sn) ** 2
            rate = 2 * motion.modulus * motion.frequency * cn
            tension = mass * (length * rate**2 + gravity * cosine)
            row[:] = [
                length * sine,
                -length * cosine,
                length * rate * cosine,
                length * rate * sine,
                tension,
                -tension / (2 * length),
                2 * mpmath.asin(motion.modulus * sn),
                rate,
            ]
    columns = rows.T.reshape((len(names), *moments.shape))
    return dict(zip(names, columns, strict=True))


def pendulum_period(
    x: float,
    y: float,
    angular_velocity: float = 0.0,
    parameters: PendulumParameters = DEFAULT_PARAMETERS,
    *,
    decimal: bool = False,
    digits: int = 34,
) -> float:
    """Period ``4 K(k) / omega`` of the libration in s (arguments as in `pendulum_states`)."""
    with mpmath.workdps(digits + GUARD_DIGITS):
        motion = _libration((x, y, angular_velocity), parameters, decimal=decimal)
        return float(4 * motion.quarter / motion.frequency)

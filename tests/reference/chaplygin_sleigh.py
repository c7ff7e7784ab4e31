"""The Chaplygin sleigh: closed form of its motion and of the force at the blade.

A rigid body of mass m and moment of inertia I about its mass centre slides on a plane; a blade at
the contact point (x, y) allows velocity only along its edge ``e_1 = (cos phi, sin phi)``. The mass
centre is at ``(x, y) + a e_1``. With ``v`` the speed of the contact along e_1, ``w = phi'`` and
``J = I + m a^2``:

    v' = a w^2,   w' = -m a v w / J,   x' = v cos phi,   y' = v sin phi,
    E = (m v^2 + J w^2) / 2 is constant.

With ``C = sqrt(2E/m)``, ``k = m a / J``, ``tau = k C t + atanh(v_0/C)``:

    v = C tanh tau,   w = sign(w_0) sqrt(2E/J) / cosh tau,
    phi = phi_0 + sign(w_0) sqrt(2E/J) / (k C) (gd tau - gd tau_0),   gd s = 2 atan(tanh(s/2)),

x and y by quadrature. The force of the blade on the body along ``e_2 = (-sin phi, cos phi)`` is,
by Newton's law for the mass centre, ``F = m (v w + a w') = m v w I / J``; it is the multiplier of
the constraint ``-x' sin phi + y' cos phi = 0`` (force F e_2 at the blade, moment -a F about the
mass centre). SI units, angles in rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import mpmath
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

GUARD_DIGITS: Final = 10
GAUSS_NODES: Final = 24


@dataclass(frozen=True, slots=True)
class ChaplyginSleighParameters:
    """Mass m (kg), moment of inertia I about the mass centre (kg m^2), a (m)."""

    mass: float = 1.0
    inertia: float = 0.1
    centre_distance: float = 0.1


DEFAULT_PARAMETERS: Final = ChaplyginSleighParameters()


def _gudermannian(argument: Any) -> Any:
    return 2 * mpmath.atan(mpmath.tanh(argument / 2))


def _motion(
    speed: Any, angular_velocity: Any, phi: Any, constants: tuple[Any, Any, Any]
) -> tuple[Callable[[Any], tuple[Any, Any, Any]], Any]:
    """Give the function t -> (v, w, phi), and a time (s) in which the motion changes little."""
    mass, inertia, distance = constants
    about_blade = inertia + mass * distance**2
    ratio = mass * distance / about_blade
    if angular_velocity == 0 or distance == 0:
        turn = abs(angular_velocity)
        return (
            lambda time: (speed, angular_velocity, phi + angular_velocity * time),
            1 / turn if turn else mpmath.inf,
        )
    top_speed = mpmath.sqrt(speed**2 + about_blade * angular_velocity**2 / mass)
    top_turn = mpmath.sign(angular_velocity) * top_speed * mpmath.sqrt(mass / about_blade)
    start = mpmath.atanh(speed / top_speed)
    growth = ratio * top_speed

    def at(time: Any) -> tuple[Any, Any, Any]:
        tau = growth * time + start
        turned = top_turn / growth * (_gudermannian(tau) - _gudermannian(start))
        return top_speed * mpmath.tanh(tau), top_turn * mpmath.sech(tau), phi + turned

    return at, 1 / max(abs(growth), abs(top_turn))


def sleigh_states(
    times: ArrayLike,
    speed: float = 1.0,
    angular_velocity: float = 1.0,
    x: float = 0.0,
    y: float = 0.0,
    phi: float = 0.0,
    parameters: ChaplyginSleighParameters = DEFAULT_PARAMETERS,
    digits: int = 24,
) -> dict[str, NDArray[np.float64]]:
    """State of the sleigh and force of its blade at given times, exact to rounding in doubles.

    Parameters
    ----------
    times
        Times in s (of any sign and order).
    speed, angular_velocity, x, y, phi
        Start: v in m/s, w in rad/s, contact point in m, heading in rad.
    parameters
        Constants.
    digits
        Decimals that the arithmetic keeps.

    Returns
    -------
    dict
        Arrays like ``times``: x, y (contact point, m), phi (rad), speed, x_dot, y_dot (contact,
        m/s), angular_velocity (rad/s), x_centre, y_centre (m), x_centre_dot, y_centre_dot (m/s),
        speed_dot (m/s^2), angular_velocity_dot (rad/s^2), lateral_force (N).
    """
    moments = np.asarray(times, dtype=float)
    ordered, back = np.unique(moments, return_inverse=True)
    rows = np.empty((5, ordered.size))
    with mpmath.workdps(digits + GUARD_DIGITS):
        constants = (
            mpmath.mpf(parameters.mass),
            mpmath.mpf(parameters.inertia),
            mpmath.mpf(parameters.centre_distance),
        )
        at, slow = _motion(
            mpmath.mpf(speed), mpmath.mpf(angular_velocity), mpmath.mpf(phi), constants
        )
        forwards = np.flatnonzero(ordered >= 0)
        backwards = np.flatnonzero(ordered < 0)[::-1]
        for chosen in (forwards, backwards):
            reached, place = mpmath.mpf(0), mpmath.mpc(x, y)
            for index in chosen:
                time = mpmath.mpf(ordered[index])
                place += _displacement(at, reached, time, slow)
                reached = time
                rows[:, index] = [place.real, place.imag, *at(time)]
    contact_x, contact_y, velocity, turn, heading = rows[:, back.reshape(moments.shape)]
    mass, inertia, distance = parameters.mass, parameters.inertia, parameters.centre_distance
    about_blade = inertia + mass * distance**2
    cosine, sine = np.cos(heading), np.sin(heading)
    x_dot, y_dot = velocity * cosine, velocity * sine
    return {
        "x": contact_x,
        "y": contact_y,
        "phi": heading,
        "speed": velocity,
        "x_dot": x_dot,
        "y_dot": y_dot,
        "angular_velocity": turn,
        "x_centre": contact_x + distance * cosine,
        "y_centre": contact_y + distance * sine,
        "x_centre_dot": x_dot - distance * turn * sine,
        "y_centre_dot": y_dot + distance * turn * cosine,
        "speed_dot": distance * turn**2,
        "angular_velocity_dot": -mass * distance * velocity * turn / about_blade,
        "lateral_force": mass * inertia * velocity * turn / about_blade,
    }


def sleigh_total_turn(
    speed: float = 1.0,
    angular_velocity: float = 1.0,
    parameters: ChaplyginSleighParameters = DEFAULT_PARAMETERS,
    digits: int = 24,
) -> float:
    """Limit of phi - phi_0 in rad for t to infinity (a and the angular velocity not zero)."""
    with mpmath.workdps(digits + GUARD_DIGITS):
        mass, distance = mpmath.mpf(parameters.mass), mpmath.mpf(parameters.centre_distance)
        about_blade = mpmath.mpf(parameters.inertia) + mass * distance**2
        top_speed = mpmath.sqrt(
            mpmath.mpf(speed) ** 2 + about_blade * mpmath.mpf(angular_velocity) ** 2 / mass
        )
        start = mpmath.atanh(mpmath.mpf(speed) / top_speed)
        end = mpmath.sign(distance) * mpmath.pi / 2
        scale = mpmath.sign(angular_velocity) * mpmath.sqrt(about_blade / mass) / distance
        return float(scale * (end - _gudermannian(start)))


def _displacement(
    at: Callable[[Any], tuple[Any, Any, Any]], start: Any, end: Any, slow: Any
) -> Any:
    """Integral of v exp(i phi) dt by Gauss's rule on pieces no longer than ``slow``."""
    pieces = max(1, int(mpmath.ceil(abs(end - start) / slow)))
    half = (end - start) / (2 * pieces)
    total = mpmath.mpc(0)
    for piece in range(pieces):
        middle = start + (2 * piece + 1) * half
        for node, weight in _gauss_rule(mpmath.mp.dps):
            velocity, _, heading = at(middle + half * node)
            total += weight * velocity * mpmath.expj(heading)
    return half * total


@lru_cache(maxsize=4)
def _gauss_rule(decimals: int) -> list[tuple[Any, Any]]:
    """Nodes and weights of Gauss-Legendre quadrature on [-1, 1]."""
    rule = []
    with mpmath.workdps(decimals + 5):
        for guess in np.polynomial.legendre.leggauss(GAUSS_NODES)[0]:
            node, step = mpmath.mpf(guess), mpmath.inf
            while abs(step) > mpmath.mpf(10) ** -(decimals // 2 + 2):  # Newton: then squared
                before, value = mpmath.mpf(1), node
                for order in range(2, GAUSS_NODES + 1):
                    before, value = (
                        value,
                        ((2 * order - 1) * node * value - (order - 1) * before) / order,
                    )
                slope = GAUSS_NODES * (node * value - before) / (node**2 - 1)
                step = value / slope
                node -= step
            rule.append((node, 2 / ((1 - node**2) * slope**2)))
    return rule

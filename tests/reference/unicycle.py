"""The vehicle on one wheel: closed form of its motion and of the forces of the ground.

With m the mass of the whole, R = (R_n, R_tau) its centre from the contact, J its moment about the
contact, h and i the wheel's radius and its moment about the axle,

    M = m + i / h^2,  d = m R_n / M,  J~ = J - m^2 R_n^2 / M,  u = v_tau + d w,
    M u' = m R_tau w^2,  J~ w' = -m R_tau w u,

so that with V^2 = u^2 + J~ w^2 / M, W = sign(w) V sqrt(M / J~), k = m R_tau V / J~, s = k (t - t*)

    u = V tanh s,  w = W / cosh s,  psi - psi_0 = (W / k) (gd s - gd s_0),
    -h (phi - phi_0) = (V / k) (ln cosh s - ln cosh s_0) - d (psi - psi_0),

x and y by quadrature. Newton's law for the mass centre gives the force along the axle; the wheel's
own moment of momentum, the one across it. SI units, angles in rad.

Borisov, Kilin, Mamaev (2015), (4.3), for any R_n; V, k, t* and the turn were computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import mpmath
import numpy as np
from numpy.typing import NDArray

DIGITS: Final = 24


@dataclass(frozen=True)
class Unicycle:
    """Its numbers, SI."""

    mass: float = 1.3
    wheel_inertia: float = 0.2
    inertia_about_contact: float = 0.9
    wheel_radius: float = 0.4
    centre_normal: float = 0.25
    centre_tangential: float = 0.6


@dataclass(frozen=True)
class Constants:
    """What the motion is made of: M, d, J~, V, W, k, t* (SI)."""

    total: Any
    offset: Any
    moment: Any
    speed: Any
    turning: Any
    rate: Any
    middle: Any


def constants(v_tau: float, omega: float, vehicle: Unicycle) -> Constants:
    """Give the constants of a motion that turns (omega not zero)."""
    mass, moment = mpmath.mpf(vehicle.mass), mpmath.mpf(vehicle.inertia_about_contact)
    normal, tangential = mpmath.mpf(vehicle.centre_normal), mpmath.mpf(vehicle.centre_tangential)
    total = mass + mpmath.mpf(vehicle.wheel_inertia) / mpmath.mpf(vehicle.wheel_radius) ** 2
    offset, reduced = mass * normal / total, moment - (mass * normal) ** 2 / total
    u = v_tau + offset * omega
    speed = mpmath.sqrt(u**2 + reduced * mpmath.mpf(omega) ** 2 / total)
    rate = mass * tangential * speed / reduced
    turning = mpmath.sign(omega) * speed * mpmath.sqrt(total / reduced)
    return Constants(total, offset, reduced, speed, turning, rate, -mpmath.atanh(u / speed) / rate)


def total_turn(vehicle: Unicycle = Unicycle()) -> float:
    """Give pi sqrt(M J~) / (m R_tau), the turn from t = -infinity to infinity, rad."""
    with mpmath.workdps(DIGITS):
        c = constants(0.0, 1.0, vehicle)
        product = mpmath.mpf(vehicle.mass) * mpmath.mpf(vehicle.centre_tangential)
        return float(mpmath.pi * mpmath.sqrt(c.total * c.moment) / product)


def unicycle_states(
    times: Sequence[float],
    v_tau: float = -0.9,
    omega: float = 0.7,
    psi: float = 0.4,
    vehicle: Unicycle = Unicycle(),
) -> dict[str, NDArray[np.float64]]:
    """States at given times, from the origin at t = 0, and the forces; exact to rounding.

    Returns
    -------
    dict
        x, y (m), psi, phi (rad), v_tau (m/s), omega (rad/s), skate, rolling (N), each (n,), and
        skate_apparent: what the blade of the equivalent sleigh bears.
    """
    rows: dict[str, list[float]] = {}
    with mpmath.workdps(DIGITS):
        c = constants(v_tau, omega, vehicle)
        place, reached = mpmath.mpc(0), mpmath.mpf(0)
        for time in map(mpmath.mpf, times):
            place += _way(c, reached, time, psi)
            reached = time
            for name, value in _at(c, time, psi, vehicle).items():
                rows.setdefault(name, []).append(float(value))
            for name, value in (("x", place.real), ("y", place.imag)):
                rows.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in rows.items()}


def _turned(c: Constants, time: Any) -> Any:
    """Give psi - psi_0."""
    angles = [2 * mpmath.atan(mpmath.tanh(s / 2)) for s in _arguments(c, time)]
    return c.turning / c.rate * (angles[1] - angles[0])


def _arguments(c: Constants, time: Any) -> tuple[Any, Any]:
    return -c.rate * c.middle, c.rate * (time - c.middle)


def _at(c: Constants, time: Any, psi: float, vehicle: Unicycle) -> dict[str, Any]:
    begin, s = _arguments(c, time)
    u, w = c.speed * mpmath.tanh(s), c.turning / mpmath.cosh(s)
    turned = _turned(c, time)
    travelled = c.speed / c.rate * mpmath.log(mpmath.cosh(s) / mpmath.cosh(begin))
    radius, inertia = mpmath.mpf(vehicle.wheel_radius), mpmath.mpf(vehicle.wheel_inertia)
    mass, tangential = mpmath.mpf(vehicle.mass), mpmath.mpf(vehicle.centre_tangential)
    v = u - c.offset * w
    u_dot, w_dot = mass * tangential * w**2 / c.total, -mass * tangential * w * u / c.moment
    v_dot = u_dot - c.offset * w_dot
    # the mass centre moves with -w R_tau along n and v + w R_n along tau
    skate = mass * (-w_dot * tangential - w * (v + w * mpmath.mpf(vehicle.centre_normal)))
    return {
        "psi": psi + turned,
        "phi": -(travelled - c.offset * turned) / radius,
        "v_tau": v,
        "omega": w,
        "skate": skate,
        "skate_apparent": skate - inertia * w * v / radius**2,
        "rolling": -inertia * v_dot / radius**2,
    }


def _way(c: Constants, begin: Any, end: Any, psi: float) -> Any:
    """Integrate v_tau i exp(i psi): tau is i times the direction of the axle."""

    def rate(time: Any) -> Any:
        _, s = _arguments(c, time)
        v = c.speed * mpmath.tanh(s) - c.offset * c.turning / mpmath.cosh(s)
        return 1j * v * mpmath.expj(psi + _turned(c, time))

    if begin == end:
        return mpmath.mpc(0)
    pieces: Callable[[Any, Any, int], list[Any]] = mpmath.linspace
    return mpmath.quad(rate, pieces(begin, end, 2 + int(abs(end - begin))), method="gauss-legendre")

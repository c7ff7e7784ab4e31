"""A vehicle on two skates that turn, whose constraints come to depend on each other.

T and the skates as in A. V. Borisov, A. A. Kilin, I. S. Mamaev, Regular and Chaotic Dynamics 20
(2015) 752-766, section 4.2. With C_k = theta_k' + psi' and the energy conserved the velocities
follow from the angles: (v_1, v_2, psi') = V N / |N|.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import casadi as ca
import heyoka as hy
import numpy as np

import daesolve as ds

MASS, CENTRE, FRONT, REAR, BOGIE, INERTIA = 3.0, 0.2, 1.0, 0.8, 0.3, 2.1
LEVEL = 1.1
COLLAPSE = (-1.333209510342466, -1.0332095103424659)
"""C_1 and C_2 of motions that run into theta_1 = theta_2 = 3 pi / 2."""
PASSING = (-0.4, 0.9)
LIMIT = -1.0770551
"""psi' to which the local theory leads there, rad/s."""
NAMES = ("x", "y", "psi", "theta_1", "theta_2")
RATES = ("v_1", "v_2", "psi_dot", "theta_dot_1", "theta_dot_2")


def along(theta_1: Any, theta_2: Any, of: Any) -> tuple[list[Any], Any]:
    """N and the square of its length in the metric of T / m, with the functions of a module."""
    s_1, c_1, s_2, c_2 = of.sin(theta_1), of.cos(theta_1), of.sin(theta_2), of.cos(theta_2)
    way = [
        REAR * s_1 * c_2 + FRONT * c_1 * s_2,
        -(FRONT + REAR) * c_1 * c_2,
        of.sin(theta_2 - theta_1),
    ]
    central = (INERTIA - 2.0 * BOGIE) / MASS - CENTRE**2
    return way, way[0] ** 2 + (way[1] + CENTRE * way[2]) ** 2 + central * way[2] ** 2


def cart(*, independent: bool = False) -> ds.MechanicalSystem:
    """The vehicle; `independent` gives the speed along N and both C_k as velocities of its own."""
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, theta_1=ds.ANGLE, theta_2=ds.ANGLE)
    w = ds.velocities(
        v_1="m/s", v_2="m/s", psi_dot="rad/s", theta_dot_1="rad/s", theta_dot_2="rad/s"
    )
    cosine, sine = ca.cos(q.psi), ca.sin(q.psi)
    turning = [w.psi_dot + w.theta_dot_1, w.psi_dot + w.theta_dot_2]
    central = (INERTIA - 2.0 * BOGIE) / MASS - CENTRE**2
    square = w.v_1**2 + (w.v_2 + CENTRE * w.psi_dot) ** 2 + central * w.psi_dot**2
    more: dict[str, Any] = {}
    if independent:
        way, length = along(q.theta_1, q.theta_2, ca)
        momentum = way[0] * w.v_1 + central * way[2] * w.psi_dot
        momentum += (way[1] + CENTRE * way[2]) * (w.v_2 + CENTRE * w.psi_dot)
        more["independent"] = {
            "speed": momentum / ca.sqrt(length),
            "turning_1": turning[0],
            "turning_2": turning[1],
        }

    def slip(theta: ca.SX, arm: float) -> ca.SX:
        return ca.cos(theta) * (w.v_1 - arm * w.psi_dot) + ca.sin(theta) * w.v_2

    return ds.MechanicalSystem(
        q,
        velocities=w,
        kinematics=ca.vertcat(
            cosine * w.v_1 - sine * w.v_2,
            sine * w.v_1 + cosine * w.v_2,
            w.psi_dot,
            w.theta_dot_1,
            w.theta_dot_2,
        ),
        kinetic=MASS * square / 2 + BOGIE * (turning[0] ** 2 + turning[1] ** 2) / 2,
        goals=[
            ds.Nonholonomic("skate_1", slip(q.theta_1, FRONT)),
            ds.Nonholonomic("skate_2", slip(q.theta_2, -REAR)),
        ],
        **more,
    )


def state(places: np.ndarray, turning: tuple[float, float]) -> dict[str, float]:
    """All states from x, y, psi, theta_1, theta_2 (extended precision), rounded once."""
    way, length = along(places[3], places[4], np)
    v = [np.longdouble(LEVEL) * part / np.sqrt(length) for part in way]
    rates = [*v, turning[0] - v[2], turning[1] - v[2]]
    return {n: float(value) for n, value in zip(NAMES + RATES, [*places, *rates], strict=True)}


def collapsing() -> dict[str, float]:
    """The start at t = -1 s of a motion that reaches the degenerate configuration at t = 0."""
    return state(np.array([0.0, 0.0, 0.0, 4.799655, 4.499655], dtype=np.longdouble), COLLAPSE)


@cache
def _integrator(turning: tuple[float, float]) -> Any:
    """Taylor's method in extended precision for the five coordinates: no multiplier is in it."""
    x, y, psi, theta_1, theta_2 = hy.make_vars(*NAMES)
    way, length = along(theta_1, theta_2, hy)
    v = [np.longdouble(LEVEL) * part / hy.sqrt(length) for part in way]
    rates = [
        hy.cos(psi) * v[0] - hy.sin(psi) * v[1],
        hy.sin(psi) * v[0] + hy.cos(psi) * v[1],
        v[2],
        np.longdouble(turning[0]) - v[2],
        np.longdouble(turning[1]) - v[2],
    ]
    pairs = list(zip((x, y, psi, theta_1, theta_2), rates, strict=True))
    start = [np.longdouble(0.0)] * len(NAMES)
    return hy.taylor_adaptive(pairs, start, fp_type=np.longdouble, tol=np.longdouble(1e-19))


def moved(places: Any, begin: float, end: float, turning: tuple[float, float]) -> np.ndarray:
    """Where x, y, psi, theta_1, theta_2 come to, in extended precision."""
    integrator = _integrator(turning)
    integrator.time = np.longdouble(begin)
    integrator.state[:] = places
    integrator.propagate_until(np.longdouble(end))
    return np.array(integrator.state)


def near_miss(distance: float, span: float = 0.3) -> tuple[dict[str, float], dict[str, float]]:
    """A start at -span and its end at +span, with theta_k = pi / 2 + distance in between."""
    angle = np.pi / 2 + distance
    middle = np.array([0.0, 0.0, 0.0, angle, angle], dtype=np.longdouble)
    first = moved(middle, 0.0, -span, PASSING).astype(float)
    last = moved(first.astype(np.longdouble), -span, span, PASSING)
    return state(first.astype(np.longdouble), PASSING), state(last, PASSING)


def farthest(found: Mapping[str, float], known: Mapping[str, float]) -> float:
    """The largest difference of two states."""
    return max(abs(math.fsum([found[name], -value])) for name, value in known.items())

"""Motions with dry friction, by other means than the library's: closed forms, scipy piece by piece.

The closed forms are those of textbooks; `regularised_block` integrates each branch of the friction
on its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp


def regularised_block(
    push: Callable[[float], float],
    limit: float,
    delta: float,
    state: tuple[float, float],
    until: float,
) -> tuple[list[float], np.ndarray]:
    """Return when x'' = push(t) - limit x' / max(|x'|, delta) changes its branch, and (x, x').

    Parameters
    ----------
    push
        m/s^2, of time.
    limit
        mu N / m, m/s^2.
    delta
        m/s
    state
        x and x' at t = 0.
    until
        s
    """
    time, here, times = 0.0, np.array(state), []
    saturated = abs(here[1]) > delta

    def within(t: float, y: np.ndarray) -> list[float]:
        return [y[1], push(t) - limit * y[1] / delta]

    def beyond(t: float, y: np.ndarray) -> list[float]:
        return [y[1], push(t) - limit * math.copysign(1.0, y[1])]

    def kink(t: float, y: np.ndarray) -> float:
        return abs(y[1]) - delta

    kink.terminal = True
    while time < until:
        kink.direction = -1 if saturated else 1
        found = solve_ivp(
            beyond if saturated else within,
            (time, until),
            here,
            method="DOP853",
            rtol=1e-13,
            atol=1e-14,
            max_step=0.05,
            events=kink,
        )
        time, here = float(found.t[-1]), found.y[:, -1]
        if found.status == 1:
            times.append(time)
            saturated = not saturated
    return times, here


def belt_period(stiffness: float, static: float, kinetic: float, speed: float) -> float:
    """Return the period of stick and slip of 1 kg on a belt, s.

    Parameters
    ----------
    stiffness
        Of the spring that holds the block back, N/m.
    static, kinetic
        The friction that sticking bears, and that of slip, N.
    speed
        Of the belt, m/s.
    """
    frequency, jump = math.sqrt(stiffness), (static - kinetic) / stiffness
    slipping = 2.0 * (math.pi - math.atan(jump * frequency / speed)) / frequency
    return 2.0 * jump / speed + slipping


def stop_on_an_incline(speed: float, heading: float, slope: float, ratio: float) -> float:
    """Return when a block that slides across an incline stops, s.

    With v' = s (cos h - k), v h' = -s sin h, the quantity v (k + cos h) falls at s (k^2 - 1).

    Parameters
    ----------
    speed, heading
        v (m/s) and h, the angle of its velocity from downhill, rad.
    slope
        s, the part of gravity along the incline, m/s^2.
    ratio
        k > 1: friction over that part.
    """
    return speed * (ratio + math.cos(heading)) / (slope * (ratio**2 - 1.0))

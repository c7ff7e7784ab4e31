"""Motions with dry friction, by other means than the library's: closed forms, scipy piece by piece.

The closed forms are those of textbooks; `regularised_block` integrates each branch of the friction
on its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

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

    kink.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
    while time < until:
        kink.direction = -1 if saturated else 1  # pyright: ignore[reportFunctionMemberAccess]
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


@dataclass(frozen=True)
class CrankAndSlider:
    """A crank, a rod and a slider on a line through the axle of the crank, of 1 kg each.

    Crank and rod have their mass centres in the middle.

    Parameters
    ----------
    radius, length
        Of the crank and of the rod, m.
    inertias
        Of the crank and of the rod about their mass centres, kg m^2.
    """

    radius: float
    length: float
    inertias: tuple[float, float]

    def reach(self, angle: float) -> float:
        """Return the place of the slider at an angle of the crank, m."""
        across = self.radius * math.sin(angle)
        return self.radius * math.cos(angle) + math.sqrt(self.length**2 - across**2)

    def energy(self, angle: float, rate: float) -> float:
        """Return the kinetic energy, J, from the velocities of the two ends of the rod."""
        ahead, across = self.radius * math.cos(angle), self.radius * math.sin(angle)
        turn = -ahead * rate / (self.reach(angle) - ahead)
        slide = (turn - rate) * across
        middle = (slide - across * rate) / 2, ahead * rate / 2
        squares = (self.radius * rate / 2) ** 2 + middle[0] ** 2 + middle[1] ** 2 + slide**2
        return (squares + self.inertias[0] * rate**2 + self.inertias[1] * turn**2) / 2


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

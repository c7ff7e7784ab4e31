"""By hand: the distance between two laws on two motions, to first order in a small parameter.

The vehicle is symmetric, on a level floor, its rollers' axes lie in the wheels' planes, and it
starts with every wheel on the middle of a roller whose neighbours rest in the wheel. Without
inertia of the rollers it then keeps its velocity. With I = I' + N J R^2 / l^2, m = M + N J / (2
l^2) and rho_e the radius of a roller at its ends, to first order in B:

* on the spot w sqrt(I + N B sin^2 chi) is constant between changes; at a change, chi = chi_m,
  w falls by w_0 (N B / I) (sin^2 chi_m - sin(chi_m) Om / w_0), where the roller that comes has
  Om = w_0 sin of the angle where it rested at the start, or -w_0 sin(chi_m) once it has been on the
  floor;
* along the axle of the first wheel v sqrt(m + B sum c_i^2 / rho_i^2) is constant between changes,
  c_i the cosine of wheel i's axle to the motion; at a change v falls by v_0 (B / m) (c_i / rho_e)^2
  where the roller comes to the floor for the first time, and not at all later.

Friction of mu N takes the time t_s = B c_i v_0 / (rho_e^2 mu N) to bring that roller to its speed.
It reduces the velocity evenly over t_s by the d of an impact, so the vehicle gets ahead of one with
impacts by d t_s / 2. Meanwhile the roller gets thicker, at the rate rho' = l sin(chi_m) |chi'|, and
so needs less spin: to first order in t_s the impulse of friction is that of the impact and of the
rolling after it, minus the part rho' t_s / (2 rho_e) of the impact's, and the vehicle stays faster
by that part of d. Three wheels of which two slide bear N = M g / (3 + mu h / R), h = l - rho_e
cos(chi_m).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daesolve_problems.omni_laws.description import Description, Values
from daesolve_problems.omni_wheels import equal_directions

Array = NDArray[np.float64]
FINE = 2000
"""The number of parts of a piece between two changes for the integral over time."""
SYMMETRIC = 1e-12
"""The relative distance of places from those of the symmetric vehicle up to which it holds."""


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion for which the expansion is known.

    Parameters
    ----------
    car, p
        The vehicle, in numbers.
    speed, turning
        v_0 along the axle of the first wheel, m/s, and w_0, rad/s: one of them is zero.
    """

    car: Description
    p: Values
    speed: float
    turning: float

    @property
    def half(self) -> float:
        """chi_m, rad."""
        return math.pi / self.car.rollers

    @property
    def end_radius(self) -> float:
        """rho_e, m."""
        return float(self.p["roller_end_radius"])


def motion(car: Description, p: Values, given: Values) -> Motion | None:
    """Return the motion of a vehicle; None if the expansion does not cover it."""
    count, reach = len(car.frame.wheels), car.frame.platform_radius
    for wheel, (cosine, sine) in zip(car.frame.wheels, equal_directions(count), strict=True):
        off = math.hypot(wheel.x - reach * cosine, wheel.y - reach * sine)
        off += reach * math.hypot(wheel.axle[0] - cosine, wheel.axle[1] - sine)
        if off > SYMMETRIC * reach or wheel.tilt[1] != 0.0:
            return None
    if p["slope"] != 0.0 or math.hypot(*car.centre) > SYMMETRIC * reach:
        return None
    speed, turning = given.get("v_1", 0.0), given.get("omega", 0.0)
    others = [name for name in given if name not in ("v_1", "omega", "x", "y", "theta")]
    if any(given[name] != 0.0 for name in others if not name.startswith("contact")):
        return None
    if (speed != 0.0) == (turning != 0.0):
        return None
    return Motion(car, p, float(speed), float(turning))


def by_inertia(moving: Motion, times: Array) -> dict[str, Array]:
    """Return the change of the motion without inertia per unit of B, kg m^2.

    Parameters
    ----------
    moving
        The motion.
    times
        (k,), s since the start, increasing.

    Returns
    -------
    dict of str to numpy.ndarray
        (k,) of omega and theta on the spot, of v_1 and x else, per kg m^2.
    """
    lost = _on_the_spot(moving) if moving.turning else _straight(moving)
    return lost(np.asarray(times, dtype=float))


def _integrated(rate: Callable[[Array], Array], times: Array, breaks: list[float]) -> Array:
    """Return the integral from zero to each time of what is smooth between breaks."""
    marks = np.unique(np.concatenate([[0.0], times, [b for b in breaks if b < times[-1]]]))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    widths = np.diff(marks)
    middles = (marks[1:] + marks[:-1]) / 2.0
    values = rate((middles[:, None] + widths[:, None] / 2.0 * nodes).ravel())
    pieces = widths / 2.0 * (values.reshape(len(widths), -1) @ weights)
    whole = np.concatenate([[0.0], np.cumsum(pieces)])
    return whole[np.searchsorted(marks, times)]


def _turned(rate: float, half: float, times: Array) -> tuple[Array, Array]:
    """Return the contact roller's angle and how many changes there were, at a rate of turn."""
    way = rate * times
    changes = np.floor((np.abs(way) / half + 1.0) / 2.0)
    return way - np.sign(rate) * 2.0 * half * changes, changes


def _changes(rate: float, half: float, until: float) -> list[float]:
    """Return the times of the changes of a wheel that turns at a rate."""
    if rate == 0.0:
        return []
    first, period = half / abs(rate), 2.0 * half / abs(rate)
    return [float(t) for t in np.arange(first, until, period)]


def _on_the_spot(moving: Motion) -> Callable[[Array], dict[str, Array]]:
    car, omega, half = moving.car, moving.turning, moving.half
    count, reach, radius = len(car.frame.wheels), car.frame.platform_radius, car.frame.wheel_radius
    whole = car.inertia + count * car.axial[0] * (reach / radius) ** 2
    rate = -reach / radius * omega
    edge = math.sin(half)
    drops: list[float] = [0.0]
    for change in range(1, car.rollers):
        # The roller that comes rested `change` pitches ahead; the wheel turns to lower angles.
        rested = math.sin(2.0 * half * change)
        drops.append(edge**2 - edge * rested)
    used = 2.0 * edge**2

    def lost(changes: Array) -> Array:
        first = np.concatenate([np.cumsum(drops)])
        fresh = np.minimum(changes, car.rollers - 1).astype(int)
        return first[fresh] + used * (changes - fresh)

    def omega_of(times: Array) -> Array:
        chi, changes = _turned(rate, half, times)
        return -omega * count / whole * (np.sin(chi) ** 2 / 2.0 + lost(changes))

    def found(times: Array) -> dict[str, Array]:
        breaks = _changes(rate, half, float(times[-1]))
        return {"omega": omega_of(times), "theta": _integrated(omega_of, times, breaks)}

    return found


def _straight(moving: Motion) -> Callable[[Array], dict[str, Array]]:
    car, speed, half = moving.car, moving.speed, moving.half
    radius, axis, end = car.frame.wheel_radius, car.frame.roller_axis_radius, moving.end_radius
    directions = equal_directions(len(car.frame.wheels))
    whole = effective_mass(car)
    rates = [speed * sine / radius for _, sine in directions]

    def v_of(times: Array) -> Array:
        total = np.zeros_like(times)
        for (cosine, _), rate in zip(directions, rates, strict=True):
            chi, changes = _turned(rate, half, times)
            rho = radius * np.cos(chi) - axis
            total += cosine**2 * (1.0 / rho**2 - 1.0 / (radius - axis) ** 2) / 2.0
            total += (cosine / end) ** 2 * np.minimum(changes, car.rollers - 1)
        return -speed / whole * total

    def found(times: Array) -> dict[str, Array]:
        until = float(times[-1])
        breaks = [t for rate in rates for t in _changes(rate, half, until)]
        return {"v_1": v_of(times), "x": _integrated(v_of, times, breaks)}

    return found


def effective_mass(car: Description) -> float:
    """Return m, the effective mass of the symmetric vehicle along the floor, kg."""
    radius = car.frame.wheel_radius
    return float(car.mass + len(car.frame.wheels) * car.axial[0] / (2.0 * radius**2))


def ahead_by_friction(moving: Motion, until: float) -> float | None:
    """Return by how much three wheels with friction get ahead of impacts, straight on, m.

    None for another motion, or where the two wheels that turn do not come to slide fully.
    """
    car, p, speed = moving.car, moving.p, moving.speed
    if len(car.frame.wheels) != 3 or not speed:
        return None
    radius, end, half = car.frame.wheel_radius, moving.end_radius, moving.half
    cosine, sine = 0.5, math.sqrt(0.75)
    along = cosine * abs(speed)
    if along <= p["slip_velocity"]:
        return None
    height = radius - end * math.cos(half)
    normal = car.mass * p["gravity"] / (3.0 + p["friction"] * height / car.frame.platform_radius)
    slips = car.frame.along * along / (end**2 * p["friction"] * normal)
    drop = 2.0 * car.frame.along * cosine * along / (end**2 * effective_mass(car))
    rate = abs(speed) * sine / radius
    changes = _changes(rate, half, until)[: car.rollers - 1]
    # Below delta the slip dies out exponentially: its integral is that of the ramp and this part.
    rounded = 1.0 + (p["slip_velocity"] / along) ** 2
    thicker = radius * math.sin(half) * rate * slips / (2.0 * end)
    ways = [drop * slips / 2.0 * rounded + drop * thicker * (until - at) for at in changes]
    return math.copysign(math.fsum(ways), speed)

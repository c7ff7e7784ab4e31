"""The start of the vehicle: wheels without slip along their tangents, contact rollers rolling.

Start values are x, y, theta, the velocity (v_x, v_y) of O in fixed axes (or x_dot, y_dot), omega,
and the angles chi_i of the wheels, all zero by default; the rates chi_dot_i and
spin_i_j follow unless they are given. Rollers that touch nothing are at rest in their wheels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daesolve.errors import OutOfRangeError
from daesolve_problems.omni_friction.geometry import Vehicle, check_sizes, vehicle
from daesolve_problems.omni_wheels import equal_directions, numbered

Values = Mapping[str, float]
THINNEST = 1e-6
"""Part of a roller's largest radius below which no contact roller can have a prescribed rate."""
AT_THE_END = 1e-10
"""The angle (rad) within which a wheel stands on the ends of two rollers."""


def start_values(structure: Mapping[str, Any]) -> list[str]:
    """Return the names of the start values."""
    wheels, rollers = structure["wheels"], structure["rollers"]
    return [
        *("x", "y", "theta", "v_x", "v_y", "x_dot", "y_dot", "omega"),
        *numbered("chi", wheels),
        *numbered("chi_dot", wheels),
        *numbered("spin", wheels, rollers),
    ]


@dataclass(frozen=True)
class Stand:
    """How a wheel stands at the start.

    Parameters
    ----------
    chi, rate
        Its angle (rad), and chi' (rad/s).
    contact, psi, thickness
        Its contact roller: number, angle from straight below (rad), and radius there (m).
    slip
        (u_n, u_tau), m/s.
    spins
        Om_ij of its rollers, rad/s.
    """

    chi: float
    rate: float
    contact: int
    psi: float
    thickness: float
    slip: tuple[float, float]
    spins: tuple[float, ...]


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return every state at the start.

    Raises
    ------
    OutOfRangeError
        A contact roller cannot roll, or the rollers' axes are not within the wheel.
    """
    found = {name: given.get(name, 0.0) for name in ("x", "y", "theta", "omega")}
    found |= dict(zip(("x_dot", "y_dot"), velocity(given), strict=True))
    for i, stand in enumerate(stands(given, parameters, structure), start=1):
        found |= {f"chi_{i}": stand.chi, f"chi_dot_{i}": stand.rate}
        found |= {f"spin_{i}_{j}": spin for j, spin in enumerate(stand.spins, start=1)}
    return found


def derived(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return the discrete values at the start: contact rollers, and which of them slip freely.

    Raises
    ------
    OutOfRangeError
        As in `start`.
    """
    found: dict[str, float] = {}
    for i, stand in enumerate(stands(given, parameters, structure), start=1):
        found[f"contact_{i}"] = float(stand.contact)
        found[f"saturated_{i}"] = float(math.hypot(*stand.slip) > parameters["slip_velocity"])
    return found


def stands(given: Values, parameters: Values, structure: Mapping[str, Any]) -> list[Stand]:
    """Return how each wheel stands.

    Raises
    ------
    OutOfRangeError
        As in `start`.
    """
    check_sizes(parameters, structure["rollers"])
    car = vehicle(parameters, structure["wheels"], structure["rollers"])
    axles = equal_directions(structure["wheels"])
    return [_stand(given, car, i, n) for i, n in enumerate(axles, start=1)]


def _stand(given: Values, car: Vehicle, i: int, direction: tuple[float, float]) -> Stand:
    along, across = _velocities(given, car, direction)
    rollers = car.wheel.roller.rollers
    chi, omega = float(given.get(f"chi_{i}", 0.0)), given.get("omega", 0.0)
    rate = given.get(f"chi_dot_{i}", -across / car.wheel_radius)
    contact, psi = _contact(chi, rate, rollers)
    rho = car.wheel_radius * math.cos(psi) - car.axis_distance
    pitch = 2.0 * math.pi / rollers
    spins = [
        given.get(f"spin_{i}_{j}", omega * math.sin(chi + pitch * (j - 1)))
        for j in range(1, rollers + 1)
    ]
    if f"spin_{i}_{contact}" not in given and along != 0.0:
        if rho < THINNEST * car.wheel.roller.middle_radius:
            raise OutOfRangeError(
                f"wheel {i} stands on the tip of roller {contact} at the start (chi_{i} is "
                f"{chi:g} rad), where that cannot roll: give spin_{i}_{contact}"
            )
        spins[contact - 1] += along / rho
    slip = along - rho * (spins[contact - 1] - omega * math.sin(psi))
    slips = (slip, across + car.wheel_radius * rate)
    return Stand(chi, rate, contact, psi, rho, slips, tuple(spins))


def _velocities(given: Values, car: Vehicle, direction: tuple[float, float]) -> tuple[float, float]:
    """Return the velocity of the middle of a wheel along n and tau, m/s."""
    theta, (cosine, sine) = given.get("theta", 0.0), direction
    v_x, v_y = velocity(given)
    ahead = math.cos(theta) * v_x + math.sin(theta) * v_y
    left = math.cos(theta) * v_y - math.sin(theta) * v_x
    along = cosine * ahead + sine * left
    across = cosine * left - sine * ahead + car.reach * given.get("omega", 0.0)
    return along, across


def velocity(given: Values) -> tuple[float, float]:
    """Return the velocity of O in fixed axes, m/s; x_dot and y_dot override v_x and v_y."""
    v_x, v_y = given.get("v_x", 0.0), given.get("v_y", 0.0)
    return given.get("x_dot", v_x), given.get("y_dot", v_y)


def _contact(chi: float, rate: float, rollers: int) -> tuple[int, float]:
    """Return the lowest roller and its psi; of two, the one that a turning wheel rolls on to."""
    pitch = 2.0 * math.pi / rollers
    turned = round(chi / pitch)
    psi = chi - pitch * turned
    if abs(abs(psi) - pitch / 2.0) < AT_THE_END and psi * rate > 0.0:
        step = round(math.copysign(1.0, psi))
        turned, psi = turned + step, psi - step * pitch
    return -turned % rollers + 1, psi

"""The start of the vehicle: its consistent velocities and its discrete values.

Start values are x, y, theta, nu_1, nu_2, nu_3, the angles chi_i of the contact rollers, the rates
phi_dot_i_j of the free ones, and the numbers contact_i of the contact rollers, by default 1. The
rates of the wheels and of the contact rollers follow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from daesolve.errors import OutOfRangeError
from daesolve_problems.omni_vehicle.geometry import derived_values, pitch, vehicle
from daesolve_problems.omni_wheels import equal_directions, numbered

Values = Mapping[str, float]


def start_values(structure: Mapping[str, Any]) -> list[str]:
    """Return the names of the start values."""
    wheels, rollers = structure["wheels"], structure["rollers"]
    turning = [*numbered("nu", 3), *numbered("chi", wheels), *numbered("phi_dot", wheels, rollers)]
    return ["x", "y", "theta", *turning, *numbered("contact", wheels)]


def contact_rollers(given: Values, parameters: Values, structure: Mapping[str, Any]) -> list[int]:
    """Return the contact roller of each wheel.

    Raises
    ------
    OutOfRangeError
        A wheel has no roller of that number.
    """
    rollers = structure["rollers"]
    found: list[int] = []
    for name in numbered("contact", structure["wheels"]):
        value = given.get(name, parameters[name])
        if value not in range(1, rollers + 1):
            raise OutOfRangeError(
                f"{name} is {value:g}, but must be a whole number from 1 to {rollers}: the roller "
                "that the wheel stands on"
            )
        found.append(int(value))
    return found


def contact_angles(given: Values, structure: Mapping[str, Any]) -> list[float]:
    """Return the angle of each contact roller at the start, rad.

    Raises
    ------
    OutOfRangeError
        A roller does not touch the ground there.
    """
    largest = math.pi / structure["rollers"]
    found: list[float] = []
    for name in numbered("chi", structure["wheels"]):
        value = float(given.get(name, 0.0))
        if abs(value) > largest:
            raise OutOfRangeError(
                f"{name} is {value:g} rad at the start, but must lie within {largest:g} rad "
                f"(pi / rollers) either way: beyond, the wheel stands on another roller, "
                f"contact{name[3:]}"
            )
        found.append(value)
    return found


def derived(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return what follows from sizes and masses, and the discrete values at the start.

    Raises
    ------
    OutOfRangeError
        The rollers do not fit on the wheel, or no roller of a wheel has the number of its contact.
    """
    found = derived_values(parameters, structure["wheels"], structure["rollers"])
    contacts = contact_rollers(given, parameters, structure)
    for i, contact in enumerate(contacts, start=1):
        if f"contact_{i}" in given:
            found[f"contact_{i}"] = float(contact)
    if "momentum_1_1" in parameters:
        found |= _momenta(given, {**parameters, **found}, structure)
    return found


def _momenta(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return phi_dot_i_j + theta_dot sin(chi_ij) of every roller, rad/s."""
    rates = start(given, parameters, structure)
    car = vehicle(parameters, structure["wheels"], structure["rollers"])
    theta_dot = rates["nu_3"] / car.velocity_scale
    found: dict[str, float] = {}
    for i in range(1, structure["wheels"] + 1):
        for j in range(1, structure["rollers"] + 1):
            ahead = pitch(structure["rollers"]) * (j - parameters[f"contact_{i}"])
            sine = math.sin(rates[f"chi_{i}"] + ahead)
            found[f"momentum_{i}_{j}"] = rates[f"phi_dot_{i}_{j}"] + theta_dot * sine
    return found


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return every state at the start; the constraints give the rates that are not free.

    Raises
    ------
    OutOfRangeError
        As in `contact_rollers`, `contact_angles` and `geometry.derived_values`.
    """
    wheels, rollers = structure["wheels"], structure["rollers"]
    parameters = {**parameters, **derived_values(parameters, wheels, rollers)}
    car = vehicle(parameters, wheels, rollers)
    angles = contact_angles(given, structure)
    contacts = contact_rollers(given, parameters, structure)
    free = [*numbered("nu", 3), *numbered("phi_dot", wheels, rollers)]
    guess = {name: float(given.get(name, 0.0)) for name in ("x", "y", "theta", *free)}
    nu_1, nu_2 = guess["nu_1"], guess["nu_2"]
    theta_dot = guess["nu_3"] / car.velocity_scale
    for i, ((c, s), chi, contact) in enumerate(
        zip(equal_directions(wheels), angles, contacts, strict=True), start=1
    ):
        along = car.platform_radius * (c * nu_1 + s * nu_2)
        across = car.platform_radius * (c * nu_2 - s * nu_1 + theta_dot)
        rho = car.wheel_radius * math.cos(chi) - car.roller_axis_radius
        guess[f"chi_{i}"] = chi
        guess[f"chi_dot_{i}"] = -across / car.wheel_radius
        guess[f"phi_dot_{i}_{contact}"] = along / rho
    return guess


def compact_start(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Return the states of the model `compact` at the start; see `start`."""
    guess = start(given, parameters, structure)
    names = ("x", "y", "theta", *numbered("chi", structure["wheels"]), *numbered("nu", 3))
    return {name: guess[name] for name in names}

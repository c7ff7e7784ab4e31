"""The start of the vehicle, with the same names for every law.

Start values are x, y, theta, the velocity v_1, v_2 of the platform's middle in its own axes, omega,
the angles chi_i of the contact rollers from straight below, their numbers contact_i, and the rates
spin_i_j of the rollers about their axes, counted in space. Values left out are zero, except that
wheels and contact rollers roll, and other rollers are at rest in their wheels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from daesolve.errors import OutOfRangeError
from daesolve_problems.omni_laws import description
from daesolve_problems.omni_laws.description import (
    FRICTION,
    INERTIALESS,
    Description,
    Values,
    law_of,
)
from daesolve_problems.omni_laws.loads import (
    SOLVABLE,
    Pressed,
    balance_rows,
    balance_sides,
    determinant,
    lever,
    share_rows,
    triangle,
)
from daesolve_problems.omni_vehicle.geometry import pitch
from daesolve_problems.omni_vehicle.starting import contact_angles, contact_rollers
from daesolve_problems.omni_vehicle.wheels import contact
from daesolve_problems.omni_wheels import numbered

PLACE = ("x", "y", "theta", "v_1", "v_2", "omega")
THINNEST = 1e-6
"""Part of the wheel's radius below which no contact roller can have a prescribed rate."""


def start_values(structure: Mapping[str, Any]) -> list[str]:
    """Return the names of the start values, the same for every law."""
    wheels, rollers = structure["wheels"], structure["rollers"]
    turning = [*numbered("chi", wheels), *numbered("spin", wheels, rollers)]
    return [*PLACE, *turning, *numbered("contact", wheels)]


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return every state at the start.

    Raises
    ------
    OutOfRangeError
        A roller does not touch the floor, or cannot roll where it does; a wheel is not pressed to
        the floor; or the law does not use a start value.
    """
    wheels, rollers, law = structure["wheels"], structure["rollers"], law_of(parameters)
    known = {**parameters, **description.derived(parameters, wheels, rollers)}
    car = description.described(law, known, wheels, rollers)
    found = {name: float(given.get(name, 0.0)) for name in PLACE}
    touching = contact_rollers(given, parameters, structure)
    named = [name for name in numbered("spin", wheels, rollers) if name in given]
    if law == INERTIALESS and named:
        raise OutOfRangeError(
            f"{named[0]} is given, but the law '{law}' does not use it (its rollers have no "
            "inertia): leave it out, or use the model impacts or friction"
        )
    for i, chi in enumerate(contact_angles(given, structure), start=1):
        rate, spins = _rolling(car, i, chi, touching[i - 1], found)
        found |= {f"chi_{i}": chi, f"chi_dot_{i}": rate}
        for j in range(1, rollers + 1) if law != INERTIALESS else ():
            name = f"spin_{i}_{j}"
            if name not in given and math.isnan(spins[j - 1]):
                raise OutOfRangeError(
                    f"wheel {i} stands on the tip of roller {j} at the start (chi_{i} is {chi:g} "
                    f"rad), where that cannot roll: give {name}"
                )
            found[name] = float(given.get(name, spins[j - 1]))
    if law == FRICTION:
        _check_pressed(car, known, touching, found)
    return found


def _rolling(
    car: Description, i: int, chi: float, number: int, place: Values
) -> tuple[float, list[float]]:
    """Return chi_i' of a wheel that rolls, and the rates of its rollers, counted in space."""
    velocity, omega = (place["v_1"], place["v_2"]), place["omega"]
    cosine, sine = car.frame.wheels[i - 1].tilt
    here = contact(car.frame, i, chi, velocity, omega)
    rate = -(here.across + here.along * sine / (cosine * math.cos(chi))) / here.wheel
    carried = [
        omega * cosine * math.sin(chi + pitch(car.rollers) * (j - number)) + rate * sine
        for j in range(1, car.rollers + 1)
    ]
    rho = -here.roller[0] / cosine
    if rho > THINNEST * car.frame.wheel_radius:
        carried[number - 1] += here.along / (rho * cosine)
    elif here.along != 0.0:
        carried[number - 1] = math.nan
    return float(rate), [float(value) for value in carried]


def derived(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return what follows from sizes, masses and places, and the discrete values at the start.

    Raises
    ------
    OutOfRangeError
        As in `start`.
    """
    wheels, rollers = structure["wheels"], structure["rollers"]
    found = description.derived(parameters, wheels, rollers)
    touching = contact_rollers(given, parameters, structure)
    for i, number in enumerate(touching, start=1):
        if f"contact_{i}" in given:
            found[f"contact_{i}"] = float(number)
    if law_of(parameters) == FRICTION:
        known = {**parameters, **found}
        car = description.described(FRICTION, known, wheels, rollers)
        at = start(given, parameters, structure)
        for i, number in enumerate(touching, start=1):
            size = math.hypot(*slip(car, i, number, at))
            found[f"saturated_{i}"] = float(size > parameters["slip_velocity"])
    return found


def slip(car: Description, i: int, number: int, at: Values) -> tuple[float, float]:
    """Return the slip (u_n, u_tau) of wheel i, m/s.

    Parameters
    ----------
    car
        The vehicle, in numbers.
    i, number
        The wheel and its contact roller, from 1.
    at
        The states.
    """
    cosine, sine = car.frame.wheels[i - 1].tilt
    chi, rate, omega = at[f"chi_{i}"], at[f"chi_dot_{i}"], at["omega"]
    here = contact(car.frame, i, chi, (at["v_1"], at["v_2"]), omega)
    spin = at[f"spin_{i}_{number}"] - omega * cosine * math.sin(chi) - rate * sine
    along, across = here.slip(rate, spin)
    return float(along), float(across)


def loads(
    car: Description, p: Values, touching: list[int], at: Values
) -> tuple[list[float], float]:
    """Return the normal reactions at a state, N, and the determinant over its frictionless value.

    Parameters
    ----------
    car, p
        The vehicle and its parameters.
    touching
        The numbers of the contact rollers.
    at
        The states.
    """
    pressed: list[Pressed] = []
    for i, (number, wheel) in enumerate(zip(touching, car.frame.wheels, strict=True), start=1):
        slipping = np.array(slip(car, i, number, at))
        size = max(float(np.hypot(*slipping)), p["slip_velocity"])
        pull = -p["friction"] * slipping / size
        cosine, sine = wheel.tilt
        chi, rate, omega = at[f"chi_{i}"], at[f"chi_dot_{i}"], at["omega"]
        lean = car.axial[i - 1] * rate * omega
        for j in range(1, car.rollers + 1):
            across = math.sin(chi + pitch(car.rollers) * (j - number))
            turned = omega * sine - rate * cosine * across
            lean += car.frame.along * at[f"spin_{i}_{j}"] * turned
        arm = lever(car, wheel, chi, (float(pull[0]), float(pull[1])))
        pressed.append(Pressed(wheel, float(arm), float(lean)))
    still = [Pressed(wheel, 0.0, 0.0) for wheel in car.frame.wheels]
    share = float(determinant(pressed)) / float(determinant(still))
    shares = share_rows(car.frame.wheels)
    matrix = np.array([*balance_rows(pressed), *shares], dtype=float)
    sides = balance_sides(car, pressed, p["gravity"] * math.cos(p["slope"]))
    right = np.array([*sides, *[0.0] * len(shares)], dtype=float)
    return np.linalg.solve(matrix, right).tolist(), share


def _check_pressed(car: Description, p: Values, touching: list[int], at: Values) -> None:
    first, second, third = car.frame.wheels[:3]
    if abs(float(triangle(first, second, third))) < 1e-9 * float(p["platform_radius"]) ** 2:
        raise OutOfRangeError(
            "the wheels 1, 2 and 3 stand on one line, which does not determine how they share "
            "the load: number the wheels differently"
        )
    normals, share = loads(car, p, touching, at)
    if share < SOLVABLE:
        raise OutOfRangeError(
            f"friction is {p['friction']:g}, which leaves the normal reactions undetermined "
            "for the slip at the start: use less friction"
        )
    if min(normals) < 0.0:
        raise OutOfRangeError(
            f"the floor would have to pull wheel {normals.index(min(normals)) + 1} down with "
            f"{-min(normals):g} N at the start: change platform_centre_x or platform_centre_y, "
            "or start slower"
        )

"""Wheels anywhere on the platform: places, directions, contacts, and checks.

Wheel i stands at r_i = (wheel_x_i, wheel_y_i) on the platform, n_i = (cos, sin) of heading_i is its
axle, tau_i = e_z x n_i. Rollers' axes are inclined to the wheel's plane by psi_i = roller_angle_i,

    d_ij = cos(psi_i) (sin(chi_ij) e_z + cos(chi_ij) tau_i) + sin(psi_i) n_i,

about their centres, which stay at the distance r from the axle; the rollers fill the cylinder of
the radius l about it. The platform's mass centre lies at (platform_centre_x, platform_centre_y).

Contacts. The normal there meets the axes of the roller and of the wheel: the contact is straight
below the axle, lambda_i = -r tan(chi_i) tan(psi_i) along it from the wheel's middle, and the
roller is rho_i / cos(chi_i) thick there, upright, rho_i = l cos(chi_i) - r. With the velocity
V_i = v_S + theta' e_z x r_i of the wheel's middle and the spin phi_i' of the touching roller,

    no_slip_n_i     V_i . n_i - rho_i cos(psi_i) phi_i' = 0
    no_slip_tau_i   V_i . tau_i + lambda_i theta' + l chi_i'
                    + rho_i sin(psi_i) / cos(chi_i) phi_i' = 0,

so that l chi_i' = -(V_i . tau_i + lambda_i theta') - V_i . n_i tan(psi_i) / cos(chi_i).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.core.expressions.singular_values import singular_directions, singular_values
from daesolve.errors import OutOfRangeError
from daesolve.typing import Parameters
from daesolve_problems.omni_vehicle import geometry
from daesolve_problems.omni_wheels import equal_directions, numbered, wheel_parameters, wheel_place

LUMPED = ("total_mass", "vehicle_inertia", "wheel_inertia")
"""Parameters of the symmetric vehicle that do not apply here: they follow from the bodies."""
LEAST_TURN = 1e-6
"""The least distance of roller angles from a right angle, rad."""
LEAST_SHARE = 1e-9
"""The least relative singular value at which wheels determine the motion of the vehicle."""
alike: Any = ca
"""CasADi's functions: they treat numbers and symbols alike, which its stub does not say."""


def parameters(wheels: int) -> Parameters:
    """Return the sizes and masses of the bodies, and where the wheels are.

    Zero in `wheel_radius`, `roller_inertia`, `roller_transverse_inertia` or `velocity_scale` means:
    it follows from the sizes and masses, as in the symmetric vehicle. A wheel whose x and y are
    both zero stands where the symmetric vehicle has it.
    """
    common = geometry.parameters()
    entries: dict[str, tuple[float, str, ds.Interval]] = {
        name: (common.defaults[name], unit, common.ranges[name])
        for name, unit in zip(common.names, common.units, strict=True)
        if name not in LUMPED
    }
    entries["roller_transverse_inertia"] = (0.0, "kg m^2", ds.NON_NEGATIVE)
    entries |= {f"platform_centre_{axis}": (0.0, "m", ds.Interval()) for axis in "xy"}
    return ds.parameters(**entries, **wheel_parameters(wheels))


@dataclass(frozen=True, eq=False)
class Wheel:
    """Where a wheel stands, the directions of its axle and of its rollers.

    Parameters
    ----------
    x, y
        r_i, m.
    axle
        n_i, (cos, sin).
    tilt
        (cos, sin) of the roller angle psi_i.
    """

    x: Any
    y: Any
    axle: tuple[Any, Any]
    tilt: tuple[Any, Any]

    def middle(self, velocity: tuple[Any, Any], turning: Any) -> tuple[Any, Any]:
        """Return the velocity of the wheel's middle along the axle and across it, m/s."""
        x, y = velocity[0] - turning * self.y, velocity[1] + turning * self.x
        cosine, sine = self.axle
        return cosine * x + sine * y, cosine * y - sine * x


@dataclass(frozen=True, eq=False)
class Vehicle:
    """The numbers (or their expressions) that the equations of motion contain.

    Parameters
    ----------
    platform_radius, roller_axis_radius, wheel_radius
        R, r and l, m.
    along, across
        B and A, the moments of inertia of a roller about its axis and across it, kg m^2.
    velocity_scale
        Lambda, in nu_3 = Lambda theta'.
    wheels
        In their order.
    """

    platform_radius: Any
    roller_axis_radius: Any
    wheel_radius: Any
    along: Any
    across: Any
    velocity_scale: Any
    wheels: tuple[Wheel, ...]


@dataclass(frozen=True, eq=False)
class Contact:
    """The contact of a wheel: its slip, and the rates without slip.

    Parameters
    ----------
    along, across
        Velocity along n_i and tau_i of what turns with the platform alone, m/s.
    roller
        Velocity along n_i and tau_i by the spin of the roller, m.
    wheel
        Velocity along tau_i by the turning of the wheel, l, m.
    """

    along: Any
    across: Any
    roller: tuple[Any, Any]
    wheel: Any

    def slip(self, chi_dot: Any, spin: Any) -> tuple[Any, Any]:
        """Return the velocity of the roller's material point along n_i and tau_i, m/s."""
        across = self.across + self.wheel * chi_dot + self.roller[1] * spin
        return self.along + self.roller[0] * spin, across

    def rolling(self) -> tuple[Any, Any]:
        """Return chi_i' and the spin of the roller without slip, rad/s."""
        spin = -self.along / self.roller[0]
        return -(self.across + self.roller[1] * spin) / self.wheel, spin


def vehicle(p: Any, wheels: int, rollers: int) -> Vehicle:
    """Return the coefficients of the equations: given values, or those that follow from the rest.

    Parameters
    ----------
    p
        Every parameter by name, numbers or symbols.
    wheels, rollers
        N and n.
    """
    known = {name: p[name] for name in geometry.parameters().names if name not in LUMPED}
    symmetric = geometry.vehicle(known | dict.fromkeys(LUMPED, 0.0), wheels, rollers)
    axis, radius = p["roller_axis_radius"], symmetric.wheel_radius
    mean, length = (radius - axis) / 2, 2 * radius * math.sin(math.pi / rollers)
    across, cylinder = p["roller_transverse_inertia"], p["roller_mass"] / 12
    across = across + (across == 0) * cylinder * (3 * mean**2 + length**2)
    return Vehicle(
        p["platform_radius"],
        axis,
        radius,
        symmetric.roller_inertia,
        across,
        symmetric.velocity_scale,
        tuple(_wheel(p, i, n) for i, n in enumerate(equal_directions(wheels), start=1)),
    )


def _wheel(p: Any, i: int, direction: tuple[float, float]) -> Wheel:
    """Return a wheel, by the direction of its axle in the symmetric vehicle."""
    heading, tilt = p[f"heading_{i}"], p[f"roller_angle_{i}"]
    return Wheel(
        *wheel_place(p, i, direction),
        (alike.cos(heading), alike.sin(heading)),
        (alike.cos(tilt), alike.sin(tilt)),
    )


def contact(car: Vehicle, i: int, chi: Any, velocity: tuple[Any, Any], turning: Any) -> Contact:
    """Return the contact of wheel i.

    Parameters
    ----------
    car
        The vehicle.
    i
        The wheel, from 1.
    chi
        The angle of the touching roller from straight below, rad.
    velocity, turning
        v_S in the platform's axes, m/s, and theta', rad/s.
    """
    wheel = car.wheels[i - 1]
    cosine, sine = wheel.tilt
    along, across = wheel.middle(velocity, turning)
    rho = car.wheel_radius * alike.cos(chi) - car.roller_axis_radius
    aside = -car.roller_axis_radius * alike.tan(chi) * sine / cosine
    by_spin = (-rho * cosine, rho * sine / alike.cos(chi))
    return Contact(along, across + aside * turning, by_spin, car.wheel_radius)


# -- what cannot be ------------------------------------------------------------------------------


def derived_values(p: Mapping[str, float], wheels: int, rollers: int) -> dict[str, float]:
    """Return the parameters that follow from the others because they are zero.

    Raises
    ------
    OutOfRangeError
        The rollers do not reach the ground or cannot roll sideways, or the wheels do not carry the
        vehicle or do not determine where it goes.
    """
    given = {**p, **dict.fromkeys(LUMPED, 0.0)}
    common = geometry.derived_values(given, wheels, rollers)
    car = vehicle(p, wheels, rollers)
    check_wheels(car, {name: p[name] for name in numbered("roller_angle", wheels)})
    found = {name: value for name, value in common.items() if name not in LUMPED}
    if p["roller_transverse_inertia"] == 0.0:
        found["roller_transverse_inertia"] = car.across
    for i, wheel in enumerate(car.wheels, start=1):
        if p[f"wheel_x_{i}"] == 0.0 and p[f"wheel_y_{i}"] == 0.0:
            found |= {f"wheel_x_{i}": wheel.x, f"wheel_y_{i}": wheel.y}
    return found


def check_wheels(car: Vehicle, angles: Mapping[str, float]) -> None:
    """Refuse wheels that cannot carry the vehicle.

    Parameters
    ----------
    car
        The vehicle, in numbers.
    angles
        The roller angles by the names of their parameters, rad.

    Raises
    ------
    OutOfRangeError
        Rollers cannot roll sideways, or the wheels do not carry the vehicle or do not determine
        where it goes.
    """
    _check_tilts(angles)
    _check_places(car)
    _check_directions(car)


def _check_tilts(angles: Mapping[str, float]) -> None:
    for name, angle in angles.items():
        if abs(angle) > math.pi / 2 - LEAST_TURN:
            raise OutOfRangeError(
                f"{name} is {angle:g} rad, but must lie between -pi/2 and pi/2: a roller whose "
                "axis is parallel to the axle turns with the wheel and cannot roll sideways"
            )


def _check_places(car: Vehicle) -> None:
    places = np.array([[wheel.x, wheel.y] for wheel in car.wheels], dtype=float)
    spread = singular_values(places - places.mean(axis=0))
    if spread[1] <= LEAST_SHARE * np.max(np.abs(places)):
        raise OutOfRangeError(
            "the wheels stand on one line, over which the platform would tip: move one of them "
            "off it with wheel_x_i and wheel_y_i"
        )


def _check_directions(car: Vehicle) -> None:
    """Refuse wheels that the vehicle can leave at rest while it moves over rolling rollers.

    A wheel turns by what the vehicle moves along the axis of the roller in its middle; these
    lines must not be parallel to each other nor meet in one point.
    """
    size = max(math.hypot(wheel.x, wheel.y) for wheel in car.wheels)
    rows: list[tuple[float, float, float]] = []
    for wheel in car.wheels:
        (n_x, n_y), (cosine, sine) = wheel.axle, wheel.tilt
        x, y = sine * n_x - cosine * n_y, sine * n_y + cosine * n_x
        rows.append((x, y, (wheel.x * y - wheel.y * x) / size))
    found = singular_directions(np.array(rows))
    if found.values[2] > LEAST_SHARE * found.values[0]:
        return
    x, y, turning = found.right[2]
    if abs(turning) <= LEAST_SHARE:
        where, leaves = "are all parallel", "slides across them"
    else:
        # What rounding leaves of a zero is reported as zero.
        centre = [round(part / turning, 9) * size for part in (-y, x)]
        where = f"all pass through the point ({centre[0]:.3g}, {centre[1]:.3g}) m of the platform"
        leaves = "turns about it"
    raise OutOfRangeError(
        f"the axes of the rollers at the contacts {where}, so the vehicle {leaves} whatever "
        "the wheels do: change heading_i, roller_angle_i or the places of the wheels"
    )

"""Sizes and inertias of an omni-wheel vehicle, and which roller of a wheel is where.

N wheels stand at equal angles about the platform, at the distance R from its centre, their axles
radial. Each carries n rollers whose axes lie in the wheel's plane at the distance r from the axle,
tangential; l is the radius of the wheel over the middle of a roller. Roller j of wheel i is at the
angle chi_ij = chi_i + (2 pi / n) (j - contact_i) from straight below, so that the contact roller
is at chi_i. Its radius at the contact is rho_i = l cos(chi_i) - r.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.core.posing.inputs import Inputs
from daesolve.errors import OutOfRangeError
from daesolve.typing import Parameters
from daesolve_problems.omni_wheels import FEWEST_ROLLERS, check_counts


def parameters() -> Parameters:
    """Return the sizes and masses, and the values that follow from them unless given.

    Zero in one of the last six means: it follows from the sizes and masses (`vehicle`).
    """
    return ds.parameters(
        platform_radius=(0.15, "m", ds.POSITIVE),
        roller_axis_radius=(0.05, "m", ds.POSITIVE),
        platform_mass=(1.0, "kg", ds.NON_NEGATIVE),
        hub_mass=(0.15, "kg", ds.NON_NEGATIVE),
        roller_mass=(0.05, "kg", ds.NON_NEGATIVE),
        hub_width=(0.01, "m", ds.NON_NEGATIVE),
        wheel_radius=(0.0, "m", ds.NON_NEGATIVE),
        total_mass=(0.0, "kg", ds.NON_NEGATIVE),
        vehicle_inertia=(0.0, "kg m^2", ds.NON_NEGATIVE),
        wheel_inertia=(0.0, "kg m^2", ds.NON_NEGATIVE),
        roller_inertia=(0.0, "kg m^2", ds.NON_NEGATIVE),
        velocity_scale=(0.0, "", ds.NON_NEGATIVE),
    )


@dataclass(frozen=True, eq=False)
class Vehicle:
    """The numbers (or their expressions) that the equations of motion contain.

    Parameters
    ----------
    platform_radius, roller_axis_radius, wheel_radius
        R, r and l, m.
    total_mass
        M, kg.
    vehicle_inertia
        I_S, of the whole about the vertical through its centre, kg m^2.
    wheel_inertia
        J, of a wheel with its rollers about its axle, kg m^2.
    roller_inertia
        B, of a roller about its own axis, kg m^2.
    velocity_scale
        Lambda, in nu_3 = Lambda theta'.
    """

    platform_radius: Any
    roller_axis_radius: Any
    wheel_radius: Any
    total_mass: Any
    vehicle_inertia: Any
    wheel_inertia: Any
    roller_inertia: Any
    velocity_scale: Any


DERIVED = (
    "wheel_radius", "total_mass", "vehicle_inertia", "wheel_inertia", "roller_inertia",
    "velocity_scale",
)  # fmt: skip
"""The parameters that follow from the others if they are zero."""


def vehicle(p: Any, wheels: int, rollers: int) -> Vehicle:
    """Return the coefficients of the equations: given values, or those that follow from the rest.

    The platform is a homogeneous disc, the hubs are homogeneous cylinders of radius r. The
    rollers have the inertia of a cylinder with the mean radius (l - r) / 2 and the length
    2 l sin(pi / n) of a sector. A given value replaces the derived one wherever it enters: a given
    B in I_S, for instance.

    Parameters
    ----------
    p
        Every parameter by name, numbers or symbols.
    wheels, rollers
        N and n.

    Raises
    ------
    OutOfRangeError
        As in `check_counts`.

    Notes
    -----
    r = l cos(pi / (n - 1)): the rollers are those of a wheel of n - 1 that touch at their tips,
    cut off at the angle pi / n. For three rollers that has no meaning, and l must be given.
    """
    check_counts(wheels, rollers)
    platform, axis = p["platform_radius"], p["roller_axis_radius"]
    wheel_radius = p["wheel_radius"]
    if rollers > FEWEST_ROLLERS:
        wheel_radius = _given(wheel_radius, axis / math.cos(math.pi / (rollers - 1)))
    disc, hub, roller = p["platform_mass"], p["hub_mass"], p["roller_mass"]
    total = _given(p["total_mass"], disc + wheels * (hub + rollers * roller))
    mean, length = (wheel_radius - axis) / 2, 2 * wheel_radius * math.sin(math.pi / rollers)
    along = _given(p["roller_inertia"], roller * mean**2 / 2)
    across = roller * (3 * mean**2 + length**2) / 12
    about_axle = _given(
        p["wheel_inertia"], hub * axis**2 / 2 + rollers * (across + roller * axis**2)
    )
    upright = hub * (platform**2 + (3 * axis**2 + p["hub_width"] ** 2) / 12)
    upright += rollers * ((across + along) / 2 + roller * (platform**2 + axis**2 / 2))
    whole = _given(p["vehicle_inertia"], disc * platform**2 / 2 + wheels * upright)
    scale = _given(p["velocity_scale"], whole / (total * wheel_radius**2))
    return Vehicle(platform, axis, wheel_radius, total, whole, about_axle, along, scale)


def _given(value: Any, otherwise: Any) -> Any:
    return value + (value == 0) * otherwise


def derived_values(p: Mapping[str, float], wheels: int, rollers: int) -> dict[str, float]:
    """Return those of the parameters `DERIVED` that follow from the others.

    Raises
    ------
    OutOfRangeError
        The wheel's radius is missing, or too small for the rollers to reach the ground.
    """
    axis, given = p["roller_axis_radius"], p["wheel_radius"]
    if rollers == FEWEST_ROLLERS and given == 0.0:
        raise OutOfRangeError(
            "three rollers do not determine the radius of the wheel: give wheel_radius, more than "
            f"{2.0 * axis:g} m"
        )
    found = vehicle(p, wheels, rollers)
    if found.wheel_radius <= axis:
        raise OutOfRangeError(
            f"wheel_radius is {found.wheel_radius:g} m, but must be more than roller_axis_radius, "
            f"{axis:g} m: the rollers' axes lie within the wheel"
        )
    if found.wheel_radius * math.cos(math.pi / rollers) <= axis:
        raise OutOfRangeError(
            f"wheel_radius is {found.wheel_radius:g} m, but must be more than "
            f"{axis / math.cos(math.pi / rollers):g} m: with {rollers} rollers their axes would "
            "touch the ground where one takes over from the next"
        )
    return {name: getattr(found, name) for name in DERIVED if p[name] == 0.0}


def pitch(rollers: int) -> float:
    """Return the angle from one roller to the next, rad."""
    return 2.0 * math.pi / rollers


def next_roller(roller: ca.SX, rollers: int) -> ca.SX:
    """Return a roller's number 1..n where it was counted one beyond either end."""
    return roller + rollers * (roller < 1) - rollers * (roller > rollers)


def rolled_on(chi: ca.SX, contact: ca.SX, fired: ca.SX, rollers: int) -> tuple[ca.SX, ca.SX]:
    """Return a wheel's angle and contact roller after its guard fired (1) or did not (0).

    Leaving through chi = pi / n it stands on roller j - 1, through -pi / n on roller j + 1. The
    angle is turned by a whole pitch, so that the wheel itself does not turn.
    """
    step = fired * ca.sign(chi)
    return chi - step * pitch(rollers), next_roller(contact - step, rollers)


def torques(wheels: int) -> Inputs:
    """Return the torques of the motors, each between the platform and a wheel about its axle."""
    return ds.inputs(**{f"motor_{i}": (0.0, "N m") for i in range(1, wheels + 1)})


def within_sector(chi: ca.SX, rollers: int) -> ca.SX:
    """Return the guard of a wheel: positive while its contact roller is within its sector."""
    return (math.pi / rollers) ** 2 - chi**2

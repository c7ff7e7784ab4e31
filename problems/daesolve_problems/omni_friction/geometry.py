"""Sizes and inertias of the omni vehicle, and which roller of a wheel is where.

N wheels stand at equal angles about the platform, at the distance R from its centre O, their axles
n_i radial; tau_i = e_z x n_i is the direction of a wheel. Roller j of wheel i is at the angle
psi_ij = chi_i + kappa_j, kappa_j = (2 pi / n) (j - 1), from straight below, chi_i the angle by
which the wheel has turned about n_i. A wheel stands on the roller with |psi| <= pi / n, which is
rho = l cos(psi) - d thick there; `spindle` has the rollers' shape and moments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.typing import Parameters
from daesolve_problems.omni_wheels import FEWEST_WHEELS, check_counts, equal_directions
from daesolve_problems.spindle import Spindle, Wheel

SOLVABLE = 1e-3
"""The part of R to which D_i may fall before the normal reactions count as undetermined."""


def parameters() -> Parameters:
    """Return sizes, masses and friction, with the values of the reference vehicle."""
    return ds.parameters(
        platform_mass=(1.0, "kg", ds.POSITIVE),
        platform_radius=(0.15, "m", ds.POSITIVE),
        platform_centre_x=(0.0, "m"),
        platform_centre_y=(0.0, "m"),
        wheel_mass=(0.15, "kg", ds.POSITIVE),
        roller_share=(0.1, "", ds.Interval(0.0, 1.0, open_low=True)),
        wheel_radius=(0.05, "m", ds.POSITIVE),
        roller_end_radius=(0.0, "m", ds.NON_NEGATIVE),
        friction=(0.3, "", ds.NON_NEGATIVE),
        slip_velocity=(1e-3, "m/s", ds.POSITIVE),
        gravity=(9.81, "m/s^2", ds.POSITIVE),
    )


@dataclass(frozen=True, eq=False)
class Vehicle:
    """The coefficients of the equations, as numbers or expressions of the parameters.

    Parameters
    ----------
    wheel
        One of its wheels, which are alike.
    reach
        R, from the platform's centre to the middle of a wheel, m.
    mass
        M, of the whole, kg.
    centre
        The mass centre of the whole in axes of the platform, from O, m.
    inertia
        I', of the whole about the vertical through O, kg m^2; rollers contribute without their
        moments about their own axes.
    """

    wheel: Wheel
    reach: Any
    mass: Any
    centre: tuple[Any, Any]
    inertia: Any

    @property
    def wheel_radius(self) -> Any:
        """Return l, m."""
        return self.wheel.roller.wheel_radius

    @property
    def axis_distance(self) -> Any:
        """Return d, of the rollers' axes from the middle of their wheel, m."""
        return self.wheel.roller.axis_distance


def vehicle(p: Any, wheels: int, rollers: int) -> Vehicle:
    """Return the vehicle with some parameters: a homogeneous disc on wheels.

    All mass centres are as high as the axles.

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
    """
    check_counts(wheels, rollers)
    roller = Spindle(p["wheel_radius"], rollers, p["roller_end_radius"])
    wheel = Wheel(p["wheel_mass"], p["roller_share"], roller)
    disc, reach = p["platform_mass"], p["platform_radius"]
    place = (p["platform_centre_x"], p["platform_centre_y"])
    mass = disc + wheels * wheel.mass
    about_centre = disc * (reach**2 / 2.0 + place[0] ** 2 + place[1] ** 2)
    return Vehicle(
        wheel,
        reach,
        mass,
        (disc * place[0] / mass, disc * place[1] / mass),
        about_centre + wheels * (wheel.upright + wheel.mass * reach**2),
    )


def check_sizes(p: Mapping[str, float], rollers: int) -> None:
    """Refuse rollers that are so thick at their ends that the axle goes through them.

    Raises
    ------
    OutOfRangeError
        The message gives both sizes.
    """
    largest = p["wheel_radius"] * math.cos(math.pi / rollers)
    if p["roller_end_radius"] >= largest:
        raise OutOfRangeError(
            f"roller_end_radius is {p['roller_end_radius']:g} m, but must be less than "
            f"{largest:g} m: the axes of {rollers} rollers must lie within the wheel"
        )


def harmonics(wheels: int) -> list[list[float]]:
    """Return the waves around the platform that are orthogonal to a plane, (N - 3) of N numbers.

    Wheels that share their load like equal springs under a stiff platform carry a + b . n_i, which
    is orthogonal to each of them.
    """
    axles = equal_directions(wheels)
    found: list[list[float]] = []
    for number in range(FEWEST_WHEELS + 1, wheels + 1):
        order, side = divmod(number, 2)
        found.append([axles[order * index % wheels][side] for index in range(wheels)])
    return found

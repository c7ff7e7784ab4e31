"""An omni-wheel vehicle under any law of its contacts: one set of parameters.

A homogeneous disc carries N equal wheels anywhere, in any direction. Each is a thin disc with n
homogeneous rollers (`spindle`), whose axes are inclined to the wheel's plane by psi_i, at the
distance r = l cos(pi / n) - roller_end_radius from the axle; `omni_vehicle.wheels` has places,
directions and contacts. All mass centres are as high as the axles. The floor falls in the direction
of x, by the angle `slope`.

With d_ij the axis of a roller and w its angular velocity, Om_ij = w . d_ij is its rate about that
axis, counted in space, B and A are its moments of inertia about the axis and across it. Sums over
the n >= 3 rollers of a wheel leave

    2 T = M v^2 + 2 M w_3 e_z . (C x v) + I' w_3^2 + sum_i (J_i chi_i'^2 + B sum_j Om_ij^2)
    J_i = m_d l_d^2 / 2 + n (m_r r^2 + cos^2(psi_i) A)
    I' = m_p (R^2 / 2 + c^2) + sum_i (m_w r_i^2 + m_d l_d^2 / 4
                                      + n (m_r r^2 + (2 - cos^2 psi_i) A) / 2),

v the velocity of the platform's middle O, w_3 = theta', C the mass centre of the whole from O.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.typing import Parameters
from daesolve_problems.omni_vehicle import wheels as anywhere
from daesolve_problems.omni_wheels import (
    check_counts,
    equal_directions,
    numbered,
    wheel_parameters,
    wheel_place,
)
from daesolve_problems.spindle import Spindle
from daesolve_problems.spindle import Wheel as SpindleWheel

Values = Mapping[str, float]
INERTIALESS, IMPACTS, FRICTION = LAWS = ("inertialess", "impacts", "friction")
"""The laws of the contacts, as the models are called."""
alike: Any = ca
"""CasADi's functions: they treat numbers and symbols alike, which its stub does not say."""


def parameters(law: str, wheels: int) -> Parameters:
    """Return sizes, masses and places, the same for every law, and the further needs of some laws.

    These are `roller_inertia`, if rollers have any, `friction` and `slip_velocity`, if contacts
    slip. Zero in `roller_inertia` or `roller_transverse_inertia` means that it follows from the
    shape of the rollers; in `roller_angle_i`, that wheel i has `roller_angle`. A wheel whose x and
    y are both zero has its place in the symmetric vehicle.
    """
    entries: dict[str, tuple[float, str, ds.Interval]] = {
        "platform_mass": (1.0, "kg", ds.POSITIVE),
        "platform_radius": (0.15, "m", ds.POSITIVE),
        "platform_centre_x": (0.0, "m", ds.Interval()),
        "platform_centre_y": (0.0, "m", ds.Interval()),
        "wheel_mass": (0.15, "kg", ds.POSITIVE),
        "roller_share": (0.1, "", ds.Interval(0.0, 1.0, open_low=True)),
        "wheel_radius": (0.05, "m", ds.POSITIVE),
        "roller_end_radius": (0.01, "m", ds.NON_NEGATIVE),
        "roller_transverse_inertia": (0.0, "kg m^2", ds.NON_NEGATIVE),
        "roller_angle": (0.0, "rad", ds.Interval()),
        "slope": (0.0, "rad", ds.Interval(-1.5, 1.5)),
        "gravity": (9.81, "m/s^2", ds.POSITIVE),
    }
    if law != INERTIALESS:
        entries["roller_inertia"] = (0.0, "kg m^2", ds.NON_NEGATIVE)
    if law == FRICTION:
        entries["friction"] = (0.3, "", ds.NON_NEGATIVE)
        entries["slip_velocity"] = (1e-3, "m/s", ds.POSITIVE)
    return ds.parameters(**entries, **wheel_parameters(wheels))


def law_of(p: Values) -> str:
    """Return the law to which parameters belong."""
    if "friction" in p:
        return FRICTION
    return IMPACTS if "roller_inertia" in p else INERTIALESS


@dataclass(frozen=True, eq=False)
class Description:
    """A vehicle in numbers, or in expressions of the parameters.

    Parameters
    ----------
    frame
        Its lengths, the moments of inertia of its rollers, and where its wheels are.
    rollers
        n.
    mass, centre
        M, kg, and C in axes of the platform, m.
    inertia
        I', kg m^2.
    axial
        J_i, kg m^2.
    """

    frame: anywhere.Vehicle
    rollers: int
    mass: Any
    centre: tuple[Any, Any]
    inertia: Any
    axial: tuple[Any, ...]


def described(law: str, p: Any, wheels: int, rollers: int) -> Description:
    """Return the vehicle that the parameters describe.

    Parameters
    ----------
    law
        One of `LAWS`.
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
    wheel = SpindleWheel(p["wheel_mass"], p["roller_share"], roller)
    along: Any = 0.0
    if law != INERTIALESS:
        along = p["roller_inertia"] + (p["roller_inertia"] == 0) * wheel.roller_along
    across = p["roller_transverse_inertia"]
    across = across + (across == 0) * wheel.roller_across
    places = tuple(_wheel(p, i, n) for i, n in enumerate(equal_directions(wheels), start=1))
    ring = wheel.roller_mass * roller.axis_distance**2
    disc = wheel.disc_mass * wheel.disc_radius**2
    c_x, c_y = p["platform_centre_x"], p["platform_centre_y"]
    mass = p["platform_mass"] + wheels * wheel.mass
    sums = [p["platform_mass"] * c_x, p["platform_mass"] * c_y]
    inertia = p["platform_mass"] * (p["platform_radius"] ** 2 / 2 + c_x**2 + c_y**2)
    axial: list[Any] = []
    for place in places:
        lying = place.tilt[0] ** 2
        sums = [sums[0] + wheel.mass * place.x, sums[1] + wheel.mass * place.y]
        inertia = inertia + wheel.mass * (place.x**2 + place.y**2) + disc / 4
        inertia = inertia + rollers * (ring + (2 - lying) * across) / 2
        axial.append(disc / 2 + rollers * (ring + lying * across))
    frame = anywhere.Vehicle(
        p["platform_radius"], roller.axis_distance, p["wheel_radius"], along, across, 1.0, places
    )
    centre = (sums[0] / mass, sums[1] / mass)
    return Description(frame, rollers, mass, centre, inertia, tuple(axial))


def _wheel(p: Any, i: int, direction: tuple[float, float]) -> anywhere.Wheel:
    heading, own = p[f"heading_{i}"], p[f"roller_angle_{i}"]
    tilt = own + (own == 0) * p["roller_angle"]
    return anywhere.Wheel(
        *wheel_place(p, i, direction),
        (alike.cos(heading), alike.sin(heading)),
        (alike.cos(tilt), alike.sin(tilt)),
    )


def derived(p: Values, wheels: int, rollers: int) -> dict[str, float]:
    """Return the parameters that follow from the others because they are zero.

    Raises
    ------
    OutOfRangeError
        No such vehicle can move by the law to which the parameters belong.
    """
    law = law_of(p)
    _check_rollers(law, p, rollers)
    angles = {name: p[name] or p["roller_angle"] for name in numbered("roller_angle", wheels)}
    car = described(law, p, wheels, rollers)
    anywhere.check_wheels(car.frame, angles)
    found = {name: value for name, value in angles.items() if p[name] == 0.0 != value}
    inertias = {
        "roller_inertia": car.frame.along,
        "roller_transverse_inertia": car.frame.across,
    }
    found |= {name: float(value) for name, value in inertias.items() if p.get(name) == 0.0}
    for i, wheel in enumerate(car.frame.wheels, start=1):
        if p[f"wheel_x_{i}"] == 0.0 and p[f"wheel_y_{i}"] == 0.0:
            found |= {f"wheel_x_{i}": float(wheel.x), f"wheel_y_{i}": float(wheel.y)}
    return found


def _check_rollers(law: str, p: Values, rollers: int) -> None:
    largest = p["wheel_radius"] * math.cos(math.pi / rollers)
    end = p["roller_end_radius"]
    if end >= largest:
        raise OutOfRangeError(
            f"roller_end_radius is {end:g} m, but must be less than {largest:g} m: the axes of "
            f"{rollers} rollers must lie within the wheel"
        )
    if law == IMPACTS and end <= 0.0:
        raise OutOfRangeError(
            "roller_end_radius is 0, but rolling with impacts needs rollers that are thick at "
            "their ends: on its tip a roller would have to turn infinitely fast"
        )

"""The places of the wheels, their constraints, and the masses.

O is the platform's own point, v = (v_1, v_2) its velocity in the platform's axes, w = theta' the
platform's rate of turn. Wheel i stands at r_i on the platform; n_i = (cos, sin) of heading_i is its
axle, t_i = k x n_i, k pointing up, J = k x = [[0, -1], [1, 0]]. It turns by chi_i about n_i, and
its lowest point Q_i has the velocity

    v_Qi = v + w J r_i + h chi_i' t_i.

This velocity is along a line at the angle delta_i = roller_angle_i to the wheel's plane. The unit
vector al_i across that line is the axis of the roller below,

    al_i = sin(delta_i) t_i - cos(delta_i) n_i,  s_i = al_i . t_i = sin(delta_i),

so that delta_i = pi / 2 is an omni-wheel, whose rollers have their axes in its plane. With
u = (v_1, v_2, w) the constraint v_Qi . al_i = 0 is

    a_i . u + s_i h chi_i' = 0,  a_i = (al_i, J r_i . al_i).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import casadi as ca

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.typing import Parameters
from daesolve_problems.omni_wheels import equal_directions, wheel_parameters, wheel_place

STATES: Final = ("x", "y", "theta", "v_1", "v_2", "omega")
"""The states of the equations of motion."""
LEAST_SINE: Final = 1e-6
"""The least sin(delta_i)."""
alike: Any = ca
"""CasADi's functions: they treat numbers and symbols alike, which its stub does not say."""


def parameters(wheels: int) -> Parameters:
    """Return masses and sizes, and where the wheels are.

    A wheel whose x and y are both zero has its place in the symmetric vehicle. Zero in
    `roller_angle_i` takes `roller_angle`.

    Raises
    ------
    OutOfRangeError
        There is no wheel.
    """
    if wheels < 1:
        raise OutOfRangeError(f"wheels is {wheels}, but must be at least 1")
    entries: dict[str, tuple[float, str, ds.Interval]] = {
        "mass": (1.45, "kg", ds.POSITIVE),
        "inertia": (0.0215, "kg m^2", ds.POSITIVE),
        "wheel_inertia": (0.00011, "kg m^2", ds.NON_NEGATIVE),
        "wheel_radius": (0.05, "m", ds.POSITIVE),
        "platform_radius": (0.15, "m", ds.POSITIVE),
        "centre_x": (0.0, "m", ds.Interval()),
        "centre_y": (0.0, "m", ds.Interval()),
        "roller_angle": (math.pi / 2, "rad", ds.Interval()),
    }
    return ds.parameters(**entries, **wheel_parameters(wheels))


@dataclass(frozen=True, eq=False)
class Wheel:
    """A wheel, in numbers or expressions of parameters, in the platform's axes.

    Parameters
    ----------
    x, y
        r_i, m.
    heading
        The direction of its axle, rad.
    axis
        al_i.
    sine
        s_i.
    """

    x: Any
    y: Any
    heading: Any
    axis: tuple[Any, Any]
    sine: Any

    @property
    def row(self) -> tuple[Any, Any, Any]:
        """Return a_i."""
        return (*self.axis, self.x * self.axis[1] - self.y * self.axis[0])


def wheels_of(p: Any, wheels: int) -> list[Wheel]:
    """Return the wheels.

    Parameters
    ----------
    p
        Every parameter by name, numbers or symbols.
    wheels
        N.
    """
    return [_wheel(p, i, n) for i, n in enumerate(equal_directions(wheels), start=1)]


def _wheel(p: Any, i: int, direction: tuple[float, float]) -> Wheel:
    """Return a wheel, by the direction of its axle in the symmetric vehicle."""
    heading, own = p[f"heading_{i}"], p[f"roller_angle_{i}"]
    # A right angle leaves no rounding: sine and cosine are those of the axis to the wheel's plane.
    angle = own + (own == 0) * p["roller_angle"]
    lying, across = alike.cos(angle - math.pi / 2), alike.sin(angle - math.pi / 2)
    n_x, n_y = alike.cos(heading), alike.sin(heading)
    axis = (across * n_x - lying * n_y, across * n_y + lying * n_x)
    return Wheel(*wheel_place(p, i, direction), heading, axis, lying)


def derived(
    given: Mapping[str, float], p: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Return the places and roller angles that follow because they are zero.

    Raises
    ------
    OutOfRangeError
        A roller's axis is parallel to its axle, or no vehicle has such moments of inertia.
    """
    centre = math.hypot(p["centre_x"], p["centre_y"])
    least = p["mass"] * centre**2
    if p["inertia"] <= least:
        raise OutOfRangeError(
            f"inertia is {p['inertia']:g} kg m^2, but must be more than mass * (centre_x^2 + "
            f"centre_y^2), {least:g} kg m^2: it refers to the platform's reference point"
        )
    found: dict[str, float] = {}
    for i, wheel in enumerate(wheels_of(p, structure["wheels"]), start=1):
        if abs(wheel.sine) < LEAST_SINE:
            name = f"roller_angle_{i}" if p[f"roller_angle_{i}"] else "roller_angle"
            raise OutOfRangeError(
                f"{name} is {p[name]:g} rad, but must not be a whole multiple of pi: a roller "
                "whose axis is parallel to the axle lets the wheel roll nowhere"
            )
        if p[f"wheel_x_{i}"] == 0.0 and p[f"wheel_y_{i}"] == 0.0:
            found |= {f"wheel_x_{i}": float(wheel.x), f"wheel_y_{i}": float(wheel.y)}
        if p[f"roller_angle_{i}"] == 0.0:
            found[f"roller_angle_{i}"] = p["roller_angle"]
    return found

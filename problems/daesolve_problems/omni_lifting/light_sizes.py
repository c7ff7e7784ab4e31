"""Sizes of the vehicle on light rollers, and the bend for which its motors are set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.typing import Parameters
from daesolve_problems.omni_wheels import equal_directions


def numbers(*, sprung: bool) -> Parameters:
    """Return the parameters of wheels on a rigid floor, or on stiff springs."""
    upwards = (
        {
            "stiffness": (1e5, "N/m", ds.POSITIVE),
            "damping": (50.0, "N s/m", ds.NON_NEGATIVE),
            "slip_velocity": (1e-3, "m/s", ds.POSITIVE),
        }
        if sprung
        else {"restitution": (0.2, "", ds.Interval(0.0, 1.0))}
    )
    return ds.parameters(
        platform_mass=(1.0, "kg", ds.POSITIVE),
        platform_radius=(0.15, "m", ds.POSITIVE),
        platform_height=(0.15, "m", ds.NON_NEGATIVE),
        platform_centre_x=(0.0, "m"),
        platform_centre_y=(0.0, "m"),
        wheel_mass=(0.15, "kg", ds.POSITIVE),
        wheel_radius=(0.05, "m", ds.POSITIVE),
        roller_radius=(0.01, "m", ds.POSITIVE),
        friction=(0.8, "", ds.NON_NEGATIVE),
        bend_speed=(2.0, "m/s", ds.NON_NEGATIVE),
        bend_rate=(0.0, "rad/s", ds.NON_NEGATIVE),
        bend_growth=(4.8, "rad/s^2", ds.NON_NEGATIVE),
        bend_inside=(0.0, "rad"),
        motor_time=(0.6, "s", ds.NON_NEGATIVE),
        gravity=(9.81, "m/s^2", ds.POSITIVE),
        **upwards,
    )


ALONG = 1e-9
"""The part of the angle between two axles within which a direction is that of an axle."""


@dataclass(frozen=True)
class LightSizes:
    """Masses, moments and places; numbers or expressions of parameters.

    Parameters
    ----------
    p
        Parameters by name.
    wheels
        N.
    """

    p: Any
    wheels: int

    @property
    def mass(self) -> Any:
        """Of the whole, kg."""
        return self.p["platform_mass"] + self.wheels * self.p["wheel_mass"]

    @property
    def platform_centre(self) -> tuple[Any, Any, Any]:
        """The platform's mass centre from the middle of the axles, m."""
        p = self.p
        return p["platform_centre_x"], p["platform_centre_y"], p["platform_height"]

    @property
    def centre(self) -> tuple[Any, Any, Any]:
        """The mass centre of the whole from the middle of the axles, m."""
        share = self.p["platform_mass"] / self.mass
        x, y, z = (share * place for place in self.platform_centre)
        return x, y, z

    @property
    def height(self) -> Any:
        """Of the mass centre over the floor where the vehicle is level, m."""
        return self.p["wheel_radius"] + self.centre[2]

    @property
    def axial(self) -> Any:
        """J, of a wheel about its axle, kg m^2."""
        return self.p["wheel_mass"] * self.p["wheel_radius"] ** 2 / 2.0

    @property
    def reach(self) -> Any:
        """R, of the wheels from the middle, m."""
        return self.p["platform_radius"]

    @property
    def axles(self) -> list[tuple[float, float, float]]:
        """Return n_i, in axes of the platform."""
        return [(cosine, sine, 0.0) for cosine, sine in equal_directions(self.wheels)]

    @cached_property
    def inertia(self) -> list[list[Any]]:
        """I, about the mass centre, kg m^2: wheels contribute without J."""
        disc = self.p["platform_mass"] * self.reach**2 / 4.0
        whole = _spread(self.p["platform_mass"], self._from_centre(self.platform_centre))
        for k, moment in enumerate((disc, disc, 2.0 * disc)):
            whole[k][k] += moment
        for axle in self.axles:
            hub = self._from_centre([self.reach * part for part in axle])
            moved = _spread(self.p["wheel_mass"], hub)
            for i in range(3):
                for j in range(3):
                    upright = float(i == j) - axle[i] * axle[j]
                    whole[i][j] += moved[i][j] + self.axial / 2.0 * upright
        return whole

    def _from_centre(self, place: Sequence[Any]) -> list[Any]:
        return [at - mean for at, mean in zip(place, self.centre, strict=True)]


def _spread(mass: Any, arm: Sequence[Any]) -> list[list[Any]]:
    """Return the moments of a point about an origin."""
    square = sum(part * part for part in arm)
    return [
        [mass * ((square if i == j else 0.0) - arm[i] * arm[j]) for j in range(3)] for i in range(3)
    ]


@dataclass(frozen=True)
class Bend:
    """The bend for which the motors are set: w = rate + growth t, V = speed + gain t.

    Parameters
    ----------
    sizes
        Of the vehicle, whose mass centre counts as if it were in the middle.
    """

    sizes: LightSizes

    @property
    def moment(self) -> Any:
        """About the vertical, N m."""
        p, reach = self.sizes.p, self.sizes.reach
        upright = self.sizes.axial / 2.0 + p["wheel_mass"] * reach**2
        inertia = p["platform_mass"] * reach**2 / 2.0 + self.sizes.wheels * upright
        return inertia * p["bend_growth"]

    @property
    def gain(self) -> Any:
        """The growth of the speed that leaves a wheel inside without a force, m/s^2."""
        return self.moment / (2.0 * self.sizes.mass * self.sizes.reach)

    def rate(self, time: Any) -> Any:
        """Return w, rad/s."""
        return self.sizes.p["bend_rate"] + self.sizes.p["bend_growth"] * time

    def speed(self, time: Any) -> Any:
        """Return V, m/s."""
        return self.sizes.p["bend_speed"] + self.gain * time

    def torque(self, axle: Sequence[float], directions: tuple[Any, Any], time: Any) -> Any:
        """Return the torque of the motor of a wheel, N m.

        Parameters
        ----------
        axle
            n_i, in axes of the platform.
        directions
            (cos, sin) of `bend_inside`.
        time
            s
        """
        sizes, (cosine, sine) = self.sizes, directions
        # Of the direction of a wheel, e_z x n, along the way and to the inside of the bend.
        ahead, inwards = -axle[1] * sine - axle[0] * cosine, axle[0] * sine - axle[1] * cosine
        turned = self.moment / (sizes.wheels * sizes.reach)
        pushed = self.gain * ahead + self.rate(time) * self.speed(time) * inwards
        force = 2.0 * sizes.mass * pushed / sizes.wheels + turned
        faster = self.gain * ahead + sizes.reach * sizes.p["bend_growth"]
        radius = sizes.p["wheel_radius"]
        return -sizes.axial * faster / radius - radius * force


def load_inside(p: Mapping[str, float], wheels: int, sideways: Any) -> Any:
    """Return the load of the wheel inside where w V is given, N.

    On a level floor, where the N wheels share the load like equal springs (three share it in one
    way only), and with the mass centre in the middle, at the height H,

        N_i = m g / N - 2 w V (m H + N J / (2 l)) / (N R).

    The last term is the moment that the spins of the wheels need, which turn with the vehicle.
    """
    sizes = LightSizes(p, wheels)
    levers = sizes.mass * sizes.height + wheels * sizes.axial / (2.0 * p["wheel_radius"])
    return (sizes.mass * p["gravity"] - 2.0 * sideways * levers / sizes.reach) / wheels


def largest_sideways(p: Mapping[str, float], wheels: int) -> float:
    """Return w V, m/s^2, beyond which the wheel inside leaves the floor; see `load_inside`."""
    none, one = load_inside(p, wheels, 0.0), load_inside(p, wheels, 1.0)
    return float(none / (none - one))


def inside_wheel(p: Mapping[str, float], wheels: int) -> int:
    """Return the number of the wheel inside, from one.

    Raises
    ------
    OutOfRangeError
        The closed form of its load does not hold: the mass centre is off the middle, or no axle
        points to the inside.
    """
    if p["platform_centre_x"] != 0.0 or p["platform_centre_y"] != 0.0:
        raise OutOfRangeError(
            "the load of the wheel inside has a closed form only with the mass centre in the "
            "middle: set platform_centre_x and platform_centre_y to 0"
        )
    turn = wheels * p["bend_inside"] / math.tau
    if abs(turn - round(turn)) > ALONG:
        raise OutOfRangeError(
            f"bend_inside is {p['bend_inside']:g} rad, but the load of the wheel inside has a "
            f"closed form only along an axle: a multiple of {math.tau / wheels:g} rad"
        )
    return round(turn) % wheels + 1


def lift_time(p: Mapping[str, float], wheels: int) -> float:
    """Return when w V reaches `largest_sideways`, s; infinity if it never does."""
    bend, limit = Bend(LightSizes(p, wheels)), largest_sideways(p, wheels)
    square, linear = p["bend_growth"] * bend.gain, p["bend_rate"] * bend.gain
    linear += p["bend_growth"] * p["bend_speed"]
    missing = limit - p["bend_rate"] * p["bend_speed"]
    if missing <= 0.0:
        return 0.0
    if linear <= 0.0:
        return math.inf
    # Of the two forms of the root, the one that loses no digits where the speed hardly grows.
    return float(2.0 * missing / (linear + math.sqrt(linear**2 + 4.0 * square * missing)))

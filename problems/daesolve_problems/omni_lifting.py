"""A vehicle on omni-wheels whose wheels lift off the floor, fly and land.

A rigid platform on three wheels or more, whose rollers touch a level floor with Coulomb's friction.
Nothing keeps it level: it tilts about the wheels that stand, leaves the floor, flies, and lands
with impacts. The unknown reactions are the normal force, which never pulls, and the friction of
every roller that touches. Friction and impacts take energy; what turns and touches nothing keeps
its spin.

N wheels stand at equal angles about the platform, at the distance R from its middle, their axles
radial and without friction; the platform's mass centre lies `platform_height` over the axles. In
axes of the platform, n_i along an axle, e_ij along a roller's axis, h_i = B sum_j W_ij e_ij, with
the rates V_i of the wheels and W_ij of the rollers about their axes, seen from space,

    m v' = F - m g e_z,            J V_i' + n_i . (w x h_i) = M_i,            B W_ij' = M_ij,
    I w' + w x (I w + J sum V_i n_i) + sum V_i n_i x h_i = M - sum M_i n_i - sum M_ij e_ij,

I without J and B. Masses are constant in these velocities. F, M, M_i and M_ij are what the floor
does to the whole, to a wheel and to a roller. Where all wheels stand upright this is the vehicle
that stays level; where one is lifted, that ends and this goes on.

A start has the place `x`, `y` of the platform's mass centre and the `height` of what is lowest over
the floor, the `heading`, the `tilt` about the level direction `tilt_towards` of the platform, the
velocity `speed_x`, `speed_y`, `speed_z`, the rates `yaw` about the vertical and `tilt_rate`, and the
rates V_i of the wheels, `wheel_i`. On the floor, wheels whose rates are not given start without
slip, and so do the rollers that touch; rollers that do not are at rest in their wheels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.drawing import Camera, Drawing, Line, Shape, Trace
from daesolve.errors import OutOfRangeError
from daesolve.multibody import Body, Frame, PlaneContact, Spindle
from daesolve.typing import BoundCase, DifferentiableVector, Parameters, SymbolVector
from daesolve_problems import spindle
from daesolve_problems.contacts.free_body import floor_lines, quaternion_of, seen
from daesolve_problems.contacts.free_roller import outlined
from daesolve_problems.figures import Document, panels_over_time, series
from daesolve_problems.omni_wheels import check_counts, equal_directions, numbered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = Mapping[str, float]
UP = np.array([0.0, 0.0, 1.0])
NEAR = 1e-12
"""m; a wheel that is so near to the floor stands on it at the start."""
THINNEST = 1e-6
"""Of a roller's largest radius, that below which it has no rate with which it would roll."""


def numbers() -> Parameters:
    """Return the parameters."""
    return ds.parameters(
        platform_mass=(1.0, "kg", ds.POSITIVE),
        platform_radius=(0.15, "m", ds.POSITIVE),
        platform_height=(0.0, "m", ds.NON_NEGATIVE),
        wheel_mass=(0.15, "kg", ds.POSITIVE),
        roller_share=(0.3, "", ds.Interval(0.0, 1.0, open_low=True)),
        wheel_radius=(0.05, "m", ds.POSITIVE),
        roller_end_radius=(0.003, "m", ds.NON_NEGATIVE),
        friction=(0.3, "", ds.NON_NEGATIVE),
        restitution=(0.2, "", ds.Interval(0.0, 1.0)),
        gravity=(9.81, "m/s^2", ds.POSITIVE),
    )


@dataclass(frozen=True)
class Sizes:
    """Masses, moments and places; numbers or expressions of parameters.

    Parameters
    ----------
    p
        Parameters by name.
    wheels, rollers
        N and n.
    """

    p: Any
    wheels: int
    rollers: int

    @property
    def wheel(self) -> spindle.Wheel:
        """One of the wheels."""
        p = self.p
        roller = spindle.Spindle(p["wheel_radius"], self.rollers, p["roller_end_radius"])
        return spindle.Wheel(p["wheel_mass"], p["roller_share"], roller)

    @property
    def mass(self) -> Any:
        """Of the whole, kg."""
        return self.p["platform_mass"] + self.wheels * self.p["wheel_mass"]

    @property
    def above(self) -> Any:
        """How high its mass centre lies over the axles, m."""
        return self.p["platform_mass"] * self.p["platform_height"] / self.mass

    @property
    def moments(self) -> tuple[Any, Any, Any]:
        """About the mass centre, kg m^2, wheels and rollers without J and B."""
        p, reach = self.p, self.p["platform_radius"]
        turned = self.wheel.upright + p["wheel_mass"] * reach**2
        level = p["platform_mass"] * reach**2
        lifted = p["platform_mass"] * (p["platform_height"] - self.above) ** 2
        lowered = self.wheels * p["wheel_mass"] * self.above**2
        across = level / 4.0 + lifted + lowered + self.wheels * turned / 2.0
        return across, across, level / 2.0 + self.wheels * turned


@dataclass(frozen=True, eq=False)
class Model:
    """The symbols of the vehicle.

    Parameters
    ----------
    wheels, rollers
        N and n.
    p
        Parameters.
    """

    wheels: int
    rollers: int
    p: Parameters

    @cached_property
    def sizes(self) -> Sizes:
        """Masses, moments and places."""
        return Sizes(self.p, self.wheels, self.rollers)

    @cached_property
    def body(self) -> Body:
        """The whole, as if wheels and rollers did not turn about their axes."""
        return Body("vehicle", self.sizes.mass, self.sizes.moments)

    @cached_property
    def chi(self) -> DifferentiableVector:
        """The angles of the wheels."""
        return ds.coordinates(**dict.fromkeys(numbered("chi", self.wheels), ds.ANGLE))

    @cached_property
    def rates(self) -> SymbolVector:
        """V_i."""
        return ds.velocities(**dict.fromkeys(numbered("wheel", self.wheels), "rad/s"))

    @cached_property
    def spins(self) -> SymbolVector:
        """W_ij."""
        return ds.velocities(**dict.fromkeys(numbered("spin", self.wheels, self.rollers), "rad/s"))

    @property
    def turning(self) -> ca.SX:
        """Return w, in axes of the platform."""
        return self.body.velocities.vector[3:]

    @cached_property
    def axles(self) -> list[ca.SX]:
        """Return n_i, in axes of the platform."""
        return [ca.SX([cos, sin, 0.0]) for cos, sin in equal_directions(self.wheels)]

    @cached_property
    def axes(self) -> list[list[ca.SX]]:
        """Return e_ij, in axes of the platform."""
        found: list[list[ca.SX]] = []
        for axle, chi in zip(self.axles, ca.vertsplit(self.chi.vector), strict=True):
            # At chi = 0 a wheel's first axis points against e_z x n, its second one down.
            first, down = ca.vertcat(axle[1], -axle[0], 0), ca.SX([0.0, 0.0, -1.0])
            turned = [
                ca.cos(chi) * first + ca.sin(chi) * down,
                ca.cos(chi) * down - ca.sin(chi) * first,
            ]
            found.append(
                [
                    cosine * turned[0] + sine * turned[1]
                    for cosine, sine in equal_directions(self.rollers)
                ]
            )
        return found

    @cached_property
    def momenta(self) -> list[ca.SX]:
        """Return h_i, in axes of the platform."""
        along, spins = self.sizes.wheel.roller_along, iter(ca.vertsplit(self.spins.vector))
        return [
            along * sum((next(spins) * axis for axis in axes), start=ca.SX(3, 1))
            for axes in self.axes
        ]

    def frame(self, wheel: int, roller: int, spin: ca.SX) -> Frame:
        """Return the frame of a roller; axis 3 is its own."""
        axle, axis = self.axles[wheel], self.axes[wheel][roller]
        rate = self.rates.vector[wheel]
        turns = ca.SX(self.turning) + (rate - ca.dot(axle, self.turning)) * axle
        hub = ca.vertcat(self.p.platform_radius * axle[:2], -self.sizes.above)
        out = self.sizes.wheel.roller.axis_distance * ca.cross(axle, axis)
        base, place = self.body.frame(), hub + out
        speed = ca.cross(self.turning, hub) + ca.cross(turns, out)
        spun = turns + (spin - ca.dot(axis, self.turning)) * axis
        own = ca.horzcat(axle, ca.cross(axis, axle), axis)
        return Frame(
            self.body,
            base.position + base.rotation @ place,
            base.velocity + base.rotation @ speed,
            base.rotation @ own,
            base.rotation @ spun,
            turning=True,
        )

    @cached_property
    def contacts(self) -> list[PlaneContact]:
        """Return the contacts of all rollers."""
        roller = self.sizes.wheel.roller
        surface = Spindle(self.p.wheel_radius, roller.axis_distance, roller.half_length)
        names = iter(numbered("roller", self.wheels, self.rollers))
        spins = iter(ca.vertsplit(self.spins.vector))
        return [
            PlaneContact(
                next(names),
                self.frame(i, j, next(spins)),
                surface,
                friction=self.p.friction,
                unilateral=True,
                restitution=self.p.restitution,
                closed=False,
            )
            for i in range(self.wheels)
            for j in range(self.rollers)
        ]


def posed(wheels: int, rollers: int) -> ds.MechanicalSystem:
    """Pose the vehicle.

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers.
    """
    check_counts(wheels, rollers)
    model = Model(wheels, rollers, numbers())
    body, sizes, turning = model.body, model.sizes, model.turning
    axial, along = sizes.wheel.axial, sizes.wheel.roller_along
    rates = ca.vertsplit(model.rates.vector)
    carried, driven = ca.SX(3, 1), []
    for axle, rate, momentum in zip(model.axles, rates, model.momenta, strict=True):
        carried -= axial * rate * ca.cross(turning, axle) + rate * ca.cross(axle, momentum)
        driven.append(-ca.dot(axle, ca.cross(turning, momentum)))
    turned = [rate - ca.dot(axle, turning) for axle, rate in zip(model.axles, rates, strict=True)]
    parts = [contact.contribution for contact in model.contacts]
    discrete, *others = [part.discrete for part in parts]
    for other in others:
        discrete = discrete.joined(other)
    spins = model.spins.vector
    up = body.frame().axis(2)
    return ds.MechanicalSystem(
        body.coordinates.joined(model.chi),
        model.p,
        velocities=body.velocities.joined(model.rates).joined(model.spins),
        kinematics=ca.vertcat(body.kinematics, *turned),
        mass_matrix=ca.diagcat(
            body.mass_matrix, axial * ca.SX.eye(wheels), along * ca.SX.eye(wheels * rollers)
        ),
        gyroscopic=ca.vertcat(
            body.gyroscopic + ca.vertcat(ca.SX(3, 1), carried),
            *driven,
            ca.SX(wheels * rollers, 1),
        ),
        kinetic=body.kinetic
        + axial * ca.sumsqr(model.rates.vector) / 2
        + along * ca.sumsqr(spins) / 2,
        potential=sizes.mass * model.p.gravity * body.coordinates.vehicle_z,
        goals=[body.norm, *[goal for part in parts for goal in part.goals]],
        events=[event for part in parts for event in part.events],
        discrete=discrete,
        outputs={name: out for part in parts for name, out in part.outputs.items()}
        | {"up_x": (up[0], ""), "up_y": (up[1], ""), "up_z": (up[2], "")},
    )


# -- its start -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Placed:
    """Where a roller is over the floor, arms and axes in space.

    Parameters
    ----------
    height
        Of the mass centre where it touches, m.
    hub, arm, own
        From the mass centre to the wheel's middle, and to the lowest point; from the roller's
        middle to that, m.
    axle, axis
        Of the wheel, and of the roller.
    """

    height: float
    hub: np.ndarray
    arm: np.ndarray
    own: np.ndarray
    axle: np.ndarray
    axis: np.ndarray


def placed(given: Values, parameters: Values, structure: Mapping[str, Any]) -> list[list[Placed]]:
    """Return where all rollers are at the start, wheel by wheel.

    Raises
    ------
    OutOfRangeError
        Their axes lie within the wheel.
    """
    sizes = Sizes(parameters, structure["wheels"], structure["rollers"])
    roller, end = sizes.wheel.roller, parameters["roller_end_radius"]
    largest = roller.wheel_radius * math.cos(roller.half_angle)
    if end >= largest:
        raise OutOfRangeError(
            f"parameter 'roller_end_radius' is {end!r}, but must be below {largest!r}: the "
            "rollers' axes lie within the wheel"
        )
    turned = _turned(given)
    found: list[list[Placed]] = []
    for cosine, sine in equal_directions(sizes.wheels):
        axle = turned @ np.array([cosine, sine, 0.0])
        first, down = turned @ np.array([sine, -cosine, 0.0]), -turned[:, 2]
        hub = parameters["platform_radius"] * axle - sizes.above * turned[:, 2]
        here: list[Placed] = []
        for ahead, below in equal_directions(sizes.rollers):
            axis = ahead * first + below * down
            middle = hub + roller.axis_distance * np.cross(axle, axis)
            height, (upwards, lengthwise) = roller.lowest(float(np.clip(axis[2], -1.0, 1.0)))
            own = upwards * UP + lengthwise * axis
            here.append(Placed(height - float(middle[2]), hub, middle + own, own, axle, axis))
        found.append(here)
    return found


def _turned(given: Values) -> np.ndarray:
    """Return the platform's axes in space: tilted about a level direction, then turned."""
    towards, tilt = given.get("tilt_towards", 0.0), given.get("tilt", 0.0)
    about = np.array([-math.sin(towards), math.cos(towards), 0.0])
    rotation = _about(UP, given.get("heading", 0.0)) @ _about(about, tilt)
    return np.asarray(rotation)


def _about(axis: np.ndarray, angle: float) -> np.ndarray:
    x, y, z = axis
    across = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * across + (1.0 - math.cos(angle)) * across @ across


def start_values(structure: Mapping[str, Any]) -> list[str]:
    """Return the names of the start values."""
    return [
        *("x", "y", "height", "heading", "tilt", "tilt_towards"),
        *("speed_x", "speed_y", "speed_z", "yaw", "tilt_rate"),
        *numbered("wheel", structure["wheels"]),
    ]


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return every state at the start."""
    rows, turned = placed(given, parameters, structure), _turned(given)
    high = max(place.height for row in rows for place in row)
    height = given.get("height", 0.0)
    towards = given.get("tilt_towards", 0.0)
    about = turned @ np.array([-math.sin(towards), math.cos(towards), 0.0])
    turning = given.get("yaw", 0.0) * UP + given.get("tilt_rate", 0.0) * about
    velocity = np.array([given.get(f"speed_{axis}", 0.0) for axis in "xyz"])
    touches = _touching(rows, height)
    if touches and "speed_z" not in given:
        i, j = touches[0]
        velocity[2] = -float(np.cross(turning, rows[i][j].arm)[2])
    state = dict(zip(("x", "y", "z"), (given.get("x", 0.0), given.get("y", 0.0), high + height)))
    state |= {f"q{k}": part for k, part in enumerate(quaternion_of(turned))}
    state |= {f"{axis}_dot": part for axis, part in zip("xyz", velocity.tolist(), strict=True)}
    own = (turned.T @ turning).tolist()
    state |= {f"w{k}": part for k, part in enumerate(own, start=1)}
    found = {f"vehicle_{name}": float(part) for name, part in state.items()}
    for i, row in enumerate(rows):
        rate, spins = float(row[0].axle @ turning), [float(at.axis @ turning) for at in row]
        for j in [j for wheel, j in touches if wheel == i][:1]:
            extra, rolling = _rolling(row[j], velocity, turning, parameters["wheel_radius"])
            rate, spins[j] = rate + extra, spins[j] + rolling
        found |= {f"chi_{i + 1}": 0.0, f"wheel_{i + 1}": given.get(f"wheel_{i + 1}", rate)}
        found |= {f"spin_{i + 1}_{j + 1}": spin for j, spin in enumerate(spins)}
    return found


def _touching(rows: list[list[Placed]], height: float) -> list[tuple[int, int]]:
    """Return which rollers of which wheels are on the floor at the start."""
    if height != 0.0:
        return []
    high = max(place.height for row in rows for place in row)
    return [
        (i, j)
        for i, row in enumerate(rows)
        for j, place in enumerate(row)
        if place.height >= high - NEAR
    ]


def _rolling(
    at: Placed, velocity: np.ndarray, turning: np.ndarray, radius: float
) -> tuple[float, float]:
    """Return by how much wheel and roller turn in platform and wheel where nothing slips."""
    slip = (velocity + np.cross(turning, at.arm))[:2]
    by_rate, by_spin = np.cross(at.axle, at.arm - at.hub)[:2], np.cross(at.axis, at.own)[:2]
    if float(np.linalg.norm(by_spin)) <= THINNEST * radius:
        return -float(slip @ by_rate) / float(by_rate @ by_rate), 0.0
    rate, spin = np.linalg.solve(np.column_stack([by_rate, by_spin]), -slip).tolist()
    return rate, spin


def derived(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return which ends of rollers are the lowest, and which rollers are on the floor."""
    rows = placed(given, parameters, structure)
    touches = _touching(rows, given.get("height", 0.0))
    edge = math.sin(math.pi / structure["rollers"])
    found: dict[str, float] = {}
    for i, row in enumerate(rows):
        for j, place in enumerate(row):
            name, cosine = f"roller_{i + 1}_{j + 1}", float(place.axis[2])
            found[f"{name}_end"] = -math.copysign(1.0, cosine) if abs(cosine) > edge else 0.0
            found[f"contact_{name}"] = float((i, j) in touches)
    return found

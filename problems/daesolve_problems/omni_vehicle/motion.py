"""The vehicle's sizes, and its motion between samples and impacts, from the document of a run.

On a smooth piece a free roller keeps phi_ij' + s_ij, and the contact roller's rate follows
from the velocities of the platform (`wheels`). So the rates of all rollers are known wherever the
angles of the wheels and the velocities of the platform are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.multibody.drawing.traced import repeating
from daesolve_problems.figures import Document, column
from daesolve_problems.omni_vehicle import wheels as anywhere
from daesolve_problems.omni_vehicle.geometry import Vehicle, parameters, pitch, vehicle
from daesolve_problems.omni_wheels import equal_directions, numbered

Values = dict[str, Any]

PARTS = 20
"""The number of parts of the path between two samples or impacts."""


@dataclass(frozen=True)
class Wheel:
    """Where a wheel is on the platform.

    Parameters
    ----------
    x, y
        Its middle, m.
    heading
        The direction of its axle, rad.
    tilt
        The angle of the rollers' axes to the wheel's plane, rad.
    """

    x: float
    y: float
    heading: float
    tilt: float = 0.0


@dataclass(frozen=True)
class Sizes:
    """The vehicle's lengths in m, and Lambda, in nu_3 = Lambda theta'.

    `inertia` are the masses and moments of the symmetric vehicle, None of any other.
    """

    platform_radius: float
    roller_axis_radius: float
    wheel_radius: float
    velocity_scale: float
    wheels: tuple[Wheel, ...]
    rollers: int
    inertia: Vehicle | None

    @property
    def roller_radius(self) -> float:
        """The radius of a roller in its middle, m."""
        return self.wheel_radius - self.roller_axis_radius

    @property
    def extent(self) -> float:
        """The largest distance of a part of the vehicle from its centre, m."""
        reach = np.hypot(self.wheel_radius, self.roller_radius)
        return max(np.hypot(wheel.x, wheel.y) for wheel in self.wheels) + reach


def sizes(document: Document) -> Sizes:
    """Return the sizes of a run's vehicle, symmetric or with wheels anywhere."""
    count, rollers = document["structure"]["wheels"], document["structure"]["rollers"]
    given = document["parameters"]
    inertia: Vehicle | None = None
    # What a run derived is not among its parameters: zero means that it follows from the others.
    if "heading_1" in given:
        known = dict.fromkeys(anywhere.parameters(count).names, 0.0) | given
        car = anywhere.vehicle(known, count, rollers)
        places = [(float(wheel.x), float(wheel.y)) for wheel in car.wheels]
        turned = [(known[f"heading_{i}"], known[f"roller_angle_{i}"]) for i in range(1, count + 1)]
    else:
        car = vehicle(dict.fromkeys(parameters().names, 0.0) | given, count, rollers)
        directions = equal_directions(count)
        places = [(car.platform_radius * c, car.platform_radius * s) for c, s in directions]
        turned = [(math.atan2(s, c), 0.0) for c, s in directions]
        inertia = car
    return Sizes(
        car.platform_radius,
        car.roller_axis_radius,
        car.wheel_radius,
        car.velocity_scale,
        tuple(Wheel(*place, *turn) for place, turn in zip(places, turned, strict=True)),
        rollers,
        inertia,
    )


def contact_speed(
    car: Sizes, wheel: Wheel, nu: Sequence[Any] | np.ndarray, chi: Any
) -> tuple[Any, Any]:
    """Return chi' of a wheel and phi' of its contact roller, rad/s.

    Parameters
    ----------
    car, wheel
        Sizes.
    nu
        nu_1, nu_2, nu_3, numbers or arrays.
    chi
        The angle of the contact roller.
    """
    turning = nu[2] / car.velocity_scale
    v_x = car.platform_radius * nu[0] - turning * wheel.y
    v_y = car.platform_radius * nu[1] + turning * wheel.x
    c, s = math.cos(wheel.heading), math.sin(wheel.heading)
    along, across = c * v_x + s * v_y, c * v_y - s * v_x
    rho = car.wheel_radius * np.cos(chi) - car.roller_axis_radius
    aside = -car.roller_axis_radius * np.tan(chi) * math.tan(wheel.tilt) * turning
    chi_dot = -(across + aside + along * math.tan(wheel.tilt) / np.cos(chi)) / car.wheel_radius
    return chi_dot, along / (rho * math.cos(wheel.tilt))


def turns(document: Document) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the angle by which each wheel has turned, and its rate, at the samples.

    `chi_i` is measured from another roller after a switch; the wheel keeps turning. How many
    rollers went by between two samples follows from the rates there.

    Returns
    -------
    angles, rates
        `turn_i` and `turn_dot_i`, rad and rad/s, (k,) each.
    """
    car = sizes(document)
    times = np.array(document["times"], dtype=float)
    order = np.argsort(times, kind="stable")
    nu = [column(document, name) for name in numbered("nu", 3)]
    angles: dict[str, np.ndarray] = {}
    rates: dict[str, np.ndarray] = {}
    for i, wheel in enumerate(car.wheels, start=1):
        chi = column(document, f"chi_{i}")
        rate, _ = contact_speed(car, wheel, nu, chi)
        if chi.dtype == object:  # with expressions, from which the order of samples does not follow
            whole = repeating(chi, float(pitch(car.rollers)))
        else:
            whole = np.empty_like(chi)
            whole[order] = continued(times[order], chi[order], rate[order], pitch(car.rollers))
        angles[f"turn_{i}"], rates[f"turn_dot_{i}"] = whole, rate
    return angles, rates


def continued(times: np.ndarray, angle: np.ndarray, rate: np.ndarray, period: float) -> np.ndarray:
    """Return an angle that is known up to whole periods, without its jumps."""
    foretold = 0.5 * (rate[1:] + rate[:-1]) * np.diff(times)
    steps = np.diff(angle)
    whole = period * np.round((foretold - steps) / period)
    return angle + np.concatenate([[0.0], np.cumsum(whole)])


@dataclass(frozen=True, eq=False)
class Piece:
    """A smooth piece of the motion, from one impact to the next.

    Parameters
    ----------
    times
        (k,) fine.
    nu
        (3, k) velocities of the platform.
    rates
        (N, n, k) of the rollers about their axes, rad/s.
    energy
        The kinetic energy, J; NaN for a vehicle that is not symmetric.
    """

    times: np.ndarray
    nu: np.ndarray
    rates: np.ndarray
    energy: float


def pieces(document: Document, begin: float, end: float) -> list[Piece]:
    """Return the smooth pieces that begin within a span of time, as far as they are known.

    They are known between impacts whose states are in the document.
    """
    car = sizes(document)
    return [
        _piece(document, car, before, after)
        for before, after in _starts(document)
        if begin <= before["t"] < end
    ]


def _starts(document: Document) -> list[tuple[Values, Values]]:
    """Return the values at the beginning and at the end of each piece, the time as "t"."""
    impacts = document["events"]
    first, last = _sample(document, 0), _sample(document, -1)
    begins = [first | _contacts(document)] + [
        e.get("after", {}) | {"t": e["time"]} for e in impacts
    ]
    ends = [event["detail"] | {"t": event["time"]} for event in impacts] + [last]
    return [
        (before, after)
        for before, after in zip(begins, ends, strict=True)
        if "nu_1" in before and "nu_1" in after and after["t"] > before["t"]
    ]


def _sample(document: Document, index: int) -> Values:
    """Return states and outputs at a sample, the time as "t"."""
    both = {**document["outputs"], **document["states"]}
    return {name: values[index] for name, values in both.items()} | {"t": document["times"][index]}


def _contacts(document: Document) -> Values:
    """Return the contact rollers before the first impact."""
    names = numbered("contact", document["structure"]["wheels"])
    rollers = document["structure"]["rollers"]
    switches = [event for event in document["events"] if "after" in event]
    if not switches:
        return dict.fromkeys(names, 1.0)
    impact = switches[0]
    found = dict(impact["after"])
    for index in impact["fired"]:
        chi = impact["detail"][f"chi_{index + 1}"]
        found[names[index]] = (found[names[index]] - 1.0 + math.copysign(1.0, chi)) % rollers + 1.0
    return {name: found[name] for name in names}


def _piece(document: Document, car: Sizes, before: Values, after: Values) -> Piece:
    from scipy.interpolate import CubicHermiteSpline  # which takes long to import

    samples = np.array(document["times"], dtype=float)
    inner = np.flatnonzero((samples > before["t"]) & (samples < after["t"]))
    inner = inner[np.argsort(samples[inner])]
    knots = np.concatenate([[before["t"]], samples[inner], [after["t"]]])
    times = np.interp(np.arange(PARTS * (len(knots) - 1) + 1) / PARTS, np.arange(len(knots)), knots)

    def through(name: str) -> np.ndarray:
        return np.concatenate([[before[name]], column(document, name)[inner], [after[name]]])

    coarse = [through(name) for name in numbered("nu", 3)]
    nu = np.array([np.interp(times, knots, values) for values in coarse])
    angles: list[np.ndarray] = []
    for i, wheel in enumerate(car.wheels, start=1):
        angle = through(f"chi_{i}")
        chi_dot, _ = contact_speed(car, wheel, coarse, angle)
        angles.append(CubicHermiteSpline(knots, angle, chi_dot)(times))
    nu = _lossless(car, nu, angles)
    energy = _with_platform(car, nu[:, :1], [chi[:1] for chi in angles])
    own = 0.0 if car.inertia is None else car.inertia.roller_inertia
    kinetic = math.nan if energy is None else float(energy[0])
    rates = np.empty((len(car.wheels), car.rollers, len(times)))
    for i, (wheel, chi) in enumerate(zip(car.wheels, angles, strict=True), start=1):
        chi_dot, spin = contact_speed(car, wheel, nu, chi)
        for j in range(1, car.rollers + 1):
            ahead = chi + pitch(car.rollers) * (j - before[f"contact_{i}"])
            carried = nu[2] / car.velocity_scale * math.cos(wheel.tilt) * np.sin(ahead)
            carried = carried + chi_dot * math.sin(wheel.tilt)
            free = before.get(f"momentum_{i}_{j}")
            free = before[f"phi_dot_{i}_{j}"] + carried[0] if free is None else free
            stands = j == before[f"contact_{i}"]
            rates[i - 1, j - 1] = spin if stands else free - carried
            kinetic += 0.0 if stands else own * free**2 / 2
    return Piece(times, nu, rates, before.get("kinetic_after", kinetic))


def _with_platform(car: Sizes, nu: np.ndarray, angles: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return the kinetic energy of all but the free rollers, which keep theirs on a piece, J."""
    if car.inertia is None:
        return None
    own = car.inertia
    theta_dot = nu[2] / car.velocity_scale
    free = own.roller_inertia * len(car.wheels) * car.rollers / 2
    energy = own.total_mass * car.platform_radius**2 * (nu[0] ** 2 + nu[1] ** 2) / 2
    energy = energy + (own.vehicle_inertia - free) * theta_dot**2 / 2
    for wheel, chi in zip(car.wheels, angles, strict=True):
        chi_dot, spin = contact_speed(car, wheel, nu, chi)
        energy = energy + own.wheel_inertia * chi_dot**2 / 2
        energy = energy + own.roller_inertia * (spin + theta_dot * np.sin(chi)) ** 2 / 2
    return energy


def _lossless(car: Sizes, nu: np.ndarray, angles: Sequence[np.ndarray]) -> np.ndarray:
    """Return velocities between samples, scaled so that no energy is lost between them."""
    energy = _with_platform(car, nu, angles)
    if energy is None or not np.all(energy > 0.0):
        return nu
    return nu * np.sqrt(energy[0] / energy)

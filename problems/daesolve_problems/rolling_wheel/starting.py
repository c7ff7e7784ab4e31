"""The start of the wheel, how far it can get, and what stops it there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from daesolve.errors import OutOfRangeError
from daesolve_problems.curves import Curve, contact_point
from daesolve_problems.rolling_room import Admissibility, admissibility, barriers
from daesolve_problems.tracks import Contacts, Stretch, Track, contacts, lowest_centre, reach, trace

Values = Mapping[str, float]

PLACES = ("contact_x", "polar_angle")
"""Start values that give the place of the contact; later ones in a mapping are the user's."""
SHORTEST, LONGEST = 4.0, 64.0
"""How far the curve is traced in m, until the wheel cannot get farther."""
WEIGHTS = (
    "wheel_mass", "radius", "gravity", "bob_mass", "pendulum_length", "bob_inertia",
)  # fmt: skip
"""The parameters that decide, besides those of the curve, how far the wheel gets."""
FAR_AWAY = 1e6
"""The place of a stop that stops nothing, m."""


def at_contact(given: Values, parameters: Values, structure: Mapping[str, Any]) -> Contacts:
    """Return the contact at the start: a given place takes precedence over the case's own."""
    curve: Curve = structure["curve"]
    places = [name for name in given if name in PLACES]
    place = contact_point(curve, parameters, {name: given[name] for name in places[-1:]})
    return contacts(curve, parameters, np.zeros(1), [place])


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Place the wheel on the curve at `contact_x` or `polar_angle`, its centre moving along t.

    Raises
    ------
    OutOfRangeError
        The curve has no such place, or there is no pendulum to start at phi.
    """
    for name in ("phi", "phi_dot"):
        if given.get(name, 0.0) != 0.0 and not structure["pendulum"]:
            raise OutOfRangeError(
                f"the wheel has no pendulum to start with {name} = {given[name]:g}: set "
                f"pendulum = true, or {name} = 0"
            )
    contact = at_contact(given, parameters, structure)
    speed, radius = given["speed"], parameters["radius"]
    centre, tangent = contact.centres(radius)[0], contact.tangents[0]
    guess = {
        "x": float(centre[0]),
        "z": float(centre[1]),
        "theta": 0.0,
        "alpha": math.atan2(contact.normals[0, 1], contact.normals[0, 0]),
        "x_dot": speed * float(tangent[0]),
        "z_dot": speed * float(tangent[1]),
        "theta_dot": -speed / radius,
    }
    if structure["pendulum"]:
        guess |= {"phi": given.get("phi", 0.0), "phi_dot": given.get("phi_dot", 0.0)}
    return guess


def printed_start(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Start by the printed residuals: r theta' = -u sqrt((1 + r kappa) / (1 - r kappa)).

    Raises
    ------
    OutOfRangeError
        As in `start`, or the curve bends more sharply than the wheel, either way.
    """
    bend = parameters["radius"] * float(at_contact(given, parameters, structure).curvature[0])
    if abs(bend) >= 1.0:
        raise OutOfRangeError(
            f"the printed residuals have no motion where the curve bends more sharply than the "
            f"wheel: radius times curvature is {bend:.6g} at the start, but must lie in (-1, 1)"
        )
    guess = start(given, parameters, structure)
    return guess | {
        "alpha_dot": given["speed"] / parameters["radius"] * bend / (1.0 - bend),
        "theta_dot": guess["theta_dot"] * math.sqrt((1.0 + bend) / (1.0 - bend)),
    }


@dataclass(frozen=True, eq=False)
class Room:
    """The curve around the start, and the part over which the wheel can roll.

    Parameters
    ----------
    track
        The curve, traced.
    stretch
        The arc lengths that its energy lets it reach, m.
    admissibility
        Where it touches the curve in only one point.
    whole
        Whether the stretch was traced to where the wheel cannot get farther.
    energy
        E0 - V_min, V_min the lowest potential energy on the stretch, J.
    """

    track: Track
    stretch: Stretch
    admissibility: Admissibility
    whole: bool
    energy: float


def room(
    given: Values, parameters: Values, structure: Mapping[str, Any], *, driven: bool = False
) -> Room:
    """Find out how far the wheel can get from its start; with a drive, wherever the curve is."""
    curve: Curve = structure["curve"]
    return _room(
        curve,
        bool(structure["pendulum"]),
        _pairs(given, (*(name for name in given if name in PLACES), "speed", "phi", "phi_dot")),
        _pairs(parameters, (*WEIGHTS, *curve.parameters)),
        driven,
    )


def _pairs(values: Values, names: Iterable[str]) -> tuple[tuple[str, float], ...]:
    return tuple((name, float(values[name])) for name in names if name in values)


@lru_cache(maxsize=32)
def _room(
    curve: Curve,
    pendulum: bool,
    given: tuple[tuple[str, float], ...],
    parameters: tuple[tuple[str, float], ...],
    driven: bool,
) -> Room:
    start_values, numbers = dict(given), dict(parameters)
    contact = at_contact(start_values, numbers, {"curve": curve})
    radius, gravity = numbers["radius"], numbers["gravity"]
    begin = float(contact.centres(radius)[0, 1])
    mass, moving = _energy_above_the_start(contact, start_values, numbers, pendulum=pendulum)
    top = begin + moving / (mass * gravity) if gravity > 0.0 and not driven else math.inf
    traced, stretch = _traced(curve, numbers, contact, top)
    lowest = lowest_centre(traced, radius, stretch)
    return Room(
        traced,
        stretch,
        admissibility(traced, radius, stretch),
        traced.perimeter is not None or _within(traced, stretch),
        moving + mass * gravity * (begin - lowest),
    )


def _traced(
    curve: Curve, parameters: Values, contact: Contacts, top: float, length: float = SHORTEST
) -> tuple[Track, Stretch]:
    """Trace the curve until the wheel, whose centre rises to `top` (m), cannot get farther."""
    own = _pairs(parameters, curve.parameters)
    traced = _curve_from(curve, own, tuple(map(float, contact.points[0])), length)
    stretch = reach(traced, parameters["radius"], top)
    if traced.perimeter is not None or _within(traced, stretch) or length >= LONGEST:
        return traced, stretch
    return _traced(curve, parameters, contact, top, 4.0 * length)


@lru_cache(maxsize=32)
def _curve_from(
    curve: Curve, parameters: tuple[tuple[str, float], ...], start: tuple[float, ...], length: float
) -> Track:
    """Trace a curve, which wheels of any radius, speed and weight share."""
    return trace(curve, dict(parameters), start, length)


def _within(traced: Track, stretch: Stretch) -> bool:
    return traced.ends[0] < stretch[0] and stretch[1] < traced.ends[1]


def _energy_above_the_start(
    contact: Contacts, given: Values, parameters: Values, *, pendulum: bool
) -> tuple[float, float]:
    """Return the mass (kg) that is lifted, and the energy (J) beside its potential energy."""
    mass, speed = parameters["wheel_mass"], given["speed"]
    energy = mass * speed**2
    if not pendulum:
        return mass, energy
    bob, length = parameters["bob_mass"], parameters["pendulum_length"]
    phi, rate = given.get("phi", 0.0), given.get("phi_dot", 0.0)
    along = contact.tangents[0] @ np.array([math.cos(phi), math.sin(phi)])
    energy += bob * speed**2 / 2 + (bob * length**2 + parameters["bob_inertia"]) * rate**2 / 2
    energy += bob * length * speed * rate * float(along)
    energy += bob * parameters["gravity"] * length * (1.0 - math.cos(phi))
    return mass + bob, energy


def energy_scale(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """E0 - V_min, V_min the lowest potential energy on the stretch that the start can reach.

    There is none where gravity pulls upwards or the stretch has no end; at rest at the lowest
    point it is that of a rise by a billionth of the radius.
    """
    found = room(given, parameters, structure)
    weight = parameters["wheel_mass"] * parameters["gravity"]
    if weight <= 0.0 or not found.whole:
        return {}
    return {"energy": max(found.energy, 1e-9 * weight * parameters["radius"])}


def stops(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Return the two circles that the contact enters where the wheel touches the curve twice.

    Raises
    ------
    OutOfRangeError
        The wheel does not fit on the curve where it starts.
    """
    found = room(given, parameters, structure, driven=bool(structure["drive"]))
    values: dict[str, float] = {}
    for number, barrier in enumerate(barriers(found.track, found.admissibility), start=1):
        nothing = barrier.radius == 0.0
        values |= {
            f"stop_x_{number}": FAR_AWAY if nothing else barrier.x,
            f"stop_z_{number}": FAR_AWAY if nothing else barrier.z,
            f"stop_radius_{number}": barrier.radius,
        }
    return values

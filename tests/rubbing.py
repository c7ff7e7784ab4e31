"""Systems with contacts that rub, of the reference problems."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds

GRAVITY = 9.81
LEVEL = {"theta": 0.0, "y_dot": 0.0, "theta_dot": 0.0}
"""A block on both feet."""


def _slip(q: Any, place: ca.SX) -> ca.SX:
    return ca.jacobian(place, q.vector) @ q.dot.vector


def block(b, h, friction, incline=0.0, floor=0.0, force=None, inertia=None):
    """A block of 1 kg, uniform by default, on two feet over a floor that moves along x."""
    q = ds.coordinates(x="m", y="m", theta="rad")
    both = friction if isinstance(friction, tuple) else (friction, friction)
    feet = []
    for name, side, mu in zip(("rear", "front"), (-b, b), both, strict=True):
        x = q.x + side * ca.cos(q.theta) + h * ca.sin(q.theta)
        gap = q.y + side * ca.sin(q.theta) - h * ca.cos(q.theta)
        feet.append(ds.Contact(name, gap, slip=_slip(q, x) - floor, friction=mu))
    inertia = inertia or ((2 * b) ** 2 + (2 * h) ** 2) / 12
    down = q.y * math.cos(incline) - q.x * math.sin(incline)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + inertia * q.dot.theta**2) / 2,
        potential=GRAVITY * down,
        goals=feet,
        force=force(q) if force else (),
    )


def standing(h, speed=0.0):
    """Where a block starts on both feet."""
    return {"x": 0.0, "y": h, "x_dot": speed, **LEVEL}


def leaning(b, h, theta):
    """Where a block starts at rest on its rear foot, and the values of that."""
    y = b * math.sin(theta) + h * math.cos(theta)
    state = {"x": 0.0, "y": y, "x_dot": 0.0, **LEVEL, "theta": theta}
    return {"initial": state, "parameters": {"contact_front": 0.0}}


def rod(friction, restitution, ends=("A", "B"), length=0.5, **more):
    """A uniform rod of 1 kg over a floor, by its half length."""
    q = ds.coordinates(x="m", y="m", theta="rad")
    contacts = []
    for name in ends:
        side = -length if name == "A" else length
        x, gap = q.x + side * ca.cos(q.theta), q.y + side * ca.sin(q.theta)
        contacts.append(
            ds.Contact(
                name, gap, slip=_slip(q, x), friction=friction, restitution=restitution, **more
            )
        )
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + length**2 / 3 * q.dot.theta**2) / 2,
        potential=GRAVITY * q.y,
        goals=contacts,
    )


def woodpecker(numbers):
    """The bird on a rod: beak, and the sleeve's two contacts, with the data of the reference."""
    n = dict(numbers)
    q = ds.coordinates(y="m", phi_S="rad", phi_B="rad")
    y, sleeve, bird = q.dot.y, q.dot.phi_S, q.dot.phi_B
    mass, arm, reach = n["mB"], n["lS"], n["lG"]
    kinetic = (
        n["mS"] * y**2
        + n["JS"] * sleeve**2
        + n["JB"] * bird**2
        + mass * (y + arm * sleeve + reach * bird) ** 2
    ) / 2
    potential = (
        (n["mS"] + mass) * GRAVITY * q.y
        + mass * GRAVITY * (arm * q.phi_S + reach * q.phi_B)
        + n["c"] * (q.phi_S - q.phi_B) ** 2 / 2
    )
    play = n["rS"] - n["r0"]
    beak = arm + reach - n["lB"] - n["r0"] - n["hB"] * q.phi_B
    pecks = y + arm * sleeve + (reach - n["lB"]) * bird
    slides = y + n["rS"] * sleeve
    mu = n["mu"]
    contacts = [
        ds.Contact("beak", beak, slip=pecks, friction=mu, restitution=0.5, closed=False),
        ds.Contact("lower", play + n["hS"] * q.phi_S, slip=slides, friction=mu),
        ds.Contact("upper", play - n["hS"] * q.phi_S, slip=slides, friction=mu, closed=False),
    ]
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=potential, goals=contacts)


def crank_in_clearance(r, l, inertia, friction, clearance):  # noqa: E741 - as in the reference
    """A crank, a massless rod, and a slider of 1 kg between two walls."""
    q = ds.coordinates(theta="rad", x="m", y="m")
    pin = r * ca.cos(q.theta), r * ca.sin(q.theta)
    rod_ = ds.Holonomic("rod", (q.x - pin[0]) ** 2 + (q.y - pin[1]) ** 2 - l**2)
    walls = [
        ds.Contact("bottom", q.y + clearance, slip=q.dot.x, friction=friction),
        ds.Contact("top", clearance - q.y, slip=q.dot.x, friction=friction, closed=False),
    ]
    return ds.MechanicalSystem(
        q,
        kinetic=(inertia * q.dot.theta**2 + q.dot.x**2 + q.dot.y**2) / 2,
        potential=GRAVITY * q.y,
        goals=[rod_, *walls],
    )


def hoop_on_hill(radius, hill, on_hill, on_floor):
    """A hoop that rolls down a round hill, leaves it, and lands on the floor."""
    q = ds.coordinates(x="m", y="m", turn="rad")
    reach = ca.sqrt(q.x**2 + q.y**2)
    rolls = (q.y * q.dot.x - q.x * q.dot.y) / reach - radius * q.dot.turn
    contacts = [
        ds.Contact("hill", reach - hill - radius, slip=rolls, friction=on_hill),
        ds.Contact(
            "floor",
            q.y - radius,
            slip=q.dot.x - radius * q.dot.turn,
            friction=on_floor,
            closed=False,
        ),
    ]
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + radius**2 * q.dot.turn**2) / 2,
        potential=GRAVITY * q.y,
        goals=contacts,
    )


def balls(masses, restitution):
    """Three balls in a row, as points."""
    q = ds.coordinates(first="m", second="m", third="m")
    gaps = {"left": q.second - q.first, "right": q.third - q.second}
    speeds = (q.dot.first, q.dot.second, q.dot.third)
    return ds.MechanicalSystem(
        q,
        kinetic=sum(m * v**2 / 2 for m, v in zip(masses, speeds, strict=True)),
        goals=[
            ds.Contact(name, gap, restitution=restitution, closed=False)
            for name, gap in gaps.items()
        ],
    )


def times_of(run: ds.Trajectory, *names: str) -> np.ndarray:
    """The times of the events of these names, s."""
    return np.array([event.time for event in run.events if event.name in names])

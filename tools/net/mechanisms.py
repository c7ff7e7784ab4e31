"""Mechanisms of the net: bodies, joints, loads, contacts, friction."""

from __future__ import annotations

import math
from typing import Any

import daesolve as ds
from tools.net import names

DOWN = (0, 0, -9.81)


def double_pendulum() -> Any:
    """Return two rods in space with a hinge, a ball joint, a spring and a damper."""
    p = ds.parameters(length=(1.0, "m"), mass=(1.0, "kg"))
    slender = (1e-3, p.mass * p.length**2 / 12, p.mass * p.length**2 / 12)
    upper = names.Body("upper", p.mass, slender, position=(p.length / 2, 0, 0))
    lower = names.Body(
        "lower", p.mass, slender, position=(1.5 * p.length, 0, 0), velocity=(0, 0.5, 0)
    )
    end, across = p.length / 2, (0, 1, 0)
    ground = names.GROUND
    hinge = names.Revolute("hinge", ground.frame(axes=across), upper.frame((-end, 0, 0), across))
    parts = [
        hinge,
        names.Spherical("ball", upper.point(end, 0, 0), lower.point(-end, 0, 0)),
        names.Spring("spring", ground.point(0, 1, 1), lower.point(0, 0, 0), 3.0, 0.5),
        names.TorsionDamper("loss", hinge, 0.1),
    ]
    return names.Mechanism([upper, lower], parts, p, gravity=DOWN)


def gearbox() -> Any:
    """Return a planetary gear in the plane."""
    axle = names.GROUND.frame((0, 0))
    sun = names.PlanarBody("sun", 1.0, 0.2)
    carrier = names.PlanarBody("carrier", 1.0, 0.2)
    planet = names.PlanarBody("planet", 1.0, 0.1, position=(1, 0))
    on_carrier = names.Revolute("planet_pin", carrier.frame((1, 0)), planet.frame())
    sun_turns = names.Revolute("sun_turns", carrier.frame(), sun.frame())
    ring_turns = names.Revolute("ring_turns", carrier.frame(), axle)
    parts = [
        names.Revolute("sun_axle", axle, sun.frame()),
        names.Revolute("carrier_axle", axle, carrier.frame()),
        on_carrier,
        names.Gear("sun_mesh", sun_turns, on_carrier, -15 / 20),
        names.Gear("ring_mesh", ring_turns, on_carrier, 15 / 50),
    ]
    return names.Mechanism([sun, carrier, planet], parts)


def motor() -> Any:
    """Return an arm that a motor turns by a given angle, and a free body."""
    arm = names.PlanarBody("arm", 2.0, 0.5, position=(0.3, 0.0))
    beside = names.PlanarBody("beside", 1.0, 1.0)
    axle = names.Revolute("axle", names.GROUND.frame((0, 0)), arm.frame((-0.3, 0.0)))
    drive = names.Motor("motor", axle, angle=ds.time**2)
    return names.Mechanism([arm, beside], [axle, drive], gravity=(0, -9.81))


def wheel(kind: str) -> Any:
    """Return a wheel on a plane that "rolls", "slides" or "bounces"."""
    mass, radius = 0.4, 0.1
    moment = mass * radius**2 / 4
    body = names.Body(
        "wheel",
        mass,
        (moment, moment, 2 * moment),
        axisymmetric=True,
        position=(0, 0, 0.3 if kind == "bounces" else radius),
        rotation=names.quaternion((1, 0, 0), -math.pi / 2),
    )
    rim, law = names.Disc(radius), names.RegularisedCoulomb(0.3, 1e-3)
    floor: dict[str, Any] = {
        "rolls": lambda: names.Rolling("floor", body.frame(), rim),
        "slides": lambda: names.PlaneContact("floor", body.frame(), rim, friction=law),
        "bounces": lambda: names.PlaneContact(
            "floor", body.frame(), rim, unilateral=True, restitution=0.5, closed=False
        ),
    }
    return names.Mechanism([body], [floor[kind]()], gravity=DOWN)


def sticking() -> Any:
    """Return an arm on an axle with dry friction that sticks and slips."""
    arm = names.PlanarBody("arm", 2.0, 0.5, position=(0.3, 0.0))
    axle = names.Revolute("axle", names.GROUND.frame((0, 0)), arm.frame((-0.3, 0.0)))
    rubs = names.JointFriction("rubs", axle, names.Coulomb(0.3), 0.2)
    return names.Mechanism([arm], [axle, rubs], gravity=(0, -9.81))

"""Systems of the net that no installed problem poses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import casadi as ca

import daesolve as ds
from tools.net import names

GRAVITY = 9.81


def pendulum(*events: str) -> ds.MechanicalSystem:
    """Return a point on a rod, with some of the events "lowest", "stop" and "turn"."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(length=(1.0, "m", ds.POSITIVE), gravity=(GRAVITY, "m/s^2"), drag=(0.0, ""))
    known = {
        "lowest": ds.Event("lowest", q.x, ds.EITHER, ds.Record()),
        "stop": ds.Event("stop", q.dot.y, ds.FALLING, ds.Stop()),
        "turn": ds.Event(
            "turn", q.x - 0.25, ds.RISING, ds.Reset({"x_dot": -q.dot.x}, impose=["rod"])
        ),
    }
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.gravity * q.y,
        force={"x": -p.drag * q.dot.x, "y": -p.drag * q.dot.y},
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)],
        outputs={"speed_squared": (q.dot.x**2 + q.dot.y**2, "m^2/s^2")},
        events=[known[name] for name in events],
    )


def peg_pendulum() -> ds.MechanicalSystem:
    """Return a pendulum whose string meets a peg 0.6 m below the pivot when it hangs straight."""
    q = ds.coordinates(x="m", y="m")
    d = ds.discrete(pivot=0.0, length=1.0)
    caught = ds.Reset({"pivot": 0.6, "length": 0.4}, impose=["string"])
    freed = ds.Reset({"pivot": 0.0, "length": 1.0}, impose=["string"])
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=GRAVITY * q.y,
        goals=[ds.Holonomic("string", q.x**2 + (q.y + d.pivot) ** 2 - d.length**2)],
        discrete=d,
        events=[
            ds.Event("caught", q.x, ds.FALLING, caught),
            ds.Event("freed", q.x, ds.RISING, freed),
        ],
    )


def rimless_wheel() -> ds.MechanicalSystem:
    """Return a point mass on massless spokes that walks down a slope."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(slope=(0.08, "rad"))
    d = ds.discrete(foot=0.0)
    half = math.pi / 8.0
    leg = ds.Holonomic("leg", (q.x - d.foot) ** 2 + q.y**2 - 1.0)
    step = ds.Reset({"foot": d.foot + 2.0 * math.sin(half)}, impose=["leg"])
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=GRAVITY * (q.y * ca.cos(p.slope) - q.x * ca.sin(p.slope)),
        goals=[leg],
        discrete=d,
        events=[ds.Event("step", q.x - d.foot - math.sin(half), ds.RISING, step)],
    )


def bouncing_ball() -> ds.MechanicalSystem:
    """Return a ball on a floor that is imposed for the instant; its tops are recorded."""
    q = ds.coordinates(y="m")
    p = ds.parameters(gravity=(GRAVITY, "m/s^2"), restitution=0.9)
    floor = ds.Reset(impose=[ds.Holonomic("floor", q.y)], restitution=p.restitution)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.y**2,
        potential=2.0 * p.gravity * q.y,
        events=[
            ds.Event("bounce", q.y, ds.FALLING, floor),
            ds.Event("top", q.dot.y, ds.FALLING),
        ],
    )


def balls_on_a_line(masses: Sequence[float], order: str) -> ds.MechanicalSystem:
    """Return points on a line that repel each other on contact."""
    q = ds.coordinates(**{f"x_{k}": "m" for k in range(1, len(masses) + 1)})
    events: list[ds.Event] = []
    for k, (left, right) in enumerate(pairwise(q[name] for name in q), start=1):
        touch = ds.Holonomic(f"touch_{k}", right - left)
        hit: dict[str, Any] = {"impose": [touch], "restitution": 0.7, "order": order}
        events.append(ds.Event(f"hit_{k}", right - left, ds.FALLING, ds.Reset(**hit)))
    kinetic = sum(m * q.dot[n] ** 2 / 2 for m, n in zip(masses, q, strict=True))
    return ds.MechanicalSystem(q, kinetic=kinetic, events=events)


def billiard(radius: float) -> ds.MechanicalSystem:
    """Return a point in a square about a disc: chaotic."""
    q = ds.coordinates(x="m", y="m")
    gaps = {"right": 1 - q.x, "left": 1 + q.x, "top": 1 - q.y, "bottom": 1 + q.y}
    gaps["disc"] = q.x**2 + q.y**2 - radius**2
    events = [
        ds.Event(
            name,
            gap,
            ds.FALLING,
            ds.Reset(impose=[ds.Holonomic(f"{name}_wall", gap)], restitution=1.0),
        )
        for name, gap in gaps.items()
    ]
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=0.0, events=events)


def thermostat() -> ds.ControlSystem:
    """Return a heater that is switched off above 0.7 and on below 0.3."""
    x = ds.states(temperature="K")
    d = ds.discrete(heater=1.0)
    return ds.ControlSystem(
        x,
        rate=d.heater - x.vector,
        discrete=d,
        events=[
            ds.Event("off", x.temperature - 0.7, ds.RISING, ds.Reset({"heater": 0.0})),
            ds.Event("on", x.temperature - 0.3, ds.FALLING, ds.Reset({"heater": 1.0})),
        ],
    )


def growth() -> ds.ControlSystem:
    """Return x' = x^2, whose motion from x = 1 ends at t = 1."""
    x = ds.states(x="")
    return ds.ControlSystem(x, {"x": x.x**2})


def bead() -> ds.MechanicalSystem:
    """Return a bead that slides off a sphere and bounces on a floor until it rests there."""
    q = ds.coordinates(x="m", y="m")
    sphere = ds.Contact("sphere", ca.sqrt(q.x**2 + q.y**2) - 1.0)
    floor = ds.Contact("floor", q.y + 1.0, restitution=0.5, closed=False)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=GRAVITY * q.y,
        goals=[sphere, floor],
    )


def rod_on_ends() -> ds.MechanicalSystem:
    """Return a rod on two contacts, whose load swings from one end to the other."""
    q = ds.coordinates(y="m", angle="rad")
    left = ds.Contact("left", q.y - ca.sin(q.angle) / 2, restitution=0.3)
    right = ds.Contact("right", q.y + ca.sin(q.angle) / 2, restitution=0.3)
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2 + q.dot.angle**2 / 24,
        goals=[left, right],
        force={"y": -1.0, "angle": 0.7 * ca.sin(2.0 * ds.time)},
    )


def beam(friction: float = 0.1) -> ds.MechanicalSystem:
    """Return a beam that slides with friction on three supports, one of which is redundant."""
    q = ds.coordinates(x="m", y="m", turn="rad")
    places = {"left": -1.0, "middle": 0.0, "right": 1.0}
    left, middle, right = (ds.Holonomic(n, q.y + at * ca.sin(q.turn)) for n, at in places.items())
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 + q.dot.y**2 + q.dot.turn**2 / 3,
        potential=2.0 * GRAVITY * q.y,
        goals=[left, middle, right],
        force={"x": -friction * (left.reaction + 4.0 * middle.reaction + right.reaction)},
    )


def drawer() -> ds.MechanicalSystem:
    """Return a drawer that is pulled off-centre between two sides with friction."""
    q = ds.coordinates(x="m", y="m", turn="rad")
    p = ds.parameters(pull=(10.0, "N"), off=(0.25, "m"), friction=(0.4, "", ds.NON_NEGATIVE))

    def pair(name: str, along: Any) -> Any:
        def side(across: float, push: float) -> Any:
            speed = (q.dot.x - across * q.dot.turn, q.dot.y + along * q.dot.turn)
            return names.Support(velocity=speed, normal=(0.0, push), friction=p.friction)

        return names.VariantPair(name, [side(0.3, -1.0), side(-0.3, 1.0)])

    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.x**2 + q.dot.y**2 + 0.04 * q.dot.turn**2,
        force={"x": p.pull, "turn": -p.pull * p.off},
        goals=[ds.Holonomic("side", q.y, ideal=False), ds.Holonomic("level", q.turn, ideal=False)],
        pairs=[pair("edge", 0.25 - q.x), pair("back", -0.25)],
    )


def block() -> ds.MechanicalSystem:
    """Return a block on an incline, between a floor and a ceiling, which a growing force pushes."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(push=(0.0, "N"), rate=(0.0, "N/s"), friction=0.4)
    weight, slope = 2.0 * GRAVITY, 0.2
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.x**2 + q.dot.y**2,
        force={
            "x": p.push + p.rate * ds.time - weight * math.sin(slope),
            "y": -weight * math.cos(slope),
        },
        goals=[ds.Holonomic("floor", q.y, ideal=False, scale=1.0)],
        pairs=[
            names.VariantPair(
                "normal",
                [
                    names.Support(point=(q.x, q.y), normal=(0.0, side), friction=p.friction)
                    for side in (-1, 1)
                ],
            )
        ],
    )


def disc() -> ds.MechanicalSystem:
    """Return a disc on a pad that slides and spins on a table."""
    q = ds.coordinates(x="m", y="m", z="m", phi="rad")
    p = ds.parameters(radius=(0.1, "m"), push=(0.0, "N"))
    table = names.Support(
        point=(q.x, q.y, q.z),
        normal=(0.0, 0.0, 1.0),
        friction=0.3,
        pad=names.Pad(p.radius),
        spin=q.dot.phi,
    )
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2 + p.radius**2 / 2 * q.dot.phi**2) / 2,
        force={"x": p.push, "z": -GRAVITY},
        goals=[ds.Holonomic("table", q.z, ideal=False)],
        pairs=[names.VariantPair("normal", [table], kind="unilateral")],
    )


def free_body() -> ds.MechanicalSystem:
    """Return a free body: a quaternion, quasi-velocities, a driven invariant."""
    q = ds.coordinates(w="", i="", j="", k="")
    v = ds.velocities(wx="rad/s", wy="rad/s", wz="rad/s")
    rows = [
        -q.i * v.wx - q.j * v.wy - q.k * v.wz,
        q.w * v.wx + q.j * v.wz - q.k * v.wy,
        q.w * v.wy + q.k * v.wx - q.i * v.wz,
        q.w * v.wz + q.i * v.wy - q.j * v.wx,
    ]
    norm = q.w**2 + q.i**2 + q.j**2 + q.k**2
    return ds.MechanicalSystem(
        q,
        kinetic=(2.0 * v.wx**2 + 2.5 * v.wy**2 + 3.0 * v.wz**2) / 2,
        velocities=v,
        kinematics=ca.vertcat(*rows) / 2,
        goals=[ds.Invariant("norm", norm, drive=True, on="positions")],
    )


def unicycle() -> ds.MechanicalSystem:
    """Return a vehicle on one wheel, whose rolling constraint may be substituted."""
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, phi=ds.ANGLE)
    v = ds.velocities(side="m/s", along="m/s", turning="rad/s", spin="rad/s")
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    frame = 1.3 * (v.along**2 + v.side**2 - 1.2 * v.turning * v.side) + 0.9 * v.turning**2
    rates = [c * v.side - s * v.along, s * v.side + c * v.along, v.turning, v.spin]
    return ds.MechanicalSystem(
        q,
        kinetic=(frame + 0.2 * v.spin**2) / 2,
        velocities=v,
        kinematics=ca.vertcat(*rates),
        goals=[
            ds.Nonholonomic("skate", v.side, unit="N"),
            ds.Nonholonomic("rolling", v.along + 0.4 * v.spin, unit="N"),
        ],
    )


def wheelset() -> ds.MechanicalSystem:
    """Return a railway wheelset, normalised, whose velocities are small."""
    q = ds.coordinates(y="", psi="")
    p = ds.parameters(eps=(0.01, "", ds.POSITIVE), eta=0.3, force=0.8)
    creep = {"y": p.force - 2 * (q.dot.y - q.psi), "psi": -2 * p.eta * (q.dot.psi + q.y)}
    kinetic = p.eps / 2 * (q.dot.y**2 + p.eta * q.dot.psi**2)
    return ds.MechanicalSystem(q, p, kinetic=kinetic, force=creep)

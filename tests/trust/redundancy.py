"""Goals that depend on each other: with light bodies, and where the choice between them matters."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import casadi as ca

import daesolve as ds

from .case import Case, Values


def train(light: float, nonholonomic: bool) -> ds.MechanicalSystem:
    """Three cars, the last of them light, tied to each other thrice."""
    q = ds.coordinates(x="m", y="m", z="m")
    v = q.dot
    kind, u = (ds.Nonholonomic, v) if nonholonomic else (ds.Holonomic, q)
    goals = [kind("a", u.y - u.x), kind("b", u.z - u.y), kind("c", u.z - u.x)]
    return ds.MechanicalSystem(
        q,
        kinetic=(v.x**2 + v.y**2 + light * v.z**2) / 2,
        goals=goals,
        force={"x": ca.SX(1.0), "z": 2 * light * ca.sin(ds.time)},
    )


def train_truth(light: float, until: float) -> Values:
    mass = 2 + light
    x = (until**2 / 2 + 2 * light * (until - math.sin(until))) / mass
    return {"x": x, "y": x, "z": x}


def turning(light: float) -> ds.MechanicalSystem:
    """The same, with a light load on the turning, which is pushed."""
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, a="rad", b="rad", load="rad")
    v, c, s = q.dot, ca.cos(q.psi), ca.sin(q.psi)
    along = v.x * c + v.y * s
    goals = [
        ds.Nonholonomic("side", v.y * c - v.x * s),
        ds.Nonholonomic("left", along - v.psi - 0.5 * v.a),
        ds.Nonholonomic("right", along + v.psi - 0.5 * v.b),
        ds.Nonholonomic("gear", v.load - (v.b - v.a) / 4),
        ds.Nonholonomic("shaft", v.load - v.psi),
    ]
    kinetic = v.x**2 + v.y**2 + 0.4 * v.psi**2 + 0.1 * (v.a**2 + v.b**2) + light * v.load**2
    return ds.MechanicalSystem(q, kinetic=kinetic / 2, goals=goals, force={"load": ca.SX(0.1)})


def turning_truth(light: float) -> Values:
    """The inertia about the vertical is 0.4 + 2 * 0.1 * 4 + light."""
    return {
        "psi": 0.3 * 8.0 + 0.1 / (1.2 + light) * 32.0,
        "x_dot": math.cos(2.4 + 3.2 / (1.2 + light)),
    }


def wheels(light: float) -> ds.MechanicalSystem:
    """Two wheels on an axle, with a light disc geared to both and to the axle besides."""
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, a="rad", b="rad", load="rad")
    v, c, s = q.dot, ca.cos(q.psi), ca.sin(q.psi)
    along = v.x * c + v.y * s
    goals = [
        ds.Nonholonomic("side", v.y * c - v.x * s),
        ds.Nonholonomic("left", along - v.psi - 0.5 * v.a),
        ds.Nonholonomic("right", along + v.psi - 0.5 * v.b),
        ds.Nonholonomic("gear", v.load - v.a - v.b),
        ds.Nonholonomic("shaft", v.load - 4 * along),
    ]
    kinetic = v.x**2 + v.y**2 + 0.4 * v.psi**2 + 0.1 * (v.a**2 + v.b**2) + light * v.load**2
    return ds.MechanicalSystem(q, kinetic=kinetic / 2, goals=goals, force={"load": ca.SX(0.01)})


def wheels_truth(light: float) -> Values:
    """A turn of constant rate at a speed that grows evenly: mass 1 + 0.8 + 16 light along."""
    until, turning = 8.0, 0.3
    growth = 0.04 / (1 + 0.1 * 8 + 16 * light)
    # The integral of (1 + growth t) (cos, sin)(turning t).
    w, angle = turning, turning * until
    x = math.sin(angle) / w + growth * (until * math.sin(angle) / w + (math.cos(angle) - 1) / w**2)
    y = (1 - math.cos(angle)) / w + growth * (-until * math.cos(angle) / w + math.sin(angle) / w**2)
    return {"x": x, "y": y, "psi": angle}


def lever(light: float) -> ds.MechanicalSystem:
    """A beam on three supports, on the last of which stands a light weight with a guide of its own.

    It slides along x under a force that the light weight takes.
    """
    q = ds.coordinates(x="m", y="m", turn="rad", w="m")
    s = ca.sin(q.turn)
    goals = [ds.Holonomic(n, q.y + k * s) for n, k in (("l", -1.0), ("m", 0.0), ("r", 1.0))]
    goals += [ds.Holonomic("tie", q.w - q.x), ds.Holonomic("tie2", 3 * (q.w - q.x) + q.y)]
    kinetic = q.dot.x**2 + q.dot.y**2 + q.dot.turn**2 / 3 + light * q.dot.w**2
    return ds.MechanicalSystem(
        q, kinetic=kinetic / 2, potential=9.81 * q.y, goals=goals, force={"w": ca.SX(0.5)}
    )


def helix(order: tuple[int, ...], nonholonomic: bool = False) -> ds.MechanicalSystem:
    """A bead on x = cos z, y = sin z, with x^2 + y^2 = 1 besides; any two of the three will not do.

    The rank is 2 throughout, but the third goal and the first are dependent where sin z = 0.
    """
    q = ds.coordinates(x="m", y="m", z="m")
    v, c, s = q.dot, ca.cos(q.z), ca.sin(q.z)
    if nonholonomic:
        goals: list[Any] = [
            ds.Nonholonomic("first", v.x + s * v.z),
            ds.Nonholonomic("second", v.y - c * v.z),
            ds.Nonholonomic("third", c * v.x + s * v.y),
        ]
    else:
        goals = [
            ds.Holonomic("first", q.x - c),
            ds.Holonomic("second", q.y - s),
            ds.Holonomic("third", q.x**2 + q.y**2 - 1),
        ]
    return ds.MechanicalSystem(
        q,
        kinetic=(v.x**2 + v.y**2 + v.z**2) / 2,
        goals=[goals[k] for k in order],
        force={"z": ca.SX(0.2)},
    )


def helix_truth() -> Values:
    """The mass along z is 2."""
    z = 0.5 + 0.7 * 8.0 + 0.1 * 8.0**2 / 2
    return {"z": z, "x": math.cos(z), "y": math.sin(z)}


HELIX = {"x": math.cos(0.5), "y": math.sin(0.5), "z": 0.5, "z_dot": 0.7}


def cranks(count: int, angles: bool) -> ds.MechanicalSystem:
    """Parallel cranks of 1 m carry a platform of 1 kg, which keeps its direction."""
    names = [f"angle_{k}" for k in range(count)]
    unit = ds.ANGLE if angles else "rad"
    q = ds.coordinates(x="m", y="m", turn="rad", **dict.fromkeys(names, unit))
    goals: list[Any] = []
    for k, name in enumerate(names):
        at = k - (count - 1) / 2
        goals += [
            ds.Holonomic(f"x_{k}", q.x + at * ca.cos(q.turn) - at - ca.cos(q[name])),
            ds.Holonomic(f"y_{k}", q.y + at * ca.sin(q.turn) - ca.sin(q[name])),
        ]
    kinetic = q.dot.x**2 + q.dot.y**2 + q.dot.turn**2 / 3
    kinetic += sum(0.1 * q.dot[name] ** 2 for name in names)
    return ds.MechanicalSystem(q, kinetic=kinetic / 2, goals=goals)


def cranks_case(count: int, option: str, angles: bool = False, start: float = 0.4) -> Case:
    """It turns evenly, on a circle; also where all cranks lie along the platform."""
    place: dict[str, float] = {"x": math.cos(start), "y": math.sin(start), "turn": 0.0}
    place |= {f"angle_{k}": start for k in range(count)} | {"angle_dot_0": 1.0}
    return Case(
        f"{count} parallel cranks, {option}{', angles' if angles else ''}",
        "redundant, chosen once",
        lambda: cranks(count, angles),
        place,
        2.0,
        lambda: {"x": math.cos(start + 2.0), "y": math.sin(start + 2.0), "turn": 0.0},
        condition=100.0,
        options={"redundant": option},
        sound=True,
    )


CARS = dict.fromkeys(("x", "y", "z", "x_dot", "y_dot", "z_dot"), 0.0)
_light = partial(Case, of="redundant, badly scaled", condition=10.0)
_once = partial(Case, of="redundant, chosen once", condition=10.0, sound=True)
CASES = [
    *[
        _light(f"train with {light:g} kg, {kind}, {option}", start=CARS, until=5.0,
               pose=lambda light=light, kind=kind: train(light, kind == "velocities"),
               truth=lambda light=light: train_truth(light, 5.0), options={"redundant": option})
        for light in (1e-6, 1e-9, 1e-12)
        for kind, option in (("positions", "minimum-norm"), ("velocities", "minimum-norm"),
                             ("velocities", "drop"))
    ],
    *[
        _light(f"wheels with a load of {light:g} kg m^2, {option}", until=8.0,
               pose=lambda light=light: wheels(light),
               start={"x": 0.0, "y": 0.0, "psi": 0.0, "x_dot": 1.0, "psi_dot": 0.3},
               truth=lambda light=light: wheels_truth(light), options={"redundant": option})
        for light in (1e-6, 1e-8, 1e-12)
        for option in ("minimum-norm", "drop")
    ],
    *[
        _light(f"wheels that turn with a load of {light:g} kg m^2", until=8.0,
               pose=lambda light=light: turning(light),
               start={"x": 0.0, "y": 0.0, "psi": 0.0, "x_dot": 1.0, "psi_dot": 0.3},
               truth=lambda light=light: turning_truth(light),
               options={"redundant": "minimum-norm"})
        for light in (1e-6, 1e-8, 1e-12)
    ],
    *[
        _light(f"beam with {light:g} kg", pose=lambda light=light: lever(light), until=4.0,
               start={"x": 0.0, "x_dot": 0.0}, options={"redundant": "minimum-norm"},
               truth=lambda light=light: {"x": 4.0 / (1 + light), "y": 0.0})
        for light in (1e-6, 1e-10)
    ],
    *[
        _once(f"helix, goals {order}, {kind}, {option}", start=HELIX, until=8.0,
              pose=lambda order=order, kind=kind: helix(order, kind == "velocities"),
              truth=helix_truth, options={"redundant": option})
        for order in ((2, 0, 1), (2, 1, 0), (0, 2, 1))
        for kind in ("positions", "velocities")
        for option in ("drop", "minimum-norm")
    ],
    *[cranks_case(3, option) for option in ("drop", "minimum-norm")],
    cranks_case(4, "drop"),
    cranks_case(3, "drop", angles=True),
    cranks_case(3, "minimum-norm", angles=True, start=1.0),
]  # fmt: skip

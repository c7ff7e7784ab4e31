"""What seems to be conserved, powerless, free of time or redundant, until it is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds

from .case import Case, Values
from .own import motion

T = ds.time
tanh = math.tanh
FLYING = {"x": 0.0, "x_dot": 1.0}


def rises(s: Any) -> Any:
    """From 0 to 1 at s = 0."""
    return (1 + ca.tanh(s)) / 2


def risen(s: float) -> float:
    return (1 + tanh(s)) / 2


def flight(force: Callable[[Any], Any], **more: Any) -> ds.MechanicalSystem:
    """A mass in flight, whose momentum is driven to what it was."""
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        force={"x": force(q)},
        goals=[ds.Invariant("momentum", q.dot.x, drive=True)],
        **more,
    )


def moved(
    rate: Callable[[float, np.ndarray], Sequence[float]],
    start: Sequence[float],
    until: float,
    names: str,
    longest: float = 0.1,
) -> Callable[[], Values]:
    def truth() -> Values:
        return dict(zip(names.split(), motion(rate, start, until, longest), strict=False))

    return truth


def braked_from(time: float, until: float) -> Values:
    rest = until - time
    return {"x": until - 0.005 * rest**2, "x_dot": 1 - 0.01 * rest}


def by_reset(**own: Any) -> ds.MechanicalSystem:
    q, d = ds.coordinates(x="m"), ds.discrete(on=0.0)
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        force={"x": -0.01 * d.on},
        discrete=d,
        events=[ds.Event("on", T - 30, ds.RISING, ds.Reset({"on": 1.0}))],
        **{name: value(q) for name, value in own.items()},
    )


def by_integral() -> ds.MechanicalSystem:
    q, s = ds.coordinates(x="m"), ds.states(s="s")
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        quadratures=s,
        integrands={"s": ca.SX(1)},
        force={"x": -0.01 * rises(s.s - 40)},
        goals=[ds.Invariant("momentum", q.dot.x, drive=True)],
    )


def no_invariant() -> ds.MechanicalSystem:
    """Something else than the momentum, from x = 30 on."""
    q = ds.coordinates(x="m")
    value = q.dot.x * (1 + rises(q.x - 30))
    goals = [ds.Invariant("momentum", value, drive=True)]
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, goals=goals)


def wall() -> ds.MechanicalSystem:
    """Far away a wall turns the mass back; about the origin its angular momentum changes."""
    q = ds.coordinates(x="m", y="m")
    turning = ds.Invariant("turning", q.x * q.dot.y - q.y * q.dot.x, drive=True)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=0.3 * rises(2 * (q.x - 30)),
        goals=[turning],
    )


def powerless(damping: Callable[[Any], Any]) -> ds.MechanicalSystem:
    """An oscillator x beside a flight z, damped by what is posed as gyroscopic."""
    q = ds.coordinates(x="m", z="m")
    return ds.MechanicalSystem(
        q,
        mass_matrix=ca.SX.eye(2),
        kinetic=(q.dot.x**2 + q.dot.z**2) / 2,
        potential=q.x**2 / 2,
        force={"x": -q.x},
        gyroscopic={"x": -0.04 * damping(q) * q.dot.x},
    )


def powerless_lagrangian(damping: Callable[[Any], Any]) -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", z="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.z**2) / 2,
        potential=q.x**2 / 2,
        force={"x": -0.04 * damping(q) * q.dot.x},
    )


def damped(damping: Callable[[float, float, float], float], until: float):
    def rate(t: float, s: np.ndarray) -> tuple[float, ...]:
        x, z, v, w = s
        return (v, w, -x - 0.04 * damping(t, z, v) * v, 0.0)

    return moved(rate, (1.0, 0.0, 0.0, 1.0), until, "x z x_dot z_dot", 0.2)


def rubbing(friction: Callable[[Any], Any], **contact: Any) -> ds.MechanicalSystem:
    """A block of 1 kg on a floor, g = 10."""
    q, d = ds.coordinates(x="m", y="m"), ds.discrete(rough=0.0)
    floor = ds.Contact("floor", q.y, **contact)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=10 * q.y,
        discrete=d,
        goals=[floor],
        force={"x": -friction(q if "closed" in contact else (q, d)) * floor.reaction},
        events=[ds.Event("rough", T - 1, ds.RISING, ds.Reset({"rough": 1.0}))],
    )


def patch(t: float, x: np.ndarray) -> tuple[float, float]:
    return (x[1], -3.0 * risen(5 * (x[0] - 5)))


def swelling() -> ds.MechanicalSystem:
    q = ds.coordinates(x="m")
    stiffness = 1 + rises(T - 20)
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=stiffness * q.x**2 / 2)


def pivot() -> ds.MechanicalSystem:
    """A pendulum whose pivot is moved from 40 s on."""
    q = ds.coordinates(x="m", angle="rad")
    vx = q.dot.x + q.dot.angle * ca.cos(q.angle)
    vy = q.dot.angle * ca.sin(q.angle)
    return ds.MechanicalSystem(
        q,
        kinetic=(vx**2 + vy**2) / 2,
        potential=-ca.cos(q.angle),
        goals=[ds.Holonomic("pivot", q.x - rises(T - 30))],
    )


def pivot_rate(t: float, x: np.ndarray) -> tuple[float, float]:
    s = t - 30
    second = -tanh(s) * (1 - tanh(s) ** 2)
    return (x[1], -math.sin(x[0]) - second * math.cos(x[0]))


def belt() -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        goals=[ds.Nonholonomic("belt", q.dot.y - 0.2 * rises(T - 40))],
    )


def no_energy() -> ds.MechanicalSystem:
    """M(x) x'' = 0, so that M x'^2 / 2 is no integral: where M is constant it is."""
    q = ds.coordinates(x="m")
    mass = 1 + rises(q.x - 30)
    return ds.MechanicalSystem(q, mass_matrix=mass, kinetic=mass * q.dot.x**2 / 2)


def circle() -> ds.MechanicalSystem:
    """A point on a unit circle, which it leaves later."""
    q = ds.coordinates(a="", b="", z="m")
    v = ds.velocities(spin="rad/s", along="m/s")
    off = 0.02 * rises(q.z - 20)
    return ds.MechanicalSystem(
        q,
        # Off the circle the kinetic energy would say too little: the brackets of the kinematics
        # leave their span. So Newton's equations in both velocities.
        mass_matrix=ca.SX.eye(2),
        velocities=v,
        kinematics=ca.vertcat(-v.spin * q.b + off * v.along, v.spin * q.a, v.along),
        goals=[ds.Invariant("unit", q.a**2 + q.b**2, drive=True, on="positions", reference=1.0)],
    )


def circle_rate(t: float, x: np.ndarray) -> tuple[float, float]:
    return (-x[1] + 0.02 * risen(t - 20), x[0])


def coupled(kind: str, grip: Callable[[Any], Any], factor: float = 1.0) -> ds.MechanicalSystem:
    """y follows x; a second goal says the same, and something of z besides, where it has a grip."""
    q = ds.coordinates(x="m", y="m", z="m")
    v = q.dot
    if kind == "positions":
        goals = [
            ds.Holonomic("first", q.y - q.x),
            ds.Holonomic("second", factor * (q.y - q.x - q.z * grip(q))),
        ]
    else:
        goals = [
            ds.Nonholonomic("first", v.y - v.x),
            ds.Nonholonomic("second", factor * (v.y - v.x - v.z * grip(q))),
        ]
    return ds.MechanicalSystem(
        q, kinetic=(v.x**2 + v.y**2 + v.z**2) / 2, goals=goals, force={"z": ca.SX(0.02)}
    )


def coupled_by_parameter() -> ds.MechanicalSystem:
    q, p = ds.coordinates(x="m", y="m", z="m"), ds.parameters(grip=0.0)
    v = q.dot
    goals = [
        ds.Nonholonomic("first", v.y - v.x),
        ds.Nonholonomic("second", v.y - v.x - p.grip * v.z),
    ]
    return ds.MechanicalSystem(
        q, p, kinetic=(v.x**2 + v.y**2 + v.z**2) / 2, goals=goals, force={"z": ca.SX(0.02)}
    )


GRIPS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "if_else of place": (lambda q: ca.if_else(q.x > 10, 1, 0), 1.0),
    "if_else of time": (lambda q: ca.if_else(T > 10, 1, 0), 1.0),
    "fmax of place": (lambda q: ca.fmax(0, q.x - 10), 1.0),
}
"""With z after 20 s: free until 10 s, and held from then on."""
TRIPLE = {"x": 0.0, "y": 0.0, "z": 0.0, "x_dot": 1.0, "y_dot": 1.0, "z_dot": 0.0}
SWING = {"x": 1.0, "z": 0.0, "x_dot": 0.0, "z_dot": 1.0}
_drive = partial(Case, of="conservation by sampling", start=FLYING, condition=10.0)
_depend = partial(Case, of="dependence by sampling", start=TRIPLE)
CASES = [
    _drive("force of place", pose=lambda: flight(lambda q: -0.01 * rises(q.x - 40)), until=80.0,
           truth=moved(lambda t, x: (x[1], -0.01 * risen(x[0] - 40)), (0, 1), 80.0, "x x_dot")),
    _drive("force of place by if_else", until=80.0,
           pose=lambda: flight(lambda q: -0.01 * ca.if_else(q.x > 40, 1, 0)),
           truth=lambda: braked_from(40, 80)),
    _drive("force of time", pose=lambda: flight(lambda q: -0.01 * ca.if_else(T > 30, 1, 0)),
           until=60.0, truth=lambda: braked_from(30, 60)),
    _drive("force by a high power", until=80.0,
           pose=lambda: flight(lambda q: -0.01 * (q.x / 50) ** 20),
           truth=moved(lambda t, x: (x[1], -0.01 * (x[0] / 50) ** 20), (0, 1), 80.0, "x x_dot")),
    _drive("force after a reset", until=60.0, truth=lambda: braked_from(30, 60),
           pose=lambda: by_reset(
               goals=lambda q: [ds.Invariant("momentum", q.dot.x, drive=True)])),
    _drive("force after a reset, energy", pose=by_reset, until=60.0,
           truth=lambda: braked_from(30, 60)),
    _drive("force of an integral", pose=by_integral, until=80.0, start={**FLYING, "s": 0.0},
           truth=moved(lambda t, x: (x[1], -0.01 * risen(t - 40)), (0, 1), 80.0, "x x_dot")),
    _drive("what is no invariant", pose=no_invariant, until=80.0,
           truth=lambda: {"x": 80.0, "x_dot": 1.0}),
    _drive("angular momentum", pose=wall, until=80.0,
           start={"x": 0.0, "y": 0.5, "x_dot": 1.0, "y_dot": 0.1},
           truth=moved(lambda t, x: (x[1], -0.3 * (1 - tanh(2 * (x[0] - 30)) ** 2)), (0, 1), 80.0,
                       "x x_dot", 0.02), exact=1e-9),
    *[
        _drive(f"{posed}, {name}", pose=lambda make=make, law=law: make(law), until=60.0,
               start=SWING, truth=damped(own, 60.0))
        for posed, make in (("gyroscopic", powerless), ("drag", powerless_lagrangian))
        for name, law, own in (
            ("of place", lambda q: rises(q.z - 30), lambda t, z, v: risen(z - 30)),
            ("of time", lambda q: rises(T - 30), lambda t, z, v: risen(t - 30)),
            ("by a power", lambda q: (q.z / 40) ** 16, lambda t, z, v: (z / 40) ** 16),
        )
    ],
    _drive("friction of a contact, rough place", until=1.9, condition=30.0,
           pose=lambda: rubbing(lambda q: 0.3 * rises(5 * (q.x - 5)), closed=True),
           start={"x": 0.0, "y": 0.0, "x_dot": 3.0, "y_dot": 0.0},
           truth=moved(patch, (0, 3), 1.9, "x x_dot", 0.01)),
    _drive("friction of a contact, after a reset", until=1.5,
           pose=lambda: rubbing(lambda s: 0.3 * s[1].rough),
           start={"x": 0.0, "y": 0.0, "x_dot": 3.0, "y_dot": 0.0},
           truth=lambda: {"x": 3 * 1.5 - 1.5 * 0.25, "x_dot": 1.5}),
    _drive("friction of a contact, open at the start", until=0.5,
           pose=lambda: rubbing(lambda q: 0.3, closed=False, restitution=0.0),
           start={"x": 0.0, "y": 0.0, "x_dot": 3.0, "y_dot": 0.0},
           truth=lambda: {"x": 1.5 - 1.5 * 0.25, "x_dot": 1.5}),
    _drive("potential of time", pose=swelling, until=40.0, start={"x": 1.0, "x_dot": 0.0},
           truth=moved(lambda t, x: (x[1], -(1 + risen(t - 20)) * x[0]), (1, 0), 40.0, "x x_dot")),
    _drive("constraint of time", pose=pivot, until=60.0,
           start={"x": 0.0, "angle": 0.5, "angle_dot": 0.0},
           truth=moved(pivot_rate, (0.5, 0), 60.0, "angle angle_dot")),
    _drive("belt of time", pose=belt, until=60.0, start={**FLYING, "y": 0.0},
           truth=lambda: {"x": 60.0, "y_dot": 0.2}),
    _drive("what is no energy", pose=no_energy, until=60.0,
           truth=lambda: {"x": 60.0, "x_dot": 1.0}),
    _drive("what leaves the circle", pose=circle, until=30.0,
           start={"a": 1.0, "b": 0.0, "z": 0.0, "spin": 1.0, "along": 1.0},
           truth=moved(circle_rate, (1, 0), 30.0, "a b"), exact=1e-10),
    *[
        _depend(f"velocities, {name}, {option}", until=20.0, exact=1e-9,
                pose=lambda grip=grip: coupled("velocities", grip),
                truth=lambda z=z: {"z": z, "z_dot": 0.0, "x": 20.0},
                options={"redundant": option})
        for name, (grip, z) in GRIPS.items()
        for option in ("drop", "minimum-norm")
    ],
    *[
        _depend(f"positions, {name}, {option}", until=20.0, exact=1e-9,
                pose=lambda grip=grip: coupled("positions", grip),
                truth=lambda: {"z": 0.0, "z_dot": 0.0, "x": 20.0},
                options={"redundant": option})
        for name, grip in {
            "tanh of place": lambda q: rises(5 * (q.x - 10)),
            "Gaussian of place": lambda q: ca.exp(-5 * (q.x - 10) ** 2),
            "tanh of time": lambda q: rises(5 * (T - 10)),
        }.items()
        for option in ("drop", "minimum-norm")
    ],
    _depend("parameter", pose=coupled_by_parameter, until=10.0,
            truth=lambda: {"z": 0.0, "x": 10.0},
            options={"redundant": "drop", "parameters": {"grip": 1.0}}),
]  # fmt: skip

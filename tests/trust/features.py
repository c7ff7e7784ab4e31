"""Features that are much shorter than a step: in time, in a state, in masses and constraints."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds

from .case import Case, Values
from .own import Floats, integral, motion

Law = Callable[[Any, Any], Any]
"""Of the functions (math or casadi) and the argument, which is zero where the feature is."""

IN_TIME: dict[str, Law] = {
    "logistic": lambda m, s: 1 / (1 + m.exp(-200 * s)),
    "Gaussian": lambda m, s: 500 * m.exp(-((1000 * s) ** 2)),
    "sech^2": lambda m, s: 50 / m.cosh(500 * s) ** 2,
    "erf": lambda m, s: m.erf(300 * s),
    "exp of -|s|": lambda m, s: 500 * m.exp(-1000 * m.fabs(s)),
    "Lorentz": lambda m, s: 100 / (1 + (1000 * s) ** 2),
    "arctan": lambda m, s: m.atan(1000 * s),
    "high power of cosine": lambda m, s: 50 * m.cos(s) ** 200000,
    "power of 1 - s^2": lambda m, s: 50 * (1 - s**2 / 9) ** 2000001,
    "softplus": lambda m, s: m.log(1 + m.exp(300 * s)) / 300,
    "square root": lambda m, s: m.sqrt(s**2 + 1e-8),
    "Gompertz": lambda m, s: m.exp(-m.exp(-100 * s)),
    "wave packet": lambda m, s: 500 * m.exp(-((300 * s) ** 2)) * m.cos(700 * s),
    "tanh of a cube": lambda m, s: m.tanh(1e5 * s**3),
    "tanh of sine": lambda m, s: m.tanh(300 * m.sin(s)),
    "eighth power of a distance": lambda m, s: 500 / (1 + (1000 * s) ** 2) ** 4,
    "plateau of the eighth power": lambda m, s: 500 / (1 + (1000 * s) ** 8),
    "square root of the seventh power": lambda m, s: 500 / m.sqrt(1 + (1000 * s) ** 2) ** 7,
    "square of a square of a Lorentzian": lambda m, s: 500 * (1 / (1 + (1000 * s) ** 2)) ** 4,
    "two distances": lambda m, s: 500 / ((1 + (900 * s) ** 2) * (1 + (900 * s - 2) ** 2)),
    "exp(-1/s^2)": lambda m, s: m.exp(-1 / (1e-4 + 40000 * s**2)) - 1,
}
ROUND: dict[str, Law] = {
    "power of sine": lambda m, s: 500 / (1 + (1000 * m.sin(s)) ** 2) ** 4,
    "Gaussian of sine": lambda m, s: 500 * m.exp(-((1000 * m.sin(s)) ** 2)),
}
TURNS = 6
"""Half turns in which these are met."""
FEW = {name: IN_TIME[name] for name in ("logistic", "Gaussian", "sech^2", "erf")}
AT = 2.0
"""When or where the feature is."""
END = 4.0


def push(law: Law, stiffness: float = 0.0) -> ds.MechanicalSystem:
    """A mass, free or on a spring, under a force of time."""
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=stiffness * q.x**2 / 2,
        force={"x": law(ca, ds.time - AT)},
    )


def pushed(law: Law, stiffness: float = 0.0) -> Values:
    """By Green's function."""

    def moment(response: Callable[[float], float]) -> float:
        return integral(lambda t: response(END - t) * law(Floats, t - AT), 0.0, END, AT)

    if not stiffness:
        return {"x": moment(lambda s: s), "x_dot": moment(lambda s: 1.0)}
    w = math.sqrt(stiffness)
    free, rate = math.cos(w * END), -w * math.sin(w * END)
    return {
        "x": moment(lambda s: math.sin(w * s) / w) + free,
        "x_dot": moment(lambda s: math.cos(w * s)) + rate,
    }


def turning(law: Law) -> ds.MechanicalSystem:
    """A wheel that turns freely, and a mass that it strikes at each half turn."""
    q = ds.coordinates(theta="rad", y="m")
    return ds.MechanicalSystem(
        q, kinetic=(q.dot.theta**2 + q.dot.y**2) / 2, force={"y": law(ca, q.theta)}
    )


def turning_truth(law: Law) -> Values:
    struck = integral(lambda s: law(Floats, s), -math.pi / 2, math.pi / 2, 0.0)
    return {"y_dot": TURNS * struck}


def one(force: Callable[[Any], Any], mass: Callable[[Any], Any] | None = None, **more: Any):
    q = ds.coordinates(x="m")
    kinetic = q.dot.x**2 / 2 * (1.0 if mass is None else mass(q))
    return ds.MechanicalSystem(q, kinetic=kinetic, force={"x": force(q)}, **more)


def through(law: Law) -> Callable[[], Values]:
    """Fly with speed 1 through a force of place, by the energy."""
    return lambda: dict(
        zip(
            ("x", "x_dot"),
            motion(
                lambda t, x: (x[1], law(Floats, x[0] - AT)),
                (0.0, 1.0),
                [1.9, (2.1, 2e-4), (END, 1e-2)],
                1e-2,
            ),
            strict=True,
        )
    )


def delayed(slowness: Callable[[float], float], before: float = 1.0) -> Callable[[], Values]:
    """x at the end, where dt = slowness(x) dx: at a feature of zero length but for its delay."""

    def truth() -> Values:
        delay = integral(lambda x: slowness(x) - before, 0.0, END, AT)
        return {"x": (END - delay) / before}

    return truth


def in_place(law: Law) -> ds.MechanicalSystem:
    return one(lambda q: law(ca, q.x - AT))


def drag(law: Law) -> ds.MechanicalSystem:
    """A mass speeds up under a force of 1 N until drag awakes at 2 m/s."""
    return one(lambda q: 1 - law(ca, q.dot.x - AT) * q.dot.x)


def dragged(law: Law) -> Values:
    def rate(t: float, x: np.ndarray) -> tuple[float, float]:
        return (x[1], 1 - law(Floats, x[1] - AT) * x[1])

    found = motion(rate, (0.0, 0.0), [1.9, (2.1, 1e-4), (END, 1e-3)], 1e-2)
    return {"x": found[0], "x_dot": found[1]}


def product(law: Law) -> ds.MechanicalSystem:
    """A force on z of the product of two states, x = y = t."""
    q = ds.coordinates(x="m", y="m", z="m")
    v = q.dot
    return ds.MechanicalSystem(
        q,
        kinetic=(v.x**2 + v.y**2 + v.z**2) / 2,
        force={"z": law(ca, q.x * q.y - AT**2)},
    )


def product_truth(law: Law) -> Values:
    def moment(response: Callable[[float], float]) -> float:
        return integral(lambda t: response(END - t) * law(Floats, t**2 - AT**2), 0.0, END, AT)

    return {"z": moment(lambda s: s), "z_dot": moment(lambda s: 1.0), "x": END}


def gyroscopic() -> ds.MechanicalSystem:
    """The velocity turns by the integral of 200 / cosh(500 (t - 2))^2, which is 0.8."""
    q = ds.coordinates(x="m", y="m")
    turning = 200 / ca.cosh(500 * (ds.time - AT)) ** 2
    return ds.MechanicalSystem(
        q,
        mass_matrix=ca.SX.eye(2),
        gyroscopic={"x": -turning * q.dot.y, "y": turning * q.dot.x},
    )


def gyroscopic_in_place() -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", y="m")
    turning = 200 * ca.exp(-((500 * (q.x - AT)) ** 2))
    return ds.MechanicalSystem(
        q,
        mass_matrix=ca.SX.eye(2),
        gyroscopic={"x": -turning * q.dot.y, "y": turning * q.dot.x},
    )


def gyroscopic_in_place_truth() -> Values:
    """y' is the integral of the turning over x, and the speed is kept."""
    side = 0.4 * math.sqrt(math.pi)
    return {"y_dot": side, "x_dot": math.sqrt(1.0 - side**2)}


def bump(law: Law, goal: str) -> ds.MechanicalSystem:
    """A mass on a line with a step in it, as a curve or as a direction."""
    q = ds.coordinates(x="m", y="m")
    goals = {
        "curve": lambda: ds.Holonomic("line", q.y - law(ca, q.x - AT)),
        "direction": lambda: ds.Nonholonomic("line", q.dot.y - law(ca, q.x - AT) * q.dot.x),
    }
    return ds.MechanicalSystem(q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, goals=[goals[goal]()])


def driven() -> ds.MechanicalSystem:
    """The end of a spring is moved to another place within 10 ms."""
    q = ds.coordinates(x="m", z="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.z**2) / 2,
        potential=(q.z - q.x) ** 2 / 2,
        goals=[ds.Holonomic("end", q.x - (1 + ca.tanh(200 * (ds.time - AT))) / 2)],
    )


def driven_truth() -> Values:
    def end(t: float) -> float:
        return (1 + math.tanh(200 * (t - AT))) / 2

    z = integral(lambda t: math.sin(END - t) * end(t), 0.0, END, AT)
    return {"z": z, "x": 1.0}


def growing(law: Law) -> ds.MechanicalSystem:
    """A mass of time: its momentum is kept."""
    return one(lambda q: 0.0, lambda q: 1 + law(ca, ds.time - AT))


def growing_truth(law: Law) -> Values:
    def speed(t: float) -> float:
        return 1 / (1 + law(Floats, t - AT))

    return {"x": integral(speed, 0.0, END, AT), "x_dot": speed(END)}


def soft_floor(sharp: float) -> ds.MechanicalSystem:
    q = ds.coordinates(y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2,
        potential=10 * q.y + 200 * ca.log(1 + ca.exp(-sharp * q.y)) / sharp,
    )


def soft_floor_truth(sharp: float) -> Values:
    def rate(t: float, x: np.ndarray) -> tuple[float, float]:
        depth = -sharp * x[0]
        part = 1 / (1 + Floats.exp(-depth))
        return (x[1], -10 + 200 * part)

    y, speed = motion(rate, (5.0, 0.0), [0.95, (1.2, 1e-4), 2.5], 1e-2)
    return {"y": y, "y_dot": speed}


def with_parameter() -> ds.MechanicalSystem:
    q, p = ds.coordinates(x="m"), ds.parameters(sharp=1.0)
    force = 1 / (1 + ca.exp(-p.sharp * (ds.time - AT)))
    return ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": force})


def summed(law: Law) -> ds.MechanicalSystem:
    q, s = ds.coordinates(x="m"), ds.states(s="")
    return ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, quadratures=s, integrands={"s": law(ca, q.x - AT)}
    )


def control(law: Law) -> ds.ControlSystem:
    x, u = ds.states(position="m", other=""), ds.reactions(drive="m/s")
    goal = ds.Goal("track", x.position - ds.time, ideal=False)
    rate = {"position": u.drive, "other": law(ca, x.position - AT)}
    return ds.ControlSystem(x, rate, controls=u, goals=[goal])


def comb() -> ds.MechanicalSystem:
    """Ten blows, of which a step meets some by luck."""
    times = [0.37 + 0.3511 * k for k in range(10)]
    q = ds.coordinates(x="m")
    force = sum(56.41895835477563 * ca.exp(-((1000 * (ds.time - t)) ** 2)) for t in times)
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": force})


REST = {"x": 0.0, "x_dot": 0.0}
MOVING = {"x": 0.0, "x_dot": 1.0}
_time = partial(Case, of="features in time", until=END)
_state = partial(Case, of="features in states", until=END)
_hidden = partial(Case, of="features hidden in structure", until=END, start=MOVING)
_NARROW: dict[str, Law] = {
    "tanh": lambda m, s: m.tanh(200 * s),
    "Gaussian": lambda m, s: 20 * m.exp(-((300 * s) ** 2)),
    "logistic": lambda m, s: 2 / (1 + m.exp(-300 * s)),
    "sech^2": lambda m, s: 20 / m.cosh(300 * s) ** 2,
}

_CURVES: dict[str, Law] = {
    "tanh": lambda m, s: 0.2 * m.tanh(200 * s),
    "Gaussian": lambda m, s: 0.1 * m.exp(-((300 * s) ** 2)),
}


def _part(name: str) -> Law:
    law = _NARROW[name]
    return lambda m, s: (1 + law(m, s)) / 2 if name == "tanh" else law(m, s)


def _slope(name: str) -> Callable[[float], float]:
    if name == "tanh":
        return lambda x: 40 / Floats.cosh(200 * (x - AT)) ** 2
    return lambda x: -60 * (300 * (x - AT)) * math.exp(-((300 * (x - AT)) ** 2))


CASES = [
    *[
        _time(f"{name}, free", pose=lambda law=law: push(law), start=REST,
              truth=lambda law=law: pushed(law))
        for name, law in IN_TIME.items()
    ],
    *[
        _time(f"{name}, on a spring", pose=lambda law=law: push(law, 4.0),
              start={"x": 1.0, "x_dot": 0.0}, truth=lambda law=law: pushed(law, 4.0))
        for name, law in FEW.items()
    ],
    _time("ten blows", pose=comb, start=REST, truth=lambda: {"x_dot": 1.0}, exact=1e-10),
    _time("sharpness by a parameter", pose=with_parameter, start=REST,
          truth=lambda: pushed(IN_TIME["logistic"]), options={"parameters": {"sharp": 200.0}}),
    *[
        _state(f"{name} of place", pose=lambda name=name: in_place(_part(name)), start=MOVING,
               truth=through(_part(name)), condition=10.0)
        for name in _NARROW
    ],
    *[
        _state(f"{name} of speed", pose=lambda name=name: drag(_part(name)), start=REST,
               truth=lambda name=name: dragged(_part(name)), condition=10.0)
        for name in ("tanh", "logistic")
    ],
    *[
        _state(f"{name} of a product", pose=lambda name=name: product(_part(name)),
               start={"x": 0.0, "y": 0.0, "z": 0.0, "x_dot": 1.0, "y_dot": 1.0, "z_dot": 0.0},
               truth=lambda name=name: product_truth(_part(name)))
        for name in _NARROW
    ],
    *[
        _state(f"{name}, many times round", pose=lambda law=law: turning(law),
               start={"theta": 0.5, "y": 0.0, "theta_dot": 1.0, "y_dot": 0.0}, until=20.0,
               truth=lambda law=law: turning_truth(law))
        for name, law in ROUND.items()
    ],
    *[
        _state(f"soft floor of sharpness {sharp:g}", pose=lambda sharp=sharp: soft_floor(sharp),
               start={"y": 5.0, "y_dot": 0.0}, until=2.5, condition=100.0,
               truth=lambda sharp=sharp: soft_floor_truth(sharp))
        for sharp in (200.0, 2000.0)
    ],
    _hidden("gyroscopic, of time", pose=gyroscopic,
            start={"x": 0.0, "y": 0.0, "x_dot": 1.0, "y_dot": 0.0},
            truth=lambda: {"x_dot": math.cos(0.8), "y_dot": math.sin(0.8)}),
    _hidden("gyroscopic, of place", pose=gyroscopic_in_place, until=4.0,
            start={"x": 0.0, "y": 0.0, "x_dot": 1.0, "y_dot": 0.0},
            truth=gyroscopic_in_place_truth, condition=10.0),
    *[
        _hidden(f"mass of place, {name}",
                pose=lambda name=name: one(lambda q: 0.0,
                                           lambda q: 1 + _NARROW[name](ca, q.x - AT)),
                truth=delayed(lambda x, name=name: math.sqrt(1 + _NARROW[name](Floats, x - AT))))
        for name in ("Gaussian", "sech^2")
    ],
    _hidden("mass of time", pose=lambda: growing(_part("logistic")),
            truth=lambda: growing_truth(_part("logistic"))),
    *[
        _hidden(f"curve, {name}", pose=lambda name=name: bump(_CURVES[name], "curve"),
                start={"x": 0.0, "x_dot": 1.0}, condition=100.0, exact=1e-10,
                truth=delayed(lambda x, name=name: math.sqrt(1 + _slope(name)(x) ** 2)))
        for name in ("tanh", "Gaussian")
    ],
    _hidden("direction", pose=lambda: bump(_NARROW["Gaussian"], "direction"),
            start={"x": 0.0, "y": 0.0, "x_dot": 1.0}, condition=10.0,
            truth=delayed(lambda x: math.hypot(1, _NARROW["Gaussian"](Floats, x - AT)))),
    _hidden("drive", pose=driven, start={"x": 0.0, "z": 0.0, "z_dot": 0.0}, truth=driven_truth),
    _hidden("integral along the motion", pose=lambda: summed(_NARROW["Gaussian"]),
            start={**MOVING, "s": 0.0},
            truth=lambda: {"s": 20 / 300 * math.sqrt(math.pi)}),
    _hidden("control", pose=lambda: control(_NARROW["Gaussian"]),
            start={"position": 0.0, "other": 0.0},
            truth=lambda: {"other": 20 / 300 * math.sqrt(math.pi), "position": END}),
]  # fmt: skip

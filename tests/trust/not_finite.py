"""What is no number: refused, or the run does not complete, or a note names it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds

from .case import Case, Values


def mass(**posed: Callable[[Any], Any]) -> ds.MechanicalSystem:
    """A mass in flight, x = t."""
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, **{name: value(q) for name, value in posed.items()}
    )


def summed(rate: Callable[[Any], Any]) -> ds.MechanicalSystem:
    q, s = ds.coordinates(x="m"), ds.states(s="")
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, quadratures=s, integrands={"s": rate(q)})


def switched(value: Any) -> ds.MechanicalSystem:
    q, d = ds.coordinates(x="m"), ds.discrete(d=0.0)
    event = ds.Event("change", ds.time - 1, ds.RISING, ds.Reset({"d": value(q)}))
    return ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, discrete=d, events=[event], outputs={"seen": d.d}
    )


def pendulum(function: Callable[[Any], Any]) -> ds.MechanicalSystem:
    q = ds.coordinates(angle="rad")
    return ds.MechanicalSystem(q, kinetic=q.dot.angle**2 / 2, potential=-function(q.angle))


def rod() -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", y="m")
    height = ca.sqrt(-1 - q.x**2)
    goal = ds.Holonomic("rod", q.x**2 + q.y**2 - 1)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=10 * q.y,
        goals=[goal],
        outputs={"o": height * goal.reaction},
    )


def none() -> Values:
    return {}


def stop(guard: Any) -> list[ds.Event]:
    return [ds.Event("there", guard, ds.RISING, ds.Stop())]


_case = partial(Case, of="not finite", start={"x": 0.0, "x_dot": 1.0}, until=10.0, truth=none)
_LAWS: dict[str, Callable[[Any], Any]] = {
    "root of what is negative": lambda q: ca.sqrt(-1 - q.x**2),
    "logarithm of what is negative": lambda q: ca.log(-1 - q.x**2),
    "arc cosine of 2": lambda q: ca.acos(2 + q.x**2),
}
CASES = [
    *[
        _case(f"math.{function.__name__} in a potential",
              pose=lambda function=function: pendulum(function),
              start={"angle": 1.0, "angle_dot": 0.0})
        for function in (math.cos, math.sin, math.exp)
    ],
    *[
        _case(f"{kind} {name}", pose=lambda make=make, law=law: make(law))
        for name, law in _LAWS.items()
        for kind, make in {
            "guard": lambda law: mass(events=lambda q: stop(law(q))),
            "output": lambda law: mass(outputs=lambda q: {"o": law(q)}),
            "force": lambda law: mass(force=lambda q: {"x": law(q)}),
        }.items()
    ],
    _case("guard that is no number later",
          pose=lambda: mass(events=lambda q: stop(ca.sqrt(5 - q.x) - 10))),
    _case("guard that is no number until later, and passes then",
          pose=lambda: mass(events=lambda q: stop(ca.sqrt(q.x - 3) - 1)),
          truth=lambda: {"end_time": 4.0}),
    _case("guard 0 / 0", pose=lambda: mass(
        events=lambda q: stop((q.x - q.x) / (q.x * 0 + 0 * q.dot.x)))),
    _case("recorded guard", pose=lambda: mass(
        events=lambda q: [ds.Event("seen", ca.log(-1 - q.x**2))])),
    _case("output that is no number later",
          pose=lambda: mass(outputs=lambda q: {"o": ca.sqrt(5 - q.x)})),
    _case("output that is infinite", pose=lambda: mass(outputs=lambda q: {"o": 1 / (q.x * 0)})),
    _case("output of a reaction", pose=rod, start={"x": 0.6, "y": -0.8, "x_dot": 0.0}, until=1.0),
    _case("force later", pose=lambda: mass(force=lambda q: {"x": 0.01 * ca.sqrt(5 - ds.time)})),
    _case("energy infinite", pose=lambda: mass(potential=lambda q: math.inf + 0 * q.x)),
    _case("energy no number", pose=lambda: mass(potential=lambda q: ca.SX(math.nan))),
    _case("potential by a NumPy number",
          pose=lambda: mass(potential=lambda q: np.float64(np.nan) * q.x)),
    _case("integral", pose=lambda: summed(lambda q: ca.log(-1 - q.x)),
          start={"x": 0.0, "x_dot": 1.0, "s": 0.0}),
    _case("integral later", pose=lambda: summed(lambda q: ca.sqrt(5 - q.x)),
          start={"x": 0.0, "x_dot": 1.0, "s": 0.0}),
    _case("meter", pose=lambda: mass(meters=lambda q: {"w": (ca.log(-1 - q.x**2), "J")})),
    _case("invariant", pose=lambda: mass(
        goals=lambda q: [ds.Invariant("i", ca.log(-1 - q.x**2) + q.dot.x)])),
    _case("reset", pose=lambda: switched(lambda q: ca.log(-1 - q.x**2))),
    _case("reset by division", pose=lambda: switched(lambda q: 1 / (q.x - q.x))),
]  # fmt: skip

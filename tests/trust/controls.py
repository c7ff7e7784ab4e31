"""Controls: systems of the same looks on which nothing is to be doubted, and starts to be taken."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds

from .angles import rotor, turned
from .case import Case, Values
from .conserved import damped, powerless_lagrangian, rises
from .instants import shaken, thrown_about, watched
from .own import motion, switched
from .sizes import rod, swung
from .switches import oscillator, windowed

T = ds.time
sin, cos = math.sin, math.cos


def late(until: float) -> Values:
    """A driven oscillator that begins at 1e9 s: x'' + 4 x = sin(t - t0)."""
    return {"x": cos(2 * until) + sin(until) / 3 - sin(2 * until) / 6}


def late_case(begin: float, **options: Any) -> Case:
    return Case(
        f"start at {begin:g} s",
        "late starts",
        lambda: late_system(begin),
        {"x": 1.0, "x_dot": 0.0},
        begin + 10.0,
        lambda: late(10.0),
        # Time itself is known to rounding, at a rate of 2 rad/s.
        condition=100.0,
        exact=max(1e-11, 1e-14 * abs(begin)),
        options={"start_time": begin, "at": [begin + 5.0, begin + 10.0], **options},
    )


def late_system(begin: float) -> ds.MechanicalSystem:
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=2 * q.x**2,
        force={"x": ca.sin(T - begin)},
    )


def beam() -> ds.MechanicalSystem:
    """Redundant supports at places that rounding moves: 0.1 + 0.2 is not 0.3."""
    q = ds.coordinates(x="m", y="m", turn="rad")
    places = {"a": 0.1 + 0.2, "b": 0.3, "c": -0.7, "d": 0.1 * 3}
    goals = [
        ds.Holonomic(n, q.y + at * ca.sin(q.turn) + 0.1 * at - at / 10) for n, at in places.items()
    ]
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 + q.dot.y**2 + q.dot.turn**2 / 3,
        goals=goals,
        force={"x": ca.SX(1.0)},
    )


def rows(scale: float) -> ds.MechanicalSystem:
    """Rows that say the same but for rounding."""
    q = ds.coordinates(x="m", y="m", z="m")
    v = q.dot
    third = 1 / 3
    goals = [
        ds.Nonholonomic("a", v.x / 3 - v.y * third),
        ds.Nonholonomic("b", scale * (v.x * 0.1 * 3 - 0.3 * v.y)),
        ds.Nonholonomic("c", (v.x - v.y) * (0.1 + 0.2) + 1e-17),
    ]
    return ds.MechanicalSystem(
        q, kinetic=(v.x**2 + v.y**2 + v.z**2) / 2, goals=goals, force={"x": ca.SX(1.0)}
    )


def chain() -> ds.MechanicalSystem:
    """A double pendulum by rods, whose start is met to rounding."""
    q = ds.coordinates(x="m", y="m", u="m", w="m")
    v = q.dot
    return ds.MechanicalSystem(
        q,
        kinetic=(v.x**2 + v.y**2 + v.u**2 + v.w**2) / 2,
        potential=10 * (q.y + q.w),
        goals=[
            ds.Holonomic("first", ca.sqrt(q.x**2 + q.y**2) - 0.7),
            ds.Holonomic("second", ca.sqrt((q.u - q.x) ** 2 + (q.w - q.y) ** 2) - 1.1),
        ],
    )


def chain_truth() -> Values:
    """In angles from the vertical, by Lagrange's equations."""
    a, b = 0.7, 1.1

    def rate(t: float, s: np.ndarray) -> tuple[float, ...]:
        p, r, dp, dr = s
        c, z = cos(p - r), sin(p - r)
        mass = np.array([[2 * a * a, a * b * c], [a * b * c, b * b]])
        load = np.array([-a * b * z * dr**2 - 20 * a * sin(p), a * b * z * dp**2 - 10 * b * sin(r)])
        second = np.linalg.solve(mass, load)
        return (dp, dr, second[0], second[1])

    p, r, *_ = motion(rate, (0.3, 0.8, 0.0, 0.0), 4.0)
    return {"x": a * sin(p), "y": -a * cos(p), "u": a * sin(p) + b * sin(r)}


CHAIN = {
    "x": 0.7 * sin(0.3),
    "y": -0.7 * cos(0.3),
    "u": 0.7 * sin(0.3) + 1.1 * sin(0.8),
    "w": -0.7 * cos(0.3) - 1.1 * cos(0.8),
    "x_dot": 0.0, "y_dot": 0.0, "u_dot": 0.0, "w_dot": 0.0,
}  # fmt: skip


def redundant() -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", y="m", z="m")
    v = q.dot
    goals = [
        ds.Holonomic("a", q.y - q.x),
        ds.Holonomic("b", 2 * (q.y - q.x)),
        ds.Holonomic("c", ca.sin(q.y - q.x)),
    ]
    return ds.MechanicalSystem(
        q, kinetic=(v.x**2 + v.y**2 + v.z**2) / 2, goals=goals, force={"x": ca.SX(1.0)}
    )


def magnetic() -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(
        q,
        mass_matrix=ca.SX.eye(2),
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        gyroscopic={"x": -0.5 * q.dot.y, "y": 0.5 * q.dot.x},
    )


def bouncing() -> ds.MechanicalSystem:
    q = ds.coordinates(y="m")
    floor = ds.Contact("floor", q.y, restitution=0.5, closed=False)
    return ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=10 * q.y, goals=[floor])


def sleigh() -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE)
    v = q.dot
    return ds.MechanicalSystem(
        q,
        kinetic=(v.x**2 + v.y**2 + v.psi**2) / 2,
        goals=[ds.Nonholonomic("blade", v.y * ca.cos(q.psi) - v.x * ca.sin(q.psi))],
    )


def spring_past(t: float, x: np.ndarray, on: tuple[bool, ...]) -> tuple[float, float]:
    return (x[1], -x[0] - (50 * (x[0] - 0.5) if on[0] else 0.0))


def past() -> Values:
    found = switched(spring_past, [lambda t, x: x[0] - 0.5], (1.0, 0.0), 10.0, 0.3)
    return {"x": found[0], "x_dot": found[1]}


STILL = {"x": 1.0, "x_dot": 0.0}
TURNING = {"phi": 0.0, "phi_dot": 3.0}
FLYING = {"x": 0.0, "x_dot": 1.0}
ZERO = dict.fromkeys(("x", "y", "z", "x_dot", "y_dot", "z_dot"), 0.0)
_well = partial(Case, of="controls", sound=True, condition=10.0)
CASES = [
    _well("pendulum that turns over", pose=lambda: rotor(potential=lambda a: -ca.cos(a)),
          start=TURNING, until=100.0, condition=100.0, exact=1e-10,
          truth=turned(lambda t, a: -sin(a), 100.0, 3.0)),
    _well("multiples of an angle and time", start=TURNING, until=60.0, condition=100.0, exact=1e-10,
          pose=lambda: rotor(force=lambda a: 0.2 * ca.sin(3 * a - T) + 0.1 * ca.cos(2 * a)),
          truth=turned(lambda t, a: 0.2 * sin(3 * a - t) + 0.1 * cos(2 * a), 60.0, 3.0)),
    _well("tanh of a sine", start=TURNING, until=30.0, condition=100.0,
          pose=lambda: rotor(force=lambda a: -0.2 * ca.tanh(3 * ca.sin(a))),
          truth=turned(lambda t, a: -0.2 * math.tanh(3 * sin(a)), 30.0, 3.0, longest=0.05)),
    _well("pendulum of a rod", pose=lambda: rod(1.0), until=7.0,
          start={"x": sin(1.0), "y": -cos(1.0), "x_dot": 0.0, "y_dot": 0.0},
          truth=lambda: swung(1.0, 7.0)),
    _well("wide logistic", pose=lambda: oscillator(lambda q: 0.3 * rises(T - 10)), start=STILL,
          until=30.0, truth=lambda: _of(motion(
              lambda t, x: (x[1], -x[0] + 0.15 * (1 + math.tanh(t - 10))), (1, 0), 30.0, 0.1))),
    _well("wide window", pose=lambda: oscillator(
              lambda q: ca.if_else(ca.logic_and(T > 5, T < 15), 0.4, 0)),
          start=STILL, until=30.0, truth=windowed([(5.0, 15.0, 0.4)], 30.0)),
    _well("window that is never met", pose=lambda: oscillator(
              lambda q: ca.if_else(q.x > 1.5, 100, 0)),
          start=STILL, until=30.0, truth=windowed([], 30.0)),
    _well("logistic that is never met", pose=lambda: oscillator(
              lambda q: 1 / (1 + ca.exp(-200 * (q.x - 1.5)))),
          start=STILL, until=30.0, truth=windowed([], 30.0)),
    _well("Gaussian that is never met", pose=lambda: oscillator(
              lambda q: 100 * ca.exp(-((200 * (T - 50)) ** 2))),
          start=STILL, until=30.0, truth=windowed([], 30.0)),
    _well("stop of springs", pose=lambda: oscillator(lambda q: -50 * ca.fmax(0, q.x - 0.5)),
          start=STILL, until=10.0, truth=past, condition=100.0),
    _well("fabs of what keeps its sign", pose=lambda: oscillator(lambda q: -0.3 * ca.fabs(q.x + 5)),
          start=STILL, until=20.0,
          truth=lambda: {"x": -1.5 / 1.3 + (1 + 1.5 / 1.3) * cos(math.sqrt(1.3) * 20)}),
    _well("exponential of a state", start=STILL, until=20.0,
          pose=lambda: oscillator(lambda q: 0.0, lambda q: ca.exp(q.x) - q.x),
          truth=lambda: _of(motion(lambda t, x: (x[1], 1 - math.exp(x[0])), (1, 0), 20.0))),
    _well("drag", pose=lambda: powerless_lagrangian(lambda q: 1.0), until=40.0,
          start={"x": 1.0, "z": 0.0, "x_dot": 0.0, "z_dot": 1.0},
          truth=damped(lambda t, z, v: 1.0, 40.0)),
    _well("momentum", pose=lambda: rotor(goals=lambda q: [
              ds.Invariant("momentum", q.dot.phi, drive=True)]),
          start=TURNING, until=100.0, truth=lambda: {"phi": 300.0, "phi_dot": 3.0}),
    _well("turning by gyroscopic forces", pose=magnetic, until=30.0,
          start={"x": 0.0, "y": 0.0, "x_dot": 1.0, "y_dot": 0.0},
          truth=lambda: {"x": 2 * sin(15.0), "y": 2 - 2 * cos(15.0)}),
    _well("redundant goals, drop", pose=redundant, start=ZERO, until=5.0,
          options={"redundant": "drop"}, truth=lambda: {"x": 6.25, "y": 6.25}),
    _well("redundant goals, minimum-norm", pose=redundant, start=ZERO, until=5.0,
          options={"redundant": "minimum-norm"}, truth=lambda: {"x": 6.25, "y": 6.25}),
    _well("three bounces", pose=bouncing, start={"y": 5.0, "y_dot": 0.0}, until=2.7,
          truth=lambda: {"count floor_closed": 3.0, "y": 1.25 * 0.2 - 5 * 0.2**2}),
    _well("shaken table that is not left", pose=lambda: shaken(
              lambda m, t: 0.1 * m.sin(5 * t), 0.0, True),
          start={"x": 0.0, "x_dot": 0.5}, until=5.0,
          truth=lambda: thrown_about(lambda m, t: 0.1 * m.sin(5 * t), 0.0, None, 5.0)),
    _well("guard that is not met", pose=lambda: watched(lambda q: q.x - 1.001),
          start=FLYING, until=50.0, truth=lambda: {"count seen": 0.0, "x": sin(50.0)}),
    _well("guard at a half", pose=lambda: watched(lambda q: q.x - 0.5, ds.Record()),
          start=FLYING, until=50.0, truth=lambda: {"count seen": 16.0, "x": sin(50.0)}),
    _well("blade", pose=sleigh, until=30.0,
          start={"x": 0.0, "y": 0.0, "psi": 0.0, "x_dot": 1.0, "psi_dot": 0.5},
          truth=lambda: {"x": 2 * sin(15.0), "y": 2 - 2 * cos(15.0), "psi": 15.0}),
    _well("two rods", pose=chain, start=CHAIN, until=4.0, truth=chain_truth, condition=100.0),
    _well("supports that rounding moves, drop", pose=beam, until=4.0,
          start={"x": 0.0, "x_dot": 1.0}, options={"redundant": "drop"},
          truth=lambda: {"x": 8.0, "y": 0.0}),
    _well("supports that rounding moves, minimum-norm", pose=beam, until=4.0,
          start={"x": 0.0, "x_dot": 1.0}, options={"redundant": "minimum-norm"},
          truth=lambda: {"x": 8.0, "y": 0.0}),
    *[
        _well(f"rows that rounding moves, {option}, times {scale:g}", start=ZERO, until=4.0,
              pose=lambda scale=scale: rows(scale), options={"redundant": option},
              truth=lambda: {"x": 4.0, "y": 4.0})
        for option, scale in (("drop", 1.0), ("minimum-norm", 1.0), ("drop", 1e6))
    ],
    *[late_case(begin) for begin in (1e6, 1e9, 1e11, -1e9)],
]  # fmt: skip


def _of(found: np.ndarray) -> Values:
    return {"x": found[0], "x_dot": found[1]}

"""Systems of any size: the same digits, whatever the units."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds

from .case import Case, Values
from .own import motion

GRAVITY = 9.81


def rod(length: float) -> ds.MechanicalSystem:
    q, p = ds.coordinates(x="m", y="m"), ds.parameters(length=(length, "m"))
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=GRAVITY * q.y,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)],
    )


def swung(length: float, until: float) -> Values:
    """From an angle of 1 rad, in units of the length."""
    scaled = until * math.sqrt(GRAVITY / length)
    angle, rate = motion(lambda t, x: (x[1], -math.sin(x[0])), (1.0, 0.0), scaled)
    speed = math.sqrt(GRAVITY * length) * rate
    return {
        "x": length * math.sin(angle),
        "y": -length * math.cos(angle),
        "x_dot": speed * math.cos(angle),
        "y_dot": speed * math.sin(angle),
    }


def rod_case(length: float, **more: Any) -> Case:
    until = 7.0 * math.sqrt(length / GRAVITY)
    return Case(
        f"pendulum of {length:g} m" + ("".join(f", {value}" for value in more.values())),
        "size of units",
        lambda: rod(length),
        {"x": length * math.sin(1.0), "y": -length * math.cos(1.0), "x_dot": 0.0, "y_dot": 0.0},
        until,
        lambda: swung(length, until),
        condition=10.0,
        unit=min(length, math.sqrt(GRAVITY * length)),
        options=more,
        # Rates of 1/s in a motion of hours: Radau gets there, but in four minutes.
        only=("dop853", "lsoda", "cvodes") if length >= 1e9 else (),
    )


def duffing(size: float, mass: float = 1.0) -> ds.MechanicalSystem:
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(
        q,
        kinetic=mass * q.dot.x**2 / 2,
        potential=mass * (q.x**2 / 2 + q.x**4 / size**2 / 4),
    )


def duffing_truth(size: float) -> Values:
    x, speed = motion(lambda t, x: (x[1], -x[0] - x[0] ** 3), (1.0, 0.0), 20.0)
    return {"x": size * x, "x_dot": size * speed}


def kepler(size: float, strength: float) -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=-strength / ca.sqrt(q.x**2 + q.y**2),
    )


def kepler_case(size: float, strength: float) -> Case:
    """Eccentricity 1/2 from the pericentre, over three quarters of a turn."""
    speed = math.sqrt(strength / size)

    def truth() -> Values:
        anomaly, mean = 4.0, 0.0
        for _ in range(60):
            mean = anomaly - 0.5 * math.sin(anomaly) - 1.5 * math.pi
            anomaly -= mean / (1 - 0.5 * math.cos(anomaly))
        return {
            "x": size * (math.cos(anomaly) - 0.5),
            "y": size * math.sqrt(0.75) * math.sin(anomaly),
        }

    return Case(
        f"orbit of {size:g} m",
        "size of units",
        lambda: kepler(size, strength),
        {"x": size / 2, "y": 0.0, "x_dot": 0.0, "y_dot": speed * math.sqrt(3.0)},
        1.5 * math.pi * size / speed,
        truth,
        condition=10.0,
        unit=size,
    )


def two_sizes() -> ds.MechanicalSystem:
    """Two oscillators of their own sizes, the small one driven by the large one."""
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + 1e18 * q.dot.y**2) / 2,
        potential=(q.x**2 + 2 * 1e18 * q.y**2) / 2 - 1e9 * 0.3 * q.x * q.y,
    )


def two_sizes_truth() -> Values:
    """The same for x and 1e9 y, by the eigenvalues."""
    matrix = np.array([[1.0, -0.3], [-0.3, 2.0]])
    values, vectors = np.linalg.eigh(matrix)
    start = vectors.T @ np.array([1.0, 1.0])
    x, y = vectors @ (start * np.cos(np.sqrt(values) * 10.0))
    return {"x": x, "y": 1e-9 * y}


def ball(height: float) -> ds.MechanicalSystem:
    q = ds.coordinates(y="m")
    floor = ds.Contact("floor", q.y, restitution=0.5, closed=False)
    return ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=10 * q.y, goals=[floor])


def ball_case(height: float) -> Case:
    """Two bounces, and halfway up again."""
    fall = math.sqrt(height / 5)
    speed = 10 * fall
    third = fall + 2 * fall * 0.5
    rest = 0.25 * speed / 20

    def truth() -> Values:
        return {
            "y": 0.25 * speed * rest - 5 * rest**2,
            "y_dot": 0.25 * speed - 10 * rest,
            "count floor_closed": 2.0,
        }

    return Case(f"ball from {height:g} m", "size of units", lambda: ball(height),
                {"y": height, "y_dot": 0.0}, third + rest, truth, condition=10.0,
                unit=min(height, speed))  # fmt: skip


def short(rate: float) -> ds.MechanicalSystem:
    """A motion of another time."""
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=rate**2 * (1 - ca.cos(q.x)))


def short_truth() -> Values:
    return {"x": motion(lambda t, x: (x[1], -math.sin(x[0])), (1.0, 0.0), 20.0)[0]}


def tracked(size: float) -> ds.ControlSystem:
    x, u = ds.states(place="m", speed="m/s"), ds.reactions(drive="N")
    goal = ds.Goal("track", x.place - size * ca.sin(ds.time), at_start=True)
    rate = {"place": x.speed, "speed": u.drive}
    return ds.ControlSystem(x, rate, controls=u, goals=[goal])


_case = partial(Case, of="size of units", condition=10.0)
CASES = [
    *[rod_case(length) for length in (1e-15, 1e-12, 1e-9, 1e-6, 1e6, 1e9)],
    *[rod_case(1e-9, formulation=name) for name in ("null-space", "projected", "index-1")],
    *[
        _case(f"Duffing of {size:g} m, {mass:g} kg", start={"x": size, "x_dot": 0.0}, until=20.0,
              pose=lambda size=size, mass=mass: duffing(size, mass), unit=size,
              truth=lambda size=size: duffing_truth(size))
        for size, mass in ((1e-12, 1.0), (1e-8, 1e-12), (1e10, 1e6))
    ],
    kepler_case(1.5e11, 1.327e20),
    kepler_case(1e-10, 1e-26),
    _case("two sizes", pose=two_sizes, start={"x": 1.0, "y": 1e-9, "x_dot": 0.0, "y_dot": 0.0},
          until=10.0, truth=two_sizes_truth, unit=1e-9),
    *[ball_case(height) for height in (1e-10, 1e-7, 1e8)],
    *[
        _case(f"rate of {rate:g} 1/s", pose=lambda rate=rate: short(rate), until=20.0 / rate,
              start={"x": 1.0, "x_dot": 0.0}, truth=short_truth)
        for rate in (1e9, 1e-9)
    ],
    *[
        _case(f"control of {size:g} m", pose=lambda size=size: tracked(size), until=5.0,
              start={"place": 0.0, "speed": size}, unit=size,
              truth=lambda size=size: {"place": size * math.sin(5.0), "speed": size * math.cos(5)})
        for size in (1e-10, 1e10)
    ],
]  # fmt: skip

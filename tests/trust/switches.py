"""What is posed in pieces: comparisons, windows, kinks, sampled time."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds

from .case import Case, Values
from .own import motion, switched

OSCILLATING = {"x": 1.0, "x_dot": 0.0}
"""A mass of 1 kg on a spring of 1 N/m, x = cos t."""


def oscillator(force: Callable[[Any], Any], potential: Any = None) -> ds.MechanicalSystem:
    q = ds.coordinates(x="m")
    own = q.x**2 / 2 if potential is None else potential(q)
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=own, force={"x": force(q)})


def windowed(windows: list[tuple[float, float, float]], until: float) -> Callable[[], Values]:
    """x = cos t, and what constant forces do within windows (begin, end, force)."""

    def truth() -> Values:
        x, speed = math.cos(until), -math.sin(until)
        for begin, end, force in windows:
            end = min(end, until)
            if end > begin:
                x += force * (math.cos(until - end) - math.cos(until - begin))
                speed += force * (math.sin(until - begin) - math.sin(until - end))
        return {"x": x, "x_dot": speed}

    return truth


def split(rate: Any, guards: Any, start: Any, until: float, longest: float = 0.5):
    def truth() -> Values:
        found = switched(rate, guards, start, until, longest)
        return {"x": found[0], "x_dot": found[1]}

    return truth


def both(*conditions: Any) -> Any:
    result = conditions[0]
    for other in conditions[1:]:
        result = ca.logic_and(result, other)
    return result


T = ds.time
EDGE = math.acos(0.99995)


def of_sine(until: float) -> list[tuple[float, float, float]]:
    """When sin t > 0.99995."""
    tops = [math.pi / 2 + 2 * math.pi * k for k in range(int(until / 6.28) + 2)]
    return [(top - EDGE, top + EDGE, 10.0) for top in tops if top + EDGE < until]


IN_TIME: dict[str, tuple[Callable[[Any], Any], float, list[tuple[float, float, float]]]] = {
    "nested": (
        lambda q: ca.if_else(T > 20, ca.if_else(T < 20.001, 500, 0), 0),
        30.0,
        [(20.0, 20.001, 500.0)],
    ),
    "logic_and": (
        lambda q: ca.if_else(both(T > 40, T < 40.01), 100, 0),
        50.0,
        [(40.0, 40.01, 100.0)],
    ),
    "product of comparisons": (
        lambda q: 300 * (T > 25) * (T <= 25.002),
        30.0,
        [(25.0, 25.002, 300.0)],
    ),
    "difference of comparisons": (
        lambda q: 300 * ((T >= 25) - (T >= 25.002)),
        30.0,
        [(25.0, 25.002, 300.0)],
    ),
    "logic_or and not": (
        lambda q: ca.if_else(ca.logic_not(ca.logic_or(T < 25, T > 25.002)), 300, 0),
        30.0,
        [(25.0, 25.002, 300.0)],
    ),
    "sign": (
        lambda q: 100 * (ca.sign(T - 33) - ca.sign(T - 33.004)),
        40.0,
        [(33.0, 33.004, 200.0)],
    ),
    "sine above a bound": (lambda q: ca.if_else(ca.sin(T) > 0.99995, 10, 0), 30.0, of_sine(30.0)),
    "fmod of time": (
        lambda q: ca.if_else(ca.fmod(T, 5) < 0.01, 10, 0),
        22.0,
        [(5.0 * k, 5.0 * k + 0.01, 10.0) for k in range(5)],
    ),
    "floor of time": (
        lambda q: 0.1 * ca.floor(T / 3),
        10.0,
        [(3.0, 6.0, 0.1), (6.0, 9.0, 0.2), (9.0, 10.0, 0.3)],
    ),
    "ceil of time": (
        lambda q: 0.1 * ca.ceil(T / 3),
        10.0,
        [(0.0, 3.0, 0.1), (3.0, 6.0, 0.2), (6.0, 9.0, 0.3), (9.0, 10.0, 0.4)],
    ),
    "square of time": (
        lambda q: ca.if_else(both(T**2 > 400, T**2 < 400.04), 100, 0),
        30.0,
        [(20.0, math.sqrt(400.04), 100.0)],
    ),
    "exp of time": (
        lambda q: ca.if_else(both(ca.exp(T) > math.exp(20), ca.exp(T) < math.exp(20.01)), 100, 0),
        30.0,
        [(20.0, 20.01, 100.0)],
    ),
    "within 1 - 1e-9 of the end": (
        lambda q: ca.if_else(T > 29.999, 100, 0),
        30.0,
        [(29.999, 30.0, 100.0)],
    ),
    "only at an instant": (lambda q: ca.if_else(ca.eq(T, 25), 1e6, 0), 30.0, []),
    "1e-9 s": (
        lambda q: ca.if_else(both(T > 12.5, T < 12.500000001), 1e8, 0),
        20.0,
        [(12.5, 12.500000001, 1e8)],
    ),
}


def hat_truth() -> Values:
    """A hat of 2 ms by fmax, of 1000 (1 - 1000 |s|)."""

    def rate(t: float, x: np.ndarray) -> tuple[float, float]:
        return (x[1], -x[0] + max(0.0, 1000.0 * (1 - 1000 * abs(t - 25.0))))

    found = motion(rate, (1.0, 0.0), [24.999, 25.0, 25.001, 30.0], 0.5)
    return {"x": found[0], "x_dot": found[1]}


def table_truth(height: float, width: float) -> Values:
    def rate(t: float, x: np.ndarray) -> tuple[float, float]:
        return (x[1], -x[0] + max(0.0, height * (1 - abs(t - 15.0) / width)))

    found = motion(rate, (1.0, 0.0), [15.0 - width, 15.0, 15.0 + width, 20.0], 0.5)
    return {"x": found[0], "x_dot": found[1]}


def table(height: float, width: float) -> Any:
    grid = ca.DM([0.0, 15.0 - width, 15.0, 15.0 + width, 100.0])
    return ca.pw_lin(T, grid, ca.DM([0.0, 0.0, height, 0.0, 0.0]))


def steps_truth() -> Values:
    return windowed([(15.0, 15.004, 200.0)], 20.0)()


def unilateral(t: float, x: np.ndarray, on: tuple[bool, ...]) -> tuple[float, float]:
    return (x[1], -x[0] - (50.0 * x[0] if on[0] else 0.0))


def flight(law: Callable[[Any], Any]) -> ds.MechanicalSystem:
    """A mass in flight, upon which a force of place acts."""
    return oscillator(lambda q: law(q.x), lambda q: 0.0)


def crossing(force: float, width: float) -> Values:
    """With speed 1 from 0, a force within (5, 5 + width), at t = 10."""
    speed = math.sqrt(1 + 2 * force * width)
    time = 5 + 2 * width / (1 + speed)
    return {"x": 5 + width + speed * (10 - time), "x_dot": speed}


def bouncing_window(height: float) -> Callable[[], Values]:
    """An oscillator that gets a push of 20 N while x > height, at each top."""
    return split(
        lambda t, x, on: (x[1], -x[0] + (-20.0 if on[0] else 0.0)),
        [lambda t, x: x[0] - height],
        (1.0, 0.0),
        12.0,
        0.02,
    )


def dry(t: float, x: np.ndarray, on: tuple[bool, ...]) -> tuple[float, float]:
    return (x[1], -x[0] - (0.01 if on[0] else -0.01))


def two() -> ds.MechanicalSystem:
    """x = cos t, z = sin t in axes; a window of their product, which is sin(2t)/2."""
    q = ds.coordinates(x="m", z="m", y="m")
    v = q.dot
    return ds.MechanicalSystem(
        q,
        kinetic=(v.x**2 + v.y**2 + v.z**2) / 2,
        potential=(q.x**2 + q.z**2) / 2,
        force={"y": ca.if_else(q.x * q.z > 0.4999, 10, 0)},
    )


def two_truth() -> Values:
    half = math.acos(0.9998) / 2
    tops = [math.pi / 4 + math.pi * k for k in range(4)]
    speed = sum(10 * 2 * half for _ in tops)
    place = sum(10 * 2 * half * (12 - top) for top in tops)
    return {"y": place, "y_dot": speed}


def stepped_floor() -> ds.MechanicalSystem:
    """A line whose slope changes at x = 5; a mass slides along it."""
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        goals=[
            ds.Nonholonomic("line", q.dot.y - ca.if_else(both(q.x > 5, q.x < 5.01), 3, 0) * q.dot.x)
        ],
    )


def own_reset() -> ds.MechanicalSystem:
    """Window, and an event of its own besides."""
    q, d = ds.coordinates(x="m"), ds.discrete(sense=1.0)
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        discrete=d,
        force={"x": d.sense * ca.if_else(both(T > 20, T < 20.01), 100, 0)},
        events=[ds.Event("turn", T - 20.005, ds.RISING, ds.Reset({"sense": -d.sense}))],
    )


def own_window() -> ds.MechanicalSystem:
    """A force between two places 1e-9 m apart, switched by events."""
    q, d = ds.coordinates(x="m"), ds.discrete(on=0.0)
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        discrete=d,
        force={"x": 1e8 * d.on},
        events=[
            ds.Event("on", q.x - 5, ds.RISING, ds.Reset({"on": 1.0})),
            ds.Event("off", q.x - (5 + 1e-9), ds.RISING, ds.Reset({"on": 0.0})),
        ],
    )


def in_mass() -> ds.MechanicalSystem:
    q = ds.coordinates(x="m")
    mass = ca.if_else(both(T > 5, T < 5.01), 100, 1)
    return ds.MechanicalSystem(q, kinetic=mass * q.dot.x**2 / 2)


def output_in_window() -> ds.MechanicalSystem:
    q, s = ds.coordinates(x="m"), ds.states(s="")
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        quadratures=s,
        integrands={"s": ca.if_else(both(T > 20, T < 20.001), 1000, 0)},
    )


_window = partial(Case, of="narrow windows", start=OSCILLATING)
_kink = partial(Case, of="kinks", start=OSCILLATING, until=12.0)
CASES = [
    *[
        _window(name, pose=lambda law=law: oscillator(law), until=until, condition=3.0,
                truth=windowed(windows, until), exact=1e-10 if name != "1e-9 s" else 2e-7)
        for name, (law, until, windows) in IN_TIME.items()
    ],
    _window("hat by fmax", pose=lambda: oscillator(
                lambda q: ca.fmax(0, 1000 * (1 - 1000 * ca.fabs(T - 25)))),
            until=30.0, truth=hat_truth, condition=3.0, exact=1e-9),
    _window("pw_lin of 10 ms", pose=lambda: oscillator(lambda q: table(100.0, 0.005)), until=20.0,
            truth=lambda: table_truth(100.0, 0.005), condition=3.0),
    _window("pw_const", pose=lambda: oscillator(
                lambda q: ca.pw_const(T, ca.DM([15.0, 15.004]), ca.DM([0.0, 200.0, 0.0]))),
            until=20.0, truth=steps_truth, condition=3.0),
    _window("of place in flight", pose=lambda: flight(
                lambda x: ca.if_else(both(x > 5, x < 5.001), 1000, 0)),
            start={"x": 0.0, "x_dot": 1.0}, until=10.0, truth=lambda: crossing(1000.0, 0.001)),
    _window("of place by a product", pose=lambda: flight(
                lambda x: ca.if_else((x - 5) * (x - 5.001) < 0, 1000, 0)),
            start={"x": 0.0, "x_dot": 1.0}, until=10.0, truth=lambda: crossing(1000.0, 0.001)),
    _window("of place at the top", pose=lambda: oscillator(
                lambda q: ca.if_else(q.x > 0.99999, -20, 0)),
            until=12.0, truth=bouncing_window(0.99999), condition=100.0, exact=1e-8),
    _window("of a product of states", pose=two, until=12.0, truth=two_truth, condition=1000.0,
            start={"x": 1.0, "z": 0.0, "y": 0.0, "x_dot": 0.0, "z_dot": 1.0, "y_dot": 0.0},
            exact=1e-10),
    _window("in a constraint", pose=stepped_floor, until=10.0,
            # The velocity is projected where the line turns: to 1/10 of its part along x.
            start={"x": 0.0, "y": 0.0, "x_dot": 1.0}, truth=lambda: {"x": 5.5, "y": 0.03}),
    _window("beside an event", pose=own_reset, until=30.0, condition=3.0,
            truth=windowed([(20.0, 20.005, 100.0), (20.005, 20.01, -100.0)], 30.0)),
    # Of the width, 5 m are known to 4e-7; so is the work.
    _window("of place, 1e-9 m, by events", pose=own_window, start={"x": 0.0, "x_dot": 1.0},
            until=10.0, truth=lambda: {"x_dot": math.sqrt(1.2)}, exact=2e-6),
    _window("in an integral", pose=output_in_window, until=30.0,
            start={**OSCILLATING, "s": 0.0}, truth=lambda: {"s": 1.0}),
    _window("in a mass, of time", pose=in_mass, until=10.0, start={"x": 0.0, "x_dot": 1.0},
            truth=lambda: {"x_dot": 1.0, "x": 5 + 0.01 / 100 + 4.99}),
    _kink("fabs of a state", pose=lambda: oscillator(lambda q: -0.1 * ca.fabs(q.x)),
          truth=split(lambda t, x, on: (x[1], -x[0] - 0.1 * (x[0] if on[0] else -x[0])),
                      [lambda t, x: x[0]], (1.0, 0.0), 12.0), condition=10.0),
    _kink("fmin of a state", pose=lambda: oscillator(lambda q: -50 * ca.fmax(0, q.x)),
          truth=split(unilateral, [lambda t, x: x[0]], (1.0, 0.0), 12.0), condition=30.0),
    _kink("square root of a square", pose=lambda: oscillator(
              lambda q: -50 * (q.x + ca.sqrt(q.x**2)) / 2),
          truth=split(unilateral, [lambda t, x: x[0]], (1.0, 0.0), 12.0), condition=30.0),
    _kink("power of a square", pose=lambda: oscillator(
              lambda q: -50 * (q.x + (q.x**2) ** 0.5) / 2),
          truth=split(unilateral, [lambda t, x: x[0]], (1.0, 0.0), 12.0), condition=30.0),
    _kink("sign of a speed", pose=lambda: oscillator(lambda q: -0.01 * ca.sign(q.dot.x)),
          truth=split(dry, [lambda t, x: x[1]], (1.0, 0.0), 12.0), condition=10.0),
    _kink("x / |x| of a speed", pose=lambda: oscillator(
              lambda q: -0.01 * q.dot.x / ca.sqrt(q.dot.x**2 + 1e-30)),
          truth=split(dry, [lambda t, x: x[1]], (1.0, 0.0), 12.0), condition=10.0),
    _kink("copysign", pose=lambda: oscillator(lambda q: -ca.copysign(0.01, q.dot.x)),
          truth=split(dry, [lambda t, x: x[1]], (1.0, 0.0), 12.0), condition=10.0),
    _kink("atan2 of a speed", pose=lambda: oscillator(
              lambda q: -0.02 / math.pi * ca.atan2(0 * q.x, -q.dot.x)
              + 0.0),
          truth=split(lambda t, x, on: (x[1], -x[0] - (0.02 if on[0] else 0.0)),
                      [lambda t, x: x[1]], (1.0, 0.0), 12.0), condition=10.0),
    _kink("arc sine of sine", pose=lambda: oscillator(lambda q: 0.3 * ca.asin(ca.sin(T))),
          truth=split(lambda t, x, on: (x[1], -x[0] + 0.3 * math.asin(math.sin(t))),
                      [lambda t, x: math.cos(t)], (1.0, 0.0), 12.0), exact=1e-9, condition=10.0),
    _kink("|x|^1.5", pose=lambda: oscillator(
              lambda q: 0.0, lambda q: q.x**2 / 2 + 4 * ca.fmax(0, -q.x) ** 2.5),
          truth=split(lambda t, x, on: (x[1], -x[0] + 10 * max(0.0, -x[0]) ** 1.5),
                      [lambda t, x: x[0]], (1.0, 0.0), 12.0, 0.05), exact=1e-7, condition=30.0),
    _kink("floor of a state", pose=lambda: oscillator(lambda q: 0.05 * ca.floor(4 * q.x)),
          truth=split(
              lambda t, x, on: (x[1], -x[0] + 0.05 * (sum(on) - 5)),
              [lambda t, x, k=k: 4 * x[0] - k for k in range(-4, 6)], (1.1, 0.0), 12.0, 0.1),
          start={"x": 1.1, "x_dot": 0.0}, condition=10.0),
]  # fmt: skip

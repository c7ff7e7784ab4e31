"""What happens at instants: guards that graze, contacts that touch, surfaces that move."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
from scipy.optimize import brentq

import daesolve as ds

from .case import EXPLICIT, Case, Values

T = ds.time
GRAVITY = 10.0


def watched(guard: Callable[[Any], Any], then: ds.Action | None = None, **more: Any):
    """An oscillator x = sin t with a guard."""
    q, d = ds.coordinates(x="m"), ds.discrete(seen=0.0)
    action = ds.Reset({"seen": d.seen + 1}) if then is None else then
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        discrete=d,
        events=[ds.Event("seen", guard(q), ds.EITHER, action)],
        **more,
    )


def thrown(depth: float) -> ds.MechanicalSystem:
    """A ball thrown up: it passes a mark that lies so much below its top twice."""
    q = ds.coordinates(y="m")
    mark = ds.Event("seen", q.y - (5 - depth))
    return ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=GRAVITY * q.y, events=[mark])


def two_axes() -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", z="m")
    mark = ds.Event("seen", q.x * q.z - (0.5 - 1e-9))
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.z**2) / 2,
        potential=(q.x**2 + q.z**2) / 2,
        events=[mark],
    )


SINE = {"x": 0.0, "x_dot": 1.0}
_graze = partial(Case, of="grazing twice in a step", start=SINE)


def seen(count: float) -> Callable[[], Values]:
    return lambda: {"count seen": count}


_flat = partial(Case, of="zeros without a slope", start=SINE, until=20.0)
FLAT: dict[str, Callable[[Any], Any]] = {
    "cube": lambda u: u**3,
    "fifth power": lambda u: u**5,
    "u - sin u": lambda u: u - ca.sin(u),
    "cube within a tanh": lambda u: ca.tanh(50 * u**3),
}


def walled(guard: Callable[[Any], Any], then: ds.Action | None = None) -> ds.MechanicalSystem:
    """An oscillator before a wall that throws it back."""
    q = ds.coordinates(x="m")
    back = ds.Reset({"x_dot": -q.dot.x}) if then is None else then
    wall = ds.Event("wall", guard(q.x - 0.5), ds.RISING, back)
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, events=[wall])


def thrown_back() -> Values:
    """From pi / 6 on, each 4 pi / 3 the phase of the sine goes from pi / 6 to 5 pi / 6."""
    since = (20.0 - math.pi / 6) % (4 * math.pi / 3)
    return {name: wave(5 * math.pi / 6 + since) for name, wave in
            (("x", math.sin), ("x_dot", math.cos))}  # fmt: skip


ZEROS = [
    *[
        _flat(f"{name}, reset", pose=lambda form=form: walled(form), truth=thrown_back)
        for name, form in FLAT.items()
    ],
    *[
        _flat(f"{name}, stop", pose=lambda form=form: walled(form, ds.Stop()),
              truth=lambda: {"end_time": math.pi / 6}, exact=1e-12)
        for name, form in FLAT.items()
    ],
]  # fmt: skip

GRAZING = [
    _graze("sine of time", pose=lambda: watched(lambda q: ca.sin(T) - (1 - 1e-9), ds.Record()),
           until=100.0, truth=seen(32.0)),
    _graze("sine of time, reset", pose=lambda: watched(lambda q: ca.sin(T) - (1 - 1e-9)),
           until=100.0, truth=seen(32.0)),
    _graze("oscillator", pose=lambda: watched(lambda q: q.x - (1 - 1e-8), ds.Record()),
           until=50.0, truth=seen(16.0), condition=10.0),
    _graze("oscillator, reset", pose=lambda: watched(lambda q: q.x - (1 - 1e-8)),
           until=50.0, truth=seen(16.0), condition=10.0),
    _graze("parabola of time", until=20.0, truth=seen(2.0),
           pose=lambda: watched(lambda q: (T - 7.3) ** 2 - 1e-10, ds.Record())),
    _graze("parabola of time, 1e-8 s", until=20.0, truth=seen(2.0),
           pose=lambda: watched(lambda q: (T - 7.3) ** 2 - 2.5e-17, ds.Record())),
    _graze("stop", until=50.0, truth=lambda: {"end_time": math.asin(1 - 1e-9)}, exact=1e-10,
           pose=lambda: watched(lambda q: ca.sin(T) - (1 - 1e-9), ds.Stop())),
    _graze("stop, oscillator", until=50.0, truth=lambda: {"end_time": math.asin(1 - 1e-9)},
           exact=1e-6, pose=lambda: watched(lambda q: q.x - (1 - 1e-9), ds.Stop()),
           only=EXPLICIT[:-1]),  # the last is not so accurate, and finds none
    _graze("thrown", pose=lambda: thrown(1e-9), start={"y": 0.0, "y_dot": 10.0}, until=1.9,
           truth=seen(2.0)),
    _graze("product", pose=two_axes, until=50.0, condition=10.0,
           start={"x": 0.0, "z": 1.0, "x_dot": 1.0, "z_dot": 0.0}, truth=seen(32.0)),
]  # fmt: skip

# -- contacts that touch --------------------------------------------------------------------------


def row(
    count: int, restitution: float, touching: bool = True, wall: bool = False
) -> ds.MechanicalSystem:
    """Balls of 1 kg in a row."""
    names = [f"x_{k}" for k in range(count)]
    q = ds.coordinates(**dict.fromkeys(names, "m"))
    goals: list[Any] = [
        ds.Contact(
            f"pair_{k}",
            q[names[k + 1]] - q[names[k]] - 1,
            restitution=restitution,
            closed=touching and k > 0,
        )
        for k in range(count - 1)
    ]
    if wall:
        goals.append(
            ds.Contact("wall", 10 - q[names[-1]], restitution=restitution, closed=touching)
        )
    kinetic = sum(q.dot[name] ** 2 for name in names) / 2
    return ds.MechanicalSystem(
        q,
        kinetic=kinetic,
        goals=goals,
        outputs={
            "momentum": sum(q.dot[name] for name in names),
            "lost": ca.fmax(0, kinetic - 0.5 - 1e-9),
        },
    )


def row_start(count: int, wall: bool = False) -> Values:
    shift = 10.0 - (count - 1) if wall else 1.0
    places = {f"x_{k}": shift + k for k in range(count)}
    places["x_0"] = -0.2 + (shift - 1.0 if wall else 0.0)
    rates = {f"x_dot_{k}": 0.0 for k in range(count)} | {"x_dot_0": 1.0}
    return places | rates


def together(count: int) -> Values:
    """All stay together, with what is left of the speed."""
    return {f"x_dot_{k}": 1 / count for k in range(count)}


def beam(restitution: float) -> ds.MechanicalSystem:
    """A rod that falls flat upon two supports."""
    q = ds.coordinates(y="m", angle="rad")
    goals = [
        ds.Contact(n, q.y + side * ca.sin(q.angle), restitution=restitution, closed=False)
        for n, side in (("left", -0.5), ("right", 0.5))
    ]
    return ds.MechanicalSystem(
        q, kinetic=q.dot.y**2 / 2 + q.dot.angle**2 / 24, potential=10 * q.y, goals=goals
    )


_touch = partial(Case, of="touching contacts", exact=1e-9)
TOUCHING = [
    *[
        _touch(f"{count} balls, e = {e:g}", pose=lambda count=count, e=e: row(count, e),
               start=row_start(count), until=3.0,
               truth=lambda count=count, e=e: {"momentum": 1.0, "lost": 0.0}
               | (together(count) if e == 0 else {}))
        for count, e in ((3, 0.0), (3, 0.5), (3, 1.0), (4, 0.0), (4, 1.0), (5, 0.5))
    ],
    *[
        _touch(f"3 balls declared open, e = {e:g}", pose=lambda e=e: row(3, e, touching=False),
               start=row_start(3), until=3.0, truth=lambda: {"momentum": 1.0, "lost": 0.0})
        for e in (0.0, 0.5, 1.0)
    ],
    *[
        _touch(f"2 balls before a wall, e = {e:g}", pose=lambda e=e: row(3, e, wall=True),
               start=row_start(3, wall=True), until=9.0, truth=lambda: {"lost": 0.0})
        for e in (0.0, 0.5)
    ],
    *[
        _touch(f"rod on two supports, e = {e:g}", pose=lambda e=e: beam(e), until=0.9,
               start={"y": 0.8, "angle": 0.0, "y_dot": 0.0, "angle_dot": 0.0},
               truth=lambda e=e: {"angle": 0.0, "y": e * 4 * 0.5 - 5 * 0.25 if e else 0.0})
        for e in (0.0, 0.9)
    ],
]  # fmt: skip


# -- surfaces that move ---------------------------------------------------------------------------


def shaken(cam: Callable[[Any, Any], Any], restitution: float, closed: bool):
    q = ds.coordinates(x="m")
    table = ds.Contact("table", q.x - cam(ca, T), restitution=restitution, closed=closed)
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=GRAVITY * q.x, goals=[table])


def shaken_relative(cam: Callable[[Any, Any], Any], restitution: float, closed: bool):
    """The same in y = x - cam."""
    q = ds.coordinates(y="m")
    symbol = T
    speed = ca.gradient(cam(ca, symbol), symbol)
    table = ds.Contact("table", q.y, restitution=restitution, closed=closed)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.y + speed) ** 2 / 2,
        potential=GRAVITY * (q.y + cam(ca, symbol)),
        goals=[table],
    )


def rates_of(cam: Callable[[Any, Any], Any]) -> list[Callable[[float], float]]:
    t = ca.SX.sym("t")  # pyright: ignore[reportArgumentType]
    expression, found = cam(ca, t), list[Callable[[float], float]]()
    for _ in range(3):
        function = ca.Function("f", [t], [expression])
        found.append(lambda s, function=function: float(function(s)))
        expression = ca.gradient(expression, t)
    return found


def thrown_about(
    cam: Callable[[Any, Any], Any], restitution: float, height: float | None, until: float
) -> Values:
    """Go from flight to flight by roots of closed forms; None begins on the table."""
    place, speed, second = rates_of(cam)
    time, lost = 0.0, 0
    x, v = (height or 0.0) + place(0.0), 0.0 if height else speed(0.0)
    stuck = height is None
    while True:
        if stuck:
            grid = np.arange(time, until, 1e-3)
            pull = [second(float(s)) + GRAVITY for s in grid]
            leave = next((k for k in range(len(grid)) if pull[k] < 0), None)
            if leave is None:
                return {"x": place(until), "x_dot": speed(until), "count table_lost": float(lost)}
            if leave:
                time = brentq(
                    lambda s: second(s) + GRAVITY,
                    float(grid[leave - 1]),
                    float(grid[leave]),
                    xtol=1e-15,
                )
            x, v, stuck, lost = place(time), speed(time), False, lost + 1

        def gap(s: float, time: float = time, x: float = x, v: float = v) -> float:
            return x + v * (s - time) - GRAVITY * (s - time) ** 2 / 2 - place(s)

        grid = np.arange(time + 1e-4, until, 5e-4)
        gaps = [gap(float(s)) for s in grid]
        hit = next((k for k in range(1, len(grid)) if gaps[k] < 0), None)
        if hit is None:
            rest = until - time
            return {
                "x": x + v * rest - GRAVITY * rest**2 / 2,
                "x_dot": v - GRAVITY * rest,
                "count table_lost": float(lost),
            }
        met = brentq(gap, float(grid[hit - 1]), float(grid[hit]), xtol=1e-15)
        v -= GRAVITY * (met - time)
        time, x = met, place(met)
        v = speed(time) - restitution * (v - speed(time))
        stuck = abs(v - speed(time)) < 1e-9 and second(time) > -GRAVITY


CAMS: dict[str, Callable[[Any, Any], Any]] = {
    "sine": lambda m, t: 0.1 * m.sin(12 * t),
    "cosine": lambda m, t: 0.05 * m.cos(17 * t),
    "two sines": lambda m, t: 0.08 * m.sin(9 * t) + 0.03 * m.sin(23 * t),
    "slow sine": lambda m, t: 2.0 * m.sin(2.5 * t),
}


def moving_case(name: str, posed: str, restitution: float, height: float | None, until: float):
    cam, make = CAMS[name], shaken if posed == "x" else shaken_relative
    place, speed, _ = rates_of(cam)
    start = {"x": (height or 0.0) + place(0.0), "x_dot": 0.0 if height else speed(0.0)}
    if posed == "y":
        start = {"y": height or 0.0, "y_dot": -speed(0.0) if height else 0.0}

    def truth() -> Values:
        found = dict(thrown_about(cam, restitution, height, until))
        if posed == "y":
            found |= {
                "y": found.pop("x") - place(until),
                "y_dot": found.pop("x_dot") - speed(until),
            }
        return found

    return Case(
        f"{name} in {posed}, e = {restitution:g}, {'from above' if height else 'from the table'}",
        "contact of a moving surface",
        lambda: make(cam, restitution, height is None),
        start,
        until,
        truth,
        condition=1e3,
        exact=1e-8,
    )


MOVING = [
    *[
        moving_case(name, posed, 0.0, None, 1.6 if name != "slow sine" else 4.0)
        for name in CAMS
        for posed in ("x", "y")
    ],
    moving_case("sine", "x", 0.5, 0.7, 0.55),
    moving_case("slow sine", "x", 0.3, 1.0, 1.5),
    moving_case("two sines", "x", 0.0, 0.5, 1.5),
    moving_case("two sines", "y", 0.0, 0.5, 1.5),
]


# -- what is imposed at an instant ----------------------------------------------------------------


def braked(held: bool, spring: float, goal: str = "x") -> ds.MechanicalSystem:
    """A mass is stopped at t = 1 for an instant, or for good."""
    q, d = ds.coordinates(x="m", y="m"), ds.discrete(on=0.0)
    residual = q.dot.x if goal == "x" else q.dot.x + 2 * q.dot.y
    brake = ds.Nonholonomic("brake", residual, **({"held_by": "on"} if held else {}))
    reset = ds.Reset({"on": 1.0}, impose=["brake" if held else brake])
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=spring * (q.x - 1) ** 2 / 2,
        discrete=d,
        goals=[brake] if held else [],
        events=[ds.Event("stop", T - 1, ds.RISING, reset)],
    )


def rail(kind: str) -> ds.MechanicalSystem:
    """A bead on a rail as y(x), which has no slope at its end."""
    q = ds.coordinates(x="m", y="m")
    height = {
        "quarter of a circle": lambda: 1 - ca.sqrt(1 - q.x**2),
        "root": lambda: -ca.sqrt(q.x),
        "cube root": lambda: -(q.x ** (1 / 3)),
    }[kind]()
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=GRAVITY * q.y,
        goals=[ds.Holonomic("rail", q.y - height)],
    )


def stopping(guard: Callable[[Any], Any], potential: float = 0.0) -> ds.MechanicalSystem:
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=potential * q.x**2 / 2,
        events=[ds.Event("there", guard(q), ds.RISING, ds.Stop())],
        outputs={"twice": 2 * q.x},
    )


FLAT = {"x": 0.0, "y": 0.0, "x_dot": 1.0, "y_dot": 0.0}
_stuck = partial(Case, of="runs that never return", start=FLAT)
_last = partial(Case, of="the last sample", start={"x": 0.0, "x_dot": 1.0})
OTHERS = [
    _stuck("brake for an instant", pose=lambda: braked(False, 0.0), until=5.0,
           truth=lambda: {"x": 1.0, "x_dot": 0.0}),
    _stuck("brake for good", pose=lambda: braked(True, 0.0), until=5.0,
           truth=lambda: {"x": 1.0, "x_dot": 0.0}),
    _stuck("brake on a spring, for an instant", pose=lambda: braked(False, 4.0), until=5.0,
           start={"x": 1.0, "y": 0.0, "x_dot": 1.0, "y_dot": 0.0},
           truth=lambda: {"x": 1 + math.sin(2.0) / 2 * math.cos(8.0)}, condition=10.0),
    _stuck("brake aslant", pose=lambda: braked(True, 0.0, "both"), until=5.0,
           truth=lambda: {"x": 1 + 0.8 * 4, "y": -0.4 * 4, "x_dot": 0.8, "y_dot": -0.4}),
    *[
        _stuck(f"rail with a vertical end, {kind}", pose=lambda kind=kind: rail(kind), until=5.0,
               start=start, truth=dict)
        for kind, start in (
            ("quarter of a circle", {"x": 0.0, "y": 0.0, "x_dot": 6.0}),
            ("root", {"x": 1.0, "y": -1.0, "x_dot": -5.0}),
            ("cube root", {"x": 1.0, "y": -1.0, "x_dot": -5.0}),
        )
    ],
    _last("a stop", pose=lambda: stopping(lambda q: q.x - 3.3), until=10.0,
          truth=lambda: {"end_time": 3.3, "last x": 3.3, "last t": 3.3, "last twice": 6.6}),
    _last("a stop of time", pose=lambda: stopping(lambda q: T - 3.3), until=10.0,
          truth=lambda: {"end_time": 3.3, "last x": 3.3, "last t": 3.3}),
    _last("even samples that do not meet the end", pose=lambda: stopping(lambda q: T - 99),
          until=10.0, options={"at": ds.every(3.0)},
          truth=lambda: {"last x": 10.0, "last t": 10.0}),
    _last("own samples", pose=lambda: stopping(lambda q: q.x - 5.5), until=10.0,
          options={"at": None}, truth=lambda: {"last x": 5.5, "last t": 5.5}),
    _last("a stop before the first sample", pose=lambda: stopping(lambda q: q.x - 0.25, 1.0),
          until=10.0, options={"at": ds.every(5.0)},
          truth=lambda: {"last x": 0.25, "last t": math.asin(0.25)}),
]  # fmt: skip
CASES = [*GRAZING, *ZEROS, *TOUCHING, *MOVING, *OTHERS]

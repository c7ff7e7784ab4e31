"""The motions by daesolve, by Gauss's method and by RATTLE, against exact references."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from benchmarks.common.timing import processor_seconds
from daesolve.core.run.integration.watches.step_statistics import BINS_PER_DECADE, growth
from tests.reference.pendulum import pendulum_states
from tests.reference.rolling_wheel import hoop_states

from . import gauss, rattle, skate

in_minimal: Any = gauss  # numba functions have no types
in_cartesian: Any = rattle
GRAVITY, RADIUS, A, B = 9.81, 0.01, 0.13, 0.5
LAST = 4
"""Number of positions compared over the last second; at rest they would hardly show time errors."""
LOOKS = 10
"""Energies per time bin over which the growth is fitted, for methods with fixed steps."""
METHODS = ("daesolve", "daesolve, energy measured", "Gauss 16", "RATTLE 8")
STEPS: Mapping[str, tuple[float, ...]] = {
    "Gauss 16": (1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128),
    "RATTLE 8": (1 / 16, 1 / 32, 1 / 64, 1 / 128),
}
"""Fixed steps, s: powers of two, so that time is free of rounding."""


@dataclass(frozen=True)
class Measurement:
    """One run.

    Parameters
    ----------
    motion, method, step, until
        The motion, the method, its step (0: chosen by the method), s, and the horizon, s.
    seconds
        Processor seconds without compilation.
    error
        The largest distance from the exact position over the last second, m.
    energy, exponent
        The largest error of the energy over the scale of the energy, and its growth exponent over
        the last two decades of time; None at the level of rounding. With fixed steps, both come
        from these decades alone, and the scale is the largest kinetic energy seen.
    """

    motion: str
    method: str
    step: float
    until: float
    seconds: float
    error: float
    energy: float
    exponent: float | None


@dataclass(frozen=True)
class Seen:
    """Positions of a motion, m, and its energies, J."""

    place: np.ndarray
    kinetic: float
    potential: float


@dataclass(frozen=True)
class Run:
    """A run's results: as in `Measurement`, with the positions of the last second, (LAST, n)."""

    seconds: float
    places: np.ndarray
    energy: float
    exponent: float | None


def pendulum() -> ds.MechanicalSystem:
    """Pose a point on a rod."""
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=GRAVITY * q.y, goals=[rod])


def rotor_and_skate() -> ds.MechanicalSystem:
    """Pose a skate on springs whose heading is turned by an uneven rotor."""
    q = ds.coordinates(x=ds.ANGLE, y="m", z="m")
    blade = ds.Nonholonomic("blade", ca.cos(q.x) * q.dot.z - ca.sin(q.x) * q.dot.y)
    uneven = ca.cos(q.x) + skate.ASYMMETRY * ca.sin(2 * q.x)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        potential=uneven + (q.y**2 + q.z**2) / 2,
        goals=[blade],
    )


def moments(until: float) -> np.ndarray:
    """Return the compared times."""
    return until - np.arange(LAST)[::-1] / LAST


@cache
def exact(motion: str, until: float) -> np.ndarray:
    """Return the exact positions, (LAST, 2), or the abscissa of the contact, (LAST, 1)."""
    times = moments(until)
    if motion == "pendulum":
        known = pendulum_states(times, 1.0, 0.0)
        return np.column_stack([known["x"], known["y"]])
    if motion == "hoop":
        start = ds.problem("rolling-wheel").case("hoop").full_start
        known = hoop_states(times, start["contact_x"], start["speed"])
        return known["contact_x"][:, None]
    return np.array([place[1:] for place in skate.states(list(times))])


def by_daesolve(motion: str, until: float, measured: bool) -> Run:
    """Run with daesolve's defaults."""
    options: dict[str, Any] = {"at": moments(until)}
    if measured:
        options["formulation"] = ds.Feedback(rates={"energy": None})

    def run() -> ds.Trajectory:
        if motion == "pendulum":
            start = {"x": 1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}
            return ds.solve(pendulum(), until, start, **options)
        if motion == "hoop":
            return ds.problem("rolling-wheel").case("hoop").solve(until, **options)
        names = ("x", "x_dot", "y", "z", "y_dot")
        start = dict(zip(names, skate.START, strict=True)) | {"z_dot": 0.0}
        return ds.solve(rotor_and_skate(), until, start, **options)

    seconds, found = processor_seconds(run)
    names = {"pendulum": ("x", "y"), "hoop": ("contact_x",), "skate": ("y", "z")}[motion]
    places = np.column_stack([found[name][-LAST:] for name in names])
    energy = found.drift["energy"]
    worked = seconds - found.statistics.compile_seconds
    return Run(worked, places, energy.max_relative, energy.growth_exponent)


Walk = Callable[[int], Seen]
"""A function that takes steps and returns the state that they reach."""


def by_gauss(motion: str, step: float) -> Walk:
    """Return a function that takes steps in minimal coordinates."""
    m, b = gauss.coefficients()
    if motion == "pendulum":
        rates, numbers = in_minimal.pendulum, np.array([GRAVITY])
        x = np.array([math.pi / 2, 0.0])
        low = np.array([6.123233995736766e-17, 0.0])  # the part of pi / 2 beyond a double
    elif motion == "hoop":
        rates, numbers = in_minimal.hoop, np.array([GRAVITY, RADIUS, A, B])
        start = ds.problem("rolling-wheel").case("hoop").full_start
        x = np.array([start["contact_x"], start["speed"]])
        low = np.zeros(2)
    else:
        rates, numbers = in_minimal.skate, np.array([skate.ASYMMETRY])
        x = np.array(skate.START)
        low = np.zeros(5)

    def walk(steps: int) -> Seen:
        in_minimal.advance(rates, numbers, m, b, step, steps, x, low)
        if motion == "pendulum":
            place = np.array([math.sin(x[0]), -math.cos(x[0])])
            return Seen(place, x[1] ** 2 / 2, GRAVITY * place[1])
        if motion == "hoop":
            return Seen(x[:1].copy(), x[1] ** 2, GRAVITY * height(x[0]))
        return Seen(x[2:4].copy(), (x[1] ** 2 + x[4] ** 2) / 2, tension(*x[[0, 2, 3]]))

    return walk


def by_rattle(motion: str, step: float) -> Walk:
    """Return a function that takes steps in Cartesian coordinates."""
    if motion == "pendulum":
        method, numbers = in_cartesian.pendulum, np.array([GRAVITY])
        q, v = np.array([1.0, 0.0]), np.zeros(2)
    elif motion == "hoop":
        case = ds.problem("rolling-wheel").case("hoop")
        start = case.full_start
        known = hoop_states([0.0], start["contact_x"], start["speed"])
        q, v = (
            np.array([known[n][0] for n in names]) for names in (("x", "z"), ("x_dot", "z_dot"))
        )
        method, numbers = in_cartesian.hoop, np.array([GRAVITY, RADIUS, A, B, start["contact_x"]])
    else:
        method, numbers = in_cartesian.skate, np.array([skate.ASYMMETRY])
        x, turning, y, z, speed = skate.START
        q, v = np.array([x, y, z]), np.array([turning, speed, 0.0])
    q, v = np.vstack([q, 0 * q]), np.vstack([v, 0 * v])
    parts = rattle.composition()

    def walk(steps: int) -> Seen:
        in_cartesian.advance(method, numbers, parts, step, steps, q, v)
        kinetic = float(v[0] @ v[0]) / 2
        if motion == "pendulum":
            return Seen(q[0].copy(), kinetic, GRAVITY * q[0, 1])
        if motion == "hoop":  # rolling doubles it: rotation has the same energy
            return Seen(numbers[4:].copy(), 2 * kinetic, GRAVITY * q[0, 1])
        return Seen(q[0, 1:].copy(), kinetic, tension(*q[0]))

    return walk


def height(contact: float) -> float:
    """Return the height of the hoop's centre, m, at the abscissa of its contact."""
    ground = (((contact + A) * contact - B) * contact - A) * contact - (1.0 - B)
    slope = ((4.0 * contact + 3.0 * A) * contact - 2.0 * B) * contact - A
    return ground + RADIUS / math.sqrt(1.0 + slope**2)


def tension(x: float, y: float, z: float) -> float:
    """Return the potential energy of rotor and skate, J."""
    return math.cos(x) + skate.ASYMMETRY * math.sin(2 * x) + (y**2 + z**2) / 2


MOTIONS = ("pendulum", "hoop", "skate")


def by_steps(method: str, motion: str, step: float, until: float) -> Run:
    """Run a method with fixed steps."""
    make = by_gauss if method == "Gauss 16" else by_rattle
    make(motion, step)(1)  # compiles
    places = np.arange(2 * BINS_PER_DECADE * LOOKS)
    looks = until * 10.0 ** ((places + 0.5) / (BINS_PER_DECADE * LOOKS) - 2)
    ends = sorted({round(time / step) for time in (*looks, *moments(until))})

    def run() -> list[Seen]:
        walk = make(motion, step)
        return [walk(steps) for steps in np.diff([0, 0, *ends]).tolist()]

    seconds, (first, *found) = processor_seconds(run)
    last = {end: seen.place for end, seen in zip(ends, found, strict=True)}
    at = np.array([last[round(time / step)] for time in moments(until)])
    scale = max(seen.kinetic for seen in found)
    begin = first.kinetic + first.potential
    off = np.array([seen.kinetic + seen.potential - begin for seen in found]) / scale
    times = step * np.array(ends)
    bins = np.floor(np.log10(times) * BINS_PER_DECADE)
    parts = [(times[bins == one], off[bins == one]) for one in np.unique(bins)]
    middles = np.array([float(np.mean(when)) for when, _ in parts])
    sizes = np.array([math.sqrt(np.mean(some**2)) for _, some in parts])
    return Run(seconds, at, float(np.max(abs(off))), growth(middles, sizes))


def measured(
    motion: str, method: str, horizons: list[float], patience: float
) -> Iterator[Measurement]:
    """Measure a method with all its steps; skip longer horizons that exceed the patience, s."""
    for step in STEPS.get(method, (0.0,)):
        rate = 0.0
        for until in sorted(horizons):
            if rate * until > patience:
                break
            if step:
                run = by_steps(method, motion, step, until)
            else:
                run = by_daesolve(motion, until, method != METHODS[0])
            rate = run.seconds / until
            off = float(np.max(np.linalg.norm(run.places - exact(motion, until), axis=1)))
            figures = (run.seconds, off, run.energy, run.exponent)
            yield Measurement(motion, method, step, until, *figures)

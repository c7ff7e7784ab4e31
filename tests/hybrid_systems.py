"""Systems with resets and impacts whose motion is known in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from scipy.special import ellipk

import daesolve as ds

GRAVITY = 9.81


def bouncing_ball(**more: Any) -> ds.MechanicalSystem:
    """A ball on a floor, which is imposed for the instant with restitution e."""
    q = ds.coordinates(y="m")
    p = ds.parameters(mass=(2.0, "kg"), gravity=(GRAVITY, "m/s^2"), restitution=0.9)
    events = [
        ds.Event(
            "bounce",
            q.y,
            ds.FALLING,
            ds.Reset(impose=[ds.Holonomic("floor", q.y)], restitution=p.restitution),
        )
    ]
    events += more.pop("events", lambda q, p: [])(q, p)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * q.dot.y**2 / 2,
        potential=p.mass * p.gravity * q.y,
        events=events,
        **more,
    )


def bounces(restitution: float, height: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Times of the bounces of a ball that is dropped, and the speeds after them.

    Between bounces k and k + 1 it flies 2 v_k / g, v_k = e^k sqrt(2 g h).
    """
    speeds = math.sqrt(2.0 * GRAVITY * height) * restitution ** np.arange(count + 1)
    flights = 2.0 * speeds / GRAVITY
    flights[0] /= 2.0
    return np.cumsum(flights[:-1]), speeds[1:]


def shaken_ball(**more: Any) -> ds.MechanicalSystem:
    """A ball on a floor at `amplitude` sin(`frequency` t)."""
    q = ds.coordinates(y="m")
    p = ds.parameters(amplitude=(0.05, "m"), frequency=(9.0, "rad/s"), restitution=0.8)
    gap = q.y - p.amplitude * ca.sin(p.frequency * ds.time)
    floor = ds.Holonomic("floor", gap)
    bounce = ds.Event(
        "bounce", gap, ds.FALLING, ds.Reset(impose=[floor], restitution=p.restitution)
    )
    return ds.MechanicalSystem(
        q, p, kinetic=3.0 * q.dot.y**2 / 2, potential=3.0 * GRAVITY * q.y, events=[bounce], **more
    )


def balls_on_a_line(
    masses: Sequence[float], restitution: float, order: str = "simultaneous"
) -> ds.MechanicalSystem:
    """Points on a line without forces; where two of them meet, `hit_k` throws them apart."""
    q = ds.coordinates(**{f"x_{k}": "m" for k in range(1, len(masses) + 1)})
    events = [
        ds.Event(
            f"hit_{k}",
            right - left,
            ds.FALLING,
            ds.Reset(
                impose=[ds.Holonomic(f"touch_{k}", right - left)],
                restitution=restitution,
                order=order,  # type: ignore[arg-type]
            ),
        )
        for k, (left, right) in enumerate(pairwise(q[name] for name in q), start=1)
    ]
    kinetic = sum(m * q.dot[n] ** 2 / 2 for m, n in zip(masses, q, strict=True))
    return ds.MechanicalSystem(q, kinetic=kinetic, events=events)


PEG = 0.6
"""m below the pivot."""


def peg_pendulum(**more: Any) -> ds.MechanicalSystem:
    """A pendulum of 1 m whose string meets a peg `PEG` below the pivot where it hangs straight.

    The mode `caught` shortens it while it swings on the other side.
    """
    q = ds.coordinates(x="m", y="m")
    d = ds.discrete(pivot=0.0, length=1.0)
    string = ds.Holonomic("string", q.x**2 + (q.y + d.pivot) ** 2 - d.length**2)
    caught = ds.Reset({"pivot": PEG, "length": 1.0 - PEG}, impose=["string"])
    freed = ds.Reset({"pivot": 0.0, "length": 1.0}, impose=["string"])
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=GRAVITY * q.y,
        goals=[string],
        discrete=d,
        events=[
            ds.Event("caught", q.x, ds.FALLING, caught),
            ds.Event("freed", q.x, ds.RISING, freed),
        ],
        **more,
    )


def peg_times(angle: float, count: int) -> np.ndarray:
    """Times at which the string of a pendulum released at `angle` to the right hangs straight.

    A quarter, then half a swing about the peg and half a swing about the pivot in turn; about the
    peg it rises to the same height. K(sin(angle / 2)) sqrt(l / g) is a quarter of a swing.
    """
    height = 1.0 - math.cos(angle)
    long = ellipk(height / 2.0) * math.sqrt(1.0 / GRAVITY)
    short = ellipk(height / (2.0 * (1.0 - PEG))) * math.sqrt((1.0 - PEG) / GRAVITY)
    return np.cumsum([long, *([2.0 * short, 2.0 * long] * count)[: count - 1]])


def latched_particle(**more: Any) -> ds.MechanicalSystem:
    """A free particle that a rod about the origin catches where x passes zero from the left.

    While `latched` is zero the goal holds `idle`, a coordinate of no account, in the rod's place.
    """
    q = ds.coordinates(x="m", y="m", idle="m")
    d = ds.discrete(latched=0.0, length=1.0)
    rod = q.x**2 + q.y**2 - d.length**2
    circle = ds.Holonomic("circle", d.latched * rod + (1.0 - d.latched) * q.idle)
    caught = ds.Reset(
        {"latched": 1.0, "length": ca.sqrt(q.x**2 + q.y**2)},
        impose=["circle"],
    )
    return ds.MechanicalSystem(
        q,
        kinetic=2.0 * (q.dot.x**2 + q.dot.y**2) / 2 + q.dot.idle**2 / 2,
        goals=[circle],
        discrete=d,
        events=[ds.Event("caught", q.x * (1.0 - d.latched) - d.latched, ds.RISING, caught)],
        **more,
    )


SPOKES = math.pi / 8.0
"""Half the angle between spokes, rad."""
SLOPE = 0.08
"""rad"""


def rimless_wheel(**more: Any) -> ds.MechanicalSystem:
    """A point mass on massless spokes of 1 m that walks down a slope (T. McGeer, 1990).

    x points down the slope, y away from it; `foot` is where it stands, `spoke` counts.
    """
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(slope=(SLOPE, "rad"))
    d = ds.discrete(foot=0.0, spoke=0.0)
    ahead = 2.0 * math.sin(SPOKES)
    leg = ds.Holonomic("leg", (q.x - d.foot) ** 2 + q.y**2 - 1.0)
    step = ds.Event(
        "step",
        q.x - d.foot - math.sin(SPOKES),
        ds.RISING,
        ds.Reset({"foot": d.foot + ahead, "spoke": d.spoke + 1.0}, impose=["leg"]),
    )
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=GRAVITY * (q.y * ca.cos(p.slope) - q.x * ca.sin(p.slope)),
        goals=[leg],
        discrete=d,
        events=[step],
        **more,
    )


def rimless_start(rate: float) -> dict[str, float]:
    """Just after a step, turning at `rate`."""
    return {
        "x": -math.sin(SPOKES),
        "y": math.cos(SPOKES),
        "x_dot": rate * math.cos(SPOKES),
        "y_dot": rate * math.sin(SPOKES),
    }


def rimless_rates(rate: float, count: int) -> np.ndarray:
    """Rates of turn after each step: the closed-form map of section.

    Over a step the hub falls 2 sin(SPOKES) sin(SLOPE); the impact leaves cos(2 SPOKES) of the rate.
    """
    found = []
    for _ in range(count):
        gained = 4.0 * GRAVITY * math.sin(SPOKES) * math.sin(SLOPE)
        rate = math.cos(2.0 * SPOKES) * math.sqrt(rate**2 + gained)
        found.append(rate)
    return np.array(found)


def rimless_times(rate: float, count: int) -> np.ndarray:
    """Times of the steps: the integral of 1 / (rate of turn) from spoke to spoke, by Gauss."""

    nodes, weights = np.polynomial.legendre.leggauss(40)
    fallen = math.cos(SLOPE - SPOKES) - np.cos(SLOPE + SPOKES * nodes)
    rates = [rate, *rimless_rates(rate, count - 1)]
    return np.cumsum(
        [SPOKES * weights @ (1.0 / np.sqrt(r**2 + 2.0 * GRAVITY * fallen)) for r in rates]
    )


def thermostat(low: float = 0.3, high: float = 0.7) -> ds.ControlSystem:
    """x' = heater - x, switched off above `high` and on below `low`: no mechanics, no goals."""
    x = ds.states(temperature="K")
    d = ds.discrete(heater=1.0)
    return ds.ControlSystem(
        x,
        rate=d.heater - x.vector,
        discrete=d,
        events=[
            ds.Event("off", x.temperature - high, ds.RISING, ds.Reset({"heater": 0.0})),
            ds.Event("on", x.temperature - low, ds.FALLING, ds.Reset({"heater": 1.0})),
        ],
    )

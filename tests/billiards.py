"""Points between walls that throw back all they meet, as systems with impacts."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

import daesolve as ds
from daesolve.core.posing.symbols import DifferentiableVector


def sinai_billiard(radius: float) -> ds.MechanicalSystem:
    """In the square |x|, |y| <= 1 m about a disc: chaotic."""
    q = ds.coordinates(x="m", y="m")
    disc = q.x**2 + q.y**2 - radius**2
    walls = {"right": 1 - q.x, "left": 1 + q.x, "top": 1 - q.y, "bottom": 1 + q.y, "disc": disc}
    return _between(q, walls)


def circular_billiard() -> ds.MechanicalSystem:
    """In a circle of 1 m: regular."""
    q = ds.coordinates(x="m", y="m")
    return _between(q, {"rim": 1 - q.x**2 - q.y**2})


def _between(q: DifferentiableVector, walls: Mapping[str, ca.SX]) -> ds.MechanicalSystem:
    events = [
        ds.Event(
            name,
            gap,
            ds.FALLING,
            ds.Reset(impose=[ds.Holonomic(f"{name}_wall", gap)], restitution=1.0),
        )
        for name, gap in walls.items()
    ]
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=0.0, events=events)

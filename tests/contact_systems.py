"""Systems on supports that can only push, which several test files share."""

from __future__ import annotations

from typing import Any

import casadi as ca

import daesolve as ds


def beam() -> ds.MechanicalSystem:
    """A thin rod of 1 m and 1 kg on two supports at its ends, loaded in its middle."""
    q = ds.coordinates(y="m", angle="rad")
    p = ds.parameters(force=(0.0, "N"), moment=(0.0, "N m"), fading=(0.0, "1/s"))
    ends = [
        ds.Contact(name, q.y + side * ca.sin(q.angle))
        for name, side in (("left", -0.5), ("right", 0.5))
    ]
    fading = 1.0 - p.fading * ds.time
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.y**2 / 2 + q.dot.angle**2 / 24,
        goals=ends,
        force={"y": p.force * fading, "angle": p.moment},
    )


def ball(**more: Any) -> ds.MechanicalSystem:
    """A ball of 1 kg over a floor, from which it bounces with half of its speed."""
    q = ds.coordinates(y="m")
    floor = ds.Contact("floor", q.y, restitution=0.5, **more)
    return ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=10.0 * q.y, goals=[floor])

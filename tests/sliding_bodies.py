"""Bodies on supports with closed forms, posed through the public API, that several tests share."""

from __future__ import annotations

import functools
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.contact.friction import Pad, Support, VariantPair

GRAVITY = 9.81
FRICTION = 0.3
RADIUS, INERTIA = 0.1, 0.005
"""Of the disc, m and kg m^2; it has 1 kg."""


def block(**more: Any) -> ds.MechanicalSystem:
    """A block on an incline, between a floor and a ceiling without play."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(
        mass=(2.0, "kg", ds.POSITIVE),
        gravity=(GRAVITY, "m/s^2"),
        slope=(0.2, "rad"),
        friction=(0.4, ""),
        push=(0.0, "N"),
        rate=(0.0, "N/s"),
        lift=(0.0, "N/s"),
        belt=(0.0, "m/s"),
    )
    friction = more.pop("friction", lambda q, p: p.friction)(q, p)
    velocity = (q.dot.x - p.belt, q.dot.y)
    carried = more.pop("carried", False)
    place: dict[str, Any] = {"velocity": velocity} if carried else {"point": (q.x, q.y)}
    weight = p.mass * p.gravity
    energies: dict[str, Any] = {"kinetic": p.mass * (q.dot.x**2 + q.dot.y**2) / 2}
    if more.pop("newton", False):
        energies = {"mass_matrix": p.mass * ca.SX.eye(2)}
    return ds.MechanicalSystem(
        q,
        p,
        **energies,
        force={
            "x": p.push + p.rate * ds.time - weight * ca.sin(p.slope),
            "y": p.lift * ds.time - weight * ca.cos(p.slope),
        },
        goals=[ds.Holonomic("floor", q.y, ideal=False, scale=1.0)],
        pairs=[
            VariantPair(
                "normal",
                [Support(normal=(0.0, side), friction=friction, **place) for side in (-1, 1)],
            )
        ],
        **more,
    )


def disc(*, pad: bool = True, carried: bool = False) -> ds.MechanicalSystem:
    """A disc that slides and spins on a table, on a pad or on its centre."""
    q = ds.coordinates(x="m", y="m", z="m", phi="rad")
    p = ds.parameters(
        friction=(FRICTION, ""),
        push=(0.0, "N"),
        rate=(0.0, "N/s"),
        spring=(0.0, "N/m"),
        belt=(0.0, "m/s"),
    )
    velocity = (q.dot.x - p.belt, q.dot.y, q.dot.z)
    place: dict[str, Any] = {"velocity": velocity} if carried else {"point": (q.x, q.y, q.z)}
    if pad:
        place |= {"pad": Pad(RADIUS), "spin": q.dot.phi}
    support = Support(normal=(0.0, 0.0, 1.0), friction=p.friction, **place)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2 + INERTIA * q.dot.phi**2) / 2,
        potential=p.spring * (q.x**2 + q.y**2) / 2,
        force={"z": -GRAVITY, "x": p.push + p.rate * ds.time},
        goals=[ds.Holonomic("table", q.z, ideal=False, scale=1.0)],
        pairs=[VariantPair("normal", [support], kind="unilateral")],
    )


def wheel() -> ds.MechanicalSystem:
    """A ring of 1 kg and 0.5 m that rolls along a line, or slips."""
    q = ds.coordinates(x="m", y="m", turn="rad")
    contact = (q.dot.x + 0.5 * q.dot.turn, q.dot.y)
    support = Support(normal=(0.0, 1.0), velocity=contact, friction=FRICTION)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2 + 0.25 * q.dot.turn**2 / 2,
        force={"y": -GRAVITY},
        goals=[ds.Holonomic("floor", q.y, ideal=False, scale=1.0)],
        pairs=[VariantPair("normal", [support], kind="unilateral")],
    )


BLOCK = functools.cache(block)
DISC = functools.cache(disc)

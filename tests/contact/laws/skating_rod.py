"""The rod of `tests.reference.skating_rod` as a system, its tip held by a contact or by a pair."""

from __future__ import annotations

import casadi as ca

import daesolve as ds
from daesolve.core.posing.symbols import time
from tests.reference.skating_rod import MOMENT, PUSH, SPEED, D, L, varying


def skating_rod(kind: str, *, load: str = "constant") -> ds.MechanicalSystem:
    """Return the rod with a "contact", or with a "unilateral" or a "two-sided" pair."""
    q, p = ds.coordinates(x="m", y="m", phi="rad"), ds.parameters(mu=(0.3, ""), nu=(0.0, ""))
    s, c = ca.sin(q.phi), ca.cos(q.phi)
    skate = ds.Nonholonomic("skate", -s * q.dot.x + c * q.dot.y + D * q.dot.phi, unit="N")
    rubs = -p.nu * ca.tanh((c * q.dot.x + s * q.dot.y) / SPEED) * skate.reaction
    push = PUSH if load == "constant" else varying(time, ca.sin)
    gap, pairs = q.y - L * s, []
    tip = ds.Contact("tip", gap, slip=q.dot.x + L * s * q.dot.phi, friction=p.mu)
    if kind != "contact":
        tip = ds.Holonomic("rail", gap, ideal=False)
        point = (q.x - L * c, q.y - L * s)
        supports = [
            ds.friction.Support((0.0, side), point, friction=p.mu)
            for side in ((1.0,) if kind == "unilateral" else (-1.0, 1.0))
        ]
        pairs = [ds.friction.VariantPair("tip", supports, kind=kind)]
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2 + MOMENT * q.dot.phi**2) / 2,
        force=ca.vertcat(c * rubs, s * rubs + push, 0.0),
        goals=[tip, skate],
        pairs=pairs,
    )

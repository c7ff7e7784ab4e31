"""The prism between its guides, and its start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.typing import DifferentiableVector, Parameters

PAIRS = (1, 2)
SIDES = {1: "upper", 2: "lower"}
"""The supports of a pair: the guide pushes the first down, and the second up."""
UP = {1: -1.0, 2: 1.0}
"""The direction of this push along y, (-1)^p."""
REACTIONS = {pair: f"normal_{pair}" for pair in PAIRS}
"""Their names: positive where the lower support is loaded."""
ALONG = {1: -1.0, 2: 1.0}
"""The default a of the supports of a pair, m."""
RADIUS_OF_INERTIA = 0.6
"""m; the prism does not turn, so that its motion does not depend on it."""

Values = Mapping[str, float]


class _Sign(ds.Interval):
    """1 or -1."""

    def __contains__(self, value: float) -> bool:
        return value in (-1.0, 1.0)

    def __str__(self) -> str:
        return "1 or -1"


def prism() -> ds.MechanicalSystem:
    """Pose the prism, which its guides keep from rising and from turning."""
    q = ds.coordinates(x="m", y="m", phi="rad")
    p = ds.parameters(
        mass=(2.0, "kg", ds.POSITIVE),
        force_x=(3.0, "N"),
        force_y=(-20.0, "N"),
        moment=(4.0, "N m"),
        slip_sign=(1.0, "", _Sign(-1.0, 1.0)),
        **_places(),
    )
    inertia = p.mass * RADIUS_OF_INERTIA**2
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(p.mass * (q.dot.x**2 + q.dot.y**2) + inertia * q.dot.phi**2) / 2.0,
        force={"x": p.force_x, "y": p.force_y, "phi": p.moment},
        goals=[
            # What is held at zero has no size of its own.
            ds.Holonomic("height", q.y, ideal=False, scale=1.0),
            ds.Holonomic("turn", q.phi, ideal=False, scale=1.0),
        ],
        pairs=[
            ds.friction.VariantPair(REACTIONS[pair], [_support(q, p, side, pair) for side in SIDES])
            for pair in PAIRS
        ],
    )


def _places() -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for side, name in SIDES.items():
        for pair in PAIRS:
            entries[f"{name}_a_{pair}"] = (ALONG[pair], "m")
            entries[f"{name}_b_{pair}"] = (-UP[side] / 2.0, "m")
            entries[f"{name}_friction_{pair}"] = (0.2, "", ds.NON_NEGATIVE)
    return entries


def _support(q: DifferentiableVector, p: Parameters, side: int, pair: int) -> ds.friction.Support:
    a, b = p[f"{SIDES[side]}_a_{pair}"], p[f"{SIDES[side]}_b_{pair}"]
    cosine, sine = ca.cos(q.phi), ca.sin(q.phi)
    return ds.friction.Support(
        point=(q.x + a * cosine - b * sine, q.y + a * sine + b * cosine),
        normal=(0.0, UP[side]),
        friction=p[f"{SIDES[side]}_friction_{pair}"],
        # A support that is pushed down counts its slip along -x.
    )


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Start at x = 0, by default with 1 m/s in the direction of the slip."""
    return {"x": 0.0, "x_dot": parameters["slip_sign"], **given}

"""A body on three pairs of supports, posed through the public API for loads at rest."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from tests.reference.stiction_cones import Patch

LOADS = ("force_x", "force_y", "force_z", "moment_x", "moment_y", "moment_z")
WEIGHT, HEEL = -14.715, -1.15
TURNED = 0.3
"""At what angle the body stands, rad."""
UPPER = {
    "centres": [(0.11, 0.012), (-0.045, 0.11), (-0.035, -0.1)],
    "height": 0.05,
    "radius": 0.015,
    "friction": 0.25,
    "normal": -1.0,
}
LOWER = {
    "centres": [(0.13, -0.005), (-0.04, 0.105), (-0.03, -0.095)],
    "height": -0.06,
    "radius": 0.02,
    "friction": 0.3,
    "normal": 1.0,
}
SIDES = (UPPER, LOWER)


def three_supports(pad: Any = ds.friction.Pad) -> ds.MechanicalSystem:
    """Three pairs of supports under a body of 1.5 kg; `pad` makes a pad of a radius.

    Tilts are coordinates to first order, which is exact at rest between the guides.
    """
    q = ds.coordinates(x="m", y="m", phi="rad", z="m", tilt_x="rad", tilt_y="rad")
    p = ds.parameters(**dict.fromkeys(LOADS, (0.0, "")))
    mass, along, across, about = 1.5, 0.003, -0.002, 0.02
    tilts, spin = ca.vertcat(q.dot.tilt_x, q.dot.tilt_y), q.dot.phi
    c, s = ca.cos(q.phi), ca.sin(q.phi)
    products = ca.vertcat(along * c - across * s, along * s + across * c)
    kinetic = mass * (q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2 + about * spin**2 / 2
    kinetic += 0.015 * ca.sumsqr(tilts) / 2 - spin * ca.dot(products, tilts)

    def support(side: dict[str, Any], pair: int) -> ds.friction.Support:
        a, b = side["centres"][pair]
        x, y, h = a * c - b * s, a * s + b * c, side["height"]
        return ds.friction.Support(
            point=(
                q.x + x + q.tilt_y * h,
                q.y + y - q.tilt_x * h,
                q.z + q.tilt_x * y - q.tilt_y * x,
            ),
            normal=(0.0, 0.0, side["normal"]),
            friction=side["friction"],
            pad=pad(side["radius"]),
            spin=spin,
        )

    force = dict(
        zip(("x", "y", "z", "tilt_x", "tilt_y", "phi"), [p[load] for load in LOADS], strict=True)
    )
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        force=force,
        goals=[ds.Holonomic(f"no_{n}", q[n], ideal=False) for n in ("z", "tilt_x", "tilt_y")],
        pairs=[
            ds.friction.VariantPair(f"normal_{k + 1}", [support(side, k) for side in SIDES])
            for k in range(3)
        ],
    )


def patches(
    variant: tuple[int, ...], nodes: Any, direction: dict[str, float] | None = None
) -> list[Patch]:
    """The loaded supports as points, those of each pad turned with its slip.

    Parameters
    ----------
    variant
        Which supports are loaded.
    nodes
        Makes the nodes of a pad of a radius, as `ds.friction.pad_nodes`.
    direction
        Velocities by name that make the slip; None: along x.
    """
    c, s = np.cos(TURNED), np.sin(TURNED)
    found = []
    for pair, loaded in enumerate(variant):
        side = SIDES[loaded - 1]
        a, b = side["centres"][pair]
        x, y = a * c - b * s, a * s + b * c
        slip = np.array([1.0, 0.0])
        if direction is not None:
            spin = direction["phi_dot"]
            slip = np.array([direction["x_dot"] - spin * y, direction["y_dot"] + spin * x])
        along = slip / np.linalg.norm(slip)
        pad = nodes(side["radius"])
        points = pad.points @ np.array([along, [-along[1], along[0]]]) + (x, y)
        height = np.full((len(points), 1), side["height"])
        found.append(
            Patch(
                np.hstack([points, height]),
                pad.weights,
                np.array([0.0, 0.0, side["normal"]]),
                side["friction"],
            )
        )
    return found

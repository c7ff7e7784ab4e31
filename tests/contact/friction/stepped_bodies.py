"""Bodies in guides with dry friction, posed by hand."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

import daesolve as ds
from daesolve.contact.friction import Pad, Support, VariantPair
from daesolve.core.posing.symbols import DifferentiableVector, SymbolVector

JAM: dict[str, float] = {
    "mass": 2.0, "force_x": 3.0, "force_y": 10.0, "moment": 0.0,
    "upper_a_1": -0.25, "upper_b_1": 2.0, "upper_friction_1": 0.75,
    "upper_a_2": 0.5, "upper_b_2": 2.0, "upper_friction_2": 1.0,
    "lower_a_1": -0.6, "lower_b_1": -1.5, "lower_friction_1": 0.2,
    "lower_a_2": 0.6, "lower_b_2": -1.5, "lower_friction_2": 0.2,
}  # fmt: skip
"""A prism whose upper guide is so high and rough that no sliding to the right is possible."""

GENTLE: dict[str, float] = {
    "mass": 2.0, "force_x": 3.0, "force_y": -20.0, "moment": 4.0,
    "upper_a_1": -1.0, "upper_b_1": 0.5, "upper_friction_1": 0.2,
    "upper_a_2": 1.0, "upper_b_2": 0.5, "upper_friction_2": 0.2,
    "lower_a_1": -1.0, "lower_b_1": -0.5, "lower_friction_1": 0.2,
    "lower_a_2": 1.0, "lower_b_2": -0.5, "lower_friction_2": 0.2,
}  # fmt: skip
"""A prism with one answer whatever the load."""

THREE: dict[str, tuple[tuple[float, float, float, float, float], ...]] = {
    "upper": (
        (0.11, 0.012, 0.05, 0.015, 0.25),
        (-0.045, 0.11, 0.05, 0.015, 0.25),
        (-0.035, -0.1, 0.05, 0.015, 0.25),
    ),
    "lower": (
        (0.13, -0.005, -0.06, 0.02, 0.3),
        (-0.04, 0.105, -0.06, 0.02, 0.3),
        (-0.03, -0.095, -0.06, 0.02, 0.3),
    ),
}
"""Place, height, radius and friction of three pairs of pads."""
SLIDING = {"phi": 0.3, "x_dot": 1.2, "y_dot": 0.5, "phi_dot": 9.0}
"""How the body on three pairs of pads starts."""


def prism(values: Mapping[str, float]) -> ds.MechanicalSystem:
    """Return a prism in a straight guide: it slides along x and may neither rise nor turn."""
    q = ds.coordinates(x="m", y="m", phi="rad")
    p = ds.parameters(**values)

    def support(side: str, pair: int, up: float) -> Support:
        a, b = p[f"{side}_a_{pair}"], p[f"{side}_b_{pair}"]
        point = (
            q.x + a * ca.cos(q.phi) - b * ca.sin(q.phi),
            q.y + a * ca.sin(q.phi) + b * ca.cos(q.phi),
        )
        return Support(point=point, normal=(0.0, up), friction=p[f"{side}_friction_{pair}"])

    return ds.MechanicalSystem(
        q,
        p,
        mass_matrix=ca.diag(ca.vertcat(p.mass, p.mass, 1.0)),
        force={"x": p.force_x, "y": p.force_y, "phi": p.moment},
        goals=[
            ds.Holonomic("straight", q.y, ideal=False),
            ds.Holonomic("upright", q.phi, ideal=False),
        ],
        pairs=[
            VariantPair(f"normal_{k}", (support("upper", k, -1.0), support("lower", k, 1.0)))
            for k in (1, 2)
        ],
    )


def three_supports(
    load: tuple[float, float, float] = (0.0, 0.0, 0.0),
    inertia: tuple[float, float, float] = (0.02, 0.003, -0.002),
) -> ds.MechanicalSystem:
    """Return a body that slides and spins in a plane gap on three pairs of pads.

    Parameters
    ----------
    load
        A force along x and y, N, and a moment about the vertical, N m.
    inertia
        J_z, J_xz and J_yz, kg m^2, about the body's axes.
    """
    mass, (about, first, second) = 1.5, inertia
    q = ds.coordinates(x="m", y="m", phi="rad", z="m", tilt_x="rad", tilt_y="rad")
    v = ds.velocities(
        x_dot="m/s", y_dot="m/s", phi_dot="rad/s", z_dot="m/s", turn_x="rad/s", turn_y="rad/s"
    )
    cosine, sine = ca.cos(q.phi), ca.sin(q.phi)
    across, along = first * cosine - second * sine, first * sine + second * cosine
    matrix = ca.diag(ca.SX([mass, mass, about, mass, 0.02, 0.02]))
    # Products of inertia are moments with a minus sign: H_x = J_x w_x - J_xz w_z.
    matrix[2, 4] = matrix[4, 2] = -across
    matrix[2, 5] = matrix[5, 2] = -along
    turning = v.phi_dot**2
    force = ca.vertcat(
        load[0], load[1], load[2], -14.715, -along * turning, -1.15 + across * turning
    )
    supports = {
        side: [_pad(q, v, entry, 1.0 if side == "lower" else -1.0) for entry in entries]
        for side, entries in THREE.items()
    }
    return ds.MechanicalSystem(
        q,
        velocities=v,
        kinematics=v.vector,
        mass_matrix=matrix,
        force=force,
        goals=[
            ds.Holonomic("level", q.z, ideal=False),
            ds.Holonomic("upright_x", q.tilt_x, ideal=False),
            ds.Holonomic("upright_y", q.tilt_y, ideal=False),
        ],
        pairs=[
            VariantPair(f"normal_{k + 1}", (supports["upper"][k], supports["lower"][k]))
            for k in range(3)
        ],
    )


def _pad(
    q: DifferentiableVector,
    v: SymbolVector,
    entry: tuple[float, float, float, float, float],
    up: float,
) -> Support:
    a, b, height, radius, friction = entry
    cosine, sine = ca.cos(q.phi), ca.sin(q.phi)
    arm = ca.vertcat(a * cosine - b * sine, a * sine + b * cosine, height)
    turn = ca.vertcat(v.turn_x, v.turn_y, v.phi_dot)
    velocity = ca.vertcat(v.x_dot, v.y_dot, v.z_dot) + ca.cross(turn, arm)
    return Support(
        velocity=ca.vertsplit(velocity),
        normal=(0.0, 0.0, up),
        friction=friction,
        pad=Pad(radius),
        spin=v.phi_dot,
    )

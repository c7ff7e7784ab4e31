"""The body between its planes."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

import daesolve as ds
from daesolve.typing import DifferentiableVector, Parameters

PAIRS = (1, 2, 3)
SIDES = {1: "upper", 2: "lower"}
"""The pads of a pair: the upper plane pushes the first down, the lower one the second up."""
UP = {1: -1.0, 2: 1.0}
"""The direction of this push along z, (-1)^p."""
NORMALS = {pair: f"normal_{pair}" for pair in PAIRS}
"""The outputs that are the reactions of `support_1` to `support_3`: positive where the lower pad is
loaded."""
PLACES = {
    "upper": ((0.11, 0.012), (-0.045, 0.11), (-0.035, -0.1)),
    "lower": ((0.13, -0.005), (-0.04, 0.105), (-0.03, -0.095)),
}
"""a and b of the pads' centres, m."""
FACES = {"upper": (0.05, 0.015, 0.25), "lower": (-0.06, 0.02, 0.3)}
"""Height over the mass centre (m), radius of the pad (m) and coefficient of friction."""

PRESSURES = {"0": 0.0, "-0.5": -0.5, "1": 1.0, "2": 2.0}
"""Exponents n of the pressure of a pad that have a name; any other number may be given."""


class Turned(NamedTuple):
    """The body turned by phi about the vertical, then tilted about the fixed axes y and x.

    axes: (3, 3), the body's axes as columns; spin: (3,) the angular velocity; both in fixed axes.
    """

    axes: ca.SX
    spin: ca.SX

    @staticmethod
    def of(q: DifferentiableVector) -> Turned:
        """Turn the body."""
        about_x, about_y, about_z = (
            _turn(q[name], axis) for axis, name in enumerate(("tilt_x", "tilt_y", "phi"))
        )
        tilted = about_x @ about_y
        spin = ca.vertcat(q.dot.tilt_x, 0.0, 0.0)
        spin += about_x @ ca.vertcat(0.0, q.dot.tilt_y, 0.0)
        spin += tilted @ ca.vertcat(0.0, 0.0, q.dot.phi)
        return Turned(tilted @ about_z, spin)


def body(pressure_exponent: float = 0.0) -> ds.MechanicalSystem:
    """Pose a rigid body with six coordinates, which its pads keep from rising and from tilting.

    Its loads are constant in fixed axes about the mass centre, and are posed as a potential.
    """
    return _posed(pressure_exponent)


def shaken(pressure_exponent: float = 0.0) -> ds.MechanicalSystem:
    """Pose the same body with two further forces and a moment as inputs, in fixed axes."""
    return _posed(
        pressure_exponent, ds.inputs(push_x=(0.0, "N"), push_y=(0.0, "N"), twist=(0.0, "N m"))
    )


def _posed(pressure_exponent: float, given: Any = None) -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", y="m", z="m", phi=ds.ANGLE, tilt_x="rad", tilt_y="rad")
    p = ds.parameters(
        mass=(1.5, "kg", ds.POSITIVE),
        inertia=(0.02, "kg m^2", ds.POSITIVE),
        inertia_xz=(0.003, "kg m^2"),
        inertia_yz=(-0.002, "kg m^2"),
        force_x=(0.0, "N"),
        force_y=(0.0, "N"),
        force_z=(-14.715, "N"),
        moment_x=(0.0, "N m"),
        moment_y=(-1.15, "N m"),
        moment_z=(0.0, "N m"),
        **_pads(),
    )
    turned = Turned.of(q)
    own = turned.axes.T @ turned.spin
    velocity = ca.vertcat(q.dot.x, q.dot.y, q.dot.z)
    loads = {"x": p.force_x, "y": p.force_y, "z": p.force_z}
    loads |= {"tilt_x": p.moment_x, "tilt_y": p.moment_y, "phi": p.moment_z}
    pairs = {
        pair: ds.friction.VariantPair(
            f"support_{pair}",
            [_support(q, p, turned, side, pair, pressure_exponent) for side in SIDES],
        )
        for pair in PAIRS
    }
    further: dict[str, Any] = {}
    if given is not None:
        force = {"x": given.push_x, "y": given.push_y, "phi": given.twist}
        further = {"force": force, "inputs": given}
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(p.mass * ca.sumsqr(velocity) + ca.dot(own, _inertia(p) @ own)) / 2.0,
        potential=-sum(load * q[name] for name, load in loads.items()),
        goals=[
            ds.Holonomic("height", q.z, ideal=False),
            ds.Holonomic("level_x", q.tilt_x, ideal=False),
            ds.Holonomic("level_y", q.tilt_y, ideal=False),
        ],
        pairs=list(pairs.values()),
        outputs={name: (pairs[pair].reaction, "N") for pair, name in NORMALS.items()},
        **further,
    )


def _pads() -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for name in SIDES.values():
        height, radius, friction = FACES[name]
        for pair, (a, b) in zip(PAIRS, PLACES[name], strict=True):
            entries[f"{name}_a_{pair}"] = (a, "m")
            entries[f"{name}_b_{pair}"] = (b, "m")
            entries[f"{name}_height_{pair}"] = (height, "m")
            entries[f"{name}_pad_radius_{pair}"] = (radius, "m", ds.POSITIVE)
            entries[f"{name}_friction_{pair}"] = (friction, "", ds.NON_NEGATIVE)
    return entries


def tall(times: float, *, upper_friction: float, lower_friction: float) -> dict[str, float]:
    """Return the parameters of a body some times as high, with other friction."""
    rough = {"upper": upper_friction, "lower": lower_friction}
    found = {f"{name}_friction_{pair}": rough[name] for name in rough for pair in PAIRS}
    heights = {name: times * height for name, (height, _, _) in FACES.items()}
    return found | {f"{name}_height_{pair}": heights[name] for name in heights for pair in PAIRS}


def _support(
    q: DifferentiableVector, p: Parameters, turned: Turned, side: int, pair: int, exponent: float
) -> ds.friction.Support:
    name = SIDES[side]
    place = ca.vertcat(*[p[f"{name}_{what}_{pair}"] for what in ("a", "b", "height")])
    point = ca.vertcat(q.x, q.y, q.z) + turned.axes @ place
    return ds.friction.Support(
        point=ca.vertsplit(point),
        normal=(0.0, 0.0, UP[side]),
        friction=p[f"{name}_friction_{pair}"],
        pad=ds.friction.Pad(p[f"{name}_pad_radius_{pair}"], exponent),
        spin=turned.spin[2],
    )


def _inertia(p: Parameters) -> ca.SX:
    """Return the inertia tensor in axes of the body.

    The body never tilts, so that its moments of inertia about x and y do not count; they are
    taken so large that the tensor is that of a body whatever the products of inertia are.
    """
    across = p.inertia + 2.0 * (p.inertia_xz**2 + p.inertia_yz**2) / p.inertia
    rows = [
        [across, 0.0, -p.inertia_xz],
        [0.0, across, -p.inertia_yz],
        [-p.inertia_xz, -p.inertia_yz, p.inertia],
    ]
    return ca.vertcat(*[ca.horzcat(*row) for row in rows])


def _turn(angle: ca.SX, axis: int) -> ca.SX:
    """Return the matrix that turns about a coordinate axis."""
    cosine, sine = ca.cos(angle), ca.sin(angle)
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix = ca.SX.eye(3)
    matrix[first, first] = matrix[second, second] = cosine
    matrix[first, second], matrix[second, first] = -sine, sine
    return matrix

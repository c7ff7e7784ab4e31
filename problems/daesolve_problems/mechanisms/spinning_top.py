"""The heavy symmetric top with a fixed point (Lagrange's).

A rigid body with an axis of symmetry turns under its weight about a fixed point of that axis,
without friction. The three unknown reactions are the components of the force at that point.
The energy, the angular momentum about the vertical and the spin about the axis are conserved, which
makes the problem integrable.

The body's axes do not spin with it: `top_spin` is the rate of its spin seen from space. So a run
costs the same, and is as accurate, however fast it spins. With A the moment of inertia across its
axis about the fixed point (`across` + m l^2), B = `along`, s the spin, l = `distance` and theta the
angle of the axis from the vertical, it precesses steadily at the rates psi' that solve

    A psi'^2 cos(theta) - B s psi' + m g l = 0,

and upright it sleeps where (B s)^2 > 4 A m g l. Its spin, its angular momentum about the vertical
and its energy do not change.

A start has the spin, the tilt of the axis from the vertical (towards x) and the rates `precession`
and `nutation` of its azimuth and tilt; without `precession` it starts with the slower steady one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody import GROUND, Body, Mechanism, Spherical, quaternion
from daesolve.multibody.drawing import (
    Dot,
    Drawing,
    Line,
    Outline,
    Pose,
    Trace,
    ring,
    tiles,
)
from daesolve_problems.figures import draw_curve, frames_of, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def top(
    spin: float = 0.0, tilt: float = 0.0, precession: float = 0.0, nutation: float = 0.0
) -> tuple[Mechanism, Body]:
    """Assemble the top, and place it."""
    p = ds.parameters(
        mass=(0.5, "kg", ds.POSITIVE),
        distance=(0.05, "m", ds.POSITIVE),
        across=(4e-4, "kg m^2", ds.POSITIVE),
        along=(5e-4, "kg m^2", ds.POSITIVE),
        gravity=(9.81, "m/s^2"),
    )
    sine, cosine = np.sin(tilt), np.cos(tilt)
    moving = (nutation * cosine, precession * sine, -nutation * sine)
    body = Body(
        "top",
        p.mass,
        (p.across, p.across, p.along),
        axisymmetric=True,
        position=(p.distance * sine, 0.0, p.distance * cosine),
        rotation=quaternion((0, 1, 0), tilt),
        velocity=[p.distance * rate for rate in moving],
        angular_velocity=(-precession * sine, nutation, spin),
    )
    tip = Spherical("tip", GROUND.point(0, 0, 0), body.point(0, 0, -p.distance))
    return Mechanism([body], [tip], p, gravity=(0, 0, -p.gravity)), body


def posed() -> ds.MechanicalSystem:
    """Pose the top, with its tilt and its angular momentum about the vertical."""
    mechanism, body = top()
    frame = body.frame()
    x, y = frame.position[0], frame.position[1]
    about = ca.dot(frame.rotation[2, :].T, body.moments @ body.velocities.vector[3:])
    vertical = about + body.mass * (x * frame.velocity[1] - y * frame.velocity[0])
    tilt = ca.atan2(ca.norm_2(frame.axis(2)[:2]), frame.axis(2)[2])
    return mechanism.system(
        goals=[ds.Invariant("vertical_momentum", vertical, drive=False)],
        outputs={"tilt": (tilt, "rad")},
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Place the top, by default precessing steadily."""
    motion = dict(given)
    if "precession" not in motion:
        motion["precession"] = steady_precession(given, parameters)
    mechanism, _ = top(**motion)
    return mechanism.start_at(parameters)


def steady_precession(given: Mapping[str, float], parameters: Mapping[str, float]) -> float:
    """Return the slower rate of steady precession, rad/s.

    Raises
    ------
    OutOfRangeError
        The top spins too slowly to precess steadily at this tilt.
    """
    p = parameters
    weight = p["mass"] * p["gravity"] * p["distance"]
    inertia = p["across"] + p["mass"] * p["distance"] ** 2
    momentum = p["along"] * given["spin"]
    square = momentum**2 - 4 * inertia * weight * np.cos(given["tilt"])
    if square < 0:
        least = 2 * np.sqrt(inertia * weight * np.cos(given["tilt"])) / p["along"]
        raise OutOfRangeError(
            f"spin is {given['spin']:g} rad/s, but steady precession at the tilt of "
            f"{given['tilt']:g} rad needs at least {least:g} rad/s; give precession"
        )
    return float(2 * weight / (momentum + np.copysign(np.sqrt(square), momentum)))


def path_of_the_centre(document: Mapping[str, Any]) -> Figure:
    """Draw the path of the mass centre from above."""
    figure = new_figure(5.0, 5.0)
    axes = figure.add_subplot()
    draw_curve(axes, document, "top_x", "top_y", linewidth=0.8)
    axes.plot(0.0, 0.0, "k+")
    axes.set_aspect("equal")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    return figure


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the top as a cone with a disc, about its axis, and the path of its mass centre.

    Its axes do not spin with it, so the drawing shows no spin; its radius is not a parameter.
    """
    pose, reach = Pose("top"), document["parameters"]["distance"]
    positions, axes = frames_of(document, "top")
    rim = pose.places(ring(0.8 * reach))
    tip, centre = (0.0, 0.0, 0.0), pose.place((0.0, 0.0, 0.0))
    return Drawing(
        [
            *tiles(np.zeros((1, 2)), 1.5 * reach),
            Trace(centre, label="path of the mass centre"),
            *[Line([tip, rim[k]], role="detail") for k in range(0, len(rim), 4)],
            Outline(rim, label="top"),
            Line([tip, pose.place((0.0, 0.0, 0.5 * reach))], label="axis"),
            Dot(centre, role="accent", label="mass centre"),
        ],
        series=pose.series(positions, axes),
        eye=(0.3, -1.0, 0.4),
    )


problem = ds.Problem(
    "spinning-top",
    title="The heavy symmetric top",
    models={"body": posed},
    sources=["H. Goldstein, Classical Mechanics, 2nd ed. (1980), section 5.7"],
    start=start,
    start_values=lambda structure: ("nutation",),
    drawing=drawing,
    figures={"path of the mass centre": path_of_the_centre},
    cases=[
        ds.Case(
            "cusps",
            start={"spin": 200.0, "tilt": 0.5, "precession": 0.0},
            until=10.0,
            note="released: its axis falls, and comes to rest repeatedly",
        ),
        ds.Case(
            "loops",
            start={"spin": 200.0, "tilt": 0.5, "precession": -5.0},
            until=10.0,
            note="thrown against its precession",
        ),
        ds.Case(
            "steady", start={"spin": 200.0, "tilt": 0.5}, until=100.0, note="precesses steadily"
        ),
        ds.Case(
            "fast",
            start={"spin": 1e4, "tilt": 1.0},
            until=1000.0,
            note="ten million radians of spin",
        ),
        ds.Case(
            "sleeping",
            start={"spin": 85.0, "tilt": 1e-6, "precession": 0.0},
            until=100.0,
            note="upright; it sleeps above 80.47 rad/s",
        ),
        ds.Case(
            "waking",
            start={"spin": 76.0, "tilt": 1e-6, "precession": 0.0},
            until=20.0,
            note="upright, but spinning too slowly: it falls, and rises again",
        ),
    ],
)

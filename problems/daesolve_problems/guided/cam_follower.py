"""A cam that lifts a follower in two guides with dry friction.

An eccentric disc turns at a constant rate and lifts a follower by its roller. The stem of the
follower slides in two bushings; each touches it on one side at most, and which one depends on the
load. A spring and the weight keep the roller on the cam. The unknown reactions are the force of the
cam and the two forces of the bushings, which rub. Nothing is conserved: the cam does work, and
friction dissipates some of it. At the top and the bottom of the lift the slip reverses.

The cam has the radius R and its centre turns at the eccentricity e about the shaft; the roller, of
the radius r, has no friction. With the offset d of the stem, L = R + r and the pressure angle alpha
of the cam's force N,

    y = e sin(theta) + sqrt(L^2 - (d - e cos(theta))^2),   sin(alpha) = (d - e cos(theta)) / L.

A bushing of the length b begins the overhang a above the roller. For a thin stem its edges press
with N sin(alpha) (a + b) / b and N sin(alpha) a / b, so that on the way up the follower jams where

    tan(alpha) = b / (f (2 a + b)),

whatever the load is. A cam that turns too fast throws the follower off, where this run ends.

In the model `flying` the cam is a contact, which the follower leaves, and to which it returns with
an impact of the restitution e. Its stem is thin. Both edges then rub together like a contact of the
cam whose slip is the speed of the stem, with the coefficient f |sin(alpha)| (2 a + b) / b: without
the force of the cam, in flight, nothing presses the stem against its bushing, and in an impact the
impulses of the edges rub like their forces.

A start has the angle `theta` of the cam.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody.drawing import Arrow, Circle, Drawing, Line, Linear, Outline, Polar
from daesolve_problems.figures import Document, column, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


BUSHINGS = ("lower", "upper")
ABOVE: dict[str, Any] = {
    "loc": "lower center",
    "bbox_to_anchor": (0.5, 1.0),
    "frameon": False,
    "fontsize": "small",
}
"""Where a legend hides no curve."""


LOADS: dict[str, Any] = {
    "mass": (0.5, "kg", ds.POSITIVE),
    "gravity": (9.81, "m/s^2"),
    "cam_radius": (0.04, "m", ds.POSITIVE),
    "eccentricity": (0.015, "m", ds.POSITIVE),
    "roller_radius": (0.01, "m", ds.NON_NEGATIVE),
    "offset": (0.0, "m"),
    "rate": (10.0, "rad/s", ds.POSITIVE),
    "theta": (0.3, "rad"),
    "stiffness": (400.0, "N/m", ds.NON_NEGATIVE),
    "preload": (5.0, "N", ds.NON_NEGATIVE),
    "friction": (0.2, "", ds.NON_NEGATIVE),
    "bushing_from": (0.09, "m", ds.POSITIVE),
    "bushing_length": (0.06, "m", ds.POSITIVE),
}
"""The parameters of both models."""


def follower() -> ds.MechanicalSystem:
    """Pose the follower, which the bushings keep upright, on its cam."""
    q = ds.coordinates(x="m", y="m", phi="rad")
    p = ds.parameters(
        **LOADS, inertia=(1e-3, "kg m^2", ds.POSITIVE), stem=(0.006, "m", ds.NON_NEGATIVE)
    )
    angle = p.theta + p.rate * ds.time
    reach = p.cam_radius + p.roller_radius
    across = q.x - p.eccentricity * ca.cos(angle)
    up = q.y - p.eccentricity * ca.sin(angle)
    lowest = reach - p.eccentricity
    cam = ds.Holonomic("cam", (across**2 + up**2 - reach**2) / (2.0 * reach))
    heights = (p.bushing_from, p.bushing_from + p.bushing_length)

    def edge(name: str, height: ca.SX) -> ds.friction.VariantPair:
        supports: list[ds.friction.Support] = []
        for side in (1.0, -1.0):  # the right edge pushes to the left
            along, aside = height - q.y, side * p.stem
            velocity = (q.dot.x - along * q.dot.phi, q.dot.y + aside * q.dot.phi)
            supports.append(
                ds.friction.Support(velocity=velocity, normal=(-side, 0.0), friction=p.friction)
            )
        return ds.friction.VariantPair(name, supports)

    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(p.mass * (q.dot.x**2 + q.dot.y**2) + p.inertia * q.dot.phi**2) / 2.0,
        potential=p.mass * p.gravity * q.y
        + p.preload * q.y
        + p.stiffness * (q.y - lowest) ** 2 / 2.0,
        goals=[
            cam,
            # What is held at zero has no size of its own.
            ds.Holonomic("lateral", q.x - p.offset, ideal=False, scale=1.0),
            ds.Holonomic("upright", q.phi, ideal=False, scale=1.0),
        ],
        pairs=[edge(name, height) for name, height in zip(BUSHINGS, heights, strict=True)],
        events=[ds.Event("thrown_off", cam.reaction, ds.FALLING, ds.Stop())],
        outputs={
            "cam_angle": (angle, "rad"),
            "pressure_angle": (ca.asin(across / reach), "rad"),
            "cam_force": (cam.reaction, "N"),
        },
    )


def flying() -> ds.MechanicalSystem:
    """Pose a follower with a thin stem that may leave its cam, and lands on it again."""
    q = ds.coordinates(y="m")
    p = ds.parameters(**LOADS, restitution=(0.3, "", ds.NON_NEGATIVE))
    angle = p.theta + p.rate * ds.time
    reach = p.cam_radius + p.roller_radius
    across = p.offset - p.eccentricity * ca.cos(angle)
    distance = ca.sqrt(across**2 + (q.y - p.eccentricity * ca.sin(angle)) ** 2)
    overhang, length = p.bushing_from - q.y, p.bushing_length
    arms = (overhang + length) / length, overhang / length
    cam = ds.Contact(
        "cam",
        distance - reach,
        slip=q.dot.y,
        friction=p.friction * ca.fabs(across) / distance * sum(arms),
        restitution=p.restitution,
    )
    aside = cam.reaction * across / distance
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * q.dot.y**2 / 2.0,
        potential=(p.mass * p.gravity + p.preload) * q.y
        + p.stiffness * (q.y - reach + p.eccentricity) ** 2 / 2.0,
        goals=[cam],
        outputs={
            "x": (p.offset, "m"),
            "phi": (ca.SX(0.0), "rad"),
            "cam_angle": (angle, "rad"),
            "pressure_angle": (ca.asin(across / distance), "rad"),
            "cam_height": (p.eccentricity * ca.sin(angle) + ca.sqrt(reach**2 - across**2), "m"),
            "cam_force": (cam.reaction, "N"),
            "lower": (-arms[0] * aside, "N"),
            "upper": (arms[1] * aside, "N"),
        },
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Put the roller on the cam, and let it move as the cam does."""
    p = parameters
    reach, eccentric = p["cam_radius"] + p["roller_radius"], p["eccentricity"]
    across = p["offset"] - eccentric * math.cos(p["theta"])
    if abs(across) >= reach:
        raise OutOfRangeError(
            f"the stem is {abs(across):g} m beside the centre of the cam, farther than cam and "
            f"roller reach, {reach:g} m"
        )
    above = math.sqrt(reach**2 - across**2)
    speed = p["rate"] * eccentric
    along = {
        "y": eccentric * math.sin(p["theta"]) + above,
        "y_dot": speed * (math.cos(p["theta"]) - math.sin(p["theta"]) * across / above),
    }
    if "restitution" in p:
        return {**along, **given}
    return {"x": p["offset"], "phi": 0.0, "x_dot": 0.0, "phi_dot": 0.0, **along, **given}


def lift(document: Document) -> Figure:
    """Draw the lift, and the forces of the cam and of the bushings."""
    times = series(document, "times")
    figure, (height, forces) = panels_over_time(2)
    height.plot(times, 1e3 * column(document, "y"), linewidth=1.2)
    height.set_ylabel("height of the roller (mm)")
    if "cam_height" in document["outputs"]:
        height.plot(times, 1e3 * column(document, "cam_height"), "--", label="on the cam")
        height.legend(**ABOVE)
    for name, label in (("cam_force", "cam"), ("lower", "lower edge"), ("upper", "upper edge")):
        forces.plot(times, column(document, name), linewidth=1.2, label=label)
    forces.set_ylabel("force (N)")
    forces.legend(ncols=3, **ABOVE)
    return figure


def drawing(document: Document) -> Drawing:
    """Draw cam, roller and stem between the edges of the bushings, with their forces."""
    p = document["parameters"]
    stem, begin, length = p.get("stem") or 0.002, p["bushing_from"], p["bushing_length"]
    centre = Polar((0.0, 0.0), "eccentricity", "cam_angle")
    top = begin + 1.3 * length
    walls = [
        Line([(p["offset"] + side * stem, begin), (p["offset"] + side * stem, begin + length)],
             role="ground")
        for side in (-1.0, 1.0)
    ]  # fmt: skip
    box = [(-0.7 * stem, 0.0), (0.7 * stem, 0.0), (0.7 * stem, top), (-0.7 * stem, top)]
    scale = 1e-3
    return Drawing(
        [
            Circle(centre, p["cam_radius"], "cam_angle", 1, label="cam"),
            Outline(box, at=("x", "y"), role="accent", label="follower"),
            Circle(("x", "y"), p["roller_radius"], label="roller"),
            *walls,
            Arrow((p["offset"], begin), (Linear({"lower": scale}), 0.0), label="lower edge"),
            Arrow((p["offset"], begin + length), (Linear({"upper": scale}), 0.0), label="upper"),
        ]
    )


problem = ds.Problem(
    "cam-follower",
    title="A cam follower in two guides with friction",
    models={"follower": follower, "flying": flying},
    sources=[
        "R. L. Norton, Cam Design and Manufacturing Handbook (2009): the pressure angle at which "
        "a translating follower jams",
        "V. V. Nikolskii, Yu. P. Smirnov, On the forms of the equations of dynamics of a "
        "system with dry friction (in Russian, received in 1985)",
    ],
    start=start,
    start_values=lambda structure: (),
    figures={"lift": lift},
    drawing=drawing,
    cases=[
        ds.Case("turns", until=4.0, note="six turns; the slip turns round twelve times"),
        ds.Case(
            "jams",
            parameters={"friction": 0.4, "offset": -0.02, "theta": -0.9},
            until=1.0,
            note="an offset to the wrong side: the follower jams on its way up",
        ),
        ds.Case(
            "thrown-off",
            parameters={"rate": 60.0, "theta": -1.3},
            until=1.0,
            note="the cam turns too fast: the roller leaves it on the way up",
        ),
        ds.Case(
            "flies",
            model="flying",
            parameters={"rate": 60.0, "theta": -1.3},
            until=0.5,
            note="the same: it flies, lands with an impact, bounces, and is lifted again",
        ),
    ],
)

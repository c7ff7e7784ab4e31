"""Painlevé's rod: it slides over a rough floor, leaning against its motion, and may jam.

The lower end of a rod slides over a level floor towards the side from which the rod leans away. The
reaction of the floor is unknown, normal force and friction together, and only pushes. The energy
is not conserved: it falls by the friction, by impacts, and at a jam.

With the angle phi from the floor, half the length l, mass m, and N the normal force,

    p N = g - l sin(phi) phi'^2,     p = (1 + 3 cos^2(phi) - 3 mu sin(phi) cos(phi)) / m

while it slides so. Where mu > 4/3, friction makes p negative between the angles

    tan(phi) = (3 mu -+ sqrt(9 mu^2 - 16)) / 2.

There a rod that turns slowly has no motion (Painlevé's paradox), and one that turns fast,
phi'^2 > g / (l sin(phi)), has two: it flies off, or slides on. A rod that comes to the first angle
from below jams if mu > 8 / (3 sqrt(3)) and it turns fast enough: p and the right-hand side fall to
zero together, N grows without bounds at a finite speed, and an impulse ends the slip. Such an
impact without a collision is L = -A^-1 (0, c), with c the slip before it and A the response of the
end to impulses. The same impact continues the run where a sliding rod has no motion.

A start has the `angle`, the `rate` with which it grows, and the `slip` of the lower end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.core.posing.symbols import Interval
from daesolve.multibody.drawing import Drawing, Line, Shape, Trace
from daesolve.typing import BoundCase, Parameters
from daesolve_problems.figures import Document, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARE = Interval(0.0, 1.0)
"""The range of coefficients of restitution."""


def numbers() -> Parameters:
    """Return the parameters: a rod of one metre, on a floor rough enough for the paradox."""
    return ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE),
        half_length=(0.5, "m", ds.POSITIVE),
        friction=(1.8, "", ds.NON_NEGATIVE),
        restitution=(0.0, "", SHARE),
        gravity=(9.81, "m/s^2", ds.POSITIVE),
    )


def posed() -> ds.MechanicalSystem:
    """Pose the rod, by its centre and its angle, on its lower end."""
    q, p = ds.coordinates(x="m", y="m", angle="rad"), numbers()
    end = q.x - p.half_length * ca.cos(q.angle)
    slip = ca.jacobian(end, q.vector) @ q.dot.vector
    tip = ds.Contact(
        "tip",
        q.y - p.half_length * ca.sin(q.angle),
        slip=slip,
        friction=p.friction,
        restitution=p.restitution,
    )
    inertia = p.mass * p.half_length**2 / 3
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(p.mass * (q.dot.x**2 + q.dot.y**2) + inertia * q.dot.angle**2) / 2,
        potential=p.mass * p.gravity * q.y,
        goals=[tip],
        outputs={"end_x": (end, "m"), "slip": (slip, "m/s")},
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Set the rod on its lower end, which is at x = 0."""
    length, angle, rate = parameters["half_length"], given["angle"], given["rate"]
    s, c = math.sin(angle), math.cos(angle)
    return {
        "x": length * c,
        "y": length * s,
        "angle": angle,
        "x_dot": given["slip"] - length * s * rate,
        "y_dot": length * c * rate,
        "angle_dot": rate,
    }


def paradox_angles(friction: float) -> tuple[float, float] | None:
    """Return the range of angles where friction alone presses the end to the floor, rad.

    None if it never does.
    """
    root = 9.0 * friction**2 - 16.0
    if root <= 0.0:
        return None
    first, last = ((3.0 * friction + way * math.sqrt(root)) / 2.0 for way in (-1.0, 1.0))
    return math.atan(first), math.atan(last)


def stopping_impulse(
    angle: float, slip: float, parameters: Mapping[str, float]
) -> tuple[float, float]:
    """Return the normal and the tangential impulse that end a slip, the gap at rest, N s."""
    s, c = math.sin(angle), math.cos(angle)
    answer = np.array([[1 + 3 * c * c, -3 * s * c], [-3 * s * c, 1 + 3 * s * s]])
    normal, tangential = np.linalg.solve(answer / parameters["mass"], [0.0, -slip])
    return float(normal), float(tangential)


def jam(case: BoundCase) -> ds.Answer:
    """Run a case through its jam, and compare angle and impulse with the closed forms."""
    run = case.solve(on_jam="impact", on_ambiguous="keep")
    parameters = case.full_parameters
    found = next((event for event in run.events if event.name == "jam"), None)
    if found is None or found.impact is None:
        return ds.Answer({"jams": False, "paradox_angles": paradox_angles(parameters["friction"])})
    before, impulses = found.detail, found.impact.impulses
    length, angle = parameters["half_length"], before["angle"]
    slip = before["x_dot"] + length * math.sin(angle) * before["angle_dot"]
    normal, tangential = stopping_impulse(angle, slip, parameters)
    return ds.Answer(
        {
            "jams": True,
            "time": found.time,
            "angle": angle,
            "paradox_angles": paradox_angles(parameters["friction"]),
            "slip_before": slip,
            "impulses": [impulses["tip"], impulses["tip_stuck"]],
            "share_of_friction": impulses["tip_stuck"] / impulses["tip"] / parameters["friction"],
            "lost_energy": found.impact.kinetic_before - found.impact.kinetic_after,
            "off_closed_form": max(
                abs(impulses["tip"] - normal), abs(impulses["tip_stuck"] - tangential)
            )
            / normal,
        }
    )


def reactions(document: Document) -> Figure:
    """Draw the reaction of the floor, and the slip."""
    times = series(document, "times")
    figure, (force, slip) = panels_over_time(2)
    force.plot(times, series(document, "reactions", "tip"), linewidth=1.2, label="normal")
    friction = series(document, "outputs", "tip_friction")
    force.plot(times, friction, linewidth=1.2, label="friction")
    force.set_yscale("symlog", linthresh=10.0)
    force.set_ylabel("force (N)")
    force.legend(frameon=False)
    slip.plot(times, series(document, "outputs", "slip"), linewidth=1.2)
    slip.set_ylabel("slip (m/s)")
    return figure


def drawing(document: Document) -> Drawing:
    """Draw the rod on its floor, with the path of its centre."""
    states, length = document["states"], document["parameters"]["half_length"]
    x, y, angle = (np.array(states[name], dtype=float) for name in ("x", "y", "angle"))
    columns = {
        f"{end}_{axis}": place + way * length * turn(angle)
        for end, way in (("lower", -1.0), ("upper", 1.0))
        for axis, place, turn in (("x", x, np.cos), ("y", y, np.sin))
    }
    left = float(min(columns["lower_x"].min(), columns["upper_x"].min())) - 0.2 * length
    right = float(max(columns["lower_x"].max(), columns["upper_x"].max())) + 0.2 * length
    lower, upper = ("lower_x", "lower_y"), ("upper_x", "upper_y")
    shapes: list[Shape] = [
        Line([(left, 0.0), (right, 0.0)], role="ground"),
        Trace(("x", "y"), label="path of the centre"),
        Line([lower, upper], role="body", label="rod"),
    ]
    return Drawing(shapes, x_label="x (m)", y_label="height (m)", series=columns)


problem = ds.Problem(
    "painleve-rod",
    title="Painlevé's rod",
    models={"rod": posed},
    sources=[
        "P. Painlevé, Sur les lois du frottement de glissement, C. R. Acad. Sci. Paris 121 (1895) "
        "112-115",
        "F. Génot, B. Brogliato, New results on Painlevé paradoxes, Eur. J. Mech. A/Solids 18 "
        "(1999) 653-677",
    ],
    start=start,
    start_values=lambda structure: ("angle", "rate", "slip"),
    analyses={"jam": jam},
    figures={"reactions": reactions},
    drawing=drawing,
    cases=[
        ds.Case(
            "jam",
            start={"angle": 0.45, "rate": 2.0, "slip": -6.0},
            until=0.3,
            note="its reaction grows without bounds; with on_jam = 'impact' an impulse ends the "
            "slip, and it flies off",
        ),
        ds.Case(
            "opens",
            parameters={"friction": 1.45},
            start={"angle": 0.6, "rate": 2.0, "slip": -6.0},
            until=0.3,
            note="friction is too small for a jam: the end leaves the floor first",
        ),
        ds.Case(
            "no-motion",
            start={"angle": 1.1, "rate": 0.0, "slip": -3.0},
            until=0.3,
            note="no forces let it continue: the run is refused, or begins with an impact "
            "without collision if on_jam = 'impact'",
        ),
        ds.Case(
            "ambiguous",
            start={"angle": 1.1, "rate": 6.0, "slip": -3.0},
            until=0.1,
            note="it may fly off or slide on: the run is refused, or slides on if on_ambiguous "
            "= 'keep'",
        ),
        ds.Case(
            "away",
            start={"angle": 0.8, "rate": 0.0, "slip": 3.0},
            until=0.3,
            note="it slides to the side to which it leans, without a paradox",
        ),
    ],
)

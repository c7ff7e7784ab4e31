"""A body on three feet that slides and spins over a floor, until it turns about one foot and rests.

A rigid body stands on three feet on a level floor. Pushed, it slides and spins; each foot is
braked by Coulomb's friction against the direction in which it slides. Three normal reactions and
six components of friction are unknown. Nothing is conserved: friction dissipates all energy.

With the feet at r_k from the centre, the centre at the height h, the slips c_k = v + w x r_k and
the loads N_k,

    m v' = -mu sum N_k d_k,    J_z w' = -mu sum (r_k x N_k d_k)_z,    d_k = c_k / |c_k|,

where the moment of friction shifts the loads: 0 = sum N_k r_k - mu h sum N_k d_k about the level
axes. With three feet the loads N are just determined. A slip in space has no sign: it turns while
it falls to zero in a finite time, mostly not at the same time as the others. So one foot stops
first, and the body turns about it for the last milliseconds. At rest the friction of the feet is
not determined, only its sum and its moment are: they hold as long as some share of it is possible.

A start has the speeds `speed_x`, `speed_y` and the `spin` about the vertical. The floor may shake
along x, with the speed `floor_speed` sin(`floor_rate` t), or fall towards x by `incline`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.core.posing.symbols import Interval
from daesolve.multibody.drawing import Dot, Drawing, Line, Shape, Trace, tiles
from daesolve.typing import BoundCase, Parameters
from daesolve_problems.contacts.free_body import (
    AXES,
    EYE,
    at,
    columns_of,
    coordinates,
    kinematics,
    orientation,
    places_of,
    point_speed,
    rotated,
    turned_about_vertical,
    unit,
)
from daesolve_problems.figures import Document, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEET = ("foot_1", "foot_2", "foot_3")
AT_LEAST_ONE = Interval(1.0, math.inf)
"""The range of static over sliding friction."""


def numbers() -> Parameters:
    """Return the parameters: by default those of the reference."""
    return ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE),
        radius=(0.1, "m", ds.POSITIVE),
        first_foot=(0.3, "rad"),
        height=(0.05, "m", ds.POSITIVE),
        inertia_x=(0.0042, "kg m^2", ds.POSITIVE),
        inertia_y=(0.0042, "kg m^2", ds.POSITIVE),
        inertia_z=(0.006, "kg m^2", ds.POSITIVE),
        friction=(0.3, "", ds.NON_NEGATIVE),
        static_share=(1.0, "", AT_LEAST_ONE),
        restitution=(0.0, "", ds.NON_NEGATIVE),
        incline=(0.0, "rad"),
        floor_speed=(0.0, "m/s"),
        floor_rate=(20.0, "rad/s", ds.POSITIVE),
        gravity=(9.81, "m/s^2"),
    )


def foot(p: Any, number: int) -> list[Any]:
    """Return the place of a foot in the body's axes; of symbols as of numbers."""
    angle = p["first_foot"] + 2.0 * math.pi * number / len(FEET)
    cosine, sine = (np.cos, np.sin) if isinstance(angle, float) else (ca.cos, ca.sin)
    return [p["radius"] * cosine(angle), p["radius"] * sine(angle), -p["height"]]


def posed() -> ds.MechanicalSystem:
    """Pose the body on its floor."""
    (q, v), p = coordinates(), numbers()
    centre, shaking = q.vector[:3], p.floor_speed * ca.sin(p.floor_rate * ds.time)
    feet: list[ds.Contact] = []
    for number, name in enumerate(FEET):
        place = ca.vertcat(*[ca.SX(part) for part in foot(p, number)])
        speed = point_speed(q, v, place)
        feet.append(
            ds.Contact(
                name,
                (centre + rotated(orientation(q), place))[2],
                slip=(speed[0] - shaking, speed[1]),
                friction=p.friction,
                static_friction=p.static_share * p.friction,
                restitution=p.restitution,
            )
        )
    moments = ca.vertcat(p.inertia_x, p.inertia_y, p.inertia_z)
    turning = ca.dot(moments, v.vector[3:] ** 2) / 2
    return ds.MechanicalSystem(
        q,
        p,
        velocities=v,
        kinematics=kinematics(q, v),
        kinetic=p.mass * ca.sumsqr(v.vector[:3]) / 2 + turning,
        potential=p.mass * p.gravity * (q.z * ca.cos(p.incline) - q.x * ca.sin(p.incline)),
        goals=[*feet, unit(q)],
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Stand the body on its feet, turned by `angle`, with `speed_x`, `speed_y` and `spin`."""
    still = dict.fromkeys(("x", "y", "z_dot", "omega_x", "omega_y"), 0.0)
    moving = {f"{axis}_dot": given.get(f"speed_{axis}", 0.0) for axis in ("x", "y")}
    upright = turned_about_vertical(given.get("angle", 0.0))
    spin = given.get("spin", 0.0)
    return {**still, "z": parameters["height"], **upright, **moving, "omega_z": spin}


def stopping(case: BoundCase) -> ds.Answer:
    """Run a case, and report which foot stops when, and where the body comes to rest."""
    run = case.solve()
    stops = [event for event in run.events if event.name.endswith("_sticks")]
    end = run.end_state
    turned = 2.0 * math.atan2(end["orientation_z"], end["orientation_w"])
    found: dict[str, Any] = {
        "first_foot": stops[0].name.removesuffix("_sticks") if stops else None,
        "first_stop": stops[0].time if stops else None,
        "rest": stops[-1].time if stops else None,
        "x": end["x"],
        "y": end["y"],
        "turned": turned,
    }
    return ds.Answer(found)


def slips(document: Document) -> Figure:
    """Draw the speeds with which the feet slide, and their loads."""
    times, states = series(document, "times"), document["states"]
    figure, (speeds, loads) = panels_over_time(2)
    for number, name in enumerate(FEET):
        path = places_of(states, foot(document["parameters"], number))
        if len(times) > 2:
            rates = np.gradient(path[:, :2], times, axis=0)
            speeds.plot(times, np.linalg.norm(rates, axis=1), linewidth=1.2, label=name)
        loads.plot(times, series(document, "reactions", name), linewidth=1.2)
    speeds.set_ylabel("slip (m/s)")
    speeds.legend(frameon=False)
    loads.set_ylabel("load (N)")
    return figure


def drawing(document: Document) -> Drawing:
    """Draw the body on its floor, with the paths of its feet."""
    states, p = document["states"], document["parameters"]
    names = [f"foot_{number}" for number in range(1, len(FEET) + 1)]
    everywhere = [places_of(states, foot(p, number)) for number in range(len(FEET))]
    columns: dict[str, np.ndarray] = {}
    for name, path in zip(names, everywhere, strict=True):
        columns |= columns_of(name, path)
    corners = [at(name) for name in names]
    shapes: list[Shape] = [
        *tiles(np.concatenate(everywhere), p["radius"]),
        *[
            Trace(corner, label="paths of the feet" if k == 0 else "")
            for k, corner in enumerate(corners)
        ],
        Line([*corners, corners[0]], label="body"),
        *[Line([AXES, corner]) for corner in corners],
        Dot(AXES, role="accent", label="mass centre"),
    ]
    return Drawing(shapes, series=columns, eye=EYE)


problem = ds.Problem(
    "tripod",
    title="A body on three feet that slides and spins to rest",
    models={"feet": posed},
    sources=[
        "J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics, in: "
        "Nonsmooth Mechanics and Applications, CISM 302 (1988) 1-82",
    ],
    start=start,
    start_values=lambda structure: ("angle", "spin"),
    analyses={"stopping": stopping},
    figures={"slips": slips},
    drawing=drawing,
    cases=[
        ds.Case(
            "spins",
            start={"speed_x": 0.6, "speed_y": 0.2, "spin": 6.0},
            until=0.3,
            note="the first foot stops 1.7 ms before the body, which turns about it until then",
        ),
        ds.Case(
            "slides-down",
            parameters={"incline": 0.25},
            start={"speed_x": 0.0, "speed_y": 0.5, "spin": 8.0},
            until=1.5,
            note="on a slope that would hold it at rest: spin lets it go downhill, then it stops",
        ),
        ds.Case(
            "shaken",
            parameters={"floor_speed": 0.2},
            start={"speed_x": 0.0, "speed_y": 0.0, "spin": 2.0},
            until=0.6,
            note="a floor that shakes: it sticks and slips",
        ),
    ],
)

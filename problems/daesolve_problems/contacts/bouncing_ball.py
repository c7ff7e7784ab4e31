"""A ball with spin that bounces over a floor: it slips or grips, and its spin turns into speed.

A ball is thrown and bounces on a level, rough floor. At each impact three impulses are unknown: the
normal one and two of friction, which act while the ball slips or hold it while it grips. The weight
acts in between. The energy is not conserved: it falls with every impact but that of a superball.

With k = J / (m r^2), the slip u = v + w x (-r e_z) in the floor and the speed of approach v_n, the
impulse is L_N = m (1 + e) v_n, and the ball grips where

    |u| <= mu (1 + e) v_n (1 + 1/k),     L_T = -m u (1 + e_T) / (1 + 1/k)  (e_T = 0: it rolls off);

else L_T = -mu L_N u / |u|: the direction of the slip stays as it is. From the first grip on there
is no slip left, and the ball only bounces. A superball (e = e_T = 1) reverses its slip, and keeps
its energy, if mu >= |L_T| / L_N.

A start has the height of the centre `z` (by default on the floor), its speeds `speed_x`, `speed_y`,
`speed_z`, and `spin_x`, `spin_y`, `spin_z` about the axes of space.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.core.posing.symbols import Interval
from daesolve.multibody.drawing import Circle, Drawing, Line, Shape, Trace, tiles
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
    rotated,
    spin_of,
    turned_about_vertical,
    unit,
)
from daesolve_problems.figures import Document, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARE = Interval(0.0, 1.0)
"""The range of coefficients of restitution."""
LARGEST = 0.03
"""The least radius of the ball in a drawing, as a fraction of its path."""


def numbers() -> Parameters:
    """Return the parameters: by default those of a tennis ball."""
    return ds.parameters(
        mass=(0.058, "kg", ds.POSITIVE),
        radius=(0.033, "m", ds.POSITIVE),
        inertia_ratio=(2.0 / 3.0, "", ds.POSITIVE),
        friction=(0.5, "", ds.NON_NEGATIVE),
        restitution=(0.75, "", SHARE),
        tangential_restitution=(0.0, "", SHARE),
        gravity=(9.81, "m/s^2"),
    )


def posed() -> ds.MechanicalSystem:
    """Pose the ball over its floor."""
    (q, v), p = coordinates(), numbers()
    spin = rotated(orientation(q), v.vector[3:])
    floor = ds.Contact(
        "floor",
        q.z - p.radius,
        slip=(v.x_dot - p.radius * spin[1], v.y_dot + p.radius * spin[0]),
        friction=p.friction,
        restitution=p.restitution,
        tangential_restitution=p.tangential_restitution,
        closed=False,
    )
    inertia = p.inertia_ratio * p.mass * p.radius**2
    moving = p.mass * ca.sumsqr(v.vector[:3]) + inertia * ca.sumsqr(v.vector[3:])
    return ds.MechanicalSystem(
        q,
        p,
        velocities=v,
        kinematics=kinematics(q, v),
        kinetic=moving / 2,
        potential=p.mass * p.gravity * q.z,
        goals=[floor, unit(q)],
        outputs={f"spin_{axis}": (spin[k], "rad/s") for k, axis in enumerate(AXES)},
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Throw the ball, its axes along those of space."""
    state = {"x": 0.0, "y": 0.0, "z": given.get("z", parameters["radius"])}
    state |= turned_about_vertical(0.0)
    for name, kind in (("speed", "{}_dot"), ("spin", "omega_{}")):
        state |= {kind.format(axis): given.get(f"{name}_{axis}", 0.0) for axis in AXES}
    return state


def grips(
    slip: tuple[float, float], approach: float, parameters: Mapping[str, float]
) -> tuple[float, float, float]:
    """Return the impulses of an impact by the closed form: normal, and along x and y, N s.

    Parameters
    ----------
    slip, approach
        Before the impact, m/s.
    parameters
        Of the ball.
    """
    p, size = parameters, math.hypot(*slip)
    normal = p["mass"] * (1.0 + p["restitution"]) * approach
    grip = p["mass"] * (1.0 + p["tangential_restitution"]) / (1.0 + 1.0 / p["inertia_ratio"])
    share = min(grip, p["friction"] * normal / size) if size > 0.0 else 0.0
    return normal, -share * slip[0], -share * slip[1]


def bouncing(case: BoundCase) -> ds.Answer:
    """Run a case, and compare the impulses of its impacts with the closed form."""
    run = case.solve()
    found: list[dict[str, float]] = []
    worst = 0.0
    hits = [event for event in run.events if event.impact is not None]
    # If lower bounces are left out, the ball stays down after the last impact.
    stays = any(event.name == "accumulated" for event in run.events)
    for event in hits:
        assert event.impact is not None
        impulses, before = event.impact.impulses, event.detail
        parameters = dict(case.full_parameters)
        if stays and event is hits[-1]:
            parameters["restitution"] = 0.0
        radius = parameters["radius"]
        spin = spin_of(before)
        slip = before["x_dot"] - radius * spin[1], before["y_dot"] + radius * spin[0]
        expected = grips(slip, -before["z_dot"], parameters)
        own = [impulses[name] for name in ("floor", "floor_stuck_1", "floor_stuck_2")]
        size = max(expected[0], 1e-300)
        worst = max(worst, *(abs(a - b) / size for a, b in zip(own, expected, strict=True)))
        found.append({"time": event.time, "normal": own[0], "x": own[1], "y": own[2]})
    answer: dict[str, Any] = {"impacts": len(found), "first": found[:3], "off_closed_form": worst}
    return ds.Answer(answer)


def heights(document: Document) -> Figure:
    """Draw the height of the ball over the floor, and its spins."""
    times = series(document, "times")
    figure, (height, spins) = panels_over_time(2)
    height.plot(times, series(document, "states", "z"), linewidth=1.2)
    height.set_ylabel("height (m)")
    for axis in AXES:
        spins.plot(times, series(document, "outputs", f"spin_{axis}"), linewidth=1.2, label=axis)
    spins.set_ylabel("spin (rad/s)")
    spins.legend(frameon=False)
    return figure


def drawing(document: Document) -> Drawing:
    """Draw the ball and its path over the floor."""
    states, radius = document["states"], document["parameters"]["radius"]
    path = np.array([states[axis] for axis in AXES], dtype=float).T
    shadow = path * [1.0, 1.0, 0.0]
    reach = float(np.max(np.ptp(path, axis=0)))
    size = max(radius, LARGEST * reach)
    # A mark on the ball, which shows its spin.
    mark = places_of(states, (size, 0.0, 0.0))
    columns = columns_of("shadow", shadow) | columns_of("mark", mark)
    centre: tuple[str, str, str] = AXES
    shapes: list[Shape] = [
        *tiles(path, 3.0 * size),
        Trace(at("shadow"), role="ground", label="its place over the floor"),
        Trace(centre, label="path of the ball"),
        Line([at("shadow"), centre], role="ground"),
        Circle(centre, size, label="ball"),
        Line([centre, at("mark")], role="accent", label="a mark on it"),
    ]
    return Drawing(shapes, series=columns, eye=EYE)


problem = ds.Problem(
    "bouncing-ball-3d",
    title="A ball with spin that bounces",
    models={"ball": posed},
    sources=[
        "R. L. Garwin, Kinematics of an ultraelastic rough ball, Am. J. Phys. 37 (1969) 88-92",
        "R. Cross, Grip-slip behavior of a bouncing ball, Am. J. Phys. 70 (2002) 1093-1102",
    ],
    start=start,
    start_values=lambda structure: ("spin_x", "spin_y", "spin_z"),
    analyses={"bouncing": bouncing},
    figures={"heights": heights},
    drawing=drawing,
    cases=[
        ds.Case(
            "tennis",
            start={
                "speed_x": 8.0,
                "speed_y": 3.0,
                "speed_z": -5.0,
                "spin_x": 20.0,
                "spin_y": -150.0,
                "spin_z": 40.0,
            },
            until=2.0,
            note="slips at the first impact, grips at the second, and only bounces then",
        ),
        ds.Case(
            "superball",
            parameters={
                "mass": 0.05,
                "radius": 0.02,
                "inertia_ratio": 0.4,
                "restitution": 1.0,
                "tangential_restitution": 1.0,
            },
            start={"z": 0.5, "speed_x": 3.0, "speed_y": 0.0, "speed_z": 0.0},
            until=3.0,
            note="its slip reverses and its energy is kept: it moves forward with and without spin",
        ),
        ds.Case(
            "comes-to-rest",
            parameters={"restitution": 0.5},
            start={"z": 0.5, "speed_x": 1.0, "speed_y": 0.5, "speed_z": 0.0, "spin_z": 30.0},
            until=2.0,
            note="its bounces end, and it rolls on",
        ),
    ],
)

"""A ball that bounces on a shaken table: from one bounce a period to chaos.

A ball falls on a table that goes up and down as A sin(w t), heavy enough not to feel it. It leaves
with e times the speed with which it meets the table. The one unknown reaction is the force of the
table: an impulse at each impact, a push while the ball rides on it. Nothing is conserved: the table
does work, and impacts take it.

With times in 1/w, G = A w^2/g, the phase phi and the speed v of take-off (g/w), one bounce every n
periods has

    v = n pi,     cos(phi) = n pi (1 - e)/((1 + e) G)

The product of its multipliers is e^2, their sum 1 + e^2 - (1 + e)^2 G sin(phi). So the orbits
appear in pairs at the fold G = n pi (1 - e)/(1 + e); the one with sin(phi) > 0 is stable up to G^2
= (n pi (1 - e)/(1 + e))^2 + (2 (1 + e^2)/(1 + e)^2)^2, where periods double. Below the fold, and
often above it, bounces become ever smaller: the ball comes to rest on the table, rides on it, and
leaves where the table falls away faster than g.

In the cases w = g = 1, so that the amplitude is G. A start is at phase 0 of the table; the ball has
taken off at `phase` (rad) with the `speed` (upwards, m/s), less than a period ago. Without them it
is on the orbit of one bounce in `periods` periods (1), the stable one, or the other for `side` =
-1; below the fold, if there is none, it takes off as at the fold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody.drawing import Camera, Circle, Drawing, Line, Linear
from daesolve_problems.figures import Document, new_figure, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Values = Mapping[str, float]
TURN = 2.0 * math.pi
"""A period of the table, rad."""


def posed() -> ds.MechanicalSystem:
    """Pose the ball over the table, a contact whose gap depends on time."""
    q = ds.coordinates(y="m")
    p = ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE),
        amplitude=(1.2870106258578293, "m", ds.NON_NEGATIVE),
        frequency=(1.0, "rad/s", ds.POSITIVE),
        gravity=(1.0, "m/s^2", ds.POSITIVE),
        restitution=(0.5, "", ds.Interval(0.0, 1.0)),
    )
    height = p.amplitude * ca.sin(p.frequency * ds.time)
    table = ds.Contact("table", q.y - height, restitution=p.restitution, closed=False)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * q.dot.y**2 / 2,
        potential=p.mass * p.gravity * q.y,
        goals=[table],
        outputs={"table_height": (height, "m")},
    )


# -- orbits of one bounce ------------------------------------------------------------------------


def fold(p: Values, periods: int = 1) -> float:
    """Return the least amplitude that lets a ball bounce once in some periods of the table, m."""
    lost = (1.0 - p["restitution"]) / (1.0 + p["restitution"])
    return periods * math.pi * lost * p["gravity"] / p["frequency"] ** 2


def doubling(p: Values, periods: int = 1) -> float:
    """Return the amplitude at which the periods of these bounces double, m."""
    e = p["restitution"]
    turned = 2.0 * (1.0 + e**2) / (1.0 + e) ** 2 * p["gravity"] / p["frequency"] ** 2
    return math.hypot(fold(p, periods), turned)


def one_bounce(p: Values, periods: int = 1, side: int = 1) -> tuple[float, float]:
    """Return phase (rad) and speed (m/s) of the take-off of one bounce in some periods.

    Parameters
    ----------
    p
        The parameters.
    periods
        Of the table, between two bounces.
    side
        1 for the orbit with sin(phase) > 0, -1 for the other one.

    Returns
    -------
    tuple of float
        Below the fold, where there is no orbit, those of the fold.
    """
    least = fold(p, periods)
    cosine = least / p["amplitude"] if p["amplitude"] > least else 1.0
    return math.copysign(math.acos(cosine), side), periods * math.pi * p["gravity"] / p["frequency"]


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Take the ball from its take-off to phase 0 of the table.

    Raises
    ------
    OutOfRangeError
        `periods` or `side` make no sense, or only one of `phase` and `speed` is given.
    """
    p = parameters
    if ("phase" in given) != ("speed" in given):
        raise OutOfRangeError(
            "a take-off needs both its phase and its speed: give both, or neither"
        )
    if "phase" in given:
        phase, speed = given["phase"], given["speed"]
    else:
        phase, speed = one_bounce(p, *_chosen(given))
    # The last take-off before phase 0.
    ago = (-phase % TURN) / p["frequency"]
    left = p["amplitude"] * math.sin(phase)
    return {
        "y": left + speed * ago - p["gravity"] * ago**2 / 2.0,
        "y_dot": speed - p["gravity"] * ago,
    }


def _chosen(given: Values) -> tuple[int, int]:
    periods, side = given.get("periods", 1.0), given.get("side", 1.0)
    if periods < 1.0 or periods != int(periods) or side not in (1.0, -1.0):
        raise OutOfRangeError(
            f"periods must be 1, 2, ... and side 1 or -1, not {periods:g} and {side:g}"
        )
    return int(periods), int(side)


def closed_form(case: Any) -> ds.Answer:
    """Return the orbit of one bounce, and where it appears and doubles."""
    p, (periods, side) = case.full_parameters, _chosen(case.full_start)
    found: dict[str, Any] = {"fold": fold(p, periods), "doubling": doubling(p, periods)}
    if p["amplitude"] >= found["fold"]:
        phase, speed = one_bounce(p, periods, side)
        e, shaken = p["restitution"], p["amplitude"] * p["frequency"] ** 2 / p["gravity"]
        trace = 1.0 + e**2 - (1.0 + e) ** 2 * shaken * math.sin(phase)
        roots = np.roots([1.0, -trace, e**2])
        found |= {
            "phase": phase,
            "speed": speed,
            "multipliers": [[float(root.real), float(root.imag)] for root in roots],
        }
    return ds.Answer(found)


# -- pictures ------------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw the table and the ball above it."""
    y, table = series(document, "states", "y"), series(document, "outputs", "table_height")
    high = float(max(np.max(y), np.max(table)))
    low = float(min(np.min(y), np.min(table)))
    size = max(high - low, 1e-12)
    radius = 0.04 * size
    return Drawing(
        [
            Line([(-size / 2, 0.0), (size / 2, 0.0)], role="ground"),
            Line(
                [(-0.3 * size, "table_height"), (0.3 * size, "table_height")],
                label="table",
            ),
            Circle((0.0, Linear({"y": 1.0}, radius)), radius, role="accent", label="ball"),
        ],
        x_label="",
        y_label="height (m)",
        camera=Camera((0.0, (high + low) / 2.0), 1.3 * size),
    )


def bounces(document: Document) -> Figure:
    """Draw the flights over the table."""
    times = series(document, "times")
    figure, (axes,) = panels_over_time(1)
    axes.plot(times, series(document, "outputs", "table_height"), color="0.6", linewidth=0.8)
    axes.plot(times, series(document, "states", "y"), linewidth=1.0)
    axes.set_ylabel("height (m)")
    return figure


def impacts(document: Document) -> Figure:
    """Draw the speed of take-off over the phase of the table, at each impact."""
    frequency = document["parameters"]["frequency"]
    from daesolve.reporting.figures.style import settle

    found = [
        (math.remainder(frequency * event["time"], TURN), event["after"]["y_dot"])
        for event in document["events"]
        if event["name"] == "table_closed" and "after" in event
    ]
    figure = new_figure(5.0, 4.0)
    axes = figure.add_subplot()
    axes.plot(*np.array(found).reshape(-1, 2).T, ".", markersize=3)
    settle(axes, [np.array([speed for _, speed in found])])
    axes.set_xlim(-math.pi, math.pi)
    axes.set_xlabel("phase of the impact (rad)")
    axes.set_ylabel("speed of take-off (m/s)")
    return figure


problem = ds.Problem(
    "bouncing-ball",
    title="A ball on a shaken table",
    models={"contact": posed},
    sources=[
        "P. J. Holmes, The dynamics of repeated impacts with a sinusoidally vibrating table, "
        "J. Sound Vib. 84 (1982) 173-189",
        "N. B. Tufillaro, T. Abbott, J. Reilly, An Experimental Approach to Nonlinear Dynamics and "
        "Chaos (1992), chapter 1",
    ],
    start=start,
    start_values=lambda structure: ("phase", "speed", "periods", "side"),
    analyses={"closed-form": closed_form},
    drawing=drawing,
    figures={"bounces": bounces, "impacts": impacts},
    cases=[
        ds.Case(
            "one-bounce",
            until=20 * TURN,
            note="the stable orbit; its multipliers are -0.21670 +- 0.45060 i",
        ),
        ds.Case(
            "saddle",
            start={"side": -1.0},
            until=10 * TURN,
            note="the unstable one: errors grow by 2.8455 at each bounce",
        ),
        ds.Case(
            "two-bounces",
            parameters={"amplitude": 1.57682370051906086},
            start={"phase": 0.475116041442064024, "speed": 3.57239946429016544},
            until=20 * TURN,
            note="beyond the doubling at 1.52682370051906: a high bounce and a low one",
        ),
        ds.Case(
            "springy",
            parameters={"amplitude": 1.09083646824790697, "restitution": 0.8},
            start={"phase": 1.53887475526939527, "speed": 2.79605177055714054},
            until=20 * TURN,
            note="two bounces of a ball that loses less",
        ),
        ds.Case(
            "chaos",
            parameters={"amplitude": 1.3, "restitution": 0.8},
            start={"phase": 0.5, "speed": 4.0},
            until=200 * TURN,
            note="no bounce is like another",
        ),
        ds.Case(
            "rides",
            parameters={"amplitude": 1.02},
            start={"phase": 0.0, "speed": 1.5},
            until=10 * TURN,
            note="its bounces end; it rides on the table, and leaves when the table falls away",
        ),
    ],
)

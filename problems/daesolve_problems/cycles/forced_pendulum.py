"""Oscillators that are driven periodically: a pendulum, Duffing's, van der Pol's, a shaken pivot.

One coordinate moves under a force of period 2 pi/w. There are no constraints, and so no unknown
reactions. Nothing is conserved: the drive puts energy in, and damping takes it out. The quantities
have no units.

    pendulum       theta'' + d theta' + sin(theta) = F cos(w t)
    duffing        x'' + d x' + a x + b x^3 = F cos(w t)
    van-der-pol    x'' - d (1 - x^2) x' + x = F cos(w t)
    pivot          theta'' + d theta' + (1 - F w^2 cos(w t)) sin(theta) = 0

In `pivot` the pivot is shaken vertically by F cos(w t), in lengths of the pendulum; theta is
measured from hanging down. Standing upright, small motions follow Mathieu's equation x'' + (D - 2 e
cos 2 s) x = 0 with s = w t/2, D = -4/w^2, |e| = 2 F.

An orbit of period 2 pi/w is a fixed point of the map of the state from one period of the drive to
the next. The product of its multipliers is exp(-2 pi d/w) for all but van der Pol's, where it is
exp(d (T - integral of x^2)). The cases start at phase 0 of the drive on orbits where the stability
changes: folds, a symmetry breaking, period doublings, the birth of a torus. The event `strobe`
records the state after each period of the drive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import Dot, Drawing, Line, Polar, Trace
from daesolve_problems.figures import Document, draw_curve, new_figure, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daesolve.multibody.drawing import Shape

TURN = 2.0 * np.pi
"""A period of the phase of a drive, rad."""


def _strobe(frequency: ca.SX) -> ds.Event:
    """Return what records the state after each period of the drive."""
    return ds.Event("strobe", ca.sin(frequency * ds.time / 2))


def pendulum() -> ds.MechanicalSystem:
    """Pose the pendulum that a periodic torque drives."""
    q = ds.coordinates(theta=ds.ANGLE)
    p = ds.parameters(
        damping=(0.5, "", ds.NON_NEGATIVE),
        amplitude=(1.0, "", ds.NON_NEGATIVE),
        frequency=(2.0 / 3.0, "", ds.POSITIVE),
    )
    drive = p.amplitude * ca.cos(p.frequency * ds.time)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.theta**2 / 2,
        potential=-ca.cos(q.theta),
        force={"theta": drive - p.damping * q.dot.theta},
        events=[_strobe(p.frequency)],
        outputs={"drive": (drive, "")},
    )


def duffing() -> ds.MechanicalSystem:
    """Pose Duffing's oscillator."""
    q = ds.coordinates(x="")
    p = ds.parameters(
        damping=(0.1, "", ds.NON_NEGATIVE),
        linear=(1.0, ""),
        cubic=(1.0, ""),
        amplitude=(0.5, "", ds.NON_NEGATIVE),
        frequency=(1.5, "", ds.POSITIVE),
    )
    drive = p.amplitude * ca.cos(p.frequency * ds.time)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.x**2 / 2,
        potential=p.linear * q.x**2 / 2 + p.cubic * q.x**4 / 4,
        force={"x": drive - p.damping * q.dot.x},
        events=[_strobe(p.frequency)],
        outputs={"drive": (drive, "")},
    )


def van_der_pol() -> ds.MechanicalSystem:
    """Pose van der Pol's oscillator with a drive."""
    q = ds.coordinates(x="")
    p = ds.parameters(
        damping=(0.3, "", ds.NON_NEGATIVE),
        amplitude=(0.9, "", ds.NON_NEGATIVE),
        frequency=(1.25, "", ds.POSITIVE),
    )
    drive = p.amplitude * ca.cos(p.frequency * ds.time)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        force={"x": drive + p.damping * (1 - q.x**2) * q.dot.x},
        events=[_strobe(p.frequency)],
        outputs={"drive": (drive, "")},
    )


def pivot() -> ds.MechanicalSystem:
    """Pose the pendulum on a pivot that is shaken vertically, in axes that move with it."""
    q = ds.coordinates(theta=ds.ANGLE)
    p = ds.parameters(
        damping=(0.0, "", ds.NON_NEGATIVE),
        amplitude=(0.1, "", ds.NON_NEGATIVE),
        frequency=(20.0, "", ds.POSITIVE),
    )
    height = p.amplitude * ca.cos(p.frequency * ds.time)
    weight = 1 - p.frequency**2 * height
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.theta**2 / 2,
        potential=-weight * ca.cos(q.theta),
        force={"theta": -p.damping * q.dot.theta},
        events=[_strobe(p.frequency)],
        outputs={"pivot_height": (height, "")},
    )


# -- pictures ------------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw the pendulum, or the point on its line with the drive as a bar below."""
    if "theta" in document["states"]:
        height = series(document, "outputs", "pivot_height") if _is_shaken(document) else None
        down = {"down": series(document, "states", "theta") - np.pi / 2}
        hinge = (0.0, "pivot_height") if height is not None else (0.0, 0.0)
        bob = Polar(hinge, 1.0, "down")
        shapes: list[Shape] = [Line([hinge, bob]), Dot(hinge), Dot(bob, role="accent", label="bob")]
        return Drawing(shapes, x_label="x", y_label="y", series=down)
    size = 1.2 * float(np.max(np.abs(series(document, "states", "x"))))
    track = Line([(-size, 0.0), (size, 0.0)], role="ground")
    drive = Line([(0.0, -0.2 * size), ("drive", -0.2 * size)], role="force", label="drive")
    point = ("x", 0.0)
    return Drawing(
        [track, drive, Trace(point), Dot(point, role="accent", label="x")], x_label="x", y_label=""
    )


def _is_shaken(document: Document) -> bool:
    return "pivot_height" in document["outputs"]


def portrait(document: Document) -> Figure:
    """Draw the rate over the coordinate, and the states at the strobe on top."""
    name = "theta" if "theta" in document["states"] else "x"
    struck = [e["detail"] for e in document["events"] if e["name"] == "strobe" and "detail" in e]
    figure = new_figure(5.0, 4.0)
    axes = figure.add_subplot()
    draw_curve(axes, document, name, f"{name}_dot", linewidth=0.6)
    points = np.array([[state[name], state[f"{name}_dot"]] for state in struck])
    if len(points):
        axes.plot(*points.T, "o", markersize=3, label="once a period of the drive")
        axes.legend(frameon=False)
    axes.set_xlabel(name)
    axes.set_ylabel(f"rate of {name}")
    return figure


def motion(document: Document) -> Figure:
    """Draw the coordinate and its rate over time."""
    name = "theta" if "theta" in document["states"] else "x"
    figure, panels = panels_over_time(2)
    for axes, key, label in zip(
        panels, (name, f"{name}_dot"), (name, f"rate of {name}"), strict=True
    ):
        axes.plot(series(document, "times"), series(document, "states", key), linewidth=0.8)
        axes.set_xlabel("t")
        axes.set_ylabel(label)
    return figure


PERIOD = {"pendulum": 3.0 * np.pi, "van-der-pol": TURN / 1.25}
"""The default period of the drive."""

problem = ds.Problem(
    "forced-pendulum",
    title="Oscillators that are driven periodically",
    models={"pendulum": pendulum, "duffing": duffing, "van-der-pol": van_der_pol, "pivot": pivot},
    sources=[
        "G. L. Baker, J. P. Gollub, Chaotic Dynamics: An Introduction, 2nd ed. (1996)",
        "J. Guckenheimer, P. Holmes, Nonlinear Oscillations, Dynamical Systems, and Bifurcations "
        "of Vector Fields (1983), chapter 2",
        "P. L. Kapitza, Dynamic stability of a pendulum with an oscillating point of suspension, "
        "Zh. Eksp. Teor. Fiz. 21 (1951) 588-597",
    ],
    drawing=drawing,
    figures={"portrait": portrait, "motion": motion},
    cases=[
        ds.Case(
            "symmetry-breaking",
            parameters={"amplitude": 1.0043194774264683},
            start={"theta": -1.071954314878038, "theta_dot": 1.8972317332805773},
            until=10 * PERIOD["pendulum"],
            note="beyond F = 1.00431947742647 two orbits, mirror images, take over its stability",
        ),
        ds.Case(
            "doubling",
            parameters={"amplitude": 1.0663728624552062},
            start={"theta": -0.22147489981695617, "theta_dot": 1.9596599332195097},
            until=10 * PERIOD["pendulum"],
            note="beyond F = 1.0663728624553 a period of two turns of the drive takes over",
        ),
        ds.Case(
            "period-2",
            parameters={"amplitude": 1.0673728624552061},
            start={"theta": -0.27027282144940246, "theta_dot": 1.9768328360002116},
            until=20 * PERIOD["pendulum"],
            note="it repeats after two periods of the drive",
        ),
        ds.Case(
            "second-doubling",
            parameters={"amplitude": 1.0793139059037167},
            start={"theta": -0.42791230575052897, "theta_dot": 2.013691067711407},
            until=20 * PERIOD["pendulum"],
            note="beyond F = 1.0793139059 a period of four takes over",
        ),
        ds.Case(
            "chaos",
            parameters={"amplitude": 1.15},
            start={"theta": 0.2, "theta_dot": 0.0},
            until=200 * PERIOD["pendulum"],
            note="irregular turns to both sides",
        ),
        ds.Case(
            "fold-upper",
            model="duffing",
            parameters={"frequency": 2.2119353170197247},
            start={"x": -0.05967241681681924, "x_dot": 4.447085486412068},
            until=100.0,
            note="the large motion ends at w = 2.2119353170197",
        ),
        ds.Case(
            "fold-lower",
            model="duffing",
            parameters={"frequency": 1.4386701455142776},
            start={"x": -0.6846731134833054, "x_dot": 0.21268199056647472},
            until=100.0,
            note="the small motion ends at w = 1.4386701455142",
        ),
        ds.Case(
            "torus",
            model="van-der-pol",
            parameters={"amplitude": 0.8420307370056673},
            start={"x": -1.3587798080645983, "x_dot": -0.5097222251611807},
            until=20 * PERIOD["van-der-pol"],
            note="below F = 0.8420307370057 the motion is quasi-periodic",
        ),
        ds.Case(
            "upright",
            model="pivot",
            start={"theta": np.pi - 0.1, "theta_dot": 0.0},
            until=30.0,
            note="stays upright on a pivot shaken faster than w = 14.1728900208",
        ),
    ],
)

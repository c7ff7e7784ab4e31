"""Figures that show bodies in motion, at the top of pages: `python docs/figures.py NAME`.

Where a page has code, its figure draws what that code computes, as in `page_figures.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon, Rectangle
from page_figures import COLOURS, RED, computed, panels, still

import daesolve as ds
from daesolve.multibody import GROUND, Clearance, HuntCrossley, Mechanism, PlanarBody, Revolute

INK = "#333"
NOTE: dict[str, Any] = {"textcoords": "offset points", "fontsize": "small", "color": "#555"}


def _picture(axes: Axes) -> None:
    """Show what is drawn in its proportions, without axes."""
    axes.set_aspect("equal")
    axes.set_axis_off()


def falling_bead() -> Figure:
    """Draw the page's bead at equal times: on the sphere, in the air, on the floor."""
    names = computed("how-to/contact", 'sphere = ds.Contact("sphere"')
    run = ds.solve(names["bead"], 1.75, names["top"], at=ds.every(0.05))
    path = ds.solve(names["bead"], 1.75, names["top"], at=ds.every(0.005))
    figure, (axes,) = panels(1, 2.6)
    axes.add_patch(Circle((0.0, 0.0), 1.0, facecolor="#e8eef5", edgecolor=COLOURS[4]))
    axes.axhline(-1.0, color=COLOURS[4])
    axes.plot(path["x"], path["y"], color=COLOURS[0], linewidth=0.9)
    axes.plot(run["x"], run["y"], "o", color=COLOURS[0], markersize=4.5)
    lost, landed, *_ = run.events
    for event, words, shift in ((lost, "leaves", (8, 2)), (landed, "strikes", (6, 8))):
        place = event.detail["x"], event.detail["y"]
        axes.plot(*place, "o", color=RED, markersize=6)
        axes.annotate(words, place, shift, **NOTE)
    axes.set(xlim=(-1.1, float(path["x"].max()) + 0.1), ylim=(-1.05, 1.1))
    _picture(axes)
    return figure


def mechanisms() -> Figure:
    """Draw mechanisms of bodies and joints, each at one instant of a run."""
    shown = (
        ("slider-crank", None, 0.4),
        ("five-bar", "falls", 0.15),
        ("four-bar", None, 0.8),
        ("robot-arm", None, 0.8),
        ("bricard", None, 1.0),
        ("flyball-governor", None, 0.4),
    )
    figure, grid = plt.subplots(2, 3, figsize=(5.0, 3.6), layout="constrained")
    for panel, (problem, case, until) in zip(grid.ravel(), shown, strict=True):
        still(problem, case, until, panel)
        panel.set_title(problem, fontsize="small")
    return figure


def drawer() -> Figure:
    """Draw the page's drawer from above, as it opens and jams, and the loads on its supports."""
    names = computed("how-to/dry-friction", "drawer = ")
    run, depth, width = names["run"], names["depth"], names["width"]
    figure = plt.figure(figsize=(5.0, 4.0), layout="constrained")
    figure.get_layout_engine().set(hspace=0.08)
    grid = figure.add_gridspec(2, 3, height_ratios=(1, 1.4))
    last = float(run["x"][-1])
    for column, opening in enumerate((0.0, last / 2, last)):
        axes = figure.add_subplot(grid[0, column])
        index = int(np.argmin(np.abs(run["x"] - opening)))
        place = float(run["x"][index])
        corner = place - depth / 2, -width / 2
        axes.add_patch(
            Rectangle(
                corner, depth, width, facecolor="#e8eef5", edgecolor=COLOURS[0], linewidth=1.5
            )
        )
        for side in (-1.0, 1.0):
            ends = np.array([-0.55, depth / 2])
            axes.plot(ends, np.full(2, side * (width / 2 + 0.02)), color=INK, linewidth=2.5)
        pulled = place + depth / 2, 0.25
        _arrow(axes, pulled, (0.22, 0.0), COLOURS[1])
        for name, along in {"edge": depth / 2, "back": corner[0]}.items():
            load = float(run[name][index])
            foot = along, -np.sign(load) * width / 2
            _arrow(axes, foot, (0.0, load / 150), RED)
        axes.set(xlim=(-0.55, 1.0), ylim=(-0.45, 0.45))
        axes.set_title("jammed" if opening == last else f"{place:.2f} m open", fontsize="small")
        _picture(axes)
    loads = figure.add_subplot(grid[1, :])
    for colour, name in zip(COLOURS[1:], ("edge", "back"), strict=False):
        loads.plot(run["x"], run[name], color=colour, label=name)
    loads.set(xlabel="opening (m)", ylabel="force on a pair (N)")
    loads.legend(frameon=False, fontsize="small")
    return figure


def _arrow(axes: Axes, foot: tuple[float, float], along: tuple[float, float], colour: str) -> None:
    """Draw a force at its point of action."""
    look = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0}
    head = foot[0] + along[0], foot[1] + along[1]
    axes.annotate("", xy=head, xytext=foot, arrowprops=look)


def play() -> Figure:
    """Draw the way of a pendulum's pin in a hole that is 1 mm wider, rigid and compliant."""
    figure, (axes,) = panels(1, 3.4)
    turn = np.linspace(0.0, 2 * np.pi, 200)
    axes.plot(np.cos(turn), np.sin(turn), color=COLOURS[4], linewidth=1.0)
    compliant = {"compliance": HuntCrossley(1e6, 1.5, 1.0)}
    for colour, label, rule in (
        (COLOURS[0], "rigid, restitution 0.5", {"restitution": 0.5}),
        (COLOURS[1], "HuntCrossley(1e6, dissipation=1)", compliant),
    ):
        run = _with_play(rule)
        axes.plot(1e3 * run["pin_x"], 1e3 * run["pin_y"], color=colour, label=label, linewidth=1.0)
    axes.set(aspect="equal", xlabel="pin across (mm)", ylabel="pin up (mm)")
    figure.legend(loc="outside upper center", frameon=False, fontsize="small", ncols=2)
    return figure


def _with_play(rule: dict[str, Any]) -> ds.Trajectory:
    """Let a rod of 1 m fall from the horizontal about a pin with a play of 1 mm."""
    rod = PlanarBody("rod", 1.0, 1 / 12, position=(0.5, 0.0))
    hinge = Revolute("hinge", GROUND.frame((0.0, 0.0)), rod.frame((-0.5, 0.0)))
    mechanism = Mechanism([rod], [Clearance("play", hinge, 1e-3, **rule)], gravity=(0, -9.81))
    pin = hinge.second.position
    system = mechanism.system(outputs={"pin_x": (pin[0], "m"), "pin_y": (pin[1], "m")})
    return ds.solve(system, 0.4, guess=mechanism.start, at=ds.every(2e-4))


def car_and_trailer() -> Figure:
    """Draw the page's car on two wheels and its trailer on a skate, from above."""
    names = computed("how-to/mechanisms", 'WheelPair("axle", car.frame')
    train = names["train"]
    run = ds.solve(train.system(), 6.0, guess=train.start, at=ds.every(0.02))
    figure, (axes,) = panels(1, 2.4)
    axes.plot(run["car_x"], run["car_y"], color=COLOURS[0], linewidth=0.8)
    axes.plot(run["trailer_x"], run["trailer_y"], "--", color=COLOURS[1], linewidth=0.8)
    car = ((-0.3, 0.4), (-0.3, -0.4), (0.5, -0.4), (0.5, 0.4))
    trailer = ((-0.3, 0.3), (-0.3, -0.3), (0.3, -0.3), (0.3, 0.3), (0.6, 0.0))
    for moment in (0.0, 2.0, 4.0, 6.0):
        here = run.at(moment)
        for colour, body, shape in ((COLOURS[0], "car", car), (COLOURS[1], "trailer", trailer)):
            c, s = np.cos(here[f"{body}_angle"]), np.sin(here[f"{body}_angle"])
            corners = np.array(shape) @ np.array([[c, s], [-s, c]])
            corners += here[f"{body}_x"], here[f"{body}_y"]
            axes.add_patch(Polygon(corners, facecolor="none", edgecolor=colour))
    axes.set(xlabel="x (m)", ylabel="y (m)", aspect="equal")
    return figure


def walk() -> Figure:
    """Draw the simplest walker at equal times over three of its steps."""
    run = ds.problem("walker").case("long").solve(12.0, at=ds.every(0.02))
    strikes = [event for event in run.events if event.name == "heel_strike"][:3]
    figure, (axes,) = panels(1, 1.7)
    foot, begin, path = 0.0, 0.0, list[tuple[float, float]]()
    for strike in strikes:
        for moment in np.linspace(begin, strike.time, 7)[:-1]:
            here = run.at(float(moment))
            theta, swing = here["theta"], here["theta"] - here["phi"]
            hip = foot - np.sin(theta), np.cos(theta)
            other = hip[0] + np.sin(swing), hip[1] - np.cos(swing)
            for colour, end in ((COLOURS[0], (foot, 0.0)), (COLOURS[1], other)):
                axes.plot([hip[0], end[0]], [hip[1], end[1]], color=colour, linewidth=1.2)
            path.append(hip)
        foot += 2 * np.sin(strike.after["theta"])
        begin = strike.time
    axes.plot(*np.array(path).T, "o", color=INK, markersize=3.5)
    axes.plot([-0.45, foot + 0.1], [0.0, 0.0], color=COLOURS[4])
    _picture(axes)
    return figure


BODIES: dict[str, Callable[[], Figure]] = {
    "falling-bead": falling_bead,
    "mechanisms": mechanisms,
    "drawer": drawer,
    "play": play,
    "car-and-trailer": car_and_trailer,
    "walk": walk,
}

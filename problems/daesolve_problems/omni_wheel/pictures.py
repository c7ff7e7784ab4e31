"""The drawing of one omni-wheel, and its rollers over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daesolve.multibody.drawing import (
    Camera,
    Drawing,
    Line,
    Outline,
    Pose,
    Shape,
    Trace,
    ring,
    tiles,
)
from daesolve_problems.contacts.free_body import EYE
from daesolve_problems.contacts.free_roller import wires
from daesolve_problems.figures import Document, frames_of, panels_over_time, series
from daesolve_problems.omni_wheel.models import wheel_of
from daesolve_problems.omni_wheels import equal_directions, numbered

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def spins_over_time(document: Document) -> Figure:
    """Draw the spins of the rollers, the height of the centre, and how far the axle is raised."""
    times, rollers = series(document, "times"), document["structure"]["rollers"]
    figure, (spins, height, lean) = panels_over_time(3)
    for name in numbered("spin", rollers):
        spins.plot(times, series(document, "states", name), linewidth=1.0, label=name)
    spins.set_ylabel("spins of the rollers (rad/s)")
    spins.legend(frameon=False, fontsize="small")
    height.plot(times, series(document, "states", "wheel_z"), linewidth=1.2)
    height.set_ylabel("height of the centre (m)")
    raised = np.clip(series(document, "outputs", "axle_z"), -1.0, 1.0)
    lean.plot(times, np.degrees(np.arcsin(raised)), linewidth=1.2)
    lean.set_ylabel("axle above the level (degrees)")
    return figure


def drawing(document: Document) -> Drawing:
    """Draw disc and rollers over the floor; the rollers' own turning is not shown."""
    rollers = document["structure"]["rollers"]
    wheel = wheel_of(document["parameters"], rollers)
    roller, hub = wheel.roller, Pose("hub")
    centre, axes = frames_of(document, "wheel")
    columns = hub.series(centre, axes)
    inner = roller.axis_distance - roller.end_radius
    shapes: list[Shape] = [
        *tiles(centre, 1.5 * roller.wheel_radius),
        Trace(hub.place((0.0, 0.0, 0.0)), label="path of the centre"),
        Outline(hub.places(ring(inner)), label="disc"),
        Line(hub.places(np.array([(0.0, 0.0, 0.0), (inner, 0.0, 0.0)])), role="accent",
             label="a mark on it"),
    ]  # fmt: skip
    for j, (cosine, sine) in enumerate(equal_directions(rollers), start=1):
        along, outwards = np.array([cosine, sine, 0.0]), np.array([-sine, cosine, 0.0])
        own = np.column_stack([outwards, np.cross(along, outwards), along])
        pose = Pose(f"roller_{j}")
        columns |= pose.series(centre + roller.axis_distance * (axes @ outwards), axes @ own)
        shapes += wires(pose, roller, "" if j > 1 else "rollers")
    return Drawing(
        shapes,
        series=columns,
        camera=Camera(hub.place((0.0, 0.0, 0.0)), 6.0 * roller.wheel_radius),
        eye=EYE,
    )

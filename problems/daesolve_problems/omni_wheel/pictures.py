"""The drawing of one omni-wheel, and its rollers over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from daesolve.drawing import Camera, Drawing, Line, Shape, Trace
from daesolve_problems.contacts.free_body import floor_lines, seen
from daesolve_problems.contacts.free_roller import outlined
from daesolve_problems.figures import Document, panels_over_time, series
from daesolve_problems.omni_wheel.models import wheel_of
from daesolve_problems.omni_wheels import equal_directions, numbered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RIM = 24
"""Points of the drawn disc."""


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


def _turned(document: Document) -> np.ndarray:
    """Return the wheel's axes in space, (k, 3, 3), columns."""
    states = document["states"]
    w, x, y, z = (np.array(states[f"wheel_q{k}"], dtype=float) for k in range(4))
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def drawing(document: Document) -> Drawing:
    """Draw disc and rollers over the floor, seen from above and aside."""
    rollers = document["structure"]["rollers"]
    wheel = wheel_of(document["parameters"], rollers)
    roller, turned = wheel.roller, _turned(document)
    centre = np.array([document["states"][f"wheel_{axis}"] for axis in "xyz"], dtype=float).T
    columns: dict[str, np.ndarray] = {}

    def named(name: str, places: tuple[np.ndarray, np.ndarray]) -> tuple[str, str]:
        columns[f"{name}_right"], columns[f"{name}_up"] = places
        return f"{name}_right", f"{name}_up"

    shapes: list[Shape] = []
    margin = 1.5 * roller.wheel_radius
    low, high = centre[:, :2].min(0) - margin, centre[:, :2].max(0) + margin
    shapes += [Line(ends, role="ground") for ends in floor_lines(low, high)]
    middle = named("centre", seen(centre))
    shapes.append(Trace(middle, label="path of the centre"))
    inner = roller.axis_distance - roller.end_radius
    rim: list[tuple[str, str]] = []
    for number, angle in enumerate(np.linspace(0.0, 2.0 * math.pi, RIM, endpoint=False)):
        place = inner * np.array([math.cos(angle), math.sin(angle), 0.0])
        rim.append(named(f"rim_{number}", seen(centre + turned @ place)))
    shapes.append(Line([*rim, rim[0]], label="disc"))
    shapes.append(Line([middle, rim[0]], role="accent", label="a mark on it"))
    for j, (cosine, sine) in enumerate(equal_directions(rollers), start=1):
        axis = turned @ np.array([cosine, sine, 0.0])
        carried = centre + roller.axis_distance * (turned @ np.array([-sine, cosine, 0.0]))
        outline = outlined(carried, axis, roller)
        points = [named(f"roller_{j}_{number}", places) for number, places in outline.items()]
        shapes.append(Line(points, label="" if j > 1 else "rollers"))
    return Drawing(
        shapes,
        x_label="seen from aside (m)",
        y_label="and from above (m)",
        series=columns,
        camera=Camera(middle, 6.0 * roller.wheel_radius),
    )

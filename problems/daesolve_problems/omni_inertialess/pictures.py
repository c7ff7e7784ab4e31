"""The drawing of the vehicle from above, and its motion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from daesolve.multibody.drawing import (
    Camera,
    Cosine,
    Dot,
    Drawing,
    Line,
    Linear,
    Outline,
    Shape,
    Trace,
)
from daesolve_problems.figures import (
    Document,
    column,
    draw_over_time,
    draw_path,
    new_figure,
    place_of_centre,
    plane,
)
from daesolve_problems.omni_inertialess.vehicle import Wheel, parameters, wheels_of
from daesolve_problems.omni_vehicle.pictures import (
    CENTRE,
    on_platform,
    platform_shapes,
    rates_of_platform,
)
from daesolve_problems.omni_wheels import numbered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

HALF_WIDTH, HALF_AXIS = 0.25, 0.7
"""Half the width of a wheel as drawn, and half the length of a roller's axis, over h."""
MARKS = 6
"""Lines across the rim of a wheel, by which its turning is seen."""
SIGHT = 2.8
"""The width of what an animation looks at, in largest distances from the vehicle's centre."""


def _values(document: Document) -> tuple[dict[str, float], int]:
    """Return every parameter, and N; zero means that it follows from the others."""
    given = dict(document["parameters"])
    wheels = sum(name.startswith("heading_") for name in given)
    return dict.fromkeys(parameters(wheels).names, 0.0) | given, wheels


# -- the vehicle ---------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw the vehicle from above, the path of its centre and, if it differs, of its mass centre.

    Lines across a wheel turn with it; a line through its middle is the axis of the roller below.
    """
    p, count = _values(document)
    wheels = wheels_of(p, count)
    extent = max(math.hypot(wheel.x, wheel.y) for wheel in wheels) + p["wheel_radius"]
    off_centre = math.hypot(p["centre_x"], p["centre_y"]) > 0.0
    mass = on_platform(p["centre_x"], p["centre_y"])
    shapes: list[Shape] = [Trace(CENTRE, label="path of the centre")]
    if off_centre:
        shapes.append(Trace(mass, role="force", label="path of the mass centre"))
    shapes += platform_shapes(p["platform_radius"], [(wheel.x, wheel.y) for wheel in wheels])
    for number, wheel in enumerate(wheels, start=1):
        shapes += _wheel(p["wheel_radius"], number, wheel)
    shapes.append(Dot(CENTRE, role="path"))
    if off_centre:
        shapes.append(Dot(mass, role="force", label="mass centre"))
    return Drawing(
        shapes, series=rates_of_platform(document), camera=Camera(CENTRE, SIGHT * extent)
    )


def _wheel(radius: float, number: int, wheel: Wheel) -> list[Shape]:
    """Return a wheel; its own axes are its axle and what lies across it."""
    at, heading = on_platform(wheel.x, wheel.y), Linear({"theta": 1.0}, wheel.heading)
    wide, first = HALF_WIDTH * radius, number == 1
    corners = [(wide, radius), (-wide, radius), (-wide, -radius), (wide, -radius)]
    shapes: list[Shape] = [Outline(corners, at, heading, label="wheel" if first else "")]
    for k in range(MARKS):
        turned = math.tau * k / MARKS
        place = Cosine(radius, Linear({f"chi_{number}": 1.0}, turned - math.pi / 2))
        above = Cosine(-1.0, Linear({f"chi_{number}": 1.0}, turned))
        shapes.append(
            Outline([(wide, place), (-wide, place)], at, heading, shown=above, role="detail")
        )
    ends = [
        on_platform(wheel.x + side * wheel.axis[0], wheel.y + side * wheel.axis[1])
        for side in (-HALF_AXIS * radius, HALF_AXIS * radius)
    ]
    shapes.append(Line(ends, role="accent", label="axis of the roller below" if first else ""))
    return shapes


# -- its motion ----------------------------------------------------------------------------------


def motion(document: Document) -> Figure:
    """Draw the paths of the centre and of the mass centre, velocities, wheels and reactions."""
    figure = new_figure(10.4, 7.2)
    grid = figure.add_gridspec(3, 2, width_ratios=(1.0, 1.1))
    p, numbers = _values(document)
    _paths(figure.add_subplot(grid[:2, 0]), document, p)
    v = {name: column(document, name) for name in ("v_1", "v_2", "speed")}
    draw_over_time(
        figure.add_subplot(grid[0, 1]), document["times"], v, "velocity of the centre (m/s)"
    )
    turning = {"omega": column(document, "omega")}
    draw_over_time(
        figure.add_subplot(grid[1, 1]), document["times"], turning, "rate of turn (rad/s)"
    )
    rates = {f"wheel {i}": column(document, f"chi_dot_{i}") for i in range(1, numbers + 1)}
    draw_over_time(
        figure.add_subplot(grid[2, 0]), document["times"], rates, "rates of the wheels (rad/s)"
    )
    forces = {
        f"wheel {i}": column(document, name)
        for i, name in enumerate(numbered("lambda", numbers), start=1)
    }
    draw_over_time(figure.add_subplot(grid[2, 1]), document["times"], forces, "reactions (N)")
    return figure


def _paths(axes: Axes, document: Document, p: Mapping[str, float]) -> None:
    draw_path(axes, document, place_of_centre, "centre", color="C0")
    arm = complex(p["centre_x"], p["centre_y"])
    if arm:
        draw_path(
            axes,
            document,
            lambda part: place_of_centre(part) + arm * np.exp(1j * column(part, "theta")),
            "mass centre",
            color="C1",
        )
    plane(axes)
    axes.legend(loc="best")


FIGURES = {"motion of the vehicle": motion}
"""The problem's own figures, by title."""

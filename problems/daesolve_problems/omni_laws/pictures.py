"""The drawing of the vehicle from above, and its motions by the three laws side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from daesolve.drawing import Camera, Dot, Drawing, Shape, Trace
from daesolve.trajectory.trajectory import Trajectory
from daesolve_problems.figures import (
    Document,
    column,
    draw_path,
    new_figure,
    place_of_centre,
    plane,
)
from daesolve_problems.omni_laws.description import described, law_of, parameters
from daesolve_problems.omni_vehicle.geometry import pitch
from daesolve_problems.omni_vehicle.motion import Sizes, Wheel, continued
from daesolve_problems.omni_vehicle.pictures import platform_shapes, wheel_shapes
from daesolve_problems.omni_wheels import numbered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CENTRE = ("x", "y")
SIGHT = 2.6
"""The width of what an animation looks at, in largest distances from the vehicle's centre."""
NOTHING = 1e-12
"""Rounding at rest, which no axis magnifies."""


def drawing(document: Document) -> Drawing:
    """Draw the vehicle from above, its rollers as its wheels turn, and the path of its centre."""
    car = sizes(document)
    shapes: list[Shape] = [Trace(CENTRE, label="path of the centre"), *platform_shapes(car)]
    for number, wheel in enumerate(car.wheels, start=1):
        shapes += wheel_shapes(car, number, wheel)
    shapes.append(Dot(CENTRE, role="path"))
    v_1, v_2, theta = (column(document, name) for name in ("v_1", "v_2", "theta"))
    series = {
        "x_dot": v_1 * np.cos(theta) - v_2 * np.sin(theta),
        "y_dot": v_1 * np.sin(theta) + v_2 * np.cos(theta),
        "theta_dot": column(document, "omega"),
    }
    times = np.array(document["times"], dtype=float)
    order = np.argsort(times, kind="stable")
    for i in range(1, len(car.wheels) + 1):
        chi, rate = column(document, f"chi_{i}"), column(document, f"chi_dot_{i}")
        whole = np.empty_like(chi)
        whole[order] = continued(times[order], chi[order], rate[order], pitch(car.rollers))
        series |= {f"turn_{i}": whole, f"turn_dot_{i}": rate}
    return Drawing(shapes, series=series, camera=Camera(CENTRE, SIGHT * car.extent))


def sizes(document: Document) -> Sizes:
    """Return the sizes of a run's vehicle."""
    wheels, rollers = document["structure"]["wheels"], document["structure"]["rollers"]
    given = document["parameters"]
    law = law_of(given)
    # What a run derived is not among its parameters: zero means that it follows from the others.
    known = dict.fromkeys(parameters(law, wheels).names, 0.0) | given
    car = described(law, known, wheels, rollers)
    angles = [known[name] or known["roller_angle"] for name in numbered("roller_angle", wheels)]
    places = [
        Wheel(float(wheel.x), float(wheel.y), known[f"heading_{i}"], angles[i - 1])
        for i, wheel in enumerate(car.frame.wheels, start=1)
    ]
    lengths = (car.frame.platform_radius, car.frame.roller_axis_radius, car.frame.wheel_radius)
    return Sizes(*lengths, 1.0, tuple(places), rollers, None)


def motion(document: Document) -> Figure:
    """Draw the path, the velocities and the rates of the wheels."""
    figure = new_figure(10.4, 6.4)
    grid = figure.subplots(2, 2)
    draw_path(grid[0, 0], document, place_of_centre)
    plane(grid[0, 0])
    grid[0, 0].set_title("path of the centre")
    names = {"v₁": "v_1", "v₂": "v_2"}
    times = document["times"]
    _over_time(
        grid[0, 1], times, {k: column(document, v) for k, v in names.items()}, "velocity (m/s)"
    )
    _over_time(grid[1, 0], times, {"ω": column(document, "omega")}, "rate of turn (rad/s)")
    count = range(1, document["structure"]["wheels"] + 1)
    rates = {f"wheel {i}": column(document, f"chi_dot_{i}") for i in count}
    _over_time(grid[1, 1], times, rates, "rates of the wheels (rad/s)")
    return figure


def side_by_side(runs: Mapping[str, Trajectory]) -> Figure:
    """Draw the motions of one vehicle by several laws: path, rate of turn, speed and energy."""
    figure = new_figure(10.4, 6.4)
    grid = figure.subplots(2, 2)
    for law, run in runs.items():
        grid[0, 0].plot(run["x"], run["y"], linewidth=1.2, label=law)
    grid[0, 0].legend(loc="best")
    plane(grid[0, 0])
    grid[0, 0].set_title("path of the centre")
    for axes, name, what in (
        (grid[0, 1], "omega", "rate of turn (rad/s)"),
        (grid[1, 0], "speed", "speed of the centre (m/s)"),
        (grid[1, 1], "energy", "energy (J)"),
    ):
        times = next(iter(runs.values())).times
        _over_time(axes, times, {law: run[name] for law, run in runs.items()}, what)
    return figure


def convergence(
    values: Sequence[float], curves: Mapping[str, Sequence[float]], what: str
) -> Figure:
    """Draw differences against a small parameter, in log-log."""
    figure = new_figure(6.4, 4.4)
    axes = figure.add_subplot()
    for label, differences in curves.items():
        axes.loglog(values, differences, "o-", linewidth=1.0, label=label)
    axes.set_xlabel(what)
    axes.set_ylabel("largest difference")
    axes.legend(loc="best", frameon=False)
    return figure


def _over_time(
    axes: Axes, times: Sequence[float] | np.ndarray, series: Mapping[str, np.ndarray], what: str
) -> None:
    for name, values in series.items():
        axes.plot(times, values, linewidth=1.0, label=name)
    lowest, highest = (f(list(series.values())) for f in (np.nanmin, np.nanmax))
    if highest - lowest < NOTHING:
        axes.set_ylim(lowest - NOTHING, highest + NOTHING)
    if len(series) > 1:
        axes.legend(loc="best")
    axes.set_title(what)
    axes.set_xlabel("t (s)")
    axes.margins(x=0.01)


FIGURES = {"motion of the vehicle": motion}
"""The problem's own figures, by title."""

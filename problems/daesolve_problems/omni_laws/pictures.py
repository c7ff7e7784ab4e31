"""The drawing of the vehicle from above, and its motions by the three laws side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.multibody.drawing import Drawing
from daesolve_problems.figures import (
    Document,
    column,
    draw_over_time,
    draw_path,
    new_figure,
    place_of_centre,
    plane,
)
from daesolve_problems.omni_laws.description import described, law_of, parameters
from daesolve_problems.omni_vehicle.geometry import pitch
from daesolve_problems.omni_vehicle.motion import Sizes, Wheel, continued
from daesolve_problems.omni_vehicle.pictures import drawing_of, rates_of_platform
from daesolve_problems.omni_wheels import numbered

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def drawing(document: Document) -> Drawing:
    """Draw the vehicle from above, its rollers as its wheels turn, and the path of its centre."""
    car = sizes(document)
    series = rates_of_platform(document)
    times = np.array(document["times"], dtype=float)
    order = np.argsort(times, kind="stable")
    for i in range(1, len(car.wheels) + 1):
        chi, rate = column(document, f"chi_{i}"), column(document, f"chi_dot_{i}")
        whole = np.empty_like(chi)
        whole[order] = continued(times[order], chi[order], rate[order], pitch(car.rollers))
        series |= {f"turn_{i}": whole, f"turn_dot_{i}": rate}
    return drawing_of(car, series)


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
    draw_over_time(
        grid[0, 1], times, {k: column(document, v) for k, v in names.items()}, "velocity (m/s)"
    )
    draw_over_time(grid[1, 0], times, {"ω": column(document, "omega")}, "rate of turn (rad/s)")
    count = range(1, document["structure"]["wheels"] + 1)
    rates = {f"wheel {i}": column(document, f"chi_dot_{i}") for i in count}
    draw_over_time(grid[1, 1], times, rates, "rates of the wheels (rad/s)")
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
        draw_over_time(axes, times, {law: run[name] for law, run in runs.items()}, what)
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


FIGURES = {"motion of the vehicle": motion}
"""The problem's own figures, by title."""

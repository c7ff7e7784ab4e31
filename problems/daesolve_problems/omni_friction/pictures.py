"""The drawing of the vehicle from above, and the thesis' figures 3.7 to 3.12.

The vehicle is drawn as the one whose rollers do not slip; `omni_vehicle` says how wheels and
rollers are seen from above.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import Drawing
from daesolve.typing import BoundCase
from daesolve_problems.figures import (
    Document,
    column,
    draw_over_time,
    draw_path,
    mark_peaks,
    name_panel,
    near_events,
    new_figure,
    place_of_centre,
    plane,
)
from daesolve_problems.omni_friction.comparing import MEASURES, matched_motion, turned_back
from daesolve_problems.omni_friction.geometry import vehicle
from daesolve_problems.omni_vehicle.motion import Sizes, Wheel
from daesolve_problems.omni_vehicle.pictures import CENTRE, drawing_of
from daesolve_problems.omni_wheels import equal_directions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# -- the vehicle ---------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw the vehicle from above, its rollers as its wheels turn, and the path of its centre."""
    car = _sizes(document)
    series = {
        "x_dot": column(document, "x_dot"),
        "y_dot": column(document, "y_dot"),
        "theta_dot": column(document, "omega"),
    }
    for i in range(1, len(car.wheels) + 1):
        series[f"turn_{i}"] = np.unwrap(column(document, f"chi_{i}"))
        series[f"turn_dot_{i}"] = column(document, f"chi_dot_{i}")
    return drawing_of(car, series)


def _sizes(document: Document) -> Sizes:
    structure = document["structure"]
    car = vehicle(document["parameters"], structure["wheels"], structure["rollers"])
    wheels = [
        Wheel(car.reach * cosine, car.reach * sine, math.atan2(sine, cosine))
        for cosine, sine in equal_directions(structure["wheels"])
    ]
    lengths = (car.reach, car.axis_distance, car.wheel_radius)
    return Sizes(*lengths, 1.0, tuple(wheels), structure["rollers"], None)


# -- its motion ----------------------------------------------------------------------------------


def motion(document: Document) -> Figure:
    """Draw path, angle and contact rollers, as figure 3.7 does, and the normal reactions."""
    figure = new_figure(10.4, 6.4)
    grid = figure.subplots(2, 2)
    _path(grid[0, 0], document)
    theta = np.unwrap(column(document, "theta"))
    draw_over_time(grid[0, 1], document["times"], {"θ": theta}, "θ (rad)")
    wheels = range(1, document["structure"]["wheels"] + 1)
    for i in wheels:
        grid[1, 0].step(
            document["times"],
            _contact_rollers(document, i) + 0.06 * (i - 1),
            where="post",
            linewidth=1.0,
            label=f"wheel {i}",
        )
    grid[1, 0].set_yticks(range(1, document["structure"]["rollers"] + 1))
    grid[1, 0].legend(loc="best")
    name_panel(grid[1, 0], "number of the roller in contact")
    normals = {f"wheel {i}": column(document, f"normal_{i}") for i in wheels}
    draw_over_time(grid[1, 1], document["times"], normals, "normal reactions (N)")
    return figure


def deviation(document: Document) -> Figure:
    """Draw the distance from the vehicle without inertia of its rollers, and the slip.

    As in the figures 3.8 to 3.12; the other vehicle starts like this one at the first sample.
    """
    figure = new_figure(10.4, 6.4)
    grid = figure.subplots(2, 2)
    _deviations([grid[0, 0], grid[0, 1], grid[1, 0]], document)
    taken = {"work": column(document, "friction_work"), "energy": column(document, "energy")}
    draw_over_time(grid[1, 1], document["times"], taken, "work of friction, energy (J)")
    return figure


def _deviations(panels: Sequence[Axes], document: Document) -> None:
    """Draw how far centre and angle are from the other vehicle's, and the slip."""
    times = np.array(document["times"], dtype=float)
    names = (*CENTRE, "theta", "x_dot", "y_dot", "omega")
    start = {name: float(column(document, name)[0]) for name in names}
    other = matched_motion(start, document["parameters"], document["structure"], times - times[0])
    apart = {name: column(document, name) - other[name] for name in CENTRE}
    draw_over_time(panels[0], document["times"], apart, "deviation of the centre (m)")
    turned = turned_back(column(document, "theta") - other["theta"])
    draw_over_time(panels[1], document["times"], {"θ": turned}, "deviation of θ (rad)")
    wheels = range(1, document["structure"]["wheels"] + 1)
    slips = {f"wheel {i}": column(document, f"slip_{i}") for i in wheels}
    draw_over_time(
        panels[2], document["times"], slips, "slip |u|, triangles: peaks over every step (m/s)"
    )
    mark_peaks(panels[2], document, {name: f"slip_{i}" for i, name in enumerate(slips, start=1)})


def beside_each_other(documents: Mapping[str, Document]) -> Figure:
    """Draw deviations and slip of several runs, a column each: the figures 3.8 to 3.12.

    Parameters
    ----------
    documents
        Of the runs, by the titles of their columns.
    """
    figure = new_figure(5.2 * len(documents), 7.6)
    grid = figure.subplots(3, len(documents), squeeze=False)
    for k, (title, found) in enumerate(documents.items()):
        _deviations(list(grid[:, k]), found)
        grid[0, k].set_title(f"{title}: {grid[0, k].get_title(loc='left')}")
    return figure


def compared(case: BoundCase) -> ds.Answer:
    """Run a case, and measure its distance from the vehicle without inertia of its rollers."""
    values, found = measured(case)
    return ds.Answer(values, {"deviation": deviation(found)})


def measured(case: BoundCase) -> tuple[dict[str, float], Document]:
    """Return what `compared` measures of a case, and the document of its run.

    It is run twice: slips last for a thousandth of a second after each change of rollers, so the
    second run is sampled closely about the events of the first.
    """
    from daesolve.reporting.document import document  # which imports Matplotlib

    run = case.solve()
    run = case.solve(run.end_time, at=near_events(run))
    values = {name: measure.rule(case, run) for name, measure in MEASURES.items()}
    values |= {f"peak_{name}": abs(peak.value) for name, peak in run.peaks.items()}
    return values | {"end_time": run.end_time}, document(run, case.identity())


FIGURES = {"motion of the vehicle": motion, "deviation without inertia of the rollers": deviation}
"""The problem's own figures, by title."""


def _contact_rollers(document: Document, i: int) -> np.ndarray:
    """Return the number of the lowest roller of a wheel."""
    chi = column(document, f"chi_{i}")
    ahead = equal_directions(document["structure"]["rollers"])
    heights = [c * np.cos(chi) - s * np.sin(chi) for c, s in ahead]
    return np.argmax(heights, axis=0) + 1


def _path(axes: Axes, document: Document) -> None:
    draw_path(axes, document, place_of_centre)
    plane(axes)
    name_panel(axes, "path of the centre", "x (m)")

"""The drawing of the vehicle on light rollers, and its bend against the closed form."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

import daesolve as ds
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
from daesolve.typing import BoundCase
from daesolve_problems.contacts.free_body import EYE
from daesolve_problems.figures import Document, frames_of, new_figure
from daesolve_problems.omni_lifting.light_sizes import (
    Bend,
    LightSizes,
    inside_wheel,
    largest_sideways,
    lift_time,
    load_inside,
)
from daesolve_problems.omni_lifting.starting import UP

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPOKES = 8


def light_drawing(document: Document) -> Drawing:
    """Draw the platform and its wheels over the floor."""
    states, p = document["states"], document["parameters"]
    sizes = LightSizes(p, document["structure"]["wheels"])
    (centre, turned), body = frames_of(document, "vehicle"), Pose("vehicle_body")
    columns = body.series(centre, turned)
    margin = sizes.reach + 2.0 * p["wheel_radius"]
    middle = -np.array(sizes.centre)
    platform = ring(sizes.reach, 2, (middle[0], middle[1], middle[2] + p["platform_height"]))
    shapes: list[Shape] = [
        *tiles(centre, margin),
        Trace(body.place((0.0, 0.0, 0.0)), label="path of the mass centre"),
        Outline(body.places(platform), label="platform"),
    ]
    for i, axle in enumerate(sizes.axles, start=1):
        along = np.array(axle)
        chi = np.array(states[f"chi_{i}"], dtype=float)[:, None]
        towards = np.cos(chi) * np.cross(UP, along) + np.sin(chi) * UP
        frame = np.stack([towards, np.cross(along, towards), np.broadcast_to(along, towards.shape)])
        hub = centre + turned @ (middle + sizes.reach * along)
        pose = Pose(f"wheel_{i}_body")
        columns |= pose.series(hub, turned @ np.moveaxis(frame, 0, 2))
        shapes += _wheel(pose, p["wheel_radius"], p["roller_radius"], "wheels" if i == 1 else "")
        strut = np.array([middle + sizes.reach * along, middle + sizes.reach * along])
        strut[1, 2] += p["platform_height"]
        shapes.append(Line(body.places(strut), role="detail"))
    return Drawing(
        shapes,
        series=columns,
        camera=Camera(body.place((0.0, 0.0, 0.0)), 4.0 * margin),
        eye=EYE,
    )


def _wheel(pose: Pose, radius: float, thick: float, label: str) -> list[Shape]:
    shapes: list[Shape] = [
        Outline(pose.places(ring(radius, 2)), label=label),
        Outline(pose.places(ring(radius - thick, 2, (0.0, 0.0, thick))), role="detail"),
        Outline(pose.places(ring(radius - thick, 2, (0.0, 0.0, -thick))), role="detail"),
    ]
    for k in range(SPOKES):
        angle = math.tau * k / SPOKES
        way: np.ndarray = np.array([math.cos(angle), math.sin(angle), 0.0])
        from_, to = 0.0 if k == 0 else radius - 2.0 * thick, radius
        shapes.append(Line(pose.places(np.outer([from_, to], way)), role="detail"))
    return shapes


def bend(case: BoundCase) -> ds.Answer:
    """Run a case, and hold the lift of the wheel inside against the closed form.

    Raises
    ------
    OutOfRangeError
        The closed form does not hold: the mass centre is off the middle, or the direction to the
        inside is not that of an axle.
    """
    p, wheels = case.full_parameters, case.full_structure["wheels"]
    limit, predicted = largest_sideways(p, wheels), lift_time(p, wheels)
    inside = inside_wheel(p, wheels)
    run = case.solve()
    name = f"rim_{inside}"
    lost = [event.time for event in run.events if event.name == f"{name}_lost"]
    landed = [event.time for event in run.events if event.name == f"{name}_closed"]
    struck = [event.impact for event in run.events if event.impact]
    tipped = any(event.name == "tipped_over" for event in run.events)
    found = {
        "wheel_inside": inside,
        "largest_rate_times_speed": limit,
        "lifts_in_closed_form": predicted if math.isfinite(predicted) else None,
        "lifts": lost[0] if lost else None,
        "lands": landed[0] if landed else None,
        "impacts": len(struck),
        "taken_by_impacts": sum(one.kinetic_before - one.kinetic_after for one in struck),
        "largest_tilt": math.acos(min(float(np.min(run["up_z"])), 1.0)),
        "ends": "tips over" if tipped else "rolls on",
    }
    return ds.Answer(found, {"load of the wheel inside": _load(case, run, name)})


def _load(case: BoundCase, run: ds.Trajectory, name: str) -> Figure:
    p, wheels = case.full_parameters, case.full_structure["wheels"]
    figure = new_figure(8.0, 4.4)
    upper, lower = figure.subplots(2, 1, sharex=True)
    times, gaps = np.asarray(run.times), 1e3 * np.asarray(run[f"{name}_gap"])
    upper.plot(times, run[name], linewidth=1.0, label="run")
    until = min(lift_time(p, wheels), p["motor_time"], float(times[-1]))
    shown = np.linspace(0.0, until, 201)
    product = Bend(LightSizes(p, wheels)).rate(shown) * Bend(LightSizes(p, wheels)).speed(shown)
    upper.plot(shown, load_inside(p, wheels, product), "k:", label="closed form")
    upper.set_ylabel("load inside (N)")
    upper.set_ylim(0.0, 1.5 * load_inside(p, wheels, 0.0))
    upper.legend(frameon=False, fontsize="small")
    lower.plot(times, gaps, linewidth=1.0)
    lower.set(xlabel="t (s)", ylabel="over the floor (mm)")
    return figure

"""The drawing of the vehicle, the loads of its wheels, and how long they fly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import (
    Camera,
    Drawing,
    Outline,
    Pose,
    Shape,
    Trace,
    ring,
    tiles,
)
from daesolve.typing import BoundCase
from daesolve_problems.contacts.free_body import EYE
from daesolve_problems.contacts.free_roller import wires
from daesolve_problems.figures import Document, frames_of, panels_over_time, series
from daesolve_problems.omni_lifting.models import Sizes
from daesolve_problems.omni_lifting.starting import UP
from daesolve_problems.omni_wheels import equal_directions, numbered

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def contact_names(model: str, wheel: int, rollers: int) -> list[str]:
    """Return the names of the contacts of a wheel."""
    return numbered(f"roller_{wheel}", rollers) if model == "rubs" else [f"rim_{wheel}"]


def loads_over_time(document: Document) -> Figure:
    """Draw the load of each wheel, its height over the floor, and the tilt."""
    times, structure = series(document, "times"), document["structure"]
    figure, (loads, gaps, tilt) = panels_over_time(3)
    for i in range(1, structure["wheels"] + 1):
        names = contact_names(document["model"], i, structure["rollers"])
        where = "outputs" if document["model"] == "sprung" else "reactions"
        carried = [series(document, where, name) for name in names]
        above = [series(document, "outputs", f"{name}_gap") for name in names]
        loads.plot(times, np.sum(carried, axis=0), linewidth=1.0, label=f"wheel {i}")
        gaps.plot(times, 1e3 * np.min(above, axis=0), linewidth=1.0)
    loads.set_ylabel("load (N)")
    loads.legend(frameon=False, fontsize="small")
    gaps.set_ylabel("over the floor (mm)")
    up = np.clip(series(document, "outputs", "up_z"), -1.0, 1.0)
    tilt.plot(times, np.degrees(np.arccos(up)), linewidth=1.2)
    tilt.set_ylabel("tilt (degrees)")
    return figure


def drawing(document: Document) -> Drawing:
    """Draw the platform and the rollers of its wheels over the floor."""
    states, p, structure = document["states"], document["parameters"], document["structure"]
    sizes = Sizes(p, structure["wheels"], structure["rollers"])
    (centre, turned), body = frames_of(document, "vehicle"), Pose("vehicle_body")
    columns = body.series(centre, turned)
    reach, roller = p["platform_radius"], sizes.wheel.roller
    margin = reach + 2.0 * p["wheel_radius"]
    platform = ring(reach, 2, (0.0, 0.0, p["platform_height"] - sizes.above))
    shapes: list[Shape] = [
        *tiles(centre, margin),
        Trace(body.place((0.0, 0.0, 0.0)), label="path of the centre"),
        Outline(body.places(platform), label="platform"),
    ]
    for i, (cosine, sine) in enumerate(equal_directions(sizes.wheels), start=1):
        axle = np.array([cosine, sine, 0.0])
        hub = reach * axle - sizes.above * UP
        chi = np.array(states[f"chi_{i}"], dtype=float)[:, None]
        first, down = np.array([sine, -cosine, 0.0]), -UP
        for j, (ahead, below) in enumerate(equal_directions(sizes.rollers), start=1):
            own = np.cos(chi) * (ahead * first + below * down)
            own = own + np.sin(chi) * (ahead * down - below * first)
            outwards = np.cross(axle, own)
            frame = np.stack([outwards, np.broadcast_to(axle, own.shape), own], axis=2)
            places = centre + np.einsum("kij,kj->ki", turned, hub + roller.axis_distance * outwards)
            pose = Pose(f"roller_{i}_{j}_body")
            columns |= pose.series(places, turned @ frame)
            shapes += wires(pose, roller, "rollers" if i == j == 1 else "")
    return Drawing(
        shapes,
        series=columns,
        camera=Camera(body.place((0.0, 0.0, 0.0)), 4.0 * margin),
        eye=EYE,
    )


def lifted(case: BoundCase) -> ds.Answer:
    """Run a case, and report how often rollers struck, and how long each wheel flew."""
    run = case.solve()
    wheels, rollers = (case.full_structure[name] for name in ("wheels", "rollers"))
    struck = [event.impact for event in run.events if event.impact]
    taken = sum(impact.kinetic_before - impact.kinetic_after for impact in struck)
    off: dict[str, float] = {}
    for i in range(1, wheels + 1):
        names = contact_names(case.model, i, rollers)
        loads = np.stack([np.asarray(run[name], dtype=float) for name in names])
        flies = np.asarray(np.all(loads == 0.0, axis=0), dtype=float)
        off[f"wheel_{i}"] = float(np.mean(flies)) * float(run.times[-1] - run.times[0])
    found: dict[str, Any] = {"impacts": len(struck), "taken_by_impacts": taken, "off_floor": off}
    return ds.Answer(found)

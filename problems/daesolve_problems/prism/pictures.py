"""The figures of the prism, and its drawing in the guide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from daesolve.multibody.drawing import Arrow, Dot, Drawing, Line, Linear, Outline, Point, Shape
from daesolve_problems.figures import Document, new_figure, panels_over_time, series
from daesolve_problems.prism.models import PAIRS, REACTIONS, SIDES, UP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from daesolve_problems.prism.guide import Sector, Support
    from daesolve_problems.prism.hysteresis import Branch, Sweep
    from daesolve_problems.prism.regions import Raster

REGIONS = {
    (0, 0): ("none", "#8a8a8a"),
    (1, 1): ("one", "#d9e8f5"),
    (1, 0): ("one, unphysical", "#e6a5a1"),
    (2, 1): ("two, one physical", "#f6dd9b"),
    (3, 1): ("three, one physical", "#d9b48a"),
    (3, 2): ("three, two physical", "#b9dcb0"),
    (4, 2): ("four, two physical", "#a98bc4"),
}
"""Names and colours by how many answers there are, and how many of them are physical."""
BORDER = ("between regions", "#ffffff")
"""The name and the colour of anything else: a load on a ray."""
ROUND = 60
"""Points on the rim of a sector."""
RAY_STYLES = {1: "--", 2: "-"}
"""The line styles of the rays of upper and lower supports."""
TINTS = ("#cfe0c8", "#d9d9d9", "#ecd9b8", "#d8cbe6")
"""The colours of physical branches."""
SWEEPS = {"up": ("#b23a2e", ">"), "down": ("#22608f", "<")}
ARROWS = 12
"""Marks along a sweep."""
LONGEST = 0.4
"""The largest reaction in the drawing, in sizes of the prism."""
STILL = 1e-9
"""m/s; below this the prism counts as at rest in the drawing."""


# -- of a run ------------------------------------------------------------------------------------


def sliding(document: Document) -> Figure:
    """Draw the position and the speed of the prism."""
    times = series(document, "times")
    figure, panels = panels_over_time(2)
    for axes, (name, unit) in zip(panels, {"x": "m", "x_dot": "m/s"}.items(), strict=True):
        axes.plot(times, series(document, "states", name), linewidth=1.2)
        axes.set_ylabel(f"{name} ({unit})")
    return figure


def reactions(document: Document) -> Figure:
    """Draw the reactions, positive where the lower support is loaded, and the loaded supports."""
    times = series(document, "times")
    figure, (over, loaded) = panels_over_time(2)
    rows = [(pair, side) for pair in reversed(PAIRS) for side in reversed(SIDES)]
    for pair in PAIRS:
        reaction = series(document, "reactions", REACTIONS[pair])
        over.plot(times, reaction, linewidth=1.2, color=f"C{pair - 1}", label=REACTIONS[pair])
        for side in SIDES:
            row = rows.index((pair, side))
            where = UP[side] * reaction > 0.0
            band = np.full_like(times, row)
            loaded.fill_between(
                times, band - 0.3, band + 0.3, where=where.tolist(), color=f"C{pair - 1}"
            )
    over.axhline(0.0, color="0.6", linewidth=0.8)
    over.set_ylabel("reaction (N)")
    over.legend()
    loaded.set_yticks(range(len(rows)), [f"{SIDES[side]} {pair}" for pair, side in rows])
    loaded.set_ylim(-0.6, len(rows) - 0.4)
    loaded.set_title("loaded supports", fontsize="medium")
    return figure


FIGURES = {"sliding": sliding, "reactions and loaded supports": reactions}
"""The problem's own figures, by title."""


def drawing(document: Document) -> Drawing:
    """Draw the prism in its guide: the loaded supports, and the forces on them."""
    numbers = document["parameters"]
    places = {
        (pair, side): (numbers[f"{name}_a_{pair}"], numbers[f"{name}_b_{pair}"])
        for pair in PAIRS
        for side, name in SIDES.items()
    }
    pushes = _pushes(document)
    corners = np.array([*places.values(), (0.0, 0.0)])
    low, high = corners.min(axis=0), corners.max(axis=0)
    size = float(np.max(high - low)) or 1.0
    largest = max((float(np.nanmax(np.abs(p), initial=0.0)) for p in pushes.values()), default=0.0)
    scale = LONGEST * size / largest if largest > 0.0 else 1.0
    x = series(document, "states", "x")
    ends = np.nanmin(x) + low[0] - size / 4.0, np.nanmax(x) + high[0] + size / 4.0
    shapes: list[Shape] = [
        Line([(ends[0], height), (ends[1], height)], role="ground")
        for height in sorted({b for _, b in places.values()})
    ]
    outline = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
    shapes.append(Outline(outline, ("x", "y"), "phi", label="prism"))
    shapes += [Dot(_at(place), role="detail") for place in places.values()]
    shapes += _loads(places, scale)
    shapes.append(Dot(("x", "y"), label="mass centre"))
    return Drawing(shapes, series=pushes)


def _at(place: tuple[float, float]) -> Point:
    return Linear({"x": 1.0}, place[0]), Linear({"y": 1.0}, place[1])


def _loads(places: Mapping[Support, tuple[float, float]], scale: float) -> Iterator[Shape]:
    for number, ((pair, side), place) in enumerate(places.items()):
        shown = Linear({REACTIONS[pair]: UP[side]})
        labels = ("loaded support", "its reaction") if number == 0 else ("", "")
        names = (f"{axis}_{SIDES[side]}_{pair}" for axis in ("rubs", "pushes"))
        yield Dot(_at(place), role="accent", shown=shown, label=labels[0])
        yield Arrow(_at(place), (next(names), next(names)), scale, shown=shown, label=labels[1])


def _pushes(document: Document) -> dict[str, np.ndarray]:
    """Return the force of the guide on each support along and across it, N."""
    numbers, speed = document["parameters"], series(document, "states", "x_dot")
    sense = np.where(np.abs(speed) > STILL, np.sign(speed), 0.0)
    found: dict[str, np.ndarray] = {}
    for pair in PAIRS:
        reaction = series(document, "reactions", REACTIONS[pair])
        for side, name in SIDES.items():
            push = np.maximum(UP[side] * reaction, 0.0)
            found[f"rubs_{name}_{pair}"] = -sense * numbers[f"{name}_friction_{pair}"] * push
            found[f"pushes_{name}_{pair}"] = UP[side] * push
    return found


# -- of analyses ---------------------------------------------------------------------------------


def regions(
    sectors: Sequence[Sector],
    raster: Raster,
    levers: Mapping[Support, float],
    load: tuple[float, float],
) -> Figure:
    """Draw how many answers there are over P_y and M: sectors and rays, and dots by enumeration."""
    from matplotlib.patches import Patch, Polygon

    figure = new_figure(7.2, 4.6)
    axes = figure.add_subplot()
    far = 2.0 * float(np.hypot(raster.forces[-1], raster.moments[-1]))
    found: dict[str, Patch] = {}
    for sector in sectors:
        name, colour = REGIONS.get((len(sector.variants), len(sector.physical)), BORDER)
        angles = np.linspace(sector.start, sector.end, ROUND)
        rim = far * np.column_stack([np.cos(angles), np.sin(angles)])
        axes.add_patch(Polygon([(0.0, 0.0), *rim], facecolor=colour))
        found[name] = Patch(facecolor=colour, label=name)
    counts = zip(raster.answers.ravel(), raster.physical.ravel(), strict=True)
    colours = [REGIONS.get((int(n), int(m)), BORDER)[1] for n, m in counts]
    forces, moments = np.meshgrid(raster.forces, raster.moments)
    axes.scatter(
        forces,
        moments,
        s=9.0,
        c=colours,
        edgecolors="0.25",
        linewidths=0.3,
        label="by enumeration",
    )
    for (pair, side), lever in levers.items():
        away = -UP[side] * raster.forces[-1]
        label = f"{SIDES[side]} {pair} alone"
        axes.plot([0.0, away], [0.0, lever * away], f"C{pair - 1}{RAY_STYLES[side]}", label=label)
    axes.plot(*load, "k*", markersize=11, label="load of the case")
    axes.set_xlim(raster.forces[0], raster.forces[-1])
    axes.set_ylim(raster.moments[0], raster.moments[-1])
    axes.set_xlabel("force_y (N)")
    axes.set_ylabel("moment (N m)")
    marks, _ = axes.get_legend_handles_labels()
    figure.legend(handles=[*found.values(), *marks], loc="outside right upper", frameon=False)
    return figure


def hysteresis(branches: Sequence[Branch], sweeps: Mapping[str, Sweep]) -> Figure:
    """Draw x'' over the moment: all branches, and the ways up and down."""
    figure = new_figure(8.0, 4.6)
    axes = figure.add_subplot()
    for branch, tint in zip(branches, TINTS, strict=False):
        words = ", ".join(f"{SIDES[p]} {k}" for k, p in zip(PAIRS, branch.variant, strict=True))
        if branch.physical:
            style, colour, width, label = "-", tint, 6.0, words
        else:
            style, colour, width, label = ":", "0.4", 2.0, f"{words} (unphysical)"
        axes.plot(
            branch.moments, branch.accelerations, style, color=colour, linewidth=width, label=label
        )
    for name, sweep in sweeps.items():
        _draw_sweep(axes, name, sweep)
        axes.set_xlim(np.min(sweep.moments), np.max(sweep.moments))
    axes.set_xlabel("moment (N m)")
    axes.set_ylabel("x'' (m/s²)")
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def _draw_sweep(axes: Axes, name: str, sweep: Sweep) -> None:
    colour, mark = SWEEPS[name]
    # Each branch is drawn to its end, with a gap before the next one.
    ends = [leap.moment for leap in sweep.leaps for _ in range(3)]
    beside = [
        x for leap in sweep.leaps for x in (leap.accelerations[0], np.nan, leap.accelerations[1])
    ]
    moments = np.concatenate([sweep.moments, ends])
    order = np.argsort(moments if name == "up" else -moments, kind="stable")
    axes.plot(
        moments[order],
        np.concatenate([sweep.accelerations, beside])[order],
        mark + "-",
        color=colour,
        linewidth=1.2,
        markersize=5,
        markevery=max(len(moments) // ARROWS, 1),
        label=f"moment {name}",
    )
    for leap in sweep.leaps:
        before, after = leap.accelerations
        if leap.after is None:
            axes.plot(leap.moment, before, "x", color=colour, markersize=9)
        else:
            way = {"arrowstyle": "->", "color": colour, "linestyle": "--"}
            axes.annotate("", (leap.moment, after), (leap.moment, before), arrowprops=way)

"""A film as a page of HTML with a player in it; nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from daesolve.drawing import Arrow, Circle, Dot, Line, Outline, Placed, Shape, Trace
from daesolve.reporting.film import Film
from daesolve.reporting.scene import framed

FINENESS = 10_000
"""Into how many units the width of the view is divided; coordinates are whole numbers of them."""
TURN = 1000
"""Units of an angle, 1/rad."""
CLOCK = 1000
"""Units of the time from one picture to the next."""
KINDS: Mapping[type[Shape], str] = {
    Circle: "circle",
    Line: "line",
    Outline: "outline",
    Dot: "dot",
    Arrow: "arrow",
}


def player(film: Film, progress: Callable[[int, int], None]) -> str:
    """Return a page that plays a film.

    Parameters
    ----------
    film
        What is shown.
    progress
        Called after each picture with the number of those done and of all.
    """
    environment = Environment(
        loader=PackageLoader("daesolve", "reporting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    text = json.dumps(_data(film, progress), allow_nan=False, separators=(",", ":"))
    return environment.get_template("player.html.jinja").render(
        title=film.title, notes=_notes(film), data=Markup(text.replace("<", "\\u003c"))
    )


def _notes(film: Film) -> list[str]:
    """Return what a viewer should know, that of the page's own making included."""
    if not film.smooth:
        return film.notes
    return [
        *film.notes,
        "While it plays, the page interpolates between pictures; paused, it shows one of them.",
    ]


def _data(film: Film, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Return what the player's script reads; lengths in units."""
    unit = float(np.ptp(film.pictures[0].view[:, 0])) / FINENESS
    last = film.pictures[-1].bodies
    traces = [place for place, body in enumerate(last) if isinstance(body.shape, Trace)]
    bodies = [place for place in range(len(last)) if place not in traces]
    names = list(dict.fromkeys(mark.name for mark in film.marks))
    views = np.array([picture.view.ravel() for picture in film.pictures])
    return {
        "unit": unit,
        "count": len(film.pictures),
        "begin": film.pictures[0].time,
        "end": film.pictures[-1].time,
        "seconds": film.seconds,
        "pace": film.pace,
        "decimals": film.decimals,
        "joined": film.joined,
        "smooth": film.smooth,
        "xLabel": film.drawing.x_label,
        "yLabel": film.drawing.y_label,
        "whole": np.round(framed(film.whole) / unit).astype(int).ravel().tolist(),
        "views": _packed(views / unit) if film.follows else None,
        "fixed": [_still(entry, unit) for entry in film.surroundings],
        "order": [
            ["trace", traces.index(place)] if place in traces else ["body", bodies.index(place)]
            for place in range(len(last))
        ],
        "moving": _moving(film, bodies, unit, progress),
        "traces": [
            _look(last[place].shape) | _packed(last[place].points / unit) for place in traces
        ],
        "vertices": len(film.clock),
        "clock": _steps(np.round(CLOCK * film.clock).astype(np.int64)),
        "legend": [_look(shape) for shape in film.drawing.shapes if shape.label],
        "eventNames": names,
        "events": [
            [
                round(mark.place, 3),
                f"{mark.time:.{film.decimals + 1}f}".replace("-", "−"),
                names.index(mark.name),
            ]
            for mark in film.marks
        ],
    }


def _look(shape: Shape) -> dict[str, Any]:
    look: dict[str, Any] = {
        "kind": KINDS.get(type(shape), "trace"),
        "role": shape.role,
        "label": shape.label,
    }
    return look | {"spokes": shape.spokes} if isinstance(shape, Circle) else look


def _moving(
    film: Film, bodies: Sequence[int], unit: float, progress: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    """Return what moves, traces apart: what it looks like, and its numbers in each picture."""
    tables: list[list[np.ndarray]] = [[] for _ in bodies]
    for done, picture in enumerate(film.pictures, start=1):
        for table, place in zip(tables, bodies, strict=True):
            table.append(_numbers(picture.bodies[place], unit))
        progress(done, len(film.pictures))
    shapes = [film.pictures[0].bodies[place].shape for place in bodies]
    return [
        _look(shape) | _packed(np.array(table)) for shape, table in zip(shapes, tables, strict=True)
    ]


def _numbers(body: Placed, unit: float) -> np.ndarray:
    """Return the coordinates of a shape in units, of a circle its radius and angle too."""
    if not body.shown:
        return np.full(body.points.size + 2 * isinstance(body.shape, Circle), np.nan)
    numbers = body.points.ravel() / unit
    if isinstance(body.shape, Circle):
        return np.concatenate([numbers, [body.radius / unit, TURN * body.angle]])
    return numbers


def _packed(table: np.ndarray) -> dict[str, Any]:
    """Return the rows of a table as few and small whole numbers.

    Parameters
    ----------
    table
        (n, m); a row with a NaN is not to be seen.

    Returns
    -------
    dict
        `steps`: each column, from the third on without the column before the last, as `_steps`;
        `changes`: the first row that is seen, the first after it that is not, and so on.
    """
    seen = np.isfinite(table).all(axis=1)
    changes = np.flatnonzero(np.diff(seen, prepend=False)).tolist()
    # An unseen row repeats the one before it, for that costs nothing.
    known = np.maximum.accumulate(np.where(seen, np.arange(len(table)), -1))
    held = np.where(np.expand_dims(known, 1) >= 0, table[known], 0.0)
    whole = np.round(held).astype(np.int64)
    ways = np.hstack([whole[:, :2], whole[:, 2:] - whole[:, :-2]])
    return {"steps": [_steps(column) for column in ways.T], "changes": changes}


def _steps(values: np.ndarray) -> list[int]:
    """Return whole numbers as their differences of the order that takes the least room.

    The order comes first; then the differences, zeros before the first value, and none of the
    zeros at their end.
    """
    coded = [
        [order, *np.trim_zeros(np.diff(values, n=order, prepend=[0] * order), "b").tolist()]
        for order in range(3)
    ]
    return min(coded, key=lambda numbers: len(str(numbers)))


def _still(entry: Placed, unit: float) -> dict[str, Any]:
    """Return a shape of the surroundings; the coordinates of a point that is nowhere are None."""
    numbers = [
        round(value / unit) if np.isfinite(point).all() else None
        for point in entry.points
        for value in point.tolist()
    ]
    if isinstance(entry.shape, Circle):
        numbers += [round(entry.radius / unit), round(TURN * entry.angle)]
    known = None not in numbers or isinstance(entry.shape, Line)
    return _look(entry.shape) | {"at": numbers if entry.shown and known else None}

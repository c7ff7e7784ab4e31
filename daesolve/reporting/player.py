"""A film as a page of HTML with a player in it; nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from daesolve.drawing import Arrow, Circle, Dot, Line, Outline, Placed, Shape, Trace
from daesolve.reporting.film import Film
from daesolve.reporting.scene import framed

FINENESS = 4000
"""Into how many units the width of the view is divided; coordinates are whole numbers of them."""
TURN = 1000
"""Units of an angle, 1/rad."""
KINDS = {Circle: "circle", Line: "line", Outline: "outline", Dot: "dot", Arrow: "arrow"}


def player(film: Film, progress: Callable[[int, int], None]) -> str:
    """Return a page that plays a film.

    Parameters
    ----------
    film
        What is shown.
    progress
        Called after each picture with the number of those done and of all.
    """
    source = files("daesolve.reporting").joinpath("player.html.jinja").read_text("utf-8")
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    text = json.dumps(_data(film, progress), allow_nan=False, separators=(",", ":"))
    return environment.from_string(source).render(
        title=film.title,
        speed=film.speed,
        notes=film.notes,
        seconds=film.seconds,
        data=Markup(text.replace("<", "\\u003c")),
    )


def _data(film: Film, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Return what the player's script reads; lengths in units, the first view's corner at zero."""
    unit = float(np.ptp(film.pictures[0].view[:, 0])) / FINENESS
    moving = [body.shape for body in film.pictures[0].bodies]
    last = film.pictures[-1].bodies
    total = len(film.pictures)
    frames: list[list[Any]] = []
    for place, picture in enumerate(film.pictures, start=1):
        frames.append([_frame(body, unit) for body in picture.bodies])
        progress(place, total)
    return {
        "unit": unit,
        "rate": film.rate,
        "decimals": film.decimals,
        "joined": film.joined,
        "follows": film.follows,
        "xLabel": film.drawing.x_label,
        "yLabel": film.drawing.y_label,
        "whole": _units(framed(film.whole), unit),
        "times": [picture.time for picture in film.pictures],
        "views": [_units(picture.view, unit) for picture in film.pictures]
        if film.follows
        else [_units(film.pictures[0].view, unit)],
        "fixed": [_still(entry, unit) for entry in film.surroundings],
        "moving": [_look(shape) for shape in moving],
        "traces": {
            place: _gapped(body.points, unit)
            for place, body in enumerate(last)
            if isinstance(body.shape, Trace)
        },
        "legend": [
            _look(shape) | {"label": shape.label} for shape in film.drawing.shapes if shape.label
        ],
        "frames": frames,
    }


def _look(shape: Shape) -> dict[str, str]:
    return {"kind": KINDS.get(type(shape), "trace"), "role": shape.role}


def _still(entry: Placed, unit: float) -> dict[str, Any]:
    line = isinstance(entry.shape, Line)
    points = _gapped(entry.points, unit) if line else _frame(entry, unit)
    return _look(entry.shape) | {"at": points}


def _frame(body: Placed, unit: float) -> list[int] | int | None:
    """Return where a shape is, None where it is not to be seen; of a trace, how long it is.

    The first point is in units, each further one by its way from the one before.
    """
    if isinstance(body.shape, Trace):
        return len(body.points)
    if not body.shown or not np.isfinite(body.points).all():
        return None
    points = np.round(body.points / unit).astype(int)
    way = np.vstack([points[:1], np.diff(points, axis=0)]).ravel().tolist()
    if isinstance(body.shape, Circle):
        spokes = body.shape.spokes
        return [*way, round(body.radius / unit), round(TURN * body.angle), spokes]
    return way


def _gapped(points: np.ndarray, unit: float) -> list[int | None]:
    """Return the coordinates of points one after the other, None where a line is broken."""
    return [
        round(float(value) / unit) if np.isfinite(point).all() else None
        for point in points
        for value in point
    ]


def _units(corners: np.ndarray, unit: float) -> list[int]:
    return np.round(corners / unit).astype(int).ravel().tolist()

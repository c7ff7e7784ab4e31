"""Writes the animation of a run's drawing: a page with a player, a GIF, or a film."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import OutOfRangeError, Tell, UnknownNameError
from daesolve.multibody.drawing import Arrow, Circle, Dot, Line, Outline, Placed, Shape, Trace
from daesolve.reporting.content import template
from daesolve.reporting.document import DrawingRule
from daesolve.reporting.excerpt import (
    PICTURES_A_SECOND,
    SECONDS,
)
from daesolve.reporting.film import AnimationError, Film, Progress, framed
from daesolve.reporting.filming import Films, filmed
from daesolve.reporting.sampling import Document

WIDTH = 800
NARROWEST, WIDEST = 200, 3840
FASTEST_GIF = 50.0
"""Viewers slow down frames that last less than two hundredths of a second."""
Writer = Callable[[Films, Path, Progress], None]
FINENESS = 10_000
"""The number of units in the width of the view; coordinates are whole numbers of them."""
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


def animate(
    run: Trajectory | Document | Path | str,
    file: Path | str,
    *,
    seconds: float = SECONDS,
    rate: float | None = None,
    begin: float | None = None,
    end: float | None = None,
    width: int = WIDTH,
    drawing: DrawingRule | None = None,
    progress: Progress | None = None,
    source: Path | str | None = None,
    tell: Tell | None = None,
) -> Film:
    """Write the animation of a run, and return the film that it shows first.

    If the eye cannot follow the whole run from picture to picture, the animation shows its
    beginning, provided this is closely sampled or can be integrated again; a page then also shows
    the whole run.

    Parameters
    ----------
    run
        The directory of a run, finished or not; a trajectory; or a document with its drawing.
    file
        Its suffix sets the kind: .html (a page with a player), .gif or .mp4. An existing file is
        replaced.
    seconds
        The playing time, s.
    rate
        Pictures per second of playing time; by default 25, or 50 if a motion can then be followed
        (always 25 in a .gif).
    begin, end
        The part of the run to show, s; by default all of it, or its beginning first.
    width
        Of a .gif or .mp4, pixels; a page fills the width of its window.
    drawing
        Makes the drawing of a run: by default the rule of its problem or, without one, the points
        among states and outputs.
    progress
        Called after each picture.
    source
        The Python file that defines the problem of a directory's run, if there is one. It is
        executed if it is unchanged since the run began; a file is never executed only because a
        directory names it.
    tell
        Called with a sentence before the file is executed.

    Raises
    ------
    ReportError
        It has no drawing, or fewer than two samples; or its drawing is defined in a file that is
        not given.
    ArchiveError
        There is no run, or it is damaged.
    UnknownNameError, PluginError
        The run's problem is not installed.
    UnknownNameError
        The suffix is none of the three.
    OutOfRangeError
        A number is out of range.
    MissingFfmpegError
        An .mp4 is requested, but ffmpeg is not installed.
    AnimationError
        The file cannot be written.

    Examples
    --------
    `animate("runs/hoop", "hoop.gif", seconds=5.0, begin=10.0, end=15.0)`
    """
    known = Trajectory.from_run(run) if isinstance(run, Path | str) else run
    target = Path(file)
    if rate is None and target.suffix.lower() == ".gif":
        rate = PICTURES_A_SECOND
    write = _writer(target, width, PICTURES_A_SECOND if rate is None else rate)
    shown = filmed(
        known,
        seconds=seconds,
        rate=rate,
        begin=begin,
        end=end,
        drawing=drawing,
        source=source,
        tell=tell,
    )
    unfinished = target.with_name(f".{target.stem}.partial{target.suffix}")
    try:
        write(shown, unfinished, progress or _quiet)
        os.replace(unfinished, target)
    except OSError as error:
        raise AnimationError(f"{str(target)!r} cannot be written: {error.strerror}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return shown[0]


def _writer(target: Path, width: int, rate: float) -> Writer:
    """Return what writes this kind of file, after a look at everything that can be wrong."""
    suffix = target.suffix.lower()
    if suffix not in (".html", ".gif", ".mp4"):
        raise UnknownNameError(
            f"unknown animation format {suffix!r}: choose a file ending in .html, .gif or .mp4"
        )
    if not target.parent.is_dir():
        raise AnimationError(
            f"the directory {str(target.parent)!r} for the animation does not exist"
        )
    if target.name == "report.html":
        raise AnimationError(
            "report.html is the report of a run: choose another name for the animation"
        )
    if not NARROWEST <= width <= WIDEST or width % 2:
        raise OutOfRangeError(
            f"the width is {width} pixels, but must be even, from {NARROWEST} to {WIDEST}"
        )
    if suffix == ".gif" and rate > FASTEST_GIF:
        raise OutOfRangeError(
            f"a .gif can show at most {FASTEST_GIF:g} pictures per second, not {rate:g}"
        )
    if suffix == ".html":
        return _write_page
    from daesolve.reporting.figures import renderer

    if suffix == ".gif":
        return lambda films, file, progress: renderer.write_gif(
            films[0], file, progress, width=width
        )
    program = renderer.ffmpeg()
    return lambda films, file, progress: renderer.write_mp4(
        films[0], file, progress, width=width, program=program
    )


def _quiet(done: int, total: int) -> None:
    """Report nothing."""


def _write_page(shown: Films, file: Path, progress: Progress) -> None:
    file.write_text(players(shown, progress), encoding="utf-8", newline="\n")


def players(films: Films, progress: Progress) -> str:
    """Return a page that plays films, one of them at a time; see `player`."""
    pages = [player(each, progress) for each in films]
    if len(pages) == 1:
        return pages[0]
    return template("daesolve.reporting", "players.html.jinja").render(
        title=films[0].title,
        pages=list(zip(("The beginning", "The whole run"), pages, strict=True)),
    )


def player(film: Film, progress: Callable[[int, int], None]) -> str:
    """Return a page that plays a film.

    Parameters
    ----------
    film
        The film.
    progress
        Called after each picture with the number of those done and of all.
    """
    text = json.dumps(_data(film, progress), allow_nan=False, separators=(",", ":"))
    return template("daesolve.reporting", "player.html.jinja").render(
        title=film.title,
        notes=_notes(film),
        in_space=film.drawing.in_space,
        data=Markup(text.replace("<", "\\u003c")),
    )


def _notes(film: Film) -> list[str]:
    """Return the notes for a viewer, including those about the page itself."""
    if not film.smooth:
        return film.notes
    return [
        *film.notes,
        "While it plays, the page interpolates between pictures; paused, it shows one of them.",
    ]


def _data(film: Film, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Return the data for the player's script; lengths in units."""
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
        "pivot": _pivot(film, unit),
        "upright": film.drawing.axes[:, 2].tolist(),
        "directions": film.drawing.axes.T.tolist(),
        "fixed": [_still(entry, unit) for entry in film.surroundings],
        "order": [
            ["trace", traces.index(place)] if place in traces else ["body", bodies.index(place)]
            for place in range(len(last))
        ],
        "moving": _moving(film, bodies, unit, progress),
        "traces": [
            _look(last[place].shape)
            | _packed(last[place].points / unit)
            | {"depths": _columns(last[place].depth[:, None] / unit)}
            for place in traces
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
    """Return moving shapes, traces separately: their look, and their numbers in each picture."""
    tables: list[list[np.ndarray]] = [[] for _ in bodies]
    for done, picture in enumerate(film.pictures, start=1):
        for table, place in zip(tables, bodies, strict=True):
            table.append(_numbers(picture.bodies[place], unit))
        progress(done, len(film.pictures))
    found: list[dict[str, Any]] = []
    for place, table in zip(bodies, tables, strict=True):
        depths = np.array([picture.bodies[place].depth for picture in film.pictures]) / unit
        look = _look(film.pictures[0].bodies[place].shape)
        found.append(look | _packed(np.array(table)) | {"depths": _columns(depths)})
    return found


def _columns(table: np.ndarray) -> list[list[int]]:
    """Return each column of a table as few and small whole numbers; zero where it is unknown."""
    whole = np.round(np.nan_to_num(table)).astype(np.int64)
    return [_steps(column) for column in whole.T]


def _pivot(film: Film, unit: float) -> list[int] | None:
    """Return in space the middle of everything, across, up and towards the eye, in units."""
    if not film.drawing.in_space:
        return None
    entries = [*film.surroundings, *(body for one in film.pictures for body in one.bodies)]
    depths = np.concatenate([entry.depth for entry in entries])
    known = depths[np.isfinite(depths)]
    middle = [*film.whole.mean(axis=0), (known.min() + known.max()) / 2 if known.size else 0.0]
    return np.round(np.array(middle) / unit).astype(int).tolist()


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
        (n, m); a row with a NaN is invisible.

    Returns
    -------
    dict
        `steps`: each column, from the third on without the column before the last, as `_steps`;
        `changes`: the first row that is seen, the first after it that is not, and so on.
    """
    seen = np.isfinite(table).all(axis=1)
    changes = np.flatnonzero(np.diff(seen, prepend=False)).tolist()
    # An unseen row repeats the one before it, which takes no space.
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
    numbers += np.round(np.nan_to_num(entry.depth) / unit).astype(int).tolist()
    return _look(entry.shape) | {"at": numbers if entry.shown and known else None}

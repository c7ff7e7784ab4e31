"""The pictures of a film in Matplotlib, one at a time, and the files that hold them as pixels."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import matplotlib as mpl
import numpy as np
from matplotlib.animation import FFMpegWriter
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle as Disc
from matplotlib.patches import FancyArrowPatch, Patch, Polygon
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from PIL import Image

from daesolve.multibody.drawing import Arrow, Circle, Dot, Outline, Placed, Shape, Trace
from daesolve.reporting.figures.style import INK, MOST_DOTS, QUIET, RULE, SERIES, SURFACE, style
from daesolve.reporting.film import (
    AnimationError,
    Film,
    FilmFrame,
    MissingFfmpegError,
    Progress,
    framed,
)

COLOURS: Mapping[str, str] = {
    "body": SERIES[0],
    **{f"body-{number}": SERIES[number - 1] for number in range(2, 7)},
    "accent": SERIES[1],
    "ground": QUIET,
    "path": SERIES[2],
    "force": SERIES[3],
    "detail": QUIET,
}
MARKS: Mapping[str, Any] = {
    "body-2": (4, 0, 45),
    "body-3": (3, 0, 0),
    "body-4": (4, 0, 0),
    "body-5": (3, 0, 180),
    "body-6": (6, 0, 0),
}
"""Marks of bodies, for eyes that do not tell colours apart: sides, and turn; others are discs."""
FILL = 0.14
FINE = 0.7
"""The stroke of details, points; that of all else is 1.5."""
ABOVE = 2.0
"""One height for all artists, so that later ones lie above, be they lines or patches."""
INCHES = 8.0
"""The width of a picture, whatever its pixels: text and strokes grow with them."""
SIDE = 4.9
"""The side of the square that goes along with bodies, inches."""
LEFT, BELOW, HEAD, EDGE, GAP = 0.75, 0.55, 0.62, 0.15, 0.35
"""Room for the labels of the axes, for the lines above, margins, inches."""
LEGEND = 0.3
TALLEST = 5.2
MOST_COLOURS = 128
PALETTE_FROM = 4
"""From how many pictures the colours of a GIF are taken."""
FFMPEG_OPTIONS = ["-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart"]


def paint(axes: Axes, entry: Placed, *, strength: float = 1.0, size: float = 1.0) -> None:
    """Draw a shape where it is, if it is visible.

    Parameters
    ----------
    axes
        In the coordinates of the drawing.
    entry
        A shape in its place.
    strength
        From 0, invisible, to 1.
    size
        Of strokes, dots and arrow heads; 1 suits bodies that one can recognize.
    """
    if not entry.shown:
        return
    stroke: dict[str, Any] = {
        "color": COLOURS[entry.shape.role],
        "alpha": strength,
        "linewidth": (FINE if entry.shape.role == "detail" else 1.5) * size,
        "zorder": ABOVE,
    }
    solid = entry.shape.role == "detail"
    match entry.shape:
        case Circle():
            disc = Disc((entry.points[0, 0], entry.points[0, 1]), entry.radius)
            _fill(axes, disc, stroke, solid=solid)
            finer: dict[str, Any] = {**stroke, "linewidth": 0.8 * size}
            for spoke in entry.spokes:
                axes.plot(*spoke.T, **finer)
        case Outline():
            _fill(axes, Polygon(entry.points), stroke, solid=solid)
        case Dot():
            mark = MARKS.get(entry.shape.role, "o")
            stroke |= {"marker": mark, "linestyle": "", "markeredgewidth": 0}
            axes.plot(*entry.points.T, markersize=(9 if mark != "o" else 6.5) * size, **stroke)
        case Arrow():
            head = {"arrowstyle": "-|>", "mutation_scale": 9.0 * size, "shrinkA": 0, "shrinkB": 0}
            tail, tip = entry.points
            axes.add_patch(FancyArrowPatch((tail[0], tail[1]), (tip[0], tip[1]), **head, **stroke))
        case _:
            axes.plot(*entry.points.T, **stroke)


def paint_samples(axes: Axes, trace: Placed) -> None:
    """Draw the samples of a trace as dots, where a line between them would not be honest."""
    axes.plot(
        *trace.points[:: -(-len(trace.points) // MOST_DOTS)].T,
        "o",
        color=COLOURS[trace.shape.role],
        markersize=2.0,
        markeredgewidth=0,
        zorder=ABOVE,
    )


def name(axes: Axes, shape: Shape, *, scattered: bool = False) -> None:
    """Enter the label of a shape for the legend of axes; `scattered` means a trace in dots."""
    if not shape.label:
        return
    hollow = isinstance(shape, Circle | Outline)
    alone = hollow or scattered or isinstance(shape, Dot)
    mark = MARKS.get(shape.role, "o") if isinstance(shape, Dot) else "o"
    axes.plot(
        [],
        [],
        marker="s" if isinstance(shape, Outline) else mark if alone else "",
        linestyle="" if alone else "-",
        fillstyle="none" if hollow else "full",
        markersize=2.0 if scattered else 6.0,
        color=COLOURS[shape.role],
        label=f"{shape.label} (samples)" if scattered else shape.label,
    )


def look_at(axes: Axes, corners: np.ndarray) -> None:
    """Show what lies between two corners, (2, 2), at the same scale along both axes."""
    axes.set_xlim(*corners[:, 0])
    axes.set_ylim(*corners[:, 1])
    axes.set_aspect("equal")


def _fill(axes: Axes, patch: Patch, stroke: Mapping[str, Any], *, solid: bool) -> None:
    """Fill a patch faintly; a solid one hides what is behind it."""
    colour, strength = stroke["color"], stroke["alpha"]
    faint = (_mixed(colour, FILL), strength) if solid else (colour, FILL * strength)
    patch.set(
        facecolor=faint,
        edgecolor=(colour, strength),
        linewidth=stroke["linewidth"],
        zorder=stroke["zorder"],
    )
    axes.add_patch(patch)


def _mixed(colour: str, part: float) -> tuple[float, ...]:
    """Return a colour upon the surface of the page, opaque."""
    return tuple(part * np.array(to_rgb(colour)) + (1.0 - part) * np.array(to_rgb(SURFACE)))


@dataclass(frozen=True, eq=False)
class Renderer:
    """A figure that shows one picture after the other.

    Parameters
    ----------
    figure
        An even number of pixels wide and high.
    show
        Replaces the picture by another one of the film.
    changing
        What differs from picture to picture, in the order of drawing.
    """

    figure: Figure
    show: Callable[[FilmFrame], None]
    changing: Sequence[Artist]


def renderer(film: Film, width: int) -> Renderer:
    """Make the figure in which a film is shown.

    Parameters
    ----------
    film
        What will be shown.
    width
        Pixels, an even number.
    """
    with style():
        return _following(film, width) if film.follows else _at_rest(film, width)


def _at_rest(film: Film, width: int) -> Renderer:
    """Lay out one view for all pictures, the legend above it."""
    view = film.pictures[0].view
    steepness = float(np.ptp(view[:, 1]) / np.ptp(view[:, 0]))
    across = min(INCHES - LEFT - EDGE, TALLEST / steepness)
    height = across * steepness
    figure = _figure(width, BELOW + height + LEGEND + HEAD)
    axes = _axes(figure, (0.5 * (INCHES + LEFT - EDGE - across), BELOW, across, height))
    show_bodies = _pane(axes, film)
    look_at(axes, view)
    corner = (EDGE, BELOW + height + 0.05)
    _legend(figure, axes, corner, loc="lower left", ncols=5)
    clock = _head(figure, film)

    def show(picture: FilmFrame) -> None:
        show_bodies(picture)
        clock.set_text(_time(film, picture))

    return Renderer(figure, show, [axes, clock])


def _following(film: Film, width: int) -> Renderer:
    """Lay out a square that goes along with the bodies, and beside it a map of the whole way."""
    figure = _figure(width, BELOW + SIDE + HEAD)
    axes = _axes(figure, (LEFT, BELOW, SIDE, SIDE))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    show_bodies = _pane(axes, film)
    left, room = LEFT + SIDE + GAP, INCHES - LEFT - SIDE - GAP - EDGE
    corners = framed(film.whole)
    tall = min(room * float(np.ptp(corners[:, 1]) / np.ptp(corners[:, 0])), SIDE - 2.0)
    low = BELOW + SIDE - tall
    chart = _axes(figure, (left, low, room, tall))
    show_paths = _map(chart, film, corners)
    _legend(figure, axes, (left, low - 0.15), loc="upper left")
    clock = _head(figure, film)

    def show(picture: FilmFrame) -> None:
        show_bodies(picture)
        show_paths(picture)
        look_at(axes, picture.view)
        clock.set_text(_time(film, picture))

    return Renderer(figure, show, [axes, chart, clock])


def _pane(axes: Axes, film: Film) -> Callable[[FilmFrame], None]:
    """Return a function that draws the bodies of a picture in axes, replacing the previous ones."""
    for entry in film.surroundings:
        paint(axes, entry)
    for shape in film.drawing.shapes:
        name(axes, shape, scattered=isinstance(shape, Trace) and not film.joined)
    axes.set_xlabel(film.drawing.x_label)
    axes.set_ylabel(film.drawing.y_label)
    lines, patches = len(axes.lines), len(axes.patches)

    def show(picture: FilmFrame) -> None:
        for artist in (*axes.lines[lines:], *axes.patches[patches:]):
            artist.remove()
        for body in picture.bodies:
            if isinstance(body.shape, Trace) and not film.joined:
                paint_samples(axes, body)
            else:
                paint(axes, body)

    return show


def _map(axes: Axes, film: Film, corners: np.ndarray) -> Callable[[FilmFrame], None]:
    """Draw the whole way, faint; return what draws how far a picture has come."""
    for entry in film.surroundings:
        paint(axes, entry, size=0.5)
    for entry in film.pictures[-1].bodies:
        if isinstance(entry.shape, Trace):
            mark = "-" if film.joined else "."
            axes.plot(*entry.points.T, mark, color=QUIET, alpha=0.35, linewidth=0.9, markersize=2)
    here = axes.scatter([], [], s=22, color=INK, zorder=ABOVE + 1, linewidth=0)
    look_at(axes, corners)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(visible=True, color=RULE)
    axes.set_title("the whole way", color=QUIET)
    lines = len(axes.lines)

    def show(picture: FilmFrame) -> None:
        for line in axes.lines[lines:]:
            line.remove()
        for body in picture.bodies:
            if isinstance(body.shape, Trace):
                paint_samples(axes, body) if not film.joined else paint(axes, body, size=0.6)
        here.set_offsets(picture.view.mean(axis=0))

    return show


def _figure(width: int, height: float) -> Figure:
    dots = width / INCHES
    figure = Figure(figsize=(INCHES, 2 * round(0.5 * height * dots) / dots), dpi=dots)
    # The layout must not depend on the texts of a picture.
    figure.set_layout_engine("none")
    return figure


def _axes(figure: Figure, inches: tuple[float, float, float, float]) -> Axes:
    size = (INCHES, figure.get_figheight()) * 2
    return figure.add_axes(tuple(part / whole for part, whole in zip(inches, size, strict=True)))  # pyright: ignore


def _legend(figure: Figure, axes: Axes, inches: tuple[float, float], **options: Any) -> None:
    """Write a legend of axes with its corner at a place of the figure."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        corner = (inches[0] / INCHES, inches[1] / figure.get_figheight())
        figure.legend(handles, labels, bbox_to_anchor=corner, borderaxespad=0.0, **options)


def _head(figure: Figure, film: Film) -> Text:
    """Write title and speed above the axes, and return the place for the time."""
    top = 1.0 - 0.14 / figure.get_figheight()
    below = top - 0.25 / figure.get_figheight()
    right = 1.0 - EDGE / INCHES
    figure.text(EDGE / INCHES, top, film.title, va="top", fontsize=11, fontweight="bold")
    figure.text(EDGE / INCHES, below, film.speed, va="top", color=QUIET)
    return figure.text(right, top, "", va="top", ha="right", fontsize=11)


def _time(film: Film, picture: FilmFrame) -> str:
    return f"t = {picture.time:.{film.decimals}f} s"


def write_gif(shown: Film, file: Path, progress: Progress, *, width: int) -> None:
    """Write pictures with colours in common, so that only what changes is stored of each."""
    total = len(shown.pictures)
    with style():
        scene = renderer(shown, width)
        canvas = FigureCanvasAgg(scene.figure)
        for artist in scene.changing:
            artist.set_animated(True)
        canvas.draw()
        same = cast(Any, canvas).copy_from_bbox(scene.figure.bbox)

        def pixels(place: int) -> Image.Image:
            canvas.restore_region(same)
            scene.show(shown.pictures[place])
            for artist in scene.changing:
                scene.figure.draw_artist(artist)
            return Image.fromarray(np.asarray(canvas.buffer_rgba())[:, :, :3])

        colours = _colours(
            [pixels(int(place)) for place in np.linspace(0, total - 1, PALETTE_FROM)]
        )

        def images() -> Iterator[Image.Image]:
            for place in range(total):
                yield pixels(place).quantize(palette=colours, dither=Image.Dither.NONE)
                progress(place + 1, total)

        rest = images()
        # A GIF counts hundredths of a second: each end is rounded, so that no error adds up.
        ends = np.round(100.0 * np.arange(total + 1) / shown.rate).astype(int)
        durations = (10 * np.diff(ends)).tolist()
        with file.open("wb") as stream:
            next(rest).save(
                stream, "GIF", save_all=True, append_images=rest, duration=durations, loop=0
            )


def _colours(some: Sequence[Image.Image]) -> Image.Image:
    """Return a palette for pictures, those of the roles among its colours however rare they are."""
    wide, tall = some[0].size
    roles = [
        Image.new("RGB", (wide, tall // 8), shade)
        for shade in dict.fromkeys((*COLOURS.values(), INK))
    ]
    every = np.vstack([np.asarray(image) for image in (*some, *roles)])
    return Image.fromarray(every).quantize(MOST_COLOURS)


def write_mp4(shown: Film, file: Path, progress: Progress, *, width: int, program: str) -> None:
    """Encode the pictures with ffmpeg, which `program` names."""
    total = len(shown.pictures)
    with style(), mpl.rc_context({"animation.ffmpeg_path": program}):
        scene = renderer(shown, width)
        # Matplotlib and ffmpeg take more than Matplotlib's annotation says.
        rate: Any = shown.rate
        writer = FFMpegWriter(fps=rate, codec="h264", extra_args=FFMPEG_OPTIONS)
        try:
            with writer.saving(scene.figure, str(file), scene.figure.dpi):
                for place, picture in enumerate(shown.pictures, start=1):
                    scene.show(picture)
                    writer.grab_frame()
                    progress(place, total)
        except subprocess.CalledProcessError as error:
            raise AnimationError(f"ffmpeg could not encode the film: {error}") from None


def ffmpeg() -> str:
    """Return the program that encodes films: the system's, else that of imageio-ffmpeg.

    Raises
    ------
    MissingFfmpegError
        There is neither.
    """
    if FFMpegWriter.isAvailable():
        return FFMpegWriter.bin_path()
    if find_spec("imageio_ffmpeg") is not None:
        return import_module("imageio_ffmpeg").get_ffmpeg_exe()
    raise MissingFfmpegError(
        "an .mp4 needs the program ffmpeg, which is not installed: install it with `pip "
        "install imageio-ffmpeg` or your system's packages, or write an .html or a .gif"
    )

"""The animation of a run's drawing as a file: a page with a player, a GIF, or a film."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import matplotlib as mpl
import numpy as np
from matplotlib.animation import FFMpegWriter
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from daesolve.errors import DaesolveError, OutOfRangeError, UnknownNameError
from daesolve.plugins import registry
from daesolve.reporting.document import Document
from daesolve.reporting.excerpt import (
    PICTURES_A_SECOND,
    SECONDS,
    Excerpt,
    Playing,
    from_document,
    from_run,
)
from daesolve.reporting.film import Film, film
from daesolve.reporting.painting import COLOURS
from daesolve.reporting.player import player
from daesolve.reporting.renderer import stage
from daesolve.reporting.scene import DrawingRule, with_drawing
from daesolve.reporting.style import INK, style
from daesolve.trajectory.samples import StoredSamples
from daesolve.trajectory.trajectory import Trajectory

WIDTH = 800
NARROWEST, WIDEST = 200, 3840
FASTEST_GIF = 50.0
"""Viewers slow down what is to be shown for less than two hundredths of a second."""
MOST_COLOURS = 128
PALETTE_FROM = 4
"""From how many pictures the colours of a GIF are taken."""
FFMPEG_OPTIONS = ["-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart"]

Progress = Callable[[int, int], None]
"""Called after each picture with the number of those done and of all."""


class AnimationError(DaesolveError, RuntimeError):
    """An animation that cannot be written where it is to go; why is told."""


class MissingFfmpegError(AnimationError):
    """The program that encodes films is not installed here; what adds it is told."""


def animate(
    run: Trajectory | Document | Path | str,
    file: Path | str,
    *,
    seconds: float = SECONDS,
    rate: float = PICTURES_A_SECOND,
    begin: float | None = None,
    end: float | None = None,
    width: int = WIDTH,
    drawing: DrawingRule | None = None,
    progress: Progress | None = None,
) -> Film:
    """Write the animation of a run, and return what it shows.

    Parameters
    ----------
    run
        The directory of a run, finished or not; a trajectory; or a document with its drawing.
    file
        Its suffix tells the kind: .html (a page with a player), .gif or .mp4; one that is there
        is replaced.
    seconds
        The time of playing, s.
    rate
        Pictures a second of playing.
    begin, end
        The part of the run that is shown, s; all of it by default.
    width
        Of a .gif or .mp4, pixels; a page has the width of its window.
    drawing
        Makes the drawing of a directory's run, by default by the rule of its problem, or of a
        trajectory.
    progress
        Called after each picture.

    Raises
    ------
    ReportError
        It has no drawing, or fewer than two samples.
    ArchiveError
        There is no run, or it is damaged.
    UnknownNameError, PluginError
        The run's problem is not installed here.
    UnknownNameError
        The suffix is none of the three.
    OutOfRangeError
        A number lies outside of what it can be.
    MissingFfmpegError
        An .mp4 is asked for and there is no ffmpeg.
    AnimationError
        The file cannot be written.

    Examples
    --------
    `animate("runs/hoop", "hoop.gif", seconds=5.0, begin=10.0, end=15.0)`
    """
    known = Trajectory.from_run(run) if isinstance(run, Path | str) else run
    target = Path(file)
    write = _writer(target, width, rate)
    playing = Playing(seconds, rate, begin, end)
    if isinstance(known, Trajectory):
        shown = film(_drawn(known, drawing, playing))
    else:
        shown = film(from_document(known, playing))
    partial = target.with_name(f".{target.stem}.partial{target.suffix}")
    try:
        write(shown, partial, progress or _quiet)
        os.replace(partial, target)
    except OSError as error:
        raise AnimationError(f"{str(target)!r} cannot be written: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)
    return shown


def _drawn(run: Trajectory, rule: DrawingRule | None, playing: Playing) -> Excerpt:
    """Return what is needed of a run, with its drawing."""
    kept = run.samples
    identity: Mapping[str, Any] = {}
    if isinstance(kept, StoredSamples):
        identity = kept.stored.manifest["identity"]
    problem: str | None = identity.get("path") or identity.get("problem")
    if rule is None and problem is not None:
        rule = registry.problem(problem).drawing
    part = from_run(run, identity, playing)
    return replace(part, document=with_drawing(dict(part.document), rule))


Writer = Callable[[Film, Path, Progress], None]


def _writer(target: Path, width: int, rate: float) -> Writer:
    """Return what writes this kind of file, after a look at everything that can be wrong."""
    suffix = target.suffix.lower()
    if suffix not in (".html", ".gif", ".mp4"):
        raise UnknownNameError(
            f"unknown kind of animation {suffix!r}: name a file .html, .gif or .mp4"
        )
    if not target.parent.is_dir():
        raise AnimationError(f"there is no directory {str(target.parent)!r} for the animation")
    if target.name == "report.html":
        raise AnimationError("report.html is the report of a run: name the animation otherwise")
    if not NARROWEST <= width <= WIDEST or width % 2:
        raise OutOfRangeError(
            f"the width is {width} pixels, but must be even, from {NARROWEST} to {WIDEST}"
        )
    if suffix == ".gif" and rate > FASTEST_GIF:
        raise OutOfRangeError(
            f"a .gif shows at most {FASTEST_GIF:g} pictures a second, not {rate:g}"
        )
    if suffix == ".html":
        return _write_page
    if suffix == ".gif":
        return lambda shown, partial, progress: _write_gif(shown, partial, width, progress)
    program = _ffmpeg()
    return lambda shown, partial, progress: _write_mp4(shown, partial, width, program, progress)


def _quiet(done: int, total: int) -> None:
    """Tell nobody."""


def _write_page(shown: Film, partial: Path, progress: Progress) -> None:
    partial.write_text(player(shown, progress), encoding="utf-8", newline="\n")


def _write_gif(shown: Film, partial: Path, width: int, progress: Progress) -> None:
    """Write pictures with colours in common, so that only what changes is stored of each."""
    total = len(shown.pictures)
    with style():
        scene = stage(shown, width)
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
        with partial.open("wb") as stream:
            next(rest).save(
                stream, "GIF", save_all=True, append_images=rest, duration=durations, loop=0
            )


def _colours(some: Sequence[Image.Image]) -> Image.Image:
    """Return a palette for pictures, those of the roles among its colours however rare they are."""
    wide, tall = some[0].size
    roles = [Image.new("RGB", (wide, tall // 8), shade) for shade in {*COLOURS.values(), INK}]
    every = np.vstack([np.asarray(image) for image in (*some, *roles)])
    return Image.fromarray(every).quantize(MOST_COLOURS)


def _write_mp4(shown: Film, partial: Path, width: int, program: str, progress: Progress) -> None:
    total = len(shown.pictures)
    with style(), mpl.rc_context({"animation.ffmpeg_path": program}):
        scene = stage(shown, width)
        # Matplotlib's own annotation is narrower than what it and ffmpeg take.
        rate: Any = shown.rate
        writer = FFMpegWriter(fps=rate, codec="h264", extra_args=FFMPEG_OPTIONS)
        try:
            with writer.saving(scene.figure, str(partial), scene.figure.dpi):
                for place, picture in enumerate(shown.pictures, start=1):
                    scene.show(picture)
                    writer.grab_frame()
                    progress(place, total)
        except subprocess.CalledProcessError as error:
            raise AnimationError(f"ffmpeg could not encode the film: {error}") from None


def _ffmpeg() -> str:
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
        "an .mp4 needs the program ffmpeg, which is not installed: add it by `pip install "
        "imageio-ffmpeg` or your system's packages, or write an .html or a .gif"
    )

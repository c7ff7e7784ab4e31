"""The command `daesolve animate`."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from daesolve.reporting.animation import WIDTH, animate
from daesolve.reporting.animation import Progress as Told
from daesolve.reporting.excerpt import PICTURES_A_SECOND, SECONDS

FILE = "animation.html"


def command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run of `--out`.")],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="FILE",
            help=f"A file .html (also where there is no suffix), .gif or .mp4; else DIR/{FILE}.",
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(help="The time of playing, s.")] = SECONDS,
    fps: Annotated[float, typer.Option(help="Pictures a second of playing.")] = PICTURES_A_SECOND,
    from_: Annotated[
        float | None, typer.Option("--from", help="Where the run is shown from, s.")
    ] = None,
    until: Annotated[float | None, typer.Option(help="How far the run is shown, s.")] = None,
    width: Annotated[int, typer.Option(help="Of a .gif or an .mp4, pixels.")] = WIDTH,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")] = False,
) -> None:
    """Animate the drawing of a run: a page with a player, a GIF or a film."""
    file = directory / FILE if to is None else to
    file = file if file.suffix else file.with_name(f"{file.name}.html")
    with _progress(file.name, quiet=quiet) as progress:
        film = animate(
            directory,
            file,
            seconds=seconds,
            rate=fps,
            begin=from_,
            end=until,
            width=width,
            progress=progress,
        )
    if quiet:
        return
    first, last = film.pictures[0].time, film.pictures[-1].time
    typer.echo(
        f"animation: {file} ({_size(file.stat().st_size)}), {len(film.pictures)} pictures in "
        f"{film.seconds:g} s, t = {first:g} to {last:g} s, {film.speed}"
    )
    for note in film.notes:
        typer.echo(note)


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


@contextmanager
def _progress(what: str, *, quiet: bool) -> Generator[Told | None]:
    """Show a bar on standard error while pictures are drawn, where that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what)
        yield lambda done, total: bar.update(task, completed=done, total=total)

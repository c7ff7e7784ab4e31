"""The commands `daesolve report`, `plot`, `animate` and `page`: runs to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daesolve import reporting
from daesolve.cli.live import PAGE, Live, source_among, write_live
from daesolve.cli.options import CaseName, ProblemName, SourceFile, progress_bar, say
from daesolve.core.results.storage import make_directory
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import OutOfRangeError
from daesolve.plugins import registry
from daesolve.reporting import animation
from daesolve.reporting.excerpt import SECONDS
from daesolve.reporting.gallery import write_page
from daesolve.reporting.notebook import runs
from daesolve.reporting.notebook.pictures import KINDS

FILE = "animation.html"
FIGURES = "figures"
LONGEST_NAME = 80
"""The most characters in the name of a figure's file."""


def report(
    directories: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Runs of `--out`.")],
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--source",
            metavar="FILE",
            help="The file of a run's problem, unchanged since then, for its figures and drawing: "
            "a Python file is executed, and a model file read, only if you name it here. Repeat "
            "the option for each file.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The page, NAME.html: by default report.html in DIR, and for several runs "
            "reports.html in the current directory. The data lie beside it, in NAME.json.",
        ),
    ] = None,
    live: Live = False,
) -> None:
    """Rebuild report.html and report.json, or compare several runs side by side."""
    found = reporting.problems_given(sources or [], say)
    typer.echo(f"report: {reporting.rebuild(directories, found, say, out)}")
    for directory in directories if live else ():
        write_live(directory, directory / PAGE, source=source_among(sources or [], directory))


def plot(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run of `--out`.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="States, reactions and outputs; by default all states."
        ),
    ] = None,
    drift: Annotated[
        bool, typer.Option("--drift", help="Draw the residuals of all goals instead.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--to",
            metavar="FILE",
            help=f"A {', '.join(KINDS)} file; by default one in DIR/{FIGURES}, named after what "
            "it shows. A second figure is FILE-2.",
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="|".join(kind.lstrip(".") for kind in KINDS),
            help="The kind of file: by default that of FILE, else png.",
        ),
    ] = None,
) -> None:
    """Draw states, reactions and outputs of a run over time, as .png, .svg or .pdf files.

    For a long run the figure shows the beginning beside the whole, like `run.plot()` in Python.
    """
    run = Trajectory.from_run(directory)
    if drift and names:
        raise OutOfRangeError(
            f"--drift draws the residuals of all goals: leave out {' '.join(names)}, or --drift"
        )
    plotted = runs.plot_drift(run) if drift else runs.plot(run, *(names or ()))
    what = "drift" if drift else "-".join(dict.fromkeys(names or ["states"]))
    for file in plotted.save(_target(directory, out, format_, what)):
        typer.echo(f"figure: {file}")


def _target(directory: Path, out: Path | None, format_: str | None, what: str) -> Path:
    """Return the file for a figure; create the default directory if none is given."""
    ending = None if format_ is None else f".{format_.lower().removeprefix('.')}"
    if out is None:
        from daesolve.reporting.figures.style import NOT_IN_FILES

        make_directory(directory / FIGURES)
        name = NOT_IN_FILES.sub("-", what)[:LONGEST_NAME]
        return directory / FIGURES / f"{name}{ending or KINDS[0]}"
    if not out.suffix:
        return out.with_name(f"{out.name}{ending or KINDS[0]}")
    if ending is not None and ending != out.suffix.lower():
        raise OutOfRangeError(
            f"--format {format_} differs from the suffix of --out {out}: give only one of them"
        )
    return out


def animate(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run of `--out`.")],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="FILE",
            help=f"An .html (also without a suffix), .gif or .mp4 file; by default DIR/{FILE}.",
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(help="Playing time, s.")] = SECONDS,
    fps: Annotated[
        float | None,
        typer.Option(
            help="Pictures per second of playing time: by default 25, and 50 for a fast motion."
        ),
    ] = None,
    from_: Annotated[
        float | None, typer.Option("--from", help="Start of the time shown, s.")
    ] = None,
    until: Annotated[float | None, typer.Option(help="End of the time shown, s.")] = None,
    width: Annotated[
        int, typer.Option(help="Width of a .gif or an .mp4, pixels.")
    ] = animation.WIDTH,
    source: SourceFile = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")] = False,
) -> None:
    """Animate a run: a page with a player, a GIF or a film."""
    file = directory / FILE if to is None else to
    file = file if file.suffix else file.with_name(f"{file.name}.html")
    with progress_bar(file.name, quiet=quiet) as update:
        film = animation.animate(
            directory,
            file,
            seconds=seconds,
            rate=fps,
            begin=from_,
            end=until,
            width=width,
            progress=None if update is None else lambda n, total: update(completed=n, total=total),
            source=source,
            tell=say,
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


def page(
    problem: ProblemName,
    to: Annotated[
        Path,
        typer.Option("--to", metavar="DIR", help="Directory for NAME.md and the directory NAME."),
    ],
    case: CaseName = None,
    until: Annotated[float | None, typer.Option(help="End time of the run, s.")] = None,
) -> None:
    """Run a case and write its gallery page: equations, parameters, drift, figures, animation.

    The page is Markdown with `$$` formulas, which GitHub and Sphinx (MyST) show. The figures are
    beside it, as is the animation if the problem has a drawing.
    """
    found = registry.problem(problem)
    make_directory(to)
    typer.echo(f"page: {write_page(found, to, case, until)}")

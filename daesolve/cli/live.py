"""The command `daesolve live`, and the option `--live` of others: pages that compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from daesolve.cli.option_sets import DrivenCaseOptions, OutputOptions, takes_options
from daesolve.cli.options import ProblemName, Until, say
from daesolve.core.results.trajectory.stored_trajectories import stored_run
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import OutOfRangeError
from daesolve.plugins import registry
from daesolve.reporting.document import dump, fields_of
from daesolve.reporting.live.compiling import check_compiler
from daesolve.reporting.live.page import LivePage
from daesolve.reporting.live.page import live as live_page

PAGE = "live.html"
Live = Annotated[
    bool,
    typer.Option("--live", help=f"Also write {PAGE}, a page that computes the motion again."),
]


@takes_options
def live(
    problem: ProblemName,
    case: DrivenCaseOptions,
    output: OutputOptions,
    until: Until = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="The page; by default PROBLEM-CASE.html here."),
    ] = None,
) -> None:
    """Write a page that computes: sliders change the motion, without Python and offline."""
    check_compiler()
    bound = case.of(problem)
    page = Path(f"{bound.problem.name}-{bound.case.name}.html") if out is None else out
    if page.suffix != ".html":
        raise OutOfRangeError(f"--out needs a file name that ends with .html, not {page}")
    chosen: dict[str, Any] = {} if case.inputs is None else {"inputs": case.inputs}
    made = write_live(bound.solve(until, **chosen), page, quiet=output.silent)
    if output.as_json:
        told = {"path": str(page), **fields_of(made, "name until difference notes")}
        typer.echo(dump(told))


def source_among(sources: Sequence[Path], directory: Path) -> Path | None:
    """Return the file that defines the problem of a stored run, if it is among those given."""
    named: Mapping[str, Any] = stored_run(directory).manifest["source"] or {}
    return next((one for one in sources if registry.digest_of(one) == named.get("digest")), None)


def write_live(
    run: Trajectory | Path, file: Path, *, source: Path | None = None, quiet: bool = False
) -> LivePage:
    """Write the live page of a run, return it, and say where it is and how exact."""
    page = live_page(run, source=source, tell=say)
    path = page.save(file)
    if quiet:
        return page
    typer.echo(
        f"live: {path} ({len(page.text.encode()) / 1e3:.0f} kB), {page.difference:.1e} from the "
        f"run at t = {page.until:g} s"
    )
    for note in page.notes:
        say(note)
    return page

"""The command `daesolve identify`: parameters and start values from measured outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daesolve import reporting
from daesolve.cli import options
from daesolve.cli.option_sets import DrivenCaseOptions, takes_options
from daesolve.cli.options import AsJson, ProblemName, Until, show
from daesolve.errors import OutOfRangeError


@takes_options
def identify(
    problem: ProblemName,
    case: DrivenCaseOptions,
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            metavar="FILE",
            help="A CSV or Parquet file: a column `time` in s, and columns named after states, "
            "outputs or reactions.",
        ),
    ],
    of: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An unknown: a parameter or a start value."),
    ] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER|NAME=NUMBER",
            help="The standard deviation of all columns, or of one; estimated by default.",
        ),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LOW:HIGH", help="The range of an unknown."),
    ] = None,
    segments: Annotated[
        int | None, typer.Option(help="In how many segments to begin; chosen by default.")
    ] = None,
    until: Until = None,
    out: Annotated[
        Path | None, typer.Option(help="Directory for report.html and answer.json.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find parameters and start values from measured outputs, with intervals."""
    from daesolve.analysis.identification import identify as identified

    if not of:
        raise OutOfRangeError("--of NAME is missing: name a parameter or a start value to identify")
    bound = case.of(problem)
    if out is not None:
        reporting.make_empty(out)
    found = identified(
        bound,
        data,
        of,
        until,
        noise=_noise(noise or []),
        bounds=options.ranges("--bounds", bounds or []),
        segments=segments,
        inputs=case.inputs,
    )
    document = reporting.identification_document(bound.identity(), found)
    if as_json:
        typer.echo(reporting.dump(document))
    else:
        show(reporting.identification_text(document))
    if out is not None:
        written = reporting.write_identification(out, document, found)
        if not as_json:
            typer.echo(f"report: {written}")


def _noise(words: list[str]) -> float | dict[str, float] | None:
    """Read one number, or NAME=NUMBER words."""
    if len(words) == 1 and "=" not in words[0]:
        found = options.number_or(words[0])
        if isinstance(found, str):
            raise OutOfRangeError(f"--noise needs a number or NAME=NUMBER, not {found!r}")
        return found
    return options.numbers("--noise", words) or None

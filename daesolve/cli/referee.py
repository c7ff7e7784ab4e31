"""The command `daesolve referee`: runs a model file in daesolve and MuJoCo, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from daesolve import reporting
from daesolve.cli import options
from daesolve.cli.options import AsJson, StartValues, show
from daesolve.multibody.drawing import drawing_of
from daesolve.multibody.model_files import ContactKind
from daesolve.multibody.referee import refereed

UNTIL, APART = 10.0, 1e-3


def referee(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A model in MJCF or URDF.")],
    case: Annotated[
        str | None,
        typer.Option("--case", metavar="KEYFRAME", help="Keyframe of the file to start from."),
    ] = None,
    initial: StartValues = None,
    until: Annotated[float, typer.Option(help="End time of the runs, s.")] = UNTIL,
    step: Annotated[
        float | None,
        typer.Option(metavar="H", help="MuJoCo's longest step, s; by default the file's step."),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(metavar="M", help="Distance from which motions count as different, m."),
    ] = APART,
    hard: Annotated[
        bool,
        typer.Option(
            "--hard",
            help="Make MuJoCo's equalities, contacts and limits as stiff as its steps allow.",
        ),
    ] = False,
    contacts: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="How geoms touch: rigid, compliant, or none, also in MuJoCo.",
        ),
    ] = "rigid",
    out: Annotated[
        Path | None, typer.Option(help="Directory for report.html and report.json.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a model file in daesolve and in MuJoCo from the same start, and compare the motions.

    MuJoCo runs three times: with its step, half of it and a quarter of it.
    """
    given = options.numbers("--initial", initial or [])
    if out is not None:
        reporting.make_empty(out)
    found = refereed(
        file, until, case=case, initial=given, step=step, tolerance=tolerance, hard=hard,
        contacts=cast(ContactKind, contacts),  # what is none is refused
    )  # fmt: skip
    document = reporting.referee_document(found.verdict)
    written: Path | None = None
    if out is not None:
        drawn = drawing_of(found.mechanism)
        written = reporting.write_referee(out, found.verdict, reporting.stills(found, drawn))
    if as_json:
        typer.echo(reporting.dump(document))
        return
    show(reporting.referee_text(document))
    if written is not None:
        typer.echo(f"report: {written}")

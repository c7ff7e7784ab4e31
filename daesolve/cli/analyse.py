"""The command `daesolve analyse`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from daesolve import reporting
from daesolve.cli import options
from daesolve.cli.arguments import (
    AsJson,
    CaseName,
    Changes,
    ModelName,
    ParameterFile,
    ProblemName,
    StartValues,
)


def command(
    problem: ProblemName,
    analysis: Annotated[str, typer.Argument(metavar="ANALYSIS", help="See `daesolve show`.")],
    of: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Of sensitivity: a parameter or a start value."),
    ] = None,
    case: CaseName = None,
    model: ModelName = None,
    set_: Changes = None,
    parameters: ParameterFile = None,
    initial: StartValues = None,
    until: Annotated[float | None, typer.Option(help="Of sensitivity: the horizon in s.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="A directory for answer.json and the figures.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute what is asked of a case besides its motion: rank, sensitivity, its own."""
    bound = options.case(problem, case, model, parameters, set_ or [], initial or [])
    if out is not None:
        reporting.make_empty(out)
    with reporting.style():
        answer = bound.analyse(analysis, of or [], until)
    document = reporting.answer_document(
        {**bound.identity(), "parameters": bound.full_parameters}, analysis, answer.values
    )
    written: list[Path] = []
    if out is not None:
        written = reporting.write_answer(out, document, answer.figures)
    if as_json:
        typer.echo(reporting.dump(document))
        return
    Console().print(reporting.answer_text(document))
    if written:
        typer.echo(f"written: {', '.join(map(str, written))}")

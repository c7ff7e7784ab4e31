"""The command `daesolve paper`: reproduces every figure and table of a publication."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daesolve import reporting
from daesolve.cli.options import COULD_NOT_GO_ON, AsJson, say, show
from daesolve.reporting.papers import Item, make
from daesolve.reporting.papers import paper as installed_paper
from daesolve.reporting.papers.paper import names


def paper(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help=f"A paper: {', '.join(names()) or 'none is installed'}."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Directory for paper.html, paper.json and the figures as SVG."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Shorten the runs and skip slow items.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce the figures and tables of a paper, with published and exact values side by side."""
    from daesolve.reporting.papers.page import document, text

    found = installed_paper(name)
    if out is not None:
        reporting.make_empty(out)

    def tell(item: Item) -> None:
        if not as_json:
            say(f"{item.name}: {item.title}")

    made = make(found, quick=quick, tell=tell)
    written = [] if out is None else made.write(out)
    if as_json:
        typer.echo(reporting.dump(document(made)))
    else:
        show(text(made))
        if written:
            typer.echo(f"page: {written[0]}")
    if made.failed:
        failed = ", ".join(entry.item.name for entry in made.failed)
        typer.echo(f"daesolve: these items failed: {failed}", err=True)
        raise typer.Exit(COULD_NOT_GO_ON)

"""The command `daesolve page`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daesolve.cli.arguments import CaseName, ProblemName
from daesolve.gallery import write_page
from daesolve.plugins import registry
from daesolve.storage import make_directory


def command(
    problem: ProblemName,
    to: Annotated[
        Path,
        typer.Option(
            "--to", metavar="DIR", help="Where NAME.md and the directory NAME are written."
        ),
    ],
    case: CaseName = None,
    until: Annotated[float | None, typer.Option(help="The end of the run, s.")] = None,
) -> None:
    """Run a case and write its page: equations, parameters, drift, figures, animation.

    The page is Markdown with `$$` formulas, which GitHub and Sphinx (MyST) show. Beside it are the
    figures, and the animation where the problem has a drawing.
    """
    found = registry.problem(problem)
    make_directory(to)
    typer.echo(f"page: {write_page(found, to, case, until)}")

"""The command `daesolve report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daesolve import reporting


def command(
    directories: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Runs of `--out`.")],
) -> None:
    """Build report.html and report.json again, several runs side by side."""
    page = reporting.rebuild(directories)
    typer.echo(f"report: {page}")

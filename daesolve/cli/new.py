"""The command `daesolve new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daesolve.template import new_project


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Of the project and its problem: lower case with hyphens."
        ),
    ],
    to: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="Where the directory NAME is made.")
    ] = Path(),
) -> None:
    """Write a plugin project to start from, which installs and passes its own tests."""
    project = new_project(name, to)
    # pip takes `NAME[test]` for something to download, and a path for a path.
    place = project if project.is_absolute() else f"./{project.as_posix()}"
    typer.echo(f"written: {project}; to install, run and test it:")
    typer.echo(f'  python -m pip install -e "{place}[test]"')
    typer.echo(f"  daesolve run {name}")
    typer.echo(f'  python -m pytest "{place}"')

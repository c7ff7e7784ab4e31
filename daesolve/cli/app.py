"""The command line: each command is a module, and a wrong request one sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from errno import EPIPE
from importlib.metadata import version
from io import TextIOWrapper
from typing import Annotated

import typer

from daesolve.cli import (
    analyse,
    animate,
    compare,
    doctor,
    new,
    page,
    problems,
    report,
    run,
    show,
    sweep,
)
from daesolve.cli.arguments import COULD_NOT_GO_ON, REQUEST_IS_WRONG
from daesolve.errors import DaesolveError

app = typer.Typer(
    help="Integrate constrained mechanical systems over very long horizons.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line."""
    _keep_results_apart()
    app()


def _keep_results_apart() -> None:
    """Let what compiled code prints of its own accord go to the standard error.

    It writes past `sys.stdout`, to the file descriptor: Radau5's Fortran does so where it fails.
    """
    output = sys.stdout
    if not isinstance(output, TextIOWrapper):  # it is closed, or no file
        return
    try:
        results = os.dup(output.fileno())
        os.dup2(sys.stderr.fileno(), output.fileno())
    except (AttributeError, OSError):  # there is no standard error, or no descriptor
        return
    sys.stdout = TextIOWrapper(
        open(results, "wb", closefd=False),  # noqa: SIM115 - for as long as the process
        output.encoding,
        output.errors,
        line_buffering=output.line_buffering,
    )


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(f"daesolve {version('daesolve')}")
        raise typer.Exit


@app.callback()
def _before(
    asked: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Tell the version and exit."
        ),
    ] = False,
) -> None:
    """Take what stands before a command."""


@contextmanager
def _told() -> Generator[None]:
    """Turn a wrong request, an interruption and a full disk into a sentence and an exit status."""
    try:
        yield
    except DaesolveError as error:
        typer.echo(f"daesolve: {error}", err=True)
        raise typer.Exit(REQUEST_IS_WRONG) from None
    except KeyboardInterrupt:
        typer.echo("daesolve: interrupted", err=True)
        raise typer.Exit(COULD_NOT_GO_ON) from None
    except OSError as error:
        if error.errno == EPIPE:  # the reader has what it wants; Typer ends quietly
            raise
        typer.echo(f"daesolve: the result could not be written: {error}", err=True)
        raise typer.Exit(COULD_NOT_GO_ON) from None


for name, command in (
    ("list", problems.command),
    ("show", show.command),
    ("run", run.run),
    ("resume", run.resume),
    ("sweep", sweep.command),
    ("analyse", analyse.command),
    ("compare", compare.command),
    ("report", report.command),
    ("animate", animate.command),
    ("new", new.command),
    ("page", page.command),
    ("doctor", doctor.command),
):
    app.command(name)(_told()(command))

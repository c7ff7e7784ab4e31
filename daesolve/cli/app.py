"""The command line: its commands by name, and one sentence for a wrong request.

A command's module is imported when the command is called, so that no command waits for the imports
of others.
"""

from __future__ import annotations

import ast
import gc
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from errno import EPIPE
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from daesolve.cli.options import COULD_NOT_GO_ON, REQUEST_IS_WRONG, say
from daesolve.core.interruptions import noted_interruptions
from daesolve.errors import DaesolveError, StorageError, unknown_name

GARBAGE = 50_000
"""The objects that are made before the youngest are searched for garbage."""
COMMANDS = {
    "list": "problems.list_problems",
    "show": "problems.show",
    "run": "run.run",
    "resume": "run.resume",
    "audit": "audit.audit",
    "sweep": "sweep.command",
    "analyse": "analyse.analyse",
    "identify": "identify.identify",
    "optimise": "optimise.optimise",
    "compare": "analyse.compare",
    "referee": "referee.referee",
    "report": "pages.report",
    "plot": "pages.plot",
    "animate": "pages.animate",
    "live": "live.live",
    "export": "export.export",
    "new": "problems.new",
    "page": "pages.page",
    "equations": "equations.equations",
    "paper": "papers.paper",
    "doctor": "doctor.command",
}
"""By name, the function of this package."""


def summary_of(name: str) -> str:
    """Return the first paragraph of the docstring of a command, without importing its module."""
    module, function = COMMANDS[name].split(".")
    tree = ast.parse(files("daesolve.cli").joinpath(f"{module}.py").read_text("utf-8"))
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    paragraph, *_ = (ast.get_docstring(found[function]) or "").split("\n\n")
    return " ".join(paragraph.split())


class _OnDemand(TyperCommand):
    """A command whose module is imported when its arguments are read."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        return loaded(str(self.name)).make_context(info_name, args, parent, **extra)


class _Commands(TyperGroup):
    """The commands in the order in which help lists them."""

    def invoke(self, ctx: Any) -> Any:
        with _reported():  # also while a command's module is imported
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        if cmd_name.startswith("-"):
            return None  # Typer says which options there are
        if cmd_name not in COMMANDS:
            say(str(unknown_name("command", cmd_name, COMMANDS)))
            raise typer.Exit(REQUEST_IS_WRONG)
        return _OnDemand(cmd_name, help=summary_of(cmd_name))


app = typer.Typer(
    cls=_Commands,
    help="Integrate constrained mechanical systems over very long horizons.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line."""
    # Expressions and modules live on; to search them for garbage takes a tenth of a short run.
    gc.set_threshold(GARBAGE, 20, 20)
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


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"daesolve {version('daesolve')}")
        raise typer.Exit


@app.callback()
def _before(
    asked: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Take what comes before a command."""


@contextmanager
def _reported() -> Generator[None]:
    """Turn a wrong request, an interruption and a full disk into a sentence and an exit status."""
    try:
        with noted_interruptions():
            yield
    except DaesolveError as error:
        typer.echo(f"daesolve: {error}", err=True)
        status = COULD_NOT_GO_ON if isinstance(error, StorageError) else REQUEST_IS_WRONG
        raise typer.Exit(status) from None
    except KeyboardInterrupt:
        typer.echo("daesolve: interrupted", err=True)
        raise typer.Exit(COULD_NOT_GO_ON) from None
    except OSError as error:
        if error.errno == EPIPE:  # the reader has what it wants; Typer ends quietly
            raise
        typer.echo(f"daesolve: the result could not be written: {error}", err=True)
        raise typer.Exit(COULD_NOT_GO_ON) from None


def loaded(name: str) -> TyperCommand:
    """Return a command with its arguments.

    Parameters
    ----------
    name
        One of `COMMANDS`.
    """
    module, function = COMMANDS[name].split(".")
    single = typer.Typer(add_completion=False)
    single.command(name)(getattr(import_module(f"daesolve.cli.{module}"), function))
    command = typer.main.get_command(single)
    assert isinstance(command, TyperCommand)
    return command

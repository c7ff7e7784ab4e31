"""The command `daesolve list`."""

from __future__ import annotations

import json

import typer
from rich.console import Console
from rich.table import Table

from daesolve.cli.arguments import AsJson
from daesolve.plugins import registry


def command(as_json: AsJson = False) -> None:
    """List the problems of every installed plugin."""
    found, broken = registry.problems()
    if as_json:
        document = {
            "problems": [
                {
                    "name": problem.name,
                    "title": problem.title,
                    "models": list(problem.models),
                    "cases": [case.name for case in problem.cases],
                }
                for problem in found
            ],
            "broken": [
                {"name": plugin.name, "source": plugin.source, "reason": plugin.reason}
                for plugin in broken
            ],
        }
        typer.echo(json.dumps(document, indent=1))
        return
    table = Table("problem", "title", "models", "cases", box=None, pad_edge=False)
    for problem in found:
        cases = ", ".join(case.name for case in problem.cases)
        table.add_row(problem.name, problem.title, ", ".join(problem.models), cases)
    Console().print(table)
    for plugin in broken:
        typer.echo(f"daesolve: {plugin.reason}", err=True)

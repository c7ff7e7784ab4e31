"""The command `daesolve doctor`."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from daesolve.cli.arguments import AsJson

SUNDAE = "pip install 'daesolve[sundials]'"
ASSIMULO = (
    "conda install -c conda-forge assimulo"
    if (Path(sys.prefix) / "conda-meta").is_dir()
    else 'bash tools/assimulo/install "$(which python)"  # in the sources of daesolve'
)
"""Without conda it is built, by what the sources of daesolve have."""
PACKAGES = {
    "taylor": ("heyoka", "conda install -c conda-forge heyoka.py"),
    "cvodes": ("casadi", "pip install casadi"),
    "dop853": ("scipy", "pip install scipy"),
    "radau": ("scipy", "pip install scipy"),
    "lsoda": ("scipy", "pip install scipy"),
    "idas": ("casadi", "pip install casadi"),
    "sundae-cvode": ("scikit-sundae", SUNDAE),
    "sundae-ida": ("scikit-sundae", SUNDAE),
    "assimulo-cvode": ("assimulo", ASSIMULO),
    "assimulo-ida": ("assimulo", ASSIMULO),
    "assimulo-radau5": ("assimulo", ASSIMULO),
    "assimulo-odassl": ("assimulo", ASSIMULO),
}
"""The package behind each of `SOLVERS`, and the command that adds it."""


def command(as_json: AsJson = False) -> None:
    """Tell which solvers are usable here, and how to add those that are not."""
    found = solvers()
    if as_json:
        typer.echo(json.dumps({"solvers": found}, indent=1))
        return
    table = Table("solver", "usable", "by", "version", "to add it", box=None, pad_edge=False)
    for entry in found:
        table.add_row(
            entry["name"],
            "yes" if entry["usable"] else "no",
            entry["package"],
            entry["version"] or "",
            escape(entry["install"] or ""),
        )
    Console().print(table)


def solvers() -> list[dict[str, Any]]:
    """Return name, usability, package, version and the command that adds it, for each solver."""
    found: list[dict[str, Any]] = []
    for name, (package, command) in PACKAGES.items():
        try:
            installed = version(package)
        except PackageNotFoundError:
            installed = None
        found.append(
            {
                "name": name,
                "usable": installed is not None,
                "package": package,
                "version": installed,
                "install": None if installed is not None else command,
            }
        )
    return found

"""The command `daesolve doctor`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from daesolve.cli.arguments import AsJson
from daesolve.formulations import FORMULATIONS
from daesolve.preparation import extensions
from daesolve.solvers import SOLVERS

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
"""The package behind each solver, and the command that adds it."""


def command(as_json: AsJson = False) -> None:
    """List the solvers that are usable here, how to add the others, and what packages add."""
    found, added = solvers(), extensions.formulations()
    formulations = [name for name in added[0] if name not in FORMULATIONS]
    broken = [*added[1], *extensions.solvers()[1]]
    if as_json:
        faults = [asdict(plugin) for plugin in broken]
        told = {"solvers": found, "formulations": [*added[0]], "broken": faults}
        typer.echo(json.dumps(told, indent=1))
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
    console = Console()
    console.print(table)
    if formulations:
        console.print(f"formulations of installed packages: {', '.join(formulations)}")
    for plugin in broken:
        console.print(f"broken: {escape(plugin.reason)}", soft_wrap=True)


def solvers() -> list[dict[str, Any]]:
    """Return name, usability, package, version and the command that adds it, for each solver."""
    found = [_entry(name, *PACKAGES[name]) for name in SOLVERS]
    points = {point.name: point for point in entry_points(group=extensions.SOLVER_GROUP)}
    for name in extensions.solvers()[0]:
        if name not in SOLVERS:
            package = points[name].dist
            found.append(_entry(name, points[name].value if package is None else package.name, ""))
    return found


def _entry(name: str, package: str, command: str) -> dict[str, Any]:
    try:
        installed = version(package)
    except PackageNotFoundError:
        installed = None
    return {
        "name": name,
        "usable": installed is not None or not command,
        "package": package,
        "version": installed,
        "install": None if installed is not None else command or None,
    }

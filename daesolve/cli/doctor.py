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
    """List the solvers that are usable here, how to add the others, and what packages add."""
    found, (formulations, broken) = solvers(), _added()
    if as_json:
        told = {"solvers": found, "formulations": formulations, "broken": broken}
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
        console.print(f"broken: {escape(plugin['reason'])}", soft_wrap=True)


def solvers() -> list[dict[str, Any]]:
    """Return name, usability, package, version and the command that adds it, for each solver."""
    found = [_entry(name, *package) for name, package in PACKAGES.items()]
    for point in entry_points(group="daesolve.solvers"):
        if point.name not in PACKAGES:
            package = point.value if point.dist is None else point.dist.name
            found.append(_entry(point.name, package, ""))
    return found


def _added() -> tuple[list[str], list[dict[str, str]]]:
    """Return the formulations of installed packages, and what of these packages is broken."""
    groups = "daesolve.formulations", "daesolve.solvers"
    if not any(entry_points(group=group) for group in groups):
        return [], []
    from daesolve.formulations import FORMULATIONS
    from daesolve.preparation import extensions

    known, broken = extensions.formulations()
    faults = [asdict(plugin) for plugin in (*broken, *extensions.solvers()[1])]
    return [name for name in known if name not in FORMULATIONS], faults


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

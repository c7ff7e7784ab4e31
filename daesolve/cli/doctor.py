"""The command `daesolve doctor`."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from daesolve.cli.options import AsJson, show
from daesolve.reporting.layout import Rows, WrappedText

SUNDAE = "pip install 'daesolve[sundials]'"
ASSIMULO = (
    "conda install -c conda-forge assimulo"
    if (Path(sys.prefix) / "conda-meta").is_dir()
    else 'bash tools/assimulo/install "$(which python)"  # in the sources of daesolve'
)
"""Without conda, a script in the sources of daesolve builds it."""
PACKAGES = {
    "taylor": ("numba", "pip install numba"),
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
    """List the solvers you can use here, how to add the others, and what installed packages add."""
    formulations, broken, unloaded = _added()
    found = solvers(unloaded)
    if as_json:
        document = {"solvers": found, "formulations": formulations, "broken": broken}
        typer.echo(json.dumps(document, indent=1))
        return
    rows = [
        (
            entry["name"],
            "yes" if entry["usable"] else "broken" if entry["name"] in unloaded else "no",
            entry["package"],
            entry["version"] or "",
        )
        for entry in found
    ]
    show(Rows(("solver", "usable", "by", "version"), rows))
    commands: dict[str, list[str]] = {}
    for entry in found:
        if entry["install"]:
            commands.setdefault(entry["install"], []).append(entry["name"])
    for install, names in commands.items():
        show(WrappedText(Text(f"to add {', '.join(names)}:")))
        typer.echo(f"  {install}")
    if formulations:
        show(WrappedText(Text(f"formulations of installed packages: {', '.join(formulations)}")))
    for plugin in broken:
        typer.echo(f"broken: {plugin['reason']}")


def solvers(unloaded: Collection[str]) -> list[dict[str, Any]]:
    """Return name, usability, package, version and the command that adds it, for each solver.

    Parameters
    ----------
    unloaded
        Solvers of installed packages that cannot be loaded.
    """
    found = [_entry(name, *package) for name, package in PACKAGES.items()]
    for point in entry_points(group="daesolve.solvers"):
        if point.name not in PACKAGES:
            package = point.value if point.dist is None else point.dist.name
            found.append(_entry(point.name, package, "") | {"usable": point.name not in unloaded})
    return found


def _added() -> tuple[list[str], list[dict[str, str]], set[str]]:
    """Return installed packages' formulations, what of them is broken, and which solvers are."""
    groups = "daesolve.formulations", "daesolve.solvers"
    if not any(entry_points(group=group) for group in groups):
        return [], [], set()
    from daesolve.core.formulations import FORMULATIONS
    from daesolve.core.preparation import extensions

    known, broken = extensions.formulations()
    unloaded = extensions.solvers()[1]
    faults = [asdict(plugin) for plugin in (*broken, *unloaded)]
    names = {plugin.name for plugin in unloaded} - PACKAGES.keys()
    return [name for name in known if name not in FORMULATIONS], faults, names


def _entry(name: str, package: str, command: str) -> dict[str, Any]:
    try:
        installed = version(package)
    except PackageNotFoundError:
        installed = None
    return {
        "name": name,
        "usable": installed is not None,
        "package": package,
        "version": installed,
        "install": None if installed is not None else command or None,
    }

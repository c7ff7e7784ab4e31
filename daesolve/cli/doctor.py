"""Which solvers are usable here."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from daesolve.solvers import SOLVERS

SUNDAE = "pip install 'daesolve[sundials]'"
ASSIMULO = (
    "conda install -c conda-forge assimulo"
    if (Path(sys.prefix) / "conda-meta").is_dir()
    else 'bash tools/assimulo/install "$(which python)"'
)
"""Without conda it is built from the sources of daesolve."""
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


def solvers() -> list[dict[str, Any]]:
    """Return name, usability, package, version and the command that adds it, for each solver."""
    found: list[dict[str, Any]] = []
    for name in SOLVERS:
        package, command = PACKAGES[name]
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

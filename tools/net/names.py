"""Finds public names of daesolve, in daesolve itself or in one of its sections.

A run of the net uses `names.Body`, so it is the same whether `Body` is a name of `daesolve` itself
or of `daesolve.multibody`. No other module of the net imports such a name.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import daesolve

SECTIONS = (
    "multibody",
    "friction",
    "nonholonomic",
    "analysis",
    "ensembles",
    "solvers",
    "drawing",
    "typing",
)
"""Modules of daesolve with their own public names."""


def public(name: str) -> Any:
    """Return the object with a public name, in daesolve itself or in a section.

    Raises
    ------
    AttributeError
        Nothing has this name.
    """
    if name in daesolve.__all__:
        return getattr(daesolve, name)
    for module in modules():
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"daesolve has no public name {name!r}, nor has any section of it")


def modules() -> list[ModuleType]:
    """Return the sections that daesolve has.

    If another checkout is installed, Python would import a module that this checkout lacks from
    there.
    """
    home = Path(daesolve.__file__).parent
    found: list[ModuleType] = []
    for section in SECTIONS:
        spec = find_spec(f"daesolve.{section}")
        if spec is not None and spec.origin and Path(spec.origin).is_relative_to(home):
            found.append(import_module(f"daesolve.{section}"))
    return found


def __getattr__(name: str) -> Any:
    """Return the object with a public name, so that `names.Body` works."""
    if name.startswith("_"):
        raise AttributeError(name)
    return public(name)

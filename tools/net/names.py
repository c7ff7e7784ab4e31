"""Finds public names of daesolve, in daesolve itself or in one of its sections.

A run of the net uses `names.Body`, so it is the same whether `Body` is a name of `daesolve` itself
or of `daesolve.multibody`. No other module of the net imports such a name.
"""

from __future__ import annotations

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
    """Return the sections that daesolve has, wherever their modules are."""
    return [getattr(daesolve, section) for section in SECTIONS if section in daesolve.__all__]


def __getattr__(name: str) -> Any:
    """Return the object with a public name, so that `names.Body` works."""
    if name.startswith("_"):
        raise AttributeError(name)
    return public(name)

"""What features add to the core, which names the points where something can be added.

A feature registers a reference, `package.module:name`, that is imported when the core first asks
for it, or the thing itself. So the core imports no feature, and one that is not there adds nothing.
Those of daesolve are registered in `daesolve/__init__.py`; another package offers its own under the
entry point `daesolve.features`, as a mapping from points to references.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from daesolve.errors import PluginError

GROUP = "daesolve.features"
_registered: dict[str, list[Any]] = {}


def register(point: str, *additions: Any) -> None:
    """Add something at a point of the core, after what is there.

    Parameters
    ----------
    point
        Its name.
    additions
        What is added, or references to it of the form `package.module:name`.
    """
    _registered.setdefault(point, []).extend(additions)
    added.cache_clear()


@cache
def added(point: str) -> tuple[Any, ...]:
    """Return what features add at a point: first those of other packages, then those of daesolve.

    Raises
    ------
    PluginError
        What another package adds cannot be imported.
    """
    return (*_installed(point), *_own(point))


def _own(point: str) -> list[Any]:
    found: list[Any] = []
    for addition in _registered.get(point, ()):
        if not isinstance(addition, str):
            found.append(addition)
            continue
        module, _, name = addition.partition(":")
        try:
            found.append(getattr(import_module(module), name))
        except ModuleNotFoundError as error:
            # Its whole room may be gone, but not what the room needs.
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
    return found


def _installed(point: str) -> list[Any]:
    from importlib.metadata import entry_points  # which takes longer to import than daesolve

    found: list[Any] = []
    for entry in entry_points(group=GROUP):
        try:
            points: Mapping[str, tuple[str, ...]] = entry.load()
            for reference in points.get(point, ()):
                module, _, name = reference.partition(":")
                found.append(getattr(import_module(module), name))
        except Exception as error:
            raise PluginError(
                f"the feature {entry.name!r} ({entry.value}) cannot be imported: {error}"
            ) from error
    return found

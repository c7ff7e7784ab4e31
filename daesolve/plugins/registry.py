"""The problems of every installed plugin, by name, and those of a Python file, by path."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from daesolve.errors import DaesolveError, PluginError, unknown_name
from daesolve.plugins.problem import Problem
from daesolve.preparation.extensions import BrokenPlugin, load, offered

GROUP = "daesolve.problems"


def problems() -> tuple[tuple[Problem, ...], tuple[BrokenPlugin, ...]]:
    """Load every installed problem; a broken one is named and does not take the others down.

    Returns
    -------
    problems
        Those that could be loaded, in the order of their names.
    broken
        The name of each other one, and why.
    """
    return offered(GROUP, _wrong)


def problem(name: str) -> Problem:
    """Return an installed problem by its name, or that of a Python file by its path.

    Parameters
    ----------
    name
        A name from `daesolve list`, or a path that ends in `.py` to a file that defines `problem`.

    Raises
    ------
    UnknownNameError
        No plugin offers a problem of this name.
    PluginError
        The plugin or the file could not be loaded, or defines no problem.
    """
    if str(name).endswith(".py"):
        return _from_file(Path(name))
    points = {point.name: point for point in entry_points(group=GROUP)}
    if name not in points:
        raise unknown_name("problem", name, points)
    return load(points[name], _wrong)


def sources_of(named: Mapping[str, Any] | None) -> Sequence[str]:
    """Return the papers of the problem of a run on disk; none where it cannot be had here.

    Parameters
    ----------
    named
        How the run's manifest names its problem: by `path` or by `problem`.
    """
    if named is None:
        return ()
    try:
        return problem(named["path"] or named["problem"]).sources
    except DaesolveError:
        return ()


def _wrong(name: str, given: object) -> str | None:
    if isinstance(given, Problem):
        return None
    return f"gives a {type(given).__name__}, but must give a daesolve.Problem"


def _from_file(path: Path) -> Problem:
    if not path.is_file():
        raise PluginError(f"there is no file {path}")
    name = f"daesolve_file_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise PluginError(f"{path} cannot be run: {type(error).__name__}: {error}") from error
    found = getattr(module, "problem", None)
    if not isinstance(found, Problem):
        raise PluginError(f"{path} must define `problem`, a daesolve.Problem")
    return replace(found, path=path)

"""Papers that plugins offer, by name, under the entry points `daesolve.papers`."""

from __future__ import annotations

from importlib.metadata import entry_points

from daesolve.core.preparation.extensions import BrokenPlugin, load, offered
from daesolve.errors import is_one_of, unknown_name
from daesolve.reporting.papers.paper import Paper

GROUP = "daesolve.papers"


def papers() -> tuple[tuple[Paper, ...], tuple[BrokenPlugin, ...]]:
    """Load every installed paper; a broken one is named and does not affect the others.

    Returns
    -------
    papers
        Those that could be loaded, in the order of their names.
    broken
        The names of the others, each with the reason.
    """
    return offered(GROUP, _wrong)


def names() -> list[str]:
    """Return the names of the installed papers without loading them."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def paper(name: str) -> Paper:
    """Return an installed paper by its name.

    Raises
    ------
    UnknownNameError
        No plugin offers a paper of this name; the message lists the nearest.
    PluginError
        The plugin could not be loaded.
    """
    points = {point.name: point for point in entry_points(group=GROUP)}
    if not is_one_of(name, points):
        raise unknown_name("paper", name, points)
    return load(points[name], _wrong)


def _wrong(name: str, given: object) -> str | None:
    if not isinstance(given, Paper):
        return f"gives a {type(given).__name__}, but must give a daesolve.reporting.papers.Paper"
    if given.name != name:
        return f"gives a paper of the name {given.name!r}: use one name for both"
    return None

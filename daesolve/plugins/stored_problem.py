"""The problem of a run on disk, of which nothing is executed unless the caller names it.

A run directory is data. The name of an installed problem in it is looked up among the entry points
of this installation; a file that it names is executed only where the caller gives that file, and
only if it holds what it held when the run began.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from daesolve.errors import DaesolveError, OutOfRangeError, PluginError, Tell
from daesolve.plugins import registry
from daesolve.plugins.registry import Problem


def is_of_file(named: Mapping[str, Any] | None) -> bool:
    """Return whether a run's problem is that of a file, and not an installed one.

    Parameters
    ----------
    named
        How the manifest names it, under "source".
    """
    return named is not None and named.get("path") is not None


def posed_again(
    named: Mapping[str, Any], source: Path | None = None, tell: Tell | None = None
) -> Problem:
    """Return the problem of a run.

    Parameters
    ----------
    named
        How its manifest names it: `problem`, and of a file `path` and `digest`.
    source
        The file, where the caller says that it is to be executed.
    tell
        Called with a sentence before the file is executed.

    Raises
    ------
    PluginError, UnknownNameError
        It is not here, is not as it was, or is that of a file that the caller has not named.
    OutOfRangeError
        A file is given for an installed problem.
    """
    if not is_of_file(named):
        if source is not None:
            raise OutOfRangeError(
                f"a source is given, {source}, but the run is of the installed problem "
                f"{named['problem']!r}: leave out the source"
            )
        return registry.installed(named["problem"] or "")
    if source is None:
        raise PluginError(
            f"the file {named['path']} defines it, and is executed only if you name it"
        )
    if not named.get("digest"):
        raise PluginError(
            "the run was stored by a version of daesolve that did not store the digest of the "
            f"file {named['path']}: daesolve cannot check whether {source} is the same"
        )
    return registry.of_file(source, named["digest"], tell)


def in_need_of_source(named: Mapping[str, Any], command: str) -> str:
    """Return the words that say how the file of a run's problem is given.

    Parameters
    ----------
    named
        How its manifest names it.
    command
        That takes `--source`.
    """
    path = str(named["path"])
    return (
        f"the file {path} defines its problem, and daesolve executes a file named in a run "
        f"directory only if you give it: `{command} --source {shlex.quote(path)}`"
    )


def sources_of(named: Mapping[str, Any] | None) -> Sequence[str]:
    """Return the papers and books of the problem of a run on disk; none where they are not known.

    Parameters
    ----------
    named
        How the run's manifest names its problem, with its `papers`.
    """
    if named is None:
        return ()
    if named.get("papers") is not None:
        return tuple(named["papers"])
    try:
        return posed_again(named).sources
    except DaesolveError:
        return ()

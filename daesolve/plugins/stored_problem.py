"""The problem of a run on disk; no file is executed unless the caller names it.

A run directory is data. The name of an installed problem in it is looked up among the entry points
of this installation; a file that it names is executed only if the caller gives that file, and only
if it is unchanged since the run began.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from daesolve.errors import DaesolveError, OutOfRangeError, PluginError, Tell
from daesolve.plugins import registry
from daesolve.plugins.registry import Problem, is_model_file


def is_of_file(named: Mapping[str, Any] | None) -> bool:
    """Return whether a run's problem comes from a file, and is not an installed one.

    Parameters
    ----------
    named
        Its entry "source" in the manifest.
    """
    return named is not None and named.get("path") is not None


def posed_again(
    named: Mapping[str, Any], source: Path | None = None, tell: Tell | None = None
) -> Problem:
    """Return the problem of a run.

    Parameters
    ----------
    named
        Its entry in the manifest: `problem`, and for a file `path` and `digest`.
    source
        The file, if the caller allows its execution.
    tell
        Called with a sentence before the file is executed.

    Raises
    ------
    PluginError, UnknownNameError
        It is not available, has changed, or comes from a file that the caller has not named.
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
            f"the file {named['path']} defines it, and is {_taken_in(named)[1]} only if you name it"
        )
    if not named.get("digest"):
        raise PluginError(
            "the run was stored by a version of daesolve that did not store the digest of the "
            f"file {named['path']}: daesolve cannot check whether {source} is the same"
        )
    return registry.of_file(source, named["digest"], tell)


def in_need_of_source(named: Mapping[str, Any], command: str) -> str:
    """Return the words that explain how to give the file of a run's problem.

    Parameters
    ----------
    named
        Its entry in the manifest.
    command
        The command that has the option `--source`.
    """
    path = str(named["path"])
    return (
        f"the file {path} defines its problem, and daesolve {_taken_in(named)[0]} a file named in "
        f"a run directory only if you give it: `{command} --source {shlex.quote(path)}`"
    )


def _taken_in(named: Mapping[str, Any]) -> tuple[str, str]:
    """Return what is done with the file of a problem, as a verb and its participle."""
    return ("reads", "read") if is_model_file(named["path"]) else ("executes", "executed")


def sources_of(named: Mapping[str, Any] | None) -> Sequence[str]:
    """Return the papers and books of the problem of a run on disk; none if unknown.

    Parameters
    ----------
    named
        The entry of the problem in the run's manifest, with its `papers`.
    """
    if named is None:
        return ()
    if named.get("papers") is not None:
        return tuple(named["papers"])
    try:
        return posed_again(named).sources
    except DaesolveError:
        return ()

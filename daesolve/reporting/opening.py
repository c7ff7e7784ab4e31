"""The beginning of a run, kept beside samples that are too sparse to join."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from daesolve.core.encoding import from_json, is_list, is_mapping
from daesolve.core.results.storage.files import OPENING
from daesolve.core.results.trajectory.curves import KINDS, has_curves
from daesolve.core.results.trajectory.samples import Recorded
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import ArchiveError
from daesolve.reporting.document import Document, plain


def with_opening(run: dict[str, Any], trajectory: Trajectory) -> dict[str, Any]:
    """Return the document of a run, with its beginning if its samples are too sparse to join.

    Parameters
    ----------
    run
        The document.
    trajectory
        The trajectory of the run.
    """
    if _shown(run):
        return run
    begun = trajectory.opening()
    return run if begun is None else {**run, "opening": _columns(begun)}


def with_kept_opening(run: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Return the document of a stored run, with its stored beginning if that is useful.

    Raises
    ------
    ArchiveError
        The file is damaged.
    """
    begun = None if _shown(run) else kept_opening(directory, run)
    return run if begun is None else {**run, "opening": begun}


def kept_opening(directory: Path, names: Document) -> Mapping[str, Any] | None:
    """Return the stored beginning of a run: times and series; None if there is none.

    Parameters
    ----------
    directory
        Of the run.
    names
        Its series by kind, of which the names are read.

    Raises
    ------
    ArchiveError
        The file is damaged.
    """
    file = directory / OPENING
    if not file.is_file():
        return None
    try:
        begun = plain(from_json(file.read_bytes()))
    except ValueError:
        begun = None
    if not _whole(begun, names):
        raise ArchiveError(f"{file} does not contain the beginning of this run: remove it")
    return begun


def _shown(run: Document) -> bool:
    """Return whether there is a stretch of samples that can be joined, or nothing to join."""
    parts = [run, *filter(None, [run.get("opening")])]
    backwards = (run.get("until") or 0.0) < run.get("start_time", 0.0)
    return has_curves([(part["times"], part["states"]) for part in parts], backwards=backwards)


def _columns(samples: Recorded) -> dict[str, Any]:
    return plain({"times": samples.times, **{kind: dict(getattr(samples, kind)) for kind in KINDS}})


def _whole(begun: object, run: Document) -> TypeGuard[Mapping[str, Any]]:
    """Return whether what a file holds has a number, or none, for each time and name of a run."""
    if not is_mapping(begun) or not is_list(times := begun.get("times")) or not times:
        return False
    named: dict[str, Mapping[str, Any]] = {}
    for kind in KINDS:
        columns = begun.get(kind)
        if not is_mapping(columns) or {*columns} != {*run[kind]}:
            return False
        named[kind] = columns
    series = [times, *(column for columns in named.values() for column in columns.values())]
    return all(
        is_list(column)
        and len(column) == len(times)
        and all(value is None or type(value) in (int, float) for value in column)
        for column in series
    )

"""The contents of the manifest of a sweep.

This module imports pydantic, so it is imported only when a sweep is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daesolve.core.results.storage.schema import (
    Count,
    Finite,
    Flag,
    Number,
    StoredRecord,
    Word,
    fault,
)


class Swept(StoredRecord):
    """The case that is swept."""

    problem: Word
    digest: Word | None
    case: Word
    model: Word
    structure: dict[str, Any]


class SweepColumns(StoredRecord):
    """The column of each varied value by its name."""

    over: dict[str, Word]


class SweepManifest(StoredRecord):
    """`manifest.json` of a sweep."""

    identity: Swept
    parameters: dict[str, Number]
    start: dict[str, Number]
    initial: dict[str, Number]
    over: dict[str, Any] | list[Any]
    samples: Count | None
    seed: int
    until: Finite
    options: dict[str, Any]
    batch: Flag | None
    count: Count
    columns: SweepColumns
    versions: dict[str, Word]


def fault_of(name: str, value: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the manifest of a sweep, in words that follow its name.

    Parameters
    ----------
    name
        Of the file.
    value
        Its contents; the manifest of a run is not checked.
    """
    return fault(SweepManifest, value) if value.get("kind") == "sweep" else None

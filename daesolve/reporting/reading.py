"""A run on disk as a document: bounded, however long the run is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from daesolve.reporting.document import Document, ReportError, document, plain
from daesolve.reporting.event_statistics import tally
from daesolve.reporting.sampling import in_order, joinable, opening
from daesolve.storage import Stored
from daesolve.storage.files import samples_file
from daesolve.storage.tables import read_parquet
from daesolve.trajectory.samples import StoredSamples
from daesolve.trajectory.trajectory import Trajectory

ROWS = 2001
"""So many samples and events of a run on disk are kept at most."""
OPENING = 1500
"""So many samples of its beginning are kept besides, where not all are."""
LEADING = 48_000
"""Among so many, if the motion is slow against its samples."""
KINDS = ("states", "reactions", "outputs")
USUAL = {
    "redundant": "error",
    "rank_loss": "stop",
    "max_evaluations": None,
    "variant_policy": "continuity",
}
"""What is told of a request only where it, or what the case asks for, is something else."""


def load(path: Path | str, rows: int = ROWS) -> dict[str, Any]:
    """Read the run that a directory holds, finished or not.

    Parameters
    ----------
    path
        What `--out` or `store` named.
    rows
        How many samples and events are kept. Samples are chosen evenly, and where they are not
        all, the first oscillations stand under "opening" besides; of the events the first are
        kept, and what is told of all stands under "happened".

    Raises
    ------
    ReportError
        There is no such directory.
    ArchiveError
        There is no run in it, or what is there is damaged.
    """
    directory = Path(path)
    if not directory.is_dir():
        raise ReportError(f"there is no directory {str(directory)!r}")
    run = Trajectory.from_run(directory)
    assert isinstance(run.samples, StoredSamples)
    stored = run.samples.stored
    manifest = stored.manifest
    found = document(run.thinned(rows), manifest["identity"])
    request = manifest["request"]
    told = {name: request.get(name, usual) for name, usual in USUAL.items()}
    own = USUAL | dict(found["asked"].get("usual", {}))
    choices = {n: value for n, value in told.items() if value != USUAL[n] or value != own[n]}
    found |= {
        "asked": {**found["asked"], **choices, "formulation": plain(request["formulation"])},
        "versions": manifest["versions"],
        "machine": manifest["processor"],
        "sampling": plain(manifest["sampling"]),
        "samples": stored.rows,
        "finished": stored.result is not None,
        "under_way": stored.result is None and stored.locked,
        "directory": str(directory),
        "happened": tally(_events(stored), found["times"]),
    }
    if stored.rows > len(found["times"]):
        found["opening"] = _opening(stored, found)
    return found


def _events(stored: Stored) -> Iterator[dict[str, Any]]:
    """Go through the events, a part at a time in memory."""
    for row in chain.from_iterable(stored.event_batches()):
        event: dict[str, Any] = {"time": row["t"], "name": row["event"]}
        if row.get("kinetic_before") is not None:
            event["impact"] = {n: row[n] for n in ("kinetic_before", "kinetic_after", "carnot")}
        yield event


def _opening(stored: Stored, run: Document) -> dict[str, Any]:
    """Return the first oscillations: every sample, or as few as show them."""
    first = _leading(stored)
    states = list(in_order(run, first, "states").values())
    length = max(map(opening, states), default=0)
    every = -(-length // OPENING)
    while every > 1 and not joinable([entry.every(every) for entry in states]):
        every //= 2
    part = slice(0, every * OPENING, max(every, 1))
    named = {kind: {n: values[part] for n, values in first[kind].items()} for kind in KINDS}
    return plain({"times": first["times"][part], **named})


def _leading(stored: Stored) -> dict[str, Any]:
    """Return the first samples without a gap."""
    columns = stored.manifest["columns"]
    wanted = ["t", *(column for kind in KINDS for column in columns[kind].values())]
    wanted = list(dict.fromkeys(wanted))
    pieces: dict[str, list[np.ndarray]] = {name: [np.empty(0)] for name in wanted}
    count = 0
    for number in stored.numbers:
        if count >= LEADING:
            break
        table = read_parquet(samples_file(stored.directory, number), wanted)
        for name in wanted:
            pieces[name].append(table.column(name).to_numpy()[: LEADING - count])
        count += table.num_rows
    read = {name: np.concatenate(parts) for name, parts in pieces.items()}
    named = {kind: {name: read[column] for name, column in columns[kind].items()} for kind in KINDS}
    return {"times": read["t"], **named}

"""Reading a run, finished, under way, or broken off."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daesolve.errors import ArchiveError, MissingCheckpointError, TornPartError
from daesolve.storage.encoding import from_json, read_parquet, select
from daesolve.storage.files import (
    checkpoint_file,
    committed,
    events_file,
    in_one_line,
    located,
    partial,
    read_manifest,
    resuming,
    samples_file,
)
from daesolve.storage.locking import is_written

if TYPE_CHECKING:
    import pyarrow as pa

# A checkpoint begins with the sizes of the files of its part; this much of it holds them.
HEAD = 512


@dataclass(frozen=True)
class File:
    """What a checkpoint says about a file of its part."""

    path: Path
    rows: int
    bytes: int


@dataclass(frozen=True)
class StoredPart:
    """The files of a committed part."""

    samples: File
    events: File | None


class Stored:
    """A run on disk, as it was when it was opened; to see what came since, open it again.

    Needs no lock, and reads a run that is being written: only what was committed counts, and the
    unfinished part that follows on it, if an interruption left one.

    Parameters
    ----------
    directory
        That the run was stored in.

    Attributes
    ----------
    directory, manifest
        Where it is, and what it is.
    result
        How it ended; None while it is under way, or where it was killed.
    numbers
        Of the committed parts.

    Raises
    ------
    NotARunError, FormatError
        There is no run, or one that this version cannot read.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = located(directory)
        self.manifest = read_manifest(self.directory)
        self.result = _result(self.directory)  # first: where there is one, all parts are there
        # A part committed meanwhile takes the place of an unfinished one not read yet. Reading once
        # more finds it, however fast the writer goes on.
        for _ in range(2):
            found = committed(self.directory)
            self._parts = _parts(self.directory, found)
            self.numbers = tuple(self._parts)
            self._partial = _unfinished(samples_file(self.directory, self.last + 1))
            self._partial_events = _unfinished(events_file(self.directory, self.last + 1))
            if committed(self.directory) == found:
                break

    @property
    def last(self) -> int:
        """The number of the last part that was committed, 0 where there is none."""
        ended = 0 if self.result is None else int(self.result.get("parts", 0))
        return max([ended, *self.numbers])

    @property
    def locked(self) -> bool:
        """Whether a process writes the run at this moment."""
        return is_written(self.directory)

    @property
    def rows(self) -> int:
        """How many samples there are, those of the unfinished part among them."""
        rows = sum(part.samples.rows for part in self._parts.values() if part is not None)
        return rows + (0 if self._partial is None else self._partial.num_rows)

    @property
    def event_rows(self) -> int:
        """How many events the committed parts have."""
        parts = (part for part in self._parts.values() if part is not None)
        return sum(part.events.rows for part in parts if part.events is not None)

    def checkpoint(self, number: int) -> dict[str, Any]:
        """Return what to go on from at the end of a part.

        Raises
        ------
        MissingCheckpointError
            The part has none.
        TornPartError
            It cannot be read.
        """
        path = checkpoint_file(self.directory, number)
        try:
            return from_json(path.read_bytes())
        except FileNotFoundError:
            raise self._missing(number) from None
        except (OSError, ValueError) as error:
            raise self._torn(
                number, f"its checkpoint cannot be read ({in_one_line(error)})"
            ) from error

    def damaged(self) -> list[tuple[int, str]]:
        """Return the number of each part that is not as it was written, and what it lacks.

        Everything is read, for pages carry checksums: a bit that has changed is found.
        """
        found = ((number, self._damage(number)) for number in range(1, self.last + 1))
        return [(number, reason) for number, reason in found if reason]

    def column(self, name: str) -> np.ndarray:
        """Return one column of the samples, (rows,); raises what `columns` raises."""
        return self.columns([name])[name]

    def columns(self, names: Sequence[str], every: int = 1) -> dict[str, np.ndarray]:
        """Return columns of the samples, or every so-many-th row of them from the first.

        The memory is that of what is returned and of one part.

        Parameters
        ----------
        names
            As in the files.
        every
            1 for all rows.

        Returns
        -------
        dict
            Name -> (ceil(rows / every),)

        Raises
        ------
        UnknownNameError
            There is no such column.
        TornPartError, MissingCheckpointError
            A part is not as it was written.
        """
        wanted = list(dict.fromkeys(names))
        found = {name: np.empty(-(-self.rows // every)) for name in wanted}
        offset = 0
        for rows, read in self._pieces():
            skip = -offset % every
            if skip < rows:
                table = read(wanted)
                first = (offset + skip) // every
                for name in wanted:
                    values = table.column(name).to_numpy()[skip::every]
                    found[name][first : first + len(values)] = values
            offset += rows
        return found

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return columns of the samples as an Arrow table, or all; raises what `columns` raises."""
        import pyarrow as pa

        tables = [read(columns) for _, read in self._pieces()]
        if not tables:
            raise ArchiveError(
                f"{str(self.directory)!r} has no samples yet: its first part is not committed"
            )
        return pa.concat_tables(tables)

    def part_times(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the column t of the samples and of the events of a part, each (k,).

        Raises
        ------
        TornPartError, MissingCheckpointError
            The part is not as it was written.
        """
        part = self._part(number)
        samples, events = (
            np.empty(0) if file is None else self._read(number, file, ["t"]).column("t").to_numpy()
            for file in (part.samples, part.events)
        )
        return samples, events

    def event_batches(self) -> Iterator[list[dict[str, Any]]]:
        """Go through the events in order, the rows of one part at a time.

        Raises
        ------
        TornPartError, MissingCheckpointError
            A part is not as it was written.
        """
        for number in range(1, self.last + 1):
            file = self._part(number).events
            if file is not None:
                yield self._read(number, file, None).to_pylist()
        if self._partial is not None and self._partial_events is not None:
            yield self._partial_events.to_pylist()

    def events(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the first events, or all, each as name -> value; raises what the batches raise."""
        rows: list[dict[str, Any]] = []
        for batch in self.event_batches():
            rows += batch
            if limit is not None and len(rows) >= limit:
                return rows[:limit]
        return rows

    def _pieces(self) -> Iterator[tuple[int, Callable[[Sequence[str] | None], pa.Table]]]:
        """Go through the parts and the unfinished one: how many rows, and what reads them."""
        for number in range(1, self.last + 1):
            file = self._part(number).samples
            yield file.rows, lambda names, n=number, f=file: self._read(n, f, names)
        unfinished = self._partial
        if unfinished is not None:
            yield unfinished.num_rows, lambda names: select(unfinished, names)

    def _part(self, number: int) -> StoredPart:
        if number not in self._parts:
            raise self._missing(number)
        part = self._parts[number]
        if part is None:
            raise self._torn(number, "its checkpoint cannot be read")
        return part

    def _read(self, number: int, file: File, names: Sequence[str] | None) -> pa.Table:
        """Return columns of a file of a part, or all, after comparing it with its checkpoint."""
        import pyarrow as pa

        different = _other_size(file)
        if different:
            raise self._torn(number, different)
        try:
            table = read_parquet(file.path, names)
        except (OSError, pa.ArrowException) as error:
            raise self._torn(
                number, f"{_short(file.path)} cannot be read ({in_one_line(error)})"
            ) from error
        if table.num_rows != file.rows:
            raise self._torn(number, _other_rows(file, table.num_rows))
        return table

    def _damage(self, number: int) -> str | None:
        """Say what a part lacks, None where it is whole."""
        try:
            self.checkpoint(number)
            part = self._part(number)
        except MissingCheckpointError:
            return "its checkpoint is missing"
        except TornPartError:
            return "its checkpoint cannot be read"
        files = [file for file in (part.samples, part.events) if file is not None]
        return next(filter(None, map(_difference, files)), None)

    def _missing(self, number: int) -> MissingCheckpointError:
        return MissingCheckpointError(
            f"part {number} of {str(self.directory)!r} has no checkpoint: {_again(self.directory)}"
        )

    def _torn(self, number: int, reason: str) -> ArchiveError:
        if _parts(self.directory, [number]) != {number: self._parts.get(number)}:
            return ArchiveError(
                f"part {number} of {str(self.directory)!r} was written anew while it was read: "
                "read the run again"
            )
        return TornPartError(
            f"part {number} of {str(self.directory)!r} is not as it was written, for {reason}: "
            f"{_again(self.directory)}"
        )


def _result(directory: Path) -> dict[str, Any] | None:
    path = directory / "result.json"
    try:
        return from_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ArchiveError(
            f"{str(path)!r} cannot be read ({in_one_line(error)}): delete it, then "
            f"{_again(directory)}"
        ) from error


def _parts(directory: Path, numbers: Iterable[int]) -> dict[int, StoredPart | None]:
    """Return the parts that have a checkpoint, with None where it cannot be read."""
    found: dict[int, StoredPart | None] = {}
    for number in numbers:
        try:
            with checkpoint_file(directory, number).open("rb") as stream:
                files = _files(stream.read(HEAD).decode())
            events = files["events"]
            found[number] = StoredPart(
                File(samples_file(directory, number), **files["samples"]),
                None if events is None else File(events_file(directory, number), **events),
            )
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError):
            found[number] = None
    return found


def _files(head: str) -> dict[str, Any]:
    """Return the files that the head of a checkpoint names."""
    start = '{"files":'
    if not head.startswith(start):
        raise ValueError("not a checkpoint")
    return json.JSONDecoder().raw_decode(head, len(start))[0]


def _unfinished(path: Path) -> pa.Table | None:
    """Return an unfinished file, None where there is none that can be read.

    It is read at once, because it goes when its part is committed.
    """
    try:
        content = partial(path).read_bytes()
    except OSError:
        return None
    import pyarrow as pa

    try:
        return read_parquet(pa.BufferReader(content))
    except (OSError, pa.ArrowException):
        return None


def _difference(file: File) -> str | None:
    """Say how a file differs from what its checkpoint says, None where it does not."""
    import pyarrow as pa

    different = _other_size(file)
    if different:
        return different
    try:
        rows = read_parquet(file.path).num_rows
    except (OSError, pa.ArrowException) as error:
        return f"{_short(file.path)} cannot be read ({in_one_line(error)})"
    return _other_rows(file, rows) if rows != file.rows else None


def _other_size(file: File) -> str | None:
    try:
        size = file.path.stat().st_size
    except OSError as error:
        return f"{_short(file.path)} cannot be found ({error.strerror})"
    if size == file.bytes:
        return None
    return f"{_short(file.path)} has {size} bytes, not the {file.bytes} that were written"


def _other_rows(file: File, rows: int) -> str:
    return f"{_short(file.path)} has {rows} rows, not the {file.rows} that were written"


def _short(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _again(directory: Path) -> str:
    return f"`{resuming(directory)}` computes it again"

"""Reads a run that is finished, still running, or interrupted."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daesolve.core.encoding import is_whole, numbers_of, read_parquet, select
from daesolve.core.results.storage.files import (
    Check,
    checkpoint_file,
    committed,
    content_of,
    events_file,
    in_one_line,
    kind_of,
    located,
    partial,
    read_json,
    read_manifest,
    resuming,
    samples_file,
)
from daesolve.core.results.storage.locking import is_written
from daesolve.errors import (
    ArchiveError,
    FormatError,
    MissingCheckpointError,
    NotARunError,
    TornPartError,
)

if TYPE_CHECKING:
    import pyarrow as pa

# A checkpoint begins with the sizes and digests of the files of its part; this much holds them.
HEAD = 512
DIGESTS = "digests"
"""The field of a checkpoint that follows on the sizes."""
MOST = 2**53
"""Rows and bytes beyond which no file has any."""


@dataclass(frozen=True)
class File:
    """The entry of a file in its part's checkpoint; earlier versions stored no digest."""

    path: Path
    rows: int
    bytes: int
    digest: str | None = None


@dataclass(frozen=True)
class StoredPart:
    """The files of a committed part."""

    samples: File
    events: File | None


class Stored:
    """A run on disk, as it was when opened; to see later parts, open it again.

    It needs no lock, and can read a run that is being written: only committed parts count, and the
    unfinished part after them, if an interruption left one.

    Parameters
    ----------
    directory
        The directory of the run.
    check
        Returns what is wrong with one of its JSON files, given the name and contents of the file.

    Attributes
    ----------
    directory, manifest
        The directory, and the description of the run.
    result
        How it ended; None while it is running, or if it was killed.
    numbers
        Of the committed parts.

    Raises
    ------
    NotARunError, FormatError
        There is no run but perhaps a sweep, or a run that this version cannot read.
    ArchiveError
        The result has changed since it was written.
    """

    def __init__(self, directory: str | Path, check: Check | None = None) -> None:
        self.directory = located(directory)
        self._check = check
        self._whole: set[Path] = set()
        if kind_of(self.directory) == "sweep":
            place = repr(str(self.directory))
            raise NotARunError(
                f"{place} contains a sweep, not a run: its results are the tables in members, and "
                f"`ds.ensembles.Sweep.from_directory({place})` reads them"
            )
        self.manifest = read_manifest(self.directory, check)
        self.result = _result(
            self.directory, check
        )  # first: where there is one, all parts are there
        # A part committed meanwhile takes the place of an unfinished one not read yet. Reading once
        # more finds it, however fast the writer continues.
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
        """The number of the last committed part; 0 if there is none."""
        ended = 0 if self.result is None else int(self.result.get("parts", 0))
        return max([ended, *self.numbers])

    @property
    def locked(self) -> bool:
        """Whether a process is writing the run now."""
        return is_written(self.directory)

    @property
    def rows(self) -> int:
        """The number of samples, including those of the unfinished part."""
        rows = sum(part.samples.rows for part in self._parts.values() if part is not None)
        return rows + (0 if self._partial is None else self._partial.num_rows)

    @property
    def event_rows(self) -> int:
        """The number of events in the committed parts."""
        parts = (part for part in self._parts.values() if part is not None)
        return sum(part.events.rows for part in parts if part.events is not None)

    def checkpoint(self, number: int) -> dict[str, Any]:
        """Return the checkpoint at the end of a part.

        Raises
        ------
        MissingCheckpointError
            The part has none.
        TornPartError
            It cannot be read.
        """
        path = checkpoint_file(self.directory, number)
        try:
            value, fault = read_json(path, self._check)
        except FileNotFoundError:
            raise self._missing(number) from None
        except (OSError, ValueError) as error:
            raise self._torn(
                number, f"its checkpoint cannot be read ({in_one_line(error)})"
            ) from error
        if fault is not None:
            raise self._torn(number, f"its checkpoint {fault}")
        return {name: entry for name, entry in value.items() if name != DIGESTS}

    def damaged(self) -> list[tuple[int, str]]:
        """Return the number of each damaged part, and what is wrong with it.

        Everything is read, so that the checksums of pages reveal every changed bit.
        """
        found = ((number, self._damage(number)) for number in range(1, self.last + 1))
        return [(number, reason) for number, reason in found if reason]

    def column(self, name: str) -> np.ndarray:
        """Return one column of the samples, (rows,); raises the same as `columns`."""
        return self.columns([name])[name]

    def columns(self, names: Sequence[str], every: int = 1) -> dict[str, np.ndarray]:
        """Return columns of the samples, or every so-many-th row of them from the first.

        Memory holds only the result and one part.

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
            A column is unknown.
        TornPartError, MissingCheckpointError
            A part has changed since it was written.
        """
        wanted = list(dict.fromkeys(names))
        found = {name: self._empty(-(-self.rows // every)) for name in wanted}
        offset = 0
        for rows, read in self._pieces():
            skip = -offset % every
            if skip < rows:
                table = read(wanted)
                first = (offset + skip) // every
                for name in wanted:
                    values = numbers_of(table, name)[skip::every]
                    found[name][first : first + len(values)] = values
            offset += rows
        return found

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return columns of the samples, or all, as an Arrow table; see `columns` for errors."""
        import pyarrow as pa

        tables = [read(columns) for _, read in self._pieces()]
        if not tables:
            raise ArchiveError(
                f"{str(self.directory)!r} has no samples yet: its first part is not complete"
            )
        return pa.concat_tables(tables)

    def part_times(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the column t of the samples and of the events of a part, each (k,).

        Raises
        ------
        TornPartError, MissingCheckpointError
            The part has changed since it was written.
        """
        part = self._part(number)
        samples, events = (
            np.empty(0) if file is None else numbers_of(self._read(number, file, ["t"]), "t")
            for file in (part.samples, part.events)
        )
        return samples, events

    def event_batches(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the events in order, the rows of one part at a time.

        Raises
        ------
        TornPartError, MissingCheckpointError
            A part has changed since it was written.
        """
        for number in range(1, self.last + 1):
            file = self._part(number).events
            if file is not None:
                yield self._read(number, file, None).to_pylist()
        if self._partial is not None and self._partial_events is not None:
            yield self._partial_events.to_pylist()

    def events(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the first events, or all, each as name -> value; raises the same errors."""
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

    def _empty(self, rows: int) -> np.ndarray:
        try:
            return np.empty(rows)
        except (MemoryError, ValueError) as error:
            raise ArchiveError(
                f"{str(self.directory)!r} has {rows} samples according to its checkpoints, "
                "which do not fit into memory: read fewer (thinned), or run "
                f"`{resuming(self.directory)}` to check for damage"
            ) from error

    def _differs(self, file: File) -> str | None:
        """Say how the bytes of a file are not those that were written; each is read for it once."""
        if file.path in self._whole:
            return None
        different = _other_size(file) or _other_digest(file)
        if different is None:
            self._whole.add(file.path)
        return different

    def _read(self, number: int, file: File, names: Sequence[str] | None) -> pa.Table:
        """Return columns of a file of a part, or all, after comparing it with its checkpoint."""
        import pyarrow as pa

        different = self._differs(file)
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
        """Say what a part lacks, None if it is whole."""
        try:
            self.checkpoint(number)
            part = self._part(number)
        except MissingCheckpointError:
            return "its checkpoint is missing"
        except TornPartError as error:
            # Why it cannot be read is a matter of syntax.
            return re.sub(r"(cannot be read) \(.*", r"\1", error.reason)
        files = [file for file in (part.samples, part.events) if file is not None]
        return next(filter(None, map(_difference, files)), None)

    def _missing(self, number: int) -> MissingCheckpointError:
        return MissingCheckpointError(
            f"part {number} of {str(self.directory)!r} has no checkpoint: {_again(self.directory)}"
        )

    def _torn(self, number: int, reason: str) -> ArchiveError:
        if _parts(self.directory, [number]) != {number: self._parts.get(number)}:
            return ArchiveError(
                f"part {number} of {str(self.directory)!r} was rewritten while it was being "
                "read: read the run again"
            )
        return TornPartError(
            f"part {number} of {str(self.directory)!r} has changed since it was written "
            f"({reason}): {_again(self.directory)}",
            reason,
        )


def _result(directory: Path, check: Check | None) -> dict[str, Any] | None:
    path = directory / "result.json"
    remedy = f"delete it, then {_again(directory)}"
    try:
        value, fault = read_json(path, check)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ArchiveError(
            f"{str(path)!r} cannot be read ({in_one_line(error)}): {remedy}"
        ) from error
    if fault is not None:
        raise FormatError(f"{str(path)!r} {fault}: {remedy}")
    if not _is_count(value.get("parts", 0)):
        raise FormatError(
            f"{str(path)!r} is damaged (its field 'parts' is {value['parts']!r}, but must be a "
            f"whole number): {remedy}"
        )
    return value


def _parts(directory: Path, numbers: Iterable[int]) -> dict[int, StoredPart | None]:
    """Return the parts that have a checkpoint, with None if it cannot be read."""
    found: dict[int, StoredPart | None] = {}
    for number in numbers:
        try:
            path = checkpoint_file(directory, number)
            if path.exists() and not path.is_file():
                raise ValueError("no file")
            with path.open("rb") as stream:
                files, digests = _files(stream.read(HEAD).decode(errors="replace"))
            found[number] = StoredPart(
                _file(samples_file(directory, number), files["samples"], digests.get("samples")),
                None
                if files["events"] is None
                else _file(events_file(directory, number), files["events"], digests.get("events")),
            )
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            found[number] = None
    return found


def _file(path: Path, sizes: Any, digest: Any) -> File:
    rows, size = sizes["rows"], sizes["bytes"]
    if not (_is_count(rows) and _is_count(size) and isinstance(digest, str | None)):
        raise ValueError("no sizes of a file")
    return File(path, rows, size, digest)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < MOST


def _files(head: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the files that the head of a checkpoint names, and their digests."""
    start, then = '{"files":', f',"{DIGESTS}":'
    if not head.startswith(start):
        raise ValueError("not a checkpoint")
    files, end = json.JSONDecoder().raw_decode(head, len(start))
    if not head.startswith(then, end):
        return files, {}
    return files, json.JSONDecoder().raw_decode(head, end + len(then))[0]


def _unfinished(path: Path) -> pa.Table | None:
    """Return an unfinished file, None if there is none that can be read.

    It is read at once, because it goes when its part is committed.
    """
    try:
        content = content_of(partial(path))
    except OSError:
        return None
    import pyarrow as pa

    try:
        table = read_parquet(pa.BufferReader(content))
        return table if is_whole(table) else None
    except (OSError, ValueError, pa.ArrowException):
        return None


def _difference(file: File) -> str | None:
    """Say how a file differs from what its checkpoint says, None if it does not."""
    import pyarrow as pa

    different = _other_size(file) or _other_digest(file)
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
    if not file.path.is_file():
        return f"{_short(file.path)} is no regular file"
    if size == file.bytes:
        return None
    return f"{_short(file.path)} has {size} bytes, not the {file.bytes} that were written"


def _other_digest(file: File) -> str | None:
    if file.digest is None:
        return None
    try:
        with file.path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return f"{_short(file.path)} cannot be read ({error.strerror})"
    if found == file.digest:
        return None
    return f"{_short(file.path)} has changed since it was written: its digest differs"


def _other_rows(file: File, rows: int) -> str:
    return f"{_short(file.path)} has {rows} rows, not the {file.rows} that were written"


def _short(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _again(directory: Path) -> str:
    return f"`{resuming(directory)}` computes it again"

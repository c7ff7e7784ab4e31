"""Writes a run, part by part."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from daesolve.core.encoding import (
    events_table,
    from_json,
    read_parquet,
    samples_table,
    to_json,
    to_parquet,
    with_digest,
)
from daesolve.core.results.storage import locking
from daesolve.core.results.storage.files import (
    FOLDERS,
    FORMAT,
    OPENING,
    checkpoint_file,
    committed,
    events_file,
    in_one_line,
    located,
    make_directory,
    not_stored,
    partial,
    read_manifest,
    remove,
    resuming,
    samples_file,
    set_aside,
    store,
)
from daesolve.core.results.storage.reading import DIGESTS
from daesolve.errors import ArchiveError, OutputExistsError, TornPartError

if TYPE_CHECKING:
    import pyarrow as pa
    from filelock import BaseFileLock

Events = Mapping[str, Sequence[Any] | np.ndarray]

# What a directory may hold before a run is stored there: a report that is rewritten, and what a
# process leaves that is killed before it has written the manifest.
HARMLESS = {
    "report.html",
    "report.json",
    "lock",
    "writer.json",
    ".writer.json.tmp",
    ".manifest.json.tmp",
}


class Writer:
    """Writes a run and holds its lock; created by `create` or `open`, and a context manager.

    Every method that writes raises StorageError if it fails; everything committed before stays
    intact.

    Attributes
    ----------
    directory, manifest
        Of the run.
    taken_over
        What a killed process left behind, in words; None if nothing.
    """

    def __init__(self, directory: Path, lock: BaseFileLock, taken_over: str | None) -> None:
        self.directory = directory
        self.manifest: Mapping[str, Any] = {}
        self.taken_over = taken_over
        self._lock: BaseFileLock | None = lock

    @classmethod
    def create(cls, directory: str | Path, manifest: Mapping[str, Any]) -> Self:
        """Begin a run in a directory that does not exist, or contains only a report.

        Raises
        ------
        OutputExistsError
            The directory contains something else, is a file, or cannot be created.
        LockedRunError
            Another process is beginning a run there.
        """
        directory = located(directory)
        refuse_full(directory)
        make_directory(directory)
        writer = cls(directory, *locking.acquire(directory))
        try:
            refuse_full(directory)  # another process may have been faster
            writer.rewrite_manifest(manifest)
            writer._make_folders()
        except BaseException:
            writer.close()
            raise
        return writer

    @classmethod
    def open(cls, directory: str | Path) -> Self:
        """Open a run to continue it.

        Raises
        ------
        NotARunError, FormatError
            There is no run, or one that this version cannot read.
        LockedRunError
            Another process is writing it.
        """
        directory = located(directory)
        read_manifest(directory)
        writer = cls(directory, *locking.acquire(directory))
        try:
            writer.manifest = read_manifest(directory)
            writer._make_folders()
            writer._remove_leftovers()
        except BaseException:
            writer.close()
            raise
        return writer

    def rewrite_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        content = to_json({**manifest, "format": FORMAT}, indent=2)
        self._store({self.directory / "manifest.json": content})
        self.manifest = from_json(content)  # as another process finds it

    def write_part(
        self,
        number: int,
        samples: Mapping[str, np.ndarray],
        events: Events | None,
        checkpoint: Mapping[str, Any],
    ) -> None:
        """Commit a part; one of the same number is replaced.

        Parameters
        ----------
        number
            From 1.
        samples
            Name -> (k,) doubles; k may be 0.
        events
            Name -> one string, list of integers, or double an event; None if there is no value.
        checkpoint
            The state from which to resume, for `encode`; the key "files" is reserved.
        """
        self._commit(number, samples_table(samples), events_table(events), checkpoint)
        self._remove([partial(path) for path in self._tables(number)])

    def write_partial(
        self, number: int, samples: Mapping[str, np.ndarray], events: Events | None
    ) -> None:
        """Write an unfinished part, only for reading."""
        samples_path, events_path = (partial(path) for path in self._tables(number))
        table = events_table(events)
        contents = {} if table is None else {events_path: to_parquet(with_digest(table))}
        contents[samples_path] = to_parquet(with_digest(samples_table(samples)))
        self._store(contents, [events_path] if table is None else [])

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Write how the run ended; the key "parts" is reserved for the number of parts."""
        parts = max(committed(self.directory), default=0)
        content = to_json({**result, "parts": parts}, indent=2)
        self._store({self.directory / "result.json": content})

    def remove_result(self) -> None:
        """Record that the run continues."""
        self._remove([self.directory / "result.json"])

    @property
    def has_opening(self) -> bool:
        """Whether the beginning of the run is kept, closely sampled."""
        return (self.directory / OPENING).is_file()

    def write_opening(self, times: np.ndarray, **series: Mapping[str, np.ndarray]) -> None:
        """Write the beginning of the run, closely sampled: times and, by kind, named series."""
        content = to_json({"times": times, **series})
        self._store({self.directory / OPENING: content})

    def set_aside(self, number: int) -> None:
        """Rename the files of a damaged part so that nothing reads them; nothing is deleted."""
        self._held()
        for path in (checkpoint_file(self.directory, number), *self._tables(number)):
            set_aside(path)

    def cut(self, number: int, keep: int, keep_events: int, checkpoint: Mapping[str, Any]) -> None:
        """Shorten the last part to its first rows, for a run that withdraws its last steps.

        Unfinished parts after it are removed. If the process is killed meanwhile, the whole part is
        not committed.

        Raises
        ------
        TornPartError
            The part cannot be read.
        """
        samples_path, events_path = self._tables(number)
        samples, events = self._read(number, samples_path), self._read(number, events_path)
        if samples is None:
            raise TornPartError(
                f"part {number} cannot be shortened, because {str(samples_path)!r} is missing"
            )
        shorter = None if events is None or not keep_events else events.slice(0, keep_events)
        self._commit(number, samples.slice(0, keep), shorter, checkpoint)
        self._remove(self._unfinished())

    def close(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._lock is not None:
            lock, self._lock = self._lock, None
            locking.release(self.directory, lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _tables(self, number: int) -> tuple[Path, Path]:
        return samples_file(self.directory, number), events_file(self.directory, number)

    def _commit(
        self,
        number: int,
        samples: pa.Table,
        events: pa.Table | None,
        checkpoint: Mapping[str, Any],
    ) -> None:
        samples_path, events_path = self._tables(number)
        contents = {samples_path: to_parquet(samples)}
        files: dict[str, Any] = {"samples": _size(samples, contents[samples_path]), "events": None}
        digests = {"samples": _digest(contents[samples_path])}
        if events is not None:
            contents[events_path] = to_parquet(events)
            files["events"] = _size(events, contents[events_path])
            digests["events"] = _digest(contents[events_path])
        # The files come first, so that they are found without reading all of a checkpoint.
        head = {"files": files, DIGESTS: digests}
        content = to_json(head | dict(checkpoint) | head)
        contents[checkpoint_file(self.directory, number)] = content
        self._store(contents, [events_path] if events is None else [])

    def _read(self, number: int, path: Path) -> pa.Table | None:
        import pyarrow as pa

        if not path.exists():
            return None
        try:
            return read_parquet(path)
        except (OSError, pa.ArrowException) as error:
            raise TornPartError(
                f"part {number} cannot be shortened, because {str(path)!r} cannot be read "
                f"({in_one_line(error)})"
            ) from error

    def _make_folders(self) -> None:
        for folder in FOLDERS:
            try:
                (self.directory / folder).mkdir(exist_ok=True)
            except OSError as error:
                raise not_stored(self.directory / folder, error) from error

    def _remove_leftovers(self) -> None:
        """Remove what a killed process left: temporary files, and parts that were committed."""
        done = set(committed(self.directory))
        stale = [p for p in self._unfinished() if int(p.name.partition(".")[0]) in done]
        places = [self.directory, *(self.directory / folder for folder in FOLDERS)]
        self._remove([*stale, *(path for place in places for path in place.glob(".*.tmp"))])

    def _unfinished(self) -> list[Path]:
        return [
            path
            for folder in ("samples", "events")
            for path in (self.directory / folder).glob("[0-9]*.parquet.partial")
        ]

    def _store(self, contents: Mapping[Path, bytes], obsolete: Sequence[Path] = ()) -> None:
        self._held()
        store(contents, obsolete)

    def _remove(self, paths: Sequence[Path]) -> None:
        self._held()
        try:
            remove(paths)
        except OSError as error:
            raise not_stored(Path(error.filename or self.directory), error) from error

    def _held(self) -> None:
        if self._lock is None:
            raise ArchiveError(f"{str(self.directory)!r} is closed: reopen it to write")


def refuse_full(directory: Path) -> None:
    """Refuse a directory that contains other files.

    Raises
    ------
    OutputExistsError
        The message names what is there, or says that it is a file.
    """
    try:
        if directory.exists() and not directory.is_dir():
            raise OutputExistsError(f"{str(directory)!r} is a file: choose a directory for the run")
        present: set[str] = set()
        if directory.exists():
            present = {path.name for path in directory.iterdir()}
    except OutputExistsError:
        raise
    except OSError as error:
        raise OutputExistsError(
            f"the directory {str(directory)!r} cannot be created: {error.strerror}"
        ) from None
    names = sorted(present - HARMLESS)
    if "manifest.json" in names:
        raise OutputExistsError(
            f"{str(directory)!r} already contains a run: resume it with "
            f"`{resuming(directory)}`, or choose another directory"
        )
    if names:
        raise OutputExistsError(
            f"the directory {str(directory)!r} is not empty, it contains {names[0]!r}: choose "
            "another for the run, or remove it"
        )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _size(table: pa.Table, content: bytes) -> dict[str, int]:
    return {"rows": table.num_rows, "bytes": len(content)}

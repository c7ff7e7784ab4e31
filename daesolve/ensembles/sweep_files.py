"""A sweep on disk: its manifest, the values of its members, and their results so far.

```
DIR/manifest.json            what is swept, written before the first member runs
DIR/values.parquet           a row for each member: its number and its values
DIR/members/000001.parquet   results, a row for each member that has run
DIR/samples/000001.parquet   the samples of the same members, where sample times were given
DIR/lock, DIR/writer.json    held while a process writes
```
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from daesolve.core.encoding import from_json, is_mapping, read_parquet, to_json, to_parquet
from daesolve.core.results.storage import locking
from daesolve.core.results.storage.files import (
    FORMAT,
    in_one_line,
    make_directory,
    read_manifest,
    resuming,
    store,
)
from daesolve.ensembles.chunks import FIXED, MemberResult, over_column
from daesolve.ensembles.members import Table, count_of
from daesolve.errors import (
    NotResumableError,
    OutputExistsError,
    TornPartError,
    UnknownNameError,
)

if TYPE_CHECKING:
    import pyarrow as pa

KIND = "sweep"
LEAST, MOST = 1.0, 30.0
"""The most seconds of results that are lost if the process is killed: at the start, and later."""
SHARE = 0.02
"""Between these, the fraction of the time so far that may be lost."""
HARMLESS = {
    "lock",
    "writer.json",
    "values.parquet",
    ".writer.json.tmp",
    ".manifest.json.tmp",
    ".values.parquet.tmp",
}
"""What a process leaves that is killed before it has written the manifest."""
MAY_DIFFER = ("created", "versions", "columns")
"""Between two manifests of one sweep; versions are looked at apart."""


class SweepStore:
    """Writes the results of a sweep and holds its lock.

    Parameters
    ----------
    directory
        Of the sweep; created if it does not exist.

    Raises
    ------
    OutputExistsError
        The directory contains something else, is a file, or cannot be created.
    LockedRunError
        Another process is writing it.
    """

    def __init__(self, directory: Path) -> None:
        _make(directory)
        self.directory = directory
        self._lock, _ = locking.acquire(directory)
        self._results: list[MemberResult] = []
        self._begin = self._flushed = time.monotonic()
        self._number = 0
        self._schemas: dict[str, pa.Schema] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.flush()
        finally:
            locking.release(self.directory, self._lock)

    def begin(
        self, manifest: Mapping[str, Any], table: Table, *, any_version: bool = False
    ) -> Table:
        """Write the manifest, or check that the sweep on disk is the same; return the values.

        Raises
        ------
        NotResumableError
            The directory contains another sweep; the message names the difference.
        """
        if (self.directory / "manifest.json").exists():
            known = read_manifest(self.directory)
            check_same(self.directory, known, manifest)
            if not any_version:
                check_versions(self.directory, known, manifest["versions"])
            table = stored_values(self.directory, known)
        else:
            columns = {over_column(name): values for name, values in table.items()}
            numbered = arrow({"member": list(range(count_of(table))), **columns}, {})
            store(
                {
                    self.directory / "values.parquet": to_parquet(numbered),
                    self.directory / "manifest.json": to_json(manifest, indent=1),
                }
            )
        self._go_on()
        return table

    def _go_on(self) -> None:
        import pyarrow.parquet as pq

        over = pq.read_schema(self.directory / "values.parquet")
        self._types: dict[str, Any] = {name: over.field(name).type for name in over.names}
        for kind in ("members", "samples"):
            folder = self.directory / kind
            make_directory(folder)
            for left in folder.glob(".*.tmp"):
                left.unlink()
        done = [int(path.stem) for path in parts(self.directory, "members")]
        self._number = max(done, default=0)
        for path in parts(self.directory, "samples"):
            if int(path.stem) not in done:
                path.unlink()

    def add(self, results: Iterable[MemberResult]) -> None:
        """Add results; they are written when enough time has passed."""
        self._results += results

    def flush_in_time(self) -> None:
        """Write the results if much would be lost otherwise."""
        now = time.monotonic()
        patience = min(max(SHARE * (now - self._begin), LEAST), MOST)
        if now - self._flushed >= patience:
            self.flush()

    def flush(self) -> None:
        """Write the results."""
        self._flushed = time.monotonic()
        if not self._results:
            return
        results = sorted(self._results, key=lambda result: result.row["member"])
        self._number += 1
        sampled = [result for result in results if result.samples]
        contents: dict[Path, bytes] = {}
        if sampled:
            contents |= self._part("samples", _sample_columns(sampled))
        contents |= self._part("members", _columns([result.row for result in results]))
        store(contents)
        self._results.clear()

    def _part(self, kind: str, columns: Mapping[str, Sequence[Any]]) -> dict[Path, bytes]:
        """Return the file of a part; those before it get the columns that they lack."""
        import pyarrow as pa

        folder = self.directory / kind
        if kind not in self._schemas:
            self._schemas[kind] = _schema(parts(self.directory, kind))
        table = arrow(columns, self._types)
        added: Any = table.schema
        before = self._schemas[kind]
        schema = pa.unify_schemas([before, added])
        if schema != before:
            self._schemas[kind] = schema
            for path in parts(self.directory, kind):
                store({path: to_parquet(_widened(read_parquet(path), schema))})
        return {folder / f"{self._number:06d}.parquet": to_parquet(_widened(table, schema))}


def check_same(directory: Path, known: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Refuse to continue a sweep when another one is requested.

    Raises
    ------
    OutputExistsError
        The directory contains a run.
    NotResumableError
        The message names what differs.
    """
    if known.get("kind") != KIND:
        raise OutputExistsError(
            f"the directory {str(directory)!r} contains a run, not a sweep: choose another"
        )
    found = _difference(_compared(known), _compared(from_json(to_json(asked))))
    if found is not None:
        where, there, here = found
        raise NotResumableError(
            f"{str(directory)!r} contains another sweep: {'.'.join(where)} is {_short(there)} "
            f"there, but {_short(here)} is requested; choose another directory, or request the "
            "same sweep to resume it"
        )


def _compared(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in manifest.items() if name not in MAY_DIFFER}


def _difference(there: Any, here: Any) -> tuple[tuple[str, ...], Any, Any] | None:
    """Return where two manifests differ first, and how."""
    if is_mapping(there) and is_mapping(here):
        for name in dict.fromkeys([*there, *here]):
            found = _difference(there.get(name), here.get(name))
            if found is not None:
                return ((name, *found[0]), *found[1:])
        # The order of names is that of the members.
        names, others = list(there), list(here)
        return None if names == others else ((), names, others)
    return None if there == here else ((), there, here)


def check_versions(directory: Path, known: Mapping[str, Any], here: Mapping[str, str]) -> None:
    """Refuse to continue with versions other than those of the results so far.

    Raises
    ------
    NotResumableError
        The message names what differs.
    """
    for package, version in known["versions"].items():
        if here.get(package) != version:
            raise NotResumableError(
                f"{str(directory)!r} was computed with {package} {version} (here: "
                f"{here.get(package, 'none')}), so members would no longer agree to the last "
                "digit: install that version, or set any_version=True"
            )


def sweep_manifest(directory: Path) -> dict[str, Any]:
    """Return the manifest of a sweep.

    Raises
    ------
    NotResumableError, NotARunError, FormatError
        The directory contains no sweep.
    """
    from daesolve.ensembles.sweep_schema import fault_of

    manifest = read_manifest(directory, fault_of)
    if manifest.get("kind") != KIND:
        raise NotResumableError(f"{str(directory)!r} contains a run, not a sweep")
    return manifest


def stored_values(directory: Path, manifest: Mapping[str, Any]) -> Table:
    """Return the values of every member."""
    table = read_part(directory / "values.parquet")
    return {
        name: table.column(column).to_pylist()
        for name, column in manifest["columns"]["over"].items()
    }


def read_part(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return columns of a file of a sweep, or all.

    Raises
    ------
    TornPartError
        It cannot be read, or lacks these columns.
    """
    import pyarrow as pa

    try:
        return read_parquet(path, columns)
    except (OSError, ValueError, UnknownNameError, pa.ArrowException) as error:
        raise TornPartError(
            f"{str(path)!r} cannot be read ({in_one_line(error)}): remove it, and "
            f"`{resuming(path.parent.parent)}` runs its members again"
        ) from error


def parts(directory: Path, kind: str) -> list[Path]:
    """Return the complete files of "members" or "samples", in order."""
    found = (directory / kind).glob("*.parquet")
    return sorted(path for path in found if path.stem.isdecimal())


def arrow(columns: Mapping[str, Sequence[Any]], types: Mapping[str, Any]) -> pa.Table:
    """Return columns as a table; a further column without a given type holds doubles."""
    import pyarrow as pa

    arrows: Any = pa
    fixed = {name: arrows.type_for_alias(word) for name, word in FIXED.items()}

    def column(name: str, values: Sequence[Any]) -> pa.Array[Any]:
        if name in fixed or name in types:
            return arrows.array(values, fixed.get(name) or types[name])
        first = next((value for value in values if value is not None), 0.0)
        return pa.array(values, None if isinstance(first, bool | int | str) else pa.float64())

    return pa.table({name: column(name, values) for name, values in columns.items()})


def new_manifest(contents: Mapping[str, Any], over: Sequence[str]) -> dict[str, Any]:
    """Return a manifest with the entries that every sweep has."""
    columns = {"over": {name: over_column(name) for name in over}}
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"format": FORMAT, "kind": KIND, **contents, "columns": columns, "created": created}


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _sample_columns(results: Sequence[MemberResult]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for result in results for name in result.samples)
    columns: dict[str, list[Any]] = {"member": [], **{name: [] for name in names}}
    for result in results:
        count = len(result.samples["t"])
        columns["member"] += [result.row["member"]] * count
        for name in names:
            found = result.samples.get(name)
            columns[name] += [None] * count if found is None else found.tolist()
    return columns


def _schema(paths: Sequence[Path]) -> pa.Schema:
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pa.unify_schemas([pq.read_schema(path) for path in paths] or [pa.schema([])])


def _widened(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with all columns of a schema, in its order, null where it has none."""
    import pyarrow as pa

    names: list[str] = schema.names
    types: list[Any] = schema.types
    columns: list[Any] = [
        table.column(name) if name in table.column_names else pa.nulls(len(table), kind)
        for name, kind in zip(names, types, strict=True)
    ]
    return pa.table(columns, schema=schema)


def _make(directory: Path) -> None:
    if directory.is_dir():
        others = {path.name for path in directory.iterdir()} - HARMLESS
        if others and "manifest.json" not in others:
            raise OutputExistsError(
                f"the directory {str(directory)!r} is not empty and contains no sweep: "
                "choose another"
            )
    elif directory.exists():
        raise OutputExistsError(f"{str(directory)!r} is a file: choose a directory for the results")
    make_directory(directory)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."

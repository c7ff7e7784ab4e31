"""Numbers in strict JSON and in Parquet files, which read back bit for bit.

Smooth doubles shrink to 77 % of their size in Parquet if bytes of equal weight are grouped before
compression. Statistics and dictionaries of doubles cost time and find nothing. Pages carry
checksums, so that a flipped bit is found when it is read.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np

from daesolve.errors import ArchiveError, check_names

if TYPE_CHECKING:
    import pyarrow as pa

# JSON has no word for these, so they are written as strings.
SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
DEEPEST = 100
"""Levels of JSON; no file of a run has nearly as many."""
SEAL = "sha256"
"""The name of the digest of a JSON file's content, in the file itself."""
UNSEALED = ("versions", "processor", "created", "remarks", "source", "files")
"""Fields about where and when a run was made, which change no number, and the sizes of files, which
are checked separately; not part of the digest."""


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Return whether a value is a mapping."""
    return isinstance(value, Mapping)


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    """Return whether a value is a tuple."""
    return isinstance(value, tuple)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value is a list, as in what was read from JSON."""
    return isinstance(value, list)


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value is a sequence, and neither text nor bytes."""
    return isinstance(value, Sequence) and not isinstance(
        value, str | bytes | bytearray | memoryview
    )


def is_array(value: object) -> TypeGuard[np.ndarray]:
    """Return whether a value is an array of NumPy."""
    return isinstance(value, np.ndarray)


def native(value: object) -> Any:
    """Return a NumPy scalar as a Python number, anything else unchanged."""
    return cast(Any, value).item() if isinstance(value, np.generic) else value


def encode(value: object) -> Any:
    r"""Return a value in a form that strict JSON can represent.

    `decode` returns the same doubles, to the last bit and the sign of a zero. NaN becomes the
    string "nan", infinities become "inf" and "-inf". A string equal to one of these three is
    written with a backslash before it.

    Parameters
    ----------
    value
        None, a truth value, a number, a string, or an array, a sequence or a mapping of these; the
        keys of mappings are strings.

    Returns
    -------
    Any
        Only None, bool, int, float, str, list and dict: arrays and tuples become lists, NumPy
        scalars become Python numbers.

    Raises
    ------
    ArchiveError
        A value has another type, or a key is not a string.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return "\\" + value if value.lstrip("\\") in SPECIAL else str(value)
    if is_array(value):
        plain = value.dtype.char in "?bhilqBHILQefd" and bool(np.isfinite(value).all())
        return value.tolist() if plain else encode(value.tolist())
    if is_mapping(value):
        return {_key(name): encode(entry) for name, entry in value.items()}
    if is_sequence(value):
        return [encode(entry) for entry in value]
    number = native(value)
    if isinstance(number, int):
        return number if isinstance(number, bool) else int(number)
    if isinstance(number, float):
        return float(number) if math.isfinite(number) else str(float(number))
    raise ArchiveError(
        f"{type(value).__name__} cannot be stored: a run's files hold numbers, strings, truth "
        "values, None, and arrays, sequences and mappings of these"
    )


def decode(value: Any) -> Any:
    """Return the value that `encode` encoded, with lists for arrays and tuples.

    Parameters
    ----------
    value
        From `json.loads`.
    """
    if isinstance(value, str):
        if value in SPECIAL:
            return SPECIAL[value]
        escaped = value.startswith("\\") and value.lstrip("\\") in SPECIAL
        return value[1:] if escaped else value
    if is_list(value):
        return [decode(entry) for entry in value]
    if is_mapping(value):
        return {name: decode(entry) for name, entry in value.items()}
    return value


def to_json(value: Mapping[str, Any], indent: int | None = None) -> bytes:
    """Return the content of a JSON file, which ends with its digest."""
    encoded: dict[str, Any] = encode(value)
    separators = (",", ":") if indent is None else None
    sealed = encoded | {SEAL: _digest(encoded)}
    text = json.dumps(sealed, allow_nan=False, indent=indent, separators=separators)
    return text.encode() + b"\n"


def from_json(content: bytes) -> dict[str, Any]:
    """Return the contents of a JSON file, without its digest.

    Raises
    ------
    ValueError
        It is not strict JSON, not a mapping, or does not match its digest. A file without a digest,
        as written by earlier versions, is accepted.
    """
    try:
        value = json.loads(content, object_pairs_hook=_once, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not is_mapping(value):
        raise ValueError("not a mapping")
    plain = dict(value)
    seal = plain.pop(SEAL, None)
    _check_depth(plain)
    decoded: dict[str, Any] = decode(plain)
    if seal is not None and seal != _digest(plain):
        raise AlteredError("its digest shows that its content has changed", decoded)
    return decoded


class AlteredError(ValueError):
    """A JSON file has been changed; `value` is its current content."""

    def __init__(self, message: str, value: dict[str, Any]) -> None:
        super().__init__(message)
        self.value = value


def _digest(encoded: Mapping[str, Any]) -> str:
    """Return the digest of the content of a JSON file, whatever its layout."""
    sealed = {name: entry for name, entry in encoded.items() if name not in UNSEALED}
    identity = sealed.get("identity")
    if is_mapping(identity):
        sealed["identity"] = {name: entry for name, entry in identity.items() if name != "path"}
    text = json.dumps(sealed, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} appears twice")
    return found


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


def _check_depth(value: Any) -> None:
    """Refuse what other functions could not walk through."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            entry
            for one in level
            for entry in (one.values() if is_mapping(one) else one if is_list(one) else ())
        ]
        if not level:
            return
    raise ValueError("nested too deeply")


def samples_table(samples: Mapping[str, np.ndarray]) -> pa.Table:
    """Return samples as a table of doubles: name -> (k,)."""
    import pyarrow as pa

    def column(values: np.ndarray) -> pa.Array[Any]:
        # pa.array would import pandas, where it is installed, to look whether they are its.
        plain = np.ascontiguousarray(values, dtype=np.float64)
        return pa.Array.from_buffers(
            pa.float64(), len(plain), [None, pa.py_buffer(cast(Any, plain))]
        )

    return pa.table({name: column(values) for name, values in samples.items()})


def events_table(events: Mapping[str, Any] | None) -> pa.Table | None:
    """Return events as a table, or None if there are none.

    A column holds strings, lists of integers, or doubles; None if there is no value.
    """
    import pyarrow as pa

    if events is None or all(len(values) == 0 for values in events.values()):
        return None
    return pa.table({name: pa.array(v, type=_type(v)) for name, v in events.items()})


def to_parquet(table: pa.Table) -> bytes:
    """Return the content of a Parquet file; the same for the same table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names: list[str] = table.column_names
    schema: Any = table.schema
    doubles = [name for name in names if pa.types.is_float64(schema.field(name).type)]
    # pyarrow's own types name truth values alone where it takes lists of names too.
    options: dict[str, Any] = {
        "use_dictionary": [name for name in names if name not in doubles],
        "use_byte_stream_split": doubles,
    }
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=3,
        write_statistics=False,
        write_page_checksum=True,
        store_schema=bool(schema.metadata),  # with which its digest goes
        **options,
    )
    return sink.getvalue().to_pybytes()


def numbers_of(table: pa.Table, name: str) -> np.ndarray:
    """Return a column of numbers, none of them missing, as an array (rows,).

    `ChunkedArray.to_numpy` would import pandas for this where it is installed.
    """
    chunks = [np.from_dlpack(chunk) for chunk in table.column(name).chunks]
    return chunks[0] if len(chunks) == 1 else np.concatenate([np.empty(0), *chunks])


def with_digest(table: pa.Table) -> pa.Table:
    """Return a table that carries the digest of its content, for a file without a checkpoint."""
    return table.replace_schema_metadata({SEAL: _digest_of_table(table)})


def is_whole(table: pa.Table) -> bool:
    """Return whether a table matches its digest; True if it has none."""
    schema: Any = table.schema
    known: dict[bytes, bytes] = schema.metadata or {}
    return known.get(SEAL.encode(), b"") in (b"", _digest_of_table(table).encode())


def _digest_of_table(table: pa.Table) -> str:
    import pyarrow as pa

    found = hashlib.sha256()
    for name in table.column_names:
        column: Any = table.column(name)
        found.update(repr(name).encode())
        if pa.types.is_float64(column.type) and not column.null_count:
            found.update(column.to_numpy().tobytes())
        else:
            found.update(repr(column.to_pylist()).encode())
    return found.hexdigest()


def read_parquet(source: Path | pa.NativeFile, columns: Sequence[str] | None = None) -> pa.Table:
    """Return some columns of a Parquet file, or all.

    Raises
    ------
    OSError, pyarrow.ArrowException
        It cannot be read.
    UnknownNameError
        It has no such column.
    """
    import pyarrow.parquet as pq

    # A part is small: read-ahead and threads cost a third more time than they save.
    with pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False) as file:
        check_names("column", columns or (), file.schema_arrow.names)
        names = None if columns is None else list(columns)
        return file.read(columns=names, use_threads=False)


def select(table: pa.Table, columns: Sequence[str] | None) -> pa.Table:
    """Return some columns of a table, or all; raises UnknownNameError."""
    check_names("column", columns or (), table.column_names)
    return table if columns is None else table.select(list(columns))


def _type(values: Sequence[Any] | np.ndarray) -> pa.DataType:
    """Return the type of a column, which must not depend on the part it is in."""
    import pyarrow as pa

    first = next((value for value in values if value is not None), None)
    if isinstance(first, str):
        return pa.string()
    if isinstance(first, (Sequence, np.ndarray)):
        return pa.list_(pa.int64())
    return pa.float64()


def _key(name: object) -> str:
    if not isinstance(name, str):
        raise ArchiveError(f"the key {name!r} cannot be stored: keys are strings")
    return str(name)

"""Samples and events as Parquet files.

Smooth doubles fill 77 % of their plain size when the bytes of equal weight stand together before
they are compressed. Statistics and dictionaries of doubles cost time and find nothing. Pages carry
checksums, so that a flipped bit is found when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from daesolve.errors import unknown_name

if TYPE_CHECKING:
    import pyarrow as pa


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
    """Return events as a table, None where there are none.

    A column holds strings, lists of integers, or doubles; None where there is no value.
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
        store_schema=False,
        **options,
    )
    return sink.getvalue().to_pybytes()


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
        _know(columns, file.schema_arrow.names)
        names = None if columns is None else list(columns)
        return file.read(columns=names, use_threads=False)


def select(table: pa.Table, columns: Sequence[str] | None) -> pa.Table:
    """Return some columns of a table, or all; raises UnknownNameError."""
    _know(columns, table.column_names)
    return table if columns is None else table.select(list(columns))


def _know(columns: Sequence[str] | None, known: Sequence[str]) -> None:
    for name in columns or ():
        if name not in known:
            raise unknown_name("column", name, known)


def _type(values: Sequence[Any] | np.ndarray) -> pa.DataType:
    """Return the type of a column, which must not depend on the part it is in."""
    import pyarrow as pa

    first = next((value for value in values if value is not None), None)
    if isinstance(first, str):
        return pa.string()
    if isinstance(first, (Sequence, np.ndarray)):
        return pa.list_(pa.int64())
    return pa.float64()

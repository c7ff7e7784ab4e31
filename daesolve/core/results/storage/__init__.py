"""A run on disk: its manifest, its parts, its checkpoints, and how it ended.

```
DIR/manifest.json                   what is run, written before the first step
DIR/samples/000001.parquet          the samples of part 1, a column a name
DIR/events/000001.parquet           its events; only where a part has some
DIR/checkpoints/000001.json         what to continue from; written last, it commits the part
DIR/samples/000002.parquet.partial  an unfinished part, for reading (events likewise)
DIR/samples/_000001.parquet.torn    a damaged file that was set aside (others likewise)
DIR/result.json                     how the run ended
DIR/opening.json                    its beginning, closely sampled; only where samples are sparse
DIR/lock, DIR/writer.json           held while a process writes
```

Each file is written under another name, flushed to disk and renamed: whenever the process ends,
every part with a checkpoint is complete, and nothing else counts. One process writes a run
(`Writer`); any number can read it meanwhile (`Stored`).

Other programs can read the samples directly: `pandas.read_parquet("DIR/samples")` reads every part
and the unfinished one, "DIR/samples/*.parquet" only the finished parts. Files that are set aside or
incomplete start with "_" or ".", which Arrow, pandas and Spark skip.

This package knows only files; its callers know what the numbers mean.
"""

from __future__ import annotations

from daesolve.core.encoding import decode, encode
from daesolve.core.results.storage.files import FORMAT, kind_of, located, make_directory, resuming
from daesolve.core.results.storage.reading import Stored
from daesolve.core.results.storage.writing import Writer, refuse_full

__all__ = [
    "FORMAT",
    "Stored",
    "Writer",
    "decode",
    "encode",
    "kind_of",
    "located",
    "make_directory",
    "refuse_full",
    "resuming",
]

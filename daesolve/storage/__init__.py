"""A run on disk: its manifest, its parts, its checkpoints, and how it ended.

```
DIR/manifest.json                   what is run, written before the first step
DIR/samples/000001.parquet          the samples of part 1, a column a name
DIR/events/000001.parquet           its events; only where a part has some
DIR/checkpoints/000001.json         what to go on from; written last, it commits the part
DIR/samples/000002.parquet.partial  an unfinished part, for reading (events likewise)
DIR/samples/_000001.parquet.torn    a damaged file that was set aside (others likewise)
DIR/result.json                     how the run ended
DIR/opening.json                    its beginning, closely sampled; only where samples are sparse
DIR/lock, DIR/writer.json           held while a process writes
```

Each file comes into being under another name, is flushed to the disk and renamed: whenever the
process ends, what has a checkpoint is whole, and nothing else counts. One process writes a run
(`Writer`); any number read it meanwhile (`Stored`).

Other programs read the samples as they are: `pandas.read_parquet("DIR/samples")` takes every part
and the unfinished one, "DIR/samples/*.parquet" the finished parts alone. What is set aside or
under way starts with "_" or ".", which Arrow, pandas and Spark pass over.

This package knows files alone: what the numbers mean is the business of those who call it.
"""

from __future__ import annotations

from daesolve.storage.encoding import decode, encode
from daesolve.storage.files import FORMAT, kind_of, located, make_directory, resuming
from daesolve.storage.reading import Stored
from daesolve.storage.writing import Writer, refuse_full

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

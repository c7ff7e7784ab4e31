"""Files of text, each written as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from daesolve.errors import StorageError


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a file under another name and rename it, so that it is never half there.

    Raises
    ------
    StorageError
        It cannot be written.
    """
    target = Path(path)
    partial = target.with_name(f".{target.name}.partial")
    try:
        partial.unlink(missing_ok=True)  # a link that stood there would be followed
        with partial.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        os.replace(partial, target)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise StorageError(f"{str(path)!r} could not be written: {why}") from None
    return target

"""A file to which lines of JSON are added while something is computed, and read when it goes on.

Numbers are written so that they are read to the same bits; a line that was cut off is left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from daesolve.errors import StorageError

FORMAT = 1


class Lines:
    """The lines of a file below its head; without a directory nothing is written.

    Parameters
    ----------
    directory, name
        Where to, None for nowhere, and the name of the file.
    what
        What is kept, in a word.
    identity
        Plain values that tell it from others.

    Raises
    ------
    StorageError
        The directory has another, or cannot be written.
    """

    def __init__(
        self, directory: str | Path | None, name: str, what: str, identity: object
    ) -> None:
        self._path = None if directory is None else Path(directory) / name
        self.known: list[dict[str, Any]] = []
        if self._path is None:
            return
        digest = hashlib.sha256(repr(identity).encode()).hexdigest()
        head = {"format": FORMAT, what: digest}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lines = list(_whole(self._path)) if self._path.exists() else []
            if lines and lines[0] != head:
                raise StorageError(
                    f"{self._path.parent} contains another {what}: use another directory, or "
                    "remove this one"
                )
            # What was cut off is written again.
            text = "\n".join(json.dumps(line) for line in (lines or [head])) + "\n"
            fresh = self._path.with_suffix(".new")
            fresh.write_text(text)
            fresh.replace(self._path)
        except OSError as error:
            raise StorageError(f"{self._path} cannot be written: {error}") from error
        self.known = lines[1:]

    def add(self, line: Mapping[str, Any]) -> None:
        """Write a line."""
        if self._path is None:
            return
        try:
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise StorageError(f"{self._path} cannot be written: {error}") from error


def _whole(path: Path) -> Iterator[dict[str, Any]]:
    """Return the lines up to the first that is no whole one."""
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return

"""A file to which results are added as JSON lines, and from which a computation resumes.

Numbers are written so that reading restores every bit; a truncated line is ignored.
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
        The directory, None for none, and the name of the file.
    what
        The kind of content, in a word.
    identity
        Plain values that distinguish the content from others.

    Raises
    ------
    StorageError
        The directory contains something else, or cannot be written.
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
            # Rewrite the truncated line.
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
    """Return the lines up to the first incomplete one."""
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return

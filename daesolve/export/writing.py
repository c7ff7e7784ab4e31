"""Writes exports, but never over files that are not exports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from daesolve.core.results.storage.files import located, make_directory, store
from daesolve.errors import OutOfRangeError, OutputExistsError

if TYPE_CHECKING:
    from jinja2 import Environment

MARK = "written by daesolve"
"""Words in the first lines of every exported file."""


def python_path(path: object) -> Path:
    """Return the path of a Python module.

    Raises
    ------
    OutOfRangeError
        It does not end with `.py`, or cannot be imported by its name.
    """
    found = located(path)
    if found.suffix != ".py" or not found.stem.isidentifier():
        raise OutOfRangeError(
            f"{str(path)!r} is not a valid name for a Python module: choose a file such as "
            "'plant.py'"
        )
    return found


def write(files: Mapping[Path, str]) -> tuple[Path, ...]:
    """Write all files or none, and create their directory if there is none.

    Raises
    ------
    OutputExistsError
        A file exists that no export has written.
    StorageError
        They cannot be written.
    """
    for path in files:
        if path.is_dir() or (path.exists() and MARK not in _beginning(path)):
            raise OutputExistsError(
                f"{str(path)!r} already exists and is not an export of daesolve: choose "
                "another place"
            )
    for directory in {path.parent for path in files}:
        make_directory(directory)
    store({path: text.encode() for path, text in files.items()})
    return tuple(files)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("daesolve.export"),
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )


def fill_template(file: str, **values: object) -> str:
    """Return a file of an export, made from its template."""
    return _templates().get_template(f"{file}.jinja").render(values)


def filled(entries: Iterable[str], width: int) -> list[str]:
    """Return lines of entries separated by commas, without breaking an entry."""
    lines: list[str] = []
    for entry in entries:
        if lines and len(lines[-1]) + len(entry) + 2 <= width:
            lines[-1] += f" {entry},"
        else:
            lines.append(f"{entry},")
    return lines


def _beginning(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(400).decode(errors="replace")

"""The files that a model file consists of: itself, and those that it includes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from daesolve.errors import ModelFileError

LARGEST = 100 << 20
"""Bytes that all files of a model together may have."""


def sources(path: Path) -> list[Path]:
    """Return the file and those that it includes, each once.

    Raises
    ------
    ModelFileError
        One is missing, is no XML, includes itself, or lies outside the directory of the model.
    """
    home = path.resolve().parent
    found: dict[Path, None] = {}
    _gather(path.resolve(), home, (), found)
    return list(found)


def _gather(path: Path, home: Path, within: tuple[Path, ...], found: dict[Path, None]) -> None:
    if path in within:
        raise ModelFileError(f"{path} includes itself, by way of {within[-1].name}")
    found[path] = None
    for name in _included(path):
        inner = (home / name).resolve()
        if not inner.is_relative_to(home):
            raise ModelFileError(
                f"{path} includes {name!r}, which lies outside the directory of the model, {home}"
            )
        if not inner.is_file():
            raise ModelFileError(f"{path} includes {name!r}, and there is no such file")
        _gather(inner, home, (*within, path), found)


def _included(path: Path) -> Iterator[str]:
    try:
        if path.stat().st_size > LARGEST:
            raise ModelFileError(f"{path} is larger than a model may be")
        tree = ElementTree.fromstring(path.read_bytes())
    except ElementTree.ParseError as error:
        raise ModelFileError(f"{path} is no XML: {error}") from None
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{str(path)!r} cannot be read: {error}") from None
    for element in tree.iter("include"):
        name = element.get("file")
        if name:
            yield name


def digest_of_model(path: Path) -> str:
    """Return the SHA-256 of a model file and those that it includes."""
    whole = hashlib.sha256()
    for file in sources(path):
        content = file.read_bytes()
        whole.update(len(content).to_bytes(8, "little") + content)
    return whole.hexdigest()

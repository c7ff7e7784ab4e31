"""The paths of a run's files, and atomic writing."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from daesolve.core.encoding import AlteredError, from_json
from daesolve.errors import (
    ArchiveError,
    FormatError,
    NotARunError,
    OutputExistsError,
    StorageError,
)

FORMAT = 1
FOLDERS = ("samples", "events", "checkpoints")
OPENING = "opening.json"
Check = Callable[[str, Mapping[str, Any]], str | None]
"""(name of a file, its content) -> what is wrong, in words that follow its name, or None."""


def located(directory: object) -> Path:
    """Return the absolute directory of a run.

    Raises
    ------
    ArchiveError
        It is not a path.
    """
    if isinstance(directory, str | os.PathLike):
        name: str | bytes = os.fspath(directory)
        if isinstance(name, str) and name and "\0" not in name:
            return Path(name).absolute()
    raise ArchiveError(f"a run's directory is {directory!r}, but must be a path like 'runs/disc'")


def make_directory(directory: Path) -> None:
    """Create a directory for results unless it exists.

    Raises
    ------
    OutputExistsError
        It cannot be created.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputExistsError(
            f"the directory {str(directory)!r} cannot be created: {error.strerror}"
        ) from None


def samples_file(directory: Path, number: int) -> Path:
    """Return the path of the samples of a part."""
    return directory / "samples" / f"{number:06d}.parquet"


def events_file(directory: Path, number: int) -> Path:
    """Return the path of the events of a part."""
    return directory / "events" / f"{number:06d}.parquet"


def checkpoint_file(directory: Path, number: int) -> Path:
    """Return the path of the checkpoint at the end of a part."""
    return directory / "checkpoints" / f"{number:06d}.json"


def partial(path: Path) -> Path:
    """Return the name of an unfinished file."""
    return path.with_name(path.name + ".partial")


def committed(directory: Path) -> tuple[int, ...]:
    """Return the numbers of the parts that have a checkpoint, in order."""
    with suppress(FileNotFoundError), os.scandir(directory / "checkpoints") as entries:
        names = [entry.name.removesuffix(".json") for entry in entries if _is_checkpoint(entry)]
        return tuple(sorted(int(name) for name in names))
    return ()


def content_of(path: Path) -> bytes:
    """Return the content of a file.

    Raises
    ------
    OSError
        It cannot be read, or is not a regular file: a pipe or a device might never end.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file")
    return path.read_bytes()


def read_json(path: Path, check: Check | None) -> tuple[dict[str, Any], str | None]:
    """Return the contents of a JSON file of a run, and what is wrong with it.

    Parameters
    ----------
    path
        Of the file.
    check
        Returns what is wrong with a file, given its name and contents.

    Returns
    -------
    value
        The contents.
    fault
        What is wrong, in words that follow its name; None if nothing is.

    Raises
    ------
    OSError, ValueError
        It cannot be read, or is not JSON.
    """
    altered: str | None = None
    try:
        value = from_json(content_of(path))
    except AlteredError as error:
        value, altered = error.value, f"is damaged ({error})"
    fault = None if check is None else check(path.name, value)
    return value, fault or altered


def kind_of(directory: object) -> object:
    """Return the kind of contents of a directory by its manifest: "sweep", or None for a run.

    Also None if there is no manifest, or it cannot be read: `read_manifest` says why.

    Raises
    ------
    ArchiveError
        The directory is not a path.
    """
    try:
        return read_json(located(directory) / "manifest.json", None)[0].get("kind")
    except (OSError, ValueError):
        return None


def read_manifest(directory: Path, check: Check | None = None) -> dict[str, Any]:
    """Return a run's manifest.

    Parameters
    ----------
    directory
        Of the run.
    check
        As in `read_json`.

    Raises
    ------
    NotARunError
        There is no manifest.
    FormatError
        It cannot be read, has changed, or has another format.
    """
    path = directory / "manifest.json"
    remedy = "without it the run is unknown, so compute the run again in another directory"
    try:
        manifest, fault = read_json(path, None)
        if manifest.get("format") == FORMAT and check is not None:
            fault = check(path.name, manifest) or fault
    except (FileNotFoundError, NotADirectoryError):
        raise NotARunError(
            f"{str(directory)!r} contains no run, because there is no manifest.json: give the "
            "directory of a stored run"
        ) from None
    except OSError as error:
        raise FormatError(
            f"{str(path)!r} cannot be read ({error.strerror}), and without it the run is unknown"
        ) from error
    except ValueError as error:
        raise FormatError(f"{str(path)!r} is damaged ({in_one_line(error)}): {remedy}") from error
    if manifest.get("format") != FORMAT:
        raise FormatError(
            f"{str(path)!r} is of format {manifest.get('format')!r}, and this version of daesolve "
            f"reads format {FORMAT}: use the version that wrote it"
        )
    if fault is not None:
        raise FormatError(f"{str(path)!r} {fault}: {remedy}")
    return manifest


def not_stored(path: Path, error: OSError) -> StorageError:
    """Return the error for a file that could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "free some space"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        remedy = "you need permission to write there"
    else:
        remedy = "check the disk"
    return StorageError(
        f"{str(path)!r} could not be written ({error.strerror or error}): {remedy}; everything "
        "committed before is intact"
    )


def resuming(directory: Path) -> str:
    """Return the command that resumes a run."""
    return f"daesolve resume {shlex.quote(str(directory))}"


def in_one_line(error: Exception) -> str:
    """Return the message of an error in one line; Arrow's have several."""
    return " ".join(str(error).split())


def store(contents: Mapping[Path, bytes], obsolete: Sequence[Path] = ()) -> None:
    """Replace files one after the other; the last one commits the rest.

    All are written under temporary names first, so that a full disk changes nothing. Where the last
    one exists already it is removed before the others change.

    Parameters
    ----------
    contents
        The content of each file, in the order in which they are to appear.
    obsolete
        Files to remove before the last one appears.

    Raises
    ------
    StorageError
        A file could not be written; no temporary file is left.
    """
    *before, last = contents
    staged: dict[Path, Path] = {}
    path = last
    try:
        for path, content in contents.items():
            staged[path] = path.with_name(f".{path.name}.tmp")
            _write(staged[path], content)
        path = last
        if before or obsolete:
            remove([last])
        for path in before:
            _rename(staged[path], path)
        remove(obsolete)
        path = last
        _rename(staged[path], path)
    except OSError as error:
        raise not_stored(path, error) from error
    finally:
        for temporary in staged.values():
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def remove(paths: Sequence[Path]) -> None:
    """Remove the files that exist, for good."""
    for path in paths:
        if path.exists():
            path.unlink()
            _synchronise(path.parent)


def set_aside(path: Path) -> None:
    """Rename a file so that nothing reads it, without replacing another one set aside earlier."""
    if not path.exists():
        return
    names = (f"_{path.name}{'.' + str(n) if n else ''}.torn" for n in range(10**6))
    target = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    try:
        _rename(path, target)
    except OSError as error:
        raise not_stored(target, error) from error


def _is_checkpoint(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(".json") and entry.name.removesuffix(".json").isdecimal()


def _write(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)  # a link that stood there would be followed
    with path.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _rename(source: Path, target: Path) -> None:
    os.replace(source, target)
    _synchronise(target.parent)


def _synchronise(directory: Path) -> None:
    """Let the names in a directory outlive a power cut (Windows has no such call)."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

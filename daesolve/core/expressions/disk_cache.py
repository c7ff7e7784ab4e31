"""A cache on disk for results that take long to compute and never change.

Each entry is a file with the digest of its content. Unreadable or incomplete files count as
missing. Files are written under a temporary name and then moved, so several processes may write at
once. The cache is optional: if nothing can be written, nothing is cached.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar, cast

import casadi as ca

from daesolve.core.expressions.plain_data import Classes, NotPlainError, packed, unpacked
from daesolve.core.expressions.program import digest

Result = TypeVar("Result")
VARIABLE = "DAESOLVE_CACHE"
"""The environment variable with the directory; `off` disables the cache."""
MOST_BYTES = 200_000_000
"""The largest size of all entries together; the least recently used ones are removed first."""
SUFFIX = ".kept"
PACKAGES = ("casadi", "numpy", "scipy", "numba", "heyoka", "scikit-sundae", "assimulo")
"""The packages on which results and the choice of solvers depend."""
FROM = 1000
"""The number of instructions from which reading a result is faster than making it."""


def cached_result(
    what: str, functions: Sequence[ca.Function], classes: Classes, make: Callable[[], Result]
) -> Result:
    """Return the result for some functions, from the cache if they are large.

    Parameters
    ----------
    what
        The kind of result, with everything else that it depends on.
    functions
        The functions.
    classes
        The dataclasses of which it consists.
    make
        Makes the result.
    """
    size = sum(function.n_instructions() for function in functions)
    if size < FROM or directory() is None:
        return make()
    key = key_of(what, *map(digest, functions))
    stored = read(key, classes)
    if stored is not None:
        return cast("Result", stored)
    made = make()
    write(key, made, classes)
    return made


def key_of(*words: str) -> str:
    """Return the key for some words and the program that makes the result."""
    return hashlib.sha256("\n".join([*words, _program()]).encode()).hexdigest()


def read(key: str, classes: Classes) -> object:
    """Return the cached result of a key; None if there is none."""
    content = load(key)
    return None if content is None else unpacked(content, classes)


def write(key: str, value: object, classes: Classes) -> None:
    """Store a result under a key, if it is plain data and there is a place."""
    if directory() is not None:
        with suppress(NotPlainError):
            store(key, packed(value, classes))


@cache
def _program() -> str:
    """Return the digest of daesolve's files, by size and age, and of the packages it uses."""
    program = hashlib.sha256()
    root = Path(__file__).parents[2]
    for path in sorted(root.rglob("*.py")):
        status = path.stat()
        program.update(f"{path.relative_to(root)} {status.st_size} {status.st_mtime_ns}\n".encode())
    program.update(
        " ".join([*map(_version, PACKAGES), platform.machine(), platform.python_version()]).encode()
    )
    return program.hexdigest()


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package}"


# -- files ----------------------------------------------------------------------------------------


def directory() -> Path | None:
    """Return the directory of the cache; None if it is disabled."""
    given = os.environ.get(VARIABLE)
    if given is None:
        return usual_directory()
    return None if given.lower() in ("", "off") else Path(given)


def usual_directory() -> Path | None:
    """Return the directory of the user's caches for daesolve; None if there is no home."""
    named, usual = {
        "win32": ("LOCALAPPDATA", "~/AppData/Local"),
        "darwin": ("", "~/Library/Caches"),
    }.get(sys.platform, ("XDG_CACHE_HOME", "~/.cache"))
    try:
        return Path(os.environ.get(named) or usual).expanduser() / "daesolve"
    except RuntimeError:  # There is no home directory.
        return None


def load(key: str) -> bytes | None:
    """Return the entry of a key, a word; None if there is no complete one."""
    place = directory()
    if place is None:
        return None
    path = place / (key + SUFFIX)
    try:
        stored = path.read_bytes()
        checksum, content = stored[:32], stored[32:]
        if hashlib.sha256(content).digest() != checksum:
            return None
        os.utime(path)
        return content
    except OSError:
        return None


def store(key: str, content: bytes) -> None:
    """Store an entry under a key, a word, if there is a place to write."""
    place = directory()
    if place is None:
        return
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest())
                file.write(content)
            os.replace(name, place / (key + SUFFIX))
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
        _shrink(place)
    except OSError:
        return


def forget() -> None:
    """Remove all entries."""
    place = directory()
    for path in place.glob("*" + SUFFIX) if place is not None else ():
        with suppress(OSError):
            path.unlink()


def _shrink(place: Path) -> None:
    """Remove entries until the others take at most `MOST_BYTES`."""
    entries: list[tuple[float, int, Path]] = []
    for path in place.glob("*" + SUFFIX):
        with suppress(OSError):  # Another process removed it.
            status = path.stat()
            entries.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= MOST_BYTES:
            return
        with suppress(OSError):
            path.unlink()
        total -= size

"""A cache on disk for results that take long to compute and never change.

Each entry is a file with the digest of its content. Unreadable or incomplete files count as
missing. Files are written under a temporary name and then moved, so several processes may write at
once. The cache is optional: if nothing can be written, nothing is cached.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

VARIABLE = "DAESOLVE_CACHE"
"""The environment variable with the directory; `off` disables the cache."""
MOST_BYTES = 200_000_000
"""The largest size of all entries together; the least recently used ones are removed first."""
SUFFIX = ".kept"


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

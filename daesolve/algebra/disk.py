"""A place on disk for what takes long to find and is the same every time: bytes by a key.

Each entry is a file with the digest of its content. What cannot be read, or is not whole, is not
there. It is written beside its place and then moved there, so that processes may do so at once.
Nothing depends on it: where nothing can be written nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

PLACE = "DAESOLVE_CACHE"
"""The environment's variable with the directory; `off` keeps nothing."""
MOST_BYTES = 200_000_000
"""Of all entries; those that were used longest ago go first."""
SUFFIX = ".kept"


def directory() -> Path | None:
    """Return where entries are kept; None where that is turned off."""
    given = os.environ.get(PLACE)
    if given is not None:
        return None if given.lower() in ("", "off") else Path(given)
    named, usual = {
        "win32": ("LOCALAPPDATA", "~/AppData/Local"),
        "darwin": ("", "~/Library/Caches"),
    }.get(sys.platform, ("XDG_CACHE_HOME", "~/.cache"))
    try:
        return Path(os.environ.get(named) or usual).expanduser() / "daesolve"
    except RuntimeError:  # there is no home
        return None


def kept(key: str) -> bytes | None:
    """Return what was kept by this key, a word; None where there is nothing whole."""
    place = directory()
    if place is None:
        return None
    path = place / (key + SUFFIX)
    try:
        stored = path.read_bytes()
        digest, content = stored[:32], stored[32:]
        if hashlib.sha256(content).digest() != digest:
            return None
        os.utime(path)
        return content
    except OSError:
        return None


def keep(key: str, *parts: bytes) -> None:
    """Keep something by a key, a word, if there is a place to write: its parts one by one."""
    place = directory()
    if place is None:
        return
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(digest.digest())
                file.writelines(parts)
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
    """Remove entries until the others take no more than `MOST_BYTES`."""
    known: list[tuple[float, int, Path]] = []
    for path in place.glob("*" + SUFFIX):
        with suppress(OSError):  # another process removed it
            found = path.stat()
            known.append((found.st_mtime, found.st_size, path))
    total = sum(size for _, size, _ in known)
    for _, size, path in sorted(known):
        if total <= MOST_BYTES:
            return
        with suppress(OSError):
            path.unlink()
        total -= size

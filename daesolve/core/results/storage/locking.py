"""One process at a time writes a run."""

from __future__ import annotations

import errno
import getpass
import os
import socket
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daesolve.core.encoding import from_json, to_json
from daesolve.core.results.storage.files import not_stored, remove, store
from daesolve.errors import LockedRunError

if TYPE_CHECKING:
    from filelock import BaseFileLock

# Somebody who only looks whether the lock is free holds it for some microseconds.
PATIENCE = 0.1


def acquire(directory: Path) -> tuple[BaseFileLock, str | None]:
    """Take the lock of a run, and return in words what an earlier process left behind, if anything.

    Raises
    ------
    LockedRunError
        Another process holds it, or one on another host may hold it.
    StorageError
        The lock cannot be written.
    """
    from filelock import Timeout

    lock = _lock(directory)
    try:
        lock.acquire(timeout=PATIENCE, poll_interval=PATIENCE / 20)
    except Timeout:
        raise LockedRunError(
            f"{str(directory)!r} is being written by {_named(writer(directory))}: wait until "
            "it ends, or end it"
        ) from None
    except OSError as error:
        raise not_stored(directory / "lock", error) from error
    try:
        taken_over = _left(directory)
        store({directory / "writer.json": to_json(_this_process(), indent=2)})
    except BaseException:
        lock.release()
        raise
    return lock, taken_over


def release(directory: Path, lock: BaseFileLock) -> None:
    """Release the lock.

    If writer.json cannot be removed, it is later recognised as a leftover.
    """
    with suppress(OSError):
        remove([directory / "writer.json"])
    lock.release()


def writer(directory: Path) -> dict[str, Any] | None:
    """Return the process that writes a run, or was killed while writing; empty if unreadable."""
    try:
        return from_json((directory / "writer.json").read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}


def is_written(directory: Path) -> bool:
    """Return whether a process is writing the run; one on another host is assumed to."""
    from filelock import Timeout

    known = writer(directory)
    if known is None:
        return False
    if known.get("host", socket.gethostname()) != socket.gethostname():
        return True
    try:
        with _lock(directory).acquire(timeout=0):
            return False
    except Timeout:
        return True
    except OSError as error:  # without the permission to lock, what is written there counts
        return error.errno != errno.EROFS


def _lock(directory: Path) -> BaseFileLock:
    from filelock import FileLock

    return FileLock(directory / "lock", thread_local=False)


def _left(directory: Path) -> str | None:
    """Report what an earlier process left; refuse if it may still run on another host."""
    before = writer(directory)
    if before is None:
        return None
    if before.get("host", socket.gethostname()) != socket.gethostname():
        raise LockedRunError(
            f"{str(directory)!r} may still be written by {_named(before)}, which is not "
            "visible from here: if it no longer runs, delete "
            f"{str(directory / 'writer.json')!r}"
        )
    return f"{_named(before)} ended without closing the run"


def _named(process: dict[str, Any] | None) -> str:
    if not process:
        return "another process"
    started = process.get("process_started")
    return (
        f"process {process.get('process')} of {process.get('user')} on {process.get('host')} "
        f"since {process.get('since')}" + (f" (it started {started})" if started else "")
    )


def _this_process() -> dict[str, Any]:
    return {
        "process": os.getpid(),
        "process_started": _process_started(),
        "host": socket.gethostname(),
        "user": _user(),
        "since": _iso(datetime.now(UTC)),
    }


def _process_started() -> str | None:
    """Return when this process began, by which another of the same number is distinguished from it.

    proc(5): field 22 of `stat` counts clock ticks since the boot, whose time is `btime`.
    """
    try:
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        lines = Path("/proc/stat").read_text(encoding="utf-8").splitlines()
    except OSError:  # only Linux has these files
        return None
    boot = next(int(line.split()[1]) for line in lines if line.startswith("btime"))
    return _iso(datetime.fromtimestamp(boot + int(fields[19]) / os.sysconf("SC_CLK_TCK"), UTC))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user may have no name
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")

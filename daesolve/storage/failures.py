"""What can be wrong with a run on disk."""

from __future__ import annotations

import errno
import shlex
from pathlib import Path

from daesolve.errors import DaesolveError


class ArchiveError(DaesolveError):
    """Base of every error about a run on disk."""


class NotARunError(ArchiveError, ValueError):
    """A directory that holds no run."""


class FormatError(ArchiveError, ValueError):
    """A run that is written in another way than this version reads, or whose manifest is spoilt."""


class MissingCheckpointError(ArchiveError, LookupError):
    """A part of a run has no checkpoint."""


class TornPartError(ArchiveError, RuntimeError):
    """A file of a committed part is missing, or is not what was written."""


class LockedRunError(ArchiveError, RuntimeError):
    """Another process writes the run, or may do so."""


class StorageError(ArchiveError, OSError):
    """A file could not be written; what had been committed before is whole."""


def not_stored(path: Path, error: OSError) -> StorageError:
    """Build the error for a file that could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "free some space"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        remedy = "it takes the permission to write there"
    else:
        remedy = "look after the disk"
    return StorageError(
        f"{str(path)!r} could not be written ({error.strerror or error}): {remedy}; what was "
        "committed before is whole"
    )


def resuming(directory: Path) -> str:
    """Return the command that goes on with a run."""
    return f"daesolve resume {shlex.quote(str(directory))}"


def in_one_line(error: Exception) -> str:
    """Return what an error says; those of Arrow have several lines."""
    return " ".join(str(error).split())

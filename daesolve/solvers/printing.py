"""What compiled Fortran prints where it fails, kept off the standard output.

It writes to the file descriptor, past `sys.stdout`; where that is a regular file, from a buffer at
the end of the process. So the descriptor leads elsewhere while the Fortran runs, its buffer is
written out there, and all that is not its own is handed on. What prints meanwhile in another thread
appears when the Fortran has returned; a program that is started meanwhile in another thread keeps
the descriptor as it is then.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import sys
import tempfile
import threading
from collections.abc import Generator
from typing import BinaryIO

STANDARD_OUTPUT = 1
"""The file descriptor; Python's own `sys.stdout` may be anything else."""
_turning = threading.RLock()
"""Held while the descriptor is turned away, which is one for all threads."""
_turned: list[int] = []
"""Where the descriptor led, while it is turned away: what holds the lock may come here again."""


@functools.cache
def _aside(process: int) -> BinaryIO:
    """Return a file of a process: one that was forked must not share it.

    It is appended to: gfortran seeks before it writes, for the file that it knows.
    """
    number, path = tempfile.mkstemp(prefix=f"daesolve-{process}-")
    os.close(number)
    stream = open(path, "a+b", buffering=0)  # noqa: SIM115 - for as long as the process
    with contextlib.suppress(PermissionError):  # of Windows, where it is open
        os.unlink(path)
    return stream


@functools.cache
def _run_time_library(extension: str) -> ctypes.CDLL | None:
    """Return an extension together with gfortran's library, if it is linked with that."""
    try:
        library = ctypes.CDLL(sys.modules[extension].__file__)
    except (KeyError, OSError):
        return None
    return library if hasattr(library, "_gfortran_flush_i4") else None


def _flush(extension: str) -> None:
    """Write out what Python and the Fortran hold."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # it may be any object
        sys.stdout.flush()
    library = _run_time_library(extension)
    if library is not None:
        library._gfortran_flush_i4(None)


def _write(text: bytes) -> None:
    """Write it all to the descriptor, as far as anybody reads there."""
    with contextlib.suppress(OSError):
        while text:
            text = text[os.write(STANDARD_OUTPUT, text) :]


@contextlib.contextmanager
def unprinted(extension: str, pattern: re.Pattern[bytes]) -> Generator[None]:
    """Keep off the standard output what matches, and is printed within the block.

    Parameters
    ----------
    extension
        The module with the Fortran, by its full name.
    pattern
        What is not to appear.
    """
    with _turning:
        try:
            kept = None if _turned else os.dup(STANDARD_OUTPUT)
        except OSError:  # it is closed
            kept = None
        if kept is None:
            yield
            return
        _turned.append(kept)
        try:
            aside = _aside(os.getpid())
            _flush(extension)
            os.dup2(aside.fileno(), STANDARD_OUTPUT)
            yield
        finally:
            try:
                _flush(extension)
            finally:
                if _turned:  # else this is a process forked meanwhile, and the text is the parent's
                    _turn_back()
                    _hand_on(pattern)


def _turn_back() -> None:
    """Let the descriptor lead where it led."""
    while _turned:
        os.dup2(_turned[-1], STANDARD_OUTPUT)
        os.close(_turned.pop())


def _hand_on(pattern: re.Pattern[bytes]) -> None:
    """Write what was printed aside, without what matches."""
    aside = _aside(os.getpid())
    if os.fstat(aside.fileno()).st_size:
        aside.seek(0)
        printed = aside.read()
        aside.truncate(0)
        _write(pattern.sub(b"", printed))


def _forked() -> None:
    """Turn back in a process that was forked: the thread that would is not in it, but its lock."""
    global _turning
    _turning = threading.RLock()
    _turn_back()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_forked)

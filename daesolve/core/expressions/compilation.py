"""Compilation by numba of code that is compiled once per machine, not per model.

A function that is compiled once is so on its first call, which takes seconds. For a small model the
same function takes milliseconds uncompiled: `for_size` chooses by how much there is to do. All that
such a function calls is an `inline_part`, which runs uncompiled within what is not compiled, or is
compiled once itself. What has another form that needs no compilation takes that one `for_now`.

No result depends on what is chosen. A function gives the same bits uncompiled if it only compares,
adds, multiplies, divides and takes roots, and takes any other function, such as a power, from
`math`, which calls the same library as numba. A power written with `**` may be rounded differently.
"""
# numba's decorators have no types.
# pyright: basic, reportAttributeAccessIssue=false

from __future__ import annotations

import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numba.core import config, event
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import register_jitable

from daesolve.core.expressions import disk_cache

OPTIONS = {"error_model": "numpy", "nogil": True}
SMALL = 4000
"""The size below which tables are made uncompiled: each takes at most a tenth of a second."""
ENOUGH = 10 * SMALL
"""The size of all that a process does uncompiled with one function."""
PATIENCE = 1.0
"""How long a process does in another form what a compiled function would do, s."""
INSTALLED = {"site-packages", "dist-packages"}
"""The names of folders of installed packages."""

LOG = logging.getLogger("daesolve.compiling")
"""Receives a line before a long compilation."""
_long: dict[Any, tuple[str, float]] = {}
_done: Counter[Any] = Counter()
_waited: dict[Any, float] = defaultdict(float)
_ready: set[Any] = set()


class _Announcement(event.Listener):
    """Says what is compiled, where that takes long; numba asks its disk first."""

    def on_start(self, event):
        known = _long.get(event.data["dispatcher"].py_func)
        if known is not None:
            LOG.info("compiling %s, once per machine: about %g s", *known)

    def on_end(self, event):
        """Say nothing."""


event.register("numba:compile", _Announcement())


def announce(what: str, seconds: float) -> Any:
    """Let a function that takes seconds to compile be announced before.

    Parameters
    ----------
    what
        What it does, for the user.
    seconds
        How long it takes on one core, s.
    """

    def known(function):
        _long[function] = what, seconds
        return function

    return known


def compile_once(function):
    """Compile a function on its first call, and cache it on disk if possible.

    The cache includes the functions that it calls, but numba checks only the age of the function's
    own file. Cached functions therefore take a `version_of` all files as an argument.
    """
    try:
        with _outside_packages(Path(function.__code__.co_filename)):
            compiled = njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # there is nowhere to write
        return njit(**OPTIONS)(function)
    compiled.compile = _in_turn(compiled)
    return compiled


@contextmanager
def _outside_packages(source: Path) -> Iterator[None]:
    """Let numba cache what is installed among the user's caches, not beside the source.

    An installer does not remove what it did not install: a folder that is left would hide the same
    package where it is installed from its sources next.
    """
    place = disk_cache.directory() or disk_cache.usual_directory()
    installed = not INSTALLED.isdisjoint(source.parts)
    if not installed or place is None or config.CACHE_DIR:
        yield
        return
    config.CACHE_DIR = str(place / "compiled")
    try:
        yield
    finally:
        config.CACHE_DIR = ""


def _in_turn(compiled):
    """Let processes that start together compile once: the others wait, and load what is cached.

    Without turns each would also overwrite the index in which another has entered its result.
    """
    compile_anew, path = compiled.compile, _lock_of(compiled)

    def compile_in_turn(sig):
        from filelock import FileLock

        # numba's own lock comes first, or two threads could each wait for what the other holds.
        with global_compiler_lock, ExitStack() as turn:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                turn.enter_context(FileLock(path))
            except OSError:  # nothing can be locked there, but perhaps read
                pass
            return compile_anew(sig)

    return compile_in_turn


def inline_part(function):
    """Let compiled functions call this one, which stays as it is for everyone else."""
    return register_jitable(**OPTIONS)(function)


def for_size(function: Any, size: int) -> Any:
    """Return a compiled function, or the same one uncompiled while its tasks are small and few.

    Parameters
    ----------
    function
        One that gives the same bits either way.
    size
        How many values it goes through, about.
    """
    return function.py_func if is_little(function, size) else function


def is_little(function: Any, size: int) -> bool:
    """Count a task, and return whether it and those before are too little to compile for them."""
    if size >= SMALL or _done[function] >= ENOUGH:
        return False
    _done[function] += size
    return True


def version_of(*modules):
    """Return a value whose type differs if the source of one of these modules differs."""
    digest = hashlib.sha256()
    for module in modules:
        digest.update(Path(module.__file__).read_bytes())
    return np.empty(0, dtype=[(f"v{digest.hexdigest()[:16]}", np.int8)])


def for_now(function: Any, seconds: Callable[..., float], *task: Any) -> bool:
    """Return whether to do a task in another form, which gives the same bits.

    Once that has taken a process as long as compiling, or another process has compiled the
    function, the function itself is used.

    Parameters
    ----------
    function
        The compiled function.
    seconds, task
        Returns how long the task takes in the other form, about, s, from what describes it.
    """
    if function in _ready:
        return False
    known = function in _waited
    _waited[function] += seconds(*task)
    if _waited[function] > PATIENCE or (not known and _is_compiled(function)):
        _ready.add(function)
        return False
    return True


def _is_compiled(function: Any) -> bool:
    """Return whether this process or another one has compiled a function, where that is kept."""
    if function.signatures:
        return True
    return function.stats.cache_path is not None and _lock_of(function).exists()


def _lock_of(compiled: Any) -> Path:
    """Return the file that is made where a compiled function is cached."""
    function = compiled.py_func
    return Path(compiled.stats.cache_path, f"{function.__module__}.{function.__qualname__}.lock")

"""Results from large functions, cached on disk for other processes under their digest."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar, cast

import casadi as ca

from daesolve.core.expressions import disk
from daesolve.core.expressions.plain_data import Classes, NotPlainError, packed, unpacked
from daesolve.core.expressions.program import digest

Made = TypeVar("Made")
PACKAGES = ("casadi", "numpy", "scipy", "numba", "heyoka", "scikit-sundae", "assimulo")
"""The packages on which results and the choice of solvers depend."""
FROM = 1000
"""The number of instructions from which reading a result is faster than making it."""


def kept_of(
    what: str, functions: Sequence[ca.Function], classes: Classes, make: Callable[[], Made]
) -> Made:
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
    if size < FROM or disk.directory() is None:
        return make()
    key = key_of(what, *map(digest, functions))
    known = read(key, classes)
    if known is not None:
        return cast("Made", known)
    made = make()
    write(key, made, classes)
    return made


def read(key: str, classes: Classes) -> object:
    """Return the cached result of a key; None if there is none."""
    content = disk.kept(key)
    return None if content is None else unpacked(content, classes)


def write(key: str, value: object, classes: Classes) -> None:
    """Store a result under a key, if it is plain data and there is a place."""
    if disk.directory() is None:
        return
    try:
        parts = packed(value, classes)
    except NotPlainError:
        return
    disk.keep(key, *parts)


def key_of(*words: str) -> str:
    """Return the key for some words and the program that makes the result."""
    return hashlib.sha256("\n".join([*words, _program()]).encode()).hexdigest()


@cache
def _program() -> str:
    """Return the digest of daesolve's files, by size and age, and of the packages it uses."""
    found = hashlib.sha256()
    root = Path(__file__).parents[2]
    for path in sorted(root.rglob("*.py")):
        known = path.stat()
        found.update(f"{path.relative_to(root)} {known.st_size} {known.st_mtime_ns}\n".encode())
    found.update(
        " ".join([*map(_version, PACKAGES), platform.machine(), platform.python_version()]).encode()
    )
    return found.hexdigest()


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package}"

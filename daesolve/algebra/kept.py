"""What large functions become, kept on disk for other processes: it is found by their digest."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar, cast

import casadi as ca

from daesolve.algebra import disk
from daesolve.algebra.plain_data import Classes, NotPlainError, packed, unpacked
from daesolve.algebra.program import digest

Made = TypeVar("Made")
PACKAGES = ("casadi", "numpy", "scipy", "numba", "heyoka", "scikit-sundae", "assimulo")
"""On which it depends what is made, or which solver is chosen."""
FROM = 1000
"""Instructions from which what is made of a function takes longer to make than to read."""


def kept_of(
    what: str, functions: Sequence[ca.Function], classes: Classes, make: Callable[[], Made]
) -> Made:
    """Return what is made of functions, as it was kept if they are large.

    Parameters
    ----------
    what
        What is made of them, with all that this depends on besides.
    functions
        The functions.
    classes
        The dataclasses that it consists of.
    make
        Makes it.
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
    """Return what was kept by a key; None where nothing is."""
    content = disk.kept(key)
    return None if content is None else unpacked(content, classes)


def write(key: str, value: object, classes: Classes) -> None:
    """Keep something by a key, if it is plain data and there is a place."""
    if disk.directory() is None:
        return
    try:
        parts = packed(value, classes)
    except NotPlainError:
        return
    disk.keep(key, *parts)


def key_of(*words: str) -> str:
    """Return the key of what depends on these words, and on the program that makes it."""
    return hashlib.sha256("\n".join([*words, _program()]).encode()).hexdigest()


@cache
def _program() -> str:
    """Return the digest of daesolve's files, by size and age, and of what it computes with."""
    found = hashlib.sha256()
    root = Path(__file__).parents[1]
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

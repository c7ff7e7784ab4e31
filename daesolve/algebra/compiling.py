"""Compilation by numba of code that is compiled once per machine, not per model."""
# numba's decorators have no types.
# pyright: basic

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numba import njit

OPTIONS = {"error_model": "numpy", "nogil": True}


def kept(function):
    """Compile a function on its first call, and cache it on disk if possible.

    The cache includes the functions that it calls, but numba checks only the age of the function's
    own file. Cached functions therefore take a `version_of` all files as an argument.
    """
    try:
        return njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # there is nowhere to write
        return njit(**OPTIONS)(function)


def version_of(*modules):
    """Return a value whose type differs if the source of one of these modules differs."""
    digest = hashlib.sha256()
    for module in modules:
        digest.update(Path(module.__file__).read_bytes())
    return np.empty(0, dtype=[(f"v{digest.hexdigest()[:16]}", np.int8)])

"""How numba compiles what is compiled once for a machine, not for a model."""
# numba's decorators have no types.
# pyright: basic

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numba import njit

OPTIONS = {"error_model": "numpy", "nogil": True}


def kept(function):
    """Compile a function when it is called, and keep that on disk where there is a place.

    What it calls is kept with it. numba looks at the age of the function's own file alone: so a
    `version_of` all files is an argument of what is kept.
    """
    try:
        return njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # there is nowhere to write
        return njit(**OPTIONS)(function)


def version_of(*modules):
    """Return a value that has another type where the source of one of these modules differs."""
    digest = hashlib.sha256()
    for module in modules:
        digest.update(Path(module.__file__).read_bytes())
    return np.empty(0, dtype=[(f"v{digest.hexdigest()[:16]}", np.int8)])

"""Exported C, compiled to a library and called."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from daesolve.export.c_project import FLAGS

COMPILER = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler: cc, gcc or clang")


def built(source: Path, *flags: str) -> ctypes.CDLL:
    """Compile a source to a library, warnings as errors, and load it."""
    library = source.with_suffix(".so")
    command = [str(COMPILER), *FLAGS.split(), "-Werror", *flags, "-shared", "-fPIC"]
    subprocess.run([*command, str(source), "-lm", "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def called(library: ctypes.CDLL, name: str, time: float, *arrays: np.ndarray) -> None:
    """Call a function of a time and of arrays, the last of which it fills."""
    pointers = [array.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for array in arrays]
    getattr(library, name)(ctypes.c_double(time), *pointers)

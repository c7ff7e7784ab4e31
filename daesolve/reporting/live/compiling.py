"""Compiles the unit in a page to WebAssembly, with the compiler that the package ziglang brings."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import casadi as ca

from daesolve.errors import MissingPackageError, UnsupportedError
from daesolve.reporting.live.drawings import LiveDrawing
from daesolve.reporting.live.posing import LiveRun

SHIM = "page.c"
COMPILER = "ziglang"
FLAGS = (
    "-target", "wasm32-wasi", "-mexec-model=reactor", "-std=c99", "-O2", "-ffp-contract=off", "-s",
)  # fmt: skip
"""Numbers are those of the unit: no products are fused with sums."""
ROWS = 64
"""The most rows of a motion that a page takes at once."""


def check_compiler() -> None:
    """Refuse to go on without the compiler.

    Raises
    ------
    MissingPackageError
        The package is not installed; the message says how to install it.
    """
    if find_spec(COMPILER) is None:
        raise MissingPackageError(COMPILER, "live")


def compiled(live: LiveRun, drawing: LiveDrawing) -> bytes:
    """Return the WebAssembly module of a page, which contains the unit of a run and its drawing.

    Raises
    ------
    MissingPackageError, UnsupportedError
        There is no compiler, or it fails; the message ends with its last words.
    """
    check_compiler()
    functions = [live.drift, drawing.function, drawing.added, live.following[0]]
    texts = {
        **live.unit.texts,
        SHIM: files("daesolve.reporting.live").joinpath(SHIM).read_text("utf-8"),
        "page.h": _sizes(live, drawing, functions),
        "drawing.c": _code(functions),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        made = Path(folder, "page.wasm")
        command = [sys.executable, "-m", COMPILER, "cc", *FLAGS, SHIM, "drawing.c", "-o", made.name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode or not made.is_file():
            last = " ".join(done.stderr.split())[-300:]
            raise UnsupportedError(f"{COMPILER} does not compile the unit of the page: {last}")
        return made.read_bytes()


def _sizes(live: LiveRun, drawing: LiveDrawing, functions: Sequence[ca.Function]) -> str:
    numbers = {
        "DRIFT": live.drift.nnz_out(0),
        "DRAWN": drawing.function.nnz_out(0),
        "SUMS": len(drawing.counted),
        "WORK": max(function.sz_w() for function in functions),
        "INTEGERS": max(function.sz_iw() for function in functions),
        "ROWS": ROWS,
        "POSITIONS": live.prepared.dynamics.position_count,
    }
    counted = ", ".join(map(str, drawing.counted or (-1,)))
    return (
        "".join(f"#define PAGE_{name} {number}\n" for name, number in numbers.items())
        + f"static const int PAGE_COUNTED[] = {{{counted}}};\n"
    )


def _code(functions: Sequence[ca.Function]) -> str:
    generator = ca.CodeGenerator("drawing.c", {"with_header": False})
    for function in functions:
        generator.add(function)
    return generator.dump()

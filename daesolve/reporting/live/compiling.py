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
from daesolve.export.fmu.exporting import Unit

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


def compiled(unit: Unit, drift: ca.Function, drawn: ca.Function, derived: ca.Function) -> bytes:
    """Return the WebAssembly module of a page.

    Parameters
    ----------
    unit
        Its unit.
    drift
        (t, x, p) -> the residuals that the page shows, named "page_drift".
    drawn
        (t, x, p, shown) -> the numbers of its drawing, named "page_drawn".
    derived
        p -> p with the values that follow from others, named "page_derived".

    Raises
    ------
    MissingPackageError, UnsupportedError
        There is no compiler, or it fails; the message ends with its last words.
    """
    check_compiler()
    texts = {
        **unit.texts,
        SHIM: files("daesolve.reporting.live").joinpath(SHIM).read_text("utf-8"),
        "page.h": _sizes(unit, drift, drawn, derived),
        "drawing.c": _code([drift, drawn, derived]),
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


def _sizes(unit: Unit, drift: ca.Function, drawn: ca.Function, derived: ca.Function) -> str:
    functions = drift, drawn, derived
    numbers = {
        "DRIFT": drift.nnz_out(0),
        "DRAWN": drawn.nnz_out(0),
        "WORK": max(function.sz_w() for function in functions),
        "INTEGERS": max(function.sz_iw() for function in functions),
        "ROWS": ROWS,
        "POSITIONS": unit.prepared.dynamics.position_count,
    }
    return "".join(f"#define PAGE_{name} {number}\n" for name, number in numbers.items())


def _code(functions: Sequence[ca.Function]) -> str:
    generator = ca.CodeGenerator("drawing.c", {"with_header": False})
    for function in functions:
        generator.add(function)
    return generator.dump()

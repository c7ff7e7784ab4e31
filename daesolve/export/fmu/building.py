"""Builds a unit from C: the compiler of this machine, and the archive."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import casadi as ca

from daesolve.errors import MissingBackendError, StorageError, UnsupportedError

COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off")
"""Numbers are the same wherever the unit is built: no products are fused with sums."""
RUNTIME = (
    "unit.c", "unit.h", "fmi3.h", "coefficients.h", "steps.c", "functions.c", "guards.c",
    "events.c", "decisions.c", "contacts.c", "start.c", "interface.c", "exchange.c",
    "derivatives.c", "saved.c",
)  # fmt: skip
"""Source files that every unit has besides its own equations."""
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the archive, so that the same unit has the same bytes."""


def compiler() -> str:
    """Return the C compiler of this machine: that of the variable CC, else the usual ones.

    Raises
    ------
    MissingBackendError
        There is none; the message says how to install one.
    """
    asked = os.environ.get("CC", "").split()
    for name in [*asked[:1], *COMPILERS]:
        found = shutil.which(name)
        if found is not None:
            return found
    adds = {
        "darwin": "xcode-select --install",
        "win32": "winget install LLVM.LLVM",
    }.get(sys.platform, "apt install gcc (or dnf install gcc)")
    raise MissingBackendError(f"a unit needs a C compiler, but none is installed here: {adds}")


def platform_tuple() -> str:
    """Return the name of this platform in FMI 3.0, such as "x86_64-linux".

    Raises
    ------
    UnsupportedError
        FMI has no name for it.
    """
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    bits = sysconfig.get_platform()
    system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}.get(sys.platform)
    if system is None or machine not in ("x86_64", "aarch64", "x86"):
        raise UnsupportedError(f"FMI does not name the platform {bits}")
    return f"{machine}-{system}"


def equations(functions: Sequence[ca.Function]) -> str:
    """Return the C code of CasADi functions."""
    generator = ca.CodeGenerator("equations.c", {"with_header": False})
    for function in functions:
        generator.add(function)
    return generator.dump()


def sources(generated: Mapping[str, str]) -> dict[str, str]:
    """Return the source files of a unit by name: its own, and those of every unit."""
    room = files("daesolve.export.fmu").joinpath("runtime")
    return {**{name: room.joinpath(name).read_text("utf-8") for name in RUNTIME}, **generated}


def token_of(texts: Mapping[str, str]) -> str:
    """Return what distinguishes a unit from others: a digest of its contents."""
    digest = hashlib.sha256()
    for name in sorted(texts):
        digest.update(f"{name}\n{texts[name]}\n".encode())
    return f"{{{digest.hexdigest()[:32]}}}"


def compiled(texts: Mapping[str, str], identifier: str) -> bytes:
    """Return the shared library of a unit.

    Parameters
    ----------
    texts
        Its source files by name.
    identifier
        The name of the library.

    Raises
    ------
    MissingBackendError, UnsupportedError
        There is no compiler, or it fails; the message ends with the last words of the compiler.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        library = Path(folder, f"{identifier}{suffix()}")
        command = [compiler(), *FLAGS, "unit.c", "-lm", "-o", library.name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode or not library.is_file():
            last = " ".join(done.stderr.split())[-300:]
            raise UnsupportedError(f"{command[0]} does not compile the unit: {last}")
        return library.read_bytes()


def suffix() -> str:
    """Return the suffix of shared libraries on this platform."""
    return {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")


def archive(path: Path, entries: Mapping[str, bytes]) -> None:
    """Write the files of a unit into an archive, completely or not at all.

    Raises
    ------
    StorageError
        It cannot be written there.
    """
    partial = path.with_name(f".{path.name}.part")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as packed:
            for name in sorted(entries):
                entry = zipfile.ZipInfo(name, EARLIEST)
                packed.writestr(entry, entries[name], zipfile.ZIP_DEFLATED)
        partial.replace(path)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)

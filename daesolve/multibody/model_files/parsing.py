"""Compiles a model file with MuJoCo's parser in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from daesolve.errors import MissingPackageError, ModelFileError
from daesolve.multibody.model_files.model import FileModel
from daesolve.multibody.model_files.sources import sources
from daesolve.multibody.model_files.urdf import unread

SECONDS = 30.0
"""The time allowed for compiling a file, s."""
SUFFIXES = (".xml", ".mjcf", ".urdf")
"""The suffixes of model files."""


def parsed(path: Path, within: Path | None = None, seconds: float = SECONDS) -> FileModel:
    """Return the model in a file.

    Parameters
    ----------
    path
        Of an MJCF or URDF file.
    within
        The directory that must contain all files of the model; None means the directory of the
        file.
    seconds
        How long it may take.

    Raises
    ------
    ModelFileError
        The file does not exist, or contains no model.
    MissingPackageError
        MuJoCo, whose parser reads it, is not installed.
    """
    sources(path, within)
    given = _model_of(path, seconds)
    for kind in ("bodies", "joints", "equalities", "actuators", "keys"):
        for entry in given[kind]:
            if not _finite(entry):
                named = f" of {entry['name']!r}" if entry["name"] else ""
                raise ModelFileError(
                    f"{path} has a number{named}, among its {kind}, that is not finite"
                )
    if not _finite(given["gravity"]):
        raise ModelFileError(f"the gravity of {path} is not finite")
    return FileModel.of({**given, "unread": unread(path)})


def _finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_finite, value.values()))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, list):
        return all(map(_finite, value))  # pyright: ignore[reportUnknownArgumentType]
    return not isinstance(value, float) or isfinite(value)


def _model_of(path: Path, seconds: float) -> dict[str, Any]:
    child = Path(__file__).with_name("child.py")
    try:
        # MuJoCo writes its log to where it is run.
        with TemporaryDirectory() as place:
            done = subprocess.run(
                [sys.executable, "-P", str(child), str(path.resolve())],
                capture_output=True,
                timeout=seconds,
                check=False,
                stdin=subprocess.DEVNULL,
                cwd=place,
            )
    except subprocess.TimeoutExpired:
        raise ModelFileError(f"{path} was not read within {seconds:g} s: it is too large") from None
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise ModelFileError(
            f"{path} cannot be read: MuJoCo's parser crashed (status {done.returncode})"
        ) from None
    if "missing" in answer:
        raise MissingPackageError(answer["missing"], "import")
    if "error" in answer:
        raise ModelFileError(f"{path} cannot be read: {answer['error']}")
    return answer["model"]

"""A model file compiled: by MuJoCo's parser, in a process of its own."""

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

SECONDS = 30.0
"""How long a file may take to be compiled."""
SUFFIXES = (".xml", ".mjcf", ".urdf")
"""How the names of model files end."""


def parsed(path: Path, within: Path | None = None, seconds: float = SECONDS) -> FileModel:
    """Return what a model file says.

    Parameters
    ----------
    path
        Of an MJCF or URDF file.
    within
        The directory that no file of the model may lie outside of; that of the file where None.
    seconds
        How long it may take.

    Raises
    ------
    ModelFileError
        There is no such file, or it holds no model.
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
    return FileModel.of(given)


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

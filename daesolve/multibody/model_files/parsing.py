"""A model file compiled: by MuJoCo's parser, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from daesolve.errors import MissingPackageError, ModelFileError
from daesolve.multibody.model_files.model import FileModel

SECONDS = 60.0
"""How long a file may take to be compiled."""
SUFFIXES = (".xml", ".mjcf", ".urdf")
"""How the names of model files end."""


def parsed(path: Path, seconds: float = SECONDS) -> FileModel:
    """Return what a model file says.

    Parameters
    ----------
    path
        Of an MJCF or URDF file.
    seconds
        How long that may take.

    Raises
    ------
    ModelFileError
        There is no such file, or it holds no model.
    MissingPackageError
        MuJoCo, whose parser reads it, is not installed.
    """
    if not path.is_file():
        raise ModelFileError(f"there is no model file {path}")
    return FileModel.of(_model_of(path, seconds))


def _model_of(path: Path, seconds: float) -> dict[str, Any]:
    child = Path(__file__).with_name("child.py")
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(child), str(path.resolve())],
            capture_output=True,
            timeout=seconds,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise ModelFileError(
            f"{path} was not read within {seconds:g} s: it is larger than a model may be"
        ) from None
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise ModelFileError(
            f"{path} cannot be read: MuJoCo's parser fell over it (status {done.returncode})"
        ) from None
    if "missing" in answer:
        raise MissingPackageError(answer["missing"], "import")
    if "error" in answer:
        raise ModelFileError(f"{path} cannot be read: {answer['error']}")
    return answer["model"]

"""Problems that stand in model files: MJCF and URDF, which are read and not executed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daesolve.multibody.model_files import FileMechanism, read
from daesolve.multibody.model_files.parsing import SUFFIXES
from daesolve.plugins.family import Case, Structure, Values

HORIZON = 10.0
"""s"""


def is_model_file(name: object) -> bool:
    """Return whether a name is that of a model file, by how it ends."""
    return isinstance(name, str | Path) and str(name).lower().endswith(SUFFIXES)


def fields_of(path: Path) -> dict[str, Any]:
    """Return the fields of the `Problem` of a model file.

    Raises
    ------
    ModelFileError, MissingPackageError
        As for `daesolve.multibody.read`.
    """
    mechanism = read(path)

    def start(values: Values, parameters: Values, structure: Structure) -> dict[str, float]:
        return mechanism.start_with(values)

    return {
        "name": path.stem,
        "title": f"The model {mechanism.title}",
        "models": {"mechanism": mechanism.system},
        "cases": _cases(mechanism),
        "start": start,
        "start_values": lambda structure: list(mechanism.start_values()),
    }


def _cases(mechanism: FileMechanism) -> list[Case]:
    starts: Mapping[str, Mapping[str, float]] = mechanism.starts
    return [Case(name, HORIZON, start=values) for name, values in starts.items()]

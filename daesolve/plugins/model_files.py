"""Problems in model files: MJCF and URDF, which are read and not executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from daesolve.core.preparation.request import Redundant
from daesolve.multibody.drawing.mechanisms import drawing_of
from daesolve.multibody.model_files import FileMechanism, FileStart, read
from daesolve.multibody.model_files.parsing import SUFFIXES
from daesolve.plugins.family import Case, Structure, Values

HORIZON = 10.0
"""s"""


def is_model_file(name: object) -> bool:
    """Return whether a name is the name of a model file, by its suffix."""
    return isinstance(name, str | Path) and str(name).lower().endswith(SUFFIXES)


def fields_of(path: Path) -> dict[str, Any]:
    """Return the fields of the `Problem` of a model file.

    Raises
    ------
    ModelFileError, MissingPackageError
        As in `daesolve.multibody.read`.
    """
    mechanism = read(path)

    def start(values: Values, parameters: Values, structure: Structure) -> dict[str, float]:
        return mechanism.start_with(values)

    def derived(values: Values, parameters: Values, structure: Structure) -> dict[str, float]:
        return mechanism.discrete_values_with(values)

    def start_values(structure: Structure) -> list[str]:
        return list(mechanism.start_values)

    return {
        "name": path.stem,
        "title": f"The model file {path.name}",
        "models": {"mechanism": mechanism.system},
        "cases": _cases(mechanism),
        "start": start,
        "start_values": start_values,
        "derived": derived,
        "drawing": drawing_of(mechanism),
    }


def _cases(mechanism: FileMechanism) -> list[Case]:
    """Return the starts of a model: where nothing is moved, and its keyframes."""
    name = "default" if "default" not in mechanism.starts else "unmoved"
    closed: Redundant = "minimum-norm" if mechanism.has_loops else "error"
    starts = {name: FileStart({}, {}), **mechanism.starts}
    return [
        Case(name, HORIZON, start=start.values, inputs=start.inputs, redundant=closed)
        for name, start in starts.items()
    ]

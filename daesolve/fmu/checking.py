"""What FMPy finds at a unit: its schema, names, units and structure."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from daesolve.errors import MissingPackageError, OutOfRangeError


def findings(path: str | Path) -> tuple[str, ...]:
    """Return what FMPy's check of a unit finds; nothing where it is as the standard says.

    Parameters
    ----------
    path
        Of the unit.

    Raises
    ------
    OutOfRangeError
        There is no such file.
    MissingPackageError
        FMPy is not installed; the sentence says how to install it.
    """
    if not Path(path).is_file():
        raise OutOfRangeError(f"the file {path} does not exist")
    try:
        validation: Any = import_module("fmpy.validation")
    except ImportError:
        raise MissingPackageError("fmpy", "fmi") from None
    return tuple(map(str, validation.validate_fmu(str(path))))

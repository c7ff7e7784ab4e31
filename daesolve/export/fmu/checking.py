"""Checks a unit with FMPy: its schema, names, units and structure."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from daesolve.errors import MissingPackageError, OutOfRangeError


def findings(path: str | Path) -> tuple[str, ...]:
    """Return the findings of FMPy's check of a unit; empty if it conforms to the standard.

    Parameters
    ----------
    path
        Of the unit.

    Raises
    ------
    OutOfRangeError
        There is no such file.
    MissingPackageError
        FMPy is not installed; the message says how to install it.
    """
    if not Path(path).is_file():
        raise OutOfRangeError(f"the file {path} does not exist")
    try:
        validation: Any = import_module("fmpy.validation")
    except ImportError:
        raise MissingPackageError("fmpy", "fmi") from None
    return tuple(map(str, validation.validate_fmu(str(path))))

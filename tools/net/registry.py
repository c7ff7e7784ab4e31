"""The runs of the net by name."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from daesolve.errors import MissingBackendError, MissingPackageError
from tools.net.fingerprints import Fingerprint

Net = Callable[[Path], Fingerprint]
"""Runs in an empty directory and returns a fingerprint."""

NET: dict[str, Net] = {}


def named(name: str) -> Callable[[Net], Net]:
    """Add a function to the net under a name.

    Raises
    ------
    ValueError
        Another run has this name.
    """

    def put(run: Net) -> Net:
        if name in NET:
            raise ValueError(f"there are two runs of the net called {name!r}")
        NET[name] = run
        return run

    return put


def fingerprint(name: str) -> Fingerprint:
    """Run the entry with a name, and return its fingerprint; a warning counts as an error.

    The fingerprint of a run that raises is its error; a run whose package is missing is skipped.
    """
    with _directory() as scratch:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = NET[name](scratch)
        except (MissingBackendError, MissingPackageError) as error:
            found = {"skipped": str(error)}
        except Exception as error:
            found = {"raised": type(error).__name__, "message": str(error)}
        return _without(found, str(scratch))


@contextmanager
def _directory() -> Iterator[Path]:
    scratch = Path(tempfile.mkdtemp(prefix="net-")).resolve()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _without(value: Any, scratch: str) -> Any:
    """Return a fingerprint whose sentences do not name the directory of the run."""
    if isinstance(value, dict):
        return {name: _without(entry, scratch) for name, entry in value.items()}
    if isinstance(value, list):
        return [_without(entry, scratch) for entry in value]
    return value.replace(scratch, "SCRATCH") if isinstance(value, str) else value

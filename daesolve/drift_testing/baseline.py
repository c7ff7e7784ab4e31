"""An earlier drift.json, and what has become worse since."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daesolve.drift_testing.errors import DriftError
from daesolve.drift_testing.limits import exceeds

FORMAT = 1
WORSE = 10.0
"""Times the drift of the baseline that is too much."""
FLOOR = 1e-15
"""What a drift counts at least: below, the last bits of another processor decide."""

Sizes = Mapping[str, float | None]
Baseline = Mapping[tuple[str, int], Sizes]
"""(test, number of the run in it) -> largest relative residual by name; None is not finite."""


def read_baseline(file: Path) -> Baseline:
    """Read the drift.json of an earlier report.

    Raises
    ------
    DriftError
        It is missing, unreadable, or no drift report.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DriftError(f"the baseline {str(file)!r} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise DriftError(f"the baseline {str(file)!r} is not JSON: {error}") from None
    try:
        if found["format"] != FORMAT:
            raise DriftError(
                f"the baseline {str(file)!r} has the format {found['format']!r}, but this version "
                f"of daesolve reads {FORMAT}: write it anew with --drift-report"
            )
        return {(run["test"], run["number"]): _sizes(run) for run in found["runs"]}
    except (TypeError, KeyError, AttributeError):
        raise DriftError(
            f"{str(file)!r} is no drift report: a baseline is the drift.json that --drift-report "
            "wrote"
        ) from None


def _sizes(run: Mapping[str, Any]) -> Sizes:
    sizes = {name: entry["max_relative"] for name, entry in run["drift"].items()}
    if not all(size is None or isinstance(size, int | float) for size in sizes.values()):
        raise TypeError
    return sizes


def worse(drift: Mapping[str, Mapping[str, Any]], before: Sizes) -> list[str]:
    """Name the residuals that are more than `WORSE` times what they were, or `FLOOR`."""
    return [
        name
        for name, entry in drift.items()
        if (old := before.get(name)) is not None
        and exceeds(entry["max_relative"], WORSE * max(old, FLOOR))
    ]

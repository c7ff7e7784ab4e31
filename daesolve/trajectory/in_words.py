"""A run in words: the lines that `print(run)` shows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from daesolve.trajectory.results import Drift, Verification

MOST_RESIDUALS = 30
"""The number of rows in `str` of a trajectory."""
MOST_MOVED = 4
"""The number of changed start values that it names."""
MOVED = 1e-9
"""The relative change of a start value from which it is mentioned."""


def start_lines(start: Mapping[str, tuple[float, float]], units: Mapping[str, str]) -> list[str]:
    """Say which start values were moved to satisfy the goals, the largest move first."""

    def way(name: str) -> float:
        given, value = start[name]
        return abs(value - given)

    moved = [name for name in start if way(name) > MOVED * max(1.0, abs(start[name][0]))]
    names = sorted(moved, key=way, reverse=True)
    listed = [
        f"{name} from {start[name][0]:g} to {start[name][1]:g} {units.get(name, '')}".rstrip()
        for name in names[:MOST_MOVED]
    ]
    rest = [f"{len(names) - MOST_MOVED} more"] if len(names) > MOST_MOVED else []
    return [f"the start was moved: {', '.join([*listed, *rest])}"] if listed else []


def drift_lines(drift: Mapping[str, Drift]) -> list[str]:
    """Return a table of residuals, the largest first."""

    def farthest(name: str) -> float:
        size = drift[name].max_relative
        return np.inf if np.isnan(size) else size

    names = sorted(drift, key=farthest, reverse=True)
    shown, rest = names[:MOST_RESIDUALS], len(names) - MOST_RESIDUALS
    width = max((len(name) for name in shown), default=0)
    lines = [
        f"{name:{width}}  {drift[name].max_relative:7.1e}  {drift[name].final_relative:7.1e}  "
        f"{'driven' if drift[name].driven else 'measured'}"
        for name in shown
    ]
    if lines:
        lines.insert(0, f"{'':{width}}  {'largest':>7}  {'last':>7}  residual over its scale")
    return [*lines, f"and {rest} more"] if rest > 0 else lines


def verification_line(found: Verification, units: Mapping[str, str]) -> str:
    """Return the largest differences from the second run, by unit."""
    if found.interrupted:
        return f"against {found.against}: interrupted"
    largest: dict[str, float] = {}
    for name, value in found.difference.items():
        unit = units.get(name, "")
        largest[unit] = float(np.maximum(value, largest.get(unit, value)))
    differences = ", ".join(f"{value:.1e} {unit}".rstrip() for unit, value in largest.items())
    return f"against {found.against}: largest difference {differences}"

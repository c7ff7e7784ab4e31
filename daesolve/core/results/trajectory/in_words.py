"""A run in words: the lines that `print(run)` shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from daesolve.core.results.trajectory.findings import Audit
from daesolve.core.results.trajectory.results import Drift, Outcome, Verification
from daesolve.errors import readable

MOST_RESIDUALS = 30
"""The number of rows in `str` of a trajectory."""
MOST_MOVED = 4
"""The number of changed start values that it names."""
ENDED = {
    Outcome.COMPLETED: "completed",
    Outcome.STOPPED_BY_EVENT: "was stopped by an event",
    Outcome.INTERRUPTED: "was interrupted",
    Outcome.DEGENERATE: "became degenerate",
    Outcome.CONTRADICTED: "contradicts what was posed",
    Outcome.FAILED: "failed",
}
"""How a run ended, as a verb."""
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
        f"{name} from {before:g} to {after:g} {units.get(name, '')}".rstrip()
        for name in names[:MOST_MOVED]
        for before, after in [map(readable, start[name])]
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


def continued_run(continues: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Say which run this one continues and, where its numbers may be wrong, why.

    Parameters
    ----------
    continues
        From `Continuation.described`; None if the run continues no other.
    """
    if continues is None:
        return ()
    which = f"the run in {continues['directory']!r}" if continues["directory"] else "another run"
    time, end, outcome = continues["time"], continues["end_time"], Outcome(continues["outcome"])
    why = f": {continues['message']}" if continues["message"] and not outcome.good else ""
    ended = f"{ENDED[outcome]} at t = {end:.10g} s"
    if time == end:
        return (f"this run continues {which}, which {ended}{why}",)
    # Of others than a failed one, everything before the end is as good as ever.
    ended = f"{ended}{why}" if outcome is Outcome.FAILED else ended
    return (f"this run continues {which} from t = {time:.10g} s on; that run {ended}",)


def verification_line(found: Verification, units: Mapping[str, str]) -> str:
    """Return the largest differences from the second run, by unit."""
    if found.unverified:
        return f"against {found.against}: {found.unverified}"
    largest: dict[str, float] = {}
    for name, value in found.difference.items():
        unit = units.get(name, "")
        largest[unit] = float(np.maximum(value, largest.get(unit, value)))
    differences = ", ".join(
        (f"unknown in {unit}" if np.isnan(value) else f"{readable(value):.1e} {unit}").rstrip()
        for unit, value in largest.items()
    )
    return f"against {found.against}: largest difference {differences}"


def audit_line(found: Audit) -> str:
    """Say whether a run holds against what was posed, and what was not checked."""
    if not found.holds:
        return f"audit: contradicted: {found.objection}"
    if not found.checked:
        return "audit: nothing was checked"
    missing = len(found.unchecked)
    rest = f", {missing} not checked" if missing else ""
    return f"audit: {found.checked} checks hold to {found.worst:.1e}{rest}"

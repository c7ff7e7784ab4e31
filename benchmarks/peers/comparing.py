"""Compares each package's measurements with daesolve's of an equal or smaller error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.common.figures import cheapest_as_exact

from .measuring import PEERS, Measurement
from .tasks import TASKS

OWN = PEERS[0]


@dataclass(frozen=True)
class Comparison:
    """A measurement, daesolve's cheapest one of no larger error, and the ratio of their seconds."""

    peer: Measurement
    own: Measurement | None

    @property
    def ratio(self) -> float | None:
        """How many times the cost of daesolve; None if daesolve was never as accurate."""
        return None if self.own is None else self.peer.seconds / self.own.seconds


def best_of(found: Sequence[Measurement]) -> list[Measurement]:
    """Return each setting once: the quickest of several rounds that has a result."""
    best: dict[tuple[str, str, str, str], Measurement] = {}
    for entry in found:
        key = (entry.task, entry.peer, entry.method, entry.setting)
        known = best.setdefault(key, entry)
        if not entry.reason and (known.reason or entry.seconds < known.seconds):
            best[key] = entry
    return list(best.values())


def compared(found: Sequence[Measurement], task: str, peer: str) -> list[Comparison]:
    """Return the useful settings of a package, the most accurate first."""
    own = [entry for entry in found if entry.task == task and entry.peer == OWN and entry.useful]
    useful = [
        entry for entry in found if entry.task == task and entry.peer == peer and entry.useful
    ]
    return [
        Comparison(entry, cheapest_as_exact(own, entry.error))
        for entry in sorted(useful, key=lambda entry: entry.error)
    ]


def ahead(comparisons: Sequence[Comparison]) -> Comparison | None:
    """Return the most accurate setting that is cheaper than daesolve, if there is one."""
    return next((entry for entry in comparisons if entry.ratio and entry.ratio < 1.0), None)


def closest(comparisons: Sequence[Comparison]) -> Comparison | None:
    """Return the comparison in which daesolve does worst."""
    if not comparisons:
        return None
    return min(comparisons, key=lambda entry: entry.ratio or 0.0)


def failures(found: Sequence[Measurement], task: str, peer: str) -> list[str]:
    """Return why settings of a package have no useful result, each reason once."""
    settings: dict[str, list[str]] = {}
    times: dict[str, list[float]] = {}
    for entry in found:
        if entry.task != task or entry.peer != peer or entry.useful:
            continue
        reason = entry.reason or "left the motion: not one digit is right"
        timed = re.match(r"at t = (\S+) s: (.*)", reason)
        reason = timed.group(2) if timed else reason
        settings.setdefault(reason, []).append(f"{entry.method} {entry.setting}".strip())
        times.setdefault(reason, []).extend([float(timed.group(1))] if timed else [])
    return [
        f"{'; '.join(name for name in names if name) or 'all'}: {_when(times[reason])}{reason}"
        for reason, names in settings.items()
    ]


def _when(times: Sequence[float]) -> str:
    """Return the times between which something happened."""
    if not times:
        return ""
    first, last = min(times), max(times)
    return f"at t = {first:g} s: " if first == last else f"between t = {first:g} s and {last:g} s: "


def titles() -> dict[str, str]:
    """Return the tasks' titles by name."""
    return {name: task.title for name, task in TASKS.items()}

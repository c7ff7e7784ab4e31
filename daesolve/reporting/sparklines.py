"""Small drawings in the lines of tables: a residual over time, a size on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from daesolve.reporting.document import Document
from daesolve.reporting.residuals import ROUNDING

WIDTH, HEIGHT, EDGE = 112, 26, 2
LOWEST, HIGHEST = 1e-17, 1e-14
"""The range that small drawings of residuals have at least."""
WORST_PIVOT = 1e-12


def residuals(documents: Sequence[Document]) -> list[dict[str, Markup]]:
    """Return for each run a small drawing of every residual, all of them with the same axes."""
    histories = [document.get("drift_history", {}) for document in documents]
    points = [point for run in histories for entry in run.values() for point in _points(entry)]
    if not points:
        return [{} for _ in documents]
    times, sizes = zip(*points, strict=True)
    box = (min(times), max(times), min(LOWEST, *sizes), max(HIGHEST, *sizes))
    return [
        {
            name: _residual(entry, box, driven=document["drift"][name]["driven"])
            for name, entry in run.items()
            if name in document["drift"]
        }
        for document, run in zip(documents, histories, strict=True)
    ]


def meter(value: float | None, least: float, largest: float) -> Markup:
    """Return a bar from the least size to a value, on a logarithmic scale."""
    if value is None or value <= least:
        share = 0.0
    else:
        share = min(1.0, math.log(value / least) / math.log(largest / least))
    return Markup('<span class="meter"><i style="width:{:.1f}%"></i></span>').format(100.0 * share)


def _points(entry: Mapping[str, Any]) -> Iterable[tuple[float, float]]:
    pairs = zip(entry["times"], entry["rms"], strict=True)
    return [(time, size) for time, size in pairs if size is not None and size > 0.0 and time > 0.0]


def _residual(
    entry: Mapping[str, Any], box: tuple[float, float, float, float], *, driven: bool
) -> Markup:
    first, last, low, high = map(math.log, box)

    def place(time: float, size: float) -> str:
        x = EDGE + (WIDTH - 2 * EDGE) * (math.log(time) - first) / ((last - first) or 1.0)
        y = EDGE + (HEIGHT - 2 * EDGE) * (high - math.log(size)) / (high - low)
        return f"{x:.1f},{y:.1f}"

    line = " ".join(place(time, size) for time, size in _points(entry))
    level = place(box[0], ROUNDING).partition(",")[2]
    return Markup(
        '<svg class="spark {}" viewBox="0 0 {} {}" width="{}" height="{}" aria-hidden="true">'
        '<path class="level" d="M0,{}H{}"/><polyline points="{}"/></svg>'
    ).format("driven" if driven else "measured", WIDTH, HEIGHT, WIDTH, HEIGHT, level, WIDTH, line)

"""The page of a branch of orbits: its drawing, its special points, its orbits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daesolve.reporting.document import Document, replace_file
from daesolve.reporting.facts import template

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 60
"""Orbits in the table, evenly chosen."""


def write_branch(
    directory: Path, document: Document, axis: str, figures: Mapping[str, Figure]
) -> Path:
    """Write `report.html` of a branch and return its path.

    Parameters
    ----------
    directory
        An existing directory.
    document
        The answer, from `answer_document`.
    axis
        The name of the varied quantity.
    figures
        By title.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    return replace_file(directory / "report.html", branch_page(document, axis, figures))


def branch_page(document: Document, axis: str, figures: Mapping[str, Figure]) -> str:
    """Return the page of a branch; see `write_branch`."""
    from markupsafe import Markup

    from daesolve.reporting.figures.style import style, svg

    points = document["points"]
    # What is varied comes first, however many states there are.
    columns = [axis, *(name for name in points if name != axis)]
    count = len(points[axis])
    places = sorted({round(k * (count - 1) / max(SHOWN - 1, 1)) for k in range(SHOWN)})
    rows = [
        {
            "cells": [points[name][k] for name in columns],
            "leading": _leading(document["multipliers"][k]),
            "verdict": document["verdicts"][k],
        }
        for k in places
    ]
    with style():
        drawn = [
            (title, Markup(svg(figure, f"branch-{number}")))
            for number, (title, figure) in enumerate(figures.items())
        ]
    ends: Counter[str] = Counter(document["ends"])
    verdicts: Counter[str] = Counter(document["verdicts"])
    return template("daesolve.reporting", "branch.html.jinja").render(
        title=f"{document['problem']}, {document['case']}: a branch over {axis}",
        axis=axis,
        count=count,
        low=min(points[axis]),
        high=max(points[axis]),
        verdicts=", ".join(f"{number} {verdict}" for verdict, number in verdicts.items()),
        ends=[f"{end}, at both ends" if n > 1 else end for end, n in ends.items()],
        special=document["special"],
        figures=drawn,
        columns=columns,
        rows=rows,
        shown=len(rows),
    )


def _leading(multipliers: list[Mapping[str, Any]]) -> float:
    """Return the size of the largest multiplier; zero where all that was before is forgotten."""
    return multipliers[0]["size"] if multipliers else 0.0

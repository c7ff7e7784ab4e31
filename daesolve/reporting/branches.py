"""The page of a branch of orbits: its drawing, its special points, its orbits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daesolve.reporting.content import (
    ContentPart,
    ContentTable,
    figure_parts,
    page_of,
    paragraph,
    sentence,
)
from daesolve.reporting.document import Document, replace_file
from daesolve.reporting.facts import short

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
    points, count = document["points"], len(document["points"][axis])
    # What is varied comes first, however many states there are.
    columns = [axis, *(name for name in points if name != axis)]
    places = sorted({round(k * (count - 1) / max(SHOWN - 1, 1)) for k in range(SHOWN)})
    rows = [
        (
            *(short(points[name][k], 7) for name in columns),
            short(_leading(document["multipliers"][k]), 7),
            document["verdicts"][k],
        )
        for k in places
    ]
    orbits = ContentTable((*columns, "largest multiplier", "verdict"), rows, (len(columns) + 1,))
    special = [
        (point["kind"], short(point[axis], 13), short(point["period"], 10), point["detail"])
        for point in document["special"]
    ]
    kinds = ContentTable(("kind", axis, "period (s)", "description"), special, (0, 3))
    span = f"{short(min(points[axis]), 7)} to {short(max(points[axis]), 7)}"
    verdicts = Counter[str](document["verdicts"]).items()
    listed = ", ".join(f"{number} {verdict}" for verdict, number in verdicts)
    below = f"{len(rows)} of {count} orbits; answer.json has all of them, with every multiplier."
    return page_of(
        f"{document['problem']}, {document['case']}: a branch over {axis}",
        f"{count} orbits, {axis} from {span}: {listed}.",
        [
            *(
                ContentPart("", sentence(f"{end}, at both ends" if n > 1 else end))
                for end, n in Counter[str](document["ends"]).items()
            ),
            ContentPart("Special points", kinds.in_page()) if special else None,
            *figure_parts(figures, "branch"),
            ContentPart("Orbits", orbits.in_page() + paragraph(below)),
        ],
    )


def _leading(multipliers: list[Mapping[str, Any]]) -> float:
    """Return the size of the largest multiplier; zero where all that was before is forgotten."""
    return multipliers[0]["size"] if multipliers else 0.0

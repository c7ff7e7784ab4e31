"""The figures and the animation of a page, as files beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from matplotlib.figure import Figure

from daesolve.plugins.problem import Problem
from daesolve.reporting import figures
from daesolve.reporting.animation import animate
from daesolve.reporting.balance import terms
from daesolve.reporting.document import replace_file
from daesolve.reporting.scene import scene
from daesolve.reporting.style import INK, QUIET, RULE, SERIES, SURFACE, style, svg

SECONDS = 8.0
PICTURES_A_SECOND = 20.0
ANIMATION = "animation.html"
COLOURS = {
    "ink": INK,
    "quiet": QUIET,
    "rule": RULE,
    "surface": SURFACE,
    **{f"series-{number}": shade for number, shade in enumerate(SERIES, start=1)},
}
"""What the variables of a report's figure are where the figure is a file by itself."""


@dataclass(frozen=True)
class Shown:
    """A figure of a page: its title and its file, as the page names it."""

    title: str
    file: str


def write_figures(problem: Problem, document: dict[str, Any], directory: Path) -> list[Shown]:
    """Draw the scene, the problem's own figures and those of every run; return them in order.

    Parameters
    ----------
    problem
        Whose figures they are.
    document
        Of the run, with its drawing.
    directory
        Where to; it is made if it is not there, and figures that were in it are removed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for old in (*directory.glob("*.svg"), directory / ANIMATION):
        old.unlink(missing_ok=True)
    shown: list[Shown] = []
    if not document["times"]:
        return shown
    with style():
        for title, figure in _drawn(problem, document):
            name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
            replace_file(directory / f"{name}.svg", standing_alone(svg(figure, name)))
            shown.append(Shown(title, f"{directory.name}/{name}.svg"))
    return shown


def write_animation(document: dict[str, Any], directory: Path) -> str | None:
    """Write the player of a run's drawing, and return its file; None where nothing is drawn."""
    if "drawing" not in document or len(document["times"]) < 2:
        return None
    animate(document, directory / ANIMATION, seconds=SECONDS, rate=PICTURES_A_SECOND)
    return f"{directory.name}/{ANIMATION}"


def standing_alone(text: str) -> str:
    """Return a report's figure as a file by itself: with its name space and its colours."""
    whole = text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: COLOURS[found[1]], whole) + "\n"


def _drawn(problem: Problem, document: dict[str, Any]) -> Iterator[tuple[str, Figure]]:
    seen = scene(document)
    if seen is not None:
        yield "Scene", seen
    for name, rule in problem.figures.items():
        figure = cast(Figure | None, rule(document))
        if figure is not None:
            title = name.replace("_", " ").replace("-", " ")
            yield title[:1].upper() + title[1:], figure
    for title, draw, wanted in _usual(document):
        if wanted:
            made = draw([document])
            sheets = made if isinstance(made, list) else [made]
            yield title if len(sheets) == 1 else f"{title}, the first of them", sheets[0]


def _usual(
    document: dict[str, Any],
) -> list[tuple[str, Callable[..., Figure | list[Figure]], bool]]:
    """Return the figures that every report has, and whether there is something to show."""
    histories = document.get("drift_history", {}).values()
    several = len(document["times"]) > 1
    return [
        ("Residuals", figures.drift, any(entry["times"] for entry in histories)),
        ("Energy", figures.energy, several and bool(terms(document))),
        ("Positions", figures.positions, several and bool(figures.position_names([document]))),
    ]

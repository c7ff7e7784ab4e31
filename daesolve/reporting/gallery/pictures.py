"""The figures of a problem's page: drawn for a column of text, each with what it shows."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from daesolve.errors import PluginError
from daesolve.plugins.foreign import called
from daesolve.plugins.registry import Problem
from daesolve.reporting import facts
from daesolve.reporting.document import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ANIMATION, CARD = "animation.html", "card.svg"
"""The files of the animation and of the picture on a card, beside the figures."""
CAPTIONS = {
    "Scene": "",
    "Residuals": facts.DRIFT,
    "Energy": "Above: the energy; if it is not conserved, its change beside that of the work and "
    "of the losses in impacts. Below: what remains unaccounted for, at the samples.",
    "Positions": "The coordinates over time.",
}
"""What those figures show that every page has."""
ORDER = re.compile(r"Draw (?=\w)")
"""How the docstring of a figure's rule begins."""


@dataclass(frozen=True)
class GalleryFigure:
    """A figure of a page: its title, its file relative to the page, and what it shows."""

    title: str
    file: str
    caption: str


def write_figures(problem: Problem, run: dict[str, Any], directory: Path) -> list[GalleryFigure]:
    """Draw the scene, the problem's own figures and those of every run; return them in order.

    Parameters
    ----------
    problem
        Whose figures they are.
    run
        Its document, with the drawing.
    directory
        Where to; it is made if it is not there, and figures that were in it are removed.
    """
    from daesolve.reporting.figures.card import card
    from daesolve.reporting.figures.style import alone, in_a_column, style, svg

    directory.mkdir(parents=True, exist_ok=True)
    for old in (*directory.glob("*.svg"), directory / ANIMATION):
        old.unlink(missing_ok=True)
    shown: list[GalleryFigure] = []
    if not run["times"]:
        return shown
    with style(), in_a_column():
        for title, caption, figure in _drawn(problem, run):
            name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
            replace_file(directory / f"{name}.svg", alone(svg(figure, name)))
            shown.append(GalleryFigure(title, f"{directory.name}/{name}.svg", caption))
    if (picture := card(run)) is not None:
        replace_file(directory / CARD, alone(svg(picture, "card")))
    return shown


def _drawn(problem: Problem, run: dict[str, Any]) -> Iterator[tuple[str, str, Figure]]:
    from matplotlib.figure import Figure as Drawn

    from daesolve.reporting.figures import standard
    from daesolve.reporting.figures.column import stack
    from daesolve.reporting.figures.scene import scene

    own = {facts.heading(name): rule for name, rule in problem.figures.items()}
    for title, rule in {"Scene": scene, **own}.items():
        figure = called(f"the figure {title!r} of the problem {problem.name!r}", rule, run)
        if figure is None:
            continue
        if not isinstance(figure, Drawn):
            raise PluginError(
                f"the figure {title!r} of the problem {problem.name!r} must be a Matplotlib figure "
                f"or None, not {type(figure).__name__}"
            )
        stack(figure)
        yield title, CAPTIONS.get(title, described(rule)), figure
    for title, draw in standard([run]).items():
        if title in CAPTIONS:
            sheets = draw()
            words = title if len(sheets) == 1 else f"{title}, the first of them"
            yield words, CAPTIONS[title], sheets[0]


def described(rule: Callable[..., Any]) -> str:
    """Return what a figure shows: the opening of its rule's docstring, without "Draw"."""
    while isinstance(rule, functools.partial):
        rule = cast(Any, rule).func
    written = inspect.getdoc(rule) if inspect.isroutine(rule) else None
    words = " ".join((written or "").split("\n\n")[0].split())
    shown = ORDER.sub("", words, count=1) if ORDER.match(words) else words
    return shown[:1].upper() + shown[1:]

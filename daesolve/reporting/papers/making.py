"""Reproduces the items of a paper, one after the other; a failure does not affect the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from daesolve.errors import DaesolveError, PluginError, in_words
from daesolve.reporting.papers.page import fragment, write
from daesolve.reporting.papers.paper import Item, MadeItem, Paper, PaperResults, Shown

Tell = Callable[[Item], object]
LEFT_OUT = "skipped: it takes long, and --quick was given"


@dataclass(frozen=True, eq=False)
class MadePaper(PaperResults):
    """A reproduced paper; a notebook shows its tables and figures."""

    def _repr_html_(self) -> str:
        """Return tables and figures for a notebook, without a page around them."""
        return fragment(self)

    def write(self, directory: Path | str) -> list[Path]:
        """Write `paper.html`, `paper.json` and each figure as SVG; return the files.

        Raises
        ------
        OutputExistsError
            The directory is not empty, or cannot be created.
        """
        return write(self, Path(directory))


def make(paper: Paper, *, quick: bool = False, tell: Tell | None = None) -> MadePaper:
    """Reproduce the figures and tables of a paper.

    Parameters
    ----------
    paper
        From `daesolve.reporting.papers.paper(NAME)`, or your own.
    quick
        Shorten the runs, and skip slow items.
    tell
        Called with each item before it is reproduced.
    """
    from daesolve.reporting.figures.style import style

    found: list[MadeItem] = []
    with style():
        for item in paper.items:
            if quick and item.slow:
                found.append(MadeItem(item, None, LEFT_OUT))
                continue
            if tell is not None:
                tell(item)
            found.append(_made(paper, item, quick=quick))
    return MadePaper(paper, tuple(found), quick)


def _made(paper: Paper, item: Item, *, quick: bool) -> MadeItem:
    try:
        shown = item.make(quick)
        if not isinstance(shown, Shown):
            raise PluginError(
                f"{item.name} of the paper {paper.name!r} must give a "
                f"daesolve.reporting.papers.Shown, not {type(shown).__name__}"
            )
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        why = str(error) if isinstance(error, DaesolveError) else in_words(error)
        return MadeItem(item, None, f"failed: {why}", failed=True)
    return MadeItem(item, shown)

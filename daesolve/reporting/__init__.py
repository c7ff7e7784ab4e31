"""What is told about a run: a JSON object, a summary in the terminal, a page with figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from daesolve.errors import OutputExistsError
from daesolve.reporting.animation import AnimationError, MissingFfmpegError, animate
from daesolve.reporting.answer import answer_document, answer_text, write_answer
from daesolve.reporting.comparison import (
    comparison_document,
    comparison_text,
    write_comparison,
)
from daesolve.reporting.document import (
    RUN_FILE,
    Document,
    ReportError,
    document,
    dump,
    load,
    replace_file,
    without_series,
)
from daesolve.reporting.html import FigureRule, page
from daesolve.reporting.scene import DrawingRule, with_drawing
from daesolve.reporting.style import style
from daesolve.reporting.text import summary

__all__ = [
    "AnimationError",
    "Document",
    "DrawingRule",
    "FigureRule",
    "MissingFfmpegError",
    "ReportError",
    "animate",
    "answer_document",
    "answer_text",
    "comparison_document",
    "comparison_text",
    "document",
    "dump",
    "load",
    "make_empty",
    "page",
    "rebuild",
    "style",
    "summary",
    "with_drawing",
    "without_series",
    "write",
    "write_answer",
    "write_comparison",
]

FiguresOf = Callable[[dict[str, Any]], Mapping[str, FigureRule]]


def write(
    directory: Path, run_document: dict[str, Any], figures: Mapping[str, FigureRule] | None = None
) -> None:
    """Write run.json, report.json and report.html, each whole or not at all.

    Parameters
    ----------
    directory
        Where to; it is made if it is not there.
    run_document
        What `document` returned.
    figures
        The problem's own, by title.
    """
    directory.mkdir(parents=True, exist_ok=True)
    replace_file(directory / RUN_FILE, dump(run_document) + "\n")
    _write_report(directory, [run_document], figures or {})


def rebuild(directories: Sequence[Path], figures_of: FiguresOf | None = None) -> Path:
    """Build the report again from the runs that directories hold, and return report.html.

    It stands in the first directory and shows all runs side by side; report.json is the run
    without its series, or {"runs": [...]} of several.

    Parameters
    ----------
    directories
        At least one.
    figures_of
        Returns the figures of a run's problem, by title.

    Raises
    ------
    ReportError
        A directory holds no run.
    """
    if not directories:
        raise ReportError("name at least one directory with a run")
    runs = [load(directory) for directory in directories]
    owned = [dict(figures_of(run)) if figures_of else {} for run in runs]
    rules = {id(run): rule for run, rule in zip(runs, owned, strict=True)}

    def of(name: str) -> FigureRule:
        def draw(run: dict[str, Any]) -> Figure | None:
            rule = rules[id(run)].get(name)
            return None if rule is None else rule(run)

        return draw

    names = dict.fromkeys(name for rule in owned for name in rule)
    return _write_report(Path(directories[0]), runs, {name: of(name) for name in names})


def make_empty(directory: Path) -> None:
    """Make a directory for results, before they are computed; refuse one that is not empty.

    Raises
    ------
    OutputExistsError
        It has something in it, is a file, or cannot be made.
    """
    if directory.is_dir():
        if any(directory.iterdir()):
            raise OutputExistsError(
                f"the directory {str(directory)!r} is not empty: name another for the results, "
                "or remove it"
            )
    elif directory.exists():
        raise OutputExistsError(f"{str(directory)!r} is a file: name a directory for the results")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputExistsError(
            f"the directory {str(directory)!r} cannot be made: {error.strerror}"
        ) from None


def _write_report(
    directory: Path, runs: Sequence[dict[str, Any]], figures: Mapping[str, FigureRule]
) -> Path:
    short = [without_series(run) for run in runs]
    replace_file(
        directory / "report.json",
        dump(short[0] if len(short) == 1 else {"runs": short}, indent=1) + "\n",
    )
    return replace_file(directory / "report.html", page(runs, figures))

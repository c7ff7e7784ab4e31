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
    Document,
    ReportError,
    document,
    dump,
    never_begun,
    replace_file,
    without_series,
)
from daesolve.reporting.html import FigureRule, page
from daesolve.reporting.reading import load
from daesolve.reporting.rules import Rules, problem_of
from daesolve.reporting.scene import DrawingRule, with_drawing
from daesolve.reporting.style import style
from daesolve.reporting.text import summary
from daesolve.storage import make_directory

__all__ = [
    "AnimationError",
    "Document",
    "DrawingRule",
    "FigureRule",
    "MissingFfmpegError",
    "ReportError",
    "Rules",
    "animate",
    "answer_document",
    "answer_text",
    "comparison_document",
    "comparison_text",
    "document",
    "dump",
    "load",
    "make_empty",
    "never_begun",
    "page",
    "problem_of",
    "rebuild",
    "style",
    "summary",
    "with_drawing",
    "without_series",
    "write",
    "write_answer",
    "write_comparison",
]


def write(
    directory: Path, run_document: dict[str, Any], figures: Mapping[str, FigureRule] | None = None
) -> Path:
    """Write report.json and report.html, each whole or not at all, and return the latter.

    Parameters
    ----------
    directory
        Where to; it is made if it is not there.
    run_document
        What `document` or `load` returned.
    figures
        The problem's own, by title.
    """
    directory.mkdir(parents=True, exist_ok=True)
    return _write_report(directory, [run_document], figures or {})


def rebuild(
    directories: Sequence[Path], problem_of: Callable[[Document], Rules | None] = problem_of
) -> Path:
    """Build the report from the runs that directories hold, and return report.html.

    It stands in the first directory and shows all runs side by side; report.json is the run
    without its series, or {"runs": [...]} of several.

    Parameters
    ----------
    directories
        At least one.
    problem_of
        Returns the problem of a run, whose figures and drawing are shown; None without one.

    Raises
    ------
    ReportError, ArchiveError
        A directory holds no run, or one that is damaged.
    """
    if not directories:
        raise ReportError("name at least one directory with a run")
    runs: list[dict[str, Any]] = []
    owned: list[Mapping[str, FigureRule]] = []
    for directory in directories:
        run = load(directory)
        problem = problem_of(run)
        owned.append({} if problem is None else problem.figures)
        runs.append(run if problem is None else with_drawing(run, problem.drawing))
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
    make_directory(directory)


def _write_report(
    directory: Path, runs: Sequence[dict[str, Any]], figures: Mapping[str, FigureRule]
) -> Path:
    short = [without_series(run) for run in runs]
    replace_file(
        directory / "report.json",
        dump(short[0] if len(short) == 1 else {"runs": short}, indent=1) + "\n",
    )
    return replace_file(directory / "report.html", page(runs, figures))

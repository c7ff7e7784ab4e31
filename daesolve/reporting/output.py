"""Files of reports: the page of runs and its data, and results of analyses and comparisons."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from daesolve.core.results.storage import make_directory
from daesolve.errors import OutputExistsError, PluginError, Tell
from daesolve.plugins import registry
from daesolve.plugins.registry import Problem
from daesolve.plugins.stored_problem import in_need_of_source, is_of_file, posed_again
from daesolve.reporting.document import (
    NO_PICTURE,
    Document,
    DrawingRule,
    ReportError,
    dump,
    load,
    replace_file,
    with_drawing,
    with_note,
    without_series,
)
from daesolve.reporting.opening import with_kept_opening

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daesolve.ensembles.sweep_results import MeasuredDependence
    from daesolve.reporting.html import FigureRule


class Rules(Protocol):
    """The part of a problem that reports use; see `daesolve.Problem`."""

    @property
    def figures(self) -> Mapping[str, FigureRule]:
        """Its own figures, by title."""
        ...

    @property
    def drawing(self) -> DrawingRule | None:
        """The rule that draws its bodies."""
        ...


def problem_of(run: Document) -> Rules | None:
    """Return the installed problem of a run; None if its plugin is gone, or a file defines it."""
    if run.get("path"):
        return None
    try:
        return registry.installed(run["problem"] or "")
    except (PluginError, LookupError):
        return None


def problems_given(
    sources: Sequence[Path | str], tell: Tell | None = None
) -> Callable[[Document], Rules | None]:
    """Return a function that finds the problem of a run, given the files of some problems.

    Parameters
    ----------
    sources
        Python files and model files. If a run's problem is in a file, only the one whose content
        is the same as when the run began is executed or, if it is a model file, read.
    tell
        Called with a sentence before a file is executed.
    """
    files = [Path(source) for source in sources]
    by_digest = {registry.digest_of(file): file for file in files}
    posed: dict[str, Problem] = {}

    def find(run: Document) -> Rules | None:
        named: Mapping[str, Any] = run.get("source") or {}
        digest = named.get("digest") if is_of_file(named) else None
        if digest is None or digest not in by_digest:
            if len(files) == 1 and (is_of_file(named) or run.get("problem")):
                return posed_again(named, files[0], tell)  # refused: it is not that of the run
            return problem_of(run)
        if digest not in posed:
            posed[digest] = posed_again(named, by_digest[digest], tell)
        return posed[digest]

    return find


def rebuild(
    directories: Sequence[Path],
    problem_of: Callable[[Document], Rules | None] = problem_of,
    tell: Tell | None = None,
    out: Path | None = None,
) -> Path:
    """Build the report of the runs in directories, and return the path of the page.

    The page shows all runs side by side. Beside it, with the suffix .json, is the run without its
    series, or {"runs": [...]} for several. No file named by a directory is executed; only the rules
    of installed problems are.

    Parameters
    ----------
    directories
        At least one.
    problem_of
        Returns the problem of a run, whose figures and drawing are shown, or None. See
        `problems_given`.
    tell
        Called with a sentence for each run whose report leaves something out.
    out
        The page: by default report.html in the directory of one run, and reports.html in the
        current directory for several. Only a report of as many is replaced.

    Raises
    ------
    ReportError, ArchiveError
        A directory contains no run, or a damaged one; or `out` names no page.
    OutputExistsError
        There is another file, or the report of another run.
    """
    from daesolve.reporting.html import page

    if not directories:
        raise ReportError("name at least one run directory")
    file = _page_file(directories, out)
    runs: list[dict[str, Any]] = []
    owned: list[Mapping[str, FigureRule]] = []
    for directory in directories:
        run = with_kept_opening(load(directory), Path(directory))
        problem = problem_of(run)
        if problem is None and is_of_file(run.get("source")):
            run = with_note(run, _left_out(run, directory))
            if tell is not None:
                tell(run["notes"][-1])
        given = getattr(problem, "path", None)
        if given is not None and is_of_file(run.get("source")):
            run["path"] = str(given.resolve())  # its present place, to repeat the run
        owned.append({} if problem is None else problem.figures)
        runs.append(run if problem is None else with_drawing(run, problem.drawing))
    rules = {id(run): rule for run, rule in zip(runs, owned, strict=True)}

    def of(name: str) -> FigureRule:
        def draw(run: dict[str, Any]) -> Figure | None:
            rule = rules[id(run)].get(name)
            return None if rule is None else rule(run)

        return draw

    names = dict.fromkeys(name for rule in owned for name in rule)
    short = [without_series(run) for run in runs]
    make_directory(file.parent)
    replace_file(
        file.with_suffix(".json"),
        dump(short[0] if len(short) == 1 else {"runs": short}, indent=1) + "\n",
    )
    return replace_file(file, page(runs, {name: of(name) for name in names}))


def _page_file(directories: Sequence[Path], out: Path | None) -> Path:
    """Return the file for a page, which replaces nothing but a page of the same kind."""
    own, several = Path(directories[0]) / "report.html", len(directories) > 1
    if out is None and not several:
        return own
    named = Path("reports.html" if out is None else out)
    file = named if named.suffix else named.with_name(f"{named.name}.html")
    if file.suffix.lower() != ".html" or named.is_dir() or file.is_dir():
        raise ReportError(f"a report is a page: give a file NAME.html, not {str(out)!r}")
    if file.resolve() == own.resolve() and not several:
        return own
    if (file.parent / "manifest.json").is_file():
        raise OutputExistsError(
            f"{str(file.parent)!r} is the directory of a run, which holds its own report alone: "
            "choose a file elsewhere (--out FILE)"
        )
    data = file.with_suffix(".json")
    there = next((entry for entry in (file, data) if entry.exists()), None)
    if there is not None and not _is_report(data, several=several):
        raise OutputExistsError(
            f"{str(there)!r} exists, and is no such report: choose another file (--out FILE), or "
            "remove it"
        )
    return file


def _is_report(data: Path, *, several: bool) -> bool:
    """Return whether a file holds the data of the report of one run, or of several."""
    try:
        found = json.loads(data.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and ("runs" if several else "drift") in found


def _left_out(run: Document, directory: Path) -> str:
    command = f"daesolve report {shlex.quote(str(directory))}"
    how = in_need_of_source(run["source"], command)
    return f"{NO_PICTURE} and no figure of the problem's own: {how}"


def make_empty(directory: Path) -> None:
    """Create a directory for results before they are computed; refuse one that is not empty.

    Raises
    ------
    OutputExistsError
        It is not empty, is a file, or cannot be created.
    """
    if directory.is_dir():
        if any(directory.iterdir()):
            raise OutputExistsError(
                f"the directory {str(directory)!r} is not empty: choose another for the "
                "results, or remove it"
            )
    elif directory.exists():
        raise OutputExistsError(f"{str(directory)!r} is a file: choose a directory for the results")
    make_directory(directory)


def write_answer(directory: Path, document: Document, figures: Mapping[str, Figure]) -> list[Path]:
    """Write answer.json and each figure as SVG and PNG, and return the files."""
    return _write_results(directory, "answer.json", document, figures)


def write_comparison(directory: Path, document: Document) -> list[Path]:
    """Write comparison.json and the work-precision figure as SVG and PNG; return the files."""
    from daesolve.reporting.figures.accuracy import work_precision

    figures = {"work-precision": work_precision(document)}
    return _write_results(directory, "comparison.json", document, figures)


def write_measures(directory: Path, found: MeasuredDependence, title: str) -> Path:
    """Write `measures.html` into the directory of a sweep and return its path.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    from daesolve.reporting.html import measures_page

    return replace_file(directory / "measures.html", measures_page(found, title))


def _write_results(
    directory: Path, name: str, document: Document, figures: Mapping[str, Figure]
) -> list[Path]:
    from daesolve.reporting.figures.style import save_figure

    directory.mkdir(parents=True, exist_ok=True)
    written = [replace_file(directory / name, dump(document, indent=1) + "\n")]
    for title, figure in figures.items():
        written += save_figure(figure, directory, title)
    return written

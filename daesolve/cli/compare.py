"""The body of `daesolve compare`."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from daesolve.comparison import Comparison
from daesolve.comparison import Progress as Told
from daesolve.errors import OutOfRangeError
from daesolve.problem import BoundCase
from daesolve.reporting.comparison import comparison_document


def names(option: str, text: str) -> list[str]:
    """Read a list of names, A,B,...

    Raises
    ------
    OutOfRangeError
        There is none.
    """
    found = [word.strip() for word in text.split(",") if word.strip()]
    if not found:
        raise OutOfRangeError(f"{option} takes names, A,B,..., not {text!r}")
    return found


def tolerances(text: str | None) -> list[float] | None:
    """Read a list of tolerances, R1,R2,...

    Raises
    ------
    OutOfRangeError
        An entry is no number.
    """
    if text is None:
        return None
    try:
        return [float(word) for word in text.split(",") if word.strip()]
    except ValueError:
        raise OutOfRangeError(f"--tolerances takes numbers, R1,R2,..., not {text!r}") from None


def compare(
    bound: BoundCase,
    formulations: str,
    solvers: str,
    tolerances_asked: str | None,
    until: float | None,
    *,
    quiet: bool,
) -> tuple[Comparison, dict[str, Any]]:
    """Compare, with a bar on standard error where that is a terminal; return the document too.

    Raises
    ------
    DaesolveError
        The request cannot be run.
    """
    with _progress(bound, quiet=quiet) as progress:
        found = bound.compare(
            names("--formulations", formulations),
            names("--solvers", solvers),
            until,
            tolerances=tolerances(tolerances_asked),
            progress=progress,
        )
    identity = {
        **bound.identity(),
        "parameters": bound.full_parameters,
        "start_time": bound.case.start_time,
        "until": bound.case.until if until is None else until,
    }
    return found, comparison_document(found, identity)


@contextmanager
def _progress(bound: BoundCase, *, quiet: bool) -> Generator[Told | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.fields[what]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("runs", what=f"{bound.problem.name} · {bound.case.name}")

        def update(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, what=what)

        yield update

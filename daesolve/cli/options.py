"""Arguments that several commands share, and their parsing: values, rates, times, solvers.

The rooms are imported when a word is read, so that help imports none of them.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from daesolve.errors import OutOfRangeError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from daesolve.core.formulations import Formulation
    from daesolve.core.run.integration.sampling import At

REQUEST_IS_WRONG = 2
COULD_NOT_GO_ON = 3
CONTRADICTED = 4

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")]
ProblemName = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="A problem's name, your own Python file, or a model file (MJCF, URDF).",
    ),
]
CaseName = Annotated[str | None, typer.Option("--case", help="A case; the first by default.")]
Until = Annotated[float | None, typer.Option("--until", help="End time of a run, s.")]
SourceFile = Annotated[
    Path | None,
    typer.Option(
        "--source",
        metavar="FILE",
        help=(
            "The file of the run's problem, unchanged since then: a Python file is executed, and "
            "a model file read, only if you name it here."
        ),
    ),
]
StartValues = Annotated[
    list[str] | None,
    typer.Option(
        "--initial", metavar="NAME=VALUE", help="A start value, named by a state or by the case."
    ),
]


def console(*, stderr: bool = False) -> Console:
    """Return a console that does not read "[l]" in other texts as markup."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False)


def show(*parts: RenderableType) -> None:
    """Print results to the terminal; a word that is longer than a line goes on in the next."""
    for part in parts:
        console().print(part, crop=False)


def say(sentence: str) -> None:
    """Write a sentence for the user to the standard error."""
    typer.echo(f"daesolve: {sentence}", err=True)


@contextmanager
def progress_bar(
    label: str, *texts: str, quiet: bool, remaining: bool = True, **values: Any
) -> Generator[Callable[..., None] | None]:
    """Show a bar on standard error, where that is a terminal, and yield what updates it.

    Parameters
    ----------
    label
        What is under way.
    *texts
        Further columns, formatted with the task's fields.
    quiet
        Show nothing.
    remaining
        Whether the time to the end is shown.
    **values
        The total, and the first values of fields.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich import progress

    columns = (
        *(progress.TextColumn("{task.description}", markup=False), progress.BarColumn()),
        progress.MofNCompleteColumn(),
        *(progress.TextColumn(text, markup=False) for text in texts),
        progress.TimeElapsedColumn(),
        *([progress.TimeRemainingColumn()] if remaining else []),
    )
    with progress.Progress(*columns, console=console(stderr=True), transient=True) as bar:
        yield partial(bar.update, bar.add_task(label, **values))


# ValueError: text that is not UTF-8, JSON or TOML.
UNREADABLE = (OSError, ValueError, RecursionError)


def pairs(option: str, words: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE words; values are JSON, a bare word is a string.

    Raises
    ------
    OutOfRangeError
        A word has no `=`, or a name is given twice.
    """
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise OutOfRangeError(f"{option} needs NAME=VALUE, not {word!r}")
        if name in found:
            raise OutOfRangeError(f"{option} {name} is given twice")
        found[name] = value(text)
    return found


def inputs(words: Sequence[str]) -> dict[str, Any] | None:
    """Read inputs as expressions or columns of files; None if nothing is given.

    Raises
    ------
    OutOfRangeError, PosingError
        A word has no `=`, or a file holds no table.
    """
    from daesolve.core.posing.measured import first_column
    from daesolve.core.posing.tables import table

    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name or not text:
            raise OutOfRangeError(
                f"--input needs NAME=EXPRESSION or NAME=FILE:COLUMN, not {word!r}"
            )
        if name in found:
            raise OutOfRangeError(f"--input {name} is given twice")
        if text.lower().endswith(".csv"):
            raise OutOfRangeError(f"{text!r} needs a column: --input {name}={text!r}:COLUMN")
        path, colon, column = text.rpartition(":")
        if colon:
            nodes = (path, first_column(Path(path)))
            found[name] = table(f"{name}_table", nodes, (path, column))
        else:
            found[name] = number_or(text)
    return found or None


def ranges(option: str, words: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Read NAME=LOW:HIGH words.

    Raises
    ------
    OutOfRangeError
        A word is something else.
    """
    found: dict[str, tuple[float, float]] = {}
    for word in words:
        name, _, text = word.partition("=")
        low, _, high = text.partition(":")
        try:
            found[name] = float(low), float(high)
        except ValueError:
            raise OutOfRangeError(f"{option} needs NAME=LOW:HIGH, not {word!r}") from None
    return found


def number_or(text: str) -> float | str:
    """Return the number in a text, or the text."""
    try:
        return float(text)
    except ValueError:
        return text


def value(text: str) -> Any:
    """Read a JSON value, or else a string. NaN and infinities are numbers."""
    try:
        return _from_json(text)
    except (json.JSONDecodeError, RecursionError):
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _from_json(text: str) -> Any:
    return json.loads(text, parse_int=_whole, object_pairs_hook=_once)


def _once(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a table of JSON; refuse a name that is given twice."""
    found = dict(entries)
    if len(found) < len(entries):
        names = [name for name, _ in entries]
        twice = next(name for name in names if names.count(name) > 1)
        raise OutOfRangeError(f"{twice!r} is given twice in one table")
    return found


def _whole(digits: str) -> int | float:
    """Return a whole number, infinity where it is beyond every double."""
    number = float(digits)
    return int(digits) if isfinite(number) else number


def numbers(option: str, words: Sequence[str]) -> dict[str, float]:
    """Read NAME=NUMBER words.

    Raises
    ------
    OutOfRangeError
        A value is not a number.
    """
    found = pairs(option, words)
    for name, number in found.items():
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise OutOfRangeError(f"{option} {name} must be a number, not {number!r}")
    return {name: float(number) for name, number in found.items()}


def times(text: str | None) -> list[float] | None:
    """Read a list of times, T1,T2,...

    Raises
    ------
    OutOfRangeError
        An entry is not a number.
    """
    if text is None:
        return None
    try:
        found = [float(entry) for entry in text.split(",") if entry.strip()]
    except ValueError:
        found = []
    if not found or not all(map(isfinite, found)):
        raise OutOfRangeError(f"--at needs times in s, T1,T2,..., not {text!r}")
    return found


def samples(at: str | None, interval: float | None) -> tuple[At, float | None]:
    """Return the sample times, and the end that a list of them gives.

    Raises
    ------
    OutOfRangeError
        Both are given, or one is malformed.
    """
    from daesolve.core.run.integration.sampling import every, every_event

    if at is not None and interval is not None:
        raise OutOfRangeError("--at and --every both set the sample times: give only one of them")
    if interval is not None:
        return every(interval), None
    if at == "events":
        return every_event(), None
    listed = times(at)
    return listed, None if listed is None else listed[-1]


def parameters_of(path: Path) -> dict[str, Any]:
    """Read parameters from a JSON or TOML file of names and values.

    Raises
    ------
    OutOfRangeError
        The file is missing, unreadable or holds no table.
    """
    if not path.is_file():
        raise OutOfRangeError(f"--parameters: the file {path} does not exist")
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text) if path.suffix == ".toml" else _from_json(text)
    except UNREADABLE as error:
        raise OutOfRangeError(f"--parameters: {path} cannot be read: {error}") from None
    if not isinstance(table, dict):
        raise OutOfRangeError(f"--parameters: {path} must contain names and values")
    return cast(dict[str, Any], table)


def formulation(name: str | None, words: Sequence[str]) -> Formulation | None:
    """Create the formulation with its rates: `50`, `energy=off`, `auto`.

    Parameters
    ----------
    name
        Its name; `projected:index-1` wraps a formulation other than feedback, `viscous:1e-7` names
        the mobility, `regularised:1e-3` the speed. None means feedback if there are rates,
        otherwise the automatic choice.
    words
        The rates.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        The formulation is unknown, a rate is invalid, or the formulation has no rates.
    """
    from daesolve.core.formulations import Feedback
    from daesolve.core.preparation.naming import formulation_named

    if name is None:
        return Feedback(**_rates(words)) if words else None
    return formulation_named(name, _rates(words))


def _rates(words: Sequence[str]) -> dict[str, Any]:
    """Read [GOAL=]VALUE, [GOAL=]off or auto."""
    common: float | str | None = None
    single: dict[str, float | None] = {}
    for word in words:
        goal, equals, text = word.rpartition("=")
        if not equals and common is not None:
            raise OutOfRangeError("--rate is given twice without a goal")
        if text == "auto" and not equals:
            common = "auto"
            continue
        try:
            rate = None if text == "off" else float(text)
        except ValueError:
            raise OutOfRangeError(
                f"--rate needs [GOAL=]VALUE, [GOAL=]off or auto, not {word!r}"
            ) from None
        if equals and goal in single:
            raise OutOfRangeError(f"--rate {goal} is given twice")
        if equals:
            single[goal] = rate
        else:
            common = 0.0 if rate is None else rate
    settings: dict[str, Any] = {} if common is None else {"rate": common}
    return settings | ({"rates": single} if single else {})


def solver(
    name: str | None, rtol: float | None, atol: float | None, fixed_step: float | None = None
) -> dict[str, Any]:
    """Return the options of a run that set the solver and its tolerances.

    Without a name they apply to the automatically chosen solver.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        The solver is unknown, or does not have this tolerance.
    """
    from daesolve.core.preparation.extensions import solver_kind
    from daesolve.core.solvers import Dop853

    if fixed_step is not None and (rtol is not None or atol is not None):
        raise OutOfRangeError(
            "--fixed-step does not control the error: leave out either --fixed-step, or "
            "--rtol and --atol"
        )
    if name is None:
        if fixed_step is None:
            given = {"rtol": rtol, "atol": atol}
            return {option: value for option, value in given.items() if value is not None}
        name = Dop853.name
    kind = solver_kind(name)
    known = {entry.name for entry in fields(kind)}  # pyright: ignore[reportArgumentType]
    settings: dict[str, float] = {}
    for option, given in (("rtol", rtol), ("atol", atol), ("fixed_step", fixed_step)):
        if given is None:
            continue
        own = "tolerance" if option == "rtol" and "rtol" not in known else option
        if own not in known:
            advice = "use dop853" if option == "fixed_step" else "use --rtol"
            raise OutOfRangeError(f"the solver {name!r} has no {option}; {advice}")
        settings[own] = given
    return {"solver": kind(**settings)}

"""The command `daesolve sweep`."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from daesolve.cli import options
from daesolve.cli.option_sets import (
    DecisionOptions,
    DrivenCaseOptions,
    FormulationOptions,
    OutputOptions,
    SolverOptions,
    VerifyOptions,
    takes_options,
)
from daesolve.cli.options import COULD_NOT_GO_ON, ProblemName, Until, console, progress_bar
from daesolve.core.solvers import Taylor
from daesolve.ensembles import Sweep, log_uniform, normal, resume_sweep, sweep, uniform
from daesolve.ensembles.dispatch import Progress, SweepState
from daesolve.ensembles.sweep_files import sweep_manifest
from daesolve.ensembles.sweep_results import (
    ConvergenceOrders,
    MeasuredDependence,
    dependence,
    differences,
    outcomes,
    reasons,
)
from daesolve.ensembles.sweeping import case_from
from daesolve.errors import OutOfRangeError, readable, unknown_name
from daesolve.plugins.bound_case import BoundCase
from daesolve.reporting import write_measures
from daesolve.reporting.document import file_stem
from daesolve.reporting.layout import Rows

MOST_REASONS = 3
"""How many different reasons of failures are shown; the results have all."""

GAP = 3
"""Characters between two columns."""

MOST_VALUES = 10_000_000
"""The most values of one name."""

DRAWN = {"uniform": uniform, "log_uniform": log_uniform, "normal": normal}
SPREAD = {"linspace": np.linspace, "logspace": np.logspace, "geomspace": np.geomspace}
"""As in NumPy: logspace takes exponents of ten, geomspace the bounds themselves."""


@dataclass(frozen=True)
class GridOptions:
    """Which members a sweep has."""

    over: Annotated[
        list[str],
        typer.Option(
            "--over",
            metavar="NAME=V1,V2,...",
            help="A parameter, a structural choice or a start value with its values: a list, "
            "linspace(A,B,N), geomspace(A,B,N), logspace(A,B,N), or random draws: "
            "uniform(A,B), log_uniform(A,B), normal(MEAN,DEVIATION). Several of them form "
            "a grid.",
        ),
    ]
    samples: Annotated[
        int | None, typer.Option(help="Number of random members at each point of the grid.")
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of the random draws.")] = 0

    @property
    def values(self) -> dict[str, Any]:
        """What is varied, by name."""
        return varied(self.over)


@dataclass(frozen=True)
class WorkerOptions:
    """Where members run."""

    workers: Annotated[
        int | None,
        typer.Option(
            help="Number of processes; by default one per core. 0 runs everything in this one."
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="A Dask cluster instead of local processes."),
    ] = None
    batch: Annotated[
        bool | None,
        typer.Option(
            "--batch/--no-batch",
            help="Integrate all members side by side, or one by one; by default side by side "
            "where possible.",
            show_default=False,
        ),
    ] = None


@takes_options
def command(
    problem: ProblemName,
    case: DrivenCaseOptions,
    formulation: FormulationOptions,
    decisions: DecisionOptions,
    solver: SolverOptions,
    verify: VerifyOptions,
    output: OutputOptions,
    grid: GridOptions,
    place: WorkerOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Output directory, by default PROBLEM-CASE-sweep; a sweep found there resumes.",
        ),
    ] = None,
    until: Until = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="T1,T2,...", help="Sample times of each run, s."),
    ] = None,
) -> None:
    """Run a case many times with other values, on all cores or on a cluster.

    A member whose motion cannot be continued is a result too: its row gives the reason, and the
    command prints how many there are. The exit status is 0 if any member succeeded, 3 if none did
    or the sweep was interrupted, and 2 if the request is wrong.
    """
    bound, values = case.of(problem), grid.values
    label = f"{bound.problem.name} · {bound.case.name}"
    _refuse_fixed(values, {"--set": case.set_, "--initial": case.initial})
    with _progress(label, quiet=output.silent) as progress:
        found = sweep(
            bound,
            values,
            samples=grid.samples,
            seed=grid.seed,
            until=until,
            at=options.times(at),
            **vars(place),
            verify=verify.chosen,
            out=out or f"{file_stem(bound.problem.name)}-{file_stem(bound.case.name)}-sweep",
            progress=progress,
            inputs=case.inputs,
            formulation=formulation.chosen,
            **decisions.chosen,
            **(_in_lanes(solver) if place.batch else solver).chosen(),
        )
    _ended(found, bound, output)


def _in_lanes(asked: SolverOptions) -> SolverOptions:
    """Return the solver of a batch, which its tolerances are for."""
    named = asked.solver is not None or (asked.rtol is None and asked.atol is None)
    return asked if named else replace(asked, solver=Taylor.name)


def resume(
    directory: Path,
    workers: int | None,
    scheduler: str | None,
    source: Path | None,
    output: OutputOptions,
    *,
    any_version: bool,
) -> None:
    """Run the members of a sweep that have not run yet: `daesolve resume` of its directory."""
    case = case_from(directory, sweep_manifest(directory), source, options.say)
    with _progress(str(directory), quiet=output.silent) as progress:
        found = resume_sweep(
            directory,
            source=case,
            workers=workers,
            scheduler=scheduler,
            any_version=any_version,
            progress=progress,
        )
    _ended(found, case, output)


def _ended(found: Sweep, case: BoundCase, output: OutputOptions) -> None:
    """Show what came of a sweep, and end with the right status."""
    measured = dependence(found, case)
    _show(found, measured, output)
    if measured is not None:
        title = f"{case.problem.title}: {case.case.name}"
        page = write_measures(found.directory, measured, title)
        if not output.silent:
            for table in _orders(measured, console().width):
                options.show(table, "")
            typer.echo(f"figure and table: {page}")
    if found.interrupted or found.failed == found.done:
        raise typer.Exit(COULD_NOT_GO_ON)


def _refuse_fixed(over: Mapping[str, Any], fixed: Mapping[str, list[str] | None]) -> None:
    """Refuse a name that is varied and fixed at once.

    Raises
    ------
    OutOfRangeError
        A name is varied and fixed.
    """
    for option, words in fixed.items():
        for name in options.pairs(option, words or []):
            if name in over:
                raise OutOfRangeError(
                    f"{name!r} is given twice, by --over and by {option}: leave {option} out"
                )


def varied(words: Sequence[str]) -> dict[str, Any]:
    """Read NAME=V1,V2,... and NAME=function(A,B,...).

    Raises
    ------
    OutOfRangeError, UnknownNameError
        A word has no `=`, a name appears twice, or a function is unknown or has wrong arguments.
    """
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name or not text.strip():
            raise OutOfRangeError(f"--over needs NAME=V1,V2,... or NAME=uniform(A,B), not {word!r}")
        if name in found:
            raise OutOfRangeError(
                f"--over {name} is given twice: give all its values in one option"
            )
        call = re.fullmatch(r"\s*(\w+)\((.*)\)\s*", text)
        if call is None:
            found[name] = [options.value(entry.strip()) for entry in text.split(",")]
        else:
            found[name] = _called(word, *call.groups())
    return found


def _called(word: str, function: str, text: str) -> Any:
    known: dict[str, Any] = DRAWN | SPREAD
    if function not in known:
        raise unknown_name("range or distribution", function, known)
    try:
        numbers = [float(entry) for entry in text.split(",")]
        if function in DRAWN:
            low, high = numbers
            return DRAWN[function](low, high)
        first, last, count = numbers
        if not (count.is_integer() and 1 <= count <= MOST_VALUES and np.all(np.isfinite(numbers))):
            raise ValueError
        with np.errstate(all="raise"):
            return SPREAD[function](first, last, int(count))
    except (ValueError, ArithmeticError) as error:
        if isinstance(error, OutOfRangeError):
            raise
        takes = (
            "(A,B), two numbers"
            if function in DRAWN
            else f"(A,B,N), two bounds and a count to {MOST_VALUES:,}"
        )
        raise OutOfRangeError(f"--over {word}: {function} needs {takes}") from None


def _orders(measured: MeasuredDependence, width: int) -> list[Rows]:
    """Return what was measured, each order behind its value, in tables none of which is too wide.

    No word of a heading is broken: where headings are long, there are more tables.
    """
    values = [f"{readable(value):g}" for value in measured.values]
    first = max(map(len, [measured.over, *values]))
    tables: list[list[list[str]]] = []
    room = 0
    for column in map(_column, measured.measures):
        wide = GAP + max(map(len, column))
        if wide > room:
            tables.append([[measured.over, *values]])
            room = width - first
        tables[-1].append(column)
        room -= wide
    return [
        Rows(heads, cells, whole=heads, gap=GAP, ruled=True)
        for heads, *cells in (list(zip(*columns, strict=True)) for columns in tables)
    ]


def _column(entry: ConvergenceOrders) -> list[str]:
    """Return the heading of a measure, and below it each value with its order."""
    orders = ["", *("" if order is None else f"  {order:.4f}" for order in entry.orders)]
    widest = max(map(len, orders))
    cells = [f"{readable(v):.3e}{o:<{widest}}" for v, o in zip(entry.values, orders, strict=True)]
    return [f"{entry.name} ({entry.unit})" if entry.unit else entry.name, *cells]


def _show(found: Sweep, measured: MeasuredDependence | None, output: OutputOptions) -> None:
    apart = differences(found.directory)
    if output.as_json:
        document: dict[str, Any] = {
            "directory": str(found.directory),
            "count": found.count,
            "done": found.done,
            "failed": found.failed,
            "interrupted": found.interrupted,
            "outcomes": Counter(outcomes(found.directory).values()),
        }
        if apart:
            document["differences"] = {name: asdict(largest) for name, largest in apart.items()}
        if measured is not None:
            document["measures"] = measured.document()
        typer.echo(json.dumps(document, indent=1))
    elif not output.quiet:
        typer.echo(
            f"sweep: {found.directory}, {found.done} of {found.count} members done; "
            "a row for each in members/*.parquet"
        )
        if apart:
            said = (
                f"{name} {readable(one.difference):.2g} (member {one.member})"
                for name, one in apart.items()
            )
            typer.echo(f"verified; largest differences: {', '.join(said)}")
    if found.failed:
        shown = "; ".join(
            f"{count} of them: {message}"
            for message, count in reasons(found.directory)[:MOST_REASONS]
        )
        typer.echo(f"daesolve: {found.failed} of {found.done} members failed; {shown}", err=True)
    if found.interrupted:
        typer.echo(
            f"daesolve: interrupted after {found.done} of {found.count} members; repeat the "
            f"command or run `daesolve resume {found.directory}` to resume",
            err=True,
        )


@contextmanager
def _progress(label: str, *, quiet: bool) -> Generator[Progress | None]:
    """Show a bar on standard error while members run, where that is a terminal."""
    texts = "failed {task.fields[failed]}", "{task.fields[pace]:.3g} members/s"
    with progress_bar(label, *texts, quiet=quiet, failed=0, pace=0.0) as update_bar:
        if update_bar is None:
            yield None
            return
        begin = time.monotonic()

        def update(state: SweepState) -> None:
            pace = (state.done - state.before) / max(time.monotonic() - begin, 1e-9)
            update_bar(completed=state.done, total=state.count, failed=state.failed, pace=pace)

        yield update

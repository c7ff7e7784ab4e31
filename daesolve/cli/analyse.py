"""The commands `daesolve analyse` and `compare`: answers about a case besides its motion."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from daesolve import reporting
from daesolve.cli import options
from daesolve.cli.continuing import After, Begun, From, begun
from daesolve.cli.decisions import listed
from daesolve.cli.options import (
    COULD_NOT_GO_ON,
    REQUEST_IS_WRONG,
    AsJson,
    CaseName,
    Changes,
    Driving,
    ModelName,
    ParameterFile,
    ProblemName,
    StartValues,
    console,
    show,
)
from daesolve.cli.orbits import ANALYSES, OrbitOptions, goes_on
from daesolve.cli.orbits import answer as orbits_answer
from daesolve.core.formulations import FORMULATIONS
from daesolve.core.solvers import SOLVERS
from daesolve.errors import OutOfRangeError
from daesolve.plugins.analyses import ANALYSES as USUAL_ANALYSES
from daesolve.plugins.bound_case import BoundCase
from daesolve.verification.comparison import Comparison, Progress
from daesolve.verification.pairing import USUAL_FORMULATIONS, USUAL_SOLVERS, USUAL_TOLERANCES


# Long: every line of the signature is an option.
def analyse(
    problem: ProblemName,
    analysis: Annotated[
        str,
        typer.Argument(
            metavar="ANALYSIS",
            help=f"{listed((*USUAL_ANALYSES, *ANALYSES))}, or the problem's own: see "
            "`daesolve show`.",
        ),
    ],
    of: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="For sensitivity: a parameter or a start value."),
    ] = None,
    case: CaseName = None,
    model: ModelName = None,
    set_: Changes = None,
    parameters: ParameterFile = None,
    initial: StartValues = None,
    until: Annotated[float | None, typer.Option(help="For sensitivity: the horizon in s.")] = None,
    period: Annotated[
        str | None,
        typer.Option(metavar="EXPRESSION", help="For orbits: a period in s, such as 2*pi/w."),
    ] = None,
    section: Annotated[
        str | None,
        typer.Option(metavar="EVENT", help="For orbits: the event where they start and end."),
    ] = None,
    passages: Annotated[
        int, typer.Option(help="For orbits: number of passages until an orbit closes.")
    ] = 1,
    up_to: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="For orbits: states that need not return."),
    ] = None,
    reflect: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="For orbits: states that return mirrored."),
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=NUMBER", help="For orbits: which one, if several."),
    ] = None,
    steady: Annotated[
        bool, typer.Option("--steady", help="For orbits: follow only the shifted states.")
    ] = False,
    over: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LOW:HIGH", help="For branch and stability-map."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option(metavar="X:Y", help="For branch: the axes of its plot.")
    ] = None,
    step: Annotated[
        float | None,
        typer.Option(
            help="For branch: the longest step, as a fraction of the range; by default 0.02."
        ),
    ] = None,
    cells: Annotated[
        str | None,
        typer.Option(metavar="NX:NY", help="For stability-map: number of cells; by default 40:40."),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="For stability-map: also compute the borders as curves."),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            help=(
                "For stability-map: number of processes; by default one per core. 0 uses only "
                "this one."
            )
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="For stability-map: a Dask cluster instead of local processes."
        ),
    ] = None,
    angle: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="For circle-map: equivalent angles.")
    ] = None,
    modulo: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="For circle-map: the full circle; by default 2*pi."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Directory for answer.json and the figures.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Analyse a case beyond its motion: rank, sensitivity, orbits, and its own analyses."""
    asked = OrbitOptions(
        period, section, passages, up_to or [], reflect or [], family or [], over or [], plot,
        angle or [], modulo, steady, step, cells, follow, workers, scheduler,
    )  # fmt: skip
    bound = options.case(problem, case, model, parameters, set_ or [], initial or [])
    asked.check(analysis)
    orbits = analysis in ANALYSES and analysis not in bound.problem.analyses
    if out is not None and not (orbits and goes_on(analysis, out)):
        reporting.make_empty(out)
    with reporting.style():
        if orbits:
            answer = orbits_answer(bound, analysis, asked, out, quiet=as_json)
        else:
            answer = bound.analyse(analysis, of or [], until)
    document = reporting.answer_document(
        {**bound.identity(), "parameters": _given(bound)}, analysis, answer.values
    )
    written: list[Path] = []
    if out is not None:
        written = reporting.write_answer(out, document, answer.figures)
        if orbits and analysis == "branch":
            axis = asked.over[0].partition("=")[0]
            written.append(reporting.write_branch(out, document, axis, answer.figures))
    if as_json:
        typer.echo(reporting.dump(document))
        return
    show(reporting.answer_text(document, answer.words))
    if written:
        typer.echo(f"written: {', '.join(map(str, written))}")


def compare(
    problem: ProblemName,
    formulations: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help=f"Some of {', '.join(FORMULATIONS)}; by default {', '.join(USUAL_FORMULATIONS)}.",
        ),
    ] = None,
    solvers: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y,...",
            help=f"Some of {', '.join(SOLVERS)}; by default {', '.join(USUAL_SOLVERS)}.",
        ),
    ] = None,
    case: CaseName = None,
    model: ModelName = None,
    set_: Changes = None,
    input_: Driving = None,
    parameters: ParameterFile = None,
    initial: StartValues = None,
    after: After = None,
    from_: From = None,
    tolerances: Annotated[
        str | None, typer.Option(metavar="R1,R2,...", help="Five, from 1e-4 to 1e-12.")
    ] = None,
    until: Annotated[float | None, typer.Option(help="End time of the runs, s.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Directory for comparison.json and the figure.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run formulations with solvers: error, cost, drift, and whether they agree."""
    begin = begun(problem, case, model, parameters, set_ or [], initial or [], (after, from_))
    if out is not None:
        reporting.make_empty(out)
    driving = options.inputs(input_ or [])
    asked = (formulations, solvers, tolerances, until)
    found, document = compared(begin, *asked, inputs=driving, quiet=as_json)
    written = [] if out is None else reporting.write_comparison(out, document)
    if as_json:
        typer.echo(reporting.dump(document))
    else:
        show(reporting.comparison_text(document))
        if written:
            typer.echo(f"written: {', '.join(map(str, written))}")
    if not found.runs and not found.interrupted:
        typer.echo("daesolve: no pair of a formulation and a solver works", err=True)
        raise typer.Exit(REQUEST_IS_WRONG)
    if found.interrupted or not any(run.outcome.good for run in found.runs):
        why = "interrupted" if found.interrupted else "no run finished"
        typer.echo(f"daesolve: {why}", err=True)
        raise typer.Exit(COULD_NOT_GO_ON)


def names(option: str, text: str) -> list[str]:
    """Read a list of names, A,B,...

    Raises
    ------
    OutOfRangeError
        The list is empty.
    """
    found = [word.strip() for word in text.split(",") if word.strip()]
    if not found:
        raise OutOfRangeError(f"{option} needs names, A,B,..., not {text!r}")
    return found


def tolerances(text: str | None) -> list[float] | None:
    """Read a list of tolerances, R1,R2,...

    Raises
    ------
    OutOfRangeError
        An entry is not a number, or the list is empty.
    """
    if text is None:
        return None
    try:
        found = [float(word) for word in text.split(",") if word.strip()]
    except ValueError:
        found = []
    if not found:
        raise OutOfRangeError(f"--tolerances needs numbers, R1,R2,..., not {text!r}")
    return found


def compared(
    begin: Begun,
    formulations: str | None,
    solvers: str | None,
    tolerances_asked: str | None,
    until: float | None,
    *,
    inputs: Mapping[str, Any] | None = None,
    quiet: bool,
) -> tuple[Comparison, dict[str, Any]]:
    """Compare, with a progress bar if standard error is a terminal; return the document too.

    Raises
    ------
    DaesolveError
        The request cannot be run.
    """
    bound = begin.case
    with _progress(bound, quiet=quiet) as progress:
        found = bound.compare(
            None if formulations is None else names("--formulations", formulations),
            None if solvers is None else names("--solvers", solvers),
            until,
            begin.initial,
            tolerances=tolerances(tolerances_asked) or USUAL_TOLERANCES,
            progress=progress,
            **begin.with_options(inputs, {}),
        )
    identity = {
        **bound.identity(),
        "parameters": _given(bound),
        "start_time": begin.time,
        "until": bound.case.until if until is None else until,
    }
    return found, reporting.comparison_document(found, identity)


def _given(bound: BoundCase) -> dict[str, float]:
    """Return the parameters of a case, without what the problem derives from them."""
    derived = bound.derived
    return {name: value for name, value in bound.full_parameters.items() if name not in derived}


@contextmanager
def _progress(bound: BoundCase, *, quiet: bool) -> Generator[Progress | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.fields[what]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("runs", what=f"{bound.problem.name} · {bound.case.name}")

        def update(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, what=what)

        yield update

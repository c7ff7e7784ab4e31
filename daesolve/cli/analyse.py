"""The commands `daesolve analyse` and `compare`: answers about a case besides its motion."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from daesolve import reporting
from daesolve.cli import options
from daesolve.cli.continuing import Begun, ContinuingCaseOptions
from daesolve.cli.option_sets import CaseOptions, listed, takes_options
from daesolve.cli.options import (
    COULD_NOT_GO_ON,
    REQUEST_IS_WRONG,
    AsJson,
    ProblemName,
    Until,
    show,
)
from daesolve.cli.orbits import ANALYSES, OrbitOptions, goes_on
from daesolve.cli.orbits import answer as orbits_answer
from daesolve.core.formulations import FORMULATIONS
from daesolve.core.solvers import SOLVERS
from daesolve.errors import OutOfRangeError
from daesolve.plugins.analyses import ANALYSES as USUAL_ANALYSES
from daesolve.plugins.bound_case import BoundCase
from daesolve.verification.attempts import USUAL_FORMULATIONS, USUAL_SOLVERS, USUAL_TOLERANCES
from daesolve.verification.comparison import Comparison


@takes_options
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
    case: CaseOptions,
    asked: OrbitOptions,
    of: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="For sensitivity: a parameter or a start value."),
    ] = None,
    until: Annotated[float | None, typer.Option(help="For sensitivity: the horizon in s.")] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="T1,T2,...|events", help="For sensitivity: sample times in s, or every event."
        ),
    ] = None,
    every: Annotated[
        float | None, typer.Option(metavar="DT", help="For sensitivity: a sampling interval, s.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory for answer.json, the figures and a table of samples."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Analyse a case beyond its motion: rank, sensitivity, orbits, and its own analyses."""
    bound = case.of(problem)
    asked.check(analysis)
    samples, last = options.samples(at, every)
    orbits = analysis in ANALYSES and analysis not in bound.problem.analyses
    if orbits and samples is not None:
        raise OutOfRangeError(
            f"the analysis {analysis!r} does not use sample times, --at or --every"
        )
    if out is not None and not (orbits and goes_on(analysis, out)):
        reporting.make_empty(out)
    with reporting.style():
        if orbits:
            answer = orbits_answer(bound, analysis, asked, out, quiet=as_json)
        else:
            end = last if until is None else until
            answer = bound.analyse(analysis, of or [], end, samples)
    document = reporting.answer_document(
        {**bound.identity(), "parameters": _given(bound)}, analysis, answer.values
    )
    written: list[Path] = []
    if out is not None:
        written = reporting.write_answer(out, document, answer.figures)
        if samples is not None:
            written.append(_write_table(out / "samples.csv", document["samples"]))
        if orbits and analysis == "branch" and asked.over:
            axis = asked.over[0].partition("=")[0]
            written.append(reporting.write_branch(out, document, axis, answer.figures))
    if as_json:
        typer.echo(reporting.dump(document))
        return
    show(reporting.answer_text(document, answer.words))
    if written:
        typer.echo(f"written: {', '.join(map(str, written))}")


@takes_options
def compare(
    problem: ProblemName,
    case: ContinuingCaseOptions,
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
    tolerances: Annotated[
        str | None, typer.Option(metavar="R1,R2,...", help="Five, from 1e-4 to 1e-12.")
    ] = None,
    until: Until = None,
    out: Annotated[
        Path | None, typer.Option(help="Directory for comparison.json and the figure.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run formulations with solvers: error, cost, drift, and whether they agree."""
    begin = case.begin(problem)
    if out is not None:
        reporting.make_empty(out)
    asked = (formulations, solvers, tolerances, until)
    found, document = compared(begin, *asked, inputs=case.inputs, quiet=as_json)
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
    label = f"{bound.problem.name} · {bound.case.name}"
    with options.progress_bar(label, quiet=quiet, remaining=False) as update:

        def progress(done: int, total: int, what: str) -> None:
            assert update is not None
            update(completed=done, total=total, description=what)

        found = bound.compare(
            None if formulations is None else names("--formulations", formulations),
            None if solvers is None else names("--solvers", solvers),
            until,
            begin.initial,
            tolerances=tolerances(tolerances_asked) or USUAL_TOLERANCES,
            progress=None if update is None else progress,
            **begin.with_options(inputs, {}),
        )
    identity = {
        **bound.identity(),
        "parameters": _given(bound),
        "start_time": begin.time,
        "until": bound.case.until if until is None else until,
    }
    return found, reporting.comparison_document(found, identity)


def _write_table(path: Path, rows: Sequence[Mapping[str, float]]) -> Path:
    """Write rows by column as CSV, with every digit; return the path."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    return path


def _given(bound: BoundCase) -> dict[str, float]:
    """Return the parameters of a case, without what the problem derives from them."""
    derived = bound.derived
    return {name: value for name, value in bound.full_parameters.items() if name not in derived}

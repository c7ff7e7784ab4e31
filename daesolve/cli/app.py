"""The commands and their options."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from daesolve import registry, reporting
from daesolve.cli import animate as animating
from daesolve.cli import compare as comparing
from daesolve.cli import doctor as backends
from daesolve.cli import new as making
from daesolve.cli import options
from daesolve.cli import page as paging
from daesolve.cli import run as running
from daesolve.cli import sweep as sweeping
from daesolve.cli.arguments import (
    COULD_NOT_GO_ON,
    REQUEST_IS_WRONG,
    AsJson,
    CaseName,
    Changes,
    ModelName,
    ParameterFile,
    ProblemName,
    StartValues,
)
from daesolve.cli.show import description, description_tables
from daesolve.errors import DaesolveError

app = typer.Typer(
    help="Integrate constrained mechanical systems over very long horizons.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line."""
    app()


@contextmanager
def _told() -> Generator[None]:
    """Turn a wrong request into its sentence and exit status 2."""
    try:
        yield
    except DaesolveError as error:
        typer.echo(f"daesolve: {error}", err=True)
        raise typer.Exit(REQUEST_IS_WRONG) from None


@app.command("list")
def list_problems(as_json: AsJson = False) -> None:
    """List the problems of every installed plugin."""
    found, broken = registry.problems()
    if as_json:
        document = {
            "problems": [
                {
                    "name": problem.name,
                    "title": problem.title,
                    "models": list(problem.models),
                    "cases": [case.name for case in problem.cases],
                }
                for problem in found
            ],
            "broken": [
                {"name": plugin.name, "source": plugin.source, "reason": plugin.reason}
                for plugin in broken
            ],
        }
        typer.echo(json.dumps(document, indent=1))
        return
    table = Table("problem", "title", "models", "cases", box=None, pad_edge=False)
    for problem in found:
        cases = ", ".join(case.name for case in problem.cases)
        table.add_row(problem.name, problem.title, ", ".join(problem.models), cases)
    Console().print(table)
    for plugin in broken:
        typer.echo(f"daesolve: {plugin.reason}", err=True)


@app.command()
def show(problem: ProblemName, as_json: AsJson = False) -> None:
    """Show a problem: models, structure, parameters, states, goals, cases."""
    with _told():
        document = description(registry.problem(problem))
    if as_json:
        typer.echo(json.dumps(document, indent=1))
    else:
        Console().print(description_tables(document))


app.command("run")(_told()(running.run))
app.command("resume")(_told()(running.resume))
app.command("sweep")(_told()(sweeping.command))


@app.command()
def analyse(
    problem: ProblemName,
    analysis: Annotated[str, typer.Argument(metavar="ANALYSIS", help="See `daesolve show`.")],
    of: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Of sensitivity: a parameter or a start value."),
    ] = None,
    case: CaseName = None,
    model: ModelName = None,
    set_: Changes = None,
    parameters: ParameterFile = None,
    initial: StartValues = None,
    until: Annotated[float | None, typer.Option(help="Of sensitivity: the horizon in s.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="A directory for answer.json and the figures.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute what is asked of a case besides its motion: rank, sensitivity, its own."""
    with _told():
        bound = options.case(problem, case, model, parameters, set_ or [], initial or [])
        if out is not None:
            reporting.make_empty(out)
        with reporting.style():
            answer = bound.analyse(analysis, of or [], until)
        document = reporting.answer_document(
            {**bound.identity(), "parameters": bound.full_parameters}, analysis, answer.values
        )
        written: list[Path] = []
        if out is not None:
            written = reporting.write_answer(out, document, answer.figures)
    if as_json:
        typer.echo(reporting.dump(document))
        return
    Console().print(reporting.answer_text(document))
    if written:
        typer.echo(f"written: {', '.join(map(str, written))}")


@app.command()
def compare(
    problem: ProblemName,
    formulations: Annotated[str, typer.Option(metavar="A,B,...", help="Formulations by name.")],
    solvers: Annotated[str, typer.Option(metavar="X,Y,...", help="Solvers by name.")],
    case: CaseName = None,
    model: ModelName = None,
    set_: Changes = None,
    parameters: ParameterFile = None,
    initial: StartValues = None,
    tolerances: Annotated[
        str | None, typer.Option(metavar="R1,R2,...", help="In place of the solvers' own.")
    ] = None,
    until: Annotated[float | None, typer.Option(help="The end of the runs, s.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="A directory for comparison.json and the figure.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run formulations with solvers: error, cost, drift, and whether they agree."""
    with _told():
        bound = options.case(problem, case, model, parameters, set_ or [], initial or [])
        if out is not None:
            reporting.make_empty(out)
        found, document = comparing.compare(
            bound, formulations, solvers, tolerances, until, quiet=as_json
        )
    written = [] if out is None else reporting.write_comparison(out, document)
    if as_json:
        typer.echo(reporting.dump(document))
    else:
        Console().print(reporting.comparison_text(document))
        if written:
            typer.echo(f"written: {', '.join(map(str, written))}")
    if not found.runs and not found.interrupted:
        typer.echo("daesolve: no formulation meets a solver: every pair was refused", err=True)
        raise typer.Exit(REQUEST_IS_WRONG)
    if found.interrupted or not any(run.outcome.good for run in found.runs):
        why = "interrupted" if found.interrupted else "no run was completed"
        typer.echo(f"daesolve: {why}", err=True)
        raise typer.Exit(COULD_NOT_GO_ON)


@app.command()
def report(
    directories: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Runs of `--out`.")],
) -> None:
    """Build report.html and report.json again, several runs side by side."""
    with _told():
        page = reporting.rebuild(directories)
    typer.echo(f"report: {page}")


app.command("animate")(_told()(animating.command))
app.command("new")(_told()(making.command))
app.command("page")(_told()(paging.command))


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Tell which solvers are usable here, and how to add those that are not."""
    found = backends.solvers()
    if as_json:
        typer.echo(json.dumps({"solvers": found}, indent=1))
        return
    table = Table("solver", "usable", "by", "version", "to add it", box=None, pad_edge=False)
    for entry in found:
        table.add_row(
            entry["name"],
            "yes" if entry["usable"] else "no",
            entry["package"],
            entry["version"] or "",
            escape(entry["install"] or ""),
        )
    Console().print(table)

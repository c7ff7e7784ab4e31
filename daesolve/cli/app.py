"""The commands and their options."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from daesolve import registry, reporting
from daesolve.cli import animate as animating
from daesolve.cli import compare as comparing
from daesolve.cli import doctor as backends
from daesolve.cli import options
from daesolve.cli.show import description, description_tables
from daesolve.errors import DaesolveError, OutOfRangeError, PluginError
from daesolve.monitors import Monitor
from daesolve.problem import BoundCase

app = typer.Typer(
    help="Integrate constrained mechanical systems over very long horizons.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

REQUEST_IS_WRONG = 2
COULD_NOT_GO_ON = 3

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
ProblemName = Annotated[
    str, typer.Argument(metavar="PROBLEM", help="A problem's name, or a Python file of yours.")
]
CaseName = Annotated[
    str | None, typer.Option("--case", help="A case; the first where none is given.")
]
ModelName = Annotated[str | None, typer.Option("--model", help="A model in place of the case's.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter or a structural choice."),
]
ParameterFile = Annotated[
    Path | None, typer.Option("--parameters", help="A JSON or TOML file of parameters.")
]
StartValues = Annotated[
    list[str] | None,
    typer.Option(
        "--initial", metavar="NAME=VALUE", help="A start value, by state or the case's own name."
    ),
]


def main() -> None:
    """Run the command line."""
    app()


@contextmanager
def _told() -> Iterator[None]:
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


@app.command()
def run(
    problem: ProblemName,
    case: CaseName = None,
    model: ModelName = None,
    set_: Changes = None,
    parameters: ParameterFile = None,
    initial: StartValues = None,
    until: Annotated[float | None, typer.Option(help="The end of the run, s.")] = None,
    at: Annotated[str | None, typer.Option(metavar="T1,T2,...", help="Sample times, s.")] = None,
    formulation: Annotated[
        str | None,
        typer.Option(
            help="How the equations are formulated; feedback, or projected to pass a rank loss."
        ),
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(metavar="[GOAL=]VALUE|off|auto", help="Feedback rates, 1/s."),
    ] = None,
    redundant: Annotated[
        str, typer.Option(help="Constraints that depend on each other: error, drop, minimum-norm.")
    ] = "error",
    rank_loss: Annotated[
        str | None,
        typer.Option(
            help="Where constraints lose rank at isolated positions: stop, pass; else the case's."
        ),
    ] = None,
    solver: Annotated[str | None, typer.Option(help="The solver; see `daesolve doctor`.")] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance of a step.")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance of a step.")] = None,
    fixed_step: Annotated[
        float | None, typer.Option(help="A step that is taken whatever the error, s (dop853).")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Repeat with a tightened tolerance and compare.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="A directory for run.json and the report.")
    ] = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")] = False,
) -> None:
    """Integrate a case of a problem and report how far the result can be trusted."""
    with _told():
        _one_of("--redundant", redundant, ("error", "drop", "minimum-norm"))
        if rank_loss is not None:
            _one_of("--rank-loss", rank_loss, ("stop", "pass"))
        bound = options.case(problem, case, model, parameters, set_ or [], initial or [])
        sample_times = options.times(at)
        settings: dict[str, Any] = {
            "formulation": options.formulation(formulation, rate or []),
            "solver": options.solver(solver, rtol, atol, fixed_step),
            "verify": verify,
            "redundant": redundant,
        }
        if rank_loss is not None:
            settings["rank_loss"] = rank_loss
        if sample_times is not None:
            settings["at"] = sample_times
            until = sample_times[-1] if until is None else until
        if out is not None:
            reporting.make_empty(out)
        end = until if until is not None else bound.case.until
        with _progress(bound, end, quiet=quiet or as_json) as progress:
            trajectory = bound.solve(until, progress=progress, **settings)
        document = reporting.document(trajectory, bound.identity())
        document = reporting.with_drawing(document, bound.problem.drawing)
        if out is not None:
            reporting.write(out, document, bound.problem.figures)
    if as_json:
        typer.echo(reporting.dump(document))
    elif not quiet:
        Console().print(reporting.summary(document))
        if out is not None:
            typer.echo(f"report: {out / 'report.html'}")
    if not trajectory.outcome.good:
        kept = f"; what was computed is in {out}" if out is not None else ""
        typer.echo(f"daesolve: {trajectory.outcome.value}: {trajectory.message}{kept}", err=True)
        raise typer.Exit(COULD_NOT_GO_ON)


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
        page = reporting.rebuild(directories, _figures_of)
    typer.echo(f"report: {page}")


app.command("animate")(_told()(animating.command))


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


def _figures_of(document: Mapping[str, Any]) -> Mapping[str, Callable[..., Any]]:
    """Return the figures of a run's problem; none where its plugin is gone."""
    try:
        return registry.problem(document.get("problem") or "").figures
    except (PluginError, LookupError):
        return {}


def _one_of(option: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise OutOfRangeError(f"{option} is {given!r}, but must be one of {', '.join(known)}")


@contextmanager
def _progress(
    bound: BoundCase, end: float, *, quiet: bool
) -> Iterator[Callable[[float, Monitor, int], None] | None]:
    """Show a bar on standard error while the run goes on, where that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    begin = bound.case.start_time
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("t = {task.fields[time]:.6g} s"),
        TextColumn("events {task.fields[events]}"),
        TextColumn("drift {task.fields[drift]:.1e}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        label = f"{bound.problem.name} · {bound.case.name}"
        task = bar.add_task(label, total=abs(end - begin), time=begin, events=0, drift=0.0)

        def update(time: float, monitor: Monitor, events: int) -> None:
            worst = max((entry.max_relative for entry in monitor.drift().values()), default=0.0)
            bar.update(task, completed=abs(time - begin), time=time, events=events, drift=worst)

        yield update

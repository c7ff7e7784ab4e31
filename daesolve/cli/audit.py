"""The command `daesolve audit`: a run held against what was posed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from daesolve import reporting
from daesolve.cli.option_sets import (
    DrivenCaseOptions,
    FormulationOptions,
    OutputOptions,
    SolverOptions,
    takes_options,
)
from daesolve.cli.options import CONTRADICTED, COULD_NOT_GO_ON, SourceFile, Until, say, show
from daesolve.cli.run import shown
from daesolve.core.posing.measured import columns_of
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.results.trajectory.stored_trajectories import stored_run
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.solving.early_ends import reported_otherwise
from daesolve.core.run.solving.stored_runs import keep_audit
from daesolve.errors import OutOfRangeError
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.resuming import problem_of, reopened
from daesolve.verification.audit import audit_samples
from daesolve.verification.second_run import audited

MANIFEST = "manifest.json"


@takes_options
def audit(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM|DIR",
            help="A problem's name, your own Python file, a model file, or a run of `--out`.",
        ),
    ],
    case: DrivenCaseOptions,
    formulation: FormulationOptions,
    solver: SolverOptions,
    output: OutputOptions,
    until: Until = None,
    samples: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Samples of the problem by another program, CSV or Parquet, instead of a run.",
        ),
    ] = None,
    source: SourceFile = None,
) -> None:
    """Hold a run against what was posed: what holds to how much, and what was not checked.

    A problem is run first; a run on disk is integrated again, and keeps what is found. Samples of
    another program have a column "t" and one for each state.
    """
    of_run = (until, formulation, solver) != (None, FormulationOptions(), SolverOptions())
    if samples is not None:
        if of_run:
            raise OutOfRangeError("samples are not run: leave out options of a run")
        _of_samples(case.of(target), samples, output)
        return
    if (Path(target) / MANIFEST).is_file():
        if of_run or case != DrivenCaseOptions():
            raise OutOfRangeError(f"{target} is a run, with options of its own: leave out others")
        run, identity = _stored(Path(target), source)
    else:
        bound = case.of(target)
        end = bound.case.until if until is None else until
        label = f"{bound.problem.name} · {bound.case.name}"
        asked: dict[str, Any] = {
            "inputs": case.inputs,
            "formulation": formulation.chosen,
            **solver.chosen(),
        }
        with (
            shown(label, bound.case.start_time, end, quiet=output.silent) as progress,
            reported_otherwise(),
        ):
            run = audited(bound.solve(end, progress=progress, **asked))
        identity = bound.identity()
    told = reporting.document(run, identity)
    if output.as_json:
        typer.echo(reporting.dump(reporting.audit_document(told)))
    elif not output.quiet:
        show(reporting.audit_text(told))
    _leave(run)


def _of_samples(case: BoundCase, file: Path, output: OutputOptions) -> None:
    """Hold samples in a file against a case, and set the exit status."""
    found = audit_samples(case.system, columns_of(file), parameters=case.full_parameters)
    if output.as_json:
        typer.echo(reporting.dump(found.as_json()))
    elif not output.quiet:
        typer.echo(str(found))
    if not found.holds:
        say(f"contradicted: {found.objection}")
        raise typer.Exit(CONTRADICTED)


def _stored(directory: Path, source: Path | None) -> tuple[Trajectory, Any]:
    """Audit a run on disk, which keeps what is found."""
    stored = stored_run(directory)
    if stored.result is None:
        raise OutOfRangeError(
            f"the run in {directory} is not finished: `daesolve resume {directory}` finishes it"
        )
    run = reopened(directory, problem_of(stored, source, say), say)
    if run.outcome is Outcome.CONTRADICTED:
        # An earlier audit said so; what the run itself said stands in its last checkpoint.
        outcome, message = stored.checkpoint(stored.last)["ended"]
        run = replace(run, outcome=Outcome(outcome), message=message)
    run = audited(run)
    keep_audit(directory, run)
    return run, stored.manifest["identity"]


def _leave(run: Trajectory) -> None:
    """Set the exit status."""
    if run.audited is not None and not run.audited.holds:
        say(f"contradicted: {run.audited.objection}")
        raise typer.Exit(CONTRADICTED)
    if not run.outcome.good:
        say(f"{run.outcome.value}: {run.message}")
        raise typer.Exit(COULD_NOT_GO_ON)

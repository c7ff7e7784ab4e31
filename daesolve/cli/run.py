"""The commands `daesolve run` and `daesolve resume`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from math import isclose
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from daesolve import reporting
from daesolve.cli import options
from daesolve.cli.continuing import Begun, ContinuingCaseOptions
from daesolve.cli.live import PAGE, Live, write_live
from daesolve.cli.option_sets import (
    DecisionOptions,
    FormulationOptions,
    OutputOptions,
    SolverOptions,
    VerifyOptions,
    takes_options,
)
from daesolve.cli.options import (
    CONTRADICTED,
    COULD_NOT_GO_ON,
    ProblemName,
    SourceFile,
    Until,
    say,
    show,
)
from daesolve.core.preparation.choosing import TAKES_NO_ATOL
from daesolve.core.results.storage import kind_of, resuming
from daesolve.core.results.trajectory.in_words import continued_run
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.results.trajectory.stored_trajectories import stored_run
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.simulation import Progress
from daesolve.core.run.solving.early_ends import reported_otherwise
from daesolve.core.run.solving.progress import showing
from daesolve.errors import DegenerateConstraintError, OutOfRangeError, VariantError
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.resuming import problem_of
from daesolve.plugins.resuming import resume as go_on
from daesolve.reporting import Rules

MOVED = 1e-9
"""Relative change of a start value from which a sentence reports it."""


@takes_options
def run(
    problem: ProblemName,
    case: ContinuingCaseOptions,
    formulation: FormulationOptions,
    decisions: DecisionOptions,
    solver: SolverOptions,
    verify: VerifyOptions,
    output: OutputOptions,
    until: Until = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="T1,T2,...|events", help="Sample times in s, or at every event."),
    ] = None,
    interval: Annotated[
        float | None, typer.Option("--every", metavar="DT", help="Sampling interval, s.")
    ] = None,
    max_evaluations: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Stop after this many right-hand sides and keep what is done."
        ),
    ] = None,
    fixed_step: Annotated[
        float | None, typer.Option(help="A fixed step without error control, s (dop853).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory for the run and its report."),
    ] = None,
    live: Live = False,
    certify: Annotated[
        bool,
        typer.Option(
            "--certify", help="Prove boxes that contain the motion: DIR/certificate.json."
        ),
    ] = False,
) -> None:
    """Integrate a case of a problem and report how far the result can be trusted."""
    if live and out is None:
        raise OutOfRangeError("--live writes a page beside the report: give a directory, --out DIR")
    begin = case.begin(problem)
    samples, last = options.samples(at, interval)
    settings: dict[str, Any] = {
        "initial": begin.initial,
        "formulation": formulation.chosen,
        "verify": verify.chosen,
        "certify": certify or None,
        "store": out,
        "max_evaluations": max_evaluations,
        **begin.with_options(case.inputs, decisions.chosen),
        "at": samples,
        **solver.chosen(fixed_step),
    }
    trajectory = _solved(begin, last if until is None else until, settings, output)
    bound = begin.case
    _say(trajectory, bound)
    _show(trajectory, bound.identity(), out, bound.problem, output)
    if live and out is not None:
        write_live(trajectory, out / PAGE, quiet=output.silent)


def _solved(
    begin: Begun, until: float | None, settings: Mapping[str, Any], output: OutputOptions
) -> Trajectory:
    """Run a case; one that cannot begin ends the command, with the reason."""
    bound = begin.case
    end = until if until is not None else bound.case.until
    label = f"{bound.problem.name} · {bound.case.name}"
    with (
        _stoppable(settings["store"]),
        shown(label, begin.time, end, quiet=output.silent) as progress,
    ):
        try:
            with reported_otherwise():
                return bound.solve(until, progress=progress, **settings)
        except DegenerateConstraintError as error:
            return cast(Trajectory, error.run)
        except VariantError as error:
            if error.run is not None:
                return cast(Trajectory, error.run)
            never = reporting.never_begun(bound.identity(), begin.time, error)
    if output.as_json:
        typer.echo(reporting.dump(never))
    typer.echo(f"daesolve: {never['message']}", err=True)
    raise typer.Exit(COULD_NOT_GO_ON)


@takes_options
def resume(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run of `--out`.")],
    output: OutputOptions,
    until: Annotated[
        float | None, typer.Option(help="Another end of the run than planned, later or earlier, s.")
    ] = None,
    any_version: Annotated[
        bool,
        typer.Option("--any-version", help="Resume even if packages or the processor changed."),
    ] = False,
    source: SourceFile = None,
    workers: Annotated[int | None, typer.Option(help="For a sweep: number of processes.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="For a sweep: a Dask cluster.")
    ] = None,
) -> None:
    """Resume a run or a sweep that was stopped or killed, or extend a finished run."""
    if kind_of(directory) == "sweep":
        if until is not None:
            raise OutOfRangeError("--until can extend a run but not a sweep: start a new sweep")
        from daesolve.cli import sweep as sweeping

        return sweeping.resume(
            directory,
            workers,
            scheduler,
            source,
            output,
            any_version=any_version,
        )
    if workers is not None or scheduler is not None:
        raise OutOfRangeError(
            f"--workers and --scheduler apply only to sweeps, but {directory} is a run"
        )
    stored = stored_run(directory)
    problem = None if stored.manifest["source"] is None else problem_of(stored, source, say)
    manifest = stored.manifest
    identity: Mapping[str, Any] = manifest["identity"]
    begin = manifest["request"]["start_time"]
    end = manifest["horizons"][-1] if until is None else until
    label = " · ".join(str(identity[key]) for key in ("problem", "case") if identity.get(key))
    with (
        _stoppable(directory),
        shown(label or str(directory), begin, end, quiet=output.silent) as progress,
        reported_otherwise(),
    ):
        trajectory = go_on(
            directory,
            until,
            source=problem,
            any_version=any_version,
            progress=progress,
            tell=say,
        )
    return _show(trajectory, identity, directory, problem, output)


def _show(
    trajectory: Trajectory,
    identity: Mapping[str, Any],
    out: Path | None,
    problem: Rules | None,
    output: OutputOptions,
) -> None:
    """Write the report of a run, print what was requested, and set the exit status."""
    page = (
        None
        if out is None or trajectory.outcome is Outcome.INTERRUPTED
        else _reported(out, problem)
    )
    if output.as_json:
        typer.echo(reporting.dump(reporting.document(trajectory, identity)))
    elif not output.quiet and (out is None or page is not None):
        shortened = trajectory if out is None else trajectory.thinned(reporting.ROWS)
        told = reporting.document(shortened, identity)
        if not trajectory.outcome.good:
            told["message"] = ""  # the last sentence gives the reason
        show(reporting.summary(told))
        if page is not None:
            typer.echo(f"report: {page}")
    if not trajectory.outcome.good:
        nothing_kept = out is None or trajectory.outcome is Outcome.INTERRUPTED
        kept = "" if nothing_kept else f"; the results so far are in {out}"
        how, why = trajectory.outcome.value, trajectory.message
        sentence = why if why.startswith(how) else f"{how}: {why}"
        typer.echo(f"daesolve: {sentence}{kept}", err=True)
        contradicted = trajectory.outcome is Outcome.CONTRADICTED
        raise typer.Exit(CONTRADICTED if contradicted else COULD_NOT_GO_ON)


def _say(trajectory: Trajectory, bound: BoundCase) -> None:
    """Say what differs from the request: the solver, and start values that moved.

    And that the run continues one that failed.
    """
    said = [note for note in trajectory.description.get("notes", ()) if note == TAKES_NO_ATOL]
    continues: Mapping[str, Any] | None = trajectory.description.get("continues")
    if continues is not None and continues["outcome"] == Outcome.FAILED.value:
        said += continued_run(continues)
    guess, _ = bound.guess()
    for name in bound.start.keys() & guess.keys():
        given = bound.start[name]
        _, value = trajectory.start.get(name, (given, guess[name]))
        if not isclose(value, given, rel_tol=MOVED, abs_tol=MOVED):
            said.append(
                f"{name} starts at {value:g}, not at {given:g}: the case's rule computes a "
                "state from this start value, and the state was then made consistent"
            )
    for sentence in sorted(said):
        say(sentence)


def _reported(out: Path, problem: Rules | None) -> Path | None:
    """Write the report; a full disk must not cost the word about the run."""
    try:
        return reporting.rebuild([out], lambda _: problem)
    except OSError as error:
        typer.echo(
            f"daesolve: the run is saved, but its report could not be written ({error}); "
            f"`daesolve report {out}` writes it again",
            err=True,
        )
        return None


@contextmanager
def _stoppable(directory: Path | None) -> Generator[None]:
    """End a run that is stopped at once with a sentence that says how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        begun = directory is not None and (directory / "manifest.json").is_file()
        how = f"; `{resuming(directory)}` resumes it" if directory is not None and begun else ""
        typer.echo(f"daesolve: interrupted{how}", err=True)
        raise typer.Exit(COULD_NOT_GO_ON) from None


class _Said(logging.Handler):
    """Writes lines of a log as sentences for the user."""

    def emit(self, record: logging.LogRecord) -> None:
        # The bar makes room for what is printed, where Typer writes across it.
        print(f"daesolve: {record.getMessage()}", file=sys.stderr)


@contextmanager
def _told_of_compiling() -> Generator[None]:
    # Its name, since numba takes long to import.
    log, handler = logging.getLogger("daesolve.compiling"), _Said()
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


@contextmanager
def shown(label: str, begin: float, end: float, *, quiet: bool) -> Generator[Progress | None]:
    """Show a progress bar during a run, and what is compiled, if standard error is a terminal.

    Parameters
    ----------
    label
        What is run.
    begin, end
        s
    quiet
        Show nothing.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with _told_of_compiling(), showing(True, begin, end, label) as progress:
        yield progress

"""The command `daesolve export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from daesolve.cli import options
from daesolve.cli.option_sets import (
    DependenceOptions,
    DrivenCaseOptions,
    FormulationOptions,
    OutputOptions,
    takes_options,
)
from daesolve.cli.options import ProblemName
from daesolve.errors import OutOfRangeError

SUFFIX = ".fmu"


@takes_options
def export(
    problem: ProblemName,
    case: DrivenCaseOptions,
    formulation: FormulationOptions,
    dependence: DependenceOptions,
    output: OutputOptions,
    to: Annotated[Path, typer.Option("--to", metavar="FILE.fmu", help="The file to write.")],
    horizon: Annotated[
        float | None,
        typer.Option(help="About how long it will be simulated, s; by default the case's horizon."),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Tolerance of a step, if the importing tool sets none.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Check the unit with FMPy and print the findings.")
    ] = False,
) -> None:
    """Export a case as an FMI 3.0 unit, which runs in other tools without Python.

    Inputs to which --input gives no expression or table become inputs of the unit.
    """
    from daesolve.export.fmu import findings
    from daesolve.reporting.document import dump, fields_of

    if to.suffix != SUFFIX:
        raise OutOfRangeError(f"--to needs a file name that ends with {SUFFIX}, not {to}")
    settings: dict[str, Any] = {
        "horizon": horizon,
        "tolerance": tolerance,
        "formulation": formulation.chosen,
        "inputs": case.inputs,
        **dependence.chosen,
    }
    chosen = {name: value for name, value in settings.items() if value is not None}
    made = case.of(problem).to_fmu(to, **chosen)
    found = findings(to) if check else None
    if output.as_json:
        summary = {
            "path": str(made.path),
            **fields_of(made, "states parameters inputs outputs"),
            "event_indicators": made.indicators,
            "notes": list(made.notes),
            "findings": None if found is None else list(found),
        }
        typer.echo(dump(summary))
    elif not output.quiet:
        typer.echo(
            f"{made.path}: {made.states} states, {made.parameters} parameters, {made.inputs} "
            f"inputs, {made.outputs} outputs, {made.indicators} event indicators"
        )
    for finding in found or ():
        options.say(finding)
    if found:
        raise typer.Exit(options.COULD_NOT_GO_ON)

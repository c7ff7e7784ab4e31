"""The command `daesolve export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from daesolve.cli import options
from daesolve.cli.decisions import AtRankLoss, FormulationName, RedundantRows
from daesolve.cli.options import (
    AsJson,
    CaseName,
    Changes,
    Driving,
    ModelName,
    ParameterFile,
    ProblemName,
    Quiet,
    StartValues,
)
from daesolve.errors import OutOfRangeError

SUFFIX = ".fmu"


# Long: an option of the command line is a parameter.
def export(
    problem: ProblemName,
    to: Annotated[Path, typer.Option("--to", metavar="FILE.fmu", help="The file to write.")],
    case: CaseName = None,
    model: ModelName = None,
    set_: Changes = None,
    input_: Driving = None,
    parameters: ParameterFile = None,
    initial: StartValues = None,
    horizon: Annotated[
        float | None,
        typer.Option(help="About how long it will be simulated, s; by default the case's horizon."),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Tolerance of a step, if the importing tool sets none.")
    ] = None,
    formulation: FormulationName = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(metavar="[GOAL=]VALUE|off|auto", help="Feedback rates, 1/s."),
    ] = None,
    redundant: RedundantRows = None,
    rank_loss: AtRankLoss = None,
    check: Annotated[
        bool, typer.Option("--check", help="Check the unit with FMPy and print the findings.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Export a case as an FMI 3.0 unit, which runs in other tools without Python.

    Inputs to which --input gives no expression or table become inputs of the unit.
    """
    from daesolve.export.fmu import findings
    from daesolve.reporting import dump

    if to.suffix != SUFFIX:
        raise OutOfRangeError(f"--to needs a file name that ends with {SUFFIX}, not {to}")
    bound = options.case(problem, case, model, parameters, set_ or [], initial or [])
    settings: dict[str, Any] = {
        "horizon": horizon,
        "tolerance": tolerance,
        "formulation": options.formulation(formulation, rate or []),
        "inputs": options.inputs(input_ or []),
        "redundant": redundant,
        "rank_loss": rank_loss,
    }
    chosen = {name: value for name, value in settings.items() if value is not None}
    made = bound.to_fmu(to, **chosen)
    found = findings(to) if check else None
    if as_json:
        summary = {
            "path": str(made.path),
            "states": made.states,
            "parameters": made.parameters,
            "inputs": made.inputs,
            "outputs": made.outputs,
            "event_indicators": made.indicators,
            "notes": list(made.notes),
            "findings": None if found is None else list(found),
        }
        typer.echo(dump(summary))
    elif not quiet:
        typer.echo(
            f"{made.path}: {made.states} states, {made.parameters} parameters, {made.inputs} "
            f"inputs, {made.outputs} outputs, {made.indicators} event indicators"
        )
    for finding in found or ():
        options.say(finding)
    if found:
        raise typer.Exit(options.COULD_NOT_GO_ON)

"""Arguments that several commands share, and how commands end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

REQUEST_IS_WRONG = 2
COULD_NOT_GO_ON = 3

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")]
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

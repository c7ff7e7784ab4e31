"""The command `daesolve equations`: those of a case, to print or to use elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from daesolve.cli.options import (
    CaseName,
    Changes,
    ModelName,
    ParameterFile,
    ProblemName,
    StartValues,
    case,
)
from daesolve.errors import OutOfRangeError


class Language(StrEnum):
    """What equations are written in."""

    LATEX = "latex"
    PYTHON = "python"
    C = "c"


# Long: every line of the signature is an option.
def equations(
    problem: ProblemName,
    case_name: CaseName = None,
    model: ModelName = None,
    changes: Changes = None,
    parameters: ParameterFile = None,
    initial: StartValues = None,
    reduced: Annotated[
        bool,
        typer.Option(
            "--reduced",
            help="In pseudo-velocities, without reactions, where there are such; else with the "
            "reactions eliminated.",
        ),
    ] = False,
    language: Annotated[
        Language, typer.Option("--as", help="What the equations are written in.")
    ] = Language.LATEX,
    rate: Annotated[
        float,
        typer.Option(
            "--rate", help="In 1/s: the rate at which constraints attract; zero leaves that out."
        ),
    ] = 0.0,
    law: Annotated[
        list[str] | None,
        typer.Option(
            "--law",
            metavar="GOAL=A,B",
            help="The law of a residual in place of the rate: contact=50,400 makes it obey "
            "delta'' + 50 delta' + 400 delta = 0.",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="PATH",
            help="A file .tex or .py; of C a directory, with a test and a Makefile. Standard "
            "output where none is given.",
        ),
    ] = None,
) -> None:
    """Write the equations of a case: as LaTeX, as a module of Python, or as C."""
    laws = _laws(law or [])
    if reduced and language is not Language.LATEX:
        raise OutOfRangeError(
            f"--reduced equations are written as latex, not as {language}: leave out one of the two"
        )
    chosen = case(problem, case_name, model, parameters, changes or [], initial or [])
    if language is Language.LATEX:
        text = chosen.to_latex(to, reduced=reduced, rate=rate, laws=laws)
    elif to is None:
        text = chosen.written(language.value, rate=rate, laws=laws)
    else:
        text = ""
        write = chosen.to_python if language is Language.PYTHON else chosen.to_c
        _ = write(to, rate=rate, laws=laws)
    if to is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(f"equations: {to}")


def _laws(words: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Read GOAL=A,B."""
    found: dict[str, tuple[float, ...]] = {}
    for word in words:
        goal, equals, text = word.rpartition("=")
        try:
            found[goal] = tuple(float(part) for part in text.split(","))
        except ValueError:
            equals = ""
        if not equals:
            raise OutOfRangeError(f"--law takes GOAL=A,B,... as numbers, not {word!r}")
    return found

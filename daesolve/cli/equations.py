"""The command `daesolve equations`: the equations of a case, to print or to use elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from daesolve.cli.option_sets import CaseOptions, takes_options
from daesolve.cli.options import ProblemName
from daesolve.errors import OutOfRangeError


class EquationLanguage(StrEnum):
    """The languages in which equations can be written."""

    LATEX = "latex"
    PYTHON = "python"
    C = "c"


@takes_options
def equations(
    problem: ProblemName,
    case: CaseOptions,
    reduced: Annotated[
        bool,
        typer.Option(
            "--reduced",
            help="Without reactions: in pseudo-velocities if the model has them, otherwise "
            "with the reactions eliminated.",
        ),
    ] = False,
    language: Annotated[
        EquationLanguage, typer.Option("--as", help="Output language of the equations.")
    ] = EquationLanguage.LATEX,
    rate: Annotated[
        float,
        typer.Option("--rate", help="Feedback rate of the constraints, 1/s; zero switches it off."),
    ] = 0.0,
    law: Annotated[
        list[str] | None,
        typer.Option(
            "--law",
            metavar="GOAL=A,B",
            help="A law for a residual instead of the rate: with contact=50,400 it obeys "
            "delta'' + 50 delta' + 400 delta = 0.",
        ),
    ] = None,
    reactions: Annotated[
        bool,
        typer.Option(
            "--reactions",
            help="In LaTeX, only the reactions as functions of the state, with the laws that they "
            "impose.",
        ),
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="PATH",
            help="A .tex or .py file, or for C a directory, which gets a test and a Makefile. "
            "Standard output by default.",
        ),
    ] = None,
) -> None:
    """Write the equations of a case as LaTeX, a Python module or C."""
    laws = _laws(law or [])
    if reduced and language is not EquationLanguage.LATEX:
        raise OutOfRangeError(
            f"--reduced equations can be written only as latex, not as {language}: leave "
            "out one of the two options"
        )
    if reactions and language is not EquationLanguage.LATEX:
        raise OutOfRangeError(
            f"--reactions alone can be written only as latex: as {language} the reactions are a "
            "function of the whole; leave out one of the two options"
        )
    chosen = case.of(problem)
    if language is EquationLanguage.LATEX:
        text = chosen.to_latex(to, reduced=reduced, rate=rate, laws=laws, reactions=reactions)
    elif to is None:
        text = chosen.written(language.value, rate=rate, laws=laws)
    else:
        text = ""
        write = chosen.to_python if language is EquationLanguage.PYTHON else chosen.to_c
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
            raise OutOfRangeError(f"--law needs GOAL=A,B,... as numbers, not {word!r}")
    return found

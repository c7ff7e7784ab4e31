"""The command `daesolve identify`: parameters and start values from measured outputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daesolve import reporting
from daesolve.cli import options
from daesolve.cli.option_sets import DrivenCaseOptions, takes_options
from daesolve.cli.options import AsJson, ProblemName, Until, show
from daesolve.core.run.integration.run_options import RunOptions
from daesolve.errors import OutOfRangeError, check_names

if TYPE_CHECKING:
    from daesolve.analysis.identification import Experiment

MISSING = ("refuse", "skip")
OWN = ("initial", "set_", "input_")
"""The options of a case that each experiment may have for itself."""


@dataclass(frozen=True)
class DataOptions:
    """Measured outputs, and what is unknown of them."""

    data: Annotated[
        list[str],
        typer.Option(
            "--data",
            metavar="[NAME=]FILE",
            help="A CSV or Parquet file: a column `time` in s, and columns named after states, "
            "outputs or reactions. Repeat it for several experiments: NAME, by default that of the "
            "file, then stands before what is one experiment's own, as in --initial NAME.x=0.4.",
        ),
    ]
    of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="An unknown: a parameter, which experiments share, or a start value.",
        ),
    ] = None
    noise: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER|NAME=NUMBER",
            help="The standard deviation of all columns, or of one; estimated by default.",
        ),
    ] = None
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NUMBER", help="How many times the squares of an experiment count."
        ),
    ] = None
    missing: Annotated[
        str, typer.Option(help="What to do with missing values: refuse or skip.")
    ] = "refuse"

    @property
    def files(self) -> list[tuple[str, Path]]:
        """The experiments, their names and files."""
        return [_named(word) for word in self.data]

    def divided(self, words: list[str] | None) -> tuple[list[str], dict[str, list[str]]]:
        """Return the words for all experiments, and those for each, without its name."""
        shared = list(words or [])
        own: dict[str, list[str]] = {name: [] for name, _ in self.files}
        if len(own) == 1:
            return shared, own
        for word in words or []:
            for name in own:
                if word.startswith(f"{name}."):
                    shared.remove(word)
                    own[name].append(word[len(name) + 1 :])
                    break
        return shared, own

    def experiments(self, case: DrivenCaseOptions) -> list[Experiment]:
        """Return the experiments with what is their own."""
        from daesolve.analysis.identification import Experiment

        if self.missing not in MISSING:
            raise OutOfRangeError(f"--missing is {self.missing!r}, but must be refuse or skip")
        if not self.of:
            raise OutOfRangeError(
                "--of NAME is missing: name a parameter or a start value to identify"
            )
        weights = options.numbers("--weight", self.weight or [])
        check_names("experiment with a weight", weights, [name for name, _ in self.files])
        initial, parameters, inputs = (self.divided(getattr(case, name))[1] for name in OWN)
        unknowns, noise = self.divided(self.of)[1], self.divided(self.noise)[1]
        found: list[Experiment] = []
        for name, file in self.files:
            driven = options.inputs(inputs[name])
            found.append(
                Experiment(
                    file,
                    name if len(self.files) > 1 else None,
                    initial=options.numbers("--initial", initial[name]) or None,
                    parameters=options.pairs("--set", parameters[name]) or None,
                    unknowns=unknowns[name],
                    noise=options.numbers("--noise", noise[name]) or None,
                    weight=weights.get(name, 1.0),
                    options=RunOptions(inputs=driven) if driven else RunOptions(),
                )
            )
        return found


@takes_options
def identify(
    problem: ProblemName,
    case: DrivenCaseOptions,
    measured: DataOptions,
    bounds: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LOW:HIGH", help="The range of an unknown."),
    ] = None,
    segments: Annotated[
        int | None, typer.Option(help="In how many segments to begin; chosen by default.")
    ] = None,
    until: Until = None,
    out: Annotated[
        Path | None, typer.Option(help="Directory for report.html and answer.json.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find parameters and start values from measured outputs, with intervals."""
    from daesolve.analysis.identification import identify as identified

    experiments = measured.experiments(case)
    common = replace(case, **{name: measured.divided(getattr(case, name))[0] for name in OWN})
    bound = common.of(problem)
    if out is not None:
        reporting.make_empty(out)
    found = identified(
        bound,
        experiments,
        measured.divided(measured.of)[0],
        until,
        noise=_noise(measured.divided(measured.noise)[0]),
        bounds=options.ranges("--bounds", bounds or []),
        segments=segments,
        missing="skip" if measured.missing == "skip" else "refuse",
        inputs=common.inputs,
    )
    document = reporting.identification_document(bound.identity(), found)
    if as_json:
        typer.echo(reporting.dump(document))
    else:
        show(reporting.identification_text(document))
    if out is not None:
        written = reporting.write_identification(out, document, found)
        if not as_json:
            typer.echo(f"report: {written}")


def _named(word: str) -> tuple[str, Path]:
    """Read [NAME=]FILE; the name is by default that of the file."""
    name, equals, file = word.partition("=")
    if equals and name and not Path(word).exists():
        return name, Path(file)
    return Path(word).stem, Path(word)


def _noise(words: list[str]) -> float | dict[str, float] | None:
    """Read one number, or NAME=NUMBER words."""
    if len(words) == 1 and "=" not in words[0]:
        found = options.number_or(words[0])
        if isinstance(found, str):
            raise OutOfRangeError(f"--noise needs a number or NAME=NUMBER, not {found!r}")
        return found
    return options.numbers("--noise", words) or None

"""The command `daesolve optimise`: the controls of least cost, replayed by a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daesolve import reporting
from daesolve.cli import options
from daesolve.cli.option_sets import DrivenCaseOptions, OutputOptions, takes_options
from daesolve.cli.options import CONTRADICTED, COULD_NOT_GO_ON, ProblemName, say, show
from daesolve.errors import InfeasibleTaskError, NoOptimumError, OutOfRangeError

if TYPE_CHECKING:
    from collections.abc import Generator

    from daesolve.analysis.gradients import Objective

RUN = "run"
"""The directory of the run, inside that of the answer."""


@dataclass(frozen=True)
class TaskOptions:
    """What is wanted of a motion."""

    objective: Annotated[
        str,
        typer.Option(
            metavar="EXPRESSION",
            help="What is integrated over the motion, such as force**2; by default the time.",
        ),
    ] = "time"
    final: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="A term of the end that is added.")
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            metavar="T|LOW:HIGH", help="The duration in s, or its range; by default the case's."
        ),
    ] = None
    control: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="An input that is found; by default all that --input leaves open."
        ),
    ] = None
    start: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE|LOW:HIGH", help="A state at the start, or its range."),
    ] = None
    end: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE|LOW:HIGH", help="A state at the end, or its range."),
    ] = None
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW:HIGH", help="Bounds of an input, a state, an output or a reaction."
        ),
    ] = None
    path: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPRESSION=LOW:HIGH", help="Bounds of another quantity."),
    ] = None
    periodic: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A state that ends as it began, and is found."),
    ] = None
    event: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The event with which the motion ends; --periodic then holds after its reset.",
        ),
    ] = None
    mode: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A discrete value, where it changes at once."),
    ] = None
    find: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LOW:HIGH", help="A parameter that is found with the motion."),
    ] = None
    guess: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=V1,V2,...",
            help="Where the search begins: even samples of a state or input, or the time.",
        ),
    ] = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `optimise`.

        Raises
        ------
        OutOfRangeError
            A word is malformed.
        """
        time = None if self.time is None else _range("--time", "the duration", self.time)
        path = {name: (name, *pair) for name, pair in _ranges("--path", self.path).items()}
        return {
            "objective": self._objective(),
            "time": time,
            "controls": self.control or None,
            "start": _ranges("--start", self.start, numbers=True),
            "end": _ranges("--end", self.end, numbers=True),
            "bounds": _ranges("--bounds", self.bounds),
            "path": path,
            "periodic": self.periodic or (),
            "event": self.event,
            "mode": options.numbers("--mode", self.mode or []),
            "parameters": _ranges("--find", self.find),
            "guess": _samples(self.guess or []),
        }

    def _objective(self) -> str | Objective:
        from daesolve.analysis.gradients import Objective
        from daesolve.analysis.optimal_control.controlled_equations import as_function

        if self.final is None:
            return self.objective
        timed = self.objective == "time"
        running = _one if timed else as_function("--objective", self.objective)
        return Objective(running=running, end=as_function("--final", self.final))


@dataclass(frozen=True)
class SearchOptions:
    """How a motion is searched."""

    nodes: Annotated[int, typer.Option(help="The nodes of the first mesh.")] = 21
    stages: Annotated[int, typer.Option(help="The points of collocation on an interval.")] = 4
    degree: Annotated[
        int | None,
        typer.Option(help="The degree of the controls on an interval; 0 holds them."),
    ] = None
    tolerance: Annotated[
        float, typer.Option(help="By how much the run may differ, and the cost change.")
    ] = 1e-8
    refinements: Annotated[int, typer.Option(help="The most meshes after the first.")] = 5


@takes_options
def optimise(
    problem: ProblemName,
    case: DrivenCaseOptions,
    task: TaskOptions,
    search: SearchOptions,
    output: OutputOptions,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Do not repeat and audit the run.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory for report.html, answer.json and the run."),
    ] = None,
) -> None:
    """Find the inputs that bring a case from its start to an end at the least cost."""
    from daesolve.analysis.optimal_control import optimise as optimised

    bound, asked = case.of(problem), task.arguments
    if out is not None:
        reporting.make_empty(out)
    try:
        with _progress(f"{bound.problem.name} · optimise", quiet=output.silent) as progress:
            found = optimised(
                bound,
                **asked,
                **vars(search),
                inputs=case.inputs,
                verify=not no_verify,
                store=None if out is None else out / RUN,
                progress=progress,
            )
    except (InfeasibleTaskError, NoOptimumError) as error:
        say(str(error))
        raise typer.Exit(COULD_NOT_GO_ON) from None
    document = reporting.optimum_document(bound.identity(), found)
    if output.as_json:
        typer.echo(reporting.dump(document))
    elif not output.quiet:
        show(reporting.optimum_text(document))
    if out is not None:
        reporting.rebuild([out / RUN], lambda _: bound.problem)
        written = reporting.write_optimum(out, document, found)
        if not output.silent:
            typer.echo(f"report: {written}")
    if found.objection and not no_verify:
        say(found.objection)
    if not found.run.outcome.good:
        raise typer.Exit(CONTRADICTED)


@contextmanager
def _progress(label: str, *, quiet: bool) -> Generator[Callable[..., None] | None]:
    """Show how many meshes were searched, and how far the run differs on the last."""
    text = "{task.fields[what]}"
    with options.progress_bar(
        label, text, quiet=quiet, remaining=False, total=None, what=""
    ) as update:
        if update is None:
            yield None
            return

        def searched(count: int, intervals: int, cost: float, difference: float) -> None:
            what = f"{intervals} intervals: cost {cost:.8g}, the run differs by {difference:.1e}"
            update(completed=count, what=what)

        yield searched


def _one(now: object) -> float:
    """Return what the duration is the integral of."""
    return 1.0


def _ranges(option: str, words: Sequence[str] | None, *, numbers: bool = False) -> dict[str, Any]:
    """Read NAME=LOW:HIGH words, and NAME=VALUE words if numbers are allowed."""
    found: dict[str, Any] = {}
    for word in words or ():
        name, equals, text = word.rpartition("=")
        if not equals or not name or not (numbers or ":" in text):
            form = "NAME=VALUE or NAME=LOW:HIGH" if numbers else "NAME=LOW:HIGH"
            raise OutOfRangeError(f"{option} needs {form}, not {word!r}")
        if name in found:
            raise OutOfRangeError(f"{option} {name} is given twice")
        found[name] = _range(option, name, text)
    return found


def _range(option: str, name: str, text: str) -> float | tuple[float, float]:
    """Read a number, or LOW:HIGH, either of which may be left out."""
    low, colon, high = text.partition(":")
    try:
        if not colon:
            return float(low)
        return float(low or "-inf"), float(high or "inf")
    except ValueError:
        raise OutOfRangeError(
            f"{option} needs a number or LOW:HIGH for {name}, not {text!r}"
        ) from None


def _samples(words: Sequence[str]) -> dict[str, list[float]]:
    """Read NAME=V1,V2,... words."""
    found: dict[str, list[float]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        try:
            values = [float(entry) for entry in text.split(",")]
        except ValueError:
            values = []
        if not equals or not name or not values:
            raise OutOfRangeError(f"--guess needs NAME=V1,V2,..., not {word!r}")
        found[name] = values
    return found

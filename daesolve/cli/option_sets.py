"""Sets of options that commands share: each field is an option of the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from daesolve.cli import options
from daesolve.core.formulations import FORMULATIONS, Formulation
from daesolve.core.run.integration.run_options import RunOptions
from daesolve.core.solvers import SOLVERS
from daesolve.errors import OutOfRangeError

if TYPE_CHECKING:
    from daesolve.plugins.bound_case import BoundCase

DECISIONS = (
    "redundant",
    "rank_loss",
    "variant_policy",
    "impact",
    "on_gain",
    "on_jam",
    "on_ambiguous",
)
"""The options of a run that take one of a few words."""
KNOWN: dict[str, tuple[str, ...]] = {
    name: get_args(get_args(get_type_hints(RunOptions)[name])[0]) for name in DECISIONS
}
OF_CASE = "the case's choice"


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let each parameter of a command that is a set of options stand for the options of the set."""
    own = inspect.signature(command, eval_str=True).parameters
    sets: dict[str, Any] = {
        name: entry.annotation for name, entry in own.items() if is_dataclass(entry.annotation)
    }

    @wraps(command)
    def with_sets(**given: Any) -> None:
        made = {
            name: kind(**{entry.name: given.pop(entry.name) for entry in fields(kind)})
            for name, kind in sets.items()
        }
        command(**given, **made)

    flat: list[inspect.Parameter] = []
    for name, entry in own.items():
        kind = sets.get(name)
        flat += [entry] if kind is None else _parameters(kind)
    flat = [entry.replace(kind=inspect.Parameter.KEYWORD_ONLY) for entry in flat]
    with_sets.__signature__ = inspect.Signature(flat)  # pyright: ignore[reportAttributeAccessIssue]
    with_sets.__annotations__ = {entry.name: entry.annotation for entry in flat}
    return with_sets


def _parameters(kind: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(kind, eval_str=True).parameters.values())


def listed(words: Sequence[str]) -> str:
    """Return words as a choice in a sentence: A, B or C."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _one_of(name: str, what: str, default: str = "") -> Any:
    """Return an option that takes one of a few words; the help lists them."""
    words = KNOWN[name]
    chosen = default or words[0]
    return typer.Option(
        f"--{name.replace('_', '-')}", help=f"{what}: {listed(words)}; by default {chosen}."
    )


@dataclass(frozen=True)
class CaseOptions:
    """A case of a problem, and what to change of it."""

    case: Annotated[str | None, typer.Option("--case", help="A case; the first by default.")] = None
    model: Annotated[str | None, typer.Option("--model", help="A model instead of the case's.")] = (
        None
    )
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter or a structural choice."),
    ] = None
    parameters: Annotated[
        Path | None, typer.Option("--parameters", help="A JSON or TOML file of parameters.")
    ] = None
    initial: options.StartValues = None
    contacts: Annotated[
        str | None,
        typer.Option(
            "--contacts",
            help="How the geoms of a model file touch: rigid, compliant or none; by default rigid.",
        ),
    ] = None
    restitution: Annotated[
        float | None,
        typer.Option("--restitution", help="Of the rigid contacts of a model file, 0 to 1."),
    ] = None

    def of(self, problem: str) -> BoundCase:
        """Return the case of a problem.

        Raises
        ------
        DaesolveError
            A name is unknown, or a value is not possible.
        """
        from daesolve.plugins import registry

        case = registry.problem(problem).case(self.case, model=self.model)
        return case.changed(self.changes).starting(options.numbers("--initial", self.initial or []))

    @property
    def changes(self) -> dict[str, Any]:
        """The values of parameters and structural choices."""
        table = {} if self.parameters is None else options.parameters_of(self.parameters)
        chosen = {"contacts": self.contacts, "restitution": self.restitution}
        given = {name: value for name, value in chosen.items() if value is not None}
        return table | options.pairs("--set", self.set_ or []) | given


@dataclass(frozen=True)
class DrivenCaseOptions(CaseOptions):
    """A case of a problem whose inputs may be given."""

    input_: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="NAME=EXPRESSION|FILE.csv:COLUMN",
            help="An input: an expression of t, states and parameters, or a column of a CSV file, "
            "with time in its first column.",
        ),
    ] = None

    @property
    def inputs(self) -> dict[str, Any] | None:
        """The inputs, None if none is given."""
        return options.inputs(self.input_ or [])


@dataclass(frozen=True)
class FormulationOptions:
    """Which equations are integrated."""

    formulation: Annotated[
        str | None,
        typer.Option(
            "--formulation",
            help=f"Formulation of the equations: {listed(tuple(FORMULATIONS))}, or one of an "
            "installed package; by default feedback, or projected to pass a rank loss.",
        ),
    ] = None
    rate: Annotated[
        list[str] | None,
        typer.Option("--rate", metavar="[GOAL=]VALUE|off|auto", help="Feedback rates, 1/s."),
    ] = None

    @property
    def chosen(self) -> Formulation | None:
        """The formulation, None for the automatic choice."""
        return options.formulation(self.formulation, self.rate or [])


@dataclass(frozen=True)
class DependenceOptions:
    """What to do with constraints that depend on each other."""

    redundant: Annotated[
        str | None, _one_of("redundant", "What to do with dependent constraints", OF_CASE)
    ] = None
    rank_loss: Annotated[
        str | None, _one_of("rank_loss", "What to do where constraints become dependent", OF_CASE)
    ] = None

    @property
    def chosen(self) -> dict[str, Any]:
        """The options of a run; those that are not given are None.

        Raises
        ------
        OutOfRangeError
            An option does not know a word.
        """
        given = {name: value for name, value in vars(self).items() if name in DECISIONS}
        for name, word in given.items():
            if word is not None and word not in KNOWN[name]:
                option = "--" + name.replace("_", "-")
                raise OutOfRangeError(f"{option} is {word!r}, but must be {listed(KNOWN[name])}")
        return given


@dataclass(frozen=True)
class DecisionOptions(DependenceOptions):
    """What to do where a motion is in doubt."""

    variant_policy: Annotated[
        str | None, _one_of("variant_policy", "How to change the loaded supports of a guide")
    ] = None
    impact: Annotated[str | None, _one_of("impact", "Impact law of the contacts")] = None
    impact_order: Annotated[
        str | None,
        typer.Option(
            "--impact-order",
            metavar="A,B,...",
            help="The contacts in their order for sequential or Routh impacts.",
        ),
    ] = None
    on_gain: Annotated[
        str | None, _one_of("on_gain", "What to do where an impact would add energy")
    ] = None
    on_jam: Annotated[
        str | None, _one_of("on_jam", "What to do where no forces let the contacts slide on")
    ] = None
    on_ambiguous: Annotated[
        str | None,
        _one_of("on_ambiguous", "What to do where contacts can continue in several ways"),
    ] = None

    @property
    def chosen(self) -> dict[str, Any]:
        """The options of a run; those that are not given are None."""
        order = None if self.impact_order is None else self.impact_order.split(",")
        return {**super().chosen, "impact_order": order}


@dataclass(frozen=True)
class SolverOptions:
    """The solver and its tolerances."""

    solver: Annotated[
        str | None,
        typer.Option(
            "--solver",
            help=f"The solver: {listed(tuple(SOLVERS))}, or one of an installed package; "
            "`daesolve doctor` shows which you can use here.",
        ),
    ] = None
    rtol: Annotated[float | None, typer.Option("--rtol", help="Relative tolerance of a step.")] = (
        None
    )
    atol: Annotated[float | None, typer.Option("--atol", help="Absolute tolerance of a step.")] = (
        None
    )

    def chosen(self, fixed_step: float | None = None) -> dict[str, Any]:
        """Return the options of a run that set the solver; see `options.solver`."""
        return options.solver(self.solver, self.rtol, self.atol, fixed_step)


@dataclass(frozen=True)
class VerifyOptions:
    """Whether a run is repeated."""

    verify: Annotated[
        bool, typer.Option("--verify", help="Repeat with another method and compare.")
    ] = False
    verify_same: Annotated[
        bool,
        typer.Option(
            "--verify-same",
            help="Repeat with the same method and a tighter tolerance, and compare.",
        ),
    ] = False

    @property
    def chosen(self) -> bool | str:
        """The option `verify` of a run."""
        return "same" if self.verify_same and not self.verify else self.verify


@dataclass(frozen=True)
class OutputOptions:
    """What a command prints."""

    as_json: options.AsJson = False
    quiet: options.Quiet = False

    @property
    def silent(self) -> bool:
        """Whether neither progress nor a summary is shown."""
        return self.quiet or self.as_json

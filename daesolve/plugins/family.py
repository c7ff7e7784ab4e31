"""Families of systems: cases, choices, analyses and measures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daesolve.core.events.choices import Law, OnGain
from daesolve.core.preparation.request import DEFAULT_RATE, RankLoss, Redundant
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.system.system import ControlSystem, MechanicalSystem, System
from daesolve.errors import (
    DaesolveError,
    OutOfRangeError,
    PluginError,
    PosingError,
    in_words,
    is_one_of,
    suggest_names,
    unknown_name,
)
from daesolve.multibody.drawing import Drawing
from daesolve.multibody.drawing.system_drawing import drawing_of_system
from daesolve.multibody.drawing.views import FROM_THE_FRONT
from daesolve.plugins.foreign import called

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = Mapping[str, float]
Structure = Mapping[str, Any]
Builder = Callable[..., System]
StartRule = Callable[[Values, Values, Structure], dict[str, float]]
ScaleRule = Callable[[Values, Values, Structure], dict[str, float]]
DerivedRule = Callable[[Values, Values, Structure], dict[str, float]]
InputRule = Callable[[System], Mapping[str, Any]]
StartNames = Callable[[Structure], Sequence[str]]
FigureRule = Callable[[Mapping[str, Any]], "Figure"]
DrawingRule = Callable[[Mapping[str, Any]], Drawing | None]


@dataclass(frozen=True, eq=False)
class Answer:
    """The result of an analysis.

    Parameters
    ----------
    values
        Numbers, words, lists and tables by name, as in JSON.
    figures
        Drawings by name.
    words
        Text to print instead of the values; by default the values.
    """

    values: Mapping[str, Any]
    figures: Mapping[str, Figure] = field(default_factory=dict[str, "Figure"])
    words: str = ""

    def __post_init__(self) -> None:
        for what, held in (("values", self.values), ("figures", self.figures)):
            if not isinstance(held, Mapping):
                raise PosingError(
                    f"the {what} of an answer must be a mapping by names, not {type(held).__name__}"
                )
        suggest_names(self, values="value of the answer", figures="figure")


# A rule takes a `BoundCase`, which knows its problem, and so comes after both: Any says it here.
AnalysisRule = Callable[[Any], Answer]


@dataclass(frozen=True, eq=False)
class Measure:
    """A number for a whole run, such as its distance from another motion.

    Parameters
    ----------
    rule
        (case, run) -> number; NaN where it has no meaning.
    unit
        Of the number.
    """

    rule: Callable[[Any, Trajectory], float]
    unit: str = ""


@dataclass(frozen=True)
class Choice:
    """A structural choice among named values; the first is the default.

    In Python you can give your own value instead of a name.
    """

    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        suggest_names(self, options="option")

    @property
    def default(self) -> str:
        """The name of the first option."""
        return next(iter(self.options))


def choice(**options: object) -> Choice:
    """Offer named values for a structural choice.

    Parameters
    ----------
    **options
        The values by name; the first is the default.

    Examples
    --------
    `Problem(structure={"curve": choice(circle=circle, parabola=parabola)}, ...)`: the function of a
    model then takes `curve`, one of these two, and `problem.case(curve="parabola")` chooses.
    """
    return Choice(options)


@dataclass(frozen=True)
class Case:
    """A named run: model, structure, parameters, start and horizon.

    Parameters
    ----------
    name
        Lower case with hyphens.
    until
        The horizon, s.
    model
        None takes the problem's first model.
    structure, parameters
        Values that differ from the problem's defaults.
    start
        Start values by the problem's own names (see `Problem.start`).
    start_time
        The time of the start, s.
    rate
        The default rate of this case's goals, 1/s.
    times
        Sample times of interest, s; by default even samples.
    redundant
        What to do with constraints that depend on each other everywhere: "error", "drop" or
        "minimum-norm".
    rank_loss
        What to do where constraints depend on each other at isolated positions: "stop" or "pass".
    inputs
        Inputs by name, as in `daesolve.solve`; or a function of the system that returns them, if
        laws contain its symbols.
    impact, impact_order, on_gain
        The impact law of contacts, the order of sequential impacts, and what to do if an impact
        would add energy, as in `daesolve.solve`.
    note
        What is special about the case, and its source.
    """

    name: str
    until: float
    model: str | None = None
    structure: Structure = field(default_factory=dict[str, Any])
    parameters: Values = field(default_factory=dict[str, float])
    start: Values = field(default_factory=dict[str, float])
    start_time: float = 0.0
    rate: float = DEFAULT_RATE
    times: tuple[float, ...] = ()
    redundant: Redundant = "error"
    rank_loss: RankLoss = "stop"
    inputs: Mapping[str, Any] | InputRule = field(default_factory=dict[str, Any])
    impact: Law = "newton"
    impact_order: tuple[str, ...] | None = None
    on_gain: OnGain = "refuse"
    note: str = ""

    def __post_init__(self) -> None:
        suggest_names(self, structure="structure", parameters="parameter", start="start value")


@dataclass(frozen=True, eq=False)
class Family:
    """The data of a `Problem`, which documents them, and what follows from them.

    Raises
    ------
    PosingError
        There is no model or no case, or two cases have the same name.
    UnknownNameError
        A start rule belongs to no model.
    """

    name: str
    title: str
    models: Mapping[str, Builder]
    cases: Sequence[Case]
    sources: Sequence[str] = ()
    structure: Mapping[str, bool | int | Choice] = field(
        default_factory=dict[str, bool | int | Choice]
    )
    start: StartRule | Mapping[str, StartRule] | None = None
    start_values: StartNames | None = None
    scales: ScaleRule | None = None
    derived: DerivedRule | None = None
    analyses: Mapping[str, AnalysisRule] = field(default_factory=dict[str, AnalysisRule])
    drawing: DrawingRule | None = None
    figures: Mapping[str, FigureRule] = field(default_factory=dict[str, FigureRule])
    measures: Mapping[str, Measure] = field(default_factory=dict[str, Measure])
    path: Path | None = None
    digest: str | None = None
    _systems: dict[str, tuple[Structure, System]] = field(
        default_factory=dict[str, tuple[Structure, System]], init=False, repr=False
    )

    def __post_init__(self) -> None:
        if not self.models or not self.cases:
            raise PosingError(f"the problem {self.name!r} needs at least one model and one case")
        names = [case.name for case in self.cases]
        if len(set(names)) < len(names):
            raise PosingError(f"two cases of the problem {self.name!r} have the same name")
        for model in () if callable(self.start) else self.start or ():
            if model not in self.models:
                raise unknown_name("model with a start rule", model, self.models)
        if self.drawing is None:
            object.__setattr__(self, "drawing", self._drawn_by_default)
        suggest_names(self, models="model", structure="structure", start="model with a start rule")
        suggest_names(self, analyses="analysis", figures="figure", measures="measure")

    def _drawn_by_default(self, document: Mapping[str, Any]) -> Drawing | None:
        """Draw the points and rods of the system of a run; None if it has no points."""
        system = self.system(document["model"], document["structure"])
        rule = drawing_of_system(system, FROM_THE_FRONT)
        return None if rule is None else rule(document)

    def start_names(self, structure: Structure | None = None) -> tuple[str, ...]:
        """Return the names of the start values of a structure, by default the default one."""
        names = [name for case in self.cases for name in case.start]
        if self.start_values is not None:
            what = f"start_values of the problem {self.name!r}"
            chosen = {**self.default_structure(), **(structure or {})}
            found = called(what, _listed, self.start_values, chosen)
            if not all(isinstance(name, str) for name in found):
                raise PluginError(f"{what} must return a list of names, not {found!r}")
            names += found
        return tuple(dict.fromkeys(names))

    def default_structure(self) -> dict[str, Any]:
        """Return the default structure; a choice by its name."""
        return {
            name: value.default if isinstance(value, Choice) else value
            for name, value in self.structure.items()
        }

    def check_structure(self, name: str, value: Any) -> Any:
        """Return a structural value, or raise an error that lists the possible ones.

        Raises
        ------
        OutOfRangeError
            The value has the wrong type or is none of the options.
        """
        default = self.structure[name]
        if isinstance(default, Choice):
            if isinstance(value, str) and value not in default.options:
                raise unknown_name(f"value of {name!r}", value, default.options)
            return value
        kind = type(default)
        if type(value) is not kind:
            wanted = "true or false" if kind is bool else "a whole number"
            raise OutOfRangeError(f"structure {name!r} is {value!r}, but must be {wanted}")
        return value

    def system(self, model: str, structure: Structure) -> System:
        """Pose the system of a model and a structure; equal choices return the same system."""
        key = json.dumps([model, structure], default=lambda value: f"{id(value)}", sort_keys=True)
        if key not in self._systems:
            # The structure is kept, since an identity is free again when its object is gone.
            system = self._posed(model, structure)
            self._systems[key] = (dict(structure), system)
        return self._systems[key][1]

    def models_with(self, parameter: str, structure: Structure) -> list[str]:
        """Return the models that have a parameter; those that refuse the structure have none."""
        found: list[str] = []
        for model in self.models:
            try:
                system = self.system(model, structure)
            except DaesolveError:
                continue
            if parameter in system.dynamics.posed_ranges:
                found.append(model)
        return found

    def _posed(self, model: str, structure: Structure) -> System:
        try:
            system = self.models[model](**self.meaning(structure))
        except (DaesolveError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise PosingError(
                f"the model {model!r} of the problem {self.name!r} cannot be posed: "
                f"{in_words(error)}"
            ) from error
        if not isinstance(system, MechanicalSystem | ControlSystem):
            raise PosingError(
                f"the model {model!r} of the problem {self.name!r} must return a system, not "
                f"{type(system).__name__}"
            )
        return system

    def meaning(self, structure: Structure) -> dict[str, Any]:
        """Return a structure with the values of its names."""
        return {
            name: default.options.get(value, value)
            if isinstance(default := self.structure[name], Choice) and isinstance(value, str)
            else value
            for name, value in structure.items()
        }

    def start_rule(self, model: str) -> StartRule | None:
        """Return the rule by which a model's states follow from the start values of a case."""
        if self.start is None or callable(self.start):
            return self.start
        return self.start.get(model)

    def find_case(self, name: str | None) -> Case:
        """Return a case by its name, by default the first; raises UnknownNameError."""
        if name is None:
            return self.cases[0]
        for case in self.cases:
            if is_one_of(name, [case.name]):
                return case
        raise unknown_name("case", name, [case.name for case in self.cases])

    def find_model(self, name: str | None) -> str:
        """Return the name of a model, by default the first; raises UnknownNameError."""
        if name is None:
            return next(iter(self.models))
        if not is_one_of(name, self.models):
            raise unknown_name("model", name, self.models)
        return name


def _listed(rule: StartNames, structure: Structure) -> list[str]:
    return list(rule(structure))

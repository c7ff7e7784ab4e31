"""Families of systems: all that a problem is, but for its cases being run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daesolve.errors import (
    DaesolveError,
    OutOfRangeError,
    PosingError,
    suggest_names,
    unknown_name,
)
from daesolve.plugins.case import (
    AnalysisRule,
    Builder,
    Case,
    Choice,
    DerivedRule,
    DrawingRule,
    FigureRule,
    Measure,
    ScaleRule,
    StartNames,
    StartRule,
    Structure,
)
from daesolve.system.system import ControlSystem, MechanicalSystem, System


@dataclass(frozen=True, eq=False)
class Family:
    """The data of a `Problem`, which tells what each of them is, and what follows from them.

    Raises
    ------
    PosingError
        There is no model or no case, or two cases have one name.
    UnknownNameError
        A start rule is told for no model.
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
    _systems: dict[str, tuple[Structure, System]] = field(
        default_factory=dict[str, tuple[Structure, System]], init=False, repr=False
    )

    def __post_init__(self) -> None:
        if not self.models or not self.cases:
            raise PosingError(f"the problem {self.name!r} needs at least one model and one case")
        names = [case.name for case in self.cases]
        if len(set(names)) < len(names):
            raise PosingError(f"two cases of the problem {self.name!r} have one name")
        for model in () if callable(self.start) else self.start or ():
            if model not in self.models:
                raise unknown_name("model with a start rule", model, self.models)
        suggest_names(self, models="model", structure="structure", start="model with a start rule")
        suggest_names(self, analyses="analysis", figures="figure", measures="measure")

    def start_names(self, structure: Structure | None = None) -> tuple[str, ...]:
        """Return the names of the start values of a structure, the default one without it."""
        names = [name for case in self.cases for name in case.start]
        if self.start_values is not None:
            names += self.start_values({**self.default_structure(), **(structure or {})})
        return tuple(dict.fromkeys(names))

    def default_structure(self) -> dict[str, Any]:
        """Return the structure where nothing is chosen; a choice by its name."""
        return {
            name: value.default if isinstance(value, Choice) else value
            for name, value in self.structure.items()
        }

    def check_structure(self, name: str, value: Any) -> Any:
        """Return a structural value, or say what it could be.

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
        """Pose the system of a model and a structure; the same one for the same choices."""
        key = json.dumps([model, structure], default=lambda value: f"{id(value)}", sort_keys=True)
        if key not in self._systems:
            # The structure is kept, since an identity is free again when its object is gone.
            system = self._posed(model, structure)
            self._systems[key] = (dict(structure), system)
        return self._systems[key][1]

    def _posed(self, model: str, structure: Structure) -> System:
        try:
            system = self.models[model](**self.meaning(structure))
        except DaesolveError:
            raise
        except Exception as error:
            raise PosingError(
                f"the model {model!r} of the problem {self.name!r} cannot be posed: "
                f"{type(error).__name__}: {error}"
            ) from error
        if not isinstance(system, MechanicalSystem | ControlSystem):
            raise PosingError(
                f"the model {model!r} of the problem {self.name!r} must return a system, not "
                f"{type(system).__name__}"
            )
        return system

    def meaning(self, structure: Structure) -> dict[str, Any]:
        """Return a structure with the values that its names stand for."""
        return {
            name: default.options.get(value, value)
            if isinstance(default := self.structure[name], Choice) and isinstance(value, str)
            else value
            for name, value in structure.items()
        }

    def start_rule(self, model: str) -> StartRule | None:
        """Return how a model's states follow from the start values of a case."""
        if self.start is None or callable(self.start):
            return self.start
        return self.start.get(model)

    def find_case(self, name: str | None) -> Case:
        """Return a case by its name, the first one without it; raises UnknownNameError."""
        if name is None:
            return self.cases[0]
        for case in self.cases:
            if case.name == name:
                return case
        raise unknown_name("case", name, [case.name for case in self.cases])

    def find_model(self, name: str | None) -> str:
        """Return the name of a model, the first one without it; raises UnknownNameError."""
        if name is None:
            return next(iter(self.models))
        if name not in self.models:
            raise unknown_name("model", name, self.models)
        return name

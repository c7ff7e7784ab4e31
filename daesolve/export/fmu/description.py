"""The two descriptions in a unit: modelDescription.xml and sources/buildDescription.xml."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isclose, isinf
from xml.etree import ElementTree

from daesolve.export.fmu.tables import Sheet
from daesolve.export.fmu.variables import (
    DISCRETE,
    FIXED,
    HIDDEN,
    INPUT,
    SETTLED,
    TUNABLE,
    UnitValue,
    Variables,
    rate_name,
)

ROLES: Mapping[int, Mapping[str, str]] = {
    FIXED: {"causality": "parameter", "variability": "fixed", "initial": "exact"},
    SETTLED: {"causality": "parameter", "variability": "fixed", "initial": "exact"},
    TUNABLE: {"causality": "parameter", "variability": "tunable", "initial": "exact"},
    INPUT: {"causality": "input", "variability": "continuous"},
    DISCRETE: {"causality": "output", "variability": "discrete", "initial": "calculated"},
}
CAN = {
    "canGetAndSetFMUState": "true",
    "canSerializeFMUState": "true",
    "providesDirectionalDerivatives": "true",
    "providesAdjointDerivatives": "true",
}
RULED = "the start follows from it by a rule that is not in the unit: export again to change it"
BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
"""The base units, in the order of FMI."""
_SIMPLE: dict[str, tuple[float, dict[str, int]]] = {
    **{name: (1.0, {name: 1}) for name in BASE},
    "1": (1.0, {}),
    "-": (1.0, {}),
    "%": (0.01, {}),
    "N": (1.0, {"kg": 1, "m": 1, "s": -2}),
    "J": (1.0, {"kg": 1, "m": 2, "s": -2}),
    "W": (1.0, {"kg": 1, "m": 2, "s": -3}),
    "Pa": (1.0, {"kg": 1, "m": -1, "s": -2}),
    "Hz": (1.0, {"s": -1}),
    "V": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -1}),
    "ohm": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -2}),
    "H": (1.0, {"kg": 1, "m": 2, "s": -2, "A": -2}),
    "F": (1.0, {"kg": -1, "m": -2, "s": 4, "A": 2}),
    "C": (1.0, {"A": 1, "s": 1}),
    "Wb": (1.0, {"kg": 1, "m": 2, "s": -2, "A": -1}),
    "T": (1.0, {"kg": 1, "s": -2, "A": -1}),
    "deg": (0.017453292519943295, {"rad": 1}),
    "g": (1e-3, {"kg": 1}),
    "t": (1e3, {"kg": 1}),
    "mm": (1e-3, {"m": 1}),
    "cm": (1e-2, {"m": 1}),
    "km": (1e3, {"m": 1}),
    "ms": (1e-3, {"s": 1}),
    "min": (60.0, {"s": 1}),
    "h": (3600.0, {"s": 1}),
    "kN": (1e3, {"kg": 1, "m": 1, "s": -2}),
    "kJ": (1e3, {"kg": 1, "m": 2, "s": -2}),
}
_WORD = re.compile(r"([A-Za-z%]+|1|-)(?:(?:\^|\*\*)?(-?\d+))?")


def model_description(sheet: Sheet, identifier: str, title: str, words: str, stop: float) -> bytes:
    """Return modelDescription.xml.

    Parameters
    ----------
    sheet
        The data of the unit.
    identifier, title, words
        The name of its library, its title, and a one-sentence description.
    stop
        The end of the default experiment, s.
    """
    root = ElementTree.Element(
        "fmiModelDescription",
        {
            "fmiVersion": "3.0",
            "modelName": title,
            "instantiationToken": sheet.token,
            "description": words,
            "generationTool": "daesolve",
            "variableNamingConvention": "flat",
        },
    )
    named = {"modelIdentifier": identifier, **CAN}
    needed = {"needsCompletedIntegratorStep": "true"}
    ElementTree.SubElement(root, "ModelExchange", named | needed)
    steps = {"canHandleVariableCommunicationStepSize": "true", "hasEventMode": "true"}
    ElementTree.SubElement(root, "CoSimulation", named | steps)
    _units(root, sheet)
    categories = ElementTree.SubElement(root, "LogCategories")
    for name, what in (("logEvents", "events"), ("logStatusError", "warnings and errors")):
        ElementTree.SubElement(categories, "Category", {"name": name, "description": what})
    experiment = {"startTime": repr(float(sheet.start_time)), "tolerance": repr(sheet.tolerance)}
    if not isinf(stop):
        experiment["stopTime"] = repr(float(stop))
    ElementTree.SubElement(root, "DefaultExperiment", experiment)
    _variables(root, sheet)
    _structure(root, sheet)
    return _written(root)


def build_description(identifier: str) -> bytes:
    """Return sources/buildDescription.xml: one file is compiled and includes the others."""
    root = ElementTree.Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    built = ElementTree.SubElement(root, "BuildConfiguration", {"modelIdentifier": identifier})
    files = ElementTree.SubElement(built, "SourceFileSet", {"language": "C99"})
    ElementTree.SubElement(files, "SourceFile", {"name": "unit.c"})
    ElementTree.SubElement(files, "IncludeDirectory", {"name": "."})
    ElementTree.SubElement(built, "Library", {"name": "m", "external": "true"})
    return _written(root)


def _written(root: ElementTree.Element) -> bytes:
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n"


def _units(root: ElementTree.Element, sheet: Sheet) -> None:
    variables = sheet.variables
    units = ["s", *(state.unit for state in variables.states)]
    units += [_rate_unit(state.unit) for state in variables.states]
    units += [value.unit for value in variables.values if value.kind != HIDDEN]
    units += [unit for _, unit, _ in variables.shown]
    group = ElementTree.SubElement(root, "UnitDefinitions")
    for name, base in definitions(units):
        unit = ElementTree.SubElement(group, "Unit", {"name": name})
        if base is not None:
            ElementTree.SubElement(unit, "BaseUnit", base)


def _rate_unit(unit: str) -> str:
    """Return the unit of a rate: a quotient keeps what divides it."""
    if not unit or unit == "1":
        return "1/s"
    return f"{unit}/s"


def _variables(root: ElementTree.Element, sheet: Sheet) -> None:
    variables = sheet.variables
    group = ElementTree.SubElement(root, "ModelVariables")

    def add(name: str, reference: int, unit: str, what: str = "", **own: str) -> None:
        attributes = {"name": name, "valueReference": str(reference), **own}
        attributes |= {"unit": unit} if unit else {}
        attributes |= {"description": what} if what else {}
        ElementTree.SubElement(group, "Float64", attributes)

    add("time", 0, "s", causality="independent", variability="continuous")
    for place, state in enumerate(variables.states):
        add(
            state.name, 1 + place, state.unit, causality="output", variability="continuous",
            initial="exact", start=repr(state.start), nominal=repr(state.nominal),
        )  # fmt: skip
    for place, state in enumerate(variables.states):
        add(
            rate_name(state.name), variables.first_rate + place, _rate_unit(state.unit),
            causality="local", variability="continuous", initial="calculated",
            derivative=str(1 + place),
        )  # fmt: skip
    for place, value in enumerate(variables.values):
        if value.kind == HIDDEN:
            continue
        own = dict(ROLES[value.kind])
        if value.kind != DISCRETE:
            own |= {"start": repr(value.default), **_range(value)}
        what = RULED if value.kind == SETTLED else ""
        add(value.name, variables.first_value + place, value.unit, what, **own)
    for place, (name, unit, what) in enumerate(variables.shown):
        add(
            name, variables.first_shown + place, unit, what, causality="output",
            variability="continuous", initial="calculated",
        )  # fmt: skip
    for place, (name, _) in enumerate(variables.indicators):
        add(
            name, variables.first_indicator + place, "", causality="local",
            variability="continuous", initial="calculated",
        )  # fmt: skip


def _range(value: UnitValue) -> dict[str, str]:
    bounds = {"min": value.range.low, "max": value.range.high}
    return {name: repr(float(bound)) for name, bound in bounds.items() if not isinf(bound)}


def _structure(root: ElementTree.Element, sheet: Sheet) -> None:
    """List outputs, derivatives, what is calculated at the start, and event indicators."""
    variables = sheet.variables
    states = list(range(1, variables.first_rate))
    rates = list(range(variables.first_rate, variables.first_value))
    discrete = [
        variables.first_value + place
        for place, value in enumerate(variables.values)
        if value.kind == DISCRETE
    ]
    shown = list(range(variables.first_shown, variables.first_indicator))
    indicators = [variables.first_indicator + k for k in range(len(variables.indicators))]
    of_rates, of_shown, of_guards = sheet.functions.dependencies
    places = {state: [state] for state in states} | {one: list[int]() for one in discrete}
    places |= dict(zip(rates, of_rates, strict=True)) | dict(zip(shown, of_shown, strict=True))
    own = [of_guards[place] for _, place in variables.indicators]
    places |= dict(zip(indicators, own, strict=True))
    known = {0, *states} | _references(variables, INPUT)
    exact = {0, *states} | _references(variables, INPUT, FIXED, SETTLED, TUNABLE)
    group = ElementTree.SubElement(root, "ModelStructure")
    for kind, references, knowns in (
        ("Output", [*states, *discrete, *shown], known),
        ("ContinuousStateDerivative", rates, known),
        ("InitialUnknown", [*rates, *discrete, *shown], exact),
        ("EventIndicator", indicators, known),
    ):
        for reference in references:
            depends = [_reference(variables, place) for place in places[reference]]
            listed = " ".join(str(one) for one in depends if one in knowns)
            attributes = {"valueReference": str(reference), "dependencies": listed}
            ElementTree.SubElement(group, kind, attributes)


def _references(variables: Variables, *kinds: int) -> set[int]:
    """Return the references of values of some kinds."""
    first = variables.first_value
    return {first + place for place, value in enumerate(variables.values) if value.kind in kinds}


def _reference(variables: Variables, place: int) -> int:
    """Return the reference of an entry of (t, x, p)."""
    states = len(variables.states)
    return place if place <= states else variables.first_value + place - states - 1


@dataclass(frozen=True)
class BaseUnit:
    """A unit as powers of base units, and the factor by which it is larger."""

    factor: float = 1.0
    powers: dict[str, int] = field(default_factory=dict[str, int])


def base_unit(unit: str) -> BaseUnit | None:
    """Read a unit such as "kg m^2/s^2"; None if it contains an unknown word.

    Products are written with spaces, dots or stars; everything after a slash divides, up to the
    next slash.
    """
    factor, powers = 1.0, dict[str, int]()
    for number, part in enumerate(unit.replace("(", " ").replace(")", " ").split("/")):
        sign = 1 if number == 0 else -1
        words = [word for word in re.split(r"[\s.·*]+(?!\*)", part.replace("**", "^")) if word]
        for word in words:
            match = _WORD.fullmatch(word)
            if match is None or match[1] not in _SIMPLE:
                return None
            size, own = _SIMPLE[match[1]]
            times = sign * int(match[2] or 1)
            factor *= size**times
            for name, power in own.items():
                powers[name] = powers.get(name, 0) + power * times
    return BaseUnit(factor, {name: powers[name] for name in BASE if powers.get(name)})


def definitions(units: Iterable[str]) -> list[tuple[str, dict[str, str] | None]]:
    """Return the units to define, in order, with the attributes of their base unit."""
    found: list[tuple[str, dict[str, str] | None]] = []
    for unit in dict.fromkeys(unit for unit in units if unit):
        base = base_unit(unit)
        attributes = None
        if base is not None:
            attributes = {name: str(power) for name, power in base.powers.items()}
            if not isclose(base.factor, 1.0, rel_tol=1e-15):
                attributes["factor"] = repr(base.factor)
        found.append((unit, attributes))
    return found

"""The two descriptions in a unit: modelDescription.xml and sources/buildDescription.xml."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf
from xml.etree import ElementTree

from daesolve.export.fmu.tables import Sheet
from daesolve.export.fmu.units_of_measure import definitions
from daesolve.export.fmu.variables import (
    DISCRETE,
    FIXED,
    HIDDEN,
    INPUT,
    SETTLED,
    TUNABLE,
    UnitValue,
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
}
RULED = "the start follows from it by a rule that is not in the unit: export again to change it"


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
    steps = {"canHandleVariableCommunicationStepSize": "true"}
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
    states = range(1, variables.first_rate)
    rates = range(variables.first_rate, variables.first_value)
    discrete = [
        variables.first_value + place
        for place, value in enumerate(variables.values)
        if value.kind == DISCRETE
    ]
    shown = range(variables.first_shown, variables.first_indicator)
    indicators = [variables.first_indicator + k for k in range(len(variables.indicators))]
    group = ElementTree.SubElement(root, "ModelStructure")
    for kind, references in (
        ("Output", [*states, *discrete, *shown]),
        ("ContinuousStateDerivative", rates),
        ("InitialUnknown", [*rates, *discrete, *shown]),
        ("EventIndicator", indicators),
    ):
        for reference in references:
            own = {"valueReference": str(reference)}
            # A state depends on nothing but itself.
            ElementTree.SubElement(group, kind, own)

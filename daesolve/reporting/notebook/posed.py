"""Posed systems in a notebook: a system with its equations, a problem, a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from daesolve.core.system.system import ControlSystem, MechanicalSystem
from daesolve.export.equation_sections import sections
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.family import Case
from daesolve.plugins.registry import Problem
from daesolve.reporting import facts
from daesolve.reporting.content import ContentPart, ContentTable, paragraph, table_part
from daesolve.reporting.notebook.blocks import block, code, of_markdown

PARAMETERS_SHOWN = 14


def system_block(system: MechanicalSystem | ControlSystem) -> str:
    """Return the notebook block of a system: its size, and its equations."""
    dynamics = system.dynamics
    labels = dynamics.labels
    counts = [
        (len(labels.states), "state", "states"),
        (len(dynamics.goal_names), "goal", "goals"),
        (len(labels.shown_reactions), "reaction", "reactions"),
        (len(system.parameters.names), "parameter", "parameters"),
    ]
    words = ", ".join(f"{n} {one if n == 1 else more}" for n, one, more in counts if n)
    parts = [ContentPart(part.title, of_markdown(part.text)) for part in sections(system, dynamics)]
    values = dict(dynamics.values)
    shown = {name: values[name] for name in system.parameters.names if name in values}
    units = dict(zip(system.parameters.names, system.parameters.units, strict=True))
    return block(type(system).__name__, words, parts=[*parts, _parameters(shown, units)])


def _parameters(values: Mapping[str, Any], units: Mapping[str, Any]) -> ContentPart | None:
    if not values:
        return None
    rows = [(name, facts.exact(value), str(units.get(name, ""))) for name, value in values.items()]
    folded = len(rows) > PARAMETERS_SHOWN
    body = ContentTable(("", "value", "unit"), rows, (0, 2)).in_notebook(len(rows))
    return ContentPart("Parameters", body, folded=folded)


def problem_block(problem: Problem) -> str:
    """Return the notebook block of a problem: its models, structure and cases."""
    rows = [(case.name, f"{facts.short(case.until, 6)} s", case.note) for case in problem.cases]
    cases = table_part("Cases", ("case", "until", ""), rows, (0, 2))
    structure = {name: facts.exact(v) for name, v in problem.default_structure().items()}
    named = [f"models: {', '.join(problem.models)}"]
    named += [f"structure: {', '.join(f'{n} = {v}' for n, v in structure.items())}"] * bool(
        structure
    )
    named += [f"analyses: {', '.join(problem.analyses)}"] * bool(problem.analyses)
    lines = [ContentPart("", paragraph(line)) for line in named]
    run = f'ds.problem("{problem.path or problem.name}").case("{problem.cases[0].name}").solve()'
    return block(
        problem.name, problem.title, parts=[*lines, cases, ContentPart("Run it", code(run))]
    )


def case_block(bound: BoundCase) -> str:
    """Return the notebook block of a case: its system and its start."""
    case = bound.case
    start = {**bound.full_start, **bound.initial}
    system = bound.system
    units = dict(zip(system.parameters.names, system.parameters.units, strict=True))
    parts = [ContentPart("", paragraph(line)) for line in _lines(bound, case)]
    begin = [(name, facts.exact(value)) for name, value in start.items()]
    return block(
        f"{bound.problem.name} · {case.name}",
        f"model {bound.model}, {facts.short(case.start_time, 6)} s to "
        f"{facts.short(case.until, 6)} s",
        parts=[
            *parts,
            table_part("Start", ("", "value"), begin),
            _parameters(bound.full_parameters, units),
        ],
    )


def _lines(bound: BoundCase, case: Case) -> Iterator[str]:
    if case.note:
        yield case.note
    structure = bound.full_structure
    if structure:
        yield f"structure: {', '.join(f'{n} = {facts.exact(v)}' for n, v in structure.items())}"

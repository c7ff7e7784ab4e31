"""The commands `daesolve list`, `show` and `new`: the available problems, and a new one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from daesolve.cli import options
from daesolve.cli.options import AsJson, ProblemName
from daesolve.cli.orbits import ANALYSES as ORBITS
from daesolve.core.equations.dynamics import Dynamics
from daesolve.errors import readable
from daesolve.plugins import registry
from daesolve.plugins.analyses import ANALYSES
from daesolve.plugins.family import Case, Choice
from daesolve.plugins.registry import Problem
from daesolve.plugins.template import new_project
from daesolve.reporting.document import fields_of, plain
from daesolve.reporting.gallery.page import summary
from daesolve.reporting.layout import Rows, WrappedText

BY_RULE = (
    "a rule computes the state from the start values; those values, also from --initial, may "
    "change until the constraints hold; states that --initial names directly stay fixed"
)


def list_problems(as_json: AsJson = False) -> None:
    """List the problems of every installed plugin."""
    found, broken = registry.problems()
    if as_json:
        document = {
            "problems": [
                fields_of(problem, "name title")
                | {"models": [*problem.models], "cases": [case.name for case in problem.cases]}
                for problem in found
            ],
            "broken": [fields_of(plugin, "name source reason") for plugin in broken],
        }
        typer.echo(json.dumps(document, indent=1))
        return
    heads = ("problem", "title", "models", "cases")
    rows = [
        (
            problem.name,
            problem.title,
            ", ".join(problem.models),
            ", ".join(case.name for case in problem.cases),
        )
        for problem in found
    ]
    options.show(Rows(heads, rows))
    for plugin in broken:
        typer.echo(f"daesolve: {plugin.reason}", err=True)


def show(problem: ProblemName, as_json: AsJson = False) -> None:
    """Show a problem: models, structure, parameters, states, goals, cases."""
    document = description(registry.problem(problem))
    if as_json:
        typer.echo(json.dumps(document, indent=1))
    else:
        options.show(*description_tables(document))


def description(problem: Problem) -> dict[str, Any]:
    """Return a problem as a JSON object, its system posed with the default structure."""
    model = next(iter(problem.models))
    system = problem.system(model, problem.default_structure())
    dynamics = system.dynamics
    derived = problem.case().derived
    labels = dynamics.labels
    units = dict(zip(system.parameters.names, system.parameters.units, strict=True))
    structure = {
        name: list(entry.options) if isinstance(entry, Choice) else entry
        for name, entry in problem.structure.items()
    }
    return {
        "name": problem.name,
        "title": problem.title,
        "description": summary(problem),
        "models": list(problem.models),
        "structure": structure,
        "parameters": {
            name: {
                "default": dynamics.values[name],
                "unit": str(units.get(name, "")),
                "range": str(interval),
            }
            for name, interval in dynamics.posed_ranges.items()
            if name not in derived and name not in system.inputs
        },
        "inputs": {
            name: {
                "default": None if name in system.inputs.unset else system.inputs.defaults[name],
                "unit": str(unit),
            }
            for name, unit in zip(system.inputs.names, system.inputs.units, strict=True)
        },
        "discrete": [
            name
            for name in dynamics.posed_ranges
            if name in system.discrete and name not in derived
        ],
        "start": list(problem.start_names()),
        "start_rule": problem.start_rule(model) is not None,
        "states": dict(zip(labels.states, map(str, labels.state_units), strict=True)),
        "reactions": dict(zip(labels.shown_reactions, labels.shown_reaction_units, strict=True)),
        "outputs": {
            **dict(zip(labels.outputs, labels.output_units, strict=True)),
            **{name: unit for name, (_, unit) in dynamics.meters.items()},
        },
        "goals": list(dynamics.goal_names),
        "events": _events(dynamics),
        "cases": [_case(case, case.model or model) for case in problem.cases],
        "analyses": [*ANALYSES, *ORBITS, *problem.analyses],
        "notes": list(system.notes),
        "references": list(problem.sources),
    }


def _case(case: Case, model: str) -> dict[str, Any]:
    shown = "start_time until redundant rank_loss rate note"
    values = fields_of(case, f"name structure parameters start {shown}")
    return plain({**values, "model": model, "times": list(case.times)})


def _events(dynamics: Dynamics) -> list[str]:
    """Return the events that a run may report; guides come to rest, and are followed there."""
    names = [event.name for event in dynamics.events if event.name not in dynamics.hidden_events]
    for addition in dynamics.additions:
        names += [name for name in addition.recorded_events if name not in names]
    return names


def description_tables(document: dict[str, Any]) -> list[RenderableType]:
    """Return the same as readable text."""
    title = Text(f"{document['name']}: {document['title']}", style="bold")
    parts: list[RenderableType] = [WrappedText(title)]
    if document["description"]:
        parts += [WrappedText(Text(document["description"])), Text()]

    def line(title: str, words: list[str]) -> None:
        if words:
            parts.append(WrappedText(Text(f"{title}: {', '.join(words)}")))

    line("models", document["models"])
    line("structure", [f"{name} = {value}" for name, value in document["structure"].items()])
    parameters: list[tuple[str, ...]] = []
    discrete: list[str] = []
    for name, entry in document["parameters"].items():
        if name in document["discrete"]:
            discrete.append(f"{name} = {readable(entry['default']):g}")
        else:
            parameters.append(
                (name, f"{readable(entry['default']):g}", entry["unit"], entry["range"])
            )
    heads = ("parameter", "default", "unit", "range")
    parts += [Text(), Rows(heads, parameters), Text()]
    line("discrete values", discrete)
    given = document["inputs"].items()
    line("inputs", [f"{name} [{e['unit']}]" if e["unit"] else name for name, e in given])
    for kind in ("states", "reactions", "outputs"):
        line(
            kind,
            [f"{name} [{unit}]" if unit else name for name, unit in document[kind].items()],
        )
    line("goals", document["goals"])
    line("events", document["events"])
    line("analyses", document["analyses"])
    line("start values of cases", document["start"])
    if document["start"] and document["start_rule"]:
        parts.append(WrappedText(Text(BY_RULE)))
    cases: list[tuple[str, ...]] = []
    for case in document["cases"]:
        start = ", ".join(f"{name} = {readable(value):g}" for name, value in case["start"].items())
        cases.append((case["name"], start, f"{case['until']:g} s", case["note"]))
    parts += [Text(), Rows(("case", "start", "until", "note"), cases), Text()]
    return [
        *parts,
        *(WrappedText(Text(line)) for line in document["notes"] + document["references"]),
    ]


def new(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Name of the project and its problem: lower case with hyphens."
        ),
    ],
    to: Annotated[
        Path,
        typer.Option("--to", metavar="DIR", help="Parent directory of the new directory NAME."),
    ] = Path(),
) -> None:
    """Create a plugin project that installs and passes its own tests."""
    project = new_project(name, to)
    # pip takes `NAME[test]` for something to download, and a path for a path.
    place = project if project.is_absolute() else f"./{project.as_posix()}"
    typer.echo(f"written: {project}. To install, run and test it:")
    typer.echo(f'  python -m pip install -e "{place}[test]"')
    typer.echo(f"  daesolve run {name}")
    typer.echo(f'  python -m pytest "{place}"')

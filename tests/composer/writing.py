"""Scripts: a composition as a Python program that runs alone."""

from __future__ import annotations

from collections.abc import Iterable

from .composing import Composition

HEAD = "import casadi as ca\nimport numpy as np\n\nimport daesolve as ds\n"
TAIL = """
print(run.outcome.value, run.message)
for event in run.events:
    print(event.name, event.time)
print(run.audit())
"""
WAYS = {"solve": ["run = ds.solve(system, until, initial, guess=guess, **options)"]}


def script_of(composition: Composition) -> str:
    """Return the program that poses and runs a system."""
    lines = [*_posed(composition), *_settings(composition), *WAYS[composition.way]]
    return f"{HEAD}\n" + "\n".join(lines) + "\n"


def _posed(composition: Composition) -> list[str]:
    parts = composition.parts
    named = {name: unit for part in parts for name, unit in part.coordinates.items()}
    units = (f"{name}={unit if unit.startswith(('ds.', chr(34))) else repr(unit)}" for name, unit in named.items())
    lines = [f"q = ds.coordinates({', '.join(units)})"]
    values = {name: value for part in parts for name, value in part.discrete.items()}
    if values:
        lines.append(f"d = ds.discrete({', '.join(f'{n}={v!r}' for n, v in values.items())})")
    for part in parts:
        lines += [f"# {part.kind}", *part.lines] if part.lines else []
    arguments = [f"kinetic={_sum(t for part in parts for t in part.kinetic)}"]
    arguments.append(f"potential={_sum(t for part in parts for t in part.potential)}")
    forces: dict[str, list[str]] = {}
    for part in parts:
        for name, term in part.force:
            forces.setdefault(name, []).append(term)
    if forces:
        rows = ", ".join(f'"{name}": {_sum(terms)}' for name, terms in forces.items())
        arguments.append(f"force={{{rows}}}")
    for word in ("goals", "events"):
        if listed := [text for part in parts for text in getattr(part, word)]:
            arguments.append(f"{word}=[{', '.join(listed)}]")
    if values:
        arguments.append("discrete=d")
    body = "".join(f"    {argument},\n" for argument in arguments)
    return [*lines, f"system = ds.MechanicalSystem(\n    q,\n{body})"]


def _sum(terms: Iterable[str]) -> str:
    return " + ".join(terms) or "0.0"


def _settings(composition: Composition) -> list[str]:
    parts = composition.parts
    initial = {name: value for part in parts for name, value in part.initial.items()}
    guess = {name: value for part in parts for name, value in part.guess.items()}
    options = dict(composition.options)
    for part in parts:
        options |= part.options
    if composition.begin != 0.0:
        options["start_time"] = repr(composition.begin)
    listed = ", ".join(f"{name}={text}" for name, text in options.items())
    return [
        f"initial = {initial}",
        f"guess = {guess}",
        f"options = dict({listed})",
        f"until = {composition.until!r}",
    ]

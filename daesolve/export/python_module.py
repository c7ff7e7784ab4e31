"""A plant as a Python module that needs only NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import indent, wrap

import casadi as ca

from daesolve.core.expressions.program import program
from daesolve.export.c_language import row_by_row
from daesolve.export.code import body_of
from daesolve.export.named import Entries, NamedFunction
from daesolve.export.plant import Plant, reach_of
from daesolve.export.python_language import (
    CHOOSING,
    DIVIDE,
    GUARDED,
    NUMPY_NAMES,
    OWN,
    PYTHON,
    RAISING,
    RESERVED,
    SAFE,
)
from daesolve.export.words import distinct, plain
from daesolve.export.writing import MARK, fill_template, filled

STEP = "    "
WIDTH = 96
SAID = {
    "accelerations": "the accelerations v'",
    "reactions": "the reactions",
    "rhs": "the rates of the state",
    "residuals": "the residuals of the constraints, and of what is hidden behind them",
    "mass_matrix": "the mass matrix M of M v' = h + B u",
    "forces": "the generalised forces h of M v' = h + B u",
    "influence": "the influence B of the reactions, M v' = h + B u",
    "jacobian": "the Jacobian J of the constraints J v' + b = 0",
    "bias": "the bias b of the constraints J v' + b = 0",
    "energy": "the energies",
    "outputs": "the outputs",
    "guards": "the guards of the events, which pass through zero there",
}
"""What each function returns."""
ARGUMENTS = ("t", "state", "values", "tables", "passed")


def python_module(plant: Plant, version: str) -> str:
    """Write a plant as a Python module.

    Parameters
    ----------
    plant
        The plant to write.
    version
        The version of daesolve.

    Raises
    ------
    UnsupportedError
        Python lacks an operation; the message names it.
    """
    functions = [*plant.functions.values(), *plant.resets.values()]
    functions += [plant.arguments] if plant.arguments is not None else []
    parts = [_head(plant, version), _constants(plant), _helpers(functions)]
    parts.append(_table_code(plant) if plant.lookups else "")
    count = len(plant.table_entries) if plant.lookups else None
    parts.append(fill_template("tools.py", count=count))
    for name, function in plant.functions.items():
        parts += [_public(name, function), _private(f"_{name}", function)]
    if plant.arguments is not None:
        parts.append(_private("_arguments", plant.arguments))
    for word, function in zip(reset_words(plant), plant.resets.values(), strict=True):
        parts += [_reset(word, function), _private(f"_{word}", function)]
    return "".join(parts)


def reset_words(plant: Plant) -> list[str]:
    """Return the names of the functions of resets."""
    return distinct(f"reset_{plain(name)}" for name in plant.resets)


def _head(plant: Plant, version: str) -> str:
    said = [
        f'"""{plant.name}: equations of motion, {MARK} {version}.',
        "",
        *wrap("It needs only NumPy.", WIDTH),
        "",
        *wrap(
            "Every function takes the time t in s, the state x in the order of STATES, and the "
            "values p in the order of VALUES: arrays, or dictionaries by name, where entries you "
            "leave out have their values of START or VALUES. Reactions are eliminated.",
            WIDTH,
        ),
    ]
    if plant.equations.dynamics.rows:
        for sentence in plant.equations.attraction:
            said += ["", *wrap(sentence, WIDTH)]
    for sentence in plant.left_out:
        said += ["", *wrap(sentence, WIDTH)]
    imports = ["import math"] + (["from bisect import bisect_right"] if plant.lookups else [])
    return "\n".join([*said, '"""', "", *imports, "", "import numpy as np", ""])


def _constants(plant: Plant) -> str:
    start = dict(zip([e.name for e in plant.states], plant.begin.tolist(), strict=True))
    lines = ["", "STATES = {  # name: unit"]
    lines += [f"    {e.name!r}: {e.unit!r},  # {e.kind}" for e in plant.states]
    lines += ["}", "VALUES = {  # name: default; None: you must set it"]
    lines += [_value(e.name, e.default, e.unit, e.kind) for e in plant.values]
    lines += ["}", f"START_TIME = {plant.time!r}", "START = {  # name: value"]
    lines += [_value(e.name, start[e.name], e.unit) for e in plant.states]
    lines += ["}", "ENTRIES = {  # function: names of the entries, of a matrix those of its rows"]
    shapes = {n: f.outputs[n] for n, f in plant.functions.items()}
    for name, shape in shapes.items():
        lines += _tuple(f"    {name!r}: ", shape.names, ",")
    lines += ["}", "UNITS = {  # function: units of the entries"]
    for name, shape in shapes.items():
        if any(shape.units) and shape.columns is None:
            lines += _tuple(f"    {name!r}: ", shape.units, ",")
    lines += ["}", "EVENTS = {  # name: (direction, places of its guards, what happens)"]
    lines += [
        f"    {event.name!r}: ({event.direction!r}, {event.guards!r}, {event.does!r}),"
        for event in plant.events
    ]
    return "\n".join([*lines, "}", ""])


def _value(name: str, value: float | None, *remarks: str) -> str:
    text = "None" if value is None else PYTHON.number(value)
    remark = " ".join(", ".join(filter(None, remarks)).split())
    return f"    {name!r}: {text}," + (f"  # {remark}" if remark else "")


def _tuple(head: str, entries: Iterable[str], tail: str = "") -> list[str]:
    own = [repr(entry) for entry in entries]
    line = f"{head}({', '.join(own)}{',' if len(own) == 1 else ''}){tail}"
    if len(line) <= WIDTH:
        return [line]
    rows = filled(own, WIDTH - 8)
    return [f"{head}(", *[f"        {row}" for row in rows], f"    ){tail}"]


def _helpers(functions: Sequence[NamedFunction]) -> str:
    """Write the functions that are called besides `math`."""
    used = frozenset[int]().union(*[program(function).operations for function in functions])
    choosing = frozenset[int]().union(
        *[program(f).operations for f in functions if _chooses(f)], frozenset[int]()
    )
    parts = [text for operation, (_, text) in OWN.items() if operation in used]
    if choosing & {ca.OP_DIV, ca.OP_INV}:
        parts.append(DIVIDE)
    parts += [f"_NUMPY = {NUMPY_NAMES!r}\n", GUARDED]
    guarded = sorted({RAISING[operation] for operation in choosing & {*RAISING}})
    lines = "".join(f"_{name} = _guarded(math.{name})\n" for name in guarded)
    lines = f"\n\n{lines}" if lines else ""
    return "".join(f"\n\n{part}" for part in parts) + lines


def _chooses(function: NamedFunction) -> bool:
    return not program(function).operations.isdisjoint(CHOOSING)


def _public(name: str, function: NamedFunction) -> str:
    shape = function.outputs[name]
    size = f"({shape.size[0]},)" if shape.columns is None else repr(shape.size)
    reshaped = "" if shape.columns is None else f".reshape{size}"
    return (
        f"\n\ndef {name}(t, x, p=None):\n"
        f'    """Return {SAID[name]}, {size}."""\n'
        f"    return _computed(_{name}, t, x, p){reshaped}\n"
    )


def _reset(word: str, function: NamedFunction) -> str:
    states, _ = (shape.size[0] for shape in function.outputs.values())
    guards = function.inputs["passed"].size[0]
    return (
        f"\n\ndef {word}(t, x, p=None, passed=(1.0,) * {guards}):\n"
        '    """Return the state and the values after the event: passed is 1.0 for each guard\n'
        '    that passes zero, 0.0 for others."""\n'
        f"    found = _computed(_{word}, t, x, p, [float(k) for k in passed])\n"
        f"    return found[:{states}], found[{states}:]\n"
    )


def _private(name: str, function: NamedFunction) -> str:
    """Write a function of lists of numbers."""
    given = [ARGUMENTS[("t", "x", "p", "tables", "passed").index(key)] for key in function.inputs]
    words = iter(distinct(_names(function), RESERVED | {*ARGUMENTS}))
    elements: list[list[str]] = []
    for key, argument, shape in zip(function.inputs, given, function.inputs.values(), strict=True):
        own = [next(words) for _ in shape.rows]
        elements.append([argument] if key == "t" else own)
    language = SAFE if _chooses(function) else PYTHON
    head = given if _chooses(function) else [*given, "math=math"]
    body = body_of(function, elements, language, RESERVED | {*ARGUMENTS})
    lines: list[str] = []
    for key, argument, own, used in zip(function.inputs, given, elements, body.used, strict=True):
        if key != "t":
            lines += [f"{own[k]} = {argument}[{k}]" for k in used]
    lines += body.lines
    results: list[str] = []
    for found, shape in zip(body.results, function.outputs.values(), strict=True):
        results += [found[e] for e in row_by_row(shape)]
    lines += ["return [", *[f"    {result}," for result in results], "]"]
    return f"\n\ndef {name}({', '.join(head)}):\n{indent(chr(10).join(lines), STEP)}\n"


def _names(function: NamedFunction) -> list[str]:
    shapes: list[Entries] = [shape.rows for shape in function.inputs.values()]
    return [entry.name for rows in shapes for entry in rows]


def _table_code(plant: Plant) -> str:
    lines = ["", "", "_TABLES = (  # (argument, place, axes, coefficients of the pieces)"]
    at = place = 0
    for name, lookup in plant.lookups.items():
        lines.append(f"    # {name}: for each argument the borders of pieces, their bases, first")
        lines.append("    # and last node, how far beyond them it may be, and the period")
        lines.append(f"    ({at}, {place}, (")
        for axis in lookup.axes:
            first, last = float(axis.nodes[0]), float(axis.nodes[-1])
            lines.append("        (")
            lines += _numbers(axis.borders.tolist(), "            ")
            lines += _numbers(axis.bases.tolist(), "            ")
            further = [first, last, reach_of(axis), axis.period if axis.periodic else 0.0]
            lines.append(f"            {', '.join(map(PYTHON.number, further))},")
            lines.append("        ),")
        flat = lookup.coefficients.reshape(*lookup.coefficients.shape[: len(lookup.axes)], -1)
        lines.append("    ), (")
        for piece in flat.tolist():
            inner = piece if len(lookup.axes) > 1 else [piece]
            lines += ["        ("] if len(lookup.axes) > 1 else []
            for row in inner:
                lines += _numbers(row, "        ")
            lines += ["        ),"] if len(lookup.axes) > 1 else []
        lines.append("    )),")
        at += len(lookup.axes)
        place += len(lookup.bases) + len(lookup.terms)
    return "\n".join([*lines, ")", ""])


def _numbers(numbers: Sequence[float], margin: str) -> list[str]:
    own = [PYTHON.number(number) for number in numbers]
    whole = f"{margin}({', '.join(own)}{',' if len(own) == 1 else ''}),"
    if len(whole) <= WIDTH:
        return [whole]
    rows = filled(own, WIDTH - len(margin) - 4)
    return [f"{margin}(", *[f"{margin}    {row}" for row in rows], f"{margin}),"]

"""A plant in C99: its header and its source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import indent, wrap

from daesolve.core.posing.inputs import Lookup
from daesolve.export.c_language import STEP, C, c_function
from daesolve.export.named import Entries, Entry, NamedFunction
from daesolve.export.plant import Plant, reach_of
from daesolve.export.words import distinct, plain
from daesolve.export.writing import MARK, fill_template, filled

WIDTH = 96
GROUPS = {
    "reactions": "reaction",
    "residuals": "residual",
    "energy": "energy",
    "outputs": "output",
    "jacobian": "constraint",
    "guards": "guard",
}
"""Functions whose entries have their own names, and the prefixes of these."""
SIGNS = {"falling": -1, "either": 0, "rising": 1}


def members(prefix: str, entries: Entries) -> list[str]:
    """Return the members of an enumeration, one for each entry."""
    words = distinct(plain(entry.name).upper() for entry in entries)
    return [f"{prefix.upper()}_{word}" for word in words]


def places_of(plant: Plant) -> dict[str, list[str]]:
    """Return the members by which functions know the places of states and values."""
    return {
        "x": members(f"{plant.name}_state", plant.states),
        "p": members(f"{plant.name}_value", plant.values),
    }


def comment(sentences: Iterable[str]) -> str:
    """Return a comment of paragraphs."""
    lines: list[str] = []
    for sentence in sentences:
        lines += ["", *wrap(sentence.replace("*/", "* /"), WIDTH - 3)]
    return "/* " + "\n   ".join(lines[1:]).replace("   \n", "\n") + " */\n"


def said_of(plant: Plant, version: str) -> list[str]:
    """Return notes for the reader, one paragraph each."""
    said = [f"{plant.name}: equations of motion, {MARK} {version}."]
    if plant.equations.dynamics.rows:
        said += plant.equations.attraction
    return [*said, *plant.left_out]


def header(plant: Plant, version: str) -> str:
    """Write the header."""
    name = plant.name
    said = said_of(plant, version)
    said += [
        "No function allocates memory or keeps a state. Each takes the time in s, the state and "
        "the values, and writes its results where the last arguments point; inputs and results "
        "may overlap. Matrices are written row by row. Reactions are eliminated."
    ]
    listed = [(f"{name}_state", "states", plant.states), (f"{name}_value", "values", plant.values)]
    listed += [
        (f"{name}_{group}", quantity, plant.functions[quantity].outputs[quantity].rows)
        for quantity, group in GROUPS.items()
        if quantity in plant.functions
    ]
    return fill_template(
        "plant.h",
        said=comment(said),
        name=name,
        upper=name.upper(),
        enumerations="".join(_enumeration(*entry, name) for entry in listed),
        values=plant.values,
        guarded="guards" in plant.functions,
        functions=[declared for declared, _ in _functions(plant)],
    )


def source(plant: Plant, version: str) -> str:
    """Write the source.

    Raises
    ------
    UnsupportedError
        C lacks an operation; the message names it.
    """
    name = plant.name
    parts = [comment(said_of(plant, version)), f'#include "{name}.h"\n\n#include <math.h>\n\n']
    parts += [
        _strings(f"{name}_state_names", [e.name for e in plant.states]),
        _strings(f"{name}_state_units", [e.unit for e in plant.states]),
    ]
    if plant.values:
        parts += [
            _strings(f"{name}_value_names", [e.name for e in plant.values]),
            _strings(f"{name}_value_units", [e.unit for e in plant.values]),
        ]
    if "guards" in plant.functions:
        signs = [str(SIGNS[event.direction]) for event in plant.events for _ in event.guards]
        parts.append(array(f"const int {name}_directions", signs))
    parts.append(_beginnings(plant))
    if plant.lookups:
        parts.append(_table_code(plant))
    parts += [f"\n{defined}" for _, defined in _functions(plant)]
    return "".join(parts)


def reset_words(plant: Plant) -> list[str]:
    """Return the names of the functions of resets."""
    return distinct(f"{plant.name}_reset_{plain(name)}" for name in plant.resets)


def _functions(plant: Plant) -> list[tuple[str, str]]:
    """Return what each function declares and how it is defined."""
    own = [(f"{plant.name}_{name}", function) for name, function in plant.functions.items()]
    own += list(zip(reset_words(plant), plant.resets.values(), strict=True))
    return [_function(plant, name, function) for name, function in own]


def _function(plant: Plant, name: str, function: NamedFunction) -> tuple[str, str]:
    places = places_of(plant)
    if not plant.lookups:
        written = c_function(name, function, places)
        return written.declaration, written.definition
    inner = c_function(f"{name}_of", function, places, static=True)
    whole = inner.declaration.removeprefix("static ").replace(f"{name}_of(", f"{name}(")
    declaration = whole.replace("const double *tables, ", "")
    arguments = [
        word.split()[-1].strip("*") for word in whole[whole.index("(") + 1 : -1].split(",")
    ]
    body = [
        f"double tables[{len(plant.table_entries)}];",
        f"{plant.name}_tables(time, state, values, tables);",
        f"{name}_of({', '.join(arguments)});",
    ]
    text = indent("\n".join(body), STEP)
    return declaration, f"{inner.definition}\n{declaration}\n{{\n{text}\n}}\n"


def _enumeration(prefix: str, plural: str, entries: Entries, name: str) -> str:
    lines = [f"/* The {plural}. */", f"enum {prefix} {{"]
    for member, entry in zip(members(prefix, entries), entries, strict=True):
        remark = ", ".join(filter(None, [entry.unit, entry.kind, _default(entry)]))
        lines.append(f"    {member},{_remark(remark)}")
    return "\n".join([*lines, f"    {name.upper()}_{plural.upper()}", "};\n\n"])


def _default(entry: Entry) -> str:
    return "" if entry.default is None else repr(entry.default)


def _strings(name: str, words: Sequence[str]) -> str:
    quoted = [f'"{_escaped(word)}"' for word in words]
    return array(f"const char *const {name}", quoted)


def _escaped(word: str) -> str:
    """Return a word as it appears in a string, in ASCII."""
    found = word.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(c if c.isascii() else "".join(f"\\{b:03o}" for b in c.encode()) for c in found)


def array(declared: str, entries: Sequence[str]) -> str:
    """Return the definition of an array, its lines broken."""
    rows = "\n".join(filled(entries, WIDTH - len(STEP)))
    return f"{declared}[{len(entries)}] = {{\n{indent(rows, STEP)}\n}};\n"


def _beginnings(plant: Plant) -> str:
    places = places_of(plant)
    lines = [f"\nvoid {plant.name}_defaults(double *values)", "{"]
    for member, entry in zip(places["p"], plant.values, strict=True):
        value = "NAN" if entry.default is None else C.number(entry.default)
        lines.append(f"    values[{member}] = {value};" + _remark(entry.unit))
    lines += [] if plant.values else ["    (void)values;"]
    lines += ["}", "", f"double {plant.name}_start(double *state)", "{"]
    for member, entry, value in zip(places["x"], plant.states, plant.begin.tolist(), strict=True):
        lines.append(f"    state[{member}] = {C.number(value)};" + _remark(entry.unit))
    lines += [f"    return {C.number(float(plant.time))};", "}", ""]
    return "\n".join(lines)


def _remark(words: str) -> str:
    """Return a comment behind a line, which no unit ends too early."""
    own = " ".join(words.replace("*/", "* /").split())
    return f" /* {own} */" if own else ""


# -- tables ----------------------------------------------------------------------------------------


def _table_code(plant: Plant) -> str:
    name = plant.name
    assert plant.arguments is not None
    parts = ["\n"]
    for table, lookup in plant.lookups.items():
        parts.append(_table_arrays(f"{name}_{plain(table)}", lookup))
    parts.append(fill_template("piece.c", name=name))
    places = places_of(plant)
    parts.append(c_function(f"{name}_arguments", plant.arguments, places, static=True).definition)
    lines = [f"double arguments[{plant.arguments.outputs['arguments'].size[0]}], argument, turns;"]
    lines += ["int piece, inside, k;", f"for (k = 0; k < {len(plant.table_entries)}; ++k)"]
    lines += ["    tables[k] = 0.0;"]
    at = place = 0
    for table, lookup in plant.lookups.items():
        lines += [f"/* {table} */"]
        lines += [f"{name}_arguments(time, state, values, tables, arguments);"]
        lines += _lookup_code(name, f"{name}_{plain(table)}", lookup, at, place)
        at += len(lookup.axes)
        place += len(lookup.bases) + len(lookup.terms)
    parts.append(
        "\n/* The tables at their arguments: the base and the coefficients of a piece of each. */\n"
        f"static void {name}_tables(double time, const double *state, const double *values, "
        f"double *tables)\n{{\n{indent(chr(10).join(lines), STEP)}\n}}\n"
    )
    return "".join(parts)


def _table_arrays(word: str, lookup: Lookup) -> str:
    parts: list[str] = []
    for number, axis in enumerate(lookup.axes, 1):
        borders = axis.borders.tolist() or [0.0]  # C has no empty arrays; its length is zero.
        parts.append(array(f"static const double {word}_borders_{number}", _written(borders)))
        bases = _written(axis.bases.tolist())
        parts.append(array(f"static const double {word}_bases_{number}", bases))
    coefficients = _written(lookup.coefficients.reshape(-1).tolist())
    parts.append(array(f"static const double {word}_coefficients", coefficients))
    return "".join(parts)


def _lookup_code(name: str, word: str, lookup: Lookup, at: int, place: int) -> list[str]:
    lines = ["inside = 1;"]
    index = "0"
    for number, axis in enumerate(lookup.axes, 1):
        first, last, reach = float(axis.nodes[0]), float(axis.nodes[-1]), reach_of(axis)
        lines += [
            f"argument = arguments[{at}];",
            f"inside = inside && {C.number(first - reach)} <= argument "
            f"&& argument <= {C.number(last + reach)};",
        ]
        turns = "0.0"
        if axis.periodic:
            period = C.number(axis.period)
            turns = f"floor((argument - {C.number(first)}) / {period}) * {period}"
        lines += [
            f"turns = {turns};",
            f"piece = {name}_piece({word}_borders_{number}, {len(axis.borders)}, "
            "argument - turns);",
            f"tables[{place}] = {word}_bases_{number}[piece] + turns;",
        ]
        index = "piece" if index == "0" else f"{axis.count} * whole + piece"
        if number == 1 and len(lookup.axes) > 1:
            lines += ["{", "const int whole = piece;"]
        at, place = at + 1, place + 1
    count = len(lookup.terms)
    lines += [
        f"for (k = 0; k < {count}; ++k)",
        f"    tables[{place} + k] = inside ? {word}_coefficients[{count} * ({index}) + k] : NAN;",
    ]
    return [*lines, *(["}"] if len(lookup.axes) > 1 else [])]


def _written(numbers: Iterable[float]) -> list[str]:
    return [C.number(number) for number in numbers]

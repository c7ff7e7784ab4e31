"""A named CasADi function as a function in C99, without allocation or state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent

from daesolve.export.c_language import RESERVED, C
from daesolve.export.code import body_of
from daesolve.export.named import LabelledShape, NamedFunction
from daesolve.export.words import distinct, plain

STEP = "    "
ARGUMENTS = {"t": "time", "x": "state", "p": "values"}
"""What the inputs of functions are called in C; others keep their names."""


@dataclass(frozen=True)
class CFunction:
    """A function in C.

    Parameters
    ----------
    declaration
        Its head, without a semicolon.
    definition
        All of it.
    """

    declaration: str
    definition: str


def c_function(
    name: str,
    function: NamedFunction,
    places: Mapping[str, Sequence[str]] | None = None,
    *,
    static: bool = False,
) -> CFunction:
    """Write a function in C.

    It takes a double for each input of one element that is called `t`, and a pointer to doubles
    for every other; then a pointer for each output, which may be that of an input. A matrix is
    written row by row.

    Parameters
    ----------
    name
        The name of the function in C.
    function
        A function with dense inputs and outputs.
    places
        By the name of an input, constants that are the places of its elements, such as the members
        of an enumeration; numbers where none are given.
    static
        Whether it is visible only in its own file.

    Raises
    ------
    UnsupportedError
        C lacks an operation; the message names it.
    """
    given = {key: ARGUMENTS.get(key, plain(key)) for key in function.inputs}
    results = distinct(function.outputs, RESERVED | {*given.values()})
    taken = RESERVED | {*given.values()} | {*results}
    words = iter(distinct(_entries(function.inputs.values()), taken))
    elements: list[list[str]] = []
    for key, shape in function.inputs.items():
        own = [next(words) for _ in shape.rows]
        elements.append([given[key]] if key == "t" else own)
    body = body_of(function, elements, C, taken)
    lines: list[str] = []
    for key, own, used in zip(function.inputs, elements, body.used, strict=True):
        if not used:
            lines.append(f"(void){given[key]};")
        elif key != "t":
            named = (places or {}).get(key, [str(k) for k in range(len(own))])
            lines += [f"const double {own[k]} = {given[key]}[{named[k]}];" for k in used]
    lines += body.lines
    for number, (result, shape) in enumerate(zip(results, function.outputs.values(), strict=True)):
        values = body.results[number]
        lines += [f"{result}[{k}] = {values[e]};" for k, e in enumerate(row_by_row(shape))]
        lines += [] if values else [f"(void){result};"]
    head = [f"double {given[k]}" if k == "t" else f"const double *{given[k]}" for k in given]
    head += [f"double *{result}" for result in results]
    declaration = f"{'static ' * static}void {name}({', '.join(head)})"
    return CFunction(declaration, f"{declaration}\n{{\n{indent(chr(10).join(lines), STEP)}\n}}\n")


def row_by_row(shape: LabelledShape) -> list[int]:
    """Return the places of a matrix's elements, which lie column by column, row by row."""
    rows, columns = shape.size
    return [column * rows + row for row in range(rows) for column in range(columns)]


def _entries(shapes: Iterable[LabelledShape]) -> list[str]:
    return [entry.name for shape in shapes for entry in shape.rows]

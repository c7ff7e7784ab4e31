"""Functions written in C99."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent

import casadi as ca

from daesolve.export.code import (
    ARITHMETIC,
    ATOM,
    Language,
    Term,
    body_of,
    calls,
    conditions,
    named_operations,
    within,
)
from daesolve.export.named import LabelledShape, NamedFunction
from daesolve.export.words import distinct, plain

KEYWORDS = """auto break case char const continue default do double else enum extern float for goto
if inline int long register restrict return short signed sizeof static struct switch typedef union
unsigned void volatile while asm typeof bool true false main """
MACROS = """NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL FP_NAN FP_INFINITE FP_ZERO FP_SUBNORMAL
FP_NORMAL FP_FAST_FMA FP_ILOGB0 FP_ILOGBNAN MATH_ERRNO MATH_ERREXCEPT math_errhandling fpclassify
isfinite isinf isnan isnormal signbit isgreater isless isunordered M_E M_LOG2E M_LOG10E M_LN2
M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2 linux unix"""
"""Names that `math.h` and some compilers define, and that are therefore not free."""
FUNCTIONS = named_operations(
    "sqrt exp log log1p expm1 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
    "pow floor ceil fmod remainder fabs copysign erf fmin fmax hypot"
) | {ca.OP_CONSTPOW: "pow"}
RESERVED = frozenset((KEYWORDS + MACROS).split()) | {*FUNCTIONS.values()}
"""Names that are reserved in the code."""
STEP = "    "
ARGUMENTS = {"t": "time", "x": "state", "p": "values"}
"""What the inputs of functions are called in C; others keep their names."""


def _number(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


def _if_else_zero(a: Term, b: Term) -> Term:
    return f"({within(a, ATOM)} != 0.0 ? {within(b, ATOM)} : 0.0)", ATOM


def _sign(a: Term) -> Term:
    own = within(a, ATOM)
    return f"({own} > 0.0 ? 1.0 : {own} < 0.0 ? -1.0 : {own})", ATOM


C = Language(
    "C",
    ARITHMETIC
    | {operation: calls(name) for operation, name in FUNCTIONS.items()}
    | conditions(lambda text: f"({text} ? 1.0 : 0.0)", "&&", "||")
    | {
        ca.OP_IF_ELSE_ZERO: _if_else_zero,
        ca.OP_SIGN: _sign,
    },
    _number,
    lambda name, text: f"const double {name} = {text};",
)


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

"""The instructions of a CasADi function as statements of another language.

A value that occurs once is written where it occurs; one that occurs more often gets a name. Each
operation is done on the same numbers and in the same order as in CasADi, so that the results have
the same bits wherever arithmetic and elementary functions are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from daesolve.core.expressions.program import program
from daesolve.core.expressions.translation import missing_operations
from daesolve.errors import UnsupportedError

SUM, PRODUCT, SIGN, ATOM = range(4)
"""Precedences of expressions, the weakest first."""
LONGEST = 72
"""The longest expression that is written into another, in characters."""

Term = tuple[str, int]
"""An expression and how strongly it holds together."""
Operation = Callable[..., Term]


def within(term: Term, at_least: int) -> str:
    """Return an expression, in parentheses where it holds together less strongly."""
    text, strength = term
    return text if strength >= at_least else f"({text})"


def calls(name: str) -> Operation:
    """Return the operation that calls a function."""

    def called(*terms: Term) -> Term:
        return f"{name}({', '.join(text for text, _ in terms)})", ATOM

    return called


def conditions(as_number: Callable[[str], str], both: str, either: str) -> dict[int, Operation]:
    """Return the operations that give 1.0 or 0.0.

    Parameters
    ----------
    as_number
        Turns the text of a condition into that of a number.
    both, either
        The words for "and" and "or".
    """

    def compared(sign: str) -> Operation:
        def operation(a: Term, b: Term) -> Term:
            return as_number(f"{within(a, ATOM)} {sign} {within(b, ATOM)}"), ATOM

        return operation

    def combined(word: str) -> Operation:
        def operation(a: Term, b: Term) -> Term:
            texts = [f"{within(term, ATOM)} != 0.0" for term in (a, b)]
            return as_number(f" {word} ".join(texts)), ATOM

        return operation

    def negated(a: Term) -> Term:
        return as_number(f"{within(a, ATOM)} == 0.0"), ATOM

    return {
        ca.OP_LT: compared("<"),
        ca.OP_LE: compared("<="),
        ca.OP_EQ: compared("=="),
        ca.OP_NE: compared("!="),
        ca.OP_AND: combined(both),
        ca.OP_OR: combined(either),
        ca.OP_NOT: negated,
    }


def _joined(sign: str, strength: int) -> Operation:
    def joined(a: Term, b: Term) -> Term:
        return f"{within(a, strength)} {sign} {within(b, strength + 1)}", strength

    return joined


def _square(a: Term) -> Term:
    return f"{within(a, ATOM)} * {within(a, ATOM)}", PRODUCT


def _twice(a: Term) -> Term:
    return f"2.0 * {within(a, SIGN)}", PRODUCT


def _negative(a: Term) -> Term:
    return f"-{within(a, ATOM)}", SIGN


def _inverse(a: Term) -> Term:
    return f"1.0 / {within(a, SIGN)}", PRODUCT


def _unchanged(a: Term) -> Term:
    return a


def named_operations(words: str) -> dict[int, str]:
    """Return the operations of CasADi with the names of functions of `math.h`."""
    return {getattr(ca, f"OP_{word.upper()}"): word for word in words.split()}


ARITHMETIC: dict[int, Operation] = {
    ca.OP_ASSIGN: _unchanged,
    ca.OP_ADD: _joined("+", SUM),
    ca.OP_SUB: _joined("-", SUM),
    ca.OP_MUL: _joined("*", PRODUCT),
    ca.OP_DIV: _joined("/", PRODUCT),
    ca.OP_NEG: _negative,
    ca.OP_SQ: _square,
    ca.OP_TWICE: _twice,
    ca.OP_INV: _inverse,
}
"""Operations that all languages write in the same way."""
REPEATING = frozenset({ca.OP_SQ, ca.OP_SIGN})
"""Operations that write their operand more than once."""


@dataclass(frozen=True)
class Language:
    """How another language writes what functions compute.

    Parameters
    ----------
    name
        For messages.
    operations
        By CasADi's numbers of operations, the functions that write them.
    number
        Writes a number.
    declare
        Writes a statement that gives a name to an expression.
    """

    name: str
    operations: Mapping[int, Operation]
    number: Callable[[float], str]
    declare: Callable[[str, str], str]


@dataclass(frozen=True)
class FunctionBody:
    """What a function computes.

    Parameters
    ----------
    used
        For each input, the numbers of the elements that are needed.
    lines
        Statements, one after the other.
    results
        For each output, the expressions of its elements, column by column.
    """

    used: tuple[tuple[int, ...], ...]
    lines: tuple[str, ...]
    results: tuple[tuple[str, ...], ...]


def body_of(
    function: ca.Function,
    inputs: Sequence[Sequence[str]],
    language: Language,
    taken: Collection[str] = (),
) -> FunctionBody:
    """Write what a function computes.

    Parameters
    ----------
    function
        Of SX expressions, with dense inputs and outputs.
    inputs
        For each input, the names of its elements in the language.
    language
        The language.
    taken
        Further names that are reserved there.

    Raises
    ------
    UnsupportedError
        The language lacks an operation; the message names it.
    """
    missing = missing_operations(function, language.operations)
    if missing:
        raise UnsupportedError(
            f"{language.name} has no operation {', '.join(missing)}, which {function.name()!r} "
            "needs"
        )
    whole = program(function)
    uses = _uses(function)
    mark = _free_mark({name for names in inputs for name in names} | set(taken))
    terms: list[Term] = []
    lines: list[str] = []
    used: list[set[int]] = [set() for _ in inputs]
    for value, (operation, operands) in enumerate(whole.steps):
        if operation == ca.OP_INPUT:
            used[operands[0]].add(operands[1])
            terms.append((str(inputs[int(operands[0])][int(operands[1])]), ATOM))
            continue
        if operation == ca.OP_CONST:
            text = language.number(operands[0])
            terms.append((text, SIGN if text.startswith("-") else ATOM))
            continue
        term = language.operations[operation](*[terms[place] for place in operands])
        if uses[value] > 1 or len(term[0]) > LONGEST:
            name = f"{mark}{len(lines) + 1}"
            lines.append(language.declare(name, term[0]))
            term = (name, ATOM)
        terms.append(term)
    results: list[tuple[str, ...]] = []
    for number, pairs in enumerate(whole.outputs):
        column = [language.number(0.0)] * function.nnz_out(number)
        for element, value in pairs:
            column[element] = terms[value][0]
        results.append(tuple(column))
    return FunctionBody(tuple(tuple(sorted(own)) for own in used), tuple(lines), tuple(results))


def _uses(function: ca.Function) -> list[int]:
    """Return how often each value is written."""
    whole = program(function)
    uses = [0] * whole.size
    for operation, operands in whole.steps:
        if operation in (ca.OP_INPUT, ca.OP_CONST):
            continue
        places: tuple[Any, ...] = operands
        for place in places:
            uses[place] += 2 if operation in REPEATING else 1
    for pairs in whole.outputs:
        for _, value in pairs:
            uses[value] += 1
    return uses


def _free_mark(names: Collection[str]) -> str:
    """Return letters that, followed by digits, are not one of the names."""
    mark = "w"
    while any(name.startswith(mark) and name[len(mark) :].isdigit() for name in names):
        mark += "w"
    return mark

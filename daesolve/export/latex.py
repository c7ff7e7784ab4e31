"""CasADi expressions as LaTeX, in the style of a textbook."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import casadi as ca

from daesolve.core.expressions.translation import OPERATION_NAMES
from daesolve.export.forms import (
    LARGEST_DENOMINATOR,
    LEAST_NAMED,
    LEAVES,
    NEARLY,
    PI,
    Cases,
    Form,
    Graph,
    Product,
    Sum,
    constituents,
    symbol,
    times,
)

MOST = 250
"""Operations beyond which expressions are not printed on a page."""
WIDTH = 60
"""Where a line of a formula is broken, in characters as they are seen."""
LARGEST_SQUARE = 64
"""The largest denominator of a number that is printed as a root."""
SHORT = 12
"""Characters up to which a bracket stays where it is."""

FUNCTIONS = {
    ca.OP_SIN: r"\sin",
    ca.OP_COS: r"\cos",
    ca.OP_TAN: r"\tan",
    ca.OP_SINH: r"\sinh",
    ca.OP_COSH: r"\cosh",
    ca.OP_TANH: r"\tanh",
    ca.OP_ASIN: r"\arcsin",
    ca.OP_ACOS: r"\arccos",
    ca.OP_ATAN: r"\arctan",
    ca.OP_LOG: r"\ln",
    ca.OP_EXP: r"\exp",
    ca.OP_FMIN: r"\min",
    ca.OP_FMAX: r"\max",
}
WORDS = [name[1:] for name in FUNCTIONS.values()]
SMALL = 0.7
"""The size of an index or an exponent."""
COMPARED = {ca.OP_LT: "<", ca.OP_LE: r"\le", ca.OP_EQ: "=", ca.OP_NE: r"\ne"}
OPPOSITE = {ca.OP_LT: r"\ge", ca.OP_LE: ">", ca.OP_EQ: r"\ne", ca.OP_NE: "="}
JOINED = {ca.OP_AND: r"\land", ca.OP_OR: r"\lor"}
LOGICAL = frozenset({*COMPARED, *JOINED, ca.OP_NOT})


@dataclass(frozen=True)
class LatexExpressions:
    """Expressions as LaTeX.

    Parameters
    ----------
    operations
        How many operations there are; a value that occurs several times counts once.
    formulas
        For each expression its terms, with their signs; none where there are too many operations.
    parts
        (name, terms) of what is named in the formulas, each after those that it needs.
    """

    operations: int
    formulas: tuple[tuple[str, ...], ...] = ()
    parts: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def printed(self) -> bool:
        """Whether there are formulas."""
        return bool(self.formulas)


def aligned(equations: Iterable[tuple[str, Sequence[str]]], end: str = "") -> str:
    """Return equations below each other, long ones broken before a term.

    Parameters
    ----------
    equations
        A left-hand side and the terms of the right-hand side; a left-hand side that is empty
        leaves the terms alone.
    end
        What follows each of them, such as `= 0`.
    """
    rows: list[str] = []
    for left, terms in equations:
        lines, width = [""], 0
        for term in terms:
            size = seen(term)
            if width and width + size > WIDTH:
                lines.append("")
                width = 0
            lines[-1] += f" {term}" if lines[-1] else term
            width += size + 1
        lines[-1] += f" {end}" if end else ""
        first = f"{left} &= {lines[0]}" if left else f"& {lines[0]}"
        rows += [first, *(f"&\\quad {line}" for line in lines[1:])]
    if len(rows) == 1:
        return rows[0].replace("&= ", "= ", 1).removeprefix("& ")
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def seen(text: str) -> float:
    """Return the approximate width of LaTeX in characters; indices and exponents are small."""
    plain = re.sub(r"\\(left|right|d+ot|mathrm|operatorname|begin|end|quad|,)", "", text)
    plain = re.sub(rf"\\({'|'.join(WORDS)})(?![A-Za-z])", r"\1", plain.replace(r"\frac", "/"))
    plain = re.sub(r"\\[A-Za-z]+", "x", plain)
    return _measured(re.findall(r"[^\s\\]", plain)[::-1])


def _measured(pending: list[str]) -> float:
    """Return the width of what comes next, up to the end of its group, and take it away."""
    width = 0.0
    while pending:
        mark = pending.pop()
        if mark == "}":
            break
        if mark == "{":
            width += _measured(pending)
        elif mark in "_^":
            width += SMALL * _group(pending)
        elif mark == "/":
            width += max(_group(pending), _group(pending))
        else:
            width += 1.0
    return width


def _group(pending: list[str]) -> float:
    """Return the width of the group or character that comes next."""
    return _measured(pending) if pending.pop() == "{" else 1.0


class FormulaWriter:
    """Writes the expressions of one page; it defines each named part only once.

    Parameters
    ----------
    letters
        LaTeX by the name of a symbol; `symbol` is used for others.
    constants
        The names of symbols that come first in products.
    most
        Operations beyond which expressions are not printed.
    least_named
        Operations from which on a part that occurs often enough is named.
    """

    def __init__(
        self,
        letters: Mapping[str, str],
        constants: Collection[str] = (),
        most: int = MOST,
        least_named: int = LEAST_NAMED,
    ) -> None:
        self._letters = {PI: PI, **letters}
        self._constants = frozenset(constants)
        self._most = most
        self._graph = Graph(least_named)
        self._names: dict[int, str] = {}
        self._stem = _free_stem(self._letters.values())

    def prepare(self, expressions: Sequence[ca.SX]) -> None:
        """Give names to sums that appear in several denominators."""
        self._graph.name_denominators([self._graph.enter(one) for one in expressions])

    def write(self, expressions: Sequence[ca.SX]) -> LatexExpressions:
        """Return scalar expressions as LaTeX."""
        graph = self._graph
        roots = [graph.enter(expression) for expression in expressions]
        order = graph.below(roots, graph.operands)
        count = sum(self._graph.operation(node) not in LEAVES for node in order)
        if count > self._most:
            return LatexExpressions(count)
        graph.settle(roots, order)
        known = dict(self._names)
        while True:
            written = self._write(count, roots)
            wide = self._bracket_of_a_wide_term([*roots, *(self._names.keys() - known.keys())])
            if wide is None:
                return written
            graph.named.add(wide)
            self._names = dict(known)

    def _write(self, count: int, roots: Sequence[int]) -> LatexExpressions:
        """Name expressions that occur several times or do not fit, and write them separately."""
        graph = self._graph
        shown = graph.below(roots, lambda node: constituents(graph.forms[node]))
        fresh = [node for node in shown if node in graph.named and node not in self._names]
        for node in fresh:
            self._names[node] = f"{self._stem}_{{{len(self._names) + 1}}}"
        parts = [(self._names[node], self._terms(node)) for node in fresh]
        formulas = [
            (self._names[node],) if node in self._names else self._terms(node) for node in roots
        ]
        return LatexExpressions(count, tuple(formulas), tuple(parts))

    def _bracket_of_a_wide_term(self, written: Iterable[int]) -> int | None:
        """Return the widest sum within a term that does not fit on a line; None if all fit."""
        for node in written:
            form = self._graph.forms[node]
            terms = [term for _, term in form.terms] if isinstance(form, Sum) else [node]
            for term, text in zip(terms, self._terms(node), strict=False):
                if seen(text) > WIDTH:
                    widths = {one: self._width(one) for one in self._brackets(term) if one != node}
                    wide = max(widths, key=lambda one: widths[one], default=None)
                    if wide is not None and widths[wide] > SHORT:
                        return wide
        return None

    def _brackets(self, node: int) -> list[int]:
        """Return the sums that are printed in a node, and have no names."""
        pending, found = [node], list[int]()
        while pending:
            one = pending.pop()
            if one != node and one in self._names:
                continue
            if isinstance(self._graph.forms[one], Sum) and one not in self._names:
                found.append(one)
            pending += constituents(self._graph.forms[one])
        return found

    def _width(self, node: int) -> float:
        return seen(" ".join(self._terms(node)))

    def _terms(self, node: int) -> tuple[str, ...]:
        """Return the signed terms of a node."""
        form = self._graph.forms[node]
        pairs = form.terms if isinstance(form, Sum) else ((Fraction(1), node),)
        if not pairs:
            return ("0",)
        texts: list[str] = []
        for place, (count, term) in enumerate(pairs):
            alone = len(pairs) == 1
            if abs(count) == 1:
                negative, text = self._signed(term, opened=term == node, alone=alone)
            else:
                product = times(Product(abs(count), {}), self._graph.raised(term, 1))
                negative, text = product.number < 0, self._product(product)
            minus = negative != (count < 0)
            mark = "-" if minus else "+" if place else ""
            texts.append(f"{mark} {text}" if mark and place else f"{mark}{text}")
        return tuple(texts)

    def _signed(self, node: int, *, opened: bool = False, alone: bool = False) -> tuple[bool, str]:
        """Return whether a term is negative, and its text without the sign."""
        if node in self._names and not opened:
            return False, self._names[node]
        form, number = self._graph.forms[node], self._graph.constant(node)
        if number is not None:
            return number < 0.0, _number(abs(number))
        if isinstance(form, Product):
            return form.number < 0, self._product(form)
        if isinstance(form, Cases):
            return False, self._cases(form) if alone else _bracketed(self._cases(form))
        if isinstance(form, Sum):
            return False, _bracketed(" ".join(self._terms(node)))
        return False, self._call(node)

    def _text(self, node: int) -> str:
        """Return a node that needs no brackets: it has them already, or is part of a fraction."""
        if node in self._names:
            return self._names[node]
        return " ".join(self._terms(node))

    def _product(self, form: Product) -> str:
        number = abs(form.number)
        if not number:
            return "0"
        above = [(node, power) for node, power in form.powers.items() if power > 0]
        below = [(node, -power) for node, power in form.powers.items() if power < 0]
        if not below:
            if number == 1 and above:
                return self._factors(above)
            return _beside([_rational_text(number), self._factors(above)])
        root = None if _is_fraction(number) else _root(float(number))
        if root is not None:
            top = _beside([root[0], self._factors(above)])
            return f"\\frac{{{top}}}{{{self._side(Fraction(root[1]), below)}}}"
        short = _is_fraction(number)
        top = self._side(Fraction(number.numerator) if short else number, above)
        bottom = self._side(Fraction(number.denominator if short else 1), below)
        return f"\\frac{{{top}}}{{{bottom}}}"

    def _side(self, number: Fraction, powers: Sequence[tuple[int, int]]) -> str:
        """Return the numerator or the denominator of a fraction."""
        if number == 1 and len(powers) == 1 and powers[0][1] == 1:
            return self._text(powers[0][0])
        if number == 1 and powers:
            return self._factors(powers)
        return _beside([_rational_text(number), self._factors(powers)])

    def _factors(self, powers: Sequence[tuple[int, int]]) -> str:
        ranked = sorted(powers, key=lambda entry: self._rank(entry[0]))
        return _beside([self._power(node, power) for node, power in ranked])

    def _rank(self, node: int) -> int:
        """Return the rank of a factor: constants, symbols, brackets, functions."""
        operation, operands = self._graph.nodes[node]
        if node in self._names:
            return 1
        if operation == ca.OP_PARAMETER:
            return int(operands[0] not in self._constants and operands[0] != PI)
        return 3 if operation in FUNCTIONS else 2

    def _power(self, node: int, power: int) -> str:
        operation = self._graph.operation(node)
        if power == 1:
            return self._factor(node)
        if operation in FUNCTIONS and node not in self._names:
            return self._function(node, f"^{{{power}}}")
        return f"{self._base(node)}^{{{power}}}"

    def _factor(self, node: int) -> str:
        """Return a node as one of several factors."""
        negative, text = self._signed(node)
        if isinstance(self._open_text(node), Product) or negative:
            return _bracketed(self._text(node))
        return text

    def _base(self, node: int) -> str:
        """Return a node to which an exponent may be set."""
        if node in self._names or self._graph.operation(node) == ca.OP_PARAMETER:
            return self._factor(node)
        number = self._graph.constant(node)
        if number is not None and number >= 0 and number.is_integer() and number < 1e6:
            return _number(number)
        text = self._text(node)
        closed = self._graph.operation(node) == ca.OP_FABS
        return text if closed else _bracketed(text)

    def _open_text(self, node: int) -> Form | None:
        return None if node in self._names else self._graph.forms[node]

    def _cases(self, form: Cases) -> str:
        rows = [f"{self._text(value)} & {self._condition(test)}" for value, test in form.rows]
        rows.append(f"{self._text(form.otherwise)} & \\text{{else}}")
        return "\\begin{cases} " + " \\\\ ".join(rows) + " \\end{cases}"

    def _condition(self, node: int) -> str:
        operation, operands = self._graph.operation(node), self._graph.operands(node)
        if operation in COMPARED:
            return f"{self._text(operands[0])} {COMPARED[operation]} {self._text(operands[1])}"
        if operation in JOINED:
            texts = [_bracketed(self._condition(one)) for one in operands]
            return f" {JOINED[operation]} ".join(texts)
        if operation == ca.OP_NOT:
            inner, of = self._graph.operation(operands[0]), self._graph.operands(operands[0])
            if inner in OPPOSITE:
                return f"{self._text(of[0])} {OPPOSITE[inner]} {self._text(of[1])}"
            return f"\\lnot {_bracketed(self._condition(operands[0]))}"
        return f"{self._text(node)} \\ne 0"

    def _call(self, node: int) -> str:
        operation, operands = self._graph.nodes[node]
        if operation == ca.OP_PARAMETER:
            name = str(operands[0])
            return self._letters.get(name) or symbol(name)
        if operation in LOGICAL:
            return f"\\left[ {self._condition(node)} \\right]"
        if operation in FUNCTIONS:
            return self._function(node, "")
        texts = [self._text(child) for child in self._graph.operands(node)]
        if operation == ca.OP_SQRT:
            return f"\\sqrt{{{texts[0]}}}"
        if operation == ca.OP_FABS:
            return f"\\left| {texts[0]} \\right|"
        if operation == ca.OP_FLOOR:
            return f"\\left\\lfloor {texts[0]} \\right\\rfloor"
        if operation in (ca.OP_POW, ca.OP_CONSTPOW):
            return f"{self._base(self._graph.operands(node)[0])}^{{{texts[1]}}}"
        name = OPERATION_NAMES[operation].replace("_", " ")
        return f"\\operatorname{{{name}}}{_bracketed(', '.join(texts))}"

    def _function(self, node: int, power: str) -> str:
        operation, operands = self._graph.operation(node), self._graph.operands(node)
        simple = len(operands) == 1 and (
            operands[0] in self._names or self._graph.operation(operands[0]) == ca.OP_PARAMETER
        )
        inside = ", ".join(self._text(child) for child in operands)
        return f"{FUNCTIONS[operation]}{power}{f' {inside}' if simple else _bracketed(inside)}"


def _bracketed(text: str) -> str:
    return f"\\left( {text} \\right)"


def _beside(factors: Sequence[str]) -> str:
    """Return factors beside each other; words and numbers are kept apart."""
    text, last = "", ""
    for factor in filter(None, factors):
        if not text:
            text = factor
        elif factor[0].isdigit():
            text += f" \\cdot {factor}"
        elif "\\mathrm" in factor or "\\mathrm" in last:
            text += f" \\, {factor}"
        else:
            text += f" {factor}"
        last = factor
    return text


def _is_fraction(number: Fraction) -> bool:
    """Return whether a number is printed with a line rather than as a decimal."""
    short = len(repr(float(number))) <= 8
    if number.denominator in (1, 2, 4, 8) and abs(number.numerator) < 1000:
        return number.denominator > 1
    return number.denominator <= LARGEST_DENOMINATOR and not (short and _is_decimal(number))


def _is_decimal(number: Fraction) -> bool:
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _rational_text(number: Fraction) -> str:
    if _is_fraction(number):
        return f"\\frac{{{number.numerator}}}{{{number.denominator}}}"
    return _number(float(number))


def _number(value: float) -> str:
    """Return a number that is not negative; it reads back to the same number up to rounding."""
    if not math.isfinite(value):
        return r"\infty" if value > 0 else r"\mathrm{nan}"
    if value.is_integer() and value < 1e6:
        return str(int(value))
    root = _root(value)
    if root is not None:
        return root[0] if root[1] == 1 else f"\\frac{{{root[0]}}}{{{root[1]}}}"
    mantissa, _, exponent = repr(value).partition("e")
    mantissa = mantissa.removesuffix(".0")
    return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _root(value: float) -> tuple[str, int] | None:
    """Return a number that is the root of a fraction as LaTeX over a number; None for others."""
    square = Fraction(value * value).limit_denominator(LARGEST_SQUARE) if value < 100.0 else 0
    if not math.isclose(math.sqrt(square), value, rel_tol=NEARLY):
        return None
    product, factor = square.numerator * square.denominator, 1
    for divisor in range(math.isqrt(product), 1, -1):
        if product % divisor**2 == 0:
            product, factor = product // divisor**2, divisor
            break
    if product == 1:
        return None
    share = Fraction(factor, square.denominator)
    above = f"{share.numerator if share.numerator > 1 else ''}\\sqrt{{{product}}}"
    return above, share.denominator


def _free_stem(taken: Iterable[str]) -> str:
    """Return a letter for named expressions, with which no symbol begins.

    Entries of M, B, b, c, D, e, h, J and u, and pseudo-velocities w, have names of their own.
    """
    used = {re.sub(r"\\d+ot\{(.*?)\}", r"\1", text)[:1] for text in taken}
    return next((letter for letter in "adfnk" if letter not in used), r"\mathcal{A}")

"""The poles of an expression: besides its zeros, the only places where its sign changes.

A comparison such as 1 / (x - 2) > 5 changes at x = 2, where its guard 1 / (x - 2) - 5 is unbounded
and not near zero. The guard is therefore written as one fraction n / (a b ...). Its sign is the
product of the signs of n, a, b, ..., which are finite at the pole, where one of them passes through
zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import casadi as ca


class Nodes(Protocol):
    """Numbered nodes, each existing once; operands have lower numbers."""

    def node(self, operation: int, *operands: int) -> int:
        """Return the number of an operation on nodes."""
        ...

    def constant(self, value: float) -> int:
        """Return the number of a constant."""
        ...

    def is_fixed(self, number: int) -> bool:
        """Return whether a node is independent of the motion."""
        ...

    def made(self, number: int) -> tuple[int, tuple[Any, ...]]:
        """Return the operation of a node and its operands; the number of a constant."""
        ...


class Fraction(NamedTuple):
    """A node as a numerator over factors with their multiplicities."""

    over: int
    under: Counter[int]


_LINEAR = frozenset({ca.OP_ADD, ca.OP_SUB})
_PRODUCTS = frozenset({ca.OP_MUL, ca.OP_SQ})
_QUOTIENTS = frozenset({ca.OP_DIV, ca.OP_INV})
_SIGNS = frozenset({ca.OP_NEG, ca.OP_TWICE})
_POWERS = frozenset({ca.OP_POW, ca.OP_CONSTPOW})
_EVEN = frozenset({ca.OP_SQ, ca.OP_SQRT, ca.OP_EXP, ca.OP_COSH, ca.OP_FABS, ca.OP_HYPOT})
_KEEPING = frozenset({ca.OP_ADD, ca.OP_MUL, ca.OP_DIV, ca.OP_INV, ca.OP_TWICE})


def without_poles(nodes: Nodes, guard: int) -> tuple[int, ...]:
    """Return nodes whose signs multiply to a guard's sign, none with a pole of the guard.

    Parameters
    ----------
    nodes
        The store for new nodes.
    guard
        The number of the guard.

    Returns
    -------
    tuple
        The numerator, and the factors of the denominator that may change its sign; only the guard
        if there are none.
    """
    found: dict[int, Fraction] = {}
    for number in sorted(_rational(nodes, guard)):
        found[number] = _fraction(nodes, number, found)
    over, under = found[guard]
    if not under:
        return (guard,)
    return over, *(factor for factor, count in under.items() if count % 2)


def _rational(nodes: Nodes, guard: int) -> set[int]:
    """Return a node and all nodes it consists of by sums, products and quotients."""
    reached, pending = {guard}, [guard]
    while pending:
        for operand in _parts(nodes, pending.pop()):
            if operand not in reached:
                reached.add(operand)
                pending.append(operand)
    return reached


def _parts(nodes: Nodes, number: int) -> tuple[int, ...]:
    """Return the operands whose fractions form the fraction of a node."""
    operation, operands = nodes.made(number)
    if nodes.is_fixed(number):
        return ()
    if operation in _LINEAR | _PRODUCTS | _QUOTIENTS | _SIGNS:
        return operands
    if operation == ca.OP_IF_ELSE_ZERO and nodes.is_fixed(operands[0]):
        return operands[1:]
    return ()


def _fraction(nodes: Nodes, number: int, known: dict[int, Fraction]) -> Fraction:
    """Return a node as a fraction, given the fractions of its parts."""
    operation, operands = nodes.made(number)
    node, parts = nodes.node, [known[part] for part in _parts(nodes, number)]
    if operation == ca.OP_TAN and not nodes.is_fixed(number):
        return Fraction(node(ca.OP_SIN, *operands), Counter([node(ca.OP_COS, *operands)]))
    if not any(part.under for part in parts) and operation not in _QUOTIENTS:
        return Fraction(number, Counter())
    if operation in _SIGNS:
        return Fraction(node(operation, parts[0].over), parts[0].under)
    if operation in _LINEAR:
        under = parts[0].under | parts[1].under
        sides = [_times(nodes, part.over, (under - part.under).elements()) for part in parts]
        return Fraction(node(operation, *sides), under)
    if operation in _PRODUCTS:
        under = parts[0].under + parts[-1].under
        return Fraction(node(operation, *[part.over for part in parts]), under)
    if operation in _QUOTIENTS and parts:
        above = parts[0] if operation == ca.OP_DIV else Fraction(nodes.constant(1.0), Counter())
        return _divided(nodes, above, parts[-1])
    if operation == ca.OP_IF_ELSE_ZERO:
        return _chosen(nodes, operands[0], parts[0])
    return Fraction(number, Counter())


def _divided(nodes: Nodes, above: Fraction, below: Fraction) -> Fraction:
    """Return a fraction divided by another; factors of constant sign stay divisors."""
    over, under = _times(nodes, above.over, below.under.elements()), Counter(above.under)
    for factor in _factors(nodes, below.over):
        if nodes.is_fixed(factor) or _keeps_sign(nodes, factor):
            over = nodes.node(ca.OP_DIV, over, factor)
        else:
            under[factor] += 1
    return Fraction(over, under)


def _chosen(nodes: Nodes, condition: int, part: Fraction) -> Fraction:
    """Return the fraction of a branch, whose poles do not matter while it is unused."""
    node = nodes.node
    over = node(ca.OP_IF_ELSE_ZERO, condition, part.over)
    other = node(ca.OP_IF_ELSE_ZERO, node(ca.OP_NOT, condition), nodes.constant(1.0))
    under: Counter[int] = Counter()
    for factor, count in part.under.items():
        under[node(ca.OP_ADD, node(ca.OP_IF_ELSE_ZERO, condition, factor), other)] += count
    return Fraction(over, under)


def _times(nodes: Nodes, number: int, factors: Iterable[int]) -> int:
    """Return the product of a node with factors."""
    for factor in factors:
        number = nodes.node(ca.OP_MUL, number, factor)
    return number


def _factors(nodes: Nodes, number: int) -> list[int]:
    """Return the factors of a product with their multiplicities."""
    operation, operands = nodes.made(number)
    if operation not in _PRODUCTS or nodes.is_fixed(number):
        return [number]
    sides = operands if operation == ca.OP_MUL else operands * 2
    return [factor for side in sides for factor in _factors(nodes, side)]


def _keeps_sign(nodes: Nodes, number: int) -> bool:
    """Return whether a node is evidently never negative."""
    operation, operands = nodes.made(number)
    if operation == ca.OP_CONST:
        return float(operands[0]) >= 0.0
    if operation in _POWERS:
        kind, exponent = nodes.made(operands[1])
        broken = kind == ca.OP_CONST and not float(exponent[0]).is_integer()
        return broken or _keeps_sign(nodes, operands[0])
    if operation in _EVEN:
        return True
    return operation in _KEEPING and all(_keeps_sign(nodes, operand) for operand in operands)

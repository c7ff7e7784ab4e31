"""Of what size the terms of an expression are, and whether it is continuous, by its structure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import casadi as ca

SUMS = {ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV, ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE}
"""Operations whose value is as large as their parts say; the others count by their value."""
CONTINUOUS = {
    *(ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE, ca.OP_SQRT, ca.OP_HYPOT),
    *(ca.OP_SIN, ca.OP_COS, ca.OP_SINH, ca.OP_COSH, ca.OP_TANH, ca.OP_ATAN, ca.OP_ASINH, ca.OP_ERF),
    *(ca.OP_EXP, ca.OP_EXPM1, ca.OP_ASIN, ca.OP_ACOS, ca.OP_FABS, ca.OP_FMIN, ca.OP_FMAX),
}
"""Operations that are continuous wherever they have a value."""


def _folded(
    expression: ca.SX,
    join: Callable[[ca.SX, Sequence[Any]], Any],
    opened: Collection[int] = range(ca.OP_IF_ELSE_ZERO + 100),
) -> Any:
    """Return what becomes of an expression by what becomes of the parts of some operations."""
    known: dict[int, Any] = {}
    waiting = [ca.SX(expression)]
    while waiting:
        here = waiting[-1]
        count = here.n_dep()
        parts = [here.dep(k) for k in range(count)] if count and here.op() in opened else []
        missing = [part for part in parts if part.element_hash() not in known]
        if not missing:  # or known already
            known[here.element_hash()] = join(here, [known[p.element_hash()] for p in parts])
            waiting.pop()
        waiting.extend(missing)
    return known[ca.SX(expression).element_hash()]


def size_of(expression: ca.SX) -> ca.SX:
    """Return the sum of the magnitudes of which an expression is made at a state.

    Sums add the sizes of their parts, products multiply them; anything else counts by its value.
    """
    return _folded(expression, _size, SUMS)


def _size(here: ca.SX, sizes: Sequence[ca.SX]) -> ca.SX:
    op = here.op() if sizes else None
    if op in (ca.OP_ADD, ca.OP_SUB):
        return sizes[0] + sizes[1]
    if op == ca.OP_MUL:
        return sizes[0] * sizes[1]
    if op == ca.OP_DIV:
        return sizes[0] / ca.fabs(here.dep(1))
    if op == ca.OP_SQ:
        return sizes[0] ** 2
    if op == ca.OP_TWICE:
        return 2.0 * sizes[0]
    return sizes[0] if op == ca.OP_NEG else ca.fabs(here)


def is_continuous(expression: ca.SX, constants: Collection[ca.SX]) -> bool:
    """Tell whether an expression is continuous by structure, wherever it has a value.

    Quotients by what is none of some constants have poles, and other operations jump.
    """
    fixed = {symbol.element_hash() for symbol in constants}

    def join(here: ca.SX, parts: Sequence[tuple[bool, bool]]) -> tuple[bool, bool]:
        """Return whether it is constant, and whether it is continuous."""
        if not parts:
            return here.is_constant() or here.element_hash() in fixed, True
        still, op = all(part[0] for part in parts), here.op()
        power = op in (ca.OP_POW, ca.OP_CONSTPOW) and here.dep(1).is_constant()
        smooth = op in CONTINUOUS or (op == ca.OP_DIV and parts[1][0])
        smooth |= power and float(here.dep(1)) > 0.0
        return still, still or (smooth and all(part[1] for part in parts))

    return _folded(expression, join)[1]

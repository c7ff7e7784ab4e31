"""Which functions have Taylor series along a motion, and their range of validity."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import casadi as ca
import numpy as np

from daesolve.core.expressions.program import STRUCTURE, program
from daesolve.core.expressions.translation import constants_of, named_operations, needed_values

HIGHEST_PRODUCT = 1024
"""The highest whole power computed by products."""
EXPONENTIAL = frozenset({ca.OP_EXP, ca.OP_EXPM1, ca.OP_SINH, ca.OP_COSH})
"""Operations whose results may overflow."""
EXPANDABLE = EXPONENTIAL | frozenset(
    {ca.OP_ASSIGN, ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE, ca.OP_SIN,
     ca.OP_COS, ca.OP_DIV, ca.OP_INV, ca.OP_SQRT, ca.OP_LOG, ca.OP_POW, ca.OP_CONSTPOW, ca.OP_TAN,
     ca.OP_ASIN, ca.OP_ACOS, ca.OP_ATAN, ca.OP_ATAN2, ca.OP_TANH, ca.OP_ASINH, ca.OP_ACOSH,
     ca.OP_ATANH, ca.OP_ERF, ca.OP_LOG1P, ca.OP_HYPOT, ca.OP_IF_ELSE_ZERO}
)  # fmt: skip
"""Operations whose results have a series; for branches, only if parameters decide."""


@lru_cache(maxsize=256)
def missing_in_series(function: ca.Function) -> tuple[str, ...]:
    """Name the operations of (t, x, p) without a series; operations on p alone need none."""
    given = constants_of(function, 2)
    values, needed = program(function).values, np.array(list(needed_values(function, given)), int)
    kinds = values.kinds[needed]
    missing = named_operations(set(kinds.tolist()) - STRUCTURE - EXPANDABLE)
    branches = set(values.operands[needed[kinds == ca.OP_IF_ELSE_ZERO], 0].tolist())
    undecided = any(not _is_given(function, number, given) for number in branches)
    return tuple(sorted({*missing, "if_else_zero"})) if undecided else missing


def _is_given(function: ca.Function, number: int, given: Collection[int]) -> bool:
    """Return whether a value of a program is known before the motion."""
    operation, operands = program(function).steps[number]
    if operation == ca.OP_INPUT:
        return operands[0] == 2
    return operation == ca.OP_CONST or number in given


def may_overflow(function: ca.Function) -> bool:
    """Return whether a value of a function may overflow."""
    return not EXPONENTIAL.isdisjoint(program(function).operations)

"""The operations of CasADi's expressions, as numbers that compiled code can compare."""

from __future__ import annotations

import casadi as ca
import numpy as np

NAMES = (
    "ADD", "SUB", "MUL", "DIV", "NEG", "SQ", "TWICE", "INV", "SQRT", "FABS", "ASSIGN",
    "EXP", "EXPM1", "LOG", "LOG1P", "SIN", "COS", "TAN", "SINH", "COSH", "TANH",
    "ASIN", "ACOS", "ATAN", "ASINH", "ACOSH", "ATANH", "ERF", "ATAN2", "POW", "CONSTPOW", "HYPOT",
    "LT", "LE", "EQ", "NE", "NOT", "AND", "OR", "IF_ELSE_ZERO",
    "FLOOR", "CEIL", "FMOD", "REMAINDER", "SIGN", "COPYSIGN", "FMIN", "FMAX",
)  # fmt: skip
(
    ADD, SUB, MUL, DIV, NEG, SQ, TWICE, INV, SQRT, FABS, ASSIGN,
    EXP, EXPM1, LOG, LOG1P, SIN, COS, TAN, SINH, COSH, TANH,
    ASIN, ACOS, ATAN, ASINH, ACOSH, ATANH, ERF, ATAN2, POWER, CONSTANT_POWER, HYPOT,
    LT, LE, EQ, NE, NOT, AND, OR, IF_ELSE_ZERO,
    FLOOR, CEIL, FMOD, REMAINDER, SIGN, COPYSIGN, FMIN, FMAX,
) = range(len(NAMES))  # fmt: skip
NOTHING = len(NAMES)
"""The operation whose value is zero."""
OF_CASADI: dict[int, int] = {getattr(ca, f"OP_{name}"): code for code, name in enumerate(NAMES)}
"""Our number of each CasADi operation."""


def codes_of(kinds: np.ndarray) -> np.ndarray:
    """Return our numbers of CasADi's operations; `NOTHING` for unknown ones."""
    return _CODES[np.minimum(kinds, len(_CODES) - 1)]


_CODES = np.full(max(OF_CASADI) + 2, NOTHING)
_CODES[list(OF_CASADI)] = list(OF_CASADI.values())

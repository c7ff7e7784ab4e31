"""Functions written in C99."""

from __future__ import annotations

import math

import casadi as ca

from daesolve.export.code import ARITHMETIC, ATOM, Language, Term, calls, conditions, within

KEYWORDS = """auto break case char const continue default do double else enum extern float for goto
if inline int long register restrict return short signed sizeof static struct switch typedef union
unsigned void volatile while asm typeof bool true false main """
MACROS = """NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL FP_NAN FP_INFINITE FP_ZERO FP_SUBNORMAL
FP_NORMAL FP_FAST_FMA FP_ILOGB0 FP_ILOGBNAN MATH_ERRNO MATH_ERREXCEPT math_errhandling fpclassify
isfinite isinf isnan isnormal signbit isgreater isless isunordered M_E M_LOG2E M_LOG10E M_LN2
M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2 linux unix"""
"""Names that `math.h` and some compilers define, and that are therefore not free."""
FUNCTIONS: dict[int, str] = {
    ca.OP_SQRT: "sqrt",
    ca.OP_EXP: "exp",
    ca.OP_LOG: "log",
    ca.OP_LOG1P: "log1p",
    ca.OP_EXPM1: "expm1",
    ca.OP_SIN: "sin",
    ca.OP_COS: "cos",
    ca.OP_TAN: "tan",
    ca.OP_ASIN: "asin",
    ca.OP_ACOS: "acos",
    ca.OP_ATAN: "atan",
    ca.OP_ATAN2: "atan2",
    ca.OP_SINH: "sinh",
    ca.OP_COSH: "cosh",
    ca.OP_TANH: "tanh",
    ca.OP_ASINH: "asinh",
    ca.OP_ACOSH: "acosh",
    ca.OP_ATANH: "atanh",
    ca.OP_POW: "pow",
    ca.OP_CONSTPOW: "pow",
    ca.OP_FLOOR: "floor",
    ca.OP_CEIL: "ceil",
    ca.OP_FMOD: "fmod",
    ca.OP_REMAINDER: "remainder",
    ca.OP_FABS: "fabs",
    ca.OP_COPYSIGN: "copysign",
    ca.OP_ERF: "erf",
    ca.OP_FMIN: "fmin",
    ca.OP_FMAX: "fmax",
    ca.OP_HYPOT: "hypot",
}
RESERVED = frozenset((KEYWORDS + MACROS).split()) | {*FUNCTIONS.values()}
"""Names that are reserved in the code."""


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

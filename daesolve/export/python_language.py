"""Functions written in Python with only `math`.

`math` has the elementary functions of C, and so gives the bits that CasADi gives. It raises where
C returns infinity or NaN. In functions that choose between branches, of which one may have no
value, that happens all the time: there, `SAFE` calls functions that return what C does. Others are
computed once more, with numbers of NumPy, where Python raises.
"""

from __future__ import annotations

import keyword
import math

import casadi as ca

from daesolve.export.code import (
    ARITHMETIC,
    ATOM,
    Language,
    Term,
    calls,
    conditions,
    named_operations,
    within,
)

EXACT = named_operations("atan atan2 tanh asinh fabs copysign erf")
RAISING = named_operations(
    "sin cos tan sqrt exp log log1p expm1 asin acos sinh cosh acosh atanh pow fmod remainder"
) | {ca.OP_CONSTPOW: "pow"}
"""Functions of `math` that raise where C returns infinity or NaN."""
OWN: dict[int, tuple[str, str]] = {
    ca.OP_FLOOR: (
        "_floor",
        "def _floor(a):\n    return float(math.floor(a)) if math.isfinite(a) else a\n",
    ),
    ca.OP_CEIL: (
        "_ceil",
        "def _ceil(a):\n    return float(math.ceil(a)) if math.isfinite(a) else a\n",
    ),
    ca.OP_FMIN: ("_least", "def _least(a, b):\n    return a if a <= b or b != b else b\n"),
    ca.OP_FMAX: ("_most", "def _most(a, b):\n    return a if a >= b or b != b else b\n"),
    ca.OP_HYPOT: ("_hypot", "def _hypot(a, b):\n    return float(np.hypot(a, b))\n"),
    ca.OP_SIGN: (
        "_sign",
        "def _sign(a):\n    return 1.0 if a > 0.0 else -1.0 if a < 0.0 else a\n",
    ),
}
"""Helper functions of the module: their names and code."""
CHOOSING = frozenset(
    {ca.OP_IF_ELSE_ZERO, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR}
)
"""Operations that take one branch and leave another."""
DIVIDE = (
    "def _divide(a, b):\n"
    "    if b != 0.0:\n"
    "        return a / b\n"
    "    if a == 0.0 or a != a or b != b:\n"
    "        return math.nan\n"
    "    return math.copysign(math.inf, a) * math.copysign(1.0, b)\n"
)
"""A division as in C."""
GUARDED = (
    "def _guarded(function):\n"
    '    """Return a function of math that has the value of C where it would raise."""\n'
    "    whole = getattr(np, _NUMPY.get(function.__name__, function.__name__))\n"
    "\n"
    "    def guarded(*given):\n"
    "        try:\n"
    "            return np.float64(function(*given))\n"
    "        except (ValueError, OverflowError, ZeroDivisionError):\n"
    '            with np.errstate(all="ignore"):\n'
    "                return np.float64(whole(*given))\n"
    "\n"
    "    return guarded\n"
)
"""Keeps functions of `math` from raising."""


def _number(value: float) -> str:
    if math.isnan(value):
        return "math.nan"
    if math.isinf(value):
        return "math.inf" if value > 0 else "-math.inf"
    return repr(float(value))


def _if_else_zero(a: Term, b: Term) -> Term:
    return f"({within(b, ATOM)} if {within(a, ATOM)} != 0.0 else 0.0)", ATOM


PYTHON = Language(
    "Python",
    ARITHMETIC
    | {operation: calls(f"math.{name}") for operation, name in (EXACT | RAISING).items()}
    | {operation: calls(name) for operation, (name, _) in OWN.items()}
    | conditions(lambda text: f"float({text})", "and", "or")
    | {
        ca.OP_IF_ELSE_ZERO: _if_else_zero,
    },
    _number,
    lambda name, text: f"{name} = {text}",
)


def _divided(a: Term, b: Term) -> Term:
    return calls("_divide")(a, b)


def _inverse(a: Term) -> Term:
    return f"_divide(1.0, {a[0]})", ATOM


SAFE = Language(
    "Python",
    {
        **PYTHON.operations,
        **{operation: calls(f"_{name}") for operation, name in RAISING.items()},
        ca.OP_DIV: _divided,
        ca.OP_INV: _inverse,
    },
    _number,
    lambda name, text: f"{name} = {text}",
)
"""For functions that choose."""
NUMPY_NAMES = {
    "asin": "arcsin",
    "acos": "arccos",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "pow": "power",
}
"""The names in NumPy of functions of `math`, where they differ."""
KEYWORDS = frozenset(keyword.kwlist)
RESERVED = KEYWORDS | {"math", "np", "float", "bisect_right"}
"""Names that are reserved in the code."""

"""Whether an expression is identically a combination of others with constant coefficients.

Expressions become polynomials in atoms: their arguments, and functions of polynomials. Sines and
cosines of sums are expanded, and cos^2 is replaced by 1 - sin^2, so most identities of kinematics
become identities of polynomials. Identities found in this way hold for all arguments; others may
hold too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions.singular_values import shortest_solution
from daesolve.core.expressions.translation import OPERATION_NAMES, Table, translate
from daesolve.errors import UnsupportedError

Monomial = tuple[tuple[Any, int], ...]
"""Atoms with their exponents, in order."""
Polynomial = dict[Monomial, float]
"""Coefficients by monomial."""

MOST_TERMS = 2000
"""The number of terms of a polynomial beyond which nothing is shown."""
MOST_MULTIPLE = 12
"""The largest multiple of an angle whose sine is expanded, and power that is multiplied out."""
CANCELLED = 256.0 * float(np.finfo(float).eps)
"""The remainder, relative to its terms, of a vanishing coefficient."""
DIGITS = 13
"""The significant digits of coefficients within an atom, by which it is recognised."""
ONE: Monomial = ()


class TooLongError(UnsupportedError):
    """A polynomial has too many terms to be compared."""


def is_combination(target: ca.SX, others: Sequence[ca.SX], inputs: Sequence[ca.SX]) -> bool:
    """Return whether an expression is shown to be a combination of others with constant factors.

    Parameters
    ----------
    target, others
        Scalars.
    inputs
        All symbols in them, in columns.
    """
    function = ca.Function("compared", list(inputs), [target, *others])
    places = [[_atom(("input", k, n)) for n in range(own.nnz())] for k, own in enumerate(inputs)]
    try:
        columns = translate(function, places, _TABLE, _constant, "the comparison of polynomials")
    except UnsupportedError:
        return False
    found: list[Polynomial] = [column[0] if column else {} for column in columns]
    monomials = list(dict.fromkeys(monomial for polynomial in found for monomial in polynomial))
    table = np.array([[own.get(monomial, 0.0) for own in found] for monomial in monomials])
    if not table.size or not np.all(np.isfinite(table)):
        return bool(np.all(np.isfinite(table)))
    right, left = table[:, 0], table[:, 1:]
    sizes = np.max(np.abs(table), axis=1, keepdims=True)
    factors = shortest_solution(left / sizes, right / sizes.ravel())
    rest = np.abs(left @ factors - right)
    return bool(np.all(rest <= CANCELLED * (np.abs(left) @ np.abs(factors) + np.abs(right))))


# -- arithmetic ------------------------------------------------------------------------------------


def _constant(value: float) -> Polynomial:
    return {ONE: float(value)} if value else {}


def _atom(key: Any) -> Polynomial:
    return {((key, 1),): 1.0}


def _added(a: Polynomial, b: Polynomial, factor: float = 1.0) -> Polynomial:
    result = dict(a)
    for monomial, value in b.items():
        known, more = result.get(monomial, 0.0), factor * value
        total = known + more
        if abs(total) <= CANCELLED * (abs(known) + abs(more)):
            result.pop(monomial, None)
        else:
            result[monomial] = total
    return result


def _scaled(a: Polynomial, factor: float) -> Polynomial:
    return {monomial: factor * value for monomial, value in a.items()}


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    if len(a) * len(b) > MOST_TERMS:
        raise TooLongError("the polynomials have too many terms")
    result: Polynomial = {}
    for first, left in a.items():
        for second, right in b.items():
            result = _added(result, _joined(first, second), left * right)
    return result


def _joined(first: Monomial, second: Monomial) -> Polynomial:
    """Multiply two monomials and replace squares of cosines and of roots."""
    exponents: dict[Any, int] = dict(first)
    for atom, exponent in second:
        exponents[atom] = exponents.get(atom, 0) + exponent
    others: list[Polynomial] = []
    for atom, exponent in exponents.items():
        if exponent >= 2 and atom[0] == "cos":
            exponents[atom] = exponent - 2
            others.append({ONE: 1.0, ((("sin", *atom[1:]), 2),): -1.0})
        elif exponent >= 2 and atom[0] == "sqrt":
            exponents[atom] = exponent - 2
            others.append(dict(atom[1]))
    left = tuple(sorted(((a, n) for a, n in exponents.items() if n), key=repr))
    result: Polynomial = {left: 1.0}
    for other in others:
        result = _product(result, other)
    return result


def _key(a: Polynomial) -> tuple[tuple[Monomial, float], ...]:
    """Return the key of a polynomial within an atom."""
    pairs = ((monomial, float(f"{value:.{DIGITS}g}")) for monomial, value in a.items())
    return tuple(sorted(pairs, key=repr))


def _number_of(a: Polynomial) -> float | None:
    """Return the number that a polynomial represents, if it is constant."""
    return a.get(ONE, 0.0) if all(monomial == ONE for monomial in a) else None


def _quotient(a: Polynomial, b: Polynomial) -> Polynomial:
    if len(b) == 1:
        ((monomial, value),) = b.items()
        inverse = tuple((atom, -exponent) for atom, exponent in monomial)
        return _product(a, {inverse: 1.0 / value})
    return _product(a, _atom(("inverse", _key(b))))


def _power(a: Polynomial, b: Polynomial) -> Polynomial:
    exponent = _number_of(b)
    if exponent is None or exponent != int(exponent) or not 0 <= exponent <= MOST_MULTIPLE:
        return _function("pow", a, b)
    result = _constant(1.0)
    for _ in range(int(exponent)):
        result = _product(result, a)
    return result


def _function(name: str, *operands: Polynomial) -> Polynomial:
    return _atom((name, *[_key(operand) for operand in operands]))


# -- angles ----------------------------------------------------------------------------------------


def _turned(angle: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Return sine and cosine of an angle, combined from its terms."""
    sine, cosine = _constant(0.0), _constant(1.0)
    for monomial, value in angle.items():
        own_sine, own_cosine = _turned_by(monomial, value)
        sine, cosine = (
            _added(_product(sine, own_cosine), _product(cosine, own_sine)),
            _added(_product(cosine, own_cosine), _product(sine, own_sine), -1.0),
        )
    return sine, cosine


def _turned_by(monomial: Monomial, value: float) -> tuple[Polynomial, Polynomial]:
    """Return sine and cosine of one term, as a multiple of a simple angle if possible."""
    size = abs(value)
    if monomial == ONE:
        return _constant(float(np.sin(value))), _constant(float(np.cos(value)))
    whole = size == int(size) and size <= MOST_MULTIPLE
    times, part = (int(size), 1.0) if whole else (1, size)
    known = _key({monomial: part})
    one = (_atom(("sin", known)), _atom(("cos", known)))
    sine, cosine = one
    for _ in range(times - 1):
        sine, cosine = (
            _added(_product(sine, one[1]), _product(cosine, one[0])),
            _added(_product(cosine, one[1]), _product(sine, one[0]), -1.0),
        )
    return (sine if value > 0.0 else _scaled(sine, -1.0)), cosine


_OF_ONE: dict[int, Callable[[Polynomial], Polynomial]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_NEG: lambda a: _scaled(a, -1.0),
    ca.OP_TWICE: lambda a: _scaled(a, 2.0),
    ca.OP_SQ: lambda a: _product(a, a),
    ca.OP_INV: lambda a: _quotient(_constant(1.0), a),
    ca.OP_SQRT: lambda a: _atom(("sqrt", _key(a))),
    ca.OP_SIN: lambda a: _turned(a)[0],
    ca.OP_COS: lambda a: _turned(a)[1],
}
_OF_TWO: dict[int, Callable[[Polynomial, Polynomial], Polynomial]] = {
    ca.OP_ADD: _added,
    ca.OP_SUB: lambda a, b: _added(a, b, -1.0),
    ca.OP_MUL: _product,
    ca.OP_DIV: _quotient,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
}
_TABLE: Table = {
    **{operation: partial(_function, name) for operation, name in OPERATION_NAMES.items()},
    **_OF_ONE,
    **_OF_TWO,
}

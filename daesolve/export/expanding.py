"""Expressions multiplied out with like terms combined, as people would write them.

Sums in products are multiplied out, those in denominators stay. Terms that differ only by a number
are combined; so are a squared cosine and a squared sine with the same factor, and the two terms of
the sine or cosine of a sum of angles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import casadi as ca

from daesolve.core.expressions.translation import (
    OPERATION_NAMES,
    Table,
    function_of_symbols,
    translate,
)
from daesolve.errors import UnsupportedError

MOST_TERMS = 100
"""The number of terms of a sum beyond which an expression stays unchanged."""
WORTH = 1.5
"""How much longer the expanded form may be; its terms have the same order everywhere."""
LARGEST_POWER = 6
"""The largest power of a sum that is multiplied out."""
LARGEST_DENOMINATOR = 360
LARGEST_SQUARE = 64
"""The largest denominator of the square of a root."""
NEARLY = 1e-14
"""The relative distance within which a factor is replaced by a simple number."""
CANCELLED = 1e-14
"""The remainder, relative to the terms, of a sum that vanishes."""

Monomial = tuple[tuple[int, int], ...]
"""Indices of factors, each with its power."""
Terms = dict[Monomial, float]
"""Factors of the monomials."""
ONE: Monomial = ()


_SIZES: Table = dict.fromkeys(OPERATION_NAMES, lambda *operands: 1 + sum(operands))


class _TooLongError(UnsupportedError):
    """There are too many terms."""


def expanded(expression: ca.SX) -> ca.SX:
    """Return a scalar multiplied out, unless this makes it much longer.

    Examples
    --------
    >>> a, m = ca.SX.sym("a"), ca.SX.sym("m")
    >>> expanded(m * ca.cos(a) * ca.cos(a) + 0.5 * ca.sin(a) ** 2 * (2 * m))
    SX(m)
    """
    if expression.is_constant() or expression.is_symbolic():
        return expression
    function, symbols = function_of_symbols(expression)
    writer = _Expander()
    inputs = [writer.factor(("symbol", symbol.name()), symbol) for symbol in symbols]
    try:
        [[terms]] = translate(function, [inputs], writer.table, _number, "what is multiplied out")
    except UnsupportedError:
        return expression
    found = min(writer.sum(terms), writer.factored(terms), key=printed_size)
    return found if printed_size(found) <= WORTH * printed_size(expression) + 2 else expression


def printed_size(expression: ca.SX) -> int:
    """Return the number of printed operations, with repeated parts counted each time."""
    function, symbols = function_of_symbols(expression)
    columns = translate(function, [[0] * len(symbols)], _SIZES, lambda _: 0)
    return sum(map(sum, columns))


def _number(value: float) -> Terms:
    return {ONE: float(value)} if value else {}


def _simple(value: float) -> float:
    """Return the simple number that a factor represents: a fraction, or the root of one."""
    near = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    if near and math.isclose(near, value, rel_tol=NEARLY):
        return float(near)
    square = (
        Fraction(value * value).limit_denominator(LARGEST_SQUARE)
        if abs(value) < 100.0
        else Fraction(0)
    )
    if square and math.isclose(math.sqrt(square), abs(value), rel_tol=NEARLY):
        return math.copysign(math.sqrt(square), value)
    return value


class _Expander:
    """Arithmetic of sums of products, whose factors are symbols, functions and denominators."""

    def __init__(self) -> None:
        self._factors: list[ca.SX] = []
        self._numbers: dict[object, int] = {}
        self._sines: dict[int, int] = {}
        self._cosines: dict[int, int] = {}
        self._angles: dict[int, Terms] = {}
        self._products: dict[object, tuple[Terms, Terms]] = {}
        self.table: Table = {
            **{code: self._other(code) for code in OPERATION_NAMES},
            ca.OP_ASSIGN: dict[Monomial, float],
            ca.OP_ADD: self._added,
            ca.OP_SUB: partial(self._added, sign=-1.0),
            ca.OP_NEG: partial(_scaled, factor=-1.0),
            ca.OP_TWICE: partial(_scaled, factor=2.0),
            ca.OP_MUL: self._product,
            ca.OP_SQ: self._squared,
            ca.OP_INV: self._inverse,
            ca.OP_DIV: self._quotient,
            ca.OP_POW: self._power,
            ca.OP_CONSTPOW: self._power,
            ca.OP_SIN: partial(self._turned, name="sin"),
            ca.OP_COS: partial(self._turned, name="cos"),
        }

    def factor(self, key: object, shown: ca.SX) -> Terms:
        """Return a factor that can be recognised by its key."""
        return {((self._place(key, shown), 1),): 1.0}

    def _place(self, key: object, shown: ca.SX) -> int:
        place = self._numbers.setdefault(key, len(self._factors))
        if place == len(self._factors):
            self._factors.append(shown)
        return place

    def _added(self, a: Terms, b: Terms, sign: float = 1.0) -> Terms:
        result = dict(a)
        for monomial, value in b.items():
            _add(result, monomial, sign * value)
        return result

    def _product(self, a: Terms, b: Terms) -> Terms:
        given = a, b
        a, b = self._cancelling(a, b), self._cancelling(b, a)
        if len(a) * len(b) > MOST_TERMS:
            raise _TooLongError("too many terms")
        result: Terms = {}
        for first, left in a.items():
            for second, right in b.items():
                _add(result, _joined(first, second), left * right)
        result = self._paired(result)
        if len(result) > 1:
            self._products.setdefault(_key(result), given)
        return result

    def _squared(self, a: Terms) -> Terms:
        return self._product(a, a)

    def _quotient(self, a: Terms, b: Terms) -> Terms:
        return self._product(a, self._inverse(b))

    def _parts(self, a: Terms) -> list[Terms]:
        """Return the sum from which an expression was multiplied out."""
        given = self._products.get(_key(a)) if len(a) > 1 else None
        if given is None or a in given:
            return [a]
        return [*self._parts(given[0]), *self._parts(given[1])]

    def _cancelling(self, a: Terms, b: Terms) -> Terms:
        """Return a sum as one term if its factors stand in a denominator of the other."""
        if len(a) < 2:
            return a
        whole, number = ONE, 1.0
        below = {place for monomial in b for place, power in monomial if power < 0}
        for part in self._parts(a):
            common, own, rest = self._split(part)
            whole, number = _joined(whole, common), number * own
            if len(rest) > 1:
                place = self._numbers.get(("sum", _key(rest)))
                if place is None or place not in below:
                    return a
                whole = _joined(whole, ((place, 1),))
        return {whole: number}

    def _inverse(self, a: Terms) -> Terms:
        if not a:
            raise _TooLongError("a division by zero")
        inverse, number = ONE, 1.0
        for part in self._parts(a):
            common, own, rest = self._split(part)
            number *= own
            inverse = _joined(inverse, tuple((place, -power) for place, power in common))
            if len(rest) > 1:
                place = self._place(("sum", _key(rest)), self.sum(rest))
                inverse = _joined(inverse, ((place, -1),))
        return {inverse: 1.0 / number}

    def _split(self, a: Terms) -> tuple[Monomial, float, Terms]:
        """Return the common factor of all terms, a number, and the rest."""
        parts = [dict(monomial) for monomial in a]
        shared = {
            place: min(own.get(place, 0) for own in parts)
            for place in {place for own in parts for place in own}
        }
        common: Monomial = tuple(sorted((k, n) for k, n in shared.items() if n))
        inverse: Monomial = tuple((place, -power) for place, power in common)
        rest = {_joined(monomial, inverse): value for monomial, value in a.items()}
        leading = rest[max(rest, key=lambda own: (len(own), own))]
        number = math.copysign(min(map(abs, rest.values())), leading)
        return common, number, {monomial: value / number for monomial, value in rest.items()}

    def _power(self, a: Terms, b: Terms) -> Terms:
        exponent = b.get(ONE, 0.0) if set(b) <= {ONE} else math.nan
        if exponent != exponent or exponent != int(exponent) or abs(exponent) > LARGEST_POWER:
            return self._other(ca.OP_POW)(a, b)
        base = a if exponent >= 0 else self._inverse(a)
        result = _number(1.0)
        for _ in range(abs(int(exponent))):
            result = self._product(result, base)
        return result

    def _turned(self, a: Terms, name: str) -> Terms:
        """Return a sine or cosine; for a negative angle, from the positive one."""
        negative = bool(a) and a[min(a)] < 0.0
        angle = _scaled(a, -1.0) if negative else a
        key = _key(angle)
        argument = self.sum(angle)
        sine = self._place(("sin", key), ca.sin(argument))
        cosine = self._place(("cos", key), ca.cos(argument))
        self._sines[cosine], self._cosines[sine] = sine, cosine
        self._angles[cosine] = self._angles[sine] = angle
        if name == "cos":
            return {((cosine, 1),): 1.0}
        return {((sine, 1),): -1.0 if negative else 1.0}

    def _paired(self, a: Terms) -> Terms:
        """Combine cos^2 and sin^2 with the same factor."""
        found = True
        while found:
            found = False
            for monomial, value in list(a.items()):
                for place, power in monomial:
                    if power < 2 or place not in self._sines:
                        continue
                    rest = _joined(monomial, ((place, -2),))
                    other = _joined(rest, ((self._sines[place], 2),))
                    if math.isclose(a.get(other, 0.0), value, rel_tol=NEARLY):
                        del a[monomial], a[other]
                        _add(a, rest, value)
                        found = True
                        break
                if found:
                    break
        return a

    def _joined_angles(self, a: Terms) -> Terms:
        """Write cos a cos b + sin a sin b as cos(a - b), and the like."""
        again = True
        while again:
            again = any(self._join_angles(a, monomial) for monomial in list(a) if monomial in a)
        return a

    def _join_angles(self, a: Terms, monomial: Monomial) -> bool:
        """Combine a term with another into one of a sum of angles; False if there is none."""
        value = a[monomial]
        for (one, _), (other, _) in itertools.permutations(monomial, 2):
            if other not in self._sines or one not in self._angles:
                continue
            rest = _joined(monomial, ((one, -1), (other, -1)))
            turned = one in self._cosines  # A sine and a cosine, otherwise two cosines.
            mirror = self._cosines[one] if turned else self._sines[one]
            partner = _joined(rest, _joined(((mirror, 1),), ((self._sines[other], 1),)))
            own = a.get(partner, 0.0)
            if partner == monomial or not math.isclose(abs(own), abs(value), rel_tol=NEARLY):
                continue
            alike = (own > 0.0) == (value > 0.0)
            sign = 1.0 if alike == turned else -1.0
            angle = self._added(self._angles[one], self._angles[other], sign)
            del a[monomial], a[partner]
            (factor,) = self._turned(angle, "sin" if turned else "cos").items()
            _add(a, _joined(rest, factor[0]), value * factor[1])
            return True
        return False

    def _other(self, code: int) -> Callable[..., Terms]:
        def apply(*operands: Terms) -> Terms:
            shown = [self.sum(operand) for operand in operands]
            make = ca.SX.unary if len(shown) == 1 else ca.SX.binary
            return self.factor((code, *map(_key, operands)), make(code, *shown))

        return apply

    def sum(self, a: Terms) -> ca.SX:
        """Return terms as an expression, added ones first."""
        a = self._joined_angles(self._paired(dict(a)))
        ranked = sorted(a.items(), key=lambda entry: entry[1] < 0.0)
        total = ca.SX(0)
        for monomial, value in ranked:
            term = self._term(monomial, abs(_simple(value)))
            total = total + term if value > 0.0 else total - term
        return total

    def factored(self, a: Terms) -> ca.SX:
        """Return terms with their common factor in front of a bracket."""
        if len(a) < 2:
            return self.sum(a)
        common, _, _ = self._split(a)
        inverse: Monomial = tuple((place, -power) for place, power in common)
        rest = {_joined(monomial, inverse): value for monomial, value in a.items()}
        return self._term(common, 1.0) * self.sum(rest) if common else self.sum(a)

    def _term(self, monomial: Monomial, value: float) -> ca.SX:
        above, below = ca.SX(value), ca.SX(1)
        for place, power in monomial:
            factor = self._raised(place, abs(power))
            if power > 0:
                above = above * factor
            else:
                below = below * factor
        return above / below

    def _raised(self, place: int, power: int) -> ca.SX:
        return self._factors[place] if power == 1 else self._factors[place] ** power


def _add(terms: Terms, monomial: Monomial, value: float) -> None:
    known = terms.get(monomial, 0.0)
    total = known + value
    if abs(total) <= CANCELLED * (abs(known) + abs(value)):
        terms.pop(monomial, None)
    else:
        terms[monomial] = total


def _joined(first: Monomial, second: Monomial) -> Monomial:
    powers = dict(first)
    for place, power in second:
        powers[place] = powers.get(place, 0) + power
    return tuple(sorted((place, power) for place, power in powers.items() if power))


def _scaled(a: Terms, factor: float) -> Terms:
    return {monomial: factor * value for monomial, value in a.items()}


def _key(a: Terms) -> tuple[tuple[Monomial, float], ...]:
    """Return the key of a sum."""
    pairs: Sequence[tuple[Monomial, float]] = [(m, float(f"{v:.13g}")) for m, v in a.items()]
    return tuple(sorted(pairs))

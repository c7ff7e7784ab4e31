"""Proofs of identities: exact evaluation of expressions at random elements of a large finite field.

A polynomial identity that fails somewhere fails at nearly all elements of a field: among N
elements, a polynomial of degree d has at most d zeros (Schwartz, Zippel). A few random elements
therefore decide it, each with an error probability of d/2^61. Numbers are exact here, because a
float is a fraction: rounding hides no small terms, and no term is small because of the size of the
state.

Functions that are not rational become unknowns: exp(x - 60), tanh, sqrt and comparisons each become
a random element, the same one for equal functions of equal values. Sine and cosine are a point on
the circle, which also determines sines and cosines of sums of angles with fractional multiples. An
identity that holds for all these unknowns holds for the functions. The converse is false: an
identity that is not proved here may still be true.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

import casadi as ca

from daesolve.core.expressions.program import program
from daesolve.core.expressions.translation import OPERATION_NAMES
from daesolve.errors import UnsupportedError

PRIME = 2**61 - 1
"""The number of elements of the field: a Mersenne prime."""
PART = 24
"""Angles whose multiples by 1/24 are whole multiples of each other share one point of the
circle."""

Matrix = list[list[int]]
Form = Mapping[Hashable, Fraction]
Circle = tuple[int, int]

UNIT: Hashable = ()
"""The key of the constant in a linear form."""


def inverse(value: int) -> int:
    """Return 1/value.

    Raises
    ------
    ZeroDivisionError
        The value is zero.
    """
    if value % PRIME == 0:
        raise ZeroDivisionError("zero has no inverse in a field")
    return pow(value, -1, PRIME)


def element(number: float) -> int:
    """Return the field element of a float, treated as the fraction that it represents.

    Raises
    ------
    UnsupportedError
        It is not finite.
    """
    try:
        exact = Fraction(number)
    except (OverflowError, ValueError) as error:
        raise UnsupportedError(
            f"{number} is not an element of a field: use finite numbers"
        ) from error
    return exact.numerator * inverse(exact.denominator) % PRIME


def square_root(value: int) -> int | None:
    """Return a square root; None if there is none, as for half of all elements."""
    root = pow(value, (PRIME + 1) // 4, PRIME)
    return root if root * root % PRIME == value % PRIME else None


@dataclass(frozen=True)
class Exact:
    """An exact value, and its linear form in the inputs, if it is one.

    Parameters
    ----------
    value
        The element of the field.
    form
        Coefficients by input; None if it is not a linear form with constant coefficients.
    """

    value: int
    form: Form | None = None

    @property
    def constant(self) -> Fraction | None:
        """The constant number; None if it depends on an input."""
        if self.form is None or any(key != UNIT for key in self.form):
            return None
        return self.form.get(UNIT, Fraction(0))


@dataclass(frozen=True, eq=False)
class RandomPoint:
    """A random point for evaluating expressions, shared by all of them.

    Parameters
    ----------
    random
        The source of random elements.
    unknowns
        The elements that represent functions, by function and argument.
    """

    random: Random
    unknowns: dict[Hashable, int] = field(default_factory=dict[Hashable, int])

    def column(self, count: int) -> list[int]:
        """Return random nonzero elements."""
        return [self.random.randrange(1, PRIME) for _ in range(count)]

    def evaluate(self, function: ca.Function, inputs: Sequence[Sequence[int]]) -> dict[str, Matrix]:
        """Evaluate a function of columns.

        Parameters
        ----------
        function
            A function of SX, with dense inputs.
        inputs
            The elements of each input.

        Returns
        -------
        dict
            By the names of the outputs; matrices are lists of rows.

        Raises
        ------
        ZeroDivisionError
            A division by zero occurs, here and hence nearly everywhere.
        UnsupportedError
            A constant is not finite.
        """
        whole = program(function)
        values: list[Exact] = []
        for operation, operands in whole.steps:
            if operation == ca.OP_CONST:
                number = float(operands[0])
                values.append(Exact(element(number), {UNIT: Fraction(number)}))
            elif operation == ca.OP_INPUT:
                place, entry = int(operands[0]), int(operands[1])
                values.append(Exact(inputs[place][entry], {(place, entry): Fraction(1)}))
            else:
                places: tuple[int, ...] = operands
                values.append(self._apply(operation, [values[index] for index in places]))
        found: dict[str, Matrix] = {}
        for place, pairs in enumerate(whole.outputs):
            rows, columns = function.sparsity_out(place).get_triplet()
            matrix = [[0] * function.size2_out(place) for _ in range(function.size1_out(place))]
            for entry, number in pairs:
                matrix[rows[entry]][columns[entry]] = values[number].value
            found[function.name_out(place)] = matrix
        return found

    def _apply(self, operation: int, taken: Sequence[Exact]) -> Exact:
        if operation in _UNARY:
            return _UNARY[operation](taken[0])
        if operation in _BINARY:
            return _BINARY[operation](taken[0], taken[1])
        if operation in (ca.OP_POW, ca.OP_CONSTPOW):
            power = taken[1].constant
            if power is not None and power.denominator == 1 and abs(power) < 1000:
                base = taken[0].value if power >= 0 else inverse(taken[0].value)
                return Exact(pow(base, abs(int(power)), PRIME))
        if operation in (ca.OP_SIN, ca.OP_COS, ca.OP_TAN):
            cosine, sine = self._circle(taken[0])
            if operation == ca.OP_TAN:
                return Exact(sine * inverse(cosine) % PRIME)
            return Exact(sine if operation == ca.OP_SIN else cosine)
        if operation == ca.OP_EXP:
            return Exact(self._exponential(taken[0]))
        key = (OPERATION_NAMES[operation], *[one.value for one in taken])
        return Exact(self._unknown(key))

    def _unknown(self, key: Hashable) -> int:
        if key not in self.unknowns:
            self.unknowns[key] = self.random.randrange(1, PRIME)
        return self.unknowns[key]

    def _exponential(self, argument: Exact) -> int:
        """Return exp, with exp(-x) = 1/exp(x)."""
        value, size = argument.value, min(argument.value, -argument.value % PRIME)
        unknown = self._unknown(("exp", size))
        return unknown if value == size else inverse(unknown)

    def _circle(self, argument: Exact) -> Circle:
        """Return cosine and sine; for a linear form from those of its inputs."""
        form = argument.form
        multiples = None if form is None else {k: c * PART for k, c in form.items() if k != UNIT}
        if (
            form is None
            or not multiples
            or any(c.denominator > 1 or abs(c) > 100 * PART for c in multiples.values())
        ):
            size = min(argument.value, -argument.value % PRIME)
            return _turned(self._on_circle(("value", size)), 1 if argument.value == size else -1)
        whole: Circle = (1, 0)
        for key, multiple in multiples.items():
            whole = _sum(whole, _turned(self._on_circle(("input", key)), int(multiple)))
        constant = form.get(UNIT, Fraction(0))
        if constant:
            shift = _turned(self._on_circle(("shift", abs(constant))), 1 if constant > 0 else -1)
            whole = _sum(whole, shift)
        return whole

    def _on_circle(self, key: Hashable) -> Circle:
        """Return a point of the circle from its half tangent; 1 + t^2 has no zero in this field."""
        half = self._unknown(("circle", key))
        scale = inverse(1 + half * half)
        return (1 - half * half) * scale % PRIME, 2 * half * scale % PRIME


def _sum(first: Circle, second: Circle) -> Circle:
    (a, b), (c, d) = first, second
    return (a * c - b * d) % PRIME, (a * d + b * c) % PRIME


def _turned(once: Circle, count: int) -> Circle:
    """Return the point at a whole multiple of an angle."""
    square = once if count >= 0 else (once[0], -once[1] % PRIME)
    power, left = (1, 0), abs(count)
    while left:
        if left % 2:
            power = _sum(power, square)
        square, left = _sum(square, square), left // 2
    return power


def _linear(first: Exact, second: Exact, sign: int) -> Exact:
    value = (first.value + sign * second.value) % PRIME
    if first.form is None or second.form is None:
        return Exact(value)
    form = dict(first.form)
    for key, coefficient in second.form.items():
        form[key] = form.get(key, Fraction(0)) + sign * coefficient
    return Exact(value, {key: number for key, number in form.items() if number})


def _scaled(one: Exact, factor: Fraction, value: int) -> Exact:
    if one.form is None:
        return Exact(value)
    return Exact(value, {key: number * factor for key, number in one.form.items() if factor})


def _product(first: Exact, second: Exact) -> Exact:
    value = first.value * second.value % PRIME
    for one, other in ((first, second), (second, first)):
        factor = other.constant
        if factor is not None:
            return _scaled(one, factor, value)
    return Exact(value)


def _quotient(first: Exact, second: Exact) -> Exact:
    value = first.value * inverse(second.value) % PRIME
    divisor = second.constant
    return _scaled(first, 1 / divisor, value) if divisor else Exact(value)


_UNARY: dict[int, Callable[[Exact], Exact]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_NEG: lambda a: _scaled(a, Fraction(-1), -a.value % PRIME),
    ca.OP_TWICE: lambda a: _scaled(a, Fraction(2), 2 * a.value % PRIME),
    ca.OP_INV: lambda a: Exact(inverse(a.value)),
    ca.OP_SQ: lambda a: Exact(a.value * a.value % PRIME),
    ca.OP_NOT: lambda a: Exact((1 - a.value) % PRIME),
}
_BINARY: dict[int, Callable[[Exact, Exact], Exact]] = {
    ca.OP_ADD: lambda a, b: _linear(a, b, 1),
    ca.OP_SUB: lambda a, b: _linear(a, b, -1),
    ca.OP_MUL: _product,
    ca.OP_DIV: _quotient,
    # A condition is 0 or 1, so the value it selects is the product of both.
    ca.OP_IF_ELSE_ZERO: lambda a, b: Exact(a.value * b.value % PRIME),
}


class Echelon:
    """The rows of a matrix over the field, reduced.

    Parameters
    ----------
    rows
        Elements.
    """

    def __init__(self, rows: Sequence[Sequence[int]]) -> None:
        self._pivots: dict[int, list[int]] = {}
        for row in rows:
            rest = self._rest(row)
            lead = next((i for i, value in enumerate(rest) if value), None)
            if lead is not None:
                scale = inverse(rest[lead])
                self._pivots[lead] = [value * scale % PRIME for value in rest]

    def spans(self, row: Sequence[int]) -> bool:
        """Return whether a row is a combination of these rows."""
        return not any(self._rest(row))

    def _rest(self, row: Sequence[int]) -> list[int]:
        """Subtract the known rows; each has zeros at the pivots of earlier ones."""
        rest = [value % PRIME for value in row]
        for lead, pivot in self._pivots.items():
            factor = rest[lead]
            if factor:
                rest = [(a - factor * b) % PRIME for a, b in zip(rest, pivot, strict=True)]
        return rest

    def solution(self, free: Sequence[int]) -> list[int] | None:
        """Solve rows of (A, -b) for A w = b.

        Parameters
        ----------
        free
            Initial w; components that no row determines keep these values.

        Returns
        -------
        list or None
            None if the rows contradict each other.
        """
        size, found = len(free), list(free)
        if size in self._pivots:
            return None
        for lead, pivot in reversed(self._pivots.items()):
            own = sum(a * b for a, b in zip(pivot[:size], found, strict=True)) - found[lead]
            found[lead] = (-pivot[size] - own) % PRIME
        return found

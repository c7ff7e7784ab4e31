"""Numbers that carry the expressions from which they come.

With them a rule that draws a run says how its numbers follow from states and parameters, so that
other motions can be drawn without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.encoding import is_array, is_list, is_tuple

Binary = Callable[[Any, Any], Any]
FUNCTIONS: Mapping[str, tuple[Callable[[float], float], Callable[[ca.SX], ca.SX]]] = {
    name: (getattr(np, name), getattr(ca, symbolic))
    for name, symbolic in (
        ("cos", "cos"), ("sin", "sin"), ("tan", "tan"), ("arccos", "acos"), ("arcsin", "asin"),
        ("arctan", "atan"), ("sqrt", "sqrt"), ("exp", "exp"), ("log", "log"), ("tanh", "tanh"),
        ("absolute", "fabs"), ("sign", "sign"),
    )
}  # fmt: skip
PAIRS: Mapping[str, tuple[Binary, Binary]] = {
    "add": (np.add, lambda a, b: a + b),
    "subtract": (np.subtract, lambda a, b: a - b),
    "multiply": (np.multiply, lambda a, b: a * b),
    "divide": (np.divide, lambda a, b: a / b),
    "power": (np.power, lambda a, b: a**b),
    "arctan2": (np.arctan2, ca.atan2),
    "hypot": (np.hypot, ca.hypot),
}


class Traced(float):
    """A number with the expression from which it comes.

    Attributes
    ----------
    expression
        Of what changes during a motion, and of parameters.
    period
        Of a number that is known up to multiples of it, as an angle is; zero if it is known.
    """

    expression: ca.SX
    period: float = 0.0

    def __new__(cls, value: float, expression: ca.SX) -> Traced:
        """Make a number of a value and its expression."""
        made = super().__new__(cls, value)
        made.expression = expression
        return made

    def _with(self, name: str, other: Any, *, reverse: bool = False) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, (int, float, np.integer, np.floating)):
            return NotImplemented
        return of_pair(name, other, self) if reverse else of_pair(name, self, other)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Let functions of NumPy keep the expression, entry by entry."""
        if method != "__call__" or options:
            return NotImplemented
        if any(np.iscomplexobj(entry) for entry in inputs):
            return ufunc(
                *(float(entry) if isinstance(entry, Traced) else entry for entry in inputs)
            )
        if any(isinstance(entry, np.ndarray) for entry in inputs):
            return ufunc(*(np.asarray(boxed(entry), dtype=object) for entry in inputs))
        if len(inputs) == 1 and ufunc.__name__ in FUNCTIONS:
            return of_one(ufunc.__name__, self)
        if len(inputs) == 2 and ufunc.__name__ in PAIRS:
            return of_pair(ufunc.__name__, *inputs)
        if ufunc.__name__ == "negative":
            return -self
        return ufunc(*(float(entry) for entry in inputs))

    def __add__(self, other: Any) -> Any:
        return self._with("add", other)

    def __radd__(self, other: Any) -> Any:
        return self._with("add", other, reverse=True)

    def __sub__(self, other: Any) -> Any:
        return self._with("subtract", other)

    def __rsub__(self, other: Any) -> Any:
        return self._with("subtract", other, reverse=True)

    def __mul__(self, other: Any) -> Any:
        return self._with("multiply", other)

    def __rmul__(self, other: Any) -> Any:
        return self._with("multiply", other, reverse=True)

    def __truediv__(self, other: Any) -> Any:
        return self._with("divide", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with("divide", other, reverse=True)

    def __pow__(self, other: Any, modulo: None = None) -> Any:  # pyright: ignore
        return self._with("power", other)

    def __neg__(self) -> Traced:
        return Traced(-float(self), -self.expression)

    def __pos__(self) -> Traced:
        return self

    def __abs__(self) -> Traced:
        return of_one("absolute", self)


def _method(name: str) -> Callable[[Traced], Traced]:
    return lambda self: of_one(name, self)


for _name in FUNCTIONS:  # NumPy calls methods of these names on the entries of arrays of objects
    setattr(Traced, _name, _method(_name))


def _method_of_pair(name: str) -> Callable[[Traced, Any], Traced]:
    return lambda self, other: of_pair(name, self, other)


for _name in ("arctan2", "hypot"):
    setattr(Traced, _name, _method_of_pair(_name))


def boxed(value: Any) -> Any:
    """Return a number as an array of one object, and an array as it is."""
    if is_array(value):
        return value
    one = np.empty((), dtype=object)
    one[()] = value
    return one


def expression_of(value: Any) -> ca.SX:
    """Return the expression of a number, which is itself if it carries none."""
    return value.expression if isinstance(value, Traced) else ca.SX(float(value))


def of_one(name: str, value: Any) -> Traced:
    """Return a function of a number."""
    number, symbolic = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        return Traced(float(number(float(value))), symbolic(expression_of(value)))


def of_pair(name: str, one: Any, other: Any) -> Traced:
    """Return a function of two numbers."""
    number, symbolic = PAIRS[name]
    with np.errstate(all="ignore"):
        value = float(number(float(one), float(other)))
    return Traced(value, symbolic(expression_of(one), expression_of(other)))


def column(values: Sequence[float] | np.ndarray, expression: ca.SX) -> np.ndarray:
    """Return samples that all carry the same expression."""
    made = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        made[place] = Traced(float(value), expression)
    return made


def repeating(values: np.ndarray, period: float) -> np.ndarray:
    """Return numbers that are known up to multiples of a period; a motion continues them."""
    made = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        made[place] = Traced(value, value.expression)
        made[place].period = period
    return made


def numbers(values: object) -> np.ndarray:
    """Return values as an array of numbers, which keep the expressions that they carry."""
    if is_array(values) and values.dtype == object:
        return values
    if isinstance(values, Traced):
        return np.asarray(boxed(values))
    if (is_list(values) or is_tuple(values)) and any(_traced(entry) for entry in values):
        return np.stack([np.asarray(boxed(entry), dtype=object) for entry in values])
    return np.array(values, dtype=float)


def _traced(value: object) -> bool:
    return isinstance(value, Traced) or (is_array(value) and value.dtype == object)


def applied(function: ca.Function, *arguments: Any) -> np.ndarray:
    """Return the matrix that a function makes of columns of numbers, with its expressions."""
    plain = np.array(function(*[np.array(entry, dtype=float) for entry in arguments]), dtype=float)
    if not any(isinstance(entry, Traced) for column_ in arguments for entry in column_):
        return plain
    columns = [ca.vertcat(*map(expression_of, column_)) for column_ in arguments]
    symbolic: Any = function(*columns)
    made = np.empty(plain.shape, dtype=object)
    for place in np.ndindex(*plain.shape):
        made[place] = Traced(float(plain[place]), symbolic[place])
    return made

"""Translation of a CasADi SX function, instruction by instruction, to another engine.

An SX function is a list of scalar instructions. An engine is a table from operation to callable;
missing operations are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import casadi as ca
import numpy as np
import scipy

from daesolve.core.expressions.program import COMPUTED, CONSTANT, NONE, STRUCTURE, program
from daesolve.errors import UnsupportedError

Table = Mapping[int, Callable[..., Any]]
MANY = 10_000
"""The number of instructions from which finding repeated ones takes long."""
WHERE: Any = np.where
REPEATED = 1.25
"""The ratio of instructions to values below which repeated ones may stay."""

OPERATION_NAMES: dict[int, str] = {
    getattr(ca, name): name.removeprefix("OP_").lower()
    for name in dir(ca)
    if name.startswith("OP_") and isinstance(getattr(ca, name), int)
}


@lru_cache(maxsize=256)
def constants_of(function: ca.Function, source: int) -> tuple[int, ...]:
    """Return the values of a program that depend on one input only and are used by others.

    An engine can compute them once in advance.
    """
    from daesolve.core.expressions import compilation, ordering  # numba takes long to import

    compiled: Any = ordering
    whole, known = program(function), program(function).values
    following = compilation.for_size(compiled.following, whole.size)
    leaves = np.isin(known.sources, [CONSTANT, source])
    follows, used = following(compiled.VERSION, leaves, known.taken)
    used[[value for pairs in whole.outputs for _, value in pairs]] = True
    return tuple(np.flatnonzero(follows & used & (known.sources == COMPUTED)).tolist())


def constants_function(function: ca.Function, source: int) -> ca.Function:
    """Return the values from `constants_of` as a function of their input."""
    given = function.sx_in(source)
    nonzeros = ca.vertsplit(given) if given.numel() else []
    numbers = constants_of(function, source)
    values = program(function).values
    found: dict[int, ca.SX] = {}
    for number in sorted(taken_by(values.taken, numbers)):
        operation, operands = int(values.kinds[number]), values.operands[number].tolist()
        if operation == ca.OP_CONST:
            found[number] = ca.SX(float(values.numbers[number]))
        elif operation == ca.OP_INPUT:
            found[number] = nonzeros[operands[1]]
        else:
            taken = [found[value] for value in operands if value != NONE]
            make = ca.SX.unary if len(taken) == 1 else ca.SX.binary
            found[number] = make(operation, *taken)
    column = ca.vertcat(ca.SX(0, 1), *[found[number] for number in numbers])
    return function_of("constants", [given], [column], (["p"], ["constants"]))


def taken_by(taken: np.ndarray, wanted: Iterable[int]) -> set[int]:
    """Return all values from which some are computed, including these."""
    found: set[int] = set()
    stack = list(wanted)
    while stack:
        number = stack.pop()
        if number not in found:
            found.add(number)
            stack += [value for value in taken[number].tolist() if value != NONE]
    return found


def missing_operations(
    function: ca.Function, table: Collection[int], given: Collection[int] = ()
) -> tuple[str, ...]:
    """Name the operations of a function that are missing from an engine's table.

    Given values (see `constants_of`), and values needed only for them, are not computed by it.
    """
    whole = program(function)
    used = whole.operations
    if given:
        needed = list(needed_values(function, given))
        used = set(whole.values.kinds[needed].tolist()) - STRUCTURE
    return named_operations(used - set(table))


def named_operations(operations: Collection[int]) -> tuple[str, ...]:
    """Return the names of operations in alphabetical order."""
    return tuple(sorted(OPERATION_NAMES[operation] for operation in operations))


def needed_values(function: ca.Function, given: Collection[int]) -> set[int]:
    """Return the values to compute if some are given."""
    from daesolve.core.expressions import compilation, ordering  # numba takes long to import

    compiled: Any = ordering
    whole = program(function)
    wanted, known = np.zeros((2, whole.size), dtype=bool)
    wanted[[value for pairs in whole.outputs for _, value in pairs]] = True
    known[list(given)] = True
    needed = compilation.for_size(compiled.needed, whole.size)
    return set(np.flatnonzero(needed(compiled.VERSION, whole.values.taken, wanted, known)).tolist())


def translate(
    function: ca.Function,
    inputs: Sequence[Sequence[Any]],
    table: Table,
    constant: Callable[[float], Any] = float,
    engine: str = "this engine",
    given: Mapping[int, Any] | None = None,
) -> list[list[Any]]:
    """Evaluate an SX function's instructions in another engine's arithmetic.

    Parameters
    ----------
    function
        A CasADi function of SX expressions.
    inputs
        For each input, its non-zeros in the engine's own type.
    table
        The engine's operations by CasADi's operation codes.
    constant
        Makes the engine's value of a number.
    engine
        Its name, for the message.
    given
        Indices of program values that need not be computed (see `constants_of`).

    Returns
    -------
    list of list
        For each output, its non-zeros.

    Raises
    ------
    UnsupportedError
        The engine lacks an operation; the message names it.
    """
    known = given or {}
    missing = missing_operations(function, table, known)
    if missing:
        raise UnsupportedError(
            f"{engine} has no operation {', '.join(missing)}, which {function.name()!r} needs"
        )
    shared = program(function)
    needed = needed_values(function, known) if known else None
    values: list[Any] = []
    for number, (operation, operands) in enumerate(shared.steps):
        if number in known:
            values.append(known[number])
        elif needed is not None and number not in needed:
            values.append(None)
        elif operation == ca.OP_INPUT:
            values.append(inputs[operands[0]][operands[1]])
        elif operation == ca.OP_CONST:
            values.append(constant(operands[0]))
        else:
            values.append(table[operation](*[values[index] for index in operands]))
    outputs: list[list[Any]] = []
    for number, pairs in enumerate(shared.outputs):
        column: list[Any] = [constant(0.0)] * function.nnz_out(number)
        for element, value in pairs:
            column[element] = values[value]
        outputs.append(column)
    return outputs


def integer_power(base: Any, exponent: int) -> Any:
    """Raise to an integer power by repeated multiplication."""
    if exponent < 0:
        return 1.0 / integer_power(base, -exponent)
    result: Any = None
    square = base
    while exponent:
        if exponent & 1:
            result = square if result is None else result * square
        exponent >>= 1
        if exponent:
            square = square * square
    return 1.0 if result is None else result


def _remainder(a: Any, b: Any) -> Any:
    return WHERE(np.isinf(b) & np.isfinite(a), a, a - b * np.rint(a / b))


def _sign(a: Any) -> Any:
    return WHERE((a != a) | (a == 0.0), a, np.copysign(1.0, a))


def _erf(a: Any) -> Any:
    special: Any = scipy.special  # The import takes long.
    return special.erf(a)


def _if_else_zero(a: Any, b: Any) -> Any:
    return WHERE(np.not_equal(a, 0.0), b, 0.0)


def _least(a: Any, b: Any) -> Any:
    return WHERE((a != a) | (b < a), b, a)


def _most(a: Any, b: Any) -> Any:
    return WHERE((a != a) | (b > a), b, a)


def _as_number(test: Callable[..., Any]) -> Callable[..., Any]:
    """Return a test with the result 1.0 or 0.0, as in CasADi."""
    return lambda *operands: test(*operands).astype(float)


ELEMENTARY: dict[int, Callable[..., Any]] = {
    ca.OP_SQRT: np.sqrt,
    ca.OP_EXP: np.exp,
    ca.OP_LOG: np.log,
    ca.OP_LOG1P: np.log1p,
    ca.OP_EXPM1: np.expm1,
    ca.OP_SIN: np.sin,
    ca.OP_COS: np.cos,
    ca.OP_TAN: np.tan,
    ca.OP_ASIN: np.arcsin,
    ca.OP_ACOS: np.arccos,
    ca.OP_ATAN: np.arctan,
    ca.OP_ATAN2: np.arctan2,
    ca.OP_SINH: np.sinh,
    ca.OP_COSH: np.cosh,
    ca.OP_TANH: np.tanh,
    ca.OP_ASINH: np.arcsinh,
    ca.OP_ACOSH: np.arccosh,
    ca.OP_ATANH: np.arctanh,
    ca.OP_SIGN: np.sign,
}
"""Elementary functions of NumPy, for doubles and quadruple numbers."""
TESTS: dict[int, np.ufunc] = {
    ca.OP_LT: np.less,
    ca.OP_LE: np.less_equal,
    ca.OP_EQ: np.equal,
    ca.OP_NE: np.not_equal,
    ca.OP_NOT: np.logical_not,
    ca.OP_AND: np.logical_and,
    ca.OP_OR: np.logical_or,
}
"""Comparisons and conditions, true or false."""
NUMPY_TABLE: Table = {
    **ELEMENTARY,
    **{operation: _as_number(test) for operation, test in TESTS.items()},
    ca.OP_ASSIGN: np.positive,
    ca.OP_ADD: np.add,
    ca.OP_SUB: np.subtract,
    ca.OP_MUL: np.multiply,
    ca.OP_DIV: np.divide,
    ca.OP_NEG: np.negative,
    ca.OP_POW: np.power,
    ca.OP_CONSTPOW: np.power,
    ca.OP_SQ: np.square,
    ca.OP_TWICE: partial(np.multiply, 2.0),
    ca.OP_FLOOR: np.floor,
    ca.OP_CEIL: np.ceil,
    ca.OP_FMOD: np.fmod,
    ca.OP_REMAINDER: _remainder,
    ca.OP_FABS: np.abs,
    ca.OP_COPYSIGN: np.copysign,
    ca.OP_IF_ELSE_ZERO: _if_else_zero,
    ca.OP_ERF: _erf,
    ca.OP_FMIN: _least,
    ca.OP_FMAX: _most,
    ca.OP_INV: partial(np.divide, 1.0),
    ca.OP_HYPOT: np.hypot,
    ca.OP_SIGN: _sign,
}
"""All operations on arrays of doubles, with the bits of compiled code where that rounds alike."""


def function_of(
    name: str,
    inputs: Sequence[ca.SX],
    outputs: Sequence[ca.SX],
    names: tuple[list[str], list[str]],
    *,
    share: bool = True,
) -> ca.Function:
    """Build an SX function with dense outputs and shared common subexpressions.

    Finding these takes ten times as long as everything else. It is skipped for expressions that
    share them already (see `sharing`), and for functions that are evaluated only a few times.
    """
    dense = [ca.densify(output) for output in outputs]
    return ca.Function(name, list(inputs), dense, names[0], names[1], {"cse": share})


def function_of_symbols(*expressions: ca.SX) -> tuple[ca.Function, list[ca.SX]]:
    """Return expressions as a function of a column of their symbols, and these symbols."""
    symbols = ca.symvar(ca.veccat(*expressions))
    column = ca.vertcat(ca.SX(0, 1), *symbols)
    return ca.Function("expressions", [column], [*expressions]), symbols


def sharing(expressions: Sequence[ca.SX]) -> list[ca.SX]:
    """Return expressions that share their common subexpressions, all of them at once."""
    return ca.cse(list(expressions))


def shares_already(function: ca.Function) -> bool:
    """Return whether a large function repeats so little that finding repetitions costs more.

    Users of its program share the rest: the machine, the kernel and heyoka.
    """
    count = function.n_instructions()
    return MANY <= count <= REPEATED * program(function).size

"""The instructions of a CasADi SX function, with each value once."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

COMMUTATIVE = frozenset({ca.OP_ADD, ca.OP_MUL, ca.OP_FMIN, ca.OP_FMAX, ca.OP_HYPOT})
STRUCTURE = frozenset({ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST})
"""The parts of a program that are not operations."""
LARGE = 1000
"""The number of instructions from which compiled loops, which must be loaded, pay off."""
CHECKED = 64
"""The number of instructions read by CasADi's interface too, when all are read at once."""
FIRST = 8
"""The number of instructions used to locate the others."""
NONE = -1
"""No operand."""
COMPUTED, CONSTANT = -1, -2
"""The source of values that come from no input."""

Step = tuple[int, tuple[Any, ...]]
Outputs = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, eq=False)
class ProgramValues:
    """The values of a program as arrays.

    Parameters
    ----------
    kinds
        (k,) the operation of each, by CasADi's numbers.
    operands
        (k, 2) its operands: values; (input, element) for an input; `NONE` if there is none.
    numbers
        (k,) the numbers of constants, zero elsewhere.
    """

    kinds: np.ndarray
    operands: np.ndarray
    numbers: np.ndarray

    @cached_property
    def taken(self) -> np.ndarray:
        """(k, 2) the values that each one uses; leaves use none."""
        leaf = (self.kinds == ca.OP_INPUT) | (self.kinds == ca.OP_CONST)
        return np.where(leaf[:, None], NONE, self.operands)

    @cached_property
    def sources(self) -> np.ndarray:
        """(k,) the input of each leaf, or `CONSTANT`; `COMPUTED` for the others."""
        own = np.where(self.kinds == ca.OP_CONST, CONSTANT, COMPUTED)
        return np.where(self.kinds == ca.OP_INPUT, self.operands[:, 0], own)


class Program:
    """The instructions of an SX function with equal values shared.

    Parameters
    ----------
    outputs
        For each output, pairs (element, value).
    origins
        The first instruction that computes each value.
    steps, values
        One of the two: all values one by one, or as arrays.
    """

    def __init__(
        self,
        outputs: Outputs,
        origins: Sequence[int] | np.ndarray,
        steps: tuple[Step, ...] = (),
        values: ProgramValues | None = None,
    ) -> None:
        self.outputs, self.origins = outputs, origins
        self._steps, self._values = steps, values

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self._steps if self._values is None else self._values.kinds)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """For each value: its operation and its operands.

        The operands are (input, element) for an input, the number for a constant, otherwise values.
        """
        if self._values is None:
            return self._steps
        known = self._values
        constant = known.kinds == ca.OP_CONST
        pairs: list[Any] = list(map(tuple, known.operands.tolist()))
        for place in np.flatnonzero(known.operands[:, 1] == NONE).tolist():
            pairs[place] = pairs[place][:1]
        numbers = known.numbers.tolist()
        for place in np.flatnonzero(constant).tolist():
            pairs[place] = (numbers[place],)
        return tuple(zip(known.kinds.tolist(), pairs, strict=True))

    @cached_property
    def values(self) -> ProgramValues:
        """All values as arrays."""
        if self._values is not None:
            return self._values
        kinds = np.array([operation for operation, _ in self._steps], dtype=np.int64)
        numbers = np.zeros(len(kinds))
        operands = np.full((len(kinds), 2), NONE)
        for place, (operation, taken) in enumerate(self._steps):
            if operation == ca.OP_CONST:
                numbers[place] = taken[0]
            else:
                operands[place, : len(taken)] = taken
        return ProgramValues(kinds, operands, numbers)

    @cached_property
    def operations(self) -> frozenset[int]:
        """All operations that occur."""
        if self._values is None:
            return frozenset(operation for operation, _ in self._steps) - STRUCTURE
        return frozenset(np.unique(self._values.kinds).tolist()) - STRUCTURE


@lru_cache(maxsize=256)
def program(function: ca.Function) -> Program:
    """Read a function's instructions once; a b and b a, which CasADi distinguishes, become one."""
    if function.n_instructions() >= LARGE:
        read = _read_at_once(function)
        if read is not None:
            return read
    return _read_one_by_one(function)


def _read_one_by_one(function: ca.Function) -> Program:
    registers: dict[int, int] = {}
    known: dict[tuple[Any, ...], int] = {}
    origins: list[int] = []
    outputs: list[list[tuple[int, int]]] = [[] for _ in range(function.n_out())]
    places = range(function.n_instructions())
    instructions = zip(
        places,
        map(function.instruction_id, places),
        map(function.instruction_input, places),
        map(function.instruction_output, places),
        strict=True,
    )
    for k, operation, source, target in instructions:
        if operation == ca.OP_OUTPUT:
            outputs[target[0]].append((target[1], registers[source[0]]))
            continue
        operands: tuple[Any, ...]
        if operation == ca.OP_INPUT:
            operands = tuple(source)
        elif operation == ca.OP_CONST:
            operands = (function.instruction_constant(k),)
        else:
            operands = tuple([registers[index] for index in source])
            if operation in COMMUTATIVE and operands[0] > operands[1]:
                operands = operands[::-1]
        value = registers[target[0]] = known.setdefault((operation, operands), len(known))
        if value == len(origins):
            origins.append(k)
    return Program(tuple(tuple(pairs) for pairs in outputs), origins, tuple(known))


# -- all at once -----------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def serialized(function: ca.Function) -> str:
    """Return a function as CasADi writes it: two letters per byte."""
    return function.serialize()


def digest(function: ca.Function) -> str:
    """Return the digest of a function as CasADi writes it."""
    if function not in _digests:
        _digests[function] = hashlib.sha256(serialized(function).encode()).hexdigest()
    return _digests[function]


def remember(function: ca.Function, known: str) -> None:
    """Set a digest as the digest of a function."""
    _digests[function] = known


_digests: WeakKeyDictionary[ca.Function, str] = WeakKeyDictionary()


def halved(text: str) -> bytes:
    """Return the bytes that CasADi writes as letters, low half first.

    Raises
    ------
    ValueError
        They are not such letters.
    """
    letters = np.frombuffer(text.encode(), np.uint8) - np.uint8(ord("a"))
    if len(letters) % 2 or letters.max(initial=0) > 15:
        raise ValueError("no text of CasADi")
    return (letters[0::2] | letters[1::2] << 4).tobytes()


def doubled(content: bytes) -> str:
    """Return the letters that CasADi writes for bytes."""
    known = np.frombuffer(content, np.uint8)
    return (np.column_stack([known & 15, known >> 4]) + np.uint8(ord("a"))).tobytes().decode()


def _read_at_once(function: ca.Function) -> Program | None:
    """Read the instructions directly from CasADi's text; None if they are not found."""
    from daesolve.core.expressions import ordering  # numba takes long to import.

    compiled: Any = ordering
    count = function.n_instructions()
    records = _records(function, count)
    if records is None:
        return None
    _, firsts = np.unique(records[:, 0], return_index=True)
    checked = {*firsts.tolist(), *range(0, count, max(count // CHECKED, 1)), count - 1}
    if any(records[k].tolist() != _record(function, k) for k in checked):
        return None
    ways = np.full(int(records[:, 0].max()) + 1, compiled.LEAF)
    for k in firsts.tolist():
        operation = int(records[k, 0])
        ways[operation] = _way(operation, len(function.instruction_input(k)), compiled)
    registers = function.sz_w()
    own = ways[records[:, 0]]
    places = [records[own != compiled.OUTPUT, 1], records[own == compiled.OUTPUT, 2]]
    places.append(records[(own != compiled.OUTPUT) & (own != compiled.LEAF), 2:].ravel())
    inside = np.concatenate(places)
    if inside.min(initial=0) < 0 or inside.max(initial=-1) >= registers:
        return None
    return _numbered(records, ways, registers, function.n_out())


def joined(functions: Sequence[ca.Function]) -> Program:
    """Return the program of functions with the same inputs, with common parts shared.

    Its origins index the values of all their programs.
    """
    from daesolve.core.expressions import ordering  # numba takes long to import

    compiled: Any = ordering
    parts: list[np.ndarray] = []
    registers = outputs = 0
    for whole in map(program, functions):
        known = whole.values
        records = np.column_stack([known.kinds, np.arange(whole.size), known.operands])
        computed = known.taken[:, 0] != NONE
        records[computed, 2:] = np.where(
            known.operands[computed] == NONE, 0, known.operands[computed] + registers
        )
        records[known.kinds == ca.OP_CONST, 2:] = (
            known.numbers[known.kinds == ca.OP_CONST, None].view(np.int32).reshape(-1, 2)
        )
        records[:, 1] += registers
        parts.append(records)
        registers += whole.size
    for whole, first in zip(map(program, functions), _starts(parts), strict=True):
        wanted = [
            (ca.OP_OUTPUT, outputs + number, first + value, element)
            for number, pairs in enumerate(whole.outputs)
            for element, value in pairs
        ]
        parts.append(np.array(wanted, dtype=np.int64).reshape(-1, 4))
        outputs += len(whole.outputs)
    records = np.concatenate(parts)
    ways = np.full(int(records[:, 0].max()) + 1, compiled.LEAF)
    for whole in map(program, functions):
        for taken, way in ((1, compiled.ONE), (2, compiled.TWO)):
            own = np.count_nonzero(whole.values.taken != NONE, axis=1) == taken
            ways[whole.values.kinds[own]] = way
    present = [operation for operation in COMMUTATIVE if operation < len(ways)]
    ways[present] = compiled.TWO_ALIKE
    ways[ca.OP_OUTPUT] = compiled.OUTPUT
    return _numbered(records.astype(np.int32), ways, registers, outputs)


def _starts(parts: Sequence[np.ndarray]) -> list[int]:
    return np.cumsum([0, *map(len, parts)])[:-1].tolist()


def _numbered(records: np.ndarray, ways: np.ndarray, registers: int, count: int) -> Program:
    """Return the program of instructions with a given number of outputs."""
    from daesolve.core.expressions import compilation, ordering  # numba takes long to import

    compiled: Any = ordering
    numbered = compilation.for_size(compiled.numbered, len(records))
    kinds, operands, origins, ends = numbered(compiled.VERSION, records, ways, registers)
    constant = kinds == ca.OP_CONST
    numbers = np.zeros(len(kinds))
    numbers[constant] = operands[constant].astype(np.int32).view(np.float64)[:, 0]
    operands[constant] = NONE
    outputs: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for number, element, value in ends.tolist():
        outputs[number].append((element, value))
    return Program(
        tuple(tuple(pairs) for pairs in outputs),
        origins,
        values=ProgramValues(kinds, operands, numbers),
    )


def _way(operation: int, operands: int, compiled: Any) -> int:
    if operation == ca.OP_OUTPUT:
        return compiled.OUTPUT
    if operation in STRUCTURE:
        return compiled.LEAF
    if operands == 1:
        return compiled.ONE
    return compiled.TWO_ALIKE if operation in COMMUTATIVE else compiled.TWO


def _records(function: ca.Function, count: int) -> np.ndarray | None:
    """Return (n, 4) operation, target and operands; None if they are not found.

    CasADi writes the instructions one after another, as four 32-bit numbers each.
    """
    text = serialized(function)
    firsts = [_record(function, k) for k in range(min(count, FIRST))]
    begin = text.rfind(doubled(np.array(firsts, dtype="<i4").tobytes()))
    if begin < 0 or len(text) < begin + 32 * count:
        return None
    try:
        content = halved(text[begin : begin + 32 * count])
    except ValueError:
        return None
    return np.frombuffer(content, dtype="<i4").reshape(count, 4).astype(np.int32)


def _record(function: ca.Function, k: int) -> list[int]:
    """Return one instruction through CasADi's interface."""
    operation = function.instruction_id(k)
    source: Sequence[int] = function.instruction_input(k)
    target: Sequence[int] = function.instruction_output(k)
    if operation == ca.OP_CONST:
        halves = struct.unpack("<2i", struct.pack("<d", function.instruction_constant(k)))
        return [operation, target[0], *halves]
    if operation == ca.OP_OUTPUT:
        return [operation, target[0], source[0], target[1]]
    return [operation, target[0], source[0], source[-1]]

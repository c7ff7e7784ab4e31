"""The instructions of a large function as unique values, by compiled loops over all of them.

An instruction is (operation, target of the result, first operand, second operand), as in CasADi; a
constant has the halves of its number as operands.
"""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import sys

import numpy as np

from daesolve.core.expressions import compiling
from daesolve.core.expressions.compiling import kept, part, version_of

VERSION = version_of(compiling, sys.modules[__name__])
NONE = -1
"""No operand."""
LEAF, ONE, TWO, TWO_ALIKE, OUTPUT = range(5)
"""How an operation uses its operands; `TWO_ALIKE`: in any order."""


FACTOR, LOWER = 0x9E3779B1, 0xFFFFFFFF
"""What mixes the digits of whole numbers, of which the lower half is kept."""


@kept
def numbered(version, records, ways, registers):
    """Return numbers for the values, the same for equal ones.

    Parameters
    ----------
    records
        (n, 4) the instructions.
    ways
        How each operation, by its number, uses its operands.
    registers
        The number of registers.

    Returns
    -------
    tuple
        (k,) the operation of each value; (k, 2) its operands, which are values except for leaves;
        (k,) the first instruction that computes it; (m, 3) for each output entry: the output, the
        element, and the value.
    """
    count = len(records)
    size = 16
    while size < 2 * count:
        size *= 2
    table = np.full(size, NONE)
    kinds, operands = np.empty(count, np.int64), np.empty((count, 2), np.int64)
    origins, outputs = np.empty(count, np.int64), np.empty((count, 3), np.int64)
    holds = np.zeros(registers, np.int64)
    known, ends = 0, 0
    for n in range(count):
        kind, target = np.int64(records[n, 0]), records[n, 1]
        a, b = np.int64(records[n, 2]), np.int64(records[n, 3])
        way = ways[kind]
        if way == OUTPUT:
            outputs[ends, 0], outputs[ends, 1], outputs[ends, 2] = target, b, holds[a]
            ends += 1
            continue
        if way != LEAF:
            a = holds[a]
            b = NONE if way == ONE else holds[b]
            if way == TWO_ALIKE and a > b:
                a, b = b, a
        place = _place(kind, a, b, size)
        while True:
            value = table[place]
            if value == NONE:
                table[place] = value = known
                kinds[value], operands[value, 0], operands[value, 1] = kind, a, b
                origins[value] = n
                known += 1
                break
            if kinds[value] == kind and operands[value, 0] == a and operands[value, 1] == b:
                break
            place = (place + 1) & (size - 1)
        holds[target] = value
    return (
        kinds[:known].copy(), operands[:known].copy(), origins[:known].copy(), outputs[:ends].copy()
    )  # fmt: skip


@part
def _place(kind, a, b, size):
    """Return the first place in which to search for a value."""
    mixed = 0
    for entry in (kind, a, b):
        mixed = (mixed ^ int(entry)) * FACTOR & LOWER
        mixed ^= mixed >> 15
    return mixed & (size - 1)

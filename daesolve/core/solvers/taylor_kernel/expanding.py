"""The values of a program made rows of the kernel's table, by a compiled loop over all of them.

A row is a kind, up to four operands and the function that an integral starts from, as in
`Instructions.codes`. Equal rows are one; they are found by a table of their places.
"""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import sys

from daesolve.core.expressions import compiling, operations, ordering
from daesolve.core.expressions.compiling import kept, part, version_of
from daesolve.core.expressions.ordering import FACTOR, LOWER
from daesolve.core.solvers.taylor_kernel import kinds

VERSION = version_of(compiling, ordering, operations, kinds, sys.modules[__name__])
NONE = -1
"""No value; no row."""
DONE = -1
"""Nothing is left to expand."""
ONE, TWO = 0, 1
"""Where the places of these numbers are listed."""


@kept
# Long: one branch for each operation.
def expanded(version, codes, operands, stack, counts, values, rows, table, first, numbers):
    """Expand arithmetic until something else must be expanded, with all that it needs before it.

    Parameters
    ----------
    codes, operands
        Of the program, by `operations`.
    stack
        The values requested, the first last, with space for all others twice.
    counts
        How many of these there are, and how many rows; receives both.
    values
        (k, 2) whether a value is a row, and its place, `NONE` where it is not known yet; receives
        those that become known.
    rows, table
        The rows; where each is, by its content.
    first
        The place of the first row.
    numbers
        The places of the numbers one and two.

    Returns
    -------
    int
        A value that is not a sum, product or the like; `DONE` where nothing is left.
    """
    top, count = counts
    while top:
        n = stack[top - 1]
        if values[n, 1] != NONE:
            top -= 1
            continue
        a, b = operands[n, 0], operands[n, 1]
        before = top
        if values[a, 1] == NONE:
            stack[top] = a
            top += 1
        if b != NONE and values[b, 1] == NONE:
            stack[top] = b
            top += 1
        if top > before:
            continue
        code = codes[n]
        one, x = values[a, 0] == 1, values[a, 1]
        other, y = (False, NONE) if b == NONE else (values[b, 0] == 1, values[b, 1])
        if code == operations.ASSIGN:
            values[n] = values[a]
            continue
        if code == operations.NEG:
            kind, y = kinds.NEG, 0
        elif code == operations.SQ or (code == operations.MUL and one and other and x == y):
            kind, y = kinds.SQUARE, 0
        elif code == operations.SQRT:
            kind, y = kinds.ROOT, 0
        elif code == operations.TWICE:
            kind, y = kinds.TIMES_NUMBER, numbers[TWO]
        elif code == operations.INV:
            kind, x, y = kinds.NUMBER_OVER, numbers[ONE], x
        elif code == operations.ADD or code == operations.MUL:
            kind = kinds.ADD if code == operations.ADD else kinds.PRODUCT
            if not (one and other):
                kind = kinds.ADD_NUMBER if code == operations.ADD else kinds.TIMES_NUMBER
            if other and (not one or x > y):
                x, y = y, x
        elif code == operations.DIV:
            kind = kinds.QUOTIENT if one and other else kinds.OVER_NUMBER
            kind = kind if one else kinds.NUMBER_OVER
        elif code == operations.SUB:
            kind = kinds.SUB if one and other else kinds.NUMBER_SUB
            if not other:
                row = (kinds.NUMBER_SUB, y, x, 0, 0, operations.NOTHING)
                x, count = _row(rows, count, table, row)
                kind, x, y = kinds.NEG, first + x, 0
        else:
            counts[0], counts[1] = top, count
            return n
        place, count = _row(rows, count, table, (kind, x, y, 0, 0, operations.NOTHING))
        values[n, 0], values[n, 1] = 1, first + place
    counts[0], counts[1] = top, count
    return DONE


@kept
def emitted(version, rows, table, counts, row):
    """Return which row is this one, which is added if there is none."""
    place, counts[1] = _row(rows, counts[1], table, row)
    return place


@part
def _row(rows, count, table, row):
    """Return which row is this one, and how many rows there are then."""
    mixed = 0
    for entry in row:
        mixed = (mixed ^ int(entry)) * FACTOR & LOWER
        mixed ^= mixed >> 15
    place = mixed & (len(table) - 1)
    while table[place] != NONE:
        known = table[place]
        same = True
        for k in range(6):
            same &= rows[known, k] == row[k]
        if same:
            return known, count
        place = (place + 1) & (len(table) - 1)
    table[place] = count
    for k in range(6):
        rows[count, k] = row[k]
    return count, count + 1

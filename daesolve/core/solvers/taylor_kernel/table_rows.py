"""Compiled loops over all rows of a table: values become rows, which are fused and put in order.

A row is a kind, up to four operands and the function that an integral starts from, as in
`Instructions.codes`. Equal rows are one; they are found by a table of their places.
"""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import sys

import numpy as np

from daesolve.core.expressions import compilation, operations, ordering
from daesolve.core.expressions.compilation import announce, compile_once, inline_part, version_of
from daesolve.core.expressions.ordering import FACTOR, LOWER, grouped
from daesolve.core.solvers.taylor_kernel import kinds

VERSION = version_of(compilation, operations, ordering, kinds, sys.modules[__name__])
NONE = -1
"""No value; no row."""
DONE = -1
"""Nothing is left to expand."""
ONE, TWO = 0, 1
"""Where the places of these numbers are listed."""


@compile_once
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


@compile_once
def emitted(version, rows, table, counts, row):
    """Return which row is this one, which is added if there is none."""
    place, counts[1] = _row(rows, counts[1], table, row)
    return place


@inline_part
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


INTEGRAND = 1
"""The operand of an integral of which lower orders are enough."""


@compile_once
@announce("the arrangement of large tables", 2.0)
def arranged(version, rows, operands, roots, first, late):
    """Make sums of products one row, and order the rows that are needed.

    Parameters
    ----------
    rows
        See `expanding`; receives those that become sums.
    operands
        (k, 4) those of each that are rows themselves, by their places; `NONE` for others.
    roots
        The places of what is wanted.
    first
        The place of the first row; those before are there.
    late
        Which kinds are put off until many of them are ready.

    Returns
    -------
    tuple
        (j,) the rows in their order; (k, 7) where the groups of the terms of each sum begin, and
        where the last ends; (m, 2) the terms.
    """
    alive = _needed(
        rows, operands, np.zeros((0, 7), np.int64), np.zeros((0, 2), np.int64), roots, first
    )
    ends, terms = _fused(rows, operands, alive, roots, first)
    alive = _needed(rows, operands, ends, terms, roots, first)
    firsts, before = _before(rows, operands, ends, terms, alive, first)
    order = grouped(rows[:, 0].copy(), firsts, before, alive, late)
    return order, ends, terms


@inline_part
def _needed(rows, operands, ends, terms, roots, first):
    """Return which rows others need."""
    found = np.zeros(len(rows), np.bool_)
    stack = np.empty(len(rows) + 1, np.int64)
    top = 0
    for place in roots:
        top = _asked(place - first, found, stack, top)
    while top:
        top -= 1
        n = stack[top]
        if rows[n, 0] == kinds.SUM:
            for m in range(ends[n, 0], ends[n, kinds.GROUPS]):
                top = _asked(terms[m, 0] - first, found, stack, top)
                if m < ends[n, kinds.PLUS_ROW]:
                    top = _asked(terms[m, 1] - first, found, stack, top)
        else:
            for k in range(4):
                if operands[n, k] != NONE:
                    top = _asked(operands[n, k] - first, found, stack, top)
    return found


@inline_part
def _asked(n, found, stack, top):
    """Put a row on the stack the first time that it is requested."""
    if n >= 0 and not found[n]:
        found[n] = True
        stack[top] = n
        top += 1
    return top


@inline_part
def _fused(rows, operands, alive, roots, first):
    """Combine sums of products into one row, if nothing else needs their parts."""
    count = len(rows)
    uses = np.zeros(count, np.int64)
    for place in roots:
        if place >= first:
            uses[place - first] += 1
    for n in range(count):
        if alive[n]:
            for k in range(4):
                if operands[n, k] >= first:
                    uses[operands[n, k] - first] += 1
    within = np.zeros(count, np.bool_)
    ends = np.zeros((count, kinds.GROUPS + 1), np.int64)
    terms, done = np.empty((2 * count + 2, 2), np.int64), 0
    # For one sum: its terms, by group and operands, and what is still to be taken apart.
    found, stack = np.empty((count + 1, 3), np.int64), np.empty((count + 2, 2), np.int64)
    inside = np.empty(count + 1, np.int64)
    for n in range(count - 1, -1, -1):
        if not alive[n] or within[n] or not _is_sum(rows[n, 0]):
            continue
        size, parts = _terms(rows, uses, n, first, found, stack, inside)
        fuses = size > 2
        for m in range(size):
            fuses |= found[m, 0] not in (kinds.PLUS_ROW, kinds.MINUS_ROW)
        if not fuses:
            continue
        rows[n] = 0
        rows[n, 0], rows[n, 5] = kinds.SUM, operations.NOTHING
        for m in range(parts):
            within[inside[m]] = True
        for group in range(kinds.GROUPS):
            ends[n, group] = done
            for m in range(size):
                if found[m, 0] == group:
                    terms[done] = found[m, 1:]
                    done += 1
        ends[n, kinds.GROUPS] = done
    return ends, terms[:done].copy()


@inline_part
def _is_sum(kind):
    """Return whether a kind becomes a term of a larger sum."""
    return kind in (kinds.ADD, kinds.SUB, kinds.NEG)


@inline_part
def _terms(rows, uses, root, first, found, stack, inside):
    """Find the terms of a sum, down to what others need as well, and the sums within it."""
    size, parts, top = 0, 0, 1
    stack[0, 0], stack[0, 1] = first + root, 0
    while top:
        top -= 1
        place, minus = stack[top]
        n = place - first
        group, x, y = kinds.PLUS_ROW + minus, place, 0
        if n >= 0 and (n == root or uses[n] == 1):
            kind = rows[n, 0]
            if _is_sum(kind):
                inside[parts] = n
                parts += 1
                if kind != kinds.NEG:
                    stack[top, 0] = rows[n, 2]
                    stack[top, 1] = 1 - minus if kind == kinds.SUB else minus
                    top += 1
                stack[top, 0] = rows[n, 1]
                stack[top, 1] = 1 - minus if kind == kinds.NEG else minus
                top += 1
                continue
            if kind == kinds.PRODUCT:
                group, x, y = kinds.PLUS_PRODUCT + minus, rows[n, 1], rows[n, 2]
            elif kind == kinds.TIMES_NUMBER:
                group, x, y = kinds.PLUS_TIMES + minus, rows[n, 1], rows[n, 2]
        found[size, 0], found[size, 1], found[size, 2] = group, x, y
        size += 1
    return size, parts


@inline_part
def _before(rows, operands, ends, terms, alive, first):
    """Return what each row needs the same order of: where that begins, and all of it."""
    firsts = np.zeros(len(rows) + 1, np.int64)
    before = np.empty(4 * len(rows) + 2 * len(terms), np.int64)
    done = 0
    for n in range(len(rows)):
        if alive[n]:
            if rows[n, 0] == kinds.SUM:
                for m in range(ends[n, 0], ends[n, kinds.GROUPS]):
                    done = _added(terms[m, 0] - first, before, done)
                    if m < ends[n, kinds.PLUS_ROW]:
                        done = _added(terms[m, 1] - first, before, done)
            else:
                for k in range(4):
                    if operands[n, k] != NONE and not (
                        k == INTEGRAND and rows[n, 0] == kinds.INTEGRAL
                    ):
                        done = _added(operands[n, k] - first, before, done)
        firsts[n + 1] = done
    return firsts, before[:done].copy()


@inline_part
def _added(n, before, done):
    """Add a row to the needed ones, where it is computed."""
    if n >= 0:
        before[done] = n
        done += 1
    return done

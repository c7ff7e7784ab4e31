"""The rows of an expansion fused and put in order, by compiled loops over all of them."""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import sys

import numpy as np

from daesolve.core.expressions import compiling, operations, ordering
from daesolve.core.expressions.compiling import kept, long, part, version_of
from daesolve.core.expressions.ordering import grouped
from daesolve.core.solvers.taylor_kernel import kinds

VERSION = version_of(compiling, operations, ordering, kinds, sys.modules[__name__])
NONE = -1
"""No row."""
FACTOR = 1
"""The operand of an integral of which lower orders are enough."""


@kept
@long("the arrangement of large tables", 2.0)
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


@part
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


@part
def _asked(n, found, stack, top):
    """Put a row on the stack the first time that it is requested."""
    if n >= 0 and not found[n]:
        found[n] = True
        stack[top] = n
        top += 1
    return top


@part
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


@part
def _is_sum(kind):
    """Return whether a kind becomes a term of a larger sum."""
    return kind in (kinds.ADD, kinds.SUB, kinds.NEG)


@part
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


@part
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
                        k == FACTOR and rows[n, 0] == kinds.INTEGRAL
                    ):
                        done = _added(operands[n, k] - first, before, done)
        firsts[n + 1] = done
    return firsts, before[:done].copy()


@part
def _added(n, before, done):
    """Add a row to the needed ones, where it is computed."""
    if n >= 0:
        before[done] = n
        done += 1
    return done

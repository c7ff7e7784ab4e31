"""Numbering and ordering the values of a program, and assigning registers, by compiled loops.

An instruction is (operation, target of the result, first operand, second operand), as in CasADi; a
constant has the halves of its number as operands.

Arrays hold, for each value, the number of its operation, (k,), and its operands, (k, 2). The second
operand is `NONE` if there is only one, and both are `NONE` if there is none.
"""
# numba's decorators have no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import sys

import numpy as np

from daesolve.core.expressions import compilation
from daesolve.core.expressions.compilation import announce, compile_once, inline_part, version_of

VERSION = version_of(compilation, sys.modules[__name__])
NONE = -1
"""No value."""


@compile_once
def following(version, known, operands):
    """Return which values follow from known leaves, and which of these others need.

    Parameters
    ----------
    known
        (k,) which leaves are known.
    operands
        (k, 2) of all values.

    Returns
    -------
    tuple
        (k,) whether a value follows; (k,) whether it is an operand of one that does not.
    """
    follows, used = known.copy(), np.zeros(len(known), np.bool_)
    for n in range(len(known)):
        a, b = operands[n, 0], operands[n, 1]
        if a != NONE:
            follows[n] = follows[a] and (b == NONE or follows[b])
            if not follows[n]:
                used[a] = True
                if b != NONE:
                    used[b] = True
    return follows, used


@compile_once
def needed(version, operands, wanted, known):
    """Return which values must be computed for the wanted ones, if some are known.

    Parameters
    ----------
    operands
        (k, 2) of all values.
    wanted, known
        (k,) which of them are.

    Returns
    -------
    numpy.ndarray
        (k,)
    """
    found = wanted & ~known
    for n in range(len(found) - 1, -1, -1):
        if found[n]:
            for m in range(2):
                value = operands[n, m]
                if value != NONE and not known[value]:
                    found[value] = True
    return found


@compile_once
@announce("the ordering of large equations", 2.0)
def laid_out(version, kinds, operands, computed, places, own, count):
    """Order the computed values, and assign registers to them.

    Parameters
    ----------
    kinds, operands
        (k,) and (k, 2), of all values.
    computed
        (k,) which of them are computed; the others exist already.
    places
        (k,) the registers of existing values; receives those of the others.
    own
        (k,) the registers of wanted values, counted from -1 down; 0 for the others.
    count
        The number of registers already in use.

    Returns
    -------
    tuple
        (j,) the values in order; (j, 3) the registers of the result and of the operands of each;
        the number of registers then.
    """
    firsts, before = _before(operands, computed)
    order = grouped(kinds, firsts, before, computed, np.zeros(0, np.bool_))
    codes, count = placed(order, operands, computed, places, own, count)
    return order, codes, count


@inline_part
def _before(operands, computed):
    """Return the values to compute before each value: start indices, and all of them."""
    count = len(operands)
    firsts, before, done = np.zeros(count + 1, np.int64), np.empty(2 * count, np.int64), 0
    for n in range(count):
        if computed[n]:
            for k in range(2):
                value = operands[n, k]
                if value != NONE and computed[value]:
                    before[done] = value
                    done += 1
        firsts[n + 1] = done
    return firsts, before[:done].copy()


@inline_part
# Long: first the dependences, then the ready values.
def grouped(kinds, firsts, before, computed, late):
    """Return values in an order in which many of the same kind follow each other.

    Parameters
    ----------
    kinds
        (k,) of all values.
    firsts, before
        (k + 1,) and (m,): start indices, and the values to compute before each.
    computed
        (k,) which of them are computed.
    late
        The kinds that follow all others that are ready; empty for none.
    """
    count = len(kinds)
    waits, starts = firsts[1:] - firsts[:-1], np.zeros(count + 1, np.int64)
    for value in before:
        starts[value + 1] += 1
    for n in range(count):
        starts[n + 1] += starts[n]
    users, ends = np.empty(starts[count], np.int64), starts[:count].copy()
    most = 0
    for n in range(count):
        most = max(most, kinds[n])
        for k in range(firsts[n], firsts[n + 1]):
            users[ends[before[k]]] = n
            ends[before[k]] += 1
    # The ready values of each operation form a chain, whose first element is taken first.
    heads, tails = np.full(most + 1, NONE), np.full(most + 1, NONE)
    sizes, since = np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64)
    after = np.full(count, NONE)
    order = np.empty(count, np.int64)
    clock, done = 0, 0
    for n in range(count):
        if computed[n] and waits[n] == 0:
            clock = _added(n, kinds[n], heads, tails, sizes, since, after, clock)
    while True:
        chosen = NONE
        for kind in range(most + 1):
            if sizes[kind] and (chosen == NONE or _first(kind, chosen, sizes, since, late)):
                chosen = kind
        if chosen == NONE:
            return order[:done].copy()
        number = heads[chosen]
        while number != NONE:
            order[done] = number
            done += 1
            for k in range(starts[number], starts[number + 1]):
                user = users[k]
                waits[user] -= 1
                if waits[user] == 0:
                    clock = _added(user, kinds[user], heads, tails, sizes, since, after, clock)
            number = after[number]
        heads[chosen] = tails[chosen] = NONE
        sizes[chosen] = 0


@inline_part
def _first(kind, other, sizes, since, late):
    """Return whether a kind precedes another one."""
    if len(late) and late[kind] != late[other]:
        return late[other]
    if sizes[kind] != sizes[other]:
        return sizes[kind] > sizes[other]
    return since[kind] < since[other]


@inline_part
def _added(number, kind, heads, tails, sizes, since, after, clock):
    """Append a value to the chain of its operation."""
    if tails[kind] == NONE:
        heads[kind] = number
        since[kind] = clock
        clock += 1
    else:
        after[tails[kind]] = number
    tails[kind] = number
    sizes[kind] += 1
    return clock


@inline_part
def placed(order, operands, computed, places, own, count):
    """Assign registers to values in order; free each after the last use of its value."""
    last = np.full(len(own), NONE)
    for n in order:
        for k in range(2):
            value = operands[n, k]
            if value != NONE and computed[value] and own[value] == 0:
                last[value] = n
    codes = np.empty((len(order), 3), np.int32)
    free, spare = np.empty(len(order) + 1, np.int64), 0
    for row in range(len(order)):
        n = order[row]
        a, b = operands[n, 0], operands[n, 1]
        if own[n] != 0:
            register = own[n]
        elif spare:
            spare -= 1
            register = free[spare]
        else:
            register, count = count, count + 1
        places[n] = register
        codes[row, 0], codes[row, 1] = register, places[a]
        codes[row, 2] = places[a] if b == NONE else places[b]
        # Not earlier: a value must not overwrite one from which it is computed.
        if last[a] == n:
            free[spare] = places[a]
            spare += 1
        if b != NONE and b != a and last[b] == n:
            free[spare] = places[b]
            spare += 1
    return codes, count


# -- numbering -------------------------------------------------------------------------------------

LEAF, ONE, TWO, TWO_ALIKE, OUTPUT = range(5)
"""How an operation uses its operands; `TWO_ALIKE`: in any order."""


FACTOR, LOWER = 0x9E3779B1, 0xFFFFFFFF
"""What mixes the digits of whole numbers, of which the lower half is kept."""


@compile_once
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


@inline_part
def _place(kind, a, b, size):
    """Return the first place in which to search for a value."""
    mixed = 0
    for entry in (kind, a, b):
        mixed = (mixed ^ int(entry)) * FACTOR & LOWER
        mixed ^= mixed >> 15
    return mixed & (size - 1)

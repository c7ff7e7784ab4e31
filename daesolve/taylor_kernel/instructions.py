"""The rows of an expansion as arrays, in an order that keeps like ones together."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.algebra import operations
from daesolve.algebra.kept import kept_of
from daesolve.algebra.plain_data import named
from daesolve.taylor_kernel import kinds
from daesolve.taylor_kernel.expansion import Expansion, Numbers, Row, Term, Terms, needed

SUMS = frozenset({kinds.ADD, kinds.SUB, kinds.NEG})
"""Kinds that become terms of a larger sum."""
LONG = frozenset({kinds.PRODUCT, kinds.SUM, kinds.SQUARE, kinds.QUOTIENT})
"""Kinds whose rows are put off until many of them are ready: each walks all lower orders."""


@dataclass(frozen=True, eq=False)
class Instructions:
    """What the kernel walks.

    Rows are numbered: states, time, then one for each instruction, in this order.

    Parameters
    ----------
    states
        How many there are.
    codes
        (k, 6) of each instruction its kind, up to four operands, and the function that an
        integral starts from.
    ends
        (k, 7) where the groups of the terms of a sum begin in `terms`, and where the last ends.
    terms
        (j, 2) their operands.
    blocks
        (b, 3) kind, first instruction and the one behind the last, of instructions of one kind.
    outputs
        (size, 2) whether an output is a row, and the place of the row or the number.
    numbers
        p -> all numbers that operands refer to; the parameters come first.
    parameters
        How many there are.
    """

    states: int
    codes: np.ndarray
    ends: np.ndarray
    terms: np.ndarray
    blocks: np.ndarray
    outputs: np.ndarray
    numbers: Numbers
    parameters: int

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.states + 1 + len(self.codes)


_CLASSES = named([Instructions, Numbers])


def instructions(function: ca.Function, *, bounded: bool = False) -> Instructions:
    """Return the instructions for a function of (t, x, p) with one output.

    Parameters
    ----------
    function
        Whose operations have series (`missing_in_series`).
    bounded
        See `Expansion`.
    """
    what = f"instructions {bounded}"
    return kept_of(what, [function], _CLASSES, lambda: _read(function, bounded))


def _read(function: ca.Function, bounded: bool) -> Instructions:
    expansion = Expansion(function, bounded)
    roots = [value.place for value in expansion.outputs[0] if value.row]
    _fuse(expansion, roots)
    order = _schedule(expansion, needed(expansion, roots))
    places = {place: place for place in range(expansion.first)}
    places |= {place: expansion.first + index for index, place in enumerate(order)}
    rows = [expansion.rows[place - expansion.first] for place in order]
    codes, ends, terms = _arrays(rows, places)
    outputs = [
        (value.row, places[value.place] if value.row else value.place)
        for value in expansion.outputs[0]
    ]
    return Instructions(
        expansion.states,
        codes,
        ends,
        terms,
        _blocks(codes),
        np.array(outputs, dtype=np.int64).reshape(-1, 2),
        expansion.numbers(),
        function.nnz_in(2),
    )


def _arrays(
    rows: Sequence[Row], places: dict[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `codes`, `ends` and `terms` of `Instructions`."""
    codes = np.zeros((len(rows), 6), dtype=np.int64)
    ends = np.zeros((len(rows), kinds.GROUPS + 1), dtype=np.int64)
    terms: list[tuple[int, int]] = []
    for index, row in enumerate(rows):
        codes[index, 0], codes[index, 5] = row.kind, row.function
        for group, pairs in enumerate(row.terms):
            ends[index, group] = len(terms)
            products = group < kinds.PLUS_ROW
            terms += [(places[x], places[y] if products else y) for x, y in pairs]
        ends[index, kinds.GROUPS] = len(terms)
        number = kinds.NUMBER_OPERAND.get(row.kind)
        if row.function == operations.POWER:
            number = 3
        for place, operand in enumerate(row.operands):
            codes[index, 1 + place] = operand if place == number else places[operand]
    return codes, ends, np.array(terms or [(0, 0)], dtype=np.int64)


def _blocks(codes: np.ndarray) -> np.ndarray:
    """Return the runs of instructions of one kind."""
    changes = np.flatnonzero(np.diff(codes[:, 0])) + 1
    cuts = [0, *changes.tolist(), len(codes)] if len(codes) else []
    blocks = [(codes[a, 0], a, b) for a, b in itertools.pairwise(cuts)]
    return np.array(blocks, dtype=np.int64).reshape(-1, 3)


def _fuse(expansion: Expansion, roots: Iterable[int]) -> None:
    """Make sums of products one row, where nothing else needs their parts."""
    alive = needed(expansion, roots)
    uses = Counter(roots)
    first, rows = expansion.first, expansion.rows
    uses.update(itertools.chain.from_iterable(rows[place - first].ever() for place in alive))
    within: set[int] = set()
    for place in sorted(alive, reverse=True):
        row = rows[place - first]
        if row.kind not in SUMS or place in within:
            continue
        found, parts = _terms(expansion, uses, place)
        groups = {group for group, _ in found}
        if len(found) > 2 or not groups <= {kinds.PLUS_ROW, kinds.MINUS_ROW}:
            terms: Terms = tuple(
                tuple(pair for group, pair in found if group == wanted)
                for wanted in range(kinds.GROUPS)
            )
            rows[place - first] = Row(kinds.SUM, terms=terms)
            within.update(parts)


def _terms(expansion: Expansion, uses: Counter[int], root: int) -> tuple[list[Term], list[int]]:
    """Return the terms of a sum, down to what others need as well, and the sums within it."""
    found: list[Term] = []
    within: list[int] = []
    stack = [(root, False)]
    while stack:
        place, minus = stack.pop()
        row = expansion.row(place)
        if row is None or (place != root and uses[place] != 1):
            found.append((kinds.PLUS_ROW + minus, (place, 0)))
        elif row.kind in SUMS:
            within.append(place)
            signs = (minus, minus != (row.kind == kinds.SUB))
            if row.kind == kinds.NEG:
                signs = (not minus,)
            stack.extend(reversed(list(zip(row.operands, signs, strict=True))))
        elif row.kind == kinds.PRODUCT:
            found.append((kinds.PLUS_PRODUCT + minus, (row.operands[0], row.operands[1])))
        elif row.kind == kinds.TIMES_NUMBER:
            found.append((kinds.PLUS_TIMES + minus, (row.operands[0], row.operands[1])))
        else:
            found.append((kinds.PLUS_ROW + minus, (place, 0)))
    return found, within


def _schedule(expansion: Expansion, places: set[int]) -> list[int]:
    """Return rows in an order in which each comes after what it needs, and like ones together."""
    waits: dict[int, int] = {}
    users: defaultdict[int, list[int]] = defaultdict(list)
    ready: defaultdict[int, list[int]] = defaultdict(list)
    rows = {place: expansion.rows[place - expansion.first] for place in sorted(places)}
    for place, row in rows.items():
        before = [other for other in row.now() if other in places]
        waits[place] = len(before)
        for other in before:
            users[other].append(place)
        if not before:
            ready[row.kind].append(place)
    order: list[int] = []
    while ready:
        kind = max(ready, key=lambda kind: (kind not in LONG, len(ready[kind])))
        queue = ready[kind]
        for place in queue:  # which grows as it is walked
            order.append(place)
            for user in users[place]:
                waits[user] -= 1
                if not waits[user]:
                    ready[rows[user].kind].append(user)
        del ready[kind]
    return order

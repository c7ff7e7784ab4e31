"""CasADi functions evaluated for blocks of states by the compiled machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from daesolve.algebra.kept import kept_of
from daesolve.algebra.operations import OF_CASADI
from daesolve.algebra.plain_data import named
from daesolve.algebra.translation import Program, missing_operations, program
from daesolve.errors import UnsupportedError

LEAVES = frozenset({ca.OP_INPUT, ca.OP_CONST})
VALUES = 2
"""Which input the values are."""
NONE = np.zeros(0)


def evaluate_block(
    function: ca.Function, times: np.ndarray, states: np.ndarray, values: np.ndarray
) -> list[np.ndarray]:
    """Evaluate a CasADi function of (t, x, p) for many states at once.

    What depends on values alone, where these are the same for all states, is computed once.

    Parameters
    ----------
    function
        (t, x, p) -> dense columns.
    times
        (k,)
    states
        (k, nx)
    values
        (np,), or (k, np) where each state has its own.

    Returns
    -------
    list of numpy.ndarray
        (k, size) for each output.

    Raises
    ------
    UnsupportedError
        The function has an operation that the machine lacks.
    """
    layout = _layout(function, values.ndim > 1)
    own = np.ascontiguousarray(np.atleast_2d(values), dtype=float)
    times = np.ascontiguousarray(times, dtype=float)
    states = np.ascontiguousarray(states, dtype=float)
    numbers = NONE
    if layout.fixed.rows:
        numbers = layout.fixed.run(layout.constants, np.zeros(1), states, own)[:, 0]
    found = layout.moving.run(numbers, times, states, own)
    return [table.T for table in np.split(found, layout.ends)]


@dataclass(frozen=True)
class Part:
    """A program for the machine; see `machine.run`.

    Parameters
    ----------
    steps, loads, stores, registers
        As there.
    rows
        How many it gives.
    """

    steps: np.ndarray
    loads: np.ndarray
    stores: np.ndarray
    registers: int
    rows: int

    def run(
        self, numbers: np.ndarray, times: np.ndarray, states: np.ndarray, values: np.ndarray
    ) -> np.ndarray:
        """Return what it gives, (rows, k); see `machine.run`."""
        from daesolve.algebra import machine  # numba is imported where something is evaluated

        compiled: Any = machine
        found = np.zeros((self.rows, len(times)))
        compiled.run(
            compiled.VERSION, self.steps, self.loads, self.stores, numbers, self.registers,
            times, states, values, found,
        )  # fmt: skip
        return found


@dataclass(frozen=True)
class Layout:
    """What the machine does for a function.

    Parameters
    ----------
    constants
        What the first registers of the fixed part hold.
    fixed
        Gives what is the same for all states.
    moving
        Gives the outputs; its first registers hold that.
    ends
        Where the rows of each output end, but for the last.
    """

    constants: np.ndarray
    fixed: Part
    moving: Part
    ends: np.ndarray


_CLASSES = named([Layout, Part])


@lru_cache(maxsize=256)
def _layout(function: ca.Function, own: bool) -> Layout:
    """Return a function's program, divided; `own`: each state has its own values."""
    return kept_of(f"layout {own}", [function], _CLASSES, lambda: _divided(function, own))


def _divided(function: ca.Function, own: bool) -> Layout:
    missing = missing_operations(function, OF_CASADI)
    if missing:
        raise UnsupportedError(
            f"the evaluation of blocks has no operation {', '.join(missing)}, which "
            f"{function.name()!r} needs"
        )
    whole = program(function)
    sizes = [function.nnz_out(k) for k in range(function.n_out())]
    ends = np.cumsum([0, *sizes])
    wanted = [
        (value, int(first) + element)
        for first, pairs in zip(ends, whole.outputs, strict=False)
        for element, value in pairs
    ]
    constants = [k for k, (operation, _) in enumerate(whole.steps) if operation == ca.OP_CONST]
    fixed = _fixed(whole, own)
    used = {value for value, _ in wanted}
    for number, (operation, operands) in enumerate(whole.steps):
        if number not in fixed and operation not in LEAVES:
            used.update(operands)
    shared = sorted(used & fixed)
    before = [number for number in sorted(fixed) if number not in set(constants)]
    after = [number for number in range(len(whole.steps)) if number not in fixed]
    return Layout(
        np.array([whole.steps[number][1][0] for number in constants], dtype=float),
        _part(whole, before, constants, [(value, row) for row, value in enumerate(shared)]),
        _part(whole, after, shared, wanted, rows=int(ends[-1])),
        ends[1:-1],
    )


def _fixed(whole: Program, own: bool) -> set[int]:
    """Return the values that are the same for all states."""
    fixed: set[int] = set()
    for number, (operation, operands) in enumerate(whole.steps):
        if operation == ca.OP_INPUT:
            same = operands[0] == VALUES and not own
        else:
            same = operation == ca.OP_CONST or all(operand in fixed for operand in operands)
        if same:
            fixed.add(number)
    return fixed


def _part(
    whole: Program,
    numbers: Sequence[int],
    given: Sequence[int],
    wanted: Sequence[tuple[int, int]],
    rows: int | None = None,
) -> Part:
    """Give registers to values: the first to those given, and each again after its last use."""
    last = _last_uses(whole, numbers, {value for value, _ in wanted} | set(given))
    places = {value: register for register, value in enumerate(given)}
    free: list[int] = []
    count = len(places)
    steps: list[tuple[int, int, int, int]] = []
    loads: list[tuple[int, int, int]] = []
    for number in numbers:
        operation, operands = whole.steps[number]
        if free and operation != ca.OP_INPUT:
            register = free.pop()
        else:
            register, count = count, count + 1
        places[number] = register
        if operation == ca.OP_INPUT:
            loads.append((register, *operands))
            continue
        taken = [places[operand] for operand in operands]
        steps.append((OF_CASADI[operation], register, taken[0], taken[-1]))
        # Not before: a value is never written over one that it is computed from.
        free += {places[operand] for operand in operands if last.get(operand) == number}
    return Part(
        np.array(steps, dtype=np.int64).reshape(-1, 4),
        np.array(loads, dtype=np.int64).reshape(-1, 3),
        np.array([(places[value], row) for value, row in wanted], dtype=np.int64).reshape(-1, 2),
        max(count, 1),
        len(wanted) if rows is None else rows,
    )


def _last_uses(whole: Program, numbers: Sequence[int], stay: Collection[int]) -> Mapping[int, int]:
    """Return which value is the last that needs each, of those that need not stay."""
    last: dict[int, int] = {}
    for number in numbers:
        operation, operands = whole.steps[number]
        if operation not in LEAVES:
            last |= {operand: number for operand in operands if operand not in stay}
    return last

"""CasADi functions evaluated for blocks of states by the compiled machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from daesolve.algebra.kept import kept_of
from daesolve.algebra.operations import ASSIGN, OF_CASADI
from daesolve.algebra.plain_data import named
from daesolve.algebra.translation import Program, missing_operations, program
from daesolve.errors import UnsupportedError

LEAVES = frozenset({ca.OP_INPUT, ca.OP_CONST})
VALUES = 2
"""Which input the values are."""
NONE = np.zeros(0)
LANES = 8
"""States that the machine takes at once."""
MOST = 64
"""How many are taken together at most."""


def evaluate_block(
    function: ca.Function,
    times: np.ndarray,
    states: np.ndarray,
    values: np.ndarray,
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
        (k, nx), or more columns, of which the function takes the first ones.
    values
        (np,), or (k, np) where each state has its own; more as well.

    Returns
    -------
    list of numpy.ndarray
        (k, size) for each output.

    Raises
    ------
    UnsupportedError
        The function has an operation that the machine lacks.
    ValueError
        There are fewer columns than the function takes.
    """
    own = values.ndim > 1
    made = layout(function, own)
    states = _taken(function, 1, states)
    values = _taken(function, VALUES, values)
    size, count = int(states.shape[1]), int(values.shape[-1])
    given = np.empty((len(times), 1 + size + (count if own else 0)))
    given[:, 0], given[:, 1 : 1 + size] = times, states
    if own:
        given[:, 1 + size :] = values
    # Where each state has its own values, nothing that is the same for all depends on them.
    numbers = made.numbers(np.zeros(count) if own else values)
    found = made.moving.run(numbers, given)
    return [table.T for table in np.split(found, made.ends)]


def evaluate_lanes(
    function: ca.Function, times: np.ndarray, states: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Evaluate a CasADi function of (t, x, p) for many states of several motions at once.

    What depends on values alone is computed once for each motion.

    Parameters
    ----------
    function
        (t, x, p) -> one dense column.
    times, states
        (lanes, k) and (lanes, k, nx), or more columns, of which the function takes the first ones.
    values
        (lanes, np), or more columns.

    Returns
    -------
    numpy.ndarray
        (lanes, k, size).

    Raises
    ------
    UnsupportedError, ValueError
        As for `evaluate_block`.
    """
    from daesolve.algebra import machine  # numba is imported where something is evaluated

    compiled: Any = machine
    made = layout(function, False)
    inputs, part = _taken(function, 1, states).shape[2], made.moving
    own = np.ascontiguousarray(_taken(function, VALUES, values))
    numbers = made.fixed.run(made.constants, own)
    stride = part.stride(times.shape[1])
    token = compiled.ONE if stride == 1 else compiled.SEVERAL
    found = np.empty((*times.shape, part.rows))
    compiled.run_in_lanes(
        compiled.VERSION, token, part.runs, part.codes, numbers, times, states, inputs,
        part.registers, stride, found,
    )  # fmt: skip
    return found


def _taken(function: ca.Function, source: int, given: np.ndarray) -> np.ndarray:
    """Return the columns of what is given that an input takes."""
    count = function.nnz_in(source)
    if given.shape[-1] < count:
        raise ValueError(
            f"{function.name()!r} takes {count} numbers of {function.name_in(source)!r}, but is "
            f"given {given.shape[-1]}"
        )
    taken: np.ndarray = given[..., :count]
    return taken


@dataclass(frozen=True)
class Part:
    """A program for the machine.

    Its registers hold numbers that are the same for all states, then what is given, then what is
    computed on the way, then what is wanted.

    Parameters
    ----------
    runs, codes
        See `machine.carry_out`.
    registers
        How many there are.
    rows
        How many of them are wanted.
    """

    runs: np.ndarray
    codes: np.ndarray
    registers: int
    rows: int

    def run(self, numbers: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return what it makes of so many given rows, (rows, k).

        Parameters
        ----------
        numbers
            What the first registers hold.
        given
            (k, inputs) what the next ones hold.
        """
        from daesolve.algebra import machine  # numba is imported where something is evaluated

        compiled: Any = machine
        found = np.empty((self.rows, len(given)))
        stride = self.stride(len(given))
        token = compiled.ONE if stride == 1 else compiled.SEVERAL
        compiled.run(
            compiled.VERSION, token, self.runs, self.codes, numbers, given, self.registers, stride,
            found,
        )  # fmt: skip
        return found

    @staticmethod
    def stride(count: int) -> int:
        """Return how many states are taken together."""
        return 1 if count <= 1 else min(MOST, -(-count // LANES) * LANES)


@dataclass(frozen=True)
class Layout:
    """What the machine does for a function.

    Parameters
    ----------
    constants
        What the first registers of the fixed part hold.
    fixed
        Gives what is the same for all states, from values.
    moving
        Gives the outputs, from t and x, and from values where each state has its own; its first
        registers hold what the fixed part gives.
    ends
        Where the rows of each output end, but for the last.
    """

    constants: np.ndarray
    fixed: Part
    moving: Part
    ends: np.ndarray

    def numbers(self, values: np.ndarray) -> np.ndarray:
        """Return what the first registers of the moving part hold, from (np,)."""
        return self.fixed.run(self.constants, values[None, :])[:, 0] if self.fixed.rows else NONE


_CLASSES = named([Layout, Part])


@lru_cache(maxsize=256)
def layout(function: ca.Function, own: bool) -> Layout:
    """Divide a function's program; `own`: each state has its own values.

    Raises
    ------
    UnsupportedError
        The function has an operation that the machine lacks.
    """
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
        (int(first) + element, value)
        for first, pairs in zip(ends, whole.outputs, strict=False)
        for element, value in pairs
    ]
    constants = [k for k, (operation, _) in enumerate(whole.steps) if operation == ca.OP_CONST]
    fixed = _fixed(whole, own)
    used = {value for _, value in wanted}
    for number, (operation, operands) in enumerate(whole.steps):
        if number not in fixed and operation not in LEAVES:
            used.update(operands)
    shared = sorted(used & fixed)
    before = [number for number in sorted(fixed) if whole.steps[number][0] != ca.OP_CONST]
    after = [number for number in range(len(whole.steps)) if number not in fixed]
    counts = [function.nnz_in(source) for source in range(VALUES + 1)]
    moving = counts if own else [*counts[:VALUES], 0]
    return Layout(
        np.array([whole.steps[number][1][0] for number in constants], dtype=float),
        _part(whole, before, constants, [0] * VALUES + counts[VALUES:], list(enumerate(shared))),
        _part(whole, after, shared, moving, wanted, rows=int(ends[-1])),
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
    shared: Sequence[int],
    inputs: Sequence[int],
    wanted: Sequence[tuple[int, int]],
    rows: int | None = None,
) -> Part:
    """Give registers to values, and each again after its last use.

    Parameters
    ----------
    whole, numbers
        The program, and which values of it are computed or given.
    shared
        The values that the first registers hold.
    inputs
        How many entries each input has; the next registers hold them.
    wanted
        Pairs (row, value).
    """
    rows = len(wanted) if rows is None else rows
    starts = len(shared) + np.cumsum([0, *inputs])
    places = {value: register for register, value in enumerate(shared)}
    steps = {number: whole.steps[number] for number in numbers}
    for number in numbers:
        operation, operands = steps[number]
        if operation == ca.OP_INPUT:
            places[number] = int(starts[operands[0]]) + operands[1]
            del steps[number]
    order = _grouped(steps)
    # What is wanted is computed where it is to stand; below, these places are counted from -1 down.
    own = {value: row - rows for row, value in reversed(wanted) if value in steps}
    last = {
        value: number
        for number in order
        for value in steps[number][1]
        if value in steps and value not in own
    }
    free: list[int] = []
    count = int(starts[-1])
    codes: list[tuple[int, int, int]] = []
    for number in order:
        operands = steps[number][1]
        if number in own:
            register = own[number]
        elif free:
            register = free.pop()
        else:
            register, count = count, count + 1
        places[number] = register
        codes.append((register, places[operands[0]], places[operands[-1]]))
        # Not before: a value is never written over one that it is computed from.
        free += [places[value] for value in set(operands) if last.get(value) == number]
    operations = [OF_CASADI[steps[number][0]] for number in order]
    for row, value in wanted:
        if own.get(value) != row - rows:
            operations.append(ASSIGN)
            codes.append((row - rows, places[value], places[value]))
    table = np.array(codes, dtype=np.int32).reshape(-1, 3)
    table[table < 0] += count + rows
    return Part(_runs(operations), table, count + rows, rows)


def _grouped(steps: Mapping[int, tuple[int, tuple[int, ...]]]) -> list[int]:
    """Return the steps in an order in which many of the same operation follow each other."""
    users: dict[int, list[int]] = {}
    waits: dict[int, int] = {}
    ready: dict[int, list[int]] = {}
    for number, (operation, operands) in steps.items():
        needed = [value for value in set(operands) if value in steps]
        waits[number] = len(needed)
        for value in needed:
            users.setdefault(value, []).append(number)
        if not needed:
            ready.setdefault(operation, []).append(number)
    order: list[int] = []
    while ready:
        operation = max(ready, key=lambda one: len(ready[one]))
        batch = ready.pop(operation)
        for number in batch:  # which grows meanwhile
            for user in users.get(number, ()):
                waits[user] -= 1
                if not waits[user]:
                    next_one = steps[user][0]
                    (batch if next_one == operation else ready.setdefault(next_one, [])).append(
                        user
                    )
        order += batch
    return order


def _runs(operations: Sequence[int]) -> np.ndarray:
    """Return (n, 3): an operation, where those in a row begin, and where they end."""
    kinds = np.array(operations, dtype=np.int64)
    starts = np.flatnonzero(np.append(-1, kinds[:-1]) != kinds) if len(kinds) else kinds
    return np.column_stack([kinds[starts], starts, np.append(starts, len(kinds))[1:]])


class StateFunction:
    """A CasADi function of (t, x, p) carried out by the machine for a few states, again and again.

    Parameters
    ----------
    function
        (t, x, p) -> one dense column.
    p
        The parameters of all calls.
    count
        How many states a call has.

    Attributes
    ----------
    program
        The runs, codes and registers that compiled code carries out itself.
    places
        The registers of the time, of the first state and of the first result.
    calls
        How many states it was evaluated at.
    """

    def __init__(self, function: ca.Function, p: np.ndarray, count: int = 1) -> None:
        from daesolve.algebra import machine  # numba is imported where something is evaluated

        compiled: Any = machine
        made = layout(function, False)
        own = np.ascontiguousarray(_taken(function, VALUES, p), dtype=float)
        numbers, part = made.numbers(own), made.moving
        stride = part.stride(count)
        memory = np.zeros((part.registers, stride))
        memory[: len(numbers)] = numbers[:, None]
        first = len(numbers) + 1
        self._times = memory[first - 1, :count]
        self._states = memory[first : first + function.nnz_in(1), :count].T
        self._results = memory[part.registers - part.rows :, :count].T
        if count == 1:
            self._states, self._results = self._states[0], self._results[0]
        self.program = part.runs, part.codes, memory
        self.places = first - 1, first, part.registers - part.rows
        self._run = compiled.run_once if stride == 1 else compiled.run_together
        self._arguments = compiled.VERSION, *self.program
        self._count = count
        self.calls = 0

    def __call__(self, t: float | np.ndarray, x: np.ndarray) -> np.ndarray:
        """Evaluate; the result is a new array.

        Parameters
        ----------
        t, x
            A time and a state, (size,); for several states (count,) and (count, size).

        Returns
        -------
        numpy.ndarray
            (rows,) or (count, rows).
        """
        self._times[:] = t
        self._states[:] = x
        self._run(*self._arguments)
        self.calls += self._count
        return self._results.copy()

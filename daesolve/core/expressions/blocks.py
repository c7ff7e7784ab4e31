"""CasADi functions evaluated for blocks of states by the compiled machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions import interpreter
from daesolve.core.expressions.operations import ASSIGN, OF_CASADI, codes_of
from daesolve.core.expressions.plain_data import cached_result, named
from daesolve.core.expressions.program import COMPUTED, CONSTANT, ProgramValues, program
from daesolve.core.expressions.translation import missing_operations
from daesolve.errors import UnsupportedError

VALUES = 2
"""The input from which the values come."""
NONE = np.zeros(0)
LANES = 8
"""The number of states that the machine processes at once."""
MOST = 64
"""The largest number processed together."""
AT_ONCE = 512
"""The number of states that the interpreter processes at once: more would leave the cache."""


def evaluate_block(
    function: ca.Function,
    times: np.ndarray,
    states: np.ndarray,
    values: np.ndarray,
) -> list[np.ndarray]:
    """Evaluate a CasADi function of (t, x, p) for many states at once.

    Parts that depend only on values are computed once if the values are the same for all states.

    Parameters
    ----------
    function
        (t, x, p) -> dense columns.
    times
        (k,)
    states
        (k, nx), or more columns; the function uses the first ones.
    values
        (np,), or (k, np) if each state has its own; more columns are allowed.

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
    # If each state has its own values, no shared part depends on them.
    numbers = made.numbers(np.zeros(count) if own else values)
    found = made.moving.run(numbers, given).T
    return [found[:, first:end] for first, end in made.columns]


def evaluate_lanes(
    function: ca.Function, times: np.ndarray, states: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Evaluate a CasADi function of (t, x, p) for many states of several motions at once.

    Parts that depend only on values are computed once for each motion.

    Parameters
    ----------
    function
        (t, x, p) -> one dense column.
    times, states
        (lanes, k) and (lanes, k, nx), or more columns; the function uses the first ones.
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
    # numba is imported only when something is evaluated.
    from daesolve.core.expressions import compilation, machine

    compiled: Any = machine
    made = layout(function, False)
    inputs, part = _taken(function, 1, states).shape[2], made.moving
    own = np.ascontiguousarray(_taken(function, VALUES, values))
    numbers = made.fixed.run(made.constants, own)
    found = np.empty((*times.shape, part.rows))
    if compilation.for_now(compiled.run_in_lanes, interpreter.seconds, part.runs, times.size):
        for lane, instants in enumerate(times):
            given = np.column_stack([instants, states[lane, :, :inputs]])
            found[lane] = part.interpreted(numbers[:, lane], given).T
        return found
    stride = part.stride(times.shape[1])
    token = compiled.ONE if stride == 1 else compiled.SEVERAL
    compiled.run_in_lanes(
        compiled.VERSION, token, part.runs, part.codes, numbers, times, states, inputs,
        part.registers, stride, found,
    )  # fmt: skip
    return found


def _taken(function: ca.Function, source: int, given: np.ndarray) -> np.ndarray:
    """Return the given columns that an input uses."""
    count = function.nnz_in(source)
    if given.shape[-1] < count:
        raise ValueError(
            f"{function.name()!r} takes {count} numbers of {function.name_in(source)!r}, but is "
            f"given {given.shape[-1]}"
        )
    taken: np.ndarray = given[..., :count]
    return taken


@dataclass(frozen=True)
class MachineProgram:
    """A program for the machine.

    Its registers contain numbers shared by all states, then the given values, the intermediate
    ones, and the results.

    Parameters
    ----------
    runs, codes
        See `machine.carry_out`.
    registers
        The number of registers.
    rows
        The number of results.
    """

    runs: np.ndarray
    codes: np.ndarray
    registers: int
    rows: int

    def run(self, numbers: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return the results for a number of given rows, (rows, k).

        Parameters
        ----------
        numbers
            The content of the first registers.
        given
            (k, inputs) the content of the next ones.
        """
        # numba is imported only when something is evaluated.
        from daesolve.core.expressions import compilation, machine

        compiled: Any = machine
        if len(given) == 1:
            memory = self._memory(numbers, given)
            compiled.run_once(compiled.VERSION, self.runs, self.codes, memory)
            return memory[self.registers - self.rows :]
        if compilation.for_now(compiled.run, interpreter.seconds, self.runs, len(given)):
            return self.interpreted(numbers, given)
        found = np.empty((self.rows, len(given)))
        compiled.run(
            compiled.VERSION, compiled.SEVERAL, self.runs, self.codes, numbers, given,
            self.registers, self.stride(len(given)), found,
        )  # fmt: skip
        return found

    def interpreted(self, numbers: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return what `run` returns; nothing is compiled."""
        found = np.empty((self.rows, len(given)))
        for first in range(0, len(given), AT_ONCE):
            memory = self._memory(numbers, given[first : first + AT_ONCE])
            interpreter.carry_out(self.runs, self.codes, memory)
            found[:, first : first + AT_ONCE] = memory[self.registers - self.rows :]
        return found

    def _memory(self, numbers: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return the registers with their first contents, (registers, k)."""
        memory, shared = np.empty((self.registers, len(given))), len(numbers)
        memory[:shared] = numbers[:, None]
        memory[shared : shared + given.shape[1]] = given.T
        return memory

    @staticmethod
    def stride(count: int) -> int:
        """Return the number of states processed together."""
        return 1 if count <= 1 else min(MOST, -(-count // LANES) * LANES)


@dataclass(frozen=True)
class Layout:
    """The layout of a function for the machine.

    Parameters
    ----------
    constants
        The content of the first registers of the fixed part.
    fixed
        Computes everything that is the same for all states, from values.
    moving
        Computes the outputs from t and x, and from values if each state has its own; its first
        registers hold the results of the fixed part.
    columns
        The range of rows of each output.
    """

    constants: np.ndarray
    fixed: MachineProgram
    moving: MachineProgram
    columns: tuple[tuple[int, int], ...]

    def numbers(self, values: np.ndarray) -> np.ndarray:
        """Return the content of the first registers of the moving part, from (np,)."""
        return self.fixed.run(self.constants, values[None, :])[:, 0] if self.fixed.rows else NONE


_CLASSES = named([Layout, MachineProgram])


@lru_cache(maxsize=256)
def layout(function: ca.Function, own: bool) -> Layout:
    """Divide a function's program into parts; with `own`, each state has its own values.

    Raises
    ------
    UnsupportedError
        The function has an operation that the machine lacks.
    """
    return cached_result(f"layout {own}", [function], _CLASSES, lambda: _divided(function, own))


def _divided(function: ca.Function, own: bool) -> Layout:
    # numba is imported only when something is evaluated.
    from daesolve.core.expressions import compilation, ordering

    compiled: Any = ordering
    missing = missing_operations(function, OF_CASADI)
    if missing:
        raise UnsupportedError(
            f"the evaluation of blocks has no operation {', '.join(missing)}, which "
            f"{function.name()!r} needs"
        )
    whole, values = program(function), program(function).values
    ends = np.cumsum([0, *(function.nnz_out(k) for k in range(function.n_out()))])
    wanted = [
        (int(first) + element, value)
        for first, pairs in zip(ends, whole.outputs, strict=False)
        for element, value in pairs
    ]
    constant = values.sources == CONSTANT
    leaves = constant if own else constant | (values.sources == VALUES)
    following = compilation.for_size(compiled.following, whole.size)
    fixed, used = following(compiled.VERSION, leaves, values.taken)
    used[[value for _, value in wanted]] = True
    shared = np.flatnonzero(used & fixed)
    constants = np.flatnonzero(constant)
    counts = [function.nnz_in(source) for source in range(VALUES + 1)]
    moving = counts if own else [*counts[:VALUES], 0]
    return Layout(
        values.numbers[constants],
        _part(
            values, fixed & ~constant, constants, [0] * VALUES + counts[VALUES:],
            list(enumerate(shared.tolist())),
        ),
        _part(values, ~fixed, shared, moving, wanted, rows=int(ends[-1])),
        tuple(pairwise(ends.tolist())),
    )  # fmt: skip


def _part(
    values: ProgramValues,
    own: np.ndarray,
    shared: np.ndarray,
    inputs: Sequence[int],
    wanted: Sequence[tuple[int, int]],
    rows: int | None = None,
) -> MachineProgram:
    """Order the computed values, and assign registers.

    Parameters
    ----------
    values, own
        The values of a program, and which of them are computed or given.
    shared
        The values in the first registers.
    inputs
        The number of entries of each input, which the next registers hold.
    wanted
        Pairs (row, value).
    """
    # numba is imported only when something is evaluated.
    from daesolve.core.expressions import compilation, ordering

    compiled: Any = ordering
    rows = len(wanted) if rows is None else rows
    starts = len(shared) + np.cumsum([0, *inputs])
    places = np.full(len(own), -1)
    places[shared] = np.arange(len(shared))
    given = np.flatnonzero(own & (values.sources >= 0))
    places[given] = starts[values.sources[given]] + values.operands[given, 1]
    computed = own & (values.sources == COMPUTED)
    # Results are computed in their final registers, which are counted from -1 down here.
    ends = np.zeros(len(own), dtype=np.int64)
    for row, value in reversed(wanted):
        if computed[value]:
            ends[value] = row - rows
    operations = codes_of(values.kinds)
    order, codes, count = compilation.for_size(compiled.laid_out, len(own))(
        compiled.VERSION, operations, values.taken, computed, places, ends, int(starts[-1])
    )
    copied = [
        (row - rows, places[value], places[value])
        for row, value in wanted
        if ends[value] != row - rows
    ]
    table = np.concatenate([codes, np.array(copied, dtype=np.int32).reshape(-1, 3)])
    table[table < 0] += count + rows
    kinds = np.append(operations[order], np.full(len(copied), ASSIGN))
    return MachineProgram(_runs(kinds), table, count + rows, rows)


def _runs(kinds: np.ndarray) -> np.ndarray:
    """Return (n, 3): an operation, and the start and end of a run of it."""
    starts = np.flatnonzero(np.append(-1, kinds[:-1]) != kinds) if len(kinds) else kinds
    return np.column_stack([kinds[starts], starts, np.append(starts, len(kinds))[1:]])


class StateFunction:
    """A CasADi function of (t, x, p) that the machine evaluates repeatedly for a few states.

    Parameters
    ----------
    function
        (t, x, p) -> one dense column.
    p
        The parameters of all calls.
    count
        The number of states of a call.

    Attributes
    ----------
    program
        The runs, codes and registers, for direct use by compiled code.
    places
        The registers of the time, of the first state and of the first result.
    calls
        The number of states at which it was evaluated.
    """

    def __init__(self, function: ca.Function, p: np.ndarray, count: int = 1) -> None:
        from daesolve.core.expressions import (
            machine,  # numba is imported only when something is evaluated.
        )

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
        self._tangents: np.ndarray | None = None
        self._slopes: np.ndarray | None = None
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

    def jacobian(self, t: float, x: np.ndarray) -> np.ndarray | None:
        """Return the derivatives of the column by one state, (rows, size); None if not finite."""
        found = self.derivatives(t, x, np.eye(len(x)))[1]
        return found if np.all(np.isfinite(found)) else None

    def derivatives(
        self, t: float, x: np.ndarray, directions: np.ndarray, of_time: np.ndarray | float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the column, and its derivatives along directions of one state, (rows, k).

        Parameters
        ----------
        t, x
            A time and a state.
        directions, of_time
            (size, k) and (k,): how the state and the time move along each.
        """
        from daesolve.core.expressions import derivatives  # numba is imported only when needed.

        compiled: Any = derivatives
        runs, codes, memory = self.program
        moment, first, last = self.places
        self._times[:], self._states[:] = t, x
        tangents = self._tangents
        if tangents is None or tangents.shape[1] != directions.shape[1]:
            self._tangents = tangents = np.zeros((len(memory), directions.shape[1]))
        tangents[first : first + len(x)], tangents[moment] = directions, of_time
        compiled.carried_along(compiled.VERSION, runs, codes, memory[:, 0], tangents)
        return self._results.copy(), tangents[last:].copy()

    def gradients(self, t: float, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the derivatives of some rows of the column by one state, (size, rows)."""
        from daesolve.core.expressions import derivatives  # numba is imported only when needed.

        compiled: Any = derivatives
        runs, codes, memory = self.program
        _, first, last = self.places
        self._times[:], self._states[:] = t, x
        adjoints = np.zeros((len(memory), len(rows)))
        adjoints[last + rows, np.arange(len(rows))] = 1.0
        slopes = np.empty((len(codes), 2))
        compiled.carried_back(compiled.VERSION, runs, codes, memory[:, 0].copy(), slopes, adjoints)
        return adjoints[first : first + len(x)].copy()

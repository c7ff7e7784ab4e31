"""The interpreter gives the bits that the compiled machine gives."""

from __future__ import annotations

import numpy as np
import pytest

from daesolve.core.expressions import interpreter, machine, operations

SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, 1e-8, 710.0, -745.0, 5e-324, 1e308, -1e308,
    np.inf, -np.inf, np.nan,
)  # fmt: skip


def operands() -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of all special numbers, and drawn ones of all sizes, (k,) each."""
    drawn, count = np.random.default_rng(1), 4000
    sizes = np.exp(10.0 * drawn.normal(size=count)) * drawn.choice([-1.0, 1.0], count)
    first = [np.repeat(SPECIAL, len(SPECIAL)), drawn.uniform(-1.0, 1.0, count), sizes]
    second = [np.tile(SPECIAL, len(SPECIAL)), drawn.normal(size=count), drawn.normal(size=count)]
    k = sum(map(len, first)) // 8 * 8
    return np.concatenate(first)[:k], np.concatenate(second)[:k]


def test_each_operation_gives_the_bits_of_the_compiled_machine() -> None:
    x, y = operands()
    codes = np.array([[2, 0, 1]], dtype=np.int32)
    different: list[str] = []
    for code, name in enumerate((*operations.NAMES, "NOTHING")):
        runs = np.array([[code, 0, 1]])
        memory = np.array([x, y, np.ones_like(x)])
        compiled = memory.copy()
        interpreter.carry_out(runs, codes, memory)
        machine.carry_out_together(machine.VERSION, runs, codes, compiled)
        found, exact = memory[2], compiled[2]
        for k in range(0, len(x), 7):
            own = memory[:, k : k + 1].copy()
            interpreter.carry_out(runs, codes, own)
            assert own[2, 0] == found[k] or np.isnan(own[2, 0]), name
        same = found.view(np.int64) == exact.view(np.int64)
        if not np.all(same | (np.isnan(found) & np.isnan(exact))):
            different.append(name)
    assert different == []


@pytest.mark.parametrize("states", [1, 500])
def test_the_time_grows_with_operations_and_with_functions_of_each_state(states: int) -> None:
    sums, sines = (np.array([[code, 0, 10]]) for code in (operations.ADD, operations.SIN))
    assert interpreter.seconds(sums, states) < interpreter.seconds(sines, states)
    assert interpreter.seconds(sums, states) < interpreter.seconds(sums, 2 * states)

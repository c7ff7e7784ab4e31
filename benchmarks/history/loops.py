"""The fixed loops: every figure of the history is a ratio to one of them.

Never change what a loop computes or how often. Old rows cannot be measured anew, so any change
makes them incomparable; if one must be made, raise `VERSION`, which every row carries.

There are two loops because processors differ in, and other work slows down, compiled arithmetic
and Python's interpreter by different factors. The compiled loop does what a step of Taylor's
method does: products and quotients of truncated power series, coefficient by coefficient. The
interpreted one does what posing and preparing do: it makes small objects and tuples, looks them up
in dictionaries, and joins strings. Neither uses daesolve, CasADi or NumPy's own loops.
"""
# numba's decorators have no types.
# pyright: reportUnknownVariableType=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

VERSION = 1


@njit(cache=True)
def _expand(series: Any, passes: int) -> float:
    """Multiply and divide neighbouring series; return the sum of the last coefficients."""
    rows, order = series.shape
    total = 0.0
    for turn in range(passes):
        series[0, 1] = 0.1 + 1e-9 * turn
        for row in range(2, rows):
            for k in range(order):
                product = 0.0
                for j in range(k + 1):
                    product += series[row - 1, j] * series[row - 2, k - j]
                if row % 4 == 3:
                    for j in range(1, k + 1):
                        product -= series[row - 2, j] * series[row, k - j]
                    product /= series[row - 2, 0]
                series[row, k] = 0.5 * product / (k + 1.0)
                if k == 0:
                    series[row, k] = 1.0
        total += series[rows - 1, order - 1]
    return total


def compiled() -> None:
    """Expand 40 power series of 20 coefficients 4000 times."""
    series = np.zeros((40, 20))
    series[:2, 0] = 1.0
    _expand(series, 4000)


@dataclass(frozen=True)
class _Node:
    name: str
    parts: tuple[_Node, ...]


def interpreted() -> None:
    """Build and look up 1000 nodes, each of two earlier ones, 25 times."""
    for _ in range(25):
        known: dict[tuple[str, int, int], _Node] = {}
        nodes = [_Node("x", ()), _Node("y", ())]
        for number in range(1000):
            left, right = number % len(nodes), (number * 7919) % len(nodes)
            key = ("+*"[number % 2], left, right)
            if key not in known:
                known[key] = _Node(f"{key[0]}{left},{right}", (nodes[left], nodes[right]))
                nodes.append(known[key])
        sorted(node.name for node in nodes if node.parts and node.parts[0].name)


LOOPS: dict[str, Callable[[], None]] = {"compiled": compiled, "interpreted": interpreted}
"""By the name that a figure states."""

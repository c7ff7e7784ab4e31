"""The body on three pairs of pads in extended precision, by Gragg's extrapolated midpoint rule.

The equations are those of `three_supports`; numbers have 64 binary digits where ``EXTENDED`` tells
so. Legendre's integrals come from arithmetic and geometric means, (K - E) / m without a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .three_supports import Arithmetic, Rate, reduced_friction

Number = np.longdouble
EXTENDED: Final = np.finfo(Number).nmant >= 63
PI: Final = 4 * np.arctan(Number(1))
COLUMNS: Final = 10
"""Of the extrapolation: it is of order 20."""
TOLERANCE: Final = 1e-17


def integrals(m: Any) -> tuple[Any, Any, Any, Any]:
    """Return K, E, D = (K - E) / m and C of the parameter m < 1."""
    a, g, total, weight, difference = Number(1), np.sqrt(1 - m), Number(0.5), Number(0.5), m
    # difference is c_n^2 = a_n^2 - g_n^2, which is c_(n-1)^4 / (4 a_n)^2 by itself
    share = Number(1)
    for _ in range(8):
        a, g = (a + g) / 2, np.sqrt(a * g)
        share = share * difference / (16 * a * a)
        difference = difference * difference / (16 * a * a)
        weight *= 2
        total += weight * share
    k = PI / (2 * a)
    d = k * total
    e = k - m * d
    if m > 0.25:
        return k, e, d, (2 * d - k) / m
    term, series = PI / 16, Number(0)
    for n in range(60):
        series += term
        term = term * m * (Number(n) + 1.5) ** 2 / ((Number(n) + 3) * (n + 1))
    return k, e, d, series


def extrapolated(rate: Rate, state: Sequence[Any], length: Any) -> list[Any]:
    """Integrate over `length`, halving steps that have not converged."""
    reached, left, part = list(state), length, length
    while left > 0:
        part = min(part, left)
        after = _extrapolation(rate, reached, part)
        if after is None:
            part = part / 2
        else:
            reached, left = after, left - part
    return reached


def _extrapolation(rate: Rate, state: list[Any], step: Any) -> list[Any] | None:
    """Return one step by Aitken and Neville's scheme, None where two columns differ."""
    above: list[list[Any]] = []
    for column in range(1, COLUMNS + 1):
        row = [_midpoints(rate, state, step, 2 * column)]
        for k in range(1, column):
            ratio = Number(column) / (column - k)
            weight = 1 / (ratio * ratio - 1)
            row.append([a + (a - b) * weight for a, b in zip(row[-1], above[k - 1], strict=True)])
        if (
            column > 2
            and max(abs(a - b) for a, b in zip(row[-1], row[-2], strict=True)) < TOLERANCE
        ):
            return row[-1]
        above = row
    return None


def _midpoints(rate: Rate, state: list[Any], step: Any, count: int) -> list[Any]:
    """Return `step` by `count` substeps of the midpoint rule, whose error is even in them."""
    h = step / count
    before, here = state, [x + h * r for x, r in zip(state, rate(state), strict=True)]
    for _ in range(count - 1):
        rates = rate(here)
        before, here = here, [x + 2 * h * r for x, r in zip(before, rates, strict=True)]
    return here


def _solve(matrix: list[list[Any]], right: list[Any]) -> Sequence[Any]:
    """Eliminate with pivots."""
    rows = np.column_stack((np.array(matrix, dtype=Number), np.array(right, dtype=Number)))
    size = len(right)
    for k in range(size):
        pivot = k + int(np.argmax(np.abs(rows[k:, k])))
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] /= rows[k, k]
        others = np.arange(size) != k
        rows[others] -= np.outer(rows[others, k], rows[k])
    return list(rows[:, size])


PRECISE: Final = Arithmetic(
    Number, np.sqrt, np.cos, np.sin, lambda x: reduced_friction(x, integrals, PI), _solve,
    extrapolated, 2e-19,
)  # fmt: skip

"""What a row of the kernel's table may be, as numbers that compiled code can compare.

A row holds the Taylor coefficients of one value along the motion. Where an operand is no row but a
number (a parameter, or what depends on parameters alone), the kind says so.
"""

from __future__ import annotations

KINDS = 18
(
    ADD, SUB, NEG, ADD_NUMBER, NUMBER_SUB, TIMES_NUMBER, OVER_NUMBER, NUMBER_OVER,
    PRODUCT, SQUARE, QUOTIENT, ROOT, INTEGRAL, DERIVATIVE, SUM, CHOSEN, HELD, NUMBER,
) = range(KINDS)  # fmt: skip
"""`INTEGRAL`: of an operand's derivative times a factor, f(x) = f(x0) + int f'(x) x' dt.
`DERIVATIVE`: with its k-th coefficient k x_k. `SUM`: of products and of rows (`GROUPS`). `CHOSEN`:
a row where a number is not zero, else zero. `HELD`: a row, constant where it starts beyond
`FARTHEST`. `NUMBER`: a number as a row."""

OPERANDS = (2, 2, 1, 2, 2, 2, 2, 2, 2, 1, 2, 1, 4, 1, 0, 2, 1, 1)
"""The number of operands of each kind; the terms of a sum are stored elsewhere."""
NUMBER_OPERAND = {
    ADD_NUMBER: 1, NUMBER_SUB: 0, TIMES_NUMBER: 1, OVER_NUMBER: 1, NUMBER_OVER: 0, CHOSEN: 1,
    NUMBER: 0,
}  # fmt: skip
"""Which operand of a kind is a number."""

GROUPS = 6
(PLUS_PRODUCT, MINUS_PRODUCT, PLUS_ROW, MINUS_ROW, PLUS_TIMES, MINUS_TIMES) = range(GROUPS)
"""The terms of a `SUM`: products of two rows, rows, and rows times numbers."""

FARTHEST = 100.0
"""Where the arguments of bounded exponentials end: the squares of these, and those of their series,
are finite."""

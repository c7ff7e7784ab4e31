"""Determinants as straight-line code."""

from __future__ import annotations

import casadi as ca


def determinant(matrix: ca.SX) -> ca.SX:
    """Return the determinant without a division (R. S. Bird, Inf. Process. Lett. 111 (2011))."""
    count = matrix.shape[0]
    power = matrix
    for _ in range(count - 1):
        upper = ca.triu(power) - ca.diag(ca.diag(power))
        tail = ca.SX(0)
        for k in reversed(range(count)):
            upper[k, k] = -tail
            tail = tail + power[k, k]
        power = upper @ matrix
    return power[0, 0] if count % 2 else -power[0, 0]

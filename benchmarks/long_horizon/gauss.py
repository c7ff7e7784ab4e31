"""Gauss's method of order 16 in compensated arithmetic, compiled by numba."""
# numba's decorators have no types.
# pyright: basic

from __future__ import annotations

import math

import mpmath
import numpy as np
from numba import njit

STAGES = 8


def coefficients() -> tuple[np.ndarray, np.ndarray]:
    """Return m, (8, 8), and b, (8,): stage i is x + sum m_ij (h b_j f_j).

    The conditions of symplecticity, m_ij + m_ji = 1, and the sum of b hold exactly in doubles
    (Antonana, Makazaga and Murua 2017).
    """
    with mpmath.workdps(40):
        nodes = sorted(
            mpmath.polyroots(mpmath.taylor(_legendre, 0, STAGES)[::-1], 200, extraprec=200)
        )
        places = [(1 + node) / 2 for node in nodes]
        m, b = np.zeros((STAGES, STAGES)), np.zeros(STAGES)
        weights: list = []
        rows: list = []
        for j in range(STAGES):
            others = [c for i, c in enumerate(places) if i != j]
            poly = [mpmath.mpf(1)]
            for c in others:
                poly = [u - c * v for u, v in zip([*poly, 0], [0, *poly], strict=True)]
                poly = [p / (places[j] - c) for p in poly]
            integral = [p / (len(poly) - k) for k, p in enumerate(poly)] + [mpmath.mpf(0)]
            weights.append(mpmath.polyval(integral, 1))
            rows.append([mpmath.polyval(integral, c) for c in places])
        for i in range(STAGES):
            m[i, i] = 0.5
            for j in range(i):
                m[j, i] = float(rows[i][j] / weights[i])
                m[i, j] = 1.0 - m[j, i]
        grid = 2.0**54
        half = [round(float(weight) * grid) / grid for weight in weights[: STAGES // 2 - 1]]
        half.append(0.5 - math.fsum(half))
        b[:] = half + half[::-1]
    return m, b


def _legendre(x):
    return mpmath.legendre(STAGES, x)


@njit(error_model="numpy")
def advance(rates, numbers, m, b, h, steps, x, low):
    """Take steps; x and low, (size,), change. `rates(x, numbers, out)` is the right-hand side."""
    size = len(x)
    flow, before = np.zeros((STAGES, size)), np.zeros((STAGES, size))
    stage, rate = np.zeros(size), np.zeros(size)
    for _ in range(steps):
        least = np.inf
        for sweep in range(50):
            change = 0.0
            for i in range(STAGES):
                for s in range(size):
                    v = low[s]
                    for j in range(STAGES):
                        v += m[i, j] * flow[j, s]
                    stage[s] = x[s] + v
                rates(stage, numbers, rate)
                for s in range(size):
                    before[i, s] = flow[i, s]
                    flow[i, s] = h * b[i] * rate[s]
                    change = max(change, abs(flow[i, s] - before[i, s]))
            if change == 0.0 or (sweep > 3 and change >= least and change < 1e-13):
                break
            least = change
        for s in range(size):
            v = low[s]
            for i in range(STAGES):
                v += flow[i, s]
            new = x[s] + v
            back = new - x[s]
            low[s] = (x[s] - (new - back)) + (v - back)
            x[s] = new


@njit(error_model="numpy")
def pendulum(x, numbers, out):
    """Write the rates of (angle, its rate)."""
    out[0], out[1] = x[1], -numbers[0] * math.sin(x[0])


@njit(error_model="numpy")
def hoop(x, numbers, out):
    """Write the rates of (contact, speed); numbers: gravity, radius, a, b of the curve."""
    gravity, radius, a, b = numbers
    xi = x[0]
    slope = ((4.0 * xi + 3.0 * a) * xi - 2.0 * b) * xi - a
    bend = (12.0 * xi + 6.0 * a) * xi - 2.0 * b
    square = 1.0 + slope * slope
    length = math.sqrt(square)
    out[0] = x[1] / (length * (1.0 - radius * bend / (square * length)))
    out[1] = -gravity * slope / (2.0 * length)


@njit(error_model="numpy")
def skate(x, numbers, out):
    """Write the rates of (heading, its rate, y, z, speed)."""
    sine, cosine = math.sin(x[0]), math.cos(x[0])
    out[0], out[1] = x[1], sine - 2.0 * numbers[0] * (1.0 - 2.0 * sine * sine)
    out[2], out[3] = x[4] * cosine, x[4] * sine
    out[4] = -x[2] * cosine - x[3] * sine

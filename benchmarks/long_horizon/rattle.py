"""RATTLE and its non-holonomic counterpart, composed to order 8 in compensated arithmetic.

The composition has 17 steps and is due to Kahan and Li (1997) (Hairer, Lubich and Wanner, Geometric
Numerical Integration, V.3.2). Each position and velocity is held in two numbers: (2, size).
"""
# numba's decorators have no types.
# pyright: basic

from __future__ import annotations

import math

import numpy as np
from numba import njit

HALF = (
    0.13020248308889008, 0.56116298177510838, -0.38947496264484729, 0.15884190655515560,
    -0.39590389413323757, 0.18453964097831571, 0.25837438768632205, 0.29501172360931030,
)  # fmt: skip
GRID = 2.0**52


def composition() -> np.ndarray:
    """Return the lengths of the 17 steps, whose sum is exactly one."""
    half = [round(part * GRID) / GRID for part in HALF]
    return np.array([*half, 1.0 - 2.0 * math.fsum(half), *half[::-1]])


@njit(error_model="numpy")
def advance(step, numbers, parts, h, steps, q, v):
    """Take steps that change q and v, (2, size)."""
    for _ in range(steps):
        for part in parts:
            step(q, v, part * h, numbers)


@njit(error_model="numpy")
def gain(x, s, change):
    """Add to a number that is held in two parts."""
    change += x[1, s]
    new = x[0, s] + change
    back = new - x[0, s]
    x[1, s] = (x[0, s] - (new - back)) + (change - back)
    x[0, s] = new


@njit(error_model="numpy")
def rest_of_square(x, square):
    """Return x x - fl(x x), exactly (Dekker)."""
    big = 134217729.0 * x
    high = big - (big - x)
    low = x - high
    return ((high * high - square) + 2.0 * high * low) + low * low


@njit(error_model="numpy")
def pendulum(q, v, h, numbers):
    """RATTLE for a point on a rod of 1 m; numbers: gravity."""
    pull = -numbers[0] * h / 2.0
    x, y = q[0, 0], q[0, 1]
    first, second = x * x, y * y
    total = first + second
    back = total - first
    rest = (first - (total - back)) + (second - back)
    rest += rest_of_square(x, first) + rest_of_square(y, second)
    off = (total - 1.0) + (rest + 2.0 * (x * q[1, 0] + y * q[1, 1]))
    free_x = h * (v[0, 0] + v[1, 0])
    free_y = h * (v[0, 1] + v[1, 1] + pull)
    force = 0.0
    for _ in range(20):
        dx, dy = free_x - force * x, free_y - force * y
        along = x * dx + y * dy
        change = (2.0 * along + dx * dx + dy * dy + off) / (2.0 * (1.0 + along))
        force += change
        if abs(change) <= 1e-17:
            break
    gain(v, 0, -force * x / h)
    gain(v, 1, pull - force * y / h)
    gain(q, 0, free_x - force * x)
    gain(q, 1, free_y - force * y)
    x, y = q[0, 0], q[0, 1]
    force = (x * v[0, 0] + y * (v[0, 1] + pull)) / (x * x + y * y)
    gain(v, 0, -force * x)
    gain(v, 1, pull - force * y)


@njit(error_model="numpy")
def hoop(q, v, h, numbers):
    """RATTLE for the centre of a hoop; numbers: gravity, radius, a, b, and the contact (stored).

    Rolling doubles the inertia, so the centre moves on a curve parallel to the ground, under half
    the gravity.
    """
    gravity, radius, a, b, xi = numbers
    pull = -gravity * h / 4.0
    slope = ((4.0 * xi + 3.0 * a) * xi - 2.0 * b) * xi - a
    length = math.sqrt(1.0 + slope * slope)
    nx, nz = -slope / length, 1.0 / length
    free_x, free_z = h * (v[0, 0] + v[1, 0]), h * (v[0, 1] + v[1, 1] + pull)
    force = 0.0
    for _ in range(20):
        slope = ((4.0 * xi + 3.0 * a) * xi - 2.0 * b) * xi - a
        bend = (12.0 * xi + 6.0 * a) * xi - 2.0 * b
        length = math.sqrt(1.0 + slope * slope)
        height = (((xi + a) * xi - b) * xi - a) * xi - (1.0 - b)
        gap_x = (q[0, 0] - (xi - radius * slope / length)) + (q[1, 0] + free_x + force * nx)
        gap_z = (q[0, 1] - (height + radius / length)) + (q[1, 1] + free_z + force * nz)
        clear = 1.0 - radius * bend / (length * length * length)
        tx, tz = clear, slope * clear
        determinant = nx * tz - nz * tx
        by_force = (-gap_x * tz + gap_z * tx) / determinant
        by_xi = (-nz * gap_x + nx * gap_z) / determinant
        force += by_force
        xi += by_xi
        if abs(by_force) <= 1e-16 and abs(by_xi) <= 1e-16:
            break
    numbers[4] = xi
    gain(q, 0, free_x + force * nx)
    gain(q, 1, free_z + force * nz)
    gain(v, 0, force * nx / h)
    gain(v, 1, pull + force * nz / h)
    slope = ((4.0 * xi + 3.0 * a) * xi - 2.0 * b) * xi - a
    length = math.sqrt(1.0 + slope * slope)
    nx, nz = -slope / length, 1.0 / length
    force = -(v[0, 0] * nx + (v[0, 1] + pull) * nz)
    gain(v, 0, force * nx)
    gain(v, 1, pull + force * nz)


@njit(error_model="numpy")
def skate(q, v, h, numbers):
    """RATTLE's non-holonomic counterpart: the constraint at the middle, its force at both ends."""
    asymmetry = numbers[0]
    half, old = h / 2.0, q[0, 0]
    sine, cosine = math.sin(old), math.cos(old)
    gain(v, 0, half * (sine - 2.0 * asymmetry * (1.0 - 2.0 * sine * sine)))
    gain(q, 0, h * (v[0, 0] + v[1, 0]))
    middle = 0.5 * (old + q[0, 0])
    mid_sine, mid_cosine = math.sin(middle), math.cos(middle)
    vy, vz = v[0, 1] - half * q[0, 1], v[0, 2] - half * q[0, 2]
    force = (mid_sine * vy - mid_cosine * vz) / (sine * mid_sine + cosine * mid_cosine)
    gain(v, 1, -half * q[0, 1] - force * sine)
    gain(v, 2, -half * q[0, 2] + force * cosine)
    gain(q, 1, h * (v[0, 1] + v[1, 1]))
    gain(q, 2, h * (v[0, 2] + v[1, 2]))
    sine, cosine = math.sin(q[0, 0]), math.cos(q[0, 0])
    gain(v, 0, half * (sine - 2.0 * asymmetry * (1.0 - 2.0 * sine * sine)))
    vy, vz = v[0, 1] - half * q[0, 1], v[0, 2] - half * q[0, 2]
    force = sine * vy - cosine * vz
    gain(v, 1, -half * q[0, 1] - force * sine)
    gain(v, 2, -half * q[0, 2] + force * cosine)

"""The exact motion of a skate whose heading is turned by an uneven rotor, at any time.

    x'' = sin x - 2 e cos 2x,   y' = s cos x,   z' = s sin x,   s' = -y cos x - z sin x

The rotor x moves independently, with period T. Given its motion, (y, z, s) obeys a linear equation
with a skew matrix, so it rotates; one period of the rotor rotates it by R. The motion at n T + t is
therefore the motion from R^n (y, z, s) after t: Taylor series over one period, and a power of R.
"""

from __future__ import annotations

from typing import Any

import mpmath

mp: Any = mpmath  # mpmath has no types

ASYMMETRY, START = 0.2, (0.0, 1.5, 1.0, 0.0, 0.5)
"""e; x, x', y, z, s at the start."""
DIGITS, ORDER, PIECES = 40, 40, 64


def _moved(state: list[Any], length: Any) -> list[Any]:
    """Return a state after a time, by series of sin x, cos x and all unknowns."""
    twice = 2 * mp.mpf(ASYMMETRY)
    x, w, y, z, s = ([value] for value in state)
    sine, cosine = [mp.sin(x[0])], [mp.cos(x[0])]

    def product(one: list[Any], other: list[Any], k: int) -> Any:
        return mp.fdot((one[m], other[k - m]) for m in range(k + 1))

    for k in range(ORDER):
        n = k + 1
        rate = sine[k] + 2 * twice * product(sine, sine, k) - (twice if k == 0 else 0)
        rates = (w[k], rate, product(s, cosine, k), product(s, sine, k))
        slowed = -product(y, cosine, k) - product(z, sine, k)
        for row, value in zip((x, w, y, z, s), (*rates, slowed), strict=True):
            row.append(value / n)
        sine.append(mp.fdot((m * x[m], cosine[n - m]) for m in range(1, n + 1)) / n)
        cosine.append(-mp.fdot((m * x[m], sine[n - m]) for m in range(1, n + 1)) / n)
    return [mp.polyval(row[::-1], length) for row in (x, w, y, z, s)]


def _after(state: list[Any], time: Any, pieces: int) -> list[Any]:
    for _ in range(pieces):
        state = _moved(state, time / pieces)
    return state


def states(times: list[float]) -> list[tuple[float, float, float]]:
    """Return (x modulo 2 pi, y, z) at times, s, rounded from 30 digits or more."""
    with mp.workdps(DIGITS):
        x, w, *rest = (mp.mpf(value) for value in START)
        energy = w * w / 2 + 1
        nodes = 2048
        around = (2 * mp.pi * k / nodes for k in range(nodes))
        slowness = mp.fsum(
            1 / mp.sqrt(2 * (energy - mp.cos(a) - mp.mpf(ASYMMETRY) * mp.sin(2 * a)))
            for a in around
        )
        period = slowness * 2 * mp.pi / nodes
        unit = mp.eye(3)
        turned = [_after([x, w, *unit[:, k]], period, PIECES)[2:] for k in range(3)]
        rotation = mp.matrix(turned).T
        found: list[tuple[float, float, float]] = []
        for time in times:
            rounds = int(mp.floor(time / period))
            here = rotation**rounds * mp.matrix(rest)
            left = mp.mpf(time) - rounds * period
            end = _after([x, w, *here], left, PIECES)
            found.append((float(end[0]), float(end[2]), float(end[3])))
        return found

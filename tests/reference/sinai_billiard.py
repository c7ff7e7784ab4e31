"""A point in the square |x|, |y| <= 1 about a disc (Ya. G. Sinai): the map from wall to wall.

Independent of the library: straight lines, mirror reflections, and the curvature of the front of a
narrow beam, which grows by 2 / (R cos) at the disc and fades as 1 / (1/k + s) along a free path s.
The beam widens by 1 + k s, which gives the Lyapunov exponent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import mpmath

RADIUS = 0.5
"""m; a binary number, as is its square."""
START = (0.7, 0.3, math.cos(0.7), math.sin(0.7))


@dataclass(frozen=True)
class Hit:
    """When what was hit, and by how much the beam has widened since the hit before."""

    time: Any
    what: str
    widened: Any


def hits(start: tuple[float, float, float, float] = START, disc: float = RADIUS) -> Iterator[Hit]:
    """Yield the hits one after the other, in mpmath's working precision."""
    x, y, vx, vy = map(mpmath.mpf, start)
    radius = mpmath.mpf(disc)
    time = curvature = mpmath.mpf(0)
    what = ""
    while True:
        # Anew each time: an error of it would grow at every disc.
        speed = mpmath.hypot(vx, vy)
        paths = [((1 if vx > 0 else -1) - x) / vx, ((1 if vy > 0 else -1) - y) / vy]
        names = ["right" if vx > 0 else "left", "top" if vy > 0 else "bottom"]
        along = (x * vx + y * vy) / speed**2
        inside = along**2 - (x * x + y * y - radius**2) / speed**2
        if along < 0 < inside and what != "disc":
            paths.append(-along - mpmath.sqrt(inside))
            names.append("disc")
        step = min(paths)
        what = names[paths.index(step)]
        time += step
        x, y = x + vx * step, y + vy * step
        widened = 1 + curvature * speed * step
        curvature /= widened
        if what in ("left", "right"):
            vx = -vx
        elif what in ("bottom", "top"):
            vy = -vy
        else:
            inward = -(vx * x + vy * y) / radius
            vx, vy = vx + 2 * inward * x / radius, vy + 2 * inward * y / radius
            curvature += 2 * speed / (radius * inward)
        yield Hit(time, what, widened)


def exponent(start: tuple[float, float, float, float], until: float) -> float:
    """Return the mean rate at which a beam widens, 1/s, in double precision."""
    with mpmath.workprec(53):
        met = list(takewhile(lambda hit: hit.time < until, hits(start)))
        return float(sum(mpmath.log(hit.widened) for hit in met) / met[-1].time)

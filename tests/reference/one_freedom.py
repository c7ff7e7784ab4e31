"""Conservative motion with one freedom, by quadrature: when a coordinate passes a place.

In the precision that mpmath has when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mpmath
from mpmath import mpf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NEWTON_STEPS = 8


def places(
    slowness: Callable[[Any], Any], times: Sequence[str], *, start: str, panel: str
) -> list[Any]:
    """Return where a coordinate is at increasing times after it left `start`.

    Parameters
    ----------
    slowness
        dt/ds > 0 as a smooth function of the coordinate s.
    times
        As decimals, s.
    start, panel
        The first place, and the length of the pieces in which time is summed up, as decimals.
    """
    found: list[Any] = []
    elapsed, low = mpf(0), mpf(start)
    while len(found) < len(times):
        high = low + mpf(panel)
        piece = mpmath.quad(slowness, [low, high])
        while len(found) < len(times) and elapsed + piece >= mpf(times[len(found)]):
            wanted = mpf(times[len(found)]) - elapsed
            place = low + (high - low) * wanted / piece
            for _ in range(NEWTON_STEPS):
                place -= (mpmath.quad(slowness, [low, place]) - wanted) / slowness(place)
            found.append(place)
        elapsed, low = elapsed + piece, high
    return found

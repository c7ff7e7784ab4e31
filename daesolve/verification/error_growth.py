"""How far small changes of a motion grow: the engine of the Lyapunov time and of the exponents.

The changes are carried along the motion piece by piece. After each piece they are measured and
brought back to their first size, orthogonal to each other where there are several, before they are
small no longer or turn into the same direction (G. Benettin et al., Meccanica 15, 1980). The engine
does not ask what carries them: a second motion beside the first (`shadow`), or the variational
equations (`daesolve.analysis.exponents`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

STRETCHED = 1e6
"""Growth over a piece beyond which a change is small no longer."""
PARTED = 1e9
"""Growth over a piece of one change beside another, beyond which that one loses its digits."""
POLYNOMIAL = 3.0
"""Growth like this power of time is regular."""


class SmallChanges(Protocol):
    """Changes of a motion, n of them, at one instant of it."""

    @property
    def time(self) -> float:
        """The instant, s."""
        ...

    def following(self, piece: float) -> float | None:
        """Return when the next piece ends, s, about `piece` from now; None at the motion's end."""
        ...

    def stretched(self, ahead: float) -> np.ndarray | None:
        """Carry the changes to the end of a piece and return their growth.

        Returns
        -------
        np.ndarray or None
            (n,) factors; None where the motion does not get there.
        """
        ...

    def renew(self) -> np.ndarray | None:
        """Go on from where the changes were carried last, at their first size.

        Returns
        -------
        np.ndarray or None
            (n,) factors by which they grow in an event there; None where nothing happens.
        """
        ...


@dataclass(frozen=True, eq=False)
class Growth:
    """How far small changes grew along a motion, in m pieces.

    Parameters
    ----------
    times
        (m + 1,) when the pieces begin and end, s.
    pieces
        (m,) how long each was to be, s.
    factors, at_events
        (m, n) by which the changes grew over each piece, and in the event at its end.
    """

    times: np.ndarray
    pieces: np.ndarray
    factors: np.ndarray
    at_events: np.ndarray

    @property
    def logarithms(self) -> np.ndarray:
        """(m, n) logarithms of the whole growth in each piece."""
        return np.log(self.factors) + np.log(self.at_events)


def measured_growth(
    changes: SmallChanges, piece: float, shortest: float = math.inf
) -> Growth | None:
    """Carry small changes to the end of their motion and measure how far they grow.

    Parameters
    ----------
    changes
        At the start of the motion.
    piece
        How long a piece is to be, s. It is halved where the changes grow too far in one.
    shortest
        The shortest piece, s; without it pieces are not halved.

    Returns
    -------
    Growth or None
        None where a change vanishes, is not finite, or grows too far in the shortest piece.
    """
    times, pieces = [changes.time], list[float]()
    factors, at_events = list[np.ndarray](), list[np.ndarray]()
    while (ahead := changes.following(piece)) is not None:
        grown = changes.stretched(ahead)
        if grown is None:
            break
        if not np.all((grown > 0.0) & (grown < math.inf)):
            return None
        if not distinct(grown):
            piece /= 2.0
            if piece < shortest:
                return None
            continue
        jumped = changes.renew()
        times.append(ahead)
        pieces.append(piece)
        factors.append(grown)
        at_events.append(np.ones(len(grown)) if jumped is None else jumped)
    return Growth(np.array(times), np.array(pieces), np.array(factors), np.array(at_events))


def distinct(grown: np.ndarray) -> bool:
    """Decide whether changes that grew by such factors are small, with all their digits."""
    largest, smallest = np.max(grown), np.min(grown)
    return bool(largest < STRETCHED and smallest * PARTED > largest)


def sizes_of_states(largest: np.ndarray, angles: Sequence[int]) -> np.ndarray:
    """Return in which units changes of states compare.

    Parameters
    ----------
    largest
        (n,) how large each becomes; none counts as less than a thousandth of the largest of all.
    angles
        The indices of angles, which count as one radian.
    """
    sizes = largest.copy()
    sizes[list(angles)] = 1.0
    return np.maximum(sizes, 1e-3 * np.max(sizes) or 1.0)

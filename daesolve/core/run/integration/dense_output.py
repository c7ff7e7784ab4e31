"""The motion within the accepted steps of a run, kept where its method knows it.

Taylor's method has the series of each step anyway. The newest runs keep them as long as they fit
into memory; a run of which something is missing is integrated again where its motion is wanted.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from daesolve.core.results.trajectory.results import Dense, StepBlock

MOST_BYTES = 128_000_000
"""What all runs together keep."""
_KEPT: list[weakref.ref[DenseOutput]] = []


@dataclass(frozen=True, eq=False)
class Piece:
    """Steps in which the same values are in force.

    Parameters
    ----------
    values, whole_turns
        p, and the turns that were taken out of angles.
    times
        (k + 1,) from the start of the first step, s.
    dense
        What gives the states within them.
    """

    values: np.ndarray
    whole_turns: np.ndarray
    times: np.ndarray
    dense: Dense


@dataclass(eq=False)
class DenseOutput:
    """Keeps the steps of a run.

    Parameters
    ----------
    sign
        +1 forwards in time, -1 backwards.
    keeps
        Whether it takes steps: no more once some were missing, or together they were too large.
    """

    sign: float
    keeps: bool = True
    pieces: list[Piece] = field(default_factory=list[Piece])
    bytes: int = 0

    def __post_init__(self) -> None:
        _KEPT.append(weakref.ref(self))

    def begin(self, time: float, values: np.ndarray, whole_turns: np.ndarray) -> None:
        """Begin a segment; steps beyond its start have been taken back."""
        self._place, self._reached = (values, whole_turns.copy()), time
        while self.pieces and self.sign * (self.pieces[-1].times[0] - time) >= 0.0:
            self.pieces.pop()
        if self.pieces:
            last = self.pieces[-1]
            kept = self.sign * (last.times - time) <= 0.0
            self.pieces[-1] = replace(last, times=last.times[kept])

    def take(self, block: StepBlock) -> None:
        """Take in accepted steps."""
        if not self.keeps:
            return
        if block.dense is None:
            self.forget()
            return
        times = np.append(self._reached, block.times)
        self._reached = float(times[-1])
        self.pieces.append(Piece(*self._place, times, block.dense))
        self.bytes += block.dense.nbytes
        _make_room()

    def forget(self) -> None:
        """Keep nothing of this run."""
        self.keeps, self.bytes = False, 0
        self.pieces.clear()

    def ends(self, begin: float, end: float) -> np.ndarray | None:
        """Return the ends of all steps of a run from its start on; None if some are missing."""
        if not self.pieces:
            return None
        firsts = np.array([piece.times[0] for piece in self.pieces])
        lasts = np.array([piece.times[-1] for piece in self.pieces])
        whole = firsts[0] == begin and self.sign * (end - lasts[-1]) <= 0.0
        if not whole or not np.array_equal(firsts[1:], lasts[:-1]):
            return None
        times = np.concatenate([firsts[:1], *(piece.times[1:] for piece in self.pieces)])
        return np.append(times[self.sign * (times - end) < 0.0], end)

    def states(self, moments: np.ndarray) -> Iterator[tuple[Piece, slice, np.ndarray]]:
        """Yield the states at times within the steps, in the order of the run, piece by piece.

        With each comes which of the times they belong to.
        """
        firsts = self.sign * np.array([piece.times[0] for piece in self.pieces])
        borders = np.append(np.searchsorted(self.sign * moments, firsts), len(moments))
        borders[0] = 0
        for piece, first, last in zip(self.pieces, borders[:-1], borders[1:], strict=True):
            if last > first:
                which = slice(int(first), int(last))
                yield piece, which, np.array(piece.dense(moments[which]))


def _make_room() -> None:
    """Let the oldest runs forget their steps where all together are too large."""
    alive = [kept for one in _KEPT if (kept := one()) is not None and kept.keeps]
    size = sum(kept.bytes for kept in alive)
    while size > MOST_BYTES:
        oldest = alive.pop(0)
        size -= oldest.bytes
        oldest.forget()
    _KEPT[:] = [weakref.ref(kept) for kept in alive]

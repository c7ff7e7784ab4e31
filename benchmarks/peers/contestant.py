"""What a package must offer to be measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.common.timing import wall_seconds


@dataclass(frozen=True)
class Motion:
    """Positions and velocities in the task's coordinates; the last row is the end.

    Parameters
    ----------
    positions, velocities
        (k, n), of the accepted steps, or of some 1000 of them.
    steps
        How many were accepted.
    gaps
        (k,) what the package's own joints gape, m, where the coordinates do not show it.
    """

    positions: np.ndarray
    velocities: np.ndarray
    steps: int
    gaps: np.ndarray | None = None


@dataclass(frozen=True)
class Ready:
    """A model that can be integrated again and again from its start.

    Parameters
    ----------
    integrate
        Runs it and returns whatever it returns: the seconds and the result.
    motion
        Reads the result.
    """

    integrate: Callable[[], tuple[float, Any]]
    motion: Callable[[Any], Motion]


@dataclass(frozen=True)
class Contestant:
    """One setting of a package.

    Parameters
    ----------
    method
        What is tried from coarse to fine.
    setting
        How fine.
    prepare
        Makes the model ready.
    """

    method: str
    setting: str
    prepare: Callable[[], Ready]


def timed(run: Callable[[], Any]) -> Callable[[], tuple[float, Any]]:
    """Return the function with the seconds by the clock that it took before its result."""
    return lambda: wall_seconds(run)


def thinned(count: int, most: int = 1000) -> np.ndarray:
    """Return up to about `most` indices among `count` rows, the last one among them."""
    chosen = np.arange(count - 1, -1, -max(1, count // most))
    return chosen[::-1]

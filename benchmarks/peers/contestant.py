"""What a package must provide to be measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.common.timing import wall_seconds


@dataclass(frozen=True)
class Motion:
    """Positions and velocities in the task's coordinates; the last row is the final state.

    Parameters
    ----------
    positions, velocities
        (k, n), at the accepted steps or at about 1000 of them.
    steps
        Number of accepted steps.
    gaps
        (k,) gaps of the package's own joints, m, if the coordinates do not show them.
    """

    positions: np.ndarray
    velocities: np.ndarray
    steps: int
    gaps: np.ndarray | None = None


@dataclass(frozen=True)
class Ready:
    """A model that can be integrated repeatedly from its start.

    Parameters
    ----------
    integrate
        Runs it and returns the seconds and the result.
    motion
        Reads the motion from the result.
    """

    integrate: Callable[[], tuple[float, Any]]
    motion: Callable[[Any], Motion]


@dataclass(frozen=True)
class Contestant:
    """One setting of a package.

    Parameters
    ----------
    method
        Settings of one method are tried from coarse to fine.
    setting
        The accuracy.
    prepare
        Prepares the model.
    """

    method: str
    setting: str
    prepare: Callable[[], Ready]


def timed(run: Callable[[], Any]) -> Callable[[], tuple[float, Any]]:
    """Return the function that puts its wall-clock seconds before its result."""
    return lambda: wall_seconds(run)


def thinned(count: int, most: int = 1000) -> np.ndarray:
    """Return at most about `most` indices among `count` rows; the last row is included."""
    chosen = np.arange(count - 1, -1, -max(1, count // most))
    return chosen[::-1]

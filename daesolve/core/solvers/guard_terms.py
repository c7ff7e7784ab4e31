"""What decides whether a guard that passes zero does so alone, as arrays for compiled code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class GuardTerms:
    """How guards are watched, one entry for each; see `chaining.chain`.

    Parameters
    ----------
    traits
        Ways, either, recorded, returns, barriers, moved, stays.
    tolerances, reach
        What counts as zero, and the largest value met.
    armed, passed, reached
        As `modes.guard_book.GuardBook` has them; they are changed.
    entered
        (1,) when a guard fired last, s; changed.
    """

    traits: tuple[np.ndarray, ...]
    tolerances: np.ndarray
    reach: np.ndarray
    armed: np.ndarray
    passed: np.ndarray
    reached: np.ndarray
    entered: np.ndarray


@dataclass(frozen=True, eq=False)
class Limits:
    """What decides whether a reset is simple.

    Parameters
    ----------
    accuracy
        To what part of their largest values guards are known.
    answered
        Of a guard's rate, what is left at least where a reset sends it back.
    instant
        What counts as the same time: absolutely, s, and relatively.
    last
        When the last reset was, s.
    sizes, worse
        What residuals may be after a reset, and times what they were before it.
    angles
        The states from which whole turns are removed.
    known
        Which guards may fire without being looked at, (guards,).
    """

    accuracy: float
    answered: float
    instant: tuple[float, float]
    last: float
    sizes: np.ndarray
    worse: float
    angles: np.ndarray
    known: np.ndarray

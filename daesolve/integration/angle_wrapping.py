"""Whole turns, taken out of angles and put back.

Angles grow to thousands of radians in a long run and would lose digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

TURN_PARTS = (6.28125, 0.0019353071693331003, 1.0253376489868793e-11, 1.1650928224373424e-19)
"""2 pi in parts of few digits, so that a whole number of turns (up to 1e7) is exact in each."""


def wrap(state: np.ndarray, turns: np.ndarray, angles: Sequence[int]) -> None:
    """Take whole turns out of the angles of a state, exactly, and count them.

    Parameters
    ----------
    state, turns
        Changed in place; turns are (angles,) integers.
    angles
        The indices of the angles in the state.
    """
    if all(abs(state[index]) <= math.pi for index in angles):
        return
    places = np.array(angles, dtype=int)
    values = state[places]
    whole = np.round(values / (2.0 * math.pi))
    if not np.all(np.isfinite(whole)):
        return
    for part in TURN_PARTS:
        values = values - whole * part
    state[places] = values
    turns += whole.astype(int)

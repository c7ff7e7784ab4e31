"""The view of bodies in space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daesolve.multibody.places import axes_with_third

FROM_THE_FRONT = (0.3, -1.0, 0.25)
"""Towards the eye: the third axis of space points upwards."""
STRAIGHT = 1e-150
"""The eye counts as straight above or below if it is aside by less; smaller numbers lose digits."""


def axes_seen_from(towards: Sequence[float]) -> np.ndarray:
    """Return the directions across, up, and towards the eye, as rows, (3, 3).

    The third axis of space is seen upright.

    Raises
    ------
    PosingError
        The direction of the eye is zero.
    """
    eye = axes_with_third(towards)[:, 2]
    across = np.cross((0.0, 0.0, 1.0), eye)
    size = float(np.hypot(across[0], across[1]))
    across = across / size if size > STRAIGHT else np.array([1.0, 0.0, 0.0])
    return np.array([across, np.cross(eye, across), eye])

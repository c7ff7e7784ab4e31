"""Rates of exact motions by numerical differentiation, to test them against laws of mechanics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    States = dict[str, NDArray[np.float64]]

EPSILON: Final = np.finfo(float).eps


def states_and_rates(
    motion: Callable[[NDArray[np.float64]], States], times: NDArray[np.float64], step: float
) -> tuple[States, States]:
    """State at given times and its time derivatives by central differences of order 8.

    Their error is f^(9) step^8 / 630, and 3 EPSILON |f| / step from rounding.
    """
    weights = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
    grid = times[:, None] + step * np.arange(-4, 5)
    stencil = motion(grid)
    rates = {name: values @ weights / step for name, values in stencil.items()}
    return {name: values[:, 4] for name, values in stencil.items()}, rates

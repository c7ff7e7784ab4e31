"""How far arguments of exported tables may go."""

from __future__ import annotations

import math

from daesolve.core.posing.axes import Axis
from daesolve.core.posing.tables import ROUNDING


def reach_of(axis: Axis) -> float:
    """Return how far beyond its nodes a table has a value; infinite if it holds its ends."""
    if axis.periodic or axis.holds:
        return math.inf
    return ROUNDING * float(axis.nodes[-1] - axis.nodes[0])

"""Piecewise linear maps where guards pass together: cones, directional rates, growth.

An impact projects velocities, v+ = P v. If two constraints change at once and the orbit has no
impulse there, P v = v; neighbouring motions have an impulse in proportion to their distance. In the
order (1, 2) their velocities become P P_1 v, in the other order P P_2 v, and P v if both are
imposed at one instant. The time between the two events does not enter, so the period map has three
limits there. They are equal only if the two reactions do not affect each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.analysis.orbits.monodromy import Multipliers

SETTLED = 0.5
"""The fraction of the periods after which growth is counted."""
SEED = 5
"""The seed of the random changes."""
CONTINUOUS = 1e-6
"""The relative difference of the maps, where guards pass at once, up to which they count as
equal."""


@dataclass(frozen=True, eq=False)
class DirectionalRates:
    """The growth rates of changes under a piecewise linear map.

    Parameters
    ----------
    rates
        (k,) 1/s for random changes, over the second half of the periods.
    orders
        (k,) the number of the order in which each ends; -1 if the orders alternate.
    leading
        For each order, whether the direction of its largest multiplier stays in its own cone, so
        that it is a rate of the whole map: real, positive, and on the side of its order.
    jump
        The relative difference between the maps of the two orders where guards pass at once: zero
        if the map is continuous. If a change causes impulses that the orbit does not have, the map
        jumps by their dependence on the order.
    """

    rates: np.ndarray
    orders: np.ndarray
    leading: tuple[bool, ...]
    jump: float

    @property
    def continuous(self) -> bool:
        """Whether the map is continuous where the order changes."""
        return self.jump <= CONTINUOUS


def directional_rates(
    orders: Sequence[Multipliers], period: float, starts: int, periods: int
) -> DirectionalRates | None:
    """Follow random changes through the maps of two orders; None unless there are exactly two."""
    if len(orders) != 2 or any(len(order.cone) != 1 for order in orders):
        return None
    generator = np.random.default_rng(SEED)
    rates: list[float] = []
    ends: list[int] = []
    for _ in range(starts):
        z = generator.normal(size=len(orders[0].reduced))
        grown, taken = 0.0, set[int]()
        first = int(SETTLED * periods)
        for count in range(periods):
            z = z / float(np.linalg.norm(z))
            which = 0 if float(orders[0].cone[0] @ z) >= 0.0 else 1
            z = orders[which].reduced @ z
            if count >= first:
                grown += math.log(float(np.linalg.norm(z)))
                taken.add(which)
        rates.append(grown / ((periods - first) * period))
        ends.append(taken.pop() if len(taken) == 1 else -1)
    leading = tuple(_stays(order) for order in orders)
    return DirectionalRates(np.array(rates), np.array(ends), leading, jump_between(orders))


def _stays(order: Multipliers) -> bool:
    """Return whether the direction of the largest multiplier keeps its order."""
    values, vectors = np.linalg.eig(order.reduced)
    k = int(np.argmax(np.abs(values)))
    if values[k].imag != 0.0 or values[k].real <= 0.0:
        return False
    side = order.cone @ np.real(vectors[:, k])
    return bool(np.all(side > 0.0) or np.all(side < 0.0))


def jump_between(orders: Sequence[Multipliers]) -> float:
    """Return the relative difference of two maps on the plane where guards pass at once."""
    first, second = orders
    row = first.cone[0] / (float(np.linalg.norm(first.cone[0])) or 1.0)
    onto = np.eye(len(row)) - np.outer(row, row)
    apart = (first.reduced - second.reduced) @ onto
    return float(np.linalg.norm(apart, 2) / np.linalg.norm(first.reduced, 2))


def most_growth(order: Multipliers, periods: int) -> float:
    """Return the largest growth in a number of periods: the norm of a power of the map."""
    return float(np.linalg.norm(np.linalg.matrix_power(order.reduced, periods), 2))

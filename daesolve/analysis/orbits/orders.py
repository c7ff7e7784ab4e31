"""Maps that are linear in pieces, for guards pass together: cones, directional rates, growth.

An impact projects velocities, v+ = P v. Where two constraints change at once and the orbit itself
takes no impulse, P v = v there; its neighbours take one in proportion to the change. In the order
(1, 2) they become P P_1 v, in the other P P_2 v, and P v where both are imposed at one instant:
as the time between the two events is in none of these, the map of a period has three limits there,
which are equal only where the two reactions do not act on each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.analysis.orbits.monodromy import Multipliers

SETTLED = 0.5
"""The part of the periods after which growth is counted."""
SEED = 5
"""Of the random changes that are followed."""
CONTINUOUS = 1e-6
"""Of the maps, by which they differ at most where guards pass at once."""


@dataclass(frozen=True, eq=False)
class DirectionalRates:
    """How fast changes grow by a map that is linear in pieces.

    Parameters
    ----------
    rates
        (k,) 1/s for random changes, over the second half of the periods that they were followed.
    orders
        (k,) the number of the order in which each ends; -1 where it takes turns.
    leading
        For each order, whether the direction of its largest multiplier stays in its own cone, so
        that this is a rate of the whole map: real, positive, and on the side of its order.
    jump
        By how much the maps of the two orders differ where guards pass at once, relatively: zero
        where the map is continuous. Where a change brings impulses, of which the orbit itself has
        none, it jumps by as much as these depend on their order.
    """

    rates: np.ndarray
    orders: np.ndarray
    leading: tuple[bool, ...]
    jump: float

    @property
    def continuous(self) -> bool:
        """Whether the map does not jump where the order changes."""
        return self.jump <= CONTINUOUS


def directional_rates(
    orders: Sequence[Multipliers], period: float, starts: int, periods: int
) -> DirectionalRates | None:
    """Follow random changes through the maps of two orders; None where there are more, or one."""
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
    """Return whether the largest multiplier belongs to a direction that keeps its order."""
    values, vectors = np.linalg.eig(order.reduced)
    k = int(np.argmax(np.abs(values)))
    if values[k].imag != 0.0 or values[k].real <= 0.0:
        return False
    side = order.cone @ np.real(vectors[:, k])
    return bool(np.all(side > 0.0) or np.all(side < 0.0))


def jump_between(orders: Sequence[Multipliers]) -> float:
    """Return by how much two maps differ on the plane on which guards pass at once, relatively."""
    first, second = orders
    row = first.cone[0] / (float(np.linalg.norm(first.cone[0])) or 1.0)
    onto = np.eye(len(row)) - np.outer(row, row)
    apart = (first.reduced - second.reduced) @ onto
    return float(np.linalg.norm(apart, 2) / np.linalg.norm(first.reduced, 2))


def most_growth(order: Multipliers, periods: int) -> float:
    """Return by how much some change grows in so many periods: the norm of a power of the map."""
    return float(np.linalg.norm(np.linalg.matrix_power(order.reduced, periods), 2))

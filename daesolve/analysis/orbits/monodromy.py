"""Multipliers: the eigenvalues of the period map, without those that every motion has.

The direction along the orbit, the generators of its symmetries and the gradients of its first
integrals are known vectors. They are removed as subspaces, because their eigenvalues form Jordan
blocks, which rounding splits by its square root.

Where guards pass together, the map is piecewise linear. An impact projects velocities, v+ = P v. If
two constraints change at once and the orbit has no impulse there, P v = v; neighbouring motions
have an impulse in proportion to their distance. In the order (1, 2) their velocities become P P_1
v, in the other order P P_2 v, and P v if both are imposed at one instant. The time between the two
events does not enter, so the period map has three limits there. They are equal only if the two
reactions do not affect each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from daesolve.analysis.orbits.shooting import Shot, Slopes, Task, cotangent, tangent
from daesolve.core.expressions.singular_values import null_space, singular_directions

FORGOTTEN = 1e-9
"""Smaller multipliers count as zero: the earlier state is forgotten."""
NEUTRAL = 1e-7
"""The distance of a multiplier's size from one that counts as one."""
REST = 1e-9
"""Rates of all states, in sizes per period, that count as zero."""
ANOTHER = 1e-3
"""The part of a direction by which its image is off if it is not the direction of the motion."""

NOISE = 100.0
"""The factor by which other multipliers may be less accurate than the known ones. Near
homoclinic orbits of a wheel with a known multiplier, the measured factor is 0.1 to 60."""
LOST = 0.1
"""The error of other multipliers beyond which none is known to be smaller than one."""

Verdict = Literal["stable", "unstable", "neutral", "one-sided", "unknown"]
SETTLED = 0.5
"""The fraction of the periods after which growth is counted."""
SEED = 5
"""The seed of the random changes."""
CONTINUOUS = 1e-6
"""The relative difference of the maps, where guards pass at once, up to which they count as
equal."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """The multipliers of an orbit.

    Parameters
    ----------
    values
        (k,) complex, largest first, without trivial multipliers and zeros.
    vectors
        (n, k) complex: the corresponding changes of the state, in sizes of the states.
    trivial
        By name, the error in each known multiplier.
    group
        The eigenvalues of the symmetry.
    reduced
        The map on the quotient, (q, q).
    matrix
        The whole map, (d, d), in orthonormal directions in the sizes of the states.
    quotient
        (d, q) the directions of `reduced` among these.
    cone
        (m, q) if guards pass together: the map applies to changes z without a negative entry in
        cone @ z, for which the guards pass in this order.
    """

    values: np.ndarray
    vectors: np.ndarray
    trivial: Mapping[str, float]
    group: tuple[complex, ...]
    reduced: np.ndarray
    matrix: np.ndarray
    quotient: np.ndarray
    cone: np.ndarray

    def verdict(self, doubt: float) -> Verdict:
        """Return the stability; changes within `doubt` of one neither decay nor grow.

        The error in the known multipliers shows the rounding of the computed map, which grows with
        the growth of changes on the way. If this error could decide, the verdict is "unknown".
        """
        sizes = np.abs(self.values)
        least = max(NEUTRAL, doubt)
        missed = [value for name, value in self.trivial.items() if name != "forgotten"]
        noise = NOISE * max(missed, default=0.0)
        if np.any(sizes > 1.0 + max(least, noise)):
            return "unstable"
        known = (sizes < 1.0 - noise) | (np.abs(sizes - 1.0) <= least)
        if noise > LOST or not np.all(known):
            return "unknown"
        return "neutral" if np.any(sizes >= 1.0 - least) else "stable"


def multipliers(task: Task, shot: Shot, slopes: Slopes) -> Multipliers:
    """Remove known directions from the period map, and return its other eigenvalues."""
    node, basis, matrix = shot.guess.nodes[0], shot.bases[0], slopes.monodromy
    known, images, names = _known_directions(task, shot, matrix)
    trivial: dict[str, float] = {}
    for vector, image, name in zip(known.T, images.T, names, strict=True):
        size = float(np.linalg.norm(vector))
        if size > 0.0:
            trivial[name] = float(np.linalg.norm(matrix @ vector - image)) / size
    quotient = _complement(known)
    reduced = quotient.T @ matrix @ quotient
    rows: list[np.ndarray] = []
    for integral in task.integrals:
        row = cotangent(task, integral, node, basis)
        size = float(np.linalg.norm(row)) or 1.0
        trivial[integral.name] = float(np.linalg.norm(row @ matrix - row)) / size
        rows.append(quotient.T @ (row / size))
    inner = null_space(np.array(rows), 1e-9) if rows and quotient.shape[1] else None
    if inner is not None:
        reduced, quotient = inner.T @ reduced @ inner, quotient @ inner
    values, vectors = np.linalg.eig(reduced) if len(reduced) else (np.zeros(0), np.zeros((0, 0)))
    order = sorted(range(len(values)), key=lambda k: (-abs(values[k]), -values[k].imag))
    zero = [k for k in order if abs(values[k]) <= FORGOTTEN]
    if zero:
        trivial["forgotten"] = float(max(abs(values[k]) for k in zero))
    kept = [k for k in order if k not in zero]
    states = len(task.flow.names)
    return Multipliers(
        values=np.asarray(values[kept], dtype=complex),
        vectors=(basis @ quotient @ vectors)[:states][:, kept],
        trivial=trivial,
        group=tuple(task.group.eigenvalues(shot.amounts)),
        reduced=reduced,
        matrix=matrix,
        quotient=quotient,
        cone=slopes.apart @ quotient,
    )


def _known_directions(
    task: Task, shot: Shot, matrix: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Sequence[str]]:
    """Return known directions as columns, their images after a period, and their names."""
    node, basis = shot.guess.nodes[0], shot.bases[0]
    columns: list[np.ndarray] = []
    images: list[np.ndarray] = []
    names: list[str] = []
    if task.flow.autonomous:
        rate = tangent(task, task.flow.rate(node), basis)
        # At an equilibrium there is no direction along the motion, only rounding.
        if float(np.linalg.norm(rate)) * shot.period > REST:
            image = rate if task.passage is None else np.zeros(len(rate))
            missed = float(np.linalg.norm(matrix @ rate - image))
            # Where a clock decides, the motion goes on along its states and its clock.
            if not (task.flow.clocked and missed > ANOTHER * float(np.linalg.norm(rate))):
                columns.append(rate)
                images.append(image)
                names.append("flow")
    generators = task.part(task.group.generators(task.whole(node)))
    moved = basis.T @ (generators / task.sizes[:, None])
    # g^-1 maps the generators to combinations of each other.
    for place, name in enumerate(task.group.names):
        columns.append(moved[:, place])
        images.append(_adjoint(task, shot, place))
        names.append(f"shift of {name}")
    count = basis.shape[1]
    shape = len(columns), count
    return np.array(columns).reshape(shape).T, np.array(images).reshape(shape).T, names


def _adjoint(task: Task, shot: Shot, place: int) -> np.ndarray:
    """Return the image of a generator at the start: carried to the end, then taken back by g."""
    end = task.whole(shot.flights[-1].end)
    carried = task.group.generators(end)[:, place]
    back = task.part(np.linalg.solve(task.group.matrix(shot.amounts), carried))
    return shot.bases[0].T @ (back / task.sizes)


def _complement(known: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis orthogonal to known directions."""
    sizes = np.linalg.norm(known, axis=0)
    kept = known[:, sizes > 0.0] / sizes[sizes > 0.0]
    if not kept.shape[1]:
        return np.eye(len(known))
    directions = singular_directions(kept)
    return directions.dependences(1e-9 * directions.values[0])


def eigenvalues(matrix: np.ndarray) -> np.ndarray:
    """Return eigenvalues, largest first."""
    values = scipy.linalg.eigvals(matrix)
    return values[np.argsort(-np.abs(values))]


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

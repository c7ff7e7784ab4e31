"""The nodes of multiple shooting: states on the manifold, by independent coordinates.

Between two nodes the motion is short, so it stays near the data whatever the parameters are. A node
is a consistent state, given by as many of its own values as it has freedoms; the others follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy

from daesolve.analysis.identification.measurements import Measurements
from daesolve.analysis.manifold import Manifold
from daesolve.core.posing.symbols import velocity_name
from daesolve.core.preparation.preparing import Prepared
from daesolve.errors import NoFitError

PREFERRED = 3.0
"""How many times less sensitive a measured state may be than another one, and still be chosen."""


@dataclass(frozen=True, eq=False)
class SegmentNode:
    """A consistent state at which a segment of the motion begins.

    Parameters
    ----------
    time
        s
    row
        The index of the measurement at this time, which belongs to the segment before.
    names
        The states that determine the others.
    values, sizes
        Of these states: their values, and what counts as a large change.
    angular
        Which of them are angles, which are the same after a full turn.
    others
        The remaining states, of which only the branch matters.
    """

    time: float
    row: int
    names: tuple[str, ...]
    values: np.ndarray
    sizes: np.ndarray
    angular: np.ndarray
    others: Mapping[str, float]

    def gap(self, state: Mapping[str, float], values: np.ndarray) -> np.ndarray:
        """Return how far a state is from the node with other values, relative to the sizes."""
        gap = np.array([state[name] for name in self.names]) - values
        turns = np.round(gap / (2 * np.pi)) * self.angular
        return (gap - 2 * np.pi * turns) / self.sizes


def nodes_at(
    prepared: Prepared,
    places: Sequence[tuple[float, int]],
    states: np.ndarray,
    data: Measurements,
) -> list[SegmentNode]:
    """Return nodes on a motion, with values from the data where states are measured.

    Parameters
    ----------
    prepared
        The motion.
    places
        The times of the nodes, and the rows of the measurements there.
    states
        (number of nodes, n) the states of the motion there.
    data
        The measurements. Their slopes give velocities.
    """
    manifold = Manifold(prepared, states)
    labels, count = prepared.problem.labels, prepared.dynamics.position_count
    names, angles = labels.states, np.isin(np.arange(len(labels.states)), labels.angles)
    width = max(len(data.times) // (2 * len(places) + 2), 2)
    nodes: list[SegmentNode] = []
    for (time, row), state in zip(places, states, strict=True):
        shown = _shown_at(data, row, width)
        known = np.array([name in shown for name in names])
        basis = manifold.basis(time, state, prepared.values)
        chosen = independent_rows(np.where(known, PREFERRED, 1.0)[:, None] * basis, count)
        values = np.array([shown.get(names[k], float(state[k])) for k in chosen])
        others = {
            name: shown.get(name, float(value))
            for k, (name, value) in enumerate(zip(names, state, strict=True))
            if k not in chosen
        }
        own = tuple(names[k] for k in chosen)
        nodes.append(
            SegmentNode(time, row, own, values, manifold.sizes[chosen], angles[chosen], others)
        )
    return nodes


def _shown_at(data: Measurements, row: int, width: int) -> dict[str, float]:
    """Return what the data show of states at a row: a parabola through the rows nearby."""
    near = slice(max(row - width, 0), row + width + 1)
    late = data.times[near] - data.times[row]
    found: dict[str, float] = {}
    span = float(np.max(np.abs(late)))
    for name, values in data.columns.items():
        present = data.present(name, near)
        if np.sum(present) < 3:
            continue
        shown = values[near][present]
        if name in data.turning:
            shown = np.unwrap(shown)
        powers = np.vander(late[present] / span, 3, increasing=True)
        parabola = np.linalg.lstsq(powers, shown, rcond=None)[0]
        found |= {name: float(parabola[0]), velocity_name(name): float(parabola[1] / span)}
    return found


def independent_rows(basis: np.ndarray, positions: int) -> list[int]:
    """Return the rows of a basis of the tangent space that determine all others.

    Positions come first, because a consistent state finds them first; the velocities that remain
    free at these positions follow.

    Parameters
    ----------
    basis
        (n, freedoms): larger rows are preferred.
    positions
        How many rows are positions.

    Raises
    ------
    NoFitError
        The rows do not have full rank.
    """
    above, below = basis[:positions], basis[positions:]
    chosen = _pivots(above)
    free = cast("np.ndarray", scipy.linalg.null_space(above[chosen])) if chosen else None
    left = below if free is None else below @ free
    chosen += [positions + k for k in _pivots(left)] if left.size else []
    if len(chosen) != basis.shape[1]:
        raise NoFitError(
            "the motion cannot be divided at a position where its constraints lose independence: "
            "use one segment (segments=1, --segments 1)"
        )
    return chosen


def _pivots(rows: np.ndarray) -> list[int]:
    """Return the indices of as many rows as the rank, each as independent as possible."""
    if not rows.size:
        return []
    triangle, order = cast(
        "tuple[np.ndarray, np.ndarray]", scipy.linalg.qr(rows.T, mode="r", pivoting=True)
    )
    sizes = np.abs(np.diag(triangle))
    rank = int(np.sum(sizes > np.sqrt(np.finfo(float).eps) * max(sizes[0], 1e-300)))
    return [int(k) for k in order[:rank]]

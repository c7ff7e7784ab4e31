"""Bodies in space: points that are fixed to them, and wires of the usual solids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from daesolve.core.encoding import is_mapping
from daesolve.errors import PosingError
from daesolve.multibody.drawing.shapes import Line, Linear, Outline, Shape, Triple
from daesolve.multibody.drawing.traced import numbers

CORNERS = 32
"""Corners of the drawing of a circle seen from its side."""
CELLS = 8
"""Squares along the longer side of a floor."""
LETTERS = "xyz"


@dataclass(frozen=True)
class Pose:
    """The place and the axes of a body in space, as twelve series of a drawing.

    A point that is fixed to the body is a linear form of them, so that a drawing has as many
    series however many points it has.

    Parameters
    ----------
    name
        Of the body; the names of the series begin with it.

    Examples
    --------
    >>> disc = Pose("disc")
    >>> x, y, z = disc.place((0.2, 0.0, 0.0))
    >>> x.terms
    {'disc_at_x': 1.0, 'disc_axis_1_x': 0.2}
    >>> sorted(disc.series(np.zeros((1, 3)), np.eye(3)[None]))[:2]
    ['disc_at_x', 'disc_at_y']
    """

    name: str

    def place(self, point: Sequence[float] | np.ndarray) -> Triple:
        """Return the place of a point, given by three coordinates in the body's axes."""
        x, y, z = (
            Linear(
                {self._series(0, letter): 1.0}
                | {self._series(k, letter): point[k - 1] for k in (1, 2, 3) if point[k - 1]}
            )
            for letter in LETTERS
        )
        return x, y, z

    def places(self, points: Iterable[np.ndarray]) -> list[Triple]:
        """Return the places of points, (n, 3) in the body's axes."""
        return [self.place(point) for point in points]

    def series(self, positions: np.ndarray, axes: np.ndarray) -> dict[str, np.ndarray]:
        """Return the series of a run, for `Drawing(series=...)`.

        Parameters
        ----------
        positions
            (k, 3) the origin of the body's axes at each sample.
        axes
            (k, 3, 3) its axes as columns.

        Raises
        ------
        PosingError
            The arrays have other shapes.
        """
        count = len(positions)
        if positions.shape != (count, 3) or axes.shape != (count, 3, 3):
            raise PosingError(
                f"the body {self.name!r} needs positions (k, 3) and axes (k, 3, 3), not "
                f"{positions.shape} and {axes.shape}"
            )
        columns = np.concatenate([positions[:, :, None], axes], axis=2)
        return {
            self._series(column, letter): columns[:, row, column]
            for column in range(4)
            for row, letter in enumerate(LETTERS)
        }

    def _series(self, column: int, letter: str) -> str:
        return f"{self.name}_{('at', 'axis_1', 'axis_2', 'axis_3')[column]}_{letter}"


def ring(
    size: float | Sequence[float],
    normal: int = 2,
    middle: Sequence[float] = (0.0, 0.0, 0.0),
    corners: int = CORNERS,
) -> np.ndarray:
    """Return the corners, (corners, 3), of a circle or an ellipse.

    Parameters
    ----------
    size
        The radius, or the half axes along the first, second and third direction.
    normal
        The direction to which it is normal, counted from zero.
    middle
        Its centre.
    corners
        How many.
    """
    half = np.broadcast_to(numbers(size), 3)
    turns = np.linspace(0.0, 2 * np.pi, corners, endpoint=False)
    first, second = (normal + 1) % 3, (normal + 2) % 3
    points = np.zeros((corners, 3), dtype=half.dtype)
    points[:, first], points[:, second] = half[first] * np.cos(turns), half[second] * np.sin(turns)
    return points + numbers(middle)


def wheel(pose: Pose, radius: float, normal: int, label: str = "", spokes: int = 3) -> list[Shape]:
    """Return a disc about an axis of a body, with diameters that show its turning.

    Parameters
    ----------
    pose
        The body; its origin is the centre.
    radius
        m
    normal
        Which axis of the body, counted from zero.
    label
        For the legend.
    spokes
        How many diameters.
    """
    ends = ring(radius, normal, corners=2 * spokes)
    return [
        Outline(pose.places(ring(radius, normal)), label=label),
        *[Line(pose.places(ends[[k, k + spokes]]), role="detail") for k in range(spokes)],
    ]


def axes_by_turns(turns: Sequence[tuple[int, np.ndarray]]) -> np.ndarray:
    """Return axes, (k, 3, 3) as columns, after turns about them, one after the other.

    Parameters
    ----------
    turns
        Pairs: the axis of the turned body, counted from zero, and the angles, (k,) rad.
    """
    if any(np.asarray(angles).dtype == object for _, angles in turns):
        return _axes_of_numbers(turns)
    rotations = scipy.spatial.transform.Rotation
    rotation = rotations.identity()
    for axis, angles in turns:
        rotation = rotation * rotations.from_rotvec(np.outer(angles, np.eye(3)[axis]))
    return np.array(rotation.as_matrix(), dtype=float)


def axes_by_quaternions(quaternions: np.ndarray) -> np.ndarray:
    """Return axes, (k, 3, 3) as columns, from quaternions (k, 4), scalar part first."""
    if quaternions.dtype == object:
        return _axes_of_quaternions(quaternions)
    # SciPy has the scalar part last.
    return np.array(
        scipy.spatial.transform.Rotation.from_quat(np.roll(quaternions, -1, axis=1)).as_matrix(),
        dtype=float,
    )


def _axes_of_numbers(turns: Sequence[tuple[int, np.ndarray]]) -> np.ndarray:
    """Return `axes_by_turns` of angles that carry expressions."""
    axes = np.eye(3)
    for axis, angles in turns:
        first, second = (axis + 1) % 3, (axis + 2) % 3
        turned = np.zeros((len(angles), 3, 3), dtype=object)
        turned[:, axis, axis] = 1.0
        turned[:, first, first] = turned[:, second, second] = np.cos(angles)
        turned[:, second, first] = np.sin(angles)
        turned[:, first, second] = -turned[:, second, first]
        axes = axes @ turned
    return axes


def _axes_of_quaternions(quaternions: np.ndarray) -> np.ndarray:
    """Return `axes_by_quaternions` of numbers that carry expressions."""
    w, x, y, z = quaternions.T
    size = w * w + x * x + y * y + z * z
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.stack([np.stack([entry / size for entry in row], axis=1) for row in rows], axis=1)


def tiles(places: np.ndarray, margin: float, height: float = 0.0) -> list[Shape]:
    """Return a level floor of squares below places.

    Parameters
    ----------
    places
        (k, 2) or (k, 3)
    margin
        How far it extends beyond them, m.
    height
        Of the floor, m.
    """
    low, high = places[:, :2].min(axis=0) - margin, places[:, :2].max(axis=0) + margin
    side = float(np.max(high - low)) / CELLS
    counts = np.ceil((high - low) / side - 1e-9).astype(int)
    low = (low + high - side * counts) / 2
    high = low + side * counts
    shapes: list[Shape] = []
    for axis in range(2):
        for step in range(counts[axis] + 1):
            ends = np.array([[*low, height], [*high, height]])
            ends[:, axis] = low[axis] + step * side
            shapes.append(Line(ends, role="detail"))
    return shapes


def series_of(document: Mapping[str, object], *names: str) -> list[np.ndarray]:
    """Return series of a run's states, (k,) each.

    Parameters
    ----------
    document
        Of a run.
    names
        Of its states.
    """
    states = document["states"]
    assert is_mapping(states)
    return [numbers(states[name]) for name in names]

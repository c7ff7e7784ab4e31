"""Springs as zigzags, coils in space; dampers as dashpots: lines that follow their two ends.

The points of such a line are combinations of its ends and of vectors across it, whose length is
the same however far the spring is stretched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from daesolve.multibody.drawing.shapes import Coordinates, Line, Linear
from daesolve.multibody.elements import SpringDamperSeries
from daesolve.multibody.loads import LineForce

WIDTH = 0.05
"""Half the width of a spring over its greatest length."""
TURNS = 6
FINE = 8
"""Points of a turn of a coil."""
APART = 1.4
"""From the line between the ends to a spring and a damper side by side, in half widths."""
OPEN, PISTON, CLOSED = 0.3, 0.5, 0.75
"""Where the cylinder of a dashpot is open, where its piston is, and where it is closed."""
ALONG = 1e-3
"""The sine of an angle below which two directions are taken for the same."""

Track = Sequence[tuple[float, float, float]]
"""Points of a line: how far along, and across in two directions, in half widths."""


def across(first: np.ndarray, second: np.ndarray) -> list[np.ndarray]:
    """Return vectors across the lines between ends, half a width long: one, two in space.

    Parameters
    ----------
    first, second
        (k, 2) or (k, 3)
    """
    lines = second - first
    lengths = np.linalg.norm(lines, axis=1)
    half = WIDTH * float(np.nanmax(lengths, initial=0.0))
    ways = lines / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    if first.shape[1] == 2:
        return [half * np.column_stack([-ways[:, 1], ways[:, 0]])]
    axes = np.eye(3)[np.argsort(np.abs(np.nan_to_num(ways[0])))]
    normals = np.cross(ways, axes[0])
    aligned = np.linalg.norm(normals, axis=1) < ALONG
    normals[aligned] = np.cross(ways[aligned], axes[1])
    sizes = np.linalg.norm(normals, axis=1)
    normals = half * normals / np.where(sizes > 0.0, sizes, 1.0)[:, None]
    return [normals, np.cross(ways, normals)]


def lines_of(
    part: LineForce | SpringDamperSeries,
    ends: tuple[Coordinates, Coordinates],
    beside: Sequence[Coordinates],
) -> Iterator[Line]:
    """Return the lines that show a spring, a damper or both.

    Parameters
    ----------
    part
        The element.
    ends
        The names of the coordinates of its ends.
    beside
        The names of the components of the vectors across it.
    """
    tracks: list[Track] = []
    spring, dashpot = _spring(in_space=len(beside) > 1), _dashpot()
    if isinstance(part, SpringDamperSeries):
        tracks = [[(place / 2, a, b) for place, a, b in spring],
                  [(0.5 + place / 2, a, b) for place, a, b in dashpot]]  # fmt: skip
    else:
        stiffness, damping, _ = part.numbers
        springs, damps = _is_there(stiffness), _is_there(damping)
        aside = APART if springs and damps else 0.0
        tracks += [_moved(spring, aside)] if springs else []
        tracks += [_moved(dashpot, -aside)] if damps else []
    for track in tracks:
        yield Line([_point(ends, beside, place) for place in track], role="detail")


def _is_there(size: object) -> bool:
    return not (isinstance(size, int | float) and size == 0.0)


def _spring(*, in_space: bool) -> Track:
    """Return a zigzag or a coil, with a straight piece at both ends."""
    if not in_space:
        teeth = [((k + 0.5) / (2 * TURNS), (-1.0) ** k) for k in range(2 * TURNS)]
        inner = [(place, side, 0.0) for place, side in teeth]
    else:
        turns = np.linspace(0.0, 1.0, TURNS * FINE + 1)
        angles = 2 * np.pi * TURNS * turns
        inner = list(zip(turns.tolist(), np.cos(angles), np.sin(angles), strict=True))
    middle = [(0.15 + 0.7 * place, float(a), float(b)) for place, a, b in inner]
    return [(0.0, 0.0, 0.0), (0.15, 0.0, 0.0), *middle, (0.85, 0.0, 0.0), (1.0, 0.0, 0.0)]


def _dashpot() -> Track:
    """Return rod, piston and cylinder as one line, which runs along the walls twice."""
    corners = [(0.0, 0), (PISTON, 0), (PISTON, 1), (OPEN, 1), (CLOSED, 1), (CLOSED, 0), (1.0, 0),
               (CLOSED, 0), (CLOSED, -1), (OPEN, -1), (PISTON, -1), (PISTON, 0)]  # fmt: skip
    return [(place, float(side), 0.0) for place, side in corners]


def _moved(track: Track, aside: float) -> Track:
    """Return a track beside the line between the ends, to which it is led."""
    if not aside:
        return track
    moved = [(0.1 + 0.8 * place, a + aside, b) for place, a, b in track]
    begin, end = (0.1, 0.0, 0.0), (0.9, 0.0, 0.0)
    tail = [] if track[-1][0] < 1.0 else [end, (1.0, 0.0, 0.0)]
    if tail:
        return [(0.0, 0.0, 0.0), begin, *moved, *tail]
    last = max(range(len(track)), key=lambda place: track[place][0])
    to_end: Track = [moved[last], end, (1.0, 0.0, 0.0), end]
    return [(0.0, 0.0, 0.0), begin, *moved[:last], *to_end, *moved[last:]]


def _point(
    ends: tuple[Coordinates, Coordinates],
    beside: Sequence[Coordinates],
    place: tuple[float, float, float],
) -> Coordinates:
    along, *aside = place
    coordinates: list[Linear] = []
    for axis in range(len(ends[0])):
        terms = {str(ends[0][axis]): 1.0 - along, str(ends[1][axis]): along}
        terms |= {str(way[axis]): size for way, size in zip(beside, aside, strict=False)}
        coordinates.append(Linear({name: size for name, size in terms.items() if size != 0.0}))
    x, y, *z = coordinates
    return (x, y, z[0]) if z else (x, y)

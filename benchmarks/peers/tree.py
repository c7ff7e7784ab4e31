"""The mechanisms as links and joints, for packages with elements.

A link is either a thin bar that turns about its joint, in the plane, or a point mass that slides
along the x-axis. Joints between the ends of two links close the loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .contestant import Motion


@dataclass(frozen=True)
class Link:
    """A bar or a slider.

    Parameters
    ----------
    parent
        The link whose end carries the joint; -1 for the ground.
    anchor
        x of the joint on the ground, m.
    length
        m; the mass is 1 kg, uniform or, if `tipped`, concentrated at the end.
    start, rate
        Angle and rate relative to the parent; for a slider, position and speed.
    slides
        Whether the link is a point mass of 1 kg on the x-axis.
    """

    parent: int
    anchor: float
    length: float
    start: float
    rate: float
    tipped: bool = False
    slides: bool = False

    @property
    def centre(self) -> float:
        """The distance of the mass centre from the joint, m."""
        return self.length if self.tipped else self.length / 2

    @property
    def inertia(self) -> float:
        """Moment of inertia about the mass centre, kg m^2."""
        return 0.0 if self.tipped or self.slides else self.length**2 / 12


@dataclass(frozen=True)
class Tree:
    """Links, pairs of links with joined ends, and the task's coordinates.

    The links of a branch follow each other, as packages number their joints; `coordinates` has a
    link and the axis of its end for each coordinate.
    """

    links: tuple[Link, ...]
    loops: tuple[tuple[int, int], ...]
    coordinates: tuple[tuple[int, int], ...]

    @property
    def start(self) -> np.ndarray:
        """(k,) joint positions."""
        return np.array([link.start for link in self.links])

    @property
    def start_rate(self) -> np.ndarray:
        """(k,) joint velocities."""
        return np.array([link.rate for link in self.links])

    def ends(self, q: np.ndarray, v: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return position and velocity of each link's end, (k, 2), for joint states (k, n)."""
        found: list[tuple[np.ndarray, np.ndarray]] = []
        angles, rates = np.array(q, float), np.array(v, float)
        ground = np.zeros((len(q), 2))
        for k, link in enumerate(self.links):
            if link.slides:
                along = np.column_stack([q[:, k], np.zeros(len(q))])
                found.append((along, np.column_stack([v[:, k], np.zeros(len(q))])))
                continue
            base, speed = ground + np.array([link.anchor, 0.0]), ground
            if link.parent >= 0:
                base, speed = found[link.parent]
                angles[:, k] += angles[:, link.parent]
                rates[:, k] += rates[:, link.parent]
            arm = link.length * np.column_stack([np.cos(angles[:, k]), np.sin(angles[:, k])])
            across = np.column_stack([-arm[:, 1], arm[:, 0]])
            found.append((base + arm, speed + across * rates[:, k : k + 1]))
        return found

    def motion(self, q: np.ndarray, v: np.ndarray, steps: int) -> Motion:
        """Return the motion from joint states, (k, n)."""
        ends = self.ends(q, v)
        gaps = [np.linalg.norm(ends[a][0] - ends[b][0], axis=1) for a, b in self.loops]
        return Motion(
            np.column_stack([ends[link][0][:, axis] for link, axis in self.coordinates]),
            np.column_stack([ends[link][1][:, axis] for link, axis in self.coordinates]),
            steps,
            np.max(gaps, axis=0) if gaps else None,
        )


UPRIGHT = np.pi / 2

TREES = {
    "pendulum": Tree((Link(-1, 0.0, 1.0, np.pi, 0.0, tipped=True),), (), ((0, 0), (0, 1))),
    "slider-crank": Tree(
        (
            Link(-1, 0.0, 0.5, 0.0, 12.0),
            Link(0, 0.0, 1.0, 0.0, -18.0),
            Link(-1, 0.0, 0.0, 1.5, 0.0, slides=True),
        ),
        ((1, 2),),
        ((0, 0), (0, 1), (2, 0)),
    ),
    "four-bar": Tree(
        (
            Link(-1, 0.0, 1.0, UPRIGHT, -1.0),
            Link(0, 0.0, 1.0, -UPRIGHT, 1.0),
            Link(-1, 1.0, 1.0, UPRIGHT, -1.0),
            Link(2, 0.0, 1.0, -UPRIGHT, 1.0),
            Link(-1, 2.0, 1.0, UPRIGHT, -1.0),
        ),
        ((1, 2), (3, 4)),
        tuple((link, axis) for link in (0, 2, 4) for axis in range(2)),
    ),
}

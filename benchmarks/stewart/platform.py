"""The data of a Gough-Stewart platform: a plate on six legs, each a tube with a rod in it.

A universal joint holds the foot of each tube on the ground, a prismatic joint the rod in the tube,
and a spherical joint the head of the rod on the plate. This gives 13 bodies, 72 constraints and six
degrees of freedom. A spring and a damper act along each leg, from foot to head. The platform starts
at rest with springs out of equilibrium, so the plate falls, turns and begins to swing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Ended = tuple[np.ndarray, int]
"""Position, velocity and angular velocity (in its own axes) of the plate at the end; the steps."""

GRAVITY = 9.81
UNTIL = 2.0
"""s"""

PLATE_MASS, PLATE_INERTIA = 20.0, (0.9, 1.1, 1.9)
TUBE_MASS, TUBE_INERTIA = 2.0, (0.06, 0.06, 0.002)
ROD_MASS, ROD_INERTIA = 1.0, (0.03, 0.03, 0.0005)
"""kg, and kg m^2 about the mass centres; the third axis of tubes and rods points along the leg."""
PLATE_CENTRE = np.array([0.05, -0.03, 1.1])
"""m"""
TUBE_CENTRE, ROD_CENTRE = 0.3, 0.35
"""m from the foot, and from the head."""
STIFFNESS, DAMPING = 1500.0, 15.0
"""N/m and N s/m"""
SHORTER = np.array([0.02, -0.03, 0.05, 0.0, -0.04, 0.03])
"""m; at the start, the springs are shorter than the legs by this, and longer by `PRESSED`."""
PRESSED = 0.04


@dataclass(frozen=True, eq=False)
class Leg:
    """A leg at the start.

    Parameters
    ----------
    foot, head
        (3,) m, in space.
    head_in_plate
        (3,) m, from the centre of the plate.
    axes
        (3, 3) axes of the tube and the rod, in columns: the third points from foot to head, the
        second is normal to the first axis of space, as the universal joint requires.
    length, natural
        m; the length of the leg and the natural length of its spring.
    """

    foot: np.ndarray
    head: np.ndarray
    head_in_plate: np.ndarray
    axes: np.ndarray
    length: float
    natural: float

    @property
    def tube(self) -> np.ndarray:
        """The mass centre of the tube, (3,) m."""
        return self.foot + TUBE_CENTRE * self.axes[:, 2]

    @property
    def rod(self) -> np.ndarray:
        """The mass centre of the rod, (3,) m."""
        return self.head - ROD_CENTRE * self.axes[:, 2]


def _circle(radius: float, degrees: float) -> np.ndarray:
    angle = np.radians(degrees)
    return np.array([radius * np.cos(angle), radius * np.sin(angle), 0.0])


def _leg(number: int) -> Leg:
    pair, side = divmod(number, 2)
    foot = _circle(1.0, 120.0 * pair + (15.0 if side else -15.0) + 2.0 * number)
    head_in_plate = _circle(0.6, 120.0 * pair + (45.0 if side else -45.0))
    head = PLATE_CENTRE + head_in_plate
    length = float(np.linalg.norm(head - foot))
    along = (head - foot) / length
    second = np.cross(along, [1.0, 0.0, 0.0])
    second /= np.linalg.norm(second)
    axes = np.column_stack([np.cross(second, along), second, along])
    return Leg(foot, head, head_in_plate, axes, length, length + PRESSED - float(SHORTER[number]))


LEGS = tuple(_leg(number) for number in range(6))

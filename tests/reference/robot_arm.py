"""The robot arm by the recursion of Newton and Euler: from the column outwards, and back.

Vectors in space, no energies. The motion of each rod follows from that of the one before it, forces
and moments from what hangs on it.
"""

from __future__ import annotations

import numpy as np


def torques(
    q: np.ndarray, rate: np.ndarray, acceleration: np.ndarray, numbers: dict[str, float]
) -> np.ndarray:
    """Return the torques of waist, shoulder and elbow, (3,) N m.

    Parameters
    ----------
    q, rate, acceleration
        (3,) rad, rad/s, rad/s^2; the elbow's relative to the upper arm.
    numbers
        Of the arm, by the names of its parameters.
    """
    up = np.array([0.0, 0.0, 1.0])
    outward = np.array([np.cos(q[0]), np.sin(q[0]), 0.0])
    # A joint lifts what hangs on it: it turns about an axis to the right of what points outward.
    axis = np.cross(outward, up)
    axis_rate = rate[0] * np.cross(up, axis)
    turns, spins = [rate[0] * up], [acceleration[0] * up]
    for k in (1, 2):
        turns.append(turns[-1] + rate[k] * axis)
        spins.append(spins[-1] + acceleration[k] * axis + rate[k] * axis_rate)
    angles = (q[1], q[1] + q[2])
    lengths = (numbers["upper"], numbers["fore"])
    masses = (numbers["upper_mass"], numbers["fore_mass"])
    ways = [np.cos(angle) * outward + np.sin(angle) * up for angle in angles]

    def carried(
        start: np.ndarray, arm: np.ndarray, turn: np.ndarray, spin: np.ndarray
    ) -> np.ndarray:
        """Return the acceleration of the far end of an arm."""
        return start + np.cross(spin, arm) + np.cross(turn, np.cross(turn, arm))

    accelerations = [np.zeros(3)]
    for k in range(2):
        arm = lengths[k] * ways[k]
        accelerations.append(carried(accelerations[-1], arm, turns[k + 1], spins[k + 1]))
    weight = numbers["gravity"] * up
    force = numbers["load"] * (accelerations[2] + weight)
    moment, found = np.zeros(3), np.zeros(3)
    for k in (1, 0):
        way, length, mass = ways[k], lengths[k], masses[k]
        centre = carried(accelerations[k], length / 2 * way, turns[k + 1], spins[k + 1])
        own = mass * (centre + weight)
        inertia = mass * length**2 / 12
        # A thin rod has no moment of inertia about itself.
        tensor = inertia * (np.eye(3) - np.outer(way, way))
        momentum = tensor @ turns[k + 1]
        gyration = tensor @ spins[k + 1] + np.cross(turns[k + 1], momentum)
        moment = moment + gyration + np.cross(length * way, force) + np.cross(length / 2 * way, own)
        force = force + own
        found[k + 1] = axis @ moment
    found[0] = up @ moment + numbers["column_inertia"] * acceleration[0]
    return found

"""A spindle on a plane by Newton and Euler in axes of space, without quaternions or multipliers.

Its arc touches. With the axis e and the normal n, c = e . n, s = sqrt(1 - c^2), the point of
contact is seen from the centre at r = (d / s - l) n - (d c / s) e. States are the place of the
centre, e, the velocity v and the angular velocity w: y = (x, e, v, w), (12,).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Roller:
    """The arc's radius, the distance of the axis from its centre, mass, moments, friction."""

    arc: float
    offset: float
    mass: float
    across: float
    along: float
    friction: float
    gravity: float

    def arm(self, axis, turning):
        """Return r and its rate."""
        c = axis @ UP
        s, c_dot = np.sqrt(1.0 - c * c), np.cross(turning, axis) @ UP
        arm = (self.offset / s - self.arc) * UP - self.offset * c / s * axis
        rate = self.offset * (c * c_dot * UP - c_dot * axis) / s**3
        return arm, rate - self.offset * c / s * np.cross(turning, axis)

    def inverse(self, moment, axis):
        """Return the turning that a moment gives."""
        return (
            moment / self.across + (1.0 / self.along - 1.0 / self.across) * (moment @ axis) * axis
        )

    def gyroscopic(self, axis, turning):
        """Return what the moment of momentum changes by where the angular velocity does not."""
        return (self.along - self.across) * (turning @ axis) * np.cross(turning, axis)

    def slides(self, _, y):
        """Return y' where it slides."""
        _, axis, v, w = y.reshape(4, 3)
        arm, arm_dot = self.arm(axis, w)
        slip = v + np.cross(w, arm)
        slip = slip - (slip @ UP) * UP
        direction = UP - self.friction * slip / np.linalg.norm(slip)

        def rates(load):
            force = load * direction
            v_dot = force / self.mass - self.gravity * UP
            w_dot = self.inverse(np.cross(arm, force) - self.gyroscopic(axis, w), axis)
            return v_dot, w_dot

        def gap(load):
            v_dot, w_dot = rates(load)
            return UP @ (v_dot + np.cross(w_dot, arm) + np.cross(w, arm_dot))

        free = gap(0.0)
        v_dot, w_dot = rates(-free / (gap(1.0) - free))
        return np.concatenate([v, np.cross(w, axis), v_dot, w_dot])

    def rolls(self, _, y):
        """Return y' where it rolls: y = (x, e, w), (9,), and v follows from w."""
        _, axis, w = y.reshape(3, 3)
        arm, arm_dot = self.arm(axis, w)

        def left(w_dot):
            """Moments about the point of contact that are left over."""
            v_dot = -np.cross(w_dot, arm) - np.cross(w, arm_dot)
            own = self.across * w_dot + (self.along - self.across) * (w_dot @ axis) * axis
            force = self.mass * (v_dot + self.gravity * UP)
            return own + self.gyroscopic(axis, w) - np.cross(arm, force)

        free = left(np.zeros(3))
        columns = np.column_stack([left(unit) - free for unit in np.eye(3)])
        w_dot = np.linalg.solve(columns, -free)
        return np.concatenate([-np.cross(w, arm), np.cross(w, axis), w_dot])
